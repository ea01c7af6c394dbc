"""Weights of examples and classes do what they say."""

from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping, three_classes
from scipy import sparse
from sklearn.base import clone

from svmlab.estimators import (
    SGDSVC,
    SVC,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LinearSVC,
    LogisticRegression,
    Pegasos,
    RandomForestClassifier,
    RandomForestRegressor,
)
from svmlab.estimators._kernels import kernel_width, weighted_variance
from svmlab.kernels import gaussian_kernel
from svmlab.primal import balanced_costs
from svmlab.smo import solve_dual
from svmlab.types import Matrix
from svmlab.validation import check_rows


def test_balanced_weights_are_the_lectures_costs(rng):
    X, y = overlapping(rng)
    C = 3.0
    machine = SVC(C=2.0 * C / len(y), gamma=0.5, class_weight="balanced", tol=1e-10).fit(X, y)
    K = gaussian_kernel(X, X, 0.5)
    alone = solve_dual(K, y, balanced_costs(y, C), tol=1e-10)
    np.testing.assert_allclose(
        machine.decision_function(X), K @ (alone.alpha * y) + alone.b, atol=1e-8
    )


def test_class_weights_multiply_sample_weights(rng):
    X, codes = three_classes(rng)
    weights = rng.uniform(0.5, 2.0, len(X))
    for estimator in (SVC(tol=1e-9), LinearSVC(tol=1e-9), LogisticRegression(tol=1e-9)):
        by_class = clone(estimator).set_params(class_weight={0: 1.0, 1: 5.0, 2: 1.0})
        by_class.fit(X, codes, sample_weight=weights)
        by_row = clone(estimator).fit(X, codes, weights * np.where(codes == 1, 5.0, 1.0))
        if hasattr(by_class, "gamma_"):  # γ follows the sample weights alone
            by_row.set_params(gamma=by_class.gamma_)
            by_row.fit(X, codes, weights * np.where(codes == 1, 5.0, 1.0))
        np.testing.assert_allclose(
            by_class.decision_function(X), by_row.decision_function(X), atol=1e-6
        )


def test_support_counts_the_rows_of_the_caller_where_weights_are_zero(rng):
    X, y = overlapping(rng)
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    machine = SVC(tol=1e-10).fit(X, y, sample_weight=weights)
    without = SVC(tol=1e-10).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_array_equal(machine.support_vectors_, X[machine.support_])
    np.testing.assert_array_equal(machine.support_vectors_, without.support_vectors_)
    np.testing.assert_array_equal(machine.dual_coef_, without.dual_coef_)


def test_a_class_without_weight_is_no_class(rng):
    X, codes = three_classes(rng)
    machine = LinearSVC().fit(X, codes, sample_weight=(codes != 1).astype(float))
    np.testing.assert_array_equal(machine.classes_, [0, 2])


def test_the_scale_of_gamma_counts_rows_by_weight(rng):
    X, copies = rng.normal(size=(12, 3)), rng.integers(1, 4, 12)
    X[X > 0.5] = 0.0
    repeated = np.repeat(X, copies, axis=0)
    assert weighted_variance(X, copies) == pytest.approx(repeated.var(), rel=1e-12)
    thin = check_rows(sparse.csr_array(X))
    assert weighted_variance(thin, copies) == pytest.approx(repeated.var(), rel=1e-12)
    assert kernel_width("scale", X, np.ones(12)) == pytest.approx(1.0 / (3.0 * X.var()))
    assert kernel_width("auto", X, np.ones(12)) == pytest.approx(1.0 / 3.0)
    assert kernel_width("scale", np.ones((2, 2)), np.ones(2)) == 1.0


def mean_scores(estimator, X, y, weights, seeds) -> tuple[Matrix, Matrix]:
    """Return the mean over seeds of what the machine says on a grid, and its variance."""
    Z = np.column_stack([np.linspace(-2.0, 2.0, 5)] * X.shape[1])
    scores = []
    for seed in seeds:
        machine = clone(estimator).set_params(random_state=seed).fit(X, y, sample_weight=weights)
        for method in ("decision_function", "predict_proba", "predict"):
            if hasattr(machine, method):
                scores.append(np.ravel(getattr(machine, method)(Z)))
                break
    return np.mean(scores, axis=0), np.var(scores, axis=0, ddof=1) / len(scores)


def largest_z(first: tuple[Matrix, Matrix], second: tuple[Matrix, Matrix]) -> float:
    """Return the largest difference of two means in standard errors."""
    return float(np.max(np.abs(first[0] - second[0]) / np.sqrt(first[1] + second[1] + 1e-8)))


@pytest.mark.parametrize(
    ("estimator", "scale"),
    [
        (BaggingClassifier(DecisionTreeClassifier(max_depth=1), 2), 1.0),
        (BaggingRegressor(DecisionTreeRegressor(max_depth=1), 2), 1.0),
        (RandomForestClassifier(2, max_depth=1), 1.0),
        (RandomForestRegressor(2, max_depth=1), 1.0),
    ],
    ids=str,
)
def test_weights_are_copies_in_the_mean_where_samples_are_drawn(estimator, scale, rng):
    y = np.tile([1.0, -1.0], 12)
    X = rng.normal(size=(24, 2)) + 0.3 * y[:, None]
    copies = np.where(y > 0, rng.integers(3, 8, 24), 1)
    seeds = range(60)
    weighted = mean_scores(estimator, X, y, scale * copies, seeds)
    repeated = mean_scores(
        estimator, np.repeat(X, copies, axis=0), np.repeat(y, copies), None, range(60, 120)
    )
    ignored = mean_scores(estimator, X, y, None, seeds)
    assert largest_z(weighted, repeated) < 4.0
    assert largest_z(ignored, repeated) > 6.0  # the test could fail


@pytest.mark.parametrize("scale", [1.0, 0.7])
@pytest.mark.parametrize(
    "estimator",
    [
        Pegasos(lam=0.1, n_steps=2000),
        Pegasos(lam=0.1, n_steps=500, batch_size=5),
        Pegasos(lam=0.1, n_steps=2000, average=True),
        SGDSVC(lam=0.1, max_iter=50, eta0=0.5),
    ],
    ids=str,
)
def test_weights_are_copies_in_the_mean_where_steps_are_drawn(estimator, scale, rng):
    """A weight makes a step longer, copies make it more frequent: the way there differs a little.

    So the means agree to their errors, or to a tenth of what ignoring the weights would do.
    """
    y = np.tile([1.0, -1.0], 12)
    X = rng.normal(size=(24, 2)) + 0.3 * y[:, None]
    copies = np.where(y > 0, rng.integers(3, 8, 24), 1)
    rows = np.repeat(np.arange(24), copies)
    weighted = mean_scores(estimator, X, y, scale * copies, range(30))
    repeated = mean_scores(estimator, X[rows], y[rows], None, range(30, 60))
    ignored = mean_scores(estimator, X, y, None, range(30))
    gap, other = (np.abs(m[0] - repeated[0]).max() for m in (weighted, ignored))
    assert largest_z(ignored, repeated) > 10.0  # the test could fail
    assert gap < 0.1 * other or largest_z(weighted, repeated) < 4.0
