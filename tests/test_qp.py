from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping, random_dual, separable

from svmlab import margins as m
from svmlab import qp
from svmlab.certificates import certify
from svmlab.dual import weights_from_alpha
from svmlab.examples import worked_example
from svmlab.kernels import linear_kernel
from svmlab.primal import balanced_costs, cost, primal_objective, slack
from svmlab.smo import solve_dual


def test_standard_form_has_the_objective_and_constraints_of_the_problem(rng):
    X, y = overlapping(rng)
    w, b, C = rng.normal(size=3), 0.3, 2.0
    xi = slack(X, y, w, b)
    x = np.concatenate((w, [b], xi))
    soft = qp.soft_margin_qp(X, y, C)
    assert np.isclose(0.5 * x @ soft.P @ x + soft.q @ x, primal_objective(w, b, X, y, C))
    assert np.all(soft.G @ x <= soft.h + 1e-12)
    assert np.any(soft.G @ np.concatenate((w, [b], xi - 1e-6)) > soft.h)


def test_worked_example_by_a_qp_solver_at_default_tolerance():
    example = worked_example()
    result = qp.solve_dual_qp(example.K, example.y, C=10.0)
    assert abs(22 / 3 - result.bound) / (22 / 3) <= 1e-8
    assert abs(result.b - 9) <= 1e-6


def test_hard_margin_primal_and_dual_agree(rng):
    X, y = separable(rng)
    primal = qp.solve_hard_margin(X, y)
    dual = solve_dual(linear_kernel(X, X), y, C=1e6, tol=1e-8)
    np.testing.assert_allclose(primal.w, weights_from_alpha(dual.alpha, X, y), atol=1e-5)
    assert np.isclose(primal.b, dual.b, atol=1e-5)
    assert primal.converged
    assert abs(primal.gap) < 1e-6


def test_the_two_hard_margin_formulations_have_the_same_solution(rng):
    """Formulation 1 is solved on its own, by a search over directions of the plane."""
    X, y = separable(rng, d=2)
    second = qp.solve_hard_margin(X, y)

    def best_for_direction(angle):
        w = np.array([np.cos(angle), np.sin(angle)])
        low, high = (X[y > 0] @ w).min(), (X[y < 0] @ w).max()
        return m.largest_margin_value(X, y, w, -0.5 * (low + high)), w, -0.5 * (low + high)

    angles = np.linspace(0, 2 * np.pi, 2001)
    for _ in range(6):  # zoom in on the best direction
        centre = max(angles, key=lambda angle: best_for_direction(angle)[0])
        width = 2 * (angles[1] - angles[0])
        angles = np.linspace(centre - width, centre + width, 201)
    value, w, b = best_for_direction(centre)

    assert np.isclose(value, 1 / np.linalg.norm(second.w), rtol=1e-6)
    unit, offset = m.unit_form(second.w, second.b)
    np.testing.assert_allclose(unit, w, atol=1e-4)
    assert np.isclose(offset, b, atol=1e-4)
    canonical, _ = m.canonical_form(X, y, w, b)
    assert np.isclose(0.5 * canonical @ canonical, second.objective, rtol=1e-5)


def test_about_d_plus_one_support_vectors_define_the_hard_margin(rng):
    for d in (2, 4):
        X, y = separable(rng, n=60, d=d)
        result = qp.solve_hard_margin(X, y)
        on = np.abs(m.functional_margins(X, y, result.w, result.b) - 1) < 1e-5
        assert 2 <= on.sum() <= d + 1
        alone = qp.solve_hard_margin(X[on], y[on])
        np.testing.assert_allclose(alone.w, result.w, atol=1e-5)


def test_data_that_cannot_be_separated_have_no_hard_margin(rng):
    with pytest.raises(ValueError, match="must be linearly separable"):
        qp.solve_hard_margin(*overlapping(rng))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_solve_dual_and_the_qp_solver_agree(kernel, rng):
    for _ in range(5):
        K, y, C = random_dual(rng, kernel)
        ours, theirs = solve_dual(K, y, C, tol=1e-7), qp.solve_dual_qp(K, y, C)
        assert np.isclose(ours.bound, theirs.bound, rtol=1e-6)
        assert certify(ours.alpha, ours.b, K, y, C).violation <= 1e-7


def test_conventions_of_the_lectures_have_equal_minimisers(rng):
    """Solve each lecture's own objective as a QP, without using the conversion."""
    X, y = overlapping(rng)
    n, parameter = len(y), 0.35
    for convention, (curvature, slope) in {
        "half": (1.0, parameter),
        "whole": (2.0, parameter),
        "lambda/2": (parameter, 1 / n),
        "lambda": (2 * parameter, 1 / n),
    }.items():
        problem = qp.soft_margin_qp(X, y, slope)
        theirs = qp.solve_qp(problem._replace(P=curvature * problem.P)).x
        ours = qp.solve_soft_margin(X, y, cost(parameter, n, convention))
        np.testing.assert_allclose(theirs[:3], ours.w, atol=1e-5)
        assert np.isclose(theirs[3], ours.b, atol=1e-4)


def test_balanced_costs_spread_the_slack_over_both_classes(rng):
    X, y = overlapping(rng, n=200)
    y = np.where(np.arange(200) < 20, 1.0, -1.0)
    X[:20] += 0.5
    shares = {}
    for name, C in {"plain": 0.01, "balanced": balanced_costs(y, 1.0)}.items():
        result = qp.solve_soft_margin(X, y, C)
        mistakes = m.functional_margins(X, y, result.w, result.b) <= 0
        shares[name] = mistakes[y > 0].mean(), mistakes[y < 0].mean()
    assert shares["plain"][0] > 0.9  # the small class is given up
    assert abs(shares["balanced"][0] - shares["balanced"][1]) < 0.25


def test_large_C_is_the_hard_margin_and_small_C_ignores_the_data(rng):
    X, y = separable(rng)
    hard = qp.solve_hard_margin(X, y)
    np.testing.assert_allclose(qp.solve_soft_margin(X, y, 1e4).w, hard.w, atol=1e-4)
    assert np.linalg.norm(qp.solve_soft_margin(X, y, 1e-6).w) < 1e-3


def test_slack_and_margin_compete_as_C_grows(rng):
    X, y = overlapping(rng)
    results = [qp.solve_soft_margin(X, y, C) for C in (0.01, 0.1, 1.0, 10.0)]
    widths = [m.margin_width(r.w) for r in results]
    slacks = [slack(X, y, r.w, r.b).sum() for r in results]
    assert np.all(np.diff(widths) < 0)
    assert np.all(np.diff(slacks) < 0)
