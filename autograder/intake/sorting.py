"""Sort the files of a download by their paths: whose they are, and which are not read at all."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from autograder.intake.archives import MAX_PATH, Member, Source, is_junk, path_fault
from autograder.intake.below import shown, usable_name
from autograder.intake.names import Reading, Whose, whose
from autograder.intake.roster import Roster
from autograder.intake.timestamps import MAX_STAMP_BYTES, TIMESTAMP, parse_time
from autograder.notebook import Rejected

ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
WRAPPERS = {"submitted", "submissions"}


@dataclass(frozen=True)
class Unknown:
    """A notebook of which it is not known whose it is."""

    origin: str
    reason: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}"


@dataclass(frozen=True)
class Refused:
    """A file that was not taken, and the student if nothing else of theirs counts."""

    origin: str
    reason: str
    student: str | None = None

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}"


@dataclass(frozen=True)
class Candidate:
    """A notebook of a known student."""

    member: Member
    path: str
    reading: Reading
    time: datetime | None

    def order(self, homework: str) -> tuple[object, ...]:
        """Sort attempts: by number, else by time, else by name (2 before 10)."""
        name = self.path.rpartition("/")[2]
        parts = re.split(r"(\d+)", self.path)
        natural = [int(part) if k % 2 else part for k, part in enumerate(parts)]
        moment = self.time or datetime.min
        return (self.reading.rank, moment, name == f"{homework}.ipynb", natural)


@dataclass
class Pile:
    """What was found so far."""

    candidates: dict[str, list[Candidate]] = field(default_factory=lambda: defaultdict(list))
    others: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    unknown: list[Unknown] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


class Sorter:
    """Finds out what each file is, by its path alone; ``pile`` is the answer."""

    def __init__(
        self,
        path: Path,
        source: Source,
        homework: str,
        roster: Roster,
        own: re.Pattern[str] | None,
    ) -> None:
        self.pile = Pile()
        self._source, self._homework, self._roster, self._own = source, homework, roster, own
        self._known = replace(roster, add=False)  # a text file makes nobody a student
        paths = [one.path for one in source.members if not path_fault(one.path)]
        paths = [one for one in paths if not is_junk(one)]
        self._wrapper = "" if own else _wrapper(paths, path.stem, homework, roster)
        inner = [] if own else [self._inside(one) for one in paths]
        self._trees = {tree for one in inner if (tree := _tree(one))}
        self._stamps = {one.path: one for one in source.members if one.path.endswith(TIMESTAMP)}
        for member in source.members:
            self._place(member)
        self._separate_namesakes()

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._wrapper)

    def _place(self, member: Member) -> None:
        path = self._inside(member.path)
        if fault := path_fault(member.path):
            self._refuse(member, fault, self._known)
        elif is_junk(path) or self._is_elsewhere(path):
            self.pile.ignored.append(shown(member.path))
        elif member.fault:
            self._refuse(member, member.fault, self._roster)
        elif path.lower().endswith(".ipynb"):
            self._place_notebook(member, path)
        elif path.lower().endswith(ARCHIVES):
            reason = "it is an archive, which is not opened; hand in the .ipynb file itself"
            self._refuse(member, reason, self._roster)
        else:
            self.pile.others[self._owner(path, self._known) or ""].append(shown(member.path))

    def _is_elsewhere(self, path: str) -> bool:
        """Tell whether a file belongs to a homework of nbgrader's tree, but is not the one."""
        student, _, rest = path.partition("/")
        homework, _, name = rest.partition("/")
        if (student, homework) not in self._trees:
            return False
        return homework != self._homework or name != f"{homework}.ipynb"

    def _place_notebook(self, member: Member, path: str) -> None:
        owner = self._whose(path, self._roster)
        if not owner.student:
            self.pile.unknown.append(Unknown(shown(member.path), owner.reason))
        elif problem := usable_name(owner.student):
            reason = f"{shown(owner.student)!r} cannot be the name of a student: {problem}"
            self.pile.refused.append(Refused(shown(member.path), reason))
        else:
            moment = self._time(member, path)
            candidate = Candidate(member, path, owner.reading, moment)
            self.pile.candidates[owner.student].append(candidate)

    def _whose(self, path: str, roster: Roster) -> Whose:
        return whose(path, roster, self._homework, self._own)

    def _owner(self, path: str, roster: Roster) -> str | None:
        student = self._whose(path, roster).student if len(path) <= MAX_PATH else ""
        return student if student and not usable_name(student) else None

    def _refuse(self, member: Member, reason: str, roster: Roster) -> None:
        path = self._inside(member.path)
        student = self._owner(path, roster)
        if not student and not path.lower().endswith(".ipynb"):  # perhaps a student's folder
            student = self._owner(f"{path}/{self._homework}.ipynb", roster)
        self.pile.refused.append(Refused(shown(member.path), reason, student))

    def _time(self, member: Member, path: str) -> datetime | None:
        """Return the date of the file; in nbgrader's tree that of the timestamp beside it."""
        stamp = self._stamps.get(f"{member.path.rpartition('/')[0]}/{TIMESTAMP}")
        if not stamp or not _tree(path) or self._own:
            return member.time
        if path_fault(stamp.path) or stamp.fault or stamp.size > MAX_STAMP_BYTES:
            return None
        try:
            return parse_time(self._source.read(stamp).decode())
        except (Rejected, ValueError):
            return None

    def _separate_namesakes(self) -> None:
        """Two accounts with one name are two people: neither is taken for the one we know."""
        for student, some in list(self.pile.candidates.items()):
            accounts = {one.reading.account for one in some if one.reading.account}
            if len(accounts) > 1:
                del self.pile.candidates[student]
                reason = f"{len(accounts)} people ({', '.join(sorted(accounts))}) have this name"
                self.pile.unknown += [Unknown(shown(one.member.path), reason) for one in some]


def _wrapper(paths: Sequence[str], stem: str, homework: str, roster: Roster) -> str:
    """Return the folder around everything, if its name says that it is no student's."""
    folders = {path.partition("/")[0] if "/" in path else "" for path in paths}
    folder = folders.pop() if len(folders) == 1 else ""
    if folder not in {stem, homework, *WRAPPERS} or roster.find_any(folder):
        return ""
    return "" if f"{folder}/{homework}.ipynb" in paths else f"{folder}/"


def _tree(path: str) -> tuple[str, str] | None:
    """Return student and homework of a path in nbgrader's tree."""
    match path.split("/"):
        case [student, homework, name] if name == f"{homework}.ipynb":
            return None if "_assignsubmission_" in student else (student, homework)
    return None
