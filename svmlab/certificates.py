"""Proof that a solution is one: the KKT conditions one by one, the violation, the duality gap.

Everything is computed in float64 from the data and the answer alone, never from a solver's state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmlab.dual import dual_objective, intercept_interval, movable, residuals
from svmlab.losses import hinge_loss
from svmlab.types import Matrix, Vector
from svmlab.validation import check_costs, check_gram, check_signs, check_vector


class Certificate(NamedTuple):
    """How well (α, b) solves a dual problem; all but the two objectives are 0 at the optimum."""

    box: float
    equality: float
    violation: float
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Primal minus dual objective."""
        return self.primal - self.dual


def certify(alpha: Vector, b: float, K: Matrix, y: Vector, C: float | Vector = 1.0) -> Certificate:
    r"""Measure how well (α, b) solves the soft-margin dual for the Gram matrix K (C20, B3).

    For feasible α and b in its interval, with violation v,

    .. math:: 0 \le P - D \le \max(v, 0) \sum_i C_i  \tag{eq-gap-bound}

    >>> K = np.outer([2.0, -1.0], [2.0, -1.0])
    >>> c = certify(np.array([2 / 9, 2 / 9]), -1 / 3, K, np.array([1.0, -1.0]), C=10.0)
    >>> abs(c.gap) < 1e-12 and abs(c.violation) < 1e-12
    True
    """
    K = check_gram(K)
    y = check_signs(y, len(K))
    alpha = check_vector(alpha, "alpha", len(K))
    return measure(alpha, b, K @ (alpha * y), y, check_costs(C, len(K)))


def measure(alpha: Vector, b: float, f: Vector, y: Vector, C: Vector) -> Certificate:
    """Do as :func:`certify` for the values f = K (α y) at hand: solvers end with it (C20).

    >>> measure(np.zeros(2), 0.0, np.zeros(2), np.array([1.0, -1.0]), np.full(2, 3.0)).gap
    6.0
    """
    highest, lowest = intercept_interval(y - f, *movable(alpha, y, C))
    primal, dual = both_objectives(alpha, b, f, y, C)
    return Certificate(
        box=box_violation(alpha, C),
        equality=equality_violation(alpha, y),
        violation=highest - lowest,
        primal=primal,
        dual=dual,
    )


def both_objectives(
    alpha: Vector, b: float, f: Vector, y: Vector, C: Vector
) -> tuple[float, float]:
    r"""Return the primal and the dual value for f = K (α y): they enclose the optimum (C20).

    .. math::
        P &= \tfrac12 \sum_i \alpha_i y_i f_i + \sum_i C_i \max(0, 1 - y_i (f_i + b))\\
        D &= \sum_i \alpha_i - \tfrac12 \sum_i \alpha_i y_i f_i

    >>> both_objectives(np.zeros(2), 0.0, np.zeros(2), np.array([1.0, -1.0]), np.full(2, 3.0))
    (6.0, 0.0)
    """
    energy = float(0.5 * (alpha * y) @ f)
    return energy + float(C @ hinge_loss(y * (f + b))), float(alpha.sum()) - energy


def box_violation(alpha: Vector, C: float | Vector) -> float:
    r"""Return how far α leaves its box: dual feasibility, first half (C8, B3).

    .. math:: 0 \le \alpha_i \le C_i  \tag{eq-box}

    >>> box_violation(np.array([0.5, 1.25]), 1.0)
    0.25
    """
    return float(max(0.0, np.max(-alpha), np.max(alpha - C)))


def equality_violation(alpha: Vector, y: Vector) -> float:
    r"""Return how far α leaves the hyperplane of the bias: dual feasibility, second half (C10, B1).

    .. math:: \sum_i \alpha_i y_i = 0  \tag{eq-equality}

    >>> equality_violation(np.array([1.0, 0.5]), np.array([1.0, -1.0]))
    0.5
    """
    return float(abs(alpha @ y))


def stationarity_violation(w: Vector, alpha: Vector, X: Matrix, y: Vector) -> float:
    r"""Return how far w is from the weights that α prescribes: Lagrangian optimality (C8, B1).

    .. math:: \|w - \textstyle\sum_i \alpha_i y_i x_i\|_\infty = 0  \tag{eq-stationarity}

    >>> stationarity_violation(np.array([1.0]), np.array([2.0]), np.array([[0.5]]), np.ones(1))
    0.0
    """
    return float(np.abs(w - X.T @ (alpha * y)).max())


