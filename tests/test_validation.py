from __future__ import annotations

import numpy as np
import pytest

from svmlab import rows
from svmlab.types import CSR
from svmlab.validation import check_matrix, check_rows, check_vector, is_csr

pytestmark = pytest.mark.core


class Sparse:
    """Looks like scipy's csr_matrix."""

    format = "csr"

    def __init__(self, data, indices, indptr, shape):
        self.data, self.indices, self.indptr, self.shape = map(
            np.asarray, (data, indices, indptr, shape)
        )
        self.shape = shape


GOOD = Sparse([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 2, 3], (3, 4))
DENSE = np.array([[1.0, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0]])


def test_sparse_rows_are_recognised_by_their_arrays():
    X = check_rows(GOOD)
    assert isinstance(X, CSR)
    np.testing.assert_array_equal(rows.dense(X), DENSE)
    assert not is_csr(DENSE)


def test_products_of_sparse_rows_equal_those_of_dense_ones(rng):
    X, w, v = check_rows(GOOD), rng.normal(size=4), rng.normal(size=3)
    np.testing.assert_allclose(rows.times(X, w), DENSE @ w)
    np.testing.assert_allclose(rows.transposed_times(X, v), DENSE.T @ v)
    np.testing.assert_allclose(rows.squared_norms(X), (DENSE**2).sum(axis=1))
    index = np.array([2, 0, 2])
    np.testing.assert_array_equal(rows.dense(rows.take(X, index)), DENSE[index])
    with_bias = rows.dense(rows.with_bias_column(X, 5.0))
    np.testing.assert_array_equal(with_bias, np.column_stack((DENSE, np.full(3, 5.0))))


def test_a_bias_column_acts_as_the_intercept(rng):
    X, w, b = rng.normal(size=(5, 3)), rng.normal(size=3), 0.7
    np.testing.assert_allclose(rows.times(rows.with_bias_column(X), np.append(w, b)), X @ w + b)


def test_columns_in_any_order_are_sorted_and_those_given_twice_add_up():
    X = check_rows(Sparse([1.0, 2.0, 5.0, 4.0, 3.0], [2, 2, 0, 1, 0], [0, 0, 3, 3, 5], (4, 3)))
    assert isinstance(X, CSR)
    np.testing.assert_array_equal(rows.dense(X), [[0, 0, 0], [5, 0, 3], [0, 0, 0], [3, 4, 0]])
    np.testing.assert_array_equal(rows.squared_norms(X), [0, 34, 0, 25])
    np.testing.assert_array_equal(X.indices, [0, 2, 0, 1])


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (Sparse([1.0], [4], [0, 1], (1, 4)), r"X.indices must be 1 columns in \[0, 4\)"),
        (Sparse([1.0], [0], [0, 2], (1, 4)), "X.indptr must rise from 0 to 1"),
        (Sparse([1.0, 1.0], [0, 1], [0, 2, 1, 2], (3, 4)), "X.indptr must not fall"),
        (Sparse([np.nan], [0], [0, 1], (1, 4)), "X must be finite"),
        (Sparse([], [], [0], (0, 4)), "X is empty"),
        (np.zeros((3, 0)), "X is empty"),
        ([[1, 2], [3, np.inf]], r"X must be finite, but X\[1, 1\] is inf"),
        ([["a"]], "X must hold real numbers"),
        ([[1j]], "X must hold real numbers"),
        (np.zeros((2, 2, 2)), r"X must be a matrix \(n, d\), got an array of shape \(2, 2, 2\)"),
    ],
)
def test_bad_rows_are_named(X, words):
    with pytest.raises(ValueError, match=words):
        check_rows(X)


def test_other_sparse_formats_say_how_to_convert():
    class Columns(Sparse):
        format = "csc"

        def tocsr(self):
            return self

    with pytest.raises(ValueError, match=r"convert it with X.tocsr\(\)"):
        check_rows(Columns([1.0], [0], [0, 1], (1, 1)))


def test_integers_lists_and_fortran_order_just_work():
    X = np.asfortranarray([[1, 2], [3, 4]])
    checked = check_matrix(X)
    assert checked.flags.c_contiguous
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(check_vector([1, 2, 3], "w"), [1.0, 2.0, 3.0])
