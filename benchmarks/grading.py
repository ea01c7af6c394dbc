"""What grading a class costs: ours beside stock nbgrader (and otter-grader where it is installed).

The same notebooks are judged by the same checks on the same hidden data. Stock nbgrader runs them
in test cells of the notebook, in the student's kernel; ours calls the functions in a sandbox. A
command is timed as a whole, from its start to the last score in the gradebook.

overhead = total − time inside the students' functions, per submission. With two jobs half of that
time is taken off, because both work at once.
"""

from __future__ import annotations

import argparse
import functools
import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import graders
import stock_checks
from graders import Class, Run
from record import Progress, Row, table, write_json

from autograder.sample import sample_class

HOMEWORKS = ("hw1-margins", "hw2-smo")
HONEST = ("correct", "mistake", "variant", "syntax", "answers")
ENDLESS = "-never-ends"  # mistakes that take any grader's time limit: that measures the limit
LONGEST = 100  # a larger class holds the same notebooks again
STOCK, OTTER = "nbgrader", "otter"
PACKAGES = ("nbgrader", "otter-grader", "distributed", "numpy", "svmlab")


class Grader(NamedTuple):
    """One way to grade, how many at once, and the course that it works on."""

    grade: Callable[[Path, Class], Run]
    jobs: int
    course: str


OURS = {
    "fresh, 1 job": Grader(graders.ours("--fresh", "--jobs", "1"), 1, "ours"),
    "fresh, 2 jobs": Grader(graders.ours("--fresh", "--jobs", "2"), 2, "ours"),
    "warm, 1 job": Grader(graders.ours("--jobs", "1"), 1, "ours"),
    "warm, 2 jobs": Grader(graders.ours("--jobs", "2"), 2, "ours"),
    "Dask, 2 workers": Grader(graders.ours("--cluster", "local:2"), 2, "ours"),
}
PLAN: list[tuple[str, str, int]] = [  # kind, grader, size: in this order, so that both alternate
    ("hw1-margins", "warm, 2 jobs", 10),
    ("hw1-margins", STOCK, 10),
    ("hw1-margins", OTTER, 20),
    ("hw1-margins", "warm, 2 jobs", 100),
    ("hw1-margins", "fresh, 1 job", 100),
    ("hw1-margins", STOCK, 100),
    ("hw1-margins", "warm, 1 job", 100),
    ("hw1-margins", "fresh, 2 jobs", 100),
    ("hw1-margins", "Dask, 2 workers", 100),
    ("hw1-margins", "warm, 2 jobs", 1000),
    ("untouched", "fresh, 1 job", 100),
    ("untouched", STOCK, 20),
    ("untouched", "warm, 2 jobs", 100),
    ("hw2-smo", "fresh, 1 job", 50),
    ("hw2-smo", STOCK, 12),  # of 7 s each: all ends within 20 minutes
    ("hw2-smo", "warm, 2 jobs", 100),
]
QUICK = [("hw1-margins", name, 4) for name in ("fresh, 1 job", STOCK, "warm, 2 jobs")]
TARGETS = {  # kind, grader: by how much the overhead and the total must be smaller than nbgrader's
    ("hw1-margins", "fresh, 1 job"): (5, 5),
    ("hw1-margins", "warm, 2 jobs"): (20, 20),
    ("untouched", "fresh, 1 job"): (5, 5),
    ("untouched", "warm, 2 jobs"): (20, 20),
    ("hw2-smo", "fresh, 1 job"): (5, None),
    ("hw2-smo", "warm, 2 jobs"): (20, 5),
}


def classes(course: Path) -> dict[str, Class]:
    """Return the classes: honest work on two homeworks, and notebooks that nobody touched."""
    found = {}
    for homework in HOMEWORKS:
        released = (course / "release" / homework / f"{homework}.ipynb").read_bytes()
        samples = [s for s in sample_class(released, homework) if s.kind in HONEST]
        books = {s.student: s.data for s in samples if not s.student.endswith(ENDLESS)}
        found[homework] = Class(homework, homework, books)
    released = (course / "release" / HOMEWORKS[0] / f"{HOMEWORKS[0]}.ipynb").read_bytes()
    found["untouched"] = Class("untouched", HOMEWORKS[0], {"untouched": released})
    return found


