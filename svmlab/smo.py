"""Sequential minimal optimisation, twice: to read, and to use.

:func:`simplified_smo` follows the lecture line by line (B4-B9), each step a function of its own.
:func:`solve_dual` is the one to use: it picks the pair that gains most and proves its answer.
"""

from __future__ import annotations

import numpy as np

from svmlab.certificates import both_objectives, measure
from svmlab.dual import intercept, movable
from svmlab.gram import KernelGram, as_gram
from svmlab.types import DualResult, Matrix, Vector, warn_not_converged
from svmlab.validation import (
    check_costs,
    check_count,
    check_gram,
    check_nonnegative,
    check_positive,
    check_signs,
)
from svmlab.working_sets import climb

MIN_STEP = 1e-5  # a smaller move of alpha_j counts as none


def error(k: int, alpha: Vector, b: float, K: Matrix, y: Vector) -> float:
    r"""Return the error of the current machine on example k (B6).

    .. math:: E_k = f(x_k) - y_k = \sum_j \alpha_j y_j K_{kj} + b - y_k  \tag{eq-smo-error}

    >>> error(0, np.zeros(2), 0.5, np.eye(2), np.array([1.0, -1.0]))
    -0.5
    """
    return float(K[k] @ (alpha * y) + b - y[k])


def bounds(alpha_i: float, alpha_j: float, y_i: float, y_j: float, C: float) -> tuple[float, float]:
    r"""Return the ends of the line on which α_j may move while α_i stays in its box too (B5).

    .. math::
        y_i \ne y_j:\ & L = \max(0, \alpha_j - \alpha_i),\ \ H = \min(C, C + \alpha_j - \alpha_i)\\
        y_i = y_j:\ & L = \max(0, \alpha_i + \alpha_j - C),\ \ H = \min(C, \alpha_i + \alpha_j)
        \tag{eq-smo-bounds}

    >>> bounds(0.2, 0.5, 1.0, -1.0, 1.0), bounds(0.75, 0.5, 1.0, 1.0, 1.0)
    ((0.3, 1.0), (0.25, 1.0))
    """
    if y_i != y_j:
        return max(0.0, alpha_j - alpha_i), min(C, C + alpha_j - alpha_i)
    return max(0.0, alpha_i + alpha_j - C), min(C, alpha_i + alpha_j)


def eta(i: int, j: int, K: Matrix) -> float:
    r"""Return minus the squared distance of the two examples in feature space (B6).

    .. math:: \eta = 2K_{ij} - K_{ii} - K_{jj} \le 0  \tag{eq-smo-eta}

    >>> eta(0, 1, np.eye(2))
    -2.0
    """
    return float(2.0 * K[i, j] - K[i, i] - K[j, j])


def clip(a: float, L: float, H: float) -> float:
    r"""Return the point of [L, H] nearest to a (B6).

    .. math:: \operatorname{clip}(a, L, H) = \min(H, \max(L, a))  \tag{eq-smo-clip}

    >>> clip(2.0, 0.0, 1.0)
    1.0
    """
    return min(H, max(L, a))


def new_alpha_j(
    alpha_j: float, y_j: float, E_i: float, E_j: float, eta: float, L: float, H: float
) -> float:
    r"""Return the α_j that is best on its line, for η < 0 (B6).

    .. math::
        \alpha_j^{\text{new}} =
        \operatorname{clip}\bigl(\alpha_j - y_j (E_i - E_j)/\eta,\ L,\ H\bigr)
        \tag{eq-smo-alpha-j}

    >>> new_alpha_j(0.0, -1.0, -1.0, 1.0, -2.0, 0.0, 5.0)
    1.0
    """
    return clip(alpha_j - y_j * (E_i - E_j) / eta, L, H)


def new_alpha_i(
    alpha_i: float, alpha_j: float, alpha_j_new: float, y_i: float, y_j: float
) -> float:
    r"""Return the α_i that keeps Σ αy = 0 after α_j has moved (B7).

    .. math:: \alpha_i^{\text{new}} = \alpha_i + y_i y_j (\alpha_j - \alpha_j^{\text{new}})
        \tag{eq-smo-alpha-i}

    >>> new_alpha_i(0.0, 0.0, 1.0, 1.0, -1.0)
    1.0
    """
    return alpha_i + y_i * y_j * (alpha_j - alpha_j_new)


