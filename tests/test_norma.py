from __future__ import annotations

import numpy as np
import pytest
from problems import overlapping

from svmlab.coordinate import dual_coordinate_descent
from svmlab.kernels import kernel_matrix
from svmlab.losses import hinge_loss
from svmlab.norma import norma, norma_step, step_sizes, truncation_bound
from svmlab.primal import cost

pytestmark = pytest.mark.core


@pytest.fixture
def problem(rng):
    X, y = overlapping(rng, n=60)
    return kernel_matrix("rbf", X, gamma=0.5), y


def optimum(K, y, lam):
    """The minimum of λ/2‖f‖² + mean hinge, certified by the gap of coordinate descent."""
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))  # features @ features.T = K
    result = dual_coordinate_descent(features, y, cost(lam, len(y), "lambda/2"), tol=1e-9)
    assert result.gap <= 1e-6 * result.objective
    return lam * result.objective


def risk(alpha, K, y, lam):
    f = K @ (alpha * y)
    return 0.5 * lam * (alpha * y) @ f + hinge_loss(y * f).mean()


def norm(alpha, K, y):
    return float(np.sqrt((alpha * y) @ K @ (alpha * y)))


def expansion(history, n, lam, rates, keep):
    """Replay the steps of a run, keeping the terms of its last ``keep`` steps only."""
    alpha = np.zeros(n)
    n_steps = len(history["step"])
    for t in range(max(0, n_steps - keep), n_steps):
        alpha *= 1.0 - lam * rates[t]
        if history["loss"][t] > 0.0:
            alpha[int(history["example"][t])] += rates[t]
    return alpha


@pytest.mark.parametrize("lam", [0.1, 0.02])
def test_the_mean_machine_is_within_5_percent_of_the_optimum(problem, lam):
    K, y = problem
    best = optimum(K, y, lam)
    for seed in range(3):
        result = norma(K, y, lam, 20_000, np.random.default_rng(seed))
        assert result.objective == pytest.approx(risk(result.alpha, K, y, lam))
        assert best * (1.0 - 1e-6) <= result.objective <= 1.05 * best


def test_the_bound_is_below_the_optimum(problem, rng):
    K, y = problem
    for lam, n_steps in ((0.1, 100), (0.1, 20_000), (0.001, 1000)):
        result = norma(K, y, lam, n_steps, rng)
        assert result.bound <= optimum(K, y, lam)
        assert result.violation == result.gap
    assert norma(K, y, 0.1, 20_000, rng).gap <= 0.05


def test_an_example_drawn_too_often_does_not_lift_the_bound():
    # K is diagonal, so the dual falls apart: alpha = min(C, 1 / K_ii) = (5, 1) with C = 1/(n lam).
    K, y, lam = np.diag([0.001, 1.0]), np.array([1.0, -1.0]), 0.1
    best = lam * (5.0 - 0.5 * 0.001 * 25.0 + 0.5)
    runs = [norma(K, y, lam, 200, np.random.default_rng(seed), eta=5.0) for seed in range(20)]
    assert max(run.alpha[0] for run in runs) > 5.1
    assert all(run.bound <= best <= run.objective for run in runs)


def test_one_step_by_hand():
    K, y = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])
    alpha, loss = norma_step(np.array([2.0, 0.0]), 1, K, y, lam=0.1, eta=0.5)
    assert loss == 2.0  # f(x_2) = 2 K_12 = 1 on the wrong side
    np.testing.assert_allclose(alpha, [1.9, 0.5])
    alpha, loss = norma_step(np.array([2.0, 0.0]), 0, K, y, lam=0.1, eta=0.5)
    assert loss == 0.0
    np.testing.assert_allclose(alpha, [1.9, 0.0])


def test_a_step_goes_down_the_gradient_of_its_example(problem, rng):
    K, y = problem
    alpha, lam, eta = rng.uniform(0.0, 0.2, len(y)), 0.1, 1e-6
    for i in range(len(y)):

        def value(a, i=i):
            f = K @ (a * y)
            return 0.5 * lam * (a * y) @ f + hinge_loss(y * f)[i]

        moved, loss = norma_step(alpha, i, K, y, lam, eta)
        gradient = lam * alpha * y - (loss > 0.0) * y * (np.arange(len(y)) == i)
        fall = eta * gradient @ K @ gradient  # the squared length of the gradient in feature space
        assert value(alpha) - value(moved) == pytest.approx(fall, rel=1e-3, abs=1e-13)


