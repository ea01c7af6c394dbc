"""Grade the submissions of a course: judge on several processes, record in batches.

One run at a time works on a course; a second one waits for the first. The gradebook is written
by this process alone. A run that is killed loses what it has not recorded yet: the same command
again takes over the reports that are there, as far as they would come out the same, and records
everything.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder import sandbox
from autograder.grading import LIMIT, Order, grade_one
from autograder.intake.below import shown
from autograder.intake.submissions import (
    Intake,
    Roster,
    Submitted,
    only,
    read,
    submitted,
    take_in,
    usable_name,
)
from autograder.keys import trusted_digests
from autograder.lock import one_at_a_time
from autograder.nbgrader import plugins
from autograder.nbgrader.course import Course
from autograder.notebook import Rejected
from autograder.outcome import Report, Status, rejected_report
from autograder.pools import course_pools, seeds_for
from autograder.reports import ReportError, read_report, write_report
from autograder.seeds import Seeds, fingerprint, read_secret
from autograder.spread import spread

if TYPE_CHECKING:
    from autograder.nbgrader.gradebook import Entry

AT_ONCE = 50  # students in one transaction
EVERY = 5.0  # seconds after which a smaller number is recorded


@dataclass(frozen=True)
class Judged:
    """One submission, its bytes if it could be read, and its report."""

    submission: Submitted
    data: bytes | None
    report: Report
    seconds: float = 0.0
    taken_over: bool = False  # from an earlier run


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is asked for: see ``autograder grade --help``."""

    homework: str
    submissions: Path | None = None
    students: Sequence[str] | None = None
    pattern: str | None = None
    times: Path | None = None
    add_students: bool = False
    jobs: int = 1
    limit: float = LIMIT
    sandbox: str = "warm"  # see autograder.grading.Order
    force: bool = False
    scheduler: str | None = None
    cluster: int | None = None


