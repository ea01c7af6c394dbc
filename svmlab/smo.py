"""Sequential minimal optimisation, twice: to read, and to use.

:func:`simplified_smo` follows the lecture line by line (B4-B9), each step a function of its own.
:func:`solve_dual` is the one to use: it picks the pair that gains most and proves its answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmlab._gram_jit import add_long_rows
from svmlab._smo_jit import loop_for, minimise
from svmlab.certificates import measure
from svmlab.decomposition import steepest_set
from svmlab.dual import intercept, intercept_interval, movable
from svmlab.gram import Gram, KernelGram, WholeGram, as_gram
from svmlab.types import DualResult, Indices, Matrix, Vector, warn_not_converged
from svmlab.validation import (
    check_costs,
    check_count,
    check_gram,
    check_nonnegative,
    check_positive,
    check_signs,
)

MIN_STEP = 1e-5  # a smaller move of alpha_j counts as none
MAX_REFRESHES = 20
WHOLE = 1024  # variables at most that are one working set
LARGEST_SET = 512  # variables of a working set; at most one in eight
STEPS_A_VARIABLE = 100  # at most, in one round
INNER_SHARE = 0.1  # a round ends when its violation has fallen to that share


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
        y_i \ne y_j:\ & L = \max(0, \alpha_j - \alpha_i),\ & H = \min(C, C + \alpha_j - \alpha_i)\\
        y_i = y_j:\ & L = \max(0, \alpha_i + \alpha_j - C),\ & H = \min(C, \alpha_i + \alpha_j)
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
        \alpha_j^{new} = \operatorname{clip}\bigl(\alpha_j - y_j (E_i - E_j)/\eta,\ L,\ H\bigr)
        \tag{eq-smo-alpha-j}

    >>> new_alpha_j(0.0, -1.0, -1.0, 1.0, -2.0, 0.0, 5.0)
    1.0
    """
    return clip(alpha_j - y_j * (E_i - E_j) / eta, L, H)


