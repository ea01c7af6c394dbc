"""Checks of homework 3, second part: Pegasos judged by what it reaches, on data and on text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.checks.convert import vector
from autograder.checks.sgd_problems import (
    BATCH,
    BATCH_STEPS,
    FALL,
    FEW,
    MANY,
    NORM,
    REL,
    REST,
    RUNS,
    SINGLE_STEPS,
    Measures,
    Problem,
    measure,
    problem,
    screen,
)
from autograder.outcome import Verdict, Wrong, full, half, none
from autograder.seeds import Draw
from autograder.student import Seeded, Student
from svmlab.types import Indices, Vector

__all__ = [
    "cases_for_diagnosis",
    "more_steps",
    "optimality",
    "sampling",
    "screen",
    "sparse_pegasos",
]

ROWS, UNIT_LAM = 40, 2.0  # of the check of sampling


def sampling(student: Student, draw: Draw) -> Verdict:
    """Judge which rows are drawn: with X = I every one of them leaves its mark in w (S9).

    Rows drawn one by one are as right as an order shuffled with the generator; T may exceed n.
    """
    first, second = draw.seeds(2)
    mixed = np.where(draw.rng.permutation(ROWS) < ROWS // 2, 1.0, -1.0)
    for T, k in ((1, 1), (1, 5)):
        _draws(student, np.ones(ROWS), T, k, first)
    once, again, other = (_draws(student, mixed, 20, 1, seed) for seed in (first, first, second))
    if not np.array_equal(once, again):
        return none("two runs with the same seed drew different rows: draw with rng, nothing else")
    if np.minimum(once, other).sum() > 16:  # of 20 draws; 6 are usual
        return none(_same_rows(once))
    rows = [np.sum(_draws(student, mixed, T, k, first) > 0) for T, k in ((20, 1), (6, 5), (120, 1))]
    if rows[0] < 9 or rows[1] < 12 or rows[2] < 30:
        return none(
            f"20, 30 and 120 draws touched {rows[0]}, {rows[1]} and {rows[2]} of {ROWS} rows; "
            "16, 21 and 38 are usual: is every row as likely as any other, in every step?"
        )
    return _untouched(student, first, draw)


def _draws(student: Student, y: Vector, T: int, k: int, seed: int) -> Indices:
    """Return how often each row was drawn in a run on X = I."""
    answer = student.call("pegasos", np.eye(ROWS), y, UNIT_LAM, T, Seeded(seed), k)
    return _counts(answer, y, T, k)


def _counts(answer: Any, y: Vector, T: int, k: int) -> Indices:
    """Read off w how often each row of X = I was drawn.

    With λ > 1 no margin reaches 1 and no w leaves the ball, so that w_i = y_i c_i/(λTk) for the
    number c_i of draws: whatever the way of drawing, these are whole numbers with sum Tk.
    """
    counts = vector(answer, ROWS, "w") * y * UNIT_LAM * T * k
    case = f"with X the unit matrix, λ = {UNIT_LAM:g}, T = {T}, k = {k}"
    if not np.any(counts):
        raise Wrong(f"{case}, w is still 0")
    if np.abs(counts - np.round(counts)).max() > 0.01 or counts.min() < -0.01:
        i = int(np.abs(counts - np.round(counts)).argmax())
        raise Wrong(
            f"{case}, λTk·y_i w_i counts how often row i was drawn; with your w that is "
            f"{counts[i]:.3g} for row {i}. Is it the last w, and t the number of the update?"
        )
    if round(counts.sum()) != T * k:
        raise Wrong(f"{case}, {T * k} rows should be drawn; w shows {counts.sum():.0f}")
    return np.round(counts).astype(np.int64)


def _same_rows(counts: Indices) -> str:
    if np.all(counts[:-1] >= counts[1:]):
        return "the rows are taken in their fixed order; on data sorted by class that fails: draw"
    return "two generators drew the same rows: use the rng that you are given, set no seed"


def _untouched(student: Student, seed: int, draw: Draw) -> Verdict:
    """Judge that integers are no trouble and that X and y stay as they are."""
    X = draw.rng.integers(-3, 4, size=(12, 3))
    y = np.where(np.arange(12) < 6, 1, -1)
    answer, after = student.call_echo("pegasos", X, y, 0.5, 30, Seeded(seed), 2)
    if not np.any(vector(answer, 3, "w")):
        return none("with X of integers w stays 0: keep w as an array of floats (np.zeros)")
    if not (np.array_equal(after[0], X) and np.array_equal(after[1], y)):
        return half("your function changed the caller's X or y: work on a copy")
    return full("rows are drawn at random, with the generator that is given")


def optimality(student: Student, draw: Draw, family: str = "digits") -> Verdict:
    """Judge w by F(w) and ‖w‖: one run of single rows, the mean of three with batches (S9)."""
    assert draw.problem is not None
    task = problem(f"sgd-{family}", int(draw.problem["seed"]))
    single, *batches = draw.seeds(4)
    runs = [_run(student, task, draw.problem, SINGLE_STEPS, single, 1)]
    if (verdict := _verdict(runs[0], "one row a step")).share == 0.0:
        return verdict
    runs = [_run(student, task, draw.problem, BATCH_STEPS, seed, BATCH) for seed in batches]
    mean = Measures(*np.mean(runs, axis=0))
    other = _verdict(mean, f"batches of {BATCH}")
    return verdict if verdict.share < other.share else other


def _run(
    student: Student, task: Problem, known: Mapping[str, Any], T: int, seed: int, k: int
) -> Measures:
    X, y, lam = task
    w = vector(student.call("pegasos", X, y, lam, T, Seeded(seed), k), X.shape[1], "w")
    return measure(w, task, known)


def _verdict(seen: Measures, how: str) -> Verdict:
    """Give the mark of the worse quantity: the objective first, it is what w is for."""
    if seen.rel <= REL[0] and abs(seen.norm - 1.0) <= NORM[0]:
        return full(f"F(w) is within {REL[0]:.0%} of the optimum", seen.rel, REL[0])
    fair = seen.rel <= REL[1] and abs(seen.norm - 1.0) <= NORM[1]
    above = f"{seen.rel:.1%}" if seen.rel < 10.0 else "far"
    reason = (
        f"with {how} F(w) is {above} above the optimum (at most {REL[0]:.0%}) and "
        f"‖w‖ is {seen.norm:.3g} times that of the optimum (0.95 to 1.05)"
    )
    return (half if fair else none)(reason, seen.rel, REL[0])


def more_steps(student: Student, draw: Draw) -> Verdict:
    """Judge that ten times as many steps come nearer, as the rate 1/T says (S10)."""
    assert draw.problem is not None
    task = problem("sgd-cancer", int(draw.problem["seed"]))
    few, many = (
        float(np.mean([_run(student, task, draw.problem, T, s, 1).rel for s in draw.seeds(RUNS)]))
        for T in (FEW, MANY)
    )
    ratio = many / max(few, 1e-12)
    figures = f"the excess of F is {few:.1%} after {FEW} steps and {many:.1%} after {MANY}"
    if ratio <= FALL[0] and many <= REST[0]:
        return full(figures, ratio, FALL[0])
    reason = f"{figures}; with the rate 1/(λt) it falls about tenfold"
    return (half if ratio <= FALL[1] and many <= REST[1] else none)(reason, ratio, FALL[0])


def sparse_pegasos(student: Student, draw: Draw) -> Verdict:
    """Judge the form w = s·v: a few steps on X = I exactly, then many on text (M12)."""
    assert draw.problem is not None
    few, many = draw.seeds(2)
    y = np.where(draw.rng.permutation(ROWS) < ROWS // 2, 1.0, -1.0)
    unit = (np.ones(ROWS), np.arange(ROWS), np.arange(ROWS + 1), ROWS)
    _counts(student.call("sparse_pegasos", *unit, y, UNIT_LAM, 6, Seeded(few)), y, 6, 1)
    task = problem("sgd-text", int(draw.problem["seed"]))
    X, y, lam = task
    arguments = (*X[:3], X.shape[1], y, lam, SINGLE_STEPS, Seeded(many))
    answer, after = student.call_echo("sparse_pegasos", *arguments)
    verdict = _verdict(
        measure(vector(answer, X.shape[1], "w"), task, draw.problem), "one row a step"
    )
    same = all(np.array_equal(a, b) for a, b in zip(arguments[:5], after[:5], strict=True))
    if verdict.share == 1.0 and not same:
        return half("your function changed the caller's data, indices, indptr or y")
    return verdict


def cases_for_diagnosis() -> dict[str, list[tuple[Any, ...]]]:
    """Return fixed, public inputs of the loops on which each known mistake answers differently.

    ‖x‖ < √λ keeps w inside the ball: with and without the projection the answers are the same.
    """
    rng = np.random.default_rng(4)
    X = rng.uniform(-0.2, 0.2, size=(6, 3))
    y = np.array([1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
    plan = ((0, 1), (1, 1), (2, 1), (5, 1), (9, 2), (60, 1), (40, 3))
    cases: list[tuple[Any, ...]] = [(X, y, 0.25, T, Seeded(T), k) for T, k in plan]
    pixels = rng.integers(0, 3, size=(6, 3))
    cases.append((pixels, y.astype(np.int64), 20.0, 12, Seeded(1), 2))
    csr = (np.array([0.3, -0.2, 0.4, 0.1]), np.array([0, 3, 1, 3]), np.array([0, 2, 3, 4]))
    sparse = [(*csr, 5, y[1:4], lam, T, Seeded(T)) for lam, T in ((0.25, 1), (0.1, 4), (0.25, 30))]
    return {"pegasos": cases, "sparse_pegasos": sparse}
