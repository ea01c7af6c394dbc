"""The kernel of an estimator: a name, a callable, or a Gram matrix given by the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmlab.estimators._base import Examples, SparseAware
from svmlab.gram import KernelGram
from svmlab.kernel_blocks import Kernel, kernel_scores
from svmlab.kernels import KERNELS
from svmlab.types import CSR, Indices, Matrix, Rows, Vector
from svmlab.validation import check_choice, check_positive, check_rows

BLOCK_ROWS = 4096


class KernelMachine(SparseAware):
    """A machine Σ ``dual_coef_[i]`` K(xᵢ, x) + intercept_ over its support vectors (C10, C14)."""

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    gamma: float | str
    coef0: float
    cache_size: float = 200.0
    n_jobs: int | None = None
    gamma_: float
    support_: Indices
    support_vectors_: Any
    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    _coef: NDArray[np.float64]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the input may be."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights (1, d) or (k, d) of a linear kernel (eq-weights)."""
        if self.kernel != "linear":
            raise AttributeError(f"coef_ exists for kernel='linear' only, not {self.kernel!r}")
        return self._coef

    def _check_kernel(self) -> None:
        if not callable(self.kernel):
            check_choice(self.kernel, (*KERNELS, "precomputed"), "kernel")
        if isinstance(self.gamma, str):
            check_choice(self.gamma, ("scale", "auto"), "gamma")
        else:
            check_positive(gamma=self.gamma)

    def _training_gram(self, examples: Examples) -> Matrix | KernelGram:
        """Settle the width of the kernel and return the Gram matrix of the training set."""
        if self.kernel == "precomputed" or callable(self.kernel):
            self.gamma_ = 0.0
            return self._given_gram(examples.X, examples.X)
        rows = check_rows(examples.X)
        self.gamma_ = kernel_width(self.gamma, rows, examples.weights)
        kernel = self._named()._asdict()
        return KernelGram(rows, **kernel, cache_size=self.cache_size, n_jobs=self.n_jobs)

    def _named(self) -> Kernel:
        return Kernel(str(self.kernel), self.gamma_, self.degree, self.coef0)

    def _given_gram(self, X: Any, Z: Any) -> Matrix:
        if not callable(self.kernel):
            return np.asarray(X)
        K = self.kernel(X, Z)
        return np.asarray(K.toarray() if hasattr(K, "toarray") else K, dtype=np.float64)

    def _keep(
        self,
        examples: Examples,
        kept: Indices,
        dual_coef: Matrix,
        b: Vector,
        coef: Matrix | None = None,
    ) -> None:
        """Store the machine: the examples ``kept``, their coefficients (m, s), m intercepts."""
        self.support_ = examples.rows[kept].astype(np.int32)
        precomputed = self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if precomputed else examples.X[kept]
        self.dual_coef_ = np.ascontiguousarray(dual_coef)
        self.intercept_ = b
        if self.kernel == "linear":
            self._coef = dual_coef @ examples.X[kept] if coef is None else coef  # (eq-weights)

    def _scores(self, X: Any) -> Matrix:
        """Return f of each row for each machine, (n, m), in blocks of rows."""
        X = self._check_new(X)
        if self.kernel == "linear":
            return np.asarray(X @ self._coef.T + self.intercept_)
        if self.support_.size == 0:
            return np.tile(self.intercept_, (X.shape[0], 1))
        if self.kernel == "precomputed" or callable(self.kernel):
            return self._given_scores(X) + self.intercept_
        vectors = check_rows(self.support_vectors_)
        scores = kernel_scores(check_rows(X), vectors, self.dual_coef_, self._named(), self.n_jobs)
        return scores + self.intercept_

    def _given_scores(self, X: Any) -> Matrix:
        """Return f without its intercept for a kernel that is not ours, in blocks of rows."""
        scores = np.empty((X.shape[0], len(self.dual_coef_)))
        for start in range(0, X.shape[0], BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            if self.kernel == "precomputed":
                K = X[rows][:, self.support_]
            else:
                K = self._given_gram(X[rows], self.support_vectors_)
            scores[rows] = K @ self.dual_coef_.T
        return scores


def kernel_width(gamma: float | str, X: Rows, weights: Vector) -> float:
    r"""Return γ for scikit-learn's ``"scale"`` and ``"auto"``, or the number itself (C12).

    .. math:: \gamma_{\text{scale}} = \frac{1}{d \operatorname{Var}(X)},\qquad
        \gamma_{\text{auto}} = \frac1d
        \tag{eq-gamma-scale}

    The variance runs over all entries of X, each row counted by its weight.

    >>> kernel_width("scale", np.array([[0.0], [2.0]]), np.array([1.0, 1.0]))
    1.0
    """
    if not isinstance(gamma, str):
        return float(gamma)
    d = X.shape[1]
    if gamma == "auto":
        return float(1.0 / d)
    variance = weighted_variance(X, weights)
    return float(1.0 / (d * variance)) if variance > 0.0 else 1.0


def weighted_variance(X: Rows, weights: Vector) -> float:
    """Return the variance of all entries of X, each row counted by its weight.

    >>> weighted_variance(np.array([[0.0], [3.0]]), np.array([2.0, 1.0]))
    2.0
    """
    total = weights.sum() * X.shape[1]
    if isinstance(X, CSR):
        each = np.repeat(weights, np.diff(X.indptr))
        mean = each @ X.data / total
        zeros = total - each.sum()
        return float((each @ (X.data - mean) ** 2 + zeros * mean**2) / total)
    mean = weights @ X.sum(axis=1) / total
    return float(weights @ ((X - mean) ** 2).sum(axis=1) / total)
