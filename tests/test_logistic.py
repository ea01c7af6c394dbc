"""Logistic regression, linear and kernel: certificates, limits, and the density of multipliers."""

from __future__ import annotations

import numpy as np
import pytest

from svmlab.kernels import gaussian_kernel, linear_kernel
from svmlab.logistic import (
    kernel_logistic_regression,
    logistic_dual_objective,
    logistic_regression,
    multiplier_density,
    sigmoid,
    stationarity_of_multipliers,
    weighted_entropy,
)
from svmlab.losses import MARGIN_LOSSES, logistic_loss
from svmlab.newton import newton_kernel, newton_rows
from svmlab.primal import primal_gradient
from svmlab.smo import solve_dual
from svmlab.types import CSR, ConvergenceWarning, Matrix, Vector

pytestmark = pytest.mark.core


def noisy(rng: np.random.Generator, n: int = 80, d: int = 4) -> tuple[Matrix, Vector]:
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.3, 1.0, -1.0)


def sparse(X: Matrix) -> CSR:
    i, j = np.nonzero(X)
    return CSR(X[i, j], j, np.searchsorted(i, np.arange(len(X) + 1)), X.shape)


def test_two_examples_give_the_root_that_pencil_and_paper_give() -> None:
    x, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    result = logistic_regression(x, y, C=3.0, tol=1e-12)
    w = result.w[0]
    assert w == pytest.approx(6.0 / (1.0 + np.exp(w)), abs=1e-11)  # w = 2C / (1 + e^w)
    assert abs(result.b) < 1e-12
    assert result.alpha == pytest.approx(np.full(2, w / 2.0), abs=1e-11)


def test_sigmoid_turns_the_summed_loss_into_minus_the_log_likelihood(
    rng: np.random.Generator,
) -> None:
    f, y = rng.normal(size=20) * 5.0, np.where(rng.random(20) < 0.5, 1.0, -1.0)
    likelihood = np.prod(np.where(y > 0, sigmoid(f), 1.0 - sigmoid(f)))
    assert logistic_loss(y * f).sum() == pytest.approx(-np.log(likelihood))
    assert sigmoid(f) + sigmoid(-f) == pytest.approx(np.ones(20))


@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_solution_has_no_gradient_and_no_gap(
    C: float, intercept: bool, rng: np.random.Generator
) -> None:
    X, y = noisy(rng)
    result = logistic_regression(X, y, C, intercept=intercept, tol=1e-10)
    grad_w, grad_b = primal_gradient(result.w, result.b, X, y, C, MARGIN_LOSSES["logistic"])
    scale = C * max(np.abs(X).sum(axis=0).max(), 80.0)
    assert result.converged
    assert np.abs(grad_w).max() <= 2e-10 * scale
    assert abs(grad_b) <= 2e-10 * scale or not intercept
    assert abs(result.gap) <= 1e-9 * result.objective
    assert intercept or result.b == 0.0


@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("intercept", [True, False])
def test_kernel_multipliers_are_what_their_margins_prescribe(
    C: float, intercept: bool, rng: np.random.Generator
) -> None:
    X, y = noisy(rng)
    K = gaussian_kernel(X, X, 0.5)
    result = kernel_logistic_regression(K, y, C, intercept=intercept, tol=1e-10)
    margins = y * (K @ (result.alpha * y) + result.b)
    assert result.alpha == pytest.approx(C / (1.0 + np.exp(margins)), rel=1e-6, abs=1e-10 * C)
    assert stationarity_of_multipliers(result.alpha, margins, C) <= 1e-10 * C
    assert abs(result.gap) <= 1e-9 * result.objective
    assert abs(result.alpha @ y) <= 1e-12 * C * 80 or not intercept


def test_kernel_form_with_the_linear_kernel_is_the_linear_machine(rng: np.random.Generator) -> None:
    X, y = noisy(rng)
    linear = logistic_regression(X, y, 2.0, tol=1e-12)
    kernel = kernel_logistic_regression(linear_kernel(X, X), y, 2.0, tol=1e-12)
    assert X.T @ (kernel.alpha * y) == pytest.approx(linear.w, abs=1e-9)
    assert kernel.b == pytest.approx(linear.b, abs=1e-9)
    assert kernel.objective == pytest.approx(linear.objective, rel=1e-12)
    assert kernel.alpha == pytest.approx(linear.alpha, abs=1e-9)


