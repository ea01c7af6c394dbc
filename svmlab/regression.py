"""Regularised regression: ½‖w‖² + C Σ ℓ(f(x) − y) for four losses, linear and kernel (C18).

Two families. A loss that grows linearly bounds the dual variables: SMO solves it (ε-insensitive,
and absolute with ε = 0). A squared loss is smooth: Newton's method solves it (squared
ε-insensitive, and ridge with ε = 0, in one step). The intercept b is never penalised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmlab.dual import intercept, intercept_interval, movable
from svmlab.gram import KernelGram, as_gram, whole
from svmlab.losses import (
    RESIDUAL_LOSSES,
    squared_epsilon_insensitive_loss,
    squared_epsilon_insensitive_slope,
)
from svmlab.newton import SmoothLoss, newton_kernel, newton_rows
from svmlab.rows import dense, times, transposed_times, with_bias_column
from svmlab.types import Matrix, Result, Rows, Vector, warn_not_converged
from svmlab.validation import (
    check_choice,
    check_costs,
    check_count,
    check_gram,
    check_nonnegative,
    check_positive,
    check_rows,
    check_vector,
)
from svmlab.working_sets import climb

LOSSES = tuple(RESIDUAL_LOSSES)
FORMS = ("precomputed", "linear")
NEWTON_STEPS = 100
ADVICE = "raise max_iter, scale the data or lower C"


@dataclass(frozen=True, kw_only=True)
class RegressionResult(Result):
    """A regression machine f(x) = Σ βᵢ K(xᵢ, x) + b, and f(x) = w·x + b if it is linear.

    ``objective`` is the primal's, ``bound`` the dual's.
    """

    beta: Vector
    b: float
    w: Vector | None = None


def regularized_regression(
    X: Rows | KernelGram,
    y: Vector,
    C: float | Vector = 1.0,
    *,
    loss: str = "epsilon_insensitive",
    epsilon: float = 0.1,
    kernel: str = "precomputed",
    tol: float = 1e-3,
    max_iter: int | None = None,
) -> RegressionResult:
    """Minimise eq-regression-primal for any of the four losses (C18).

    Parameters
    ----------
    X : (n, n) Gram matrix, as it is or as a :class:`svmlab.gram.KernelGram`, or (n, d) rows, dense
        or CSR, with ``kernel="linear"``
    y : (n,) targets
    C : cost of the loss: one number, or one an example (sample weights)
    loss : "absolute", "squared", "epsilon_insensitive" or "squared_epsilon_insensitive"
    epsilon : half the width of the tube, for the last two
    kernel : "precomputed" or "linear", which also returns w
    tol, max_iter : those of :func:`svr` or :func:`squared_svr`

    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> line = regularized_regression(X, y, 10.0, kernel="linear", loss="absolute", tol=1e-9)
    >>> line.w.round(6), round(line.b, 6)
    (array([2.]), 1.0)
    """
    check_choice(loss, LOSSES, "loss")
    check_choice(kernel, FORMS, "kernel")
    epsilon = epsilon if loss.endswith("insensitive") else 0.0
    squared = loss.startswith("squared")
    steps = NEWTON_STEPS if max_iter is None else max_iter
    if kernel == "precomputed":
        K = X if isinstance(X, KernelGram) else dense(check_rows(X))
        if squared:
            return squared_svr(whole(K), y, C, epsilon, tol=tol, max_iter=steps)
        return svr(K, y, C, epsilon, tol=tol, max_iter=max_iter)
    if isinstance(X, KernelGram):
        raise ValueError('kernel="linear" asks for rows, got a KernelGram')
    X = check_rows(X)
    if squared:
        return linear_squared_svr(X, y, C, epsilon, tol=tol, max_iter=steps)
    result = svr(KernelGram(X, "linear"), y, C, epsilon, tol=tol, max_iter=max_iter)
    return replace(result, w=transposed_times(X, result.beta))


def svr(
    K: Matrix | KernelGram,
    y: Vector,
    C: float | Vector = 1.0,
    epsilon: float = 0.1,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
) -> RegressionResult:
    r"""Solve support vector regression by SMO on two multipliers an example (C18, C21).

    .. math::
        & \max_{\alpha, \alpha^*}\ \beta \cdot y - \varepsilon \sum_i (\alpha_i + \alpha_i^*)
        - \tfrac12 \beta^T K \beta\\
        & \text{where } \beta = \alpha - \alpha^*,\quad
        0 \le \alpha_i, \alpha_i^* \le C_i,\quad \sum_i \beta_i = 0  \tag{eq-svr-dual}

    To :func:`svmlab.working_sets.climb` these are 2n variables with signs +1 and −1 and targets
    y ∓ ε.

    Parameters
    ----------
    K : (n, n) Gram matrix, as it is or as a :class:`svmlab.gram.KernelGram`
    y : (n,) targets
    C : cost of the loss: one number, or one an example
    epsilon : half the width of the tube; 0 is the absolute loss
    tol : largest KKT violation accepted, in units of y; then P − D ≤ tol · Σ Cᵢ
    max_iter : largest number of steps; by default 10⁷ or 200 n, whichever is more

    >>> x = np.array([-1.0, 1.0])
    >>> machine = svr(np.outer(x, x), 3.0 * x, 10.0, epsilon=1.0, tol=1e-9)
    >>> machine.beta.round(6), round(machine.b, 6)
    (array([-1.,  1.]), 0.0)
    """
    gram = as_gram(K)
    n = gram.n
    y, costs = _check_problem(y, C, n, epsilon)
    check_nonnegative(tol=tol)
    check_count(max_iter=1 if max_iter is None else max_iter)
    limit = max(10_000_000, 200 * n) if max_iter is None else max_iter

    signs, both = np.repeat([1.0, -1.0], n), np.tile(costs, 2)
    targets = np.concatenate((y - epsilon, y + epsilon))
    found = climb(gram, np.tile(np.arange(n), 2), signs, both, targets, tol, limit)
    beta = found.alpha[:n] - found.alpha[n:]
    alpha = np.maximum(0.0, np.concatenate((beta, -beta)))  # one of the two is enough
    up, low = movable(alpha, signs, both)
    highest, lowest = intercept_interval(found.r, up, low)
    violation = highest - lowest
    if violation > tol:
        warn_not_converged("svr", "KKT violation", violation, tol, ADVICE)
    return _kernel_result(
        "epsilon_insensitive", beta, intercept(found.r, alpha, both, up, low),
        (targets - found.r)[:n], y, costs, epsilon,
        violation=violation, tol=tol, n_iter=found.n_iter, history=found.history,
    )  # fmt: skip


def kernel_ridge(K: Matrix, y: Vector, C: float | Vector = 1.0) -> RegressionResult:
    r"""Solve ridge regression in closed form, with an intercept that is not penalised (C18).

    .. math:: \Bigl(K + \operatorname{diag} \frac{1}{2C_i}\Bigr) \beta + b\,\mathbf 1 = y,\qquad
        \mathbf 1 \cdot \beta = 0  \tag{eq-kernel-ridge}

    The violation is the largest residual of these equations, relative to the largest target.

    >>> x = np.array([-1.0, 1.0])
    >>> machine = kernel_ridge(np.outer(x, x), 3.0 * x, C=0.25)
    >>> machine.beta, machine.b
    (array([-0.75,  0.75]), 0.0)
    """
    K = check_gram(K)
    y, costs = _check_problem(y, C, len(K), 0.0)
    kept = np.flatnonzero(costs > 0.0)
    system = K[np.ix_(kept, kept)] + np.diag(0.5 / costs[kept])
    u, v = np.linalg.solve(system, np.column_stack((y[kept], np.ones(kept.size)))).T
    b = float(u.sum() / v.sum())
    beta = np.zeros_like(y)
    beta[kept] = u - b * v
    residual = system @ beta[kept] + b - y[kept]
    violation = float(np.abs(residual).max()) / (np.abs(y).max() or 1.0)
    return _kernel_result(
        "squared",
        beta,
        b,
        K @ beta,
        y,
        costs,
        0.0,
        violation=violation,
        tol=np.inf,
        n_iter=1,
        history={},
    )


def squared_svr(
    K: Matrix,
    y: Vector,
    C: float | Vector = 1.0,
    epsilon: float = 0.1,
    *,
    tol: float = 1e-6,
    max_iter: int = NEWTON_STEPS,
) -> RegressionResult:
    r"""Solve regression with the squared ε-insensitive loss by Newton's method (C18).

    The objective is quadratic as long as the same examples lie outside of the tube, so that the
    last of a few steps is exact. At the optimum

    .. math:: \beta_i = -2 C_i \operatorname{sgn}(r_i) \max(0,\ |r_i| - \varepsilon),\qquad
        r_i = f(x_i) - y_i  \tag{eq-squared-svr-stationarity}

    and ``tol`` is the largest deviation from it, relative to 2 max C max |y|. With ε = 0 this is
    :func:`kernel_ridge`, in one step.

    >>> x = np.array([-1.0, 1.0])
    >>> machine = squared_svr(np.outer(x, x), 3.0 * x, C=0.25, epsilon=1.0)
    >>> machine.beta.round(9), round(abs(machine.b), 9)
    (array([-0.5,  0.5]), 0.0)
    """
    K = check_gram(K)
    y, costs = _check_problem(y, C, len(K), epsilon)
    check_positive(tol=tol)
    check_count(max_iter=max_iter)
    largest = 2.0 * costs * np.abs(y).max()
    loss = _weighted_squared(y, costs, epsilon)
    run = newton_kernel(K, loss, largest, intercept=True, tol=tol, max_iter=max_iter)
    if run.violation > tol:
        warn_not_converged("squared_svr", "stationarity violation", run.violation, tol, ADVICE)
    return _kernel_result(
        "squared_epsilon_insensitive", run.weights, run.b, K @ run.weights, y, costs, epsilon,
        violation=run.violation, tol=tol, n_iter=run.n_iter, history=run.history,
    )  # fmt: skip


def linear_squared_svr(
    X: Rows,
    y: Vector,
    C: float | Vector = 1.0,
    epsilon: float = 0.1,
    *,
    tol: float = 1e-6,
    max_iter: int = NEWTON_STEPS,
) -> RegressionResult:
    """Solve the problem of :func:`squared_svr` for a linear f, from its rows (C18).

    Newton's method in (w, b) needs no Gram matrix: a step costs n·d² instead of n³. ``tol`` is the
    largest entry of the gradient, relative to 2 max |y| Σ Cᵢ|xᵢⱼ|, largest over j. With ε = 0 this
    is ridge regression.

    >>> x = np.array([-1.0, 1.0])
    >>> machine = linear_squared_svr(x[:, None], 3.0 * x, C=0.25, epsilon=1.0)
    >>> machine.w, machine.b
    (array([1.]), 0.0)
    """
    X = check_rows(X)
    n, d = X.shape
    y, costs = _check_problem(y, C, n, epsilon)
    check_positive(tol=tol)
    check_count(max_iter=max_iter)
    loss = _weighted_squared(y, costs, epsilon)
    largest = 2.0 * costs * np.abs(y).max()
    rows, penalty = with_bias_column(X), np.append(np.ones(d), 0.0)
    run = newton_rows(rows, penalty, loss, largest, tol=tol, max_iter=max_iter)
    if run.violation > tol:
        warn_not_converged(
            "linear_squared_svr", "stationarity violation", run.violation, tol, ADVICE
        )
    w, f = run.weights[:d], times(rows, run.weights)
    beta = -loss(f)[1]
    held = beta != 0.0  # what is 0 stays 0: it is no support vector
    if held.any():  # only with sum 0 its dual value is a bound
        beta[held] -= beta.sum() * costs[held] / costs[held].sum()
    weights = transposed_times(X, beta)
    name = "squared_epsilon_insensitive"
    return RegressionResult(
        beta=beta,
        b=float(run.weights[d]),
        w=w,
        objective=regression_objective(float(w @ w), f, y, costs, name, epsilon),
        bound=regression_dual_objective(beta, float(weights @ weights), y, costs, name, epsilon),
        violation=run.violation,
        converged=run.violation <= tol,
        n_iter=run.n_iter,
        history=run.history,
    )


def regression_objective(
    squared_norm: float,
    f: Vector,
    y: Vector,
    C: float | Vector = 1.0,
    loss: str = "epsilon_insensitive",
    epsilon: float = 0.1,
) -> float:
    r"""Return the objective of a machine with values f at the examples (C18).

    .. math:: P = \tfrac12\|w\|^2 + \sum_i C_i\, \ell(f(x_i) - y_i),\qquad
        \|w\|^2 = \beta^T K \beta  \tag{eq-regression-primal}

    >>> regression_objective(4.0, np.array([1.0, 2.0]), np.array([1.0, 3.5]), 2.0, epsilon=0.5)
    4.0
    """
    check_choice(loss, LOSSES, "loss")
    arguments = (epsilon,) if loss.endswith("insensitive") else ()
    losses = RESIDUAL_LOSSES[loss].value(f - y, *arguments)
    return float(0.5 * squared_norm + check_costs(C, y.size) @ losses)


def regression_dual_objective(
    beta: Vector,
    squared_norm: float,
    y: Vector,
    C: float | Vector = 1.0,
    loss: str = "epsilon_insensitive",
    epsilon: float = 0.1,
) -> float:
    r"""Return the dual objective for β with Σ βᵢ = 0, a lower bound on the primal (C18, C20).

    .. math:: D(\beta) = \beta \cdot y - \varepsilon \|\beta\|_1 - \tfrac12\|w\|^2
        - \begin{cases} 0 \text{ where } |\beta_i| \le C_i & \text{(absolute, } \varepsilon)\\
        \sum_i \beta_i^2 / 4C_i & \text{(squared)} \end{cases}  \tag{eq-regression-dual}

    It is −∞ outside of the box. Absolute and squared loss have ε = 0.

    >>> beta, y = np.array([-1.0, 1.0]), np.array([-3.0, 3.0])
    >>> regression_dual_objective(beta, 4.0, y, 2.0, "absolute")
    4.0
    """
    check_choice(loss, LOSSES, "loss")
    costs = check_costs(C, y.size)
    width = epsilon if loss.endswith("insensitive") else 0.0
    linear = float(beta @ y - width * np.abs(beta).sum() - 0.5 * squared_norm)
    outside = (beta != 0.0) & (costs == 0.0)
    if loss.startswith("squared"):
        smooth = float(np.sum(beta**2 / (4.0 * np.where(costs > 0.0, costs, np.inf))))
        return -np.inf if outside.any() else linear - smooth
    return -np.inf if np.any(np.abs(beta) > costs) else linear


def _weighted_squared(y: Vector, costs: Vector, epsilon: float) -> SmoothLoss:
    def loss(f: Vector) -> tuple[float, Vector, Vector]:
        residuals = f - y
        total = float(costs @ squared_epsilon_insensitive_loss(residuals, epsilon))
        slopes = costs * squared_epsilon_insensitive_slope(residuals, epsilon)
        return total, slopes, 2.0 * costs * (np.abs(residuals) >= epsilon)

    return loss


def _kernel_result(
    loss: str,
    beta: Vector,
    b: float,
    g: Vector,
    y: Vector,
    costs: Vector,
    epsilon: float,
    *,
    violation: float,
    tol: float,
    n_iter: int,
    history: dict[str, Vector],
) -> RegressionResult:
    """Build the answer; g = K β is f without b."""
    squared_norm = float(beta @ g)
    return RegressionResult(
        beta=beta,
        b=b,
        objective=regression_objective(squared_norm, g + b, y, costs, loss, epsilon),
        bound=regression_dual_objective(beta, squared_norm, y, costs, loss, epsilon),
        violation=violation,
        converged=bool(violation <= tol),
        n_iter=n_iter,
        history=history,
    )


def _check_problem(y: Vector, C: float | Vector, n: int, epsilon: float) -> tuple[Vector, Vector]:
    y = check_vector(y, "y", n)
    check_nonnegative(epsilon=epsilon)
    return y, check_costs(C, n)
