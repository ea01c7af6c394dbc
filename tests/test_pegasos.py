from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping

from svmlab.gradient import gradient_descent
from svmlab.pegasos import (
    draw_batch,
    pegasos,
    project,
    soft_svm_sgd,
    step_size,
    subgradient,
    update,
)
from svmlab.primal import cost, lam_from_C, primal_objective, regularized_risk
from svmlab.types import CSR, Matrix, PrimalResult, Vector

pytestmark = pytest.mark.core


def optimum(X: Matrix, y: Vector, lam: float, tol: float = 1e-4) -> PrimalResult:
    """Solve the same problem by full subgradients; objective and bound are in units of λ."""
    return gradient_descent(X, y, cost(lam, len(y), "lambda/2"), fit_intercept=False, tol=tol)


def replay(
    X: Matrix, y: Vector, lam: float, n_steps: int, k: int, seed: int, projection: bool
) -> list[Vector]:
    """Run Pegasos by its step functions alone, and return w_1 = 0, w_2, …"""
    rng, iterates = np.random.default_rng(seed), [np.zeros(X.shape[1])]
    for t in range(1, n_steps + 1):
        batch = draw_batch(len(y), k, rng)
        w = update(iterates[-1], X[batch], y[batch], lam, t)
        iterates.append(project(w, lam) if projection else w)
    return iterates


def sparse_copy(X: Matrix) -> CSR:
    rows, columns = np.nonzero(X)
    return CSR(X[rows, columns], columns, np.searchsorted(rows, np.arange(len(X) + 1)), X.shape)


def test_step_size_by_hand() -> None:
    assert step_size(1, 0.1) == 10.0
    assert step_size(7, 0.5) == 2 / 7
    np.testing.assert_allclose(step_size(np.array([1.0, 2.0, 4.0]), 0.25), [4.0, 2.0, 1.0])


def test_subgradient_by_hand() -> None:
    w, x = np.array([1.0, -2.0]), np.array([3.0, 1.0])  # w·x = 1
    np.testing.assert_array_equal(subgradient(w, x, -1.0), x)
    np.testing.assert_array_equal(subgradient(w, x, 1.0), [0.0, 0.0])
    np.testing.assert_array_equal(subgradient(0.9 * w, x, 1.0), -x)


def test_subgradient_lies_below_the_hinge(rng: np.random.Generator) -> None:
    for _ in range(200):
        w, v, x = rng.normal(size=(3, 4))
        slope = subgradient(w, x, 1.0)
        below = max(0.0, 1.0 - w @ x) + slope @ (v - w)
        assert max(0.0, 1.0 - v @ x) >= below - 1e-12


@pytest.mark.parametrize("t", [1, 2, 7])
@pytest.mark.parametrize("violators", [0, 1, 3])
def test_update_moves_against_the_mean_subgradient(
    t: int, violators: int, rng: np.random.Generator
) -> None:
    lam, w = 0.3, np.array([1.0, 0.0])
    X = np.column_stack((np.repeat([0.5, 2.0], [violators, 3 - violators]), rng.normal(size=3)))
    y = np.ones(3)
    mean = np.mean([subgradient(w, x, 1.0) for x in X], axis=0)
    expected = w - (lam * w + mean) / (lam * t)
    np.testing.assert_allclose(update(w, X, y, lam, t), expected, atol=1e-14)


def test_projection_keeps_the_inside_and_shortens_the_outside() -> None:
    inside, outside = np.array([0.3, 0.4]), np.array([30.0, 40.0])
    np.testing.assert_array_equal(project(inside, 4.0), inside)
    np.testing.assert_allclose(project(outside, 4.0), [0.3, 0.4])
    np.testing.assert_array_equal(project(np.zeros(2), 4.0), [0.0, 0.0])


