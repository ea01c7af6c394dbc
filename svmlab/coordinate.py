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
from svmlab.rows import dense, pieces, row_arrays, shuffled, squared_norms, take
from svmlab.types import Indices, Mask, Matrix, PrimalResult, Rows, Vector, warn_not_converged
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
VISITS_BETWEEN_CHECKS = (2, 10)  # an example, where the end seems near and elsewhere
NEWTON_ROWS = 100  # joint moves of the free variables only where their system is small
NEWTON_ENTRIES = 1_000_000
NEWTON_STEPS = 30
NEWTON_FROM = 10  # epoch: most large problems are solved before


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


class _Problem(NamedTuple):
    """A problem whose parts are checked, with the box of its dual and the lengths ‖xᵢ‖."""

    X: Rows
    y: Vector
    loss: str
    costs: Vector
    is_hard: bool
    box: loops.Box
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

    An epoch visits the examples in a fresh random order, each by eq-dcd-step. One whose variable
    stays at its bound then sleeps 1, 2, 4, …, 32 epochs, so that late epochs visit those that still
    move. From the second epoch on (the eleventh of a large problem) free variables are first moved
    together by eq-dcd-newton where that pays, which LIBLINEAR does not: single moves crawl when C
    is large or rows are nearly parallel.

    Where an epoch meets no projected gradient above ``tol`` (or after ten visits per example), w
    and the projected gradients of all examples are recomputed from α. It ends when they are at
    most ``tol``, or at the rounding error of the margins if that is more; for the hinge, then
    0 ≤ P − D ≤ tol · Σ Cᵢ. Otherwise the examples above it wake up.

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
    of both and of the violation, one entry a check; ``n_iter`` and "step" count epochs.

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> result = dual_coordinate_descent(X, y, C=0.25, tol=1e-9)
    >>> result.w, result.objective, result.bound
    (array([0.5]), 0.25, 0.25)
    """
    X = check_rows(X, keep_float32=True)
    y = check_signs(y, X.shape[0])
    check_positive(tol=tol)
    check_count(max_iter=max_iter)
    rng = np.random.default_rng(0) if rng is None else rng
    problem = _problem(X, y, C, loss)
    n, rows = len(y), row_arrays(X)
    alpha, w = np.zeros(n), np.zeros(X.shape[1])
    sleep = loops.Sleep(np.where(problem.box.upper > 0.0, 0, max_iter), np.zeros(n, dtype=np.int64))
    is_small = n <= PLAIN_UP_TO
    run = loops.sweep.plain if is_small else loops.sweep.compiled
    first_joint = 1 if is_small else NEWTON_FROM
    checks: list[tuple[float, float, float, float]] = []
    visits = VISITS_BETWEEN_CHECKS[0] * n
    for epoch in range(max_iter):
        awake = np.flatnonzero(sleep.until <= epoch)
        order = awake[shuffled(awake.size, rng)]
        if epoch >= first_joint:
            _move_together(problem, order, alpha, w)
        met = max(
            (
                run(rows, y, problem.box, order[piece], epoch, alpha, w, sleep)
                for piece in pieces(rows, order.size)
            ),
            default=0.0,
        )
        visits += order.size
        if not _is_due(met <= tol, visits, n) and epoch + 1 < max_iter:
            continue
        w = weights_from_alpha(alpha, X, y)  # from scratch: no rounding adds up
        proof, violated = _certify(alpha, w, problem)
        checks.append((epoch + 1.0, proof.primal, proof.dual, proof.violation))
        if proof.violation <= max(tol, proof.rounding) or _is_hopeless(proof, problem):
            break
        sleep.until[violated] = np.minimum(sleep.until[violated], epoch + 1)
        visits = 0
    return _result(proof, np.array(checks), tol)


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
    problem = _problem(X, y, C, loss)
    if box_violation(alpha, problem.box.upper) > 0.0:
        raise ValueError(f"alpha must be in [0, C], got {alpha.min():g} to {alpha.max():g}")
    return _certify(alpha, weights_from_alpha(alpha, X, y), problem)[0]


def _certify(alpha: Vector, w: Vector, problem: _Problem) -> tuple[LinearCertificate, Mask]:
    """Do the work of :func:`certify_linear` for w = Σ αyx; tell also who breaks a condition."""
    box = problem.box
    margins = functional_margins(problem.X, problem.y, w)
    if problem.is_hard:
        smallest = margins.min()
        if smallest <= 0.0:
            dual = float(alpha.sum() - 0.5 * w @ w)
            everyone = np.ones(alpha.size, dtype=np.bool_)
            return LinearCertificate(alpha, w, np.inf, 0.0, np.inf, dual), everyone
        alpha, w, margins = alpha / smallest, w / smallest, margins / smallest  # (eq-canonical)
    slack_cost = problem.costs @ MARGIN_LOSSES[problem.loss].value(margins)
    primal = float(0.5 * w @ w + (0.0 if problem.is_hard else slack_cost))  # (eq-primal)
    dual = float(alpha.sum() - 0.5 * w @ w - 0.5 * box.ridge @ alpha**2)
    violations = margin_violations(margins + box.ridge * alpha, alpha, box.upper)
    rounding = float(np.finfo(float).eps * problem.lengths.max() * (alpha @ problem.lengths))
    largest = float(violations.max())
    return LinearCertificate(alpha, w, largest, rounding, primal, dual), violations > 0.0


def _is_due(looks_done: bool, visits: int, n: int) -> bool:
    """Tell whether to check: it costs two visits an example, so not too often where n is large."""
    near, far = VISITS_BETWEEN_CHECKS
    return n <= PLAIN_UP_TO or visits >= (near if looks_done else far) * n


def _is_hopeless(proof: LinearCertificate, problem: _Problem) -> bool:
    """Tell whether α proves that a margin, never above ‖w‖ / Σα, would be lost in rounding."""
    length = np.linalg.norm(proof.w)
    return bool(np.isinf(proof.primal) and length <= 1e-8 * proof.alpha @ problem.lengths)


def _result(proof: LinearCertificate, checks: Matrix, tol: float) -> PrimalResult:
    """Build the answer from its certificate, and warn where it does not meet ``tol``."""
    converged = proof.violation <= max(tol, proof.rounding)
    if not converged:
        advice = "raise max_iter, scale the features or lower C"
        if np.isinf(proof.primal):
            advice = "no w that separates the data was found: use a finite C"
        warn_not_converged(
            "dual_coordinate_descent", "projected gradient", proof.violation, tol, advice
        )
    return PrimalResult(
        objective=proof.primal,
        bound=proof.dual,
        violation=proof.violation,
        converged=converged,
        n_iter=int(checks[-1, 0]),
        history=dict(zip(("step", "objective", "bound", "violation"), checks.T, strict=True)),
        w=proof.w,
        alpha=proof.alpha,
    )


def _problem(X: Rows, y: Vector, C: float | Vector, loss: str) -> _Problem:
    """Put together what the dual needs, after checking C and the loss."""
    check_choice(loss, LOSSES, "loss")
    n, norms = X.shape[0], squared_norms(X)
    is_hard = bool(np.ndim(C) == 0 and np.isposinf(C))
    if is_hard and norms.min() == 0.0:
        raise ValueError(
            f"C = inf asks for margin 1 everywhere, but row {norms.argmin()} of X is zero; "
            "drop it, append a bias column or use a finite C"
        )
    costs = np.zeros(n) if is_hard else check_costs(C, n)
    if is_hard or loss == "hinge":
        box = loops.Box(np.full(n, np.inf) if is_hard else costs, np.zeros(n), norms)
    else:
        used = costs > 0.0
        ridge = np.divide(0.5, costs, out=np.zeros(n), where=used)
        box = loops.Box(np.where(used, np.inf, 0.0), ridge, norms + ridge)
    return _Problem(X, y, loss, costs, is_hard, box, np.sqrt(norms))


def _move_together(problem: _Problem, order: Indices, alpha: Vector, w: Vector) -> None:
    """Improve the free variables, at most NEWTON_ROWS of them at once, in place."""
    X, y, (upper, ridge, _) = problem.X, problem.y, problem.box
    free = order
    for _ in range(NEWTON_STEPS):
        free = free[(alpha[free] > 0.0) & (alpha[free] < upper[free])]
        some = free[:NEWTON_ROWS]
        if not _is_worth_it(free.size, some.size, X.shape[1]):
            return
        Z = y[some, None] * dense(take(X, some))
        gradient = Z @ w - 1.0 + ridge[some] * alpha[some]
        moved = newton_move(alpha[some], gradient, Z, ridge[some], upper[some])
        w += (moved - alpha[some]) @ Z
        alpha[some] = moved
        if np.all((moved > 0.0) & (moved < upper[some])):  # no bound was met: it is the maximum
            return


def _is_worth_it(n_free: int, n_rows: int, d: int) -> bool:
    """Tell whether a joint move of ``n_rows`` free variables gets far enough for what it costs.

    It does where these are a good part of all, or where they nearly span the d dimensions, so that
    there are directions along which the dual is flat and single moves crawl.
    """
    reaches_far = n_free <= 4 * NEWTON_ROWS or d <= 2 * NEWTON_ROWS
    return reaches_far and n_rows >= 2 and n_rows * d <= NEWTON_ENTRIES


def newton_move(alpha: Vector, gradient: Vector, Z: Matrix, ridge: Vector, upper: Vector) -> Vector:
    r"""Return α after a Newton step along the path that bends at the box (C21).

    .. math::
        \alpha(t) = \min(\max(\alpha - t\,(Q + \mu I)^{-1} G,\ 0),\ U),\qquad
        Q = Z Z^T + \operatorname{diag}(R)  \tag{eq-dcd-newton}

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
