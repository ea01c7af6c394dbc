"""Write what was judged into a course: reports, autograded notebooks, and nbgrader's gradebook.

Whatever a person typed in stays: manual scores and comments, extra credit and flags are never
touched, and no row is ever removed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from autograder.intake.roster import Person
from autograder.manifest import Manifest, load_manifest
from autograder.nbgrader.course import Course, trusted_notebook
from autograder.nbgrader.defuse import defuse_text
from autograder.nbgrader.files import read_answers, recording, write_answers, write_files
from autograder.nbgrader.graded import Graded, build
from autograder.nbgrader.late import assign_penalties
from autograder.nbgrader.late import recompute_penalties as recompute_penalties
from autograder.nbgrader.rows import (
    Assignment,
    GradebookError,
    Rows,
    SourceCell,
    Student,
    SubmittedAssignment,
    find_notebook,
    session,
)
from autograder.outcome import Report, Status
from autograder.reports import is_after, utc
from autograder.visibility import reason_lines, student_view

NO_RESPONSE = "No response."


@dataclass(frozen=True)
class Entry:
    """One graded submission: who and what is in the report, ``time`` is when it was handed in."""

    report: Report
    time: datetime | None
    graded: Graded


def roster(course: Course) -> list[Person]:
    """Return the students of a course, by id."""
    with session(course) as db:
        rows = db.query(Student.id, Student.first_name, Student.last_name, Student.lms_user_id)
        return [Person(*row) for row in rows.order_by(Student.id)]


def due_date(course: Course, homework: str, student: str | None = None) -> datetime | None:
    """Return when a homework is due (UTC, without zone), for a student with any extension."""
    return due_dates(course, homework, [student or ""])[student or ""]


def due_dates(course: Course, homework: str, students: Sequence[str]) -> dict[str, datetime | None]:
    """Return when a homework is due for each student, with any extension."""
    with session(course) as db:
        find_notebook(db, homework)
        due = db.query(Assignment.duedate).filter(Assignment.name == homework).scalar()
        rows = db.query(SubmittedAssignment.student_id, SubmittedAssignment.extension)
        rows = rows.join(Assignment).filter(Assignment.name == homework)
        extra = dict(rows.filter(SubmittedAssignment.student_id.in_(students)).all())
    return {name: due and due + (extra.get(name) or timedelta()) for name in students}


def set_due_date(course: Course, homework: str, due: datetime) -> None:
    """Set when a homework is due, unless a date is set already."""
    with session(course, write=True) as db:
        find_notebook(db, homework)
        row = db.query(Assignment).filter(Assignment.name == homework).one()
        row.duedate = row.duedate or utc(due)
        db.commit()


def released_texts(course: Course, homework: str) -> dict[str, str]:
    """Return the text of each cell of a homework as nbgrader handed it out, by the cell's id."""
    with session(course) as db:
        notebook = find_notebook(db, homework)
        rows = db.query(SourceCell.name, SourceCell.source)
        return dict(rows.filter(SourceCell.notebook_id == notebook.id).all())


def entry_maker(
    course: Course, homework: str, now: datetime | None = None
) -> Callable[[Report, bytes | None, datetime | None], Entry]:
    """Return a function that makes an entry of a report, the submitted bytes and their time.

    Where the course's configuration would hand out the autograded notebook as it is, its reasons
    are those that the student may see.
    """
    trusted, released = trusted_notebook(course, homework), released_texts(course, homework)
    moment = now or datetime.now(UTC)

    def make(report: Report, data: bytes | None, time: datetime | None) -> Entry:
        view = report
        if not course.has_plugins:
            after = is_after(due_date(course, homework, report.student), moment)
            view = student_view(report, after=after)
        return Entry(report, time, build(trusted, released, data, view))

    return make


