"""Decision trees with scikit-learn's names."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from svmlab.ensembles import (
    Growth,
    Tree,
    find_leaves,
    fit_tree,
    importance_by_impurity,
    prune_tree,
    split_p_values,
    tree_values,
)
from svmlab.estimators._base import Classifier, Regressor, generator
from svmlab.types import Indices, Matrix, Vector

CRITERIA = {"squared_error": "variance", "variance": "variance"}


def growth_rules(estimator: Any, d: int) -> Growth:
    """Return the rules of growth for an estimator's parameters and d variables (G6, G9)."""
    return Growth(
        criterion=CRITERIA.get(estimator.criterion, estimator.criterion),
        split=estimator.splitter,
        max_depth=estimator.max_depth,
        min_samples=estimator.min_samples_split,
        max_features=variables_drawn(estimator.max_features, d),
        categorical=tuple(estimator.categorical_features or ()),
    )


def variables_drawn(max_features: int | float | str | None, d: int) -> int | str | None:
    """Return the number of variables for scikit-learn's ``max_features``; a float is a share.

    >>> variables_drawn(0.5, 10), variables_drawn("sqrt", 10)
    (5, 'sqrt')
    """
    if isinstance(max_features, float):
        if not 0.0 < max_features <= 1.0:
            raise ValueError(f"max_features must be a share in (0, 1], got {max_features}")
        return max(1, int(max_features * d))
    return max_features


class _TreeMachine(BaseEstimator):
    """What classification and regression trees have in common."""

    tree_: Tree
    significance: float | None
    random_state: Any

    def get_depth(self) -> int:
        """Return the number of splits on the longest way from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> Vector:
        """Each variable's share of the decrease of impurity (eq-importance-impurity)."""
        check_is_fitted(self)
        return importance_by_impurity([self.tree_])

    def apply(self, X: Any) -> Indices:
        """Return the leaf that each row falls into."""
        X = self._check_new(X)
        return find_leaves(self.tree_, X)

    def _grow(self, X: Matrix, y: Any, weights: Vector, n_classes: int | None) -> None:
        growth = growth_rules(self, X.shape[1])
        rng = generator(self.random_state)
        tree = fit_tree(X, y, growth, n_classes=n_classes, sample_weight=weights, rng=rng)
        if self.significance is not None:
            tree = prune_tree(tree, split_p_values(tree), self.significance)
        self.tree_ = tree


class DecisionTreeClassifier(_TreeMachine, Classifier):
    """Classification tree (CART), with scikit-learn's names (G6).

    Classes are weighted through ``sample_weight``: a tree grown to pure leaves hardly heeds weights
    of whole classes, and there is no limit here on the weight in a leaf.

    Parameters
    ----------
    criterion : {"gini", "entropy", "error"}, the impurity
    splitter : {"best", "mean", "median"}, the numeric thresholds to try (G9)
    max_depth : splits from the root to a leaf at most; 1 makes a stump
    min_samples_split : the lecture's K: a cell with fewer examples is not split
    max_features : variables drawn for each cell: a number, a share, ``"sqrt"``, or all (None)
    categorical_features : columns that hold category codes 0, 1, …
    significance : level of the test by which splits are pruned from below (G6); None for no pruning
    random_state : draws the variables

    Attributes
    ----------
    classes_, tree_ (svmlab.ensembles.Tree), feature_importances_

    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> DecisionTreeClassifier().fit(X, y).predict([[1, 0]])
    array(['yes'], dtype='<U3')
    """

    _takes_sparse = False
    _fewest_classes = 1

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        max_features: int | float | str | None = None,
        categorical_features: Any = None,
        significance: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.significance = significance
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on the rows of X with labels y and weights, 0 or above."""
        if self.criterion in CRITERIA:
            raise ValueError(f"criterion={self.criterion!r} is for regression trees")
        examples = self._check_classification(X, y, sample_weight)
        self._grow(examples.X, examples.y, examples.weights, len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class frequencies in the leaf of each row, (n, k)."""
        X = self._check_new(X)
        return tree_values(self.tree_, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the majority class in the leaf of each row (eq-tree-predict)."""
        X = self._check_new(X)
        return np.asarray(self.classes_[tree_values(self.tree_, X).argmax(axis=1)])


class DecisionTreeRegressor(_TreeMachine, Regressor):
    """Regression tree (CART), with scikit-learn's names (G6).

    Parameters
    ----------
    criterion : ``"squared_error"``, the variance in a cell
    splitter, max_depth, min_samples_split, max_features : as for :class:`DecisionTreeClassifier`
    categorical_features, significance, random_state : as there

    Attributes
    ----------
    tree_ (svmlab.ensembles.Tree), feature_importances_

    >>> DecisionTreeRegressor(max_depth=1).fit([[1], [2], [8]], [1.0, 2.0, 9.0]).predict([[0], [9]])
    array([1.5, 9. ])
    """

    _takes_sparse = False

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        max_features: int | float | str | None = None,
        categorical_features: Any = None,
        significance: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.significance = significance
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on the rows of X with targets y and weights, 0 or above."""
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion must be 'squared_error', got {self.criterion!r}")
        examples = self._check_regression(X, y, sample_weight)
        self._grow(examples.X, examples.y, examples.weights, None)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the mean target in the leaf of each row (eq-tree-predict)."""
        X = self._check_new(X)
        return tree_values(self.tree_, X)[:, 0]
