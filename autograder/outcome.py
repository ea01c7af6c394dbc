"""What a check says, and the report that holds it: plain, frozen data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from autograder.manifest import load_manifest

REPORT_VERSION = 1


class Status(StrEnum):
    """How a check ended."""

    OK = "OK"
    WRONG = "WRONG"
    ERROR = "ERROR"
    TIMEOUT = "TIMEOUT"
    MEMORY = "MEMORY"
    OUTPUT = "OUTPUT"
    KILLED = "KILLED"
    POLICY = "POLICY"
    REJECTED = "REJECTED"
    INTERNAL = "INTERNAL"


# From the worst on: a submission is called by the worst that happened to it.
WORST_FIRST = (
    Status.INTERNAL,
    Status.REJECTED,
    Status.KILLED,
    Status.MEMORY,
    Status.TIMEOUT,
    Status.OUTPUT,
    Status.POLICY,
    Status.ERROR,
    Status.WRONG,
    Status.OK,
)


_noted: ContextVar[set[str] | None] = ContextVar("noted", default=None)


def remark(text: str) -> None:
    """Note what a person should know and what changes no points, while :func:`noting`.

    >>> with noting() as noted:
    ...     remark("w has shape (n, 1)")
    >>> noted
    {'w has shape (n, 1)'}
    """
    noted = _noted.get()
    if noted is not None:
        noted.add(text)


@contextmanager
def noting() -> Iterator[set[str]]:
    """Give the set of remarks that checks make meanwhile."""
    noted: set[str] = set()
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


class Wrong(Exception):
    """Raised by a check when an answer cannot be right, with the reason in words."""


@dataclass(frozen=True)
class Verdict:
    """What a check returns: the share of its points, why, and the figure that decided.

    >>> half("the step is twice too long", measured=0.03, limit=0.02).share
    0.5
    """

    share: float
    reason: str
    measured: float | None = None
    limit: float | None = None
    status: Status = Status.OK
    private: str = ""  # text that came from the student's process: for visible checks only

    def __post_init__(self) -> None:
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"share must be between 0 and 1, got {self.share}")


def full(reason: str, measured: float | None = None, limit: float | None = None) -> Verdict:
    """Give all points."""
    return Verdict(1.0, reason, measured, limit)


def half(reason: str, measured: float | None = None, limit: float | None = None) -> Verdict:
    """Give half of the points: loose or slightly wrong."""
    return Verdict(0.5, reason, measured, limit, Status.WRONG)


def none(reason: str, measured: float | None = None, limit: float | None = None) -> Verdict:
    """Give no points."""
    return Verdict(0.0, reason, measured, limit, Status.WRONG)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One check of one submission: what was earned, and why."""

    check: str
    question: str
    status: Status
    points: float
    max_points: float
    reason: str
    measured: float | None = None
    limit: float | None = None
    seconds: float = 0.0
    memory: int | None = None  # bytes of all its processes at most, where it ran long enough to see
    visibility: str = "always"
    lecture: str = ""
    label: str = ""
    mistake: str | None = None  # the id in the catalogue, when the answers match it
    carried: bool = False  # judged with the reference's steps in place of the failed ones
    private: str = ""

    @property
    def full(self) -> bool:
        """Whether nothing was lost (a check without points counts by its status)."""
        return self.status is Status.OK and self.points >= self.max_points


@dataclass(frozen=True)
class Judged:
    """How a question was judged: the key of its verdict (``autograder.keys``), and remarks."""

    key: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """All outcomes of one submission."""

    homework: str
    student: str
    seeds: str  # "public", or the fingerprint of the course secret
    outcomes: tuple[Outcome, ...]
    remarks: tuple[str, ...] = ()
    judged: Mapping[str, Judged] = field(default_factory=dict)  # by question
    version: int = field(default=REPORT_VERSION)

    @property
    def points(self) -> float:
        """Points earned by the checks."""
        return sum(outcome.points for outcome in self.outcomes)

    @property
    def max_points(self) -> float:
        """Points that the checks could give."""
        return sum(outcome.max_points for outcome in self.outcomes)

    @property
    def status(self) -> Status:
        """The worst status of its checks."""
        statuses = {outcome.status for outcome in self.outcomes}
        return next((status for status in WORST_FIRST if status in statuses), Status.OK)

    def of(self, question: str) -> tuple[Outcome, ...]:
        """Return the outcomes of one question."""
        return tuple(outcome for outcome in self.outcomes if outcome.question == question)

    def kept(self, question: str, key: str) -> tuple[Outcome, ...]:
        """Return the outcomes of a question if they have this key and are the student's own.

        What the grader itself spoilt is judged again.
        """
        outcomes = self.of(question)
        same = question in self.judged and self.judged[question].key == key
        broken = any(outcome.status is Status.INTERNAL for outcome in outcomes)
        return outcomes if same and not broken else ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON.

        >>> report = Report(homework="hw1-margins", student="", seeds="public", outcomes=())
        >>> report.to_dict()["points"]
        0
        """
        totals = {"status": self.status, "points": self.points, "max_points": self.max_points}
        return {**dataclasses.asdict(self), **totals}


def rejected_report(
    homework: str, student: str, seeds: str, reason: str, status: Status = Status.REJECTED
) -> Report:
    """Return the report of a submission that could not be judged: no points, one reason.

    >>> rejected_report("hw1-margins", "ada", "public", "the file is empty").status
    <Status.REJECTED: 'REJECTED'>
    """
    outcomes = tuple(
        Outcome(
            check=check.id,
            question=question.id,
            status=status,
            points=0.0,
            max_points=check.points,
            reason=reason,
            visibility=check.visibility,
            lecture=check.lecture,
            label=check.label,
        )
        for question in load_manifest(homework).questions
        for check in question.checks
    )
    return Report(homework=homework, student=student, seeds=seeds, outcomes=outcomes)
