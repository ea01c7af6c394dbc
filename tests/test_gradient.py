from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping

from svmlab.gradient import (
    Problem,
    conjugate_gradient,
    example_gradient,
    gradient_descent,
    line_search,
    stochastic_gradient_descent,
)
from svmlab.losses import MARGIN_LOSSES
from svmlab.primal import primal_gradient, primal_objective
from svmlab.types import CSR, ConvergenceWarning, Matrix, Vector

pytestmark = pytest.mark.core

SMOOTH = ["squared_hinge", "logistic"]
TWO_POINTS = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])


def gradient_norm(w: Vector, b: float, X: Matrix, y: Vector, C: float, loss: str) -> float:
    in_w, in_b = primal_gradient(w, b, X, y, C, MARGIN_LOSSES[loss])
    return float(np.hypot(np.linalg.norm(in_w), in_b))


def test_two_points_have_a_closed_form() -> None:
    result = gradient_descent(*TWO_POINTS, 10.0, tol=1e-6)
    assert abs(result.w[0] - 2 / 3) < 1e-3
    assert abs(result.b + 1 / 3) < 1e-3
    assert abs(result.bound - 2 / 9) < 1e-6


def test_squared_hinge_on_two_points_by_hand() -> None:
    # symmetric in the slack s = 1 - 3w/2 of both: w²/2 + 2C s² is least at w = 6C/(1 + 9C)
    for method in (gradient_descent, conjugate_gradient):
        result = method(*TWO_POINTS, 5.0, loss="squared_hinge", tol=1e-9)
        np.testing.assert_allclose([result.w[0], result.b], [30 / 46, -15 / 46], rtol=1e-7)