def primal_infeasibility(margins: Vector, xi: Vector | float = 0.0) -> float:
    r"""Return how far margins and slack break the primal constraints: primal feasibility (C8).

    .. math:: m_i \ge 1 - \xi_i,\qquad \xi_i \ge 0  \tag{eq-primal-feasible}

    >>> round(primal_infeasibility(np.array([1.0, 0.7]), np.array([0.0, 0.2])), 10)
    0.1
    """
    return float(max(0.0, np.max(1.0 - xi - margins), np.max(-np.asarray(xi))))


def complementarity_violation(
    margins: Vector, alpha: Vector, C: float | Vector = np.inf, xi: Vector | float = 0.0
) -> float:
    r"""Return the largest product of a multiplier and the slack of its constraint (C8, B1).

    .. math:: \alpha_i (m_i - 1 + \xi_i) = 0,\qquad (C_i - \alpha_i)\, \xi_i = 0
        \tag{eq-complementarity}

    The hard margin is ξ = 0 with C = ∞: a point off the two hyperplanes has α = 0.

    >>> complementarity_violation(np.array([1.0, 3.0]), np.array([5.0, 0.0]))
    0.0
    >>> complementarity_violation(np.array([1.0, 3.0]), np.array([5.0, 0.5]))
    1.0
    """
    xi = np.broadcast_to(np.asarray(xi, dtype=np.float64), margins.shape)
    room = np.broadcast_to(np.asarray(C), margins.shape) - alpha
    with_slack = xi != 0.0
    second = np.abs(room[with_slack] * xi[with_slack])
    return float(max(np.max(np.abs(alpha * (margins - 1.0 + xi))), second.max(initial=0.0)))


def kkt_violation(alpha: Vector, K: Matrix, y: Vector, C: float | Vector) -> float:
    r"""Return by how much the conditions on α overlap, whatever b is; ≤ 0 at the optimum (B3).

    .. math:: v = \max_{I_{\text{up}}} r_i - \min_{I_{\text{low}}} r_i  \tag{eq-violation}

    It is the largest rᵢ − rⱼ of a pair that can still move; SMO stops when it is at most ``tol``.

    >>> kkt_violation(np.zeros(2), np.eye(2), np.array([1.0, -1.0]), 1.0)
    2.0
    """
    highest, lowest = intercept_interval(residuals(alpha, K, y), *movable(alpha, y, C))
    return highest - lowest


def margin_violations(
    margins: Vector, alpha: Vector, C: float | Vector, at_bound: float = 0.0
) -> Vector:
    r"""Return for each example how far it breaks its own KKT condition, given b (B3).

    .. math::
        \alpha_i = 0 \Rightarrow m_i \ge 1,\quad \alpha_i = C \Rightarrow m_i \le 1,\quad
        0 < \alpha_i < C \Rightarrow m_i = 1  \tag{eq-kkt}

    ``at_bound`` counts α within that share of C as being on the bound.

    >>> margin_violations(np.array([0.8, 0.8, 1.5]), np.array([0.0, 1.0, 0.5]), 1.0).round(3)
    array([0.2, 0. , 0.5])
    """
    near = at_bound * np.where(np.isinf(C), 0.0, C)
    below = np.where(alpha < C - near, 1.0 - margins, 0.0)
    above = np.where(alpha > near, margins - 1.0, 0.0)
    return np.maximum(0.0, np.maximum(below, above))


def kernel_primal_objective(
    alpha: Vector, b: float, K: Matrix, y: Vector, C: float | Vector
) -> float:
    r"""Return the primal objective of the machine that α and b describe (C10, C20).

    .. math:: P = \tfrac12 \sum_{i,j} \alpha_i\alpha_j y_i y_j K_{ij} + \sum_i C_i\, \xi_i
        \tag{eq-kernel-primal}

    >>> kernel_primal_objective(np.zeros(2), 0.0, np.eye(2), np.array([1.0, -1.0]), 3.0)
    6.0
    """
    f = K @ (alpha * y)
    costs = check_costs(C, len(y))
    return float(0.5 * (alpha * y) @ f + costs @ hinge_loss(y * (f + b)))


def duality_gap(alpha: Vector, b: float, K: Matrix, y: Vector, C: float | Vector) -> float:
    r"""Return primal minus dual objective: strong duality makes it 0 at the optimum (C20).

    .. math:: P(\alpha, b) - D(\alpha) \ge P^* - D^* = 0  \tag{eq-gap}

    >>> duality_gap(np.zeros(2), 0.0, np.eye(2), np.array([1.0, -1.0]), 3.0)
    6.0
    """
    return kernel_primal_objective(alpha, b, K, y, C) - dual_objective(alpha, K, y)
