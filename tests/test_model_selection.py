from __future__ import annotations

import numpy as np
import pytest

from svmlab import datasets
from svmlab.coordinate import dual_coordinate_descent
from svmlab.model_selection import (
    as_fit,
    choose_C,
    compare,
    cross_validate,
    early_stopping,
    kfold_indices,
    mean_squared_error,
    mistake_rate,
    train_validation_test_split,
)
from svmlab.rows import dense
from svmlab.types import CSR

pytestmark = pytest.mark.core


def nearest_mean(X, y):
    plus, minus = X[y > 0].mean(axis=0), X[y < 0].mean(axis=0)

    def predict(Z):
        nearer = np.linalg.norm(Z - plus, axis=1) < np.linalg.norm(Z - minus, axis=1)
        return np.where(nearer, 1.0, -1.0)

    return predict


def least_squares(X, y):
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    return lambda Z: Z @ w


@pytest.mark.parametrize(("n", "k"), [(10, 10), (23, 5), (100, 7), (2, 2)])
def test_folds_are_disjoint_cover_everything_and_differ_by_one_at_most(n, k, rng):
    folds = kfold_indices(n, k, rng)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(n))
    sizes = [len(fold) for fold in folds]
    assert len(sizes) == k
    assert max(sizes) - min(sizes) <= 1


def test_stratified_folds_share_every_class_evenly_whatever_its_labels(rng):
    y = np.array(["ham"] * 41 + ["spam"] * 9 + ["other"] * 13)
    folds = kfold_indices(len(y), 5, rng, y)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(len(y)))
    for label in np.unique(y):
        counts = [np.sum(y[fold] == label) for fold in folds]
        assert max(counts) - min(counts) <= 1
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= 1


def test_folds_are_random_and_repeat_with_the_seed():
    first, again, other = (kfold_indices(50, 5, np.random.default_rng(s)) for s in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert not np.array_equal(first[0], np.arange(10))


def test_the_three_parts_are_disjoint_and_complete(rng):
    parts = train_validation_test_split(101, rng, (0.5, 0.25, 0.25))
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(101))
    assert [len(part) for part in parts] == [50, 26, 25]


def test_leave_one_out_by_hand(rng):
    # The means of the other examples are 3 and 7 for 0, 0 and 7 for 3, 1.5 and 8 for 6, 1.5 and 6
    # for 8: all four are nearer to their own class.
    X = np.array([[0.0], [3.0], [6.0], [8.0]])
    assert cross_validate(nearest_mean, X, [-1, -1, 1, 1], 4, rng=rng, stratify=False).mean == 0.0
    # With 4.4 in place of 6 the means for it are 1.5 and 8 still, and 1.5 is nearer.
    X[2, 0] = 4.4
    assert cross_validate(nearest_mean, X, [-1, -1, 1, 1], 4, rng=rng, stratify=False).mean == 0.25


def test_leave_one_out_of_least_squares_has_a_closed_form(rng):
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    hat = X @ np.linalg.solve(X.T @ X, X.T)
    left_out = ((y - hat @ y) / (1.0 - np.diag(hat))) ** 2
    result = cross_validate(
        least_squares, X, y, 30, rng=rng, error=mean_squared_error, stratify=False
    )
    assert np.allclose(np.sort(result.errors), np.sort(left_out), rtol=1e-9)
    assert result.mean == pytest.approx(left_out.mean())
    assert result.spread == pytest.approx(left_out.std(ddof=1))
    assert result.standard_error == pytest.approx(left_out.std(ddof=1) / np.sqrt(30))


def test_a_model_never_sees_the_fold_it_is_judged_on(rng):
    X, y = np.arange(40.0)[:, None], rng.choice([-1.0, 1.0], 40)
    judged = []

    def memory(X, y):
        known = set(X[:, 0])

        def predict(Z):
            assert known.isdisjoint(Z[:, 0])
            assert len(known) + len(Z) == 40
            judged.extend(Z[:, 0])
            return np.ones(len(Z))

        return predict

    cross_validate(memory, X, y, 8, rng=rng)
    assert sorted(judged) == list(range(40))


