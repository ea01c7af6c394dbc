"""Checks of homework 1: margins, hinge loss, slack and the objective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autograder.checks.convert import STEP_LIMIT, compare, number, pair, vector
from autograder.checks.rows import judge_rows, show, unchanged
from autograder.outcome import Verdict, full, none
from autograder.seeds import Draw
from autograder.student import Student
from svmlab.losses import hinge_loss
from svmlab.margins import decision_function, functional_margins
from svmlab.types import Matrix, Vector

MACHINES = 60


class Machine(NamedTuple):
    """Examples, labels and a line: what most functions of this homework take."""

    X: Matrix
    y: Vector
    w: Vector
    b: float

    @property
    def margins(self) -> Vector:
        """Functional margins, computed by svmlab."""
        return functional_margins(self.X, self.y, self.w, self.b)

    @property
    def terms(self) -> Vector:
        """The largest term of w·x + b at each row: what rounding is measured by."""
        return np.asarray(np.fmax(np.abs(self.X * self.w).max(axis=1), abs(self.b)))


def decision(student: Student, draw: Draw) -> Verdict:
    """Judge the decision function on random machines (C1, eq-decision)."""
    machines = _machines(draw.rng)
    expected = [decision_function(m.X, m.w, m.b) for m in machines]
    cases = [(m.X, m.w, m.b) for m in machines]
    return _judge_rows(student, "decision_function", machines, cases, expected)


def functional(student: Student, draw: Draw) -> Verdict:
    """Judge functional margins of right and wrong predictions (M4, eq-functional-margin)."""
    machines = _machines(draw.rng)
    expected = [m.margins for m in machines]
    return _judge_rows(student, "functional_margins", machines, machines, expected)


def geometric(student: Student, draw: Draw) -> Verdict:
    """Judge the margin of data with and without mistakes (M4, eq-margin)."""
    machines = _machines(draw.rng, MACHINES // 2) + _separating(draw.rng, MACHINES // 2)
    return unchanged(_judge_geometric(student, machines), student, "geometric_margin", machines[-1])


def geometric_scale(student: Student, draw: Draw) -> Verdict:
    """Judge the margin for tiny and huge (w, b): it must not matter (M5, eq-geometric-margin)."""
    machines = [
        m._replace(w=m.w * factor, b=m.b * factor)
        for m in _machines(draw.rng, MACHINES // 3)
        for factor in (1e-3, 1.0, 1e3)
    ]
    return _judge_geometric(student, machines)


def canonical(student: Student, draw: Draw) -> Verdict:
    """Judge the canonical form of separating machines (M5, eq-canonical)."""
    machines = _separating(draw.rng)
    return unchanged(_judge_canonical(student, machines), student, "canonical_form", machines[-1])


def canonical_line(student: Student, draw: Draw) -> Verdict:
    """Judge the canonical form of tiny and huge (w, b), one example too (M5, eq-canonical)."""
    machines = [
        m._replace(X=m.X[:count], y=m.y[:count], w=m.w * factor, b=m.b * factor)
        for m in _separating(draw.rng, MACHINES // 4)
        for count in (1, len(m.y))
        for factor in (1e-4, 1e4)
    ]
    return _judge_canonical(student, machines)


def hinge(student: Student, draw: Draw) -> Verdict:
    """Judge the hinge loss below, at and above margin 1 (S3, eq-hinge)."""
    sizes = draw.rng.integers(1, 9, size=MACHINES)
    cases = [(draw.rng.normal(0.5, 2.0, size=n).round(2),) for n in sizes]
    cases += [(np.array([2.0, 5.0, 1.5]),), (np.array([-1.0, 0.0, 1.0, 2.0]),)]
    answers = student.call_many("hinge_loss", cases)
    got = [vector(a, len(m), "hinge_loss(margins)") for a, (m,) in zip(answers, cases, strict=True)]
    margins = np.concatenate([m for (m,) in cases])
    scale = np.maximum(1.0, np.abs(margins))
    verdict = compare(
        np.concatenate(got), hinge_loss(margins), scale, "hinge_loss", lambda k: f"m = {margins[k]}"
    )
    return unchanged(verdict, student, "hinge_loss", cases[-1])


def slack(student: Student, draw: Draw) -> Verdict:
    """Judge the slack of examples outside, inside and beyond the street (S2, eq-slack)."""
    machines = _machines(draw.rng)
    expected = [hinge_loss(m.margins) for m in machines]
    return _judge_rows(student, "slack", machines, machines, expected)


def objective(student: Student, draw: Draw) -> Verdict:
    """Judge the objective for several C (C5, eq-primal)."""
    machines = _machines(draw.rng)
    costs = draw.rng.choice([0.05, 0.5, 1.0, 2.0, 10.0], size=len(machines))
    return _judge_objective(student, machines, costs)


def objective_terms(student: Student, draw: Draw) -> Verdict:
    """Judge each term of the objective alone: C = 0, w = 0, no slack (S3, eq-primal)."""
    machines = _machines(draw.rng, MACHINES // 3)
    costs = np.zeros(len(machines))
    flat = [m._replace(w=0.0 * m.w) for m in _machines(draw.rng, MACHINES // 3)]
    wide = [m._replace(w=9.0 * m.w, b=9.0 * m.b) for m in _separating(draw.rng, MACHINES // 3)]
    others = draw.rng.choice([0.1, 3.0], size=len(flat + wide))
    return _judge_objective(student, machines + flat + wide, np.append(costs, others))


def _machines(rng: np.random.Generator, count: int = MACHINES) -> list[Machine]:
    """Draw data, some labels right and some wrong, every second y of integers; small ones first."""
    drawn = []
    for k in range(count):
        n, d = rng.integers(1, 9), rng.integers(1, 6)
        w = rng.normal(size=d).round(2)
        w[np.abs(w) < 0.1] = 0.5  # never the zero vector
        X = (rng.choice([0.5, 1.0, 3.0]) * rng.normal(size=(n, d))).round(2)
        b = round(float(rng.normal()), 2) or 0.25
        drawn.append(Machine(X, _labels(rng.choice([-1, 1], size=n), k), w, b))
    return sorted(drawn, key=lambda m: m.X.size)  # the first wrong one is shown


def _separating(rng: np.random.Generator, count: int = MACHINES) -> list[Machine]:
    """Draw machines that separate their data, the closest example not too close."""
    drawn = []
    for k, m in enumerate(_machines(rng, count)):
        side = np.where(m.X @ m.w + m.b > 0, 1, -1)
        X = (m.X + np.outer(0.3 * side, m.w) / (m.w @ m.w)).round(3)
        drawn.append(m._replace(X=X, y=_labels(side, k)))
    return drawn


def _labels(signs: Any, k: int) -> Any:
    return signs.astype(np.int64) if k % 2 else signs.astype(np.float64)


def _judge_rows(
    student: Student,
    name: str,
    machines: Sequence[Machine],
    cases: Sequence[tuple[Any, ...]],
    expected: Sequence[Vector],
) -> Verdict:
    """Compare one number a row, over all rows of all machines."""
    least = 1.0 if name == "slack" else 0.0  # of max(0, 1 − m) the 1 may be the largest term
    scale = [np.maximum(m.terms, least) for m in machines]
    rows = [(m, i) for m in machines for i in range(len(m.y))]

    def case(k: int) -> str:
        m, i = rows[k]
        label = "" if name == "decision_function" else f"y = {m.y[i]:g}, "
        return f"x = {show(m.X[i])}, {label}w = {show(m.w)}, b = {m.b:g}"

    return judge_rows(student, name, cases, expected, scale, case)


def _judge_geometric(student: Student, machines: Sequence[Machine]) -> Verdict:
    answers = student.call_many("geometric_margin", machines)
    got = [number(answer, "geometric_margin") for answer in answers]
    norms = np.array([np.linalg.norm(m.w) for m in machines])
    expected = np.array([m.margins.min() for m in machines]) / norms
    scale = np.array([m.terms.max() for m in machines]) / norms
    return compare(got, expected, scale, "geometric_margin", _case(machines))


def _judge_canonical(student: Student, machines: Sequence[Machine]) -> Verdict:
    """Compare (w, b) with the one scale that gives the closest example margin 1."""
    answers = student.call_many("canonical_form", machines)
    misses = []
    for k, (m, answer) in enumerate(zip(machines, answers, strict=True)):
        w, b = pair(answer, "canonical_form")
        w, b = vector(w, len(m.w), "w of canonical_form"), number(b, "b of canonical_form")
        smallest = m.margins.min()
        got, expected = np.append(w, b), np.append(m.w, m.b) / smallest
        # rounding in the smallest margin is relative to the terms that it is the sum of
        scale = np.abs(expected).max() * max(1.0, m.terms.max() / smallest)
        misses.append((float(np.abs(got - expected).max() / scale), k, got, expected))
    worst = max(miss for miss, *_ in misses)
    bad = [item for item in misses if item[0] > STEP_LIMIT]
    if not bad:
        return full(f"canonical_form is right on all {len(machines)} inputs", worst, STEP_LIMIT)
    _, k, got, expected = bad[0]
    m = machines[k]._replace(w=got[:-1], b=float(got[-1]))
    reason = (
        f"canonical_form is wrong on {len(bad)} of {len(machines)} inputs. For "
        f"{_case(machines)(k)} the new w and b should be {show(expected)}, "
        f"yours are {show(got)}; with yours the smallest functional margin is {m.margins.min():g}"
    )
    return none(reason, worst, STEP_LIMIT)


def _judge_objective(student: Student, machines: Sequence[Machine], costs: Vector) -> Verdict:
    cases = [(m.w, m.b, m.X, m.y, float(C)) for m, C in zip(machines, costs, strict=True)]
    got = [number(answer, "objective") for answer in student.call_many("objective", cases)]
    slacks = [hinge_loss(m.margins).sum() for m in machines]
    norms = np.array([m.w @ m.w / 2.0 for m in machines])
    terms = np.array([max(1.0, m.terms.max()) for m in machines])
    scale = np.maximum(norms, costs * terms)
    case = _case(machines)
    verdict = compare(
        got, norms + costs * slacks, scale, "objective", lambda k: f"{case(k)}, C = {costs[k]:g}"
    )
    return unchanged(verdict, student, "objective", cases[-1])


def _case(machines: Sequence[Machine]) -> Callable[[int], str]:
    def words(k: int) -> str:
        m = machines[k]
        return f"X = {_rows(m.X)}, y = {show(m.y)}, w = {show(m.w)}, b = {m.b:g}"

    return words


def _rows(X: Matrix) -> str:
    shown = ", ".join(show(row) for row in X[:3])
    return f"[{shown}{', …' if len(X) > 3 else ''}]"


def cases_for_diagnosis() -> dict[str, list[tuple[Any, ...]]]:
    """Return fixed small inputs on which every mistake of the catalogue answers differently."""
    X = np.array([[3.0, 1.0], [2.0, -3.0], [0.5, 0.25], [-1.0, 2.0], [0.75, 0.0]])
    y, w, b = np.array([1, -1, 1, 1, 1]), np.array([1.5, -2.0]), -0.75
    apart = np.array([[3.0, 1.0], [-2.0, 3.0], [-0.5, 0.25], [4.0, -2.0]])
    machine, separating = (X, y, w, b), (apart, np.array([1, -1, -1, 1]), w, b)
    return {
        "decision_function": [(X, w, b)],
        "functional_margins": [machine],
        "geometric_margin": [machine, separating],
        "canonical_form": [separating],
        "hinge_loss": [(np.array([-2.0, -0.25, 0.0, 0.5, 1.0, 3.0]),)],
        "slack": [machine],
        "objective": [(w, b, X, y, 3.0), (w, b, apart, y[:4], 0.5)],
    }
