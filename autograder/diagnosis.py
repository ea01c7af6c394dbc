"""Name the mistake: compare a student's outputs on fixed inputs with those of known mistakes.

An output is the answer, and what the call left of its arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.manifest import load_manifest
from autograder.mistakes import Mistake, changed_function, load_mistakes
from autograder.outcome import Status
from autograder.pools import functions_of
from autograder.sandbox import child
from autograder.sources import reference_source
from autograder.student import Fault, Student, StudentFault

Outputs = tuple[Any, ...]  # one entry a case: a flat array, or the name of an exception


def diagnose(homework: str, question: str, student: Student, *, timeout: bool) -> Mistake | None:
    """Return the one known mistake of a question whose outputs equal the student's, or None.

    Parameters
    ----------
    homework, question : where points were lost
    student : answers the diagnosis inputs
    timeout : whether a check of the question ran into its time limit
    """
    known = [m for m in load_mistakes(homework) if m.question == question and not m.acceptable]
    if timeout:
        endless = [mistake for mistake in known if mistake.timeout]
        return endless[0] if len(endless) == 1 else None
    try:
        seen = _student_outputs(homework, question, student)
    except StudentFault:
        return None
    if _same(seen, homework, question, None):
        return None
    quick = [mistake for mistake in known if not mistake.timeout]
    matching = [m for m in quick if _same(seen, homework, question, m.id)]
    return matching[0] if len(matching) == 1 else None


@functools.cache
def _cases(homework: str, question: str) -> list[tuple[str, Sequence[Any]]]:
    part = load_manifest(homework).question(question)
    cases = part.checks[0].module().cases_for_diagnosis()
    return [(name, case) for name in part.functions for case in cases.get(name, ())]


def _student_outputs(homework: str, question: str, student: Student) -> Outputs:
    outputs: list[Any] = []
    cases = _cases(homework, question)
    for name in dict(cases):
        outputs += student.outputs(name, [case for other, case in cases if other == name])
    if any(isinstance(value, Fault) and value.status is not Status.ERROR for value in outputs):
        return ()
    return tuple(_flat(value) for value in outputs)


def _same(seen: Outputs, homework: str, question: str, mistake: str | None) -> bool:
    """Compare with known outputs, made as they are needed: most differ in the first one already."""
    return bool(seen) and all(
        _equal(value, known_output(homework, question, mistake, k)) for k, value in enumerate(seen)
    )


@functools.cache
def known_output(homework: str, question: str, mistake: str | None, k: int) -> Any:
    """Return the output of the reference, with or without a mistake, on a diagnosis input."""
    name, case = _cases(homework, question)[k]
    arguments = child.decode(child.encode(list(case)))
    request = {"call": name, "cases": [arguments], "echo": True, "go_on": True}
    with np.errstate(all="ignore"):
        reply = child.answer(request, _known_functions(homework, question, mistake))
    if (fault := reply["faults"][0]) is not None:
        return fault["type"]
    return _flat([reply["values"][0], [a for a in reply["echoes"][0] if a is not None]])


@functools.cache
def _known_functions(homework: str, question: str, mistake: str | None) -> dict[str, Any]:
    """Return the reference, with or without a mistake; each question has its own copy."""
    source = reference_source(homework)
    if mistake is not None:
        entry = next(m for m in load_mistakes(homework) if m.id == mistake)
        source += "\n\n" + changed_function(homework, entry)
    return functions_of(source)


def _flat(value: Any) -> Any:
    """Return all numbers of an answer as one array, or a word for what is not a number."""
    if isinstance(value, Fault):
        return value.kind
    if isinstance(value, list | tuple):
        parts = [_flat(item) for item in value]
        if any(isinstance(part, str) for part in parts):
            return "mixed"
        return np.concatenate(parts) if parts else np.zeros(0)
    if isinstance(value, bool | int | float | np.ndarray):
        try:
            return np.asarray(value, dtype=np.float64).ravel()
        except OverflowError:
            return "overflow"
    return type(value).__name__ if value is not None else "None"


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, str) or isinstance(y, str):
        return isinstance(x, str) and isinstance(y, str) and x == y
    if x.shape != y.shape:
        return False
    return bool(np.allclose(x, y, rtol=1e-6, atol=1e-9, equal_nan=True))
