from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from problems import overlapping

from svmlab._sgd_jit import accumulator_steps, decayed_steps, perceptron_pass
from svmlab.coordinate import dual_coordinate_descent
from svmlab.dual import weights_from_alpha
from svmlab.gradient import gradient_descent
from svmlab.pegasos import pegasos, soft_svm_sgd
from svmlab.primal import cost, regularized_risk, slack
from svmlab.rows import row_arrays
from svmlab.scaled_weights import ScaledWeights, dual_bound, shares
from svmlab.sgd import (
    calibrate_rate,
    epochs_from_subsamples,
    learning_rate,
    svm_sgd,
    typical_rate,
)
from svmlab.types import CSR, ConvergenceWarning, Matrix, Vector

pytestmark = pytest.mark.core


def sparse_copy(X: Matrix) -> CSR:
    rows, columns = np.nonzero(X)
    return CSR(X[rows, columns], columns, np.searchsorted(rows, np.arange(len(X) + 1)), X.shape)


def naive_steps(
    X: Matrix, y: Vector, lam: float, order: Vector, rates: Vector, radius: float = np.inf
) -> Vector:
    """Update all of w at every step, with the decay first."""
    w = np.zeros(X.shape[1])
    for i, eta in zip(order, rates, strict=True):
        violated = y[i] * (w @ X[i]) < 1.0
        w = (1.0 - eta * lam) * w
        if violated:
            w = w + eta * y[i] * X[i]
        w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))
    return w


def least_risk(X: Matrix, y: Vector, lam: float) -> float:
    C = cost(lam, len(y), "lambda/2")
    return lam * gradient_descent(X, y, C, fit_intercept=False, tol=1e-4).bound


@pytest.mark.parametrize(
    "rates",
    [
        np.full(400, 0.3),
        np.full(400, 9.9),  # the scale shrinks a hundredfold a step, and is folded into v
        np.full(400, 10.0),  # the scale vanishes at every step: 1 - ηλ = 0
        np.full(400, 15.0),  # the decay overshoots 0
        1.0 / (0.1 * np.arange(1.0, 401.0)),
    ],
)
@pytest.mark.parametrize("radius", [np.inf, 2.0])
def test_scaled_weights_equal_the_naive_update(
    rates: Vector, radius: float, rng: np.random.Generator
) -> None:
    X, y = overlapping(rng)
    X[np.abs(X) < 0.4] = 0.0
    order = rng.integers(len(y), size=400)
    expected = naive_steps(X, y, 0.1, order, rates, radius)
    for rows in (X, sparse_copy(X)):
        for n_visits in (0, 10**9):  # plain and compiled
            machine = ScaledWeights(rows, y, 0.1, np.ones(len(y)), n_visits)
            machine.step(order[:, None], rates, radius)
            np.testing.assert_allclose(machine.w, expected, rtol=1e-10, atol=1e-10)
            w = weights_from_alpha(machine.alpha, X, y)
            np.testing.assert_allclose(w, expected, rtol=1e-10, atol=1e-10)


def test_one_step_by_hand_decays_first_and_divides_by_the_new_scale() -> None:
    machine = ScaledWeights(np.array([[1.0], [-2.0]]), np.array([1.0, -1.0]), 0.5, np.ones(2))
    machine.step(np.array([[0]]), np.array([0.5]))  # s = 0.75, v = 0.5/0.75
    assert (machine.s, machine.v[0]) == (0.75, 0.5 / 0.75)
    machine.step(np.array([[1]]), np.array([0.2]))  # margin 1 is met: w only decays
    assert machine.s == pytest.approx(0.675)
    assert machine.w[0] == pytest.approx(0.45)


