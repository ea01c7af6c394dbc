"""Logistic regression on the SVM's objective, linear and kernel, by Newton's method (C17).

The two Newton loops take any loss that is smooth in f (:mod:`svmlab.regression` uses them too) and
halve each step until the objective falls.
"""

from __future__ import annotations

import numpy as np

from svmlab.losses import MARGIN_LOSSES, logistic_loss, logistic_slope
from svmlab.newton import SmoothLoss, newton_kernel, newton_rows
from svmlab.primal import primal_objective
from svmlab.rows import times, transposed_times, with_bias_column
from svmlab.types import DualResult, Matrix, PrimalResult, Rows, Vector, warn_not_converged
from svmlab.validation import (
    check_costs,
    check_count,
    check_gram,
    check_nonnegative,
    check_positive,
    check_rows,
    check_signs,
)

MEASURE = "stationarity violation"
ADVICE = "raise max_iter, scale the data or lower C"


def sigmoid(f: Vector) -> Vector:
    r"""Return the probability of class +1 that logistic regression reads from f(x) (C17).

    .. math:: P(y = +1 \mid x) = \frac{1}{1 + e^{-f(x)}}  \tag{eq-sigmoid}

    >>> sigmoid(np.array([0.0, 1000.0]))
    array([0.5, 1. ])
    """
    return -logistic_slope(-f)