seconds_inside = functools.cache(stock_checks.student_seconds)  # students come in several classes


def student_seconds(group: Class) -> float:
    """Return the time inside the functions of a whole class."""
    return sum(
        seconds_inside(group.homework, data, student) for student, data in group.notebooks.items()
    )


def run_plan(plan: list[tuple[str, str, int]], folder: Path) -> list[Row]:
    """Run every command of the plan and return a row for each."""
    progress = Progress(len(plan) + 1)
    progress.begin("making the courses")
    courses = {"ours": graders.make_course(folder / "ours", HOMEWORKS)}
    courses["stock"] = graders.make_stock_course(folder / "stock", courses["ours"], HOMEWORKS)
    os.environ["BENCH_COURSE"] = str(courses["ours"])
    sides = {**OURS, STOCK: Grader(graders.stock(courses["ours"]), 1, "stock")}
    if find_spec("otter"):
        courses["otter"] = graders.make_otter_tests(folder / "otter", HOMEWORKS)
        sides[OTTER] = Grader(graders.otter(courses["otter"], courses["ours"]), 1, "otter")
    groups = classes(courses["ours"])
    progress.end()
    rows: list[Row] = []
    scores: dict[str, dict[str, float]] = {}
    for kind, name, size in plan:
        if name not in sides:
            print(f"{name} is not installed and left out (`make bench-grading` installs it)")
            continue
        progress.begin(f"{kind}: {name}, {size} submissions")
        group, side = groups[kind].first(size), sides[name]
        run = side.grade(courses[side.course], group)
        inside = student_seconds(group.first(min(size, LONGEST))) / min(size, LONGEST)
        rows.append(
            {
                "kind": kind,
                "grader": name,
                "n": size,
                "total s": run.wall,
                "s each": run.wall / size,
                "inside s each": inside,
                "overhead s each": run.wall / size - inside / side.jobs,
                "cpu s each": run.cpu / size,
                "peak MB": run.memory / 2**20,
                "per minute": 60 * size / run.wall,
            }
        )
        first = scores.setdefault(kind, {})  # what each student got when graded first
        both = [student for student in run.scores if student in first]
        agreeing = sum(abs(first[s] - run.scores[s]) < 1e-9 for s in both)
        rows[-1]["same scores"] = f"{agreeing} of {len(both)}" if both else None
        scores[kind] = run.scores | first
        progress.end()
    return rows


def with_ratios(rows: list[Row]) -> list[Row]:
    """Add how much less than nbgrader each of ours took, beside what it should be."""
    slowest = {row["kind"]: row for row in rows if row["grader"] == STOCK}  # the largest class
    for row in rows:
        peer = slowest.get(row["kind"])
        row["nbgrader / total"] = row["nbgrader / overhead"] = None
        row["target"] = ""
        if peer is None or row["grader"] == STOCK:
            continue
        row["nbgrader / total"] = peer["s each"] / row["s each"]
        row["nbgrader / overhead"] = peer["overhead s each"] / row["overhead s each"]
        if row["n"] >= 50 and (target := TARGETS.get((row["kind"], row["grader"]))):
            row["target"] = _verdict(row, *target)
    return rows


def _verdict(row: Row, overhead: float, total: float | None) -> str:
    met = row["nbgrader / overhead"] >= overhead and row["nbgrader / total"] >= (total or 0.0)
    wanted = f"overhead {overhead}" + (f", total {total}" if total else "")
    return f"{wanted}: {'met' if met else 'missed'}"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="four submissions, about a minute")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args(argv)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="svmlab-grading-") as folder:
        rows = with_ratios(run_plan(QUICK if options.quick else PLAN, Path(folder)))
    seconds = time.monotonic() - began
    print(f"{table(rows)}\n\nthe whole run took {seconds / 60:.1f} minutes")
    if options.json:
        record = {"quick": options.quick, "whole run s": seconds, "rows": rows}
        write_json(options.json, record, PACKAGES)
        print(f"\nwritten: {options.json}")


if __name__ == "__main__":
    main()
