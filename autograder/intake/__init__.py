"""Take submissions into a course: from a learning-management system's zip, or from a folder.

Whose a file is comes from its path and the roster; the last attempt of each student is written to
``submitted/STUDENT/HOMEWORK/``. Everything else is listed with the reason. One bad file never
stops the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from autograder.intake.archives import MAX_TOTAL, Source, open_source
from autograder.intake.below import IntakeError, shown
from autograder.intake.names import own_pattern
from autograder.intake.roster import Roster
from autograder.intake.sorting import Candidate, Pile, Refused, Sorter, Unknown
from autograder.intake.timestamps import read_times
from autograder.intake.tree import is_there, store
from autograder.notebook import MAX_BYTES, Rejected

DOWNLOAD = timedelta(minutes=10)


@dataclass(frozen=True)
class Taken:
    """A submission that is in the tree now; ``changed`` unless it was there before."""

    student: str
    origin: str
    time: datetime | None
    path: Path
    changed: bool


@dataclass(frozen=True)
class Older:
    """A file that does not count, because the student has a later one."""

    student: str
    origin: str
    reason: str

    def __str__(self) -> str:
        return f"{self.student}: {self.origin} ({self.reason})"


@dataclass(frozen=True)
class Intake:
    """What became of each file, by its path in the zip or folder (made printable)."""

    taken: tuple[Taken, ...] = ()
    older: tuple[Older, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    refused: tuple[Refused, ...] = ()
    untimed: tuple[str, ...] = ()  # students whose time is not known: not late
    ignored: tuple[str, ...] = ()  # files that are no notebooks, or of another homework
    remarks: tuple[str, ...] = ()


def take_in(
    path: Path,
    into: Path,
    homework: str,
    roster: Roster,
    *,
    pattern: str | None = None,
    times: Path | None = None,
) -> Intake:
    """Take the submissions of a homework from a zip or folder into a course.

    Parameters
    ----------
    path
        A zip or folder as Canvas or Moodle makes it, or with STUDENT.ipynb, STUDENT_HOMEWORK.ipynb,
        STUDENT/any.ipynb, or STUDENT/HOMEWORK/HOMEWORK.ipynb (nbgrader).
    into
        The folder ``submitted`` of the course.
    pattern
        A regular expression for all of the path of a file, in place of these forms, with a group
        ``student`` (id), ``name`` or ``lms``, and perhaps ``attempt``.
    times
        A table (CSV) with the columns student and time. Without it, the dates of the files count.

    Raises
    ------
    IntakeError
        When nothing can be taken in; before anything is written.
    """
    own = own_pattern(pattern) if pattern is not None else None
    _check_apart(path, into)
    known = read_times(times, lambda key: _id_of(key, roster)) if times else {}
    with open_source(path) as source:
        pile = Sorter(path, source, homework, roster, own).pile
        _check_total(path, pile)
        into.mkdir(parents=True, exist_ok=True)
        writer = _Writer(source, into, homework, known)
        done = [one for who in sorted(pile.candidates) for one in writer.take(who, pile)]
    refused = [*pile.refused, *(one for one in done if isinstance(one, Refused))]
    only_others, ignored = _others(pile, refused)
    taken = [one for one in done if isinstance(one, Taken)]
    return Intake(
        taken=tuple(taken),
        older=tuple(one for one in done if isinstance(one, Older)),
        unknown=tuple(pile.unknown),
        refused=tuple(writer.finally_refused(one) for one in (*refused, *only_others)),
        untimed=tuple(one.student for one in taken if one.time is None),
        ignored=(*pile.ignored, *ignored),
        remarks=(*_on_table(times, known, roster, pile), *_on_dates(taken, pile, known)),
    )


def _id_of(key: str, roster: Roster) -> str:
    person = roster.find_any(key)
    return person.id if person else key


def _check_apart(path: Path, into: Path) -> None:
    inner, outer = into.resolve(), path.resolve()
    if inner == outer or outer in inner.parents:
        raise IntakeError(
            f"{path} is or contains the course's own folder {into}; "
            "what is there already needs no taking in"
        )


def _check_total(path: Path, pile: Pile) -> None:
    sizes = [one.member.size for some in pile.candidates.values() for one in some]
    total = sum(size for size in sizes if size <= MAX_BYTES)  # the others are refused unread
    if total > MAX_TOTAL:
        raise IntakeError(
            f"the notebooks in {path} have {total:,} bytes together, and at most {MAX_TOTAL:,} "
            "are read at once; split it"
        )


@dataclass(frozen=True)
class _Writer:
    source: Source
    into: Path
    homework: str
    known: Mapping[str, datetime]

    def take(self, student: str, pile: Pile) -> Iterator[Taken | Older | Refused]:
        """Write the last attempt that can be read; the ones before it are older."""
        ordered = sorted(pile.candidates[student], key=self._order, reverse=True)
        later = ""
        for one in ordered:
            origin = shown(one.member.path)
            if later:
                yield Older(student, origin, f"{later} is later")
                continue
            try:
                yield self._store(student, one, origin)
                later = origin
            except Rejected as problem:
                yield Refused(origin, str(problem), student)

    def _order(self, one: Candidate) -> tuple[object, ...]:
        return one.order(self.homework)

    def _store(self, student: str, one: Candidate, origin: str) -> Taken | Older:
        known = self.known.get(student)
        data = self.source.read(one.member)
        moment = known or one.time
        stored = store(self.into, student, self.homework, data, moment, sure=bool(known))
        if stored.stays:
            return Older(student, origin, f"the course has one of {stored.time} UTC")
        path = self.into / student / self.homework / f"{self.homework}.ipynb"
        return Taken(student, origin, stored.time, path, stored.changed)

    def finally_refused(self, one: Refused) -> Refused:
        """Drop the student if the tree has another notebook of theirs: that one is graded."""
        if one.student is None or not is_there(self.into, one.student, self.homework):
            return one
        return replace(
            one, reason=f"{one.reason}; another notebook of {one.student} counts", student=None
        )


def _others(pile: Pile, refused: Sequence[Refused]) -> tuple[list[Refused], list[str]]:
    """List who handed in files, but no notebook; all other files are ignored."""
    heard = {"", *pile.candidates, *(one.student for one in refused)}
    listed, ignored = [], []
    for student, origins in pile.others.items():
        if student in heard:
            ignored += origins
            continue
        first, *rest = origins
        names = ", ".join(origins[:3]) + (", …" if len(origins) > 3 else "")
        reason = f"no notebook was handed in, only {names}; hand in the .ipynb file"
        listed.append(Refused(first, reason, student))
        ignored += rest
    return listed, ignored


def _on_table(
    times: Path | None, known: Mapping[str, datetime], roster: Roster, pile: Pile
) -> Iterator[str]:
    missing = [who for who in known if not roster.find(who) and who not in pile.candidates]
    if missing:
        names = ", ".join(map(shown, missing[:10])) + (", …" if len(missing) > 10 else "")
        yield f"{times} names people who are not in the roster: {names}"


def _on_dates(taken: Sequence[Taken], pile: Pile, known: Mapping[str, datetime]) -> Iterator[str]:
    """Warn of dates that are those of the download, as Canvas and Moodle put into their zips."""
    moments = [
        one.time
        for one in taken
        if one.time
        and one.student not in known
        and any(other.reading.account for other in pile.candidates[one.student])
    ]
    if moments and max(moments) - min(moments) <= DOWNLOAD:
        yield (
            f"the files are dated {min(moments)} UTC, or a little later: perhaps when they were "
            "downloaded, not when they were handed in; if late work matters, give a table of times "
            "(--times)"
        )
