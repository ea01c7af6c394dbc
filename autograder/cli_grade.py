"""The commands ``autograder grade`` and ``autograder doctor``."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.outcome import WORST_FIRST, Status
from autograder.trouble import Trouble

if TYPE_CHECKING:
    from autograder.batch import Batch
    from autograder.nbgrader.course import Course

MANY = 30  # students: for more, only those are listed whom a person should look at
QUIET_EVERY = 30.0  # seconds between lines of progress where there is no terminal
CALM = (Status.OK, Status.WRONG)

GRADE = """\
Grade what students handed in, in a sandbox, and record it: scores and reasons in nbgrader's
gradebook, notebooks for formgrader, a report for each student. Nothing that a student hands in can
stop the run or change another's grade; run it as often as you like. Grades given by hand, comments
and extra credit stay as they are.

Without --submissions it grades COURSE/submitted/STUDENT/HOMEWORK/HOMEWORK.ipynb, where `nbgrader
collect` puts notebooks. With it, a zip downloaded from Canvas or Moodle, or a folder of notebooks,
is taken into that tree first: of several attempts the newest counts, and names that are not among
the students of the gradebook are listed, never guessed.
"""
AFTER = """\
examples:
  autograder grade hw2-smo --course svm
  autograder grade hw2-smo --course svm --submissions submissions.zip --jobs 4
  autograder grade hw2-smo --course svm --students ada ben
