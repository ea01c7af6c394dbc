"""Rosenblatt's perceptron, with its learning rates and its four reasons to stop (M3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmlab._sgd_jit import perceptron_pass
from svmlab.losses import zero_one_loss
from svmlab.margins import functional_margins
from svmlab.rows import form_for, row_arrays
from svmlab.sgd import epochs_without_progress
from svmlab.types import Indices, PrimalResult, Rows, Vector, warn_not_converged
from svmlab.validation import (
    check_choice,
    check_count,
    check_positive,
    check_rows,
    check_signs,
    check_validation_set,
)

STOPPING_RULES = ("rate", "training_error", "validation_error", "max_passes")


def decaying_rate(t: Vector, c1: float, c2: float) -> Vector:
    r"""Return the rate for the t-th example seen, t = 1, 2, … (M3).

    .. math:: \eta_t = \frac{c_1}{t + c_2}  \tag{eq-perceptron-rate}

    >>> decaying_rate(np.array([1.0, 8.0]), c1=4.0, c2=8.0).round(3)
    array([0.444, 0.25 ])
    """
    return c1 / (t + c2)


def training_error(w: Vector, X: Rows, y: Vector) -> float:
    r"""Return the share of examples that w puts on the wrong side, or on the line (M3).

    .. math:: \frac1n \#\{i : y_i\, w \cdot x_i \le 0\}  \tag{eq-training-error}

    >>> training_error(np.array([1.0]), np.array([[2.0], [0.0]]), np.array([1.0, -1.0]))
    0.5
    """
    return float(zero_one_loss(functional_margins(X, y, w)).mean())


def perceptron(
    X: Any,
    y: ArrayLike,
    *,
    rate: float | tuple[float, float] = 1.0,
    stop: str = "max_passes",
    max_passes: int = 1000,
    patience: int = 5,
    min_rate: float = 1e-3,
    rng: np.random.Generator | None = None,
    X_val: Any = None,
    y_val: ArrayLike | None = None,
) -> PrimalResult:
    r"""Separate the classes by Rosenblatt's rule, from w = 0 and without an intercept (M3).

    .. math:: w \leftarrow w + \eta\, y_i x_i \quad\text{if } y_i\, w \cdot x_i \le 0
        \tag{eq-perceptron}

    If the data have margin γ and rows of length at most R, a constant rate makes at most (R/γ)²
    mistakes, and then none. If no w separates them, the weights move for ever, so that one of four
    rules must end it:

    - ``"rate"``: the rate c₁/(t + c₂) has fallen to ``min_rate``;
    - ``"training_error"``: the training error was the same after ``patience`` more passes;
    - ``"validation_error"``: the error on a validation set has not fallen for ``patience`` passes;
      the weights with the lowest are returned;
    - ``"max_passes"``: all passes are made.

    A pass without a mistake always ends it: nothing would change any more.

    Parameters
    ----------
    X : (n, d) rows, dense or CSR; append a column of ones for an intercept (M2)
    y : (n,) signs
    rate : a constant η, or the pair (c₁, c₂) of :func:`decaying_rate`
    stop : one of the four rules
    max_passes : passes over the data at most, under every rule
    patience : passes that the second and third rules wait
    min_rate : where the first rule stops
    rng : shuffles before each pass; without it the rows come in their own order
    X_val, y_val : the validation set of the third rule

    Returns
    -------
    PrimalResult
        ``objective`` and ``violation`` are the training error, ``n_iter`` counts passes, and
        ``converged`` says that the rule was met (for ``"max_passes"``: that no mistake is left).
        ``history``: "step", "mistakes" in each pass, "training_error" after it, "rate" at its end
        and "validation_error".

    >>> X, y = np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0])
    >>> result = perceptron(X, y)
    >>> result.w, result.history["mistakes"]
    (array([ 2., -3.]), array([2., 1., 2., 1., 2., 2., 1., 2., 0.]))
    """
    X = check_rows(X)
    y = check_signs(y, X.shape[0])
    c1, c2 = rate if isinstance(rate, tuple) else (rate, np.inf)
    _check_options(stop, c1, c2, max_passes, patience, min_rate)
    validation = check_validation_set(X_val, y_val, X.shape[1])
    if stop == "validation_error" and validation is None:
        raise ValueError("stop='validation_error' needs a validation set: give X_val and y_val")
    one_pass = _passes(X, y, c1, c2, rng, max_passes)

    w, best_w = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    history: dict[str, list[float]] = {key: [] for key in ("mistakes", "training_error", "rate")}
    history |= {"validation_error": []} if validation else {}
    stopped = False
    while not stopped and len(history["rate"]) < max_passes:
        mistakes, eta = one_pass(w, len(history["rate"]))
        history["mistakes"].append(mistakes)
        history["rate"].append(eta)
        history["training_error"].append(training_error(w, X, y))
        if validation:
            error = training_error(w, *validation)
            best_w = w.copy() if error < min(history["validation_error"], default=2.0) else best_w
            history["validation_error"].append(error)
        stopped = mistakes == 0 or _rule_met(stop, history, patience, min_rate)
    return _result(best_w if stop == "validation_error" else w, X, y, history, stop, stopped)


def _passes(
    X: Rows, y: Vector, c1: float, c2: float, rng: np.random.Generator | None, max_passes: int
) -> Callable[[Vector, int], tuple[int, float]]:
    """Return a function that makes the p-th pass on w and tells mistakes and the last rate."""
    rows, n = row_arrays(X), X.shape[0]
    run = form_for(perceptron_pass, rows, n * max_passes)

    def one_pass(w: Vector, p: int) -> tuple[int, float]:
        t = np.arange(p * n + 1.0, (p + 1) * n + 1.0)
        rates = np.full(n, c1) if np.isinf(c2) else decaying_rate(t, c1, c2)
        order: Indices = np.arange(n) if rng is None else rng.permutation(n)
        return int(run(w, rows, y, order, rates)), float(rates[-1])

    return one_pass


def _rule_met(stop: str, history: dict[str, list[float]], patience: int, min_rate: float) -> bool:
    if stop == "rate":
        return history["rate"][-1] <= min_rate
    if stop == "training_error":
        recent = history["training_error"][-patience - 1 :]
        return len(recent) > patience and len(set(recent)) == 1
    if stop == "validation_error":
        return epochs_without_progress(history["validation_error"]) >= patience
    return False


def _result(
    w: Vector, X: Rows, y: Vector, history: dict[str, list[float]], stop: str, stopped: bool
) -> PrimalResult:
    error, n_iter = training_error(w, X, y), len(history["rate"])
    if not stopped and stop != "max_passes":
        advice = f"the rule stop={stop!r} was not met; raise max_passes"
        warn_not_converged("perceptron", "training error", error, 0.0, advice)
    steps = {"step": np.arange(1.0, n_iter + 1.0)}
    return PrimalResult(
        w=w,
        objective=error,
        bound=0.0,
        violation=error,
        converged=stopped,
        n_iter=n_iter,
        history=steps
        | {key: np.array(values, dtype=np.float64) for key, values in history.items()},
    )


def _check_options(
    stop: str, c1: float, c2: float, max_passes: int, patience: int, min_rate: float
) -> None:
    check_choice(stop, STOPPING_RULES, "stop")
    check_count(max_passes=max_passes, patience=patience)
    check_positive(rate=c1, min_rate=min_rate)
    if not c2 >= 0:
        raise ValueError(f"rate = (c1, c2) needs c2 of 0 or above, got {c2!r}")
    if stop == "rate" and np.isinf(c2):
        raise ValueError(f"stop='rate' needs a decaying rate=(c1, c2), got the constant {c1!r}")
