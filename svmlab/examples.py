"""The lecture's worked example (C15), solved exactly in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations

import numpy as np

from svmlab.types import Matrix, Vector

POINTS = (1, 2, 4, 5, 6)
SIGNS = (1, 1, -1, -1, 1)


@dataclass(frozen=True)
class ExactSolution:
    """A hard-margin kernel machine in exact numbers."""

    alpha: tuple[Fraction, ...]
    b: Fraction
    dual: Fraction
    margins: tuple[Fraction, ...]

    @property
    def smallest_C(self) -> Fraction:
        """The soft margin has the same solution for every C from here on."""
        return max(self.alpha)


@dataclass(frozen=True)
class WorkedExample:
    """Five points on a line, the kernel (xz + 1)², and the exact solution (C15)."""

    X: Matrix
    y: Vector
    K: Matrix
    solution: ExactSolution
    polynomial: tuple[Fraction, Fraction, Fraction]

    def f(self, z: Fraction | float) -> Fraction | float:
        """Return the decision function at z."""
        a2, a1, a0 = self.polynomial
        return (a2 * z + a1) * z + a0


def worked_example() -> WorkedExample:
    r"""Solve the lecture's example of five points on a line exactly (C15).

    .. math:: f(z) = \sum_i \alpha_i y_i (x_i z + 1)^2 + b = \tfrac23 z^2 - \tfrac{16}3 z + 9
        \tag{eq-worked-example}

    >>> example = worked_example()
    >>> [str(a) for a in example.solution.alpha], str(example.solution.b)
    (['0', '5/2', '0', '22/3', '29/6'], '9')
    >>> [str(a) for a in example.polynomial], str(example.solution.smallest_C)
    (['2/3', '-16/3', '9'], '22/3')
    """
    K = [[(x * z + 1) ** 2 for z in POINTS] for x in POINTS]
    solution = solve_exactly(K, SIGNS)
    weights = [a * y for a, y in zip(solution.alpha, SIGNS, strict=True)]
    a2 = sum((c * x * x for c, x in zip(weights, POINTS, strict=True)), Fraction(0))
    a1 = sum((2 * c * x for c, x in zip(weights, POINTS, strict=True)), Fraction(0))
    return WorkedExample(
        X=np.array(POINTS, dtype=np.float64)[:, None],
        y=np.array(SIGNS, dtype=np.float64),
        K=np.array(K, dtype=np.float64),
        solution=solution,
        polynomial=(a2, a1, sum(weights, Fraction(0)) + solution.b),
    )


def solve_exactly(K: Sequence[Sequence[int]], y: Sequence[int]) -> ExactSolution:
    r"""Solve a small hard-margin dual in fractions, trying every set of support vectors (C8, C15).

    For the right set S the KKT conditions are the linear equations

    .. math:: \sum_{j \in S} \alpha_j y_j K_{ij} + b = y_i\ (i \in S),\qquad
        \sum_{j \in S} \alpha_j y_j = 0  \tag{eq-kkt-system}

    with α > 0 on S and margins of at least 1 elsewhere, which proves that the set is right.

    >>> solve_exactly([[4, -2], [-2, 1]], [1, -1]).alpha
    (Fraction(2, 9), Fraction(2, 9))
    """
    n = len(y)
    for support in chain.from_iterable(combinations(range(n), size) for size in range(2, n + 1)):
        system = [[Fraction(K[i][j] * y[j]) for j in support] + [Fraction(1)] for i in support]
        system.append([Fraction(y[j]) for j in support] + [Fraction(0)])
        unknowns = _solve_linear(system, [Fraction(y[i]) for i in support] + [Fraction(0)])
        if unknowns is None or min(unknowns[:-1]) <= 0:
            continue
        alpha = [Fraction(0)] * n
        for i, value in zip(support, unknowns, strict=False):
            alpha[i] = value
        b = unknowns[-1]
        f = [sum((alpha[j] * y[j] * K[i][j] for j in support), b) for i in range(n)]
        margins = tuple(y[i] * f[i] for i in range(n))
        if min(margins) >= 1:
            dual = sum(alpha) - sum(alpha[i] * (margins[i] - y[i] * b) for i in support) / 2
            return ExactSolution(tuple(alpha), b, Fraction(dual), margins)
    raise ValueError(
        "K and y are not separable: no set of support vectors satisfies the KKT system"
    )


def _solve_linear(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction] | None:
    """Solve A x = b by elimination, or return None if A is singular."""
    rows = [[*row, value] for row, value in zip(A, b, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(n):
            if i != k:
                factor = rows[i][k]
                rows[i] = [a - factor * p for a, p in zip(rows[i], rows[k], strict=True)]
    return [row[n] for row in rows]
