from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping, random_dual

from svmlab import smo
from svmlab._smo_jit import first_largest, minimise, select_pair, take_step
from svmlab.certificates import certify, margin_violations
from svmlab.dual import dual_objective, movable, residuals
from svmlab.examples import worked_example
from svmlab.kernels import kernel_matrix
from svmlab.types import ConvergenceWarning

pytestmark = pytest.mark.core


@pytest.fixture
def state(rng):
    """A feasible state in the middle of a run, with an arbitrary intercept."""
    K, y, _ = random_dual(rng, "rbf")
    C = 2.0
    alpha = smo.solve_dual(K, y, C, tol=0.5).alpha
    return K, y, C, alpha, 0.3


def pairs(n, rng, count=200):
    for _ in range(count):
        i = int(rng.integers(n))
        yield i, smo.select_j(i, n, rng)


def move(i, j, K, y, C, alpha, b):
    E_i, E_j = (smo.error(k, alpha, b, K, y) for k in (i, j))
    L, H = smo.bounds(alpha[i], alpha[j], y[i], y[j], C)
    new = alpha.copy()
    new[j] = smo.new_alpha_j(alpha[j], y[j], E_i, E_j, smo.eta(i, j, K), L, H)
    new[i] = smo.new_alpha_i(alpha[i], alpha[j], new[j], y[i], y[j])
    return new, smo.thresholds(i, j, alpha, new, E_i, E_j, b, K, y, C)


def test_error_is_decision_minus_label(state):
    K, y, _, alpha, b = state
    f = K @ (alpha * y) + b
    np.testing.assert_allclose([smo.error(k, alpha, b, K, y) for k in range(len(y))], f - y)


def test_bounds_are_the_ends_of_the_feasible_line(state, rng):
    _K, y, C, alpha, _ = state
    for i, j in pairs(len(y), rng):
        L, H = smo.bounds(alpha[i], alpha[j], y[i], y[j], C)
        assert alpha[j] + 1e-12 >= L
        assert alpha[j] <= H + 1e-12
        for end, outside in ((L, -1e-6), (H, 1e-6)):
            partner = smo.new_alpha_i(alpha[i], alpha[j], end, y[i], y[j])
            assert -1e-12 <= partner <= C + 1e-12
            beyond = smo.new_alpha_i(alpha[i], alpha[j], end + outside, y[i], y[j])
            assert min(beyond, end + outside) < 0 or max(beyond, end + outside) > C


def test_eta_is_minus_the_squared_distance_in_feature_space(rng):
    X = rng.normal(size=(6, 3))
    K = X @ X.T
    for i, j in pairs(6, rng, 20):
        assert np.isclose(smo.eta(i, j, K), -np.sum((X[i] - X[j]) ** 2))


def test_a_step_keeps_the_sum_and_the_box_and_never_lowers_the_dual(state, rng):
    K, y, C, alpha, b = state
    before = dual_objective(alpha, K, y)
    for i, j in pairs(len(y), rng):
        new, _ = move(i, j, K, y, C, alpha, b)
        assert np.isclose(new @ y, alpha @ y)
        assert new.min() >= -1e-12
        assert new.max() <= C + 1e-12
        assert dual_objective(new, K, y) >= before - 1e-12


def test_a_step_is_the_best_on_its_line(state, rng):
    K, y, C, alpha, b = state
    for i, j in pairs(len(y), rng, 50):
        new, _ = move(i, j, K, y, C, alpha, b)
        L, H = smo.bounds(alpha[i], alpha[j], y[i], y[j], C)
        for alpha_j in np.linspace(L, H, 11):
            other = alpha.copy()
            other[j] = alpha_j
            other[i] = smo.new_alpha_i(alpha[i], alpha[j], alpha_j, y[i], y[j])
            assert dual_objective(other, K, y) <= dual_objective(new, K, y) + 1e-10


