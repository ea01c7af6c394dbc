"""Kernels, and the explicit feature maps that they stand for."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial

import numpy as np

from svmlab.rows import dense, squared_norms, take
from svmlab.types import CSR, Matrix, Rows, Vector
from svmlab.validation import check_choice, check_count, check_nonnegative, check_positive

KERNELS = ("linear", "poly", "rbf")
BLOCK_ROWS = 4096
BLOCK_COLUMNS = 512


def linear_kernel(X: Rows, Z: Rows) -> Matrix:
    r"""Return the inner products of the rows of X with those of Z (C12).

    .. math:: K(x, z) = x \cdot z  \tag{eq-linear-kernel}

    Parameters
    ----------
    X, Z : (n, d) and (m, d) rows, dense or CSR

    Returns
    -------
    (n, m) matrix

    >>> linear_kernel(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[11.,  2.]])
    """
    if not isinstance(X, CSR):
        return X @ Z.T if not isinstance(Z, CSR) else linear_kernel(Z, X).T.copy()
    product = np.empty((X.shape[0], Z.shape[0]))
    for start in range(0, Z.shape[0], BLOCK_COLUMNS):  # bounds the memory of the dense block
        block = np.arange(start, min(start + BLOCK_COLUMNS, Z.shape[0]))
        right = np.ascontiguousarray(dense(take(Z, block)).T)
        for i in range(X.shape[0]):
            row = slice(X.indptr[i], X.indptr[i + 1])
            product[i, block] = X.data[row] @ right[X.indices[row]]
    return product


def polynomial_kernel(
    X: Rows, Z: Rows, degree: int = 3, gamma: float = 1.0, coef0: float = 1.0
) -> Matrix:
    r"""Return the polynomial kernel; the worked example has d = 2, γ = r = 1 (C11, C12, C15).

    .. math:: K(x, z) = (\gamma\, x \cdot z + r)^d  \tag{eq-polynomial-kernel}

    >>> polynomial_kernel(np.array([[2.0]]), np.array([[5.0]]), degree=2)
    array([[121.]])
    """
    check_count(degree=degree)
    check_positive(gamma=gamma)
    return np.asarray((gamma * linear_kernel(X, Z) + coef0) ** degree)


def gaussian_kernel(X: Rows, Z: Rows, gamma: float = 1.0) -> Matrix:
    r"""Return the Gaussian (RBF) kernel (C12).

    .. math:: K(x, z) = \exp(-\gamma \|x - z\|^2)  \tag{eq-gaussian-kernel}

    >>> gaussian_kernel(np.array([[0.0]]), np.array([[0.0], [1.0]]), gamma=2.0).round(4)
    array([[1.    , 0.1353]])
    """
    check_positive(gamma=gamma)
    distances = linear_kernel(X, Z)
    distances *= -2.0
    distances += squared_norms(X)[:, None] + squared_norms(Z)[None, :]  # in one sum: symmetric
    np.maximum(distances, 0.0, out=distances)  # rounding can leave a tiny negative
    if X is Z:
        np.fill_diagonal(distances, 0.0)
    distances *= -gamma
    return np.exp(distances, out=distances)


def kernel_matrix(
    kernel: str,
    X: Rows,
    Z: Rows | None = None,
    *,
    gamma: float = 1.0,
    degree: int = 3,
    coef0: float = 1.0,
) -> Matrix:
    """Return the kernel of that name between the rows of X and Z, or the Gram matrix of X (C12).

    >>> kernel_matrix("linear", np.eye(2))
    array([[1., 0.], [0., 1.]])
    """
    check_choice(kernel, KERNELS, "kernel")
    Z = X if Z is None else Z
    if kernel == "linear":
        return linear_kernel(X, Z)
    if kernel == "poly":
        return polynomial_kernel(X, Z, degree, gamma, coef0)
    return gaussian_kernel(X, Z, gamma)


def kernel_decision(
    support_vectors: Rows,
    dual_coef: Vector,
    b: float,
    X: Rows,
    kernel: str = "rbf",
    *,
    gamma: float = 1.0,
    degree: int = 3,
    coef0: float = 1.0,
) -> Vector:
    r"""Return f at the rows of X from the support vectors alone, in blocks of rows (C10, C14).

    .. math:: f(x) = \sum_{i:\alpha_i>0} \alpha_i y_i K(x_i, x) + b  \tag{eq-kernel-decision}

    Parameters
    ----------
    support_vectors : (s, d) rows with αᵢ > 0
    dual_coef : (s,) αᵢ yᵢ
    b : float
    X : (n, d) rows to predict

    >>> kernel_decision(np.array([[1.0]]), np.array([2.0]), 0.5, np.array([[3.0]]), "linear")
    array([6.5])
    """
    n = X.shape[0]
    f = np.full(n, float(b))
    for start in range(0, n, BLOCK_ROWS):
        block = np.arange(start, min(start + BLOCK_ROWS, n))
        K = kernel_matrix(
            kernel, take(X, block), support_vectors, gamma=gamma, degree=degree, coef0=coef0
        )
        f[block] += K @ dual_coef
    return f


def circle_map(X: Matrix) -> Matrix:
    r"""Lift points of the plane so that a circle becomes a plane (C9).

    .. math:: \varphi(x_1, x_2) = (x_1,\ x_2,\ x_1^2 + x_2^2)  \tag{eq-circle-map}

    >>> circle_map(np.array([[0.6, 0.8]]))
    array([[0.6, 0.8, 1. ]])
    """
    return np.column_stack((X, np.sum(X**2, axis=1)))


def quadratic_map(X: Matrix) -> Matrix:
    r"""Return features whose inner product is (1 + x·z)², in any dimension (C11).

    .. math::
        \varphi(x) = (1,\ \sqrt2\,x_j,\ \sqrt2\,x_j x_k \ (j<k),\ x_j^2),\qquad
        \varphi(x)\cdot\varphi(z) = (1 + x \cdot z)^2  \tag{eq-quadratic-map}

    There are (d + 1)(d + 2)/2 of them, against d + 1 operations for the kernel.

    >>> quadratic_map(np.array([[2.0]])) @ quadratic_map(np.array([[5.0]])).T
    array([[121.]])
    """
    extended = np.column_stack((np.ones(len(X)), X))
    pairs = combinations_with_replacement(range(extended.shape[1]), 2)
    columns = [
        extended[:, j] * extended[:, k] * (1.0 if j == k else np.sqrt(2.0)) for j, k in pairs
    ]
    return np.column_stack(columns)


def gaussian_taylor_map(x: Vector, gamma: float, n_terms: int) -> Matrix:
    r"""Return the first features of the Gaussian kernel on the line (C13).

    .. math::
        \varphi_k(x) = e^{-\gamma x^2} \sqrt{\frac{(2\gamma)^k}{k!}}\; x^k,\quad k = 0, 1, 2, \dots
        \tag{eq-taylor-map}

    >>> phi = gaussian_taylor_map(np.array([0.3, 0.7]), gamma=1.0, n_terms=12)
    >>> bool(abs(phi[0] @ phi[1] - np.exp(-0.4**2)) < 1e-10)
    True
    """
    check_positive(gamma=gamma)
    check_count(n_terms=n_terms)
    k = np.arange(n_terms)
    scale = np.sqrt([(2.0 * gamma) ** i / factorial(i) for i in range(n_terms)])
    return np.asarray(np.exp(-gamma * x[:, None] ** 2) * scale * x[:, None] ** k)


def taylor_truncation_bound(radius: float, gamma: float, n_terms: int) -> float:
    r"""Bound the error of :func:`gaussian_taylor_map` for |x|, |z| ≤ radius (C13).

    With v = 2γxz the neglected tail of the exponential series is at most |v|ⁿ/n! times e^{|v|},
    and the factor e^{−γ(x² + z²)} in front is at most e^{−|v|}, so the two exponentials cancel:

    .. math:: |K(x,z) - \varphi(x)\cdot\varphi(z)| \le \frac{u^n}{n!},\quad u = 2\gamma R^2
        \tag{eq-taylor-bound}

    >>> taylor_truncation_bound(1.0, 1.0, 12) < 1e-5
    True
    """
    check_nonnegative(radius=radius)
    check_positive(gamma=gamma)
    check_count(n_terms=n_terms)
    return float((2.0 * gamma * radius**2) ** n_terms / factorial(n_terms))
