"""The search for the split of one cell: numeric and categorical variables.

Columns are stored as rows of an array (d, n), so that one variable lies together in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmlab.ensembles.impurity import cell_impurity, cell_weight, impurity_decrease
from svmlab.types import Indices, Mask, Matrix, Vector

MAX_EXHAUSTIVE = 10  # categories up to which all subsets are tried when there are over two classes
ROUNDING = 1e-12  # decreases closer than this, relative to the impurity of the cell, are ties
CHUNK = 2**21  # partial sums held in memory at a time


class Split(NamedTuple):
    """One split of a cell: left is v < threshold, or v in codes for a categorical variable."""

    feature: int
    threshold: float
    codes: Vector
    decrease: float

    def goes_left(self, values: Vector) -> Mask:
        """Tell which values of the variable go left."""
        if np.isnan(self.threshold):
            return np.isin(values, self.codes)
        return values < self.threshold


def find_split(
    columns: Matrix,
    sums: Matrix,
    features: Indices,
    criterion: str = "gini",
    mode: str = "best",
    categorical: tuple[int, ...] = (),
) -> Split | None:
    """Return the split of a cell that lowers its impurity most, None where no variable varies (G6).

    Of equal splits the one with the variable named first and the lowest threshold is taken.

    Parameters
    ----------
    columns : array (d, m)
        The m examples of the cell.
    sums : array (k, m)
        What each example adds to its cell.
    features : array
        The variables to look at.
    criterion, mode, categorical
        As in :class:`~svmlab.ensembles.trees.Growth`.

    >>> split = find_split(np.array([[1.0, 4.0, 2.0]]), np.array([[1, 0, 1.0], [0, 1, 0]]), [0])
    >>> split.feature, split.threshold
    (0, 3.0)
    """
    tie = ROUNDING * float(cell_impurity(sums.sum(axis=1), criterion))
    features = np.asarray(features)
    is_code = np.isin(features, categorical) if categorical else np.zeros(len(features), bool)
    numeric = features[~is_code]
    size = max(1, CHUNK // sums.size)
    found = [
        _numeric_split(columns, sums, numeric[start : start + size], criterion, mode, tie)
        for start in range(0, len(numeric), size)
    ]
    found += [
        _categorical_split(columns[j], sums, int(j), criterion, tie) for j in features[is_code]
    ]
    splits = [split for split in found if split is not None]
    splits.sort(key=lambda split: int(np.argmax(features == split.feature)))
    if not splits:
        return None
    return splits[_first_largest(np.array([split.decrease for split in splits]), tie)]


def _numeric_split(
    columns: Matrix, sums: Matrix, features: Indices, criterion: str, mode: str, tie: float
) -> Split | None:
    """Try every boundary between two different values of every variable in one sweep."""
    values = columns[features]
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    left = np.cumsum(sums.take(order, axis=1), axis=2)[:, :, :-1]
    total = sums.sum(axis=1)
    means = values[:, :0]
    usable = values[:, 1:] > values[:, :-1]
    if mode == "mean":
        weights = cell_weight(sums, criterion)
        means = np.sum(weights[order] * values, axis=1, keepdims=True) / weights.sum()
        usable &= (values[:, :-1] < means) & (means <= values[:, 1:])
    elif mode == "median":
        usable &= _halves(usable, cell_weight(left, criterion) / cell_weight(total, criterion))
    i, j = np.nonzero(usable)
    if not i.size:
        return None
    decrease = impurity_decrease(left[:, i, j], total, criterion)
    best = _first_largest(decrease, tie)
    i, j = i[best], j[best]
    threshold = means[i, 0] if mode == "mean" else _middle(values[i, j], values[i, j + 1])
    return Split(int(features[i]), float(threshold), np.empty(0), float(decrease[best]))


def _halves(usable: Mask, share: Matrix) -> Mask:
    """Mark for each variable the one boundary that halves the weight best."""
    distance = np.where(usable, np.abs(share - 0.5), np.inf)
    return np.asarray(np.arange(share.shape[1]) == np.argmin(distance, axis=1)[:, None])


def _middle(a: float, b: float) -> float:
    """Return a threshold s with a < s <= b, also where no number lies between."""
    s = 0.5 * a + 0.5 * b
    return s if s > a else b


def _categorical_split(
    codes: Vector, sums: Matrix, feature: int, criterion: str, tie: float
) -> Split | None:
    """Try subsets of the categories present."""
    present, index = np.unique(codes, return_inverse=True)
    if len(present) < 2:
        return None
    per_category = sums @ (index[:, None] == np.arange(len(present)))
    subsets = candidate_subsets(per_category, criterion)
    total = sums.sum(axis=1)
    decrease = impurity_decrease(per_category @ subsets.T, total, criterion)
    best = _first_largest(decrease, tie)
    return Split(feature, np.nan, present[subsets[best]], float(decrease[best]))


def candidate_subsets(per_category: Matrix, criterion: str) -> Mask:
    r"""Return the subsets s to try for a split v ∈ s against v ∉ s (G6).

    .. math:: s_j = \{\text{the } j \text{ categories of lowest } \bar y\}, \quad j < c
        \tag{eq-category-order}

    With two classes or a real target the best of all subsets is among these c − 1, since every
    impurity measure is concave. With more classes all subsets are tried up to ``MAX_EXHAUSTIVE``
    categories; beyond that, as a heuristic, the categories are put in order once for each class,
    by the frequency of that class.

    Parameters
    ----------
    per_category : array (k, c)
        Sums over the examples of each category.

    Returns
    -------
    array (n_subsets, c) of bool

    >>> candidate_subsets(np.array([[1.0, 3.0, 2.0], [3.0, 1.0, 2.0]]), "gini")
    array([[False,  True, False], [False,  True,  True]])
    """
    n_rows, c = per_category.shape
    if criterion != "variance" and n_rows > 2 and c <= MAX_EXHAUSTIVE:
        numbers = np.arange(1, 2 ** (c - 1))  # the last category stays right: s or its complement
        return np.asarray(numbers[:, None] >> np.arange(c) & 1, dtype=np.bool_)
    means = per_category / cell_weight(per_category, criterion)
    rows = [1] if criterion == "variance" or n_rows <= 2 else range(n_rows)
    orders = [np.argsort(means[min(k, n_rows - 1)], kind="stable") for k in rows]
    ranks = [np.argsort(order) for order in orders]
    return np.vstack([rank < np.arange(1, c)[:, None] for rank in ranks])


def _first_largest(values: Vector, tie: float) -> int:
    return int(np.argmax(values >= values.max() - tie))
