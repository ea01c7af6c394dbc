"""NORMA: stochastic gradient descent on a kernel machine, one example at a time (C21).

Every step shrinks the machine and, where the margin is short, adds a term. Old terms have shrunk so
far that all but the last τ can be forgotten (Kivinen, Smola and Williamson, 2004).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmlab.certificates import kernel_primal_objective
from svmlab.dual import dual_objective
from svmlab.losses import hinge_loss
from svmlab.primal import cost
from svmlab.types import DualResult, Matrix, Vector
from svmlab.validation import check_count, check_gram, check_positive, check_signs


@dataclass(frozen=True, kw_only=True)
class NormaResult(DualResult):
    """What :func:`norma` learned: ``alpha`` is the mean machine, ``last`` the α of the last one."""

    last: Vector


def norma(
    K: Matrix,
    y: Vector,
    lam: float,
    n_steps: int,
    rng: np.random.Generator,
    *,
    eta: float | None = None,
    tau: int | None = None,
) -> NormaResult:
    r"""Learn a kernel machine without intercept from a stream of examples (C21).

    .. math:: F(f) = \tfrac\lambda2 \|f\|^2 + \frac1n \sum_i \max(0,\ 1 - y_i f(x_i))
        \tag{eq-norma-objective}

    Each step draws an example and takes :func:`norma_step`. The mean of the machines f₁, …, f_T
    approaches the minimum of F; single ones keep jumping.

    Parameters
    ----------
    K : (n, n) Gram matrix, symmetric
    y : (n,) signs
    lam : the regulariser λ = 1/(nC)
    n_steps : T
    rng : draws the examples
    eta : the steps are η/√t, with λη < 1; by default 1/(√λ R) with R² the largest K(x, x), or ½/λ
        if that is less: the minimum has a norm of at most 1/√λ, a slope of the loss one of at
        most R
    tau : how many of the last steps to keep in memory; all if None. What is lost is at most
        :func:`truncation_bound`.

    Returns
    -------
    NormaResult
        ``objective`` is F at the mean machine and ``bound`` the dual value of its α, cut off at
        1/(nλ); ``converged`` only says that the steps were taken. ``history``: "step", the drawn
        "example", and the "loss" of each prediction (a term was added where it is above 0).

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> result = norma(X @ X.T, y, 0.1, 2000, np.random.default_rng(0))
    >>> (X.T @ (result.alpha * y)).round(1)
    array([1.])
    """
    K = check_gram(K)
    y = check_signs(y, len(K))
    check_positive(lam=lam)
    check_count(n_steps=n_steps, tau=1 if tau is None else tau)
    squared_radius = np.diag(K).max()
    if squared_radius <= 0.0:
        raise ValueError(
            f"K must have a diagonal above 0 somewhere, got at most {squared_radius:g}"
        )
    if eta is None:
        eta = float(min(1.0 / np.sqrt(lam * squared_radius), 0.5 / lam))
    check_positive(eta=eta)
    if lam * eta >= 1.0:
        raise ValueError(f"eta must be below 1/lam = {1.0 / lam:g}, got {eta:g}")
    mean, last, history = _run(K, y, lam, step_sizes(n_steps, eta), tau, rng)
    C = cost(lam, len(y), "lambda/2")
    objective = lam * kernel_primal_objective(mean, 0.0, K, y, C)
    bound = lam * dual_objective(np.minimum(mean, C), K, y)
    return NormaResult(
        alpha=mean,
        last=last,
        b=0.0,
        objective=objective,
        bound=bound,
        violation=objective - bound,
        converged=True,
        n_iter=n_steps,
        history=history,
    )


def step_sizes(n_steps: int, eta: float) -> Vector:
    r"""Return the rates of the first steps (C21).

    .. math:: \eta_t = \eta / \sqrt t  \tag{eq-norma-rate}

    >>> step_sizes(4, 1.0).round(3)
    array([1.   , 0.707, 0.577, 0.5  ])
    """
    return np.asarray(eta / np.sqrt(np.arange(1.0, n_steps + 1.0)))


def norma_step(
    alpha: Vector, i: int, K: Matrix, y: Vector, lam: float, eta: float
) -> tuple[Vector, float]:
    r"""Show example i to the machine: return the new α and the loss of the prediction (C21).

    .. math:: f \leftarrow (1 - \eta\lambda) f + \eta\, [y_i f(x_i) < 1]\, y_i K(x_i, \cdot)
        \tag{eq-norma-step}

    >>> norma_step(np.array([1.0, 0.0]), 1, np.eye(2), np.array([1.0, -1.0]), 0.5, 0.5)
    (array([0.75, 0.5 ]), 1.0)
    """
    loss = float(hinge_loss(y[i] * (K[i] @ (alpha * y))))
    alpha = (1.0 - eta * lam) * alpha
    if loss > 0.0:
        alpha[i] += eta
    return alpha, loss


def truncation_bound(lam: float, eta: float, t: int, tau: int, radius: float) -> float:
    r"""Bound the norm of what a machine of t steps has lost by keeping only the last τ (C21).

    .. math::
        \Bigl\| f_t - f_t^{(\tau)} \Bigr\| \le
        \frac R\lambda \prod_{s = t - \tau + 1}^{t} \Bigl( 1 - \frac{\lambda\eta}{\sqrt s} \Bigr)
        \le \frac R\lambda \Bigl( 1 - \frac{\lambda\eta}{\sqrt t} \Bigr)^{\tau}
        \tag{eq-norma-truncation}

    with ‖K(x, ·)‖ ≤ R. The term of step s entered with norm η_s R at most and was shrunk ever
    since; the sum over the forgotten steps telescopes. f_t has the same terms, all of them kept.

    >>> bounds = [truncation_bound(0.1, 1.0, 1000, tau, 1.0) for tau in (10, 100, 500)]
    >>> [round(bound, 2) for bound in bounds]
    [9.69, 7.23, 1.56]
    """
    check_positive(lam=lam, eta=eta, radius=radius)
    check_count(t=t, tau=tau)
    if tau >= t:
        return 0.0
    kept = step_sizes(t, eta)[t - tau :]
    return float(radius / lam * np.prod(1.0 - lam * kept))


def _run(
    K: Matrix, y: Vector, lam: float, rates: Vector, tau: int | None, rng: np.random.Generator
) -> tuple[Vector, Vector, dict[str, Vector]]:
    """Return the mean α, the last α and the history."""
    n, n_steps = len(y), len(rates)
    order = rng.integers(n, size=n_steps)
    shrunk = np.concatenate(([0.0], np.cumsum(np.log1p(-lam * rates))))  # logarithms: no underflow
    alpha, total, losses = np.zeros(n), np.zeros(n), np.zeros(n_steps)
    terms = np.zeros(n, dtype=np.int64)
    for t, i in enumerate(order):
        total += alpha
        alpha, losses[t] = norma_step(alpha, i, K, y, lam, rates[t])
        terms[i] += losses[t] > 0.0
        old = t - n_steps if tau is None else t - tau
        if old >= 0 and losses[old] > 0.0:
            j = order[old]
            terms[j] -= 1
            rest = alpha[j] - rates[old] * np.exp(shrunk[t + 1] - shrunk[old + 1])
            alpha[j] = rest if terms[j] else 0.0  # nothing left is 0, not a rounding error
    history = {
        "step": np.arange(1.0, n_steps + 1.0),
        "example": order.astype(np.float64),
        "loss": losses,
    }
    return total / n_steps, alpha, history
