"""Penalties for late submissions, by the rule that a course has chosen in its configuration."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from autograder.nbgrader.rows import (
    Assignment,
    Grade,
    GradebookError,
    SubmittedAssignment,
    SubmittedNotebook,
    session,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nbgrader.preprocessors import AssignLatePenalties
    from sqlalchemy import func

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from autograder.nbgrader.course import Course


def recompute_penalties(
    course: Course, homework: str | None = None, student: str | None = None
) -> int:
    """Bring penalties up to date with scores given by hand since; return how many changed.

    nbgrader computes a penalty when it autogrades, and a penalty may depend on the score.
    """
    with session(course, write=True) as db:
        query = db.query(SubmittedNotebook).join(SubmittedAssignment).join(Assignment)
        if homework is not None:
            query = query.filter(Assignment.name == homework)
        if student is not None:
            query = query.filter(SubmittedAssignment.student_id == student)
        changed = assign_penalties(course, db, query.all())
        db.commit()
    return changed


def assign_penalties(course: Course, db: Session, notebooks: Sequence[Any]) -> int:
    """Set the penalty of submitted notebooks from what the database has; tell how many changed."""
    scores = _scores(db, [notebook.id for notebook in notebooks])
    changed = 0
    plugin = None
    for notebook in notebooks:
        penalty = None
        if notebook.assignment.total_seconds_late > 0:
            plugin = plugin or _plugin(course)
            penalty = _penalty(plugin, notebook, scores.get(notebook.id, 0.0))
        if penalty != notebook.late_submission_penalty:
            notebook.late_submission_penalty = penalty
            changed += 1
    return changed


def _scores(db: Session, ids: Sequence[str]) -> dict[str, float]:
    total = func.sum(Grade.score)  # asked of the database: what the session holds may be older
    rows = db.query(Grade.notebook_id, total).filter(Grade.notebook_id.in_(ids))
    return {name: float(score) for name, score in rows.group_by(Grade.notebook_id)}


def _plugin(course: Course) -> Any:
    with _importable(course):
        assign = AssignLatePenalties(config=course.config)
        assign.init_plugin()
    return assign.plugin_inst


@contextmanager
def _importable(course: Course) -> Iterator[None]:
    """Let a rule of the instructor's own be found beside nbgrader_config.py."""
    sys.path.append(str(course.root))
    try:
        yield
    finally:
        sys.path.remove(str(course.root))


def _penalty(plugin: Any, notebook: Any, score: float) -> float | None:
    submission = notebook.assignment
    late = submission.total_seconds_late
    penalty = plugin.late_submission_penalty(submission.student_id, score, late)
    if penalty is None:
        return None
    if not math.isfinite(penalty):
        raise GradebookError(
            f"{type(plugin).__name__} gave {submission.student_id} the late penalty {penalty}: "
            "it must be a number of points"
        )
    return min(max(0.0, float(penalty)), score)
