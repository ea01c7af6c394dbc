"""Changing the import line is enough: the estimators against scikit-learn's of the same name."""

from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping
from scipy import sparse
from sklearn import ensemble, linear_model, multiclass, svm, tree
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import svmlab
from svmlab.types import Matrix, Vector

# LIBSVM keeps kernel rows in float32. On coordinates that are multiples of 1/8 these two kernels
# are exact all the same, and the Gaussian one can be rounded before it is handed over.
EXACT = [
    {"kernel": "linear"},
    {"kernel": "linear", "C": 0.125},
    {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
]
ROUNDED = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "rbf", "gamma": 0.5, "C": 30.0},
]


def dense(array):
    return array.toarray() if sparse.issparse(array) else array


def assert_same_machine(ours, peer, X: Matrix, tol: float = 1e-6) -> None:
    """Compare every attribute that a kernel machine of scikit-learn has."""
    np.testing.assert_array_equal(ours.support_, peer.support_)
    assert ours.support_.dtype == peer.support_.dtype
    np.testing.assert_array_equal(ours.n_support_, peer.n_support_)
    np.testing.assert_array_equal(dense(ours.support_vectors_), dense(peer.support_vectors_))
    assert np.shape(ours.n_iter_) == np.shape(peer.n_iter_)
    assert isinstance(ours.dual_coef_, np.ndarray)
    np.testing.assert_allclose(ours.dual_coef_, dense(peer.dual_coef_), rtol=0.0, atol=tol)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=0.0, atol=1e-6)
    if peer.kernel == "linear":
        np.testing.assert_allclose(ours.coef_, dense(peer.coef_), rtol=0.0, atol=1e-6)
    if hasattr(peer, "classes_"):
        np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    else:
        np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=0.0, atol=1e-5)


def rows_and_labels(rng: np.random.Generator, n: int = 80) -> tuple[Matrix, Vector]:
    """Two overlapping clouds on a grid of width 1/8."""
    X, y = overlapping(rng, n=n)
    return np.round(8.0 * X) / 8.0, np.where(y > 0, "spam", "ham")


@pytest.mark.parametrize("settings", EXACT, ids=str)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_SVC_has_scikit_learns_attributes(settings, form, rng):
    X, y = rows_and_labels(rng)
    ours = svmlab.SVC(tol=1e-10, **settings).fit(form(X), y)
    peer = svm.SVC(tol=1e-10, **settings).fit(form(X), y)
    assert_same_machine(ours, peer, form(X))
    np.testing.assert_allclose(
        ours.decision_function(form(X)), peer.decision_function(form(X)), atol=1e-6
    )


@pytest.mark.parametrize("settings", ROUNDED, ids=str)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_SVC_has_scikit_learns_attributes_up_to_its_float32_kernel(settings, form, rng):
    X, y = rows_and_labels(rng)
    ours = svmlab.SVC(tol=1e-10, **settings).fit(form(X), y)
    peer = svm.SVC(tol=1e-10, **settings).fit(form(X), y)
    C = settings.get("C", 1.0)
    assert_same_machine(ours, peer, form(X), tol=2e-5 * C)  # 6e-8 times the condition of K
    np.testing.assert_allclose(
        ours.decision_function(form(X)), peer.decision_function(form(X)), atol=1e-6 * C
    )


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_SVC_has_scikit_learns_attributes_for_a_Gram_matrix(C, rng):
    X, y = rows_and_labels(rng)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(np.float32).astype(np.float64)
    options = {"kernel": "precomputed", "C": C, "tol": 1e-10}
    ours, peer = svmlab.SVC(**options).fit(K, y), svm.SVC(**options).fit(K, y)
    assert_same_machine(ours, peer, K)


@pytest.mark.parametrize("class_weight", ["balanced", {"spam": 4.0}])
def test_SVC_weights_classes_as_scikit_learn(class_weight, rng):
    X, y = rows_and_labels(rng)
    options = {"class_weight": class_weight, "kernel": "linear", "tol": 1e-10}
    assert_same_machine(svmlab.SVC(**options).fit(X, y), svm.SVC(**options).fit(X, y), X)


def test_SVC_weights_examples_as_scikit_learn(rng):
    X, y = rows_and_labels(rng)
    weights = rng.uniform(0.2, 3.0, len(y))
    ours = svmlab.SVC(kernel="linear", tol=1e-10).fit(X, y, sample_weight=weights)
    peer = svm.SVC(kernel="linear", tol=1e-10).fit(X, y, sample_weight=weights)
    assert_same_machine(ours, peer, X)


def test_SVC_without_a_free_support_vector_has_the_middle_of_the_interval(rng):
    X, y = rows_and_labels(rng, n=40)
    y[:20], y[20:] = "ham", "spam"
    ours = svmlab.SVC(C=1e-3, tol=1e-10).fit(X, y)
    peer = svm.SVC(C=1e-3, tol=1e-10).fit(X, y)
    assert np.all(np.abs(ours.dual_coef_) == 1e-3)
    assert_same_machine(ours, peer, X)


