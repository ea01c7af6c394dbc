from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

from svmlab.coordinate import dual_coordinate_descent
from svmlab.losses import hinge_loss, zero_one_loss
from svmlab.margins import functional_margins, margin
from svmlab.primal import cost
from svmlab.rows import dense
from svmlab.theory import (
    OneWordDocuments,
    best_lambda,
    examples_needed,
    hard_margin_bound,
    rare_words,
    simulate_hard_margin,
    simulate_soft_margin,
    soft_margin_bound,
    soft_margin_excess,
)

pytestmark = pytest.mark.core

DELTA = 0.05
DRAWS = [20, pytest.param(200, marks=pytest.mark.full)]


def uniform(n_words, **options):
    return OneWordDocuments(np.full(n_words, 1.0 / n_words), **options)


def test_the_hard_margin_bound_by_hand():
    # ρ/γ = 5 and m = 10,000: 2·5/100; with δ = 2/e² the second term is √(4/10,000).
    assert hard_margin_bound(10_000, 0.2, 1.0, 2.0 * exp(-2.0)) == pytest.approx(0.1 + 0.02)


def test_the_hard_margin_bound_does_not_change_with_the_scale_of_the_data():
    assert hard_margin_bound(500, 0.3, 2.0) == pytest.approx(hard_margin_bound(500, 3.0, 20.0))


@pytest.mark.parametrize("risk", [0.5, 0.1, 0.01])
def test_examples_needed_is_the_first_m_that_is_enough(risk):
    m = examples_needed(risk, 0.3, 2.0, 0.01)
    assert hard_margin_bound(m, 0.3, 2.0, 0.01) <= risk < hard_margin_bound(m - 1, 0.3, 2.0, 0.01)


def test_the_best_lambda_minimises_the_soft_margin_bound_and_leaves_the_excess():
    m, rho, B = 700, 1.3, 2.5
    lam = best_lambda(m, rho, B)

    def worst(lam):  # the bound for a competitor of length B with hinge risk 0.1
        return soft_margin_bound(m, lam, rho, best=0.1 + lam * B**2)

    assert worst(lam) == pytest.approx(0.1 + soft_margin_excess(m, rho, B), rel=1e-12)
    assert worst(lam) < min(worst(1.01 * lam), worst(0.99 * lam))


def test_risks_of_one_word_documents_are_those_of_a_large_sample(rng):
    documents = OneWordDocuments(np.array([0.5, 0.3, 0.15, 0.05]), rho=2.0, flip=0.2)
    w = np.array([0.3, -0.8, -0.1, 0.0])
    X, y = documents.draw(200_000, rng)
    margins = functional_margins(X, y, w)
    assert documents.mistake_risk(w) == pytest.approx(zero_one_loss(margins).mean(), abs=0.006)
    assert documents.hinge_risk(w) == pytest.approx(hinge_loss(margins).mean(), abs=0.012)


def test_one_word_documents_keep_their_margin_and_radius(rng):
    documents = uniform(9, rho=3.0)
    X, y = documents.draw(500, rng)
    w = documents.signs / 3.0
    assert np.linalg.norm(w) == pytest.approx(1.0)
    assert margin(X, y, w) == pytest.approx(documents.gamma) == pytest.approx(1.0)
    assert np.linalg.norm(dense(X), axis=1).max() <= documents.rho
    # No other w does better: with all words seen this is what the hard-margin SVM attains.
    trained = dual_coordinate_descent(X, y, np.inf, tol=1e-9, rng=rng).w
    assert 1.0 / np.linalg.norm(trained) == pytest.approx(documents.gamma, rel=1e-6)


