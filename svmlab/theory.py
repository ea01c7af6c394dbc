"""Why large margins generalise: the two risk bounds, and simulations in which they could fail.

The distribution is made so that the true risk of any w is known without a test set. All machines go
through the origin, as the theorems ask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np

from svmlab.coordinate import dual_coordinate_descent
from svmlab.losses import hinge_loss, zero_one_loss
from svmlab.primal import cost
from svmlab.types import CSR, Rows, Vector
from svmlab.validation import check_count, check_nonnegative, check_positive, check_vector


def hard_margin_bound(m: int, gamma: float, rho: float, delta: float = 0.05) -> float:
    r"""Bound the 0/1 risk of the hard-margin SVM with probability 1 − δ, no bias (G2).

    .. math:: \sqrt{\frac{4(\rho/\gamma)^2}{m}} + \sqrt{\frac{2\log(2/\delta)}{m}}
        \tag{eq-hard-bound}

    It holds when ‖x‖ ≤ ρ and y w*·x ≥ γ almost surely for some w* of length 1; the dimension does
    not appear.

    >>> round(hard_margin_bound(10_000, gamma=0.1, rho=1.0, delta=0.05), 4)
    0.2272
    """
    check_count(m=m)
    check_positive(gamma=gamma, rho=rho)
    _check_share(delta)
    return 2.0 * (rho / gamma) / sqrt(m) + sqrt(2.0 * log(2.0 / delta) / m)


def examples_needed(risk: float, gamma: float, rho: float, delta: float = 0.05) -> int:
    r"""Return how many examples bring the hard-margin bound down to a given risk (G2).

    .. math:: m = \left\lceil \frac{(2\rho/\gamma + \sqrt{2\log(2/\delta)})^2}{\epsilon^2}
        \right\rceil  \tag{eq-examples-needed}

    >>> m = examples_needed(0.1, gamma=0.5, rho=1.0)
    >>> hard_margin_bound(m, 0.5, 1.0) <= 0.1 < hard_margin_bound(m - 1, 0.5, 1.0)
    True
    """
    check_positive(risk=risk)
    return ceil((hard_margin_bound(1, gamma, rho, delta) / risk) ** 2)


def soft_margin_bound(m: int, lam: float, rho: float, best: float) -> float:
    r"""Bound the expected hinge risk of the soft SVM λ‖w‖² + mean hinge, no bias (G3).

    .. math::
        \mathbb E\, L_{0/1}(w_S) \le \mathbb E\, L_{\text{hinge}}(w_S) \le
        \inf_u \left[ L_{\text{hinge}}(u) + \lambda\|u\|^2 \right] + \frac{2\rho^2}{\lambda m}
        \tag{eq-soft-bound}

    It holds when ‖x‖ ≤ ρ almost surely. ``best`` is the first term, a property of the documents.

    >>> soft_margin_bound(800, lam=0.05, rho=1.0, best=0.2)
    0.25
    """
    check_count(m=m)
    check_positive(lam=lam, rho=rho)
    check_nonnegative(best=best)
    return best + 2.0 * rho**2 / (lam * m)


def best_lambda(m: int, rho: float, B: float) -> float:
    r"""Return the λ that makes the soft-margin bound smallest for competitors ‖u‖ ≤ B (G3).

    .. math:: \lambda = \sqrt{\frac{2\rho^2}{B^2 m}}  \tag{eq-best-lambda}

    >>> best_lambda(200, rho=1.0, B=2.0)
    0.05
    """
    check_count(m=m)
    check_positive(rho=rho, B=B)
    return sqrt(2.0 * rho**2 / (B**2 * m))


def soft_margin_excess(m: int, rho: float, B: float) -> float:
    r"""Return what the bound adds to the best hinge risk of ‖u‖ ≤ B at the best λ (G3).

    .. math::
        \mathbb E\, L_{\text{hinge}}(w_S) - \inf_{\|u\| \le B} L_{\text{hinge}}(u) \le
        \sqrt{\frac{8\rho^2B^2}{m}}  \tag{eq-soft-excess}

    >>> soft_margin_excess(800, rho=1.0, B=2.0)
    0.2
    """
    check_count(m=m)
    check_positive(rho=rho, B=B)
    return sqrt(8.0 * rho**2 * B**2 / m)


@dataclass(frozen=True)
class OneWordDocuments:
    """Each document is one word: x = ρ eⱼ with probability pⱼ, and the word decides the class.

    Words are +1 and −1 in turn. Nothing is learnt about a word never seen, and f = 0 there counts
    as a mistake (eq-zero-one): an SVM has no harder data than
    these, up to a constant. A share ``flip`` of the labels is wrong.

    >>> documents = OneWordDocuments(np.full(4, 0.25))
    >>> documents.mistake_risk(np.array([1.0, -1.0, 1.0, 0.0])), documents.gamma
    (0.25, 0.5)
    """

    p: Vector
    rho: float = 1.0
    flip: float = 0.0

    def __post_init__(self) -> None:
        p = check_vector(self.p, "p")
        if p.min() <= 0 or abs(p.sum() - 1.0) > 1e-9:
            raise ValueError("p must hold probabilities above 0 that sum to 1")
        check_positive(rho=self.rho)
        if not 0.0 <= self.flip < 0.5:
            raise ValueError(f"flip must be a share in [0, 0.5), got {self.flip!r}")

    @property
    def signs(self) -> Vector:
        """The class of each word."""
        return np.where(np.arange(self.p.size) % 2 == 0, 1.0, -1.0)

    @property
    def gamma(self) -> float:
        """The margin ρ/√N of w* = signs/√N, the largest there is; 0 if labels are flipped."""
        return 0.0 if self.flip else self.rho / sqrt(self.p.size)

    def draw(self, m: int, rng: np.random.Generator) -> tuple[Rows, Vector]:
        """Draw m documents as sparse rows, and their labels."""
        words = rng.choice(self.p.size, m, p=self.p)
        y = self.signs[words] * np.where(rng.random(m) < self.flip, -1.0, 1.0)
        return CSR(np.full(m, self.rho), words, np.arange(m + 1), (m, self.p.size)), y

    def mistake_risk(self, w: Vector) -> float:
        """Return the probability of a mistake of w."""
        return self._mean(zero_one_loss, w)

    def hinge_risk(self, w: Vector) -> float:
        """Return the expected hinge loss of w."""
        return self._mean(hinge_loss, w)

    def best_hinge(self, lam: float) -> float:
        """Return inf L(u) + λ‖u‖², word by word: a parabola in each margin, cut at 1."""
        check_positive(lam=lam)
        margins = np.minimum(1.0, self.p * (1.0 - 2.0 * self.flip) * self.rho**2 / (2.0 * lam))
        u = self.signs * margins / self.rho
        return self.hinge_risk(u) + float(lam * u @ u)

    def _mean(self, loss: Callable[[Vector], Vector], w: Vector) -> float:
        margins = self.rho * self.signs * w
        return float(self.p @ ((1.0 - self.flip) * loss(margins) + self.flip * loss(-margins)))


def rare_words(n_words: int, m: int) -> OneWordDocuments:
    """Return the one-word documents that are hardest to learn from m of them (G2).

    Two words are frequent. Each other one has probability 1/m: it is missed with probability about
    1/e, and then costs 1/m.

    >>> rare_words(3, 100).p
    array([0.495, 0.495, 0.01 ])
    """
    check_count(n_words=n_words, m=m)
    if not 2 < n_words < m:
        raise ValueError(f"n_words must be above 2 and below m = {m}, got {n_words}")
    p = np.full(n_words, 1.0 / m)
    p[:2] = (1.0 - (n_words - 2) / m) / 2.0
    return OneWordDocuments(p)


@dataclass(frozen=True)
class Simulation:
    """The true risk of the machine from each training set, and the bound that it should keep."""

    risks: Vector
    bound: float

    @property
    def share(self) -> float:
        """The share of the training sets whose risk is at most the bound."""
        return float(np.mean(self.risks <= self.bound))

    @property
    def mean(self) -> float:
        """The mean risk, an estimate of the expectation over training sets."""
        return float(self.risks.mean())

    @property
    def standard_error(self) -> float:
        """How exact the mean is."""
        return float(self.risks.std(ddof=1) / sqrt(self.risks.size))


def simulate_hard_margin(
    documents: OneWordDocuments,
    m: int,
    draws: int,
    *,
    rng: np.random.Generator,
    delta: float = 0.05,
    gamma: float | None = None,
) -> Simulation:
    """Train the hard-margin SVM on many training sets and compare with eq-hard-bound (G2).

    ``gamma`` is the margin that is claimed, by default the true one. The theorem promises a share
    of at least 1 − δ; a claim above the truth can break it.

    >>> rng = np.random.default_rng(0)
    >>> simulate_hard_margin(rare_words(5, 250), 250, draws=10, rng=rng).share
    1.0
    """
    check_count(m=m, draws=draws)
    claimed = documents.gamma if gamma is None else gamma
    bound = hard_margin_bound(m, claimed, documents.rho, delta)
    risks = np.empty(draws)
    for k in range(draws):
        X, y = documents.draw(m, rng)
        risks[k] = documents.mistake_risk(dual_coordinate_descent(X, y, np.inf, rng=rng).w)
    return Simulation(risks, bound)


def simulate_soft_margin(
    documents: OneWordDocuments,
    m: int,
    draws: int,
    *,
    lam: float,
    rng: np.random.Generator,
    rho: float | None = None,
) -> Simulation:
    """Train the soft SVM λ‖w‖² + mean hinge many times and compare with eq-soft-bound (G3).

    The risks are hinge risks. ``rho`` is the radius that is claimed, by default the true one. The
    theorem promises that the mean is below; a claim below the truth can break it.

    >>> documents = OneWordDocuments(np.full(2, 0.5), flip=0.1)
    >>> result = simulate_soft_margin(documents, 300, 10, lam=0.05, rng=np.random.default_rng(0))
    >>> result.mean < result.bound < 0.5
    True
    """
    check_count(m=m, draws=draws)
    claimed = documents.rho if rho is None else rho
    bound = soft_margin_bound(m, lam, claimed, documents.best_hinge(lam))
    C = cost(lam, m, "lambda")
    risks = np.empty(draws)
    for k in range(draws):
        X, y = documents.draw(m, rng)
        risks[k] = documents.hinge_risk(dual_coordinate_descent(X, y, C, rng=rng).w)
    return Simulation(risks, bound)


def _check_share(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be a probability between 0 and 1, got {delta!r}")
