"""Newton's method for ½‖f‖² plus a smooth loss of f, on rows and on a Gram matrix.

Logistic regression and the squared losses of regression share these loops. Both walk along the
Newton direction and halve the step until the objective falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from svmlab.rows import times, transposed_times
from svmlab.types import CSR, Matrix, Rows, Vector

SmoothLoss: TypeAlias = Callable[[Vector], tuple[float, Vector, Vector]]

DIRECT_FEATURES = 1000  # up to here the Hessian is built and solved, beyond it only multiplied with
ENOUGH_DECREASE = 1e-4  # share of the slope that a step must realise
ROUNDING = 1e-12  # relative rise of the objective that counts as rounding


class NewtonRun(NamedTuple):
    """Where a Newton loop ended: weights θ, or β and its intercept."""

    weights: Vector
    b: float
    violation: float
    n_iter: int
    history: dict[str, Vector]


def newton_rows(
    A: Rows, penalty: Vector, loss: SmoothLoss, largest: Vector, *, tol: float, max_iter: int
) -> NewtonRun:
    r"""Minimise ½ Σ pⱼθⱼ² + L(Aθ) by Newton's method, for a smooth loss L (C17).

    .. math:: (\operatorname{diag} p + A^T \operatorname{diag}(L'')\, A)\, \Delta
        = -(p \circ \theta + A^T L')  \tag{eq-newton-rows}

    Parameters
    ----------
    A : (n, m) rows, with a column of ones for an intercept
    penalty : (m,) 1 for a weight, 0 for the intercept
    loss : f ↦ (total loss, its slopes, its curvatures), the last two of shape (n,)
    largest : (n,) sizes that the slopes can reach; they set the scale of the stopping rule

    >>> half_square = lambda f: (0.5 * (f - 1.0) @ (f - 1.0), f - 1.0, np.ones(2))
    >>> newton_rows(np.eye(2), np.ones(2), half_square, np.ones(2), tol=1e-9, max_iter=9).weights
    array([0.5, 0.5])
    """
    absolute = A._replace(data=np.abs(A.data)) if isinstance(A, CSR) else np.abs(A)
    scale = float(transposed_times(absolute, largest).max()) or 1.0
    theta = np.zeros(A.shape[1])
    progress: list[tuple[float, float]] = []
    for n_iter in range(max_iter + 1):
        f = times(A, theta)
        total, slopes, curvatures = loss(f)
        gradient = penalty * theta + transposed_times(A, slopes)
        violation = float(np.abs(gradient).max()) / scale
        progress.append((float(0.5 * penalty @ theta**2 + total), violation))
        if violation <= tol or n_iter == max_iter:
            break
        step = _rows_direction(A, penalty, curvatures, gradient, violation)
        quadratic = penalty @ np.column_stack((theta**2, theta * step, step**2))
        theta = theta + _backtrack(loss, f, times(A, step), quadratic) * step
    return NewtonRun(theta, 0.0, violation, n_iter, _history(progress))


def newton_kernel(
    K: Matrix, loss: SmoothLoss, largest: Vector, *, intercept: bool, tol: float, max_iter: int
) -> NewtonRun:
    r"""Minimise ½ βᵀKβ + L(Kβ + b) by Newton's method, for a smooth loss L (C17).

    With D = diag(L″) each step solves

    .. math:: (I + D K)\,\Delta\beta + D\mathbf 1\,\Delta b = -L' - \beta, \qquad
        \mathbf 1 \cdot (\beta + \Delta\beta) = 0  \tag{eq-newton-kernel}

    and the violation is the largest entry of −L′ − β, relative to the largest slope. The arguments
    are those of :func:`newton_rows`.

    >>> half_square = lambda f: (0.5 * (f - 1.0) @ (f - 1.0), f - 1.0, np.ones(2))
    >>> run = newton_kernel(
    ...     np.eye(2), half_square, np.ones(2), intercept=True, tol=1e-9, max_iter=9)
    >>> run.weights, run.b
    (array([0., 0.]), 1.0)
    """
    scale = float(largest.max()) or 1.0
    beta, b = np.zeros(len(K)), 0.0
    progress: list[tuple[float, float]] = []
    for n_iter in range(max_iter + 1):
        g = K @ beta
        total, slopes, curvatures = loss(g + b)
        residual = -slopes - beta
        violation = float(np.abs(residual).max()) / scale
        progress.append((float(0.5 * beta @ g + total), violation))
        if violation <= tol or n_iter == max_iter:
            break
        step, step_b = _kernel_direction(K, curvatures, residual, float(beta.sum()), intercept)
        step_g = K @ step
        quadratic = np.array([beta @ g, beta @ step_g, step @ step_g])
        t = _backtrack(loss, g + b, step_g + step_b, quadratic)
        beta, b = beta + t * step, b + t * step_b
    return NewtonRun(beta, float(b), violation, n_iter, _history(progress))


def _rows_direction(
    A: Rows, penalty: Vector, curvatures: Vector, gradient: Vector, violation: float
) -> Vector:
    if isinstance(A, CSR) or A.shape[1] > DIRECT_FEATURES:

        def product(v: Vector) -> Vector:
            return penalty * v + transposed_times(A, curvatures * times(A, v))

        return _conjugate_gradient(product, -gradient, min(0.1, np.sqrt(violation)))
    hessian = A.T @ (curvatures[:, None] * A) + np.diag(penalty)
    hessian[-1, -1] = hessian[-1, -1] or 1.0  # no curvature at all: the intercept may stay
    return np.asarray(np.linalg.solve(hessian, -gradient), dtype=np.float64)


def _conjugate_gradient(product: Callable[[Vector], Vector], right: Vector, tol: float) -> Vector:
    """Solve H x = right to a relative residual of tol, from products with H alone."""
    x, residual, direction = np.zeros_like(right), right.copy(), right.copy()
    size = float(residual @ residual)
    enough = tol**2 * size
    for _ in range(10 * right.size):
        image = product(direction)
        curvature = float(direction @ image)
        if size <= enough or curvature <= 0.0:
            break
        t = size / curvature
        x += t * direction
        residual -= t * image
        previous, size = size, float(residual @ residual)
        direction = residual + (size / previous) * direction
    return x


def _kernel_direction(
    K: Matrix, curvatures: Vector, residual: Vector, beta_sum: float, intercept: bool
) -> tuple[Vector, float]:
    """Solve eq-newton-kernel by (I + DK)⁻¹ = I − S (I + SKS)⁻¹ SK with S = √D, well conditioned."""
    curved = np.flatnonzero(curvatures > 0.0)
    s = np.sqrt(curvatures[curved])
    B = s[:, None] * K[np.ix_(curved, curved)] * s
    B[np.diag_indices_from(B)] += 1.0
    solved = np.linalg.solve(B, np.column_stack((s * (K[curved] @ residual), s)))
    step, per_b = residual.copy(), np.zeros_like(residual)
    step[curved] -= s * solved[:, 0]
    per_b[curved] = s * solved[:, 1]
    if not intercept or curved.size == 0:
        return step, 0.0
    step_b = (step.sum() + beta_sum) / per_b.sum()
    return step - step_b * per_b, float(step_b)


def _backtrack(loss: SmoothLoss, f: Vector, step_f: Vector, quadratic: Vector) -> float:
    """Halve t from 1 until ½(q₀ + 2t q₁ + t² q₂) + L(f + t Δf) has fallen enough."""
    q0, q1, q2 = quadratic
    total, slopes, _ = loss(f)
    start = 0.5 * q0 + total
    slope = q1 + float(slopes @ step_f)
    for t in 0.5 ** np.arange(40):
        value = 0.5 * q0 + t * q1 + 0.5 * t**2 * q2 + loss(f + t * step_f)[0]
        if value <= start + ENOUGH_DECREASE * t * slope + ROUNDING * abs(start):
            break
    return float(t)


def _history(progress: list[tuple[float, float]]) -> dict[str, Vector]:
    objective, violation = np.array(progress).T
    return {"step": np.arange(objective.size) * 1.0, "objective": objective, "violation": violation}
