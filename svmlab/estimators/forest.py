"""Random forests with scikit-learn's names."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from svmlab.ensembles import Forest, fit_forest, forest_values, importance_by_impurity
from svmlab.estimators._base import (
    Classifier,
    Regressor,
    explained_share,
    generator,
    weights_with_classes,
)
from svmlab.estimators.trees import CRITERIA, growth_rules


class RandomForestClassifier(Classifier):
    """Random forest for classes, with scikit-learn's names (G9).

    Parameters
    ----------
    n_estimators : number of trees
    criterion, splitter, max_depth, min_samples_split, categorical_features : as for
        :class:`svmlab.estimators.trees.DecisionTreeClassifier`
    max_features : variables drawn for each split: ``"sqrt"``, a number, a share, or all (None)
    oob_score : whether to set ``oob_score_``, the accuracy on examples outside the bags
    class_weight : None, dict or ``"balanced"`` (eq-class-weight): changes the chance to be drawn
    random_state : draws the bags and the variables

    Attributes
    ----------
    classes_, forest_ (svmlab.ensembles.Forest), feature_importances_ (by impurity),
    oob_score_

    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> RandomForestClassifier(random_state=0).fit(X, y).predict([[-1.0], [4.0]])
    array(['a', 'b'], dtype='<U1')
    """

    _takes_sparse = False
    _fewest_classes = 1
    forest_: Forest

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        max_features: int | float | str | None = "sqrt",
        categorical_features: Any = None,
        oob_score: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees on the rows of X with labels y; weights count as repetitions."""
        if self.criterion in CRITERIA:
            raise ValueError(f"criterion={self.criterion!r} is for regression")
        examples = self._check_classification(X, y, sample_weight)
        weights = weights_with_classes(self.class_weight, self.classes_, examples)
        weights = weights * (examples.weights.sum() / weights.sum())  # as many draws as without
        self.forest_ = fit_forest(
            examples.X,
            examples.y,
            generator(self.random_state),
            growth_rules(self, examples.X.shape[1]),
            n_trees=self.n_estimators,
            n_classes=len(self.classes_),
            sample_weight=weights,
        )
        self.feature_importances_ = importance_by_impurity(self.forest_.trees)
        if self.oob_score:
            self.oob_score_ = 1.0 - self.forest_.out_of_bag_error
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the mean class frequencies in the leaves of each row, (n, k) (eq-forest)."""
        X = self._check_new(X)
        return forest_values(self.forest_, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest mean frequency."""
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])


class RandomForestRegressor(Regressor):
    """Random forest for real targets, with scikit-learn's names (G9).

    Parameters
    ----------
    criterion : ``"squared_error"``, the variance in a cell
    max_features : variables drawn for each split; all by default (1.0), as in scikit-learn
    n_estimators, splitter, max_depth, min_samples_split, categorical_features, random_state : as
        for :class:`RandomForestClassifier`
    oob_score : whether to set ``oob_score_``, R² on examples outside the bags

    Attributes
    ----------
    forest_ (svmlab.ensembles.Forest), feature_importances_ (by impurity), oob_score_

    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [5.0, 5.0, 7.0, 7.0]
    >>> bool(RandomForestRegressor(random_state=0).fit(X, y).predict([[4.0]])[0] > 6.0)
    True
    """

    _takes_sparse = False
    forest_: Forest

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        max_features: int | float | str | None = 1.0,
        categorical_features: Any = None,
        oob_score: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.oob_score = oob_score
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees on the rows of X with targets y; weights count as repetitions."""
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion must be 'squared_error', got {self.criterion!r}")
        examples = self._check_regression(X, y, sample_weight)
        self.forest_ = fit_forest(
            examples.X,
            examples.y,
            generator(self.random_state),
            growth_rules(self, examples.X.shape[1]),
            n_trees=self.n_estimators,
            sample_weight=examples.weights,
        )
        self.feature_importances_ = importance_by_impurity(self.forest_.trees)
        if self.oob_score:
            error = self.forest_.out_of_bag_error
            self.oob_score_ = explained_share(error, examples.y, examples.weights)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the mean over the trees."""
        X = self._check_new(X)
        return forest_values(self.forest_, X)[:, 0]
