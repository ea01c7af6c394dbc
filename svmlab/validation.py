"""Checks of what callers pass in: a ``ValueError`` names the argument, its value and the rule.

Integers and any memory order just work; everything comes back as float64 in C order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmlab._jit import jit
from svmlab.types import CSR, Columns, Entries, Indices, Matrix, Rows, Vector

NUMPY_BELOW = 200_000  # stored entries that numpy sorts fast enough


def check_matrix(X: ArrayLike, name: str = "X") -> Matrix:
    """Return X as a finite float64 matrix with at least one row and one column.

    >>> check_matrix([[1, 2], [3, 4]])
    array([[1., 2.], [3., 4.]])
    >>> check_matrix([1, 2])
    Traceback (most recent call last):
    ValueError: X must be a matrix (n, d), got an array of shape (2,); use X.reshape(-1, 1)...
    """
    matrix = _as_float(X, name)
    if matrix.ndim != 2:
        hint = f"; use {name}.reshape(-1, 1) for one feature" if matrix.ndim == 1 else ""
        raise ValueError(
            f"{name} must be a matrix (n, d), got an array of shape {matrix.shape}{hint}"
        )
    if 0 in matrix.shape:
        raise ValueError(
            f"{name} is empty: shape {matrix.shape}; it needs at least one row and column"
        )
    _check_finite(matrix, name)
    return matrix


def check_vector(v: ArrayLike, name: str, length: int | None = None) -> Vector:
    """Return v as a finite float64 vector, of the given length if one is asked for.

    >>> check_vector([1, 2], "w", length=3)
    Traceback (most recent call last):
    ValueError: w must have 3 entries, got 2
    """
    vector = _as_float(v, name)
    if vector.ndim != 1:
        raise ValueError(f"{name} must be a vector, got an array of shape {vector.shape}")
    if length is not None and vector.size != length:
        raise ValueError(f"{name} must have {length} entries, got {vector.size}")
    if vector.size == 0:
        raise ValueError(f"{name} is empty")
    _check_finite(vector, name)
    return vector


def check_rows(X: Any, name: str = "X", *, keep_float32: bool = False) -> Rows:
    """Return X as a matrix, or as ``CSR`` if it has the three arrays of sparse rows.

    Sparse rows share the caller's arrays where their types allow it: float64, float32 if it is to
    be kept, and int32 or int64 columns. These may be in any order; if a row has one of them twice,
    the two entries are added up.

    >>> check_rows([[0, 1]])
    array([[0., 1.]])
    """
    if not is_csr(X):
        if hasattr(X, "tocsr"):
            raise ValueError(f"{name} is sparse but not CSR; convert it with {name}.tocsr()")
        return check_matrix(X, name)
    n, d = X.shape
    if n == 0 or d == 0:
        raise ValueError(f"{name} is empty: shape {(n, d)}; it needs at least one row and column")
    is_single = keep_float32 and X.data.dtype == np.float32
    is_short = X.indices.dtype == np.int32
    data: Entries = np.ascontiguousarray(X.data, dtype=np.float32 if is_single else np.float64)
    indices: Columns = np.ascontiguousarray(X.indices, dtype=np.int32 if is_short else np.int64)
    indptr = np.ascontiguousarray(X.indptr, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(data.sum()):  # a sum needs no memory, and only overflow misleads it
            _check_finite(data, name)
    if indptr.shape != (n + 1,) or indptr[0] != 0 or indptr[-1] != data.size:
        raise ValueError(f"{name}.indptr must rise from 0 to {data.size} in {n + 1} entries")
    if np.any(np.diff(indptr) < 0):
        raise ValueError(f"{name}.indptr must not fall")
    is_long = indices.size == data.size
    rise = columns_rise if data.size >= NUMPY_BELOW else columns_rise.plain
    if is_long and rise(indices, indptr, d):
        return CSR(data, indices, indptr, (n, d))
    if not is_long or not 0 <= indices.min() <= indices.max() < d:
        raise ValueError(f"{name}.indices must be {data.size} columns in [0, {d})")
    X = CSR(data, indices, indptr, (n, d))
    return _added_up(X) if _holds_a_column_twice(X) else X


def is_csr(X: object) -> bool:
    """Tell whether X carries compressed sparse rows, without importing scipy.

    >>> is_csr(np.eye(2))
    False
    """
    has_arrays = all(hasattr(X, name) for name in ("data", "indices", "indptr", "shape"))
    return has_arrays and getattr(X, "format", "csr") == "csr"


def check_signs(y: ArrayLike, n: int, name: str = "y") -> Vector:
    """Return y as floats −1 and +1, with both classes present.

    >>> check_signs([1, -1, 1], 3)
    array([ 1., -1.,  1.])
    >>> check_signs([0, 1, 1], 3)
    Traceback (most recent call last):
    ValueError: y must hold -1 and +1 only, got 0; map your labels first...
    """
    signs = check_vector(y, name, n)
    strange = signs[np.abs(signs) != 1.0]
    if strange.size:
        raise ValueError(
            f"{name} must hold -1 and +1 only, got {strange[0]:g}; map your labels first, "
            f"e.g. np.where({name} == positive, 1.0, -1.0)"
        )
    if np.all(signs == signs[0]):
        raise ValueError(f"{name} holds one class only ({signs[0]:+g}); both -1 and +1 are needed")
    return signs


def check_codes(codes: ArrayLike, n: int, name: str = "y") -> Indices:
    """Return n class codes 0, 1, … as integers.

    >>> check_codes([0, 2.0, 1], 3)
    array([0, 2, 1])
    >>> check_codes([-1, 1], 2)
    Traceback (most recent call last):
    ValueError: y must hold class codes 0, 1, ..., got -1; map your labels first...
    """
    values = check_vector(codes, name, n)
    strange = values[(values < 0) | (values != np.floor(values))]
    if strange.size:
        raise ValueError(
            f"{name} must hold class codes 0, 1, ..., got {strange[0]:g}; map your labels first, "
            f"e.g. np.unique({name}, return_inverse=True)[1]"
        )
    return values.astype(np.int64)


def check_gram(K: ArrayLike, name: str = "K") -> Matrix:
    """Return K as a square, symmetric matrix.

    >>> check_gram([[1, 2], [0, 1]])
    Traceback (most recent call last):
    ValueError: K must be symmetric, but K[0, 1] = 2 and K[1, 0] = 0
    """
    gram = check_matrix(K, name)
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"{name} must be square (n, n), got shape {gram.shape}")
    if np.array_equal(gram, gram.T):
        return gram
    gap = np.abs(gram - gram.T)
    if gap.max() > 1e-8 * max(1.0, np.abs(gram).max()):
        i, j = sorted(np.unravel_index(int(gap.argmax()), gap.shape))
        raise ValueError(
            f"{name} must be symmetric, but {name}[{i}, {j}] = {gram[i, j]:g} "
            f"and {name}[{j}, {i}] = {gram[j, i]:g}"
        )
    return gram


def check_positive(**values: float) -> None:
    """Raise unless each named value is a finite number above 0.

    >>> check_positive(C=1.0, gamma=-1.0)
    Traceback (most recent call last):
    ValueError: gamma must be a finite number above 0, got -1.0
    """
    for name, value in values.items():
        if not (_is_finite_number(value) and value > 0):
            raise ValueError(f"{name} must be a finite number above 0, got {value!r}")


def check_nonnegative(**values: float) -> None:
    """Raise unless each named value is a finite number, 0 or above.

    >>> check_nonnegative(epsilon=-0.1)
    Traceback (most recent call last):
    ValueError: epsilon must be a finite number, 0 or above, got -0.1
    """
    for name, value in values.items():
        if not (_is_finite_number(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number, 0 or above, got {value!r}")


def check_count(**values: int) -> None:
    """Raise unless each named value is a whole number, 1 or above.

    >>> check_count(max_iter=0)
    Traceback (most recent call last):
    ValueError: max_iter must be a whole number, 1 or above, got 0
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} must be a whole number, 1 or above, got {value!r}")


