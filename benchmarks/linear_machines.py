"""Linear machines side by side: time to a given accuracy, and time under one's own rule.

All minimise λ/2 ‖w‖² + mean hinge loss without intercept. How good a w is, is computed from w alone
and compared with a lower bound f* that a dual point proves: the gap between the two values of that
point is at most 1e-5 of it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from compare import Timing, alternate, spread, verdict
from record import Progress, Row
from sets import LinearProblem
from sides import LINEAR, is_ours, linear_machine, linear_weights

from svmlab.coordinate import dual_coordinate_descent
from svmlab.types import Vector

TARGETS = (1e-2, 1e-3)
LARGEST_GAP = 1e-5
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7)
EPOCHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100)


class Optimum(NamedTuple):
    """What a dual point proves: the optimum lies between ``low`` and ``high``."""

    low: float
    high: float

    @property
    def gap(self) -> float:
        """The relative duality gap.

        >>> Optimum(2.0, 3.0).gap
        0.5
        """
        return (self.high - self.low) / self.low

    def error(self, f: float) -> float:
        """Return (f − f*)/f* with the lower bound for f*: never too small.

        >>> Optimum(2.0, 2.25).error(2.5)
        0.25
        """
        return (f - self.low) / self.low


class Found(NamedTuple):
    """The shortest run of a solver that reaches an accuracy, or its longest if none does."""

    epochs: int
    reached: bool


def risk(w: Vector, X: Any, y: Vector, lam: float) -> float:
    """Return the objective in float64 (eq-regularized-risk)."""
    return float(0.5 * lam * w @ w + np.maximum(0.0, 1.0 - y * (X @ w)).mean())


def bounds(alpha: Vector, X: Any, y: Vector, lam: float) -> Optimum:
    """Compute from α alone, 0 ≤ α ≤ C = 1/(nλ), what it proves about the optimum (eq-dcd-dual)."""
    C = 1.0 / (y.size * lam)
    if alpha.min() < 0.0 or alpha.max() > C:
        raise ValueError(f"alpha must be in [0, {C:g}], got {alpha.min():g} to {alpha.max():g}")
    w = X.T @ (alpha * y)
    return Optimum(low=float(lam * (alpha.sum() - 0.5 * w @ w)), high=risk(w, X, y, lam))


def certified_optimum(X: Any, y: Vector, lam: float) -> Optimum:
    """Return bounds on the optimum that are close enough together to judge others by."""
    for tol in TOLERANCES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the gap decides, not the solver
            result = dual_coordinate_descent(X, y, 1.0 / (y.size * lam), tol=tol)
        assert result.alpha is not None
        optimum = bounds(result.alpha, X, y, lam)
        if optimum.gap <= LARGEST_GAP:
            return optimum
    raise RuntimeError(f"the optimum is known to {optimum.gap:.1e} only, not to {LARGEST_GAP:g}")


def shortest(
    error: Callable[[int, int], float], target: float, n_seeds: int, limit: float, start: int = 1
) -> Found:
    """Return the fewest epochs of the grid with which every seed reaches the target.

    ``error(epochs, seed)`` runs the solver; the search ends with the grid or with a run that takes
    longer than ``limit`` seconds.

    >>> shortest(lambda epochs, seed: (1.0 + seed) / epochs, 0.25, n_seeds=2, limit=1.0)
    Found(epochs=8, reached=True)
    """
    tried = start
    for tried in (epochs for epochs in EPOCHS if epochs >= start):
        begin, runs = time.perf_counter(), 0
        for runs in range(1, n_seeds + 1):
            if error(tried, runs - 1) > target:
                break
        else:
            return Found(tried, True)
        if time.perf_counter() - begin > limit * runs:
            break
    return Found(tried, False)


def time_to_target(
    problem: LinearProblem,
    data: Any,
    optimum: Optimum,
    repeats: int,
    limit: float,
    progress: Progress,
) -> tuple[list[Row], list[Row]]:
    """Return a row a solver and accuracy, and a row a peer and accuracy with the ratio."""
    X, y = data
    solvers, ratios = [], []
    first = dict.fromkeys(LINEAR, 1)
    for target in TARGETS:
        found = {}
        for side in LINEAR:
            progress.tell(f"{side}, epochs to {target:g}")

            def error(epochs: int, seed: int, side: str = side) -> float:
                w = linear_weights(side, X, y, problem.lam, epochs, seed)
                return optimum.error(risk(w, X, y, problem.lam))

            found[side] = shortest(error, target, repeats, limit, first[side])
            first[side] = found[side].epochs
        works = {
            side: partial(linear_weights, side, X, y, problem.lam, found[side].epochs)
            for side in LINEAR
        }
        timings = alternate(works, repeats, progress.tell)
        start = _start(problem, X, optimum) | {"accuracy": target}
        for side, timing in timings.items():
            errors = [optimum.error(risk(w, X, y, problem.lam)) for w in timing.answers]
            row = start | {"solver": side, "epochs": found[side].epochs}
            row |= {"reached": found[side].reached, "worst error": max(errors)}
            solvers.append(row | timing.row("solver"))
        ratios += [start | row for row in _ratios(f"{problem.case} {target:g}", found, timings)]
    return solvers, ratios


def own_rule(
    problem: LinearProblem, data: Any, optimum: Optimum, repeats: int, progress: Progress
) -> list[Row]:
    """Return a row a solver, each stopping as it does by default."""
    X, y = data

    def work(side: str, seed: int) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine = linear_machine(side, problem.lam, y.size, seed).fit(X, y)
        return machine, not caught

    timings = alternate({side: partial(work, side) for side in LINEAR}, repeats, progress.tell)
    rows = []
    for side, timing in timings.items():
        machines = [machine for machine, _ in timing.answers]
        errors = [optimum.error(risk(m.coef_[0], X, y, problem.lam)) for m in machines]
        row = _start(problem, X, optimum) | {"solver": side}
        row |= {"epochs": int(median(int(m.n_iter_) for m in machines)), "worst error": max(errors)}
        row["without warning"] = all(quiet for _, quiet in timing.answers)
        rows.append(row | timing.row("solver"))
    return rows


def show_solver(row: Row) -> Row:
    """Return the columns of a printed table."""
    shown = {"set": row["set"], "solver": row["solver"], "s": spread(row, "solver")}
    if "accuracy" in row:
        reached = f"{row['epochs']}" if row["reached"] else f"not reached in {row['epochs']}"
        shown |= {"to": f"{row['accuracy']:g}", "epochs": reached}
    else:
        shown["epochs"] = str(row["epochs"])
    return shown | {"(f − f*)/f*, worst run": f"{row['worst error']:.1e}"}


def show_ratio(row: Row) -> Row:
    """Return the columns of a printed table."""
    return {
        "set": row["set"],
        "to": f"{row['accuracy']:g}",
        "svmlab's faster": row["svmlab"],
        "peer": row["peer"],
        "ratio": None if row["ratio"] is None else f"{'≥ ' * row['is bound']}{row['ratio']:.3g}",
        "target": row["target"],
    }


def _start(problem: LinearProblem, X: Any, optimum: Optimum) -> Row:
    return {
        "set": problem.name,
        "synthetic": not problem.data,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "lambda": problem.lam,
        "optimum": optimum.low,
        "gap": optimum.gap,
    }


def _ratios(case: str, found: dict[str, Found], timings: dict[str, Timing]) -> list[Row]:
    """Compare each peer with the faster one of ours that reaches the accuracy.

    Of a peer that does not, the longest run counts: then the ratio is a lower bound.
    """
    seconds = {side: median(timing.wall) for side, timing in timings.items()}
    ours = [side for side in LINEAR if is_ours(side) and found[side].reached]
    fastest = min(ours, key=seconds.__getitem__, default=None)
    rows = []
    for peer in (side for side in LINEAR if not is_ours(side)):
        value = seconds[peer] / seconds[fastest] if fastest else None
        row = {"svmlab": fastest, "peer": peer, "ratio": value, "is bound": not found[peer].reached}
        row["target"] = verdict(peer, case, value) if fastest else "not reached by svmlab"
        rows.append(row)
    return rows