def test_compiled_and_plain_loops_agree(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    share = rng.uniform(0.5, 2.0, size=40)
    for rows in (row_arrays(X), row_arrays(sparse_copy(X))):
        order = rng.permutation(40)
        rates = 1.0 / np.arange(1.0, 41.0)
        outcomes = []
        for form in ("plain", "compiled"):
            w, v, theta, credit = np.zeros((4, 3))
            alpha, counts = np.zeros((2, 40))
            mistakes = getattr(perceptron_pass, form)(w, rows, y, order, rates)
            steps = order.reshape(10, 4), rates[:10], 0.5, 1.0
            s = getattr(decayed_steps, form)(v, alpha, 1.0, rows, y, share, *steps)
            run, state = getattr(accumulator_steps, form), (theta, credit, counts)
            H = run(*state, rows, y, share, order, 0.1, 0, 0.0)
            outcomes.append(np.concatenate((w, v, theta, credit, alpha, counts, [mistakes, s, H])))
        np.testing.assert_allclose(*outcomes, rtol=1e-13)


def test_shares_are_weights_of_mean_one_and_bad_ones_are_refused() -> None:
    np.testing.assert_array_equal(shares(None, 3), np.ones(3))
    np.testing.assert_allclose(shares([2, 0, 4], 3), [1.0, 0.0, 2.0])
    with pytest.raises(ValueError, match="sample_weight must be 0 or above"):
        shares([1.0, -1.0], 2)


def test_weights_lead_to_the_optimum_of_the_weighted_risk(rng: np.random.Generator) -> None:
    X, y = overlapping(rng, n=60)
    lam, weights = 0.05, np.where(y > 0, 4.0, 0.5) * rng.choice([0.0, 1.0, 2.0], size=60)
    costs = shares(weights, 60) * cost(lam, 60, "lambda/2")
    best = lam * dual_coordinate_descent(X, y, costs, tol=1e-8).objective
    ignoring = dual_coordinate_descent(X, y, costs.mean(), tol=1e-8).w
    options = {"rng": rng, "sample_weight": weights}
    for result in (
        pegasos(X, y, lam, 40_000, **options),
        soft_svm_sgd(X, y, lam, 40_000, **options),
        svm_sgd(X, y, lam, n_epochs=600, **options),
    ):
        assert result.objective == pytest.approx(regularized_risk(result.w, X, y, lam, weights))
        assert result.bound <= best <= result.objective <= 1.02 * best
    assert regularized_risk(ignoring, X, y, lam, weights) > 1.05 * best  # the test could fail


def test_sparse_rows_give_the_result_of_dense_rows(rng: np.random.Generator) -> None:
    X, y = overlapping(rng, n=100, d=8)
    X[np.abs(X) < 0.8] = 0.0
    dense, sparse = (
        svm_sgd(rows, y, 0.01, n_epochs=20, rng=np.random.default_rng(0))
        for rows in (X, sparse_copy(X))
    )
    np.testing.assert_allclose(dense.w, sparse.w, rtol=1e-10)
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-12)
    assert sparse.bound == pytest.approx(dense.bound, rel=1e-10)


