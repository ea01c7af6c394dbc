"""The rows of nbgrader's gradebook that one batch needs, fetched at once, made where missing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from autograder.trouble import Trouble

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of other packages, about each other
    from nbgrader.api import (
        Assignment,
        Comment,
        Grade,
        Notebook,
        SourceCell,
        Student,
        SubmittedAssignment,
        SubmittedNotebook,
    )
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import OperationalError
    from sqlalchemy.orm import Session

if TYPE_CHECKING:
    from autograder.manifest import Manifest
    from autograder.nbgrader.course import Course

__all__ = [
    "Assignment",
    "Grade",
    "GradebookError",
    "Rows",
    "SourceCell",
    "Student",
    "SubmittedAssignment",
    "SubmittedNotebook",
    "find_notebook",
    "session",
]

PATIENCE = 60  # seconds to wait for somebody else's transaction


class GradebookError(Trouble, ValueError):
    """Grades that could not be written, with the reason and the way out."""


@contextmanager
def session(course: Course, *, write: bool = False) -> Iterator[Session]:
    """Give a session with the gradebook, to ``write`` one that keeps other writers out at once.

    What is not committed in it has not happened.
    """
    engine = create_engine(course.db_url)
    if engine.dialect.name == "sqlite":
        # By default Python begins a transaction with the first change, after rows were read that
        # somebody may have changed since.
        event.listen(engine, "connect", _be_patient)
        begin = "BEGIN IMMEDIATE" if write else "BEGIN"
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    try:
        with Session(engine) as db:
            yield db
    except OperationalError as problem:
        if "locked" not in str(problem.orig):
            raise
        raise GradebookError(
            f"the gradebook {course.db_url} has been locked by another program for {PATIENCE} s; "
            "nothing was written to it. When that is done or stopped (formgrader? nbgrader?), "
            "grade again"
        ) from None
    finally:
        engine.dispose()


def _be_patient(connection: Any, _: object) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves
    connection.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE}")


def find_notebook(db: Session, homework: str) -> Any:
    """Return the row of a homework's notebook."""
    query = db.query(Notebook).join(Assignment).filter(Assignment.name == homework)
    notebook = query.filter(Notebook.name == homework).one_or_none()
    if notebook is None:
        raise GradebookError(
            f"the gradebook knows no homework {homework}: run `autograder release {homework}`"
        )
    return notebook


class Rows:
    """The rows of some students' submissions of a homework."""

    def __init__(self, db: Session, manifest: Manifest, students: Sequence[str]) -> None:
        notebook = find_notebook(db, manifest.homework)
        _must_fit(notebook, manifest)
        cells = [*notebook.grade_cells, *notebook.solution_cells]
        self._names = {cell.id: cell.name for cell in cells}
        there = {name for (name,) in db.query(Student.id).filter(Student.id.in_(students))}
        db.add_all(Student(id=name) for name in students if name not in there)
        db.flush()
        self._submissions = _made(
            db,
            SubmittedAssignment,
            {"assignment_id": notebook.assignment_id},
            ("student_id", students),
        )
        ids = [row.id for row in self._submissions.values()]
        self._notebooks = _made(
            db, SubmittedNotebook, {"notebook_id": notebook.id}, ("assignment_id", ids)
        )
        self._grades = self._of_cells(db, Grade, [cell.id for cell in notebook.grade_cells])
        self._comments = self._of_cells(db, Comment, [cell.id for cell in notebook.solution_cells])

    def _of_cells(self, db: Session, kind: Any, cells: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the rows of each submitted notebook by the names of their cells."""
        ids = [row.id for row in self._notebooks.values()]
        found: dict[str, dict[str, Any]] = {name: {} for name in ids}
        for row in db.query(kind).filter(kind.notebook_id.in_(ids)):
            found[row.notebook_id][self._names.get(row.cell_id, "")] = row
        for name, rows in found.items():
            for cell in cells:
                if self._names[cell] not in rows:
                    rows[self._names[cell]] = kind(cell_id=cell, notebook_id=name)
                    db.add(rows[self._names[cell]])
            rows.pop("", None)
        return found

    def submission(self, student: str) -> Any:
        """Return the row of a submission."""
        return self._submissions[student]

    def notebooks(self) -> list[Any]:
        """Return the rows of all submitted notebooks."""
        return list(self._notebooks.values())

    def grade(self, student: str, cell: str) -> Any:
        """Return the row of a grade."""
        return self._grades[self._notebook_id(student)][cell]

    def comments(self, student: str) -> Mapping[str, Any]:
        """Return the rows of all comments on a submission, by their cells' names."""
        return self._comments[self._notebook_id(student)]

    def _notebook_id(self, student: str) -> str:
        return str(self._notebooks[self._submissions[student].id].id)


def _made(
    db: Session, kind: Any, fixed: Mapping[str, str], key: tuple[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the rows of a kind by the values of a column, making those that are not there."""
    column, values = key
    query = db.query(kind).filter_by(**fixed).filter(getattr(kind, column).in_(values))
    rows = {getattr(row, column): row for row in query}
    for value in values:
        if value not in rows:
            rows[value] = kind(**fixed, **{column: value})
            db.add(rows[value])
    db.flush()
    return rows


def _must_fit(notebook: Any, manifest: Manifest) -> None:
    """Compare what the gradebook says a homework is worth with its manifest."""
    wanted = {f"test-{question.id}": float(question.points) for question in manifest.questions}
    wanted |= {answer.id: float(answer.points) for answer in manifest.answers}
    found = {cell.name: float(cell.max_score) for cell in notebook.grade_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    if found != wanted or not {*manifest.functions, *(a.id for a in manifest.answers)} <= solutions:
        odd = sorted(name for name, _ in found.items() ^ wanted.items())
        raise GradebookError(
            f"the gradebook has other cells or points for {manifest.homework} than its manifest "
            f"({', '.join(dict.fromkeys(odd)) or 'its solution cells'}): run `autograder release "
            f"{manifest.homework}`"
        )
