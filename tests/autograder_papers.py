"""Courses, notebooks and reports for the tests of the nbgrader side."""

from __future__ import annotations

import copy
import json
import shutil
import warnings
from pathlib import Path

from autograder.manifest import load_manifest
from autograder.nbgrader.course import Course, open_course
from autograder.outcome import Outcome, Report, Status
from autograder.release import release

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nbgrader.api import Gradebook

HW = "hw1-margins"


def released_course(folder: Path) -> Path:
    """Release the first homework into a new course."""
    release(folder / "svm", [HW], wheel=False, progress=lambda line: None)
    return folder / "svm"


def copy_of(root: Path, folder: Path) -> Course:
    """Return a copy of a released course, to be graded in."""
    shutil.copytree(root, folder / root.name)
    return open_course(folder / root.name)


def notebook(course: Course, kind: str = "release") -> dict:
    """Return the notebook that students get, or with "source" the solved one."""
    return json.loads((course.root / kind / HW / f"{HW}.ipynb").read_text(encoding="utf-8"))


def cell_of(nb: dict, name: str) -> dict:
    """Return a cell by its grade_id."""
    return next(c for c in nb["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == name)


def written(nb: dict, texts: dict[str, str]) -> dict:
    """Return a notebook with other texts in some cells."""
    nb = copy.deepcopy(nb)
    for name, text in texts.items():
        cell_of(nb, name)["source"] = text
    return nb


def dumped(nb: dict) -> bytes:
    return json.dumps(nb).encode()


def own_cell(text: str, kind: str = "markdown", **more: object) -> dict:
    cell = {"cell_type": kind, "metadata": {}, "source": text}
    return {**cell, **({"outputs": [], "execution_count": None} if kind == "code" else {}), **more}


def hand_in(course: Course, student: str, data: bytes, time: str | None = None) -> None:
    """Put a submission where nbgrader looks for it."""
    folder = course.submitted / student / HW
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{HW}.ipynb").write_bytes(data)
    if time is not None:
        (folder / "timestamp.txt").write_text(time, encoding="utf-8")


def made_report(student: str, *, share: float = 1.0, **changes: object) -> Report:
    """Return a report in which every check earned this share of its points."""
    outcomes = tuple(
        Outcome(
            **{
                "check": check.id,
                "question": question.id,
                "status": Status.OK if share == 1.0 else Status.WRONG,
                "points": share * check.points,
                "max_points": check.points,
                "reason": f"said of {check.id}: 0.25",
                "measured": 0.25,
                "limit": 0.5,
                "visibility": check.visibility,
                **changes,
            }
        )
        for question in load_manifest(HW).questions
        for check in question.checks
    )
    return Report(homework=HW, student=student, seeds="0123456789ab", outcomes=outcomes)


def rows(course: Course) -> dict:
    """Return all that the gradebook says about submissions, as plain data."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Gradebook(course.db_url, course.course_id) as gradebook:
            for sub in gradebook.assignment_submissions(HW):
                (nb,) = sub.notebooks
                found[sub.student.id] = {
                    "score": nb.score,
                    "penalty": nb.late_submission_penalty,
                    "time": sub.timestamp,
                    "flagged": nb.flagged,
                    "grades": {
                        g.name: (g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade)
                        for g in nb.grades
                    },
                    "comments": {c.name: (c.auto_comment, c.manual_comment) for c in nb.comments},
                }
    return found


def by_hand(course: Course, student: str, **changes: object) -> None:
    """Type something in as formgrader does: answer, score, comment, due, extension, flagged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Gradebook(course.db_url, course.course_id) as gradebook:
            answer = str(changes.get("answer", "answer-norm"))
            if "score" in changes:
                grade = gradebook.find_grade(answer, HW, HW, student)
                grade.manual_score, grade.needs_manual_grade = changes["score"], False
                grade.extra_credit = changes.get("extra")
            if "comment" in changes:
                gradebook.find_comment(answer, HW, HW, student).manual_comment = changes["comment"]
            if "due" in changes:
                gradebook.find_assignment(HW).duedate = changes["due"]
            if "extension" in changes:
                gradebook.find_submission(HW, student).extension = changes["extension"]
            if "flagged" in changes:
                gradebook.find_submission_notebook(HW, HW, student).flagged = changes["flagged"]
            gradebook.db.commit()


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
