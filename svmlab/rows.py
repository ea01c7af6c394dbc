"""The same few products for dense and for sparse rows, so that solvers need not tell them apart."""

from __future__ import annotations

import numpy as np

from svmlab.types import CSR, Indices, Matrix, Rows, Vector


def times(X: Rows, w: Vector) -> Vector:
    """Return X @ w, one inner product a row.

    >>> times(CSR(np.array([2.0]), np.array([1]), np.array([0, 0, 1]), (2, 3)), np.ones(3))
    array([0., 2.])
    """
    if not isinstance(X, CSR):
        return X @ w
    return _sums(_row_of_entry(X), X.data * w[X.indices], X.shape[0])


def transposed_times(X: Rows, v: Vector) -> Vector:
    """Return X.T @ v, the rows summed with weights v.

    >>> transposed_times(np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    if not isinstance(X, CSR):
        return X.T @ v
    return _sums(X.indices, X.data * v[_row_of_entry(X)], X.shape[1])


def squared_norms(X: Rows) -> Vector:
    """Return the squared length of each row.

    >>> squared_norms(np.array([[3.0, 4.0]]))
    array([25.])
    """
    if not isinstance(X, CSR):
        return np.asarray(np.einsum("ij,ij->i", X, X))
    return _sums(_row_of_entry(X), X.data**2, X.shape[0])


def take(X: Rows, index: Indices) -> Rows:
    """Return the rows at the given indices, in the same form.

    >>> take(np.eye(3), np.array([2]))
    array([[0., 0., 1.]])
    """
    if not isinstance(X, CSR):
        return X[index]
    lengths = np.diff(X.indptr)[index]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    entries = np.arange(indptr[-1]) + np.repeat(X.indptr[index] - indptr[:-1], lengths)
    return CSR(X.data[entries], X.indices[entries], indptr, (len(index), X.shape[1]))


def dense(X: Rows) -> Matrix:
    """Return the rows as one dense matrix.

    >>> dense(CSR(np.array([2.0]), np.array([1]), np.array([0, 0, 1]), (2, 3)))
    array([[0., 0., 0.], [0., 2., 0.]])
    """
    if not isinstance(X, CSR):
        return X
    full = np.zeros(X.shape)
    full[_row_of_entry(X), X.indices] = X.data
    return full


def with_bias_column(X: Rows, value: float = 1.0) -> Rows:
    r"""Return the rows (x, value): the last weight then acts as the intercept (M2).

    .. math:: w \cdot x + b = (w, b) \cdot (x, 1)  \tag{eq-bias-column}

    Unlike a true intercept, this one is penalised with w.

    >>> with_bias_column(np.array([[2.0, 3.0]]))
    array([[2., 3., 1.]])
    """
    n, d = X.shape
    if not isinstance(X, CSR):
        return np.column_stack((X, np.full(n, value)))
    ends = X.indptr[1:]
    return CSR(
        np.insert(X.data, ends, value),
        np.insert(X.indices, ends, d),
        X.indptr + np.arange(n + 1),
        (n, d + 1),
    )


def _sums(groups: Indices, values: Vector, n: int) -> Vector:
    return np.asarray(np.bincount(groups, weights=values, minlength=n), dtype=np.float64)


def _row_of_entry(X: CSR) -> Indices:
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
