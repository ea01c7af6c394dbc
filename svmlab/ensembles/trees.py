"""Decision trees as arrays: how they are to grow, how they look, how they predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from svmlab.ensembles.impurity import IMPURITIES
from svmlab.types import Indices, Mask, Matrix, Vector
from svmlab.validation import check_choice, check_count, check_matrix

SPLIT_MODES = ("best", "mean", "median")
LEAF = -1


@dataclass(frozen=True)
class Growth:
    """How a tree grows (G6, G9).

    Attributes
    ----------
    criterion : {"gini", "entropy", "error", "variance"}
        The impurity; "variance" makes a regression tree.
    split : {"best", "mean", "median"}
        Numeric thresholds to try: all, the mean, or the one that halves the weight best.
    max_depth : int or None
        Depth below which no cell is split; 1 gives a stump.
    min_samples : int
        The lecture's K: a cell with fewer examples is not split.
    max_features : int, "sqrt" or None
        Variables drawn for each cell; if none of them varies in the cell, more are drawn.
    categorical : tuple of int
        Columns that hold category codes 0, 1, ...; they split into v ∈ s and v ∉ s.
    """

    criterion: str = "gini"
    split: str = "best"
    max_depth: int | None = None
    min_samples: int = 2
    max_features: int | str | None = None
    categorical: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self.criterion, tuple(IMPURITIES), "criterion")
        check_choice(self.split, SPLIT_MODES, "split")
        check_count(min_samples=self.min_samples)
        if self.max_depth is not None:
            check_count(max_depth=self.max_depth)
        if isinstance(self.max_features, str):
            check_choice(self.max_features, ("sqrt",), "max_features")
        elif self.max_features is not None:
            check_count(max_features=self.max_features)

    @property
    def classifies(self) -> bool:
        """Whether targets are class codes."""
        return self.criterion != "variance"

    def features_drawn(self, d: int) -> int:
        """Return how many of d variables are drawn for a cell."""
        if self.max_features is None:
            return d
        if isinstance(self.max_features, str):
            return max(1, int(np.sqrt(d)))
        return min(d, self.max_features)


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A tree as arrays over its nodes, each node before its children, left before right.

    Attributes
    ----------
    feature : array (n_nodes,)
        The variable that the node splits on; −1 in a leaf.
    threshold : array (n_nodes,)
        Left is v < threshold; NaN in a leaf and where the variable is categorical.
    categories : array (n_nodes, n_codes) of bool
        The subset s of a categorical split: left is v ∈ s. Codes never seen go right.
    left, right : array (n_nodes,)
        The children; −1 in a leaf.
    value : array (n_nodes, K) or (n_nodes, 1)
        Class frequencies, or the mean target.
    n_samples, weight, impurity : array (n_nodes,)
        Examples in the cell, their weight, and how mixed they are.
    growth : Growth
    n_features : int
    """

    feature: Indices
    threshold: Vector
    categories: Mask
    left: Indices
    right: Indices
    value: Matrix
    n_samples: Indices
    weight: Vector
    impurity: Vector
    growth: Growth
    n_features: int

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.sum(self.feature == LEAF))

    @property
    def depth(self) -> int:
        """Splits on the longest way from the root to a leaf."""
        depths = np.zeros(len(self.feature), dtype=np.int64)
        for node in np.flatnonzero(self.feature != LEAF):
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return int(depths.max())

    @property
    def decrease(self) -> Vector:
        """Weight times impurity that each node's split removes; 0 in a leaf."""
        mixed = self.weight * self.impurity
        below = mixed[self.left] + mixed[self.right]
        return np.where(self.feature == LEAF, 0.0, mixed - below)

    def goes_left(self, node: Indices, values: Vector) -> Mask:
        """Tell where to go from each node, given the value of its variable."""
        n_codes = self.categories.shape[1]
        below = values < self.threshold[node]
        if n_codes == 0:
            return below
        known = (values >= 0) & (values < n_codes) & (values == np.floor(values))
        codes = np.where(known, values, 0).astype(np.int64)
        return np.asarray(below | known & self.categories[node, codes])


def find_leaves(tree: Tree, X: ArrayLike) -> Indices:
    """Return the leaf that each row falls into (G6).

    >>> from svmlab.ensembles import fit_stump
    >>> find_leaves(fit_stump([[1], [2]], [0, 1]), [[0], [9]])
    array([1, 2])
    """
    X = check_matrix(X)
    if X.shape[1] != tree.n_features:
        raise ValueError(f"X must have {tree.n_features} columns as in fit, got {X.shape[1]}")
    at = np.zeros(len(X), dtype=np.int64)
    moving = np.arange(len(X)) if tree.feature[0] != LEAF else np.empty(0, dtype=np.int64)
    while moving.size:
        node = at[moving]
        goes_left = tree.goes_left(node, X[moving, tree.feature[node]])
        at[moving] = np.where(goes_left, tree.left[node], tree.right[node])
        moving = moving[tree.feature[at[moving]] != LEAF]
    return at


def tree_values(tree: Tree, X: ArrayLike) -> Matrix:
    """Return the class frequencies (n, K), or the mean target (n, 1), of each row's leaf (G6).

    >>> from svmlab.ensembles import fit_stump
    >>> tree_values(fit_stump([[1], [2], [2]], [0, 1, 0]), [[2]])
    array([[0.5, 0.5]])
    """
    return tree.value[find_leaves(tree, X)]


def predict_tree(tree: Tree, X: ArrayLike) -> Vector | Indices:
    r"""Return the majority class, or the mean target, of each row's leaf (G6).

    .. math:: h(x) = \arg\max_k\, p_k(\text{leaf of } x) \quad\text{or}\quad
        h(x) = \bar y(\text{leaf of } x)  \tag{eq-tree-predict}

    Of equally frequent classes the first is taken.

    >>> from svmlab.ensembles import fit_stump
    >>> predict_tree(fit_stump([[1], [2], [5], [7]], [0, 0, 1, 1]), [[0], [6]])
    array([0, 1])
    """
    values = tree_values(tree, X)
    return np.argmax(values, axis=1) if tree.growth.classifies else values[:, 0]
