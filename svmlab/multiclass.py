"""More than two classes: one machine a class, or all machines in one problem (S6, S7, M14).

Classes are codes 0 … k − 1. Machine c scores x by f_c(x) = w_c·x + b_c; the highest score wins. The
joint problem is solved in its dual, one example at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from svmlab import _multiclass_jit as loops
from svmlab.rows import dense, squared_norms, take, times, transposed_times, with_bias_column
from svmlab.smo import solve_dual
from svmlab.types import (
    CSR,
    DualResult,
    Indices,
    Matrix,
    PrimalResult,
    Result,
    Rows,
    Vector,
    warn_not_converged,
)
from svmlab.validation import (
    check_codes,
    check_costs,
    check_count,
    check_nonnegative,
    check_positive,
    check_rows,
)

PLAIN_VISITS = 20_000  # examples visited before compiling pays
POLISH_EVERY = 10  # epochs between joint moves of all free multipliers
POLISH_STEPS = 200
POLISH_SIZE = 300  # free multipliers, beyond which a joint move costs too much


@dataclass(frozen=True, kw_only=True)
class MulticlassResult(Result):
    """One machine a class: weights ``W`` (k, d) or coefficients ``coef`` (n, k), intercepts ``b``.

    f_c(x) is ``W[c]``·x + b[c], or Σᵢ ``coef[i, c]`` K(xᵢ, x) + b[c].
    """

    b: Vector
    W: Matrix | None = None
    coef: Matrix | None = None


class JointCertificate(NamedTuple):
    """What multipliers prove about the joint problem."""

    W: Matrix
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Primal minus dual objective."""
        return self.primal - self.dual


def class_scores(X: Rows, W: Matrix, b: Vector | float = 0.0) -> Matrix:
    r"""Return the score of each class at each row, shape (n, k) (S6, M14).

    .. math:: f_c(x) = w_c \cdot x + b_c  \tag{eq-class-scores}

    >>> class_scores(np.array([[1.0, 2.0]]), np.eye(2), np.array([0.0, 5.0]))
    array([[1., 7.]])
    """
    return np.column_stack([times(X, w) for w in W]) + b


def predict_codes(scores: Matrix) -> Indices:
    r"""Return the class with the highest score; the first of those that tie (S6, M14).

    .. math:: \hat y = \arg\max_c\ f_c(x)  \tag{eq-argmax}

    >>> predict_codes(np.array([[0.1, 0.3, 0.2], [1.0, -1.0, 1.0]]))
    array([1, 0])
    """
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def one_versus_rest(
    examples: Any,
    codes: ArrayLike,
    C: float | Vector = 1.0,
    *,
    solve: Callable[[Any, Vector, Vector], DualResult | PrimalResult] = solve_dual,
) -> MulticlassResult:
    r"""Train one binary machine a class, its examples against all others (S6, M14).

    .. math:: \min_{w_c, b_c}\ \tfrac12\|w_c\|^2 + \sum_i C_i
        \max(0,\ 1 - y_i^c f_c(x_i)),\qquad y_i^c = \pm 1 \text{ as } y_i = c \text{ or not}
        \tag{eq-one-versus-rest}

    Parameters
    ----------
    examples : what ``solve`` takes: a Gram matrix for a dual solver, rows for a linear one
    codes : (n,) classes 0 … k − 1, each with an example
    C : cost of slack, one number or one an example
    solve : called as ``solve(examples, y, C)`` for each class

    Returns
    -------
    MulticlassResult
        ``coef`` from a dual solver, ``W`` from a linear one. Objective and bound are sums over the
        classes, the violation is the largest.

    >>> X = np.array([[-2.0], [0.0], [2.0]])
    >>> machines = one_versus_rest(X @ X.T, [0, 1, 2], C=10.0)
    >>> predict_codes(X @ X.T @ machines.coef + machines.b)[[0, 2]]
    array([0, 2])
    """
    n = int(np.shape(codes)[0]) if np.ndim(codes) else 0
    checked = _check_classes(codes, n)
    costs = check_costs(C, n)
    signs = [np.where(checked == c, 1.0, -1.0) for c in range(checked.max() + 1)]
    results = [solve(examples, y, costs) for y in signs]
    coef = [r.alpha * y for r, y in zip(results, signs, strict=True) if r.alpha is not None]
    W = [r.w for r in results if isinstance(r, PrimalResult)]
    return MulticlassResult(
        b=np.array([r.b for r in results]),
        W=np.array(W) if W else None,
        coef=np.column_stack(coef) if coef else None,
        objective=sum(r.objective for r in results),
        bound=sum(r.bound for r in results),
        violation=max(r.violation for r in results),
        converged=all(r.converged for r in results),
        n_iter=sum(r.n_iter for r in results),
    )


