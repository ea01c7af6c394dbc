"""Checks of homework 4, first half: feature maps, kernels and the kernel machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autograder.checks.convert import STEP_LIMIT, array, compare, matrix
from autograder.checks.rows import judge_rows, show, unchanged
from autograder.outcome import Verdict, Wrong, full, none
from autograder.seeds import Draw
from autograder.student import Student
from svmlab import kernels
from svmlab.types import Matrix

CASES = 30


def quadratic_map(student: Student, draw: Draw, dimensions: Sequence[int] = (2,)) -> Verdict:
    """Judge the map by its inner products alone: any order of features is right (C11).

    Both sides of eq-quadratic-map come from separate calls, so that each row must be mapped by
    itself.
    """
    pairs = [_two_sets(draw.rng, d) for d in dimensions for _ in range(CASES // len(dimensions))]
    answers = student.call_many("quadratic_map", [(rows,) for pair in pairs for rows in pair])
    got, expected, scale, points = [], [], [], []
    for (X, Z), left, right in zip(pairs, answers[::2], answers[1::2], strict=True):
        phi, psi = _features(left, len(X)), _features(right, len(Z))
        if phi.shape[1] != psi.shape[1]:
            raise Wrong(
                f"quadratic_map gives {phi.shape[1]} features for {len(X)} rows and {psi.shape[1]} "
                f"for {len(Z)}: their number must depend on d alone"
            )
        got.append((phi @ psi.T).ravel())
        expected.append(kernels.polynomial_kernel(X, Z, degree=2).ravel())
        scale.append((1.0 + np.abs(X) @ np.abs(Z).T).ravel() ** 2)
        points += [(x, z) for x in X for z in Z]

    def case(k: int) -> str:
        x, z = points[k]
        return f"φ(x)·φ(z) with x = {show(x)}, z = {show(z)}"

    verdict = compare(
        np.concatenate(got), np.concatenate(expected), np.concatenate(scale), "quadratic_map", case
    )
    return unchanged(verdict, student, "quadratic_map", (pairs[-1][0],))


def polynomial_kernel(student: Student, draw: Draw) -> Verdict:
    """Judge the polynomial kernel for several degrees, γ and r (C12, eq-polynomial-kernel)."""
    cases = []
    for _ in range(CASES):
        X, Z = _two_sets(draw.rng, int(draw.rng.integers(1, 5)))
        gamma, coef0 = draw.rng.choice([0.25, 0.5, 2.0]), draw.rng.choice([0.0, 0.5, 1.0, 2.0])
        cases.append((X, Z, int(draw.rng.integers(1, 5)), float(gamma), float(coef0)))
    cases.sort(key=lambda case: case[0].shape[1])  # the first wrong one is shown
    scale = [
        (gamma * np.abs(X) @ np.abs(Z).T + coef0) ** degree for X, Z, degree, gamma, coef0 in cases
    ]
    return _judge_block(student, "polynomial_kernel", cases, scale, ("degree", "γ", "r"))


def gaussian_kernel(student: Student, draw: Draw) -> Verdict:
    """Judge the Gaussian kernel between two different sets (C12, eq-gaussian-kernel)."""
    cases = []
    for _ in range(CASES):
        X, Z = _two_sets(draw.rng, int(draw.rng.integers(1, 5)))
        cases.append((X, Z, float(draw.rng.choice([1e-3, 0.1, 0.5, 2.0]))))
    cases.sort(key=lambda case: (case[2] < 0.1, case[0].shape[1]))  # the first wrong one is shown
    scale = [np.ones((len(X), len(Z))) for X, Z, _ in cases]
    return _judge_block(student, "gaussian_kernel", cases, scale, ("γ",))


def gaussian_gram(student: Student, draw: Draw) -> Verdict:
    """Judge Gram matrices by what every one of them has: ones, symmetry, no negative eigenvalue.

    The points are near each other, far apart (nothing may overflow), and repeated (C12).
    """
    rng = draw.rng
    cases = []
    for gamma, size in ((0.5, 1.0), (2.0, 0.3), (1e-6, 1.0), (0.5, 40.0)):
        X = size * rng.normal(size=(int(rng.integers(5, 12)), int(rng.integers(1, 5))))
        cases.append((np.vstack((X, X[:2])), gamma))
    answers = student.call_many("gaussian_kernel", [(X, X, gamma) for X, gamma in cases])
    for (X, gamma), answer in zip(cases, answers, strict=True):
        K = matrix(answer, (len(X), len(X)), "gaussian_kernel(X, X, γ)")
        # float32 rounds the exponent, whose largest term may be far above 1
        limit = max(STEP_LIMIT, 3e-6 * gamma * float(np.sum(X**2, axis=1).max()))
        miss = float(np.abs(K - kernels.gaussian_kernel(X, X, gamma)).max())
        for fault, measured in [*_gram_faults(K), (f"is off by {miss:.3g}", miss)]:
            if measured > limit:
                points = f"X has {len(X)} rows, entries up to {np.abs(X).max():.3g}"
                reason = f"gaussian_kernel(X, X, {gamma:g}) {fault}. {points}"
                return none(reason, measured, limit)
    return full("gaussian_kernel gives Gram matrices: ones, symmetric, no negative eigenvalue")


def kernel_decision(student: Student, draw: Draw, sparse: bool = False) -> Verdict:
    """Judge decision values from a block of kernel values (C10, C14, eq-kernel-decision)."""
    rng = draw.rng
    cases = []
    for k in range(2 * CASES):
        m, n = (int(size) for size in rng.integers(1, 9, size=2))
        m = n if k % 3 == 0 else m  # a square block, not symmetric, shows a transposed product
        alpha = rng.uniform(0.1, 3.0, size=n).round(2)
        alpha[rng.uniform(size=n) > (0.4 if sparse else 1.0)] = 0.0
        y = rng.choice([-1, 1], size=n).astype(np.int64 if k % 2 else np.float64)
        cases.append((rng.normal(size=(m, n)).round(2), alpha, y, round(float(rng.normal()), 2)))
    cases.sort(key=lambda case: case[0].size)
    expected = [K @ (alpha * y) + b for K, alpha, y, b in cases]
    scale = [np.maximum(np.abs(K * alpha).max(axis=1), abs(b)) for K, alpha, _, b in cases]
    rows = [(k, i) for k, answer in enumerate(expected) for i in range(len(answer))]

    def words(k: int) -> str:
        K, alpha, y, b = cases[rows[k][0]]
        return f"the row {show(K[rows[k][1]])} of K, α = {show(alpha)}, y = {show(y)}, b = {b:g}"

    return judge_rows(student, "kernel_decision", cases, expected, scale, words)


def _two_sets(rng: np.random.Generator, d: int) -> tuple[Matrix, Matrix]:
    """Draw two sets of points, of different size as a rule."""
    n, m = rng.integers(1, 6, size=2)
    return rng.normal(size=(n, d)).round(2), rng.normal(size=(m, d)).round(2)


def _features(value: Any, n: int) -> Matrix:
    features = array(value, "quadratic_map(X)")
    if features.ndim != 2 or len(features) != n:
        raise Wrong(
            f"quadratic_map(X) should have a row of features for each row of X, here {n}; "
            f"it has shape {features.shape}"
        )
    return np.asarray(features)


def _gram_faults(K: Matrix) -> Iterator[tuple[str, float]]:
    """Yield what a Gram matrix of the Gaussian kernel may not do, and by how much this one does."""
    diagonal = np.abs(np.diag(K) - 1.0)
    i = int(diagonal.argmax())
    yield f"should have ones on its diagonal; K[{i}, {i}] is {K[i, i]:g}", float(diagonal[i])
    skew = np.abs(K - K.T)
    i, j = divmod(int(skew.argmax()), len(K))
    values = f"K[{i}, {j}] is {K[i, j]:g}, K[{j}, {i}] is {K[j, i]:g}"
    yield f"should be symmetric; {values}", float(skew[i, j])
    lowest = float(np.linalg.eigvalsh((K + K.T) / 2.0)[0])
    yield f"should have no negative eigenvalue; yours has {lowest:g}", -lowest


def _judge_block(
    student: Student,
    name: str,
    cases: Sequence[tuple[Any, ...]],
    scale: Sequence[Matrix],
    names: Sequence[str],
) -> Verdict:
    """Compare kernel values one by one with svmlab's kernel of the same name."""
    answers = student.call_many(name, cases)
    got, expected, points = [], [], []
    for (X, Z, *options), answer in zip(cases, answers, strict=True):
        got.append(
            matrix(answer, (len(X), len(Z)), f"{name} of {len(X)} and {len(Z)} rows").ravel()
        )
        expected.append(getattr(kernels, name)(X, Z, *options).ravel())
        points += [(x, z, options) for x in X for z in Z]

    def words(k: int) -> str:
        x, z, options = points[k]
        named = ", ".join(f"{key} = {value:g}" for key, value in zip(names, options, strict=True))
        return f"x = {show(x)}, z = {show(z)}, {named}"

    flat = np.concatenate([block.ravel() for block in scale])
    verdict = compare(np.concatenate(got), np.concatenate(expected), flat, name, words)
    return unchanged(verdict, student, name, cases[-1])


def cases_for_diagnosis() -> dict[str, list[tuple[Any, ...]]]:
    """Return fixed small inputs on which every mistake of the catalogue answers differently."""
    X, Z = (
        np.array([[1.0, 2.0, -1.0], [0.5, -3.0, 2.0]]),
        np.array([[2.0, 0.5, 1.5], [1.0, 0.0, -2.0]]),
    )
    K = np.array([[1.0, 0.5, -0.25], [0.5, 1.0, 2.0], [0.75, -1.0, 3.0]])
    alpha, y, b = np.array([0.5, 2.0, 1.25]), np.array([1, -1, 1]), -0.75
    return {
        "quadratic_map": [(X,), (X[:, :2],)],
        "polynomial_kernel": [(X, Z, 3, 0.5, 2.0), (X, Z[:1], 2, 0.25, 0.5)],
        "gaussian_kernel": [(X, Z, 0.3), (X, Z[:1], 0.05)],
        "kernel_decision": [(K, alpha, y, b), (K[:2], alpha, y, b)],
    }