def check_costs(C: ArrayLike, n: int, name: str = "C") -> Vector:
    """Return the slack cost of each example: a number above 0 for all, or n numbers, 0 or above.

    >>> check_costs(2, 3)
    array([2., 2., 2.])
    >>> check_costs(0, 3)
    Traceback (most recent call last):
    ValueError: C must be a finite number above 0, got 0
    """
    if np.ndim(C) == 0:
        check_positive(**{name: C})  # type: ignore[arg-type]
        return np.full(n, float(C))  # type: ignore[arg-type]
    costs = check_vector(C, name, n)
    if costs.min() < 0 or costs.max() == 0:
        raise ValueError(f"{name} must be 0 or above, and above 0 somewhere, got {costs.min():g}")
    return costs


def check_validation_set(X_val: Any, y_val: ArrayLike | None, d: int) -> tuple[Rows, Vector] | None:
    """Return a validation set of d columns, or None where there is none.

    >>> check_validation_set([[1.0]], None, 1)
    Traceback (most recent call last):
    ValueError: X_val and y_val belong together: give both or none
    """
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val belong together: give both or none")
    if X_val is None or y_val is None:
        return None
    rows = check_rows(X_val, "X_val")
    if rows.shape[1] != d:
        raise ValueError(f"X_val must have {d} columns as X has, got {rows.shape[1]}")
    return rows, check_signs(y_val, rows.shape[0], "y_val")


