"""How mixed a cell of a tree is, and what a split gains.

A cell is described by the sums of what its examples add: for classification the weight of each
class, for regression the moments (Σw, Σwy, Σwy²). Divided by the weight of the cell they are the
class frequencies p, or (1, mean, mean square). Sums stand along the first axis; more axes hold
more cells.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from svmlab.types import Indices, Matrix, Vector

TINY = np.finfo(np.float64).tiny


def error_impurity(p: ArrayLike) -> Vector:
    r"""Return the error of the majority vote in a cell with class frequencies p (G6).

    .. math:: h(p) = 1 - \max_k p_k, \quad\text{for two classes } \min(p, 1-p)
        \tag{eq-impurity-error}

    It is 0 for a pure cell, where max(p, 1 − p) would be largest.

    >>> error_impurity([[0.5, 0.25, 1.0], [0.5, 0.75, 0.0]])
    array([0.5 , 0.25, 0.  ])
    """
    return np.asarray(1.0 - np.max(p, axis=0))


def gini_impurity(p: ArrayLike) -> Vector:
    r"""Return the chance that two draws from the cell differ in class (G6).

    .. math:: h(p) = \sum_k p_k (1 - p_k), \quad\text{for two classes } 2\,p(1-p)
        \tag{eq-impurity-gini}

    The factor 2 against p(1 − p) changes no choice of a split.

    >>> gini_impurity([[0.5, 0.25, 1.0], [0.5, 0.75, 0.0]])
    array([0.5 , 0.375, 0.   ])
    """
    frequencies = np.asarray(p, dtype=np.float64)
    return np.asarray(1.0 - np.einsum("k...,k...->...", frequencies, frequencies))


def entropy_impurity(p: ArrayLike) -> Vector:
    r"""Return the bits needed to tell the class of an example of the cell (G6).

    .. math:: h(p) = -\sum_k p_k \log_2 p_k  \tag{eq-impurity-entropy}

    >>> entropy_impurity([[0.5, 0.25, 1.0], [0.5, 0.75, 0.0]])
    array([1.        , 0.81127812, 0.        ])
    """
    frequencies = np.asarray(p, dtype=np.float64)
    logs = np.log2(np.where(frequencies > 0.0, frequencies, 1.0))
    return np.asarray(np.abs(np.sum(frequencies * logs, axis=0)))  # the sum is never positive


def variance_impurity(moments: ArrayLike) -> Vector:
    r"""Return the variance of the targets from (1, mean, mean square) of the cell (G6).

    .. math:: h = \overline{y^2} - \bar y^2  \tag{eq-impurity-variance}

    >>> float(variance_impurity([1.0, 2.0, 5.0]))
    1.0
    """
    _, mean, mean_square = np.asarray(moments, dtype=np.float64)
    return np.asarray(np.maximum(mean_square - mean * mean, 0.0))


IMPURITIES: dict[str, Callable[[ArrayLike], Vector]] = {
    "error": error_impurity,
    "gini": gini_impurity,
    "entropy": entropy_impurity,
    "variance": variance_impurity,
}


def class_sums(y: Indices, weights: Vector, n_classes: int) -> Matrix:
    """Return what each example adds to its cell: its weight, in the row of its class.

    >>> class_sums(np.array([1, 0]), np.array([1.0, 3.0]), 2)
    array([[0., 3.], [1., 0.]])
    """
    return np.where(np.arange(n_classes)[:, None] == y, weights, 0.0)


def moment_sums(y: Vector, weights: Vector) -> Matrix:
    """Return what each example adds to its cell: its weight times (1, y, y²).

    >>> moment_sums(np.array([2.0]), np.array([3.0])).ravel()
    array([ 3.,  6., 12.])
    """
    return np.stack((weights, weights * y, weights * y * y))


def cell_weight(sums: Matrix, criterion: str) -> Vector:
    """Return the total weight of the examples in each cell.

    >>> float(cell_weight(np.array([1.0, 3.0]), "gini"))
    4.0
    """
    return np.asarray(sums[0] if criterion == "variance" else sums.sum(axis=0))


def cell_impurity(sums: Matrix, criterion: str) -> Vector:
    """Return the impurity of each cell from the sums over its examples.

    >>> float(cell_impurity(np.array([1.0, 3.0]), "error"))
    0.25
    """
    return IMPURITIES[criterion](sums / np.maximum(cell_weight(sums, criterion), TINY))


def impurity_decrease(left: Matrix, total: Vector, criterion: str) -> Vector:
    r"""Return what splitting one cell gains, for many left parts at once (G6).

    .. math:: \Delta = h(\text{cell}) - \frac{W_L}{W} h(L) - \frac{W_R}{W} h(R)
        \tag{eq-impurity-decrease}

    It is never negative, as every measure h is concave.

    Parameters
    ----------
    left : array (k, ...)
        Sums over the left part of each split considered.
    total : array (k,)
        Sums over the cell.
    criterion : {"error", "gini", "entropy", "variance"}

    >>> impurity_decrease(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([2.0, 2.0]), "gini")
    array([0.5, 0. ])
    """
    h = IMPURITIES[criterion]
    cell = total.reshape(-1, *(1,) * (left.ndim - 1))
    right = cell - left
    W, W_left = cell_weight(cell, criterion), cell_weight(left, criterion)
    W_right = np.maximum(W - W_left, TINY)  # a tiny rest may be lost in rounding
    return np.asarray(h(cell / W) - (W_left * h(left / W_left) + W_right * h(right / W_right)) / W)
