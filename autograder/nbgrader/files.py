"""The files that grading leaves in a course: reports, autograded notebooks, digests of answers."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from autograder.intake.timestamps import TIMESTAMP, format_time
from autograder.nbgrader.course import Course, write_file
from autograder.outcome import Report
from autograder.reports import report_path, utc, write_report

ANSWERS = "answers"


@contextmanager
def recording(course: Course) -> Iterator[None]:
    """Let one program at a time record, so that files and gradebook tell of the same run.

    The system frees the lock of a program that was killed.
    """
    with (course.root / ".autograder" / "recording.lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_files(
    course: Course, report: Report, notebook: bytes, time: datetime | None, *, after: bool
) -> None:
    """Write report, student's copy and autograded notebook, and leave nothing else beside it."""
    write_report(course.root, report, after=after)
    folder = course.autograded / report.student / report.homework
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{report.homework}.ipynb": notebook}
    if time is not None:
        files[TIMESTAMP] = f"{format_time(utc(time))}\n".encode()
    for name, data in files.items():
        write_file(course.root, folder / name, data, mode=0o444)
    for path in folder.iterdir():  # feedback would hand it out
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in files:
            path.unlink()


def read_answers(course: Course, homework: str, student: str) -> dict[str, str]:
    """Return the digests of the answers that the gradebook's rows belong to, as far as known."""
    path = report_path(course.root, homework, student, ANSWERS)
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # then a person looks once more
        return {}


def write_answers(course: Course, report: Report, answers: Mapping[str, str]) -> None:
    """Keep the digests of the answers that a person grades."""
    path = report_path(course.root, report.homework, report.student, ANSWERS)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps(dict(answers), sort_keys=True)
    write_file(course.root, path, f"{text}\n".encode(), mode=0o600)
