"""Our checks inside a notebook, for graders that run tests where the student's code runs.

``score("hw1-margins", "hinge", globals())`` in a test cell gives the points of a question, by the
same checks on the same hidden data as ``autograder grade``. Whose data is told by the folder, which
nbgrader calls STUDENT/HW, or by BENCH_STUDENT; where the secret is, by BENCH_COURSE.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.judge import judge_question
from autograder.local import Local
from autograder.manifest import load_manifest
from autograder.pools import course_pools, seeds_for
from autograder.seeds import Seeds, read_secret

LIMIT = 30.0


def score(homework: str, question: str, namespace: dict[str, Any]) -> float:
    """Return the points of a question for the functions of a running notebook."""
    student = os.environ.get("BENCH_STUDENT") or Path.cwd().parent.name
    outcomes = judge_question(
        homework, question, Local(namespace, LIMIT), seeds=seeds_of(homework, student)
    )
    return float(sum(outcome.points for outcome in outcomes))


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
