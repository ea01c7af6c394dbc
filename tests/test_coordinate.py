from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping, separable

from svmlab import _coordinate_jit as loops
from svmlab import coordinate
from svmlab.coordinate import certify_linear, dual_coordinate_descent, newton_move
from svmlab.losses import MARGIN_LOSSES
from svmlab.margins import functional_margins
from svmlab.primal import primal_objective
from svmlab.rows import row_arrays, squared_norms, with_bias_column
from svmlab.types import CSR, ConvergenceWarning

pytestmark = pytest.mark.core

TIGHT = {"tol": 1e-10}


def as_csr(X):
    """The rows without their zeros."""
    row, column = np.nonzero(X)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(X)))))
    return CSR(X[row, column], column, indptr, X.shape)


def projected_gradient(alpha, X, y, C, loss):
    """The textbook case distinction, example by example."""
    margins = functional_margins(X, y, X.T @ (alpha * y))
    largest = 0.0
    for a, m, c in zip(alpha, margins, np.broadcast_to(C, y.shape), strict=True):
        upper = c if loss == "hinge" else np.inf
        gradient = m - 1.0 + (a / (2.0 * c) if loss == "squared_hinge" else 0.0)
        if a == 0.0:
            gradient = min(gradient, 0.0)
        elif a == upper:
            gradient = max(gradient, 0.0)
        largest = max(largest, abs(gradient))
    return largest


def test_two_points_by_hand():
    # x = 2 (+) and x = -1 (-): w = 2 alpha_1 + alpha_2. For C = 1/8 both are at their bound, as
    # w = 3/8 leaves both with slack; for C = 1/4 the first is exactly on its margin at w = 1/2.
    X, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
    for C, w, alpha in ((1 / 8, 3 / 8, (1 / 8, 1 / 8)), (1 / 4, 1 / 2, (1 / 8, 1 / 4))):
        result = dual_coordinate_descent(X, y, C, **TIGHT)
        np.testing.assert_allclose(result.w, [w], atol=1e-12)
        np.testing.assert_allclose(result.alpha, alpha, atol=1e-12)
        assert abs(result.gap) <= 1e-12


def test_hard_margin_by_hand():
    # (3, 4) and its mirror image at distance 5 from the origin: w = (3, 4) / 25.
    X, y = np.array([[3.0, 4.0], [-3.0, -4.0], [6.0, 8.0]]), np.array([1.0, -1.0, 1.0])
    result = dual_coordinate_descent(X, y, np.inf, **TIGHT)
    np.testing.assert_allclose(result.w, [0.12, 0.16], atol=1e-12)
    assert result.objective == pytest.approx(1 / 50)
    assert result.bound == pytest.approx(1 / 50)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, 1e4])
def test_a_small_gap_proves_the_solution(rng, loss, C):
    X, y = overlapping(rng)
    X = with_bias_column(X)
    result = dual_coordinate_descent(X, y, C, loss=loss, **TIGHT)
    assert result.converged
    assert projected_gradient(result.alpha, X, y, C, loss) <= 1e-10
    assert result.alpha.min() >= 0.0
    assert loss == "squared_hinge" or result.alpha.max() <= C
    np.testing.assert_allclose(result.w, X.T @ (result.alpha * y))
    primal = primal_objective(result.w, 0.0, X, y, C, MARGIN_LOSSES[loss])
    assert result.objective == pytest.approx(primal)
    assert -1e-12 * primal <= result.gap <= 1e-10 * len(y) * C + 1e-12 * primal


def test_unscaled_features_and_large_costs_converge(rng):
    X, y = overlapping(rng, n=80, d=4)
    X = with_bias_column(X * np.array([1.0, 1e3, 10.0, 1e-2]))
    for C in (1.0, 1e3):
        assert dual_coordinate_descent(X, y, C, **TIGHT).converged


def test_hard_margin_solution_separates_with_margin_one(rng):
    X, y = separable(rng, n=60)
    X = with_bias_column(X)
    result = dual_coordinate_descent(X, y, np.inf, **TIGHT)
    assert functional_margins(X, y, result.w).min() == pytest.approx(1.0, abs=1e-12)
    assert 0.0 <= result.gap + 1e-12 <= 1e-8
    np.testing.assert_allclose(result.w, X.T @ (result.alpha * y), atol=1e-10)
    soft = dual_coordinate_descent(X, y, 2.0 * result.alpha.max(), **TIGHT)
    np.testing.assert_allclose(soft.w, result.w, atol=1e-7)


