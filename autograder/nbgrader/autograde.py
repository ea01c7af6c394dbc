"""Stock ``nbgrader autograde``, and formgrader's button, with our judge in place of a kernel.

nbgrader reads a submission with an exporter; ours reads its bytes as data, so that a file which is
no notebook, or has a cell twice, is graded too. What nbgrader does around it stays: which students,
``--force``, removing what failed.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from autograder import grading, sandbox, seeds
from autograder.intake.below import folder_below, read_at, shown, usable_name
from autograder.intake.submissions import Submitted, only, read, submitted
from autograder.intake.timestamps import MAX_STAMP_BYTES, TIMESTAMP, parse_time
from autograder.keys import trusted_digests
from autograder.manifest import homework_names
from autograder.nbgrader import gradebook
from autograder.nbgrader.course import Course, CourseError, open_course
from autograder.notebook import Rejected
from autograder.outcome import Report, Status, rejected_report
from autograder.pools import course_pools, seeds_for

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of other packages, about each other
    from nbconvert.exporters import NotebookExporter
    from nbgrader.coursedir import CourseDirectory


def judged(course: Course, homework: str, student: str, data: bytes) -> Report:
    """Return the report of a submission, judged with the hidden data of the course."""
    secret = seeds.read_secret(course.root)
    pools = course_pools(course.root, homework)
    own = seeds_for(homework, secret=secret, student=student, pools=pools)
    # A warm parent would stay in nbgrader's server after this.
    order = grading.Order(homework, sandbox="fresh", trusted=trusted_digests(homework))
    return grading.grade_one(data, order, own)


def course_of(coursedir: Any, config: Any) -> Course:
    """Return the course that nbgrader works on, as it was told on its command line."""
    course = open_course(Path(coursedir.root))
    return dataclasses.replace(course, db_url=coursedir.db_url, config=config)


class JudgingExporter(NotebookExporter):
    """Judges and records what it is asked to convert."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self._converter = cast(Any, self.parent)
        self._converter.coursedir = _Guarded.of(self._converter.coursedir)
        self._safe = False  # whether a sandbox was seen to work

    def from_filename(
        self, filename: str, resources: Any = None, **_: Any
    ) -> tuple[str, dict[str, Any]]:
        """Return the autograded notebook; of a submitted file, by judging and recording it."""
        resources = self._init_resources(resources)  # type: ignore[no-untyped-call]
        path = Path(filename)
        course = course_of(self._converter.coursedir, self._converter.config)
        homework, student = resources["nbgrader"]["assignment"], resources["nbgrader"]["student"]
        if path.parent == course.submitted / student / homework:
            path = self._graded(course, homework, student)
        # In its second pass nbgrader would run this file; there is nothing left to do.
        return path.read_text(encoding="utf-8"), resources

    def _graded(self, course: Course, homework: str, student: str) -> Path:
        """Judge and record a submission; return where its autograded notebook is."""
        self._check(homework, student)
        handed_in = only(submitted(course.submitted, homework), homework, [student])[0]
        data, report = _judged(course, homework, handed_in)
        for remark in report.remarks:
            self.log.info("%s: %s", student, remark)
        for outcome in report.outcomes:
            if outcome.status is Status.INTERNAL:
                self.log.error("%s, %s: %s", student, outcome.check, outcome.reason)
        entry = gradebook.entry_maker(course, homework)(report, data, handed_in.time)
        gradebook.record(course, homework, [entry])
        path = course.autograded / student / homework / f"{homework}.ipynb"
        os.chmod(path, 0o644)  # nbgrader writes it once more, and then takes the right away
        return path

    def _check(self, homework: str, student: str) -> None:
        """Raise where nothing can be judged, or not safely."""
        if homework not in homework_names():
            raise CourseError(
                f"{homework} is not a homework of the autograder, which never runs tests in a "
                "notebook: grade it in a course without its plugins"
            )
        if reason := usable_name(student):
            raise CourseError(f"{shown(student)!r} cannot be the name of a student: {reason}")
        if not self._safe:
            sandbox.require()
            self._safe = True


def _judged(course: Course, homework: str, handed_in: Submitted) -> tuple[bytes | None, Report]:
    """Return the bytes of a submission, if they can be read, and its report."""
    student = handed_in.student
    try:
        data = read(handed_in)
    except Rejected as problem:
        fingerprint = seeds.fingerprint(seeds.read_secret(course.root))
        return None, rejected_report(homework, student, fingerprint, str(problem))
    report = judged(course, homework, student, data)
    if handed_in.remark:
        report = dataclasses.replace(report, remarks=(*report.remarks, handed_in.remark))
    return data, report


class _Guarded(CourseDirectory):  # type: ignore[misc]
    """The course directory as the converter sees it, with students' files kept at a distance.

    nbgrader copies all that lies beside a notebook to where feedback hands it out, whatever links
    point to, and stops at a time stamp that it cannot read.
    """

    @classmethod
    def of(cls, there: Any) -> _Guarded:
        """Return the same course, guarded."""
        values = {name: getattr(there, name) for name in there.traits(config=True)}
        return cls(**{**values, "ignore": ["*"]})

    def get_existing_timestamp(self, dest_path: str) -> datetime | None:
        """Return the time in a folder's timestamp.txt, or None if it says none."""
        place = Path(dest_path)
        root, parts = place.parent.parent, (place.parent.name, place.name)
        try:
            with folder_below(root, *parts) as folder:
                return parse_time(read_at(folder, TIMESTAMP, MAX_STAMP_BYTES).decode())
        except (Rejected, ValueError, OSError):
            return None
