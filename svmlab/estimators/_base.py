"""What the estimators share: checked input, weights, classes, randomness, one warning class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

import svmlab.types
from svmlab.types import Indices, Matrix, Vector


class ConvergenceWarning(svmlab.types.ConvergenceWarning, SklearnConvergenceWarning):
    """A solver stopped early: caught by filters on svmlab's class and on scikit-learn's."""


svmlab.types.convergence_warning = ConvergenceWarning


class Examples(NamedTuple):
    """The training set without the rows of weight 0.

    ``y`` holds class codes 0, 1, … or real targets, ``rows`` the place of each row in the caller's
    arrays.
    """

    X: Any
    y: NDArray[Any]
    weights: Vector
    rows: Indices


class SparseAware(BaseEstimator):
    """An estimator that takes dense arrays and scipy's sparse rows."""

    _takes_sparse = True

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the input may be."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _check_training(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Examples:
        tags = self.__sklearn_tags__().input_tags
        sparse = "csr" if tags.sparse else False
        if are_plain(X, y):
            X = validate_data(self, X, skip_check_array=True)
        else:
            X, y = validate_data(
                self, X, y, accept_sparse=sparse, dtype=np.float64, order="C", **options
            )
        weights = check_sample_weight(sample_weight, X.shape[0])
        rows = np.flatnonzero(weights > 0.0)
        if rows.size < weights.size:
            square = tags.pairwise and X.shape[0] == X.shape[1]
            X = X[np.ix_(rows, rows)] if square else X[rows]
            y, weights = y[rows], weights[rows]
        return Examples(X, y, weights, rows)

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        sparse = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        return validate_data(
            self, X, accept_sparse=sparse, dtype=np.float64, order="C", reset=False
        )


class Classifier(ClassifierMixin, SparseAware):
    """A classifier for any labels, which are class codes 0, 1, … inside."""

    _fewest_classes = 2
    classes_: NDArray[Any]

    def _check_classification(self, X: Any, y: Any, sample_weight: Any) -> Examples:
        """Check the input, set ``classes_`` and return the examples with class codes."""
        examples = self._check_training(X, y, sample_weight)
        if not are_whole(examples.y):
            check_classification_targets(examples.y)
        self.classes_, codes = np.unique(examples.y, return_inverse=True)
        if self.classes_.size < self._fewest_classes:
            raise ValueError(
                f"{type(self).__name__} needs examples of two classes or more, but the data "
                f"(where the weight is above zero) contains one class: {self.classes_[0]!r}"
            )
        return examples._replace(y=codes)


class ScoringClassifier(Classifier, ABC):
    """A classifier that decides by the sign, or by the largest, of its scores (C1, S6)."""

    @abstractmethod
    def decision_function(self, X: Any) -> Any:
        """Return the scores: (n,) for two classes, (n, k) for k > 2."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row: by the sign of its score, or by its largest score."""
        scores = self.decision_function(X)
        index = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])


class LinearClassifier(ScoringClassifier):
    """A classifier with scores coef_ x + intercept_."""

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def decision_function(self, X: Any) -> Any:
        """Return w·x + b of each row: (n,) for two classes, (n, k) for k > 2."""
        scores = self._check_new(X) @ self.coef_.T + self.intercept_
        return scores.ravel() if len(self.classes_) == 2 else scores

    def _store(self, weights: Matrix, d: int, bias: float = 1.0) -> None:
        """Store weights (m, d) or (m, d + 1): a last column belongs to the constant ``bias``."""
        self.coef_ = weights[:, :d].copy()
        self.intercept_ = bias * weights[:, d:].sum(axis=1)


class Regressor(RegressorMixin, SparseAware):
    """A regressor for one target."""

    def _check_regression(self, X: Any, y: Any, sample_weight: Any) -> Examples:
        examples = self._check_training(X, y, sample_weight, y_numeric=True)
        return examples._replace(y=examples.y.astype(np.float64))


