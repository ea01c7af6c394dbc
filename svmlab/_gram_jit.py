"""Weighted sums of rows of a table, which kernel rows and residuals are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmlab._jit import jit

LINE = 16  # float32 that are read from memory together
TILE = 2048  # columns that stay in the nearest cache while many rows are added to them


@jit(nogil=True)
def add_rows(total: Any, weights: Any, table: Any, places: Any) -> None:
    """Add Σ weights[k] table[places[k]] to ``total``, in place.

    Four rows at a time, so that ``total`` is read and written a quarter as often.
    """
    k, m = 0, total.size
    while k + 4 <= len(places):
        a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        p, q, r, s = places[k], places[k + 1], places[k + 2], places[k + 3]
        for t in range(m):
            total[t] += a * table[p, t] + b * table[q, t] + c * table[r, t] + d * table[s, t]
        k += 4
    while k < len(places):
        for t in range(m):
            total[t] += weights[k] * table[places[k], t]
        k += 1


def _add_rows_in_numpy(total: Any, weights: Any, table: Any, places: Any) -> None:
    total += weights @ table[places]


add_rows.plain = _add_rows_in_numpy  # numpy hides the loops that the compiler wants to see


@jit(nogil=True)
def sparse_products(data: Any, indices: Any, indptr: Any, panel: Any, out: Any) -> None:
    """Set out[i] to the products of sparse row i with the m columns of ``panel`` (d, m)."""
    for i in range(len(indptr) - 1):
        row = slice(indptr[i], indptr[i + 1])
        out[i] = 0.0
        add_rows(out[i], data[row], panel, indices[row])


@jit(nogil=True)
def store(values: Any, kept: Any, places: Any) -> None:
    """Make row k of ``values`` the row places[k] of ``kept``, unless that is negative."""
    stay = np.flatnonzero(places >= 0)
    for start in range(0, stay.size, LINE):
        for t in range(values.shape[1]):
            for k in stay[start : start + LINE]:
                kept[places[k], t] = values[k, t]


@jit(nogil=True, fastmath={"reassoc", "contract"})  # in any order, for vector instructions
def add_block(total: Any, weights: Any, values: Any) -> None:
    """Add Σ weights[k] values[k] to ``total``, in place, for values that are in a near cache."""
    for t in range(total.size):
        own = 0.0
        for k in range(weights.size):
            own += weights[k] * values[k, t]
        total[t] += own


def _add_block_in_numpy(total: Any, weights: Any, values: Any) -> None:
    total += weights @ values


add_block.plain = _add_block_in_numpy


@jit(nogil=True)
def add_long_rows(total: Any, weights: Any, table: Any, places: Any) -> None:
    """Do as :func:`add_rows` for rows that are longer than a near cache."""
    for start in range(0, total.size, TILE):
        part = slice(start, start + TILE)
        add_rows(total[part], weights, table[:, part], places)
