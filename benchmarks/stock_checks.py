"""Our checks inside a notebook, for graders that run tests where the student's code runs.

``score("hw1-margins", "hinge", globals())`` in a test cell gives the points of a question, by the
same checks on the same hidden data as ``autograder grade``. Whose data is told by the folder, which
nbgrader calls STUDENT/HW, or by BENCH_STUDENT; where the secret is, by BENCH_COURSE.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autograder.judge import judge_question
from autograder.local import Local
from autograder.manifest import load_manifest
from autograder.pools import course_pools, seeds_for
from autograder.seeds import Seeds, read_secret
from autograder.sources import reference_functions

LIMIT = 30.0


failed: list[str] = []  # functions whose questions were not answered in full, in this notebook


def score(homework: str, question: str, namespace: dict[str, Any]) -> float:
    """Return the points of a question for the functions of a running notebook.

    As in ours, a question whose steps have failed is judged with the reference's in their place.
    """
    part = load_manifest(homework).question(question)
    steps = [name for name in part.steps if name in failed]
    with replaced(namespace, homework, steps):
        points = _points(homework, question, namespace)
    if steps and points < part.points:
        points = max(points, _points(homework, question, namespace))
    if points < part.points:
        failed.extend(part.functions)
    return points


def _points(homework: str, question: str, namespace: dict[str, Any]) -> float:
    student = os.environ.get("BENCH_STUDENT") or Path.cwd().parent.name
    seeds = seeds_of(homework, student)
    outcomes = judge_question(homework, question, Local(namespace, LIMIT), seeds=seeds)
    return float(sum(outcome.points for outcome in outcomes))


@contextmanager
def replaced(namespace: dict[str, Any], homework: str, names: list[str]) -> Iterator[None]:
    """Put functions of the reference into a notebook for a while."""
    before = {name: namespace.get(name) for name in names}
    for name in names:
        exec(reference_functions(homework)[name], namespace)
    try:
        yield
    finally:
        namespace.update(before)


@functools.cache
def seeds_of(homework: str, student: str) -> Seeds:
    """Return what a student's data are drawn from in the course of the benchmark."""
    course = Path(os.environ["BENCH_COURSE"])
    pools = course_pools(course, homework)
    return seeds_for(homework, secret=read_secret(course), student=student, pools=pools)


def student_seconds(homework: str, source: str, student: str) -> float:
    """Return the time that a submission's own functions take when every check is asked once."""
    spent = [0.0]
    namespace: dict[str, Any] = {"__name__": "notebook"}
    exec(source, namespace)
    manifest = load_manifest(homework)
    for name in manifest.functions:
        if callable(namespace.get(name)):
            namespace[name] = _timed(namespace[name], spent)
    os.environ["BENCH_STUDENT"] = student
    failed.clear()
    for question in manifest.questions:
        score(homework, question.id, namespace)
    return spent[0]


def _timed(function: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    """Count the time of the outermost call."""
    inside = [False]

    def call(*arguments: Any) -> Any:
        if inside[0]:
            return function(*arguments)
        inside[0], began = True, time.perf_counter()
        try:
            return function(*arguments)
        finally:
            inside[0] = False
            spent[0] += time.perf_counter() - began

    return call
