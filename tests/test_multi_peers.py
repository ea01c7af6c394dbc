"""Multiclass, regression and logistic machines against scikit-learn and a QP solver."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVR, LinearSVC, LinearSVR

from svmlab.kernels import gaussian_kernel
from svmlab.logistic import kernel_logistic_regression, logistic_regression, sigmoid
from svmlab.multiclass import class_scores, joint_multiclass, multiclass_objective
from svmlab.qp import QP, solve_qp
from svmlab.regression import (
    LOSSES,
    kernel_ridge,
    regression_dual_objective,
    regression_objective,
    regularized_regression,
)
from svmlab.types import Indices, Matrix, Vector


def wavy(rng: np.random.Generator, n: int = 60, d: int = 3) -> tuple[Matrix, Vector]:
    X = rng.normal(size=(n, d))
    return X, 3.0 + X[:, 0] + np.sin(2.0 * X[:, -1]) + 0.2 * rng.normal(size=n)


def crowd(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Matrix, Indices]:
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k))).argmax(axis=1)


def regression_qp(X: Matrix, y: Vector, C: float, loss: str, epsilon: float) -> float:
    """Return the optimum over (w, b, ξ) with |w·x + b − y| ≤ ε + ξ."""
    n, d = X.shape
    epsilon = epsilon if loss.endswith("insensitive") else 0.0
    squared = loss.startswith("squared")
    ones, slack = np.ones((n, 1)), np.eye(n)
    G = np.vstack((np.hstack((X, ones, -slack)), np.hstack((-X, -ones, -slack))))
    P = np.diag(np.concatenate((np.ones(d), [0.0], np.full(n, 2.0 * C * squared))))
    q = np.concatenate((np.zeros(d + 1), np.full(n, 0.0 if squared else C)))
    h = np.concatenate((y + epsilon, epsilon - y))
    h_all, G_all = np.append(h, np.zeros(n)), np.vstack((G, np.eye(n, n + d + 1, d + 1) * -1.0))
    x = solve_qp(QP(P, q, G_all, h_all, np.zeros((0, n + d + 1)), np.zeros(0))).x
    return float(0.5 * x @ P @ x + q @ x)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_every_regression_reaches_the_optimum_of_the_quadratic_program(
    loss: str, C: float, rng: np.random.Generator
) -> None:
    X, y = wavy(rng, 40)
    ours = regularized_regression(X, y, C, loss=loss, epsilon=0.2, kernel="linear", tol=1e-8)
    reference = regression_qp(X, y, C, loss, 0.2)
    assert ours.objective == pytest.approx(reference, rel=1e-6)  # the QP solver's own tolerance
    assert ours.bound == pytest.approx(reference, rel=1e-6)


@pytest.mark.parametrize("C", [0.5, 20.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_svr_agrees_with_scikit_learn(C: float, epsilon: float, rng: np.random.Generator) -> None:
    X, y = wavy(rng)
    K = gaussian_kernel(X, X, 0.5)
    weights = rng.uniform(0.2, 2.0, len(y))
    peer = SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=1e-9).fit(K, y, weights)
    ours = regularized_regression(K, y, C * weights, epsilon=epsilon, tol=1e-9)
    peer_f = peer.predict(K)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    beta = np.clip(beta, -C * weights, C * weights)
    theirs = regression_dual_objective(beta, beta @ K @ beta, y, C * weights, epsilon=epsilon)
    assert ours.bound >= theirs - 1e-9 * abs(theirs)
    assert ours.bound == pytest.approx(theirs, rel=1e-6)
    # LIBSVM keeps kernel rows in single precision, which Σ|β| up to 1000 makes visible in f
    assert K @ ours.beta + ours.b == pytest.approx(peer_f, abs=2e-4)


def test_ridge_agrees_with_scikit_learn(rng: np.random.Generator) -> None:
    X, y = wavy(rng)
    weights = rng.uniform(0.2, 2.0, len(y))
    C = 0.7  # ½‖w‖² + C Σ r² has the minimiser of ‖w‖²/(2C) + Σ r²
    peer = Ridge(alpha=0.5 / C).fit(X, y, weights)
    ours = regularized_regression(X, y, C * weights, loss="squared", kernel="linear", tol=1e-12)
    assert ours.w == pytest.approx(peer.coef_, abs=1e-9)
    assert ours.b == pytest.approx(peer.intercept_, abs=1e-9)
    closed = kernel_ridge(X @ X.T, y, C * weights)
    assert X.T @ closed.beta == pytest.approx(peer.coef_, abs=1e-9)


def test_kernel_ridge_agrees_with_scikit_learn_on_what_b_leaves(rng: np.random.Generator) -> None:
    X, y = wavy(rng)
    K = gaussian_kernel(X, X, 0.5)
    ours = kernel_ridge(K, y, 2.0)
    peer = KernelRidge(alpha=0.25, kernel="precomputed").fit(K, y - ours.b)
    assert ours.beta == pytest.approx(peer.dual_coef_, abs=1e-9)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_no_linear_svr_of_scikit_learn_is_better(loss: str, rng: np.random.Generator) -> None:
    X, y = wavy(rng)
    peer = LinearSVR(
        C=2.0, epsilon=0.2, loss=loss, intercept_scaling=10.0, tol=1e-5, max_iter=100_000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    w, f = peer.coef_, peer.predict(X)
    theirs = regression_objective(w @ w, f, y, 2.0, loss, 0.2)
    ours = regularized_regression(X, y, 2.0, loss=loss, epsilon=0.2, kernel="linear", tol=1e-8)
    assert ours.objective <= theirs * (1.0 + 1e-9)
    assert ours.objective == pytest.approx(theirs, rel=1e-3)  # b is penalised a little there


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_regression_agrees_with_scikit_learn(
    C: float, intercept: bool, rng: np.random.Generator
) -> None:
    X, codes = crowd(rng, 80, 4, 2)
    y, weights = np.where(codes == 1, 1.0, -1.0), rng.uniform(0.2, 2.0, 80)
    peer = LogisticRegression(
        C=C, fit_intercept=intercept, solver="newton-cholesky", tol=1e-12, max_iter=1000
    ).fit(X, y, weights)
    for rows in (X, sparse.csr_matrix(X)):
        ours = logistic_regression(rows, y, C * weights, intercept=intercept, tol=1e-12)
        assert ours.w == pytest.approx(peer.coef_[0], abs=1e-6 * (1.0 + np.abs(ours.w).max()))
        assert ours.b == pytest.approx(float(np.ravel(peer.intercept_)[0]), abs=1e-5)
        probability = sigmoid(X @ ours.w + ours.b)
        assert probability == pytest.approx(peer.predict_proba(X)[:, 1], abs=1e-6)


def test_kernel_logistic_regression_is_linear_in_the_features_of_its_kernel(
    rng: np.random.Generator,
) -> None:
    X, codes = crowd(rng, 50, 3, 2)
    y = np.where(codes == 1, 1.0, -1.0)
    K = gaussian_kernel(X, X, 0.3)
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    peer = LogisticRegression(C=3.0, solver="newton-cholesky", tol=1e-12).fit(features, y)
    ours = kernel_logistic_regression(K, y, 3.0, tol=1e-12)
    theirs = peer.decision_function(features)
    assert K @ (ours.alpha * y) + ours.b == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_the_joint_problem_agrees_with_crammer_singer_of_scikit_learn(
    C: float, rng: np.random.Generator
) -> None:
    X, codes = crowd(rng, 100, 5, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # the option may go from scikit-learn
        peer = LinearSVC(
            multi_class="crammer_singer", fit_intercept=False, C=C, tol=1e-9, max_iter=200_000,
            random_state=0,
        ).fit(X, codes)  # fmt: skip
    for rows in (X, sparse.csr_matrix(X)):
        ours = joint_multiclass(rows, codes, C, bias=0.0, tol=1e-10)
        theirs = multiclass_objective(peer.coef_, X, codes, C)
        assert ours.objective <= theirs * (1.0 + 1e-10)
        assert ours.objective == pytest.approx(theirs, rel=1e-6)
        assert ours.W is not None
        scores = class_scores(X, ours.W)
        assert scores == pytest.approx(peer.decision_function(X), abs=1e-3)


@pytest.mark.parametrize("C", [0.2, 5.0])
def test_the_joint_problem_reaches_the_optimum_of_the_quadratic_program(
    C: float, rng: np.random.Generator
) -> None:
    n, d, k = 30, 2, 3
    X, codes = crowd(rng, n, d, k)
    rows = np.column_stack((X, np.ones(n)))
    size = k * (d + 1)
    G, h = [np.eye(n, size + n, size) * -1.0], [np.zeros(n)]
    for i, y in enumerate(codes):
        for c in set(range(k)) - {int(y)}:  # w_c·x + 1 − ξ ≤ w_y·x
            row = np.zeros((1, size + n))
            row[0, c * (d + 1) : (c + 1) * (d + 1)] = rows[i]
            row[0, y * (d + 1) : (y + 1) * (d + 1)] = -rows[i]
            row[0, size + i] = -1.0
            G.append(row)
            h.append(np.array([-1.0]))
    P = np.diag(np.append(np.ones(size), np.zeros(n)))
    q = np.append(np.zeros(size), np.full(n, C))
    qp = QP(P, q, np.vstack(G), np.concatenate(h), np.zeros((0, size + n)), np.zeros(0))
    x = solve_qp(qp).x
    ours = joint_multiclass(X, codes, C, tol=1e-10)
    assert ours.objective == pytest.approx(0.5 * x @ P @ x + q @ x, rel=1e-6)
    W = np.column_stack((ours.W, ours.b))  # type: ignore[arg-type]
    assert pytest.approx(x[:size].reshape(k, d + 1), abs=1e-3) == W
