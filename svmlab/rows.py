"""The same few products for dense and for sparse rows, so that solvers need not tell them apart.

Solvers that visit one row at a time read both through :class:`RowArrays`, without a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmlab._jit import Jitted, jit
from svmlab.types import CSR, Entries, Indices, Matrix, Rows, Vector

PLAIN_BELOW = 100_000  # entries read: fewer take less time than it takes to load compiled code
NUMPY_BELOW = 200_000  # stored entries that numpy multiplies and adds up fast enough
ANY_ORDER = {"contract", "nsz", "reassoc"}  # a sum whose terms need not wait for each other
ENTRIES_AT_A_TIME = 20_000_000  # a tenth of a second: then Python can notice Ctrl-C


class RowArrays(NamedTuple):
    """Rows that may share their columns: row i holds ``data[starts[i]:starts[i + 1]]``.

    The columns of these entries stand in ``indices`` from ``columns[i]`` on. Dense rows all share
    0, 1, …, d − 1, so that neither form of data is copied. Columns are seen as unsigned integers,
    which spares the compiled loops the question whether one is negative.
    """

    data: Entries
    indices: NDArray[np.unsignedinteger[Any]]
    starts: Indices
    columns: Indices


def row_arrays(X: Rows) -> RowArrays:
    """Return dense or sparse rows in the one form that the loops read.

    >>> row_arrays(np.array([[1.0, 2.0], [3.0, 4.0]])).starts
    array([0, 2, 4])
    """
    if isinstance(X, CSR):
        unsigned = np.uint32 if X.indices.dtype == np.int32 else np.uint64
        return RowArrays(X.data, X.indices.view(unsigned), X.indptr, X.indptr[:-1])
    n, d = X.shape
    every = np.arange(d, dtype=np.uint32)
    return RowArrays(X.reshape(-1), every, np.arange(n + 1) * d, np.zeros(n, np.int64))


def form_for(loop: Jitted, rows: RowArrays, n_visits: int) -> Callable[..., Any]:
    """Return the loop compiled, or plain where it is to read few rows only.

    >>> form_for(row_dot, row_arrays(np.eye(2)), n_visits=10) is row_dot.plain
    True
    """
    return loop.plain if n_visits * mean_entries(rows) < PLAIN_BELOW else loop.compiled


def mean_entries(rows: RowArrays) -> float:
    """Return how many entries a row has on average.

    >>> mean_entries(row_arrays(np.ones((2, 3))))
    3.0
    """
    return len(rows.data) / (len(rows.starts) - 1)


def pieces(rows: RowArrays, n_steps: int, batch_size: int = 1) -> Iterator[slice]:
    """Cut steps on batches of rows into pieces so short that Python is never away for long.

    >>> list(pieces(row_arrays(np.ones((2, 50))), 500_000))
    [slice(0, 400000, None), slice(400000, 500000, None)]
    """
    size = max(1, int(ENTRIES_AT_A_TIME / max(batch_size * mean_entries(rows), 1.0)))
    for start in range(0, n_steps, size):
        yield slice(start, min(start + size, n_steps))


@jit(nogil=True)
def entries_of(rows: RowArrays, i: int) -> tuple[Entries, NDArray[np.unsignedinteger[Any]]]:
    """Return the entries of row i and their columns."""
    start, stop, first = rows.starts[i], rows.starts[i + 1], rows.columns[i]
    return rows.data[start:stop], rows.indices[first : first + stop - start]


@jit(nogil=True, fastmath=ANY_ORDER)
def row_dot(rows: RowArrays, i: int, v: Vector) -> float:
    """Return x_i · v, touching the entries of the row only."""
    x, columns = entries_of(rows, i)
    total = 0.0
    for k in range(len(x)):
        total += x[k] * v[columns[k]]
    return total


@jit(nogil=True)
def row_add(v: Vector, c: float, rows: RowArrays, i: int) -> None:
    """Add c x_i to v in place."""
    x, columns = entries_of(rows, i)
    for k in range(len(x)):
        v[columns[k]] += c * x[k]


def _row_dot_in_numpy(rows: RowArrays, i: int, v: Vector) -> float:
    x, columns = entries_of.plain(rows, i)
    return float(x @ v[columns])


def _row_add_in_numpy(v: Vector, c: float, rows: RowArrays, i: int) -> None:
    x, columns = entries_of.plain(rows, i)
    v[columns] += np.multiply(c, x, dtype=np.float64)


row_dot.plain, row_add.plain = _row_dot_in_numpy, _row_add_in_numpy  # no Python loop over entries


def times(X: Rows, w: Vector) -> Vector:
    """Return X @ w, one inner product a row.

    >>> times(CSR(np.array([2.0]), np.array([1]), np.array([0, 0, 1]), (2, 3)), np.ones(3))
    array([0., 2.])
    """
    if not isinstance(X, CSR):
        return X @ w
    if X.data.size < NUMPY_BELOW:
        return _sums(_row_of_entry(X), X.data * w[X.indices], X.shape[0])
    out = np.empty(X.shape[0])
    all_products(row_arrays(X), w, out)
    return out


def transposed_times(X: Rows, v: Vector) -> Vector:
    """Return X.T @ v, the rows summed with weights v.

    >>> transposed_times(np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    if not isinstance(X, CSR):
        return X.T @ v
    if X.data.size < NUMPY_BELOW:
        return _sums(X.indices, X.data * v[_row_of_entry(X)], X.shape[1])
    out = np.zeros(X.shape[1])
    weighted_sum(row_arrays(X), v, out)
    return out


def squared_norms(X: Rows) -> Vector:
    """Return the squared length of each row.

    >>> squared_norms(np.array([[3.0, 4.0]]))
    array([25.])
    """
    if not isinstance(X, CSR):
        return np.asarray(np.einsum("ij,ij->i", X, X))
    if X.data.size < NUMPY_BELOW:
        return _sums(_row_of_entry(X), X.data.astype(np.float64) ** 2, X.shape[0])
    out = np.empty(X.shape[0])
    all_squares(row_arrays(X), out)
    return out


@jit(nogil=True)
def all_products(rows: RowArrays, w: Vector, out: Vector) -> None:
    """Write x_i · w to ``out`` for every row."""
    for i in range(len(out)):
        out[i] = row_dot(rows, i, w)


@jit(nogil=True)
def weighted_sum(rows: RowArrays, v: Vector, out: Vector) -> None:
    """Add Σ v_i x_i to ``out``."""
    for i in range(len(v)):
        if v[i] != 0.0:
            row_add(out, v[i], rows, i)


@jit(nogil=True, fastmath=ANY_ORDER)
def all_squares(rows: RowArrays, out: Vector) -> None:
    """Write ‖x_i‖² to ``out`` for every row."""
    for i in range(len(out)):
        x, _ = entries_of(rows, i)
        total = 0.0
        for k in range(len(x)):
            total += np.float64(x[k]) * x[k]
        out[i] = total


def shuffled(n: int, rng: np.random.Generator) -> Indices:
    """Return 0, …, n − 1 in random order; where n is large, one that memory can follow (M11).

    Reading rows all over a large memory takes longer than computing with them. So blocks of √n/16
    neighbours are shuffled, not rows. There are still 16√n blocks to mix: even if the file is
    sorted by class, a class is all over the order.

    >>> shuffled(5, np.random.default_rng(0))
    array([2, 4, 3, 0, 1])
    """
    size = max(1, isqrt(n) // 16)
    blocks = size * rng.permutation(-(-n // size))
    order = (blocks[:, None] + np.arange(size)).ravel()
    return order[order < n]


def take(X: Rows, index: Indices) -> Rows:
    """Return the rows at the given indices, in the same form.

    >>> take(np.eye(3), np.array([2]))
    array([[0., 0., 1.]])
    """
    if not isinstance(X, CSR):
        return X[index]
    starts = X.indptr[index]
    lengths = X.indptr[np.asarray(index) + 1] - starts
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
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


def with_bias_column(X: Rows, value: float | Vector = 1.0) -> Rows:
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
        np.asarray(np.insert(X.data, ends, value), dtype=X.data.dtype),
        np.asarray(np.insert(X.indices, ends, d), dtype=X.indices.dtype),
        X.indptr + np.arange(n + 1),
        (n, d + 1),
    )


def _sums(groups: Any, values: Vector, n: int) -> Vector:
    return np.asarray(np.bincount(groups, weights=values, minlength=n), dtype=np.float64)


def _row_of_entry(X: CSR) -> Indices:
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
