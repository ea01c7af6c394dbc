"""The bootstrap: the sample stands in for the distribution it came from (G7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from svmlab.types import Indices, Matrix, Vector
from svmlab.validation import check_choice, check_count, check_matrix, check_vector


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def bootstrap_rows(weights: Vector, rng: np.random.Generator) -> Indices:
    r"""Draw the rows of one bootstrap sample, with replacement (G7).

    .. math:: \tilde X_1, \dots, \tilde X_m \overset{\text{iid}}{\sim} P_m
        = \frac1m \sum_{i=1}^m \delta_{X_i}  \tag{eq-bootstrap}

    Weights count repetitions: row i is drawn in proportion to its weight, and there are as many
    draws as the weights sum to.

    >>> bootstrap_rows(np.array([0.0, 3.0]), np.random.default_rng(0))
    array([1, 1, 1])
    """
    ends = np.cumsum(weights)
    n_draws = max(1, round(float(ends[-1])))
    rows = np.searchsorted(ends, rng.random(n_draws) * ends[-1], side="right")
    last = np.flatnonzero(weights)[-1]
    return np.asarray(np.minimum(rows, last))  # the product may round up to the end


def bootstrap_statistics(
    data: ArrayLike,
    statistic: Callable[[Any], float],
    n_resamples: int,
    rng: np.random.Generator,
) -> Vector:
    r"""Return a statistic of M bootstrap samples: its distribution, as we can see it (G7).

    .. math:: \psi(\tilde P_m^{(j)}), \quad j = 1, \dots, M  \tag{eq-bootstrap-statistic}

    Parameters
    ----------
    data : array (n,) or (n, d)
        The sample; rows are resampled together.
    statistic : function of an array like data to a number
    n_resamples : int
        M.
    rng : Generator

    >>> draws = bootstrap_statistics([1, 2, 3, 4], np.mean, 1000, np.random.default_rng(0))
    >>> bool(abs(draws.mean() - 2.5) < 0.1)
    True
    """
    check_count(n_resamples=n_resamples)
    sample = _check_data(data)
    ones = np.ones(len(sample))
    draws = (statistic(sample[bootstrap_rows(ones, rng)]) for _ in range(n_resamples))
    return np.fromiter(draws, dtype=np.float64, count=n_resamples)


def bootstrap_interval(
    data: ArrayLike,
    statistic: Callable[[Any], float],
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    method: str = "percentile",
) -> Interval:
    r"""Return a confidence interval for ψ(P) from the bootstrap distribution (G7).

    .. math:: [q_{\alpha/2},\ q_{1-\alpha/2}] \ \text{(percentile)}, \qquad
        [2\psi(P_m) - q_{1-\alpha/2},\ 2\psi(P_m) - q_{\alpha/2}] \ \text{(basic)}
        \tag{eq-bootstrap-interval}

    q are quantiles of the bootstrap statistics, 1 − α is the level. Both hold for large samples
    and smooth statistics; for the maximum, say, both fail.

    Parameters
    ----------
    level : float
        Share of samples whose interval is to cover the truth.
    method : {"percentile", "basic"}

    >>> low, high = bootstrap_interval(np.arange(100), np.mean, np.random.default_rng(0))
    >>> low < 49.5 < high
    True
    """
    check_choice(method, ("percentile", "basic"), "method")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    draws = bootstrap_statistics(data, statistic, n_resamples, rng)
    low, high = np.quantile(draws, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    if method == "basic":
        center = 2.0 * float(statistic(_check_data(data)))
        low, high = center - high, center - low
    return Interval(float(low), float(high))


def _check_data(data: ArrayLike) -> Matrix:
    return check_vector(data, "data") if np.ndim(data) == 1 else check_matrix(data, "data")
