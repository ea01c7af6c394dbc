"""Correct code keeps every point whatever the course secret; pretending earns no optimality."""

from __future__ import annotations

import os

import numpy as np
import pytest
from autograder_variants import SGD, SGD_CHEATS, SMO, SMO_CHEATS

from autograder.checks.smo_problems import gaussian_problem, lecture_problem, linear_problem
from autograder.judge import judge_source
from autograder.manifest import homework_names, load_manifest
from autograder.outcome import Report
from autograder.pools import seeds_for
from autograder.seeds import PUBLIC
from autograder.selftest import trial_secret
from autograder.sources import reference_source
from svmlab.smo import solve_dual

SECRETS, FULL_SECRETS = 4, 200
CPU_SECONDS = {"hw3-sgd": 5.0}
OPTIMALITY = {
    "hw2-smo": ("smo-linear", "smo-gaussian", "smo-lecture", "smo-termination"),
    "hw3-sgd": ("optimality-digits", "optimality-cancer", "more-steps"),
}


def secrets(count: int, full: int) -> list[object]:
    marks = pytest.mark.full
    return [pytest.param(k, marks=[marks] if k >= count else []) for k in range(full)]


def lost(report: Report) -> dict[str, str]:
    return {outcome.check: outcome.reason for outcome in report.outcomes if not outcome.full}


@pytest.mark.parametrize("secret", secrets(SECRETS, FULL_SECRETS))
@pytest.mark.parametrize("homework", homework_names())
def test_the_reference_never_loses_a_point(homework: str, secret: int) -> None:
    report = judge_source(
        homework, reference_source(homework), secret=trial_secret(secret), student=f"s{secret}"
    )
    assert not lost(report)
    assert report.points == load_manifest(homework).points


VARIANTS = [("hw2-smo", name, code) for name, code in SMO.items()]
VARIANTS += [("hw3-sgd", name, code) for name, code in SGD.items()]


@pytest.mark.parametrize("secret", secrets(2, 10))
@pytest.mark.parametrize(("homework", "name", "code"), VARIANTS, ids=[v[1] for v in VARIANTS])
def test_correct_code_in_unusual_clothes_passes(
    homework: str, name: str, code: str, secret: int
) -> None:
    source = f"{reference_source(homework)}\n\n{code}"
    assert not lost(judge_source(homework, source, secret=trial_secret(secret), student=name))


CHEATS = [("hw2-smo", name, code) for name, code in SMO_CHEATS.items()]
CHEATS += [("hw3-sgd", name, code) for name, code in SGD_CHEATS.items()]


@pytest.mark.parametrize("secret", [PUBLIC, *map(trial_secret, range(2))], ids=["public", "0", "1"])
@pytest.mark.parametrize(
    ("homework", "name", "code"), CHEATS, ids=[f"{v[0]}-{v[1]}" for v in CHEATS]
)
def test_pretending_earns_no_points_for_optimality(
    homework: str, name: str, code: str, secret: bytes
) -> None:
    report = judge_source(homework, f"{reference_source(homework)}\n\n{code}", secret=secret)
    earned = {o.check: o.points for o in report.outcomes if o.check in OPTIMALITY[homework]}
    assert earned == dict.fromkeys(OPTIMALITY[homework], 0.0)


def memorised_answers() -> str:
    """A program that has the right answers to all problems with public seeds, by their size."""
    seeds, answers = seeds_for("hw2-smo"), {}
    draws = {name: seeds.draw(name) for name in OPTIMALITY["hw2-smo"]}
    problems = [
        linear_problem(int(draws["smo-linear"].problem["seed"])),
        gaussian_problem(int(draws["smo-gaussian"].problem["seed"])),
        lecture_problem(draws["smo-lecture"].rng)[0],
    ]
    for K, y, C in problems:
        best = solve_dual(K, y, C, tol=1e-8)
        answers[len(y)] = (best.alpha.tolist(), best.b)
    return (
        f"ANSWERS = {answers!r}\n\n\n"
        "def smo(K, y, *rest):\n"
        "    alpha, b = ANSWERS.get(len(y), (np.zeros(len(y)), 0.0))\n"
        "    return np.array(alpha), b\n"
    )


def test_the_answers_to_the_public_problems_are_worth_nothing_with_a_course_secret() -> None:
    source = f"{reference_source('hw2-smo')}\n\n{memorised_answers()}"
    asked = OPTIMALITY["hw2-smo"][:3]
    public = judge_source("hw2-smo", source)
    assert all(outcome.full for outcome in public.outcomes if outcome.check in asked)
    graded = judge_source("hw2-smo", source, secret=trial_secret(0), student="ada")
    assert [outcome.points for outcome in graded.outcomes if outcome.check in asked] == [0, 0, 0]


@pytest.mark.parametrize("homework", homework_names())
def test_a_reference_solution_is_cheap_to_judge(homework: str) -> None:
    judge_source(homework, reference_source(homework))  # imports, caches
    before = os.times()
    judge_source(homework, reference_source(homework))
    used = np.subtract(os.times()[:4], before[:4]).sum()
    assert used < 4 * CPU_SECONDS.get(homework, 1.0)  # a limit of the course; slack for the machine
