from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from svmlab.ensembles import (
    Bagging,
    Growth,
    average,
    bootstrap_interval,
    bootstrap_rows,
    bootstrap_statistics,
    fit_bagging,
    fit_forest,
    fit_tree,
    forest_values,
    importance_by_count,
    importance_by_impurity,
    majority_vote,
    out_of_bag_errors,
    predict_bagging,
    predict_forest,
    predict_tree,
)

pytestmark = pytest.mark.core


def noisy_rings(rng, n):
    X = rng.normal(size=(n, 5))
    return X, ((X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4) ^ (rng.random(n) < 0.1)).astype(int)


def tree_learner(X, y, rng):
    return partial(predict_tree, fit_tree(X, y, n_classes=2))


# bootstrap


def test_the_bootstrap_of_two_points_has_its_three_values_with_their_chances(rng):
    draws = bootstrap_statistics([0.0, 1.0], np.mean, 4000, rng)
    values, counts = np.unique(draws, return_counts=True)
    assert values.tolist() == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(counts / 4000, [0.25, 0.5, 0.25], atol=0.03)


def test_the_bootstrap_variance_of_the_mean_is_the_sample_variance_over_n(rng):
    data = rng.exponential(size=30)
    draws = bootstrap_statistics(data, np.mean, 4000, rng)
    assert draws.var() == pytest.approx(data.var() / 30, rel=0.1)
    assert draws.mean() == pytest.approx(data.mean(), abs=4 * np.sqrt(data.var() / 30 / 4000))


def test_rows_of_a_matrix_are_drawn_together(rng):
    data = np.column_stack((np.arange(20.0), 2 * np.arange(20.0)))
    draws = bootstrap_statistics(data, lambda Z: np.ptp(Z[:, 1] - 2 * Z[:, 0]), 20, rng)
    assert np.all(draws == 0.0)


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_intervals_for_the_mean_cover_it_as_often_as_they_say(method, rng):
    hits = 0
    for _ in range(200):
        data = rng.normal(3.0, 2.0, size=60)
        low, high = bootstrap_interval(
            data, np.mean, rng, level=0.9, n_resamples=150, method=method
        )
        hits += low <= 3.0 <= high
    # 0.9 ± 3 standard deviations of the count, and 0.02 below for the finite sample
    assert 0.82 <= hits / 200 <= 0.965


def test_intervals_for_the_maximum_do_not_cover_it(rng):
    hits = 0
    for _ in range(50):
        data = rng.random(60)
        low, high = bootstrap_interval(data, np.max, rng, level=0.9, n_resamples=100)
        hits += low <= 1.0 <= high
    assert hits == 0


def test_the_basic_interval_mirrors_the_percentile_interval():
    data = np.array([1.0, 2.0, 3.0, 10.0])
    p, b = (
        bootstrap_interval(data, np.mean, np.random.default_rng(3), method=m)
        for m in ("percentile", "basic")
    )
    assert b.low == pytest.approx(2 * 4.0 - p.high)
    assert b.high == pytest.approx(2 * 4.0 - p.low)


def test_weights_are_repetitions_in_the_draws(rng):
    weights = np.array([0.0, 1.0, 2.0, 5.0, 0.0])
    counts = sum(np.bincount(bootstrap_rows(weights, rng), minlength=5) for _ in range(1000))
    assert counts.sum() == 8000
    assert counts[0] == counts[4] == 0
    np.testing.assert_allclose(counts / 8000, weights / 8, atol=0.02)


# bagging


def test_votes_and_means_run_over_all_M_rules():
    predictions = [[0, 1], [1, 1], [2, 0], [1, 0], [0, 0], [1, 2], [1, 0]]  # M = 7, two examples
    assert majority_vote(predictions, 3).tolist() == [1, 0]
    assert average(predictions).tolist() == [6 / 7, 4 / 7]
    assert majority_vote([[2], [1]], 3).tolist() == [1]  # the first of equals


def test_bagging_combines_its_rules_by_vote_or_mean():
    rules = tuple(lambda X, v=v: np.full(len(X), v) for v in (0, 1, 1))
    bag = Bagging(predictors=rules, n_classes=2, out_of_bag_error=0.0)
    assert predict_bagging(bag, np.ones((2, 1))).tolist() == [1, 1]
    bag = Bagging(predictors=rules, n_classes=0, out_of_bag_error=0.0)
    assert predict_bagging(bag, np.ones((1, 1))) == pytest.approx(2 / 3)


def test_each_rule_is_fitted_to_a_bootstrap_sample(rng):
    seen = []

    def spy(X, y, rng):
        seen.append(X[:, 0])
        assert np.array_equal(X[:, 0] % 2, y)
        return lambda Z: np.zeros(len(Z), dtype=int)

    fit_bagging(np.arange(200.0).reshape(-1, 1), np.arange(200) % 2, spy, rng, n_rounds=30)
    assert all(len(s) == 200 for s in seen)
    unique = np.mean([len(np.unique(s)) / 200 for s in seen])
    assert unique == pytest.approx(1 - np.exp(-1), abs=0.02)


