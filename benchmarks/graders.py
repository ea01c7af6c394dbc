"""The graders that are compared: each grades the same class by a command of its own."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import psutil

from autograder.manifest import load_manifest
from autograder.release import release

HERE = Path(__file__).resolve().parent
SUBREAPER = 36  # of prctl
LOOK_EVERY = 0.25
STAMP = "2025-01-10 12:00:00.000000 UTC\n"


@dataclass(frozen=True)
class Class:
    """Notebooks of one homework by student; ``kind`` is how the table calls them."""

    kind: str
    homework: str
    notebooks: Mapping[str, bytes]

    def first(self, size: int) -> Class:
        """Return a smaller class, or one in which the same notebooks come again."""
        names = list(self.notebooks)
        chosen = {
            names[k % len(names)]
            + (f"-{k // len(names)}" if k >= len(names) else ""): self.notebooks[
                names[k % len(names)]
            ]
            for k in range(size)
        }
        return Class(self.kind, self.homework, chosen)


@dataclass
class Run:
    """What one command took: seconds of the clock and of all processors, bytes, and the scores."""

    wall: float
    cpu: float
    memory: int
    scores: dict[str, float] = field(default_factory=dict)


def measured(command: Sequence[str], **options: Any) -> tuple[Run, str]:
    """Run a command; count what all its processes used, orphans too."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    known = {one.pid for one in psutil.Process().children()}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    ) as process:
        watcher = _Memory(process.pid)
        watcher.start()
        out, err = process.communicate()
        wall = time.perf_counter() - began
        watcher.done.set()
        watcher.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: {err[-2000:]}")
    _bury_orphans(known)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, cpu, watcher.peak), out


class _Memory(threading.Thread):
    """Looks now and then how much memory a process and all below it hold, shared parts once."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self.peak, self.done = pid, 0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(LOOK_EVERY):
            total = 0
            try:
                family = [psutil.Process(self._pid)]
                family += family[0].children(recursive=True)
            except psutil.Error:
                return
            for one in family:
                try:
                    total += one.memory_full_info().pss
                except (psutil.Error, OSError):
                    continue
            self.peak = max(self.peak, total)


def _bury_orphans(known: set[int]) -> None:
    """Wait for what a command left behind: it ends with its parent, and its time counts."""
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        orphans = [one.pid for one in psutil.Process().children() if one.pid not in known]
        if not orphans:
            return
        for pid in orphans:
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)


def make_course(folder: Path, homeworks: Sequence[str]) -> Path:
    """Release homework into a course of ours."""
    release(folder, list(homeworks), wheel=False, progress=lambda line: None)
    return folder


def hand_in(course: Path, group: Class) -> None:
    """Put a class where nbgrader collects it, and nothing else."""
    for name in ("submitted", "autograded"):
        shutil.rmtree(course / name, ignore_errors=True)
    for student, data in group.notebooks.items():
        folder = course / "submitted" / student / group.homework
        folder.mkdir(parents=True)
        (folder / f"{group.homework}.ipynb").write_bytes(data)
        (folder / "timestamp.txt").write_text(STAMP, encoding="utf-8")


def ours(*options: str) -> Callable[[Path, Class], Run]:
    """Return our command with these options; nothing is taken over from earlier runs."""

    def grade(course: Path, group: Class) -> Run:
        hand_in(course, group)
        words = ["grade", group.homework, "--course", str(course), "--json", "--add-students"]
        command = [sys.executable, "-m", "autograder", *words, "--force", *options]
        run, out = measured(command)
        run.scores = {row["student"]: row["points"] for row in json.loads(out)["submissions"]}
        return run

    return grade


def make_stock_course(folder: Path, course: Path, homeworks: Sequence[str]) -> Path:
    """Make a course for stock nbgrader: the same notebooks, their test cells running our checks."""
    folder.mkdir()
    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\nc.ClearSolutions.enforce_metadata = False\n"
        "c.ExecutePreprocessor.timeout = 120\n",
        encoding="utf-8",
    )
    for homework in homeworks:
        source = course / "source" / homework / f"{homework}.ipynb"
        book = nbformat.read(source, as_version=4)
        questions = {f"test-{q.id}": q.id for q in load_manifest(homework).questions}
        for cell in book.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in questions:
                cell.source = (
                    f"import sys\nsys.path.insert(0, {str(HERE)!r})\nfrom stock_checks import score"
                    f"\nscore({homework!r}, {questions[name]!r}, globals())"
                )
        target = folder / "source" / homework
        target.mkdir(parents=True)
        nbformat.write(book, target / f"{homework}.ipynb")
        _nbgrader(folder, "generate_assignment", homework, "--create", "--force")
    return folder


def stock(ours_at: Path) -> Callable[[Path, Class], Run]:
    """Return stock nbgrader's command."""

    def grade(course: Path, group: Class) -> Run:
        from nbgrader.api import Gradebook

        hand_in(course, group)
        run, _ = _nbgrader(course, "autograde", group.homework, "--create", "--force", at=ours_at)
        with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
            for student in group.notebooks:
                submission = book.find_submission_notebook(group.homework, group.homework, student)
                grades = [g for g in submission.grades if g.name.startswith("test-")]
                run.scores[student] = sum(grade.auto_score or 0.0 for grade in grades)
        return run

    return grade


def make_otter_tests(folder: Path, homeworks: Sequence[str]) -> Path:
    """Pack our checks as tests of otter-grader, one case a question."""
    folder.mkdir()
    for homework in homeworks:
        with zipfile.ZipFile(folder / f"{homework}.zip", "w") as pack:
            pack.writestr("otter_config.json", json.dumps({"show_stdout": False}))
            for number, question in enumerate(load_manifest(homework).questions):
                test = OTTER_TEST.format(
                    here=str(HERE), homework=homework, id=question.id, points=question.points
                )
                pack.writestr(f"tests/q{number:02}.py", test)
    return folder


OTTER_TEST = """\
import sys
from otter.test_files import test_case

OK_FORMAT = False
name = {id!r}
points = {points!r}


@test_case(points={points!r})
def test_question(env):
    sys.path.insert(0, {here!r})
    from stock_checks import score
    assert score({homework!r}, {id!r}, env) == {points!r}
"""


def otter(tests: Path, ours_at: Path) -> Callable[[Path, Class], Run]:
    """Return otter-grader's command without a container, for one notebook after another."""

    def grade(folder: Path, group: Class) -> Run:
        whole = Run(0.0, 0.0, 0)
        hand_in(folder, group)
        for student in group.notebooks:
            path = folder / "submitted" / student / group.homework / f"{group.homework}.ipynb"
            words = ["run", "-a", str(tests / f"{group.homework}.zip"), "-o", str(path.parent)]
            environment = {**os.environ, "BENCH_COURSE": str(ours_at), "BENCH_STUDENT": student}
            one, _ = measured(
                [sys.executable, "-m", "otter", *words, "--no-logo", str(path)], env=environment
            )
            whole.wall, whole.cpu = whole.wall + one.wall, whole.cpu + one.cpu
            whole.memory = max(whole.memory, one.memory)
            found = json.loads((path.parent / "results.json").read_text(encoding="utf-8"))
            scores = [test["score"] for test in found["tests"] if "score" in test]
            whole.scores[student] = float(sum(scores))
        return whole

    return grade


def _nbgrader(course: Path, *words: str, at: Path | None = None) -> tuple[Run, str]:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BENCH_COURSE": str(at),
    }
    command = [sys.executable, "-m", "nbgrader", *words]
    return measured(command, cwd=course, env=environment)
