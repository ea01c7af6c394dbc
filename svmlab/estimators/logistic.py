"""Logistic regression, linear and kernel, with scikit-learn's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from svmlab.estimators._base import (
    LinearClassifier,
    ScoringClassifier,
    one_versus_rest_signs,
    weights_with_classes,
)
from svmlab.estimators._kernels import KernelMachine
from svmlab.gram import whole
from svmlab.logistic import kernel_logistic_regression, logistic_regression, sigmoid
from svmlab.types import Matrix, Vector
from svmlab.validation import check_positive, check_rows

Kernel = str | Callable[[Any, Any], Any]


def class_probabilities(scores: Vector | Matrix) -> Matrix:
    r"""Return the probability of each class from one score, or from one score a class (C17).

    .. math:: P(y = k \mid x) = \frac{\sigma(f_k(x))}{\sum_l \sigma(f_l(x))}
        \tag{eq-class-probabilities}

    Two classes have one score, and the probabilities 1 − σ(f) and σ(f).

    >>> class_probabilities(np.zeros(1)), class_probabilities(np.zeros((1, 4)))
    (array([[0.5, 0.5]]), array([[0.25, 0.25, 0.25, 0.25]]))
    """
    if scores.ndim == 1:
        return np.column_stack((sigmoid(-scores), sigmoid(scores)))
    shares = sigmoid(scores.ravel()).reshape(scores.shape)
    totals = shares.sum(axis=1, keepdims=True)
    even = np.full_like(shares, 1.0 / len(shares.T))  # where all shares round to 0
    return np.asarray(np.divide(shares, totals, out=even, where=totals > 0.0))


class _Probabilities(ScoringClassifier):
    """Probabilities for a classifier whose scores are log-odds."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, (n, k) (eq-class-probabilities)."""
        return class_probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of :meth:`predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))


class LogisticRegression(LinearClassifier, _Probabilities):
    """Linear logistic regression with an L2 penalty, by Newton's method (C16, C17).

    Two classes give scikit-learn's ``LogisticRegression``. **More than two classes are handled one
    versus rest** (S6), where scikit-learn minimises the multinomial loss.

    Parameters
    ----------
    C : cost of the loss, above 0
    tol : largest entry of the gradient, relative to the largest that the loss alone can have
    fit_intercept : whether there is an intercept, which is not penalised
    class_weight : None, dict or ``"balanced"`` (eq-class-weight): multiplies C
    max_iter : Newton steps at most

    Attributes
    ----------
    classes_, coef_ (1, d) or (k, d), intercept_ (1,) or (k,), n_iter_ (1,) or (k,)

    >>> machine = LogisticRegression(tol=1e-10).fit([[1.0], [-1.0]], [True, False])
    >>> machine.predict_proba([[0.0]])
    array([[0.5, 0.5]])
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        max_iter: int = 100,
    ) -> None:
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X, dense or CSR, with labels y and weights, 0 or above."""
        check_positive(C=self.C)
        examples = self._check_classification(X, y, sample_weight)
        costs = self.C * weights_with_classes(self.class_weight, self.classes_, examples)
        rows = check_rows(examples.X)
        machines = [
            logistic_regression(
                rows, s, costs, intercept=self.fit_intercept, tol=self.tol, max_iter=self.max_iter
            )
            for s in one_versus_rest_signs(examples.y, len(self.classes_))
        ]
        self.coef_ = np.array([m.w for m in machines])
        self.intercept_ = np.array([m.b for m in machines])
        self.n_iter_ = np.array([max(1, m.n_iter) for m in machines], dtype=np.int32)
        return self


class KernelLogisticRegression(KernelMachine, _Probabilities):
    """Logistic regression over a kernel; all examples stay in the machine (C17).

    More than two classes are handled one versus rest (S6).

    Parameters
    ----------
    C : cost of the loss, above 0
    kernel, degree, gamma, coef0 : as for :class:`svmlab.estimators.svm.SVC`
    tol : largest violation of eq-logistic-stationarity, relative to the largest cost
    class_weight : None, dict or ``"balanced"`` (eq-class-weight): multiplies C
    max_iter : Newton steps at most, each of which solves n equations

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, coef_, gamma_ : as for ``SVC``;
        the support vectors are all training examples, in their own order
    n_iter_ : (1,) or (k,)

    >>> X, y = [[-2.0], [0.0], [2.0]], ["out", "in", "out"]
    >>> machine = KernelLogisticRegression(C=10.0).fit(X, y)
    >>> machine.predict([[0.1], [3.0]]), machine.dual_coef_.shape
    (array(['in', 'out'], dtype='<U3'), (1, 3))
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-4,
        class_weight: Any = None,
        max_iter: int = 100,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X (or a Gram matrix) with labels y and weights, 0 or above."""
        check_positive(C=self.C)
        self._check_kernel()
        examples = self._check_classification(X, y, sample_weight)
        costs = self.C * weights_with_classes(self.class_weight, self.classes_, examples)
        K = whole(self._training_gram(examples))
        signs = one_versus_rest_signs(examples.y, len(self.classes_))
        machines = [
            kernel_logistic_regression(K, s, costs, tol=self.tol, max_iter=self.max_iter)
            for s in signs
        ]
        signed = np.array([m.alpha * s for m, s in zip(machines, signs, strict=True)])
        self._keep(examples, np.arange(len(K)), signed, np.array([m.b for m in machines]))
        self.n_iter_ = np.array([max(1, m.n_iter) for m in machines], dtype=np.int32)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) of each row, its log-odds: (n,) for two classes, (n, k) for k > 2."""
        scores = self._scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores
