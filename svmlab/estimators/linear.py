"""Linear classifiers that see one example at a time: Pegasos, SGD, the perceptron."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from svmlab.estimators._base import (
    Examples,
    LinearClassifier,
    generator,
    one_versus_rest_signs,
    weights_with_classes,
)
from svmlab.pegasos import pegasos, soft_svm_sgd
from svmlab.perceptron import perceptron
from svmlab.rows import take, with_bias_column
from svmlab.sgd import svm_sgd
from svmlab.types import Indices, Rows
from svmlab.validation import check_rows


def split_off_validation(
    codes: Indices, fraction: float, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Return the rows to train on and to validate on: a share of each class, at least one (M13).

    >>> train, validate = split_off_validation(np.repeat([0, 1], 5), 0.2, np.random.default_rng(0))
    >>> len(train), len(validate)
    (8, 2)
    """
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"validation_fraction must lie between 0 and 1, got {fraction}")
    counts = np.bincount(codes)
    if counts.min() < 2:
        raise ValueError(
            "a validation set needs two examples of each class, one to train on and one to hold "
            f"out, but class number {counts.argmin()} has {counts.min()}"
        )
    held_out = np.zeros(codes.size, dtype=np.bool_)
    for k, count in enumerate(counts):
        taken = min(max(1, round(fraction * count)), count - 1)
        held_out[rng.permutation(np.flatnonzero(codes == k))[:taken]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def rows_of(examples: Examples, fit_intercept: bool) -> Rows:
    """Return the rows in the solvers' form, with a column of ones for an intercept (M2)."""
    rows = check_rows(examples.X)
    return with_bias_column(rows) if fit_intercept else rows


class Pegasos(LinearClassifier):
    """Linear SVM trained by Pegasos (S9), or by its averaged twin (G5).

    It minimises λ/2 ‖w‖² plus the weighted mean of the hinge loss. More than two classes are
    handled one versus rest (S6). The result depends on the draws; the more steps, the less.

    Parameters
    ----------
    lam : λ, above 0; for a cost C and n examples it is 1/(nC)
    n_steps : steps taken
    batch_size : examples a step
    projection : whether to project onto the ball of radius 1/√λ after each step
    average : whether to return the mean of the iterates (G5: one example a step, no projection)
    fit_intercept : whether to append a column of ones, penalised with w (M2)
    class_weight : None, dict or ``"balanced"`` (eq-class-weight)
    random_state : draws the batches

    Attributes
    ----------
    classes_, coef_ (1, d) or (k, d), intercept_ (1,) or (k,), n_iter_ (steps)

    >>> X, y = [[2.0], [1.0], [-1.0], [-2.0]], ["b", "b", "a", "a"]
    >>> Pegasos(lam=0.1, n_steps=2000, random_state=0).fit(X, y).predict([[3.0], [-3.0]])
    array(['b', 'a'], dtype='<U1')
    """

    def __init__(
        self,
        *,
        lam: float = 1e-4,
        n_steps: int = 100_000,
        batch_size: int = 1,
        projection: bool = False,
        average: bool = False,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.projection = projection
        self.average = average
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X, dense or CSR; weights are 0 or above."""
        if self.average and (self.batch_size != 1 or self.projection):
            raise ValueError("average=True goes with batch_size=1 and projection=False")
        examples = self._check_classification(X, y, sample_weight)
        weights = weights_with_classes(self.class_weight, self.classes_, examples)
        rng = generator(self.random_state)
        rows = rows_of(examples, self.fit_intercept)
        train = soft_svm_sgd
        if not self.average:
            train = partial(pegasos, batch_size=self.batch_size, projection=self.projection)
        machines = [
            train(rows, s, self.lam, self.n_steps, rng, sample_weight=weights)
            for s in one_versus_rest_signs(examples.y, len(self.classes_))
        ]
        self._store(np.array([m.w for m in machines]), examples.X.shape[1])
        self.n_iter_ = self.n_steps
        return self


class SGDSVC(LinearClassifier):
    """Linear SVM trained by SGD as it is run at scale (M11, M12, M13).

    It minimises λ/2 ‖w‖² plus the weighted mean of the hinge loss by :func:`svmlab.sgd.svm_sgd`:
    shuffled epochs, a rate calibrated on a subsample, and if asked to, early stopping. More than
    two classes are handled one versus rest (S6).

    Parameters
    ----------
    lam : λ, above 0; for a cost C and n examples it is 1/(nC)
    max_iter : epochs, or epochs at most with early stopping
    eta0 : first rate (eq-sgd-rate); calibrated if None (eq-calibration)
    early_stopping : whether to stop when the loss on held-out examples no longer falls
    validation_fraction : share of the examples held out for that
    n_iter_no_change : epochs without a new lowest loss before it stops
    fit_intercept : whether to append a column of ones, penalised with w (M2)
    class_weight : None, dict or ``"balanced"`` (eq-class-weight)
    random_state : shuffles, holds out, draws the subsample

    Attributes
    ----------
    classes_, coef_ (1, d) or (k, d), intercept_ (1,) or (k,), n_iter_ (most epochs of a machine)

    >>> X, y = [[2.0], [1.0], [-1.0], [-2.0]], ["b", "b", "a", "a"]
    >>> SGDSVC(lam=0.1, random_state=0).fit(X, y).predict([[3.0], [-3.0]])
    array(['b', 'a'], dtype='<U1')
    """

    def __init__(
        self,
        *,
        lam: float = 1e-4,
        max_iter: int = 50,
        eta0: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.max_iter = max_iter
        self.eta0 = eta0
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of X, dense or CSR; weights are 0 or above."""
        examples = self._check_classification(X, y, sample_weight)
        weights = weights_with_classes(self.class_weight, self.classes_, examples)
        rng = generator(self.random_state)
        rows, codes = rows_of(examples, self.fit_intercept), examples.y
        train, held_out = np.arange(codes.size), None
        X_train, X_val = rows, None
        if self.early_stopping:
            train, held_out = split_off_validation(codes, self.validation_fraction, rng)
            X_train, X_val = take(rows, train), take(rows, held_out)
        machines = [
            svm_sgd(
                X_train,
                s[train],
                self.lam,
                n_epochs=self.max_iter,
                rng=rng,
                eta0=self.eta0,
                X_val=X_val,
                y_val=None if held_out is None else s[held_out],
                patience=self.n_iter_no_change,
                record_objective=False,
                sample_weight=weights[train],
                sample_weight_val=None if held_out is None else weights[held_out],
            )
            for s in one_versus_rest_signs(codes, len(self.classes_))
        ]
        self._store(np.array([m.w for m in machines]), examples.X.shape[1])
        self.n_iter_ = max(m.n_iter for m in machines)
        return self


class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron with the lecture's four stopping rules (M3).

    More than two classes are handled one versus rest (S6). There are no weights of examples: the
    perceptron minimises nothing that could be weighted.

    Parameters
    ----------
    eta0 : a constant rate, or the pair (c₁, c₂) of eq-perceptron-rate
    stop : {"training_error", "rate", "validation_error", "max_passes"}, the rule
        (:func:`svmlab.perceptron.perceptron`); a pass without a mistake always stops
    max_iter : passes over the data at most
    n_iter_no_change : passes that the rules on errors wait
    min_rate : where the rule ``"rate"`` stops
    validation_fraction : share of the examples held out for the rule ``"validation_error"``
    fit_intercept : whether to append a column of ones (M2)
    shuffle : whether to shuffle before each pass
    random_state : shuffles and holds out

    Attributes
    ----------
    classes_, coef_ (1, d) or (k, d), intercept_ (1,) or (k,), n_iter_ (most passes of a machine)

    >>> X, y = [[2.0], [1.0], [-1.0], [-2.0]], ["b", "b", "a", "a"]
    >>> Perceptron().fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        *,
        eta0: float | tuple[float, float] = 1.0,
        stop: str = "training_error",
        max_iter: int = 1000,
        n_iter_no_change: int = 5,
        min_rate: float = 1e-3,
        validation_fraction: float = 0.1,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.eta0 = eta0
        self.stop = stop
        self.max_iter = max_iter
        self.n_iter_no_change = n_iter_no_change
        self.min_rate = min_rate
        self.validation_fraction = validation_fraction
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train on the rows of X, dense or CSR."""
        examples = self._check_classification(X, y, None)
        rng = generator(self.random_state)
        rows, codes = rows_of(examples, self.fit_intercept), examples.y
        train, held_out = np.arange(codes.size), None
        X_train, X_val = rows, None
        if self.stop == "validation_error":
            train, held_out = split_off_validation(codes, self.validation_fraction, rng)
            X_train, X_val = take(rows, train), take(rows, held_out)
        machines = [
            perceptron(
                X_train,
                s[train],
                rate=self.eta0,
                stop=self.stop,
                max_passes=self.max_iter,
                patience=self.n_iter_no_change,
                min_rate=self.min_rate,
                rng=rng if self.shuffle else None,
                X_val=X_val,
                y_val=None if held_out is None else s[held_out],
            )
            for s in one_versus_rest_signs(codes, len(self.classes_))
        ]
        self._store(np.array([m.w for m in machines]), examples.X.shape[1])
        self.n_iter_ = max(m.n_iter for m in machines)
        return self
