"""The catalogue of mistakes: each the one change that it makes to the reference, and the words.

Used three times: as tests of the checks, to name a student's mistake, and for the sample class.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from autograder.sources import reference_functions, reference_source


class MistakeError(ValueError):
    """An entry of the catalogue that does not fit the reference."""


@dataclass(frozen=True)
class Mistake:
    """One change of the reference; ``acceptable`` ones are harmless and keep all points."""

    id: str
    question: str
    function: str
    say: str
    label: str
    find: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    code: str = ""
    credit: float = 0.0
    acceptable: bool = False
    timeout: bool = False


def load_mistakes(homework: str) -> tuple[Mistake, ...]:
    """Return the catalogue of a homework.

    >>> len(load_mistakes("hw1-margins")) >= 6
    True
    """
    return _load(homework)


@functools.cache
def _load(homework: str) -> tuple[Mistake, ...]:
    path = files("autograder") / "mistakes" / f"{homework}.toml"
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["mistake"]
    mistakes = tuple(_mistake(entry) for entry in entries)
    names = [mistake.id for mistake in mistakes]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise MistakeError(f"mistakes of {homework}: {sorted(repeated)[0]} occurs twice")
    return mistakes


def _mistake(entry: Mapping[str, Any]) -> Mistake:
    data = {**entry}
    for key in ("find", "replace"):
        texts = data.get(key, ())
        data[key] = (texts,) if isinstance(texts, str) else tuple(texts)
    try:
        mistake = Mistake(**data)
    except TypeError as problem:
        raise MistakeError(f"mistake {entry.get('id')}: {problem}") from None
    if len(mistake.find) != len(mistake.replace) or bool(mistake.find) == bool(mistake.code):
        raise MistakeError(f"mistake {mistake.id}: give find and replace, or code")
    if not mistake.acceptable and not 0.0 <= mistake.credit < 1.0:
        raise MistakeError(f"mistake {mistake.id}: credit must be in [0, 1), got {mistake.credit}")
    return mistake


def changed_function(homework: str, mistake: Mistake) -> str:
    """Return the source of the one function that the mistake changes, with the mistake."""
    if mistake.code:
        return mistake.code
    source = reference_functions(homework)[mistake.function]
    for find, replace in zip(mistake.find, mistake.replace, strict=True):
        if source.count(find) != 1:
            raise MistakeError(
                f"mistake {mistake.id}: {find!r} occurs {source.count(find)} times in "
                f"{mistake.function} of {homework}; it must occur once"
            )
        source = source.replace(find, replace)
    return source


def faulty_source(homework: str, mistake: Mistake) -> str:
    """Return the whole reference with the mistake built in."""
    reference = reference_source(homework)
    original = reference_functions(homework)[mistake.function]
    if reference.count(original) != 1:
        raise MistakeError(f"{mistake.function} is not found once in the reference of {homework}")
    return reference.replace(original, changed_function(homework, mistake).rstrip("\n"))


def words(mistake: Mistake) -> str:
    """Return what to say, as one sentence or two, with a full stop.

    >>> words(Mistake("m", "q", "f", "the sign is wrong", "eq-hinge", find=("a",), replace=("b",)))
    'the sign is wrong.'
    """
    return re.sub(r"(?<![.!?])$", ".", mistake.say.strip())
