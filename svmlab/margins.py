"""Hyperplanes: distances, margins, and the two ways to state the hard-margin problem."""

from __future__ import annotations

import numpy as np

from svmlab.rows import times
from svmlab.types import Matrix, Rows, Vector
from svmlab.validation import check_signs, check_vector


def decision_function(X: Rows, w: Vector, b: float = 0.0) -> Vector:
    r"""Return the value of the discriminant at each row; its sign is the predicted class (C1).

    .. math:: f(x) = w \cdot x + b,\qquad \hat y = \operatorname{sgn} f(x)  \tag{eq-decision}

    >>> decision_function(np.array([[1.0, 2.0]]), np.array([3.0, -1.0]), 0.5)
    array([1.5])
    """
    return times(X, w) + b


def distance_to_hyperplane(X: Matrix, w: Vector, b: float) -> Vector:
    r"""Return the distance of each row from the hyperplane w·x + b = 0 (M4, G1).

    .. math:: d(x, H) = \frac{|w \cdot x + b|}{\|w\|}  \tag{eq-distance}

    >>> distance_to_hyperplane(np.array([[3.0, 4.0]]), np.array([3.0, 4.0]), 0.0)
    array([5.])
    """
    return np.abs(decision_function(X, w, b)) / _norm(w)


def project_onto_hyperplane(X: Matrix, w: Vector, b: float) -> Matrix:
    r"""Return the nearest point of the hyperplane to each row, which proves eq-distance (G1).

    .. math:: v = x - \frac{w \cdot x + b}{\|w\|^2}\, w  \tag{eq-projection}

    >>> project_onto_hyperplane(np.array([[2.0, 5.0]]), np.array([0.0, 1.0]), -1.0)
    array([[2., 1.]])
    """
    return X - np.outer(decision_function(X, w, b) / _norm(w) ** 2, w)


def distance_between_hyperplanes(w: Vector, b1: float, b2: float) -> float:
    r"""Return the distance of the parallel hyperplanes w·x = b1 and w·x = b2 (C2).

    .. math:: d(H_1, H_2) = \frac{|b_1 - b_2|}{\|w\|}  \tag{eq-parallel}

    >>> distance_between_hyperplanes(np.array([3.0, 4.0]), 1.0, -1.0)
    0.4
    """
    return float(abs(b1 - b2) / _norm(w))


def margin_width(w: Vector) -> float:
    r"""Return the width of the street between w·x + b = ±1 (C2, C3).

    .. math:: \text{width} = \frac{2}{\|w\|}  \tag{eq-margin-width}

    >>> margin_width(np.array([3.0, 4.0]))
    0.4
    """
    return distance_between_hyperplanes(w, 1.0, -1.0)


def functional_margins(X: Rows, y: Vector, w: Vector, b: float = 0.0) -> Vector:
    r"""Return the confidence of each prediction, positive where it is right (M4).

    .. math:: m_i = y_i (w \cdot x_i + b)  \tag{eq-functional-margin}

    >>> functional_margins(np.array([[1.0], [2.0]]), np.array([1.0, -1.0]), np.array([2.0]), 1.0)
    array([ 3., -5.])
    """
    return y * decision_function(X, w, b)


def geometric_margins(X: Rows, y: Vector, w: Vector, b: float = 0.0) -> Vector:
    r"""Return the signed distances from the hyperplane, free of the scale of (w, b) (M4, M5).

    .. math:: \gamma_i = y_i \frac{w \cdot x_i + b}{\|w\|}  \tag{eq-geometric-margin}

    >>> geometric_margins(np.array([[3.0, 4.0]]), np.array([1.0]), np.array([6.0, 8.0]))
    array([5.])
    """
    return functional_margins(X, y, w, b) / _norm(w)


def margin(X: Rows, y: Vector, w: Vector, b: float = 0.0) -> float:
    r"""Return the margin of a data set: that of its closest example (M4).

    .. math:: \gamma = \min_i \gamma_i  \tag{eq-margin}

    >>> margin(np.array([[1.0], [-2.0]]), np.array([1.0, -1.0]), np.array([5.0]))
    1.0
    """
    return float(geometric_margins(X, y, w, b).min())


def canonical_form(X: Rows, y: Vector, w: Vector, b: float) -> tuple[Vector, float]:
    r"""Rescale a separating (w, b) so that the closest examples have functional margin 1 (M5).

    .. math:: \min_i y_i(w \cdot x_i + b) = 1, \qquad \gamma = 1/\|w\|  \tag{eq-canonical}

    >>> canonical_form(np.array([[2.0], [-4.0]]), np.array([1.0, -1.0]), np.array([5.0]), 0.0)
    (array([0.5]), 0.0)
    """
    y = check_signs(y, X.shape[0])
    smallest = functional_margins(X, y, w, b).min()
    if smallest <= 0:
        raise ValueError(
            f"(w, b) must separate the data, but the smallest functional margin is {smallest:g}"
        )
    return w / smallest, float(b / smallest)


def unit_form(w: Vector, b: float) -> tuple[Vector, float]:
    r"""Rescale (w, b) to ‖w‖ = 1, where functional and geometric margins agree (G1).

    .. math:: (\hat w, \hat b) = (w, b) / \|w\|  \tag{eq-unit-form}

    >>> unit_form(np.array([3.0, 4.0]), 10.0)
    (array([0.6, 0.8]), 2.0)
    """
    return w / _norm(w), float(b / _norm(w))


def largest_margin_value(X: Rows, y: Vector, w: Vector, b: float) -> float:
    r"""Return what formulation 1 of the hard margin maximises, at one (w, b) (M4, G1).

    .. math::
        \max_{\|w\| = 1,\ b}\ \min_i |w \cdot x_i + b|
        \quad\text{where } y_i(w \cdot x_i + b) > 0  \tag{eq-hard-margin-1}

    The constraint fails where an example is on the wrong side: the value is −∞ there. The scale of
    (w, b) is taken out first.

    >>> largest_margin_value(np.array([[1.0], [-2.0]]), np.array([1.0, -1.0]), np.array([7.0]), 0.0)
    1.0
    """
    closest = margin(X, y, w, b)
    return closest if closest > 0 else -np.inf


def smallest_norm_value(X: Rows, y: Vector, w: Vector, b: float, atol: float = 1e-9) -> float:
    r"""Return what formulation 2 of the hard margin minimises, at one (w, b) (C3, M5, G1).

    .. math:: \min_{w, b}\ \tfrac12 \|w\|^2 \quad\text{where } y_i(w \cdot x_i + b) \ge 1
        \tag{eq-hard-margin-2}

    It is +∞ where a constraint fails by more than ``atol``. The intercept b is not penalised.

    >>> smallest_norm_value(np.array([[1.0], [-2.0]]), np.array([1.0, -1.0]), np.array([1.0]), 0.0)
    0.5
    """
    feasible = functional_margins(X, y, w, b).min() >= 1.0 - atol
    return float(0.5 * w @ w) if feasible else np.inf


def _norm(w: Vector) -> float:
    length = float(np.linalg.norm(check_vector(w, "w")))
    if length == 0.0:
        raise ValueError("w must not be the zero vector: it describes no hyperplane")
    return length
