"""Loops of the methods that look at a few rows a step, for dense and sparse rows alike.

Nothing here is checked: the public modules do that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from svmlab._jit import Jitted, jit
from svmlab.types import CSR, Indices, Rows, Vector

PLAIN_BELOW = 100_000  # entries read: fewer take less time than it takes to load compiled code
SMALLEST_SCALE = 1e-9  # below it w = s v loses digits, and at s = 0 there is nothing to divide by


class RowArrays(NamedTuple):
    """Rows that may share their columns: row i holds ``data[starts[i]:starts[i + 1]]``.

    The columns of these entries stand in ``indices`` from ``columns[i]`` on. Dense rows all share
    0, 1, …, d − 1, so that neither form of data is copied.
    """

    data: Vector
    indices: Indices
    starts: Indices
    columns: Indices


def row_arrays(X: Rows) -> RowArrays:
    """Return dense or sparse rows in the one form that the loops read.

    >>> row_arrays(np.array([[1.0, 2.0], [3.0, 4.0]])).starts
    array([0, 2, 4])
    """
    if isinstance(X, CSR):
        return RowArrays(X.data, X.indices, X.indptr, X.indptr[:-1])
    n, d = X.shape
    return RowArrays(X.reshape(-1), np.arange(d), np.arange(n + 1) * d, np.zeros(n, np.int64))


def form_for(loop: Jitted, rows: RowArrays, n_visits: int) -> Callable[..., Any]:
    """Return the loop compiled, or plain where it is to read few rows only.

    >>> form_for(row_dot, row_arrays(np.eye(2)), n_visits=10) is row_dot.plain
    True
    """
    entries = n_visits * len(rows.data) / (len(rows.starts) - 1)
    return loop.plain if entries < PLAIN_BELOW else loop.compiled


@jit()
def row_dot(rows: RowArrays, i: int, v: Vector) -> float:
    """Return x_i · v, touching the entries of the row only."""
    shift = rows.columns[i] - rows.starts[i]
    total = 0.0
    for p in range(rows.starts[i], rows.starts[i + 1]):
        total += rows.data[p] * v[rows.indices[p + shift]]
    return total


@jit()
def row_add(v: Vector, c: float, rows: RowArrays, i: int) -> float:
    """Add c x_i to v in place; return by how much ‖v‖² grew."""
    shift = rows.columns[i] - rows.starts[i]
    growth = 0.0
    for p in range(rows.starts[i], rows.starts[i + 1]):
        j = rows.indices[p + shift]
        change = c * rows.data[p]
        growth += change * (2.0 * v[j] + change)
        v[j] += change
    return growth


@jit()
def decayed_steps(
    v: Vector,
    alpha: Vector,
    s: float,
    rows: RowArrays,
    y: Vector,
    share: Vector,
    batches: Indices,
    rates: Vector,
    lam: float,
    radius: float,
) -> float:
    """Take one step (eq-pegasos-update) a row of ``batches`` on w = s v, in place; return s.

    The gradient of row i counts ``share[i]`` times. ``alpha`` follows: w = s Σ alpha_i y_i x_i.
    Weights longer than ``radius`` are shortened to it.
    """
    k = batches.shape[1]
    squared_norm = (v * v).sum()
    violated = np.empty(k, np.bool_)
    for t in range(len(rates)):
        for j in range(k):
            i = batches[t, j]
            violated[j] = y[i] * s * row_dot(rows, i, v) < 1.0

        s *= 1.0 - rates[t] * lam  # the decay comes first, the gradient is not to shrink with it
        if abs(s) < SMALLEST_SCALE:
            v *= s
            alpha *= s
            squared_norm *= s * s
            s = 1.0

        gain = rates[t] / (k * s)  # v grows by 1/s times what w = s v is to grow by
        for j in range(k):
            if violated[j]:
                i = batches[t, j]
                squared_norm += row_add(v, gain * share[i] * y[i], rows, i)
                alpha[i] += gain * share[i]
        if s * s * squared_norm > radius * radius:  # (eq-pegasos-projection)
            s *= radius / (abs(s) * np.sqrt(squared_norm))
    return s


@jit()
def accumulator_steps(
    theta: Vector,
    credit: Vector,
    counts: Vector,
    rows: RowArrays,
    y: Vector,
    share: Vector,
    draws: Indices,
    lam: float,
) -> float:
    """Run eq-soft-svm-sgd from θ = 0, in place; return H = 1 + 1/2 + … + 1/(T − 1).

    A row that enters θ after step t stays in w_{t+1}, …, w_{T−1}, in total H_{T−1} − H_t times its
    share of 1/λ. ``credit`` collects H_t times the row, so that H θ − credit sums the iterates.
    """
    harmonic = 0.0
    for t in range(len(draws)):
        i = draws[t]
        f = 0.0  # w_0 is 0, not 0/0
        if t > 0:
            harmonic += 1.0 / t
            f = row_dot(rows, i, theta) / (lam * t)
        if y[i] * f < 1.0:
            row_add(theta, share[i] * y[i], rows, i)
            row_add(credit, share[i] * y[i] * harmonic, rows, i)
            counts[i] += share[i]
    return harmonic


@jit()
def perceptron_pass(w: Vector, rows: RowArrays, y: Vector, order: Indices, rates: Vector) -> int:
    """Apply eq-perceptron to the rows in the given order, in place; return the mistakes."""
    mistakes = 0
    for t in range(len(order)):
        i = order[t]
        if y[i] * row_dot(rows, i, w) <= 0.0:
            row_add(w, rates[t] * y[i], rows, i)
            mistakes += 1
    return mistakes
