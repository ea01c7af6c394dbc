"""The solvers of S8 and C21 beside scikit-learn, scipy and Clarabel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import overlapping, random_dual, separable
from scipy.sparse import csr_array, csr_matrix
from sklearn.svm import SVC, LinearSVC

from svmlab.certificates import duality_gap
from svmlab.coordinate import dual_coordinate_descent
from svmlab.cutting_plane import cutting_plane
from svmlab.decomposition import decomposition
from svmlab.dual import dual_objective
from svmlab.norma import norma
from svmlab.primal import cost
from svmlab.qp import QP, dual_qp, hard_margin_qp, solve_qp
from svmlab.rows import with_bias_column


def homogeneous(qp: QP) -> QP:
    """The dual without intercept: the equality is left out."""
    n = len(qp.q)
    return qp._replace(A=np.zeros((0, n)), b=np.zeros(0))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_coordinate_descent_agrees_with_liblinear(rng, loss, C):
    X, y = overlapping(rng, n=80)
    X = with_bias_column(X)
    peer = LinearSVC(C=C, loss=loss, dual=True, fit_intercept=False, tol=1e-8, max_iter=1_000_000)
    peer.fit(X, y)
    result = dual_coordinate_descent(X, y, C, loss=loss, tol=1e-10)
    # LIBLINEAR stops by a projected gradient of 1e-8; the strong convexity gives sqrt(2 * gap).
    np.testing.assert_allclose(result.w, peer.coef_[0], atol=1e-5)


def test_coordinate_descent_agrees_with_liblinear_on_weights(rng):
    X, y = overlapping(rng, n=80)
    weights = rng.uniform(0.0, 3.0, size=80)
    peer = LinearSVC(loss="hinge", dual=True, fit_intercept=False, tol=1e-8, max_iter=1_000_000)
    peer.fit(X, y, sample_weight=weights)
    result = dual_coordinate_descent(X, y, weights, tol=1e-10)
    np.testing.assert_allclose(result.w, peer.coef_[0], atol=1e-5)


@pytest.mark.parametrize("container", [csr_matrix, csr_array])
def test_scipy_rows_just_work(rng, container):
    X, y = overlapping(rng)
    X[rng.random(X.shape) < 0.5] = 0.0
    for solver in (dual_coordinate_descent, cutting_plane):
        dense, sparse = (solver(rows, y, tol=1e-8).w for rows in (X, container(X)))
        np.testing.assert_allclose(sparse, dense, atol=1e-5)


def test_hard_margin_agrees_with_clarabel(rng):
    X, y = separable(rng, n=50)
    rows = with_bias_column(X)
    program = hard_margin_qp(rows, y)
    d = rows.shape[1]
    program = program._replace(P=program.P[:d, :d], q=program.q[:d], G=program.G[:, :d])
    program = program._replace(A=np.zeros((0, d)))
    result = dual_coordinate_descent(rows, y, np.inf, tol=1e-10)
    np.testing.assert_allclose(result.w, solve_qp(program).x, atol=1e-5)


def test_cutting_plane_agrees_with_liblinear(rng):
    X, y = overlapping(rng, n=80)
    peer = LinearSVC(loss="hinge", dual=True, fit_intercept=False, tol=1e-8, max_iter=1_000_000)
    result = cutting_plane(X, y, tol=1e-8)
    distance = np.linalg.norm(result.w - peer.fit(X, y).coef_[0])
    assert distance <= np.sqrt(2.0 * 80 * 1e-8) + 1e-5


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_decomposition_agrees_with_libsvm(rng, kernel):
    for _ in range(3):
        K, y, C = random_dual(rng, kernel)
        peer = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
        alpha = np.zeros(len(y))
        alpha[peer.support_] = np.abs(peer.dual_coef_[0])
        result = decomposition(K, y, C, tol=1e-8)
        assert result.bound == pytest.approx(dual_objective(alpha, K, y), rel=1e-7)
        # |f - f*| <= ||w - w*|| R, and ||w - w*|| <= sqrt(2 gap) for either; libsvm's is larger,
        # as it keeps its kernel rows in float32.
        gap = duality_gap(alpha, float(peer.intercept_[0]), K, y, C)
        apart = np.sqrt(2.0 * max(gap, 0.0)) + np.sqrt(2.0 * max(result.gap, 0.0)) + 1e-9
        f = K @ (result.alpha * y)
        np.testing.assert_allclose(
            f, K @ (alpha * y), rtol=0.0, atol=apart * np.sqrt(np.diag(K).max())
        )


def test_norma_comes_within_5_percent_of_clarabel(rng):
    K, y, _ = random_dual(rng, "rbf")
    lam = 0.05
    program = homogeneous(dual_qp(K, y, cost(lam, len(y), "lambda/2")))
    best = lam * dual_objective(solve_qp(program).x, K, y)
    result = norma(K, y, lam, 20_000, rng)
    assert best * (1.0 - 1e-6) <= result.objective <= 1.05 * best


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 60),
    d=st.integers(1, 8),
    log_C=st.floats(-3.0, 4.0),
    loss=st.sampled_from(["hinge", "squared_hinge"]),
)
def test_coordinate_descent_always_reaches_a_tight_tolerance(seed, n, d, log_C, loss):
    rng = np.random.default_rng(seed)
    X, y = overlapping(rng, n, d)
    X *= 10.0 ** rng.uniform(-1.0, 1.0, size=d)
    X[rng.random(n) < 0.2] = X[0]  # equal rows, with either label
    result = dual_coordinate_descent(with_bias_column(X), y, 10.0**log_C, loss=loss, tol=1e-10)
    assert result.converged
    assert abs(result.gap) <= 1e-6 * result.objective
