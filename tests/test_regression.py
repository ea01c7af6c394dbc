"""Regularised regression: hand-worked machines, duality gaps, and relations between the losses."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from svmlab.datasets import noisy_line
from svmlab.kernels import gaussian_kernel, kernel_decision, linear_kernel
from svmlab.losses import RESIDUAL_LOSSES
from svmlab.regression import (
    LOSSES,
    kernel_ridge,
    linear_squared_svr,
    regression_dual_objective,
    regression_objective,
    regularized_regression,
    squared_svr,
    svr,
)
from svmlab.types import CSR, ConvergenceWarning, Matrix, Vector

pytestmark = pytest.mark.core

SQUARED = ("squared", "squared_epsilon_insensitive")


def wavy(rng: np.random.Generator, n: int = 40, d: int = 2) -> tuple[Matrix, Vector]:
    X = rng.normal(size=(n, d))
    return X, 3.0 + X[:, 0] + np.sin(2.0 * X[:, -1]) + 0.2 * rng.normal(size=n)


def loss_sum(name: str, residuals: Vector, epsilon: float) -> float:
    size = np.abs(residuals)
    size = np.maximum(0.0, size - epsilon) if name.endswith("insensitive") else size
    return float(np.sum(size**2 if name.startswith("squared") else size))


def test_two_points_and_a_tube_give_the_flattest_line_inside_it() -> None:
    x = np.array([[-1.0], [1.0]])
    line = regularized_regression(
        x, np.array([2.0, 8.0]), 10.0, epsilon=1.0, kernel="linear", tol=1e-12
    )
    assert line.w == pytest.approx([2.0])  # through (-1, 2 + ε) and (1, 8 - ε)
    assert line.b == pytest.approx(5.0)
    assert line.beta == pytest.approx([-1.0, 1.0])
    assert line.objective == pytest.approx(2.0)
    assert line.bound == pytest.approx(2.0)


def test_a_small_cost_holds_beta_at_its_bound() -> None:
    x = np.array([[-1.0], [1.0]])
    line = regularized_regression(
        x, np.array([2.0, 8.0]), 0.25, epsilon=1.0, kernel="linear", tol=1e-12
    )
    assert line.beta == pytest.approx([-0.25, 0.25])
    assert line.w == pytest.approx([0.5])
    assert line.b == pytest.approx(5.0)


def test_the_absolute_loss_without_slope_gives_the_median_and_the_squared_loss_the_mean() -> None:
    y, K = np.array([1.0, 2.0, 3.0, 10.0, 40.0]), np.zeros((5, 5))
    assert regularized_regression(K, y, loss="absolute", tol=1e-9).b == pytest.approx(3.0)
    assert regularized_regression(K, y, loss="squared").b == pytest.approx(11.2)
    assert kernel_ridge(K, y).b == pytest.approx(11.2)


def test_ridge_of_two_points_is_the_line_worked_by_hand() -> None:
    x, y = np.array([-1.0, 1.0]), np.array([2.0, 8.0])
    machine = kernel_ridge(np.outer(x, x), y, C=0.5)  # ½w² + (3 − w)² has its minimum at w = 2
    assert x @ machine.beta == pytest.approx(2.0)
    assert machine.b == pytest.approx(5.0)
    assert machine.objective == pytest.approx(3.0)
    assert machine.bound == pytest.approx(3.0)


@pytest.mark.parametrize("kernel", ["precomputed", "linear"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.05, 5.0])
def test_the_gap_closes_for_every_loss(
    loss: str, kernel: str, C: float, rng: np.random.Generator
) -> None:
    X, y = wavy(rng)
    K = linear_kernel(X, X) if kernel == "linear" else gaussian_kernel(X, X, 0.5)
    rows = X if kernel == "linear" else K
    result = regularized_regression(
        rows, y, C, loss=loss, kernel=kernel, epsilon=0.2, tol=1e-8, max_iter=200_000
    )
    f = K @ result.beta + result.b
    primal = 0.5 * result.beta @ K @ result.beta + C * loss_sum(loss, f - y, 0.2)
    width = 0.2 if loss.endswith("insensitive") else 0.0
    dual = result.beta @ y - width * np.abs(result.beta).sum() - 0.5 * result.beta @ K @ result.beta
    if loss in SQUARED:
        dual -= result.beta @ result.beta / (4.0 * C)
    else:
        assert np.abs(result.beta).max() <= C
    assert result.converged
    assert abs(result.beta.sum()) <= 1e-9
    assert result.objective == pytest.approx(primal, rel=1e-9)
    assert result.bound == pytest.approx(dual, rel=1e-9)
    assert -1e-9 * primal <= primal - dual <= max(1e-8 * C * 40, 1e-7 * primal)
    assert (result.w is None) == (kernel == "precomputed")


@pytest.mark.parametrize("loss", LOSSES)
def test_no_other_machine_is_better(loss: str, rng: np.random.Generator) -> None:
    X, y = wavy(rng, 30)
    best = regularized_regression(X, y, 2.0, loss=loss, epsilon=0.2, kernel="linear", tol=1e-8)
    assert best.w is not None
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            w, b = best.w + size * rng.normal(size=2), best.b + size * rng.normal()
            other = 0.5 * w @ w + 2.0 * loss_sum(loss, X @ w + b - y, 0.2)
            assert other >= best.objective - 1e-6


def test_svr_conditions_hold_one_by_one(rng: np.random.Generator) -> None:
    X, y = wavy(rng)
    K = gaussian_kernel(X, X, 0.5)
    machine = svr(K, y, 2.0, 0.2, tol=1e-9)
    r = y - K @ machine.beta - machine.b  # above the tube where positive
    inside, full = machine.beta == 0.0, np.abs(machine.beta) == 2.0
    edge = ~inside & ~full
    assert inside.any()
    assert full.any()
    assert edge.any()
    assert np.abs(r[inside]).max() <= 0.2 + 1e-8
    assert r[edge] == pytest.approx(0.2 * np.sign(machine.beta[edge]), abs=1e-8)
    assert np.all(np.sign(machine.beta[full]) * r[full] >= 0.2 - 1e-8)


def test_squared_svr_coefficients_are_what_their_residuals_prescribe(
    rng: np.random.Generator,
) -> None:
    X, y = wavy(rng)
    K = gaussian_kernel(X, X, 0.5)
    machine = squared_svr(K, y, 3.0, 0.2, tol=1e-12)
    slope = RESIDUAL_LOSSES["squared_epsilon_insensitive"].slope
    expected = -3.0 * slope(K @ machine.beta + machine.b - y, 0.2)
    assert machine.beta == pytest.approx(expected, abs=1e-10)
    assert np.any(machine.beta == 0.0)


def test_ridge_in_closed_form_is_the_squared_loss_by_newton(rng: np.random.Generator) -> None:
    X, y = wavy(rng)
    K = linear_kernel(X, X)
    closed = kernel_ridge(K, y, 0.7)
    newton = squared_svr(K, y, 0.7, 0.0, tol=1e-12)
    rows = linear_squared_svr(X, y, 0.7, 0.0, tol=1e-12)
    assert newton.n_iter == rows.n_iter == 1
    assert newton.beta == pytest.approx(closed.beta, abs=1e-9)
    assert rows.beta == pytest.approx(closed.beta, abs=1e-9)
    assert rows.w == pytest.approx(X.T @ closed.beta, abs=1e-9)
    assert closed.b == pytest.approx(newton.b)
    assert closed.b == pytest.approx(rows.b)
    assert closed.violation < 1e-12


def test_the_linear_form_has_the_support_vectors_of_the_kernel_form(rng):
    X, y = noisy_line(40, rng)
    kernel = squared_svr(linear_kernel(X, X), y, 10.0, 0.2, tol=1e-10)
    rows = linear_squared_svr(X, y, 10.0, 0.2, tol=1e-10)
    outside = np.abs(rows.beta) > 0
    assert 0 < outside.sum() < len(y)
    assert np.array_equal(outside, np.abs(kernel.beta) > 0)
    assert abs(rows.beta.sum()) <= 1e-12 * np.abs(rows.beta).sum()


def test_squared_svr_is_svr_with_a_ridge_on_the_kernel_and_no_bound(
    rng: np.random.Generator,
) -> None:
    X, y = wavy(rng, 25)
    K = gaussian_kernel(X, X, 0.5)
    newton = squared_svr(K, y, 0.8, 0.1, tol=1e-12)
    smo = svr(K + np.eye(25) / 1.6, y, 1e6, 0.1, tol=1e-10)
    assert smo.beta == pytest.approx(newton.beta, abs=1e-8)
    assert smo.b == pytest.approx(newton.b, abs=1e-8)


def test_linear_and_kernel_form_agree_for_every_loss(rng: np.random.Generator) -> None:
    X, y = wavy(rng, 30)
    for loss in LOSSES:
        linear = regularized_regression(X, y, 0.3, loss=loss, kernel="linear", tol=1e-9)
        kernel = regularized_regression(X @ X.T, y, 0.3, loss=loss, tol=1e-9)
        assert linear.w == pytest.approx(X.T @ kernel.beta, abs=1e-6)
        assert linear.objective == pytest.approx(kernel.objective, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_shifting_targets_shifts_b_and_flipping_them_flips_the_machine(
    loss: str, rng: np.random.Generator
) -> None:
    X, y = wavy(rng)
    K = gaussian_kernel(X, X, 0.5)
    base = regularized_regression(K, y, 2.0, loss=loss, tol=1e-10)
    shifted = regularized_regression(K, y + 7.0, 2.0, loss=loss, tol=1e-10)
    flipped = regularized_regression(K, -y, 2.0, loss=loss, tol=1e-10)
    assert K @ shifted.beta + shifted.b == pytest.approx(K @ base.beta + base.b + 7.0, abs=1e-6)
    assert K @ flipped.beta + flipped.b == pytest.approx(-K @ base.beta - base.b, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_integer_cost_repeats_the_example_and_zero_drops_it(
    loss: str, rng: np.random.Generator
) -> None:
    X, y = wavy(rng, 25)
    times = rng.integers(0, 4, 25)
    index = np.repeat(np.arange(25), times)
    for kernel in ("linear", "precomputed"):
        rows = X if kernel == "linear" else gaussian_kernel(X, X)
        copies = X[index] if kernel == "linear" else gaussian_kernel(X[index], X[index])
        weighted = regularized_regression(rows, y, 0.5 * times, loss=loss, kernel=kernel, tol=1e-9)
        repeated = regularized_regression(copies, y[index], 0.5, loss=loss, kernel=kernel, tol=1e-9)
        assert weighted.objective == pytest.approx(repeated.objective, rel=1e-7)
        assert np.all(weighted.beta[times == 0] == 0.0)
    dropped = kernel_ridge(X @ X.T, y, 0.5 * times)
    assert np.all(dropped.beta[times == 0] == 0.0)


def test_a_tube_that_holds_all_targets_needs_no_support_vector(rng: np.random.Generator) -> None:
    X, y = wavy(rng, 20)
    wide = 0.6 * np.ptp(y)
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        for kernel in ("precomputed", "linear"):
            rows = X if kernel == "linear" else X @ X.T
            flat = regularized_regression(rows, y, loss=loss, epsilon=wide, kernel=kernel)
            assert np.abs(flat.beta).max() < 1e-12  # a target on the edge may keep a rounding error
            assert np.abs(flat.b - y).max() <= wide + 1e-12
            assert abs(flat.objective) < 1e-12
            assert abs(flat.bound) < 1e-12


def test_any_feasible_coefficients_bound_the_objective_from_below(
    rng: np.random.Generator,
) -> None:
    X, y = wavy(rng, 20)
    K = gaussian_kernel(X, X)
    for loss in LOSSES:
        best = regularized_regression(K, y, 2.0, loss=loss, tol=1e-9).objective
        for _ in range(30):
            beta = rng.uniform(-1.0, 1.0, 20)
            beta -= beta.mean()
            assert regression_dual_objective(beta, beta @ K @ beta, y, 2.0, loss) <= best + 1e-9
    outside = np.array([-3.0, 3.0])
    assert regression_dual_objective(outside, 1.0, np.zeros(2), 2.0, "absolute") == -np.inf


def test_objective_reads_the_loss_by_name() -> None:
    f, y = np.array([1.0, 3.0]), np.array([1.5, 1.0])
    values = [regression_objective(2.0, f, y, 2.0, loss, 0.5) for loss in LOSSES]
    expected = {"absolute": 6.0, "squared": 9.5}
    expected |= {"epsilon_insensitive": 4.0, "squared_epsilon_insensitive": 5.5}
    assert dict(zip(LOSSES, values, strict=True)) == expected


def test_prediction_needs_the_support_vectors_only(rng: np.random.Generator) -> None:
    X, y = wavy(rng)
    machine = svr(gaussian_kernel(X, X, 0.5), y, 2.0, 0.3, tol=1e-8)
    support = np.flatnonzero(machine.beta)
    new = rng.normal(size=(7, 2))
    f = kernel_decision(X[support], machine.beta[support], machine.b, new, gamma=0.5)
    assert len(support) < 40
    assert f == pytest.approx(gaussian_kernel(new, X, 0.5) @ machine.beta + machine.b)


def test_sparse_rows_give_the_same_line(rng: np.random.Generator) -> None:
    X, y = wavy(rng, 30, 5)
    X *= rng.random(X.shape) < 0.5
    i, j = np.nonzero(X)
    rows = CSR(X[i, j], j, np.searchsorted(i, np.arange(31)), X.shape)
    for loss in LOSSES:
        one = regularized_regression(rows, y, loss=loss, kernel="linear", tol=1e-9)
        other = regularized_regression(X, y, loss=loss, kernel="linear", tol=1e-9)
        assert one.w == pytest.approx(other.w, abs=1e-6)


def test_too_few_steps_warn_and_say_so(rng: np.random.Generator) -> None:
    X, y = wavy(rng)
    K = gaussian_kernel(X, X)
    with pytest.warns(ConvergenceWarning, match="svr did not converge: KKT violation"):
        assert not svr(K, y, 10.0, max_iter=3).converged
    with pytest.warns(ConvergenceWarning, match="squared_svr did not converge"):
        assert not squared_svr(K, y, 10.0, tol=1e-15, max_iter=1).converged
    with pytest.warns(ConvergenceWarning, match="linear_squared_svr did not converge"):
        assert not linear_squared_svr(X, y, 10.0, 0.5, tol=1e-15, max_iter=1).converged


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [np.nan, 1.0]}, "y must be finite"),
        ({"y": [1.0, np.inf]}, "y must be finite"),
        ({"y": [1.0]}, "y must have 2 entries, got 1"),
        ({"X": [[1.0, 2.0], [0.0, 1.0]]}, "K must be symmetric"),
        ({"X": [[1.0, np.nan], [0.0, 1.0]]}, "must be finite"),
        ({"X": np.ones((2, 3))}, "K must be square"),
        ({"C": 0.0}, "C must be a finite number above 0"),
        ({"C": [1.0, -1.0]}, "C must be 0 or above"),
        ({"epsilon": -0.1}, "epsilon must be a finite number, 0 or above"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_bad_input_is_named(loss: str, change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"X": np.eye(2), "y": [1.0, 2.0], "loss": loss, **change}
    with pytest.raises(ValueError, match=message):
        regularized_regression(**arguments)  # type: ignore[arg-type]


def test_choices_are_named() -> None:
    with pytest.raises(ValueError, match="loss must be one of"):
        regularized_regression(np.eye(2), np.ones(2), loss="huber")
    with pytest.raises(ValueError, match="kernel must be one of"):
        regularized_regression(np.eye(2), np.ones(2), kernel="rbf")


def test_integers_just_work_and_nothing_is_changed(rng: np.random.Generator) -> None:
    X = np.asfortranarray(rng.integers(-3, 4, (20, 2)))
    y = X[:, 0] * 2 + 1
    before = y.copy()
    for loss in LOSSES:
        result = regularized_regression(X, y, 10.0, loss=loss, kernel="linear", tol=1e-8)  # type: ignore[arg-type]
        assert result.converged
    assert np.array_equal(y, before)
    with pytest.raises(FrozenInstanceError):
        result.b = 0.0  # type: ignore[misc]