def test_every_feasible_multiplier_bounds_the_objective_from_below(
    rng: np.random.Generator,
) -> None:
    X, y = noisy(rng, 30)
    K = gaussian_kernel(X, X)
    best = kernel_logistic_regression(K, y, 2.0, tol=1e-10).objective
    for _ in range(50):
        alpha = rng.uniform(0.0, 2.0, 30)
        heavier = 1.0 if alpha @ y > 0 else -1.0
        sums = alpha[y == heavier].sum(), alpha[y == -heavier].sum()
        alpha[y == heavier] *= sums[1] / sums[0]
        assert logistic_dual_objective(alpha, K, y, 2.0) <= best
    assert logistic_dual_objective(np.full(30, 2.1), K, y, 2.0) == -np.inf


def test_entropy_is_the_conjugate_of_the_logistic_loss() -> None:
    m = np.linspace(-40.0, 40.0, 80_001)
    for alpha in (0.0, 0.3, 1.0, 1.9):  # H(alpha) = min over m of C loss(m) + alpha m
        lowest = (2.0 * logistic_loss(m) + alpha * m).min()
        assert weighted_entropy(np.array([alpha]), 2.0)[0] == pytest.approx(lowest, abs=1e-6)


def test_logistic_multipliers_are_dense_where_the_svm_is_sparse(rng: np.random.Generator) -> None:
    X, y = noisy(rng, 150, 2)
    X[:, 0] += 2.0 * y
    K = gaussian_kernel(X, X, 0.5)
    logistic = kernel_logistic_regression(K, y, 1.0, tol=1e-10)
    svm = solve_dual(K, y, 1.0, tol=1e-6)
    assert multiplier_density(logistic.alpha, 1.0, threshold=1e-3) == 1.0
    assert multiplier_density(svm.alpha, 1.0) < 0.4
    assert len(logistic.support) == 150


def test_density_counts_only_examples_with_a_cost() -> None:
    alpha, C = np.array([0.5, 0.0, 0.0, 1e-9]), np.array([1.0, 1.0, 0.0, 1.0])
    assert multiplier_density(alpha, C) == pytest.approx(1 / 3)
    assert multiplier_density(alpha, C, threshold=0.0) == pytest.approx(2 / 3)


def test_duplicating_the_data_halves_C(rng: np.random.Generator) -> None:
    X, y = noisy(rng)
    once = logistic_regression(X, y, 2.0, tol=1e-12)
    twice = logistic_regression(np.vstack((X, X)), np.tile(y, 2), 1.0, tol=1e-12)
    assert twice.w == pytest.approx(once.w, abs=1e-9)
    assert twice.b == pytest.approx(once.b, abs=1e-9)


def test_an_integer_cost_repeats_the_example_and_zero_drops_it(rng: np.random.Generator) -> None:
    X, y = noisy(rng)
    times = rng.integers(0, 4, len(y))
    K = gaussian_kernel(X, X)
    index = np.repeat(np.arange(len(y)), times)
    weighted = logistic_regression(X, y, 0.5 * times, tol=1e-12)
    repeated = logistic_regression(X[index], y[index], 0.5, tol=1e-12)
    assert weighted.w == pytest.approx(repeated.w, abs=1e-9)
    kernel = kernel_logistic_regression(K, y, 0.5 * times, tol=1e-12)
    copies = kernel_logistic_regression(K[np.ix_(index, index)], y[index], 0.5, tol=1e-12)
    assert kernel.objective == pytest.approx(copies.objective, rel=1e-11)
    assert np.all(kernel.alpha[times == 0] == 0.0)


