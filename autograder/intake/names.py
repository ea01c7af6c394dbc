"""Whose file is it? What the path of a file in a download says.

Nobody is guessed: a path that leads to no person, or to several, leads nowhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.intake.below import IntakeError, shown
from autograder.intake.roster import Person, Roster

GROUPS = ("student", "lms", "name")

# Canvas, lib/content_zipper.rb (get_filename, add_upload_submission): the sortable name in lower
# case without punctuation, LATE, the user's number, the attachment's number, the file's name. The
# name may itself end in a number; the second form reads it so, and then two people are possible.
_CANVAS = (
    re.compile(r"(?P<sortable>[^/]*?)_(?:LATE_|late_)?(?P<lms>\d+)_\d+_(?P<file>[^/]+)", re.ASCII),
    re.compile(r"(?P<sortable>[^/]*?_\d+)_(?P<lms>\d+)_\d+_(?P<file>[^/]+)", re.ASCII),
)
# Moodle, mod/assign/classes/downloader.php (get_student_prefix, load_submissionplugin_filelist):
# full name, a number of the participant in this assignment (not the user's), the plugin; then a
# folder (with a last underscore before version 4.1) or, flat, the file's name.
_MOODLE = re.compile(
    r"(?P<name>[^/_]+)_(?P<account>\d+)_assignsubmission_[a-z]+(?:_?/(?:.*/)?|_)(?P<file>[^/]+)",
    re.ASCII,
)
_SUFFIX = re.compile(r"(?:\.tar)?\.[^./]*$")


@dataclass(frozen=True)
class Reading:
    """What one way of reading a path says about whose file it is."""

    student: str = ""
    lms: str = ""
    name: str = ""
    sortable: str = ""
    account: str = ""  # a number that every file of one person has in common
    loose: bool = False  # ``student`` may also be a number or a name
    rank: tuple[int, ...] = ()  # of several files of a person, the highest is the last attempt

    def person(self, roster: Roster) -> Person | None:
        """Return who it is."""
        if self.loose:
            return roster.find_any(self.student)
        return roster.find(self.student, lms=self.lms, name=self.name, sortable=self.sortable)


@dataclass(frozen=True)
class Whose:
    """The id of a file's owner, or the reason why it is not known."""

    student: str = ""
    reason: str = ""
    reading: Reading = Reading()


def own_pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression of an instructor; raise if it cannot tell whose a file is.

    >>> own_pattern("(?P<who>.*)")
    Traceback (most recent call last):
    autograder.intake.below.IntakeError: the pattern '(?P<who>.*)' has no group named student, ...
    """
    try:
        pattern = re.compile(text)
    except re.error as problem:
        raise IntakeError(f"the pattern {text!r} is no regular expression: {problem}") from None
    if not set(GROUPS) & set(pattern.groupindex):
        raise IntakeError(
            f"the pattern {text!r} has no group named student, name or lms; "
            r"write for example (?P<student>\w+)_attempt(?P<attempt>\d+)\.ipynb"
        )
    return pattern


def whose(path: str, roster: Roster, homework: str, pattern: re.Pattern[str] | None) -> Whose:
    """Return the owner of a file by its path in the zip or folder.

    >>> roster = Roster((Person("ada", "Ada", "Lovelace", "17"),))
    >>> whose("lovelaceada_LATE_17_230_hw2-smo-1.ipynb", roster, "hw2-smo", None).student
    'ada'
    >>> whose("Ada Lovelace_4711_assignsubmission_file_/my.ipynb", roster, "hw2-smo", None).student
    'ada'
    """
    path = unicodedata.normalize("NFC", path)
    readings = list(_own(pattern, path) if pattern else _readings(path, homework))
    found: dict[str, Reading] = {}
    for reading in readings:
        if person := reading.person(roster):
            found.setdefault(person.id, reading)
    if len(found) == 1:
        [(student, reading)] = found.items()
        return Whose(student, reading=reading)
    if found:
        return Whose(reason=f"it could be from {' or '.join(map(shown, sorted(found)))}")
    new = next((reading for reading in readings if reading.student), None)
    if roster.add and new and not any(reading.account for reading in readings):
        return Whose(new.student, reading=new)
    return Whose(reason=_unknown(readings, pattern))


def _unknown(readings: Sequence[Reading], pattern: re.Pattern[str] | None) -> str:
    if readings:
        one = readings[0]
        keys = [repr(shown(key)) for key in (one.student, one.lms, one.name, one.sortable) if key]
        return f"nobody in the roster, or more than one person, is {' or '.join(keys) or 'meant'}"
    if pattern:
        return "the pattern does not match its path"
    return (
        "its path has no known form (Canvas, Moodle, STUDENT.ipynb, STUDENT/any.ipynb); "
        "give a pattern of your own"
    )


def _own(pattern: re.Pattern[str], path: str) -> Iterator[Reading]:
    """Match all of the path; the ending may be left out, and other files are read alike."""
    base = _SUFFIX.sub("", path)
    for text in (base, f"{base}.ipynb", path):
        if match := pattern.fullmatch(text):
            groups = {key: value or "" for key, value in match.groupdict().items()}
            student, lms, name, attempt = (groups.get(key, "") for key in (*GROUPS, "attempt"))
            rank = tuple(map(int, re.findall(r"\d+", attempt, re.ASCII)))
            yield Reading(student, lms, name, rank=rank)
            return


def _readings(path: str, homework: str) -> Iterator[Reading]:
    if match := _MOODLE.fullmatch(path):
        named, _ = _of_file(match["file"], homework)
        yield Reading(name=match["name"], account=match["account"], rank=(named,))
        return
    for form in _CANVAS:
        if match := form.fullmatch(path):
            number, sortable = match["lms"], match["sortable"]
            # All files of a person are of one attempt: the one with the homework's name counts.
            rank = _of_file(match["file"], homework)
            yield Reading(lms=number, sortable=sortable, account=number, rank=rank)
    yield from _plain(_SUFFIX.sub("", path), re.escape(homework))


def _of_file(name: str, homework: str) -> tuple[int, int]:
    """Return whether a file is called like the homework, and the number of its copy.

    >>> _of_file("hw2-smo-3.ipynb", "hw2-smo"), _of_file("notes.ipynb", "hw2-smo")
    ((1, 3), (0, 0))
    """
    stem = _SUFFIX.sub("", name)
    if stem == homework:
        return 1, 0
    base, dash, copy = stem.rpartition("-")
    if not (dash and copy.isdecimal() and len(copy) <= 3):
        base, copy = stem, "0"
    return int(re.sub(r" ?\(\d+\)$", "", base) == homework), int(copy)


def _plain(base: str, homework: str) -> Iterator[Reading]:
    if match := re.fullmatch(rf"([^/]+)/{homework}/{homework}", base):
        yield Reading(student=match[1])
    elif match := re.fullmatch(rf"([^/]+)/(?:{homework}/)?[^/]+", base):
        yield Reading(student=match[1], loose=True)
    if match := re.fullmatch(rf"([^/]+)_{homework}(?:-(\d{{1,3}}))?", base):
        yield Reading(student=match[1], loose=True, rank=(int(match[2] or 0),))
    if "/" not in base and not re.fullmatch(homework, base):
        yield Reading(student=base, loose=True)