def record(
    course: Course, homework: str, entries: Sequence[Entry], *, now: datetime | None = None
) -> None:
    """Write graded submissions into the course: files first, then the gradebook at once.

    Parameters
    ----------
    course, homework : where they belong
    entries : at most about 50, of different students: others wait while they are written
    now : decides what hidden reasons a comment may hold; the present by default

    Raises
    ------
    GradebookError
        If a score cannot be right, or the gradebook does not fit the homework or stays locked. Its
        rows are then as they were.
    """
    manifest = load_manifest(homework)
    scores = [check_scores(manifest, entry.report) for entry in entries]
    students = [entry.report.student for entry in entries]
    if len(set(students)) < len(students):
        raise GradebookError(f"a batch has two submissions of one student: {sorted(students)}")
    moment = now or datetime.now(UTC)
    due = due_dates(course, homework, students)
    after = {name: is_after(due[name], moment) for name in students}
    with recording(course):
        for entry, name in zip(entries, students, strict=True):
            notebook = entry.graded.notebook
            write_files(course, entry.report, notebook, entry.time, after=after[name])
        with session(course, write=True) as db:
            rows = Rows(db, manifest, students)
            for entry, points in zip(entries, scores, strict=True):
                _fill(course, rows, manifest, entry, points, after[entry.report.student])
            db.flush()
            assign_penalties(course, db, rows.notebooks())
            db.commit()
        for entry in entries:  # last: a text counts as graded only once the gradebook says so
            write_answers(course, entry.report, entry.graded.answers)


def check_scores(manifest: Manifest, report: Report) -> dict[str, float | None]:
    """Return the score of each test cell; raise :class:`GradebookError` for an impossible one.

    Where a check itself failed there is none: a person has to look, and nobody loses points.
    """
    place = f"the report of {report.student!r} on {report.homework}"
    wanted = [check.id for check in manifest.checks]
    if report.homework != manifest.homework or [o.check for o in report.outcomes] != wanted:
        raise GradebookError(f"{place} does not hold the checks of {manifest.homework}")
    scores: dict[str, float | None] = {}
    for question in manifest.questions:
        points = [outcome.points for outcome in report.of(question.id)]
        score = sum(points)
        if not all(map(math.isfinite, points)) or not -1e-9 <= score <= question.points + 1e-9:
            raise GradebookError(f"{place}: {question.id} has {score} of {question.points} points")
        broken = Status.INTERNAL in {outcome.status for outcome in report.of(question.id)}
        sound = min(max(float(score), 0.0), float(question.points))
        scores[f"test-{question.id}"] = None if broken else sound
    return scores


def _fill(
    course: Course,
    rows: Rows,
    manifest: Manifest,
    entry: Entry,
    scores: Mapping[str, float | None],
    after: bool,
) -> None:
    """Set what the autograder may set in the rows of one submission."""
    report, graded = entry.report, entry.graded
    student = report.student
    rows.submission(student).timestamp = None if entry.time is None else utc(entry.time)
    for name, score in scores.items():
        grade = rows.grade(student, name)
        _set_score(grade, score, again=grade.auto_score != score)
    before = read_answers(course, manifest.homework, student)
    for answer in manifest.answers:
        changed = before.get(answer.id) != graded.answers.get(answer.id)
        nothing = 0.0 if answer.id in graded.unanswered else None
        _set_score(rows.grade(student, answer.id), nothing, again=changed)
    comments: dict[str, str | None] = dict.fromkeys(graded.unanswered, NO_RESPONSE)
    for question in manifest.questions:
        said = reason_lines(report, question.id, after)
        comments[question.functions[-1]] = comment(said)
    for name, row in rows.comments(student).items():
        row.auto_comment = comments.get(name)


def _set_score(grade: Any, score: float | None, *, again: bool) -> None:
    """Set an automatic score; one given by hand stays, to be looked at ``again`` if need be."""
    grade.auto_score = score
    if grade.manual_score is None:
        grade.needs_manual_grade = score is None
    elif again:
        grade.needs_manual_grade = True


def comment(said: Sequence[str]) -> str:
    """Return lines as a comment: a list in feedback, plain enough for formgrader's text field.

    >>> comment(["eta: 2/2, OK: right."])
    '- eta: 2/2, OK: right.'
    """
    return "\n".join(f"- {defuse_text(line)}" for line in said)