@pytest.mark.parametrize("combine", ["majority", "average"])
def test_the_out_of_bag_error_asks_only_rules_that_have_not_seen_the_example(combine, rng):
    X, y = noisy_rings(rng, 60)
    bags = []

    def spy(Z, t, rng):
        bags.append(Z)
        return tree_learner(Z, t.astype(int), rng)

    bag = fit_bagging(X, y, spy, rng, combine=combine, n_rounds=7)
    losses = []
    for x, target in zip(X, y, strict=True):
        said = [
            rule(x[None])[0]
            for rule, Z in zip(bag.predictors, bags, strict=True)
            if not np.any(np.all(x == Z, axis=1))
        ]
        if said and combine == "majority":
            losses.append(np.argmax(np.bincount(said, minlength=2)) != target)
        elif said:
            losses.append((np.mean(said) - target) ** 2)
    assert bag.out_of_bag_error == pytest.approx(np.mean(losses))
    assert len(bag.history["out_of_bag_error"]) == 7
    assert bag.history["out_of_bag_error"][-1] == bag.out_of_bag_error


def test_without_an_example_out_of_the_bag_there_is_no_estimate():
    votes = [np.array([[1.0, 0.0]])]
    assert np.isnan(out_of_bag_errors(votes, np.array([[False]]), np.array([0]), 2)[0])


def test_the_out_of_bag_error_is_close_to_the_error_on_new_examples(rng):
    gaps, seen_gaps = [], []
    for _ in range(10):
        X, y = noisy_rings(rng, 120)
        Z, t = noisy_rings(rng, 1000)
        forest = fit_forest(X, y, rng, Growth(max_features=2, min_samples=5), n_trees=20)
        error = np.mean(predict_forest(forest, Z) != t)
        gaps.append(forest.out_of_bag_error - error)
        seen_gaps.append(np.mean(predict_forest(forest, X) != y) - error)
    # one gap has a standard deviation of about 0.04, from 120 examples with an error near 0.2
    assert abs(np.mean(gaps)) < 0.04
    assert np.mean(seen_gaps) < -0.1


