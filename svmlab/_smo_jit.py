"""The inner loop of SMO: select a pair, move it, repeat.

Variable k has sign y[k], box [0, C[k]] and the row ``rows[k]`` of the Gram matrix, so that the two
multipliers of a regression example can share a row. r[k] is the intercept that would put k on its
margin (eq-residual).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmlab._jit import jit

MIN_CURVATURE = 1e-12
STEP_OVERHEAD = 1000  # a step in plain Python costs as much as so many entries of a row
PLAIN_WORK = 20_000_000  # entries, about a second: before that compiling does not pay


def loop_for(n_iter: int, n: int) -> Callable[..., Any]:
    """Return :func:`minimise` for a run of n variables that has taken n_iter steps so far.

    Small problems end in plain Python, before a compiler would be ready.

    >>> loop_for(0, 100) is minimise.plain, loop_for(10**6, 100) is minimise.compiled
    (True, True)
    """
    plain = n_iter * (n + STEP_OVERHEAD) < PLAIN_WORK
    return minimise.plain if plain else minimise.compiled


@jit()
def minimise(K, rows, y, C, alpha, r, tol, max_iter):  # type: ignore[no-untyped-def]
    """Move pairs until the violation is at most tol; alpha and r change in place.

    Returns the number of steps and the violation by which the loop stopped.
    """
    diagonal = np.diag(K)[rows]
    up = np.where(y > 0, alpha < C, alpha > 0)
    low = np.where(y > 0, alpha > 0, alpha < C)
    n_iter = 0
    while True:
        i, j, violation = select_pair(r, up, low, K, rows, diagonal)
        if violation <= tol or n_iter >= max_iter:
            break
        if not take_step(alpha, r, K, rows, y, C, i, j):
            break  # the step is lost in rounding: float64 can do no better
        for k in (i, j):
            up[k] = alpha[k] < C[k] if y[k] > 0 else alpha[k] > 0
            low[k] = alpha[k] > 0 if y[k] > 0 else alpha[k] < C[k]
        n_iter += 1
    return n_iter, violation


@jit()
def select_pair(r, up, low, K, rows, diagonal):  # type: ignore[no-untyped-def]
    r"""Return i with the largest r in I_up, the j in I_low that gains most, and the violation (B4).

    .. math:: j = \arg\max_{j \in I_{low},\ r_j < r_i}
        \frac{(r_i - r_j)^2}{K_{ii} + K_{jj} - 2K_{ij}}  \tag{eq-smo-gain}
    """
    if not up.any() or not low.any():
        return 0, 0, -np.inf
    i = np.argmax(np.where(up, r, -np.inf))
    lift = np.where(low, r[i] - r, -np.inf)
    violation = lift.max()
    lift = np.maximum(lift, 0.0)
    curvature = np.maximum(diagonal[i] + diagonal - 2.0 * K[rows[i]][rows], MIN_CURVATURE)
    j = np.argmax(lift * lift / curvature)
    return i, j, violation


@jit()
def take_step(alpha, r, K, rows, y, C, i, j):  # type: ignore[no-untyped-def]
    r"""Maximise the dual along a line that keeps Σ αy, inside the box; tell if alpha moved (B5-B7).

    .. math:: \alpha(t) = \alpha + t\,(y_i e_i - y_j e_j)  \tag{eq-smo-direction}
    .. math:: t = \frac{r_i - r_j}{K_{ii} + K_{jj} - 2K_{ij}}  \tag{eq-smo-step}
    .. math:: r_k \leftarrow r_k - t\,(K_{ki} - K_{kj})  \tag{eq-smo-residual}
    """
    row_i, row_j = K[rows[i]], K[rows[j]]
    curvature = row_i[rows[i]] + row_j[rows[j]] - 2.0 * row_i[rows[j]]
    room_i = C[i] - alpha[i] if y[i] > 0 else alpha[i]
    room_j = alpha[j] if y[j] > 0 else C[j] - alpha[j]
    t = min((r[i] - r[j]) / max(curvature, MIN_CURVATURE), room_i, room_j)  # (eq-smo-step)

    before_i, before_j = alpha[i], alpha[j]
    alpha[i] += y[i] * t
    alpha[j] -= y[j] * t
    if t == room_i:  # land on the bound itself, not one rounding error away
        alpha[i] = C[i] if y[i] > 0 else 0.0
    if t == room_j:
        alpha[j] = 0.0 if y[j] > 0 else C[j]
    r -= t * (row_i - row_j)[rows]  # (eq-smo-residual)
    return alpha[i] != before_i or alpha[j] != before_j
