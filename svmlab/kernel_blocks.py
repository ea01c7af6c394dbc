"""Kernel values of many rows, block by block: what training and prediction are made of (C12, C14).

Kernels are functions of inner products, which are computed for a block of rows and a tile of others
at a time, so that the values are still in a near cache when they are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmlab._gram_jit import sparse_products
from svmlab.kernels import KERNELS
from svmlab.rows import dense, squared_norms, take, with_bias_column
from svmlab.threads import check_jobs, one_blas_thread, share_out
from svmlab.types import CSR, Indices, Matrix, Rows, Vector
from svmlab.validation import check_choice, check_count, check_positive

BLOCK = 128  # rows whose kernel values are computed together
TILE = 1024  # examples that they meet at a time: a block by a tile fits into a near cache
PANEL = 2**18  # entries of the dense panel that sparse rows are multiplied with
DENSE_SHARE = 0.25  # sparse rows with more than that stored are faster as dense ones
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
    form = products_for(n * support_vectors.shape[0] // BLOCK)
    blocks = KernelBlocks(support_vectors, kernel or Kernel(), np.float64, form)

    def score(first: int, stop: int) -> None:
        for start in range(first, stop, blocks.block):
            rows = np.arange(start, min(start + blocks.block, stop))
            for part, values in blocks.meet(blocks.left(take(X, rows))):
                scores[rows] += values @ dual_coef[:, part].T

    share_out(score, n, blocks.block, check_jobs(n_jobs))
    return scores


def products_for(work: float) -> Callable[..., None]:
    """Return the products of sparse rows compiled, or plain for little work.

    >>> products_for(1) is sparse_products.plain
    True
    """
    return sparse_products.plain if work < PLAIN_ROWS else sparse_products.compiled
