"""The catalogue of mistakes: each fits the reference, is caught on its question, and is named."""

from __future__ import annotations

import re

import pytest

from autograder.manifest import homework_names, load_manifest
from autograder.mistakes import Mistake, MistakeError, changed_function, load_mistakes
from autograder.selftest import Trial, passed, run_trial, summary
from autograder.sources import reference_functions
from svmlab.lecture_map import load_lecture_map

LEAST = {"hw1-margins": 6, "hw2-smo": 30, "hw3-sgd": 24, "hw4-kernels-multiclass": 6}
FULL_SECRETS = 5

# Caught like all others, but not told apart: with either α stays 0, whatever the problem.
UNNAMED = {"smo-labels-0-1", "smo-eta-test-reversed"}

CATALOGUE = [(homework, mistake) for homework in LEAST for mistake in load_mistakes(homework)]
FAULTY = [(homework, mistake) for homework, mistake in CATALOGUE if not mistake.acceptable]


def trials() -> list[object]:
    """One entry in three with a course secret; all with five secrets in `make test-full`."""
    return [
        pytest.param(
            homework,
            mistake,
            (number + extra) % FULL_SECRETS,
            id=f"{mistake.id}-{(number + extra) % FULL_SECRETS}",
            marks=[pytest.mark.full] if extra or number % 3 else [],
        )
        for number, (homework, mistake) in enumerate(CATALOGUE)
        for extra in range(FULL_SECRETS)
    ]


@pytest.mark.parametrize(("homework", "mistake", "secret"), trials())
def test_a_mistake_loses_points_on_its_question_only_and_a_harmless_variant_loses_none(
    homework: str, mistake: Mistake, secret: int
) -> None:
    trial = run_trial(homework, mistake, secret)
    assert trial.right, trial.note
    assert trial.named or mistake.acceptable or mistake.id in UNNAMED, trial.note


def test_at_least_nine_of_ten_mistakes_are_named() -> None:
    assert {mistake.id for _, mistake in FAULTY} >= UNNAMED
    assert len(UNNAMED) <= 0.1 * len(FAULTY)


@pytest.mark.parametrize("homework", homework_names())
def test_the_catalogue_is_rich_enough(homework: str) -> None:
    mistakes = load_mistakes(homework)
    assert sum(not mistake.acceptable for mistake in mistakes) >= LEAST[homework]
    assert any(mistake.acceptable for mistake in mistakes)
    graded = {mistake.question for mistake in mistakes if not mistake.acceptable}
    assert graded == {question.id for question in load_manifest(homework).questions}


@pytest.mark.parametrize(("homework", "mistake"), CATALOGUE, ids=lambda value: str(value)[:40])
def test_an_entry_changes_one_function_and_speaks_in_sentences(
    homework: str, mistake: Mistake
) -> None:
    question = load_manifest(homework).question(mistake.question)
    assert mistake.function in question.functions
    changed = changed_function(homework, mistake)
    assert changed != reference_functions(homework)[mistake.function]
    assert mistake.label in load_lecture_map().labels
    assert re.fullmatch(r"\S.{15,240}[.!?…)]", mistake.say), mistake.say


def test_a_change_that_does_not_fit_the_reference_is_refused() -> None:
    entry = Mistake(
        "m", "eta", "eta", "words", "eq-smo-eta", find=("no such text",), replace=("x",)
    )
    with pytest.raises(MistakeError, match="occurs 0 times"):
        changed_function("hw2-smo", entry)


def trial(*, correct: bool, right: bool, named: bool) -> Trial:
    return Trial("hw1-margins", "v", 0, correct, right, named, "")


def test_the_selftest_fails_if_one_correct_variant_fails_or_one_mistake_slips_through() -> None:
    good = [trial(correct=True, right=True, named=False)]
    good += [trial(correct=False, right=True, named=True)] * 9
    assert passed([*good, trial(correct=False, right=True, named=False)])
    assert not passed([*good, *[trial(correct=False, right=True, named=False)] * 2])
    assert not passed([*good, trial(correct=True, right=False, named=False)])
    assert not passed([*good, trial(correct=False, right=False, named=True)])
    assert "9 of 9" in summary(good, ["hw1-margins"])
