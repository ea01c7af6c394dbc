"""Bagging with scikit-learn's names."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from svmlab.ensembles import Bagging, fit_bagging, predict_bagging
from svmlab.estimators._base import Classifier, Regressor, explained_share, generator
from svmlab.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor


def constant_rule(value: Any, X: Any) -> NDArray[Any]:
    """Return the same value for each row: the rule learnt from a bag with one class.

    >>> constant_rule(1, np.eye(2))
    array([1, 1])
    """
    return np.full(len(X), value)


def learn_rule(
    estimator: Any, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None
) -> Any:
    """Fit a seeded copy of an estimator and return its ``predict``."""
    if np.all(y == y[0]):
        return partial(constant_rule, y[0])
    copy = clone(estimator)
    if "random_state" in copy.get_params():
        copy.set_params(random_state=int(rng.integers(2**31)))
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    return copy.fit(X, y, **weights).predict


def fitted_estimators(rules: tuple[Any, ...]) -> list[Any]:
    """Return the estimators behind the rules; a constant rule stands for itself."""
    return [getattr(rule, "__self__", rule) for rule in rules]


class _Bags:
    """The parameters that both kinds of bagging share."""

    _takes_sparse = False
    bagging_: Bagging

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        oob_score: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.oob_score = oob_score
        self.random_state = random_state


class BaggingClassifier(_Bags, Classifier):
    """Majority vote of copies of an estimator trained on bootstrap samples (G7, G8).

    scikit-learn averages probabilities where the estimator has them; here each copy has one vote.

    Parameters
    ----------
    estimator : a classifier; a decision tree if None
    n_estimators : number of copies
    oob_score : whether to set ``oob_score_``, the accuracy on examples outside the bags
    random_state : draws the bags and seeds the copies

    Attributes
    ----------
    classes_, estimators_, bagging_ (svmlab.ensembles.Bagging), oob_score_. The copies
    predict class codes 0, 1, …, not labels

    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> BaggingClassifier(random_state=0).fit(X, y).predict([[-1.0], [4.0]])
    array(['a', 'b'], dtype='<U1')
    """

    _fewest_classes = 1

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X with labels y; weights, 0 or above, count as repetitions."""
        examples = self._check_classification(X, y, sample_weight)
        estimator = DecisionTreeClassifier() if self.estimator is None else self.estimator
        self.bagging_ = fit_bagging(
            examples.X,
            examples.y,
            partial(learn_rule, estimator),
            generator(self.random_state),
            n_rounds=self.n_estimators,
            n_classes=len(self.classes_),
            sample_weight=examples.weights,
        )
        self.estimators_ = fitted_estimators(self.bagging_.predictors)
        if self.oob_score:
            self.oob_score_ = 1.0 - self.bagging_.out_of_bag_error
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes, the first of equals (eq-majority-vote)."""
        X = self._check_new(X)
        return np.asarray(self.classes_[predict_bagging(self.bagging_, X).astype(int)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of votes for each class, (n, k)."""
        X = self._check_new(X)
        votes = np.stack([rule(X) for rule in self.bagging_.predictors])
        return np.stack([np.mean(votes == k, axis=0) for k in range(len(self.classes_))], axis=1)


class BaggingRegressor(_Bags, Regressor):
    """Mean of copies of a regressor trained on bootstrap samples (G7, G8).

    Parameters
    ----------
    estimator : a regressor; a decision tree if None
    n_estimators, random_state : as for :class:`BaggingClassifier`
    oob_score : whether to set ``oob_score_``, R² on examples outside the bags

    Attributes
    ----------
    estimators_, bagging_ (svmlab.ensembles.Bagging), oob_score_

    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [5.0, 5.0, 7.0, 7.0]
    >>> bool(BaggingRegressor(random_state=0).fit(X, y).predict([[4.0]])[0] > 6.0)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X with targets y; weights, 0 or above, count as repetitions."""
        examples = self._check_regression(X, y, sample_weight)
        estimator = DecisionTreeRegressor() if self.estimator is None else self.estimator
        self.bagging_ = fit_bagging(
            examples.X,
            examples.y,
            partial(learn_rule, estimator),
            generator(self.random_state),
            combine="average",
            n_rounds=self.n_estimators,
            sample_weight=examples.weights,
        )
        self.estimators_ = fitted_estimators(self.bagging_.predictors)
        if self.oob_score:
            error = self.bagging_.out_of_bag_error
            self.oob_score_ = explained_share(error, examples.y, examples.weights)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the mean prediction (eq-average)."""
        X = self._check_new(X)
        return np.asarray(predict_bagging(self.bagging_, X), dtype=np.float64)
