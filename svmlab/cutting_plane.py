"""The 1-slack cutting plane of SVM-Perf, for linear machines without intercept (S8, S11).

All n slacks are replaced by one for their sum, at the price of 2ⁿ constraints, one for each set of
examples. Few of them matter: the method adds the most violated one and solves again (Joachims,
2006). Its own C is nC and its own slack the mean; here both stay in the convention of the course.
"""

from __future__ import annotations

import numpy as np

from svmlab._smo_jit import loop_for
from svmlab.coordinate import certify_linear
from svmlab.margins import functional_margins
from svmlab.rows import transposed_times
from svmlab.types import Mask, Matrix, PrimalResult, Rows, Vector, warn_not_converged
from svmlab.validation import check_count, check_positive, check_rows, check_signs

INNER_STEPS = 100_000


def cutting_plane(
    X: Rows, y: Vector, C: float = 1.0, *, tol: float = 1e-3, max_iter: int = 1000
) -> PrimalResult:
    r"""Train a linear SVM without intercept by adding the most violated constraint (S8, S11).

    .. math::
        & \min_{w,\ \xi}\ \tfrac12 \|w\|^2 + nC\,\xi\\
        & \text{where } \frac1n \sum_i c_i\, y_i (w \cdot x_i) \ge \frac1n \sum_i c_i - \xi
        \text{ for all } c \in \{0, 1\}^n  \tag{eq-one-slack}

    A round solves this for the constraints found so far, whose dual is small (eq-cut-dual), and
    looks for the most violated one. The optimum so far bounds the true one from below, and the
    rounds end when no constraint is violated by more than ``tol``, so that P − D ≤ nC · tol. What
    the small problem lacks to its own optimum is counted in.

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    y : (n,) signs
    C : cost of slack in ½‖w‖² + C Σ ξ; SVM-Perf's own C is nC
    tol : largest violation allowed, the ε of SVM-Perf, in units of the mean slack
    max_iter : largest number of rounds

    Returns
    -------
    PrimalResult with the primal value, the dual value as ``bound``, the violation, ``alpha`` (each
    example's share of the constraints), and a history of these three, one entry a round.

    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    >>> result = cutting_plane(X, y, C=0.25, tol=1e-9)
    >>> result.w.round(6), round(result.objective, 6), result.n_iter
    (array([0.5]), 0.25, 2)
    """
    X = check_rows(X)
    y = check_signs(y, X.shape[0])
    check_positive(C=C, tol=tol)
    check_count(max_iter=max_iter)
    beta, cuts, history = _add_cuts(X, y, C, tol, max_iter)
    alpha = np.zeros(len(y))
    for weight, cut in zip(beta[1:], cuts, strict=True):
        alpha[cut] += weight
    proof = certify_linear(np.minimum(alpha, C), X, y, C)
    violation = (proof.primal - proof.dual) / (len(y) * C)
    if violation > tol:
        advice = "raise max_iter, scale the features or lower C"
        warn_not_converged("cutting_plane", "violation", violation, tol, advice)
    return PrimalResult(
        objective=proof.primal,
        bound=proof.dual,
        violation=violation,
        converged=violation <= tol,
        n_iter=len(cuts),
        history=history,
        w=proof.w,
        alpha=proof.alpha,
    )


def most_violated(X: Rows, y: Vector, w: Vector) -> Mask:
    r"""Return the set of examples whose constraint w violates most (S11).

    .. math:: \hat c = \arg\max_c \sum_i c_i [1 - y_i (w \cdot x_i)],\qquad
        \hat c_i = [y_i (w \cdot x_i) < 1]  \tag{eq-cut}

    The maximum is the sum of all hinge losses: one slack for all loses nothing.

    >>> most_violated(np.array([[2.0], [0.5]]), np.array([1.0, 1.0]), np.array([1.0]))
    array([False,  True])
    """
    return np.asarray(functional_margins(X, y, w) < 1.0)


def _add_cuts(
    X: Rows, y: Vector, C: float, tol: float, max_iter: int
) -> tuple[Vector, list[Mask], dict[str, Vector]]:
    """Return the weights of the constraints, the sets behind them and the history."""
    n, d = X.shape
    planes, sizes, beta = np.zeros((1, d)), np.zeros(1), np.array([C])  # the empty set: ξ ≥ 0
    gram, inner = np.zeros((1, 1)), 0
    cuts: list[Mask] = []
    rows: list[tuple[float, float, float]] = []
    while True:
        w = beta @ planes
        cut = most_violated(X, y, w)
        plane, size = transposed_times(X, cut * y), float(cut.sum())
        primal = float(0.5 * w @ w + C * (size - w @ plane))
        dual = float(beta @ sizes - 0.5 * w @ w)
        rows.append((primal, dual, (primal - dual) / (n * C)))
        if rows[-1][2] <= tol or len(cuts) == max_iter:
            break
        column = planes @ plane
        gram = np.block([[gram, column[:, None]], [column, plane @ plane]])
        planes, sizes = np.vstack((planes, plane)), np.append(sizes, size)
        cuts.append(cut)
        beta, steps = solve_cuts(gram, sizes, np.append(beta, 0.0), C, 0.1 * n * tol, inner)
        inner += steps
        if steps == 0:
            break  # every step is lost in rounding: float64 can do no better
    columns = dict(zip(("objective", "bound", "violation"), np.array(rows).T, strict=True))
    return beta, cuts, {"step": np.arange(float(len(rows))), **columns}


def solve_cuts(
    gram: Matrix, sizes: Vector, beta: Vector, C: float, tol: float, steps_before: int = 0
) -> tuple[Vector, int]:
    r"""Solve the dual over the constraints found so far from a start β; also count steps (S11).

    .. math::
        & \max_\beta\ \sum_k \beta_k |c_k| - \tfrac12 \Bigl\| \sum_k \beta_k g_k \Bigr\|^2\\
        & \text{where } \beta \ge 0,\ \sum_k \beta_k = C,\quad
        g_k = \sum_{i \in c_k} y_i x_i  \tag{eq-cut-dual}

    The first constraint is the empty one, g = 0: its weight is what the others leave of C. A pair
    that moves keeps the sum, so this is SMO's loop with all signs +1.

    >>> gram, sizes, start = np.diag([0.0, 4.0]), np.array([0.0, 1.0]), np.array([1.0, 0.0])
    >>> solve_cuts(gram, sizes, start, C=1.0, tol=1e-9)
    (array([0.75, 0.25]), 1)
    """
    beta, k = beta.copy(), len(beta)
    r = sizes - gram @ beta
    loop = loop_for(steps_before, k)
    steps, _ = loop(gram, np.ones(k), np.full(k, C), beta, r, tol, INNER_STEPS)
    return beta, int(steps)
