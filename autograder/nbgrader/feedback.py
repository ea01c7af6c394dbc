"""Stock ``nbgrader generate_feedback`` and ``nbgrader export``, up to date and without secrets."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Any

from autograder.manifest import homework_names, load_manifest
from autograder.nbgrader import gradebook
from autograder.nbgrader.autograde import course_of
from autograder.nbgrader.defuse import as_output
from autograder.nbgrader.graded import HIDDEN
from autograder.outcome import Report
from autograder.reports import is_after, read_report
from autograder.visibility import lines, student_view

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of other packages, about each other
    from nbformat.v4 import new_output
    from nbgrader.plugins import CsvExportPlugin
    from nbgrader.preprocessors import GetGrades


class ShowReasons(GetGrades):  # type: ignore[misc]
    """Fetches grades and comments, and shows the reasons that a student may read today.

    The autograded notebook and the comments in the gradebook were written when it was graded; the
    deadline may have passed since.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Put grades, comments and reasons into a notebook, and take hidden tests out."""
        info = resources["nbgrader"]
        homework, student = info["assignment"], info["student"]
        converter = self.parent.parent
        course = course_of(converter.coursedir, converter.config)
        gradebook.recompute_penalties(course, homework, student)
        report = read_report(course.root, homework, student)
        if report is None or homework not in homework_names():
            self.log.warning("there is no report on %s of %s: grade it again", homework, student)
            report = None
        else:
            due = gradebook.due_date(course, homework, student)
            report = student_view(report, after=is_after(due, datetime.now(UTC)))
        self.comments = _comments(report)
        nb, resources = super().preprocess(nb, resources)
        for cell in nb.cells:
            _show(cell, report)
        return nb, resources

    def _get_comment(self, cell: Any, resources: Any) -> None:
        name = cell.metadata.nbgrader["grade_id"]
        row = self.gradebook.find_comment(
            name, self.notebook_id, self.assignment_id, self.student_id
        )
        text = row.manual_comment or self.comments.get(name, row.auto_comment)
        cell.metadata.nbgrader["comment"] = text


def _comments(report: Report | None) -> dict[str, str]:
    """Return the comment on each question, under the name of its solution cell."""
    if report is None:
        return {}
    questions = load_manifest(report.homework).questions
    return {part.functions[-1]: gradebook.comment(lines(report, part.id)) for part in questions}


def _show(cell: Any, report: Report | None) -> None:
    """Show under a test what its checks said, and nothing under any other cell."""
    if cell.cell_type != "code":
        return
    cell.outputs = []
    marks = cell.metadata.get("nbgrader", {})
    if marks.get("grade") and not marks.get("solution"):
        cell.source = HIDDEN.sub("", cell.source)
        text = as_output(lines(report, marks["grade_id"].removeprefix("test-"))) if report else ""
        if text:
            cell.outputs = [new_output("stream", name="stdout", text=f"{text}\n")]


class ExportCsv(CsvExportPlugin):  # type: ignore[misc]
    """nbgrader's table of grades, after penalties have been brought up to date."""

    def export(self, gradebook_: Any) -> None:
        """Write the table."""
        changed = gradebook.recompute_penalties(
            course_of(self.parent.coursedir, self.parent.config)
        )
        if changed:
            self.log.info("%d late penalties have changed", changed)
        gradebook_.db.expire_all()
        super().export(gradebook_)
