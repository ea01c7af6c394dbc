"""What the checks of small functions share: rows to compare, and inputs left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.checks.convert import compare, vector
from autograder.outcome import Verdict, half
from autograder.student import Student
from svmlab.types import Vector


def judge_rows(
    student: Student,
    name: str,
    cases: Sequence[tuple[Any, ...]],
    expected: Sequence[Vector],
    scale: Sequence[Vector],
    words: Callable[[int], str],
) -> Verdict:
    """Compare one number a row, over all rows of all cases.

    Parameters
    ----------
    name : the student's function
    cases : its arguments, case by case
    expected, scale : for each case the right numbers, and the largest term of each
    words : says what the k-th of all rows was
    """
    answers = student.call_many(name, cases)
    got = [vector(a, len(e), name) for a, e in zip(answers, expected, strict=True)]
    verdict = compare(
        np.concatenate(got), np.concatenate(expected), np.concatenate(scale), name, words
    )
    return unchanged(verdict, student, name, cases[-1])


def judge_vectors(
    student: Student,
    name: str,
    cases: Sequence[tuple[Any, ...]],
    expected: Sequence[Vector],
    scale: Sequence[float],
    words: Callable[[int], str],
) -> Verdict:
    """Compare one vector a case, as a whole; ``scale`` is the largest term of each."""
    answers = student.call_many(name, cases)
    got = [vector(a, len(e), name) for a, e in zip(answers, expected, strict=True)]
    return unchanged(compare(got, expected, scale, name, words), student, name, cases[-1])


def unchanged(verdict: Verdict, student: Student, name: str, case: Sequence[Any]) -> Verdict:
    """Take half of the points where a right function changes the arrays it is given."""
    if verdict.share < 1.0:
        return verdict
    _, after = student.call_echo(name, *case)
    if all(np.array_equal(old, new) for old, new in zip(case, after, strict=True)):
        return verdict
    return half(f"{name} is right, but it changes the caller's arrays: make a new one instead")


def show(values: Any) -> str:
    """Return numbers as a person writes them.

    >>> show([1.0, -0.25])
    '(1, -0.25)'
    """
    return "(" + ", ".join(f"{value:g}" for value in values) + ")"
