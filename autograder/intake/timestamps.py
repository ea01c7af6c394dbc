"""When a submission was handed in: nbgrader's timestamp.txt, and a table of times.

Times are UTC without a zone, as in nbgrader's gradebook.
"""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder.intake.below import IntakeError, shown

TIMESTAMP = "timestamp.txt"
MAX_STAMP_BYTES = 200
BEGINNING = datetime(1980, 1, 3)  # zip counts from 1 January 1980, somewhere: dates not set

_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"(?:[ T](?:[01]\d|2[0-3]):\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_ZONE = re.compile(r"[A-Za-z][A-Za-z_/-]*")
_SECONDS = re.compile(r"[+-]?\d{1,6}", re.ASCII)


def parse_time(text: str, *, local: bool = False) -> datetime:
    """Return the moment that a text means; one without a zone is UTC, or our local time.

    These are the forms that nbgrader writes, and ISO 8601; what nbgrader reads in them is what
    comes out, because formgrader compares the two.

    >>> parse_time("2026-11-17 02:26:10.123456 UTC")
    datetime.datetime(2026, 11, 17, 2, 26, 10, 123456)
    >>> parse_time("2026-11-17T02:26+01:00")
    datetime.datetime(2026, 11, 17, 1, 26)
    """
    parts = text.strip().split(" ")
    zone = parts.pop() if len(parts) == 3 else ""
    moment = " ".join(parts)
    if not _MOMENT.fullmatch(moment):
        raise ValueError(f"{shown(text)!r} is not a time such as 2026-11-17T02:26:10Z")
    value = datetime.fromisoformat(moment)
    if zone:
        value = _in_zone(value, zone)
    elif local and value.tzinfo is None:
        value = value.astimezone()
    try:
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    except OverflowError:
        raise ValueError(f"{shown(text)!r} is out of range") from None


def _in_zone(value: datetime, zone: str) -> datetime:
    """Read a zone apart from the time as nbgrader does, oddities included."""
    if value.tzinfo is not None:
        raise ValueError("the time has two zones")
    if _SECONDS.fullmatch(zone):  # it takes a number for seconds
        return value - timedelta(seconds=int(zone))
    if not _ZONE.fullmatch(zone):
        raise ValueError(f"{shown(zone)!r} is not a time zone")
    try:
        return value.replace(tzinfo=ZoneInfo(zone))
    except (LookupError, ValueError, OSError):
        # A short name: ours, or one that says nothing, and then the time is taken for UTC.
        return value.astimezone() if zone in time.tzname else value


def format_time(moment: datetime) -> str:
    """Return a time as nbgrader writes it.

    >>> format_time(datetime(2026, 11, 17, 2, 26, 10))
    '2026-11-17 02:26:10.000000 UTC'
    """
    return f"{moment.isoformat(sep=' ', timespec='microseconds')} UTC"


def from_seconds(seconds: int, nanoseconds: int = 0) -> datetime | None:
    """Return the time of a file by the seconds since 1970, or None for one that is not set.

    >>> from_seconds(1_794_882_370, 123_456_789)
    datetime.datetime(2026, 11, 17, 2, 26, 10, 123456)
    """
    try:
        moment = datetime(1970, 1, 1) + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
    except OverflowError:
        return None
    return moment if moment >= BEGINNING else None


def from_local(fields: tuple[int, ...]) -> datetime | None:
    """Return the UTC time of a year, month, day, … of the local calendar, or None as above."""
    try:
        moment = datetime(*fields).astimezone(UTC).replace(tzinfo=None)  # type: ignore[arg-type]
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment >= BEGINNING else None


def read_times(path: Path, student_of: Callable[[str], str]) -> dict[str, datetime]:
    """Return the times of students from a table with the columns student and time.

    Parameters
    ----------
    path
        CSV with a header (comma, semicolon or tab; other columns do not matter).
        The time is ISO 8601, local without a zone; an empty one says nothing.
    student_of
        Gives the id of whoever stands in the column student.
    """
    times: dict[str, datetime] = {}
    lines: dict[str, int] = {}
    for line, name, text in _rows(path):
        if not text:
            continue
        try:
            moment = parse_time(text, local=True)
        except (ValueError, OverflowError) as problem:
            raise IntakeError(f"{path}, line {line}: {problem}") from None
        student = student_of(name)
        if times.setdefault(student, moment) != moment:
            raise IntakeError(
                f"{path}, line {line}: {shown(name)} has another time in line {lines[student]}; "
                "leave one of them"
            )
        lines.setdefault(student, line)
    return times


def _rows(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield number of the line, student, time."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            separator = max(",;\t", key=header.count)
            titles = [
                title.strip().lower()
                for title in next(csv.reader([header], delimiter=separator), [])
            ]
            student, moment = _columns(path, titles)
            rows = csv.reader(file, delimiter=separator)
            for row in rows:
                if not any(cell.strip() for cell in row):
                    continue
                line = rows.line_num + 1
                if len(row) <= max(student, moment) or not row[student].strip():
                    raise IntakeError(f"{path}, line {line}: it has no student or no time")
                yield line, row[student].strip(), row[moment].strip()
    except OSError as problem:
        raise IntakeError(f"the table {path} cannot be read: {problem.strerror}") from None
    except (csv.Error, UnicodeDecodeError) as problem:
        raise IntakeError(f"{path} is not a CSV table in UTF-8: {problem}") from None


def _columns(path: Path, titles: list[str]) -> tuple[int, int]:
    moment = next((title for title in ("time", "timestamp") if title in titles), "")
    if "student" not in titles or not moment:
        raise IntakeError(
            f"{path} needs a first line with the columns student and time, but has: "
            f"{shown(', '.join(titles)) or 'nothing'}"
        )
    return titles.index("student"), titles.index(moment)
