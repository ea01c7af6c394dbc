"""Decomposition in the manner of SVM-light: small working sets, each solved exactly (S8, C21).

SMO is the special case of two variables. A larger set costs an inner problem, but the residuals of
all n examples are brought up to date only once for up to ten variables.
"""

from __future__ import annotations

import numpy as np

from svmlab._smo_jit import loop_for
from svmlab.certificates import measure
from svmlab.dual import intercept, intercept_interval, movable, residuals
from svmlab.types import DualResult, Indices, Mask, Matrix, Vector, warn_not_converged
from svmlab.validation import check_costs, check_count, check_gram, check_positive, check_signs

LARGEST_SET = 10
INNER_STEPS = 10_000


def decomposition(
    K: Matrix,
    y: Vector,
    C: float | Vector = 1.0,
    *,
    working_set: int = LARGEST_SET,
    tol: float = 1e-3,
    max_iter: int = 100_000,
) -> DualResult:
    """Solve the soft-margin dual by working sets of steepest ascent (S8, C21).

    A round chooses a working set (eq-working-set), maximises the dual over it with all other
    variables frozen, and brings the residuals up to date. The rounds end when the violation
    (eq-violation) is at most ``tol``, checked from scratch in float64.

    Parameters
    ----------
    K : (n, n) Gram matrix, symmetric
    y : (n,) signs
    C : cost of slack, one number or one an example
    working_set : number of variables in a set, from 2 to 10 (an odd one counts as one less)
    tol : largest KKT violation accepted
    max_iter : largest number of rounds

    Returns
    -------
    DualResult with the primal value, the dual value as ``bound``, and a history of ``dual`` and
    ``violation``, one entry a round.

    >>> K = np.outer([2.0, -1.0], [2.0, -1.0])
    >>> result = decomposition(K, np.array([1.0, -1.0]), C=10.0)
    >>> result.alpha.round(6), round(result.b, 6), result.n_iter
    (array([0.222222, 0.222222]), -0.333333, 1)
    """
    K = check_gram(K)
    y = check_signs(y, len(K))
    costs = check_costs(C, len(K))
    check_signs(y[costs > 0], int(np.sum(costs > 0)), "y where C > 0")
    check_positive(tol=tol)
    check_count(max_iter=max_iter, working_set=working_set)
    if not 2 <= working_set <= LARGEST_SET:
        raise ValueError(f"working_set must be 2 to {LARGEST_SET} variables, got {working_set}")
    alpha, history = _climb(K, y, costs, working_set, tol, max_iter)
    f = K @ (alpha * y)
    b = intercept(y - f, alpha, costs, *movable(alpha, y, costs))
    proof = measure(alpha, b, f, y, costs)
    if proof.violation > tol:
        advice = "raise max_iter, scale the data or lower C"
        warn_not_converged("decomposition", "KKT violation", proof.violation, tol, advice)
    return DualResult(
        alpha=alpha,
        b=b,
        objective=proof.primal,
        bound=proof.dual,
        violation=proof.violation,
        converged=proof.violation <= tol,
        n_iter=len(history["step"]) - 1,
        history=history,
    )


def steepest_set(r: Vector, up: Mask, low: Mask, size: int) -> Indices:
    r"""Return the variables of the steepest feasible direction with so many entries (C21).

    .. math::
        & \max_d\ \sum_i y_i r_i d_i \quad\text{where } \sum_i y_i d_i = 0,\ {-1} \le d_i \le 1,\\
        & y_i d_i \ge 0 \text{ off } I_{\text{low}},\ y_i d_i \le 0 \text{ off } I_{\text{up}},\
        \#\{d_i \ne 0\} \le q  \tag{eq-working-set}

    The gradient of the dual is y·r, so the answer is the q/2 largest r of I_up and, of the rest,
    the q/2 smallest of I_low.

    >>> r = np.array([3.0, 1.0, -2.0, 0.0])
    >>> steepest_set(r, np.array([True, True, False, True]), np.ones(4, dtype=bool), 2)
    array([0, 2])
    """
    half = size // 2
    rising = _largest(np.where(up, r, -np.inf), half)
    falls = np.where(low, -r, -np.inf)
    falls[rising] = -np.inf
    return np.concatenate((rising, _largest(falls, half)))


def _largest(values: Vector, count: int) -> Indices:
    """Return where the largest values are that are not −∞, the largest one first."""
    count = min(count, values.size)
    found = np.argpartition(-values, count - 1)[:count] if count else np.arange(0)
    found = found[values[found] > -np.inf]
    return found[np.lexsort((found, -values[found]))]


def _climb(
    K: Matrix, y: Vector, C: Vector, size: int, tol: float, max_iter: int
) -> tuple[Vector, dict[str, Vector]]:
    """Return α and the history of the rounds."""
    alpha, r, fresh, inner = np.zeros(len(y)), y.copy(), True, 0
    rows: list[tuple[float, float]] = []
    while True:
        up, low = movable(alpha, y, C)
        highest, lowest = intercept_interval(r, up, low)
        if highest - lowest <= tol and not fresh:
            r, fresh = residuals(alpha, K, y), True  # takes out what rounding has added up
            continue
        rows.append((0.5 * float((alpha * y) @ (y + r)), highest - lowest))
        chosen = steepest_set(r, up, low, size)
        if highest - lowest <= tol or len(rows) > max_iter:
            break
        before = alpha[chosen]
        inner += _solve_inner(K, y, C, alpha, r, chosen, 0.1 * tol, inner)
        change = alpha[chosen] - before
        if not change.any():
            break  # every step is lost in rounding: float64 can do no better
        r, fresh = r - (change * y[chosen]) @ K[chosen], False  # (eq-residual)
    steps, columns = np.arange(float(len(rows))), np.array(rows).T
    return alpha, {"step": steps, "dual": columns[0], "violation": columns[1]}


def _solve_inner(
    K: Matrix,
    y: Vector,
    C: Vector,
    alpha: Vector,
    r: Vector,
    chosen: Indices,
    tol: float,
    steps_before: int,
) -> int:
    """Maximise the dual over the chosen variables, in place; return the steps taken."""
    block, inner = K[np.ix_(chosen, chosen)], alpha[chosen]
    loop = loop_for(steps_before, len(chosen))
    steps, _ = loop(block, y[chosen], C[chosen], inner, r[chosen], tol, INNER_STEPS)
    alpha[chosen] = inner
    return int(steps)