def test_hard_margin_gives_up_on_what_no_plane_separates(rng):
    X, y = overlapping(rng)
    with pytest.warns(ConvergenceWarning, match="use a finite C"):
        result = dual_coordinate_descent(X, y, np.inf)
    assert not result.converged
    assert result.objective == np.inf
    assert result.n_iter < 100


def test_history_closes_in_from_both_sides(rng):
    X, y = overlapping(rng)
    history = dual_coordinate_descent(X, y, 10.0, **TIGHT).history
    assert np.all(np.diff(history["bound"]) >= -1e-9)
    assert np.all(history["bound"] <= history["objective"].min() + 1e-9)
    np.testing.assert_array_equal(history["step"], 1 + np.arange(len(history["bound"])))


def test_one_step_maximises_the_dual_in_its_variable(rng):
    X, y = overlapping(rng, n=8)
    alpha = rng.uniform(0, 2.0, 8)
    Q = (y[:, None] * X) @ (y[:, None] * X).T
    for i in range(8):
        gradient = Q[i] @ alpha - 1.0
        best = loops.best_alpha.plain(alpha[i], gradient, Q[i, i], 2.0)

        def dual(value, i=i):
            moved = np.where(np.arange(8) == i, value, alpha)
            return moved.sum() - 0.5 * moved @ Q @ moved

        assert all(dual(best) >= dual(t) - 1e-12 for t in np.linspace(0.0, 2.0, 101))