def test_SVC_on_many_classes_is_scikit_learns_one_versus_rest():
    X, y = load_iris(return_X_y=True)
    ours = svmlab.SVC(gamma=0.5, tol=1e-9).fit(X, y)
    peer = multiclass.OneVsRestClassifier(svm.SVC(gamma=0.5, tol=1e-9)).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-6)
    wrapped = svmlab.OneVsRestClassifier(svm.SVC(gamma=0.5, tol=1e-9)).fit(X, y)
    np.testing.assert_array_equal(wrapped.decision_function(X), peer.decision_function(X))


@pytest.mark.parametrize("settings", [*EXACT, *ROUNDED], ids=str)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_SVR_has_scikit_learns_attributes(settings, form, rng):
    X, _ = rows_and_labels(rng, n=60)
    y = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.2 * rng.normal(size=60)
    weights = rng.uniform(0.5, 2.0, 60) if settings in EXACT else None
    ours = svmlab.SVR(tol=1e-10, **settings).fit(form(X), y, sample_weight=weights)
    peer = svm.SVR(tol=1e-10, **settings).fit(form(X), y, sample_weight=weights)
    C = settings.get("C", 1.0)
    assert_same_machine(ours, peer, form(X), tol=1e-6 if settings in EXACT else 2e-5 * C)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"loss": "hinge"},
        {"loss": "hinge", "intercept_scaling": 10.0, "C": 0.1},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_LinearSVC_is_scikit_learns(settings, form, rng):
    X, y = rows_and_labels(rng)
    ours = svmlab.LinearSVC(tol=1e-10, **settings).fit(form(X), y)
    peer = svm.LinearSVC(tol=1e-10, max_iter=1_000_000, dual=True, **settings).fit(form(X), y)
    assert ours.coef_.shape == peer.coef_.shape
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-6)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_LinearSVC_on_many_classes_is_scikit_learns(multi_class):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = svmlab.LinearSVC(multi_class=multi_class, C=0.3, tol=1e-10).fit(X, y)
    peer = svm.LinearSVC(multi_class=multi_class, C=0.3, tol=1e-9, max_iter=1_000_000, dual=True)
    peer.fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)


def test_the_joint_problem_of_two_classes_is_scikit_learns(rng):
    X, y = rows_and_labels(rng)
    ours = svmlab.CrammerSingerSVC(tol=1e-10).fit(X, y)
    peer = svm.LinearSVC(multi_class="crammer_singer", tol=1e-9, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("settings", [{}, {"C": 20.0}, {"class_weight": "balanced"}], ids=str)
def test_LogisticRegression_is_scikit_learns(settings, form, rng):
    X, y = rows_and_labels(rng)
    weights = rng.uniform(0.5, 2.0, len(y)) if "class_weight" not in settings else None
    ours = svmlab.LogisticRegression(tol=1e-12, **settings).fit(form(X), y, sample_weight=weights)
    peer = linear_model.LogisticRegression(
        solver="newton-cg", tol=1e-12, max_iter=10_000, **settings
    ).fit(form(X), y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(form(X)), peer.predict_proba(form(X)), atol=1e-7)


def test_trees_predict_as_scikit_learns(rng):
    X = rng.normal(size=(150, 4))
    codes = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=150) > 0.8).astype(int)
    Z = rng.normal(size=(300, 4))
    ours = svmlab.DecisionTreeClassifier(max_depth=3).fit(X, codes)  # no ties up to here
    peer = tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, codes)
    np.testing.assert_allclose(ours.predict_proba(Z), peer.predict_proba(Z))
    np.testing.assert_allclose(ours.feature_importances_, peer.feature_importances_)
    ours = svmlab.DecisionTreeRegressor(min_samples_split=10).fit(X, X[:, 0] ** 3)
    peer = tree.DecisionTreeRegressor(min_samples_split=10, random_state=0).fit(X, X[:, 0] ** 3)
    np.testing.assert_allclose(ours.predict(Z), peer.predict(Z))


def test_boosted_stumps_vote_as_scikit_learns(rng):
    X, y = rows_and_labels(rng, n=150)
    Z = rng.normal(size=(300, 3))
    ours = svmlab.AdaBoostClassifier(n_estimators=20).fit(X, y)
    peer = ensemble.AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(2.0 * ours.estimator_weights_, peer.estimator_weights_)
    np.testing.assert_array_equal(ours.predict(Z), peer.predict(Z))


def test_bagging_and_forests_are_as_good_as_scikit_learns_out_of_bag(rng):
    X, y = rows_and_labels(rng, n=150)
    options = {"n_estimators": 40, "oob_score": True, "random_state": 0}
    for name in ("BaggingClassifier", "RandomForestClassifier"):
        ours = getattr(svmlab, name)(**options).fit(X, y)
        peer = getattr(ensemble, name)(**options).fit(X, y)
        error = np.sqrt(2.0 * peer.oob_score_ * (1.0 - peer.oob_score_) / 150)
        assert abs(ours.oob_score_ - peer.oob_score_) < 3.0 * error
    for name in ("BaggingRegressor", "RandomForestRegressor"):
        ours = getattr(svmlab, name)(**options).fit(X, X[:, 0] ** 2)
        peer = getattr(ensemble, name)(**options).fit(X, X[:, 0] ** 2)
        assert abs(ours.oob_score_ - peer.oob_score_) < 0.05
