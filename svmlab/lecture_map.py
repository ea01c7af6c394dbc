"""The map from every result of the lectures to the function that computes it and its test.

``lecture_map.toml`` beside this file is the one place where ids and equation labels are listed.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources

LECTURES = {"S": 11, "C": 21, "M": 14, "G": 10, "B": 9}
IDS = tuple(f"{lecture}{k + 1}" for lecture, count in LECTURES.items() for k in range(count))
KINDS = ("function", "benchmark", "text")


@dataclass(frozen=True)
class Item:
    """One result of a lecture: what it says, and where it is computed and proved."""

    id: str
    title: str
    kind: str
    functions: tuple[str, ...]
    tests: tuple[str, ...]
    runner: str = ""


@dataclass(frozen=True)
class Label:
    """One equation: the function whose docstring holds the formula, and a test of it."""

    label: str
    function: str
    test: str


@dataclass(frozen=True)
class LectureMap:
    """All results by id, all equations by label."""

    items: dict[str, Item]
    labels: dict[str, Label]


@functools.cache
def load_lecture_map() -> LectureMap:
    """Read the map.

    >>> load_lecture_map().items["C15"].functions[0]
    'svmlab.examples.worked_example'
    """
    text = resources.files("svmlab").joinpath("lecture_map.toml").read_text(encoding="utf-8")
    raw = tomllib.loads(text)
    items = {
        key: Item(
            **{"id": key, **v, "functions": tuple(v["functions"]), "tests": tuple(v["tests"])}
        )
        for key, v in raw["id"].items()
    }
    labels = {key: Label(label=key, **v) for key, v in raw["label"].items()}
    return LectureMap(items, labels)
