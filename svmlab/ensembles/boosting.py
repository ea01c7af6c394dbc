"""AdaBoost: each weak rule looks hardest at what the ones before it got wrong (G10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from svmlab.ensembles._checks import check_classes, check_weights
from svmlab.ensembles.bagging import Predictor, ballot
from svmlab.ensembles.growing import fit_stump
from svmlab.ensembles.trees import predict_tree
from svmlab.types import Indices, Mask, Matrix, Vector
from svmlab.validation import check_count, check_matrix

WeightedLearner: TypeAlias = Callable[[Matrix, Indices, Vector], Predictor]


@dataclass(frozen=True, kw_only=True)
class Boosting:
    """Weak rules h_t with their votes a_t.

    Attributes
    ----------
    predictors : tuple of functions
        X ↦ class codes, one for each round.
    votes : array (T,)
        The say a_t of each rule.
    weights : array (n,)
        The distribution over the examples after the last round.
    n_classes : int
    stopped : str
        One of "rounds" (all were run), "no mistake" (a rule made none) and "chance" (a rule was no
        better than guessing and was left out; if it was the first it is kept, alone, and the
        bound says nothing).
    history : dict of arrays
        For each round: ``error`` ε_t of the rule under its weights, ``training_error`` of the vote
        so far, and ``bound`` on it.
    """

    predictors: tuple[Predictor, ...]
    votes: Vector
    weights: Vector
    n_classes: int
    stopped: str
    history: dict[str, Vector] = field(default_factory=dict, repr=False)


def stump_learner(
    X: Matrix, y: Indices, weights: Vector, *, n_classes: int, criterion: str = "gini"
) -> Predictor:
    """Fit a stump to weighted examples: the usual weak learner.

    >>> rule = stump_learner(np.array([[1.0], [2.0]]), [0, 1], np.array([0.5, 0.5]), n_classes=2)
    >>> rule([[3.0]])
    array([1])
    """
    stump = fit_stump(X, y, criterion, n_classes=n_classes, sample_weight=weights)
    return partial(predict_tree, stump)


def fit_adaboost(
    X: ArrayLike,
    y: ArrayLike,
    learner: WeightedLearner | None = None,
    *,
    n_rounds: int = 50,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Boosting:
    """Run AdaBoost, with K > 2 classes in the form called SAMME (G10).

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        Class codes 0, …, K − 1.
    learner : function (X, y, weights) ↦ predictor, optional
        By default :func:`stump_learner`.
    n_rounds : int
        T, at most.
    sample_weight : array (n,), optional
        The distribution to start from; training error and bound are weighted by it.

    >>> X, y = np.arange(6.0).reshape(-1, 1), np.array([0, 0, 1, 1, 0, 0])
    >>> model = fit_adaboost(X, y, n_rounds=20)
    >>> predict_boosting(model, X)
    array([0, 0, 1, 1, 0, 0])
    """
    check_count(n_rounds=n_rounds)
    X = check_matrix(X)
    codes, K = check_classes(y, len(X), n_classes)
    start = check_weights(sample_weight, len(X))
    start = start / start.sum()
    if learner is None:
        learner = partial(stump_learner, n_classes=K)
    return _boost(X, codes, K, start, learner, n_rounds)


def _boost(
    X: Matrix, y: Indices, K: int, start: Vector, learner: WeightedLearner, n_rounds: int
) -> Boosting:
    weights, scores, bound, stopped = start, np.zeros((len(y), K)), 1.0, "rounds"
    rounds: list[tuple[Predictor, float, float, float, float]] = []
    while stopped == "rounds" and len(rounds) < n_rounds:
        rule = learner(X, y, weights)
        predicted = rule(X)
        correct = np.asarray(predicted == y)
        error = float(weights[~correct].sum())
        stopped = _verdict(error, K)
        if stopped == "chance" and rounds:
            break
        vote = vote_weight(error, K) if stopped == "rounds" else 1.0 + sum(r[1] for r in rounds)
        bound *= round_factor(error, K) if stopped != "chance" else 1.0
        scores += vote * ballot(predicted, K)
        mistakes = float(start[np.argmax(scores, axis=1) != y].sum())
        rounds.append((rule, vote, error, mistakes, bound))
        if stopped == "rounds":
            weights = reweight(weights, correct, vote)
    predictors, votes, errors, training_errors, bounds = zip(*rounds, strict=True)
    history = {"error": errors, "training_error": training_errors, "bound": bounds}
    return Boosting(
        predictors=predictors,
        votes=np.array(votes),
        weights=weights,
        n_classes=K,
        stopped=stopped,
        history={name: np.array(values) for name, values in history.items()},
    )


def _verdict(error: float, n_classes: int) -> str:
    if error <= 0.0:
        return "no mistake"
    return "chance" if error >= 1.0 - 1.0 / n_classes else "rounds"


def vote_weight(error: float, n_classes: int = 2) -> float:
    r"""Return the say of a rule with weighted error ε, which is positive if it beats chance (G10).

    .. math:: a_t = \tfrac12 \ln \frac{(1 - \varepsilon_t)(K - 1)}{\varepsilon_t}
        \tag{eq-adaboost-vote}

    For K = 2 it is the a that makes the factor of the bound smallest. A rule without a mistake
    would get an infinite vote; :func:`fit_adaboost` gives it 1 more than all before it and stops.

    >>> round(vote_weight(0.2), 6)
    0.693147
    """
    if not 0.0 < error < 1.0:
        raise ValueError(f"error must be strictly between 0 and 1, got {error!r}")
    return float(0.5 * np.log((1.0 - error) * (n_classes - 1) / error))


def reweight(weights: Vector, correct: Mask, vote: float) -> Vector:
    r"""Raise the weights of the mistakes and lower the others, so that they sum to 1 (G10).

    .. math:: D_{t+1}(i) = \frac{D_t(i)}{Z_t} e^{-a_t m_{ti}}, \qquad
        m_{ti} = \pm 1 \text{ as } h_t(x_i) = y_i \text{ or not}  \tag{eq-adaboost-weights}

    Under the new weights the rule is as bad as guessing: its error is 1 − 1/K.

    >>> reweight(np.full(4, 0.25), np.array([True, True, True, False]), vote_weight(0.25))
    array([0.16666667, 0.16666667, 0.16666667, 0.5 ])
    """
    raised = weights * np.exp(np.where(correct, -vote, vote))
    return np.asarray(raised / raised.sum())


def round_factor(error: float, n_classes: int = 2) -> float:
    r"""Return Z_t, by which one round multiplies the bound on the training error (G10).

    .. math:: Z_t = \sum_i D_t(i)\, e^{-a_t m_{ti}}
        = \sqrt{\varepsilon_t (1 - \varepsilon_t)} \Big(\sqrt{K-1} + \frac{1}{\sqrt{K-1}}\Big)
        \tag{eq-adaboost-factor}

    For K = 2 this is 2√(ε(1 − ε)), which is below 1 unless ε = ½.

    >>> round(round_factor(0.2), 12)
    0.8
    """
    root = np.sqrt(max(n_classes - 1, 1))
    return float(np.sqrt(error * (1.0 - error)) * (root + 1.0 / root))


def exponential_bound(errors: ArrayLike, n_classes: int = 2) -> Vector:
    r"""Return the bound on the training error after each round (G10).

    .. math::
        \frac1n \sum_i [H_T(x_i) \ne y_i] \le \frac1n \sum_i e^{-\sum_t a_t m_{ti}}
        &= \prod_{t=1}^{T} Z_t\\
        &= \prod_t 2\sqrt{\varepsilon_t(1 - \varepsilon_t)}\ \text{ (two classes)}
        \tag{eq-adaboost-bound}

    The inequality holds since a wrong vote needs Σ a_t m_t ≤ 0.

    Parameters
    ----------
    errors : array (T,)
        The ε_t, each measured under the weights of its round.

    >>> exponential_bound([0.2, 0.5, 0.1])
    array([0.8 , 0.8 , 0.48])
    """
    factors = [round_factor(float(error), n_classes) for error in np.asarray(errors)]
    return np.asarray(np.cumprod(factors), dtype=np.float64)


def boosting_scores(model: Boosting, X: ArrayLike) -> Matrix:
    r"""Return the votes for each class, as shares of all votes (G10).

    .. math:: F_k(x) = \frac{\sum_t a_t [h_t(x) = k]}{\sum_t a_t}  \tag{eq-adaboost-scores}

    >>> model = fit_adaboost([[1], [2]], [0, 1])
    >>> boosting_scores(model, [[0]])
    array([[1., 0.]])
    """
    X = check_matrix(X)
    total = np.zeros((len(X), model.n_classes))
    for predict, vote in zip(model.predictors, model.votes, strict=True):
        total += vote * ballot(predict(X), model.n_classes)
    return np.asarray(total / model.votes.sum())


def predict_boosting(model: Boosting, X: ArrayLike) -> Indices:
    r"""Return the class with the most votes, the first of equals (G10).

    .. math:: H(x) = \arg\max_k F_k(x)  \tag{eq-adaboost-predict}

    >>> predict_boosting(fit_adaboost([[1], [2]], [0, 1]), [[0], [3]])
    array([0, 1])
    """
    return np.asarray(np.argmax(boosting_scores(model, X), axis=1))


def vote_margins(model: Boosting, X: ArrayLike, y: ArrayLike) -> Vector:
    r"""Return by how much the right class wins the vote, between −1 and 1 (G10).

    .. math:: \text{margin}_i = F_{y_i}(x_i) - \max_{k \ne y_i} F_k(x_i)
        \tag{eq-vote-margin}

    For two classes coded ±1 this is y f(x) / Σ a_t. Further rounds can raise the margins after the
    training error is 0.

    >>> vote_margins(fit_adaboost([[1], [2]], [0, 1]), [[1], [2]], [0, 0])
    array([ 1., -1.])
    """
    scores = boosting_scores(model, X)
    codes, _ = check_classes(y, len(scores), model.n_classes)
    rows = np.arange(len(scores))
    right = scores[rows, codes]
    scores[rows, codes] = -np.inf
    return np.asarray(right - np.maximum(scores.max(axis=1), 0.0))
