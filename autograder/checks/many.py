"""Checks of homework 4, second half: many classes, stumps and votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.checks.convert import integers, matrix, number
from autograder.checks.rows import judge_rows, show, unchanged
from autograder.outcome import Verdict, Wrong, full, half, none
from autograder.seeds import Draw
from autograder.student import Student
from svmlab import multiclass
from svmlab.ensembles import majority_vote as count_votes
from svmlab.types import Indices, Matrix, Vector

CASES = 30
STUMPS = 12
STUMP_EXCESS = 0.02  # of the examples: a stump found by another measure than the error
GRID = 64.0  # features are multiples of 1/64: thresholds in float32 stay on their side


def ovr_labels(student: Student, draw: Draw) -> Verdict:
    """Judge the ±1 labels of one machine a class, an empty class included (S6)."""
    cases = []
    for _ in range(CASES):
        n, k = int(draw.rng.integers(1, 9)), int(draw.rng.integers(2, 6))
        cases.append((draw.rng.integers(k, size=n), k))
    for (codes, k), answer in zip(cases, student.call_many("ovr_labels", cases), strict=True):
        got = matrix(answer, (len(codes), k), "ovr_labels(codes, k)")
        expected = np.where(codes[:, None] == np.arange(k), 1.0, -1.0)
        if not np.array_equal(got, expected):
            i = int(np.flatnonzero(np.any(got != expected, axis=1))[0])
            return none(
                f"ovr_labels: with k = {k} the row of an example of class {codes[i]} should be "
                f"{show(expected[i])}, yours is {show(got[i])}"
            )
    verdict = full(f"ovr_labels is right on all {len(cases)} inputs")
    return unchanged(verdict, student, "ovr_labels", cases[-1])


def predict_codes(student: Student, draw: Draw) -> Verdict:
    """Judge the prediction by the highest score, ties to the smallest code (S6, eq-argmax)."""
    sizes = [(int(draw.rng.integers(1, 9)), int(draw.rng.integers(2, 6))) for _ in range(CASES)]
    scores = [draw.rng.normal(size=size).round(2) for size in sizes]
    scores += [draw.rng.integers(-1, 2, size=(6, 4)).astype(np.float64) for _ in range(5)]  # ties
    expected = [multiclass.predict_codes(rows) for rows in scores]
    shown = [f"the scores {show(row)}" for rows in scores for row in rows]
    return _judge_codes(student, "predict_codes", [(rows,) for rows in scores], expected, shown)


def multiclass_slack(student: Student, draw: Draw, spread: float = 1.0) -> Verdict:
    """Judge the slack of the joint problem, on close and on clear scores (S7)."""
    cases = []
    for _ in range(2 * CASES):
        n, k = int(draw.rng.integers(1, 7)), int(draw.rng.integers(2, 6))
        scores = (spread * draw.rng.normal(size=(n, k))).round(2)
        codes = draw.rng.integers(k, size=n)
        cases.append(
            (scores, np.where(draw.rng.uniform(size=n) < 0.5, scores.argmax(axis=1), codes))
        )
    expected = [multiclass.multiclass_slack(scores, codes) for scores, codes in cases]
    scale = [np.maximum(1.0, np.abs(scores).max(axis=1)) for scores, _ in cases]
    rows = [(row, code) for scores, codes in cases for row, code in zip(scores, codes, strict=True)]

    def words(k: int) -> str:
        return f"the scores {show(rows[k][0])} of an example of class {rows[k][1]}"

    return judge_rows(student, "multiclass_slack", cases, expected, scale, words)


def fit_stump(
    student: Student, draw: Draw, values: int = 200, rare: float | None = None
) -> Verdict:
    """Judge stumps by their training errors beside the fewest possible: ties are all right (G6).

    Parameters
    ----------
    values : how many different values a feature has at most
    rare : share of the smaller class; by default the classes are about equal
    """
    problems = [_stump_problem(draw.rng, k, values, rare) for k in range(STUMPS)]
    answers = student.call_many("fit_stump", problems)
    excess, words = [], []
    for (X, y), answer in zip(problems, answers, strict=True):
        feature, threshold, sign = _stump(answer, X.shape[1])
        errors = int(np.sum(np.where(X[:, feature] > threshold, sign, -sign) != y))
        excess.append(errors - _fewest_errors(X, y))
        words.append(
            f"For {len(y)} examples ({np.sum(y > 0)} of class +1) it returned feature {feature}, "
            f"threshold {threshold:g}, sign {sign}: {errors} errors; "
            f"{errors - excess[-1]} is possible"
        )
    if not any(excess):
        verdict = full(f"fit_stump makes the fewest errors on all {STUMPS} inputs", 0.0, 0.0)
        return unchanged(verdict, student, "fit_stump", problems[-1])
    share = sum(excess) / sum(len(y) for _, y in problems)
    wrong = f"{np.count_nonzero(excess)} of {STUMPS} inputs"
    reason = f"fit_stump does not find the best stump on {wrong}. {words[int(np.argmax(excess))]}"
    return (half if share <= STUMP_EXCESS else none)(reason, share, 0.0)


def majority_vote(student: Student, draw: Draw) -> Verdict:
    """Judge the vote of several rules, ties to the smallest code (G8, eq-majority-vote)."""
    cases = []
    for _ in range(CASES):
        rules, n, k = (int(draw.rng.integers(*ends)) for ends in ((1, 9), (1, 9), (2, 6)))
        cases.append((draw.rng.integers(k, size=(rules, n)), k))
    expected = [count_votes(predictions, k) for predictions, k in cases]
    shown = [f"the votes {show(column)} among {k} classes" for P, k in cases for column in P.T]
    return _judge_codes(student, "majority_vote", cases, expected, shown)


def _stump_problem(
    rng: np.random.Generator, k: int, values: int, rare: float | None
) -> tuple[Matrix, Vector]:
    """Draw labels that one feature explains but for some flips, or that no feature explains."""
    n, d = int(rng.integers(20, 41)), int(rng.integers(2, 5))
    X = rng.integers(values, size=(n, d)) / GRID
    if rare is not None and k % 3 == 0:
        y = _labels_without_a_cut(rng, X, rare)
    else:
        x = X[:, rng.integers(d)]
        y = np.where(x > np.quantile(x, 1.0 - (rare or 0.5)), 1, -1)
        y = np.where(rng.uniform(size=n) < 0.12, -y, y)
        y[:2] = 1, -1
    return X, (y * rng.choice([-1, 1])).astype(np.int64 if k % 2 else np.float64)


def _labels_without_a_cut(rng: np.random.Generator, X: Matrix, rare: float) -> Indices:
    """Draw labels for which one class for all makes fewer errors than every cut."""
    while True:
        y = np.where(rng.uniform(size=len(X)) < rare, 1, -1)
        cuts = np.concatenate([_errors(x, y)[1:] for x in X.T])
        if 0 < np.sum(y > 0) < min(cuts.min(), len(y) - cuts.max()):
            return y


def _errors(x: Vector, y: Vector | Indices) -> Indices:
    """Return the errors of sign +1, threshold below all values of x, then at each but the last."""
    thresholds = np.append(-np.inf, np.unique(x)[:-1])
    return np.asarray(np.sum(np.where(x > thresholds[:, None], 1, -1) != y, axis=1))


def _fewest_errors(X: Matrix, y: Vector) -> int:
    """Return the training errors of the best stump; sign −1 errs where sign +1 does not."""
    errors = np.concatenate([_errors(x, y) for x in X.T])
    return int(min(errors.min(), len(y) - errors.max()))


def _stump(answer: Any, d: int) -> tuple[int, float, int]:
    """Return feature, threshold and sign; an infinite threshold is a threshold."""
    parts = list(answer) if isinstance(answer, tuple | list | np.ndarray) else []
    if len(parts) != 3:
        raise Wrong("fit_stump should return three values, `return feature, threshold, sign`")
    feature = number(parts[0], "the feature of fit_stump")
    sign = number(parts[2], "the sign of fit_stump")
    if feature not in range(d):
        raise Wrong(f"fit_stump returned feature {feature:g}; it must be a column, 0 to {d - 1}")
    if sign not in (-1, 1):
        raise Wrong(f"fit_stump returned sign {sign:g}; it must be −1 or +1")
    try:
        threshold = float(np.asarray(parts[1], dtype=np.float64).reshape(()))
    except (TypeError, ValueError):
        raise Wrong("the threshold of fit_stump should be one number") from None
    if np.isnan(threshold):
        raise Wrong("the threshold of fit_stump is nan")
    return int(feature), threshold, int(sign)


def _judge_codes(
    student: Student,
    name: str,
    cases: Sequence[tuple[Any, ...]],
    expected: Sequence[Indices],
    shown: Sequence[str],
) -> Verdict:
    """Compare class codes, which are right or wrong."""
    answers = student.call_many(name, cases)
    got = [integers(a, len(e), name) for a, e in zip(answers, expected, strict=True)]
    codes, right = np.concatenate(got), np.concatenate(expected)
    bad = np.flatnonzero(codes != right)
    if len(bad):
        k = int(bad[0])
        return none(
            f"{name} is wrong on {len(bad)} of {len(right)} rows. For {shown[k]} it should be "
            f"class {right[k]}, yours is {codes[k]}"
        )
    verdict = full(f"{name} is right on all {len(right)} rows")
    return unchanged(verdict, student, name, cases[-1])


def cases_for_diagnosis() -> dict[str, list[tuple[Any, ...]]]:
    """Return fixed small inputs on which every mistake of the catalogue answers differently."""
    scores = np.array([[0.5, -2.0, 1.0], [1.0, 1.0, -1.5], [-1.0, -0.5, -0.5], [4.0, 1.0, 2.0]])
    codes = np.array([2, 0, 1, 3, 0])
    votes = np.array([[2, 2, 0, 0, 2], [2, 1, 0, 2, 1], [0, 0, 1, 2, 1], [2, 0, 1, 1, 2]])
    stumps = [_stump_problem(np.random.default_rng(3 + k), k, 200, 0.15) for k in range(2)]
    return {
        "ovr_labels": [(codes, 4), (codes[:3], 5)],
        "predict_codes": [(scores,)],
        "multiclass_slack": [(scores, np.array([2, 1, 0, 0]))],
        "fit_stump": stumps,
        "majority_vote": [(votes, 3)],
    }
