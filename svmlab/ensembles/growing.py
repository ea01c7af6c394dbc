"""Growing a decision tree (CART) from the root down: stumps, classification, regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from svmlab.ensembles._checks import check_categorical, check_classes, check_weights
from svmlab.ensembles.impurity import cell_impurity, cell_weight, class_sums, moment_sums
from svmlab.ensembles.splits import Split, find_split
from svmlab.ensembles.trees import LEAF, Growth, Tree
from svmlab.types import Indices, Mask, Matrix, Vector
from svmlab.validation import check_matrix, check_vector


class Sample(NamedTuple):
    """Checked data, ready for growing: columns (d, n), targets, and what each row adds to a cell.

    Real targets are centred at ``shift``, so that the variance loses no digits.
    """

    columns: Matrix
    y: Vector
    sums: Matrix
    shift: float

    def take(self, rows: Indices | Mask, weights: Vector | float = 1.0) -> Sample:
        """Return some of the rows, their weights multiplied."""
        return Sample(self.columns[:, rows], self.y[rows], self.sums[:, rows] * weights, self.shift)


def fit_tree(
    X: ArrayLike,
    y: ArrayLike,
    growth: Growth | None = None,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> Tree:
    """Grow a tree by splitting each mixed cell where its impurity falls most (G6).

    A cell stays a leaf when its targets are equal, when it has fewer than ``min_samples``
    examples, at ``max_depth``, or when no variable varies in it. A split that gains nothing is
    made all the same: the gain may come one level below, as in the exclusive or.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        Class codes 0, …, K − 1, or real targets for the criterion "variance".
    growth : Growth
        Criterion, split mode and limits.
    n_classes : int, optional
        K, where y may lack the last classes.
    sample_weight : array (n,), optional
        Weight 2 is the same as the example given twice, weight 0 as left out (``min_samples``
        counts rows).
    rng : Generator
        Needed with ``max_features``.

    >>> from svmlab.ensembles import predict_tree
    >>> tree = fit_tree([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> tree.feature
    array([ 0, 1, -1, -1, 1, -1, -1])
    >>> predict_tree(tree, [[1, 0]])
    array([1])
    """
    growth = growth or Growth()
    return grow(prepare(X, y, growth, n_classes, sample_weight), growth, rng)


def fit_stump(
    X: ArrayLike,
    y: ArrayLike,
    criterion: str = "gini",
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Tree:
    """Fit the tree with one split (G6).

    >>> fit_stump([[1], [2], [5], [7]], [0, 0, 1, 1]).threshold[0]
    np.float64(3.5)
    """
    growth = Growth(criterion=criterion, max_depth=1)
    return fit_tree(X, y, growth, n_classes=n_classes, sample_weight=sample_weight)


def prepare(
    X: ArrayLike,
    y: ArrayLike,
    growth: Growth,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Sample:
    """Check the data and lay them out for growing; examples of weight 0 are dropped.

    >>> prepare([[1, 2], [3, 4]], [0, 1], Growth()).columns
    array([[1., 3.], [2., 4.]])
    """
    X = check_matrix(X)
    n = X.shape[0]
    check_categorical(X, growth.categorical)
    weights = check_weights(sample_weight, n)
    if growth.classifies:
        codes, K = check_classes(y, n, n_classes)
        sample = Sample(X.T, codes.astype(np.float64), class_sums(codes, weights, K), 0.0)
    else:
        targets = check_vector(y, "y", n)
        shift = float(np.average(targets, weights=weights))
        centred = targets - shift
        sample = Sample(X.T, centred, moment_sums(centred, weights), shift)
    kept = sample.take(weights > 0)
    return kept._replace(columns=np.ascontiguousarray(kept.columns))


def grow(sample: Sample, growth: Growth, rng: np.random.Generator | None = None) -> Tree:
    """Expand the root cell of a prepared sample into a tree (G6).

    >>> grow(prepare([[1], [2]], [0, 1], Growth()), Growth()).n_leaves
    2
    """
    d, n = sample.columns.shape
    if growth.features_drawn(d) < d and rng is None:
        raise ValueError("rng is needed to draw max_features variables, got None")
    splits: list[Split | None] = []
    cells: list[Vector] = []
    n_samples: list[int] = []
    children: list[list[int]] = []
    stack = [(np.arange(n), 0, LEAF, 0)]
    while stack:
        rows, depth, parent, side = stack.pop()
        node = len(cells)
        if parent != LEAF:
            children[parent][side] = node
        cell = sample.take(rows)
        split = None if is_leaf(cell, depth, growth) else choose_split(cell, growth, rng)
        splits.append(split)
        cells.append(cell.sums.sum(axis=1))
        n_samples.append(len(rows))
        children.append([LEAF, LEAF])
        if split is not None:
            left = split.goes_left(cell.columns[split.feature])
            stack += [(rows[~left], depth + 1, node, 1), (rows[left], depth + 1, node, 0)]
    return _assemble(splits, np.array(cells).T, n_samples, np.array(children), sample, growth)


def is_leaf(cell: Sample, depth: int, growth: Growth) -> bool:
    """Tell whether a cell is to be left as it is: pure, small, or deep enough (G6).

    >>> is_leaf(prepare([[1], [2]], [1, 1], Growth()), 0, Growth())
    True
    """
    if len(cell.y) < growth.min_samples or depth == growth.max_depth:
        return True
    return bool(np.all(cell.y == cell.y[0]))


def choose_split(
    cell: Sample, growth: Growth, rng: np.random.Generator | None = None
) -> Split | None:
    """Return the best split among the variables drawn for this cell (G6, G9).

    >>> choose_split(prepare([[1], [4]], [0, 1], Growth()), Growth()).threshold
    2.5
    """
    d = cell.columns.shape[0]
    drawn = growth.features_drawn(d)
    features = np.arange(d) if drawn == d or rng is None else rng.permutation(d)
    for start in range(0, d, drawn):
        split = find_split(
            cell.columns,
            cell.sums,
            features[start : start + drawn],
            growth.criterion,
            growth.split,
            growth.categorical,
        )
        if split is not None:
            return split
    return None


def _assemble(
    splits: list[Split | None],
    cells: Matrix,
    n_samples: list[int],
    children: Indices,
    sample: Sample,
    growth: Growth,
) -> Tree:
    weight = cell_weight(cells, growth.criterion)
    value = cells / weight if growth.classifies else cells[1:2] / weight + sample.shift
    codes = sample.columns[list(growth.categorical)]
    categories = np.zeros((len(splits), int(codes.max(initial=-1)) + 1), dtype=np.bool_)
    for node, split in enumerate(splits):
        if split is not None:
            categories[node, split.codes.astype(np.int64)] = True
    return Tree(
        feature=np.array([LEAF if s is None else s.feature for s in splits]),
        threshold=np.array([np.nan if s is None else s.threshold for s in splits]),
        categories=categories,
        left=children[:, 0],
        right=children[:, 1],
        value=np.ascontiguousarray(value.T),
        n_samples=np.array(n_samples),
        weight=weight,
        impurity=cell_impurity(cells, growth.criterion),
        growth=growth,
        n_features=sample.columns.shape[0],
    )
