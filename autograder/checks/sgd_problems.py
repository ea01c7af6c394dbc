"""Problems for the checks of homework 3: states for the steps, real data for the loop.

Data are drawn from two real sets (``autograder/homework/data``), sorted by class and unbalanced:
easy data in random order forgive labels 0/1, a step counter set back, and a wrong λ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from svmlab.coordinate import dual_coordinate_descent
from svmlab.datasets import rcv1_like
from svmlab.primal import cost, regularized_risk
from svmlab.types import Matrix, Rows, Vector

LAM, TEXT_LAM = 0.1, 0.01
SINGLE_STEPS, BATCH, BATCH_STEPS = 20_000, 10, 2_000  # λT = 2000, in rows looked at
FEW, MANY, RUNS = 200, 2_000, 5  # of the check that more steps come nearer
KINK = 0.05  # margins of drawn examples keep away from 1: single precision may decide otherwise

# full, half: shares of the optimum, and of its length
REL, NORM = (0.02, 0.06), (0.05, 0.15)
FALL, REST = (0.3, 0.6), (0.15, 0.3)  # excess of MANY / excess of FEW steps, and what is left


class Problem(NamedTuple):
    """Examples and λ."""

    X: Rows
    y: Vector
    lam: float


class Batch(NamedTuple):
    """The arguments of an update, and the margins that were asked for."""

    w: Vector
    X: Matrix
    y: Vector
    lam: float
    t: int


class Measures(NamedTuple):
    """How far w is from the optimum: (F − F*)/F*, and ‖w‖/‖w*‖."""

    rel: float
    norm: float


def draw_lam(rng: np.random.Generator) -> float:
    """Draw a λ between 0.01 and 10."""
    return float(np.round(10.0 ** rng.uniform(-2.0, 1.0), 3))


def draw_weights(rng: np.random.Generator) -> Vector:
    """Draw 2 to 5 weights, none of them near 0."""
    d = int(rng.integers(2, 6))
    return np.asarray(rng.choice([-1.0, 1.0], d) * rng.uniform(0.3, 2.0, d)).round(3)


def rows_with_margins(
    rng: np.random.Generator, w: Vector, margins: Vector
) -> tuple[Matrix, Vector]:
    """Draw examples (X, y) that have these margins y w·x, but for rounding."""
    y = rng.choice([-1.0, 1.0], len(margins))
    X = rng.normal(size=(len(margins), len(w)))
    return (X + np.outer((y * margins - X @ w) / (w @ w), w)).round(3), y


def draw_margins(rng: np.random.Generator, violated: int, satisfied: int) -> Vector:
    """Draw margins in random order: some below 1, on both sides of 0, some above."""
    low = rng.choice([-1.0, 1.0], violated) * rng.uniform(0.05, 1.0 - KINK, violated)
    high = rng.uniform(1.0 + KINK, 3.0, satisfied)
    return np.asarray(rng.permutation(np.concatenate((low, high))))


def draw_batch_of(
    rng: np.random.Generator, t: int, violated: int, satisfied: int, lam: float | None = None
) -> Batch:
    """Draw the arguments of update t with so many violated and satisfied margins."""
    w = draw_weights(rng)
    X, y = rows_with_margins(rng, w, draw_margins(rng, violated, satisfied))
    return Batch(w, X, y, draw_lam(rng) if lam is None else lam, t)


def problem(pool: str, seed: int) -> Problem:
    """Build the problem of a pool that belongs to a seed."""
    rng = np.random.default_rng(seed)
    if pool == "sgd-text":
        return Problem(*rcv1_like(150, 3_000, rng=rng), TEXT_LAM)
    X, positive = _digits(rng) if pool == "sgd-digits" else _cancer(rng)
    y = np.where(positive, 1.0, -1.0) * rng.choice([-1.0, 1.0])  # the large class is +1 or −1
    order = np.argsort(y * rng.choice([-1.0, 1.0]), kind="stable")
    return Problem(X[order], y[order], LAM)


def _digits(rng: np.random.Generator) -> tuple[Matrix, Any]:
    """Draw about 450 pictures of five digits, and which of them show the first of these."""
    table = data("digits")
    digits = rng.permutation(10)[:5]
    rows = rng.permutation(np.flatnonzero(np.isin(table[:, -1], digits)))
    rows = rows[: 9 * len(rows) // 10]
    X = (table[:, :-1] - table[:, :-1].mean(axis=0)) / 9.0
    return X[rows], table[rows, -1] == digits[0]


def _cancer(rng: np.random.Generator) -> tuple[Matrix, Any]:
    """Draw 90 malignant and 310 benign cases, and which of them are malignant."""
    table = data("breast_cancer")
    malignant = table[:, -1] == 0.0
    rows = np.concatenate(
        (
            rng.permutation(np.flatnonzero(malignant))[:90],
            rng.permutation(np.flatnonzero(~malignant))[:310],
        )
    )
    X = (table[:, :-1] - table[:, :-1].mean(axis=0)) / (1.5 * table[:, :-1].std(axis=0))
    return X[rows], malignant[rows]


@functools.cache
def data(name: str) -> Matrix:
    """Return a data set of the package, the label in the last column."""
    with (files("autograder") / "homework" / "data" / f"{name}.npy").open("rb") as file:
        return np.asarray(np.load(file, allow_pickle=False), dtype=np.float64)


def measure(w: Vector, task: Problem, known: Mapping[str, Any]) -> Measures:
    """Measure w against the certified optimum of its problem."""
    rel = regularized_risk(w, task.X, task.y, task.lam) / known["optimum"] - 1.0
    return Measures(rel, float(np.linalg.norm(w)) / known["norm"])


def screen(
    pool: str, seed: int, reference: Mapping[str, Callable[..., Any]]
) -> dict[str, float] | None:
    """Certify the optimum of a candidate; None unless the reference keeps half of each limit."""
    task = problem(pool, seed)
    exact = dual_coordinate_descent(
        task.X, task.y, cost(task.lam, len(task.y), "lambda/2"), tol=1e-7
    )
    if exact.objective - exact.bound > 1e-6 * exact.objective:
        return None
    known = {"optimum": task.lam * exact.objective, "norm": float(np.linalg.norm(exact.w))}
    runs = _reference_runs(pool, task, reference)
    fine = all(
        m.rel <= REL[0] / 2 and abs(m.norm - 1.0) <= NORM[0] / 2
        for m in (measure(w, task, known) for w in runs)
    )
    return known if fine and _falls(pool, task, known, reference) else None


def _reference_runs(
    pool: str, task: Problem, reference: Mapping[str, Callable[..., Any]]
) -> list[Vector]:
    X, y, lam = task
    if pool == "sgd-text":
        run, rows, d = reference["sparse_pegasos"], X[:3], X.shape[1]
        return [run(*rows, d, y, lam, SINGLE_STEPS, np.random.default_rng(s)) for s in range(3)]
    run = reference["pegasos"]
    single = [run(X, y, lam, SINGLE_STEPS, np.random.default_rng(s), 1) for s in range(2)]
    batches = [run(X, y, lam, BATCH_STEPS, np.random.default_rng(s), BATCH) for s in range(2, 8)]
    return single + batches


def _falls(
    pool: str, task: Problem, known: Mapping[str, Any], reference: Mapping[str, Callable[..., Any]]
) -> bool:
    """Tell whether the excess of the reference falls with its steps, by half of the limits."""
    if pool != "sgd-cancer":
        return True
    runs = [
        [
            measure(reference["pegasos"](*task, T, np.random.default_rng(s), 1), task, known).rel
            for T in (FEW, MANY)
        ]
        for s in range(4 * RUNS)
    ]
    few, many = np.mean(runs, axis=0)
    return bool(many <= FALL[0] / 2 * few and many <= REST[0] / 2)
