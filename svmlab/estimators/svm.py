"""Support vector classifiers with scikit-learn's names, kernel and linear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from svmlab.coordinate import dual_coordinate_descent
from svmlab.estimators._base import (
    LinearClassifier,
    ScoringClassifier,
    generator,
    one_versus_rest_signs,
    weights_with_classes,
)
from svmlab.estimators._kernels import KernelMachine
from svmlab.multiclass import joint_multiclass
from svmlab.rows import with_bias_column
from svmlab.smo import solve_dual
from svmlab.types import Indices, Matrix, Vector
from svmlab.validation import check_choice, check_positive, check_rows

Kernel = str | Callable[[Any, Any], Any]


class SVC(KernelMachine, ScoringClassifier):
    """Soft-margin kernel classifier, trained by :func:`svmlab.smo.solve_dual` (S5, S6, C10, C14).

    A drop-in for scikit-learn's ``SVC``: two classes give the same attributes to solver accuracy.
    **More than two classes are handled one versus rest** (S6), where scikit-learn trains one
    machine for each pair: ``decision_function`` has a column for each class, and the largest wins.
    There are no probabilities, and no sigmoid kernel (it is not positive definite).

    Parameters
    ----------
    C : cost of slack, above 0
    kernel : {"linear", "poly", "rbf", "precomputed"} or a callable (X, Z) ↦ Gram matrix
    degree, gamma, coef0 : of the kernel (γ x·z + coef0)^degree or exp(−γ‖x − z‖²). ``"scale"`` is
        1 / (d · Var X), the variance counting each row by its sample weight; ``"auto"`` is 1 / d
    tol : largest KKT violation accepted (eq-violation)
    cache_size : megabytes for rows of the Gram matrix, which is never formed as a whole
    class_weight : None, dict or ``"balanced"`` (eq-class-weight): multiplies C. S5's costs C/N± are
        ``"balanced"`` with 2C/n for C
    max_iter : steps at most, −1 for no limit
    n_jobs : threads that compute kernel values, also to predict; None is 1, −1 one a core. The
        answer does not depend on it

    Attributes
    ----------
    classes_ : (k,)
    support_ : (s,) rows of the training set, first those of the first class, and so on
    support_vectors_ : (s, d), sparse if the training set was; empty for a precomputed kernel
    n_support_ : (k,) number of support vectors in each class
    dual_coef_ : (1, s) αᵢyᵢ for two classes; (k, s), one machine a row, for k > 2. Always dense
    intercept_ : (1,) or (k,)
    coef_ : (1, d) or (k, d), linear kernel only
    n_iter_ : (1,) or (k,) steps of each machine
    fit_status_ : 0 if all machines converged, else 1
    gamma_ : the γ used

    >>> X, y = [[1.0], [2.0], [4.0], [5.0], [6.0]], [1, 1, -1, -1, 1]
    >>> machine = SVC(C=100.0, kernel="poly", degree=2, gamma=1.0, coef0=1.0, tol=1e-9).fit(X, y)
    >>> machine.support_, machine.dual_coef_.round(4), machine.intercept_.round(4)
    (array([3, 1, 4], dtype=int32), array([[-7.3333,  2.5   ,  4.8333]]), array([9.]))
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        max_iter: int = -1,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X (or a Gram matrix) with labels y and weights, 0 or above."""
        check_positive(C=self.C)
        self._check_kernel()
        examples = self._check_classification(X, y, sample_weight)
        costs = self.C * weights_with_classes(self.class_weight, self.classes_, examples)
        gram = self._training_gram(examples)
        signs = one_versus_rest_signs(examples.y, len(self.classes_))
        limit = None if self.max_iter == -1 else self.max_iter
        machines = [solve_dual(gram, s, costs, tol=self.tol, max_iter=limit) for s in signs]

        signed = np.array([m.alpha * s for m, s in zip(machines, signs, strict=True)])
        used = np.flatnonzero(signed.any(axis=0))
        kept = used[np.argsort(examples.y[used], kind="stable")]  # by class, as scikit-learn has it
        self._keep(examples, kept, signed[:, kept], np.array([m.b for m in machines]))
        self.n_support_ = np.bincount(examples.y[kept], minlength=len(self.classes_)).astype(
            np.int32
        )
        self.n_iter_ = np.array([m.n_iter for m in machines], dtype=np.int32)
        self.fit_status_ = int(not all(m.converged for m in machines))
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) of each row: (n,) for two classes, (n, k) for k > 2."""
        scores = self._scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores


