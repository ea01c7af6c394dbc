"""The manifest of a homework: questions, functions, checks, points, and who may see what."""

from __future__ import annotations

import functools
import importlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import ModuleType
from typing import Any

from autograder.trouble import Trouble

VISIBILITIES = ("always", "after", "never")


class ManifestError(Trouble, ValueError):
    """A manifest that contradicts itself, with the place and the way out."""


class UnknownHomework(Trouble):
    """Raised where it is not clear which homework is meant."""


@dataclass(frozen=True)
class Check:
    """One check: what it calls, what it is worth, and where its subject is explained."""

    id: str
    function: str  # "smo.bounds" is bounds in autograder/checks/smo.py
    points: float
    visibility: str
    lecture: str
    label: str
    options: Mapping[str, Any]
    pool: str | None = None
    or_all_of: tuple[str, ...] = ()

    def load(self) -> Callable[..., Any]:
        """Return the check function."""
        name = self.function.split(".")[1]
        return getattr(self.module(), name)  # type: ignore[no-any-return]

    def module(self) -> ModuleType:
        """Return the module of checks in which it stands."""
        return importlib.import_module(f"autograder.checks.{self.function.split('.')[0]}")


@dataclass(frozen=True)
class Question:
    """One part of a homework: the functions to write, and the checks that judge them."""

    id: str
    title: str
    functions: tuple[str, ...]
    chapter: str
    steps: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def points(self) -> float:
        """Points of its grade cell: the sum of its checks'."""
        return sum(check.points for check in self.checks)


@dataclass(frozen=True)
class Answer:
    """A text graded by hand."""

    id: str
    title: str
    points: float


@dataclass(frozen=True)
class Manifest:
    """One homework."""

    homework: str
    title: str
    supplied: tuple[str, ...]
    questions: tuple[Question, ...]
    answers: tuple[Answer, ...]

    @property
    def functions(self) -> tuple[str, ...]:
        """All graded names."""
        return tuple(name for question in self.questions for name in question.functions)

    @property
    def points(self) -> float:
        """Points given by checks."""
        return sum(question.points for question in self.questions)

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks, in order."""
        return tuple(check for question in self.questions for check in question.checks)

    def question(self, name: str) -> Question:
        """Return a question by its id."""
        for question in self.questions:
            if question.id == name:
                return question
        known = ", ".join(question.id for question in self.questions)
        raise KeyError(f"{self.homework} has no question {name!r}; it has {known}")

    def pools(self) -> dict[str, ModuleType]:
        """Return the names of its pools with the module that screens their problems."""
        return {check.pool: check.module() for check in self.checks if check.pool}


def homework_names() -> list[str]:
    """Return the names of all homework, in the order of the course.

    >>> homework_names()[0]
    'hw1-margins'
    """
    folder = files("autograder") / "homework"
    names = [item.name for item in folder.iterdir()]
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


@functools.cache
def load_manifest(homework: str) -> Manifest:
    """Read the manifest of a homework and check that it is consistent.

    >>> load_manifest("hw1-margins").points
    10
    """
    if homework not in homework_names():
        raise UnknownHomework(
            f"there is no homework {homework!r}; there are {', '.join(homework_names())}"
        )
    text = (files("autograder") / "homework" / f"{homework}.toml").read_text(encoding="utf-8")
    return parse_manifest(homework, tomllib.loads(text))


def parse_manifest(homework: str, data: Mapping[str, Any]) -> Manifest:
    """Build a manifest from its TOML data, refusing contradictions."""
    place = f"manifest of {homework}"
    _keys(data, {"title", "supplied", "question", "answer"}, place)
    manifest = Manifest(
        homework=homework,
        title=data["title"],
        supplied=tuple(data.get("supplied", ())),
        questions=tuple(_question(item, place) for item in data["question"]),
        answers=tuple(
            Answer(item["id"], item["title"], item["points"]) for item in data.get("answer", ())
        ),
    )
    _unique([question.id for question in manifest.questions], "question", place)
    _unique([check.id for check in manifest.checks], "check", place)
    _unique(manifest.functions, "function", place)
    known = {check.id for check in manifest.checks}
    for check in manifest.checks:
        if unknown := set(check.or_all_of) - known:
            raise ManifestError(f"{place}: or_all_of of {check.id} names unknown {unknown}")
    earlier: set[str] = set()
    for question in manifest.questions:
        if unknown := set(question.steps) - earlier:
            raise ManifestError(
                f"{place}: steps of {question.id} names {unknown}, of no earlier question"
            )
        earlier.update(question.functions)
    return manifest


def _question(item: Mapping[str, Any], place: str) -> Question:
    place = f"{place}, question {item.get('id')}"
    _keys(item, {"id", "title", "functions", "chapter", "steps", "check"}, place)
    checks = tuple(_check(check, place) for check in item["check"])
    if not any(check.visibility == "always" for check in checks):
        raise ManifestError(f"{place}: at least one check must be visible always")
    return Question(
        id=item["id"],
        title=item["title"],
        functions=tuple(item["functions"]),
        chapter=item["chapter"],
        steps=tuple(item.get("steps", ())),
        checks=checks,
    )


def _check(item: Mapping[str, Any], place: str) -> Check:
    place = f"{place}, check {item.get('id')}"
    required = {"id", "function", "points", "visibility", "lecture", "label"}
    _keys(item, required | {"options", "pool", "or_all_of"}, place)
    if missing := required - set(item):
        raise ManifestError(f"{place}: {', '.join(sorted(missing))} missing")
    if item["visibility"] not in VISIBILITIES:
        raise ManifestError(
            f"{place}: visibility must be one of {VISIBILITIES}, got {item['visibility']!r}"
        )
    if not 0 <= item["points"] <= 100:
        raise ManifestError(f"{place}: points must be 0 to 100, got {item['points']}")
    options = {"options": {}, **item}
    return Check(**{**options, "or_all_of": tuple(item.get("or_all_of", ()))})


def _keys(item: Mapping[str, Any], allowed: set[str], place: str) -> None:
    if unknown := set(item) - allowed:
        raise ManifestError(f"{place}: unknown keys {sorted(unknown)}; known are {sorted(allowed)}")


def _unique(names: tuple[str, ...] | list[str], kind: str, place: str) -> None:
    if repeated := sorted({name for name in names if list(names).count(name) > 1}):
        raise ManifestError(f"{place}: {kind} {repeated[0]!r} occurs twice")
