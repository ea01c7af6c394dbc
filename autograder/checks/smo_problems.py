"""Problems for the checks of homework 2: states for the steps, screened problems for the loop.

The α of a state are multiples of C/16, so that "at the bound" is exact and no other α is near it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmlab import smo as lecture
from svmlab.certificates import box_violation, equality_violation, margin_violations
from svmlab.dual import dual_objective
from svmlab.examples import worked_example
from svmlab.kernels import gaussian_kernel
from svmlab.types import Indices, Matrix, Vector

UNITS = 16
COSTS = (0.05, 1.0, 5.0)
TOL = 1e-3
MAX_PASSES = 100
SCREENING_SEEDS = 10
SCREENING_SWEEPS = 1000

# up to the first full points, up to the second half: measured on correct and faulty programs
LIMITS: Mapping[str, tuple[float, float]] = {
    "box": (1e-6, 1e-3),
    "eq": (1e-3, 2e-2),
    "relD": (1e-4, 2e-2),
    "kkt": (1e-2, 1e-1),
}


class Problem(NamedTuple):
    """A dual problem."""

    K: Matrix
    y: Vector
    C: float


class State(NamedTuple):
    """A feasible point of a dual problem, and a pair that is to move."""

    K: Matrix
    y: Vector
    C: float
    alpha: Vector
    b: float
    i: int
    j: int

    def error(self, k: int) -> float:
        """Return E_k (eq-smo-error)."""
        return lecture.error(k, self.alpha, self.b, self.K, self.y)

    def ends(self) -> tuple[float, float]:
        """Return L and H (eq-smo-bounds)."""
        i, j = self.i, self.j
        return lecture.bounds(self.alpha[i], self.alpha[j], self.y[i], self.y[j], self.C)


def draw_states(
    rng: np.random.Generator, count: int, kernel: str = "mixed", corners: bool = False
) -> list[State]:
    """Draw feasible states of small problems, many of their α at a bound (all with ``corners``)."""
    K = _grams(rng, count, kernel)
    C = np.exp(rng.uniform(-2.5, 3.0, count)).round(3)
    y = rng.permuted(np.where(np.arange(5) < rng.integers(2, 4, (count, 1)), 1.0, -1.0), axis=1)
    alpha = _walk(rng, y, corners) * (C[:, None] / UNITS)
    b = rng.normal(size=count).round(3)
    i, j = _pairs(rng, count)
    return [
        State(K[k], y[k], float(C[k]), alpha[k], float(b[k]), int(i[k]), int(j[k]))
        for k in range(count)
    ]


def _pairs(rng: np.random.Generator, count: int) -> tuple[Indices, Indices]:
    i = rng.integers(0, 5, count)
    return i, (i + rng.integers(1, 5, count)) % 5


def _grams(rng: np.random.Generator, count: int, kernel: str) -> NDArray[np.float64]:
    """Draw five points a state and return their Gram matrices; no diagonal is 1."""
    X = rng.normal(size=(count, 5, 3))
    linear = 10.0 ** rng.uniform(-1.0, 1.0, (count, 1, 1)) * (X @ X.transpose(0, 2, 1))
    squares = np.sum((X[:, :, None] - X[:, None]) ** 2, axis=-1)
    gaussian = rng.uniform(0.3, 4.0, (count, 1, 1)) * np.exp(-0.4 * squares)
    share = {"linear": 0.0, "gaussian": 1.0, "mixed": 0.5}[kernel]
    return np.where(rng.random((count, 1, 1)) < share, gaussian, linear)


def _walk(rng: np.random.Generator, y: Matrix, corners: bool) -> Matrix:
    """Return feasible α in units of C/16, one row a state, reached from 0 by steps of pairs."""
    units, rows = np.zeros(y.shape), np.arange(len(y))
    for _ in range(8):
        i, j = _pairs(rng, len(y))
        same = y[rows, i] * y[rows, j]
        a_i, a_j = units[rows, i], units[rows, j]
        line = a_j + same * a_i  # what the step keeps; L and H as in eq-smo-bounds
        L = np.maximum(0.0, line - np.where(same > 0, UNITS, 0))
        H = np.minimum(UNITS, line + np.where(same > 0, 0, UNITS))
        share = rng.choice([0.0, 1.0] if corners else [0.0, 0.3, 0.7, 1.0], len(y))
        units[rows, j] = np.round(L + share * (H - L))
        units[rows, i] = a_i + same * (a_j - units[rows, j])
    return units


class Move(NamedTuple):
    """A step of SMO that was taken: α before and after, the errors before, and what b may be."""

    state: State
    alpha: Vector
    E_i: float
    E_j: float
    b1: float
    b2: float
    free_i: bool
    free_j: bool


def draw_moves(rng: np.random.Generator, kinds: Mapping[str, int]) -> list[Move]:
    """Draw steps, so many of each kind: "both", "i", "j" or "none" of the pair free after it."""
    wanted, moves = dict(kinds), []
    while any(wanted.values()):
        for state in draw_states(rng, 100):
            if not any(wanted.values()):
                break
            if (move := take(state)) is None:
                continue
            kind = {(1, 1): "both", (1, 0): "i", (0, 1): "j"}.get(
                (move.free_i, move.free_j), "none"
            )
            if wanted.get(kind, 0) > 0:
                wanted[kind] -= 1
                moves.append(move)
    return moves


def take(state: State) -> Move | None:
    """Take the step of a state; None where nothing moves or an α ends near a bound, not on it."""
    K, y, C, alpha, b, i, j = state
    L, H = state.ends()
    E_i, E_j = state.error(i), state.error(j)
    alpha_j = lecture.new_alpha_j(alpha[j], y[j], E_i, E_j, lecture.eta(i, j, K), L, H)
    if abs(alpha_j - alpha[j]) < 1e-2 * C:
        return None
    new = alpha.copy()
    new[j] = alpha_j
    new[i] = lecture.new_alpha_i(alpha[i], alpha[j], alpha_j, y[i], y[j])
    for bound in (0.0, C):
        new[[i, j]] = np.where(np.abs(new[[i, j]] - bound) < 1e-9 * C, bound, new[[i, j]])
    free = (new > 0.0) & (new < C)
    near = (new < 1e-3 * C) | (new > (1.0 - 1e-3) * C)
    if np.any(free & near):
        return None
    move_i, move_j = y[i] * (new[i] - alpha[i]), y[j] * (new[j] - alpha[j])
    b1 = b - E_i - move_i * K[i, i] - move_j * K[i, j]
    b2 = b - E_j - move_i * K[i, j] - move_j * K[j, j]
    return Move(state, new, E_i, E_j, float(b1), float(b2), bool(free[i]), bool(free[j]))


def linear_problem(seed: int) -> Problem:
    """Return overlapping clouds in 12 dimensions, of unequal size and off the origin (C = 1)."""
    rng = np.random.default_rng(seed)
    n, d = 32, 12
    y = np.where(np.arange(n) < 11, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 0.25 * y[:, None] + 0.5 * rng.normal(size=d)
    return Problem(X @ X.T, y, 1.0)


def gaussian_problem(seed: int, C: float | None = None, n: int = 28) -> Problem:
    """Return noisy rings with a scaled Gaussian kernel; C is 1 or 5 by the seed, if not given."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < round(0.4 * n), 1.0, -1.0)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = np.where(y > 0, 0.5, 1.0)[:, None]
    X = radius * np.column_stack((np.cos(angle), np.sin(angle))) + 0.25 * rng.normal(size=(n, 2))
    K = rng.uniform(0.5, 3.0) * gaussian_kernel(X, X, gamma=1.0)
    return Problem(K, y, float(rng.choice([1.0, 5.0])) if C is None else C)