def test_the_run_is_the_replay_of_its_steps(problem, rng):
    K, y = problem
    for tau in (None, 7, 50, 400):
        result = norma(K, y, 0.05, 400, rng, eta=2.0, tau=tau)
        replay = expansion(result.history, len(y), 0.05, step_sizes(400, 2.0), tau or 400)
        np.testing.assert_allclose(result.last, replay, atol=1e-12)
        assert result.last.min() >= 0.0
        assert np.count_nonzero(result.last) <= (tau or len(y))


@pytest.mark.parametrize("lam", [0.05, 0.5])
def test_what_truncation_loses_is_below_its_bound(problem, lam):
    K, y = problem
    radius, eta = float(np.sqrt(np.diag(K).max())), 0.9 / lam
    for seed in range(20):
        for n_steps, tau in ((50, 5), (200, 20), (1000, 100)):
            result = norma(K, y, lam, n_steps, np.random.default_rng(seed), eta=eta, tau=tau)
            full = expansion(result.history, len(y), lam, step_sizes(n_steps, eta), n_steps)
            lost = norm(full - result.last, K, y)
            assert 0.0 < lost <= truncation_bound(lam, eta, n_steps, tau, radius)


def test_the_truncation_bound_is_reached_when_every_step_adds_the_same_direction(rng):
    # y_i y_j K_ij = s < lam keeps every margin short, so that all terms point the same way.
    y, lam, eta, s = np.array([1.0, -1.0, 1.0]), 0.1, 5.0, 0.04
    K = s * np.outer(y, y)
    for n_steps, tau in ((100, 10), (400, 40)):
        result = norma(K, y, lam, n_steps, rng, eta=eta, tau=tau)
        assert np.all(result.history["loss"] > 0.0)
        rates = step_sizes(n_steps, eta)
        full = expansion(result.history, 3, lam, rates, n_steps)
        lost = norm(full - result.last, K, y)
        bound = truncation_bound(lam, eta, n_steps, tau, np.sqrt(s))
        untouched = np.sqrt(s) / lam * np.prod(1.0 - lam * rates)
        assert lost == pytest.approx(bound - untouched)
        assert lost >= 0.99 * bound
        power = np.sqrt(s) / lam * (1.0 - lam * eta / np.sqrt(n_steps)) ** tau
        assert bound <= power


def test_nothing_is_lost_when_all_is_kept(problem):
    K, y = problem
    assert truncation_bound(0.1, 1.0, 100, 100, 1.0) == 0.0
    kept, all_ = (norma(K, y, 0.1, 100, np.random.default_rng(3), tau=tau) for tau in (100, None))
    np.testing.assert_array_equal(kept.last, all_.last)


def test_flipping_the_signs_leaves_alpha(problem):
    K, y = problem
    one, other = (norma(K, s * y, 0.1, 500, np.random.default_rng(0)) for s in (1.0, -1.0))
    np.testing.assert_array_equal(one.alpha, other.alpha)


def test_scaling_the_kernel_scales_lam_and_eta(problem):
    K, y = problem
    one = norma(K, y, 0.1, 500, np.random.default_rng(0), eta=2.0)
    other = norma(4.0 * K, y, 0.4, 500, np.random.default_rng(0), eta=0.5)
    np.testing.assert_allclose(4.0 * other.alpha, one.alpha, atol=1e-12)
    assert other.objective == pytest.approx(one.objective)


def test_integers_and_fortran_order_just_work(rng):
    K = np.asfortranarray([[4, -2], [-2, 1]])
    assert norma(K, np.array([1, -1]), 1, 10, rng).n_iter == 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"K": [[np.nan, 0.0], [0.0, 1.0]]}, "K must be finite"),
        ({"K": [[1.0, 2.0], [0.0, 1.0]]}, "K must be symmetric"),
        ({"K": np.empty((0, 0))}, "K is empty"),
        ({"K": -np.eye(2)}, "K must have"),
        ({"y": [1.0, 1.0]}, "one class"),
        ({"y": [0.0, 1.0]}, "-1 and \\+1 only"),
        ({"y": [1.0, -1.0, 1.0]}, "2 entries, got 3"),
        ({"lam": 0.0}, "lam must be"),
        ({"n_steps": 0}, "n_steps must be"),
        ({"eta": -1.0}, "eta must be"),
        ({"eta": 20.0}, "eta must be below 1/lam = 10"),
        ({"tau": 0}, "tau must be"),
    ],
)
def test_bad_input_is_named(changes, message, rng):
    arguments = {"K": np.eye(2), "y": [1.0, -1.0], "lam": 0.1, "n_steps": 5, "rng": rng, **changes}
    with pytest.raises(ValueError, match=message):
        norma(**arguments)
