"""The Gram matrix of many examples, which is never there as a whole (C21).

A solver asks for the values of the examples that it works on with each other, and for the sum of
the rows of those that moved. Rows are computed in blocks, in float32 or in float64; what is asked
for again and again is kept.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from svmlab._gram_jit import add_block, add_long_rows, store
from svmlab.kernel_blocks import BLOCK, TILE, Floats, Kernel, KernelBlocks, products_for
from svmlab.rows import squared_norms, take
from svmlab.threads import check_jobs, share_out
from svmlab.types import CSR, Indices, Matrix, Rows, Vector
from svmlab.validation import check_gram, check_positive, check_rows

MEGABYTE = 2**20
KEEP_AFTER = 4  # requests that are answered before a row is worth its place in memory,
KEEP_ANY_AFTER = 1  # and where there is place for every row
UNEQUAL = 4  # parts a thread where they are not the same work
GROUPS = 32  # of columns at most, each with sums of its own: the same whatever the threads

EPS = float(np.finfo(np.float64).eps)


class WholeGram:
    """A Gram matrix that is there as a whole."""

    def __init__(self, K: Matrix) -> None:
        self.K, self.n = K, len(K)

    def combine(self, weights: Vector, index: Indices, dtype: type[np.floating[Any]]) -> Vector:
        """Return the sum of the rows at ``index`` times their weights."""
        total = np.zeros(self.n)
        add_long_rows(total, weights, self.K, index)
        return total

    def block(self, index: Indices, dtype: type[np.floating[Any]] = np.float64) -> Matrix:
        """Return the values of some examples with each other."""
        return self.K[np.ix_(index, index)]

    def doubt(self, dtype: type[np.floating[Any]], terms: int) -> float:
        """Return how wrong a sum of ``terms`` rows can be, for weights that add up to 1 in size."""
        return terms * EPS * self._largest

    @functools.cached_property
    def _largest(self) -> float:
        return float(np.abs(self.K).max())

    def times(self, v: Vector, wanted: Indices) -> Vector:
        """Return the entries of K v at ``wanted``."""
        return np.asarray((self.K @ v)[wanted])


class KernelGram:
    """The Gram matrix of a kernel on some rows, computed row by row when asked for (C12, C21).

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    kernel, gamma, degree, coef0 : see :func:`svmlab.kernels.kernel_matrix`
    cache_size : megabytes for rows that are kept
    n_jobs : threads that compute rows; None is 1, −1 one a core

    >>> gram = KernelGram(np.array([[0.0], [1.0]]), "rbf", gamma=2.0)
    >>> gram.times(np.array([1.0, 0.0]), np.arange(2)).round(4)
    array([1.    , 0.1353])
    """

    def __init__(
        self,
        X: Rows,
        kernel: str = "rbf",
        *,
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 1.0,
        cache_size: float = 200.0,
        n_jobs: int | None = None,
    ) -> None:
        check_positive(cache_size=cache_size)
        self.n_jobs = check_jobs(n_jobs)
        self.X = check_rows(X)
        self.n = self.X.shape[0]
        self.kernel = Kernel(kernel, gamma, degree, coef0)
        self.kernel.check()
        self.cache_bytes = cache_size * MEGABYTE
        self._form = products_for(self.n * self.n / BLOCK)
        self._blocks: dict[type, KernelBlocks] = {}
        self._kept: Floats = np.empty((0, 0), np.float16)  # no row so far, in any precision

    def capacity(self, dtype: type[np.floating[Any]]) -> int:
        """Return how many rows can be kept."""
        return int(min(self.n, self.cache_bytes // (self.n * np.dtype(dtype).itemsize)))

    def combine(self, weights: Vector, index: Indices, dtype: type[np.floating[Any]]) -> Vector:
        """Return the sum of the rows at ``index``, all different, times their weights, in float64.

        A row is kept when it is asked for the fifth time, or the second time if there is place for
        all: most of many rows never are, and to write one to memory takes as long as to compute it.
        """
        if self._kept.dtype != dtype:
            self._forget(dtype)
        total = np.zeros(self.n)
        there = self._place[index] >= 0
        add_long_rows(total, weights[there], self._kept, self._place[index[there]])
        missing, weights = index[~there], weights[~there]
        worth_it = KEEP_AFTER if len(self._kept) < self.n else KEEP_ANY_AFTER
        self._make_room(missing[self._requests[missing] == worth_it])
        self._requests[missing] += 1
        places, blocks = self._place[missing], self._all_blocks(dtype)

        def add_columns(first: int, stop: int) -> None:
            for start in range(0, len(missing), blocks.block):
                rows = slice(start, start + blocks.block)
                for columns, values in blocks.meet(blocks.own(missing[rows]), first, stop):
                    add_block(total[columns], weights[rows], values)
                    store(values, self._kept[:, columns], places[rows])

        share_out(add_columns, self.n, TILE, self.n_jobs)
        return total

    def _forget(self, dtype: type[np.floating[Any]]) -> None:
        """Keep nothing of what was computed so far."""
        self._kept = np.empty((self.capacity(dtype), self.n), dtype)
        self._place = np.full(self.n, -1)  # of each row that is kept
        self._owner = np.full(len(self._kept), -1)
        self._requests = np.zeros(self.n, np.int64)
        self._next = 0

    def _make_room(self, index: Indices) -> None:
        """Give these rows the places of those that have been kept longest."""
        index = index[: len(self._kept)]
        places = (self._next + np.arange(len(index))) % max(len(self._kept), 1)
        self._next += len(index)
        evicted = self._owner[places]
        self._place[evicted[evicted >= 0]] = -1
        self._requests[evicted[evicted >= 0]] = 0
        self._owner[places], self._place[index] = index, places

    def block(self, index: Indices, dtype: type[np.floating[Any]] = np.float64) -> Matrix:
        """Return the values of some examples with each other, computed in a given precision."""
        blocks = KernelBlocks(take(self.X, index), self.kernel, dtype, self._form)
        return np.asarray(blocks.among(), np.float64)

    def doubt(self, dtype: type[np.floating[Any]], terms: int) -> float:
        """Return how wrong a sum of ``terms`` rows can be, for weights that add up to 1 in size.

        Rows are computed in the precision ``dtype`` and added up in float64.
        """
        length, entries = self._longest
        error = self.kernel.error(length, entries, float(np.finfo(dtype).eps))
        return error + terms * EPS * self.kernel.largest(length)

    @functools.cached_property
    def _longest(self) -> tuple[float, int]:
        """The largest squared length of a row, and the largest number of entries."""
        X = self.X
        entries = int(np.diff(X.indptr).max()) if isinstance(X, CSR) else X.shape[1]
        return float(squared_norms(X).max()), entries

    def times(self, v: Vector, wanted: Indices) -> Vector:
        """Return the entries of K v at ``wanted``, from kernel values in float64.

        Those of the rows in v with each other are computed once for each pair.
        """
        used = np.flatnonzero(v)
        order = np.concatenate((used, np.setdiff1d(wanted, used)))
        blocks = KernelBlocks(take(self.X, order), self.kernel, np.float64, self._form)
        weights, total, n, m = v[order], np.zeros(len(order)), len(order), len(used)
        step = TILE * -(-n // (TILE * GROUPS))
        mirrored = np.zeros((-(-n // step), m))  # by the group of columns that it comes from

        def add_columns(first: int, stop: int) -> None:
            for start in range(0, min(m, stop), blocks.block):
                rows = slice(start, min(start + blocks.block, m))
                left = blocks.own(np.arange(rows.start, rows.stop))
                for columns, values in blocks.meet(left, max(first, start), stop):
                    total[columns] += weights[rows] @ values
                    beyond = slice(max(rows.stop, columns.start), min(columns.stop, m))
                    if beyond.start < beyond.stop:  # (j, i) for the (i, j) at hand
                        there = slice(beyond.start - columns.start, beyond.stop - columns.start)
                        mirrored[columns.start // step, rows] += values[:, there] @ weights[beyond]

        share_out(add_columns, n, step, self.n_jobs, UNEQUAL)
        total[:m] += mirrored.sum(axis=0)
        entries = np.empty(self.n)
        entries[order] = total
        return np.asarray(entries[wanted])

    def _all_blocks(self, dtype: type[np.floating[Any]]) -> KernelBlocks:
        """Return all rows, ready to meet others in a precision."""
        if dtype not in self._blocks:
            self._blocks[dtype] = KernelBlocks(self.X, self.kernel, dtype, self._form)
        return self._blocks[dtype]


Gram = WholeGram | KernelGram


def as_gram(K: Matrix | KernelGram) -> Gram:
    """Return a Gram matrix in the form that solvers ask for rows; a matrix is checked."""
    return K if isinstance(K, KernelGram) else WholeGram(check_gram(K))


def whole(K: Matrix | KernelGram) -> Matrix:
    """Return the Gram matrix as a whole, for methods that solve systems with it.

    >>> whole(KernelGram(np.array([[1.0], [2.0]]), "linear"))
    array([[1., 2.], [2., 4.]])
    """
    return K.block(np.arange(K.n)) if isinstance(K, KernelGram) else K
