"""SVM-SGD as it is run at scale: a calibrated rate, w = s·v for sparse rows, early stopping.

All functions minimise :func:`svmlab.primal.regularized_risk`, which has no intercept; append a
column of ones to have one (M2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmlab.primal import regularized_risk, slack
from svmlab.rows import shuffled, squared_norms, take
from svmlab.scaled_weights import ScaledWeights, shares
from svmlab.types import PrimalResult, Rows, Vector, warn_not_converged
from svmlab.validation import (
    check_count,
    check_positive,
    check_rows,
    check_signs,
    check_validation_set,
)

FACTORS = (100.0, 10.0, 1.0, 0.1, 0.01)
CALIBRATION_ROWS = 1000


def learning_rate(t: Vector, lam: float, eta0: float, t0: float | None = None) -> Vector:
    r"""Return the rate of step t = 0, 1, 2, … (M11).

    .. math::
        \eta_t = \frac{\eta_0}{1 + t/t_0},\qquad t_0 = \frac1{\lambda\eta_0} \text{ unless given}
        \tag{eq-sgd-rate}

    It multiplies λw + ∂L, the gradient of one example. In front of w + nC·∂L = (λw + ∂L)/λ it reads
    η/(t + t₀) with η = λη₀t₀. The default t₀ makes η = 1: the rate ends as Pegasos' 1/(λt), and η₀,
    the first rate, is all that is left to choose.

    >>> learning_rate(np.array([0.0, 10.0]), lam=0.1, eta0=1.0)
    array([1. , 0.5])
    """
    return eta0 / (1.0 + t / (1.0 / (lam * eta0) if t0 is None else t0))


def typical_rate(X: Rows, lam: float) -> float:
    r"""Return a first rate that moves the weights by about their expected length (M11).

    .. math:: \eta_0\, r = \sqrt{\frac1r \cdot \frac1{\sqrt\lambda}},\qquad
        r^2 = \frac1n \sum_i \|x_i\|^2  \tag{eq-first-rate}

    The left side is the length of the first update. On the right is Bottou's guess at ‖w‖: the
    geometric mean of 1/r, which gives a typical row the margin 1, and of the largest length that
    the optimum can have. For rows of length 1 it is his λ^(−1/4), and t₀ = λ^(−3/4).

    >>> typical_rate(np.array([[1.0], [-1.0]]), lam=1e-4)
    10.0
    """
    r = float(np.sqrt(squared_norms(X).mean())) or 1.0
    return float(lam**-0.25 * r**-1.5)


def calibrate_rate(
    X: Any,
    y: ArrayLike,
    lam: float,
    rng: np.random.Generator,
    *,
    factors: tuple[float, ...] = FACTORS,
    n_rows: int = CALIBRATION_ROWS,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Choose the first rate η₀ by trying several on a subsample for one epoch (M11).

    .. math:: \eta_0 = \arg\min_{c\,\eta_{\text{typ}}} F_A(w_c),\qquad
        c \in \{100, 10, 1, 0.1, 0.01\}
        \tag{eq-calibration}

    w_c are the weights after one pass over the subsample A, and η_typ is :func:`typical_rate`.

    Parameters
    ----------
    X, y, lam : the problem, as for :func:`svm_sgd`
    rng : draws the subsample
    factors : the multiples of the typical rate to try
    n_rows : size of the subsample
    sample_weight : (n,) weights of the rows in the mean loss

    >>> X, y = np.array([[2.0], [-1.0], [1.0], [-2.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    >>> round(calibrate_rate(X, y, 0.1, np.random.default_rng(0)), 3)
    0.894
    """
    X, y = _check_problem(X, y, lam)
    check_count(n_rows=n_rows)
    check_positive(**{f"factors[{k}]": factor for k, factor in enumerate(factors)})
    return _best_rate(X, y, lam, shares(sample_weight, X.shape[0]), rng, factors, n_rows)


