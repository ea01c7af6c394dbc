"""An nbgrader course on disk: its configuration, its folders, and how files get into it."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.nbgrader import plugins
from autograder.trouble import Trouble

if TYPE_CHECKING:
    from nbformat import NotebookNode

STRUCTURE = os.path.join("{nbgrader_step}", "{student_id}", "{assignment_id}")
STEPS = ("source", "release", "submitted", "autograded", "feedback")


class CourseError(Trouble, ValueError):
    """A course that cannot be used as it is, with the reason and the way out."""


@dataclass(frozen=True)
class Course:
    """A course: the work of STUDENT on HW stands in ``submitted / STUDENT / HW``, and so on."""

    root: Path
    config: Any  # traitlets' Config: what nbgrader_config.py says
    source: Path
    release: Path
    submitted: Path
    autograded: Path
    feedback: Path
    db_url: str
    course_id: str

    @property
    def has_plugins(self) -> bool:
        """Whether stock nbgrader grades through our code here, and keeps hidden reasons back."""
        return plugins.configured(self.config)


def open_course(root: Path) -> Course:
    """Return the course in a folder; raise :class:`CourseError` if there is none to work with."""
    root = Path(root).expanduser().resolve()
    require("nbgrader", "grading")
    if not (root / "nbgrader_config.py").is_file():
        raise CourseError(
            f"{root} is no course: it has no nbgrader_config.py. Give its folder with --course, or "
            "make a course with `autograder release`"
        )
    config, there = load_config(root)
    course = Course(
        root=root,
        config=config,
        **{step: root / getattr(there, f"{step}_directory") for step in STEPS},
        db_url=_absolute(there.db_url, root),
        course_id=there.course_id,
    )
    database = _sqlite_path(course.db_url)
    if database is not None and not database.is_file():
        raise CourseError(
            f"the course {root} has no gradebook ({database}); `autograder release --course "
            f"{root}` makes it"
        )
    return course


def load_config(root: Path) -> tuple[Any, Any]:
    """Return what the course's nbgrader_config.py says, and nbgrader's view of the course."""
    with warnings.catch_warnings(), _without_grammars():
        warnings.simplefilter("ignore")  # of other packages, about each other
        from nbgrader.coursedir import CourseDirectory
        from traitlets.config import Config
        from traitlets.config.loader import PyFileConfigLoader

        config = Config(CourseDirectory={"root": str(root), "course_id": root.name})
        config.merge(PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config())
        there = CourseDirectory(config=config)
    place = root / "nbgrader_config.py"
    if Path(there.root).resolve() != root:
        raise CourseError(
            f"{place} sets the root {there.root}: give that folder with --course, or correct "
            "CourseDirectory.root"
        )
    if there.directory_structure != STRUCTURE:
        raise CourseError(
            f"{place} sets CourseDirectory.directory_structure to {there.directory_structure!r}; "
            f"only nbgrader's own, {STRUCTURE!r}, is supported: remove that line"
        )
    return config, there


@contextlib.contextmanager
def _without_grammars() -> Iterator[None]:
    """Let jsonschema, which nbformat imports, go without a package that it can go without.

    With it, it could test that a text is an internationalised address. Nobody here asks that, and
    the grammars that the package builds when imported take longer than all of nbgrader.
    """
    name = "rfc3987_syntax"
    absent = name not in sys.modules
    if absent:
        sys.modules[name] = None  # type: ignore[assignment]  # an import of it fails
    try:
        yield
    finally:
        if absent:
            del sys.modules[name]


def _absolute(db_url: str, root: Path) -> str:
    """Return the address of the gradebook, whatever the working directory is."""
    path = _sqlite_path(db_url)
    return db_url if path is None or path.is_absolute() else f"sqlite:///{root / path}"


def _sqlite_path(db_url: str) -> Path | None:
    prefix = "sqlite:///"
    return Path(db_url.removeprefix(prefix)) if db_url.startswith(prefix) else None


def trusted_notebook(course: Course, homework: str) -> NotebookNode:
    """Return the instructor's notebook: it says which cells there are and what they are worth."""
    import nbformat

    path = course.source / homework / f"{homework}.ipynb"
    try:
        return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except FileNotFoundError:
        raise CourseError(
            f"{path} is missing: run `autograder release {homework} --course {course.root}`"
        ) from None
    except (ValueError, OSError) as problem:
        raise CourseError(f"{path} cannot be read ({problem}); release {homework} again") from None


def require(package: str, purpose: str, extra: str = "course") -> None:
    """Raise :class:`CourseError` where a package is not installed."""
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        raise CourseError(f"{purpose} needs {package}; {install_hint(extra)}") from None


def install_hint(extra: str) -> str:
    """Say how to install an extra.

    >>> install_hint("course")
    "install the extra `course`: in a checkout, python -m pip install -e '.[course]'"
    """
    return f"install the extra `{extra}`: in a checkout, python -m pip install -e '.[{extra}]'"


def write_file(root: Path, path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file of a course at once or not at all; leave one alone that is so already."""
    if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
        if mode is not None and path.stat().st_mode & 0o777 != mode:
            path.chmod(mode)
        return
    # Beside the secret, not beside the file: nbgrader hands out all that lies in source/HW, and
    # a notebook with solutions that a killed run left there would be among it.
    fresh = root / ".autograder" / f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if mode else 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if mode is not None:
            fresh.chmod(mode)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


@contextlib.contextmanager
def scripts_on_path() -> Iterator[None]:
    """Let nbgrader find alembic, which it starts by name, where no environment is activated."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before
