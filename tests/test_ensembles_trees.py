from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from svmlab.ensembles import (
    Growth,
    entropy_impurity,
    error_impurity,
    find_leaves,
    fit_stump,
    fit_tree,
    gini_impurity,
    impurity_decrease,
    predict_tree,
    tree_values,
    variance_impurity,
)
from svmlab.ensembles.impurity import class_sums, moment_sums
from svmlab.ensembles.splits import find_split

pytestmark = pytest.mark.core

CLASS_CRITERIA = ("error", "gini", "entropy")


def impurity_of(y, w, criterion):
    """The definitions, written once more for a plain list of targets."""
    if criterion == "variance":
        return np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    p = np.array([w[y == k].sum() for k in np.unique(y)]) / w.sum()
    if criterion == "error":
        return 1 - p.max()
    return np.sum(p * (1 - p)) if criterion == "gini" else -np.sum(p * np.log2(p))


def decrease_of(left, y, w, criterion):
    parts = sum(w[s].sum() * impurity_of(y[s], w[s], criterion) for s in (left, ~left))
    return impurity_of(y, w, criterion) - parts / w.sum()


def sums_of(y, w, criterion):
    return moment_sums(y, w) if criterion == "variance" else class_sums(y, w, int(y.max()) + 1)


def targets_for(criterion, n, n_classes, rng):
    if criterion == "variance":
        return rng.normal(size=n)
    return np.concatenate((np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)))


def mixed_sample(rng, n=80):
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 0.5).astype(int)


def same_shape(a, b):
    assert np.array_equal(a.feature, b.feature)
    np.testing.assert_allclose(a.threshold, b.threshold)
    assert np.array_equal(a.left, b.left)
    assert np.array_equal(a.right, b.right)
    np.testing.assert_allclose(a.value, b.value, atol=1e-12)
    np.testing.assert_allclose(a.impurity, b.impurity, atol=1e-12)


# impurity


@pytest.mark.parametrize("h", [error_impurity, gini_impurity, entropy_impurity])
def test_a_pure_cell_has_impurity_0_and_an_even_one_the_most(h):
    p = np.linspace(0, 1, 101)
    values = h([p, 1 - p])
    assert values[0] == values[-1] == 0.0
    assert np.argmax(values) == 50
    np.testing.assert_allclose(values, values[::-1], atol=1e-15)


def test_the_error_of_two_classes_is_the_smaller_frequency():
    p = np.linspace(0, 1, 11)
    np.testing.assert_allclose(error_impurity([p, 1 - p]), np.minimum(p, 1 - p), atol=1e-15)


def test_impurities_of_a_cell_worked_by_hand():
    p = [0.5, 0.25, 0.25]
    assert error_impurity(p) == 0.5
    assert gini_impurity(p) == 1 - (0.25 + 0.0625 + 0.0625)
    assert entropy_impurity(p) == 1.5
    assert variance_impurity([1.0, 3.0, 11.0]) == 2.0


@pytest.mark.parametrize("criterion", [*CLASS_CRITERIA, "variance"])
def test_no_split_ever_raises_the_impurity(criterion, rng):
    y = targets_for(criterion, 40, 3, rng)
    sums = sums_of(y, rng.random(40) + 0.1, criterion)
    left = np.stack([sums[:, rng.random(40) < 0.5].sum(axis=1) for _ in range(200)], axis=1)
    assert impurity_decrease(left, sums.sum(axis=1), criterion).min() > -1e-12


# splits


@pytest.mark.parametrize("criterion", [*CLASS_CRITERIA, "variance"])
def test_the_split_found_is_the_best_of_all_thresholds(criterion, rng):
    for _ in range(20):
        n = 25
        columns = np.round(rng.normal(size=(3, n)), 1)  # with ties in the values
        y, w = targets_for(criterion, n, 3, rng), rng.integers(1, 4, n).astype(float)
        split = find_split(columns, sums_of(y, w, criterion), np.arange(3), criterion)
        best = max(decrease_of(v < s, y, w, criterion) for v in columns for s in np.unique(v)[1:])
        assert split.decrease == pytest.approx(best, abs=1e-12)
        goes_left = columns[split.feature] < split.threshold
        assert decrease_of(goes_left, y, w, criterion) == pytest.approx(best, abs=1e-12)


def all_subsets(codes):
    present = np.unique(codes)
    for size in range(1, len(present)):
        for s in combinations(present, size):
            yield np.isin(codes, s)


