"""The objective of a linear SVM, its gradient, and the lectures' other ways to write it.

The course fixes ½‖w‖² + C Σ ξ. Each lecture scales it in its own way; :func:`cost` translates.
"""

from __future__ import annotations

import numpy as np

from svmlab.losses import MARGIN_LOSSES, Loss, hinge_loss, zero_one_loss
from svmlab.margins import functional_margins
from svmlab.rows import transposed_times
from svmlab.types import Rows, Vector
from svmlab.validation import check_choice, check_costs, check_count, check_positive, check_signs

CONVENTIONS = ("half", "whole", "lambda/2", "lambda")


def slack(X: Rows, y: Vector, w: Vector, b: float = 0.0) -> Vector:
    r"""Return the smallest slack that each example needs (S2, C5).

    .. math:: \xi_i = \max(0,\ 1 - y_i(w \cdot x_i + b))  \tag{eq-slack}

    >>> slack(np.array([[2.0], [0.5]]), np.array([1.0, 1.0]), np.array([1.0]))
    array([0. , 0.5])
    """
    return hinge_loss(functional_margins(X, y, w, b))


def primal_objective(
    w: Vector,
    b: float,
    X: Rows,
    y: Vector,
    C: float | Vector = 1.0,
    loss: Loss = MARGIN_LOSSES["hinge"],
) -> float:
    r"""Return the soft-margin objective of the course (S3, C5, C6, M6, M7).

    .. math:: P(w, b) = \tfrac12 \|w\|^2 + \sum_i C_i\, \max(0,\ 1 - y_i(w \cdot x_i + b))
        \tag{eq-primal}

    Parameters
    ----------
    w, b : weights (d,) and intercept
    X : (n, d) rows, dense or CSR
    y : (n,) signs
    C : the cost of slack: one number, or one an example (class and sample weights, S5)
    loss : another loss of the margin in place of the hinge (C16)

    >>> primal_objective(np.array([1.0]), 0.0, np.array([[2.0], [0.5]]), np.array([1.0, 1.0]), 10.0)
    5.5
    """
    costs = check_costs(C, X.shape[0])
    return float(0.5 * w @ w + costs @ loss.value(functional_margins(X, y, w, b)))


def primal_gradient(
    w: Vector,
    b: float,
    X: Rows,
    y: Vector,
    C: float | Vector = 1.0,
    loss: Loss = MARGIN_LOSSES["hinge"],
) -> tuple[Vector, float]:
    r"""Return a subgradient of :func:`primal_objective` in w and in b, at O(nd) cost (C7, M8).

    .. math::
        \nabla_w P = w - \sum_{i:\, m_i < 1} C_i y_i x_i,\qquad
        \nabla_b P = -\sum_{i:\, m_i < 1} C_i y_i  \tag{eq-primal-gradient}

    >>> primal_gradient(np.array([1.0]), 0.0, np.array([[2.0], [0.5]]), np.array([1.0, 1.0]), 10.0)
    (array([-4.]), -10.0)
    """
    costs = check_costs(C, X.shape[0])
    weights = costs * y * loss.slope(functional_margins(X, y, w, b))
    return w + transposed_times(X, weights), float(weights.sum())


def regularized_risk(
    w: Vector, X: Rows, y: Vector, lam: float, sample_weight: Vector | None = None
) -> float:
    r"""Return Pegasos' objective: regulariser plus mean hinge loss, no intercept (S3, S9, G5).

    .. math:: F(w) = \tfrac\lambda2 \|w\|^2 + \frac1n \sum_i \max(0,\ 1 - y_i\, w \cdot x_i)
        \tag{eq-regularized-risk}

    It is :func:`primal_objective` with b = 0 times λ, for λ = 1/(nC). With sample weights the mean
    is the weighted one (S5).

    >>> regularized_risk(np.array([1.0]), np.array([[2.0], [0.5]]), np.array([1.0, 1.0]), lam=0.5)
    0.5
    """
    check_positive(lam=lam)
    return float(0.5 * lam * w @ w + np.average(slack(X, y, w), weights=sample_weight))


def mistakes_objective(w: Vector, b: float, X: Rows, y: Vector, C: float) -> float:
    r"""Return the objective that counts mistakes instead of summing slack (C4, M6).

    .. math:: \tfrac12 \|w\|^2 + C\, \#\{i : y_i(w \cdot x_i + b) \le 0\}  \tag{eq-mistakes}

    C → ∞ tolerates no mistake; C = 0 ignores the data, and w = 0 is optimal.

    >>> mistakes_objective(np.array([1.0]), 0.0, np.array([[2.0], [-0.5]]), np.ones(2), 10.0)
    10.5
    """
    return float(0.5 * w @ w + C * zero_one_loss(functional_margins(X, y, w, b)).sum())


def lam_from_C(C: float, n: int) -> float:
    r"""Return the λ of S9 and G5 that has the same minimiser as C (S9).

    .. math:: \lambda = \frac{1}{nC}  \tag{eq-lambda}

    >>> lam_from_C(0.5, 100)
    0.02
    """
    return convention_parameter(C, n, "lambda/2")


def cost(parameter: float, n: int, convention: str) -> float:
    r"""Return the course's C for the parameter of another convention (S1, S7, S9, C6, G1, G3, G5).

    =============  ==============================  ==========  ==================
    convention     objective                       lectures    C of the course
    =============  ==============================  ==========  ==================
    ``half``       ½‖w‖² + C Σ ξ                   C5 M6 S5    C
    ``whole``      ‖w‖² + C Σ ξ                    S1 S7 G1    C / 2
    ``lambda/2``   λ/2 ‖w‖² + mean ξ               S9 G5       1 / (n λ)
    ``lambda``     λ ‖w‖² + mean ξ                 G3          1 / (2 n λ)
    =============  ==============================  ==========  ==================

    Each objective is a positive multiple of the course's, so the minimisers are the same.

    >>> cost(4.0, 100, "whole"), cost(0.02, 100, "lambda/2"), cost(0.01, 100, "lambda")
    (2.0, 0.5, 0.5)
    """
    check_choice(convention, CONVENTIONS, "convention")
    check_count(n=n)
    check_positive(parameter=parameter)
    if convention in ("half", "whole"):
        return parameter if convention == "half" else parameter / 2.0
    return 1.0 / (n * parameter * (1.0 if convention == "lambda/2" else 2.0))


def convention_parameter(C: float, n: int, convention: str) -> float:
    """Return the parameter of another convention for the course's C; the inverse of :func:`cost`.

    >>> convention_parameter(0.5, 100, "lambda/2")
    0.02
    """
    check_positive(C=C)
    if convention == "whole":
        return 2.0 * C
    return cost(C, n, convention)  # the three others are their own inverses


def balanced_costs(y: Vector, C: float) -> Vector:
    r"""Return the cost of each example when both classes weigh the same in total (S5).

    .. math:: C_i = C / N_{y_i}  \tag{eq-balanced}

    This is scikit-learn's ``class_weight="balanced"`` with 2C/n for C.

    >>> balanced_costs(np.array([1.0, 1.0, 1.0, -1.0]), 6.0)
    array([2., 2., 2., 6.])
    """
    y = check_signs(y, np.size(y))
    check_positive(C=C)
    return np.where(y > 0, C / np.sum(y > 0), C / np.sum(y < 0))