def test_flipping_labels_flips_the_machine(rng: np.random.Generator) -> None:
    X, y = noisy(rng)
    one, other = logistic_regression(X, y, tol=1e-12), logistic_regression(X, -y, tol=1e-12)
    assert other.w == pytest.approx(-one.w, abs=1e-10)
    assert other.b == pytest.approx(-one.b, abs=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_rows_and_many_features_give_the_same_machine(
    intercept: bool, rng: np.random.Generator
) -> None:
    X, y = noisy(rng, 60, 30)
    X *= rng.random(X.shape) < 0.3
    dense = logistic_regression(X, y, 3.0, tol=1e-10, intercept=intercept)
    rows = logistic_regression(sparse(X), y, 3.0, tol=1e-10, intercept=intercept)  # type: ignore[arg-type]
    assert rows.w == pytest.approx(dense.w, abs=1e-7)
    wide = np.hstack((X, np.zeros((60, 1000))))  # more than are solved directly
    assert logistic_regression(wide, y, 3.0, tol=1e-10, intercept=intercept).w[:30] == (
        pytest.approx(dense.w, abs=1e-7)
    )


def test_newton_walks_down_and_converges_fast_at_the_end(rng: np.random.Generator) -> None:
    X, y = noisy(rng)
    result = kernel_logistic_regression(gaussian_kernel(X, X), y, 1e4, tol=1e-10)
    objective, violation = result.history["objective"], result.history["violation"]
    assert np.all(np.diff(objective) <= 1e-12 * objective[:-1])
    assert violation[-1] <= max(1e-13, 1e2 * violation[-2] ** 1.5)
    assert result.n_iter == len(objective) - 1 <= 30


def test_newton_loops_solve_least_squares_in_one_step(rng: np.random.Generator) -> None:
    A, target = rng.normal(size=(20, 3)), rng.normal(size=20)

    def loss(f: Vector) -> tuple[float, Vector, Vector]:
        return float(0.5 * (f - target) @ (f - target)), f - target, np.ones(20)

    run = newton_rows(A, np.ones(3), loss, np.ones(20), tol=1e-12, max_iter=5)
    assert run.n_iter == 1
    assert run.weights == pytest.approx(np.linalg.solve(A.T @ A + np.eye(3), A.T @ target))
    kernel = newton_kernel(A @ A.T, loss, np.ones(20), intercept=False, tol=1e-12, max_iter=5)
    assert kernel.n_iter == 1
    assert A.T @ kernel.weights == pytest.approx(run.weights)


def test_too_few_steps_warn_and_say_so(rng: np.random.Generator) -> None:
    X, y = noisy(rng)
    with pytest.warns(ConvergenceWarning, match="logistic_regression did not converge"):
        result = logistic_regression(X, y, 100.0, tol=1e-12, max_iter=1)
    assert not result.converged
    assert result.bound <= logistic_regression(X, y, 100.0).objective
    with pytest.warns(ConvergenceWarning, match="stationarity violation"):
        kernel = kernel_logistic_regression(gaussian_kernel(X, X), y, 100.0, tol=1e-12, max_iter=1)
    assert not kernel.converged
    assert kernel.gap > 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.nan], [1.0]]}, "X must be finite"),
        ({"X": [[np.inf], [1.0]]}, "X must be finite"),
        ({"X": np.empty((0, 2))}, "X is empty"),
        ({"y": [1.0, 1.0]}, "one class only"),
        ({"y": [0.0, 1.0]}, "y must hold -1 and \\+1 only, got 0"),
        ({"y": [1.0, -1.0, 1.0]}, "y must have 2 entries, got 3"),
        ({"C": 0.0}, "C must be a finite number above 0, got 0.0"),
        ({"C": [1.0, 0.0]}, "C must be above 0 for an example of each class"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_input_is_named(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"X": [[1.0], [-1.0]], "y": [1.0, -1.0], **change}
    with pytest.raises(ValueError, match=message):
        logistic_regression(**arguments)  # type: ignore[arg-type]
    if "X" not in change:
        arguments["K"] = np.eye(2)
        del arguments["X"]
        with pytest.raises(ValueError, match=message):
            kernel_logistic_regression(**arguments)  # type: ignore[arg-type]


def test_a_gram_matrix_must_be_symmetric() -> None:
    with pytest.raises(ValueError, match="K must be symmetric"):
        kernel_logistic_regression(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([1.0, -1.0]))


def test_integers_and_fortran_order_just_work_and_nothing_is_changed(
    rng: np.random.Generator,
) -> None:
    X = np.asfortranarray(rng.integers(-3, 4, (30, 3)))
    y = np.where(X[:, 0] > 0, 1, -1)
    before = X.copy(), y.copy()
    result = logistic_regression(X, y)  # type: ignore[arg-type]
    plain = logistic_regression(np.ascontiguousarray(X, dtype=float), y * 1.0)
    assert result.w == pytest.approx(plain.w, abs=1e-12)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])
