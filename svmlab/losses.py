"""Losses: of a margin y·f(x) for classification, of a residual f(x) − y for regression.

Each comes with its slope, a derivative where there is one and a subgradient at the kinks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from svmlab.types import Vector


def zero_one_loss(margins: Vector) -> Vector:
    r"""Count a mistake where the margin is not positive (S4, M7).

    .. math:: \ell_{0/1}(m) = [m \le 0]  \tag{eq-zero-one}

    >>> zero_one_loss(np.array([2.0, 0.0, -1.0]))
    array([0., 1., 1.])
    """
    return np.asarray(margins <= 0.0, dtype=np.float64)


def hinge_loss(margins: Vector) -> Vector:
    r"""Return the hinge loss of each margin, which is also the optimal slack (S2, S3, C16).

    .. math:: \xi_i = \max(0,\ 1 - y_i f(x_i))  \tag{eq-hinge}

    >>> hinge_loss(np.array([2.0, 1.0, 0.5, -1.0]))
    array([0. , 0. , 0.5, 2. ])
    """
    return np.maximum(0.0, 1.0 - margins)


def hinge_slope(margins: Vector) -> Vector:
    r"""Return a subgradient of the hinge loss; at the kink m = 1 it is 0 (C7).

    .. math:: \partial\ell(m) \ni -[m < 1]  \tag{eq-hinge-slope}

    >>> hinge_slope(np.array([2.0, 1.0, 0.5]))
    array([-0., -0., -1.])
    """
    return -np.asarray(margins < 1.0, dtype=np.float64)


def squared_hinge_loss(margins: Vector) -> Vector:
    r"""Return the squared hinge loss (C16).

    .. math:: \ell(m) = \max(0,\ 1 - m)^2  \tag{eq-squared-hinge}

    >>> squared_hinge_loss(np.array([2.0, 0.5, -1.0]))
    array([0.  , 0.25, 4.  ])
    """
    return hinge_loss(margins) ** 2


def squared_hinge_slope(margins: Vector) -> Vector:
    """Return the derivative of the squared hinge loss (C16).

    >>> squared_hinge_slope(np.array([2.0, 0.5]))
    array([-0., -1.])
    """
    return -2.0 * hinge_loss(margins)


def logistic_loss(margins: Vector) -> Vector:
    r"""Return the logistic loss for labels ±1, without overflow (C16, C17).

    .. math:: \ell(m) = \log(1 + e^{-m})  \tag{eq-logistic}

    >>> logistic_loss(np.array([0.0, -1000.0])).round(4)
    array([6.931e-01, 1.000e+03])
    """
    return np.logaddexp(0.0, -margins)


def logistic_slope(margins: Vector) -> Vector:
    r"""Return the derivative −1/(1 + eᵐ) of the logistic loss (C16, C17).

    >>> logistic_slope(np.array([0.0, 1000.0]))
    array([-0.5, -0. ])
    """
    return -np.exp(-np.logaddexp(0.0, margins))


def absolute_loss(residuals: Vector) -> Vector:
    r"""Return the absolute loss (C18).

    .. math:: \ell(r) = |r|  \tag{eq-absolute}

    >>> absolute_loss(np.array([-2.0, 1.0]))
    array([2., 1.])
    """
    return np.abs(residuals)


def absolute_slope(residuals: Vector) -> Vector:
    """Return a subgradient of the absolute loss, 0 at the kink (C18).

    >>> absolute_slope(np.array([-2.0, 0.0, 1.0]))
    array([-1.,  0.,  1.])
    """
    return np.sign(residuals)


def squared_loss(residuals: Vector) -> Vector:
    r"""Return the squared loss (C18).

    .. math:: \ell(r) = r^2  \tag{eq-squared}

    >>> squared_loss(np.array([-2.0, 1.0]))
    array([4., 1.])
    """
    return residuals**2


def squared_slope(residuals: Vector) -> Vector:
    """Return the derivative of the squared loss (C18).

    >>> squared_slope(np.array([-2.0, 1.0]))
    array([-4.,  2.])
    """
    return 2.0 * residuals


def epsilon_insensitive_loss(residuals: Vector, epsilon: float = 0.1) -> Vector:
    r"""Return the loss that forgives residuals up to ε (C18).

    .. math:: \ell_\varepsilon(r) = \max(0,\ |r| - \varepsilon)  \tag{eq-epsilon}

    >>> epsilon_insensitive_loss(np.array([-2.0, 0.5]), 0.5)
    array([1.5, 0. ])
    """
    return np.maximum(0.0, np.abs(residuals) - epsilon)


def epsilon_insensitive_slope(residuals: Vector, epsilon: float = 0.1) -> Vector:
    """Return a subgradient of the ε-insensitive loss, 0 in the tube and on its edge (C18).

    >>> epsilon_insensitive_slope(np.array([-2.0, 0.5, 0.7]), 0.5)
    array([-1.,  0.,  1.])
    """
    return np.sign(residuals) * (np.abs(residuals) > epsilon)


def squared_epsilon_insensitive_loss(residuals: Vector, epsilon: float = 0.1) -> Vector:
    r"""Return the square of the ε-insensitive loss (C18).

    .. math:: \ell(r) = \max(0,\ |r| - \varepsilon)^2  \tag{eq-squared-epsilon}

    >>> squared_epsilon_insensitive_loss(np.array([-2.0, 0.5]), 0.5)
    array([2.25, 0.  ])
    """
    return epsilon_insensitive_loss(residuals, epsilon) ** 2


def squared_epsilon_insensitive_slope(residuals: Vector, epsilon: float = 0.1) -> Vector:
    """Return the derivative of the squared ε-insensitive loss (C18).

    >>> squared_epsilon_insensitive_slope(np.array([-2.0, 0.5]), 0.5)
    array([-3.,  0.])
    """
    return 2.0 * np.sign(residuals) * epsilon_insensitive_loss(residuals, epsilon)


class Loss(NamedTuple):
    """A loss and its slope, to hand to a solver as one thing."""

    value: Callable[..., Vector]
    slope: Callable[..., Vector]


MARGIN_LOSSES = {
    "hinge": Loss(hinge_loss, hinge_slope),
    "squared_hinge": Loss(squared_hinge_loss, squared_hinge_slope),
    "logistic": Loss(logistic_loss, logistic_slope),
}

RESIDUAL_LOSSES = {
    "absolute": Loss(absolute_loss, absolute_slope),
    "squared": Loss(squared_loss, squared_slope),
    "epsilon_insensitive": Loss(epsilon_insensitive_loss, epsilon_insensitive_slope),
    "squared_epsilon_insensitive": Loss(
        squared_epsilon_insensitive_loss, squared_epsilon_insensitive_slope
    ),
}