def test_averaged_trees_beat_the_mean_tree(rng):
    X = rng.normal(size=(150, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=150)
    Z = rng.normal(size=(1000, 2))
    growth = Growth(criterion="variance")

    def learner(X, y, rng):
        return partial(predict_tree, fit_tree(X, y, growth))

    bag = fit_bagging(X, y, learner, rng, combine="average", n_rounds=20)
    truth = np.sin(2 * Z[:, 0])
    alone = [np.mean((rule(Z) - truth) ** 2) for rule in bag.predictors]
    together = np.mean((predict_bagging(bag, Z) - truth) ** 2)
    # the mean of squares is at least the square of the mean, here by far
    assert together < 0.6 * np.mean(alone)


# random forest


def test_a_forest_is_the_mean_of_its_trees_and_with_pure_leaves_their_majority(rng):
    X, y = noisy_rings(rng, 150)
    forest = fit_forest(X, y, rng, n_trees=15)
    Z = rng.normal(size=(80, 5))
    votes = np.stack([predict_tree(tree, Z) for tree in forest.trees])
    assert np.array_equal(predict_forest(forest, Z), majority_vote(votes, 2))
    np.testing.assert_allclose(forest_values(forest, Z)[:, 1], votes.mean(axis=0))


def test_each_tree_is_the_one_grown_on_its_bootstrap_sample(rng):
    X, y = noisy_rings(rng, 60)
    forest = fit_forest(X, y, np.random.default_rng(2), Growth(), n_trees=3)
    draws = np.random.default_rng(2)
    for tree in forest.trees:
        bag = bootstrap_rows(np.ones(60), draws)
        alone = fit_tree(X[bag], y[bag])
        assert np.array_equal(tree.threshold, alone.threshold, equal_nan=True)
        assert np.array_equal(tree.value, alone.value)


def test_a_regression_forest_averages(rng):
    X = rng.normal(size=(100, 3))
    y = X[:, 0] + 5.0
    growth = Growth(criterion="variance", max_features=2)
    forest = fit_forest(X, y, rng, growth, n_trees=10)
    mean = np.mean([predict_tree(tree, X) for tree in forest.trees], axis=0)
    np.testing.assert_allclose(predict_forest(forest, X), mean)
    assert forest.out_of_bag_error < 0.5 * y.var()


def test_variable_subsets_make_the_trees_differ_more(rng):
    X, y = noisy_rings(rng, 200)
    roots = {
        m: [t.feature[0] for t in fit_forest(X, y, rng, Growth(max_features=m), n_trees=25).trees]
        for m in (1, 5)
    }
    assert set(roots[1]) == {0, 1, 2, 3, 4}
    assert len(set(roots[5])) < 5


@pytest.mark.parametrize("split", ["mean", "median"])
def test_light_trees_of_depth_two_split_at_means_or_medians(split, rng):
    X, y = noisy_rings(rng, 300)
    growth = Growth(split=split, max_depth=2, max_features=2)
    forest = fit_forest(X, y, rng, growth, n_trees=25)
    assert max(tree.depth for tree in forest.trees) == 2
    roots = np.array([tree.threshold[0] for tree in forest.trees])
    features = [tree.feature[0] for tree in forest.trees]
    centres = X.mean(axis=0) if split == "mean" else np.median(X, axis=0)
    # a bootstrap mean strays by about 1/√300, a median by 1.25/√300
    assert np.abs(roots - centres[features]).max() < 4 * 1.25 / np.sqrt(300)


def test_the_same_seed_grows_the_same_forest(rng):
    X, y = noisy_rings(rng, 80)
    a, b = (fit_forest(X, y, np.random.default_rng(4), n_trees=5) for _ in range(2))
    for s, t in zip(a.trees, b.trees, strict=True):
        assert np.array_equal(s.threshold, t.threshold, equal_nan=True)


def test_examples_of_weight_0_do_not_matter(rng):
    X, y = noisy_rings(rng, 80)
    weights = np.repeat([1.0, 0.0], 40)
    a, b = (
        fit_forest(X, t, np.random.default_rng(1), n_trees=5, sample_weight=weights)
        for t in (y, np.where(weights > 0, y, 1 - y))
    )
    assert np.array_equal(forest_values(a, X), forest_values(b, X))


def test_importances_of_a_tree_worked_by_hand():
    # weight times Gini: 24/7 in the root, 3/2 in its child with classes (1, 3), 0 in the leaves
    X = np.array([[0, 0], [1, 0], [0, 1], [0, 1], [0, 1], [1, 1], [1, 1]])
    tree = fit_tree(X, [0, 0, 1, 1, 1, 0, 0])
    assert tree.feature.tolist() == [0, 1, -1, -1, -1]
    np.testing.assert_allclose(tree.decrease, [27 / 14, 21 / 14, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(importance_by_impurity([tree]), [9 / 16, 7 / 16])
    assert importance_by_count([tree]).tolist() == [1, 1]
    assert importance_by_count([tree, tree, tree]).tolist() == [3, 3]
    other = fit_tree([[0, 0], [1, 0]], [0, 1])  # smaller, but counts the same
    np.testing.assert_allclose(importance_by_impurity([tree, other]), [25 / 32, 7 / 32])


def test_both_importances_find_the_variables_that_matter(rng):
    X, y = noisy_rings(rng, 400)
    forest = fit_forest(X, y, rng, Growth(max_features=2, min_samples=20), n_trees=30)
    counts, shares = importance_by_count(forest.trees), importance_by_impurity(forest.trees)
    assert shares.sum() == pytest.approx(1.0)
    assert set(np.argsort(counts)[-2:]) == set(np.argsort(shares)[-2:]) == {0, 1}
    assert shares[:2].min() > 2 * shares[2:].max()
    assert counts.sum() == sum(tree.n_leaves - 1 for tree in forest.trees)


def test_trees_without_a_split_have_no_importance():
    leaf = fit_tree([[1.0], [2.0]], [1, 1])
    assert importance_by_impurity([leaf]).tolist() == [0.0]
    tree = fit_tree([[1.0], [2.0]], [0, 1])
    assert importance_by_impurity([leaf, tree]).tolist() == [1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: bootstrap_statistics([1.0, np.nan], np.mean, 5, r), "data must be finite"),
        (lambda r: bootstrap_statistics([], np.mean, 5, r), "data is empty"),
        (lambda r: bootstrap_statistics([1.0], np.mean, 0, r), "n_resamples must be"),
        (lambda r: bootstrap_interval([1.0], np.mean, r, level=95), "level must be between"),
        (lambda r: bootstrap_interval([1.0], np.mean, r, method="bca"), "method must be one of"),
        (lambda r: fit_bagging([[1.0]], [0], tree_learner, r, n_rounds=0), "n_rounds must be"),
        (lambda r: fit_bagging([[1.0]], [0, 1], tree_learner, r), "y must have 1 entries"),
        (lambda r: fit_bagging([[1.0]], [-1], tree_learner, r), "y must hold class codes"),
        (lambda r: fit_bagging([[1.0]], [1], tree_learner, r, combine="x"), "combine must be"),
        (lambda r: fit_forest([[np.inf]], [0], r), "X must be finite"),
        (lambda r: fit_forest([[1.0]], [0], r, n_trees=0), "n_trees must be"),
        (lambda r: fit_forest([[1.0]], [0], r, sample_weight=[-1]), "sample_weight must be"),
    ],
)
def test_bad_input_is_named(call, message, rng):
    with pytest.raises(ValueError, match=message):
        call(rng)
