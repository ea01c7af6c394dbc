"""What can be wrong with the source of a homework, in the words of a colleague.

Everything is told at once: cells without their metadata, solutions that would be handed out, and
points, answers or functions in which the source and its manifest disagree.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from autograder.sources import MARKER, Cell, join, split_functions, without_markers

if TYPE_CHECKING:
    from autograder.manifest import Manifest

KEYS = {"grade", "grade_id", "locked", "schema_version", "solution", "task"}


def find_faults(cells: Sequence[Cell], manifest: Manifest) -> list[str]:
    """Return what keeps a source from being released, one line each; empty if all is well."""
    return [*_cell_faults(cells), *_manifest_faults(cells, manifest)]


def _cell_faults(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield what is wrong with single cells and their names."""
    for cell in cells:
        if "incorrectly_encoded_metadata" in cell.metadata:
            text = cell.metadata["incorrectly_encoded_metadata"]
            yield f"{cell.place}: its metadata is no JSON on one line: {text}"
        elif unknown := sorted(set(cell.metadata) - {"nbgrader", "tags"}):
            yield f"{cell.place}: unknown metadata {join(unknown)}; known are nbgrader and tags"
        elif "nbgrader" in cell.metadata:
            yield from (f"{cell.place}: {fault}" for fault in _nbgrader_faults(cell))
        yield from (f"{cell.place}: {fault}" for fault in _marker_faults(cell))
    for name, count in Counter(cell.name for cell in cells if cell.name).items():
        if count > 1:
            yield f"the grade_id {name} occurs {count} times; give each cell its own"


def _nbgrader_faults(cell: Cell) -> Iterator[str]:
    data = cell.nbgrader
    if not data.get("grade_id") or not re.fullmatch(r"[\w-]+", cell.name):
        yield f"grade_id must be a name of letters, digits, - and _, got {data.get('grade_id')!r}"
    keys = KEYS | {"points"} if data.get("grade") is True else KEYS
    if missing := sorted(keys - set(data)):
        yield f"its nbgrader metadata lacks {join(missing)}"
    if unknown := sorted(set(data) - keys):
        yield f"its nbgrader metadata has {join(unknown)}, which does not belong there"
    for key in ("grade", "locked", "solution", "task"):
        if key in data and not isinstance(data[key], bool):
            yield f"{key} must be true or false, got {data[key]!r}"
    if data.get("schema_version", 3) != 3:
        yield f"schema_version must be 3, got {data['schema_version']!r}"
    if data.get("task") is True:
        yield "tasks are not used here; write a question and an answer cell"
    if data.get("locked") is data.get("solution") is True:
        yield "a solution cell must not be locked: nobody could write into it"


def _marker_faults(cell: Cell) -> Iterator[str]:
    marks = MARKER.findall(cell.text)
    solution = cell.nbgrader.get("solution") is True
    if cell.text.count("### BEGIN SOLUTION") + cell.text.count("### END SOLUTION") != len(marks):
        yield "a solution marker must stand alone on its line"
    elif marks != ["BEGIN", "END"] * (len(marks) // 2):
        yield "BEGIN SOLUTION and END SOLUTION must come in pairs"
    elif marks and (not solution or cell.kind != "code"):
        yield "it has solution markers, but its metadata does not make it a code cell to solve"
    elif solution and cell.kind == "code" and not marks:
        yield "without ### BEGIN SOLUTION … ### END SOLUTION it would be released solved"


def _manifest_faults(cells: Sequence[Cell], manifest: Manifest) -> Iterator[str]:
    """Yield where the source and the manifest contradict each other."""
    tests = {cell.name: cell for cell in cells if cell.is_a(grade=True, solution=False)}
    answers = {cell.name: cell for cell in cells if cell.is_a(grade=True, solution=True)}
    solutions = {cell.name: cell for cell in cells if cell.is_a(grade=False, solution=True)}
    wanted = {f"test-{question.id}": question.points for question in manifest.questions}
    yield from _point_faults(tests, wanted, "code", "question")
    yield from _point_faults(
        answers, {answer.id: answer.points for answer in manifest.answers}, "markdown", "answer"
    )
    for question in manifest.questions:
        test = tests.get(f"test-{question.id}")
        if test is not None and not _calls_check(test, question.id):
            yield f'{test.place}: it must call check("{question.id}")'
        if test is not None and test.nbgrader.get("locked") is not True:
            yield f"{test.place}: a test cell must be locked"
    for name in manifest.functions:
        if name not in solutions:
            yield f"the function {name} of the manifest has no solution cell with grade_id {name}"
        elif name not in _defined(solutions[name]):
            yield f"{solutions[name].place}: it does not define the function {name}"
    supplied = [cell for cell in cells if cell.name.startswith("supplied")]
    there = {name for cell in supplied if cell.nbgrader.get("locked") for name in _defined(cell)}
    for name in manifest.supplied:
        if name not in there:
            yield f"no locked cell with a grade_id supplied… defines {name} of the manifest"


def _point_faults(
    found: Mapping[str, Cell], wanted: Mapping[str, float], kind: str, what: str
) -> Iterator[str]:
    for name, points in wanted.items():
        if name not in found:
            yield f"a {what} of the manifest has no graded cell {name} ({points} points)"
        elif found[name].kind != kind:
            yield f"{found[name].place}: it must be a {kind} cell"
        elif found[name].nbgrader.get("points") != points:
            mine = found[name].nbgrader.get("points")
            yield f"{found[name].place}: it says {mine} points, the manifest {points}"
    for name in sorted(set(found) - set(wanted)):
        yield f"{found[name].place}: the manifest has no {what} for this graded cell"


def _defined(cell: Cell) -> set[str]:
    return set(split_functions(without_markers(cell.text))) if _is_python(cell) else set()


def _calls_check(cell: Cell, question: str) -> bool:
    calls = ast.walk(ast.parse(cell.text)) if _is_python(cell) else ()
    return any(ast.unparse(node) == f"check({question!r})" for node in calls)


def _is_python(cell: Cell) -> bool:
    try:
        ast.parse(cell.text)
    except SyntaxError:
        return False
    return cell.kind == "code"