"""


def add_course(command: argparse.ArgumentParser) -> None:
    """Add the option that says which course is meant."""
    command.add_argument(
        "--course",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="the course directory (default: this folder)",
    )


def add_grade(verbs: Any, seconds: Callable[[str], float]) -> None:
    """Add the command ``grade``."""
    grade = verbs.add_parser(
        "grade",
        help="grade what students handed in",
        description=GRADE,
        epilog=AFTER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = grade.add_argument
    add("homework", help="name such as hw2-smo")
    add_course(grade)
    add("--submissions", type=Path, metavar="PATH", help="a zip or folder to take in first")
    add("--students", nargs="+", metavar="NAME", help="grade only these")
    add(
        "--jobs",
        type=_count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="how many at once (default: one a core)",
    )
    add(
        "--limit",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="computing time for a check (default 30); who only waits is ended after 3 times that",
    )
    add(
        "--pattern",
        metavar="REGEX",
        help="how file names of --submissions tell the student: a regular expression with a group "
        "named student, name or lms (and attempt), such as '(?P<student>[^_]+)_.*'",
    )
    add(
        "--times",
        type=Path,
        metavar="CSV",
        help="when students handed in: a table with the columns student and time",
    )
    add(
        "--add-students",
        action="store_true",
        help="take names in that are not in the gradebook yet; not those of Canvas and Moodle, "
        "whose files do not tell how a student is called here",
    )
    add(
        "--force",
        action="store_true",
        help="judge everything again; without it, verdicts of an earlier run are taken over where "
        "submission, seeds, checks and versions are the same",
    )
    where = grade.add_mutually_exclusive_group()
    where.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="judge on the workers of a Dask scheduler, such as tcp://127.0.0.1:8786; on other "
        "machines tls://…",
    )
    where.add_argument(
        "--cluster",
        type=_local_cluster,
        metavar="local:N",
        help="judge on a Dask cluster of N workers on this machine",
    )
    how = grade.add_mutually_exclusive_group()
    _add_fresh(how)
    how.add_argument(
        "--unsafe",
        dest="sandbox",
        action="store_const",
        const="none",
        help="run students' code without a sandbox, with all your rights: only for code you trust",
    )
    add("--json", action="store_true", help="print the result as JSON")
    grade.set_defaults(run=_grade)


def _add_fresh(parser: Any) -> None:
    parser.add_argument(
        "--fresh",
        dest="sandbox",
        action="store_const",
        const="fresh",
        default="warm",
        help="start a new sandbox for each process of a student, in place of a copy of a warm one: "
        "as safe, and slower",
    )


def add_doctor(verbs: Any) -> None:
    """Add the command ``doctor``."""
    doctor = verbs.add_parser(
        "doctor",
        help="attack the sandbox and say which limits hold here",
        description="Start the sandbox on this machine, attack it from inside, and say which "
        "promises hold and how to mend what does not. The exit status is 0 only if all hold.",
    )
    _add_fresh(doctor)
    doctor.set_defaults(run=_doctor)


def add_sample(verbs: Any) -> None:
    """Add the command ``sample``."""
    sample = verbs.add_parser(
        "sample",
        help="fill a course with a sample class, to try the grader",
        description="Write the submissions of a made-up class into a course of yours: correct, "
        "mistaken, hostile, broken, untouched and late ones, under names that say which. Refused "
        "where real students have handed in.",
    )
    sample.add_argument("homework", help="name such as hw2-smo")
    add_course(sample)
    sample.add_argument(
        "--size", type=_count, metavar="N", help="how many students (default: one of each kind)"
    )
    sample.set_defaults(run=_sample)


def _sample(options: argparse.Namespace) -> int:
    from autograder.manifest import load_manifest
    from autograder.nbgrader.course import CourseError, open_course
    from autograder.nbgrader.gradebook import set_due_date
    from autograder.sample import DEADLINE, sample_class, write_class

    load_manifest(options.homework)
    course = open_course(options.course)
    released = course.release / options.homework / f"{options.homework}.ipynb"
    if not released.is_file():
        raise CourseError(
            f"{released} is missing: run `autograder release {options.homework} --course "
            f"{course.root}`"
        )
    samples = sample_class(released.read_bytes(), options.homework, options.size)
    marker = course.root / ".autograder" / "sample"
    if any(course.submitted.glob("*")) and not marker.exists():
        raise FileExistsError(
            f"{course.submitted} holds submissions already; make a course to try things in: "
            "autograder release --course FOLDER"
        )
    marker.touch()
    write_class(samples, course.submitted)
    set_due_date(course, options.homework, DEADLINE)
    print(f"wrote {len(samples)} submissions of {options.homework} into {course.submitted}")
    return 0


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"give a number from 1 to 1000, not {text!r}")
    return int(text)


def _local_cluster(text: str) -> int:
    kind, _, number = text.partition(":")
    if kind != "local":
        raise argparse.ArgumentTypeError(f"give local:N, such as local:4, not {text!r}")
    return _count(number)


def _doctor(options: argparse.Namespace) -> int:
    from autograder.doctor import doctor

    print_now = functools.partial(print, flush=True)
    return 0 if doctor(print_now, kind=options.sandbox) else 1


def _grade(options: argparse.Namespace) -> int:
    from autograder.batch import Run, grade_course, judge_task
    from autograder.manifest import load_manifest
    from autograder.nbgrader.course import open_course
    from autograder.spread import prepare

    load_manifest(options.homework)
    for name in ("pattern", "times"):
        if options.submissions is None and getattr(options, name) is not None:
            raise Trouble(f"--{name} is for files that are taken in: give them with --submissions")
    if options.scheduler is None and options.cluster is None:
        prepare(judge_task.__module__)  # while nbgrader is imported, which takes a second
    course = open_course(options.course)
    run = Run(**{item.name: getattr(options, item.name) for item in dataclasses.fields(Run)})
    if options.sandbox == "none":
        print("autograder: WITHOUT A SANDBOX: students' code has all your rights", file=sys.stderr)
    with _progress() as (progress, say):
        batch = grade_course(course, run, progress=progress, say=say)
    if options.json:
        print(json.dumps(as_json(batch), indent=1, allow_nan=False))
    else:
        print(summary(batch, course))
    return 1 if Status.INTERNAL in batch.counts else 0


@contextmanager
def _progress() -> Iterator[tuple[Callable[..., None], Callable[[str], None]]]:
    """Give functions that show how far it is, on one line of a terminal or now and then."""
    started = last = time.monotonic()
    terminal = sys.stderr.isatty()

    def width() -> int:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns if terminal else 0
        return (columns or 80) - 1  # 0 is unknown

    def show(text: str, *, always: bool = False) -> None:
        nonlocal last
        if terminal:
            print(f"\r\033[K{text[: width()]}", end="", file=sys.stderr, flush=True)
        elif always or time.monotonic() - last > QUIET_EVERY:
            last = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def progress(done: int, total: int, counts: Mapping[str, int]) -> None:
        left = (time.monotonic() - started) / done * (total - done)
        shown = "  ".join(f"{status} {n}" for status, n in counts.items())
        text = f"{done}/{total}  {int(left // 60)}:{int(left % 60):02d} left  {shown}"
        size = max(5, min(20, width() - len(text) - 1))  # the counts matter more than the bar
        bar = "█" * (size * done // total)
        show(f"{bar:·<{size}} {text}")

    try:
        yield progress, lambda text: show(text, always=not text.startswith("starting"))
    finally:
        if terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def as_json(batch: Batch) -> dict[str, Any]:
    """Return a batch as plain data."""
    intake = batch.intake
    lists = ("older", "unknown", "refused", "untimed")
    return {
        "version": 1,
        "homework": batch.homework,
        "submissions": batch.rows,
        "counts": batch.counts,
        "notes": batch.notes,
        **{name: [str(item) for item in getattr(intake, name, ())] for name in lists},
    }


def summary(batch: Batch, course: Course) -> str:
    """Return the table of a batch, what to look at, and what to do next."""
    parts = [_table(batch), _lists(batch), *(f"note: {note}" for note in batch.notes)]
    if batch.rows:
        reports = course.root / ".autograder" / "reports" / batch.homework
        parts.append(
            f"reports: {reports}\n"
            f"by hand: start `jupyter lab` in {course.root} and open Nbgrader > Formgrader\n"
            f"to students: nbgrader generate_feedback {batch.homework}, in that folder"
        )
    return "\n\n".join(part for part in parts if part)


def _table(batch: Batch) -> str:
    rows = batch.rows
    if not rows:
        return f"{batch.homework}: nothing was handed in"
    chosen = rows if len(rows) <= MANY else [row for row in rows if row["status"] not in CALM]
    width = max([len("student"), *(len(row["student"]) for row in chosen)])
    lines = [f"{'student':{width}}  {'status':8}  {'points':>9}  {'late':4}  reason"]
    for row in chosen:
        points = f"{row['points']:g} / {row['max_points']:g}"
        late = "late" if row["late"] else ""
        lines.append(
            f"{row['student']:{width}}  {row['status']:8}  {points:>9}  {late:4}  {_reason(row)}"
        )
    if len(chosen) < len(rows):
        calm = len(rows) - len(chosen)
        lines.append(f"(and {calm} that are OK or WRONG, with nothing to look at)")
    mean = sum(row["points"] for row in rows) / len(rows)
    counts = ", ".join(f"{n} {status}" for status, n in batch.counts.items())
    end = f"{batch.homework}: {len(rows)} graded ({counts}), {mean:.1f} points on average"
    return "\n".join([*(line.rstrip() for line in lines), "", end])


def _reason(row: Mapping[str, Any], width: int = 90) -> str:
    """Return the reason of the worst check, in one line."""
    for status in WORST_FIRST[:-1]:
        for check, seen in row["checks"].items():
            if seen == status:
                text = f"{check}: {row['reasons'][check]}"
                text = "".join(c if c.isprintable() else " " for c in text)
                return text if len(text) <= width else f"{text[: width - 1]}…"
    return ""


def _lists(batch: Batch) -> str:
    """Return what was handed in and not graded, and why."""
    titles: Sequence[tuple[str, str]] = (
        (
            "unknown",
            "not among the students of the gradebook, and not graded (add them with `nbgrader db "
            "student add`; --add-students does that for names other than those of Canvas and "
            "Moodle)",
        ),
        ("refused", "refused"),
        ("older", "older attempts, not graded"),
        ("untimed", "without a time, so not late"),
    )
    parts = []
    for name, title in titles:
        items = list(getattr(batch.intake, name, ()))
        if items:
            shown = "\n".join(f"  {item}" for item in items[:50])
            more = f"\n  and {len(items) - 50} more" if len(items) > 50 else ""
            parts.append(f"{len(items)} {title}:\n{shown}{more}")
    return "\n\n".join(parts)