def test_the_new_threshold_makes_the_error_of_a_free_example_zero(state, rng):
    K, y, C, alpha, b = state
    seen = 0
    for i, j in pairs(len(y), rng):
        new, b_new = move(i, j, K, y, C, alpha, b)
        errors = [smo.error(k, new, b_new, K, y) for k in (i, j)]
        if 0 < new[i] < C:
            seen += 1
            assert abs(errors[0]) < 1e-10
        elif 0 < new[j] < C:
            assert abs(errors[1]) < 1e-10
        else:
            assert np.isclose(errors[0], -errors[1])  # midway between the two thresholds
    assert seen > 10


def test_kkt_test_agrees_with_the_certificate(state):
    K, y, C, alpha, b = state
    errors = K @ (alpha * y) + b - y
    broken = margin_violations(y * (errors + y), alpha, C)
    for k in range(len(y)):
        assert smo.violates_kkt(alpha[k], errors[k], y[k], C, 1e-3) == (broken[k] > 1e-3)


def test_partner_is_uniform_over_the_others(rng):
    draws = np.bincount([smo.select_j(2, 5, rng) for _ in range(4000)], minlength=5)
    assert draws[2] == 0
    assert np.all(np.abs(draws[[0, 1, 3, 4]] - 1000) < 150)


@pytest.mark.parametrize("seed", range(5))
def test_simplified_smo_solves_gaussian_problems_to_the_graders_limits(seed):
    rng = np.random.default_rng(seed)
    X, y = overlapping(rng, n=30, d=3)
    K, C = kernel_matrix("rbf", X, gamma=0.5), 5.0
    result = smo.simplified_smo(K, y, C, rng=rng)
    best = smo.solve_dual(K, y, C, tol=1e-8)
    assert certify(result.alpha, result.b, K, y, C).equality < 1e-9
    assert (best.bound - result.bound) / best.bound < 1e-4
    margins = y * (K @ (result.alpha * y) + result.b)
    assert margin_violations(margins, result.alpha, C, at_bound=1e-4).max() < 1e-2


def test_simplified_smo_records_each_step(rng):
    K, y, C = random_dual(rng, "rbf")
    result = smo.simplified_smo(K, y, C, rng=rng)
    alpha = np.zeros(len(y))
    for i, j, a_i, a_j in zip(
        *(result.history[name] for name in ("i", "j", "alpha_i", "alpha_j")), strict=True
    ):
        alpha[int(i)], alpha[int(j)] = a_i, a_j
    np.testing.assert_array_equal(alpha, result.alpha)
    assert np.isclose(result.history["dual"][-1], result.bound)
    assert np.all(np.diff(result.history["dual"]) > -1e-12)


def test_simplified_smo_reaches_the_worked_example_within_the_graders_limits():
    example = worked_example()
    result = smo.simplified_smo(example.K, example.y, C=100.0)
    deficit = (22 / 3 - result.bound) / (22 / 3)
    assert deficit < 1e-4
    assert abs(result.b - 9) < 0.1


