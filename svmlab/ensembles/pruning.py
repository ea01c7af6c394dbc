"""Pruning a tree from the leaves up: a split stays if a test finds it significant (G6).

The p-value of a split depends on its own cell only, so all are computed first, by one of two
tests, and :func:`prune_tree` then needs nothing but these numbers. The classical tests treat the
split as if it had been fixed beforehand and are too kind to one that was searched for; the
permutation test repeats the search and is honest, at the price of doing so many times.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from svmlab.ensembles.growing import Sample, choose_split, prepare
from svmlab.ensembles.trees import LEAF, Growth, Tree
from svmlab.types import Indices, Vector
from svmlab.validation import check_count


def split_p_values(tree: Tree) -> Vector:
    """Test each split by chi-square (classes) or F (real targets); leaves get 1 (G6).

    Weights count as repetitions: do not scale them before.

    >>> from svmlab.ensembles import fit_stump
    >>> split_p_values(fit_stump([[1], [2], [3], [4]], [0, 0, 1, 1]))
    array([0.04550026, 1. , 1. ])
    """
    p_values = np.ones(len(tree.feature))
    for node in np.flatnonzero(tree.feature != LEAF):
        sides = [tree.left[node], tree.right[node]]
        if tree.growth.classifies:
            p_values[node] = chi_square_test(tree.value[sides] * tree.weight[sides, None])
        else:
            within = float(tree.weight[sides] @ tree.impurity[sides])
            p_values[node] = f_test(float(tree.decrease[node]), within, float(tree.weight[node]))
    return p_values


def chi_square_test(table: ArrayLike) -> float:
    r"""Return the p-value of independence of side and class in a 2 × K table of counts (G6).

    .. math:: \chi^2 = \sum_{s,k} \frac{(O_{sk} - E_{sk})^2}{E_{sk}}, \qquad
        E_{sk} = \frac{O_{s\cdot} O_{\cdot k}}{O_{\cdot\cdot}}  \tag{eq-chi-square-test}

    with K − 1 degrees of freedom; classes that do not occur do not count.

    >>> round(chi_square_test([[10, 20], [20, 10]]), 6)
    0.009823
    """
    observed = np.asarray(table, dtype=np.float64)
    observed = observed[:, observed.sum(axis=0) > 0]
    degrees = observed.shape[1] - 1
    if degrees < 1:
        return 1.0
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
    return chi_square_tail(float(np.sum((observed - expected) ** 2 / expected)), degrees)


def chi_square_tail(x: float, degrees: int) -> float:
    r"""Return P(χ² > x) for a whole number of degrees of freedom.

    .. math::
        P &= e^{-x/2} \sum_{i < k/2} \frac{(x/2)^i}{\Gamma(i + 1)}\ \ (k \text{ even})\\
        P &= \operatorname{erfc}\sqrt{x/2} + e^{-x/2} \sum_{i < (k-1)/2}
        \frac{(x/2)^{i + 1/2}}{\Gamma(i + 3/2)}\ \ (k \text{ odd})  \tag{eq-chi-square-tail}

    >>> round(chi_square_tail(3.841458820694124, 1), 12)
    0.05
    """
    if x <= 0.0:
        return 1.0
    half, odd = x / 2.0, degrees % 2
    powers = np.arange(degrees // 2) + odd / 2.0
    log_terms = [k * math.log(half) - half - math.lgamma(k + 1.0) for k in powers]
    start = math.erfc(math.sqrt(half)) if odd else 0.0
    return min(1.0, start + math.fsum(math.exp(term) for term in log_terms))


def f_test(between: float, within: float, n: float) -> float:
    r"""Return the p-value of equal means on both sides of a split (G6).

    .. math::
        F &= \frac{(n - 2)\, SS_{\text{between}}}{SS_{\text{within}}} \sim F(1, n - 2)\\
        P &= I_{SS_{\text{within}} / (SS_{\text{within}} + SS_{\text{between}})}
        \big(\tfrac{n-2}{2}, \tfrac12\big)
        \tag{eq-f-test}

    >>> round(f_test(6.0, 12.0, 8), 6)
    0.133975
    """
    if n <= 2 or between <= 0.0:
        return 1.0
    return incomplete_beta((n - 2) / 2.0, 0.5, within / (within + between))


def incomplete_beta(a: float, b: float, x: float) -> float:
    r"""Return the regularised incomplete beta function, by its continued fraction.

    .. math:: I_x(a, b) = \frac{1}{B(a, b)} \int_0^x t^{a-1} (1-t)^{b-1}\,dt
        \tag{eq-incomplete-beta}

    >>> round(incomplete_beta(2.0, 0.5, 0.5), 12)
    0.11611652351...
    """
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast below this point only
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    log_front += a * math.log(x) + b * math.log1p(-x)
    value = 0.0
    for m in range(200, -1, -1):  # evaluated from its tail
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        even = (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2))
        value = odd / (1.0 + even / (1.0 + value))
    return math.exp(log_front) / (a * (1.0 + value))


def permutation_p_values(
    tree: Tree,
    X: ArrayLike,
    y: ArrayLike,
    rng: np.random.Generator,
    *,
    n_permutations: int = 99,
    sample_weight: ArrayLike | None = None,
) -> Vector:
    r"""Test each split against the best splits of shuffled targets; leaves get 1 (G6).

    .. math:: P = \frac{1 + \#\{\pi : \Delta_\pi \ge \Delta\}}{1 + \#\pi}
        \tag{eq-permutation-test}

    Parameters
    ----------
    tree : Tree
    X, y, sample_weight
        The data that the tree was grown on.
    rng : Generator
    n_permutations : int
        Searches repeated for each split.

    >>> from svmlab.ensembles import fit_stump
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.repeat([0, 1], 10)
    >>> permutation_p_values(fit_stump(X, y), X, y, np.random.default_rng(1))
    array([0.01, 1. , 1. ])
    """
    check_count(n_permutations=n_permutations)
    n_classes = tree.value.shape[1] if tree.growth.classifies else None
    sample = prepare(X, y, tree.growth, n_classes, sample_weight)
    p_values = np.ones(len(tree.feature))
    decreases = tree.decrease / tree.weight
    for node, rows in _rows_of_splits(tree, sample):
        shuffled = [
            _best_decrease_shuffled(sample.take(rows), tree.growth, rng)
            for _ in range(n_permutations)
        ]
        at_least = np.array(shuffled) >= decreases[node] * (1.0 - 1e-9)
        p_values[node] = (1 + int(at_least.sum())) / (1 + n_permutations)
    return p_values


def _best_decrease_shuffled(cell: Sample, growth: Growth, rng: np.random.Generator) -> float:
    order = rng.permutation(len(cell.y))
    split = choose_split(cell._replace(sums=cell.sums[:, order]), growth, rng)
    return 0.0 if split is None else split.decrease


def _rows_of_splits(tree: Tree, sample: Sample) -> list[tuple[int, Indices]]:
    """Return each node that splits together with the rows of its cell."""
    rows = {0: np.arange(sample.columns.shape[1])}
    splits = [int(node) for node in np.flatnonzero(tree.feature != LEAF)]
    for node in splits:
        values = sample.columns[tree.feature[node], rows[node]]
        goes_left = tree.goes_left(np.full(len(values), node), values)
        rows[int(tree.left[node])] = rows[node][goes_left]
        rows[int(tree.right[node])] = rows[node][~goes_left]
    return [(node, rows[node]) for node in splits]


def prune_tree(tree: Tree, p_values: Vector, level: float = 0.05) -> Tree:
    r"""Remove from the leaves up every split that is not significant (G6).

    .. math:: \text{a split stays} \iff P \le \text{level at it or at a split below it}
        \tag{eq-prune}

    An insignificant split above a significant one stays: only the parents of leaves are tested.

    Parameters
    ----------
    tree : Tree
    p_values : array (n_nodes,)
        From :func:`split_p_values` or :func:`permutation_p_values`.
    level : float
        Splits with p-values above it go.

    >>> from svmlab.ensembles import fit_tree
    >>> tree = fit_tree([[1], [2], [3], [4]], [0, 1, 0, 1])
    >>> tree.n_leaves, prune_tree(tree, split_p_values(tree)).n_leaves
    (4, 1)
    """
    if not 0.0 <= level <= 1.0:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if np.shape(p_values) != tree.feature.shape:
        raise ValueError(
            f"p_values must have one entry a node ({len(tree.feature)}), got {np.shape(p_values)}"
        )
    is_split = tree.feature != LEAF
    stays = is_split & (p_values <= level)
    for node in np.flatnonzero(is_split)[::-1]:  # children come after their parents
        stays[node] |= stays[tree.left[node]] or stays[tree.right[node]]
    reached = np.zeros(len(stays), dtype=np.bool_)
    reached[0] = True
    for node in np.flatnonzero(stays):
        reached[[tree.left[node], tree.right[node]]] = reached[node]
    number = np.cumsum(reached) - 1
    return replace(
        tree,
        feature=np.where(stays, tree.feature, LEAF)[reached],
        threshold=np.where(stays, tree.threshold, np.nan)[reached],
        categories=(tree.categories & stays[:, None])[reached],
        left=np.where(stays, number[tree.left], LEAF)[reached],
        right=np.where(stays, number[tree.right], LEAF)[reached],
        value=tree.value[reached],
        n_samples=tree.n_samples[reached],
        weight=tree.weight[reached],
        impurity=tree.impurity[reached],
    )
