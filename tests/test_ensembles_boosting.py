from __future__ import annotations

import numpy as np
import pytest

from svmlab.ensembles import (
    boosting_scores,
    exponential_bound,
    fit_adaboost,
    predict_boosting,
    reweight,
    stump_learner,
    vote_margins,
    vote_weight,
)
from svmlab.ensembles.boosting import round_factor

pytestmark = pytest.mark.core


def noisy_band(rng, n=120, n_classes=2):
    X = rng.normal(size=(n, 3))
    level = X[:, 0] + X[:, 1] + 0.4 * rng.normal(size=n)
    return X, np.digitize(level, np.linspace(-1, 1, n_classes + 1)[1:-1])


def correct_matrix(model, X, y):
    """m_ti = ±1, one row a round."""
    return np.array([np.where(rule(X) == y, 1.0, -1.0) for rule in model.predictors])


def test_two_rounds_worked_by_hand():
    X, y = [[1], [2], [3], [4]], [0, 0, 1, 0]
    one, two = (fit_adaboost(X, y, n_rounds=t) for t in (1, 2))
    # round 1: the cut at 2.5 leaves a tie on the right, so all are called 0: error 1/4
    assert one.votes == pytest.approx([np.log(3) / 2])
    np.testing.assert_allclose(one.weights, [1 / 6, 1 / 6, 1 / 2, 1 / 6])
    # round 2: the same cut now calls the right 1, wrong on x = 4: error 1/6
    np.testing.assert_allclose(two.history["error"], [1 / 4, 1 / 6])
    assert two.votes == pytest.approx([np.log(3) / 2, np.log(5) / 2])
    np.testing.assert_allclose(two.weights, [0.1, 0.1, 0.3, 0.5])
    np.testing.assert_allclose(two.history["bound"], [3**0.5 / 2, 3**0.5 / 2 * 5**0.5 / 3])
    assert predict_boosting(two, X).tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(two.history["training_error"], [1 / 4, 1 / 4])
    f = (np.log(5) - np.log(3)) / (np.log(5) + np.log(3))
    np.testing.assert_allclose(vote_margins(two, X, y), [1, 1, f, -f])


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_training_error_is_below_the_bound_at_every_round(n_classes, rng):
    X, y = noisy_band(rng, n_classes=n_classes)
    model = fit_adaboost(X, y, n_rounds=60)
    history = model.history
    assert len(history["error"]) == 60
    assert np.all(history["training_error"] <= history["bound"] + 1e-12)
    np.testing.assert_allclose(
        history["bound"], exponential_bound(history["error"], n_classes), rtol=1e-12
    )
    if n_classes == 2:
        assert np.all(np.diff(history["bound"]) < 0)
        factors = 2 * np.sqrt(history["error"] * (1 - history["error"]))
        np.testing.assert_allclose(history["bound"], np.cumprod(factors))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_bound_is_the_mean_exponential_loss(n_classes, rng):
    X, y = noisy_band(rng, n_classes=n_classes)
    model = fit_adaboost(X, y, n_rounds=25)
    sums = model.votes @ correct_matrix(model, X, y)
    assert np.mean(np.exp(-sums)) == pytest.approx(model.history["bound"][-1], rel=1e-10)
    # the weights are that loss, normalised
    np.testing.assert_allclose(model.weights, np.exp(-sums) / np.exp(-sums).sum(), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_after_reweighting_the_last_rule_is_as_bad_as_guessing(n_classes, rng):
    for error in (0.01, 0.2, 0.45):
        weights = rng.random(50)
        correct = np.arange(50) >= 20
        weights[~correct] *= error / weights[~correct].sum()
        weights[correct] *= (1 - error) / weights[correct].sum()
        after = reweight(weights, correct, vote_weight(error, n_classes))
        assert after.sum() == pytest.approx(1.0)
        assert after[~correct].sum() == pytest.approx(1 - 1 / n_classes)
        np.testing.assert_allclose(after[correct] / after[correct][0], weights[20:] / weights[20])
    X, y = noisy_band(rng, n_classes=n_classes)
    for T in (1, 2, 7):
        model = fit_adaboost(X, y, n_rounds=T)
        last = model.predictors[-1](X) != y
        assert model.weights[last].sum() == pytest.approx(1 - 1 / n_classes)


def test_the_vote_is_the_one_that_makes_the_factor_smallest():
    for error in (0.05, 0.3, 0.49):
        a = vote_weight(error)
        around = a + np.linspace(-1, 1, 201)
        Z = error * np.exp(around) + (1 - error) * np.exp(-around)
        assert np.argmin(Z) == 100
        assert Z[100] == pytest.approx(round_factor(error))


def test_margins_of_two_classes_are_y_times_f_over_the_sum_of_votes(rng):
    X, y = noisy_band(rng)
    model = fit_adaboost(X, y, n_rounds=15)
    signs = 2.0 * y - 1.0
    f = model.votes @ np.array([2.0 * rule(X) - 1.0 for rule in model.predictors])
    np.testing.assert_allclose(vote_margins(model, X, y), signs * f / model.votes.sum())
    wrong = predict_boosting(model, X) != y
    assert np.array_equal(vote_margins(model, X, y) < 0, wrong)
    assert model.history["training_error"][-1] == wrong.mean()


def test_margins_grow_after_the_training_error_is_0():
    X = np.arange(30.0).reshape(-1, 1)
    y = (np.arange(30) // 6 % 2).astype(int)  # five intervals
    short, long = (fit_adaboost(X, y, n_rounds=t) for t in (60, 400))
    assert short.history["training_error"][-1] == 0.0
    assert vote_margins(long, X, y).min() > vote_margins(short, X, y).min() > 0


def test_scores_are_shares_of_the_votes(rng):
    X, y = noisy_band(rng, n_classes=3)
    model = fit_adaboost(X, y, n_rounds=10)
    scores = boosting_scores(model, X)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    assert scores.min() >= 0
    assert np.all(np.abs(vote_margins(model, X, y)) <= 1)


def test_the_stump_of_criterion_error_has_the_least_weighted_error(rng):
    for _ in range(20):
        X, y = noisy_band(rng, 25)
        w = rng.random(25)
        w /= w.sum()
        rule = stump_learner(X, y, w, n_classes=2, criterion="error")
        best = min(
            min(w[(x >= s) != y].sum(), w[(x >= s) == y].sum()) for x in X.T for s in np.sort(x)
        )
        assert w[rule(X) != y].sum() == pytest.approx(best)


def test_a_weighted_start_is_repetition(rng):
    X, y = noisy_band(rng, 40)
    counts = rng.integers(1, 4, 40)
    weighted = fit_adaboost(X, y, n_rounds=8, sample_weight=counts)
    repeated = fit_adaboost(np.repeat(X, counts, axis=0), np.repeat(y, counts), n_rounds=8)
    for name, values in weighted.history.items():
        np.testing.assert_allclose(values, repeated.history[name], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.votes, repeated.votes)


def test_a_rule_without_mistakes_ends_the_rounds_and_decides():
    X, y = np.arange(6.0).reshape(-1, 1), np.array([0, 0, 0, 1, 1, 1])
    model = fit_adaboost(X, y)
    assert (model.stopped, len(model.votes)) == ("no mistake", 1)
    assert model.history["bound"].tolist() == [0.0]

    fair = np.where(X[:, 0] == 0, 1, y)  # one mistake
    answers = iter([fair, y])

    def recite(X, y, weights):
        answer = next(answers)
        return lambda X: answer

    model = fit_adaboost(X, y, recite)
    assert (model.stopped, len(model.votes)) == ("no mistake", 2)
    assert model.votes[1] > model.votes[0] > 0
    assert model.history["training_error"].tolist() == [1 / 6, 0.0]
    assert model.history["bound"][1] == 0.0


def _fixed(X):
    return np.zeros(len(X), dtype=int)


def test_a_rule_no_better_than_chance_is_left_out():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([0, 1, 1, 0])
    model = fit_adaboost(X, y)  # exclusive or: no stump has an edge
    assert (model.stopped, len(model.votes)) == ("chance", 1)
    assert model.history["bound"].tolist() == [1.0]
    assert model.history["training_error"].tolist() == [0.5]
    model = fit_adaboost(X, [0, 0, 0, 1], lambda X, y, w: _fixed, n_rounds=9)
    assert (model.stopped, len(model.votes)) == ("chance", 1)
    assert model.history["error"].tolist() == [0.25]


def test_one_class_is_learnt_at_once():
    model = fit_adaboost([[1.0], [2.0]], [0, 0])
    assert predict_boosting(model, [[5.0]]).tolist() == [0]
    assert vote_margins(model, [[5.0]], [0]).tolist() == [1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_adaboost([[np.nan]], [0]), "X must be finite"),
        (lambda: fit_adaboost([[1.0], [2.0]], [-1, 1]), "y must hold class codes"),
        (lambda: fit_adaboost([[1.0]], [0, 1]), "y must have 1 entries, got 2"),
        (lambda: fit_adaboost([[1.0]], [0], n_rounds=0), "n_rounds must be a whole number"),
        (lambda: fit_adaboost([[1.0]], [0], sample_weight=[-1]), "sample_weight must be"),
        (lambda: vote_weight(0.0), "error must be strictly between 0 and 1, got 0.0"),
        (lambda: vote_margins(fit_adaboost([[1.0], [2.0]], [0, 1]), [[1.0]], [2]), "below n_cl"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
