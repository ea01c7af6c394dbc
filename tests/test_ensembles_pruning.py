from __future__ import annotations

import math

import numpy as np
import pytest

from svmlab.ensembles import (
    Growth,
    fit_stump,
    fit_tree,
    permutation_p_values,
    predict_tree,
    prune_tree,
    split_p_values,
)
from svmlab.ensembles.pruning import chi_square_tail, chi_square_test, f_test, incomplete_beta

pytestmark = pytest.mark.core


def noisy_step(rng, n=300):
    X = rng.normal(size=(n, 3))
    flip = rng.random(n) < 0.2
    return X, ((X[:, 0] > 0) ^ flip).astype(int)


def prune_literally(tree, p_values, level):
    """Follow the lecture: look at parents of two leaves, remove, start again."""
    feature = tree.feature.copy()
    while True:
        for node in np.flatnonzero(feature != -1):
            below = [tree.left[node], tree.right[node]]
            if np.all(feature[below] == -1) and p_values[node] > level:
                feature[node] = -1
                break
        else:
            return feature


def test_chi_square_by_hand():
    # all four expected counts are 15, all deviations 5
    assert chi_square_test([[10, 20], [20, 10]]) == pytest.approx(
        math.erfc(math.sqrt(4 * 25 / 15 / 2)), rel=1e-12
    )
    assert chi_square_test([[10, 0, 20], [20, 0, 10]]) == chi_square_test([[10, 20], [20, 10]])
    assert chi_square_test([[5, 10], [10, 20]]) == 1.0
    assert chi_square_test([[5, 0], [10, 0]]) == 1.0


def test_chi_square_tail_has_its_closed_forms():
    for x in (0.1, 1.0, 7.0, 300.0):
        assert chi_square_tail(x, 2) == pytest.approx(math.exp(-x / 2), rel=1e-12)
        assert chi_square_tail(x, 4) == pytest.approx(math.exp(-x / 2) * (1 + x / 2), rel=1e-12)
    assert chi_square_tail(0.0, 3) == 1.0


def test_f_test_has_its_closed_forms():
    for F in (0.01, 0.7, 3.0, 50.0):
        # n = 3: the Cauchy distribution; n = 4: t with two degrees of freedom
        assert f_test(F, 1.0, 3) == pytest.approx(1 - 2 / math.pi * math.atan(F**0.5), rel=1e-10)
        assert f_test(F, 2.0, 4) == pytest.approx(1 - (F / (2 + F)) ** 0.5, rel=1e-10)
    assert f_test(1.0, 0.0, 5) == 0.0
    assert f_test(0.0, 1.0, 5) == f_test(1.0, 1.0, 2) == 1.0


def test_incomplete_beta_is_symmetric():
    for a, b, x in [(0.5, 3.0, 0.3), (20.0, 0.5, 0.99), (7.0, 7.0, 0.5)]:
        total = incomplete_beta(a, b, x) + incomplete_beta(b, a, 1 - x)
        assert total == pytest.approx(1.0, rel=1e-12)
    assert incomplete_beta(7.0, 7.0, 0.5) == pytest.approx(0.5)


@pytest.mark.parametrize("criterion", ["gini", "variance"])
def test_pruning_is_the_lecture_s_loop(criterion, rng):
    X, y = noisy_step(rng)
    tree = fit_tree(X, y, Growth(criterion=criterion))
    p_values = split_p_values(tree)
    for level in (0.001, 0.02, 0.1):
        pruned = prune_tree(tree, p_values, level)
        literal = prune_literally(tree, p_values, level)
        reached, stack = [], [0]
        while stack:
            node = stack.pop()
            reached.append(literal[node])
            if literal[node] != -1:
                stack += [tree.right[node], tree.left[node]]
        assert pruned.feature.tolist() == reached
        assert pruned.n_leaves < tree.n_leaves


def test_a_pruned_tree_is_consistent_and_predicts_by_the_cells_left(rng):
    X, y = noisy_step(rng)
    tree = fit_tree(X, y)
    pruned = prune_tree(tree, split_p_values(tree))
    assert np.all(np.isnan(pruned.threshold) == (pruned.feature == -1))
    nodes = np.flatnonzero(pruned.feature != -1)
    children = np.sort(np.concatenate((pruned.left[nodes], pruned.right[nodes])))
    assert np.array_equal(children, np.arange(1, len(pruned.feature)))
    assert pruned.n_samples[pruned.feature == -1].sum() == 300
    errors = [np.mean(predict_tree(t, X) != y) for t in (tree, pruned)]
    assert errors[0] < errors[1] < 0.3


def test_an_insignificant_split_above_a_significant_one_stays():
    X = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 10, axis=0)
    tree = fit_tree(X, np.repeat([0, 1, 1, 0], 10))
    p_values = split_p_values(tree)
    assert p_values[0] == 1.0
    assert prune_tree(tree, p_values).n_leaves == 4


def test_level_1_keeps_all_and_level_0_nothing(rng):
    tree = fit_tree(*noisy_step(rng))
    p_values = split_p_values(tree)
    assert np.array_equal(prune_tree(tree, p_values, 1.0).feature, tree.feature)
    assert prune_tree(tree, p_values, 0.0).n_leaves == 1


def test_the_permutation_test_is_honest_where_the_classical_tests_are_not(rng):
    classical, honest = [], []
    for _ in range(100):
        X, y = rng.normal(size=(24, 3)), np.repeat([0, 1], 12)  # no variable matters
        stump = fit_stump(X, y)
        classical.append(split_p_values(stump)[0])
        honest.append(permutation_p_values(stump, X, y, rng, n_permutations=19)[0])
    # P(p ≤ 0.1) ≤ 0.1 for the honest one; 0.19 is three standard deviations more
    assert np.mean(np.array(honest) <= 0.1) <= 0.19
    assert np.mean(np.array(classical) <= 0.1) > 0.4


@pytest.mark.parametrize("criterion", ["gini", "variance"])
def test_the_permutation_test_finds_the_step_and_drops_the_noise(criterion, rng):
    X, y = noisy_step(rng, 120)
    tree = fit_tree(X, y, Growth(criterion=criterion, max_depth=3))
    p_values = permutation_p_values(tree, X, y, rng, n_permutations=39)
    assert p_values[0] == 1 / 40
    assert np.all(p_values[tree.feature == -1] == 1.0)
    pruned = prune_tree(tree, p_values)
    assert pruned.feature[0] == 0
    assert pruned.n_leaves < tree.n_leaves


def test_permutations_also_test_categorical_splits(rng):
    X = rng.integers(0, 4, size=(60, 2))
    y = np.isin(X[:, 1], [0, 2]).astype(int)
    tree = fit_tree(X, y, Growth(categorical=(0, 1)))
    assert permutation_p_values(tree, X, y, rng, n_permutations=19)[0] == 1 / 20
    assert np.array_equal(prune_tree(tree, split_p_values(tree)).categories, tree.categories)


def test_bad_input_is_named(rng):
    tree = fit_tree(*noisy_step(rng))
    with pytest.raises(ValueError, match="level must be between 0 and 1, got 5"):
        prune_tree(tree, split_p_values(tree), 5)
    with pytest.raises(ValueError, match="p_values must have one entry a node"):
        prune_tree(tree, np.ones(2))
    with pytest.raises(ValueError, match="n_permutations must be a whole number"):
        permutation_p_values(tree, [[1.0]], [0], rng, n_permutations=0)