class LinearSVC(LinearClassifier):
    """Linear classifier trained by dual coordinate descent, as in LIBLINEAR (S7, C21, M2).

    A drop-in for scikit-learn's ``LinearSVC``. The intercept is the weight of a constant column
    (eq-bias-column) and so is penalised with w, the less the larger ``intercept_scaling``.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}
    tol : largest projected gradient accepted
    C : cost of the loss, above 0
    multi_class : ``"ovr"`` one versus rest (S6), or ``"crammer_singer"``, the joint problem (S7,
        always with the hinge)
    fit_intercept : whether to append the column
    intercept_scaling : its value
    class_weight : None, dict or ``"balanced"`` (eq-class-weight): multiplies C for the examples of
        a class, in the other classes' machines too
    random_state : draws the order of the examples; the optimum does not depend on it
    max_iter : passes over the data

    Attributes
    ----------
    classes_, coef_ (1, d) or (k, d), intercept_ (1,) or (k,), n_iter_

    >>> X, y = [[2.0], [1.0], [-1.0], [-2.0]], ["b", "b", "a", "a"]
    >>> LinearSVC(loss="hinge", C=10.0, tol=1e-8).fit(X, y).coef_.round(6)
    array([[1.]])
    """

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
        max_iter: int = 1000,
    ) -> None:
        self.loss = loss
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X, dense or CSR, with labels y and weights, 0 or above."""
        check_positive(C=self.C, intercept_scaling=self.intercept_scaling)
        check_choice(self.multi_class, ("ovr", "crammer_singer"), "multi_class")
        examples = self._check_classification(X, y, sample_weight)
        costs = self.C * weights_with_classes(self.class_weight, self.classes_, examples)
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        train = self._train_each if self.multi_class == "ovr" else self._train_jointly
        weights, self.n_iter_ = train(examples.X, examples.y, costs, bias)
        self._store(weights, examples.X.shape[1], bias)
        return self

    def _train_each(self, X: Any, codes: Indices, costs: Vector, bias: float) -> tuple[Matrix, int]:
        """Return the weights of one machine a class, or of one for two classes (S6)."""
        rows = with_bias_column(check_rows(X), bias) if bias else X
        rng = generator(self.random_state)
        machines = [
            dual_coordinate_descent(
                rows, s, costs, tol=self.tol, max_iter=self.max_iter, rng=rng, loss=self.loss
            )
            for s in one_versus_rest_signs(codes, len(self.classes_))
        ]
        return np.array([m.w for m in machines]), max(m.n_iter for m in machines)

    def _train_jointly(
        self, X: Any, codes: Indices, costs: Vector, bias: float
    ) -> tuple[Matrix, int]:
        """Return the weights of the joint problem (S7); two classes make one machine, w₁ − w₀."""
        rng = generator(self.random_state)
        joint = joint_multiclass(
            X, codes, costs, bias=bias, tol=self.tol, max_iter=self.max_iter, rng=rng
        )
        assert joint.W is not None
        weights = np.column_stack((joint.W, joint.b / bias)) if bias else joint.W
        if len(weights) == 2:
            weights = weights[1:] - weights[:1]
        return weights, joint.n_iter


class CrammerSingerSVC(LinearSVC):
    """Linear classifier for k classes trained as one problem (S7, M14).

    The same as ``LinearSVC(multi_class="crammer_singer")``: one slack an example, a constraint for
    every wrong class, and the intercepts penalised with the weights
    (:func:`svmlab.multiclass.joint_multiclass`). It learns data that one versus rest cannot.

    Parameters
    ----------
    C : cost of slack, above 0
    tol : relative duality gap accepted
    fit_intercept, intercept_scaling, class_weight, random_state, max_iter : as for ``LinearSVC``

    Attributes
    ----------
    classes_, coef_ (1, d) or (k, d), intercept_ (1,) or (k,), n_iter_

    >>> X, y = [[-3.0], [-2.0], [0.0], [0.5], [2.0], [3.0]], [0, 0, 1, 1, 2, 2]
    >>> CrammerSingerSVC(C=10.0).fit(X, y).predict([[-2.5], [0.1], [2.5]])
    array([0, 1, 2])
    """

    multi_class = "crammer_singer"
    loss = "hinge"

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_iter = max_iter
