"""Write a submission into ``submitted/STUDENT/HOMEWORK/``: whole, and never with a wrong time."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.intake.below import folder_below, read_at, write_at
from autograder.intake.timestamps import MAX_STAMP_BYTES, TIMESTAMP, format_time, parse_time
from autograder.notebook import Rejected


@dataclass(frozen=True)
class Stored:
    """What is in the tree now; ``stays`` if that is what was there before, and newer."""

    time: datetime | None
    changed: bool = False
    stays: bool = False


def store(
    into: Path, student: str, homework: str, data: bytes, time: datetime | None, *, sure: bool
) -> Stored:
    """Write a notebook and its time unless there is a newer one; the same again changes nothing.

    Parameters
    ----------
    time
        UTC; None if it is not known.
    sure
        The time comes from a person, and corrects that of the same notebook.
    """
    with (
        folder_below(into) as root,
        _locked(root),
        folder_below(into, student, homework, make=True) as place,
    ):
        name = f"{homework}.ipynb"
        there = _there(place, name)
        before = None if there is None else stamp_at(place)[0]
        same = there == data
        if same and (time is None or time == before):
            return Stored(before)
        if before and time and before > time and not (same and sure):
            return Stored(before, stays=True)
        if not same:
            # The old time goes first: a crash in between then leaves a notebook without a time,
            # which is said and mended by the next run. New time first would leave the old notebook
            # with the new time, new notebook first the new one with the old time, and nobody
            # could see it.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(TIMESTAMP, dir_fd=place)
            write_at(root, place, name, data)
        if time:
            write_at(root, place, TIMESTAMP, format_time(time).encode())
        return Stored(time, changed=True)


def is_there(into: Path, student: str, homework: str) -> bool:
    """Tell whether the tree has a notebook of a student: a file, whatever is in it."""
    try:
        with folder_below(into, student, homework) as place:
            return stat.S_ISREG(_mode(place, f"{homework}.ipynb"))
    except (Rejected, OSError):
        return False


def has(place: int, name: str) -> bool:
    """Tell whether an open folder has something of this name, be it a link that leads nowhere."""
    return _mode(place, name) != 0


def _mode(place: int, name: str) -> int:
    try:
        return os.stat(name, dir_fd=place, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def stamp_at(place: int) -> tuple[datetime | None, str]:
    """Return the time in an open folder; None is unknown, with the reason if there is one."""
    if not has(place, TIMESTAMP):
        return None, ""
    try:
        text = read_at(place, TIMESTAMP, MAX_STAMP_BYTES).decode().strip()
        return (parse_time(text), "") if text else (None, "")
    except (Rejected, ValueError) as problem:
        return None, f"{TIMESTAMP} cannot be used: {problem}; counted as not late"


def _there(place: int, name: str) -> bytes | None:
    for one in (name, TIMESTAMP):
        if stat.S_ISDIR(_mode(place, one)):
            raise Rejected(f"in the course, {one} is a folder; remove it")
    try:
        return read_at(place, name)
    except Rejected:  # a link, a pipe, or nothing: replaced, not followed
        return None


@contextlib.contextmanager
def _locked(root: int) -> Iterator[None]:
    """Let one process write at a time: else notebook and time could come from two of them."""
    import fcntl  # there is none on Windows, where only checking at home works

    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(root, fcntl.LOCK_EX)
    yield  # closing the folder lets go
