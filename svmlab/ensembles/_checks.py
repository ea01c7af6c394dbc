"""Checks that only the ensembles need: class codes and categorical columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from svmlab.types import Indices, Matrix, Vector
from svmlab.validation import check_codes, check_costs, check_count

MAX_CODE = 4095  # a tree keeps one bit a node for each code


def check_classes(y: ArrayLike, n: int, n_classes: int | None = None) -> tuple[Indices, int]:
    """Return y as class codes 0, …, K − 1 together with K.

    >>> check_classes([0, 2, 1], 3)
    (array([0, 2, 1]), 3)
    """
    codes = check_codes(y, n)
    largest = int(codes.max())
    if largest > MAX_CODE:
        raise ValueError(f"y must hold class codes up to {MAX_CODE}, got {largest}")
    if n_classes is None:
        n_classes = largest + 1
    check_count(n_classes=n_classes)
    if largest >= n_classes:
        raise ValueError(f"y must hold codes below n_classes = {n_classes}, got {largest}")
    return codes, n_classes


def check_categorical(X: Matrix, categorical: tuple[int, ...]) -> None:
    """Raise unless the named columns exist and hold category codes 0, 1, ....

    >>> check_categorical(np.array([[0.5]]), (0,))
    Traceback (most recent call last):
    ValueError: X[:, 0] is categorical and must hold codes 0, 1, ..., 4095, got 0.5
    """
    for j in categorical:
        if not 0 <= j < X.shape[1]:
            raise ValueError(f"categorical must name columns 0 to {X.shape[1] - 1}, got {j}")
        column = X[:, j]
        strange = column[(column < 0) | (column > MAX_CODE) | (column != np.floor(column))]
        if strange.size:
            raise ValueError(
                f"X[:, {j}] is categorical and must hold codes 0, 1, ..., {MAX_CODE}, "
                f"got {strange[0]:g}"
            )


def check_weights(sample_weight: ArrayLike | None, n: int) -> Vector:
    """Return the weight of each example, 1 where none is given.

    >>> check_weights(None, 2)
    array([1., 1.])
    """
    return check_costs(1.0 if sample_weight is None else sample_weight, n, "sample_weight")
