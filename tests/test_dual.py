from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping, random_dual, separable

from svmlab import certificates as c
from svmlab import dual as d
from svmlab.kernels import linear_kernel
from svmlab.margins import functional_margins
from svmlab.primal import primal_objective, slack
from svmlab.smo import solve_dual

pytestmark = pytest.mark.core
TWO_POINTS = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])  # alpha = 2/9, w = 2/3, b = -1/3


@pytest.fixture
def hard(rng):
    X, y = separable(rng)
    result = solve_dual(linear_kernel(X, X), y, C=1e6, tol=1e-9)
    return X, y, result.alpha, d.weights_from_alpha(result.alpha, X, y), result.b


@pytest.fixture
def soft(rng):
    X, y = overlapping(rng)
    result = solve_dual(linear_kernel(X, X), y, C=0.7, tol=1e-9)
    return X, y, result.alpha, d.weights_from_alpha(result.alpha, X, y), result.b


def test_two_points_by_hand():
    X, y = TWO_POINTS
    alpha = np.full(2, 2 / 9)
    w = d.weights_from_alpha(alpha, X, y)
    r = d.residuals(alpha, linear_kernel(X, X), y)
    np.testing.assert_allclose(w, [2 / 3])
    np.testing.assert_allclose(r, -1 / 3)
    assert np.isclose(d.dual_objective(alpha, linear_kernel(X, X), y), 0.5 * w @ w)


def test_lagrangian_maximised_over_alpha_is_the_hard_margin_objective(hard, rng):
    X, y, alpha, w, b = hard
    at_optimum = d.lagrangian(w, b, alpha, X, y)
    assert np.isclose(at_optimum, 0.5 * w @ w, rtol=1e-6)
    for _ in range(20):
        other = rng.exponential(size=len(y))
        assert d.lagrangian(w, b, other, X, y) <= at_optimum + 1e-6
    broken = 0.5 * w  # breaks constraints: the maximum over alpha is infinite
    worst = int(functional_margins(X, y, broken, b).argmin())
    assert d.lagrangian(broken, b, 1e9 * np.eye(len(y))[worst], X, y) > 1e6


def test_lagrangian_minimised_over_w_and_b_is_the_dual_objective(hard, rng):
    X, y, alpha, w, b = hard
    value = d.dual_objective(alpha, linear_kernel(X, X), y)
    assert np.isclose(d.lagrangian(w, b, alpha, X, y), value, rtol=1e-6)
    for _ in range(20):
        other = d.lagrangian(w + rng.normal(size=3), b + rng.normal(), alpha, X, y)
        assert other >= value - 1e-6


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_every_feasible_alpha_is_below_every_primal_point(kernel, rng):
    K, y, C = random_dual(rng, kernel)
    for _ in range(20):
        alpha = rng.uniform(0, C, size=len(y))
        total_up, total_down = alpha[y > 0].sum(), alpha[y < 0].sum()
        alpha *= np.where(y > 0, min(1, total_down / total_up), min(1, total_up / total_down))
        assert c.equality_violation(alpha, y) < 1e-9
        other = rng.uniform(0, C, size=len(y))
        primal = c.kernel_primal_objective(other, float(rng.normal()), K, y, C)
        assert d.dual_objective(alpha, K, y) <= primal


def test_strong_duality_and_the_gap_bound(soft):
    X, y, alpha, w, b = soft
    K = linear_kernel(X, X)
    assert np.isclose(primal_objective(w, b, X, y, 0.7), d.dual_objective(alpha, K, y), rtol=1e-7)
    for tol in (1e-1, 1e-3):
        rough = solve_dual(K, y, 0.7, tol=tol)
        assert -1e-12 <= rough.gap <= len(y) * 0.7 * max(rough.violation, 0) + 1e-12


def test_each_kkt_condition_holds_at_the_hard_margin_and_sees_its_own_breach(hard):
    X, y, alpha, w, b = hard
    margins = functional_margins(X, y, w, b)
    assert c.stationarity_violation(w, alpha, X, y) < 1e-12
    assert c.equality_violation(alpha, y) < 1e-9
    assert c.primal_infeasibility(margins) < 1e-6
    assert c.box_violation(alpha, np.inf) == 0
    assert c.complementarity_violation(margins, alpha) < 1e-5

    assert c.stationarity_violation(w + 0.1, alpha, X, y) > 0.05
    assert c.equality_violation(alpha + np.eye(len(y))[0], y) > 0.5
    assert c.primal_infeasibility(0.9 * margins) > 0.05
    assert c.box_violation(alpha - 1.0, np.inf) > 0.5
    far = int(margins.argmax())
    assert margins[far] > 1.5
    assert c.complementarity_violation(margins, alpha + np.eye(len(y))[far]) > 0.5