def thresholds(
    i: int,
    j: int,
    alpha_old: Vector,
    alpha_new: Vector,
    E_i: float,
    E_j: float,
    b: float,
    K: Matrix,
    y: Vector,
    C: float,
) -> float:
    r"""Return the intercept that makes the error of a moved, free example 0 (B8).

    .. math::
        b_1 &= b - E_i - y_i\,\Delta\alpha_i K_{ii} - y_j\,\Delta\alpha_j K_{ij}\\
        b_2 &= b - E_j - y_i\,\Delta\alpha_i K_{ij} - y_j\,\Delta\alpha_j K_{jj}  \tag{eq-smo-b}

    It is b₁ if 0 < α_i < C, else b₂ if 0 < α_j < C, else their mean: all between them will do.

    >>> K, y = np.outer([2.0, -1.0], [2.0, -1.0]), np.array([1.0, -1.0])
    >>> round(thresholds(0, 1, np.zeros(2), np.full(2, 2 / 9), -1.0, 1.0, 0.0, K, y, 10.0), 12)
    -0.333333333333
    """
    move_i = y[i] * (alpha_new[i] - alpha_old[i])
    move_j = y[j] * (alpha_new[j] - alpha_old[j])
    b1 = float(b - E_i - move_i * K[i, i] - move_j * K[i, j])
    b2 = float(b - E_j - move_i * K[i, j] - move_j * K[j, j])
    if 0.0 < alpha_new[i] < C:
        return b1
    if 0.0 < alpha_new[j] < C:
        return b2
    return 0.5 * (b1 + b2)


def violates_kkt(alpha_k: float, E_k: float, y_k: float, C: float, tol: float) -> bool:
    r"""Tell whether an example breaks its KKT condition by more than tol (B3, B9).

    .. math:: (y_k E_k < -\tau \text{ and } \alpha_k < C)\ \text{ or }\
        (y_k E_k > \tau \text{ and } \alpha_k > 0)  \tag{eq-smo-kkt}

    >>> violates_kkt(0.0, -0.5, 1.0, 1.0, 1e-3), violates_kkt(1.0, -0.5, 1.0, 1.0, 1e-3)
    (True, False)
    """
    return bool((y_k * E_k < -tol and alpha_k < C) or (y_k * E_k > tol and alpha_k > 0.0))


def select_j(i: int, n: int, rng: np.random.Generator) -> int:
    """Draw a partner for example i from the n − 1 others (B4).

    >>> all(select_j(2, 4, np.random.default_rng(seed)) != 2 for seed in range(20))
    True
    """
    j = int(rng.integers(n - 1))
    return j if j < i else j + 1


def simplified_smo(
    K: Matrix,
    y: Vector,
    C: float = 1.0,
    tol: float = 1e-3,
    max_passes: int = 100,
    rng: np.random.Generator | None = None,
    max_sweeps: int = 100_000,
) -> DualResult:
    """Solve the dual by the lecture's algorithm: sweep over i, draw j, move the pair (B2-B9).

    It stops after ``max_passes`` sweeps in a row without a change. With a random partner, that
    proves nothing (see the errata): look at ``gap``, or use :func:`solve_dual`. (A multiplier that
    ends one rounding error from its bound makes ``violation`` large where the gap is small.)

    Parameters
    ----------
    K : (n, n) Gram matrix
    y : (n,) signs
    C : cost of slack
    tol : an example within tol of its KKT condition is left alone
    max_passes, max_sweeps : when to stop
    rng : draws the partners; seeded with 0 if not given

    Returns
    -------
    DualResult
        ``n_iter`` counts sweeps. ``history`` has one entry a successful step: the pair ``i``,
        ``j``, the new ``alpha_i``, ``alpha_j``, the intercept ``b`` and the ``dual`` objective.

    >>> K = np.outer([2.0, -1.0], [2.0, -1.0])
    >>> result = simplified_smo(K, np.array([1.0, -1.0]), C=10.0)
    >>> result.alpha.round(6), round(result.b, 6)
    (array([0.222222, 0.222222]), -0.333333)
    """
    K = check_gram(K)
    n = len(K)
    y = check_signs(y, n)
    check_positive(C=C, tol=tol)
    check_count(max_passes=max_passes, max_sweeps=max_sweeps)
    rng = np.random.default_rng(0) if rng is None else rng

    alpha, b = np.zeros(n), 0.0
    steps: list[tuple[float, ...]] = []
    dual, passes, sweeps = 0.0, 0, 0
    while passes < max_passes and sweeps < max_sweeps:
        sweeps += 1
        changed = False
        for i in range(n):
            E_i = error(i, alpha, b, K, y)
            if not violates_kkt(alpha[i], E_i, y[i], C, tol):
                continue
            j = select_j(i, n, rng)
            moved = _move_pair(i, j, E_i, alpha, b, K, y, C)
            if moved is None:
                continue
            alpha, b, gain = moved
            dual += gain
            steps.append((i, j, alpha[i], alpha[j], b, dual))
            changed = True
        passes = 0 if changed else passes + 1

    certificate = measure(alpha, b, K @ (alpha * y), y, np.full(n, float(C)))
    if passes < max_passes:
        advice = f"raise max_sweeps = {max_sweeps}, or use solve_dual"
        warn_not_converged("simplified_smo", "KKT violation", certificate.violation, tol, advice)
    columns = np.array(steps).reshape(-1, 6).T
    return DualResult(
        alpha=alpha,
        b=b,
        objective=certificate.primal,
        bound=certificate.dual,
        violation=certificate.violation,
        converged=passes == max_passes,
        n_iter=sweeps,
        history=dict(zip(("i", "j", "alpha_i", "alpha_j", "b", "dual"), columns, strict=True)),
    )


