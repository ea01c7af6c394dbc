"""The solvers that are compared, ours and the peers', called as a user calls them."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from svmlab.types import Vector

OURS = "svmlab"
TOL = 1e-3
CACHE_MB = 200
KERNEL = {OURS: "svmlab", "scikit-learn": "sklearn.svm", "scikit-learn-intelex": "sklearnex.svm"}
LINEAR = {
    "svmlab LinearSVC": "svmlab",
    "svmlab svm_sgd": "svmlab.sgd",
    "LinearSVC": "sklearn.svm",
    "SGDClassifier": "sklearn.linear_model",
}
NEVER = 1e-12  # a tolerance that no run meets: the epochs decide


def is_installed(side: str) -> bool:
    """Tell whether a side can be imported."""
    module = (KERNEL | LINEAR)[side]
    return find_spec(module.split(".")[0]) is not None


def is_ours(side: str) -> bool:
    return side.startswith(OURS)


def load_side(side: str) -> Any:
    """Import a solver and return its class or function."""
    module = import_module((KERNEL | LINEAR)[side])
    return getattr(module, "SVC" if side in KERNEL else side.split()[-1])


def kernel_machine(side: str, C: float, gamma: float, n_jobs: int = 1) -> Any:
    """Return an untrained machine with the Gaussian kernel, the same settings for every side."""
    make = load_side(side)
    threads = {"n_jobs": n_jobs} if "n_jobs" in make().get_params() else {}
    return make(C=C, gamma=gamma, tol=TOL, cache_size=CACHE_MB, **threads)


def linear_weights(side: str, X: Any, y: Vector, lam: float, epochs: int, seed: int) -> Vector:
    """Return w after so many epochs: hinge loss, no intercept, rows shuffled by the seed."""
    solve = load_side(side)
    C = 1.0 / (y.size * lam)
    if side == "svmlab svm_sgd":
        rng = np.random.default_rng(seed)
        return np.asarray(solve(X, y, lam, n_epochs=epochs, rng=rng, record_objective=False).w)
    options: dict[str, Any] = {"fit_intercept": False, "max_iter": epochs, "random_state": seed}
    if side == "SGDClassifier":
        machine = solve(loss="hinge", alpha=lam, tol=None, **options)
    else:
        machine = solve(loss="hinge", C=C, tol=NEVER, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the tolerance is not met is what was asked for
        return np.asarray(machine.fit(X, y).coef_[0])


def linear_machine(side: str, lam: float, n: int, seed: int) -> Any:
    """Return an untrained machine that stops by its own rule, with its own tolerance.

    The defaults of the two ``LinearSVC`` are the same, 1e-4. ``svm_sgd`` has no rule but its
    epochs: it stands there as the estimator ``SGDSVC``, 50 epochs by default.
    """
    options: dict[str, Any] = {"fit_intercept": False, "random_state": seed}
    if side == "svmlab svm_sgd":
        return import_module("svmlab").SGDSVC(lam=lam, **options)
    if side == "SGDClassifier":
        return load_side(side)(loss="hinge", alpha=lam, **options)
    return load_side(side)(loss="hinge", C=1.0 / (n * lam), **options)
