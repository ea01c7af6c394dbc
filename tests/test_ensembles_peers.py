from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from svmlab.ensembles import (
    Growth,
    bootstrap_interval,
    fit_adaboost,
    fit_forest,
    fit_tree,
    importance_by_impurity,
    impurity_decrease,
    predict_boosting,
    predict_forest,
    predict_tree,
    split_p_values,
)
from svmlab.ensembles.growing import prepare
from svmlab.ensembles.pruning import (
    _rows_of_splits,
    chi_square_tail,
    f_test,
    incomplete_beta,
)
from svmlab.ensembles.splits import find_split

LOADERS = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "diabetes": load_diabetes,
    "digits": load_digits,
}


def continuous_sample(rng, n=400, n_classes=2):
    """Continuous variables, exact in float32, which is what scikit-learn's trees work in."""
    X = rng.normal(size=(n, 5)).astype(np.float32).astype(float)
    level = X[:, 0] + X[:, 1] * X[:, 2] + 0.8 * rng.normal(size=n)
    return X, level, np.digitize(level, np.quantile(level, np.linspace(0, 1, n_classes + 1)[1:-1]))


def assert_identical(tree, peer):
    leaf = tree.feature == -1
    assert np.array_equal(np.where(leaf, -2, tree.feature), peer.feature)
    np.testing.assert_allclose(np.where(leaf, -2.0, tree.threshold), peer.threshold, rtol=1e-14)
    assert np.array_equal(tree.left, peer.children_left)
    assert np.array_equal(tree.right, peer.children_right)
    assert np.array_equal(tree.n_samples, peer.n_node_samples)
    np.testing.assert_allclose(tree.weight, peer.weighted_n_node_samples)
    np.testing.assert_allclose(tree.value, peer.value[:, 0, :], atol=1e-10)
    np.testing.assert_allclose(tree.impurity, peer.impurity, atol=1e-10)


def is_untied(X, y, w, growth):
    """Tell whether in every cell that splits the best split beats all others by more than 1e-9."""
    tree = fit_tree(X, y, growth, sample_weight=w)
    sample = prepare(X, y, growth, None, w)
    for _, rows in _rows_of_splits(tree, sample):
        cell = sample.take(rows)
        order = np.argsort(cell.columns, axis=1)
        left = np.cumsum(cell.sums[:, order], axis=2)[:, :, :-1]
        decrease = impurity_decrease(left, cell.sums.sum(axis=1), growth.criterion)
        second, first = np.sort(decrease, axis=None)[-2:]
        if first - second < 1e-9 * tree.impurity[0]:
            return False
    return True


def untied_samples(growth, n_classes, weighted, how_many=2):
    """Yield the first random samples whose trees have no ties, which most small ones have."""
    seed = 0
    while how_many:
        rng, seed = np.random.default_rng(seed), seed + 1
        X, level, y = continuous_sample(rng, 200, n_classes)
        y = y if growth.classifies else level
        # sums of 64ths are exact; scikit-learn splits pure cells whose impurity is a rounding error
        w = rng.integers(32, 96, len(X)) / 64 if weighted else np.ones(len(X))
        if is_untied(X, y, w, growth):
            how_many -= 1
            yield X, y, w


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classification_trees_are_identical_to_scikit_learn_s(criterion, n_classes, weighted):
    growth = Growth(criterion=criterion, min_samples=20)
    for X, y, w in untied_samples(growth, n_classes, weighted):
        peer = DecisionTreeClassifier(criterion=criterion, min_samples_split=20, random_state=0)
        tree = fit_tree(X, y, growth, sample_weight=w)
        assert_identical(tree, peer.fit(X, y, sample_weight=w).tree_)
        np.testing.assert_allclose(importance_by_impurity([tree]), peer.feature_importances_)
        assert tree.n_leaves > 8


@pytest.mark.parametrize("weighted", [False, True])
def test_regression_trees_are_identical_to_scikit_learn_s(weighted):
    growth = Growth(criterion="variance", min_samples=12)
    for X, y, w in untied_samples(growth, 2, weighted):
        peer = DecisionTreeRegressor(min_samples_split=12, random_state=0)
        tree = fit_tree(X, y, growth, sample_weight=w)
        assert_identical(tree, peer.fit(X, y, sample_weight=w).tree_)
        np.testing.assert_allclose(importance_by_impurity([tree]), peer.feature_importances_)
        assert tree.n_leaves > 15


@pytest.mark.parametrize("criterion", ["gini", "entropy", "variance"])
def test_trees_of_one_variable_are_identical_down_to_pure_leaves(criterion, rng):
    X, level, y = continuous_sample(rng, n=150)
    if criterion == "variance":
        tree = fit_tree(X[:, :1], level, Growth(criterion=criterion))
        peer = DecisionTreeRegressor(random_state=0).fit(X[:, :1], level)
    else:
        tree = fit_tree(X[:, :1], y, Growth(criterion=criterion))
        peer = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X[:, :1], y)
    assert tree.n_leaves == peer.get_n_leaves()
    Z = rng.normal(size=(500, 1)).astype(np.float32)
    assert np.mean(predict_tree(tree, Z) == peer.predict(Z)) > 0.98  # ties between thresholds
    np.testing.assert_allclose(predict_tree(tree, X[:, :1]), peer.predict(X[:, :1]))


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_where_splits_tie_the_first_of_equal_ones_is_as_good(name):
    X, y = LOADERS[name](return_X_y=True)
    tree = fit_tree(X, y, Growth(max_depth=2))
    peer = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y).tree_
    np.testing.assert_allclose(tree.impurity, peer.impurity, atol=1e-12)
    sums = np.array([(y == k).astype(float) for k in range(3)])
    split = find_split(X.T, sums, np.arange(X.shape[1]))
    assert split.decrease == pytest.approx(tree.decrease[0] / len(y))


