"""Reports as files: what a submission earned and why, and what of it its student may see.

A report is one JSON object, written as ``COURSE/.autograder/reports/HW/STUDENT.json``::

    version      1; a reader refuses a higher one
    homework, student
    seeds        "public", or the fingerprint of the course secret
    status       the worst of its outcomes
    points, max_points
    remarks      texts: what a person should know; none of them changed points
    judged       for each question the key of its verdict and its remarks: a later run takes over
                 what it would judge the same (not in the student's copy)
    outcomes     one object for each check, in the order of the manifest:
      check, question          ids
      status                   OK WRONG ERROR TIMEOUT MEMORY OUTPUT KILLED POLICY REJECTED INTERNAL
      points, max_points, reason
      measured, limit          the figure that decided, or null
      seconds
      memory                   bytes at most, or null where it was too quick to look
      visibility               always, after (the deadline) or never
      lecture, label           where its subject is explained
      mistake                  the id in the catalogue of mistakes, or null
      carried                  judged with the reference's steps in place of failed ones
      private                  text from the student's process

It may hold hidden data, so nobody but its owner can read it. ``student-reports`` beside ``reports``
has the same form with everything taken out that the visibility rules keep back.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder.nbgrader.course import write_file
from autograder.outcome import REPORT_VERSION, Judged, Outcome, Report, Status
from autograder.trouble import Trouble
from autograder.visibility import reason_lines as reason_lines
from autograder.visibility import student_view as student_view

FULL, COPY = "reports", "student-reports"


class ReportError(Trouble, ValueError):
    """A report that cannot be read, with the place and the way out."""


def report_path(root: Path, homework: str, student: str, kind: str = FULL) -> Path:
    """Return where a course keeps a report, or with ``COPY`` the student's copy of it.

    >>> report_path(Path("course"), "hw1-margins", "ada").as_posix()
    'course/.autograder/reports/hw1-margins/ada.json'
    """
    for name in (homework, student):
        if Path(name).name != name or name in ("", ".."):
            raise ReportError(f"{name!r} cannot be the name of a file")
    return Path(root) / ".autograder" / kind / homework / f"{student}.json"


def write_report(root: Path, report: Report, *, after: bool = False) -> Path:
    """Write a report and the student's copy of it; return where the report is."""
    _write(
        root,
        report_path(root, report.homework, report.student, COPY),
        student_view(report, after=after),
    )
    path = report_path(root, report.homework, report.student)
    _write(root, path, report)
    return path


def _write(root: Path, path: Path, report: Report) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps(report.to_dict(), indent=1, allow_nan=False)
    write_file(root, path, f"{text}\n".encode(), mode=0o600)


def read_report(root: Path, homework: str, student: str) -> Report | None:
    """Return the report of a submission, or None if there is none yet."""
    path = report_path(root, homework, student)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as problem:
        raise ReportError(f"{path} cannot be read ({problem}); grade {student} again") from None
    try:
        return from_dict(data)
    except (KeyError, TypeError, ValueError) as problem:
        raise ReportError(f"{path}: {problem}; grade {student} again") from None


def from_dict(data: Mapping[str, Any]) -> Report:
    """Return the report that ``Report.to_dict`` made into plain data.

    >>> report = Report(homework="hw1-margins", student="ada", seeds="public", outcomes=())
    >>> from_dict(report.to_dict()) == report
    True
    """
    if data["version"] > REPORT_VERSION:
        raise ReportError(f"the report has version {data['version']}, of a newer autograder")
    kept = _known(Report, data)
    kept["outcomes"] = tuple(
        Outcome(**{**_known(Outcome, item), "status": Status(item["status"])})
        for item in data["outcomes"]
    )
    kept["remarks"] = tuple(data.get("remarks", ()))
    kept["judged"] = {
        name: Judged(item["key"], tuple(item["remarks"]))
        for name, item in data.get("judged", {}).items()
    }
    return Report(**kept)


def _known(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: data[name] for name in names if name in data}


def is_after(due: datetime | None, now: datetime) -> bool:
    """Tell whether the deadline has passed; without one, hidden things stay hidden.

    Times without a zone are UTC, as in the gradebook.

    >>> is_after(datetime(2030, 1, 1), datetime(2030, 1, 2, tzinfo=UTC))
    True
    >>> is_after(None, datetime(2030, 1, 2))
    False
    """
    return due is not None and utc(now) > utc(due)


def utc(time: datetime) -> datetime:
    """Return a time in UTC without a zone, as the gradebook keeps it."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo is not None else time