def test_memory_without_understanding_is_found_out(rng):
    X, y = rng.standard_normal((2000, 3)), rng.permutation(np.repeat([-1.0, 1.0], 1000))

    def memory(X, y):
        table = {tuple(x): label for x, label in zip(X, y, strict=True)}
        return lambda Z: np.array([table.get(tuple(z), 1.0) for z in Z])

    assert mistake_rate(y, memory(X, y)(X)) == 0.0
    assert cross_validate(memory, X, y, rng=rng).mean == pytest.approx(0.5, abs=0.01)


def svm(X, y, C=1.0):
    w = dual_coordinate_descent(X, y, C, tol=1e-2).w
    return lambda Z: np.where(dense(Z) @ w > 0, 1.0, -1.0)


def test_sparse_and_dense_rows_give_the_same_errors():
    X, y = datasets.rcv1_like(120, 60, rng=np.random.default_rng(3))
    sparse, full = (
        cross_validate(svm, Z, y, 5, rng=np.random.default_rng(1)) for Z in (X, dense(X))
    )
    assert isinstance(X, CSR)
    assert np.array_equal(sparse.errors, full.errors)


def stump_at_C(X, y, C):
    return lambda Z: np.where(Z[:, 0] > C, 1.0, -1.0)


def test_the_chosen_C_is_the_smallest_of_the_best(rng):
    X = np.arange(20.0)[:, None]
    y = np.where(X[:, 0] < 10, -1.0, 1.0)
    choice = choose_C(stump_at_C, X, y, [15.0, 9.75, 9.5, 3.0], 5, rng=rng)
    assert choice.C == 9.5
    assert np.array_equal(choice.grid, [3.0, 9.5, 9.75, 15.0])
    assert np.allclose(choice.means, [0.3, 0.0, 0.0, 0.3])
    assert choice.errors.shape == (4, 5)


def test_one_standard_error_prefers_the_most_regularised_machine_as_good_as_the_best(rng):
    X = np.arange(100.0)[:, None]
    y = np.where(X[:, 0] < 50, -1.0, 1.0)
    y[[3, 20, 44, 70, 91]] *= -1.0  # noise, so that folds differ
    grid = [10.0, 47.5, 49.5, 80.0]
    plain = choose_C(stump_at_C, X, y, grid, 10, rng=np.random.default_rng(0))
    careful = choose_C(
        stump_at_C, X, y, grid, 10, rng=np.random.default_rng(0), one_standard_error=True
    )
    assert plain.C == 49.5
    assert careful.C == 47.5
    best = plain.means.argmin()
    assert plain.means[1] <= plain.means[best] + plain.standard_errors[best]
    assert plain.means[0] > plain.means[best] + plain.standard_errors[best]


def test_every_C_is_tried_on_the_same_folds(rng):
    seen = {}

    def record(X, y, C):
        seen.setdefault(C, []).append(tuple(X[:, 0]))
        return lambda Z: np.ones(len(Z))

    X = np.arange(30.0)[:, None]
    choose_C(record, X, np.tile([-1.0, 1.0], 15), [0.1, 1.0, 10.0], 3, rng=rng)
    assert seen[0.1] == seen[1.0] == seen[10.0]
    assert len(set(seen[0.1])) == 3


def test_training_stops_after_patience_epochs_without_a_new_lowest_cost():
    costs = [5.0, 4.0, 4.5, 4.0, 3.0, 9.0, 9.0, 9.0, 0.0]
    assert early_stopping(costs, patience=1).best == 1
    assert early_stopping(costs, patience=2).best == 1  # an equal cost is no progress
    stop = early_stopping(costs, patience=3)
    assert stop.best == 4
    assert list(stop.costs) == costs[:8]
    assert early_stopping(costs, patience=4).best == 8


def test_no_epoch_is_trained_after_the_stop():
    trained = []

    def epochs():
        for t, cost in enumerate([3.0, 2.0, 2.5, 1.0]):
            trained.append(t)
            yield cost

    assert early_stopping(epochs()).best == 1
    assert trained == [0, 1, 2]


