from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping

from svmlab.margins import margin
from svmlab.perceptron import decaying_rate, perceptron, training_error
from svmlab.types import CSR, ConvergenceWarning, Matrix, Vector

pytestmark = pytest.mark.core


def with_margin(
    rng: np.random.Generator, gamma: float, n: int = 60, d: int = 4
) -> tuple[Matrix, Vector, Vector]:
    """Points at least gamma away from a hyperplane through 0, and its unit normal."""
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    X = rng.normal(size=(n, d))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return X - np.outer(X @ u, u) + np.outer(y * (gamma + rng.exponential(size=n)), u), y, u


def test_two_points_by_hand() -> None:
    X, y = np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0])
    one = perceptron(X, y, max_passes=1, stop="max_passes")
    two = perceptron(X, y, max_passes=2, stop="max_passes")
    np.testing.assert_array_equal(one.w, [1.0, 0.0])  # (2, 1), then minus (1, 1)
    np.testing.assert_array_equal(two.w, [0.0, -1.0])  # first right, then minus (1, 1)
    np.testing.assert_array_equal(two.history["mistakes"], [2, 1])


def test_a_margin_of_zero_is_a_mistake_so_that_w_leaves_zero() -> None:
    X, y = np.array([[3.0], [-1.0]]), np.array([1.0, -1.0])
    np.testing.assert_array_equal(perceptron(X, y, rate=0.5).w, [1.5])
    assert training_error(np.zeros(1), X, y) == 1.0


@pytest.mark.parametrize("gamma", [0.05, 0.3, 1.0])
def test_mistakes_on_separable_data_are_at_most_R_over_gamma_squared(gamma: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y, u = with_margin(rng, gamma)
        result = perceptron(X, y, stop="max_passes", max_passes=100_000, rng=rng)
        R = np.sqrt((X**2).sum(axis=1).max())
        assert result.history["mistakes"].sum() <= (R / margin(X, y, u)) ** 2
        assert result.converged
        assert result.objective == training_error(result.w, X, y) == 0.0
        assert result.history["mistakes"][-1] == 0.0


def test_unit_vectors_need_exactly_as_many_mistakes_as_the_theorem_allows() -> None:
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])  # R = 1 and the best margin is 1/√5
    result = perceptron(np.eye(5), y)
    assert result.history["mistakes"].sum() == 5
    np.testing.assert_array_equal(result.w, y)


def test_a_constant_rate_only_scales_the_weights(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    one = perceptron(X, y, stop="max_passes", max_passes=20)
    half = perceptron(X, y, rate=0.5, stop="max_passes", max_passes=20)
    np.testing.assert_array_equal(half.w, 0.5 * one.w)
    np.testing.assert_array_equal(half.history["mistakes"], one.history["mistakes"])


def test_the_weights_dance_for_ever_when_nothing_separates(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    result = perceptron(X, y, stop="max_passes", max_passes=500)
    assert result.n_iter == 500
    assert not result.converged
    assert result.history["mistakes"].min() > 0
    later = perceptron(X, y, stop="max_passes", max_passes=501)
    assert np.linalg.norm(later.w - result.w) > 0.1
    assert len(set(result.history["training_error"][-100:])) > 1


def test_a_decaying_rate_calms_the_dance(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    moves = []
    for passes in (10, 1000):
        before = perceptron(X, y, rate=(40.0, 40.0), stop="max_passes", max_passes=passes)
        after = perceptron(X, y, rate=(40.0, 40.0), stop="max_passes", max_passes=passes + 1)
        moves.append(np.linalg.norm(after.w - before.w))
    assert moves[1] < 0.05 * moves[0]
    ends = 40.0 * np.arange(1, 1002)
    np.testing.assert_allclose(after.history["rate"], decaying_rate(ends, 40.0, 40.0))


def test_rule_1_stops_when_the_rate_has_decayed(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    result = perceptron(X, y, rate=(1.0, 40.0), stop="rate", min_rate=1e-3)
    assert result.converged
    assert result.n_iter == 24  # 40 examples a pass: 1/(40 p + 40) is 1e-3 at p = 24


def test_rule_2_stops_when_the_training_error_stops_changing(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    result = perceptron(X, y, rate=(1.0, 0.0), stop="training_error", patience=4)
    errors = result.history["training_error"]
    assert result.converged
    assert result.violation > 0
    assert len(set(errors[-5:])) == 1
    assert all(len(set(errors[k : k + 5])) > 1 for k in range(len(errors) - 5))


def test_rule_3_stops_on_the_validation_error_and_returns_the_best(
    rng: np.random.Generator,
) -> None:
    (X, y), (X_val, y_val) = overlapping(rng), overlapping(rng, n=200)
    result = perceptron(X, y, stop="validation_error", patience=3, X_val=X_val, y_val=y_val)
    errors = result.history["validation_error"]
    assert result.converged
    assert result.n_iter == errors.argmin() + 1 + 3
    assert training_error(result.w, X_val, y_val) == errors.min()


def test_rule_4_stops_after_the_passes_without_a_warning(rng: np.random.Generator) -> None:
    result = perceptron(*overlapping(rng), stop="max_passes", max_passes=7)
    assert result.n_iter == len(result.history["step"]) == 7


def test_a_rule_that_is_not_met_in_time_warns(rng: np.random.Generator) -> None:
    with pytest.warns(ConvergenceWarning, match="perceptron did not converge: training error"):
        result = perceptron(*overlapping(rng), stop="training_error", max_passes=3)
    assert not result.converged


def test_sparse_rows_give_the_same_weights(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    X[rng.random(X.shape) < 0.5] = 0.0
    rows, columns = np.nonzero(X)
    indptr = np.searchsorted(rows, np.arange(len(X) + 1))
    sparse = CSR(X[rows, columns], columns, indptr, X.shape)
    dense = perceptron(X, y, stop="max_passes", max_passes=20, rng=np.random.default_rng(1))
    other = perceptron(sparse, y, stop="max_passes", max_passes=20, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(dense.w, other.w)


def test_integers_and_memory_order_just_work_and_nothing_is_changed() -> None:
    X = np.asfortranarray([[2, 1], [-1, 1], [0, 3]])
    y = np.array([1, -1, 1])
    kept = X.copy(), y.copy()
    expected = perceptron(np.array(X, dtype=float, order="C"), y.astype(float))
    np.testing.assert_array_equal(perceptron(X, y).w, expected.w)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.nan], [1.0]]}, "X must be finite"),
        ({"X": [[1.0]]}, "y must have 1 entries, got 2"),
        ({"X": np.empty((0, 1)), "y": []}, "X is empty"),
        ({"y": [1, 1]}, "one class only"),
        ({"y": [0, 1]}, "-1 and \\+1 only"),
        ({"rate": 0.0}, "rate must be a finite number above 0"),
        ({"rate": (1.0, -1.0)}, "c2 of 0 or above"),
        ({"stop": "never"}, "stop must be one of"),
        ({"stop": "rate"}, "needs a decaying rate"),
        ({"stop": "validation_error"}, "needs a validation set"),
        ({"X_val": [[1.0]]}, "belong together"),
        ({"X_val": [[1.0, 2.0]], "y_val": [1.0]}, "X_val must have 1 columns"),
        ({"max_passes": 0}, "max_passes must be a whole number"),
    ],
)
def test_bad_input_is_named(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"X": [[1.0], [-1.0]], "y": [1, -1]} | change
    with pytest.raises(ValueError, match=message):
        perceptron(**arguments)  # type: ignore[arg-type]
