"""Regressors: SVR with scikit-learn's names, and the same machine with any of the four losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from svmlab.estimators._base import Regressor
from svmlab.estimators._kernels import KernelMachine
from svmlab.regression import regularized_regression
from svmlab.validation import check_positive, check_rows

Kernel = str | Callable[[Any, Any], Any]


class RegularizedRegression(KernelMachine, Regressor):
    """Linear or kernel regression with one of four losses (C18).

    It minimises ½‖w‖² + C Σ ℓ(f(x) − y), with an intercept that is not penalised
    (:func:`svmlab.regression.regularized_regression`).

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "squared"}
    C : cost of the loss, above 0
    epsilon : half the width of the tube, for the first two losses
    kernel, degree, gamma, coef0 : as for :class:`svmlab.estimators.svm.SVC`; linear by default
    tol : largest violation of the optimality conditions accepted
    max_iter : steps at most, −1 for the solver's own limit

    Attributes
    ----------
    support_ : (s,) rows of the training set with a coefficient other than 0
    support_vectors_ : (s, d), sparse if the training set was; empty for a precomputed kernel
    n_support_ : (1,) their number
    dual_coef_ : (1, s)
    intercept_ : (1,)
    coef_ : (1, d), linear kernel only
    n_iter_ : int, steps taken, and at least 1

    >>> machine = RegularizedRegression(loss="absolute", C=10.0, tol=1e-9)
    >>> machine.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(6)
    array([7.])
    """

    def __init__(
        self,
        *,
        loss: str = "epsilon_insensitive",
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: Kernel = "linear",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.loss = loss
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X (or a Gram matrix) with targets y and weights, 0 or above."""
        check_positive(C=self.C)
        self._check_kernel()
        examples = self._check_regression(X, y, sample_weight)
        linear = self.kernel == "linear"
        result = regularized_regression(
            check_rows(examples.X) if linear else self._training_gram(examples),
            examples.y,
            self.C * examples.weights,
            loss=self.loss,
            epsilon=self.epsilon,
            kernel="linear" if linear else "precomputed",
            tol=self.tol,
            max_iter=None if self.max_iter == -1 else self.max_iter,
        )
        kept = np.flatnonzero(result.beta)
        coef = None if result.w is None else result.w[None, :]
        self._keep(examples, kept, result.beta[None, kept], np.array([result.b]), coef)
        self.n_support_ = np.array([kept.size], dtype=np.int32)
        self.n_iter_ = max(1, result.n_iter)  # constant targets need no step
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) of each row."""
        return self._scores(X).ravel()


class SVR(RegularizedRegression):
    """Support vector regression, a drop-in for scikit-learn's ``SVR`` (C18).

    :class:`RegularizedRegression` with the ε-insensitive loss, trained by SMO
    (:func:`svmlab.regression.svr`); same attributes.

    Parameters
    ----------
    kernel, degree, gamma, coef0 : as for :class:`svmlab.estimators.svm.SVC`
    tol : largest KKT violation accepted
    C : cost of the loss, above 0
    epsilon : half the width of the tube
    cache_size : megabytes for rows of the Gram matrix, which is never formed as a whole
    max_iter : steps at most, −1 for no limit
    n_jobs : threads that compute kernel values, also to predict; None is 1, −1 one a core. The
        answer does not depend on it

    >>> X, y = [[-1.0], [1.0]], [-3.0, 3.0]
    >>> machine = SVR(kernel="linear", C=10.0, epsilon=1.0, tol=1e-9).fit(X, y)
    >>> machine.dual_coef_.round(6), machine.coef_.round(6)
    (array([[-1.,  1.]]), array([[2.]]))
    """

    loss = "epsilon_insensitive"

    def __init__(
        self,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        cache_size: float = 200,
        max_iter: int = -1,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.n_jobs = n_jobs