def multiclass_slack(scores: Matrix, codes: Indices) -> Vector:
    r"""Return the one slack of each example, which covers all wrong classes (S7, M14).

    .. math:: \xi_i = \max_c\ \bigl(f_c(x_i) + [c \ne y_i]\bigr) - f_{y_i}(x_i)
        \tag{eq-multiclass-slack}

    It is the least ξ ≥ 0 with f_{y}(x) ≥ f_c(x) + 1 − ξ for every c ≠ y.

    >>> multiclass_slack(np.array([[3.0, 1.0, 2.5], [0.0, 2.0, 0.0]]), np.array([0, 1]))
    array([0.5, 0. ])
    """
    own = np.arange(len(codes)), codes
    raised = scores + 1.0
    raised[own] -= 1.0
    return np.asarray(raised.max(axis=1) - scores[own])


def multiclass_objective(
    W: Matrix, X: Rows, codes: Indices, C: float | Vector = 1.0, b: Vector | float = 0.0
) -> float:
    r"""Return the objective of the joint problem (S7, M14).

    .. math:: P(W, b) = \tfrac12 \sum_c \|w_c\|^2 + \sum_i C_i\, \xi_i
        \tag{eq-multiclass-primal}

    M14 writes it so. S7 has no ½: its C is ``svmlab.primal.cost(C, n, "whole")`` = C/2 here, and
    its objective twice this one. For two classes w₁ = −w₀ = w/2, and P is half the objective of the
    binary machine w with cost 2C.

    >>> multiclass_objective(np.eye(2), np.array([[2.0, 0.0], [0.0, 0.5]]), np.array([0, 1]), 10.0)
    6.0
    """
    xi = multiclass_slack(class_scores(X, W, b), codes)
    return float(0.5 * np.sum(W**2) + check_costs(C, X.shape[0]) @ xi)


def class_weights(coef: Matrix, X: Rows) -> Matrix:
    r"""Return the weights (k, d) that belong to coefficients (n, k) (S7).

    .. math:: w_c = \sum_i a_{ic}\, x_i  \tag{eq-multiclass-weights}

    >>> class_weights(np.array([[1.0, -1.0]]), np.array([[3.0, 4.0]]))
    array([[ 3.,  4.], [-3., -4.]])
    """
    return np.array([transposed_times(X, column) for column in coef.T])


def multiclass_infeasibility(coef: Matrix, codes: Indices, C: float | Vector = 1.0) -> float:
    r"""Return how far multipliers leave the feasible set of the joint dual (S7).

    .. math:: a_{ic} \le C_i\,[c = y_i],\qquad \sum_c a_{ic} = 0  \tag{eq-multiclass-box}

    >>> multiclass_infeasibility(np.array([[1.5, -1.25]]), np.array([0]), 1.0)
    0.5
    """
    above = coef - _upper(codes, check_costs(C, len(codes)), coef.shape[1])
    return float(max(0.0, above.max(), np.abs(coef.sum(axis=1)).max()))


def multiclass_dual_objective(coef: Matrix, X: Rows, codes: Indices) -> float:
    r"""Return the dual objective, a lower bound on eq-multiclass-primal without b (S7, C20).

    .. math:: D(a) = \sum_i a_{i y_i} - \tfrac12 \sum_c \Bigl\| \sum_i a_{ic}\, x_i \Bigr\|^2
        \tag{eq-multiclass-dual}

    >>> multiclass_dual_objective(np.array([[0.5, -0.5]]), np.array([[1.0]]), np.array([0]))
    0.25
    """
    own = coef[np.arange(len(codes)), codes].sum()
    return float(own - 0.5 * np.sum(class_weights(coef, X) ** 2))


def certify_joint(
    coef: Matrix, X: Rows, codes: Indices, C: float | Vector = 1.0
) -> JointCertificate:
    r"""Compute from the multipliers alone what they prove about the joint problem (S7, C20).

    .. math:: P(W(a)) - D(a) \ge P^* - D^* = 0  \tag{eq-multiclass-gap}

    >>> X, codes = np.array([[1.0], [-1.0]]), np.array([0, 1])
    >>> certify_joint(np.array([[0.25, -0.25], [-0.25, 0.25]]), X, codes).gap
    0.0
    """
    W = class_weights(coef, X)
    primal = multiclass_objective(W, X, codes, C)
    return JointCertificate(W, primal, multiclass_dual_objective(coef, X, codes))