def test_the_optimum_lies_in_the_ball(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    for lam in (1e-2, 0.1, 1.0):
        assert np.linalg.norm(optimum(X, y, lam).w) <= 1.0 / np.sqrt(lam)


def test_a_batch_holds_different_rows_and_every_row_is_drawn_as_often() -> None:
    rng = np.random.default_rng(0)
    for k in (1, 3, 10):
        batches = np.array([draw_batch(10, k, rng) for _ in range(2000)])
        assert all(len(set(batch)) == k for batch in batches)
        counts = np.bincount(batches.ravel(), minlength=10) / (200.0 * k)
        assert np.abs(counts - 1.0).max() < 0.3  # five standard deviations are 0.35 at k = 1


@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("lam", [0.5, 0.1])  # at 0.5 the first decay is exactly 0
def test_the_loop_takes_the_steps_of_the_step_functions(
    k: int, projection: bool, lam: float
) -> None:
    X, y = overlapping(np.random.default_rng(0))
    X[np.abs(X) < 0.5] = 0.0
    iterates = replay(X, y, lam, 200, k, seed=1, projection=projection)
    for rows in (X, sparse_copy(X)):
        for n_steps in (1, 2, 3, 200):
            generator = np.random.default_rng(1)
            result = pegasos(rows, y, lam, n_steps, generator, batch_size=k, projection=projection)
            np.testing.assert_allclose(result.w, iterates[n_steps], rtol=1e-10, atol=1e-12)
            assert result.objective == regularized_risk(result.w, X, y, lam) or rows is not X


def test_projection_matters_in_the_test_above() -> None:
    X, y = overlapping(np.random.default_rng(0))
    free, bound = (replay(X, y, 0.5, 200, 1, 1, projection)[3] for projection in (False, True))
    assert np.linalg.norm(free - bound) > 0.01


@pytest.mark.parametrize("lam", [0.1, 0.02])
def test_at_lambda_T_2000_the_excess_is_below_2_percent_and_the_norm_within_5(lam: float) -> None:
    X, y = overlapping(np.random.default_rng(5), n=150, d=6)  # sorted by class, unbalanced
    best = optimum(X, y, lam)
    runs = [pegasos(X, y, lam, int(2000 / lam), np.random.default_rng(seed)) for seed in range(3)]
    excess = np.mean([run.objective for run in runs]) / (lam * best.bound) - 1.0
    ratio = np.mean([np.linalg.norm(run.w) for run in runs]) / np.linalg.norm(best.w)
    assert 0.0 <= excess <= 0.02
    assert 0.95 <= ratio <= 1.05
    averaged = [soft_svm_sgd(X, y, lam, int(2000 / lam), np.random.default_rng(k)) for k in (0, 1)]
    assert np.mean([run.objective for run in averaged]) <= 1.02 * lam * best.bound
    batches = pegasos(X, y, lam, int(200 / lam), np.random.default_rng(0), batch_size=10)
    assert batches.objective <= 1.02 * lam * best.bound


def test_ten_times_the_steps_cut_the_excess(rng: np.random.Generator) -> None:
    X, y = overlapping(rng, n=100)
    best = 0.1 * optimum(X, y, 0.1).bound
    excess = [
        np.mean(
            [pegasos(X, y, 0.1, T, np.random.default_rng(s)).objective - best for s in range(10)]
        )
        for T in (200, 2000)
    ]
    assert excess[1] < 0.3 * excess[0]


def test_the_bound_holds_and_closes(rng: np.random.Generator) -> None:
    X, y = overlapping(rng, n=100)
    least = 0.05 * optimum(X, y, 0.05).objective
    for method in (pegasos, soft_svm_sgd):
        gaps = []
        for n_steps in (10, 500, 50_000):
            result = method(X, y, 0.05, n_steps, np.random.default_rng(0))
            assert 0.0 <= result.bound <= least <= result.objective * (1.0 + 1e-4)
            gaps.append(result.gap / result.objective)
        assert gaps[2] < 0.1 < gaps[0]


def test_soft_svm_sgd_visits_the_iterates_of_pegasos_and_returns_their_mean() -> None:
    X, y = overlapping(np.random.default_rng(0))
    iterates = replay(X, y, 0.1, 60, 1, seed=3, projection=False)  # w_0 = 0, w_1, …

    def total(T: int) -> Vector:
        """Return w_0 + … + w_{T−1}."""
        return T * soft_svm_sgd(X, y, 0.1, T, np.random.default_rng(3)).w

    np.testing.assert_array_equal(total(1), np.zeros(3))
    for T in range(1, 60):
        np.testing.assert_allclose(total(T + 1) - total(T), iterates[T], rtol=1e-9, atol=1e-10)
        same = pegasos(X, y, 0.1, T, np.random.default_rng(3)).w
        np.testing.assert_allclose(same, iterates[T], rtol=1e-10, atol=1e-12)
    for seed in range(10):
        iterates = replay(X, y, 0.1, 500, 1, seed, projection=False)
        mean = soft_svm_sgd(X, y, 0.1, 500, np.random.default_rng(seed)).w
        np.testing.assert_allclose(mean, np.mean(iterates[:500], axis=0), rtol=1e-10)


def test_soft_svm_sgd_reads_sparse_rows(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = (
        soft_svm_sgd(rows, y, 0.1, 300, np.random.default_rng(0)) for rows in (X, sparse_copy(X))
    )
    np.testing.assert_allclose(dense.w, sparse.w, rtol=1e-12)


def test_lambda_is_one_over_n_C(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    C, n = 0.4, len(y)
    lam = lam_from_C(C, n)
    result = pegasos(X, y, lam, 100_000, rng)
    best = gradient_descent(X, y, C, fit_intercept=False, tol=1e-4)
    assert primal_objective(result.w, 0.0, X, y, C) <= 1.01 * best.bound
    assert result.objective == pytest.approx(lam * primal_objective(result.w, 0.0, X, y, C))


def test_the_whole_batch_needs_no_generator_and_small_batches_obey_it(
    rng: np.random.Generator,
) -> None:
    X, y = overlapping(rng)
    for k, equal in ((40, True), (7, False), (1, False)):
        w = [pegasos(X, y, 0.1, 50, np.random.default_rng(s), batch_size=k).w for s in (0, 1, 0)]
        np.testing.assert_array_equal(w[0], w[2])
        assert np.array_equal(w[0], w[1]) == equal


def test_history_records_the_objective_without_changing_the_run(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    plain = pegasos(X, y, 0.1, 250, np.random.default_rng(0))
    recorded = pegasos(X, y, 0.1, 250, np.random.default_rng(0), record_every=100)
    np.testing.assert_array_equal(recorded.history["step"], [100, 200, 250])
    np.testing.assert_allclose(recorded.w, plain.w, rtol=1e-12)
    for step, value in zip(*recorded.history.values(), strict=True):
        then = pegasos(X, y, 0.1, int(step), np.random.default_rng(0))
        assert value == pytest.approx(then.objective, rel=1e-12)


def steps_to(X: Matrix, y: Vector, lam: float, epsilon: float, best: float, seed: int) -> float:
    """Return after how many steps the objective first is within ε of the optimum."""
    result = pegasos(X, y, lam, 4000, np.random.default_rng(seed), record_every=40)
    reached = result.history["objective"] <= best + epsilon
    assert reached.any()
    return float(result.history["step"][reached.argmax()])


def ratio_of_steps(n: int, d: int, n_seeds: int) -> float:
    """Return median steps at 100 n over median steps at n, for one λ and ε."""
    lam, epsilon, medians = 0.05, 0.005, []
    for size in (n, 100 * n):
        X, y = overlapping(np.random.default_rng(7), n=size, d=d)
        X /= np.sqrt(d)
        best = optimum(X, y, lam, tol=2e-3)
        assert lam * best.gap < 0.3 * epsilon
        steps = [steps_to(X, y, lam, epsilon, lam * best.bound, s) for s in range(n_seeds)]
        medians.append(np.median(steps))
    return float(medians[1] / medians[0])


def test_steps_to_an_accuracy_do_not_depend_on_the_number_of_examples() -> None:
    assert 1 / 1.5 < ratio_of_steps(n=100, d=5, n_seeds=20) < 1.5


@pytest.mark.full
def test_steps_to_an_accuracy_do_not_depend_on_the_number_of_examples_full() -> None:
    assert 1 / 1.5 < ratio_of_steps(n=2000, d=20, n_seeds=20) < 1.5


def test_integers_and_memory_order_just_work_and_nothing_is_changed() -> None:
    X, y = np.asfortranarray([[2, 1], [-1, 0], [0, 1]]), np.array([1, -1, -1])
    kept = X.copy(), y.copy()
    for method in (pegasos, soft_svm_sgd):
        expected = method(
            np.array(X, dtype=float, order="C"), y.astype(float), 0.1, 20, np.random.default_rng(0)
        )
        actual = method(X, y, 0.1, 20, np.random.default_rng(0))
        np.testing.assert_array_equal(actual.w, expected.w)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@pytest.mark.parametrize("method", [pegasos, soft_svm_sgd])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.nan], [1.0]]}, "X must be finite"),
        ({"X": [[1.0]]}, "y must have 1 entries, got 2"),
        ({"X": np.empty((0, 1)), "y": []}, "X is empty"),
        ({"y": [1, 1]}, "one class only"),
        ({"y": [0, 1]}, "-1 and \\+1 only"),
        ({"lam": 0.0}, "lam must be a finite number above 0"),
        ({"n_steps": 0}, "n_steps must be a whole number"),
    ],
)
def test_bad_input_is_named(method: object, change: dict[str, object], message: str) -> None:
    arguments = {"X": [[1.0], [-1.0]], "y": [1, -1], "lam": 0.1, "n_steps": 5} | change
    assert callable(method)
    with pytest.raises(ValueError, match=message):
        method(**arguments, rng=np.random.default_rng(0))


def test_bad_steps_and_batches_are_named(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="batch_size must be at most the number of rows 2, got 3"):
        pegasos([[1.0], [-1.0]], [1, -1], 0.1, 5, rng, batch_size=3)
    with pytest.raises(ValueError, match="t must be 1 or above"):
        step_size(0, 0.1)
    with pytest.raises(ValueError, match="lam must be"):
        project(np.ones(1), -1.0)
