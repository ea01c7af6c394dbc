"""Choosing and trusting a model: folds, cross-validation, the choice of C, early stopping.

A model is a function ``fit(X, y)`` that returns a function ``predict(X)``, so that everything here
works with any solver; estimators with ``fit`` and ``predict`` are taken too. An error is a function
of (y, prediction), and smaller is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmlab.rows import take
from svmlab.sgd import epochs_without_progress
from svmlab.types import Indices, Matrix, Rows, Vector
from svmlab.validation import check_count, check_matrix, check_rows, check_vector, is_csr

Labels: TypeAlias = NDArray[Any]
Predict: TypeAlias = Callable[[Any], ArrayLike]
Fit: TypeAlias = Callable[[Any, Labels], Predict]
Error: TypeAlias = Callable[[Labels, Labels], float]


def mistake_rate(y: ArrayLike, prediction: ArrayLike) -> float:
    r"""Return the share of wrong predictions (M1).

    .. math:: \frac1n \#\{i : \hat y_i \ne y_i\}  \tag{eq-mistake-rate}

    >>> mistake_rate([1, -1, 1, 1], [1, 1, 1, 1])
    0.25
    """
    return float(np.mean(np.asarray(y) != np.asarray(prediction)))


def mean_squared_error(y: ArrayLike, prediction: ArrayLike) -> float:
    """Return the mean squared residual, the error to use in regression (C18).

    >>> mean_squared_error([1.0, 2.0], [1.0, 4.0])
    2.0
    """
    return float(np.mean((np.asarray(y) - np.asarray(prediction)) ** 2))


def kfold_indices(
    n: int, k: int, rng: np.random.Generator, y: ArrayLike | None = None
) -> list[Indices]:
    r"""Split 0 … n − 1 at random into k folds whose sizes differ by at most one (M1).

    .. math:: F_1 \cup \dots \cup F_k = \{1, \dots, n\},\qquad F_i \cap F_j = \emptyset
        \tag{eq-folds}

    With labels y the folds are stratified: the counts of each class differ by at most one as well.

    >>> [len(fold) for fold in kfold_indices(10, 3, np.random.default_rng(0))]
    [4, 3, 3]
    """
    check_count(n=n, k=k)
    if not 2 <= k <= n:
        raise ValueError(f"k must be between 2 and the number of examples {n}, got {k}")
    order = rng.permutation(n)
    if y is not None:
        order = order[np.argsort(_labels(y, n)[order], kind="stable")]
    return [np.sort(order[j::k]) for j in range(k)]  # dealing in turn spreads every class evenly


def train_validation_test_split(
    n: int, rng: np.random.Generator, shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
) -> tuple[Indices, Indices, Indices]:
    """Split 0 … n − 1 at random: to fit, to choose between fits, and to judge the choice once (M1).

    The validation set also stops training (M3, M13); the test set is looked at once, at the end.

    >>> [len(part) for part in train_validation_test_split(50, np.random.default_rng(0))]
    [30, 10, 10]
    """
    check_count(n=n)
    sizes = check_vector(shares, "shares", 3)
    if sizes.min() <= 0 or abs(sizes.sum() - 1.0) > 1e-9:
        raise ValueError(f"shares must be above 0 and sum to 1, got {shares!r}")
    first, second = (round(share * n) for share in np.cumsum(sizes)[:2])
    parts = np.split(rng.permutation(n), [first, second])
    if min(map(len, parts)) == 0:
        raise ValueError(f"n = {n} is too small for shares {shares!r}: a part is empty")
    train, validation, test = (np.sort(part) for part in parts)
    return train, validation, test


@dataclass(frozen=True)
class CrossValidation:
    """The error on each held-out fold, and how long each fit took."""

    errors: Vector
    fit_seconds: Vector

    @property
    def mean(self) -> float:
        """The cross-validated error."""
        return float(self.errors.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the error over the folds."""
        return float(self.errors.std(ddof=1))

    @property
    def standard_error(self) -> float:
        """Spread of the mean, as if the folds were independent (they share training examples)."""
        return self.spread / float(np.sqrt(self.errors.size))


