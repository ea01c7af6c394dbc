"""Pegasos (S9) and its twin with an accumulator and an average (G5), step by step.

Both minimise :func:`svmlab.primal.regularized_risk`: no intercept. The small functions are the
lecture's lines one by one; the loop applies them to w = s·v, compiled.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from svmlab._sgd_jit import accumulator_steps
from svmlab.losses import hinge_slope
from svmlab.margins import functional_margins
from svmlab.primal import regularized_risk
from svmlab.rows import form_for, pieces, row_arrays, transposed_times
from svmlab.scaled_weights import ScaledWeights, dual_bound, shares
from svmlab.types import Indices, PrimalResult, Rows, Vector
from svmlab.validation import check_count, check_positive, check_rows, check_signs

BLOCK = 1_000_000  # row indices drawn at a time

Steps = TypeVar("Steps", float, Vector)


def step_size(t: Steps, lam: float) -> Steps:
    r"""Return the rate of step t, counted from 1 (S9, G5).

    .. math:: \eta_t = \frac{1}{\lambda t}  \tag{eq-pegasos-rate}

    >>> step_size(1, 0.1), step_size(4, 0.5)
    (10.0, 0.5)
    """
    check_positive(lam=lam)
    if np.min(t) < 1:
        raise ValueError(f"t must be 1 or above (it counts the steps from 1), got {np.min(t)}")
    return 1.0 / (lam * t)


def subgradient(w: Vector, x: Vector, y: float) -> Vector:
    r"""Return a subgradient of one example's hinge loss, without the regulariser (S9, G5).

    .. math:: v = -y\,x\,[\,y\, w \cdot x < 1\,]  \tag{eq-pegasos-subgradient}

    >>> subgradient(np.array([1.0]), np.array([0.5]), 1.0)
    array([-0.5])
    """
    return y * hinge_slope(y * (w @ x)) * x


def update(w: Vector, X_batch: Rows, y_batch: Vector, lam: float, t: int) -> Vector:
    r"""Return the weights after step t on a mini-batch of k rows (S9).

    .. math:: w_{t+1} = (1 - \eta_t\lambda)\, w_t
        + \frac{\eta_t}{k} \sum_{i \in A_t} [\,y_i\, w_t \cdot x_i < 1\,]\, y_i x_i
        \tag{eq-pegasos-update}

    >>> update(np.array([1.0]), np.array([[0.5], [3.0]]), np.array([1.0, 1.0]), lam=0.5, t=2)
    array([0.75])
    """
    eta = step_size(float(t), lam)
    slopes = hinge_slope(functional_margins(X_batch, y_batch, w))
    gradient = transposed_times(X_batch, y_batch * slopes) / len(y_batch)
    return (1.0 - eta * lam) * w - eta * gradient


def project(w: Vector, lam: float) -> Vector:
    r"""Return the nearest point of the ball in which the optimum lies (S9).

    .. math:: w \leftarrow \min\Big(1,\ \frac{1/\sqrt\lambda}{\|w\|}\Big)\, w
        \tag{eq-pegasos-projection}

    >>> project(np.array([3.0, 4.0]), lam=1.0), project(np.zeros(1), lam=1.0)
    (array([0.6, 0.8]), array([0.]))
    """
    check_positive(lam=lam)
    radius, length = 1.0 / np.sqrt(lam), float(np.linalg.norm(w))
    return w * (radius / length if length > radius else 1.0)


def draw_batch(n: int, k: int, rng: np.random.Generator) -> Indices:
    """Draw k different rows out of n; k = n is all of them, without drawing (S9).

    >>> draw_batch(3, 3, np.random.default_rng(0))
    array([0, 1, 2])
    """
    if k == n:
        return np.arange(n)
    if k == 1:
        return rng.integers(n, size=1)
    return rng.choice(n, size=k, replace=False, shuffle=False)


def pegasos(
    X: Any,
    y: ArrayLike,
    lam: float,
    n_steps: int,
    rng: np.random.Generator,
    *,
    batch_size: int = 1,
    projection: bool = False,
    record_every: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> PrimalResult:
    r"""Minimise the regularised risk by n_steps Pegasos steps from w = 0 (S9, S10).

    Step t = 1, 2, … draws a batch (:func:`draw_batch`), moves (:func:`update`, eq-pegasos-update)
    and, if asked to, projects (:func:`project`). The last weights are returned. One step costs the
    non-zeros of its rows, and the steps to reach an accuracy do not depend on n:

    .. math:: \mathbb E[F(w_T)] - F^* = \tilde O\Big(\frac{R^2}{\lambda T}\Big),
        \qquad R = \max_i \|x_i\|  \tag{eq-pegasos-steps}

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    y : (n,) signs
    lam : the regulariser; :func:`svmlab.primal.lam_from_C` gives it for a C
    n_steps : T
    rng : draws the batches
    batch_size : k, from 1 (stochastic) to n (the subgradient method)
    projection : whether to project onto the ball of radius 1/√λ after each step
    record_every : steps between two entries of the history; by default only the end is recorded,
        since each entry costs a pass over all rows
    sample_weight : (n,) weights of the rows in the mean loss (eq-shares)

    Returns
    -------
    PrimalResult
        ``converged`` only says that the steps were taken; ``gap`` says how far from the optimum w
        is at most. ``history``: "step" and "objective".

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> pegasos(X, y, 0.1, 2000, np.random.default_rng(0)).w.round(2)
    array([1.])
    """
    X, y = _check_problem(X, y, lam, n_steps)
    n = X.shape[0]
    check_count(batch_size=batch_size, record_every=record_every or 1)
    if batch_size > n:
        raise ValueError(f"batch_size must be at most the number of rows {n}, got {batch_size}")
    share = shares(sample_weight, n)
    machine = ScaledWeights(X, y, lam, share, n_visits=n_steps * batch_size)
    radius = 1.0 / np.sqrt(lam) if projection else np.inf
    stops = _marks(n_steps, record_every or n_steps)
    blocks = np.union1d(stops, _marks(n_steps, max(1, BLOCK // batch_size)))
    objectives, t = [], 0
    for end in blocks:
        rates = step_size(np.arange(t + 1.0, end + 1.0), lam)
        machine.step(_draw_batches(end - t, n, batch_size, rng), rates, radius)
        t = end
        if t in stops:
            objectives.append(machine.objective())
    history = {"step": stops.astype(np.float64), "objective": np.array(objectives)}
    return _result(machine.w, machine.bound(), objectives[-1], n_steps, history)


def soft_svm_sgd(
    X: Any,
    y: ArrayLike,
    lam: float,
    n_steps: int,
    rng: np.random.Generator,
    *,
    sample_weight: ArrayLike | None = None,
) -> PrimalResult:
    r"""Minimise the regularised risk with an accumulator and return the mean iterate (G5).

    .. math::
        w_0 = 0,\quad w_t = \frac{\theta_t}{\lambda t},\quad
        \theta_{t+1} = \theta_t + [\,y_i\, w_t \cdot x_i < 1\,]\, y_i x_i,\quad
        \bar w = \frac1T \sum_{t=0}^{T-1} w_t  \tag{eq-soft-svm-sgd}

    The iterates are those of :func:`pegasos` with one row a step and no projection. The mean is
    kept in a second accumulator, at the cost of the non-zeros of the row.

    Parameters and result are those of :func:`pegasos`.

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> soft_svm_sgd(X, y, 0.1, 2000, np.random.default_rng(0)).w.round(1)
    array([1.])
    """
    X, y = _check_problem(X, y, lam, n_steps)
    n, d = X.shape
    rows = row_arrays(X)
    run = form_for(accumulator_steps, rows, n_steps)
    share = shares(sample_weight, n)
    theta, credit, counts = np.zeros(d), np.zeros(d), np.zeros(n)
    harmonic = 0.0
    for piece in pieces(rows, n_steps):
        draws = _draw_batches(piece.stop - piece.start, n, 1, rng)[:, 0]
        state = theta, credit, counts
        harmonic = run(*state, rows, y, share, draws, lam, piece.start, harmonic)
    w = (harmonic * theta - credit) / (lam * n_steps)
    objective = regularized_risk(w, X, y, lam, share)
    bound = dual_bound(counts / (lam * n_steps), X, y, lam, share)
    history = {"step": np.array([float(n_steps)]), "objective": np.array([objective])}
    return _result(w, bound, objective, n_steps, history)


def _draw_batches(n_steps: int, n: int, k: int, rng: np.random.Generator) -> Indices:
    """Draw what ``n_steps`` calls of :func:`draw_batch` would draw."""
    if k == 1 and n > 1:
        return rng.integers(n, size=(n_steps, 1))  # the same numbers as one call a step
    return np.stack([draw_batch(n, k, rng) for _ in range(n_steps)])


def _marks(last: int, every: int) -> Indices:
    """Return every, 2 every, …, and last."""
    return np.append(np.arange(every, last, every), last)


def _check_problem(X: Any, y: ArrayLike, lam: float, n_steps: int) -> tuple[Rows, Vector]:
    rows = check_rows(X, keep_float32=True)
    signs = check_signs(y, rows.shape[0])
    check_positive(lam=lam)
    check_count(n_steps=n_steps)
    return rows, signs


def _result(
    w: Vector, bound: float, objective: float, n_steps: int, history: dict[str, Vector]
) -> PrimalResult:
    return PrimalResult(
        w=w,
        objective=objective,
        bound=bound,
        violation=objective - bound,
        converged=True,
        n_iter=n_steps,
        history=history,
    )
