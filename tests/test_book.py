"""The book's sources are complete, and its build refuses what it should refuse."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import build
import notebooks
import pdf
import pytest
import yaml
from test_lecture_map import MAP

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
DEFINED = re.compile(r"^\$\$ \((eq-[\w-]+)\)|^:label: (eq-[\w-]+)", re.MULTILINE)
EXPLAINED = re.compile(r"^```\{lecture\} (.*)$", re.MULTILINE)
CHAPTERS = [
    chapter["file"]
    for part in yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    if part.get("numbered")
    for chapter in part["chapters"]
]
MANY_LINES = re.MULTILINE | re.DOTALL
SLIP = re.compile(r"^:::\{admonition\} Where the slides? errs?$(.*?)^:::$", MANY_LINES)
LECTURE_ID = re.compile(r"\b[SCMGB]\d{1,2}\b")
OPTIONS = re.compile(r"\A(?:---\n.*?\n---\n|(?::[^\n]*\n)*)", re.DOTALL)
CELL = "```{code-cell} ipython3\n{cell}\n```"


def text_of(page: str) -> str:
    return (BOOK / f"{page}.md").read_text(encoding="utf-8")


def pages() -> list[str]:
    return [path.relative_to(BOOK).with_suffix("").as_posix() for path in sources()]


def sources() -> list[Path]:
    return [path for path in sorted(BOOK.rglob("*.md")) if "_build" not in path.parts]


def mini_book(folder: Path, page: str) -> subprocess.CompletedProcess[str]:
    """Build a book of one page, with the configuration and extensions of the real one."""
    (folder / "book").mkdir()
    for name in ("_config.yml", "build.py", "references.bib"):
        shutil.copy(BOOK / name, folder / "book")
    for name in ("_assets", "_ext", "_ipython"):
        shutil.copytree(BOOK / name, folder / "book" / name)
    (folder / "svmlab").symlink_to(ROOT / "svmlab")
    (folder / "book" / "_toc.yml").write_text("format: jb-book\nroot: index\n", encoding="utf-8")
    front = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n"
    (folder / "book" / "index.md").write_text(front + page, encoding="utf-8")
    command = [sys.executable, "book/build.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_there_are_thirteen_chapters():
    assert len(CHAPTERS) == 13


def test_every_page_is_in_the_table_of_contents():
    assert set(re.findall(r"(?:file|root): (\S+)", (BOOK / "_toc.yml").read_text())) == set(pages())


def test_every_equation_of_the_map_is_defined_exactly_once():
    found = [a or b for page in pages() for a, b in DEFINED.findall(text_of(page))]
    assert sorted(found) == sorted(MAP.labels)


def test_every_lecture_result_is_explained_in_a_section():
    explained = {
        name for page in pages() for ids in EXPLAINED.findall(text_of(page)) for name in ids.split()
    }
    assert set(MAP.items) - explained == set()


def test_what_a_chapter_corrects_is_among_the_errata():
    errata = set(LECTURE_ID.findall(text_of("errata")))
    for page in pages():
        for slip in SLIP.findall(text_of(page)):
            assert set(LECTURE_ID.findall(slip)) <= errata, (page, slip)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_has_all_its_parts(chapter: str):
    text = text_of(chapter)
    assert "{admonition} The question" in text
    assert text.count("{exercise} ") >= 2
    solved = set(re.findall(r"\{solution(?:-start)?\} (\S+)", text))
    assert solved == set(re.findall(r":label: (ex-\S+)", text))
    assert text.count(":::{quiz} ") >= 2
    assert "## What to remember" in text
    assert "{cite:t}" in text
    assert "assert " in text
    assert "{py:func}" in text
    first_figure, first_formula = text.index("image:"), text.index("\n$$\n")
    assert first_figure < first_formula


def test_the_references_ask_for_the_original_papers():
    bibliography = (BOOK / "references.bib").read_text(encoding="utf-8")
    cited = {
        key.strip()
        for page in pages()
        for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", text_of(page))
        for key in keys.split(",")
    }
    keys = set(re.findall(r"^@\w+\{([^,]+),", bibliography, re.MULTILINE))
    assert cited <= keys
    assert {
        "cortes1995support", "platt1998fast", "shalev2007pegasos", "shalev2011pegasos",
        "joachims1999making", "joachims2006training", "fan2005working", "hsieh2008dual",
        "crammer2001algorithmic", "kivinen2004online", "bottou2012stochastic", "breiman2001random",
        "freund1997decision",
    } <= cited  # fmt: skip


def test_every_public_module_is_in_the_reference():
    listed = {
        name
        for page in pages()
        for name in re.findall(r"automodule:: svmlab\.(\S+)", text_of(page))
    }
    modules = {
        ".".join(path.relative_to(ROOT / "svmlab").with_suffix("").parts)
        for path in (ROOT / "svmlab").rglob("*.py")
    }
    left_out = {"__init__", "__main__", "_jit", "ensembles._checks"}
    packages = {"ensembles.__init__", "estimators.__init__", "plotting.__init__"}
    assert modules - left_out - packages == listed


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_notebook_of_a_chapter_has_the_same_cells_and_no_directives(chapter: str):
    blocks = re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", text_of(chapter), MANY_LINES)
    cells = [OPTIONS.sub("", block).strip() for block in blocks]
    found = notebooks.notebook(BOOK / f"{chapter}.md")
    assert [c.source.strip() for c in found.cells if c.cell_type == "code"] == cells
    prose = "\n".join(c.source for c in found.cells if c.cell_type == "markdown")
    assert not re.search(r"^:::|^```\{|\{[\w:]+\}`", prose, re.MULTILINE)


def test_a_notebook_shows_the_lines_of_code_that_the_chapter_shows():
    found = notebooks.notebook(BOOK / "losses.md")
    shown = [c.source for c in found.cells if "```python" in c.source]
    code = re.findall(r"```python\n(.*?)\n```", "\n".join(shown), re.DOTALL)
    assert len(code) == 1
    assert code[0].startswith("theta = np.zeros")
    assert code[0].split("\n")[-1].lstrip().startswith("theta = theta + _backtrack")


def test_a_change_in_the_library_changes_the_key_of_the_outputs(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ROOT", tmp_path)
    (tmp_path / "svmlab").mkdir()
    (tmp_path / "svmlab" / "losses.py").write_text("1")
    before = build.library_key()
    assert build.library_key() == before
    (tmp_path / "svmlab" / "losses.py").write_text("2")
    assert build.library_key() != before


def test_a_failing_cell_fails_the_build_and_is_shown(tmp_path):
    built = mini_book(tmp_path, "# One\n\n" + CELL.replace("{cell}", "assert 1 + 1 == 3"))
    assert built.returncode != 0
    assert "index.md" in built.stderr
    assert "assert 1 + 1 == 3" in built.stderr


def test_whatever_is_missing_fails_the_build_and_is_named(tmp_path):
    page = (
        "# One\n\n{ref}`nowhere` {eq}`der-nowhere` {py:func}`svmlab.losses.nothing`\n\n"
        "```{lecture} S3\n```\n\n```{py:function} silent(x)\n```\n\n"
        + CELL.replace("{cell}", "import matplotlib.pyplot as plt\nplt.plot([1]);")
        + "\n\n"
        + CELL.replace("{cell}", "import warnings\nwarnings.warn('look out')")
    )
    built = mini_book(tmp_path, page)
    assert built.returncode != 0
    for reason in (
        "undefined label: 'nowhere'",
        "equation not found: der-nowhere",
        "svmlab.losses.nothing",
        "an image has no alt text",
        "silent has no docstring here",
        "no chapter defines the equation eq-hinge",
        "lecture-s3",
        "stderr",
    ):
        assert reason in built.stderr, (reason, built.stderr)


def test_what_a_page_would_load_from_elsewhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="https://example.org/fine">x</a><script src="https://cdn.example.org/x.js">'
        '<link href="//example.org/s.css" rel="stylesheet"><link rel="canonical" href="https://x.y">'
    )
    (tmp_path / "b.css").write_text("a { background: url(https://example.org/b.png) }")
    found = build.requests_elsewhere(tmp_path)
    assert [line.split()[0] for line in found] == ["a.html", "a.html", "b.css"]


def test_a_page_that_asks_another_host_fails_the_build(tmp_path):
    built = mini_book(tmp_path, "# One\n\n![a cat](https://example.org/cat.png)\n")
    assert built.returncode != 0
    assert "index.html loads" in built.stderr
    assert "https://example.org/cat.png" in built.stderr


def test_a_cell_that_cannot_be_read_is_named_with_its_page(tmp_path):
    page = "# One\n\n" + CELL.replace("{cell}", "---\ntags: a: b\n---\n1")
    built = mini_book(tmp_path, page)
    assert built.returncode != 0
    assert built.stderr.startswith("book: index.md: ")


def test_pages_of_an_earlier_build_do_not_stay(tmp_path):
    (tmp_path / "_static").mkdir()
    for name in ("old.html", "new.html", "_static/kept.html"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (100, 200 if name == "new.html" else 100))
    build.remove_leftovers(tmp_path, 150.0)
    assert sorted(path.name for path in tmp_path.rglob("*.html")) == ["kept.html", "new.html"]


def test_the_printed_book_has_all_chapters():
    assert set(CHAPTERS) < set(pdf.pages())
