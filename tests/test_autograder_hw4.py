"""Homework 4: what its checks accept beyond the catalogue, what they refuse, and what they draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograder.checks import kernels, many
from autograder.local import Local
from autograder.outcome import Verdict, Wrong
from autograder.pools import functions_of
from autograder.seeds import Draw
from autograder.sources import reference_source

REFERENCE = functions_of(reference_source("hw4-kernels-multiclass"))
SEEDS = range(20)


def student(**functions: Any) -> Local:
    return Local({**REFERENCE, **functions}, limit=20.0)


def run(check: Callable[..., Verdict], seed: int = 0, **functions: Any) -> Verdict:
    return check(student(**functions), Draw(seed))


def drawn(check: Callable[..., Verdict], seed: int) -> list[tuple[Any, ...]]:
    """Return the arguments of all calls that a check makes."""
    name, calls = check.__name__, []

    def recording(*args: Any) -> Any:
        calls.append(args)
        return REFERENCE[name](*args)

    assert run(check, seed, **{name: recording}).share == 1.0
    return calls


def test_a_map_is_judged_by_its_inner_products_alone() -> None:
    def rotated(X: Any) -> Any:
        features = REFERENCE["quadratic_map"](X)
        turn, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(features.shape[1],) * 2))
        return features @ turn

    for seed in SEEDS:
        assert run(kernels.quadratic_map, seed, quadratic_map=rotated).share == 1.0


def test_the_features_of_a_row_may_not_depend_on_the_others() -> None:
    def centred(X: Any) -> Any:
        return REFERENCE["quadratic_map"](X - X.mean(axis=0))

    def padded(X: Any) -> Any:
        return np.hstack((REFERENCE["quadratic_map"](X), np.zeros((len(X), len(X)))))

    assert run(kernels.quadratic_map, quadratic_map=centred).share == 0.0
    with pytest.raises(Wrong, match="depend on d alone"):
        run(kernels.quadratic_map, quadratic_map=padded)


def test_a_gaussian_that_overflows_on_the_way_is_refused() -> None:
    def product(X: Any, Z: Any, gamma: float) -> Any:
        sizes = [np.exp(-gamma * np.sum(rows**2, axis=1)) for rows in (X, Z)]
        with np.errstate(all="ignore"):
            return np.outer(*sizes) * np.exp(2.0 * gamma * X @ Z.T)

    assert run(kernels.gaussian_kernel, gaussian_kernel=product).share == 1.0
    for seed in SEEDS:
        with pytest.raises(Wrong, match="overflow"):
            run(kernels.gaussian_gram, seed, gaussian_kernel=product)


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda K: 1.1 * K, "ones on its diagonal"),
        (lambda K: K + np.triu(K, 1), "symmetric"),
        (lambda K: np.sqrt(K) * (2.0 - K) ** 2, "negative eigenvalue"),
        (lambda K: K**1.1, "off by"),
    ],
)
def test_a_gram_matrix_is_told_what_it_lacks(spoil: Any, word: str) -> None:
    def spoilt(*args: Any) -> Any:
        return spoil(REFERENCE["gaussian_kernel"](*args))

    verdict = run(kernels.gaussian_gram, gaussian_kernel=spoilt)
    assert verdict.share == 0.0
    assert word in verdict.reason


def best_stumps(X: Any, y: Any) -> list[tuple[int, float, int]]:
    """Return all stumps of least error, by counting alone."""
    stumps = [
        (np.sum(np.where(x > threshold, sign, -sign) != y), (feature, float(threshold), sign))
        for feature, x in enumerate(X.T)
        for threshold in (-np.inf, *np.unique(x), np.inf)
        for sign in (-1, 1)
    ]
    fewest = min(errors for errors, _ in stumps)
    return [stump for errors, stump in stumps if errors == fewest]


def test_every_stump_of_least_error_is_accepted_an_infinite_threshold_too() -> None:
    rng = np.random.default_rng(1)
    returned = []

    def any_best(X: Any, y: Any) -> Any:
        returned.append(rng.permutation(np.array(best_stumps(X, y)))[0])
        return returned[-1]

    for seed in SEEDS:
        verdict = many.fit_stump(student(fit_stump=any_best), Draw(seed), rare=0.15)
        assert verdict.share == 1.0
    assert np.isinf([threshold for _, threshold, _ in returned]).any()


def test_where_no_cut_helps_one_class_for_all_is_the_only_best_answer() -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X, y = many._stump_problem(rng, 0, values=200, rare=0.15)
        predicted = [np.where(X[:, j] > t, s, -s) for j, t, s in best_stumps(X, y)]
        assert all(len(np.unique(labels)) == 1 for labels in predicted)
        assert len(np.unique(y)) == 2


def by_entropy(X: Any, y: Any) -> tuple[int, float, int]:
    def entropy(labels: Any) -> float:
        shares = np.array([np.mean(labels > 0), np.mean(labels < 0)])
        return -float(np.sum(shares * np.log(np.maximum(shares, 1e-300)))) * len(labels)

    def value(cut: tuple[int, float]) -> float:
        above = X[:, cut[0]] > cut[1]
        return entropy(y[above]) + entropy(y[~above])

    cuts = [(j, t) for j in range(X.shape[1]) for t in np.unique(X[:, j])[:-1]]
    feature, threshold = min(cuts, key=value)
    errors = np.mean(np.where(X[:, feature] > threshold, 1, -1) != y)
    return feature, threshold, 1 if errors < 0.5 else -1


def test_a_stump_found_by_another_measure_keeps_half_where_it_is_nearly_as_good() -> None:
    shares = {run(many.fit_stump, seed, fit_stump=by_entropy).share for seed in range(8)}
    assert shares == {0.5, 1.0}
    at_the_mean = run(many.fit_stump, fit_stump=lambda X, y: (0, X[:, 0].mean(), 1))
    assert at_the_mean.share == 0.0


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (None, "three values"),
        ((1, 0.5), "three values"),
        ((0.5, 1, 1), "feature 0.5"),
        ((7, 0.5, 1), "0 to 3"),
        ((-1, 0.5, 1), "feature -1"),
        ((1, 0.5, 0), "−1 or \\+1"),
        ((1, "low", 1), "threshold"),
        ((1, float("nan"), 1), "nan"),
        ((None, None, None), "feature of fit_stump is None"),
    ],
)
def test_what_is_no_stump_is_refused_in_words(answer: Any, word: str) -> None:
    with pytest.raises(Wrong, match=word):
        many._stump(answer, 4)


def slack_in_place(scores: Any, codes: Any) -> Any:
    own = np.arange(len(codes)), codes
    scores += 1.0
    scores[own] -= 1.0
    return scores.max(axis=1) - scores[own]


def decision_in_place(K: Any, alpha: Any, y: Any, b: float) -> Any:
    alpha *= y
    return K @ alpha + b


def stump_in_place(X: Any, y: Any) -> Any:
    best = best_stumps(X, y)[0]
    X.sort(axis=0)
    return best


@pytest.mark.parametrize(
    ("check", "function"),
    [
        (many.multiclass_slack, slack_in_place),
        (kernels.kernel_decision, decision_in_place),
        (many.fit_stump, stump_in_place),
    ],
)
def test_a_right_function_that_changes_its_inputs_keeps_half(check: Any, function: Any) -> None:
    verdict = run(check, **{check.__name__: function})
    assert verdict.share == 0.5
    assert "changes the caller's arrays" in verdict.reason


@pytest.mark.parametrize("seed", SEEDS)
def test_every_draw_holds_ties_empty_classes_and_examples_without_slack(seed: int) -> None:
    rows = [row for (scores,) in drawn(many.predict_codes, seed) for row in scores]
    assert any(np.sum(row == row.max()) > 1 for row in rows)
    polls = [(votes, k) for P, k in drawn(many.majority_vote, seed) for votes in P.T]
    counts = [np.bincount(votes, minlength=k) for votes, k in polls]
    assert any(np.sum(count == count.max()) > 1 for count in counts)
    assert any(len(np.unique(codes)) < k for codes, k in drawn(many.ovr_labels, seed))
    slacks = [REFERENCE["multiclass_slack"](*case) for case in drawn(many.multiclass_slack, seed)]
    assert {0.0} < set(np.concatenate(slacks))
