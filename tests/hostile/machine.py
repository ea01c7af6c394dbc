"""Run the real command as a real user, and look at what it leaves behind."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MARK = "SVMLAB_HOSTILE_MARK"
ORDINARY = 61234  # a user id that nobody has: no entry in /etc/passwd either
SUBREAPER = 36  # of prctl
PATIENCE = 1200.0  # seconds for one command: four times what a class takes on a busy machine


def users() -> list[str]:
    """Return who runs the command: whoever runs the tests, and an ordinary user if that is root."""
    return ["root", "ordinary"] if os.geteuid() == 0 else ["myself"]


@dataclass
class Place:
    """A folder that the user of a command owns, with a course, a home and nothing else."""

    folder: Path
    user: str
    cache: Path  # kept for the user's other commands: the files of the sandbox, compiled code

    @property
    def course(self) -> Path:
        return self.folder / "course"

    def environment(self) -> dict[str, str]:
        scripts = str(Path(sys.executable).parent)
        kept = ("PYTHONPATH", "PYTHONPYCACHEPREFIX", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        return {
            "PATH": f"{scripts}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "XDG_CACHE_HOME": str(self.cache),
            "LANG": "C.UTF-8",
            MARK: f"mark-of-{self.folder.name}",
            **{name: os.environ[name] for name in kept if name in os.environ},
        }

    def give_away(self) -> None:
        """Let the user of the command own everything in the folder."""
        if self.user == "ordinary":
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, ORDINARY, ORDINARY, follow_symlinks=False)

    def start(
        self,
        *arguments: str,
        within: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        """Start ``python`` with these arguments, perhaps within another program, elsewhere."""
        command = [*within, sys.executable, *arguments]
        env = {**self.environment(), **(environment or {})}
        if self.user == "ordinary":
            command = as_ordinary(command, self.cache)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            command, env=env, cwd=self.folder / "home", start_new_session=True, **streams | options
        )

    def run(self, *arguments: str, **options: Any) -> Finished:
        """Run ``python`` to its end, and see whom it leaves behind."""
        with reaping() as survivors:
            began = time.monotonic()
            watcher = Watcher(self.start(*arguments, **options))
            out, err = watcher.wait()
            seconds = time.monotonic() - began
            left = survivors()
        code = watcher.process.returncode
        return Finished(code, out.decode(), err.decode(), seconds, left, watcher.peak)

    def grade(self, homework: str, *options: str, **more: Any) -> Finished:
        """Run ``autograder grade --json`` on the course."""
        return self.run(*self.grading(homework, *options), **more)

    def grading(self, homework: str, *options: str) -> list[str]:
        """Return the arguments that grade the course."""
        course = ["--course", str(self.course), "--jobs", "2", "--json", "--add-students"]
        return ["-m", "autograder", "grade", homework, *course, *options]


@dataclass
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str
    seconds: float
    left: list[str] = field(default_factory=list)  # processes that outlived it
    peak: int = 0  # largest memory of a process of the grader itself, in bytes

    @property
    def json(self) -> Any:
        assert self.out.startswith("{"), f"exit {self.code}\n{self.out}\n{self.err}"
        return json.loads(self.out)

    def row(self, student: str) -> dict[str, Any]:
        """Return what the command printed about one student."""
        return next(row for row in self.json["submissions"] if row["student"] == student)


def as_ordinary(command: Sequence[str], *places: Path) -> list[str]:
    """Return a command that runs another one as an ordinary user, who can reach these places."""
    bytecode = os.environ.get("PYTHONPYCACHEPREFIX") or ROOT
    paths = [Path(path) for path in (sys.base_prefix, sys.prefix, bytecode, ROOT, *places)]
    needed = {str(path.resolve()) for path in paths if path.is_dir()}
    program = str(Path(__file__).with_name("as_user.py"))
    # Outer folders first: what lies in another needed one shows already.
    return [sys.executable, program, str(ORDINARY), *sorted(needed), "--", *command]


@contextlib.contextmanager
def open_place(user: str, course: Path, shared: Path) -> Iterator[Place]:
    """Copy a course to a folder that its user owns, and remove it at the end."""
    cache = shared / f"cache-{user}"
    cache.mkdir(exist_ok=True)
    if user == "ordinary":
        os.chown(cache, ORDINARY, ORDINARY)
    folder = Path(tempfile.mkdtemp(prefix="svmlab-hostile-", dir="/tmp"))
    try:
        folder.chmod(0o755)
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        shutil.copytree(course, folder / "course")
        place = Place(folder, user, cache)
        place.give_away()
        yield place
    finally:
        for path in folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(folder)


@contextlib.contextmanager
def reaping() -> Iterator[Callable[[], list[str]]]:
    """Become the parent of every orphan among our descendants, so that none can hide.

    What is yielded returns those that came since then and are still there; and ends them.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(SUBREAPER, 1, 0, 0, 0) == 0
    before = frozenset(descendants(os.getpid()))  # helpers that other tests of this process left
    try:
        yield lambda: _survivors(before)
    finally:
        libc.prctl(SUBREAPER, 0, 0, 0, 0)


