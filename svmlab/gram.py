"""The Gram matrix of many examples, which is never there as a whole (C21).

A solver asks for the values of the examples that it works on with each other, and for the sum of
the rows of those that moved. Rows are computed in blocks, from inner products, in float32 or in
float64; what is asked for again and again is kept.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmlab._gram_jit import add_block, add_long_rows, sparse_products, store
from svmlab.kernels import KERNELS
from svmlab.rows import dense, squared_norms, take, with_bias_column
from svmlab.threads import check_jobs, one_blas_thread, share_out
from svmlab.types import CSR, Indices, Matrix, Rows, Vector
from svmlab.validation import check_choice, check_count, check_gram, check_positive, check_rows

MEGABYTE = 2**20
KEEP_AFTER = 4  # requests that are answered before a row is worth its place in memory,
KEEP_ANY_AFTER = 1  # and where there is place for every row
BLOCK = 128  # rows whose kernel values are computed together
TILE = 1024  # examples that they meet at a time: a block by a tile fits into a near cache
PANEL = 2**18  # entries of the dense panel that sparse rows are multiplied with
DENSE_SHARE = 0.25  # sparse rows with more than that stored are faster as dense ones
UNEQUAL = 4  # parts a thread where they are not the same work
GROUPS = 32  # of columns at most, each with sums of its own: the same whatever the threads
PLAIN_ROWS = 2000  # sparse rows times blocks: fewer are done before a compiler is ready

EPS = float(np.finfo(np.float64).eps)

Floats = NDArray[np.floating[Any]]


class Kernel(NamedTuple):
    r"""A kernel as a function of one inner product, with its parameters (C12).

    .. math:: K(x, z) = h\bigl(a\, x \cdot a\, z + s(x) + s(z)\bigr)

    The Gaussian has a² = 2γ, s(x) = −γ‖x‖² and h = exp; the polynomial a² = γ, s = 0 and
    h(t) = (t + r)^d.

    >>> Kernel("rbf", gamma=2.0).shift(np.array([3.0])), Kernel("rbf", gamma=2.0).scale
    (array([-6.]), 2.0)
    """

    kernel: str = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    @property
    def scale(self) -> float:
        """The factor a of the rows."""
        squared = {"linear": 1.0, "poly": self.gamma, "rbf": 2.0 * self.gamma}
        return float(np.sqrt(squared[self.kernel]))

    def shift(self, squared_norms: Vector) -> Vector:
        """Return s of rows with these squared lengths."""
        return -self.gamma * squared_norms if self.kernel == "rbf" else np.zeros_like(squared_norms)

    def finish(self, values: Floats) -> None:
        """Apply h in place."""
        if self.kernel == "poly":
            values += self.coef0
            base = values.copy()
            for _ in range(self.degree - 1):
                values *= base
        elif self.kernel == "rbf":
            np.exp(values, out=values)

    def largest(self, squared_length: float) -> float:
        """Return a bound on |K| of rows that are not longer."""
        if self.kernel == "rbf":
            return 1.0
        if self.kernel == "linear":
            return squared_length
        return float((self.gamma * squared_length + abs(self.coef0)) ** self.degree)

    def error(self, squared_length: float, entries: int, eps: float) -> float:
        """Return a bound on the error of values that are computed in a given precision.

        A sum of m rounded products is wrong by at most (m + 2) ε times the sum of their sizes, here
        of m entries, the shifts and the factors a; with h = exp these sizes add up to 4γ‖x‖².

        >>> round(Kernel("linear").error(squared_length=1.0, entries=2, eps=1e-7), 9)
        1e-06
        """
        relative = (entries + 8) * eps
        if self.kernel == "rbf":
            return float(np.expm1(4.0 * self.gamma * squared_length * relative) + 4.0 * eps)
        power = self.degree if self.kernel == "poly" else 1
        return float(self.largest(squared_length) * np.expm1(power * relative))

    def check(self) -> None:
        """Refuse a name or parameters that make no sense."""
        check_choice(self.kernel, KERNELS, "kernel")
        check_positive(gamma=self.gamma)
        check_count(degree=self.degree)


class KernelBlocks:
    """Kernel values of any rows with fixed ones, block by block, in one precision.

    >>> blocks = KernelBlocks(np.array([[1.0], [2.0]]), Kernel("linear"))
    >>> [(part, K) for part, K in blocks.meet(blocks.left(np.array([[3.0]])))]
    [(slice(0, 2, None), array([[3., 6.]]))]
    """

    def __init__(
        self,
        X: Rows,
        kernel: Kernel,
        dtype: type[np.floating[Any]] = np.float64,
        form: Callable[..., None] = sparse_products.plain,
    ) -> None:
        n, d = X.shape
        self.n, self.kernel, self.dtype, self._form = n, kernel, dtype, form
        self.sparse = isinstance(X, CSR) and len(X.data) < DENSE_SHARE * n * d
        self.block = max(16, min(BLOCK, PANEL // d)) if self.sparse else BLOCK
        self._fixed = self._extended(X, 1.0, kernel.shift(squared_norms(X)))

    def _extended(self, X: Rows, first: float | Vector, second: float | Vector) -> Any:
        """Return the rows times a, with two more columns, so that products hold the shifts."""
        if isinstance(X, CSR) and self.sparse:
            scaled = X._replace(data=self.kernel.scale * X.data)
            rows = with_bias_column(with_bias_column(scaled, first), second)
            assert isinstance(rows, CSR)
            return rows._replace(data=rows.data.astype(self.dtype))
        extended = np.empty((X.shape[0], X.shape[1] + 2), self.dtype)
        extended[:, :-2] = self.kernel.scale * dense(X)
        extended[:, -2], extended[:, -1] = first, second
        return extended

    def left(self, Z: Rows) -> Floats:
        """Return any rows in the form in which they meet the fixed ones."""
        return np.asarray(self._extended(dense(Z), self.kernel.shift(squared_norms(Z)), 1.0))

    def own(self, index: Indices) -> Floats:
        """Do as :meth:`left` for some of the fixed rows: their last two columns change places."""
        rows = dense(take(self._fixed, index)).astype(self.dtype, copy=False)
        rows[:, [-2, -1]] = rows[:, [-1, -2]]
        return rows

    def meet(
        self, left: Floats, first: int = 0, stop: int | None = None
    ) -> Iterator[tuple[slice, Floats]]:
        """Yield K(z, x) for all rows z and the fixed rows x from first to stop, part by part.

        There should be no more rows z than ``block``. Parts end at multiples of ``TILE``.
        """
        stop = self.n if stop is None else stop
        panel = np.ascontiguousarray(left.T) if self.sparse else left
        while first < stop:
            part = slice(first, min(stop, first + TILE - first % TILE))
            values = (
                self._sparse_products(part, panel) if self.sparse else self._fixed[part] @ left.T
            )
            self.kernel.finish(values)
            yield part, values.T
            first = part.stop

    def among(self) -> Floats:
        """Return the values of the fixed rows with each other, each pair computed once."""
        K = np.empty((self.n, self.n), self.dtype)
        for start in range(0, self.n, self.block):
            stop = min(start + self.block, self.n)
            left, strip = self.own(np.arange(start, stop)), K[start:stop, start:]
            if self.sparse:
                panel = np.ascontiguousarray(left.T)
                strip[:] = self._sparse_products(slice(start, self.n), panel).T
            else:
                np.matmul(left, self._fixed[start:].T, out=strip)
            self.kernel.finish(strip)
            K[stop:, start:stop] = strip[:, stop - start :].T
        return K

    def _sparse_products(self, part: slice, panel: Floats) -> Floats:
        data, indices, indptr, _ = self._fixed
        out = np.empty((part.stop - part.start, panel.shape[1]), self.dtype)
        self._form(data, indices, indptr[part.start : part.stop + 1], panel, out)
        return out


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
        self._form = _form(self.n * self.n / BLOCK)
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


@one_blas_thread()
def kernel_scores(
    X: Rows,
    support_vectors: Rows,
    dual_coef: Matrix,
    kernel: Kernel | None = None,
    n_jobs: int | None = None,
) -> Matrix:
    """Return Σ dual_coef[m, i] K(xᵢ, x) for each row x and each machine m, in blocks (C10, C14).

    The memory beside X and the answer is that of the support vectors and of one block a thread.

    >>> kernel_scores(np.array([[3.0]]), np.array([[1.0]]), np.array([[2.0]]), Kernel("linear"))
    array([[6.]])
    """
    n, scores = X.shape[0], np.zeros((X.shape[0], len(dual_coef)))
    form = _form(n * support_vectors.shape[0] // BLOCK)
    blocks = KernelBlocks(support_vectors, kernel or Kernel(), np.float64, form)

    def score(first: int, stop: int) -> None:
        for start in range(first, stop, blocks.block):
            rows = np.arange(start, min(start + blocks.block, stop))
            for part, values in blocks.meet(blocks.left(take(X, rows))):
                scores[rows] += values @ dual_coef[:, part].T

    share_out(score, n, blocks.block, check_jobs(n_jobs))
    return scores


def _form(work: float) -> Callable[..., None]:
    """Return the products of sparse rows compiled, or plain for little work."""
    return sparse_products.plain if work < PLAIN_ROWS else sparse_products.compiled
