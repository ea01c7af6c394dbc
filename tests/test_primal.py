from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping

from svmlab import primal as p
from svmlab.losses import MARGIN_LOSSES, zero_one_loss
from svmlab.margins import functional_margins

pytestmark = pytest.mark.core


@pytest.fixture
def point(rng):
    X, y = overlapping(rng)
    return rng.normal(size=3), 0.4, X, y


def test_slack_is_the_smallest_that_satisfies_the_constraints(point):
    w, b, X, y = point
    xi, margins = p.slack(X, y, w, b), functional_margins(X, y, w, b)
    assert np.all(xi >= 0)
    assert np.all(margins >= 1 - xi - 1e-12)
    smaller = xi - 1e-6
    assert np.all((smaller < 0) | (margins < 1 - smaller))


def test_hinge_form_equals_slack_form_and_bounds_the_mistakes(point):
    w, b, X, y = point
    by_slack = 0.5 * w @ w + 2.0 * p.slack(X, y, w, b).sum()
    assert np.isclose(p.primal_objective(w, b, X, y, 2.0), by_slack)
    assert p.primal_objective(w, b, X, y, 2.0) >= p.mistakes_objective(w, b, X, y, 2.0)


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_gradient_is_the_derivative_of_the_objective(loss, point):
    w, b, X, y = point
    C = np.linspace(0.5, 2, len(y))
    gradient, slope = p.primal_gradient(w, b, X, y, C, MARGIN_LOSSES[loss])
    h = 1e-6
    for k, step in enumerate(np.eye(3) * h):
        rise = p.primal_objective(w + step, b, X, y, C, MARGIN_LOSSES[loss])
        fall = p.primal_objective(w - step, b, X, y, C, MARGIN_LOSSES[loss])
        assert np.isclose((rise - fall) / (2 * h), gradient[k], rtol=1e-4)
    rise = p.primal_objective(w, b + h, X, y, C, MARGIN_LOSSES[loss])
    fall = p.primal_objective(w, b - h, X, y, C, MARGIN_LOSSES[loss])
    assert np.isclose((rise - fall) / (2 * h), slope, rtol=1e-4)


def lecture_objective(convention, parameter, w, b, X, y):
    """Each objective as its slide writes it."""
    xi = p.slack(X, y, w, b)
    return {
        "half": 0.5 * w @ w + parameter * xi.sum(),
        "whole": w @ w + parameter * xi.sum(),
        "lambda/2": 0.5 * parameter * w @ w + xi.mean(),
        "lambda": parameter * w @ w + xi.mean(),
    }[convention]


@pytest.mark.parametrize("convention", p.CONVENTIONS)
def test_each_convention_is_a_multiple_of_the_courses_objective(convention, rng):
    X, y = overlapping(rng)
    parameter = 0.3
    C = p.cost(parameter, len(y), convention)
    ratios = []
    for _ in range(5):
        w, b = rng.normal(size=3), float(rng.normal())
        theirs = lecture_objective(convention, parameter, w, b, X, y)
        ratios.append(theirs / p.primal_objective(w, b, X, y, C))
    np.testing.assert_allclose(ratios, ratios[0])
    assert np.isclose(p.convention_parameter(C, len(y), convention), parameter)


def test_lambda_is_one_over_n_C():
    assert p.lam_from_C(0.5, 100) == 1 / 50


def test_counting_mistakes_has_the_lectures_two_limits(point):
    w, b, X, y = point
    mistakes = zero_one_loss(functional_margins(X, y, w, b)).sum()
    assert mistakes > 0
    assert p.mistakes_objective(w, b, X, y, 1e12) > 1e11  # no mistake is tolerated
    zero = np.zeros(3)
    assert p.mistakes_objective(zero, 0.0, X, y, 0.0) <= p.mistakes_objective(w, b, X, y, 0.0)


def test_balanced_costs_give_both_classes_the_same_total():
    y = np.array([1.0] * 7 + [-1.0] * 3)
    costs = p.balanced_costs(y, 6.0)
    assert np.isclose(costs[y > 0].sum(), 6.0)
    assert np.isclose(costs[y < 0].sum(), 6.0)


def test_weights_equal_repetition(rng):
    X, y = overlapping(rng, n=10)
    w = rng.normal(size=3)
    times = np.arange(10) % 3 + 1.0
    repeated = np.repeat(np.arange(10), times.astype(int))
    assert np.isclose(
        p.primal_objective(w, 0.1, X, y, 0.7 * times),
        p.primal_objective(w, 0.1, X[repeated], y[repeated], 0.7),
    )


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, np.inf])
def test_bad_costs_are_refused(C, point):
    with pytest.raises(ValueError, match="C must be a finite number above 0"):
        p.primal_objective(*point, C)


def test_unknown_convention_is_named():
    with pytest.raises(ValueError, match="convention must be one of"):
        p.cost(1.0, 10, "double")