_worked_example = functools.cache(worked_example)  # fractions take their time


def lecture_problem(rng: np.random.Generator) -> tuple[Problem, float, float]:
    """Return the worked example with its rows permuted and its signs perhaps flipped (C15).

    The last two values are its optimum D* = 22/3 and its b = ±9. The solution is the same for every
    C from 22/3 on.
    """
    example = _worked_example()
    order, sign = rng.permutation(len(example.y)), float(rng.choice([-1.0, 1.0]))
    K = np.ascontiguousarray(example.K[np.ix_(order, order)])
    problem = Problem(K, sign * example.y[order], float(rng.choice([10.0, 100.0])))
    return problem, float(example.solution.dual), sign * float(example.solution.b)


def measure(
    problem: Problem, alpha: Vector, b: float, optimum: float, multiplier: float = 0.0
) -> dict[str, float]:
    """Return the four quantities by which an answer is judged; 0 at the optimum.

    Where the b of the optimum is known, give it as ``multiplier``: D(α) − b Σ αy ≤ D* in the whole
    box, so that a sum which drifted a little, as ``eq`` allows, is not counted again in ``relD``.

    ``kkt`` counts α within 10⁻⁴ C of a bound as on it: a left-over of 10⁻⁵ on a point far outside
    the street would otherwise read as a large violation.
    """
    K, y, C = problem
    margins = y * (K @ (alpha * y) + b)
    value = dual_objective(alpha, K, y) - multiplier * float(alpha @ y)
    return {
        "box": box_violation(alpha, C) / C,
        "eq": equality_violation(alpha, y) / C,
        "relD": (optimum - value) / abs(optimum),
        "kkt": float(margin_violations(margins, alpha, C, at_bound=1e-4).max()),
    }


def screen(
    pool: str, seed: int, reference: Mapping[str, Callable[..., Any]]
) -> dict[str, float] | None:
    """Return the optimum of a candidate, or None where correct code might fail or faults not show.

    The reference must stay within half of each limit for ten generators.
    """
    if pool == "smo-costs":
        return _screen_costs(seed, reference)
    problem = linear_problem(seed) if pool == "smo-linear" else gaussian_problem(seed)
    best = lecture.solve_dual(*problem, tol=1e-8)
    above_one = best.alpha.max() > 1.5 or problem.C == 1.0  # else C = 1 in its place would not show
    at_bound = np.any(best.alpha == problem.C) or problem.C > 1.0
    if abs(best.b) < 0.2 or not above_one or not at_bound:
        return None
    if not _solves(problem, best.bound, reference, tuple(LIMITS)):
        return None
    return {"optimum": best.bound}


def _screen_costs(
    seed: int, reference: Mapping[str, Callable[..., Any]]
) -> dict[str, float] | None:
    """Screen one problem for three C, by all but the KKT conditions: b may be off for a small C."""
    optima = {}
    for C in COSTS:
        problem = gaussian_problem(seed, C, n=20)
        best = lecture.solve_dual(*problem, tol=1e-8)
        if not _solves(problem, best.bound, reference, ("box", "eq", "relD")):
            return None
        optima[f"optimum_{C:g}"] = best.bound
    return optima


def _solves(
    problem: Problem,
    optimum: float,
    reference: Mapping[str, Callable[..., Any]],
    quantities: tuple[str, ...],
) -> bool:
    """Tell whether the reference stays within half of the limits, whatever its generator."""
    K, y, C = problem
    for seed in range(SCREENING_SEEDS):
        rng = np.random.default_rng(seed)
        alpha, b = reference["smo"](K, y, C, TOL, MAX_PASSES, rng, SCREENING_SWEEPS)
        measured = measure(problem, alpha, b, optimum)
        if any(measured[name] > 0.5 * LIMITS[name][0] for name in quantities):
            return False
    return True