def new_alpha_i(
    alpha_i: float, alpha_j: float, alpha_j_new: float, y_i: float, y_j: float
) -> float:
    r"""Return the α_i that keeps Σ αy = 0 after α_j has moved (B7).

    .. math:: \alpha_i^{new} = \alpha_i + y_i y_j (\alpha_j - \alpha_j^{new})  \tag{eq-smo-alpha-i}

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

    It stops after ``max_passes`` sweeps in a row without a change. With a random partner that
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

    i is the largest r in I_up and j the element of I_low that gains most (eq-smo-gain; Fan, Chen
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
    check_signs(y[costs > 0], int(np.sum(costs > 0)), "y where C > 0")
    check_nonnegative(tol=tol)
    check_count(max_iter=1 if max_iter is None else max_iter)
    limit = max(10_000_000, 100 * n) if max_iter is None else max_iter

    alpha, r, violation, n_iter, history = climb(gram, np.arange(n), y, costs, y, tol, limit)
    b = intercept(r, alpha, costs, *movable(alpha, y, costs))
    certificate = measure(alpha, b, y - r, y, costs)
    if violation > tol:
        advice = f"{n_iter} steps were not enough: raise max_iter, scale the data or lower C"
        warn_not_converged("solve_dual", "KKT violation", violation, tol, advice)
    return DualResult(
        alpha=alpha,
        b=b,
        objective=certificate.primal,
        bound=certificate.dual,
        violation=violation,
        converged=violation <= tol,
        n_iter=n_iter,
        history=history,
    )


class _Whole:
    """One working set of all variables: their Gram matrix is there, and r stays up to date."""

    def __init__(self, gram: Gram, rows: Indices, y: Vector, C: Vector) -> None:
        self.K, self.y, self.C = gram.block(rows), y, C

    def improve(
        self, alpha: Vector, r: Vector, violation: float, tol: float, n_iter: int, limit: int
    ) -> int:
        """Move pairs, in place, until it is time to look at the progress; return their number."""
        loop = loop_for(n_iter, len(alpha))
        limit = min(limit, max(len(alpha) if loop is minimise.compiled else 1, n_iter // 10))
        steps, _ = loop(self.K, self.y, self.C, alpha, r, tol, limit)
        return int(steps)

    def residuals(self, alpha: Vector, targets: Vector) -> Vector:
        """Return r from scratch (eq-residual)."""
        return targets - self.K @ (alpha * self.y)


class _Rounds:
    """Working sets of the worst violators and of half of the last set."""

    def __init__(self, gram: Gram, rows: Indices, y: Vector, C: Vector) -> None:
        self.gram, self.rows, self.y, self.C = gram, rows, y, C
        self.dtype = gram.precision()
        self.size = min(LARGEST_SET, len(y) // 8)
        self.chosen = np.arange(0)

    def improve(
        self, alpha: Vector, r: Vector, violation: float, tol: float, n_iter: int, limit: int
    ) -> int:
        """Do one round, in place; return the number of steps."""
        chosen = self.chosen = self._choose(alpha, r)
        kept, places = self.gram.fetch(self.rows[chosen], self.dtype)
        K = self.gram.block(self.rows[chosen])
        y, C, inner = self.y[chosen], self.C[chosen], alpha[chosen]
        enough = max(0.5 * tol, INNER_SHARE * violation)
        limit = min(limit, STEPS_A_VARIABLE * len(chosen))
        steps, _ = minimise(K, y, C, inner, r[chosen], enough, limit)

        change = (inner - alpha[chosen]) * y
        alpha[chosen] = inner
        moved, pull = np.flatnonzero(change), np.zeros(self.gram.n)
        add_long_rows(pull, change[moved], kept, places[moved])
        r -= pull[self.rows]  # (eq-residual)
        return int(steps)

    def _choose(self, alpha: Vector, r: Vector) -> Indices:
        """Return half of the last set, free variables first, and the steepest of the others."""
        size, last = min(self.size, self.gram.capacity(self.dtype)), self.chosen
        free = (alpha[last] > 0.0) & (alpha[last] < self.C[last])
        stay = last[np.argsort(~free, kind="stable")[: size // 2]]
        up, low = movable(alpha, self.y, self.C)
        highest, lowest = intercept_interval(r, up, low)
        up &= r > lowest  # others violate nothing
        low &= r < highest
        up[stay] = low[stay] = False
        return np.concatenate((steepest_set(r, up, low, size - len(stay)), stay))

    def residuals(self, alpha: Vector, targets: Vector) -> Vector:
        """Return r from scratch, from kernel values in float64; rounds go on with such."""
        self.dtype = np.float64
        signed = np.zeros(self.gram.n)
        np.add.at(signed, self.rows, alpha * self.y)
        return targets - self.gram.times(signed)[self.rows]


class Climb(NamedTuple):
    """Where :func:`climb` arrived; ``r`` and ``violation`` are computed from scratch."""

    alpha: Vector
    r: Vector
    violation: float
    n_iter: int
    history: dict[str, Vector]


def climb(
    K: Matrix | Gram,
    rows: Indices,
    y: Vector,
    C: Vector,
    targets: Vector,
    tol: float,
    max_iter: int,
) -> Climb:
    r"""Maximise a dual with one equality and a box by moving pairs; nothing is validated (B2, C18).

    .. math:: \max_\alpha\ \sum_k \alpha_k y_k \tau_k - \tfrac12 \sum_{k,l} \alpha_k\alpha_l y_k y_l
        K_{kl}\quad\text{where } \sum_k \alpha_k y_k = 0,\ 0 \le \alpha_k \le C_k
        \tag{eq-pair-dual}

    Classification has τ = y; regression has two variables an example, with τ = y ∓ ε.

    Pairs move inside a working set. A small problem is one working set. A large one is solved by
    rounds: the variables that violate most join half of the last set (eq-working-set), the kernel
    rows of the set are fetched, pairs of the set move, and the residuals of all follow once. Rows
    may be float32; what they have added up to is computed anew in float64 before anything is
    claimed, and if it does not hold the rounds go on with rows in float64.

    Parameters
    ----------
    K : (n, n) Gram matrix, or a source of its rows
    rows : (m,) row of K that belongs to each variable
    y, C, targets : (m,) sign, upper bound and τ of each variable
    tol, max_iter : stop when the violation is at most tol, or after so many steps

    >>> K = np.outer([2.0, -1.0], [2.0, -1.0])
    >>> y = np.array([1.0, -1.0])
    >>> climb(K, np.arange(2), y, np.full(2, 10.0), y, 1e-6, 100).alpha.round(6)
    array([0.222222, 0.222222])
    """
    gram = WholeGram(K) if isinstance(K, np.ndarray) else K
    work = (_Whole if len(y) <= WHOLE else _Rounds)(gram, rows, y, C)
    alpha, r = np.zeros(len(y)), targets.copy()
    n_iter, refreshes, fresh, history = 0, 0, True, [(0.0, 0.0, np.inf)]
    while True:
        highest, lowest = intercept_interval(r, *movable(alpha, y, C))
        violation = highest - lowest
        if not fresh:
            history.append((n_iter, 0.5 * float((alpha * y) @ (targets + r)), violation))
        steps = 0
        if violation > tol and n_iter < max_iter and refreshes <= MAX_REFRESHES:
            steps = work.improve(alpha, r, violation, tol, n_iter, max_iter - n_iter)
        if steps:
            n_iter, fresh = n_iter + steps, False
        elif not fresh:
            r = work.residuals(alpha, targets)  # takes out what rounding has added up
            refreshes, fresh = refreshes + 1, True
        else:  # done, or every step is lost in rounding
            columns = dict(zip(("step", "dual", "violation"), np.array(history).T, strict=True))
            return Climb(alpha, r, violation, n_iter, columns)
