"""Write homework into an nbgrader course directory: sources, wheel, released notebooks.

Releasing again is harmless: what has not changed keeps its bytes, and the course keeps its secret,
its configuration and its grades.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder import pools, seeds, sources
from autograder.manifest import Manifest, load_manifest
from autograder.nbgrader import plugins
from autograder.nbgrader.course import (
    CourseError,
    install_hint,
    load_config,
    require,
    scripts_on_path,
    write_file,
)

if TYPE_CHECKING:
    from nbformat import NotebookNode

CONFIG = """\
# Made once by `autograder release`; it is yours to change and is never overwritten.
from pathlib import Path

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = {course_id!r}
# This folder, wherever it is moved and wherever nbgrader is started.
c.CourseDirectory.root = str(Path(__file__).resolve().parent)

# Judge, give feedback and export as the autograder does, whoever starts nbgrader.
from autograder.nbgrader.plugins import configure  # noqa: E402

configure(c)
"""

README = """\
# {title}

Everything you need is in this folder, and Python 3.11 or newer.

1. **Install**, once, in a terminal in this folder:

   ```
   {install}
   ```

2. **Start**: `jupyter lab {homework}.ipynb`. Write where the notebook says `YOUR CODE HERE`
   or `YOUR ANSWER HERE`; add cells of your own wherever you like.
3. **Check** as often as you like, part by part in the notebook or all at once:
   `autograder check {homework}.ipynb`. Further checks run after you have handed in.
4. **Hand in** the file `{homework}.ipynb`, saved, under this very name. It is worth
   {points:g} points, {by_hand:g} of them for answers that a person reads.
{again}"""

AGAIN = """
If this folder was handed out again with a correction, install with
`python -m pip install --force-reinstall --no-deps {wheel}`.
"""

BUILD = (
    "import os, sys; os.umask(0o022); from setuptools import build_meta as b; b.build_wheel({!r})"
)
EPOCH = "1577836800"  # 2020-01-01, the date of all files in a wheel: same sources, same bytes


class ReleaseError(CourseError):
    """A release that could not be made, with the reason and the way out."""


def release(
    course: Path,
    homeworks: Sequence[str] | None = None,
    *,
    assignments: Path | None = None,
    wheel: bool = True,
    generate: bool = True,
    progress: Callable[[str], object] = print,
) -> list[Path]:
    """Release homework into a course directory and return the folders to hand out.

    Parameters
    ----------
    course
        Folder of the course; made, with configuration and secret, if it is not there.
    homeworks
        Names; all that have a source if None.
    assignments
        Folder of the sources; that of the checkout if None.
    wheel
        Put a wheel beside each notebook (needs a checkout).
    generate
        Let nbgrader make the released notebooks and the rows of the gradebook; otherwise the
        instructor's folders are returned.
    progress
        Gets a line of text for each thing done.
    """
    course = Path(course).expanduser().resolve()
    folder = sources.assignments_folder() if assignments is None else Path(assignments).resolve()
    names = list(homeworks or sources.homeworks(folder))
    require("nbgrader", "a release")
    require("jupytext", "a release")
    # Everything that can be wrong with a source shows before the course is touched.
    notebooks = {name: sources.notebook(sources.source_path(name, folder)) for name in names}
    built = _built_wheel(folder, progress) if wheel else None
    try:
        _make_course(course, progress)
        released = []
        for name, made in notebooks.items():
            progress(f"{name}: screening the problems of its checks")
            pools.write_pools(course, name)
            released.append(_release_one(course, load_manifest(name), made, built, generate))
            progress(f"{name}: wrote {released[-1]}")
    except OSError as problem:
        raise ReleaseError(
            f"cannot write the course {course}: {problem}. Choose a folder of yours with --course"
        ) from problem
    return released


def _make_course(course: Path, progress: Callable[[str], object]) -> None:
    """Make folder, configuration and secret where they are missing."""
    course.mkdir(parents=True, exist_ok=True)
    new = not seeds.secret_path(course).exists()
    seeds.make_secret(course)
    if new:
        progress(f"made the course secret {seeds.secret_path(course)}: keep a backup of it")
    config = course / "nbgrader_config.py"
    if not config.exists():
        write_file(course, config, CONFIG.format(course_id=course.name).encode())
        progress(f"made {config}")
    elif not plugins.configured(load_config(course)[0]):
        progress(
            f"{config} is older than our plugins: without them stock nbgrader would run the code "
            f"of students unprotected. Add these lines at its end:\n\n{plugins.LINES}"
        )


def _release_one(
    course: Path,
    manifest: Manifest,
    made: NotebookNode,
    built: tuple[str, bytes] | None,
    generate: bool,
) -> Path:
    """Write one homework, first into a scratch folder: the course changes if nbgrader agrees."""
    name = manifest.homework
    config, source, target = _course_folders(course, name)
    with tempfile.TemporaryDirectory(
        prefix="release-", dir=course / ".autograder", ignore_cleanup_errors=True
    ) as scratch:
        staged = Path(scratch) / "source" / name
        if source.is_dir():  # what the instructor has put beside the notebook belongs to it
            shutil.copytree(source, staged)
        _write_source(staged, manifest, made, built)
        if generate:
            _run_nbgrader(config, name, Path(scratch))
            _mirror(course, Path(scratch) / "release" / name, target)
        _mirror(course, staged, source)
    return target if generate else source


def _write_source(
    folder: Path, manifest: Manifest, made: NotebookNode, built: tuple[str, bytes] | None
) -> None:
    """Write what nbgrader takes as the instructor's folder of a homework."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{manifest.homework}.ipynb").write_bytes(sources.write_notebook(made))
    if built is not None:
        for old in folder.glob("svmlab-*.whl"):  # of an earlier version: one must be the one
            old.unlink()
        (folder / built[0]).write_bytes(built[1])
    wheels = sorted(path.name for path in folder.glob("svmlab-*.whl"))
    readme = _readme(manifest, wheels[-1] if wheels else None)
    (folder / "README.md").write_bytes(readme.encode())


