from __future__ import annotations

import numpy as np
import pytest

from svmlab import kernels as k
from svmlab.rows import dense
from svmlab.types import CSR

pytestmark = pytest.mark.core


def some_csr(rng, n=12, d=7):
    X = np.where(rng.random((n, d)) < 0.4, rng.normal(size=(n, d)), 0.0)
    rows, columns = np.nonzero(X)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
    return CSR(X[rows, columns], columns, indptr, (n, d)), X


@pytest.mark.parametrize("d", [1, 2, 5])
def test_quadratic_map_and_kernel_agree_in_any_dimension(d, rng):
    X, Z = rng.normal(size=(6, d)), rng.normal(size=(4, d))
    phi = k.quadratic_map(X)
    assert phi.shape[1] == (d + 1) * (d + 2) // 2
    np.testing.assert_allclose(phi @ k.quadratic_map(Z).T, k.polynomial_kernel(X, Z, 2))


def test_quadratic_map_of_the_plane_has_the_six_features_of_the_lecture():
    x1, x2 = 3.0, 5.0
    root = np.sqrt(2)
    expected = [1, root * x1, root * x2, x1**2, root * x1 * x2, x2**2]
    np.testing.assert_allclose(k.quadratic_map(np.array([[x1, x2]]))[0], expected)


def test_circle_becomes_a_plane_at_height_radius_squared(rng):
    X = rng.uniform(-1, 1, size=(500, 2))
    inside = np.linalg.norm(X, axis=1) <= 0.6
    lifted = k.circle_map(X)
    assert np.array_equal(lifted[:, 2] <= 0.36, inside)


@pytest.mark.parametrize("gamma", [0.5, 2.0])
@pytest.mark.parametrize("n_terms", [4, 8, 16])
def test_taylor_features_miss_the_gaussian_kernel_by_less_than_the_bound(gamma, n_terms):
    x = np.linspace(-1, 1, 41)
    phi = k.gaussian_taylor_map(x, gamma, n_terms)
    error = np.abs(phi @ phi.T - k.gaussian_kernel(x[:, None], x[:, None], gamma)).max()
    bound = k.taylor_truncation_bound(1.0, gamma, n_terms)
    assert error <= bound + 1e-14
    assert error > 1e-3 * bound or error < 1e-12  # the bound says something


@pytest.mark.parametrize("kernel", k.KERNELS)
def test_gram_matrices_are_symmetric_and_positive_semidefinite(kernel, rng):
    K = k.kernel_matrix(kernel, rng.normal(size=(30, 3)))
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-9 * np.abs(K).max()


def test_gaussian_kernel_by_its_definition(rng):
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    expected = [[np.exp(-0.7 * np.sum((x - z) ** 2)) for z in Z] for x in X]
    np.testing.assert_allclose(k.gaussian_kernel(X, Z, 0.7), expected)
    assert np.all(np.diag(k.gaussian_kernel(1e6 + X, 1e6 + X, 0.7)) <= 1)


@pytest.mark.parametrize("kernel", k.KERNELS)
def test_sparse_rows_give_the_same_kernel(kernel, rng):
    (S, X), (T, Z) = some_csr(rng), some_csr(rng, n=5)
    np.testing.assert_array_equal(dense(S), X)
    expected = k.kernel_matrix(kernel, X, Z)
    for left, right in [(S, T), (S, Z), (X, T)]:
        np.testing.assert_allclose(k.kernel_matrix(kernel, left, right), expected, atol=1e-12)


def test_prediction_needs_support_vectors_only_and_no_w(rng):
    X, y = rng.normal(size=(20, 2)), np.where(rng.random(20) < 0.5, 1.0, -1.0)
    alpha = np.where(rng.random(20) < 0.3, rng.random(20), 0.0)
    new = rng.normal(size=(7, 2))
    w = k.quadratic_map(X).T @ (alpha * y)  # the explicit weights of the feature space
    sv = alpha > 0
    f = k.kernel_decision(X[sv], (alpha * y)[sv], 0.3, new, "poly", degree=2, gamma=1.0, coef0=1.0)
    np.testing.assert_allclose(f, k.quadratic_map(new) @ w + 0.3)


def test_decision_in_blocks_equals_decision_at_once(rng, monkeypatch):
    X, c = rng.normal(size=(9, 2)), rng.normal(size=9)
    whole = k.kernel_decision(X, c, 1.0, X, "rbf", gamma=0.5)
    monkeypatch.setattr(k, "BLOCK_ROWS", 2)
    np.testing.assert_allclose(k.kernel_decision(X, c, 1.0, X, "rbf", gamma=0.5), whole)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: k.gaussian_kernel(X, X, 0.0), "gamma must be a finite number above 0, got 0.0"),
        (lambda X: k.polynomial_kernel(X, X, 0), "degree must be a whole number"),
        (lambda X: k.kernel_matrix("rfb", X), "kernel must be one of 'linear', 'poly', 'rbf'"),
    ],
)
def test_bad_parameters_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call(np.eye(2))