def _move_pair(
    i: int, j: int, E_i: float, alpha: Vector, b: float, K: Matrix, y: Vector, C: float
) -> tuple[Vector, float, float] | None:
    """Return the new (α, b) and the gain of the dual, or None where the pair is to be skipped."""
    L, H = bounds(alpha[i], alpha[j], y[i], y[j], C)
    curvature = eta(i, j, K)
    if L == H or curvature >= 0.0:
        return None
    E_j = error(j, alpha, b, K, y)
    alpha_j = new_alpha_j(alpha[j], y[j], E_i, E_j, curvature, L, H)
    move = alpha_j - alpha[j]
    if abs(move) < MIN_STEP:
        return None
    new = alpha.copy()
    new[j] = alpha_j
    new[i] = clip(new_alpha_i(alpha[i], alpha[j], alpha_j, y[i], y[j]), 0.0, C)  # rounding only
    b = thresholds(i, j, alpha, new, E_i, E_j, b, K, y, C)
    return new, b, float(move * (y[j] * (E_i - E_j) + 0.5 * curvature * move))


def solve_dual(
    K: Matrix | KernelGram,
    y: Vector,
    C: float | Vector = 1.0,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
) -> DualResult:
    """Solve the soft-margin dual with the second-order choice of pairs (B4, C21).

    i is the largest r in I_up and j the element of I_low that gains most, eq-smo-gain (Fan, Chen
    and Lin 2005); both move by eq-smo-step. The loop stops when the violation (eq-violation) is at
    most ``tol``, and that is checked again from scratch in float64 before the function returns.

    Parameters
    ----------
    K : (n, n) Gram matrix, symmetric, or a :class:`svmlab.gram.KernelGram`, which has no more rows
        in memory than it is allowed to
    y : (n,) signs
    C : cost of slack: one number, or one an example (class and sample weights)
    tol : largest KKT violation accepted
    max_iter : largest number of steps; by default 10⁷ or 100 n, whichever is more

    Returns
    -------
    DualResult
        ``objective`` is the primal's, ``bound`` the dual's: the optimum lies between them.
        ``history`` has ``step``, ``dual`` and ``violation``.

    >>> K = np.outer([2.0, -1.0], [2.0, -1.0])
    >>> result = solve_dual(K, np.array([1.0, -1.0]), C=10.0)
    >>> result.alpha.round(6), round(result.b, 6), result.converged
    (array([0.222222, 0.222222]), -0.333333, True)
    """
    gram = as_gram(K)
    n = gram.n
    y = check_signs(y, n)
    costs = check_costs(C, n)
    if not costs.all():
        check_signs(y[costs > 0], int(np.sum(costs > 0)), "y where C > 0")
    check_nonnegative(tol=tol)
    check_count(max_iter=1 if max_iter is None else max_iter)
    limit = max(10_000_000, 100 * n) if max_iter is None else max_iter

    alpha, r, violation, n_iter, history = climb(gram, np.arange(n), y, costs, y, tol, limit)
    b = intercept(r, alpha, costs, *movable(alpha, y, costs))
    primal, dual = both_objectives(alpha, b, y - r, y, costs)
    if violation > tol:
        advice = f"{n_iter} steps were not enough: raise max_iter, scale the data or lower C"
        warn_not_converged("solve_dual", "KKT violation", violation, tol, advice)
    return DualResult(
        alpha=alpha,
        b=b,
        objective=primal,
        bound=dual,
        violation=violation,
        converged=violation <= tol,
        n_iter=n_iter,
        history=history,
    )
