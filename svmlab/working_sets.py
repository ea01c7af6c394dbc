"""The loop of :func:`svmlab.smo.solve_dual`: pairs move inside working sets of variables (C21).

A small problem is one working set. A large one is solved by rounds, which ask for the kernel values
of one working set and for the rows of the variables that moved.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from svmlab._smo_jit import loop_for, minimise
from svmlab.decomposition import steepest_set
from svmlab.dual import intercept_interval, movable
from svmlab.gram import EPS, Gram, WholeGram
from svmlab.threads import one_blas_thread
from svmlab.types import Indices, Mask, Matrix, Vector

MAX_REFRESHES = 20
WHOLE = 1024  # variables at most that are one working set
LARGEST_SET = 512  # variables of a working set; at most one in eight
STEPS_A_VARIABLE = 100  # at most, in one round
INNER_SHARE = 0.1  # a round ends when its violation has fallen to that share


class Climb(NamedTuple):
    """Where :func:`climb` arrived; what ``r`` proves is computed from scratch.

    Not computed from scratch are the entries of ``r`` on which neither ``violation`` nor the
    objectives depend: those of variables at 0 that are well inside their condition.
    """

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

    Classification has τ = y; regression has two variables for each example, with τ = y ∓ ε.

    Pairs move inside a working set. A small problem is one working set. A large one is solved by
    rounds: the variables that violate most join half of the last set (eq-working-set), pairs of the
    set move, and the residuals of all follow once, by the kernel rows of those that moved. Rows
    may be float32; what they have added up to is computed anew in float64 before anything is
    claimed, and if it does not hold the rounds go on with rows in float64. Left out are variables
    at 0 that are so far from being violated that no rounding of their row can have decided it.

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
    if len(y) <= WHOLE:
        return _climb(_Whole(gram, rows, y, C, tol), y, C, targets, tol, max_iter)
    with one_blas_thread():
        return _climb(_Rounds(gram, rows, y, C, tol), y, C, targets, tol, max_iter)


def _climb(
    work: _Whole | _Rounds, y: Vector, C: Vector, targets: Vector, tol: float, max_iter: int
) -> Climb:
    """Improve α until the violation, computed from scratch, is at most tol."""
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
            r = work.residuals(alpha, r, targets)  # takes out what rounding has added up
            refreshes, fresh = refreshes + 1, True
        else:  # done, or every step is lost in rounding
            columns = dict(zip(("step", "dual", "violation"), np.array(history).T, strict=True))
            return Climb(alpha, r, violation, n_iter, columns)


class _Whole:
    """One working set of all variables: their Gram matrix is there, and r stays up to date."""

    def __init__(self, gram: Gram, rows: Indices, y: Vector, C: Vector, tol: float) -> None:
        self.K, self.y, self.C = gram.block(rows), y, C

    def improve(
        self, alpha: Vector, r: Vector, violation: float, tol: float, n_iter: int, limit: int
    ) -> int:
        """Move pairs, in place, until it is time to look at the progress; return their number."""
        loop = loop_for(n_iter, len(alpha))
        limit = min(limit, max(1 if loop is minimise.plain else len(alpha), n_iter // 10))
        steps, _ = loop(self.K, self.y, self.C, alpha, r, tol, limit)
        return int(steps)

    def residuals(self, alpha: Vector, r: Vector, targets: Vector) -> Vector:
        """Return r from scratch (eq-residual)."""
        return targets - self.K @ (alpha * self.y)


class _Rounds:
    """Working sets of the worst violators and of half of the last set."""

    def __init__(self, gram: Gram, rows: Indices, y: Vector, C: Vector, tol: float) -> None:
        self.gram, self.rows, self.y, self.C = gram, rows, y, C
        # In float32 while one variable on its way from 0 to C cannot be wrong by more than tol.
        exact_enough = C.max() * gram.doubt(np.float32, 0) <= tol
        self.dtype: type[np.floating[Any]] = np.float32 if exact_enough else np.float64
        self.size = min(LARGEST_SET, len(y) // 8)
        self.chosen = np.arange(0)
        self.doubt = 0.0  # how wrong r may be

    def improve(
        self, alpha: Vector, r: Vector, violation: float, tol: float, n_iter: int, limit: int
    ) -> int:
        """Do one round, in place; return the number of steps."""
        chosen = self.chosen = self._choose(alpha, r)
        K = self.gram.block(self.rows[chosen], self.dtype)
        y, C, inner = self.y[chosen], self.C[chosen], alpha[chosen]
        enough = max(0.5 * tol, INNER_SHARE * violation)
        limit = min(limit, STEPS_A_VARIABLE * len(chosen))
        steps, _ = minimise(K, y, C, inner, r[chosen], enough, limit)

        signed = np.zeros(self.gram.n)
        np.add.at(signed, self.rows[chosen], (inner - alpha[chosen]) * y)
        alpha[chosen] = inner
        moved = np.flatnonzero(signed)
        r -= self.gram.combine(signed[moved], moved, self.dtype)[self.rows]  # (eq-residual)
        self.doubt += float(np.abs(signed).sum()) * self.gram.doubt(self.dtype, len(chosen))
        self.doubt += EPS * float(np.abs(r).max())
        return int(steps)

    def _choose(self, alpha: Vector, r: Vector) -> Indices:
        """Return half of the last set, free variables first, and the steepest of the others."""
        size, last = self.size, self.chosen
        free = (alpha[last] > 0.0) & (alpha[last] < self.C[last])
        stay = last[np.argsort(~free, kind="stable")[: size // 2]]
        up, low = movable(alpha, self.y, self.C)
        highest, lowest = intercept_interval(r, up, low)
        up &= r > lowest  # others violate nothing
        low &= r < highest
        up[stay] = low[stay] = False
        return np.concatenate((steepest_set(r, up, low, size - len(stay)), stay))

    def residuals(self, alpha: Vector, r: Vector, targets: Vector) -> Vector:
        """Return r anew in float64 wherever it can decide something; rounds go on in float64."""
        self.dtype = np.float64
        signed = np.zeros(self.gram.n)
        np.add.at(signed, self.rows, alpha * self.y)
        is_open = np.zeros(self.gram.n, dtype=bool)
        is_open[self.rows[self._open(alpha, r)]] = True
        pull, again = np.zeros(self.gram.n), is_open[self.rows]
        pull[is_open] = self.gram.times(signed, np.flatnonzero(is_open))
        return np.where(again, targets - pull[self.rows], r)

    def _open(self, alpha: Vector, r: Vector) -> Mask:
        """Tell which variables are in the machine or may violate something.

        ``doubt`` bounds the error of every r. A variable at 0 that is twice as far from both ends
        of the intercept's interval is on the same side of them in truth: it has no loss, and
        neither end is its own.
        """
        up, low = movable(alpha, self.y, self.C)
        ends = intercept_interval(r, up, low)
        near = up & (r > min(ends) - 2.0 * self.doubt)
        near |= low & (r < max(ends) + 2.0 * self.doubt)
        return near | (alpha > 0.0)
