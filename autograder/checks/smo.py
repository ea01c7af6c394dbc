"""Checks of homework 2, first part: the steps of SMO, each alone on states drawn for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.checks.convert import STEP_LIMIT, compare, number, pair, truth
from autograder.checks.smo_problems import Move, State, draw_moves, draw_states
from autograder.outcome import Verdict, full, none
from autograder.seeds import Draw
from autograder.student import Student
from svmlab import smo as lecture

STATES = 200
ARRAY_STATES = 100  # where states are arrays: each crosses the pipe, and there are two checks
Case = tuple[Any, ...]


def error(student: Student, draw: Draw, integers: bool = False) -> Verdict:
    """Judge E_k on feasible states (B6, eq-smo-error)."""
    states = draw_states(draw.rng, ARRAY_STATES)
    cases = [(s.i, s.alpha, s.b, s.K, _labels(s, integers)) for s in states]
    got = [number(answer, "error") for answer in student.call_many("error", cases)]
    scale = [np.abs([*(a * y * K[k]), b, 1.0]).max() for k, a, b, K, y in cases]
    return compare(
        got, [lecture.error(*case) for case in cases], scale, "error", lambda c: _seen(states[c])
    )


def bounds(student: Student, draw: Draw, corners: bool = False) -> Verdict:
    """Judge L and H on feasible states, or on corners of the box (B5, eq-smo-bounds)."""
    cases: list[Case] = []
    for k, s in enumerate(draw_states(draw.rng, STATES, corners=corners)):
        labels = (int(s.y[s.i]), int(s.y[s.j])) if k % 2 else (float(s.y[s.i]), float(s.y[s.j]))
        cases.append((float(s.alpha[s.i]), float(s.alpha[s.j]), *labels, s.C))
    got = []
    for answer in student.call_many("bounds", cases):
        low, high = pair(answer, "bounds")
        got.append((number(low, "L"), number(high, "H")))
    return compare(
        got,
        [lecture.bounds(*case) for case in cases],
        [case[-1] for case in cases],
        "(L, H)",
        lambda c: _named("α_i α_j y_i y_j C", cases[c]),
    )


def eta(student: Student, draw: Draw, kernel: str = "linear") -> Verdict:
    """Judge the curvature on Gram matrices whose diagonal is not 1 (B6, eq-smo-eta)."""
    states = draw_states(draw.rng, ARRAY_STATES, kernel)
    cases = [(s.i, s.j, s.K) for s in states]
    got = [number(answer, "eta") for answer in student.call_many("eta", cases)]
    expected = [lecture.eta(*case) for case in cases]
    entries = [(K[i, j], K[i, i], K[j, j]) for i, j, K in cases]
    scale = [max(2.0 * abs(a), b, c) for a, b, c in entries]
    return compare(got, expected, scale, "eta", lambda c: _named("K_ij K_ii K_jj", entries[c]))


def clip(student: Student, draw: Draw) -> Verdict:
    """Judge clipping below, inside and above [L, H], and L = H (B6, eq-smo-clip)."""
    rng = draw.rng
    cases: list[Case] = []
    for k in range(STATES):
        L = float(np.round(rng.uniform(0.0, 3.0), 3))
        H = L + float(np.round(rng.uniform(0.05, 3.0), 3)) * (k % 10 > 0)
        cases.append((float(np.round(rng.uniform(L - 2.0, H + 2.0), 3)), L, H))
    cases += [(a, 1, 3) for a in (0, 1, 2, 3, 4)]
    got = [number(answer, "clip") for answer in student.call_many("clip", cases)]
    expected = [lecture.clip(*case) for case in cases]
    scale = [max(1.0, H) for _, _, H in cases]
    return compare(got, expected, scale, "clip", lambda c: _named("a L H", cases[c]))


def new_alpha_j(student: Student, draw: Draw) -> Verdict:
    """Judge α_j with the top of the parabola below, inside and above (B6, eq-smo-alpha-j)."""
    rng = draw.rng
    cases: list[Case] = []
    scale = []
    for k, s in enumerate(draw_states(rng, STATES)):
        L, H = s.ends()
        top = rng.uniform(L - (H - L), H + (H - L))  # a third each: below, inside, above
        curvature, E_j = lecture.eta(s.i, s.j, s.K), float(rng.normal())
        E_i = E_j + (s.alpha[s.j] - top) * curvature * s.y[s.j]
        label = int(s.y[s.j]) if k % 2 else float(s.y[s.j])
        cases.append((float(s.alpha[s.j]), label, float(E_i), E_j, curvature, L, H))
        scale.append(s.C)
    got = [number(answer, "new_alpha_j") for answer in student.call_many("new_alpha_j", cases)]
    return compare(
        got,
        [lecture.new_alpha_j(*case) for case in cases],
        scale,
        "new_alpha_j",
        lambda c: _named("α_j y_j E_i E_j η L H", cases[c]),
    )


def new_alpha_i(student: Student, draw: Draw, integers: bool = False) -> Verdict:
    """Judge α_i after α_j has moved anywhere between L and H (B7, eq-smo-alpha-i)."""
    cases: list[Case] = []
    for s in draw_states(draw.rng, STATES, corners=integers):
        L, H = s.ends()
        new = draw.rng.choice([L, H]) if integers else draw.rng.uniform(L, H)
        labels = _labels(s, integers)[[s.i, s.j]].tolist()
        cases.append((float(s.alpha[s.i]), float(s.alpha[s.j]), float(new), *labels))
    got = [number(answer, "new_alpha_i") for answer in student.call_many("new_alpha_i", cases)]
    return compare(
        got,
        [lecture.new_alpha_i(*case) for case in cases],
        [max(case[:3]) for case in cases],
        "new_alpha_i",
        lambda c: _named("α_i α_j α_j_new y_i y_j", cases[c]),
    )


def thresholds(student: Student, draw: Draw, bound: bool = False) -> Verdict:
    """Judge b after steps that were taken; ``bound`` asks of pairs at the bounds (B8, eq-smo-b).

    Accepted are the lecture's b and the mean of b₁ and b₂, which some books use always; where no
    example of the pair is free, every number between b₁ and b₂.
    """
    kinds = {"i": 30, "j": 30, "none": 30} if bound else {"both": 50, "i": 30, "j": 30}
    moves = draw_moves(draw.rng, kinds)
    cases = []
    for m in moves:
        s, y = m.state, _labels(m.state, bound)
        cases.append((s.i, s.j, s.alpha, m.alpha, m.E_i, m.E_j, s.b, s.K, y, s.C))
    got = [number(answer, "thresholds") for answer in student.call_many("thresholds", cases)]
    ratios = [_distance(m, b) / _largest_term(m) for m, b in zip(moves, got, strict=True)]
    bad = [k for k, ratio in enumerate(ratios) if ratio > STEP_LIMIT]
    if not bad:
        return full(f"thresholds is right on all {len(moves)} steps", max(ratios), STEP_LIMIT)
    why = _why(moves[bad[0]], got[bad[0]])
    reason = f"thresholds is wrong on {len(bad)} of {len(moves)} steps. {why}"
    return none(reason, max(ratios), STEP_LIMIT)


def _distance(move: Move, b: float) -> float:
    """Return how far b is from what is accepted."""
    low, high = min(move.b1, move.b2), max(move.b1, move.b2)
    if not move.free_i and not move.free_j:
        return max(0.0, low - b, b - high)
    right = move.b1 if move.free_i else move.b2
    return min(abs(b - right), abs(b - 0.5 * (low + high)))


def _largest_term(move: Move) -> float:
    s = move.state
    steps = np.abs(move.alpha - s.alpha)[[s.i, s.j]]
    products = np.abs(s.K[np.ix_([s.i, s.j], [s.i, s.j])]) * steps
    return float(max(abs(s.b), abs(move.E_i), abs(move.E_j), products.max()))


def _why(move: Move, b: float) -> str:
    s = move.state
    place = f"With α_i = {move.alpha[s.i]:.4g}, α_j = {move.alpha[s.j]:.4g}, C = {s.C:g}"
    if not move.free_i and not move.free_j:
        return (
            f"{place} neither is free, and b should be between b₁ = {move.b1:.5g} and "
            f"b₂ = {move.b2:.5g}; yours is {b:.5g}"
        )
    name, right = ("i", move.b1) if move.free_i else ("j", move.b2)
    return (
        f"{place} example {name} is free, so its error after the step must be 0, which "
        f"b = {right:.5g} gives; your b = {b:.5g} leaves an error of {b - right:.3g}"
    )


def violates_kkt(student: Student, draw: Draw) -> Verdict:
    """Judge the KKT test at both bounds and between, away from the tolerance (B9, eq-smo-kkt)."""
    rng = draw.rng
    cases: list[Case] = []
    for k in range(STATES):
        C, tol = float(rng.choice([0.05, 0.7, 3.0, 20.0])), float(rng.choice([1e-3, 1e-2, 0.2]))
        alpha = (0.0, C, float(rng.uniform(0.05, 0.95)) * C)[k % 3]
        size = (rng.uniform(0.0, 0.9), rng.uniform(1.1, 3.0), rng.uniform(3.0, 30.0))[k // 3 % 3]
        E = float(size * tol * rng.choice([-1.0, 1.0]))
        label = int(rng.choice([-1, 1]))
        cases.append((alpha, E, label if k % 2 else float(label), C, tol))
    answers = student.call_many("violates_kkt", cases)
    got = [float(truth(answer, "violates_kkt")) for answer in answers]
    expected = [lecture.violates_kkt(*case) for case in cases]
    wrong = [k for k in range(STATES) if bool(got[k]) != expected[k]]
    if not wrong:
        return full(f"violates_kkt is right on all {STATES} inputs", 0.0, 0.0)
    first = wrong[0]
    return none(
        f"violates_kkt is wrong on {len(wrong)} of {STATES} inputs. For "
        f"{_named('α_k E_k y_k C tol', cases[first])} it should be {expected[first]}",
        len(wrong) / STATES,
        0.0,
    )


def _labels(state: State, integers: bool) -> Any:
    return state.y.astype(np.int64) if integers else state.y


def _named(names: str, values: Sequence[float]) -> str:
    """Say which argument has which value.

    >>> _named("L H", (0.0, 2.5))
    'L = 0, H = 2.5'
    """
    return ", ".join(f"{n} = {v:.6g}" for n, v in zip(names.split(), values, strict=True))


def _seen(state: State) -> str:
    """Say what an example sees of a state: all that its error depends on."""
    lists = {"α": state.alpha, "y": state.y, "row k of K": state.K[state.i]}
    words = [f"{k} = ({', '.join(f'{v:.4g}' for v in values)})" for k, values in lists.items()]
    return f"k = {state.i}, b = {state.b:g}, {', '.join(words)}"


def cases_for_diagnosis() -> dict[str, list[Case]]:
    """Return fixed, public inputs of the steps on which each known mistake answers differently."""
    rng = np.random.default_rng(2)
    states = draw_states(rng, 12)
    moves = draw_moves(rng, {"both": 2, "i": 4, "j": 4, "none": 2})
    ends = [(float(s.alpha[s.i]), float(s.alpha[s.j]), s.y[s.i], s.y[s.j], s.C) for s in states]
    errors = ((0.9, -0.4), (-1.5, 0.3))
    tests = [
        (a, sign * E, y, 2.0, 0.1)
        for a in (0.0, 0.7, 2.0, 2.5)  # the last one lies outside the box, where `α > C` differs
        for E in (0.05, 0.5)
        for sign in (-1, 1)
        for y in (-1.0, 1.0)
    ]
    return {
        "error": [(s.i, s.alpha, s.b, s.K, s.y) for s in states],
        "bounds": ends,
        "eta": [(s.i, s.j, s.K) for s in states],
        "clip": [(a, 0.5, 1.5) for a in (-1.0, 0.25, 0.5, 0.8, 1.3, 1.5, 2.0)],
        "new_alpha_j": [
            (a, y, *E, curvature, 0.2, 1.6)
            for a in (0.3, 1.2)
            for y in (-1.0, 1.0)
            for E in errors
            for curvature in (-0.4, -3.0)
        ],
        "new_alpha_i": [(a_i, a_j, 0.9, y_i, y_j) for a_i, a_j, y_i, y_j, _ in ends],
        "thresholds": [
            (
                m.state.i,
                m.state.j,
                m.state.alpha,
                m.alpha,
                m.E_i,
                m.E_j,
                m.state.b,
                m.state.K,
                m.state.y,
                m.state.C,
            )
            for m in moves
        ],
        "violates_kkt": tests,
    }
