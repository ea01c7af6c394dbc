"""The loops of dual coordinate descent, for dense and sparse rows alike.

Nothing here is checked: :mod:`svmlab.coordinate` does that.
"""

from __future__ import annotations

from typing import NamedTuple

from svmlab._jit import jit
from svmlab.rows import RowArrays, row_add, row_dot
from svmlab.types import Indices, Vector

LONGEST_REST = 32  # epochs that a variable at its bound may sleep


class Box(NamedTuple):
    """The dual for one loss: αᵢ ≤ upper, and ridge and curvature of its diagonal."""

    upper: Vector
    ridge: Vector
    curvature: Vector


class Sleep(NamedTuple):
    """Row i sleeps until epoch ``until[i]``, and slept for ``last[i]`` epochs before."""

    until: Indices
    last: Indices


@jit(nogil=True)
def best_alpha(alpha: float, gradient: float, curvature: float, upper: float) -> float:
    r"""Return the αᵢ that maximises the dual when all others stay (C21).

    .. math:: \alpha_i \leftarrow \min(\max(\alpha_i - G_i / Q_{ii},\ 0),\ U_i)
        \tag{eq-dcd-step}

    A row of zeros has no curvature: its αᵢ goes to the bound that its gradient points to.
    """
    if curvature == 0.0:
        return upper if gradient < 0.0 else 0.0
    return min(max(alpha - gradient / curvature, 0.0), upper)


@jit(nogil=True)
def sweep(
    rows: RowArrays,
    y: Vector,
    box: Box,
    order: Indices,
    epoch: int,
    alpha: Vector,
    w: Vector,
    sleep: Sleep,
) -> float:
    """Visit the rows in the given order; return the largest projected gradient met.

    ``alpha`` and ``w`` are updated in place. A variable that stays at its bound sleeps 1, 2, 4,
    …, 32 epochs; one that moves is awake again. In the first epoch w still changes too much for
    anybody to sleep.
    """
    largest = 0.0
    for i in order:
        gradient = y[i] * row_dot(rows, i, w) - 1.0 + box.ridge[i] * alpha[i]
        new = best_alpha(alpha[i], gradient, box.curvature[i], box.upper[i])
        if new != alpha[i]:
            row_add(w, (new - alpha[i]) * y[i], rows, i)  # keeps w = Σ αyx (eq-weights)
            alpha[i] = new
            sleep.last[i] = 0
            largest = max(largest, abs(gradient))  # it had room to move: nothing is projected away
        elif epoch > 0 and (new == 0.0 or new == box.upper[i]):
            sleep.last[i] = min(max(2 * sleep.last[i], 1), LONGEST_REST)
            sleep.until[i] = epoch + 1 + sleep.last[i]
    return largest
