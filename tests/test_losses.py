from __future__ import annotations

import numpy as np
import pytest

from svmlab import losses

pytestmark = pytest.mark.core
ALL = {**losses.MARGIN_LOSSES, **losses.RESIDUAL_LOSSES}


@pytest.mark.parametrize("name", ALL)
def test_slope_is_the_derivative_where_there_is_one(name, rng):
    points = rng.uniform(-3, 3, size=200)
    kinks = np.array([-0.1, 0.0, 0.1, 1.0])
    points = points[np.abs(points[:, None] - kinks).min(axis=1) > 1e-3]
    h = 1e-6
    numeric = (ALL[name].value(points + h) - ALL[name].value(points - h)) / (2 * h)
    np.testing.assert_allclose(ALL[name].slope(points), numeric, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_slope_is_a_subgradient_everywhere(name):
    points = np.concatenate((np.linspace(-3, 3, 121), [-0.1, 0.1, 1.0]))
    value, slope = ALL[name].value(points), ALL[name].slope(points)
    tangents = value[:, None] + slope[:, None] * (points[None, :] - points[:, None])
    assert np.all(tangents <= value[None, :] + 1e-12)


@pytest.mark.parametrize("name", losses.MARGIN_LOSSES)
def test_margin_losses_bound_the_mistakes_from_above(name):
    margins = np.linspace(-5, 5, 1001)
    bound = losses.MARGIN_LOSSES[name].value(margins)
    if name == "logistic":
        bound = bound / np.log(2)  # in bits: log2(1 + e^-m), which is 1 at m = 0
    assert np.all(bound >= losses.zero_one_loss(margins))
    assert np.isclose(bound[margins == 0.0], 1.0).all()


def test_hinge_is_the_smallest_convex_bound_that_touches_one_at_zero_with_slope_minus_one():
    margins = np.linspace(-4, 4, 801)
    assert np.all(losses.squared_hinge_loss(margins)[margins <= 0] >= 1 - margins[margins <= 0])
    np.testing.assert_array_equal(losses.hinge_loss(margins), np.clip(1 - margins, 0, None))


def test_logistic_loss_is_finite_for_huge_margins():
    far = np.array([-1e4, 1e4])
    np.testing.assert_array_equal(losses.logistic_loss(far), [1e4, 0])
    np.testing.assert_array_equal(losses.logistic_slope(far), [-1, 0])


def test_epsilon_zero_gives_the_absolute_and_the_squared_loss(rng):
    r = rng.normal(size=50)
    np.testing.assert_array_equal(losses.epsilon_insensitive_loss(r, 0.0), losses.absolute_loss(r))
    np.testing.assert_allclose(
        losses.squared_epsilon_insensitive_loss(r, 0.0), losses.squared_loss(r)
    )
