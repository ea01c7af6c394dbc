"""The SVM problems in the standard form of quadratic programming, solved by Clarabel.

An independent reference: nothing here knows what a margin is. Needs clarabel and scipy
(``pip install svmlab[qp]``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmlab.certificates import certify, complementarity_violation, primal_infeasibility
from svmlab.margins import functional_margins
from svmlab.primal import primal_objective, slack
from svmlab.types import DualResult, Matrix, PrimalResult, Vector, warn_not_converged
from svmlab.validation import check_costs, check_gram, check_matrix, check_signs

ACCEPTED_VIOLATION = 1e-5  # Clarabel's default accuracy is 1e-8, relative to the data


class QP(NamedTuple):
    r"""A convex quadratic program in standard form (C20).

    .. math:: \min_x\ \tfrac12 x^T P x + q^T x \quad\text{where } G x \le h,\ A x = b
        \tag{eq-qp}
    """

    P: Matrix
    q: Vector
    G: Matrix
    h: Vector
    A: Matrix
    b: Vector


class QPSolution(NamedTuple):
    """The minimiser, and the multipliers of its inequalities and equalities."""

    x: Vector
    inequality_multipliers: Vector
    equality_multipliers: Vector


def hard_margin_qp(X: Matrix, y: Vector) -> QP:
    r"""Write the hard margin with unknowns (w, b) (C3, C20).

    .. math:: P = \operatorname{diag}(1, \dots, 1, 0),\ q = 0,\quad
        G = -(y_i x_i,\ y_i),\ h = -1  \tag{eq-hard-qp}

    >>> hard_margin_qp(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])).G
    array([[-2., -1.], [-1.,  1.]])
    """
    X = check_matrix(X)
    n, d = X.shape
    y = check_signs(y, n)
    return QP(
        P=np.diag(np.append(np.ones(d), 0.0)),
        q=np.zeros(d + 1),
        G=-np.column_stack((y[:, None] * X, y)),
        h=-np.ones(n),
        A=np.zeros((0, d + 1)),
        b=np.zeros(0),
    )


def soft_margin_qp(X: Matrix, y: Vector, C: float | Vector = 1.0) -> QP:
    r"""Write the soft margin with unknowns (w, b, ξ) (S1, C5, M6, C20).

    .. math:: \tfrac12\|w\|^2 + \sum_i C_i \xi_i \quad\text{where }
        {-y_i}(w \cdot x_i + b) - \xi_i \le -1,\ {-\xi_i} \le 0  \tag{eq-soft-qp}

    >>> soft_margin_qp(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]), 3.0).q
    array([0., 0., 3., 3.])
    """
    hard = hard_margin_qp(X, y)
    n, unknowns = hard.G.shape
    total = unknowns + n
    P = np.zeros((total, total))
    P[:unknowns, :unknowns] = hard.P
    return QP(
        P=P,
        q=np.append(hard.q, check_costs(C, n)),
        G=np.block([[hard.G, -np.eye(n)], [np.zeros((n, unknowns)), -np.eye(n)]]),
        h=np.append(hard.h, np.zeros(n)),
        A=np.zeros((0, total)),
        b=np.zeros(0),
    )


def dual_qp(K: Matrix, y: Vector, C: float | Vector = 1.0) -> QP:
    r"""Write the dual with unknowns α, as a minimisation (C20, B1).

    .. math:: P_{ij} = y_i y_j K_{ij},\ q = -1,\quad
        -\alpha \le 0,\ \alpha \le C,\quad y^T \alpha = 0  \tag{eq-dual-qp}

    >>> dual_qp(np.eye(2), np.array([1.0, -1.0]), 3.0).h
    array([-0., -0.,  3.,  3.])
    """
    K = check_gram(K)
    n = len(K)
    y = check_signs(y, n)
    return QP(
        P=K * np.outer(y, y),
        q=-np.ones(n),
        G=np.vstack((-np.eye(n), np.eye(n))),
        h=np.append(-np.zeros(n), check_costs(C, n)),
        A=y[None, :],
        b=np.zeros(1),
    )


def solve_qp(qp: QP) -> QPSolution:
    """Solve a quadratic program with Clarabel at its default tolerance (C20, M8).

    >>> solve_qp(hard_margin_qp(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]))).x.round(6)
    array([ 0.666667, -0.333333])
    """
    import clarabel
    from scipy import sparse

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    equalities = len(qp.b)
    cones = [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(len(qp.h))]
    rows = sparse.csc_matrix(np.vstack((qp.A, qp.G)))
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(qp.P)), qp.q, rows, np.append(qp.b, qp.h), cones, settings
    )
    solution = solver.solve()
    status = str(solution.status)
    if "Infeasible" in status:
        raise ValueError("the problem has no solution: its constraints contradict each other")
    if status not in ("Solved", "AlmostSolved"):
        raise RuntimeError(f"Clarabel stopped with status {status}")
    z = np.array(solution.z)
    return QPSolution(np.array(solution.x), z[equalities:], z[:equalities])


def solve_hard_margin(X: Matrix, y: Vector) -> PrimalResult:
    """Return the hyperplane of the largest margin, formulation 2 (C3, G1).

    >>> result = solve_hard_margin(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]))
    >>> result.w.round(6), round(result.b, 6), result.alpha.round(6)
    (array([0.666667]), -0.333333, array([0.222222, 0.222222]))
    """
    qp = hard_margin_qp(X, y)
    try:
        solution = solve_qp(qp)
    except ValueError:
        raise ValueError(
            "X, y must be linearly separable for the hard margin; use the soft margin"
        ) from None
    w, b = solution.x[:-1], float(solution.x[-1])
    alpha = np.maximum(solution.inequality_multipliers, 0.0)
    margins = functional_margins(check_matrix(X), y, w, b)
    objective = float(0.5 * w @ w)
    signed = X.T @ (alpha * y)
    violation = max(
        primal_infeasibility(margins),
        complementarity_violation(margins, alpha) / max(1.0, objective),
    )
    return _primal_result(w, b, alpha, objective, alpha.sum() - 0.5 * signed @ signed, violation)


def solve_soft_margin(X: Matrix, y: Vector, C: float | Vector = 1.0) -> PrimalResult:
    """Solve the soft margin as a quadratic program in (w, b, ξ) (S1, C5, M8).

    >>> result = solve_soft_margin(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]), C=10.0)
    >>> result.w.round(6), round(result.b, 6)
    (array([0.666667]), -0.333333)
    """
    X = check_matrix(X)
    n, d = X.shape
    costs = check_costs(C, n)
    solution = solve_qp(soft_margin_qp(X, y, C))
    w, b = solution.x[:d], float(solution.x[d])
    alpha = np.clip(solution.inequality_multipliers[:n], 0.0, costs)
    objective = primal_objective(w, b, X, y, costs)
    signed = X.T @ (alpha * y)
    margins = functional_margins(X, y, w, b)
    violation = complementarity_violation(margins, alpha, costs, slack(X, y, w, b))
    bound = alpha.sum() - 0.5 * signed @ signed
    return _primal_result(w, b, alpha, objective, bound, violation / max(1.0, objective))


def solve_dual_qp(K: Matrix, y: Vector, C: float | Vector = 1.0) -> DualResult:
    """Solve the dual as a quadratic program; b is the multiplier of Σ αy = 0 (C20, B1).

    >>> K = np.outer([2.0, -1.0], [2.0, -1.0])
    >>> result = solve_dual_qp(K, np.array([1.0, -1.0]), C=10.0)
    >>> result.alpha.round(6), round(result.b, 6)
    (array([0.222222, 0.222222]), -0.333333)
    """
    solution = solve_qp(dual_qp(K, y, C))
    alpha = np.clip(solution.x, 0.0, check_costs(C, len(y)))
    b = float(solution.equality_multipliers[0])
    certificate = certify(alpha, b, K, y, C)
    violation = max(certificate.gap / max(1.0, abs(certificate.dual)), certificate.equality)
    _check_accuracy(violation)
    return DualResult(
        alpha=alpha,
        b=b,
        objective=certificate.primal,
        bound=certificate.dual,
        violation=violation,
        converged=violation <= ACCEPTED_VIOLATION,
        n_iter=1,
    )


def _primal_result(
    w: Vector, b: float, alpha: Vector, objective: float, bound: float, violation: float
) -> PrimalResult:
    _check_accuracy(violation)
    return PrimalResult(
        w=w,
        b=b,
        alpha=alpha,
        objective=objective,
        bound=float(bound),
        violation=violation,
        converged=violation <= ACCEPTED_VIOLATION,
        n_iter=1,
    )


def _check_accuracy(violation: float) -> None:
    if violation > ACCEPTED_VIOLATION:
        warn_not_converged(
            "Clarabel", "relative KKT violation", violation, ACCEPTED_VIOLATION, "scale the data"
        )