def _survivors(before: frozenset[int], patience: float = 12.0) -> list[str]:
    end = time.monotonic() + patience
    while (there := set(descendants(os.getpid())) - before) and time.monotonic() < end:
        time.sleep(0.05)
        for pid in there:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    words = [f"{pid} {_read(pid, 'cmdline').replace(chr(0), ' ')[:200]}" for pid in there]
    for pid in there:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return words


def descendants(pid: int) -> list[int]:
    """Return the processes below a process that are not dead."""
    parents: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = _read(int(name), "stat").rpartition(")")[2].split()
        if fields and fields[0] != "Z":
            parents.setdefault(int(fields[1]), []).append(int(name))
    found = list(parents.get(pid, []))
    for member in found:  # which grows
        found += parents.get(member, [])
    return found


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
    except OSError:
        return ""


class Watcher:
    """Reads what a command says while it looks at the memory of the grader's own processes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process, self.peak = process, 0
        self._namespace = os.readlink("/proc/self/ns/pid")

    def wait(self) -> tuple[bytes, bytes]:
        """Return what it printed; a command that does not end is ended."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.process.communicate(timeout=0.25)
            except subprocess.TimeoutExpired:
                self._look()
                if time.monotonic() > end:
                    os.killpg(self.process.pid, signal.SIGKILL)
                    raise

    def _look(self) -> None:
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            with contextlib.suppress(OSError, ValueError, IndexError):
                if os.readlink(f"/proc/{pid}/ns/pid") == self._namespace:
                    line = _read(pid, "status").partition("VmHWM:")[2].split()
                    self.peak = max(self.peak, 1024 * int(line[0]))


def hashes(course: Path) -> dict[str, str]:
    """Return a hash of every file of a course, by its path, and what links point to."""
    found = {}
    for path in sorted(course.rglob("*")):
        name = os.fsencode(path.relative_to(course)).decode(errors="backslashreplace")
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[name] = f"{digest} {path.stat().st_mode:o}"
    return found


def gradebook(course: Path) -> dict[str, dict[str, Any]]:
    """Return scores and comments by student and cell, without what differs from run to run."""
    query = """
        SELECT submitted_assignment.student_id, base_cell.name, '{what}', {columns}
        FROM {what} JOIN base_cell ON base_cell.id = {what}.cell_id
        JOIN submitted_notebook ON submitted_notebook.id = {what}.notebook_id
        JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
    """
    columns = {
        "grade": "auto_score, manual_score, extra_credit, needs_manual_grade",
        "comment": "auto_comment, manual_comment",
    }
    rows: dict[str, dict[str, Any]] = {}
    with contextlib.closing(sqlite3.connect(f"file:{course}/gradebook.db?mode=ro", uri=True)) as db:
        for what, names in columns.items():
            for student, cell, kind, *values in db.execute(query.format(what=what, columns=names)):
                key = f"{kind} {cell}"
                assert key not in rows.setdefault(student, {}), f"{key} of {student} is there twice"
                rows[student][key] = values
    return rows
