"""Checks of homework 2, second part: the loop, judged by certificate and never by its α."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks.convert import STEP_LIMIT, number, pair, vector
from autograder.checks.smo_problems import (
    LIMITS,
    MAX_PASSES,
    TOL,
    Problem,
    gaussian_problem,
    lecture_problem,
    linear_problem,
    measure,
    screen,
)
from autograder.outcome import Verdict, full, half, none
from autograder.seeds import Draw
from autograder.student import Seeded, Student
from svmlab.dual import dual_objective
from svmlab.smo import simplified_smo
from svmlab.types import ConvergenceWarning, Vector

__all__ = [
    "cases_for_diagnosis",
    "lecture_example",
    "optimality",
    "replay",
    "screen",
    "termination",
]

TRIES = 3  # generators: SMO with random partners is a random method
MAX_SWEEPS = 5000  # the screened problems need fewer than 1,000
LECTURE_SWEEPS = 100_000  # its badly scaled kernel needs 7,000 to 8,000
B_LIMITS = (0.1, 1.0)  # for the lecture example, b = ±9; correct code ends within 0.012
FEASIBLE_AND_HIGH = ("box", "eq", "relD")

# C, whether y is of integers, max_sweeps: the last must end by itself
ENDINGS = ((1.0, True, MAX_SWEEPS), (0.05, False, MAX_SWEEPS), (5.0, False, 10**9))


def optimality(student: Student, draw: Draw, family: str = "linear") -> Verdict:
    """Judge (α, b) on a screened problem: feasible, D as high as it can be, KKT (B3, eq-kkt)."""
    assert draw.problem is not None
    build = linear_problem if family == "linear" else gaussian_problem
    problem, optimum = build(int(draw.problem["seed"])), float(draw.problem["optimum"])
    return _best(
        _certify(problem, *_solve(student, problem, seed, MAX_SWEEPS), optimum, tuple(LIMITS))
        for seed in draw.seeds(TRIES)
    )


def lecture_example(student: Student, draw: Draw) -> Verdict:
    """Judge the worked example, rows permuted and signs perhaps flipped (C15, eq-worked-example).

    Its optimum and its b are known exactly; the KKT conditions of correct code are off by more
    than usual there, because 10⁻⁵ is a large step for kernel values up to 1369.
    """
    problem, optimum, right = lecture_problem(draw.rng)
    return _best(
        _judge_example(problem, *_solve(student, problem, seed, LECTURE_SWEEPS), optimum, right)
        for seed in draw.seeds(TRIES)
    )


def _judge_example(
    problem: Problem, alpha: Vector, b: float, optimum: float, right: float
) -> Verdict:
    verdict = _certify(problem, alpha, b, optimum, FEASIBLE_AND_HIGH, multiplier=right)
    off = abs(b - right)
    if verdict.share < 1.0 or off < B_LIMITS[0]:
        return verdict
    reason = f"α is right, but b is {b:.4g}; for these labels it should be {right:g}"
    return (half if off < B_LIMITS[1] else none)(reason, off, B_LIMITS[0])


def replay(student: Student, draw: Draw) -> Verdict:
    """Judge one sweep against the lecture's, with the same generator (B4, eq-smo-alpha-j)."""
    problem = gaussian_problem(int(draw.rng.integers(2**31)), n=12)
    seed = draw.seeds(1)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = simplified_smo(*problem, TOL, MAX_PASSES, np.random.default_rng(seed), 1)
    alpha, b = _solve(student, problem, seed, 1)
    scale = max(1.0, abs(expected.b))
    off_alpha = float(np.abs(alpha - expected.alpha).max()) / problem.C
    off_b = abs(b - expected.b) / scale
    if max(off_alpha, off_b) <= STEP_LIMIT:
        return full("one sweep gives the lecture's α and b", max(off_alpha, off_b), STEP_LIMIT)
    if off_alpha <= STEP_LIMIT:
        reason = f"after one sweep α is as it should be, but b is {b:.5g}, not {expected.b:.5g}"
        return half(reason, off_b, STEP_LIMIT)
    reason = (
        "after one sweep with the same generator α differs from the lecture's. Do you draw j by "
        "select_j once for each i that violates its condition, and only then?"
    )
    return none(reason, off_alpha, STEP_LIMIT)


def termination(student: Student, draw: Draw) -> Verdict:
    """Judge that it ends by itself and by max_sweeps, for several C, with integer y (B9, eq-dual).

    Stopping is easy for a loop that does nothing: each answer must also be feasible and optimal.
    """
    assert draw.problem is not None
    faults: list[str] = []
    for (C, integers, max_sweeps), seed in zip(ENDINGS, draw.seeds(len(ENDINGS)), strict=True):
        problem = gaussian_problem(int(draw.problem["seed"]), C, n=20)
        alpha, b, changed = _solve_and_look(student, problem, seed, max_sweeps, integers)
        optimum = float(draw.problem[f"optimum_{C:g}"])
        verdict = _certify(problem, alpha, b, optimum, FEASIBLE_AND_HIGH)
        if verdict.share < 1.0:
            kind = " and y an array of integers" if integers else ""
            return replace(verdict, reason=f"with C = {C:g}{kind}: {verdict.reason}")
        if changed:
            faults = [f"your function changed the caller's {changed}: work on a copy"]
    problem, optimum, right = lecture_problem(draw.rng)  # no good choice of pairs solves it at once
    alpha, b = _solve(student, problem, seed, 1)
    if measure(problem, alpha, b, optimum, right)["relD"] < LIMITS["relD"][0]:
        faults.append("with max_sweeps = 1 it went on until it was done: stop after max_sweeps")
    if faults:
        return (half if len(faults) == 1 else none)("; ".join(faults))
    return full("it ends by itself and after max_sweeps, for C = 0.05, 1 and 5, and leaves K and y")


