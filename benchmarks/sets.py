"""The problems of the benchmark: which data, how prepared, with which C and γ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.preprocessing import scale

from svmlab.datasets import RCV1_COLUMNS, RCV1_ROWS, blobs, rcv1_like
from svmlab.loaders import RealData, load
from svmlab.types import CSR, Rows, Vector

SEED = 0
GROWING_COLUMNS = 10
GROWING_GAMMA = 1.0 / GROWING_COLUMNS


class KernelProblem(NamedTuple):
    """A problem for the Gaussian kernel; ``gamma`` None is 1/(d · Var X), scikit-learn's default.

    ``case`` names the target that it belongs to (:data:`compare.TARGETS`).
    """

    name: str
    data: str
    prepare: Callable[[RealData], tuple[Any, Vector]]
    C: float = 1.0
    gamma: float | None = None
    case: str = ""


class LinearProblem(NamedTuple):
    """A problem for linear machines, λ given; ``load`` takes the folder with the data."""

    name: str
    data: str
    load: Callable[[Path | None], tuple[Any, Vector]]
    case: str = ""
    lam: float = 1e-4


def as_scipy(X: Rows) -> Any:
    """Return sparse rows as scipy's, which every side takes; dense ones as they are."""
    return csr_matrix((X.data, X.indices, X.indptr), shape=X.shape) if isinstance(X, CSR) else X


def width(X: Any, gamma: float | None) -> float:
    """Return γ, by default 1/(d · Var X).

    >>> width(np.array([[0.0], [2.0]]), None)
    1.0
    """
    return float(1.0 / (X.shape[1] * X.var())) if gamma is None else gamma


def as_it_is(data: RealData) -> tuple[Any, Vector]:
    return as_scipy(data.X), data.y


def scaled(data: RealData) -> tuple[Any, Vector]:
    """Return columns of mean 0 and variance 1."""
    return scale(data.X), data.y


def low_or_high_digit(data: RealData) -> tuple[Any, Vector]:
    """Return the digits 0–4 against 5–9, grey values from 0 to 1."""
    return np.asarray(data.X) / 16.0, np.where(data.y < 5, -1.0, 1.0)


def kernel_problems(quick: bool) -> list[KernelProblem]:
    """Return the problems of the kernel table; the quick ones need no folder."""
    cancer = KernelProblem("breast_cancer", "breast_cancer", scaled, case="small")
    digits = KernelProblem("digits 0–4 against 5–9", "digits", low_or_high_digit, case="small")
    if quick:
        return [cancer, cancer._replace(C=100.0, case=""), digits]
    heart = KernelProblem("heart", "heart", as_it_is, case="small")
    spam = KernelProblem("spambase, scaled", "spambase", scaled, case="small")
    unscaled = spam._replace(name="spambase, not scaled", prepare=as_it_is)
    return [
        heart,
        cancer,
        digits,
        *(
            p._replace(C=C, case="large C" if C > 1 else "small")
            for p in (spam, unscaled)
            for C in (1.0, 100.0, 1e4)
        ),
        KernelProblem("adult", "adult", as_it_is, gamma=1.0 / 123.0, case="adult"),
        KernelProblem("ijcnn1", "ijcnn1", as_it_is, gamma=0.5, case="ijcnn1"),
    ]


def linear_problems(quick: bool) -> list[LinearProblem]:
    """Return the problems of the linear tables; what is generated says so in its name."""
    if quick:
        return [LinearProblem("synthetic text, 4,000 rows", "", lambda _: text(4_000, 4_000))]
    name = f"synthetic, like RCV1, {RCV1_ROWS:,} rows"
    return [
        LinearProblem("20news, comp.* against the rest", "20news", computers, "20news"),
        LinearProblem(name, "", lambda _: text(RCV1_ROWS, RCV1_COLUMNS), "rcv1"),
    ]


def text(n: int, d: int) -> tuple[Any, Vector]:
    """Generate synthetic text (:func:`svmlab.datasets.rcv1_like`)."""
    X, y = rcv1_like(n, d, rng=np.random.default_rng(SEED))
    return as_scipy(X), y


def computers(folder: Path | None) -> tuple[Any, Vector]:
    """Return the posts of the groups comp.* against all others."""
    data = load("20news", folder)
    positive = [k for k, name in enumerate(data.names) if name.startswith("comp.")]
    return as_scipy(data.X), np.where(np.isin(data.y, positive), 1.0, -1.0)


def growing_data(kind: str, n: int) -> tuple[Any, Vector]:
    """Generate n rows for a kernel machine or a linear one, as many as are asked for."""
    if kind == "kernel":
        return blobs(n, np.random.default_rng(SEED), d=GROWING_COLUMNS)
    return text(n, RCV1_COLUMNS)