def cross_validate(
    fit: Fit | Any,
    X: Rows,
    y: ArrayLike,
    k: int = 10,
    *,
    rng: np.random.Generator,
    error: Error = mistake_rate,
    stratify: bool = True,
) -> CrossValidation:
    r"""Fit k times, each time without one fold, and measure the error on that fold (M1).

    .. math::
        \mathrm{CV} = \frac1k \sum_{j=1}^k \operatorname{error}\bigl(
        y_{F_j},\ \hat f^{(-j)}(X_{F_j})\bigr)  \tag{eq-cross-validation}

    with f⁽⁻ʲ⁾ fitted to all examples but those of the fold Fⱼ.

    Parameters
    ----------
    fit : function (X, y) → predict, or an estimator with ``fit`` and ``predict`` (copied)
    X : (n, d) rows, dense or CSR (scikit-learn's estimators need scipy's, which is kept as it is)
    y : (n,) labels or targets
    k : number of folds
    rng : draws the folds
    error : function (y, prediction) → number; :func:`mean_squared_error` for regression
    stratify : keep the shares of the classes in each fold; turn it off for regression

    >>> X, y = np.arange(20.0)[:, None], np.where(np.arange(20) < 10, -1.0, 1.0)
    >>> majority = lambda X, y: lambda Z: np.full(len(Z), 1.0 if y.sum() >= 0 else -1.0)
    >>> cross_validate(majority, X, y, 5, rng=np.random.default_rng(0)).mean
    0.5
    """
    X, y = _examples(X, y)
    folds = kfold_indices(len(y), k, rng, y if stratify else None)
    return _validate_on(folds, as_fit(fit), X, y, error)


def as_fit(model: Fit | Any) -> Fit:
    """Return the model as a function (X, y) → predict; an estimator is copied for every fit (M1).

    >>> class Constant:
    ...     def fit(self, X, y):
    ...         self.value_ = y[0]
    ...         return self
    ...     def predict(self, X):
    ...         return np.full(len(X), self.value_)
    >>> as_fit(Constant())(np.zeros((2, 1)), np.ones(2))(np.zeros((1, 1)))
    array([1.])
    """
    if hasattr(model, "fit") and hasattr(model, "predict") and not isinstance(model, type):
        return partial(_fit_estimator, model)
    if not callable(model) or isinstance(model, type):
        raise ValueError(
            f"fit must be a function (X, y) → predict or an estimator object, got {model!r}"
        )
    return model


@dataclass(frozen=True)
class ChoiceOfC:
    """Which C cross-validation chose, and the error of every C on every fold."""

    C: float
    grid: Vector
    errors: Matrix

    @property
    def means(self) -> Vector:
        """The cross-validated error of each C."""
        return np.asarray(self.errors.mean(axis=1))

    @property
    def standard_errors(self) -> Vector:
        """The standard error of each mean."""
        return np.asarray(self.errors.std(axis=1, ddof=1) / np.sqrt(self.errors.shape[1]))


def choose_C(
    fit: Callable[[Any, Labels, float], Predict],
    X: Rows,
    y: ArrayLike,
    grid: ArrayLike,
    k: int = 10,
    *,
    rng: np.random.Generator,
    error: Error = mistake_rate,
    one_standard_error: bool = False,
    stratify: bool = True,
) -> ChoiceOfC:
    r"""Choose C by cross-validation, every C on the same folds (M6).

    .. math:: C^* = \min \{C : \mathrm{CV}(C) \le \min_{C'} \mathrm{CV}(C') + s\}
        \tag{eq-choose-c}

    with s = 0, or the standard error at the minimum if ``one_standard_error``: the most regularised
    machine that cannot be told from the best. Ties go to the smaller C.

    Parameters
    ----------
    fit : function (X, y, C) → predict
    grid : values of C, in any order

    >>> X, y = np.arange(20.0)[:, None], np.where(np.arange(20) < 10, -1.0, 1.0)
    >>> threshold_at = lambda X, y, C: lambda Z: np.where(Z[:, 0] > C, 1.0, -1.0)
    >>> choose_C(threshold_at, X, y, [3.0, 9.5, 15.0], 5, rng=np.random.default_rng(0)).C
    9.5
    """
    X, y = _examples(X, y)
    values = np.sort(check_vector(grid, "grid"))
    if values[0] <= 0:
        raise ValueError(f"grid must hold values of C above 0, got {values[0]:g}")
    folds = kfold_indices(len(y), k, rng, y if stratify else None)
    errors = np.array(
        [
            _validate_on(folds, lambda X, y, C=C: fit(X, y, C), X, y, error).errors  # type: ignore[misc]
            for C in map(float, values)
        ]
    )
    choice = ChoiceOfC(float(values[0]), values, errors)
    best = int(choice.means.argmin())
    limit = choice.means[best] + (choice.standard_errors[best] if one_standard_error else 0.0)
    return ChoiceOfC(float(values[np.flatnonzero(choice.means <= limit)[0]]), values, errors)


class EarlyStop(NamedTuple):
    """Where training stopped: the best epoch (counted from 0), and all costs seen till then."""

    best: int
    costs: Vector