@pytest.mark.parametrize("lam", [1e-3, 0.05, 0.3])
def test_best_hinge_is_the_infimum(lam, rng):
    documents = OneWordDocuments(np.array([0.6, 0.3, 0.1]), rho=1.5, flip=0.1)
    best = documents.best_hinge(lam)
    for _ in range(300):
        u = documents.signs * rng.uniform(-0.2, 1.2, 3) / 1.5
        assert best <= documents.hinge_risk(u) + lam * u @ u
    # It is attained: the soft SVM on a sample in these very shares has this value.
    words = np.repeat([0, 1, 2], [60, 30, 10])
    wrong = np.concatenate([np.arange(c) < c // 10 for c in (60, 30, 10)])
    X = 1.5 * np.eye(3)[words]
    y = documents.signs[words] * np.where(wrong, -1.0, 1.0)
    w = dual_coordinate_descent(X, y, cost(lam, 100, "lambda"), tol=1e-9, rng=rng).w
    assert documents.hinge_risk(w) + lam * w @ w == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("draws", DRAWS)
def test_hard_margin_risk_keeps_its_bound_in_a_share_of_at_least_one_minus_delta(draws, rng):
    documents = rare_words(30, m=800)
    result = simulate_hard_margin(documents, 800, draws, rng=rng, delta=DELTA)
    assert result.bound < 0.5
    assert result.risks.shape == (draws,)
    assert result.share >= 1.0 - DELTA
    # The SVM is right on the words it has seen and on no other: 28 rare words, each missed with
    # probability (1 − 1/m)^m and costing 1/m.
    expected = 28 / 800 * (1.0 - 1.0 / 800) ** 800
    assert abs(result.mean - expected) < 5.0 * result.standard_error


@pytest.mark.parametrize("draws", DRAWS)
def test_an_overstated_margin_breaks_the_hard_margin_bound(draws, rng):
    documents = uniform(800)
    claim = 8.0 * documents.gamma
    result = simulate_hard_margin(documents, 400, draws, rng=rng, delta=DELTA, gamma=claim)
    assert result.bound < 0.5
    assert result.share < 1.0 - DELTA
    assert result.mean > result.bound
    honest = hard_margin_bound(400, documents.gamma, documents.rho, DELTA)
    assert np.all(result.risks <= honest)


@pytest.mark.parametrize("draws", DRAWS)
def test_mean_hinge_risk_of_the_soft_svm_keeps_its_bound(draws, rng):
    documents = OneWordDocuments(rare_words(20, m=1000).p, flip=0.1)
    lam = best_lambda(1000, documents.rho, B=sqrt(20))
    result = simulate_soft_margin(documents, 1000, draws, lam=lam, rng=rng)
    assert result.bound < 0.5
    assert result.mean + 3.0 * result.standard_error < result.bound
    assert result.risks.min() > 0.2  # no w has a hinge risk below 2 · flip: the bound is near


@pytest.mark.parametrize("draws", DRAWS)
def test_an_understated_radius_breaks_the_soft_margin_bound(draws, rng):
    documents = uniform(800)
    lam = 0.2 / 800
    result = simulate_soft_margin(documents, 400, draws, lam=lam, rng=rng, rho=1.0 / 9.0)
    assert result.bound < 0.5
    assert result.mean - 3.0 * result.standard_error > result.bound
    honest = soft_margin_bound(400, lam, documents.rho, documents.best_hinge(lam))
    assert result.mean < honest


def test_the_hinge_risk_is_above_the_mistake_risk(rng):
    documents = OneWordDocuments(np.array([0.7, 0.2, 0.1]), flip=0.2)
    for w in rng.standard_normal((50, 3)):
        assert documents.mistake_risk(w) <= documents.hinge_risk(w)


def test_the_confidence_term_alone_is_left_for_a_wide_margin():
    assert hard_margin_bound(100, 1e9, 1.0, 0.1) == pytest.approx(sqrt(2.0 * log(20.0) / 100))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hard_margin_bound(0, 1.0, 1.0), "m must be a whole number"),
        (lambda: hard_margin_bound(10, 0.0, 1.0), "gamma must be"),
        (lambda: hard_margin_bound(10, 1.0, np.inf), "rho must be"),
        (lambda: hard_margin_bound(10, 1.0, 1.0, 1.0), "delta must be a probability"),
        (lambda: examples_needed(0.0, 1.0, 1.0), "risk must be"),
        (lambda: soft_margin_bound(10, -1.0, 1.0, 0.1), "lam must be"),
        (lambda: soft_margin_bound(10, 1.0, 1.0, np.nan), "best must be"),
        (lambda: best_lambda(10, 1.0, 0.0), "B must be"),
        (lambda: soft_margin_excess(10, 0.0, 1.0), "rho must be"),
        (lambda: OneWordDocuments(np.array([0.5, 0.4])), "p must hold probabilities"),
        (lambda: uniform(2, flip=0.5), "flip must be"),
        (lambda: uniform(2, rho=-1.0), "rho must be"),
        (lambda: rare_words(2, 10), "n_words must be above 2"),
        (lambda: simulate_hard_margin(uniform(4), 50, 0, rng=None), "draws must be"),
        (lambda: simulate_soft_margin(uniform(4), 50, 1, lam=0.0, rng=None), "lam must be"),
        (
            lambda: simulate_hard_margin(uniform(4, flip=0.1), 50, 1, rng=None),
            "gamma must be a finite number above 0",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
