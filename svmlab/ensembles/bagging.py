"""Bagging: many rules from bootstrap samples, combined by a vote or a mean (G8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmlab.ensembles._checks import check_classes, check_weights
from svmlab.ensembles.bootstrap import bootstrap_rows
from svmlab.types import Indices, Mask, Matrix, Vector
from svmlab.validation import check_choice, check_count, check_matrix, check_vector

Predictor: TypeAlias = Callable[[Matrix], NDArray[np.generic]]
WeakLearner: TypeAlias = Callable[[Matrix, Vector | Indices, np.random.Generator], Predictor]


@dataclass(frozen=True, kw_only=True)
class Bagging:
    """M decision rules and how good they are together on examples they have not seen.

    Attributes
    ----------
    predictors : tuple of functions
        One rule for each bootstrap sample: X ↦ class codes or real values.
    n_classes : int
        K; 0 for real targets.
    out_of_bag_error : float
        Share of mistakes, or mean squared error; NaN where every example is in every bag.
    history : dict of arrays
        ``out_of_bag_error`` with the first 1, 2, ..., M rules.
    """

    predictors: tuple[Predictor, ...]
    n_classes: int
    out_of_bag_error: float
    history: dict[str, Vector] = field(default_factory=dict, repr=False)


def fit_bagging(
    X: ArrayLike,
    y: ArrayLike,
    learner: WeakLearner,
    rng: np.random.Generator,
    *,
    combine: str = "majority",
    n_rounds: int = 50,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Bagging:
    r"""Call a weak learner on M bootstrap samples (G8).

    .. math:: \hat h^j = \Phi(\tilde S^j), \quad j = 1, \dots, M  \tag{eq-bagging}

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        Class codes 0, …, K − 1 for "majority", real targets for "average".
    learner : function (X, y, rng) ↦ predictor
        Φ; a predictor maps rows to codes or real values.
    rng : Generator
    combine : {"majority", "average"}
    n_rounds : int
        M.
    sample_weight : array (n,), optional
        Repetitions of each example, which set its chance to be drawn.

    >>> def nearest_mean(X, y, rng):
    ...     middle = (X[y == 0].mean() + X[y == 1].mean()) / 2
    ...     return lambda Z: (Z[:, 0] > middle).astype(int)
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.repeat([0, 1], 10)
    >>> bag = fit_bagging(X, y, nearest_mean, np.random.default_rng(0))
    >>> predict_bagging(bag, [[2], [17]])
    array([0, 1])
    """
    check_choice(combine, ("majority", "average"), "combine")
    check_count(n_rounds=n_rounds)
    X = check_matrix(X)
    weights = check_weights(sample_weight, len(X))
    targets, K = _check_targets(y, len(X), combine, n_classes)
    bags = [bootstrap_rows(weights, rng) for _ in range(n_rounds)]
    predictors = tuple(learner(X[bag], targets[bag], rng) for bag in bags)
    votes = (ballot(predict(X), K) for predict in predictors)
    errors = out_of_bag_errors(votes, outside(bags, len(X)), targets, K)
    return Bagging(
        predictors=predictors,
        n_classes=K,
        out_of_bag_error=float(errors[-1]),
        history={"out_of_bag_error": errors},
    )


def predict_bagging(bag: Bagging, X: ArrayLike) -> Vector | Indices:
    """Return the combined prediction for each row (G8).

    >>> rules = (lambda X: np.array([1.0]), lambda X: np.array([4.0]))
    >>> predict_bagging(Bagging(predictors=rules, n_classes=0, out_of_bag_error=0.0), [[0.0]])
    array([2.5])
    """
    X = check_matrix(X)
    predictions = np.stack([predict(X) for predict in bag.predictors])
    return majority_vote(predictions, bag.n_classes) if bag.n_classes else average(predictions)


def majority_vote(predictions: ArrayLike, n_classes: int) -> Indices:
    r"""Return the class that most of M rules predict, the first of equals (G8).

    .. math:: \hat h(x) = \arg\max_k \sum_{j=1}^{M} [\hat h^j(x) = k]  \tag{eq-majority-vote}

    Parameters
    ----------
    predictions : array (M, n)
        Class codes, one row a rule.

    >>> majority_vote([[0, 2], [1, 2], [1, 0]], 3)
    array([1, 2])
    """
    counts = np.asarray(predictions)[:, :, None] == np.arange(n_classes)
    return np.asarray(np.argmax(counts.sum(axis=0), axis=1))


def average(predictions: ArrayLike) -> Vector:
    r"""Return the mean of what M rules predict (G8).

    .. math:: \hat h(x) = \frac1M \sum_{j=1}^{M} \hat h^j(x)  \tag{eq-average}

    Parameters
    ----------
    predictions : array (M, n)

    >>> average([[1.0, 2.0], [3.0, 6.0]])
    array([2., 4.])
    """
    return np.asarray(np.asarray(predictions, dtype=np.float64).mean(axis=0))


def out_of_bag_errors(
    votes: Iterable[Matrix], out: Mask, y: Vector | Indices, n_classes: int
) -> Vector:
    r"""Return the error of the first 1, ..., M rules on examples outside their bags (G8).

    .. math:: \hat h_{\text{oob}}(x_i)
        = \arg\max_k \sum_{j:\, i \notin \tilde S^j} [\hat h^j(x_i) = k],
        \qquad \frac{1}{|I|} \sum_{i \in I} [\hat h_{\text{oob}}(x_i) \ne y_i]  \tag{eq-out-of-bag}

    I are the examples outside at least one bag. For real targets the mean replaces the vote and
    the squared error the mistake.

    Parameters
    ----------
    votes : M arrays (n, K), or (n, 1) for real targets
        What each rule says of each example.
    out : array (M, n) of bool
        Which examples rule j has not seen.
    n_classes : int
        K; 0 for real targets.

    >>> votes = [ballot(np.array([0, 1]), 2), ballot(np.array([1, 1]), 2)]
    >>> out_of_bag_errors(votes, np.array([[True, False], [False, True]]), np.array([0, 0]), 2)
    array([0. , 0.5])
    """
    total = np.zeros((len(y), max(1, n_classes)))
    times_out = np.zeros(len(y))
    errors = []
    for vote, unseen in zip(votes, out, strict=True):
        total[unseen] += vote[unseen]
        times_out += unseen
        seen = times_out > 0
        errors.append(_error(total[seen], times_out[seen], y[seen], n_classes))
    return np.array(errors)


def outside(bags: list[Indices], n: int) -> Mask:
    """Mark the examples that are in none of the draws of each bag (G8).

    >>> outside([np.array([0, 0, 2])], 3)
    array([[False,  True, False]])
    """
    out = np.ones((len(bags), n), dtype=np.bool_)
    for row, bag in zip(out, bags, strict=True):
        row[bag] = False
    return out


def ballot(predictions: NDArray[np.generic], n_classes: int) -> Matrix:
    """Return one vote a row: a 1 for the predicted class, or the real value itself.

    >>> ballot(np.array([1, 0]), 2)
    array([[0., 1.], [1., 0.]])
    """
    if n_classes == 0:
        return np.asarray(predictions, dtype=np.float64)[:, None]
    return np.asarray(predictions[:, None] == np.arange(n_classes), dtype=np.float64)


def _error(total: Matrix, counts: Vector, y: Vector | Indices, n_classes: int) -> float:
    if not len(y):
        return float("nan")
    if n_classes:
        return float(np.mean(np.argmax(total, axis=1) != y))
    return float(np.mean((total[:, 0] / counts - y) ** 2))


def _check_targets(
    y: ArrayLike, n: int, combine: str, n_classes: int | None
) -> tuple[Vector | Indices, int]:
    if combine == "average":
        return check_vector(y, "y", n), 0
    return check_classes(y, n, n_classes)