@pytest.mark.parametrize(
    ("criterion", "n_classes"), [(c, k) for c in CLASS_CRITERIA for k in (2, 3)] + [("variance", 0)]
)
def test_the_categorical_split_found_is_the_best_of_all_subsets(criterion, n_classes, rng):
    for _ in range(10):
        n = 40
        codes, w = rng.integers(0, 6, n).astype(float), rng.random(n) + 0.2
        y = targets_for(criterion, n, n_classes, rng)
        sums = sums_of(y, w, criterion)
        split = find_split(codes[None], sums, np.array([0]), criterion, categorical=(0,))
        best = max(decrease_of(left, y, w, criterion) for left in all_subsets(codes))
        assert split.decrease == pytest.approx(best, abs=1e-12)
        assert decrease_of(split.goes_left(codes), y, w, criterion) == pytest.approx(best)


def test_with_many_categories_and_classes_a_class_of_its_own_is_still_found(rng):
    codes = np.repeat(np.arange(14.0), 5)
    y = np.where(np.isin(codes, [1, 4, 11]), 0, rng.integers(1, 4, codes.size))
    y[:4] = [1, 2, 3, 1]
    split = find_split(
        codes[None], class_sums(y, np.ones(codes.size), 4), np.array([0]), categorical=(0,)
    )
    subset = set(split.codes)
    assert subset == {1, 4, 11} or subset == set(range(14)) - {1, 4, 11}


def test_equal_splits_go_to_the_first_variable_and_lowest_threshold():
    X = np.array([[0.0, 0, 5], [1, 1, 4], [2, 2, 3], [3, 3, 2]])
    tree = fit_stump(X, [0, 1, 0, 1])
    assert (tree.feature[0], tree.threshold[0]) == (0, 0.5)


def test_a_threshold_separates_neighbouring_floats():
    a, b = 1.0, np.nextafter(1.0, 2.0)
    tree = fit_tree([[a], [b]], [0, 1])
    assert np.array_equal(predict_tree(tree, [[a], [b]]), [0, 1])


def test_mean_splits_are_at_the_mean_and_median_splits_halve(rng):
    X = rng.exponential(size=(40, 1))
    y, w = rng.integers(0, 2, 40), rng.integers(1, 4, 40).astype(float)
    mean = fit_tree(X, y, Growth(split="mean", max_depth=1), sample_weight=w)
    assert mean.threshold[0] == pytest.approx(np.average(X[:, 0], weights=w))
    median = fit_tree(X, y, Growth(split="median", max_depth=1))
    assert median.threshold[0] == pytest.approx(np.median(X))
    assert median.n_samples.tolist() == [40, 20, 20]


def test_a_median_split_takes_the_most_even_boundary_when_most_values_are_equal():
    tree = fit_tree([[0], [0], [0], [0], [1], [2]], [0, 1, 0, 1, 1, 1], Growth(split="median"))
    assert tree.threshold[0] == 0.5


# trees


def test_a_tree_worked_by_hand():
    X, y = [[1, 7], [2, 3], [3, 9], [4, 1], [5, 5], [6, 8]], [0, 0, 0, 1, 2, 1]
    tree = fit_tree(X, y)
    assert tree.feature.tolist() == [0, -1, 0, -1, 0, -1, -1]
    assert tree.threshold[0] == 3.5
    np.testing.assert_allclose(tree.value[0], [1 / 2, 1 / 3, 1 / 6])
    assert tree.impurity[0] == pytest.approx(1 - 1 / 4 - 1 / 9 - 1 / 36)
    assert tree.impurity[tree.feature == -1].max() == 0.0
    assert np.array_equal(predict_tree(tree, X), y)


def test_a_regression_stump_worked_by_hand():
    stump = fit_stump([[1], [2], [3], [8]], [1.0, 3.0, 10.0, 14.0], "variance")
    assert stump.threshold[0] == 2.5
    assert stump.value.tolist() == [[7.0], [2.0], [12.0]]
    assert stump.impurity.tolist() == [27.5, 1.0, 4.0]
    assert predict_tree(stump, [[0], [2.5], [99]]).tolist() == [2.0, 12.0, 12.0]


def test_exclusive_or_needs_a_split_that_gains_nothing():
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    tree = fit_tree(X, y)
    assert tree.decrease[0] == 0.0
    assert tree.depth == 2
    assert np.array_equal(predict_tree(tree, X), y)


