"""Dual coordinate descent for linear machines without intercept, as in LIBLINEAR (C21).

The dual without intercept has a box but no equality, so one variable can move at a time, and with
w = Σ αyx kept up to date a move costs no more than a look at one row (Hsieh et al., 2008). To have
an intercept, append a column of ones: :func:`svmlab.rows.with_bias_column`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmlab import _coordinate_jit as loops
from svmlab.certificates import box_violation, margin_violations
from svmlab.dual import weights_from_alpha
from svmlab.losses import MARGIN_LOSSES
from svmlab.margins import functional_margins
from svmlab.primal import primal_objective
from svmlab.rows import dense, squared_norms, take
from svmlab.types import CSR, Indices, Matrix, PrimalResult, Rows, Vector, warn_not_converged
from svmlab.validation import (
    check_choice,
    check_costs,
    check_count,
    check_positive,
    check_rows,
    check_signs,
    check_vector,
)

LOSSES = ("hinge", "squared_hinge")
PLAIN_UP_TO = 300  # examples: a problem this small is solved before a compiler is ready
NEWTON_ROWS = 100  # joint moves of the free variables only where their system is small
NEWTON_ENTRIES = 1_000_000
NEWTON_STEPS = 30


class LinearCertificate(NamedTuple):
    """What α proves about the linear machine w = Σ αyx.

    ``violation`` is 0 at the optimum; below ``rounding`` it cannot be told from 0.
    """

    alpha: Vector
    w: Vector
    violation: float
    rounding: float
    primal: float
    dual: float


class _Box(NamedTuple):
    """The dual for one loss: αᵢ ≤ upper, ridge and curvature on the diagonal, lengths ‖xᵢ‖."""

    upper: Vector
    ridge: Vector
    curvature: Vector
    lengths: Vector


def dual_coordinate_descent(
    X: Rows,
    y: Vector,
    C: float | Vector = 1.0,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    rng: np.random.Generator | None = None,
    loss: str = "hinge",
) -> PrimalResult:
    """Train a linear SVM without intercept, one dual variable at a time (S8, C21).

    An epoch visits all examples in a fresh random order, each by eq-dcd-step. From the second one
    on it first moves free variables together by eq-dcd-newton, which LIBLINEAR does not: single
    moves crawl when C is large or rows are nearly parallel. Epochs end when the projected gradient,
    recomputed from α, is at most ``tol`` everywhere, or at the rounding error of the margins if
    that is more; for the hinge then 0 ≤ P − D ≤ tol · Σ Cᵢ.

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    y : (n,) signs
    C : cost of slack, one number or one an example (0 leaves it out). ``np.inf`` is the hard
        margin: α is then scaled so that the smallest margin is 1, the objective is ½‖w‖² there,
        and infinite as long as w separates nothing.
    tol : largest projected gradient allowed, in units of the margin
    max_iter : number of epochs at most
    rng : draws the orders; a generator with seed 0 if None
    loss : ``"hinge"`` or ``"squared_hinge"`` (C Σ ξ²)

    Returns
    -------
    PrimalResult with ``alpha``, ``w``, the primal value, the dual value as ``bound``, and a history
    of both and of the violation, one entry an epoch.

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> result = dual_coordinate_descent(X, y, C=0.25, tol=1e-9)
    >>> result.w, result.objective, result.bound
    (array([0.5]), 0.25, 0.25)
    """
    X = check_rows(X)
    y = check_signs(y, X.shape[0])
    check_positive(tol=tol)
    check_count(max_iter=max_iter)
    rng = np.random.default_rng(0) if rng is None else rng
    box = _dual_box(X, C, loss)
    visited = np.flatnonzero(box.upper > 0.0)
    alpha, w = np.zeros(len(y)), np.zeros(X.shape[1])
    rows: list[tuple[float, float, float]] = []
    for _ in range(max_iter):
        order = rng.permutation(visited)
        if rows:
            _move_together(X, y, box, order, alpha, w)
        _sweep(X, y, box, order, alpha, w)
        w = weights_from_alpha(alpha, X, y)  # from scratch: no rounding adds up
        proof = _certify(alpha, w, X, y, C, loss, box)
        rows.append((proof.primal, proof.dual, proof.violation))
        if proof.violation <= max(tol, proof.rounding) or _is_hopeless(proof, box):
            break
    return _result(proof, np.array(rows), tol)


def certify_linear(
    alpha: Vector, X: Rows, y: Vector, C: float | Vector = 1.0, loss: str = "hinge"
) -> LinearCertificate:
    r"""Compute from α alone what it proves about a linear machine without intercept (C20, C21).

    .. math::
        D(\alpha) = \sum_i \alpha_i - \tfrac12 \Bigl\| \sum_i \alpha_i y_i x_i \Bigr\|^2
        - \tfrac12 \sum_i R_i \alpha_i^2  \le P^*  \tag{eq-dcd-dual}

    with 0 ≤ α ≤ C and R = 0 for the hinge, 0 ≤ α and R = 1/(2C) for the squared hinge. The
    violation is the largest projected gradient: of G = y(w·x) − 1 + Rα only the part that α may
    still follow inside its box. Its rounding error is of the size ε · max ‖x‖ · Σ α‖x‖. For C = ∞
    the α in the answer is scaled to smallest margin 1.

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> certify_linear(np.array([0.0, 1.0]), X, y, C=np.inf)
    LinearCertificate(alpha=array([0., 1.]), w=array([1.]), violation=0.0, ... dual=0.5)
    """
    y = check_signs(y, X.shape[0])
    alpha = check_vector(alpha, "alpha", X.shape[0])
    box = _dual_box(X, C, loss)
    if box_violation(alpha, box.upper) > 0.0:
        raise ValueError(f"alpha must be in [0, C], got {alpha.min():g} to {alpha.max():g}")
    return _certify(alpha, weights_from_alpha(alpha, X, y), X, y, C, loss, box)


def _certify(
    alpha: Vector, w: Vector, X: Rows, y: Vector, C: float | Vector, loss: str, box: _Box
) -> LinearCertificate:
    """Do the work of :func:`certify_linear` for w = Σ αyx and the box at hand."""
    margins = functional_margins(X, y, w)
    if _is_hard(C):
        smallest = margins.min()
        if smallest <= 0.0:
            dual = float(alpha.sum() - 0.5 * w @ w)
            return LinearCertificate(alpha, w, np.inf, 0.0, np.inf, dual)
        alpha, w, margins = alpha / smallest, w / smallest, margins / smallest  # (eq-canonical)
    primal = (
        float(0.5 * w @ w)
        if _is_hard(C)
        else primal_objective(w, 0.0, X, y, C, MARGIN_LOSSES[loss])
    )
    dual = float(alpha.sum() - 0.5 * w @ w - 0.5 * box.ridge @ alpha**2)
    violation = margin_violations(margins + box.ridge * alpha, alpha, box.upper).max()
    rounding = float(np.finfo(float).eps * box.lengths.max() * (alpha @ box.lengths))
    return LinearCertificate(alpha, w, float(violation), rounding, primal, dual)


def _is_hopeless(proof: LinearCertificate, box: _Box) -> bool:
    """Tell whether α proves that a margin, never above ‖w‖ / Σα, would be lost in rounding."""
    length = np.linalg.norm(proof.w)
    return bool(np.isinf(proof.primal) and length <= 1e-8 * proof.alpha @ box.lengths)


def _result(proof: LinearCertificate, rows: Matrix, tol: float) -> PrimalResult:
    """Build the answer from its certificate, and warn where it does not meet ``tol``."""
    converged = proof.violation <= max(tol, proof.rounding)
    if not converged:
        advice = "raise max_iter, scale the features or lower C"
        if np.isinf(proof.primal):
            advice = "no w that separates the data was found: use a finite C"
        warn_not_converged(
            "dual_coordinate_descent", "projected gradient", proof.violation, tol, advice
        )
    history = dict(zip(("objective", "bound", "violation"), rows.T, strict=True))
    return PrimalResult(
        objective=proof.primal,
        bound=proof.dual,
        violation=proof.violation,
        converged=converged,
        n_iter=len(rows),
        history={"step": np.arange(1.0, len(rows) + 1.0), **history},
        w=proof.w,
        alpha=proof.alpha,
    )


def _is_hard(C: float | Vector) -> bool:
    return bool(np.ndim(C) == 0 and np.isposinf(C))


def _dual_box(X: Rows, C: float | Vector, loss: str) -> _Box:
    """Return bounds, ridge and curvature of the dual, after checking C and the loss."""
    check_choice(loss, LOSSES, "loss")
    n = X.shape[0]
    norms = squared_norms(X)
    if _is_hard(C):
        if norms.min() == 0.0:
            raise ValueError(
                f"C = inf asks for margin 1 everywhere, but row {norms.argmin()} of X is zero; "
                "drop it, append a bias column or use a finite C"
            )
        return _Box(np.full(n, np.inf), np.zeros(n), norms, np.sqrt(norms))
    costs = check_costs(C, n)
    if loss == "hinge":
        return _Box(costs, np.zeros(n), norms, np.sqrt(norms))
    used = costs > 0.0
    ridge = np.divide(0.5, costs, out=np.zeros(n), where=used)
    return _Box(np.where(used, np.inf, 0.0), ridge, norms + ridge, np.sqrt(norms))


def _sweep(X: Rows, y: Vector, box: _Box, order: Indices, alpha: Vector, w: Vector) -> None:
    """Visit the examples once, in place; small problems do not wait for a compiler."""
    sweep = loops.sweep_csr if isinstance(X, CSR) else loops.sweep_dense
    arrays = X[:3] if isinstance(X, CSR) else (X,)
    run = sweep.plain if len(y) <= PLAIN_UP_TO else sweep
    run(*arrays, y, box.upper, box.ridge, box.curvature, order, alpha, w)


def _move_together(X: Rows, y: Vector, box: _Box, order: Indices, alpha: Vector, w: Vector) -> None:
    """Improve the free variables, at most NEWTON_ROWS of them at once, in place."""
    for _ in range(NEWTON_STEPS):
        inside = (alpha > 0.0) & (alpha < box.upper)
        free = order[inside[order]][:NEWTON_ROWS]
        if free.size < 2 or free.size * X.shape[1] > NEWTON_ENTRIES:
            return
        Z = y[free, None] * dense(take(X, free))
        upper, ridge = box.upper[free], box.ridge[free]
        gradient = Z @ w - 1.0 + ridge * alpha[free]
        moved = newton_move(alpha[free], gradient, Z, ridge, upper)
        w += (moved - alpha[free]) @ Z
        alpha[free] = moved
        if np.all((moved > 0.0) & (moved < upper)):  # no bound was met: the maximum over these
            return


def newton_move(alpha: Vector, gradient: Vector, Z: Matrix, ridge: Vector, upper: Vector) -> Vector:
    r"""Return α after a Newton step along the path that bends at the box (C21).

    .. math::
        \alpha(t) = \min(\max(\alpha - t\,(Q + \mu I)^{-1} G,\ 0),\ U),\qquad
        Q = Z Z^\top + \operatorname{diag}(R)  \tag{eq-dcd-newton}

    The rows of Z are yx. Up to the first bend the dual rises for every t in [0, 1] and μ > 0 (μ
    only keeps the system solvable); ends at which 1, 2, 4, … variables reach a bound are compared.

    >>> Z = np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> newton_move(np.ones(2), np.array([3.0, 0.0]), Z, np.zeros(2), np.full(2, 9.0)).round(6)
    array([0.25, 1.  ])
    """
    Q = Z @ Z.T + np.diag(ridge)
    step = -np.linalg.solve(Q + 1e-12 * np.trace(Q) * np.eye(len(Q)), gradient)
    target = np.where(step > 0.0, upper, 0.0)
    bend = np.divide(target - alpha, step, out=np.full(alpha.size, np.inf), where=step != 0.0)
    counts = [2**k - 1 for k in range(alpha.size.bit_length())]
    best, best_rise = alpha, 0.0
    for length in np.unique(np.minimum(1.0, np.sort(bend)[counts])):
        end = np.where(bend <= length, target, np.clip(alpha + length * step, 0.0, upper))
        move = end - alpha
        rise = float(-(gradient @ move) - 0.5 * (move @ Q @ move))
        if rise > best_rise:
            best, best_rise = end, rise
    return best
