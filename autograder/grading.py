"""Grade one submission in the sandbox; whatever it is, there is a report."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder import sandbox
from autograder.judge import judge
from autograder.manifest import load_manifest
from autograder.notebook import MAX_BYTES, Rejected, too_large
from autograder.outcome import Report, Status, rejected_report
from autograder.pools import seeds_for
from autograder.sandbox import warm
from autograder.sandbox.channel import Launch, plain_process
from autograder.seeds import PUBLIC, Seeds

LIMIT = 30.0  # CPU seconds a check
TRIES = 3  # where the grader itself failed


def grade(
    path: str | Path, homework: str, *, secret: bytes | None = None, student: str = ""
) -> Report:
    """Grade one notebook in the sandbox, without course directory or database.

    Parameters
    ----------
    path : the notebook
    homework : name such as ``"hw2-smo"``
    secret : key of the hidden data; without it the public data are used, and the report says so
    student : whose hidden data

    Returns
    -------
    Report
        Also for a file that is no notebook: its checks are REJECTED, with the reason.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    autograder.sandbox.SandboxMissing
        If no sandbox can be made here.
    """
    load_manifest(homework)
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file; give the path of a notebook")
    sandbox.require()
    seeds = seeds_for(homework, secret=PUBLIC if secret is None else secret, student=student)
    if (size := Path(path).stat().st_size) > MAX_BYTES:
        return rejected_report(homework, student, seeds.source, str(too_large(size)))
    return grade_one(Path(path).read_bytes(), Order(homework), seeds)


@dataclass(frozen=True)
class Order:
    """What is the same for all submissions of a run.

    ``sandbox`` is "warm" (where that is not possible "fresh"), "fresh" or "none"; ``trusted`` see
    :func:`autograder.judge.judge`.
    """

    homework: str
    limit: float = LIMIT
    sandbox: str = "warm"
    trusted: Mapping[str, str] | None = None


def grade_one(data: bytes, order: Order, seeds: Seeds, before: Report | None = None) -> Report:
    """Grade the bytes of a notebook; whatever they are, there is a report.

    It depends on its arguments only, and needs neither course nor secret: workers on other machines
    call it. Where the grader itself failed, it tries again.
    """
    for _ in range(TRIES):
        report = _graded(data, order, seeds, before)
        if report.status is not Status.INTERNAL:
            break
        before = report
    return report


def _graded(data: bytes, order: Order, seeds: Seeds, before: Report | None) -> Report:
    try:
        return judge(
            order.homework,
            data,
            seeds=seeds,
            limit=order.limit,
            launch=launcher(order.sandbox),
            trusted=order.trusted,
            before=before,
        )
    except Rejected as problem:
        return rejected_report(order.homework, seeds.student, seeds.source, str(problem))
    except Exception as problem:
        reason = f"grading itself failed ({type(problem).__name__}: {problem}); please report it"
        return rejected_report(
            order.homework, seeds.student, seeds.source, reason[:500], Status.INTERNAL
        )


@functools.cache
def launcher(kind: str) -> Launch:
    """Return what starts a student's process."""
    if kind == "none":
        return plain_process
    return warm.launch if kind == "warm" and not warm.problem() else sandbox.launch
