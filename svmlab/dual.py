"""The dual problem: Lagrangian, dual objective, and the way back from α to w and b.

Written for one cost Cᵢ an example; the hard margin is C = ∞.
"""

from __future__ import annotations

import numpy as np

from svmlab.margins import functional_margins
from svmlab.rows import transposed_times
from svmlab.types import Mask, Matrix, Rows, Vector


def lagrangian(w: Vector, b: float, alpha: Vector, X: Rows, y: Vector) -> float:
    r"""Return the Lagrangian of the hard-margin problem (C8, C10, G4, B1).

    .. math:: L(w, b, \alpha) = \tfrac12\|w\|^2 + \sum_i \alpha_i [1 - y_i(w \cdot x_i + b)]
        \tag{eq-lagrangian}

    Its maximum over α ≥ 0 is ½‖w‖² where all constraints hold and +∞ elsewhere; its minimum over
    (w, b) is the dual objective.

    >>> lagrangian(np.array([1.0]), 0.0, np.array([2.0]), np.array([[0.5]]), np.array([1.0]))
    1.5
    """
    return float(0.5 * w @ w + alpha @ (1.0 - functional_margins(X, y, w, b)))


def weights_from_alpha(alpha: Vector, X: Rows, y: Vector) -> Vector:
    r"""Return the weights that minimise the Lagrangian for given α (C8, C10, G4, B1).

    .. math:: w = \sum_i \alpha_i y_i x_i  \tag{eq-weights}

    >>> weights_from_alpha(np.array([2.0, 1.0]), np.array([[1.0], [3.0]]), np.array([1.0, -1.0]))
    array([-1.])
    """
    return transposed_times(X, alpha * y)


def dual_objective(alpha: Vector, K: Matrix, y: Vector) -> float:
    r"""Return the dual objective, a lower bound on the primal for every feasible α (C20, G4, B1).

    .. math:: D(\alpha) = \sum_i \alpha_i - \tfrac12 \sum_{i,j} \alpha_i\alpha_j y_i y_j K_{ij}
        \tag{eq-dual}

    >>> dual_objective(np.array([1.0, 1.0]), np.eye(2), np.array([1.0, -1.0]))
    1.0
    """
    signed = alpha * y
    return float(alpha.sum() - 0.5 * signed @ K @ signed)


def residuals(alpha: Vector, K: Matrix, y: Vector) -> Vector:
    r"""Return for each example the intercept that would put it on its margin (B3, B6).

    .. math:: r_i = y_i - \sum_j \alpha_j y_j K_{ij}  \tag{eq-residual}

    >>> residuals(np.zeros(2), np.eye(2), np.array([1.0, -1.0]))
    array([ 1., -1.])
    """
    return y - K @ (alpha * y)


def movable(alpha: Vector, y: Vector, C: float | Vector) -> tuple[Mask, Mask]:
    r"""Return which αᵢyᵢ may still rise, and which may fall, inside the box (B3, B5).

    .. math::
        I_{\text{up}} &= \{\alpha_i < C, y_i = 1\} \cup \{\alpha_i > 0, y_i = -1\}\\
        I_{\text{low}} &= \{\alpha_i > 0, y_i = 1\} \cup \{\alpha_i < C, y_i = -1\}
        \tag{eq-up-low}

    >>> movable(np.array([0.0, 2.0]), np.array([1.0, 1.0]), 2.0)
    (array([ True, False]), array([False,  True]))
    """
    positive, not_full, not_empty = y > 0, alpha < C, alpha > 0
    up = np.where(positive, not_full, not_empty)
    low = np.where(positive, not_empty, not_full)
    return up, low


def intercept_interval(r: Vector, up: Mask, low: Mask) -> tuple[float, float]:
    r"""Return the ends of the interval of b; if in order, every b between is optimal (B3).

    .. math:: \max_{I_{\text{up}}} r_i \le b \le \min_{I_{\text{low}}} r_i
        \tag{eq-intercept-interval}

    >>> intercept_interval(np.array([1.0, -1.0]), np.array([True, False]), np.array([False, True]))
    (1.0, -1.0)
    """
    return float(np.where(up, r, -np.inf).max()), float(np.where(low, r, np.inf).min())


def intercept(r: Vector, alpha: Vector, C: float | Vector, up: Mask, low: Mask) -> float:
    r"""Return b: the mean over free support vectors, else the middle of its interval (B1, B8).

    .. math:: b = \frac{1}{|F|} \sum_{i \in F} r_i,\qquad F = \{0 < \alpha_i < C\}
        \tag{eq-intercept}

    >>> r, up, low = np.array([3.0, 1.0]), np.array([False, True]), np.array([True, False])
    >>> intercept(r, np.array([1.0, 0.0]), 1.0, up, low)
    2.0
    """
    free = (alpha > 0) & (alpha < C)
    if free.any():
        return float(r[free].mean())
    highest, lowest = intercept_interval(r, up, low)
    if np.isinf(highest) or np.isinf(lowest):
        return highest if np.isinf(lowest) else lowest
    return 0.5 * (highest + lowest)
