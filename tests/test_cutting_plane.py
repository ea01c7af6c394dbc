from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from problems import overlapping
from test_coordinate import as_csr

from svmlab.coordinate import certify_linear, dual_coordinate_descent
from svmlab.cutting_plane import cutting_plane, most_violated, solve_cuts
from svmlab.losses import hinge_loss
from svmlab.margins import functional_margins
from svmlab.primal import primal_objective
from svmlab.types import ConvergenceWarning

pytestmark = pytest.mark.core


def test_two_points_by_hand():
    # As for coordinate descent: w = 3C up to C = 1/6; at C = 1/4 the first is on its margin.
    X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    for C, w, alpha in ((1 / 8, 3 / 8, (1 / 8, 1 / 8)), (1 / 4, 1 / 2, (1 / 8, 1 / 4))):
        result = cutting_plane(X, y, C, tol=1e-10)
        np.testing.assert_allclose(result.w, [w], atol=1e-9)
        np.testing.assert_allclose(result.alpha, alpha, atol=1e-9)


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-6])
def test_the_gap_is_at_most_n_C_epsilon(rng, C, tol):
    X, y = overlapping(rng, n=60)
    result = cutting_plane(X, y, C, tol=tol)
    proof = certify_linear(result.alpha, X, y, C)
    assert result.converged
    assert result.violation <= tol
    assert -1e-9 * result.objective <= result.gap <= len(y) * C * tol
    assert result.objective == pytest.approx(primal_objective(result.w, 0.0, X, y, C))
    assert result.bound == pytest.approx(proof.dual)
    optimum = dual_coordinate_descent(X, y, C, tol=1e-10).objective
    assert result.bound <= optimum * (1.0 + 1e-10)
    assert optimum <= result.objective * (1.0 + 1e-10)


def test_a_loose_tolerance_leaves_a_gap_that_the_bound_allows(rng):
    X, y = overlapping(rng, n=60)
    loose, tight = (cutting_plane(X, y, tol=tol) for tol in (1e-1, 1e-6))
    assert loose.n_iter < tight.n_iter
    assert loose.gap > 60 * 1e-6


def test_the_most_violated_of_all_sets(rng):
    X, y = overlapping(rng, n=8)
    w = rng.normal(size=3)
    margins = functional_margins(X, y, w)
    best = max(np.array(c) @ (1.0 - margins) for c in product((0, 1), repeat=8))
    chosen = most_violated(X, y, w)
    assert chosen @ (1.0 - margins) == pytest.approx(best)
    assert best == pytest.approx(hinge_loss(margins).sum())


def test_the_small_problem_is_solved_to_its_optimum(rng):
    # On a simplex the optimum is where all weights sit on the largest slopes (KKT).
    for _ in range(20):
        k = int(rng.integers(2, 7))
        planes = np.vstack((np.zeros(4), rng.normal(size=(k, 4))))
        gram, sizes = planes @ planes.T, np.append(0.0, rng.uniform(0.0, 2.0, k))
        start = np.append(1.5, np.zeros(k))
        beta, _ = solve_cuts(gram, sizes, start, 1.5, 1e-10)
        slopes = sizes - gram @ beta
        assert beta.min() >= 0.0
        assert beta.sum() == pytest.approx(1.5)
        assert slopes.max() - slopes[beta > 0.0].min() <= 1e-9
        assert start[0] == 1.5


def test_bounds_of_the_rounds_rise(rng):
    X, y = overlapping(rng, n=60)
    result = cutting_plane(X, y, 5.0, tol=1e-5)
    history = result.history
    assert np.all(np.diff(history["bound"]) > -1e-9)
    assert np.all(history["bound"] <= result.objective + 1e-9)
    np.testing.assert_allclose(
        history["violation"], (history["objective"] - history["bound"]) / (60 * 5.0)
    )
    assert history["step"][-1] == result.n_iter


def test_sparse_and_dense_rows_agree(rng):
    X, y = overlapping(rng, n=50, d=6)
    X[rng.random(X.shape) < 0.5] = 0.0
    full, sparse = (cutting_plane(rows, y, tol=1e-8) for rows in (X, as_csr(X)))
    np.testing.assert_allclose(sparse.w, full.w, atol=1e-6)


def test_duplicating_the_data_halves_C(rng):
    X, y = overlapping(rng)
    once = cutting_plane(X, y, 2.0, tol=1e-9)
    twice = cutting_plane(np.vstack((X, X)), np.tile(y, 2), 1.0, tol=1e-9)
    np.testing.assert_allclose(twice.w, once.w, atol=1e-6)
    assert twice.objective == pytest.approx(once.objective)


def test_flipping_the_signs_flips_w(rng):
    X, y = overlapping(rng)
    w = cutting_plane(X, y, tol=1e-9).w
    np.testing.assert_allclose(cutting_plane(X, -y, tol=1e-9).w, -w, atol=1e-6)


def test_too_few_rounds_warn_with_the_violation(rng):
    X, y = overlapping(rng)
    with pytest.warns(ConvergenceWarning, match="violation"):
        result = cutting_plane(X, y, max_iter=2)
    assert not result.converged
    assert result.n_iter == 2
    assert result.violation > 1e-3
    assert result.gap == pytest.approx(result.violation * len(y))


def test_integers_and_fortran_order_just_work():
    X, y = np.asfortranarray([[2, 1], [-1, 0], [0, -3]]), np.array([1, -1, -1])
    assert cutting_plane(X, y, 1).converged


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": [[np.nan], [1.0]]}, "X must be finite"),
        ({"X": np.empty((0, 1))}, "X is empty"),
        ({"y": [1.0, 1.0]}, "one class"),
        ({"y": [0.0, 1.0]}, "-1 and \\+1 only"),
        ({"y": [1.0, -1.0, 1.0]}, "2 entries, got 3"),
        ({"C": 0.0}, "C must be"),
        ({"C": np.inf}, "C must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_input_is_named(changes, message):
    arguments = {"X": [[1.0], [-1.0]], "y": [1.0, -1.0], **changes}
    with pytest.raises(ValueError, match=message):
        cutting_plane(**arguments)
