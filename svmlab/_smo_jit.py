"""The inner loop of SMO: select a pair, move it, repeat.

Variable k has sign y[k], box [0, C[k]] and row k of the Gram matrix. r[k] is the intercept that
would put k on its margin (eq-residual).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmlab._jit import jit

MIN_CURVATURE = 1e-12
ALL_BUT_SIGN = 2**63 - 1
PLAIN_SIZE = 200  # variables: with more, a compiled step is worth the wait for the compiler
STEP_OVERHEAD = 1000  # a step in plain Python costs as much as so many entries of a row
PLAIN_WORK = 20_000_000  # entries, about a second


def loop_for(n_iter: int, n: int) -> Callable[..., Any]:
    """Return :func:`minimise` for a run of n variables that has taken n_iter steps so far.

    Small problems end in plain Python, before a compiler would be ready.

    >>> loop_for(0, 100) is minimise.plain, loop_for(10**6, 100) is minimise.compiled
    (True, True)
    """
    plain = n <= PLAIN_SIZE and n_iter * (n + STEP_OVERHEAD) < PLAIN_WORK
    return minimise.plain if plain else minimise.compiled


@jit()
def minimise(K, y, C, alpha, r, tol, max_iter):  # type: ignore[no-untyped-def]
    """Move pairs until the violation is at most tol; alpha and r change in place.

    Returns the number of steps and the violation by which the loop stopped.
    """
    diagonal = np.diag(K).copy()
    up = np.where(np.where(y > 0, alpha < C, alpha > 0), 0.0, np.inf)  # ∞ is a wall: not in I_up
    low = np.where(np.where(y > 0, alpha > 0, alpha < C), 0.0, np.inf)
    n_iter, work = 0, np.empty((2, r.size))
    while True:
        i, j, violation = select_pair(r, up, low, K, diagonal, work)
        if violation <= tol or n_iter >= max_iter:
            break
        if not take_step(alpha, r, K, y, C, i, j):
            break  # the step is lost in rounding: float64 can do no better
        for k in (i, j):
            not_full, not_empty = alpha[k] < C[k], alpha[k] > 0
            up[k] = 0.0 if (not_full if y[k] > 0 else not_empty) else np.inf
            low[k] = 0.0 if (not_empty if y[k] > 0 else not_full) else np.inf
        n_iter += 1
    return n_iter, violation


@jit()
def select_pair(r, up, low, K, diagonal, work):  # type: ignore[no-untyped-def]
    r"""Return i with the largest r in I_up, the j in I_low that gains most, and the violation (B4).

    .. math:: j = \arg\max_{j \in I_{\text{low}},\ r_j < r_i}
        \frac{(r_i - r_j)^2}{K_{ii} + K_{jj} - 2K_{ij}}  \tag{eq-smo-gain}
    """
    i = highest(r, up, work[0])
    top = r[i] - up[i]
    j, violation = best_partner(top, r, low, K[i], diagonal[i], diagonal, work)
    return i, j, violation


# What runs over all variables is written for the compiler, which makes vector instructions of it,
# and once more in numpy for plain Python. Both do the same to the last bit.
@jit()
def highest(r, up, height):  # type: ignore[no-untyped-def]
    """Return the first index of the largest r − up, which are written to ``height``."""
    for k in range(r.size):
        height[k] = r[k] - up[k] + 0.0  # no −0, whose bits are less than those of 0
    return first_largest(height)


@jit()
def best_partner(top, r, low, row, own, diagonal, work):  # type: ignore[no-untyped-def]
    """Return the first index of the largest gain (eq-smo-gain), and the largest top − r.

    Both are written to ``work``: to ask for memory in each step would take longer.
    """
    lift, gain = work[0], work[1]
    for k in range(r.size):
        lift[k] = max(top - (r[k] + low[k]), 0.0)
        gain[k] = lift[k] * lift[k] / max(own + diagonal[k] - 2.0 * row[k], MIN_CURVATURE)
    return first_largest(gain), largest(lift)


@jit()
def first_largest(values):  # type: ignore[no-untyped-def]
    """Return the first index of the largest value, none of which is nan.

    The compiler has vector instructions for the maximum of integers only. The bits of floats, read
    as integers, are in the same order, if in negative ones all but the sign are turned over.
    """
    n, bits = values.size, values.view(np.int64)
    top = bits[0] ^ ((bits[0] >> 63) & ALL_BUT_SIGN)
    for k in range(n):
        top = max(top, bits[k] ^ ((bits[k] >> 63) & ALL_BUT_SIGN))
    place = n
    for k in range(n):
        place = min(place, k if bits[k] ^ ((bits[k] >> 63) & ALL_BUT_SIGN) == top else n)
    return place


@jit()
def largest(values):  # type: ignore[no-untyped-def]
    """Return the largest value, none of which is below 0: their bits are in the same order."""
    bits, top = values.view(np.int64), 0
    for k in range(values.size):
        top = max(top, bits[k])
    return np.int64(top).view(np.float64)


def _best_partner_in_numpy(top, r, low, row, own, diagonal, work):  # type: ignore[no-untyped-def]
    lift = np.maximum(top - (r + low), 0.0)
    gain = lift * lift / np.maximum(own + diagonal - 2.0 * row, MIN_CURVATURE)
    return gain.argmax(), lift.max()


@jit()
def shift(r, t, row_i, row_j):  # type: ignore[no-untyped-def]
    """Bring the residuals up to date after a step, in place (eq-smo-residual)."""
    for k in range(r.size):
        r[k] -= t * (row_i[k] - row_j[k])


def _shift_in_numpy(r, t, row_i, row_j):  # type: ignore[no-untyped-def]
    r -= t * (row_i - row_j)


shift.plain = _shift_in_numpy
highest.plain = lambda r, up, height: (r - up).argmax()
best_partner.plain = _best_partner_in_numpy
first_largest.plain = np.argmax


@jit()
def take_step(alpha, r, K, y, C, i, j):  # type: ignore[no-untyped-def]
    r"""Maximise the dual along a line that keeps Σ αy, inside the box; tell if alpha moved (B5-B7).

    .. math:: \alpha(t) = \alpha + t\,(y_i e_i - y_j e_j)  \tag{eq-smo-direction}
    .. math:: t = \frac{r_i - r_j}{K_{ii} + K_{jj} - 2K_{ij}}  \tag{eq-smo-step}
    .. math:: r_k \leftarrow r_k - t\,(K_{ki} - K_{kj})  \tag{eq-smo-residual}
    """
    curvature = K[i, i] + K[j, j] - 2.0 * K[i, j]
    room_i = C[i] - alpha[i] if y[i] > 0 else alpha[i]
    room_j = alpha[j] if y[j] > 0 else C[j] - alpha[j]
    # (eq-smo-step), cut down to the room in the box
    t = min((r[i] - r[j]) / max(curvature, MIN_CURVATURE), room_i, room_j)

    before_i, before_j = alpha[i], alpha[j]
    alpha[i] += y[i] * t
    alpha[j] -= y[j] * t
    if t == room_i:  # land on the bound itself, not one rounding error away
        alpha[i] = C[i] if y[i] > 0 else 0.0
    if t == room_j:
        alpha[j] = 0.0 if y[j] > 0 else C[j]
    shift(r, t, K[i], K[j])
    return alpha[i] != before_i or alpha[j] != before_j