@pytest.mark.parametrize("C", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_subgradient_descent_closes_its_own_duality_gap(C: float, fit_intercept: bool) -> None:
    X, y = overlapping(np.random.default_rng(3), n=60)
    result = gradient_descent(X, y, C, fit_intercept=fit_intercept)
    assert result.converged
    assert result.objective == primal_objective(result.w, result.b, X, y, C)
    assert 0.0 <= result.gap <= 1e-3 * result.objective
    rough = gradient_descent(X, y, C, fit_intercept=fit_intercept, tol=0.05)
    assert rough.bound <= result.objective  # a bound holds for every point
    assert rough.objective >= result.bound
    assert fit_intercept or result.b == 0.0


@pytest.mark.parametrize("loss", SMOOTH)
def test_smooth_descents_end_at_a_vanishing_gradient(loss: str, rng: np.random.Generator) -> None:
    X, y = overlapping(rng, n=60)
    slow = gradient_descent(X, y, 2.0, loss=loss, tol=1e-7)
    fast = conjugate_gradient(X, y, 2.0, loss=loss, tol=1e-7)
    at_zero = gradient_norm(np.zeros(3), 0.0, X, y, 2.0, loss)
    for result in (slow, fast):
        assert result.converged
        assert gradient_norm(result.w, result.b, X, y, 2.0, loss) <= 1e-7 * at_zero
        assert np.all(np.diff(result.history["objective"]) <= 1e-10)
    np.testing.assert_allclose(slow.w, fast.w, atol=1e-5)
    assert fast.n_iter < 0.2 * slow.n_iter


@pytest.mark.parametrize("loss", SMOOTH)
def test_without_intercept_the_gradient_norm_bounds_the_optimum(
    loss: str, rng: np.random.Generator
) -> None:
    X, y = overlapping(rng)
    rough = conjugate_gradient(X, y, 1.0, loss=loss, fit_intercept=False, tol=1e-2)
    best = conjugate_gradient(X, y, 1.0, loss=loss, fit_intercept=False, tol=1e-9)
    assert rough.bound <= best.objective <= rough.objective
    assert 0.0 <= best.gap < 1e-10


@pytest.mark.parametrize("loss", ["hinge", *SMOOTH])
def test_the_mean_of_the_examples_gradients_is_the_gradient(
    loss: str, rng: np.random.Generator
) -> None:
    X, y = overlapping(rng)
    C, z = 3.0, rng.normal(size=4)
    problem = Problem(X, y, np.full(len(y), C), MARGIN_LOSSES[loss], True)
    mean = np.mean([example_gradient(z, problem, i) for i in range(len(y))], axis=0)
    in_w, in_b = primal_gradient(z[:-1], z[-1], X, y, C, MARGIN_LOSSES[loss])
    np.testing.assert_allclose(mean, np.append(in_w, in_b), rtol=1e-12)


def slide_steps(X: Matrix, y: Vector, C: float, n_epochs: int) -> Vector:
    """Take the slides' steps along w + C ∂L_i, which lack the factor n."""
    rng, w, t = np.random.default_rng(0), np.zeros(X.shape[1]), 0
    for _ in range(n_epochs):
        for i in rng.permutation(len(y)):
            t += 1
            w = w - primal_gradient(w, 0.0, X[[i]], y[[i]], C)[0] / t
    return w


def test_the_slides_step_minimises_the_objective_with_C_over_n() -> None:
    X, y = overlapping(np.random.default_rng(0))
    C, n = 2.0, len(y)
    w = slide_steps(X, y, C, n_epochs=100)
    meant = gradient_descent(X, y, C, fit_intercept=False)
    other = gradient_descent(X, y, C / n, fit_intercept=False)
    assert primal_objective(w, 0.0, X, y, C / n) < 1.01 * other.bound
    assert primal_objective(w, 0.0, X, y, C) > 1.2 * meant.objective


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_stochastic_steps_reach_the_certified_optimum(loss: str) -> None:
    X, y = overlapping(np.random.default_rng(0))
    if loss == "hinge":
        best = gradient_descent(X, y, 1.0, tol=1e-4).bound
    else:
        best = conjugate_gradient(X, y, 1.0, loss=loss, tol=1e-9).objective
    excess = []
    for n_epochs in (3, 50):
        runs = [
            stochastic_gradient_descent(
                X, y, 1.0, n_epochs=n_epochs, loss=loss, rng=np.random.default_rng(seed)
            )
            for seed in range(3)
        ]
        excess.append(np.mean([run.objective for run in runs]) / best - 1.0)
    assert 0.0 <= excess[1] < 0.02
    assert excess[1] < 0.3 * excess[0]
    assert all(run.b != 0.0 for run in runs)


def spectrum(rng: np.random.Generator, condition: float, n: int = 600, d: int = 60) -> Matrix:
    """Rows for which I + 2 XᵀX has eigenvalues from 1 to the given condition number."""
    Q = np.linalg.qr(rng.normal(size=(n, d)))[0]
    eigenvalues = condition ** (np.arange(d) / (d - 1.0))
    return Q * np.sqrt((eigenvalues - 1.0) / 2.0)


def median_steps(method: object, condition: float) -> float:
    """Steps on noise labels: all margins stay below 1, so that the squared hinge is quadratic."""
    steps = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = spectrum(rng, condition)
        y = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)
        assert callable(method)
        result = method(X, y, 1.0, loss="squared_hinge", fit_intercept=False, tol=1e-3)
        assert result.converged
        steps.append(result.n_iter)
    return float(np.median(steps))


def test_steps_grow_like_the_condition_number_and_for_conjugate_gradients_like_its_root() -> None:
    conditions = 16.0, 256.0
    gd = [median_steps(gradient_descent, condition) for condition in conditions]
    cg = [median_steps(conjugate_gradient, condition) for condition in conditions]
    power_gd, power_cg = (np.log(m[1] / m[0]) / np.log(16.0) for m in (gd, cg))
    assert 0.7 < power_gd < 1.3
    assert 0.3 < power_cg < 0.7
    assert power_cg < power_gd - 0.3


def test_conjugate_gradients_end_after_one_step_a_distinct_eigenvalue(
    rng: np.random.Generator,
) -> None:
    Q = np.linalg.qr(rng.normal(size=(500, 12)))[0]
    X = Q * np.repeat([0.5, 2.0, 7.0], 4)
    y = np.where(rng.random(500) < 0.5, 1.0, -1.0)
    result = conjugate_gradient(X, y, 1.0, fit_intercept=False, tol=1e-9)
    assert result.n_iter == 3