def are_plain(X: Any, y: Any) -> bool:
    """Tell whether X and y are arrays of finite numbers that fit: nothing to convert or refuse.

    To hear the same from scikit-learn takes longer than to train a small machine.

    >>> are_plain(np.eye(2), np.array([1, -1])), are_plain(np.eye(2), [1, -1])
    (True, False)
    """
    if type(X) is not np.ndarray or type(y) is not np.ndarray:
        return False
    if X.dtype != np.float64 or not X.flags.c_contiguous or y.dtype.kind not in "iuf":
        return False
    fit = X.ndim == 2 and X.size > 0 and y.shape == X.shape[:1]
    return fit and bool(np.isfinite(X).all() and np.isfinite(y).all())


def are_whole(y: NDArray[Any]) -> bool:
    """Tell whether labels are whole numbers: then there is no doubt that they name classes.

    >>> [are_whole(np.array(labels)) for labels in ([1.0, -1.0], [0.5, 1.0], ["a", "b"])]
    [True, False, False]
    """
    return y.dtype.kind in "biu" or (y.dtype.kind == "f" and bool(np.all(y == np.floor(y))))


def check_sample_weight(sample_weight: Any, n: int) -> Vector:
    """Return n weights, 0 or above and not all 0; ones for None.

    >>> check_sample_weight(None, 2), check_sample_weight([1, 0], 2)
    (array([1., 1.]), array([1., 0.]))
    >>> check_sample_weight([0, 0], 2)
    Traceback (most recent call last):
    ValueError: sample_weight must not be zero everywhere
    """
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, float(sample_weight))
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weights.shape}")
    if weights.min() < 0.0:
        raise ValueError(f"sample_weight must be 0 or above, got {weights.min():g}")
    if not weights.any():
        raise ValueError("sample_weight must not be zero everywhere")
    return np.asarray(weights)


def weights_with_classes(class_weight: Any, classes: NDArray[Any], examples: Examples) -> Vector:
    r"""Return each example's own weight times the weight of its class (S5).

    .. math:: \text{balanced: } w_k = \frac{n}{K N_k}  \tag{eq-class-weight}

    n and N_k count examples by their weights, so that a weight of 2 is as good as two copies. With
    K = 2 the costs C w_k are S5's C′/N± for C′ = nC/2.

    Parameters
    ----------
    class_weight : None, ``"balanced"`` or dict from class to weight

    >>> examples = Examples(None, np.array([0, 0, 0, 1]), np.ones(4), np.arange(4))
    >>> weights_with_classes("balanced", np.array(["a", "b"]), examples).round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """
    codes, weights = examples.y, examples.weights
    if class_weight is None:
        return weights
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}"
            )
        totals = np.bincount(codes, weights)
        return np.asarray(weights * (weights.sum() / (len(classes) * totals))[codes])
    factors = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    return np.asarray(weights * factors[codes])


def one_versus_rest_signs(codes: Indices, n_classes: int) -> list[Vector]:
    """Return one vector of signs a class, or a single one (+1 for the second) for two (S6).

    >>> one_versus_rest_signs(np.array([0, 1, 2]), 3)[1]
    array([-1.,  1., -1.])
    """
    positives = [1] if n_classes == 2 else list(range(n_classes))
    return [np.where(codes == k, 1.0, -1.0) for k in positives]


def generator(random_state: Any) -> np.random.Generator:
    """Return a numpy generator for scikit-learn's ``random_state`` (None, int, RandomState).

    >>> bool(generator(3).random() == generator(3).random())
    True
    """
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(int(seed))


def explained_share(squared_error: float, y: Vector, weights: Vector) -> float:
    """Return R² for a mean squared error.

    >>> explained_share(0.25, np.array([0.0, 2.0]), np.ones(2))
    0.75
    """
    mean = np.average(y, weights=weights)
    spread = float(np.average((y - mean) ** 2, weights=weights))
    return 1.0 - squared_error / spread if spread > 0.0 else 0.0
