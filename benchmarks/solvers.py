"""Our solvers beside scikit-learn's and Intel's, on this machine.

Both sides run in one process, in changing order, on one thread, with the same settings; medians and
ranges are given for both, and what their answers are worth is computed from the answers in float64.
Ratios are the peer's time divided by ours. ``--quick`` takes small sets that need no folder.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import cold_start
import growing
import kernel_machines
import linear_machines
from record import Progress, Row, table, write_json
from sets import KernelProblem, LinearProblem, kernel_problems, linear_problems
from sides import is_installed, kernel_machine
from threadpoolctl import threadpool_limits

from svmlab.loaders import MissingDataError

Tables = dict[str, list[Row]]
Show = Callable[[Row], Row]
FEWEST_REPEATS = 5

TITLES: dict[str, tuple[str, Show]] = {
    "kernel": (
        "Kernel machines: RBF, tol 1e-3, 200 MB cache, one thread; ours | peer",
        kernel_machines.show_training,
    ),
    "threads": (
        "The same with all cores, for the sides that can use them; ours | peer",
        kernel_machines.show_training,
    ),
    "predict": (
        "Prediction: the test part of adult by machines trained on adult; ours | peer",
        kernel_machines.show_prediction,
    ),
    "time to target": (
        "Linear machines: time to an accuracy, the shortest run that every seed reaches it with",
        linear_machines.show_solver,
    ),
    "ratio to target": (
        "Linear machines: each peer against the faster one of ours",
        linear_machines.show_ratio,
    ),
    "own rule": ("Linear machines: each stopping by its own default", linear_machines.show_solver),
    "cold": ("Cold start: fresh processes, synthetic data", cold_start.show),
    "growth": ("How cost grows: fresh processes, synthetic data, warm", growing.show),
}


class Settings(NamedTuple):
    """What the command line says."""

    folder: Path | None
    quick: bool
    repeats: int
    limit: float


class Case(NamedTuple):
    """A part of the benchmark that can be run alone; ``labels`` are what --only may call it."""

    name: str
    labels: tuple[str, ...]
    run: Callable[[Settings, Progress], Tables]


def cases(quick: bool) -> list[Case]:
    """Return everything that there is to run, in order."""
    found = [
        Case(f"{p.name}, C = {p.C:g}", ("kernel", p.data), partial(run_kernel, p))
        for p in kernel_problems(quick)
    ]
    if "n_jobs" in kernel_machine("svmlab", 1.0, 1.0).get_params():
        found += [
            Case(f"{p.name}, all cores", ("threads", p.data), partial(run_threads, p))
            for p in kernel_problems(quick)
            if quick or p.case in ("adult", "ijcnn1")
        ]
    if not quick:
        found += [
            Case(f"predict, trained on {n or 'all'} rows", ("predict",), partial(run_predict, n))
            for n in kernel_machines.PREDICT_ROWS
        ]
    found += [
        Case(p.name, ("linear", p.data or "synthetic"), partial(run_linear, p))
        for p in linear_problems(quick)
    ]
    found += [
        Case(f"cold start, {kind}, {n:,} rows", ("cold",), partial(run_cold, kind, n))
        for kind, n in (cold_start.QUICK_PROBLEMS if quick else cold_start.PROBLEMS)
    ]
    found += [
        Case(f"growth, {kind}, over {over}", ("growth",), partial(run_growth, kind, over))
        for kind in growing.KINDS
        for over in ("n", "C")
    ]
    return found


def run_kernel(problem: KernelProblem, settings: Settings, progress: Progress) -> Tables:
    rows = kernel_machines.train(problem, settings.folder, settings.repeats, progress)
    return {"kernel": rows}


def run_threads(problem: KernelProblem, settings: Settings, progress: Progress) -> Tables:
    n_jobs = os.cpu_count() or 1
    rows = kernel_machines.train(problem, settings.folder, settings.repeats, progress, n_jobs)
    return {"threads": rows}


def run_predict(train_rows: int | None, settings: Settings, progress: Progress) -> Tables:
    rows = kernel_machines.predict(train_rows, settings.folder, settings.repeats, progress)
    return {"predict": rows}


def run_linear(problem: LinearProblem, settings: Settings, progress: Progress) -> Tables:
    progress.tell("data")
    X, y = problem.load(settings.folder)
    progress.tell("optimum")
    optimum = linear_machines.certified_optimum(X, y, problem.lam)
    solvers, ratios = linear_machines.time_to_target(
        problem, (X, y), optimum, settings.repeats, settings.limit, progress
    )
    own = linear_machines.own_rule(problem, (X, y), optimum, settings.repeats, progress)
    return {"time to target": solvers, "ratio to target": ratios, "own rule": own}


def run_cold(kind: str, n: int, settings: Settings, progress: Progress) -> Tables:
    repeats = 1 if settings.quick else settings.repeats  # each run is three processes
    return {"cold": cold_start.cold_start(kind, n, repeats, progress)}


def run_growth(kind: str, over: str, settings: Settings, progress: Progress) -> Tables:
    rows = growing.series(kind, over, settings.quick, settings.limit, progress)
    return {"growth": rows}


def run_all(chosen: list[Case], settings: Settings) -> Iterator[tuple[Tables, list[Row]]]:
    """Yield after each case all tables so far, and the sets that are missing."""
    tables: Tables = {}
    missing: list[Row] = []
    progress = Progress(len(chosen))
    for case in chosen:
        progress.begin(case.name)
        try:
            for name, rows in case.run(settings, progress).items():
                tables.setdefault(name, []).extend(rows)
        except MissingDataError as error:
            origin = str(error).partition("Origin: ")[2]
            missing.append({"left out": case.name, "origin of the data": origin})
        progress.end()
        yield tables, missing


def report(tables: Tables, missing: list[Row]) -> str:
    """Return all tables as text."""
    parts = []
    for name, (title, show) in TITLES.items():
        if tables.get(name):
            parts.append(f"{title}\n{table([show(row) for row in tables[name]])}")
    if missing:
        parts.append(f"Not run, because the data are not here (--data)\n{table(missing)}")
    if not is_installed("scikit-learn-intelex"):
        parts.append("scikit-learn-intelex is not installed; `make bench` installs it.")
    return "\n\n".join(parts)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the data (default: $SVMLAB_DATA)")
    parser.add_argument("--quick", action="store_true", help="small sets, at most two minutes")
    parser.add_argument("--json", type=Path, help="write the figures here, after each case")
    parser.add_argument("--figure", type=Path, help="draw how cost grows into this SVG")
    names = sorted({label for quick in (True, False) for c in cases(quick) for label in c.labels})
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--repeats", type=int, help="timed runs of each side")
    return parser


def main(argv: list[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    if options.repeats is not None and options.repeats < (1 if options.quick else FEWEST_REPEATS):
        parser.error(f"--repeats must be {FEWEST_REPEATS} or more, without --quick")
    settings = Settings(
        folder=options.data,
        quick=options.quick,
        repeats=options.repeats or (3 if options.quick else FEWEST_REPEATS),
        limit=10.0 if options.quick else 60.0,
    )
    wanted = set(options.only or ())
    chosen = [c for c in cases(options.quick) if not wanted or wanted & set(c.labels)]
    tables: Tables = {}
    missing: list[Row] = []
    with threadpool_limits(1):
        for done, (tables, missing) in enumerate(run_all(chosen, settings), start=1):
            if options.json:
                write_json(options.json, _document(settings, tables, missing, done == len(chosen)))
    print(report(tables, missing))
    if options.json:
        print(f"\nwritten: {options.json}")
    if options.figure and tables.get("growth"):
        growing.draw(tables["growth"], options.figure)
        print(f"written: {options.figure}")


def _document(settings: Settings, tables: Tables, missing: list[Row], complete: bool) -> Any:
    return {
        "settings": {
            "quick": settings.quick,
            "repeats": settings.repeats,
            "limit s": settings.limit,
            "threads": 1,
        },
        "complete": complete,
        "tables": tables,
        "missing": missing,
    }


if __name__ == "__main__":
    main()