def check_choice(value: str, choices: tuple[str, ...], name: str) -> None:
    """Raise unless value is one of the choices.

    >>> check_choice("l2", ("hinge", "logistic"), "loss")
    Traceback (most recent call last):
    ValueError: loss must be one of 'hinge', 'logistic', got 'l2'
    """
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


@jit(nogil=True)
def columns_rise(indices: Columns, indptr: Indices, d: int) -> bool:
    """Tell whether the columns of each row rise, from 0 at the least to below d."""
    for i in range(len(indptr) - 1):
        row = indices[indptr[i] : indptr[i + 1]]
        falls = len(row) > 0 and (row[0] < 0 or row[-1] >= d)
        for k in range(1, len(row)):  # to the end, so that many are compared at a time
            falls |= row[k] <= row[k - 1]
        if falls:
            return False
    return True


def _columns_rise_in_numpy(indices: Columns, indptr: Indices, d: int) -> bool:
    if not indices.size:
        return True
    begins = indptr[:-1][np.diff(indptr) > 0]
    firsts, lasts = indices[begins], indices[np.append(begins[1:], indices.size) - 1]
    falls = np.count_nonzero(indices[1:] <= indices[:-1])
    is_sorted = falls == np.count_nonzero(firsts[1:] <= lasts[:-1])  # only where a row begins
    return bool(is_sorted and firsts.min() >= 0 and lasts.max() < d)


columns_rise.plain = _columns_rise_in_numpy  # no Python loop over entries


def _added_up(X: CSR) -> CSR:
    """Return rows whose columns rise; entries given for the same column are added up."""
    n, d = X.shape
    row = np.repeat(np.arange(n), np.diff(X.indptr))
    places, entry = np.unique(row * d + X.indices, return_inverse=True)
    data = np.asarray(np.bincount(entry, weights=X.data, minlength=places.size), dtype=np.float64)
    indptr = np.searchsorted(places, np.arange(n + 1) * d)
    return CSR(data, places % d, indptr, X.shape)


def _holds_a_column_twice(X: CSR) -> bool:
    """Tell whether a row, its columns in any order, has one of them twice."""
    n, d = X.shape
    if X.data.size >= NUMPY_BELOW:
        return bool(meets_a_column_twice(X.indices, X.indptr, d))
    row = np.repeat(np.arange(n), np.diff(X.indptr))
    return np.unique(row * d + X.indices).size < X.data.size


@jit(nogil=True)
def meets_a_column_twice(indices: Columns, indptr: Indices, d: int) -> bool:
    """Tell whether a row has a column twice: remember in which row each was met last."""
    met = np.full(d, -1)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            if met[indices[p]] == i:
                return True
            met[indices[p]] = i
    return False


def _is_finite_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and bool(np.isfinite(value))


def _as_float(values: ArrayLike, name: str) -> Matrix:
    array = np.asarray(values)
    if array.dtype.kind not in "buif":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64) if array.ndim else array.astype(np.float64)


def _check_finite(array: Entries, name: str) -> None:
    bad = ~np.isfinite(array)
    if bad.any():
        where = [int(k) for k in np.argwhere(bad)[0]]
        raise ValueError(
            f"{name} must be finite, but {name}{where} is {array[tuple(where)]}; "
            "drop or impute such values first"
        )
