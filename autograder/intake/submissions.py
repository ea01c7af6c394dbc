"""What was handed in: the tree ``submitted/STUDENT/HOMEWORK/HOMEWORK.ipynb`` of a course.

Names and files in it are the students': looked at with care, and no notebook is opened before
:func:`read`. How a zip or a folder gets into the tree: :func:`autograder.intake.take_in`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.intake import Intake, take_in
from autograder.intake.below import folder_below, read_at, shown, usable_name
from autograder.intake.roster import Person, Roster
from autograder.intake.sorting import Refused
from autograder.intake.tree import has, stamp_at
from autograder.notebook import Rejected
from autograder.trouble import Trouble

__all__ = [
    "Intake",
    "NoSubmission",
    "Person",
    "Refused",
    "Roster",
    "Submitted",
    "only",
    "read",
    "submitted",
    "take_in",
    "usable_name",
]


class NoSubmission(Trouble):
    """Somebody was asked for who handed in nothing."""


@dataclass(frozen=True)
class Submitted:
    """A submission in the tree.

    ``time`` is UTC without a zone, as nbgrader reads it; None is unknown and so not late, and
    ``remark`` says so when there is a timestamp that cannot be read. A ``problem`` is why it
    cannot be graded. With one, ``student`` may be any text that a folder can be called.
    """

    student: str
    path: Path
    time: datetime | None = None
    problem: str = ""
    remark: str = ""


def submitted(folder: Path, homework: str) -> list[Submitted]:
    """Return the submissions of a homework by the students' names; no notebook is opened.

    Parameters
    ----------
    folder
        The folder ``submitted`` of a course; it may be missing.
    """
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name) if folder.exists() else []
    return [one for entry in entries if (one := _look(folder, entry, homework))]


def only(found: list[Submitted], homework: str, students: Sequence[str]) -> list[Submitted]:
    """Return those of these students; raise :class:`NoSubmission` when one handed in nothing."""
    if missing := sorted(set(students) - {one.student for one in found}):
        raise NoSubmission(_missing(missing, homework, [one.student for one in found]))
    return [one for one in found if one.student in set(students)]


def _look(folder: Path, entry: os.DirEntry[str], homework: str) -> Submitted | None:
    """Return what a student handed in for this homework, or None."""
    name = entry.name
    path = folder / name / homework / f"{homework}.ipynb"
    if entry.is_symlink():  # where it leads to is not looked at, so it counts for every homework
        return Submitted(name, path, problem=f"the folder {shown(name)} is a symbolic link")
    if not entry.is_dir(follow_symlinks=False):
        return None
    try:
        with folder_below(folder, name) as place:
            if not has(place, homework):
                return None
        with folder_below(folder, name, homework) as place:
            moment, remark = stamp_at(place)
            problem = _name_problem(name) or _file_problem(place, path.name)
    except Rejected as refusal:
        return Submitted(name, path, problem=str(refusal))
    return Submitted(name, path, moment, problem, remark)


def _name_problem(name: str) -> str:
    reason = usable_name(name)
    return f"{shown(name)!r} cannot be the name of a student: {reason}" if reason else ""


def _file_problem(place: int, wanted: str) -> str:
    if has(place, wanted):
        return ""
    others = sorted(shown(name) for name in os.listdir(place) if name.lower().endswith(".ipynb"))
    if not others:
        return f"there is no notebook; {wanted} is expected"
    more = ", …" if len(others) > 5 else ""
    return f"there is no {wanted}, but {', '.join(others[:5])}{more}; rename it to {wanted}"


def _missing(missing: Sequence[str], homework: str, there: Sequence[str]) -> str:
    parts = []
    for name in missing:
        close = [shown(other) for other in difflib.get_close_matches(name, there, n=3)]
        parts.append(shown(name) + (f" (there is {', '.join(close)})" if close else ""))
    return f"nothing was handed in for {homework} by: {', '.join(parts)}"


def read(submission: Submitted) -> bytes:
    """Return the bytes of a submission; raise :class:`Rejected` with the reason if there are none.

    Only a regular file is read, of a size that is read, and nothing that a link points to.
    """
    if submission.problem:
        raise Rejected(submission.problem)
    place = submission.path.parent
    try:
        with folder_below(place.parent.parent, place.parent.name, place.name) as handle:
            return read_at(handle, submission.path.name)
    except OSError as problem:  # the folder of all submissions itself
        raise Rejected(f"{place} cannot be read ({problem.strerror or problem})") from None