def test_sparse_rows_are_never_made_dense(rng: np.random.Generator) -> None:
    n, d, k = 400, 200_000, 5  # 640 MB if dense
    indices = np.sort(rng.integers(d, size=(n, k)), axis=1).ravel()
    X = CSR(rng.normal(size=n * k), indices, np.arange(n + 1) * k, (n, d))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    tracemalloc.start()
    svm_sgd(X, y, 0.01, n_epochs=3, rng=rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def test_rate_by_hand() -> None:
    t = np.array([0.0, 5.0, 20.0])
    np.testing.assert_allclose(learning_rate(t, 0.1, 2.0), [2.0, 1.0, 0.4])
    np.testing.assert_allclose(learning_rate(t, 0.1, 2.0, t0=20.0), [2.0, 1.6, 1.0])
    late = np.array([1e9])
    np.testing.assert_allclose(learning_rate(late, 0.1, 2.0), 1.0 / (0.1 * late), rtol=1e-6)


def test_the_first_update_is_as_long_as_the_guessed_weights() -> None:
    lam = 1e-4
    X = np.array([[1.0], [-1.0]])
    assert typical_rate(X, lam) == pytest.approx(lam**-0.25)  # t0 = 1/(λη) = λ^(−3/4)
    scale = 7.0  # X → cX, λ → c²λ, w → w/c is the same problem
    first = scale * typical_rate(scale * X, scale**2 * lam)
    assert first == pytest.approx(typical_rate(X, lam) / scale)


def test_calibration_takes_the_best_of_the_rates_it_tries(rng: np.random.Generator) -> None:
    X, y = overlapping(rng, n=300, d=10)
    factors, lam = (100.0, 10.0, 1.0, 0.1, 0.01, 0.001), 0.01
    chosen = calibrate_rate(X, y, lam, np.random.default_rng(0), factors=factors)
    order = np.random.default_rng(0).permutation(300)
    tried = {}
    for factor in factors:
        eta0 = factor * typical_rate(X, lam)
        rates = learning_rate(np.arange(300.0), lam, eta0)
        tried[eta0] = regularized_risk(naive_steps(X, y, lam, order, rates), X, y, lam)
    assert chosen == pytest.approx(min(tried, key=lambda eta0: tried[eta0]))
    assert max(tried.values()) > 2.0 * min(tried.values())


@pytest.mark.parametrize("lam", [0.1, 0.01])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_calibrated_rate_reaches_the_optimum_at_any_scale(lam: float, scale: float) -> None:
    X, y = overlapping(np.random.default_rng(1), n=200, d=5)  # sorted by class
    best = least_risk(X, y, lam)
    runs = [
        svm_sgd(scale * X, y, scale**2 * lam, n_epochs=100, rng=np.random.default_rng(seed))
        for seed in range(3)
    ]
    assert 0.0 <= np.mean([run.objective for run in runs]) / best - 1.0 < 0.02
    for run in runs:
        assert run.bound <= best * (1.0 + 2e-4)
        assert run.gap < 0.1 * best
        assert run.objective == run.history["objective"][-1]


def test_a_rate_far_off_is_worse_than_the_calibrated_one() -> None:
    X, y = overlapping(np.random.default_rng(1), n=200, d=5)
    good = svm_sgd(X, y, 0.01, n_epochs=5, rng=np.random.default_rng(0))
    for factor in (1e3, 1e-3):
        eta0 = factor * good.history["eta0"][0]
        bad = svm_sgd(X, y, 0.01, n_epochs=5, rng=np.random.default_rng(0), eta0=eta0)
        assert bad.objective > 1.05 * good.objective


def test_the_dual_bound_holds_for_any_multipliers(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    best = least_risk(X, y, 0.1) * (1.0 + 1e-4)
    for scale in (0.0, 0.01, 1.0, 100.0):
        alpha = scale * rng.normal(size=40)
        assert 0.0 <= dual_bound(alpha, X, y, 0.1) <= best


def test_every_epoch_visits_each_row_once_in_a_new_order() -> None:
    n, eta, lam = 10, 0.1, 1e-3  # on unit vectors a visit adds η to one |w_i|, which then decays
    y = np.tile([1.0, -1.0], n // 2)
    once, twice = (
        svm_sgd(np.eye(n), y, lam, n_epochs=k, rng=np.random.default_rng(0), eta0=eta, t0=1e12).w
        for k in (1, 2)
    )
    added = twice - (1.0 - eta * lam) ** n * once
    orders = np.argsort(once * y), np.argsort(added * y)
    expected = eta * (1.0 - eta * lam) ** np.arange(n - 1, -1, -1)
    np.testing.assert_allclose((once * y)[orders[0]], expected, rtol=1e-8)
    np.testing.assert_allclose((added * y)[orders[1]], expected, rtol=1e-8)
    assert not np.array_equal(orders[0], orders[1])
    assert not np.array_equal(orders[0], np.arange(n))


def noisy(rng: np.random.Generator, n: int, d: int = 30) -> tuple[Matrix, Vector]:
    """Many columns and flipped labels: training for long fits the noise."""
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(n, d))
    X[:, 0] += y
    return X, np.where(rng.random(n) < 0.1, -y, y)


def test_training_stops_when_the_validation_loss_stops_falling(rng: np.random.Generator) -> None:
    X, y = noisy(rng, 60)
    X_val, y_val = noisy(rng, 200)
    result = svm_sgd(
        X, y, 1e-4, n_epochs=200, rng=rng, X_val=X_val, y_val=y_val, patience=3, eta0=0.003
    )
    losses = result.history["validation_loss"]
    assert result.converged
    assert 4 < result.n_iter == losses.argmin() + 1 + 3 < 200
    assert slack(X_val, y_val, result.w).mean() == losses.min()
    assert np.all(losses[-3:] >= losses.min())


def test_epochs_that_run_out_before_the_loss_stops_falling_warn(rng: np.random.Generator) -> None:
    X, y = noisy(rng, 60)
    with pytest.warns(ConvergenceWarning, match="svm_sgd did not converge: last fall"):
        result = svm_sgd(X, y, 1e-4, n_epochs=3, rng=rng, X_val=X, y_val=y, eta0=1e-5)
    assert not result.converged


def test_epochs_come_from_training_on_A_and_validating_on_B() -> None:
    X, y = noisy(np.random.default_rng(0), 300)
    epochs = epochs_from_subsamples(X, y, 1e-4, np.random.default_rng(1), n_rows=100)
    rng = np.random.default_rng(1)
    order = rng.permutation(300)
    A, B = order[:100], order[100:200]
    same = svm_sgd(X[A], y[A], 1e-4, n_epochs=100, rng=rng, X_val=X[B], y_val=y[B], patience=2)
    assert epochs == same.history["validation_loss"].argmin() + 1 < 100
    best = slack(X[B], y[B], same.w).mean()
    long = svm_sgd(X[A], y[A], 1e-4, n_epochs=100, rng=np.random.default_rng(2))
    assert slack(X[B], y[B], long.w).mean() > best


def test_integers_and_memory_order_just_work_and_nothing_is_changed() -> None:
    X, y = np.asfortranarray([[2, 1], [-1, 0], [0, 1]]), np.array([1, -1, -1])
    kept = X.copy(), y.copy()
    expected = svm_sgd(
        np.array(X, dtype=float, order="C"),
        y.astype(float),
        0.1,
        n_epochs=3,
        rng=np.random.default_rng(0),
    )
    actual = svm_sgd(X, y, 0.1, n_epochs=3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(actual.w, expected.w)
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
        ({"lam": -1.0}, "lam must be a finite number above 0"),
    ],
)
def test_bad_input_is_named(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"X": [[1.0], [-1.0]], "y": [1, -1], "lam": 0.1} | change
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        svm_sgd(**arguments, n_epochs=1, rng=rng)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        calibrate_rate(**arguments, rng=rng)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        epochs_from_subsamples(**arguments, rng=rng)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_epochs": 0}, "n_epochs must be a whole number"),
        ({"eta0": 0.0}, "eta0 must be a finite number above 0"),
        ({"t0": -1.0}, "t0 must be a finite number above 0"),
        ({"X_val": [[1.0]]}, "belong together"),
        ({"X_val": [[1.0, 1.0]], "y_val": [1]}, "X_val must have 1 columns as X has, got 2"),
    ],
)
def test_bad_options_are_named(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"n_epochs": 1, "rng": np.random.default_rng(0)} | change
    with pytest.raises(ValueError, match=message):
        svm_sgd([[1.0], [-1.0]], [1, -1], 0.1, **arguments)  # type: ignore[arg-type]