def _readme(manifest: Manifest, wheel: str | None) -> str:
    by_hand = sum(answer.points for answer in manifest.answers)
    if wheel is None:
        install = "(the package svmlab, with its extra student, as your instructor tells you)"
    else:
        install = f'python -m pip install "{wheel}[student]"'
    return README.format(
        title=manifest.title,
        install=install,
        homework=manifest.homework,
        points=manifest.points + by_hand,
        by_hand=by_hand,
        again="" if wheel is None else AGAIN.format(wheel=wheel),
    )


def _built_wheel(folder: Path, progress: Callable[[str], object]) -> tuple[str, bytes] | None:
    """Return name and bytes of the wheel of this checkout, or None where there is none."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "pyproject.toml").is_file() or not (root / "setup.py").is_file():
        progress("no wheel: svmlab is installed from one here; a checkout is needed to build it")
        return None
    progress("building the wheel for students")
    return build_wheel(root, folder)


def build_wheel(root: Path, assignments: Path) -> tuple[str, bytes]:
    """Build the wheel of a checkout without network; the same files give the same bytes."""
    require("setuptools", "the wheel")
    if int(metadata.version("setuptools").split(".")[0]) < 77:
        found = metadata.version("setuptools")
        raise ReleaseError(
            f"the wheel needs setuptools 77 or newer, here is {found}; {install_hint('course')}"
        )
    with tempfile.TemporaryDirectory(prefix="svmlab-wheel-") as scratch:
        tree, out = Path(scratch) / "tree", Path(scratch) / "out"
        _copy_tree(root, assignments, tree)
        done = subprocess.run(
            [sys.executable, "-c", BUILD.format(str(out))],
            cwd=tree,
            env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        wheels = list(out.glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            raise ReleaseError("the wheel could not be built:\n" + _tail(done.stderr))
        return wheels[0].name, wheels[0].read_bytes()


def _copy_tree(root: Path, assignments: Path, tree: Path) -> None:
    """Copy what a wheel is made of: no old build folder gets in, and modes are the same."""
    tree.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copyfile(root / name, tree / name)
    for name in ("svmlab", "autograder"):
        ignored = shutil.ignore_patterns("__pycache__", "reference")
        shutil.copytree(root / name, tree / name, ignore=ignored, copy_function=shutil.copyfile)
    for name in sources.homeworks(assignments):
        (tree / "assignments" / name).mkdir(parents=True)
        path = sources.source_path(name, assignments)
        shutil.copyfile(path, tree / "assignments" / name / path.name)
    for path in tree.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _course_folders(course: Path, homework: str) -> tuple[Any, Path, Path]:
    """Return the course's configuration, and its source and release folder of a homework."""
    config, there = load_config(course)
    folders = (there.source_directory, there.release_directory)
    source, target = (Path(there.format_path(folder, ".", homework)) for folder in folders)
    return config, source, target


def _run_nbgrader(config: Any, homework: str, scratch: Path) -> None:
    """Let nbgrader make scratch/release from scratch/source, and the rows of the gradebook.

    It removes an old release before it knows whether the new one succeeds; hence the scratch.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from nbgrader.converters import GenerateAssignment
        from nbgrader.coursedir import CourseDirectory
        from nbgrader.utils import capture_log

        there = CourseDirectory(config=config, assignment_id=homework)
        there.source_directory = os.path.relpath(scratch / "source", there.root)
        there.release_directory = os.path.relpath(scratch / "release", there.root)
        with scripts_on_path():
            result = capture_log(GenerateAssignment(coursedir=there, config=config, force=True))
    if not result["success"]:
        raise ReleaseError(_reason(homework, result))


def _reason(homework: str, result: dict[str, Any]) -> str:
    """Say what nbgrader said, without its traceback."""
    text = result.get("log", "") + result.get("error", "")
    said = re.findall(r"^\s*(?:\w+\.)*\w*(?:Error|Exception): (.*)$", text, re.MULTILINE)
    reasons = [line for line in dict.fromkeys(said) if "above traceback" not in line]
    way_out = ""
    if "submissions associated" in text:
        way_out = (
            "\nStudents have handed in already: keep every cell and its grade_id (text, points and "
            "checks may change), or release under a new course."
        )
    return f"nbgrader refused {homework}: {'; '.join(reasons) or _tail(text)}{way_out}"


def _mirror(course: Path, made: Path, target: Path) -> None:
    """Make a released folder equal to a fresh one, file by file, touching only what changed."""
    fresh = {path.relative_to(made) for path in made.rglob("*") if path.is_file()}
    for path in sorted(fresh):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        write_file(course, target / path, (made / path).read_bytes())
        shutil.copymode(made / path, target / path)  # the course may share its files with a group
    for path in [path for path in target.rglob("*") if path.is_file()]:
        if path.relative_to(target) not in fresh:
            path.unlink()


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-15:])