class Majority:
    """An estimator by its methods alone, which would start warm from an earlier fit."""

    def __init__(self, label=None):
        self.label = label

    def get_params(self, deep=True):
        return {"label": self.label}

    def fit(self, X, y):
        assert not hasattr(self, "label_"), "fitted twice"
        self.label_ = self.label if self.label is not None else np.sign(y.sum() + 0.5)
        return self

    def predict(self, X):
        return np.full(len(X), self.label_)


def test_models_are_compared_on_the_same_folds_and_shown_as_a_table(rng):
    X, y = datasets.blobs(90, rng, distance=4.0, positive=0.3)
    models = {"nearest mean": nearest_mean, "again": nearest_mean, "minus": Majority(-1.0)}
    comparison = compare(models, X, y, 6, rng=rng)
    results = comparison.results
    assert np.array_equal(results["nearest mean"].errors, results["again"].errors)
    assert results["minus"].mean == pytest.approx(0.3, abs=1e-12)
    assert results["minus"].fit_seconds.shape == (6,)
    lines = str(comparison).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["model", "nearest mean", "again", "minus"]
    assert "0.3000" in lines[3]
    assert len({len(line) for line in lines}) == 1


def test_an_estimator_is_copied_for_every_fold(rng):
    X, y = datasets.blobs(40, rng)
    model = Majority()
    cross_validate(model, X, y, 4, rng=rng)
    assert not hasattr(model, "label_")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y, r: kfold_indices(5, 6, r), "k must be between 2 and the number"),
        (lambda X, y, r: kfold_indices(5, 1, r), "k must be between 2"),
        (lambda X, y, r: kfold_indices(5, 2, r, [1, 2]), "y must have one label a row, 5"),
        (lambda X, y, r: train_validation_test_split(10, r, (0.5, 0.5, 0.0)), "shares must be"),
        (lambda X, y, r: train_validation_test_split(3, r, (0.9, 0.05, 0.05)), "too small"),
        (lambda X, y, r: cross_validate(nearest_mean, X, y[:-1], 2, rng=r), "y must have one"),
        (lambda X, y, r: cross_validate(nearest_mean, X * np.nan, y, 2, rng=r), "X must be finite"),
        (lambda X, y, r: cross_validate(nearest_mean, X, y * np.inf, 2, rng=r), "y must be finite"),
        (lambda X, y, r: cross_validate(nearest_mean, X[:0], y[:0], 2, rng=r), "X is empty"),
        (lambda X, y, r: cross_validate(Majority, X, y, 2, rng=r), "fit must be a function"),
        (lambda X, y, r: cross_validate(3, X, y, 2, rng=r), "fit must be a function"),
        (
            lambda X, y, r: cross_validate(lambda X, y: lambda Z: 1.0, X, y, 2, rng=r),
            "predict must return one value a row",
        ),
        (lambda X, y, r: choose_C(stump_at_C, X, y, [0.0, 1.0], 2, rng=r), "grid must hold"),
        (lambda X, y, r: choose_C(stump_at_C, X, y, [], 2, rng=r), "grid is empty"),
        (lambda X, y, r: compare({}, X, y, 2, rng=r), "models is empty"),
        (lambda X, y, r: early_stopping([]), "costs is empty"),
        (lambda X, y, r: early_stopping([1.0, np.nan]), "cost of epoch 1 is nan"),
        (lambda X, y, r: early_stopping([1.0], patience=0), "patience must be"),
    ],
)
def test_bad_input_is_refused_by_name(call, message, rng):
    X, y = datasets.blobs(12, np.random.default_rng(1))
    with pytest.raises(ValueError, match=message):
        call(X, y, rng)


def test_integers_and_fortran_order_just_work(rng):
    y = np.repeat([-1, 1], 6)
    X = np.asfortranarray(np.arange(24).reshape(12, 2) + 100 * y[:, None])
    assert cross_validate(nearest_mean, X, y, 3, rng=rng).mean == 0.0
    assert as_fit(nearest_mean) is nearest_mean