def _best(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the first full verdict, else the best: what is not asked for is not computed."""
    best: Verdict | None = None
    for verdict in verdicts:
        if best is None or verdict.share > best.share:
            best = verdict
        if best.share == 1.0:
            break
    assert best is not None
    return best


def _solve(student: Student, problem: Problem, seed: int, max_sweeps: int) -> tuple[Vector, float]:
    K, y, C = problem
    answer = student.call("smo", K, y, C, TOL, MAX_PASSES, Seeded(seed), max_sweeps)
    return _parts(answer, len(y))


def _solve_and_look(
    student: Student, problem: Problem, seed: int, max_sweeps: int, integers: bool
) -> tuple[Vector, float, str]:
    """Return α, b and the name of an argument that was changed."""
    K, C = problem.K, problem.C
    y: Any = problem.y.astype(np.int64) if integers else problem.y
    arguments = (K, y, C, TOL, MAX_PASSES, Seeded(seed), max_sweeps)
    answer, after = student.call_echo("smo", *arguments)
    changed = "" if np.array_equal(after[0], K) else "K"
    changed = changed if np.array_equal(after[1], y) else "y"
    return *_parts(answer, len(y)), changed


def _parts(answer: Any, n: int) -> tuple[Vector, float]:
    alpha, b = pair(answer, "smo")
    return vector(alpha, n, "alpha"), number(b, "b")


def _certify(
    problem: Problem,
    alpha: Vector,
    b: float,
    optimum: float,
    quantities: tuple[str, ...],
    multiplier: float = 0.0,
) -> Verdict:
    """Give the mark of the worst quantity, with the words that its excess calls for."""
    measured = measure(problem, alpha, b, optimum, multiplier)
    shares = {
        name: 1.0
        if measured[name] <= LIMITS[name][0]
        else 0.5 * (measured[name] <= LIMITS[name][1])
        for name in quantities
    }
    worst = min(quantities, key=lambda name: shares[name])  # the first of equals is the cause
    value, limit = measured[worst], LIMITS[worst][0]
    if shares[worst] == 1.0:
        return full("feasible and optimal, as its certificate proves", value, limit)
    words = _words(worst, problem, alpha, b, optimum)
    return (half if shares[worst] else none)(words, value, limit)


def _words(worst: str, problem: Problem, alpha: Vector, b: float, optimum: float) -> str:
    K, y, C = problem
    if worst == "box":
        return f"α leaves the box: it runs from {alpha.min():.4g} to {alpha.max():.4g}, C = {C:g}"
    if worst == "eq":
        return f"Σ αy = {alpha @ y:.4g} and not 0: whenever α_j moves, α_i must move with it"
    if worst == "relD":
        if not np.any(alpha):
            return "α is still 0: no step was taken"
        D = dual_objective(alpha, K, y)
        return (
            f"D(α) = {D:.6g}, but {optimum:.6g} can be reached: it stopped too early, or got stuck"
        )
    free = (alpha > 1e-4 * C) & (alpha < (1.0 - 1e-4) * C)
    if measure(problem, alpha, b, optimum)["relD"] > LIMITS["relD"][0] or not free.any():
        return "some examples violate their KKT condition by more than the tolerance"
    right = float(np.mean((y - K @ (alpha * y))[free]))
    return (
        f"α is right, b is wrong: it is {b:.5g}, and {right:.5g} puts the free examples on the edge"
    )


def cases_for_diagnosis() -> dict[str, list[tuple[Any, ...]]]:
    """Return fixed, public inputs of the loop on which each known mistake answers differently."""
    x = np.array([2.0, -1.0])
    two = Problem(np.outer(x, x), np.array([1.0, -1.0]), 10.0)
    few, some = gaussian_problem(5, 0.7, n=8), gaussian_problem(6, 3.0, n=8)
    noisy = gaussian_problem(1, 0.7, n=12)
    example = lecture_problem(np.random.default_rng(0))[0]
    plan = (  # problem, tol, max_passes, seed, max_sweeps
        (two, TOL, 3, 0, 50),
        (few, TOL, 5, 1, 1),
        (few, TOL, 5, 2, 3),
        (few, TOL, 5, 2, 0),
        (few, TOL, 2, 3, 200),
        (few, 2.0, 2, 3, 5),  # so large a tolerance is never violated
        (some, TOL, 30, 4, 500),
        (noisy, TOL, 3, 1, 400),  # a quiet sweep, and then a pair that moves
        (example, TOL, 3, 5, 60),
    )
    cases: list[tuple[Any, ...]] = [
        (K, y, C, tol, passes, Seeded(seed), sweeps)
        for (K, y, C), tol, passes, seed, sweeps in plan
    ]
    K, y, C = few
    return {"smo": [*cases, (K, y.astype(np.int64), C, TOL, 10, Seeded(9), 30)]}
