"""Random forests: bagged trees that see a few variables at each split (G9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from svmlab.ensembles._checks import check_weights
from svmlab.ensembles.bagging import out_of_bag_errors, outside
from svmlab.ensembles.bootstrap import bootstrap_rows
from svmlab.ensembles.growing import Sample, grow, prepare
from svmlab.ensembles.trees import LEAF, Growth, Tree, tree_values
from svmlab.types import Indices, Matrix, Vector
from svmlab.validation import check_count, check_matrix

FOREST_GROWTH = Growth(max_features="sqrt")


@dataclass(frozen=True, kw_only=True)
class Forest:
    """Trees that vote together.

    Attributes
    ----------
    trees : tuple of Tree
    n_classes : int
        K; 0 for real targets.
    out_of_bag_error : float
        Share of mistakes, or mean squared error, on examples outside the bags.
    history : dict of arrays
        ``out_of_bag_error`` with the first 1, 2, ..., M trees.
    """

    trees: tuple[Tree, ...]
    n_classes: int
    out_of_bag_error: float
    history: dict[str, Vector] = field(default_factory=dict, repr=False)


def fit_forest(
    X: ArrayLike,
    y: ArrayLike,
    rng: np.random.Generator,
    growth: Growth = FOREST_GROWTH,
    *,
    n_trees: int = 100,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Forest:
    """Grow M trees on bootstrap samples, without pruning (G9).

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        Class codes 0, …, K − 1, or real targets for the criterion "variance".
    rng : Generator
    growth : Growth
        ``max_features`` variables are drawn for each split; ``split="mean"`` or ``"median"`` and
        a small ``max_depth`` make the trees lighter and more different.
    n_trees : int
        M.
    sample_weight : array (n,), optional
        Repetitions of each example, which set its chance to be drawn.

    >>> X, y = np.arange(40.0).reshape(-1, 2), np.repeat([0, 1], 10)
    >>> forest = fit_forest(X, y, np.random.default_rng(0), n_trees=20)
    >>> predict_forest(forest, X[[1, 18]])
    array([0, 1])
    """
    check_count(n_trees=n_trees)
    X = check_matrix(X)
    weights = check_weights(sample_weight, len(X))
    sample = prepare(X, y, growth, n_classes)
    K = len(sample.sums) if growth.classifies else 0
    bags = [bootstrap_rows(weights, rng) for _ in range(n_trees)]
    trees = tuple(grow(_resample(sample, bag), growth, rng) for bag in bags)
    votes = (tree_values(tree, X) for tree in trees)
    errors = out_of_bag_errors(votes, outside(bags, len(X)), sample.y + sample.shift, K)
    return Forest(
        trees=trees,
        n_classes=K,
        out_of_bag_error=float(errors[-1]),
        history={"out_of_bag_error": errors},
    )


def _resample(sample: Sample, bag: Indices) -> Sample:
    """Weight each row drawn by its number of draws, which grows the same tree as repeating it."""
    rows, counts = np.unique(bag, return_counts=True)
    return sample.take(rows, counts.astype(np.float64))


def forest_values(forest: Forest, X: ArrayLike) -> Matrix:
    r"""Return the mean over the trees of the leaf frequencies (n, K) or means (n, 1) (G9).

    .. math:: p(x) = \frac1M \sum_{j=1}^{M} p(\text{leaf of } x \text{ in tree } j)
        \tag{eq-forest}

    >>> X, y = np.arange(40.0).reshape(-1, 2), np.repeat([0, 1], 10)
    >>> forest_values(fit_forest(X, y, np.random.default_rng(0), n_trees=20), X[:1])
    array([[1., 0.]])
    """
    X = check_matrix(X)
    total = tree_values(forest.trees[0], X)
    for tree in forest.trees[1:]:
        total = total + tree_values(tree, X)
    return total / len(forest.trees)


def predict_forest(forest: Forest, X: ArrayLike) -> Vector | Indices:
    """Return the class with the largest mean frequency, or the mean target (G9).

    Each tree shares out its vote by the frequencies in its leaf. With pure leaves this is the
    majority vote; with trees of limited depth it also hears how sure each tree is.

    >>> X, y = np.arange(40.0).reshape(-1, 2), np.arange(20.0)
    >>> growth = Growth(criterion="variance", max_features=1)
    >>> forest = fit_forest(X, y, np.random.default_rng(0), growth, n_trees=20)
    >>> bool(abs(predict_forest(forest, X[9:10])[0] - 9.0) < 1.0)
    True
    """
    values = forest_values(forest, X)
    return np.argmax(values, axis=1) if forest.n_classes else values[:, 0]


def importance_by_count(trees: Sequence[Tree]) -> Indices:
    r"""Return how often each variable splits a cell in the trees (G9).

    .. math:: N_v = \sum_{j=1}^{M} \#\{\text{nodes of tree } j \text{ that split on } v\}
        \tag{eq-importance-count}

    >>> from svmlab.ensembles import fit_tree
    >>> importance_by_count([fit_tree([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])])
    array([1, 2])
    """
    counts = np.zeros(trees[0].n_features, dtype=np.int64)
    for tree in trees:
        counts += np.bincount(tree.feature[tree.feature != LEAF], minlength=tree.n_features)
    return counts


def importance_by_impurity(trees: Sequence[Tree]) -> Vector:
    r"""Return each variable's share of the decrease of impurity, mean over the trees (G9).

    .. math:: I_v \propto \sum_{\text{nodes on } v} W\, \Delta, \qquad \sum_v I_v = 1
        \tag{eq-importance-impurity}

    W is the weight of the cell and Δ its decrease (eq-impurity-decrease). Each tree counts the
    same; trees without a split say nothing, and if none has one the shares are all 0.

    >>> from svmlab.ensembles import fit_tree
    >>> importance_by_impurity([fit_tree([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])])
    array([0., 1.])
    """
    total = np.zeros(trees[0].n_features)
    for tree in trees:
        splits = tree.feature != LEAF
        decrease = np.bincount(tree.feature[splits], tree.decrease[splits], tree.n_features)
        total += decrease / (decrease.sum() or 1.0)
    return total / (total.sum() or 1.0)