def test_multipliers_vanish_off_the_two_hyperplanes_and_w_needs_support_vectors_only(hard):
    X, y, alpha, w, b = hard
    off = functional_margins(X, y, w, b) > 1 + 1e-6
    assert off.sum() > len(y) / 2
    assert np.all(alpha[off] == 0)
    on = ~off
    np.testing.assert_allclose(d.weights_from_alpha(alpha[on], X[on], y[on]), w, atol=1e-12)


def test_soft_margin_conditions_with_slack(soft):
    X, y, alpha, w, b = soft
    margins, xi = functional_margins(X, y, w, b), slack(X, y, w, b)
    assert c.primal_infeasibility(margins, xi) < 1e-12
    assert c.complementarity_violation(margins, alpha, 0.7, xi) < 1e-6
    assert c.margin_violations(margins, alpha, 0.7).max() < 1e-6
    worst = int(xi.argmax())  # a point with slack pays the full price: less than C breaks this
    less = alpha - 0.1 * np.eye(len(y))[worst]
    assert np.isclose(c.complementarity_violation(margins, less, 0.7, xi), 0.1 * xi[worst])
    assert np.all(alpha[margins < 1 - 1e-6] == 0.7)
    assert np.all(alpha[margins > 1 + 1e-6] == 0.0)


def test_without_an_upper_bound_a_margin_below_one_is_always_a_violation():
    margins, alpha = np.array([0.5, 2.0, 1.0]), np.array([7.0, 0.0, 1.0])
    for share in (0.0, 1e-4):
        broken = c.margin_violations(margins, alpha, np.inf, at_bound=share)
        np.testing.assert_array_equal(broken, [0.5, 0, 0])


def test_intercept_interval_contains_every_optimal_b_and_nothing_else():
    # Two pairs of coinciding points: every alpha is at a bound, so b is free in an interval.
    X, y = np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    K = linear_kernel(X, X)
    alpha = np.full(4, 0.1)
    r, (up, low) = d.residuals(alpha, K, y), d.movable(alpha, y, 0.1)
    lowest, highest = d.intercept_interval(r, up, low)
    assert lowest < highest
    best = c.kernel_primal_objective(alpha, 0.5 * (lowest + highest), K, y, 0.1)
    for b in np.linspace(lowest, highest, 9):
        assert np.isclose(c.kernel_primal_objective(alpha, b, K, y, 0.1), best)
    for b in (lowest - 0.1, highest + 0.1):
        assert c.kernel_primal_objective(alpha, b, K, y, 0.1) > best + 1e-3
    assert np.isclose(d.intercept(r, alpha, 0.1, up, low), 0.5 * (lowest + highest))


def test_certificate_finds_a_small_error_in_alpha_and_in_b(soft):
    X, y, alpha, _, b = soft
    K = linear_kernel(X, X)
    good = c.certify(alpha, b, K, y, 0.7)
    assert good.violation < 1e-8
    assert good.gap < 1e-7
    free = int(np.flatnonzero((alpha > 0) & (alpha < 0.7))[0])
    moved = alpha + 1e-3 * np.eye(len(y))[free]
    assert c.certify(moved, b, K, y, 0.7).violation > 1e-4
    assert c.certify(alpha, b + 0.1, K, y, 0.7).gap > 1e-3


def test_homogeneous_hard_margin_dual_is_spanned_by_the_points_on_the_margin(rng):
    from svmlab.coordinate import dual_coordinate_descent

    X, y = separable(rng)
    X = X - 1.0  # the hyperplane through the origin separates
    result = dual_coordinate_descent(X, y, C=np.inf, tol=1e-10, max_iter=100_000)
    assert result.alpha is not None
    margins = functional_margins(X, y, result.w)
    on = np.abs(margins - 1) < 1e-5
    assert np.all(result.alpha[~on] < 1e-7)
    np.testing.assert_allclose(X[on].T @ (result.alpha * y)[on], result.w, atol=1e-5)
    dual = d.dual_objective(result.alpha, linear_kernel(X, X), y)
    assert np.isclose(dual, 0.5 * result.w @ result.w, rtol=1e-6)