def early_stopping(costs: Iterable[float], patience: int = 1) -> EarlyStop:
    """Stop after ``patience`` epochs without a new lowest cost, eq-early-stopping (M13).

    ``costs`` may be a generator that trains one epoch for every cost it yields: no cost is asked
    for after the stop. The best epoch is the model to keep, or tells how long to train on all data.

    >>> early_stopping([5.0, 3.0, 4.0, 2.0, 2.5, 2.5, 1.0], patience=2)
    EarlyStop(best=3, costs=array([5. , 3. , 4. , 2. , 2.5, 2.5]))
    """
    check_count(patience=patience)
    seen: list[float] = []
    for t, cost in enumerate(costs):
        if not np.isfinite(cost):
            raise ValueError(f"costs must be finite, but the cost of epoch {t} is {cost}")
        seen.append(float(cost))
        if epochs_without_progress(seen) >= patience:
            break
    if not seen:
        raise ValueError("costs is empty: at least one epoch is needed")
    return EarlyStop(int(np.argmin(seen)), np.array(seen))


@dataclass(frozen=True)
class Comparison:
    """Several models on the same folds; ``print`` shows them as a table."""

    results: Mapping[str, CrossValidation]

    def __str__(self) -> str:
        width = max(len("model"), *map(len, self.results))
        lines = [f"{'model':<{width}}  {'error':>8}  {'spread':>8}  {'fit [s]':>8}"]
        for name, result in self.results.items():
            lines.append(
                f"{name:<{width}}  {result.mean:8.4f}  {result.spread:8.4f}  "
                f"{result.fit_seconds.mean():8.3f}"
            )
        return "\n".join(lines)


def compare(
    models: Mapping[str, Fit | Any],
    X: Rows,
    y: ArrayLike,
    k: int = 10,
    *,
    rng: np.random.Generator,
    error: Error = mistake_rate,
    stratify: bool = True,
) -> Comparison:
    """Cross-validate several models, say SVMs and ensembles, on the same folds (M1, G8–G10).

    >>> X, y = np.arange(20.0)[:, None], np.where(np.arange(20) < 10, -1.0, 1.0)
    >>> models = {
    ...     "always +1": lambda X, y: lambda Z: np.ones(len(Z)),
    ...     "threshold": lambda X, y: lambda Z: np.where(Z[:, 0] > 9.5, 1.0, -1.0),
    ... }
    >>> print(compare(models, X, y, 5, rng=np.random.default_rng(0)))
    model         error    spread   fit [s]
    always +1    0.5000    0.0000     0.000
    threshold    0.0000    0.0000     0.000
    """
    X, y = _examples(X, y)
    if not models:
        raise ValueError("models is empty: name at least one model")
    fits = {name: as_fit(model) for name, model in models.items()}
    folds = kfold_indices(len(y), k, rng, y if stratify else None)
    return Comparison({name: _validate_on(folds, fit, X, y, error) for name, fit in fits.items()})


def _validate_on(
    folds: list[Indices], fit: Fit, X: Rows, y: Labels, error: Error
) -> CrossValidation:
    errors, seconds = np.empty(len(folds)), np.empty(len(folds))
    for j, fold in enumerate(folds):
        rest = np.setdiff1d(np.arange(len(y)), fold, assume_unique=True)
        start = perf_counter()
        predict = fit(take(X, rest), y[rest])
        seconds[j] = perf_counter() - start
        prediction = np.asarray(predict(take(X, fold)))
        if prediction.shape != fold.shape:
            raise ValueError(
                f"predict must return one value a row, {fold.shape}, got {prediction.shape}"
            )
        errors[j] = error(y[fold], prediction)
    return CrossValidation(errors, seconds)


def _fit_estimator(model: Any, X: Any, y: Labels) -> Predict:
    """Fit a fresh copy, which remembers nothing of other folds even if it starts warm."""
    if hasattr(model, "get_params"):
        fresh = type(model)(**deepcopy(model.get_params(deep=False)))
    else:
        fresh = deepcopy(model)
    return fresh.fit(X, y).predict  # type: ignore[no-any-return]


def _examples(X: Any, y: ArrayLike) -> tuple[Any, Labels]:
    """Check the rows, and keep sparse ones in the form in which they came."""
    if is_csr(X):
        check_rows(X)
    else:
        X = check_matrix(X)
    return X, _labels(y, X.shape[0])


def _labels(y: ArrayLike, n: int) -> Labels:
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label a row, {n}, got shape {labels.shape}")
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise ValueError("y must be finite; drop or impute such values first")
    return labels
