"""Loops of the methods that look at a few rows a step, for dense and sparse rows alike.

Nothing here is checked: the public modules do that.
"""

from __future__ import annotations

import numpy as np

from svmlab._jit import jit
from svmlab.rows import RowArrays, row_add, row_dot
from svmlab.types import Indices, Vector

SMALLEST_SCALE = 1e-9  # below it w = s v loses digits, and at s = 0 there is nothing to divide by


@jit(nogil=True)
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
    """Take one step (eq-pegasos-update) for each row of ``batches`` on w = s v, in place; return s.

    The gradient of row i counts ``share[i]`` times. ``alpha`` follows: w = s Σ αᵢyᵢxᵢ.
    Weights longer than ``radius`` are shortened to it. For that ‖v‖² is kept: adding c x to v adds
    c (x · v) to it, once with the old v and once with the new one.
    """
    k = batches.shape[1]
    is_bounded = radius < np.inf
    squared_norm = (v * v).sum() if is_bounded else 0.0
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
                c = gain * share[i]
                if is_bounded:
                    squared_norm += c * y[i] * row_dot(rows, i, v)
                row_add(v, c * y[i], rows, i)
                if is_bounded:
                    squared_norm += c * y[i] * row_dot(rows, i, v)
                alpha[i] += c
        if is_bounded and s * s * squared_norm > radius * radius:  # (eq-pegasos-projection)
            s *= radius / (abs(s) * np.sqrt(squared_norm))
    return s


@jit(nogil=True)
def accumulator_steps(
    theta: Vector,
    credit: Vector,
    counts: Vector,
    rows: RowArrays,
    y: Vector,
    share: Vector,
    draws: Indices,
    lam: float,
    first: int,
    harmonic: float,
) -> float:
    """Take the steps t = first, first + 1, … < T of eq-soft-svm-sgd in place; return H_{T−1}.

    H_t = 1 + 1/2 + … + 1/t, and ``harmonic`` is H_{first−1}. A row that enters θ after step t stays
    in w_{t+1}, …, w_{T−1}, in total H_{T−1} − H_t times its share of 1/λ. ``credit`` collects H_t
    times the row, so that H θ − credit sums the iterates.
    """
    for k in range(len(draws)):
        i, t = draws[k], first + k
        f = 0.0  # w_0 is 0, not 0/0
        if t > 0:
            harmonic += 1.0 / t
            f = row_dot(rows, i, theta) / (lam * t)
        if y[i] * f < 1.0:
            row_add(theta, share[i] * y[i], rows, i)
            row_add(credit, share[i] * y[i] * harmonic, rows, i)
            counts[i] += share[i]
    return harmonic


@jit(nogil=True)
def perceptron_pass(w: Vector, rows: RowArrays, y: Vector, order: Indices, rates: Vector) -> int:
    """Apply eq-perceptron to the rows in the given order, in place; return the mistakes."""
    mistakes = 0
    for t in range(len(order)):
        i = order[t]
        if y[i] * row_dot(rows, i, w) <= 0.0:
            row_add(w, rates[t] * y[i], rows, i)
            mistakes += 1
    return mistakes