@pytest.mark.parametrize("C", [22 / 3, 10.0, 1e4])
def test_solve_dual_reaches_the_worked_example(C):
    example = worked_example()
    result = smo.solve_dual(example.K, example.y, C, tol=1e-9)
    assert abs(22 / 3 - result.bound) / (22 / 3) <= 1e-8
    assert abs(result.b - 9) <= 1e-6
    np.testing.assert_allclose(result.alpha, [0, 2.5, 0, 22 / 3, 29 / 6], atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("seed", range(8))
def test_solve_dual_meets_its_certificate(kernel, seed):
    K, y, C = random_dual(np.random.default_rng(seed), kernel)
    result = smo.solve_dual(K, y, C, tol=1e-6)
    proof = certify(result.alpha, result.b, K, y, C)
    assert result.converged
    assert proof.box == 0
    assert proof.equality <= 1e-9 * C
    assert proof.violation <= 1e-6
    assert 0 <= proof.gap + 1e-9 <= len(y) * C * 1e-6 + 2e-9


def test_flipping_the_labels_flips_the_machine(rng):
    K, y, C = random_dual(rng, "rbf")
    a, b = (smo.solve_dual(K, sign * y, C, tol=1e-9) for sign in (1, -1))
    np.testing.assert_allclose(a.alpha, b.alpha, atol=1e-6)
    assert np.isclose(a.b, -b.b, atol=1e-6)


def test_duplicating_the_data_halves_C(rng):
    K, y, C = random_dual(rng, "rbf")
    once = smo.solve_dual(K, y, C, tol=1e-9)
    twice = smo.solve_dual(np.tile(K, (2, 2)), np.tile(y, 2), C / 2, tol=1e-9)
    assert np.isclose(once.bound, twice.bound, rtol=1e-7)
    assert np.isclose(once.b, twice.b, atol=1e-6)


def test_scaling_the_data_by_s_is_scaling_C_by_one_over_s_squared(rng):
    K, y, C = random_dual(rng, "linear")
    small, large = smo.solve_dual(K, y, C, tol=1e-9), smo.solve_dual(9 * K, y, C / 9, tol=1e-9)
    np.testing.assert_allclose(large.alpha, small.alpha / 9, atol=1e-6)


def test_an_example_of_cost_zero_is_not_there(rng):
    K, y, _ = random_dual(rng, "rbf")
    costs = np.where(np.arange(len(y)) % 4 == 0, 0.0, 1.5)
    kept = costs > 0
    whole = smo.solve_dual(K, y, costs, tol=1e-9)
    part = smo.solve_dual(K[np.ix_(kept, kept)], y[kept], 1.5, tol=1e-9)
    assert np.all(whole.alpha[~kept] == 0)
    assert np.isclose(whole.bound, part.bound, rtol=1e-8)


def test_a_fast_step_is_the_best_on_its_line_and_keeps_r_up_to_date(state, rng):
    K, y, C, alpha, _ = state
    costs = np.full(len(y), C)
    r = residuals(alpha, K, y)
    up, low = movable(alpha, y, C)
    for _ in range(30):
        i, j = int(rng.choice(np.flatnonzero(up))), int(rng.choice(np.flatnonzero(low)))
        if r[i] <= r[j]:
            continue
        new, new_r = alpha.copy(), r.copy()
        take_step.plain(new, new_r, K, y, costs, i, j)
        np.testing.assert_allclose(new_r, residuals(new, K, y), atol=1e-10)
        direction = y * (np.eye(len(y))[i] - np.eye(len(y))[j])
        top = dual_objective(new, K, y)
        for t in np.linspace(0, 3, 31):
            other = alpha + t * direction
            if certify(other, 0.0, K, y, C).box == 0:
                assert dual_objective(other, K, y) <= top + 1e-10


def test_the_selected_partner_gains_most(rng):
    farthest = 0
    for _ in range(10):
        K, y, C = random_dual(rng, "poly")
        alpha = solve_roughly(K, y, C)
        r, (up, low) = residuals(alpha, K, y), movable(alpha, y, C)
        walls = [np.where(side, 0.0, np.inf) for side in (up, low)]
        given = (r, *walls, K, np.diag(K).copy(), np.empty((2, len(r))))
        i, j, violation = select_pair.plain(*given)
        assert select_pair.compiled(*given) == (i, j, violation)
        assert r[i] == r[up].max()
        assert violation == r[i] - r[low].min()
        candidates = np.flatnonzero(low & (r < r[i]))
        gains = [(r[i] - r[k]) ** 2 / -smo.eta(i, k, K) for k in candidates]
        assert j == candidates[np.argmax(gains)]
        farthest += r[j] == r[low].min()
    assert farthest < 10  # the largest gain is not always the largest violation


def solve_roughly(K, y, C):
    with pytest.warns(ConvergenceWarning):
        return smo.solve_dual(K, y, C, tol=1e-6, max_iter=10).alpha


def test_the_first_largest_is_found_by_bits_as_numpy_finds_it(rng):
    for values in (
        rng.normal(size=100),
        -rng.random(70),
        np.array([-np.inf, -3.0, -np.inf]),
        np.array([-np.inf, -np.inf]),
        np.array([1.0, 2.0, 2.0, np.inf, np.inf]),
        np.repeat([-2.0, 5e-324, 0.0], 50),
        np.zeros(1),
    ):
        assert first_largest.compiled(values) == first_largest.plain(values) == values.argmax()


def test_history_rises_to_the_dual_objective(rng):
    K, y, C = random_dual(rng, "rbf")
    result = smo.solve_dual(K, y, C, tol=1e-6)
    assert np.all(np.diff(result.history["dual"]) >= -1e-9)
    assert np.isclose(result.history["dual"][-1], result.bound)
    assert result.history["step"][-1] == result.n_iter


def test_plain_and_compiled_loops_take_the_same_steps(rng):
    K, y, C = random_dual(rng, "rbf")
    states = []
    for loop in (minimise.plain, minimise):
        alpha, r = np.zeros(len(y)), y.copy()
        loop(K, y, np.full(len(y), C), alpha, r, 0.0, 40)
        states.append((alpha, r))
    np.testing.assert_array_equal(states[0], states[1])  # to the last bit


def test_too_few_steps_give_a_warning_with_the_violation_and_a_result_that_says_so(rng):
    K, y, C = random_dual(rng, "rbf")
    with pytest.warns(ConvergenceWarning, match=r"KKT violation [0-9.e+]+ is above tol = 1e-06"):
        result = smo.solve_dual(K, y, C, tol=1e-6, max_iter=3)
    assert not result.converged
    assert result.n_iter == 3
    assert np.isclose(result.violation, certify(result.alpha, result.b, K, y, C).violation)
    with pytest.warns(ConvergenceWarning, match="raise max_sweeps = 1"):
        assert not smo.simplified_smo(K, y, C, max_sweeps=1).converged


def test_a_tolerance_below_rounding_ends_with_a_warning(rng):
    K, y, _ = random_dual(rng, "poly")
    with pytest.warns(ConvergenceWarning):
        result = smo.solve_dual(1e6 * K, y, 1e3, tol=0.0, max_iter=20_000)
    assert not result.converged
    proof = certify(result.alpha, result.b, 1e6 * K, y, 1e3)
    assert result.violation == proof.violation  # no rounding has added up


def test_inputs_are_left_alone_and_integers_and_fortran_order_work(rng):
    K, y, C = random_dual(rng, "rbf")
    copies = K.copy(), y.copy()
    expected = smo.solve_dual(K, y, C)
    np.testing.assert_array_equal(K, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    same = smo.solve_dual(np.asfortranarray(K), y.astype(int), C)
    np.testing.assert_array_equal(same.alpha, expected.alpha)


@pytest.mark.parametrize("solver", [smo.solve_dual, smo.simplified_smo])
@pytest.mark.parametrize(
    ("K", "y", "C", "words"),
    [
        ([[1, np.nan], [np.nan, 1]], [1, -1], 1, r"K must be finite, but K\[0, 1\] is nan"),
        ([[1, np.inf], [np.inf, 1]], [1, -1], 1, "K must be finite"),
        ([[1, 2], [0, 1]], [1, -1], 1, r"K must be symmetric, but K\[0, 1\] = 2"),
        ([[1, 0]], [1, -1], 1, "K must be square"),
        (np.zeros((0, 0)), [], 1, "K is empty"),
        (np.eye(2), [1, 1], 1, r"y holds one class only \(\+1\)"),
        (np.eye(2), [0, 1], 1, r"y must hold -1 and \+1 only, got 0"),
        (np.eye(2), [1, -1, 1], 1, "y must have 2 entries, got 3"),
        (np.eye(2), ["a", "b"], 1, "y must hold real numbers"),
        (np.eye(2), [1, -1], 0, "C must be a finite number above 0, got 0"),
        (np.eye(2), [1, -1], -1.0, "C must be a finite number above 0, got -1"),
    ],
)
def test_bad_input_is_named_before_any_work(solver, K, y, C, words):
    with pytest.raises(ValueError, match=words):
        solver(K, y, C)


def test_costs_that_leave_one_class_are_refused():
    with pytest.raises(ValueError, match="y where C > 0 holds one class only"):
        smo.solve_dual(np.eye(3), [1, 1, -1], [1.0, 1.0, 0.0])
