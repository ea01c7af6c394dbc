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

from autograder.extract import extract
from autograder.judge import judge_question
from autograder.local import Local
from autograder.manifest import load_manifest
from autograder.pools import course_pools, seeds_for
from autograder.sandbox import child
from autograder.seeds import Seeds, read_secret
from autograder.sources import reference_functions

LIMIT = 30.0


failed: list[str] = []  # functions whose questions were not answered in full, in this notebook


def score(
    homework: str, question: str, namespace: dict[str, Any], student: str | None = None
) -> float:
    """Return the points of a question for the functions of a running notebook.

    As in ours, a question whose steps have failed is judged with the reference's in their place.
    """
    if student is None:
        student = os.environ.get("BENCH_STUDENT") or Path.cwd().parent.name
    part = load_manifest(homework).question(question)
    steps = [name for name in part.steps if name in failed]
    with replaced(namespace, homework, steps):
        points = _points(homework, question, namespace, student)
    if steps and points < part.points:
        points = max(points, _points(homework, question, namespace, student))
    if points < part.points:
        failed.extend(part.functions)
    return points


def _points(homework: str, question: str, namespace: dict[str, Any], student: str) -> float:
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


def student_seconds(homework: str, data: bytes, student: str) -> float:
    """Return the time that a submission's own functions take when every check is asked once."""
    manifest, watch = load_manifest(homework), Watch()
    namespace: dict[str, Any] = {"__name__": "notebook"}
    given = [reference_functions(homework)[name] for name in manifest.supplied]
    statements = [["import numpy as np", 0, 1], *([source, 0, 1] for source in given)]
    extracted = extract(data, manifest.functions, manifest.supplied)
    statements += [[s.source, s.cell, s.line] for s in extracted.statements]
    child.execute(statements, namespace)
    for name in manifest.functions:
        if callable(namespace.get(name)):
            namespace[name] = watch.timed(namespace[name])
    failed.clear()
    for question in manifest.questions:
        score(homework, question.id, namespace, student)
    return watch.seconds


class Watch:
    """Counts the time inside functions; where one calls another, that of the outer one."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._running = False

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function under this watch."""

        def call(*arguments: Any) -> Any:
            if self._running:
                return function(*arguments)
            self._running, began = True, time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self._running = False
                self.seconds += time.perf_counter() - began

        return call
