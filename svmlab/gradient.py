"""Descent on the primal objective ½‖w‖² + C Σ loss, with an intercept that is not penalised.

Full gradients (C7, M8), gradients of one example (C7, M8), and conjugate gradients (M10).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from svmlab.dual import weights_from_alpha
from svmlab.losses import MARGIN_LOSSES, Loss
from svmlab.margins import functional_margins
from svmlab.primal import primal_gradient, primal_objective
from svmlab.rows import squared_norms, take
from svmlab.types import PrimalResult, Rows, Vector, warn_not_converged
from svmlab.validation import (
    check_choice,
    check_costs,
    check_count,
    check_positive,
    check_rows,
    check_signs,
)

SMOOTH_LOSSES = ("squared_hinge", "logistic")
CHECK_EVERY = 10  # subgradient steps between two looks at the duality gap
ROUNDING = 1e-13  # relative error of an objective that is summed up in float64
MORE = "raise max_iter, or scale the columns of X"

Step = Callable[[Vector, Vector], Vector]  # from a point and its gradient to the next point


class Problem(NamedTuple):
    """An objective of z = (w, b); without intercept, b stays 0."""

    X: Rows
    y: Vector
    C: Vector
    loss: Loss
    fit_intercept: bool

    def value(self, z: Vector) -> float:
        """Return the objective (eq-primal)."""
        return primal_objective(z[:-1], z[-1], self.X, self.y, self.C, self.loss)

    def gradient(self, z: Vector) -> Vector:
        """Return a subgradient (eq-primal-gradient)."""
        in_w, in_b = primal_gradient(z[:-1], z[-1], self.X, self.y, self.C, self.loss)
        return np.append(in_w, in_b if self.fit_intercept else 0.0)

    def start(self) -> Vector:
        """Return z = 0."""
        return np.zeros(self.X.shape[1] + 1)


def gradient_descent(
    X: Any,
    y: ArrayLike,
    C: float | Vector = 1.0,
    *,
    loss: str = "hinge",
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 20_000,
) -> PrimalResult:
    r"""Minimise the primal objective by steps against its full (sub)gradient (C7, M8).

    .. math:: (w, b) \leftarrow (w, b) - \eta_t\, \nabla P(w, b)  \tag{eq-gradient-descent}

    Each step reads all n rows.

    *Hinge.* A subgradient need not point downhill, so the steps must shrink by themselves. With
    η = 2/(t + 1), a rate for strong convexity 1, w is a mean with weights t over the steps: of
    Σ Cᵢyᵢxᵢ over the examples that were inside the margin. The same mean of their Cᵢ is an α with
    w = Σ αᵢyᵢxᵢ; scaled so that Σ αᵢyᵢ = 0, it is feasible in the dual and proves how good the best
    (w, b) so far is. The method stops when the gap is at most ``tol`` times the objective.

    *Smooth losses.* η = 1/L is constant once the curvature L has been found by doubling: it must
    satisfy P(z − ∇P/L) ≤ P(z) − ‖∇P‖²/(2L). The number of steps grows like the condition number
    (M10). The method stops when ‖∇P‖ is at most ``tol`` times that at 0.

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    y : (n,) signs
    C : the cost of slack, one number or one an example
    loss : "hinge", "squared_hinge" or "logistic"
    fit_intercept : whether to move b
    tol, max_iter : when to stop

    Returns
    -------
    PrimalResult
        ``history``: "step" and "objective" (hinge: the best so far), with "gap" or "gradient_norm".

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> result = gradient_descent(X, y, 10.0)
    >>> result.w.round(2), round(result.b, 2)
    (array([0.67]), -0.33)
    """
    problem = _check_problem(X, y, C, loss, tuple(MARGIN_LOSSES), fit_intercept)
    check_positive(tol=tol)
    check_count(max_iter=max_iter)
    if loss == "hinge":
        return _subgradient_descent(problem, tol, max_iter)
    return _descend("gradient_descent", problem, _steepest_steps(problem), tol, max_iter)


def stochastic_gradient_descent(
    X: Any,
    y: ArrayLike,
    C: float = 1.0,
    *,
    n_epochs: int,
    rng: np.random.Generator,
    loss: str = "hinge",
    fit_intercept: bool = True,
) -> PrimalResult:
    r"""Minimise the primal objective by steps that read one example each (C7, M8).

    .. math::
        (w, b) \leftarrow (w, b) - \eta_t\, g_i,\qquad
        g_i = \big(w + nC\, \partial_w \ell_i,\ \ nC\, \partial_b \ell_i\big),\qquad
        \eta_t = \frac{1}{t + t_0}  \tag{eq-stochastic-gradient}

    The mean of gᵢ over the examples is the gradient of ½‖w‖² + C Σ ℓᵢ. Without the factor n it
    would be that of another objective, the one with C/n. Every epoch is shuffled, and t₀ is such
    that the first step changes its own margin by about 1.

    Parameters and history are those of :func:`gradient_descent`; ``n_epochs`` are run, and the last
    iterate is returned. ``converged`` only says that they were run.

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> rng = np.random.default_rng(0)
    >>> stochastic_gradient_descent(X, y, 1.0, n_epochs=2000, rng=rng).w.round(1)
    array([0.7])
    """
    problem = _check_problem(X, y, C, loss, tuple(MARGIN_LOSSES), fit_intercept)
    check_positive(C=C)
    check_count(n_epochs=n_epochs)
    n = len(problem.y)
    t0 = n * C * (squared_norms(problem.X).mean() + 1.0)
    z, t, objectives = problem.start(), 0, []
    for _ in range(n_epochs):
        for i in rng.permutation(n):
            t += 1
            z = z - example_gradient(z, problem, i) / (t + t0)
        objectives.append(problem.value(z))
    history = {"step": np.arange(1.0, n_epochs + 1), "objective": np.array(objectives)}
    return _result(z, objectives[-1], -np.inf, np.inf, True, n_epochs, history)


def example_gradient(z: Vector, problem: Problem, i: int) -> Vector:
    """Return the gradient of a data set that holds row i only, n times over (C7, M8).

    >>> one = Problem(np.eye(2), np.array([1.0, -1.0]), np.ones(2), MARGIN_LOSSES["hinge"], True)
    >>> example_gradient(np.zeros(3), one, 1)
    array([0., 2., 2.])
    """
    n, row = len(problem.y), np.array([i])
    only = Problem(take(problem.X, row), problem.y[row], n * problem.C[row], *problem[3:])
    return only.gradient(z)


def conjugate_gradient(
    X: Any,
    y: ArrayLike,
    C: float | Vector = 1.0,
    *,
    loss: str = "squared_hinge",
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> PrimalResult:
    r"""Minimise a smooth primal objective by non-linear conjugate gradients (M10).

    .. math::
        d_{k+1} = -g_{k+1} + \beta_k d_k,\qquad
        \beta_k = \max\Big(0,\ \frac{g_{k+1} \cdot (g_{k+1} - g_k)}{g_k \cdot g_k}\Big)
        \tag{eq-polak-ribiere}

    β = 0 forgets the past. So it is also set every d + 1 steps, and where the direction does not
    descend. The number of steps grows like the root of the condition number. Each step reads all
    rows, for the gradient and for X d; the line search (:func:`line_search`) needs no more. It
    stops when ‖∇P‖ is at most ``tol`` times that at 0.

    Parameters and result are those of :func:`gradient_descent`, for the losses "squared_hinge" and
    "logistic".

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> conjugate_gradient(X, y, 1.0).w.round(4)
    array([0.6])
    """
    problem = _check_problem(X, y, C, loss, SMOOTH_LOSSES, fit_intercept)
    check_positive(tol=tol)
    check_count(max_iter=max_iter)
    return _descend("conjugate_gradient", problem, _conjugate_steps(problem), tol, max_iter)


def line_search(slope: Callable[[float], float], step: float = 1.0, share: float = 0.1) -> float:
    r"""Return a step that has used up most of the slope of a convex function (M10).

    .. math:: \sigma\, \varphi'(0) \le \varphi'(a) \le 0,\qquad \sigma = 0.1  \tag{eq-line-search}

    φ falls all the way to such an a, and a is not short: the conditions that conjugate gradients
    need. Slopes stay exact where values of φ no longer differ. The minimum is first bracketed by
    doubling ``step``, then enclosed by secants and halvings.

    >>> line_search(lambda a: a - 3.0)
    3.0
    """
    low, high = 0.0, step
    slope_low, slope_high = slope(low), slope(high)
    target = share * slope_low
    zero = -ROUNDING * slope_low  # on a parabola the secant meets the minimum but for rounding
    while slope_high < 0.0 and slope_high < target:
        low, slope_low, high = high, slope_high, 2.0 * high
        slope_high = slope(high)
    if slope_high <= zero:
        return high
    for k in range(60):
        if slope_low >= target and low > 0.0:
            break
        secant = low - slope_low * (high - low) / (slope_high - slope_low)
        middle = secant if k % 2 == 0 and low < secant < high else 0.5 * (low + high)
        at_middle = slope(middle)
        if at_middle <= zero:
            low, slope_low = middle, at_middle
        else:
            high, slope_high = middle, at_middle
    return low


def _steepest_steps(problem: Problem) -> Step:
    """Return the step of length 1/L, L doubled until it is an upper bound of the curvature."""
    L = 1.0  # the curvature of ½‖w‖²

    def step(z: Vector, g: Vector) -> Vector:
        nonlocal L
        value = problem.value(z)
        allowed = ROUNDING * value
        while problem.value(z - g / L) > value - 0.5 * (g @ g) / L + allowed:
            L *= 2.0
        return z - g / L

    return step


def _conjugate_steps(problem: Problem) -> Step:
    """Return the step along the conjugate direction, which remembers the last one."""
    previous_g, direction, length, age = problem.start(), problem.start(), 1.0, 0

    def step(z: Vector, g: Vector) -> Vector:
        nonlocal previous_g, direction, length, age
        beta = max(0.0, float(g @ (g - previous_g) / (previous_g @ previous_g))) if age else 0.0
        direction = -g + beta * direction  # (eq-polak-ribiere)
        if direction @ g >= 0.0:
            direction = -g
        length = line_search(_slope_along(problem, z, direction), length)
        previous_g, age = g, (age + 1) % len(z)
        return z + length * direction

    return step


def _slope_along(problem: Problem, z: Vector, direction: Vector) -> Callable[[float], float]:
    """Return the derivative of the objective at z + a direction, at O(n) a call."""
    X, y, C, loss, _ = problem
    w, dw = z[:-1], direction[:-1]
    margins = functional_margins(X, y, w, z[-1])
    change = functional_margins(X, y, dw, direction[-1])
    linear, quadratic = w @ dw, dw @ dw

    def slope(a: float) -> float:
        in_losses = (C * loss.slope(margins + a * change)) @ change
        return float(linear + a * quadratic + in_losses)

    return slope


def _descend(name: str, problem: Problem, step: Step, tol: float, max_iter: int) -> PrimalResult:
    """Take steps until the gradient is short against that at 0."""
    z = problem.start()
    g = problem.gradient(z)
    norms, objectives = [float(np.linalg.norm(g))], [problem.value(z)]
    while norms[-1] > tol * norms[0] and len(norms) <= max_iter:
        z = step(z, g)
        g = problem.gradient(z)
        norms.append(float(np.linalg.norm(g)))
        objectives.append(problem.value(z))
    violation = norms[-1] / norms[0] if norms[0] else 0.0
    if violation > tol:
        warn_not_converged(name, "gradient norm against that at 0", violation, tol, MORE)
    # P is at least 1-strongly convex in w, so that min P >= P(w) - ‖∇P(w)‖²/2 without intercept
    bound = -np.inf if problem.fit_intercept else objectives[-1] - 0.5 * norms[-1] ** 2
    history = {
        "step": np.arange(float(len(norms))),
        "objective": np.array(objectives),
        "gradient_norm": np.array(norms),
    }
    return _result(z, objectives[-1], bound, violation, violation <= tol, len(norms) - 1, history)


def _subgradient_descent(problem: Problem, tol: float, max_iter: int) -> PrimalResult:
    """Take steps 2/(t + 1); keep the best point, and the best bound from the mean multipliers."""
    z = best = problem.start()
    objective, bound, alpha = np.inf, 0.0, np.zeros(len(problem.y))
    history: dict[str, list[float]] = {"step": [], "objective": [], "gap": []}
    for t in range(1, max_iter + 1):
        margins = functional_margins(problem.X, problem.y, z[:-1], z[-1])
        eta = 2.0 / (t + 1.0)
        alpha += eta * (-problem.C * problem.loss.slope(margins) - alpha)
        z = z - eta * problem.gradient(z)
        if t % CHECK_EVERY and t < max_iter:
            continue
        value = problem.value(z)
        if value < objective:
            objective, best = value, z
        bound = max(bound, _balanced_dual_value(alpha, problem))
        for key, number in (("step", t), ("objective", objective), ("gap", objective - bound)):
            history[key].append(number)
        if objective - bound <= tol * objective:
            break
    violation = (objective - bound) / objective
    if violation > tol:
        warn_not_converged("gradient_descent", "relative duality gap", violation, tol, MORE)
    arrays = {key: np.array(numbers) for key, numbers in history.items()}
    return _result(best, objective, bound, violation, violation <= tol, t, arrays)


def _balanced_dual_value(alpha: Vector, problem: Problem) -> float:
    """Return the dual objective of α, scaled in one class so that Σ αᵢyᵢ = 0 with an intercept."""
    X, y, _, _, fit_intercept = problem
    positive, negative = alpha[y > 0].sum(), alpha[y < 0].sum()
    if fit_intercept and min(positive, negative) == 0.0:
        return 0.0
    if fit_intercept:
        smaller = min(positive, negative)
        alpha = alpha * np.where(y > 0, smaller / positive, smaller / negative)
    w = weights_from_alpha(alpha, X, y)
    return float(alpha.sum() - 0.5 * w @ w)


def _check_problem(
    X: Any, y: ArrayLike, C: float | Vector, loss: str, losses: tuple[str, ...], fit_intercept: bool
) -> Problem:
    rows = check_rows(X)
    signs = check_signs(y, rows.shape[0])
    check_choice(loss, losses, "loss")
    return Problem(rows, signs, check_costs(C, len(signs)), MARGIN_LOSSES[loss], fit_intercept)


def _result(
    z: Vector,
    objective: float,
    bound: float,
    violation: float,
    converged: bool,
    n_iter: int,
    history: dict[str, Vector],
) -> PrimalResult:
    return PrimalResult(
        w=z[:-1],
        b=float(z[-1]),
        objective=objective,
        bound=bound,
        violation=violation,
        converged=converged,
        n_iter=n_iter,
        history=history,
    )
