"""Grade the submissions of a course: judge on several processes, record in batches.

One run at a time works on a course; a second one waits for the first. The gradebook is written
by this process alone, and a run that is killed loses what it has not recorded yet: the same
command again grades it.
"""

from __future__ import annotations

import functools
import hashlib
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder import sandbox
from autograder.grading import LIMIT, grade_one
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
from autograder.lock import one_at_a_time
from autograder.nbgrader import plugins
from autograder.nbgrader.course import Course
from autograder.notebook import Rejected
from autograder.outcome import Report, Status, rejected_report
from autograder.pools import Pools, course_pools
from autograder.reports import write_report
from autograder.seeds import fingerprint, read_secret
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
    unsafe: bool = False


@dataclass
class Batch:
    """What came of a run, for the table and for ``--json``."""

    homework: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    intake: Intake | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many submissions ended with which status, the most frequent first."""
        return dict(Counter(row["status"] for row in self.rows).most_common())


@dataclass(frozen=True)
class _Desk:
    """What a process needs to judge submissions; sent to it once."""

    homework: str
    secret: bytes
    pools: Pools
    limit: float
    unsafe: bool


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
    desk = _desk(course, run)
    make_entry = gradebook.entry_maker(course, run.homework)
    if not run.unsafe:
        say("starting the sandbox")
        sandbox.require()
    with one_at_a_time(course.root, say):
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
        for judged in _judge_all(desk, found, run.jobs):
            batch.rows.append(_row(judged, due[judged.report.student]))
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
    batch.rows.sort(key=lambda row: row["student"])
    return batch


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


def _desk(course: Course, run: Run) -> _Desk:
    return _Desk(
        homework=run.homework,
        secret=read_secret(course.root),
        pools=course_pools(course.root, run.homework),
        limit=run.limit,
        unsafe=run.unsafe,
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


def _judge_all(desk: _Desk, found: Sequence[Submitted], jobs: int) -> Iterator[Judged]:
    work = functools.partial(judge_one, desk)
    lost = functools.partial(_lost, desk)
    yield from spread(work, found, jobs=max(1, min(jobs, len(found))), lost=lost)


def judge_one(desk: _Desk, submission: Submitted) -> Judged:
    """Judge one submission of the tree: in another process."""
    started = time.perf_counter()
    try:
        data = read(submission)
    except Rejected as problem:
        seeds = fingerprint(desk.secret)
        report = rejected_report(desk.homework, submission.student, seeds, str(problem))
        return Judged(submission, None, report)
    report = grade_one(
        data,
        desk.homework,
        secret=desk.secret,
        student=submission.student,
        pools=desk.pools,
        limit=desk.limit,
        unsafe=desk.unsafe,
    )
    if submission.remark:
        report = replace(report, remarks=(*report.remarks, submission.remark))
    return Judged(submission, data, report, time.perf_counter() - started)


def _lost(desk: _Desk, submission: Submitted, problem: str) -> Judged:
    """Return what stands for a submission on which the grader itself failed twice."""
    seeds, status = fingerprint(desk.secret), Status.INTERNAL
    report = rejected_report(desk.homework, submission.student, seeds, problem, status)
    return Judged(submission, None, report)


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
        "late": None if handed_in is None else late,
    }