@pytest.mark.parametrize("criterion", [*CLASS_CRITERIA, "variance"])
@pytest.mark.parametrize("split", ["best", "mean", "median"])
def test_weighting_an_example_is_repeating_it_and_weight_0_is_leaving_it_out(criterion, split, rng):
    X, y = mixed_sample(rng, 40)
    if criterion == "variance":
        y = X[:, 0] + rng.normal(size=40)
    counts = rng.integers(0, 4, 40)
    growth = Growth(criterion=criterion, split=split)
    n_classes = None if criterion == "variance" else 2
    weighted = fit_tree(X, y, growth, sample_weight=counts, n_classes=n_classes)
    repeated = fit_tree(np.repeat(X, counts, axis=0), np.repeat(y, counts), growth)
    same_shape(weighted, repeated)
    np.testing.assert_allclose(weighted.weight, repeated.n_samples)


def test_leaves_are_pure_or_hold_fewer_than_K_examples(rng):
    X, y = mixed_sample(rng, 200)
    for K in (2, 10, 50):
        tree = fit_tree(X, y, Growth(min_samples=K))
        leaf = tree.feature == -1
        assert np.all(tree.n_samples[~leaf] >= K)
        assert np.all((tree.impurity[leaf] == 0) | (tree.n_samples[leaf] < K))


def test_depth_is_limited_and_a_stump_has_one_split(rng):
    X, y = mixed_sample(rng)
    assert fit_tree(X, y, Growth(max_depth=3)).depth == 3
    stump = fit_stump(X, y)
    assert (stump.depth, stump.n_leaves) == (1, 2)


def test_every_cell_is_the_sum_of_its_children(rng):
    X, y = mixed_sample(rng)
    tree = fit_tree(X, y, sample_weight=rng.random(80))
    nodes = np.flatnonzero(tree.feature != -1)
    left, right = tree.left[nodes], tree.right[nodes]
    assert np.array_equal(tree.n_samples[nodes], tree.n_samples[left] + tree.n_samples[right])
    sums = tree.value * tree.weight[:, None]
    np.testing.assert_allclose(sums[nodes], sums[left] + sums[right])
    assert tree.decrease.min() > -1e-12


def test_rows_fall_into_leaves_as_a_walk_from_the_root_says(rng):
    X, y = mixed_sample(rng)
    tree = fit_tree(X, y, Growth(max_depth=4))
    Z = rng.normal(size=(50, 4))
    for z, leaf in zip(Z, find_leaves(tree, Z), strict=True):
        node = 0
        while tree.feature[node] != -1:
            below = z[tree.feature[node]] < tree.threshold[node]
            node = tree.left[node] if below else tree.right[node]
        assert node == leaf
    np.testing.assert_allclose(tree_values(tree, Z).sum(axis=1), 1.0)


@pytest.mark.parametrize("split", ["best", "median"])
def test_a_rising_map_of_a_variable_changes_no_cell(split, rng):
    X, y = mixed_sample(rng)
    a, b = fit_tree(X, y, Growth(split=split)), fit_tree(np.exp(X), y, Growth(split=split))
    assert np.array_equal(a.feature, b.feature)
    assert np.array_equal(find_leaves(a, X), find_leaves(b, np.exp(X)))


def test_the_order_of_the_rows_does_not_matter(rng):
    X, y = mixed_sample(rng)
    order = rng.permutation(len(X))
    same_shape(fit_tree(X, y), fit_tree(X[order], y[order]))


def test_renaming_the_classes_renames_the_predictions(rng):
    X, y = mixed_sample(rng)
    a, b = fit_tree(X, y, Growth(max_depth=3)), fit_tree(X, 1 - y, Growth(max_depth=3))
    np.testing.assert_allclose(a.value, b.value[:, ::-1])


def test_moving_and_scaling_real_targets_moves_and_scales_the_values(rng):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    growth = Growth(criterion="variance", min_samples=8)
    a, b = fit_tree(X, y, growth), fit_tree(X, 1e7 + 8 * y, growth)
    assert np.array_equal(a.feature, b.feature)
    np.testing.assert_allclose(b.value, 1e7 + 8 * a.value, rtol=1e-13)
    np.testing.assert_allclose(b.impurity, 64 * a.impurity, rtol=1e-6, atol=1e-9)


def test_a_categorical_tree_sends_members_left_and_unseen_codes_right():
    X, y = np.array([[0], [1], [2], [3], [3]]), np.array([1, 0, 1, 0, 0])
    tree = fit_tree(X, y, Growth(categorical=(0,)))
    assert tree.depth == 1  # as a number the variable would need three splits
    assert tree.categories[0].tolist() == [False, True, False, True]
    assert predict_tree(tree, [[0], [1], [2], [3], [9], [0.5], [-1]]).tolist() == [
        1, 0, 1, 0, 1, 1, 1,
    ]  # fmt: skip
    assert fit_tree(X, y).depth > 1


