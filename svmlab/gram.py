"""The Gram matrix of many examples, which is never there as a whole (C21).

A solver asks for the rows of the examples that it works on. They are computed in blocks, from inner
products, and the latest ones are kept: as float32 where the matrix is larger than the memory for
it, else as float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmlab._gram_jit import add_long_rows, sparse_products, store
from svmlab.kernels import KERNELS
from svmlab.rows import dense, squared_norms, take, with_bias_column
from svmlab.types import CSR, Indices, Matrix, Rows, Vector
from svmlab.validation import check_choice, check_count, check_gram, check_positive, check_rows

MEGABYTE = 2**20
BLOCK = 256  # rows whose kernel values are computed together
TILE = 512  # examples that they meet at a time: a block by a tile fits into a near cache
SMALL = 1024  # rows that meet each other all at once
PANEL = 2**18  # entries of the dense panel that sparse rows are multiplied with
DENSE_SHARE = 0.25  # sparse rows with more than that stored are faster as dense ones
FEWEST_ROWS = 16  # kept in any case
PLAIN_ROWS = 2000  # sparse rows times blocks: fewer are done before a compiler is ready

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

    def check(self) -> None:
        """Refuse a name or parameters that make no sense."""
        check_choice(self.kernel, KERNELS, "kernel")
        check_positive(gamma=self.gamma)
        check_count(degree=self.degree)


class KernelBlocks:
    """Kernel values of any rows with fixed ones, block by block, in one precision.

    >>> blocks = KernelBlocks(np.array([[1.0], [2.0]]), Kernel("linear"))
    >>> [(part, K) for part, K in blocks.meet(np.array([[3.0]]))]
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

    def meet(self, Z: Rows, tile: int = TILE) -> Iterator[tuple[slice, Floats]]:
        """Yield K(z, x) for all rows z of Z and ``tile`` of the fixed rows x, part by part.

        Z should have no more rows than ``block``, unless few rows meet as a whole.
        """
        left = self._extended(dense(Z), self.kernel.shift(squared_norms(Z)), 1.0)
        panel = np.ascontiguousarray(left.T) if self.sparse else left
        for start in range(0, self.n, tile):
            part = slice(start, min(start + tile, self.n))
            values = (
                self._sparse_products(part, panel) if self.sparse else left @ self._fixed[part].T
            )
            self.kernel.finish(values)
            yield part, values

    def _sparse_products(self, part: slice, panel: Floats) -> Floats:
        data, indices, indptr, _ = self._fixed
        out = np.empty((part.stop - part.start, panel.shape[1]), self.dtype)
        self._form(data, indices, indptr[part.start : part.stop + 1], panel, out)
        return out.T


class WholeGram:
    """A Gram matrix that is there as a whole."""

    def __init__(self, K: Matrix) -> None:
        self.K, self.n = K, len(K)

    def capacity(self, dtype: type[np.floating[Any]]) -> int:
        """Return how many rows can be held at once."""
        return self.n

    def precision(self) -> type[np.floating[Any]]:
        """Return the precision of the rows to begin with."""
        return np.float64

    def fetch(self, index: Indices, dtype: type[np.floating[Any]]) -> tuple[Floats, Indices]:
        """Return an array and the places of the rows in it."""
        return self.K, index

    def block(self, index: Indices) -> Matrix:
        """Return the values of some examples with each other."""
        return self.K[np.ix_(index, index)]

    def times(self, v: Vector) -> Vector:
        """Return K v."""
        return self.K @ v