@dataclass
class Batch:
    """What came of a run, for the table and for ``--json``."""

    homework: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    intake: Intake | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many submissions ended with which status, the most frequent first."""
        order = [str(status) for status in Status]
        found = sorted(self.statuses.items(), key=lambda item: (-item[1], order.index(item[0])))
        return dict(found)

    def add(self, row: dict[str, Any]) -> None:
        """Add what came of one submission."""
        self.rows.append(row)
        self.statuses[row["status"]] += 1


@dataclass(frozen=True)
class Task:
    """What a worker needs to judge one submission, besides the order that all have in common."""

    submission: Submitted
    data: bytes
    seeds: Seeds
    before: Report | None


def grade_course(
    course: Course,
    run: Run,
    *,
    progress: Callable[[int, int, Mapping[str, int]], object] = lambda done, total, counts: None,
    say: Callable[[str], object] = lambda text: None,
) -> Batch:
    """Grade a homework of a course and record everything.

    Parameters
    ----------
    course : see :func:`autograder.nbgrader.course.open_course`
    run : what is asked for
    progress : told how many of how many are done, and the counts of each status
    say : told in words what is waited for
    """
    from autograder.nbgrader import gradebook

    # Everything that can be wrong shows before anything is changed.
    desk = _Desk(course, run)
    make_entry = gradebook.entry_maker(course, run.homework)
    with ExitStack() as stack:
        judge_all = stack.enter_context(_workers(run, say))
        stack.enter_context(one_at_a_time(course.root, say))
        batch = Batch(run.homework)
        batch.intake = _taken_in(course, run)
        found = submitted(course.submitted, run.homework)
        found += _refused(batch.intake, course, run, {one.student for one in found})
        if run.students is not None:
            found = only(found, run.homework, run.students)
        due = gradebook.due_dates(course, run.homework, ["", *(one.student for one in found)])
        batch.notes += _notes(course, due[""], found)
        batch.notes += [] if run.add_students else _newcomers(course, found)
        batch.notes += batch.intake.remarks if batch.intake else ()
        waiting: list[Entry] = []
        recorded = time.monotonic()
        for judged in desk.judged(found, judge_all):
            batch.add(_row(judged, due[judged.report.student]))
            if usable_name(judged.report.student):
                _write_unnamed(course, judged)
            else:
                moment = judged.submission.time
                waiting.append(make_entry(judged.report, judged.data, moment))
            if len(waiting) >= AT_ONCE or time.monotonic() - recorded > EVERY:
                gradebook.record(course, run.homework, waiting)
                waiting, recorded = [], time.monotonic()
            progress(len(batch.rows), len(found), batch.counts)
        gradebook.record(course, run.homework, waiting)
    if again := sum(row["taken_over"] for row in batch.rows):
        batch.notes.append(
            f"{again} verdicts were taken over from an earlier run, because nothing has changed "
            "that decides them (--force judges again)"
        )
    batch.rows.sort(key=lambda row: row["student"])
    return batch


JudgeAll = Callable[
    [Callable[[Task], Report], Iterable[Task], Callable[[Task, str], Report]],
    Iterator[tuple[Task, Report, float]],
]


@contextmanager
def _workers(run: Run, say: Callable[[str], object]) -> Iterator[JudgeAll]:
    """Give a function that judges tasks on processes here, or on a cluster."""
    if run.scheduler is not None or run.cluster is not None:
        from autograder import cluster

        with cluster.connected(run.scheduler, run.cluster, run.sandbox, say) as client:
            yield functools.partial(cluster.spread, client)
        return
    if run.sandbox != "none":
        say("starting the sandbox")
        sandbox.require()
    yield functools.partial(spread, jobs=run.jobs)


class _Desk:
    """Makes tasks of submissions, and reports of those that are none."""

    def __init__(self, course: Course, run: Run) -> None:
        self._root, self._run, self._secret = course.root, run, read_secret(course.root)
        self._pools = course_pools(course.root, run.homework)
        self._order = Order(
            run.homework,
            limit=run.limit,
            sandbox=run.sandbox,
            # What was judged without a sandbox is never taken over by a run with one.
            trusted=trusted_digests(run.homework) if run.sandbox != "none" else None,
        )

    def judged(self, found: Sequence[Submitted], judge_all: JudgeAll) -> Iterator[Judged]:
        """Yield what comes of each submission, in the order in which they are done."""
        refused: list[Judged] = []

        def tasks() -> Iterator[Task]:
            for one in found:
                try:
                    data = read(one)
                except Rejected as problem:
                    refused.append(Judged(one, None, self._rejected(one, str(problem))))
                else:
                    yield Task(one, data, self._seeds(one.student), self._before(one.student))

        def lost(task: Task, problem: str) -> Report:
            return self._rejected(task.submission, problem, Status.INTERNAL)

        work = functools.partial(judge_task, self._order)
        for task, report, seconds in judge_all(work, tasks(), lost):
            earlier = task.before.judged if task.before is not None else {}
            taken_over = bool(earlier) and report.judged == earlier
            yield Judged(task.submission, task.data, report, seconds, taken_over)
            while refused:
                yield refused.pop()
        yield from refused

    def _seeds(self, student: str) -> Seeds:
        return seeds_for(
            self._run.homework, secret=self._secret, student=student, pools=self._pools
        )

    def _rejected(self, one: Submitted, problem: str, status: Status = Status.REJECTED) -> Report:
        source = fingerprint(self._secret)
        return rejected_report(self._run.homework, one.student, source, problem, status)

    def _before(self, student: str) -> Report | None:
        """Return the report of an earlier run, if it can serve."""
        if self._run.force or usable_name(student):
            return None
        with contextlib.suppress(ReportError):
            return read_report(self._root, self._run.homework, student)
        return None


def judge_task(order: Order, task: Task) -> Report:
    """Judge one submission: in another process, perhaps on another machine."""
    report = grade_one(task.data, order, task.seeds, task.before)
    if task.submission.remark:
        report = replace(report, remarks=(*report.remarks, task.submission.remark))
    return report


def _taken_in(course: Course, run: Run) -> Intake | None:
    """Take a zip or folder into the tree, if one is given."""
    from autograder.nbgrader import gradebook

    if run.submissions is None:
        return None
    people = Roster(tuple(gradebook.roster(course)), add=run.add_students)
    return take_in(
        run.submissions,
        course.submitted,
        run.homework,
        people,
        pattern=run.pattern,
        times=run.times,
    )


def _notes(course: Course, due: datetime | None, found: Sequence[Submitted]) -> list[str]:
    notes = []
    untimed = sum(one.time is None and not one.problem for one in found)
    if untimed and due is not None:
        notes.append(f"{untimed} submissions have no time (timestamp.txt): counted as not late")
    if due is None:
        notes.append(
            "no due date is set, so the reasons of hidden checks are kept back from students; set "
            "one in formgrader (pencil beside the assignment) and grade again"
        )
    if not course.has_plugins:
        notes.append(
            "nbgrader_config.py lacks the lines of `autograder release`: nbgrader's own autograde "
            "and formgrader's button would run students' code unprotected here. Add:\n"
            + textwrap.indent(plugins.LINES.rstrip(), "    ")
        )
    return notes


def _newcomers(course: Course, found: Sequence[Submitted]) -> list[str]:
    """Name who is not in the gradebook yet: perhaps a folder that is called by a wrong name."""
    from autograder.nbgrader import gradebook

    known = {person.id for person in gradebook.roster(course)}
    new = [one.student for one in found if not usable_name(one.student)]
    new = [name for name in new if name not in known]
    if not known or not new:
        return []
    names = ", ".join(new[:10]) + (", …" if len(new) > 10 else "")
    return [f"new among the students of the gradebook, and now added ({len(new)}): {names}"]


def _refused(
    intake: Intake | None, course: Course, run: Run, there: set[str]
) -> Iterator[Submitted]:
    """Give a report also to those whose only file was refused."""
    for item in intake.refused if intake else ():
        if item.student and item.student not in there:
            there.add(item.student)
            path = course.submitted / item.student / run.homework / f"{run.homework}.ipynb"
            yield Submitted(item.student, path, problem=item.reason)


def _write_unnamed(course: Course, judged: Judged) -> None:
    """Keep the report of a submission whose student's name no file can have."""
    name = judged.report.student.encode("utf-8", "surrogateescape")
    unnamed = f"unnamed-{hashlib.sha256(name).hexdigest()[:8]}"
    write_report(course.root, replace(judged.report, student=unnamed))


def _row(judged: Judged, due: datetime | None) -> dict[str, Any]:
    report, handed_in = judged.report, judged.submission.time
    late = due is not None and handed_in is not None and handed_in > due
    return {
        "student": shown(report.student),  # perhaps one that no student can have
        "status": str(report.status),
        "points": report.points,
        "max_points": report.max_points,
        "checks": {outcome.check: str(outcome.status) for outcome in report.outcomes},
        "reasons": {outcome.check: outcome.reason for outcome in report.outcomes},
        "remarks": list(report.remarks),
        "seconds": round(judged.seconds, 3),
        "taken_over": judged.taken_over,
        "late": None if handed_in is None else late,
    }