def _best_rate(
    X: Rows,
    y: Vector,
    lam: float,
    share: Vector,
    rng: np.random.Generator,
    factors: tuple[float, ...] = FACTORS,
    n_rows: int = CALIBRATION_ROWS,
) -> float:
    """Do the work of :func:`calibrate_rate` for a problem that is checked."""
    n = X.shape[0]
    sample = rng.permutation(n) if n_rows >= n else rng.choice(n, n_rows, replace=False)
    A, y_A = take(X, sample), y[sample]
    rates = [factor * typical_rate(A, lam) for factor in factors]
    costs = [_cost_after_one_epoch(A, y_A, lam, share[sample], rate) for rate in rates]
    return rates[int(np.argmin(costs))]


def svm_sgd(
    X: Any,
    y: ArrayLike,
    lam: float,
    *,
    n_epochs: int,
    rng: np.random.Generator,
    eta0: float | None = None,
    t0: float | None = None,
    X_val: Any = None,
    y_val: ArrayLike | None = None,
    patience: int = 1,
    record_objective: bool = True,
    sample_weight: ArrayLike | None = None,
    sample_weight_val: ArrayLike | None = None,
) -> PrimalResult:
    r"""Minimise the regularised risk by SGD over shuffled epochs (M11, M12, M13).

    .. math:: w_{t+1} = (1 - \eta_t\lambda)\, w_t + \eta_t\, [y_i\, w_t \cdot x_i < 1]\, y_i x_i
        \tag{eq-svm-sgd}

    Each epoch visits every row once, in a new order. With a validation set it stops when the mean
    hinge loss there has not fallen for ``patience`` epochs, and returns the weights of the best
    epoch; otherwise it runs for ``n_epochs`` and returns the last weights.

    Parameters
    ----------
    X : (n, d) rows, dense or CSR; never copied
    y : (n,) signs
    lam : the regulariser; :func:`svmlab.primal.lam_from_C` gives it for a C
    n_epochs : how many epochs, or how many at most with a validation set
    rng : shuffles, and draws the subsample for the calibration
    eta0, t0 : the constants of :func:`learning_rate`; by default η₀ is calibrated
    X_val, y_val : a validation set that stops the training
    patience : epochs without a new lowest validation loss before it stops
    record_objective : whether to evaluate the objective after each epoch, half an epoch's work
    sample_weight, sample_weight_val : weights of the rows in the mean losses (eq-shares)

    Returns
    -------
    PrimalResult
        Without a validation set ``converged`` only says that the epochs were run; ``gap`` says how
        far from the optimum w is at most. ``history``: "step" (epochs), "objective" and
        "validation_loss" where there are such, and "eta0", the first rate.

    >>> X, y = np.array([[2.0], [-1.0], [1.0], [-2.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    >>> svm_sgd(X, y, 0.1, n_epochs=400, rng=np.random.default_rng(0)).w.round(1)
    array([1.])
    """
    X, y = _check_problem(X, y, lam)
    check_count(n_epochs=n_epochs, patience=patience)
    check_positive(**{name: c for name, c in (("eta0", eta0), ("t0", t0)) if c is not None})
    validation = check_validation_set(X_val, y_val, X.shape[1])
    n = X.shape[0]
    share = shares(sample_weight, n)
    eta0 = _best_rate(X, y, lam, share, rng) if eta0 is None else eta0

    machine = ScaledWeights(X, y, lam, share, n_visits=n * n_epochs)
    watch = None
    if validation:
        weights = shares(sample_weight_val, validation[0].shape[0])
        watch = _ValidationWatch(*validation, weights, patience)
    objectives = []
    for epoch in range(n_epochs):
        rates = learning_rate(np.arange(epoch * n, (epoch + 1.0) * n), lam, eta0, t0)
        machine.step(shuffled(n, rng)[:, None], rates)
        if record_objective:
            objectives.append(machine.objective())
        if watch and watch.stops(machine.w):
            break
    return _result(machine, watch, np.array(objectives), epoch + 1, eta0)