def test_newton_move_raises_the_dual_and_stays_in_the_box(rng):
    for _ in range(50):
        n, d = int(rng.integers(2, 12)), int(rng.integers(1, 6))
        Z, upper = rng.normal(size=(n, d)), rng.uniform(0.5, 2.0, n)
        alpha, ridge = upper * rng.uniform(0.1, 0.9, n), rng.uniform(0.0, 0.1, n)

        def dual(a, Z=Z, ridge=ridge):
            return a.sum() - 0.5 * np.sum((a @ Z) ** 2) - 0.5 * ridge @ a**2

        gradient = Z @ (alpha @ Z) - 1.0 + ridge * alpha
        moved = newton_move(alpha, gradient, Z, ridge, upper)
        assert np.all((moved >= 0.0) & (moved <= upper))
        assert dual(moved) > dual(alpha)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_single_moves_alone_find_the_same(rng, loss, monkeypatch):
    X, y = overlapping(rng)
    joint = dual_coordinate_descent(X, y, 0.5, loss=loss, **TIGHT)
    monkeypatch.setattr(coordinate, "NEWTON_STEPS", 0)
    single = dual_coordinate_descent(X, y, 0.5, loss=loss, max_iter=5000, **TIGHT)
    assert single.n_iter > joint.n_iter
    np.testing.assert_allclose(single.w, joint.w, atol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_sparse_and_dense_rows_agree(rng, loss):
    X, y = overlapping(rng, n=50, d=6)
    X[rng.random(X.shape) < 0.5] = 0.0
    full = dual_coordinate_descent(X, y, 2.0, loss=loss, **TIGHT)
    sparse = dual_coordinate_descent(as_csr(X), y, 2.0, loss=loss, **TIGHT)
    np.testing.assert_allclose(sparse.w, full.w, atol=1e-9)
    assert sparse.objective == pytest.approx(full.objective, rel=1e-12)


def test_compiled_and_plain_sweeps_agree(rng):
    X, y = overlapping(rng, n=30, d=4)
    X[rng.random(X.shape) < 0.3] = 0.0
    box = loops.Box(np.full(30, 1.5), np.full(30, 0.1), squared_norms(X) + 0.1)
    orders = [rng.permutation(30) for _ in range(3)]
    states = []
    for rows in (row_arrays(X), row_arrays(as_csr(X))):
        for run in (loops.sweep, loops.sweep.plain):
            alpha, w = np.zeros(30), np.zeros(4)
            sleep = loops.Sleep(np.zeros(30, dtype=np.int64), np.zeros(30, dtype=np.int64))
            met = [run(rows, y, box, order, k, alpha, w, sleep) for k, order in enumerate(orders)]
            states.append(np.concatenate((alpha, w, met, *sleep)))
    for state in states[1:]:
        np.testing.assert_allclose(state, states[0], atol=1e-12)


def test_duplicating_the_data_halves_C(rng):
    X, y = overlapping(rng)
    once = dual_coordinate_descent(X, y, 2.0, **TIGHT)
    twice = dual_coordinate_descent(np.vstack((X, X)), np.tile(y, 2), 1.0, **TIGHT)
    np.testing.assert_allclose(twice.w, once.w, atol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_weight_of_two_is_a_copy_and_zero_leaves_out(rng, loss):
    X, y = overlapping(rng, n=20)
    C = rng.integers(0, 3, size=20).astype(float)
    C[[0, -1]] = 1.0
    copies = np.repeat(np.arange(20), C.astype(int))
    weighted = dual_coordinate_descent(X, y, C, loss=loss, **TIGHT)
    repeated = dual_coordinate_descent(X[copies], y[copies], 1.0, loss=loss, **TIGHT)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-9)
    assert np.all(weighted.alpha[C == 0.0] == 0.0)


def test_flipping_the_signs_flips_w(rng):
    X, y = overlapping(rng)
    w = dual_coordinate_descent(X, y, **TIGHT).w
    np.testing.assert_allclose(dual_coordinate_descent(X, -y, **TIGHT).w, -w, atol=1e-9)


def test_scaling_X_by_s_divides_C_by_its_square(rng):
    X, y = overlapping(rng)
    w = dual_coordinate_descent(X, y, 1.0, **TIGHT).w
    scaled = dual_coordinate_descent(3.0 * X, y, 1.0 / 9.0, **TIGHT).w
    np.testing.assert_allclose(3.0 * scaled, w, atol=1e-9)


def test_a_row_of_zeros_costs_its_slack_and_changes_nothing(rng):
    X, y = overlapping(rng, n=30)
    without = dual_coordinate_descent(X, y, 2.0, **TIGHT)
    Xz, yz = np.vstack((X, np.zeros(3))), np.append(y, 1.0)
    for rows in (Xz, as_csr(Xz)):
        result = dual_coordinate_descent(rows, yz, 2.0, **TIGHT)
        np.testing.assert_allclose(result.w, without.w, atol=1e-9)
        assert result.alpha[-1] == 2.0
        assert result.objective == pytest.approx(without.objective + 2.0)
    with pytest.raises(ValueError, match="row 30 of X is zero"):
        dual_coordinate_descent(Xz, yz, np.inf)


def test_same_generator_same_answer(rng):
    X, y = overlapping(rng)
    first, second = (
        dual_coordinate_descent(X, y, rng=np.random.default_rng(seed), tol=1e-10) for seed in (1, 1)
    )
    np.testing.assert_array_equal(first.alpha, second.alpha)
    other = dual_coordinate_descent(X, y, rng=np.random.default_rng(2), tol=1e-10)
    np.testing.assert_allclose(other.w, first.w, atol=1e-9)


def test_too_few_epochs_warn_with_the_violation(rng):
    X, y = overlapping(rng)
    with pytest.warns(ConvergenceWarning, match="projected gradient"):
        result = dual_coordinate_descent(X, y, 100.0, tol=1e-12, max_iter=1)
    assert not result.converged
    assert result.violation == projected_gradient(result.alpha, X, y, 100.0, "hinge")


def test_integers_and_fortran_order_just_work_and_stay_as_they_are():
    X, y = np.asfortranarray([[2, 1], [-1, 0], [0, -3]]), np.array([1, -1, -1])
    copies = X.copy(), y.copy()
    assert dual_coordinate_descent(X, y).converged
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": [[np.nan], [1.0]]}, "X must be finite"),
        ({"X": [[np.inf], [1.0]]}, "X must be finite"),
        ({"X": np.empty((0, 1))}, "X is empty"),
        ({"y": [1.0, 1.0]}, "one class"),
        ({"y": [0.0, 1.0]}, "-1 and \\+1 only"),
        ({"y": [1.0, -1.0, 1.0]}, "2 entries, got 3"),
        ({"C": 0.0}, "C must be"),
        ({"C": -np.inf}, "C must be"),
        ({"C": np.nan}, "C must be"),
        ({"C": [1.0, -1.0]}, "C must be"),
        ({"C": [1.0, np.inf]}, "C must be finite"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"loss": "l2"}, "loss must be one of"),
    ],
)
def test_bad_input_is_named(changes, message):
    arguments = {"X": [[1.0], [-1.0]], "y": [1.0, -1.0], **changes}
    with pytest.raises(ValueError, match=message):
        dual_coordinate_descent(**arguments)


def test_certificate_checks_alpha():
    X, y = np.eye(2), np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="alpha must have 2 entries"):
        certify_linear(np.ones(3), X, y)
    with pytest.raises(ValueError, match="alpha must be in"):
        certify_linear(np.array([0.0, 1.5]), X, y, C=1.0)
