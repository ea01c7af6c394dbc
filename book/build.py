"""Build the book: run the chapters that changed, then make the site. Called by ``make book``.

Outputs are kept under a key of the chapter *and* of everything that it imports: a change in
``svmlab`` runs every chapter again, a change in one chapter only that chapter, and no change takes
seconds. A failing cell, a broken reference, a missing alt text or any other warning is an error.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from jupyter_book.sphinx import build_sphinx
from jupyter_cache import get_cache
from jupyter_cache.executors.utils import create_cache_bundle, single_nb_execution
from jupyter_cache.readers import NbReadError

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
CACHES = ROOT / ".cache" / "book"
IPYTHON = ROOT / ".cache" / "ipython"
PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "numba", "clarabel", "ipykernel")
SOURCES = ("svmlab/**/*.py", "svmlab/**/*.toml", "book/_ipython/**/*.py", "benchmarks/results/*")
READER = {"name": "myst_nb_md", "type": "plugin"}
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["'](?:https?:)?//[^"']*"""
    r"""|<link\b(?=[^>]*\brel=["'](?:stylesheet|preload|icon))[^>]*?\bhref=["'](?:https?:)?//[^"']*"""
    r"""|(?:@import\s*|url\()["'\s(]*(?:https?:)?//[^"')]*"""
)
BUILT = ".built"  # holds the key of the sources that the site was made from
SECONDS = 300  # for one cell


def library_key() -> str:
    """Return a hash of what the outputs of all chapters depend on.

    >>> library_key() == library_key()
    True
    """
    key = hashlib.sha256(sys.version.encode())
    for package in PACKAGES:
        key.update(f"{package} {importlib.metadata.version(package)}".encode())
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            key.update(path.relative_to(ROOT).as_posix().encode())
            key.update(path.read_bytes())
    return key.hexdigest()[:16]


def site_key() -> str:
    """Return a hash of everything that the site is made from."""
    key = hashlib.sha256(library_key().encode())
    for package in ("jupyter-book", "sphinx", "sphinx-book-theme", "myst-nb"):
        key.update(importlib.metadata.version(package).encode())
    for path in sorted(BOOK.rglob("*")):
        if path.is_file() and not {"_build", "__pycache__"} & set(path.parts):
            key.update(path.relative_to(BOOK).as_posix().encode())
            key.update(path.read_bytes())
    return key.hexdigest()


def chapters() -> list[Path]:
    """Return the pages that hold cells."""
    pages = sorted(BOOK.glob("*.md")) + sorted(BOOK.glob("api/*.md"))
    return [page for page in pages if "{code-cell}" in page.read_text(encoding="utf-8")]


def run_chapters(folder: Path, jobs: int) -> None:
    """Run the chapters whose outputs are not there yet, each in a kernel of its own."""
    cache = get_cache(str(folder))
    for record in cache.list_project_records():
        cache.remove_nb_from_project(record.pk)
    for page in chapters():
        record = cache.add_nb_to_project(str(page), read_data=READER)
        try:
            cache.get_project_notebook(record.pk)
        except NbReadError as problem:
            sys.exit(f"book: {page.name}: {problem}")
    waiting = [record.pk for record in cache.list_unexecuted()]
    problems = []
    with ThreadPoolExecutor(jobs) as threads:
        running = {}
        for pk in waiting:
            project = cache.get_project_notebook(pk)
            running[threads.submit(_run, project)] = project
        for done, future in enumerate(as_completed(running), 1):
            project, result = running[future], future.result()
            name = Path(project.uri).stem
            print(f"book: ran {done} of {len(waiting)}: {name} ({result.time:.0f} s)", flush=True)
            if result.err:
                problems.append(f"{name}.md:\n{result.err}")
                continue
            join_streams(project.nb)
            bundle = create_cache_bundle(project, result.cwd, None, result.time, None)
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    if problems:
        sys.exit("book: a cell failed in\n\n" + "\n\n".join(problems))


def join_streams(notebook: Any) -> None:
    """Join what a cell printed; into how many pieces the kernel cut it depends on the load.

    >>> from nbformat.v4 import new_code_cell, new_notebook, new_output
    >>> pieces = [new_output("stream", name="stdout", text=text) for text in ("one ", "line")]
    >>> notebook = new_notebook(cells=[new_code_cell(outputs=pieces)])
    >>> join_streams(notebook)
    >>> [output.text for output in notebook.cells[0].outputs]
    ['one line']
    """
    for cell in notebook.cells:
        joined: list[Any] = []
        for output in cell.get("outputs", []):
            if joined and output.get("name", "") == joined[-1].get("name"):
                joined[-1].text += output.text
            else:
                joined.append(output)
        if joined:
            cell.outputs = joined


def requests_elsewhere(out: Path) -> list[str]:
    """Return what the pages and styles would load from other hosts."""
    found = []
    for path in [*out.rglob("*.html"), *out.rglob("*.css")]:
        for match in LOADED.finditer(path.read_text(encoding="utf-8")):
            found.append(f"{path.relative_to(out)} loads {match[0]}")
    return found


def remove_leftovers(out: Path, started: float) -> None:
    """Remove the pages of an earlier build that this one has not written."""
    for path in out.rglob("*.html"):
        if "_static" not in path.relative_to(out).parts and path.stat().st_mtime < started:
            path.unlink()


def _run(project: Any) -> Any:
    return single_nb_execution(project.nb, cwd=str(BOOK), timeout=SECONDS, allow_errors=False)


def main() -> None:
    """Build the site."""
    parser = argparse.ArgumentParser(prog="python book/build.py", description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="kernels at a time")
    parser.add_argument("--out", type=Path, default=BOOK / "_build" / "html", help="folder")
    options = parser.parse_args()
    key, built = site_key(), options.out / BUILT
    if built.exists() and built.read_text() == key:
        print(f"book: nothing has changed in {options.out / 'index.html'}")
        return
    built.unlink(missing_ok=True)
    os.environ["IPYTHONDIR"] = str(IPYTHON)  # a copy, because kernels write beside it
    shutil.copytree(BOOK / "_ipython", IPYTHON, dirs_exist_ok=True)
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    folder = CACHES / library_key()
    if CACHES.exists():
        for old in CACHES.iterdir():
            if old != folder:
                shutil.rmtree(old)
    run_chapters(folder, max(1, options.jobs))
    started = time.time()
    status = build_sphinx(
        BOOK,
        options.out.resolve(),
        path_config=BOOK / "_config.yml",
        noconfig=True,
        confoverrides={"latex_individualpages": False, "nb_execution_cache_path": str(folder)},
        doctreedir=options.out.resolve().parent / "doctrees",
        quiet=True,
        freshenv=True,  # Sphinx does not see when our extensions or the table of contents change
        force_all=True,
        warningiserror=True,
        keep_going=True,
    )
    remove_leftovers(options.out, started)
    if elsewhere := requests_elsewhere(options.out):
        print("book: the site must not ask other hosts:", *elsewhere, sep="\n", file=sys.stderr)
    if status != 0 or elsewhere:
        sys.exit("book: not built, for the reasons above")
    built.write_text(key)
    print(f"book: {options.out / 'index.html'}")


if __name__ == "__main__":
    main()
