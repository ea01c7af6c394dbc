"""The lecture map is complete and true: every id, every label, every name and test in it exists."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

from svmlab.lecture_map import IDS, KINDS, load_lecture_map

ROOT = Path(__file__).parents[1]
TAG = re.compile(r"\\tag\{([^}]+)\}")
CITED = re.compile(r"\beq-[a-z0-9]+(?:-[a-z0-9]+)*")
ID = re.compile(r"\b([SCMGB]\d{1,2})\b")
MAP = load_lecture_map()


def resolve(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def exists(place: str) -> bool:
    path, _, name = place.partition("::")
    return (ROOT / path).is_file() and name in functions_in(path)


@cache
def labels_in_docstrings() -> dict[str, list[str]]:
    """Each label with the functions and classes whose docstrings define it."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "svmlab").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for label in TAG.findall(ast.get_docstring(node) or ""):
                    found.setdefault(label, []).append(f"{module}.{node.name}")
    return found


def test_all_65_ids_are_there_and_nothing_else():
    assert len(IDS) == 65
    assert list(MAP.items) == list(IDS)


@pytest.mark.parametrize("item", MAP.items.values(), ids=lambda item: item.id)
def test_each_id_has_what_its_kind_asks_for(item):
    assert item.kind in KINDS
    assert item.title
    if item.kind == "function":
        assert item.functions
        assert item.tests
    if item.kind == "benchmark":
        assert exists(item.runner), item.runner
    for test in item.tests:
        assert exists(test), test
    for name in item.functions:
        doc = inspect.getdoc(resolve(name)) or ""
        assert item.id in expand(doc), f"the docstring of {name} does not cite {item.id}"


def expand(text: str) -> set[str]:
    """Return the ids that a text cites, with ranges such as B4-B9 or M11–M13 written out."""
    ids = set(ID.findall(text))
    for lecture, low, high in re.findall(r"\b([SCMGB])(\d+)\s*[-–]\s*\1(\d+)\b", text):
        ids |= {f"{lecture}{k}" for k in range(int(low), int(high) + 1)}
    return ids


@pytest.mark.parametrize("label", MAP.labels.values(), ids=lambda label: label.label)
def test_each_label_stands_in_the_docstring_of_its_function_and_has_a_test(label):
    assert labels_in_docstrings().get(label.label) == [label.function]
    assert exists(label.test), label.test


def test_every_label_in_a_docstring_is_in_the_map():
    assert set(labels_in_docstrings()) == set(MAP.labels)


def test_every_label_cited_anywhere_is_in_the_map():
    cited: dict[str, Path] = {}
    for folder in ("svmlab", "autograder", "assignments", "book"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".md", ".toml"} and "_build" not in path.parts:
                text = path.read_text(encoding="utf-8")
                cited |= dict.fromkeys(CITED.findall(text), path)
    assert {label: path for label, path in cited.items() if label not in MAP.labels} == {}


def test_ids_cited_in_docstrings_exist():
    for path in (ROOT / "svmlab").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = (ast.get_docstring(node) or "").split("\n\n")[0]
                for group in re.findall(r"\(([^()]*)\)", first):
                    if set(re.split(r"[\s,–-]+", group)) and ID.fullmatch(group.split(",")[0]):
                        assert expand(group) <= set(IDS), f"{path.name}: {node.name}: {group}"