@pytest.mark.parametrize("start", [1e-6, 1.0, 1e6])
def test_the_line_search_uses_up_nine_tenths_of_the_slope_without_overshooting(
    start: float,
) -> None:
    slopes = [
        lambda a: a - 3.0,
        lambda a: np.tanh(a - 20.0) + 1e-3,
        lambda a: -1.0 if a < 1e-3 else 100.0 * (a - 1e-3) - 1.0,
        lambda a: (a - 0.1) ** 3,
    ]
    for slope in slopes:
        a = line_search(slope, start)
        assert a > 0.0
        rounding = -1e-13 * slope(0.0)  # a secant may meet the minimum of a parabola from above
        assert 0.1 * slope(0.0) <= slope(a) <= rounding


@pytest.mark.parametrize("loss", ["hinge", *SMOOTH])
def test_duplicating_the_data_halves_C(loss: str, rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    once = gradient_descent(X, y, 2.0, loss=loss)
    twice = gradient_descent(np.vstack((X, X)), np.append(y, y), 1.0, loss=loss)
    assert abs(once.objective - twice.objective) <= 2e-3 * once.objective
    weights = np.repeat([2.0, 1.0], [10, 30])
    kept = np.repeat(np.arange(40), weights.astype(int))
    weighted = gradient_descent(X, y, weights, loss=loss)
    repeated = gradient_descent(X[kept], y[kept], 1.0, loss=loss)
    assert abs(weighted.objective - repeated.objective) <= 2e-3 * weighted.objective


def test_flipping_the_labels_flips_the_machine(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    one, other = (conjugate_gradient(X, sign * y, tol=1e-9) for sign in (1.0, -1.0))
    np.testing.assert_allclose(np.append(one.w, one.b), -np.append(other.w, other.b), rtol=1e-9)


def test_sparse_rows_give_the_same_answers(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    X[rng.random(X.shape) < 0.5] = 0.0
    rows, columns = np.nonzero(X)
    sparse = CSR(X[rows, columns], columns, np.searchsorted(rows, np.arange(41)), X.shape)
    for method in (gradient_descent, conjugate_gradient):
        one, other = (method(Z, y, loss="logistic", tol=1e-9) for Z in (X, sparse))
        np.testing.assert_allclose(one.w, other.w, rtol=1e-7)
    one, other = (gradient_descent(Z, y) for Z in (X, sparse))
    assert max(one.bound, other.bound) <= min(one.objective, other.objective)
    one, other = (
        stochastic_gradient_descent(Z, y, n_epochs=2, rng=np.random.default_rng(0))
        for Z in (X, sparse)
    )
    np.testing.assert_allclose(one.w, other.w, rtol=1e-12)


def test_too_few_steps_warn_and_say_how_far_they_came(rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    with pytest.warns(ConvergenceWarning, match="gradient_descent did not converge: relative dual"):
        assert not gradient_descent(X, y, max_iter=5).converged
    with pytest.warns(ConvergenceWarning, match="conjugate_gradient did not converge: gradient"):
        assert not conjugate_gradient(X, y, max_iter=2).converged


def test_integers_and_memory_order_just_work_and_nothing_is_changed() -> None:
    X, y = np.asfortranarray([[2, 1], [-1, 0], [0, 1]]), np.array([1, -1, -1])
    kept = X.copy(), y.copy()
    for method in (gradient_descent, conjugate_gradient):
        expected = method(np.array(X, dtype=float, order="C"), y.astype(float))
        np.testing.assert_array_equal(method(X, y).w, expected.w)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.inf], [1.0]]}, "X must be finite"),
        ({"X": [[1.0]]}, "y must have 1 entries, got 2"),
        ({"X": np.empty((0, 1)), "y": []}, "X is empty"),
        ({"y": [1, 1]}, "one class only"),
        ({"y": [0, 1]}, "-1 and \\+1 only"),
        ({"C": 0.0}, "C must be a finite number above 0"),
        ({"loss": "zero_one"}, "loss must be one of"),
    ],
)
def test_bad_input_is_named(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"X": [[1.0], [-1.0]], "y": [1, -1], "C": 1.0} | change
    with pytest.raises(ValueError, match=message):
        gradient_descent(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        conjugate_gradient(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        stochastic_gradient_descent(
            **arguments,  # type: ignore[arg-type]
            n_epochs=1,
            rng=np.random.default_rng(0),
        )


def test_conjugate_gradients_refuse_the_hinge() -> None:
    with pytest.raises(ValueError, match="loss must be one of 'squared_hinge', 'logistic'"):
        conjugate_gradient(*TWO_POINTS, loss="hinge")