def joint_multiclass(
    X: Rows,
    codes: ArrayLike,
    C: float | Vector = 1.0,
    *,
    bias: float = 1.0,
    tol: float = 1e-4,
    max_iter: int = 1000,
    rng: np.random.Generator | None = None,
) -> MulticlassResult:
    """Train the machines of all classes in one problem (S7, M14).

    Each step maximises the dual over the k multipliers of one example (eq-multiclass-step); every
    few epochs the free ones move together, which ends the crawl near the optimum.

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    codes : (n,) classes 0 … k − 1, each with an example
    C : cost of slack, one number or one an example
    bias : value of the column that is appended for the intercepts, which are penalised with the
        weights then (M2): the larger it is, the less. 0 means none.
    tol : relative duality gap (P − D)/P at which to stop
    max_iter : epochs at most
    rng : draws the orders; seeded with 0 if not given

    Returns
    -------
    MulticlassResult
        Objective, bound and ``coef`` are those of the problem with the bias column.

    >>> X = np.array([[-2.0], [0.0], [2.0]])
    >>> machines = joint_multiclass(X, [0, 1, 2], C=10.0)
    >>> predict_codes(class_scores(X, machines.W, machines.b))
    array([0, 1, 2])
    """
    X = check_rows(X)
    n, d = X.shape
    y = _check_classes(codes, n)
    costs = check_costs(C, n)
    check_nonnegative(bias=bias)
    check_positive(tol=tol)
    check_count(max_iter=max_iter)
    rows = with_bias_column(X, bias) if bias else X
    coef, history = _ascend(rows, y, costs, tol, max_iter, rng or np.random.default_rng(0))
    proof = certify_joint(coef, rows, y, costs)
    violation = proof.gap / proof.primal
    if violation > tol:
        advice = "raise max_iter, scale the features or lower C"
        warn_not_converged("joint_multiclass", "relative duality gap", violation, tol, advice)
    return MulticlassResult(
        W=proof.W[:, :d].copy(),
        b=bias * proof.W[:, d] if bias else np.zeros(len(proof.W)),
        coef=coef,
        objective=proof.primal,
        bound=proof.dual,
        violation=violation,
        converged=violation <= tol,
        n_iter=len(history["step"]),
        history=history,
    )


def _ascend(
    X: Rows, codes: Indices, costs: Vector, tol: float, max_iter: int, rng: np.random.Generator
) -> tuple[Matrix, dict[str, Vector]]:
    k = int(codes.max()) + 1
    curvatures = squared_norms(X)
    upper = _upper(codes, costs, k)
    zero = (curvatures == 0.0)[:, None]  # such a row has slack 1 whatever W is
    coef = np.where(zero, upper - costs[:, None] * (upper == 0.0) / (k - 1), 0.0)
    visited = np.flatnonzero((curvatures > 0.0) & (costs > 0.0))
    arrays = X[:3] if isinstance(X, CSR) else (X,)
    sweep = loops.sweep_csr if isinstance(X, CSR) else loops.sweep_dense
    progress = []
    for epoch in range(1, max_iter + 1):
        run = sweep.plain if epoch * len(codes) <= PLAIN_VISITS else sweep
        order = rng.permutation(visited)
        run(*arrays, codes, costs, curvatures, order, coef, class_weights(coef, X))
        if epoch % POLISH_EVERY == 0:
            coef = _move_together(coef, X, codes, upper)
        proof = certify_joint(coef, X, codes, costs)
        progress.append((epoch, proof.primal, proof.dual, proof.gap / proof.primal))
        if proof.gap <= tol * proof.primal:
            break
    names = ("step", "objective", "bound", "violation")
    return coef, dict(zip(names, np.array(progress, dtype=np.float64).T, strict=True))


def _move_together(coef: Matrix, X: Rows, codes: Indices, upper: Matrix) -> Matrix:
    """Move all multipliers below their bounds by Newton steps, each up to the first bound."""
    for _ in range(POLISH_STEPS):
        reference = (upper - coef).argmax(axis=1)  # takes up what keeps the row's sum at 0
        free = coef < upper
        free[np.arange(len(codes)), reference] = False
        i, c = np.nonzero(free)
        if not 0 < i.size <= POLISH_SIZE:
            break
        step = _newton_step(coef, X, codes, i, c, reference[i])
        rooms = np.divide(upper - coef, step, out=np.full(step.shape, np.inf), where=step > 0.0)
        t = min(1.0, float(rooms.min()))
        coef = np.where(rooms <= t, upper, np.minimum(coef + t * step, upper))
        if t == 1.0:
            break
    return coef


def _newton_step(
    coef: Matrix, X: Rows, codes: Indices, i: Indices, c: Indices, r: Indices
) -> Matrix:
    """Maximise the dual along the directions that raise a_ic and lower a_ir by as much."""
    raised = class_scores(X, class_weights(coef, X)) + 1.0
    raised[np.arange(len(codes)), codes] -= 1.0
    Z = dense(take(X, i))
    classes = np.eye(coef.shape[1])
    directions = classes[c] - classes[r]
    Q = (Z @ Z.T) * (directions @ directions.T)
    Q[np.diag_indices_from(Q)] += 1e-12 * np.trace(Q)
    moves = np.linalg.solve(Q, raised[i, r] - raised[i, c])
    step = np.zeros_like(coef)
    np.add.at(step, i, moves[:, None] * directions)
    return step


def _upper(codes: Indices, costs: Vector, k: int) -> Matrix:
    return np.asarray(costs[:, None] * np.eye(k)[codes])


def _check_classes(codes: ArrayLike, n: int) -> Indices:
    whole = check_codes(codes, n, "codes")
    counts = np.bincount(whole)
    if len(counts) < 2 or counts.min() == 0:
        raise ValueError(
            f"codes must hold at least two classes 0, 1, … with no gap, got {np.unique(whole)}"
        )
    return whole
