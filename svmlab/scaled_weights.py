"""Weights w = s·v that learn sparse rows cheaply, with a lower bound on what they minimise.

Pegasos and SVM-SGD both move such weights; they differ in the rows they pick and in the rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from svmlab._sgd_jit import decayed_steps
from svmlab.dual import weights_from_alpha
from svmlab.primal import cost, regularized_risk
from svmlab.rows import form_for, pieces, row_arrays
from svmlab.types import Indices, Rows, Vector
from svmlab.validation import check_costs


class ScaledWeights:
    r"""Weights that decay in O(1) and learn a row in O(its non-zeros) (M12).

    .. math::
        w = s\,v:\qquad s \leftarrow (1 - \eta\lambda)\, s,\qquad
        v \leftarrow v + \frac{\eta}{s}\, y_i x_i \ \text{ if } y_i\, w \cdot x_i < 1
        \tag{eq-scaled-weights}

    The decay comes first, so that it does not shrink the new term, and the new term is divided by
    the new s. Where s vanishes (Pegasos' first step) it is multiplied into v, and is 1 again.

    The other way to spare the decay is to leave it out for m steps and then to apply it at once,
    w ← (1 − mηλ)w. That is an approximation, and each m-th step still touches all of w.

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    y : (n,) signs
    lam : the regulariser
    share : (n,) how often the gradient of each row counts (:func:`shares`)
    n_visits : how many rows will be read; few rows are read by uncompiled code

    >>> machine = ScaledWeights(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]), 0.5, np.ones(2))
    >>> machine.step(np.array([[0], [1]]), np.array([2.0, 1.0]))
    >>> machine.w, machine.s
    (array([2.]), 0.5)
    """

    def __init__(self, X: Rows, y: Vector, lam: float, share: Vector, n_visits: int = 0) -> None:
        self.X, self.y, self.lam, self.share = X, y, lam, share
        self._rows = row_arrays(X)
        self._take_steps = form_for(decayed_steps, self._rows, n_visits)
        self.s = 1.0
        self.v = np.zeros(X.shape[1])
        self._alpha = np.zeros(len(y))

    @property
    def w(self) -> Vector:
        """The weights themselves."""
        return self.s * self.v

    @property
    def alpha(self) -> Vector:
        """How much of each row is in w = Σ αᵢyᵢxᵢ."""
        return self.s * self._alpha

    def step(self, batches: Indices, rates: Vector, radius: float = np.inf) -> None:
        """Take one step for each row of ``batches`` (steps, k) at the rate of the same index."""
        problem, k = (self._rows, self.y, self.share), batches.shape[1]
        for piece in pieces(self._rows, len(rates), k):
            state = self.v, self._alpha, self.s
            some = batches[piece], rates[piece]
            self.s = float(self._take_steps(*state, *problem, *some, self.lam, radius))

    def objective(self) -> float:
        """Return the regularised risk of w."""
        return regularized_risk(self.w, self.X, self.y, self.lam, self.share)

    def bound(self) -> float:
        """Return a lower bound on the smallest regularised risk, from the rows that w is made of.

        Cut to the box, their α is feasible in the dual.
        """
        return dual_bound(self.alpha, self.X, self.y, self.lam, self.share, self.w)


def shares(sample_weight: ArrayLike | None, n: int) -> Vector:
    r"""Return how often the gradient of each row is to count, 1 on average (S5, S9).

    .. math:: c_i = \frac{n\,\omega_i}{\sum_j \omega_j},\qquad
        \mathbb E_i[c_i\, \partial\ell_i] = \partial \frac{\sum_j \omega_j \ell_j}{\sum_j \omega_j}
        \tag{eq-shares}

    Rows are drawn uniformly all the same; the step of row i is c_i times as long.

    >>> shares([3.0, 1.0], 2)
    array([1.5, 0.5])
    """
    weights = check_costs(1.0 if sample_weight is None else sample_weight, n, "sample_weight")
    return np.asarray(weights / weights.mean())


def dual_bound(
    alpha: Vector,
    X: Rows,
    y: Vector,
    lam: float,
    share: Vector | float = 1.0,
    w: Vector | None = None,
) -> float:
    r"""Return a lower bound on the smallest regularised risk, from any α (S9, C20).

    .. math::
        & \lambda\, \max_{0 \le \tau \le 1} \Big( \tau \sum_i \alpha_i
        - \tfrac{\tau^2}2 \big\| \sum_i \alpha_i y_i x_i \big\|^2 \Big) \le \min_w F(w),\\
        & \alpha_i \leftarrow \min(\max(\alpha_i, 0),\ \tfrac{c_i}{n\lambda})
        \tag{eq-risk-bound}

    It is the dual objective times λ; without an intercept, the box is all that the dual asks for.
    A solver that has kept w = Σ αyx passes it: then it is not computed again unless α is cut.

    >>> dual_bound(np.array([1 / 4, 0.0]), np.array([[2.0], [-3.0]]), np.array([1.0, -1.0]), 0.1)
    0.0125
    """
    n = X.shape[0]
    inside = np.clip(alpha, 0.0, share * cost(lam, n, "lambda/2"))
    if w is None or not np.array_equal(inside, alpha):
        w = weights_from_alpha(inside, X, y)
    total, squared_norm = inside.sum(), w @ w
    tau = 1.0 if squared_norm <= total else total / squared_norm
    return float(lam * (tau * total - 0.5 * tau**2 * squared_norm))
