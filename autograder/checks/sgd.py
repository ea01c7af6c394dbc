"""Checks of homework 3, first part: the steps of Pegasos, each alone on states drawn for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.checks.convert import STEP_LIMIT, compare, number, vector
from autograder.checks.rows import judge_vectors, show, unchanged
from autograder.checks.sgd_problems import (
    Batch,
    draw_batch_of,
    draw_lam,
    draw_margins,
    draw_weights,
    rows_with_margins,
)
from autograder.outcome import Verdict, full, none
from autograder.seeds import Draw
from autograder.student import Student
from svmlab.primal import regularized_risk
from svmlab.types import Matrix, Vector

STATES = 60
Case = tuple[Any, ...]


def objective(student: Student, draw: Draw) -> Verdict:
    """Judge F(w) where some margins are violated and some are not (S9, eq-regularized-risk)."""
    cases: list[Case] = []
    for _ in range(STATES):
        violated, satisfied = draw.rng.integers(1, 5, size=2)
        state = draw_batch_of(draw.rng, 1, violated, satisfied)
        cases.append((state.w, state.X, state.y, state.lam))
    return _judge_objective(student, cases)


def objective_edges(student: Student, draw: Draw) -> Verdict:
    """Judge each term of F alone, single examples and integers (S9, eq-regularized-risk)."""
    cases: list[Case] = []
    for k in range(STATES):
        w, X, y, lam, _ = draw_batch_of(draw.rng, 1, k % 3, 1 + k % 2)
        w, X = ((0.0 * w, X), (w, X), (w, np.rint(3.0 * X)))[k % 3]
        whole = k % 3 == 2
        cases.append((w, X.astype(np.int64) if whole else X, _labels(y, whole), lam))
    return _judge_objective(student, cases)


def _judge_objective(student: Student, cases: Sequence[Case]) -> Verdict:
    cases = sorted(cases, key=lambda case: case[1].size)  # the first wrong one is shown
    got = [number(answer, "objective") for answer in student.call_many("objective", cases)]
    expected = [regularized_risk(*case) for case in cases]
    scale = [max(0.5 * lam * w @ w, 1.0, np.abs(X * w).max()) for w, X, _, lam in cases]

    def words(k: int) -> str:
        return _batch(*cases[k])

    verdict = compare(got, expected, scale, "objective", words)
    return unchanged(verdict, student, "objective", cases[-1])


def _batch(w: Vector, X: Matrix, y: Vector, lam: float) -> str:
    rows = ", ".join(show(row) for row in X[:3])
    dots = ", …" if len(X) > 3 else ""
    return f"w = {show(w)}, X = [{rows}{dots}], y = {show(y)}, λ = {lam:g}"


def subgradient(student: Student, draw: Draw) -> Verdict:
    """Judge subgradients on both sides of margin 1, and of 0 (S9, eq-pegasos-subgradient)."""
    cases = _examples(draw.rng, STATES)
    expected = [-y * x if y * (w @ x) < 1.0 else 0.0 * x for w, x, y in cases]
    scale = [float(np.abs(x).max()) for _, x, _ in cases]
    return judge_vectors(
        student, "subgradient", cases, expected, scale, lambda k: _example(*cases[k])
    )


def subgradient_edges(student: Student, draw: Draw) -> Verdict:
    """Judge w = 0, integers, and margin 1, where every −c·yx with 0 ≤ c ≤ 1 is right (S9)."""
    cases: list[Case] = []
    for k, (w, x, y) in enumerate(_examples(draw.rng, STATES)):
        if k % 3 == 0:
            cases.append((0.0 * w, x, y))
        elif k % 3 == 1:  # margin exactly 1: all products are exact
            cases.append((np.where(np.arange(len(w)) == k % len(w), 0.5, 0.0), 0.0 * x + 2 * y, y))
        else:
            cases.append((np.rint(2 * w).astype(np.int64), np.rint(2 * x).astype(np.int64), int(y)))
    answers = student.call_many("subgradient", cases)
    worst = 0.0
    for case, answer in zip(cases, answers, strict=True):
        w, x, y = case
        v, margin = vector(answer, len(w), "subgradient"), y * (w @ x)
        scale = max(float(np.abs(x).max()), 1e-12)
        share = float(-y * (v @ x)) / max(float(x @ x), 1e-12)
        share = float(np.clip(share, 0.0, 1.0)) if margin == 1.0 else float(margin < 1.0)
        off = float(np.abs(v + share * y * x).max()) / scale
        worst = max(worst, off)
        if off > STEP_LIMIT:
            right = "between 0 and −yx" if margin == 1.0 else show(-share * y * x + 0.0)
            reason = f"For {_example(*case)} the margin is {margin:g} and the subgradient should be"
            return none(f"subgradient: {reason} {right}, yours is {show(v)}", off, STEP_LIMIT)
    verdict = full(f"subgradient is right on all {len(cases)} inputs", worst, STEP_LIMIT)
    return unchanged(verdict, student, "subgradient", cases[-2])


def _examples(rng: np.random.Generator, count: int) -> list[Case]:
    """Draw (w, x, y) with margins below 0, between 0 and 1, and above 1."""
    cases: list[Case] = []
    for k in range(count):
        w = draw_weights(rng)
        X, y = rows_with_margins(rng, w, draw_margins(rng, int(k % 3 != 0), int(k % 3 == 0)))
        cases.append((w, X[0], float(y[0])))
    return cases


def _example(w: Vector, x: Vector, y: float) -> str:
    return f"w = {show(w)}, x = {show(x)}, y = {y:g}"


def step_size(student: Student, draw: Draw) -> Verdict:
    """Judge the rate from t = 1 to a million, with t an integer (S9, eq-pegasos-rate)."""
    steps = [1, 2, 3, 7, 10, *(int(t) for t in 10.0 ** draw.rng.uniform(0.0, 6.0, STATES))]
    cases: list[Case] = [(t, draw_lam(draw.rng)) for t in steps]
    expected = [1.0 / (lam * t) for t, lam in cases]
    return _judge_numbers(student, "step_size", cases, expected, ("t", "λ"))


def lam_from_C(student: Student, draw: Draw) -> Verdict:
    """Judge λ for several C and n (S9, eq-lambda)."""
    rng = draw.rng
    cases: list[Case] = [
        (round(10.0 ** rng.uniform(-2.0, 3.0), 3), int(rng.integers(2, 5000)))
        for _ in range(STATES)
    ]
    cases += [(1, 10), (2.0, 1)]
    expected = [1.0 / (n * C) for C, n in cases]
    return _judge_numbers(student, "lam_from_C", cases, expected, ("C", "n"))


def _judge_numbers(
    student: Student,
    name: str,
    cases: Sequence[Case],
    expected: Sequence[float],
    names: Sequence[str],
) -> Verdict:
    """Compare positive numbers, each relative to itself."""
    got = [number(answer, name) for answer in student.call_many(name, cases)]

    def words(k: int) -> str:
        return ", ".join(f"{n} = {value:g}" for n, value in zip(names, cases[k], strict=True))

    return compare(got, expected, expected, name, words)


def update_single(student: Student, draw: Draw) -> Verdict:
    """Judge updates on one row at t = 1, 2, 7, violated or not (S9, eq-pegasos-update)."""
    states = [
        draw_batch_of(draw.rng, t, violated, 1 - violated)
        for t in (2, 7, 1)
        for violated in (1, 0)
        for _ in range(STATES // 6)
    ]
    return _judge_update(student, states)


def update_batch(student: Student, draw: Draw) -> Verdict:
    """Judge mini-batches with 0, 1 and 3 violators at t = 1, 2, 7 (S9, eq-pegasos-update)."""
    states = [
        draw_batch_of(draw.rng, t, violated, satisfied)
        for t in (2, 7, 1)
        for violated, satisfied in ((1, 1), (3, 2), (0, 4), (1, 4))
        for _ in range(STATES // 12)
    ]
    return _judge_update(student, states)


def update_states(student: Student, draw: Draw) -> Verdict:
    """Judge updates late in a run, at w = 0 and with labels of integers (S9)."""
    states = []
    for k in range(STATES):
        violated, satisfied = (int(count) for count in draw.rng.integers(0, 5, size=2))
        t = int(10.0 ** draw.rng.uniform(0.0, 4.0))
        state = draw_batch_of(draw.rng, t, violated, satisfied + (violated + satisfied == 0))
        state = state._replace(y=_labels(state.y, k % 2 == 1))
        states.append(state._replace(w=0.0 * state.w) if k % 5 == 0 else state)
    return _judge_update(student, states)


def _judge_update(student: Student, states: Sequence[Batch]) -> Verdict:
    states = sorted(states, key=lambda state: state.X.size)  # the first wrong one is shown
    expected, scale = [], []
    for w, X, y, lam, t in states:
        violated = y * (X @ w) < 1.0
        terms = (violated * y)[:, None] * X / (lam * t * len(y))
        expected.append((1.0 - 1.0 / t) * w + terms.sum(axis=0))
        scale.append(float(max(np.abs(w).max(), np.abs(terms).max())))

    def words(k: int) -> str:
        w, X, y, lam, t = states[k]
        violated = int(np.sum(y * (X @ w) < 1.0))
        return f"t = {t}, {_batch(w, X, y, lam)} ({violated} of {len(y)} margins below 1)"

    return judge_vectors(student, "update", states, expected, scale, words)


def project(student: Student, draw: Draw) -> Verdict:
    """Judge w inside, outside and on the ball, and w = 0 (S9, eq-pegasos-projection)."""
    cases: list[Case] = []
    for k in range(STATES):
        w, lam = draw_weights(draw.rng), draw_lam(draw.rng)
        length = (0.2, 0.9, 1.1, 1.5, 8.0)[k % 5] / np.sqrt(lam)
        cases.append((w * length / np.linalg.norm(w), lam))
    cases += [(np.zeros(3), 0.5), (np.array([2.0, 0.0]), 0.25), (np.array([3, 4]), 0.25)]
    expected = [w * min(1.0, 1.0 / np.sqrt(lam) / max(np.linalg.norm(w), 1e-9)) for w, lam in cases]
    scale = [float(np.abs(w).max()) for w, _ in cases]

    def words(k: int) -> str:
        w, lam = cases[k]
        radius, length = 1.0 / np.sqrt(lam), np.linalg.norm(w)
        return (
            f"an entry of w = {show(w)} with ‖w‖ = {length:.4g}, λ = {lam:g} (radius {radius:.4g})"
        )

    return judge_vectors(student, "project", cases, expected, scale, words)


def _labels(y: Vector, whole: bool) -> Any:
    return y.astype(np.int64) if whole else y


def cases_for_diagnosis() -> dict[str, list[Case]]:
    """Return fixed, public inputs of the steps on which each known mistake answers differently."""
    rng = np.random.default_rng(3)
    states = [
        draw_batch_of(rng, t, violated, satisfied, lam)
        for t, violated, satisfied, lam in (
            (1, 1, 0, 0.5),
            (2, 1, 1, 0.5),
            (2, 0, 5, 0.5),
            (7, 3, 2, 0.05),
            (7, 0, 3, 4.0),
            (40, 1, 0, 0.2),
            (5, 2, 1, 1.5),
        )
    ]
    w, lengths = np.array([0.6, -0.8]), (0.5, 1.0, 1.9, 5.0)
    return {
        "objective": [(s.w, s.X, s.y, s.lam) for s in states],
        "subgradient": _examples(rng, 24),
        "step_size": [(t, lam) for t in (1, 2, 9, 100) for lam in (0.1, 3.0)],
        "update": [tuple(state) for state in states],
        "project": [(a * w, lam) for a in lengths for lam in (0.25, 3.0)] + [(0.0 * w, 0.25)],
        "lam_from_C": [(C, n) for C in (0.5, 4.0) for n in (1, 10, 250)],
    }
