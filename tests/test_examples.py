from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from svmlab.examples import POINTS, SIGNS, solve_exactly, worked_example
from svmlab.kernels import polynomial_kernel

pytestmark = pytest.mark.core


def test_worked_example_is_exact():
    example = worked_example()
    assert example.solution.alpha == (0, Fraction(5, 2), 0, Fraction(22, 3), Fraction(29, 6))
    assert example.solution.b == 9
    assert example.solution.dual == Fraction(22, 3)
    assert example.solution.smallest_C == Fraction(22, 3)
    assert example.polynomial == (Fraction(2, 3), Fraction(-16, 3), 9)


def test_worked_example_satisfies_the_kkt_conditions_in_fractions():
    example = worked_example()
    values = [example.f(Fraction(x)) for x in POINTS]
    margins = [s * f for s, f in zip(SIGNS, values, strict=True)]
    assert tuple(margins) == example.solution.margins
    assert min(margins) == 1
    assert sum(a * s for a, s in zip(example.solution.alpha, SIGNS, strict=True)) == 0
    assert all(a * (m - 1) == 0 for a, m in zip(example.solution.alpha, margins, strict=True))
    assert all(a >= 0 for a in example.solution.alpha)


def test_worked_example_uses_the_librarys_kernel():
    example = worked_example()
    np.testing.assert_array_equal(example.K, polynomial_kernel(example.X, example.X, degree=2))


def test_points_that_no_machine_separates_are_refused():
    with pytest.raises(ValueError, match="not separable"):
        solve_exactly([[1, 1], [1, 1]], [1, -1])