def logistic_regression(
    X: Rows,
    y: Vector,
    C: float | Vector = 1.0,
    *,
    intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> PrimalResult:
    r"""Minimise the SVM's objective with the logistic loss in place of the hinge (C16, C17).

    .. math:: P(w, b) = \tfrac12\|w\|^2 + \sum_i C_i \log(1 + e^{-y_i(w \cdot x_i + b)})
        \tag{eq-logistic-primal}

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    y : (n,) signs
    C : cost of the loss: one number, or one an example
    intercept : whether there is a b, which is not penalised
    tol : largest entry of the gradient, relative to the largest that the loss alone can have
    max_iter : Newton steps

    Returns
    -------
    PrimalResult
        ``alpha`` holds the multipliers of eq-logistic-stationarity, ``bound`` their dual value.

    >>> machine = logistic_regression(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), tol=1e-12)
    >>> w = machine.w[0]
    >>> bool(abs(w - 2.0 / (1.0 + np.exp(w))) < 1e-10), bool(abs(machine.b) < 1e-10)
    (True, True)
    """
    X = check_rows(X)
    n, d = X.shape
    y, costs = _check_problem(y, C, n, intercept, tol, max_iter)
    rows = with_bias_column(X) if intercept else X
    penalty = np.where(np.arange(rows.shape[1]) < d, 1.0, 0.0)
    loss = _weighted_logistic(y, costs)
    run = newton_rows(rows, penalty, loss, costs, tol=tol, max_iter=max_iter)
    if run.violation > tol:
        warn_not_converged("logistic_regression", MEASURE, run.violation, tol, ADVICE)
    w, b = run.weights[:d], float(run.weights[d:].sum())
    alpha = _feasible(costs * sigmoid(-y * times(rows, run.weights)), y, costs, intercept)
    weights = transposed_times(X, alpha * y)
    return PrimalResult(
        w=w,
        b=b,
        alpha=alpha,
        objective=primal_objective(w, b, X, y, costs, MARGIN_LOSSES["logistic"]),
        bound=float(weighted_entropy(alpha, costs).sum() - 0.5 * weights @ weights),
        violation=run.violation,
        converged=run.violation <= tol,
        n_iter=run.n_iter,
        history=run.history,
    )


def kernel_logistic_regression(
    K: Matrix,
    y: Vector,
    C: float | Vector = 1.0,
    *,
    intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> DualResult:
    r"""Minimise the logistic objective over f = Σ αⱼyⱼK(xⱼ, ·) + b (C17).

    .. math:: P(\alpha, b) = \tfrac12 \sum_{i,j} \alpha_i\alpha_j y_i y_j K_{ij}
        + \sum_i C_i \log(1 + e^{-y_i f(x_i)})  \tag{eq-kernel-logistic}

    It stops when eq-logistic-stationarity holds to ``tol``, relative to the largest cost.

    Parameters
    ----------
    K : (n, n) Gram matrix
    y, C : (n,) signs, and the cost of the loss: one number, or one an example
    intercept : whether there is a b, which is not penalised; it makes Σ αᵢyᵢ = 0
    tol, max_iter : stopping rule, and Newton steps at most (each solves n equations)

    >>> y = np.array([1.0, -1.0])
    >>> machine = kernel_logistic_regression(np.eye(2), y, tol=1e-12)
    >>> bool(np.allclose(machine.alpha, 1.0 / (1.0 + np.exp(machine.alpha)))), machine.converged
    (True, True)
    """
    K = check_gram(K)
    y, costs = _check_problem(y, C, len(K), intercept, tol, max_iter)
    loss = _weighted_logistic(y, costs)
    run = newton_kernel(K, loss, costs, intercept=intercept, tol=tol, max_iter=max_iter)
    alpha = _feasible(run.weights * y, y, costs, intercept)
    f = K @ (alpha * y)
    margins = y * (f + run.b)
    violation = stationarity_of_multipliers(alpha, margins, costs) / costs.max()
    if violation > tol:
        warn_not_converged("kernel_logistic_regression", MEASURE, violation, tol, ADVICE)
    return DualResult(
        alpha=alpha,
        b=run.b,
        objective=float(0.5 * (alpha * y) @ f + costs @ logistic_loss(margins)),
        bound=logistic_dual_objective(alpha, K, y, costs),
        violation=violation,
        converged=bool(violation <= tol),
        n_iter=run.n_iter,
        history=run.history,
    )


def stationarity_of_multipliers(alpha: Vector, margins: Vector, C: float | Vector) -> float:
    r"""Return how far the multipliers are from what their margins prescribe (C17).

    .. math:: \alpha_i = \frac{C_i}{1 + e^{m_i}}  \tag{eq-logistic-stationarity}

    No finite margin gives α = 0: every example stays in f, unlike with the hinge, whose slope is 0
    beyond m = 1.

    >>> stationarity_of_multipliers(np.array([1.0, 1.0]), np.zeros(2), 2.0)
    0.0
    """
    return float(np.abs(alpha - check_costs(C, alpha.size) * sigmoid(-margins)).max())


def weighted_entropy(alpha: Vector, C: float | Vector) -> Vector:
    r"""Return the entropy that takes the place of αᵢ in the dual of the logistic loss (C17).

    .. math:: H_C(\alpha) = C\log C - \alpha\log\alpha - (C - \alpha)\log(C - \alpha)
        \tag{eq-logistic-entropy}

    It is −∞ outside of 0 ≤ α ≤ C.

    >>> bool(np.isclose(weighted_entropy(np.array([1.0]), 2.0)[0], 2.0 * np.log(2.0)))
    True
    """
    costs = check_costs(C, alpha.size)
    parts = np.array([costs, alpha, costs - alpha])
    x_log_x = parts * np.log(np.where(parts > 0.0, parts, 1.0))
    return np.where(parts.min(axis=0) >= 0.0, x_log_x[0] - x_log_x[1] - x_log_x[2], -np.inf)


def logistic_dual_objective(alpha: Vector, K: Matrix, y: Vector, C: float | Vector) -> float:
    r"""Return the dual objective of kernel logistic regression (C17, C20).

    .. math:: D(\alpha) = \sum_i H_{C_i}(\alpha_i)
        - \tfrac12\sum_{i,j}\alpha_i\alpha_j y_i y_j K_{ij}  \tag{eq-logistic-dual}

    With an intercept it bounds the primal from below where Σ αᵢyᵢ = 0.

    >>> D = logistic_dual_objective(np.ones(2), np.zeros((2, 2)), np.array([1.0, -1.0]), 2.0)
    >>> bool(np.isclose(D, 4.0 * np.log(2.0)))
    True
    """
    signed = alpha * y
    return float(weighted_entropy(alpha, C).sum() - 0.5 * signed @ K @ signed)


def multiplier_density(alpha: Vector, C: float | Vector, threshold: float = 1e-6) -> float:
    r"""Return the share of examples that a kernel machine must keep (C14, C17).

    .. math:: \frac1n\, \#\{i : \alpha_i > \tau\, C_i\}  \tag{eq-density}

    Examples that cost nothing do not count.

    >>> multiplier_density(np.array([0.0, 1.0, 0.3, 0.0]), 1.0)
    0.5
    """
    check_nonnegative(threshold=threshold)
    costs = check_costs(C, alpha.size)
    counted = costs > 0.0
    return float(np.mean(alpha[counted] > threshold * costs[counted]))


def _weighted_logistic(y: Vector, costs: Vector) -> SmoothLoss:
    def loss(f: Vector) -> tuple[float, Vector, Vector]:
        margins = y * f
        wrong = sigmoid(-margins)
        curvatures = costs * wrong * sigmoid(margins)
        return float(costs @ logistic_loss(margins)), -costs * y * wrong, curvatures

    return loss


def _feasible(alpha: Vector, y: Vector, costs: Vector, intercept: bool) -> Vector:
    """Put α in its box and, for an intercept, shrink the heavier class until Σ αᵢyᵢ = 0."""
    alpha = np.clip(alpha, 0.0, costs)
    if not intercept:
        return alpha
    sums = np.where(y > 0, alpha[y > 0].sum(), alpha[y < 0].sum())
    return np.asarray(alpha * sums.min() / np.where(sums > 0.0, sums, 1.0))


def _check_problem(
    y: Vector, C: float | Vector, n: int, intercept: bool, tol: float, max_iter: int
) -> tuple[Vector, Vector]:
    y = check_signs(y, n)
    costs = check_costs(C, n)
    check_positive(tol=tol)
    check_count(max_iter=max_iter)
    if intercept and not (costs[y > 0].any() and costs[y < 0].any()):
        raise ValueError("C must be above 0 for an example of each class, or b has no optimum")
    return y, costs
