"""Small seeded problems that several test files share."""

from __future__ import annotations

import numpy as np

from svmlab.kernels import kernel_matrix
from svmlab.types import Indices, Matrix, Vector


def overlapping(rng: np.random.Generator, n: int = 40, d: int = 3) -> tuple[Matrix, Vector]:
    """Two Gaussian clouds that no hyperplane separates, of unequal size."""
    y = np.where(np.arange(n) < 0.4 * n, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


def separable(rng: np.random.Generator, n: int = 40, d: int = 3) -> tuple[Matrix, Vector]:
    """Points at least 0.5 away from a hyperplane through (1, …, 1)."""
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(n, d))
    y = np.where(X @ w > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X - np.outer(X @ w, w) + np.outer(y * (0.5 + rng.exponential(size=n)), w) + 1.0, y


def random_dual(rng: np.random.Generator, kernel: str) -> tuple[Matrix, Vector, float]:
    """A Gram matrix, signs and C."""
    X, y = overlapping(rng, n=int(rng.integers(20, 60)), d=int(rng.integers(2, 6)))
    K = kernel_matrix(kernel, X, gamma=0.5, degree=2)
    return K, y, float(np.exp(rng.uniform(np.log(0.05), np.log(20))))


def three_classes(rng: np.random.Generator, n: int = 60) -> tuple[Matrix, Indices]:
    """Three clouds of equal size that hardly overlap."""
    codes = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + np.array([[0.0, 2.0], [2.0, 0.0], [-2.0, -2.0]])[codes], codes