def test_p_values_are_scipy_s(rng):
    for k in (1, 2, 3, 5, 8, 31):
        for x in (1e-8, 0.3, 2.0, 10.0, 80.0, 1000.0):
            assert chi_square_tail(x, k) == pytest.approx(
                stats.chi2.sf(x, k), rel=1e-10, abs=1e-300
            )
    for n in (3, 4, 10, 101.5, 3000):
        for F in (1e-6, 0.5, 4.0, 60.0, 2000.0):
            expected = stats.f.sf(F, 1, n - 2)
            assert f_test(F, n - 2, n) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    for a, b, x in rng.uniform([0.2, 0.2, 0.0], [400, 30, 1.0], size=(200, 3)):
        assert incomplete_beta(a, b, x) == pytest.approx(betainc(a, b, x), rel=1e-9, abs=1e-300)


def test_split_p_values_are_those_of_tests_on_the_two_sides(rng):
    X, level, y = continuous_sample(rng, 120, n_classes=3)
    tree = fit_tree(X, y, Growth(max_depth=1))
    left = X[:, tree.feature[0]] < tree.threshold[0]
    table = [np.bincount(y[s], minlength=3) for s in (left, ~left)]
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert split_p_values(tree)[0] == pytest.approx(expected, rel=1e-9)
    tree = fit_tree(X, level, Growth(criterion="variance", max_depth=1))
    left = X[:, tree.feature[0]] < tree.threshold[0]
    expected = stats.f_oneway(level[left], level[~left]).pvalue
    assert split_p_values(tree)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_bootstrap_intervals_agree_with_scipy_s_up_to_the_draws(method, rng):
    data = rng.exponential(size=40)
    ours = bootstrap_interval(data, np.mean, rng, n_resamples=4000, method=method)
    theirs = stats.bootstrap(
        (data,), np.mean, n_resamples=4000, method=method, rng=np.random.default_rng(1)
    ).confidence_interval
    # a 2.5 % quantile of 4000 draws strays by 0.007 of the range at most, three times that is 0.02
    np.testing.assert_allclose(ours, theirs, atol=0.06 * (theirs.high - theirs.low))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosting_is_identical_to_scikit_learn_s_samme_on_untied_data(n_classes, rng):
    X, _, y = continuous_sample(rng, 200, n_classes)
    model = fit_adaboost(X, y, n_rounds=20)
    peer = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.history["error"], peer.estimator_errors_, rtol=1e-8)
    np.testing.assert_allclose(2 * model.votes, peer.estimator_weights_, rtol=1e-8)
    assert np.array_equal(predict_boosting(model, X), peer.predict(X))


def data_set(name):
    X, y = LOADERS[name](return_X_y=True)
    return X, (y > np.median(y)).astype(int) if name == "diabetes" else y.astype(int)


def mean_accuracies(X, y, ours, theirs, n_folds=10):
    """Return the mean accuracy of both over the same stratified folds."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y)
    scores = [
        (
            np.mean(ours(X[train], y[train], X[test], fold) == y[test]),
            theirs(fold).fit(X[train], y[train]).score(X[test], y[test]),
        )
        for fold, (train, test) in enumerate(folds)
    ]
    return np.mean(scores, axis=0)


def forest_predictions(X, y, Z, seed, n_trees=100):
    return predict_forest(fit_forest(X, y, np.random.default_rng(seed), n_trees=n_trees), Z)


def boosting_predictions(X, y, Z, seed):
    return predict_boosting(fit_adaboost(X, y), Z)


def test_forest_and_boosting_are_as_accurate_as_scikit_learn_s_in_small():
    X, y = load_breast_cancer(return_X_y=True)
    ours, theirs = mean_accuracies(
        X,
        y,
        lambda *args: forest_predictions(*args, n_trees=20),
        lambda seed: RandomForestClassifier(20, random_state=seed),
        n_folds=4,
    )
    assert ours >= theirs - 0.01
    X, y = load_wine(return_X_y=True)
    ours, theirs = mean_accuracies(
        X, y, boosting_predictions, lambda seed: AdaBoostClassifier(random_state=seed), n_folds=3
    )
    assert ours >= theirs - 0.01


@pytest.mark.full
@pytest.mark.parametrize("name", LOADERS)
def test_a_forest_is_within_1_percent_of_scikit_learn_s_over_10_folds(name):
    ours, theirs = mean_accuracies(
        *data_set(name),
        forest_predictions,
        lambda seed: RandomForestClassifier(100, random_state=seed),
    )
    assert ours >= theirs - 0.01


@pytest.mark.full
@pytest.mark.parametrize("name", LOADERS)
def test_boosting_is_within_1_percent_of_scikit_learn_s_over_10_folds(name):
    ours, theirs = mean_accuracies(
        *data_set(name), boosting_predictions, lambda seed: AdaBoostClassifier(random_state=seed)
    )
    assert ours >= theirs - 0.01
