"""The people of a course, and how one of them is found: never by guessing."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Person:
    """A student of the course, as the gradebook has them."""

    id: str
    first_name: str | None = ""
    last_name: str | None = ""
    lms_user_id: str | None = ""


@dataclass(frozen=True)
class _Index:
    ids: dict[str, Person]
    numbers: dict[str, list[Person]]
    names: dict[str, list[Person]]
    sortables: dict[str, list[Person]]


@dataclass(frozen=True)
class Roster:
    """The students of a course; with ``add``, ids that are not among them are accepted too."""

    people: tuple[Person, ...] = ()
    add: bool = False

    def find(
        self, student: str = "", *, lms: str = "", name: str = "", sortable: str = ""
    ) -> Person | None:
        """Return the person with this id, else with this number, else with this name.

        Parameters
        ----------
        student
            The id, letter by letter.
        lms
            The number in the learning-management system; who has another one is not meant.
        name
            "First Last" or "Last, First", whatever case and accents; never one of two namesakes.
        sortable
            The name as Canvas writes it: "lastfirst".

        Examples
        --------
        >>> roster = Roster((Person("ada", "Ada", "Lovelace", "17"), Person("bob")))
        >>> roster.find("bob").id, roster.find(lms="17").id, roster.find(name="LOVELACE, Adá").id
        ('bob', 'ada', 'ada')
        >>> roster.find("Ada"), roster.find(lms="18", name="Ada Lovelace")
        (None, None)
        """
        index = self._index
        if student in index.ids:
            return index.ids[student]
        if lms in index.numbers:
            return _only(index.numbers[lms])
        people = (
            index.ids.get(lms),
            _only(index.names.get(_full_name(name), [])),
            _only(index.sortables.get(_squeezed(sortable), [])),
        )
        return next((one for one in people if one and not (lms and one.lms_user_id)), None)

    def find_any(self, key: str) -> Person | None:
        """Return the person who has this id, else this number, else this name."""
        return self.find(key) or self.find(lms=key) or self.find(name=key)

    @functools.cached_property
    def _index(self) -> _Index:
        numbers, names, sortables = defaultdict(list), defaultdict(list), defaultdict(list)
        for person in self.people:
            first, last = person.first_name or "", person.last_name or ""
            numbers[person.lms_user_id or ""].append(person)
            names[_folded(f"{first} {last}")].append(person)
            sortables[_squeezed(last + first)].append(person)
        for index in (numbers, names, sortables):
            index.pop("", None)
        ids = {unicodedata.normalize("NFC", person.id): person for person in self.people}
        ids.pop("", None)
        return _Index(ids, dict(numbers), dict(names), dict(sortables))


def _only(people: Sequence[Person]) -> Person | None:
    return people[0] if len(people) == 1 else None


def _folded(text: str) -> str:
    """Drop case, accents and apostrophes (Moodle leaves them out of names of files)."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(c for c in parts if not unicodedata.combining(c) and c not in "'’ʼ`")
    return " ".join(kept.casefold().split())


def _full_name(text: str) -> str:
    last, comma, first = text.partition(",")
    return _folded(f"{first} {last}" if comma else text)


def _squeezed(text: str) -> str:
    return re.sub(r"\W", "", _folded(text))