def test_numeric_and_categorical_variables_share_a_tree(rng):
    X = np.column_stack((rng.normal(size=60), rng.integers(0, 5, 60)))
    y = np.isin(X[:, 1], [1, 4]) & (X[:, 0] > 0)
    tree = fit_tree(X, y, Growth(categorical=(1,)))
    assert tree.depth == 2
    assert set(tree.feature) == {-1, 0, 1}
    assert np.array_equal(predict_tree(tree, X), y)


def test_variables_drawn_are_reproducible_and_a_drawn_constant_is_no_dead_end(rng):
    X, y = mixed_sample(rng)
    wide = np.column_stack((np.ones((80, 20)), X))
    growth = Growth(max_features=1)
    trees = [fit_tree(wide, y, growth, rng=np.random.default_rng(s)) for s in (5, 5, 6)]
    same_shape(trees[0], trees[1])
    assert not np.array_equal(trees[0].feature, trees[2].feature)
    assert trees[0].impurity[trees[0].feature == -1].max() == 0.0


def test_a_cell_without_variation_is_a_leaf():
    tree = fit_tree(np.ones((4, 2)), [0, 1, 1, 1])
    assert tree.n_leaves == 1
    assert predict_tree(tree, np.zeros((1, 2))).tolist() == [1]
    assert fit_tree([[3.0]], [0]).n_leaves == 1


def test_integers_memory_order_and_chunks_change_nothing(rng, monkeypatch):
    X = rng.integers(0, 9, size=(50, 4))
    y = rng.integers(0, 3, 50)
    tree = fit_tree(X, y)
    same_shape(tree, fit_tree(np.asfortranarray(X, dtype=float), y.astype(float)))
    monkeypatch.setattr("svmlab.ensembles.splits.CHUNK", 1)
    same_shape(tree, fit_tree(X, y))


def test_arguments_are_left_as_they_were(rng):
    X, y = mixed_sample(rng)
    w = np.ones(80)
    before = X.copy(), y.copy(), w.copy()
    predict_tree(fit_tree(X, y, sample_weight=w), X)
    for now, then in zip((X, y, w), before, strict=True):
        assert np.array_equal(now, then)


X4, Y4 = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X4 * np.nan, Y4), {}, "X must be finite"),
        ((X4 + np.inf, Y4), {}, "X must be finite"),
        ((np.empty((0, 2)), []), {}, "X is empty"),
        ((X4, Y4[:3]), {}, "y must have 4 entries, got 3"),
        ((X4, [-1, 1, 1, -1]), {}, "y must hold class codes 0, 1, ..., got -1"),
        ((X4, [0, 0.5, 1, 1]), {}, "y must hold class codes 0, 1, ..., got 0.5"),
        ((X4, [0, 1, 2, 1]), {"n_classes": 2}, "below n_classes = 2, got 2"),
        ((X4, [0, np.nan, 1, 1], Growth(criterion="variance")), {}, "y must be finite"),
        ((X4, Y4), {"sample_weight": [1, 1, -1, 1]}, "sample_weight must be 0 or above"),
        ((X4, Y4), {"sample_weight": [1, 1]}, "sample_weight must have 4 entries, got 2"),
        ((X4 + 0.5, Y4, Growth(categorical=(1,))), {}, r"X\[:, 1\] is categorical"),
        ((X4, Y4, Growth(categorical=(2,))), {}, "categorical must name columns 0 to 1, got 2"),
        ((X4, Y4, Growth(max_features=1)), {}, "rng is needed"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        fit_tree(*arguments, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "gain"}, "criterion must be one of"),
        ({"split": "random"}, "split must be one of"),
        ({"max_depth": 0}, "max_depth must be a whole number, 1 or above, got 0"),
        ({"min_samples": 1.5}, "min_samples must be a whole number"),
        ({"max_features": "log"}, "max_features must be one of 'sqrt'"),
        ({"max_features": 0}, "max_features must be a whole number"),
    ],
)
def test_bad_growth_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        Growth(**options)


def test_rows_to_predict_need_the_columns_of_the_fit():
    with pytest.raises(ValueError, match="X must have 2 columns as in fit, got 3"):
        predict_tree(fit_tree(X4, Y4), np.ones((1, 3)))
