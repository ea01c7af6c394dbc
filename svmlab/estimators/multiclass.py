"""One versus rest over any binary estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from svmlab.estimators._base import ScoringClassifier, one_versus_rest_signs


class OneVsRestClassifier(ScoringClassifier):
    """Train one copy of a binary estimator a class; the highest score wins (S6, M14).

    The estimators of this package do so by themselves. This one does it for any estimator that has
    ``decision_function`` or ``predict_proba``.

    Parameters
    ----------
    estimator : a binary classifier

    Attributes
    ----------
    classes_ : (k,)
    estimators_ : list of the k fitted copies, or of one for two classes

    >>> from svmlab.estimators.svm import LinearSVC
    >>> X, y = [[0.0, 3.0], [3.0, 0.0], [-3.0, -3.0]], ["a", "b", "c"]
    >>> OneVsRestClassifier(LinearSVC()).fit(X, y).predict([[1.0, 9.0]])
    array(['a'], dtype='<U1')
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        """Take the input that the estimator takes."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.pairwise = inner.pairwise
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X with labels y; weights are handed on to the estimator."""
        examples = self._check_classification(X, y, sample_weight)
        weights = {} if sample_weight is None else {"sample_weight": examples.weights}
        signs = one_versus_rest_signs(examples.y, len(self.classes_))
        self.estimators_ = [
            clone(self.estimator).fit(examples.X, s.astype(int), **weights) for s in signs
        ]
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of the estimators: (n,) for two classes, (n, k) for k > 2."""
        X = self._check_new(X)
        scores = np.column_stack([self._score(estimator, X) for estimator in self.estimators_])
        return scores.ravel() if len(self.classes_) == 2 else scores

    @staticmethod
    def _score(estimator: Any, X: Any) -> Any:
        if hasattr(estimator, "decision_function"):
            return estimator.decision_function(X)
        return estimator.predict_proba(X)[:, 1] - 0.5
