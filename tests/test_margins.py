from __future__ import annotations

import numpy as np
import pytest
from problems import separable

from svmlab import margins as m

pytestmark = pytest.mark.core


@pytest.fixture
def plane(rng):
    return rng.normal(size=(30, 4)), rng.normal(size=4), float(rng.normal())


def test_projection_is_the_nearest_point_so_distance_is_right(plane, rng):
    X, w, b = plane
    V = m.project_onto_hyperplane(X, w, b)
    distance = m.distance_to_hyperplane(X, w, b)
    np.testing.assert_allclose(V @ w + b, 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(X - V, axis=1), distance, atol=1e-12)
    others = m.project_onto_hyperplane(X + rng.normal(size=X.shape), w, b)
    assert np.all(np.linalg.norm(X - others, axis=1) >= distance - 1e-12)


def test_distance_of_parallel_hyperplanes_by_two_points_on_them(rng):
    w = rng.normal(size=5)
    foot = w / (w @ w)  # t * foot lies on w.x = t
    assert np.isclose(m.distance_between_hyperplanes(w, 3.0, -1.5), np.linalg.norm(4.5 * foot))
    assert np.isclose(m.margin_width(w), np.linalg.norm(2 * foot))


def test_scaling_changes_functional_but_not_geometric_margins(plane):
    X, w, b = plane
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    doubled = m.functional_margins(X, y, 2 * w, 2 * b)
    np.testing.assert_allclose(doubled, 2 * m.functional_margins(X, y, w, b))
    np.testing.assert_allclose(
        m.geometric_margins(X, y, 2 * w, 2 * b), m.geometric_margins(X, y, w, b)
    )


def test_decision_is_positive_on_one_side_and_many_separators_exist(rng):
    X, y = separable(rng)
    w = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    scores = X @ w
    lowest, highest = scores[y > 0].min(), scores[y < 0].max()
    assert lowest > highest
    for share in (0.1, 0.5, 0.9):
        b = -(share * lowest + (1 - share) * highest)
        assert np.all(np.sign(m.decision_function(X, w, b)) == y)


def test_canonical_form_has_smallest_margin_one_and_the_same_hyperplane(rng):
    X, y = separable(rng)
    w = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    b = -0.5 * float((X[y > 0] @ w).min() + (X[y < 0] @ w).max())
    w1, b1 = m.canonical_form(X, y, w, b)
    assert np.isclose(m.functional_margins(X, y, w1, b1).min(), 1)
    assert np.isclose(m.margin(X, y, w1, b1), 1 / np.linalg.norm(w1))
    assert np.isclose(m.margin(X, y, w1, b1), m.margin(X, y, w, b))
    unit, offset = m.unit_form(w, b)
    assert np.isclose(m.functional_margins(X, y, unit, offset).min(), m.margin(X, y, w, b))


def test_canonical_form_of_a_hyperplane_that_does_not_separate_is_refused():
    X, y = np.array([[1.0], [2.0]]), np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="must separate"):
        m.canonical_form(X, y, np.array([1.0]), 0.0)


def test_zero_weights_describe_no_hyperplane():
    with pytest.raises(ValueError, match="zero vector"):
        m.margin_width(np.zeros(2))


def test_formulations_are_infinite_where_their_constraint_fails():
    X, y = np.array([[1.0], [-2.0]]), np.array([1.0, -1.0])
    assert m.largest_margin_value(X, y, np.array([-1.0]), 0.0) == -np.inf
    assert m.smallest_norm_value(X, y, np.array([0.5]), 0.0) == np.inf