class KernelGram:
    """The Gram matrix of a kernel on some rows, computed row by row when asked for (C12, C21).

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    kernel, gamma, degree, coef0 : see :func:`svmlab.kernels.kernel_matrix`
    cache_size : megabytes for rows that are kept

    >>> gram = KernelGram(np.array([[0.0], [1.0]]), "rbf", gamma=2.0)
    >>> gram.times(np.array([1.0, 0.0])).round(4)
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
    ) -> None:
        check_positive(cache_size=cache_size)
        self.X = check_rows(X)
        self.n = self.X.shape[0]
        self.kernel = Kernel(kernel, gamma, degree, coef0)
        self.kernel.check()
        self.cache_bytes = cache_size * MEGABYTE
        self._form = _form(self.n * self.n / BLOCK)
        self._blocks: dict[type, KernelBlocks] = {}
        self._kept: Floats = np.empty((0, self.n), np.float32)

    def capacity(self, dtype: type[np.floating[Any]]) -> int:
        """Return how many rows can be held at once."""
        rows = int(self.cache_bytes / (self.n * np.dtype(dtype).itemsize))
        return int(min(self.n, max(FEWEST_ROWS, rows)))

    def precision(self) -> type[np.floating[Any]]:
        """Return the precision of the rows to begin with: float64 if all of them fit."""
        return np.float64 if self.capacity(np.float64) == self.n else np.float32

    def fetch(self, index: Indices, dtype: type[np.floating[Any]]) -> tuple[Floats, Indices]:
        """Return the array of rows that are kept, and the places of these rows in it.

        Rows that are not there yet take the places of those that were not asked for longest.
        """
        if self._kept.dtype != dtype or not len(self._kept):
            self._kept = np.empty((self.capacity(dtype), self.n), dtype)
            self._place = np.full(self.n, -1)
            self._owner = np.full(len(self._kept), -1)
            self._asked = np.zeros(len(self._kept), np.int64)
            self._time = 0
        self._time += 1
        self._asked[self._place[index[self._place[index] >= 0]]] = self._time
        missing = np.unique(index[self._place[index] < 0])  # the two of an example share a row
        if missing.size:
            places = np.argpartition(self._asked, missing.size - 1)[: missing.size]
            evicted = self._owner[places]
            self._place[evicted[evicted >= 0]] = -1
            self._owner[places], self._place[missing] = missing, places
            self._asked[places] = self._time
            for rows, columns, values in self._parts(missing, dtype):
                store(values, self._kept[:, columns], places[rows])
        return self._kept, self._place[index]

    def block(self, index: Indices) -> Matrix:
        """Return the values of some examples with each other, in float64."""
        X = take(self.X, index)
        blocks = KernelBlocks(X, self.kernel, np.float64, self._form)
        if len(index) <= SMALL:
            return np.ascontiguousarray(next(blocks.meet(X, SMALL))[1])
        K = np.empty((len(index), len(index)))
        for start in range(0, len(index), blocks.block):
            rows = slice(start, min(start + blocks.block, len(index)))
            for columns, values in blocks.meet(take(X, np.arange(rows.start, rows.stop))):
                K[rows, columns] = values
        return K

    def times(self, v: Vector) -> Vector:
        """Return K v in float64, from kernel values in float64."""
        total = np.zeros(self.n)
        used = np.flatnonzero(v)
        if self._kept.dtype == np.float64 and len(self._kept):
            there = used[self._place[used] >= 0]
            add_long_rows(total, v[there], self._kept, self._place[there])
            used = used[self._place[used] < 0]
        for rows, columns, values in self._parts(used, np.float64):
            total[columns] += v[used[rows]] @ values
        return total

    def _parts(
        self, index: Indices, dtype: type[np.floating[Any]]
    ) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield the rows at ``index`` in blocks: which rows, which columns, the values."""
        if dtype not in self._blocks:
            self._blocks[dtype] = KernelBlocks(self.X, self.kernel, dtype, self._form)
        blocks = self._blocks[dtype]
        for start in range(0, len(index), blocks.block):
            rows = slice(start, start + blocks.block)
            for columns, values in blocks.meet(take(self.X, index[rows])):
                yield rows, columns, values


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


def kernel_scores(
    X: Rows, support_vectors: Rows, dual_coef: Matrix, kernel: Kernel | None = None
) -> Matrix:
    """Return Σ dual_coef[m, i] K(xᵢ, x) for each row x and each machine m, in blocks (C10, C14).

    The memory beside X and the answer is that of the support vectors and of one block.

    >>> kernel_scores(np.array([[3.0]]), np.array([[1.0]]), np.array([[2.0]]), Kernel("linear"))
    array([[6.]])
    """
    n, scores = X.shape[0], np.zeros((X.shape[0], len(dual_coef)))
    form = _form(n * support_vectors.shape[0] // BLOCK)
    blocks = KernelBlocks(support_vectors, kernel or Kernel(), np.float64, form)
    for start in range(0, n, blocks.block):
        rows = np.arange(start, min(start + blocks.block, n))
        for part, values in blocks.meet(take(X, rows)):
            scores[rows] += values @ dual_coef[:, part].T
    return scores


def _form(work: float) -> Callable[..., None]:
    """Return the products of sparse rows compiled, or plain for little work."""
    return sparse_products.plain if work < PLAIN_ROWS else sparse_products.compiled
