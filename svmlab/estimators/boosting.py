"""AdaBoost with scikit-learn's names."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from svmlab.ensembles import Boosting, boosting_scores, fit_adaboost
from svmlab.estimators._base import ScoringClassifier, generator
from svmlab.estimators.bagging import fitted_estimators, learn_rule
from svmlab.estimators.trees import DecisionTreeClassifier
from svmlab.types import Indices, Vector


class AdaBoostClassifier(ScoringClassifier):
    """AdaBoost, in the form SAMME for more than two classes (G10).

    Parameters
    ----------
    estimator : a classifier that takes ``sample_weight``; a decision stump if None
    n_estimators : rounds at most; a rule without a mistake, or no better than chance, ends them
    random_state : seeds the copies of the estimator

    Attributes
    ----------
    classes_, estimators_, estimator_weights_ (the votes, half of scikit-learn's, which changes no
    prediction), estimator_errors_, boosting_ (svmlab.ensembles.Boosting, with the bound on
    the training error). The copies predict class codes 0, 1, …, not labels

    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "b", "a"]
    >>> AdaBoostClassifier().fit(X, y).predict(X)
    array(['a', 'b', 'b', 'a'], dtype='<U1')
    """

    _takes_sparse = False
    boosting_: Boosting

    def __init__(
        self, estimator: Any = None, *, n_estimators: int = 50, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X with labels y; the weights are the distribution to start from."""
        examples = self._check_classification(X, y, sample_weight)
        rng = generator(self.random_state)
        rule = DecisionTreeClassifier(max_depth=1) if self.estimator is None else self.estimator

        def learner(X: Any, codes: Indices, weights: Vector) -> Any:
            return learn_rule(rule, X, codes, rng, weights)

        self.boosting_ = fit_adaboost(
            examples.X,
            examples.y,
            learner,
            n_rounds=self.n_estimators,
            n_classes=len(self.classes_),
            sample_weight=examples.weights,
        )
        self.estimators_ = fitted_estimators(self.boosting_.predictors)
        self.estimator_weights_ = self.boosting_.votes
        self.estimator_errors_ = self.boosting_.history["error"]
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the votes (eq-adaboost-scores), or their difference for two."""
        X = self._check_new(X)
        shares = boosting_scores(self.boosting_, X)
        return shares[:, 1] - shares[:, 0] if len(self.classes_) == 2 else shares