def epochs_from_subsamples(
    X: Any,
    y: ArrayLike,
    lam: float,
    rng: np.random.Generator,
    *,
    n_rows: int = 10_000,
    max_epochs: int = 100,
    patience: int = 2,
) -> int:
    """Return how many epochs to train for, found on two disjoint subsamples (M13).

    Train on A, validate on B after each epoch, and return the epoch at which the loss on B was
    lowest. A and B hold ``n_rows`` rows each, or half of the data where there are fewer.

    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([1.0, -1.0], 50)
    >>> X = y[:, None] + rng.normal(size=(100, 3))
    >>> 1 <= epochs_from_subsamples(X, y, 0.01, rng, max_epochs=50) < 50
    True
    """
    X, y = _check_problem(X, y, lam)
    check_count(n_rows=n_rows, max_epochs=max_epochs, patience=patience)
    size = min(n_rows, X.shape[0] // 2)
    order = rng.permutation(X.shape[0])
    A, B = order[:size], order[size : 2 * size]
    result = svm_sgd(
        take(X, A),
        check_signs(y[A], size, "y of subsample A"),
        lam,
        n_epochs=max_epochs,
        rng=rng,
        X_val=take(X, B),
        y_val=check_signs(y[B], size, "y of subsample B"),
        patience=patience,
        record_objective=False,
    )
    return int(np.argmin(result.history["validation_loss"])) + 1


def epochs_without_progress(costs: Sequence[float]) -> int:
    r"""Return how many epochs ago the cost was lowest; training stops when that is too long (M13).

    .. math:: t - \arg\min_{s \le t} c_s \ge \text{patience}  \tag{eq-early-stopping}

    >>> epochs_without_progress([5.0, 3.0, 4.0, 3.0])
    2
    """
    return len(costs) - 1 - int(np.argmin(costs))


class _ValidationWatch:
    """Watch the mean hinge loss on a validation set and keep the best weights (M13)."""

    def __init__(self, X_val: Rows, y_val: Vector, weights: Vector, patience: int) -> None:
        self.X_val, self.y_val, self.weights, self.patience = X_val, y_val, weights, patience
        self.losses: list[float] = []
        self.best_w = np.zeros(X_val.shape[1])

    def stops(self, w: Vector) -> bool:
        loss = float(np.average(slack(self.X_val, self.y_val, w), weights=self.weights))
        if not self.losses or loss < min(self.losses):
            self.best_w = w
        self.losses.append(loss)
        return self.is_over

    @property
    def is_over(self) -> bool:
        return epochs_without_progress(self.losses) >= self.patience


def _result(
    machine: ScaledWeights,
    watch: _ValidationWatch | None,
    objectives: Vector,
    n_iter: int,
    eta0: float,
) -> PrimalResult:
    history = {"step": np.arange(1.0, n_iter + 1), "eta0": np.array([eta0])}
    if objectives.size:
        history["objective"] = objectives
    w, stopped = machine.w, True
    if watch:
        history["validation_loss"] = np.array(watch.losses)
        w, stopped = watch.best_w, watch.is_over
        if not stopped:
            fall = watch.losses[-2] - watch.losses[-1] if n_iter > 1 else watch.losses[-1]
            warn_not_converged(
                "svm_sgd", "last fall of the validation loss", fall, 0.0, "raise n_epochs"
            )
    objective = regularized_risk(w, machine.X, machine.y, machine.lam, machine.share)
    bound = machine.bound()
    return PrimalResult(
        w=w,
        objective=objective,
        bound=bound,
        violation=objective - bound,
        converged=stopped,
        n_iter=n_iter,
        history=history,
    )


def _cost_after_one_epoch(X: Rows, y: Vector, lam: float, share: Vector, eta0: float) -> float:
    n = X.shape[0]
    machine = ScaledWeights(X, y, lam, share, n_visits=n * len(FACTORS))
    machine.step(np.arange(n)[:, None], learning_rate(np.arange(float(n)), lam, eta0))
    return machine.objective()


def _check_problem(X: Any, y: ArrayLike, lam: float) -> tuple[Rows, Vector]:
    rows = check_rows(X, keep_float32=True)
    check_positive(lam=lam)
    return rows, check_signs(y, rows.shape[0])
