from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from problems import overlapping, random_dual

from svmlab.certificates import certify, kkt_violation
from svmlab.decomposition import decomposition, steepest_set
from svmlab.dual import dual_objective, movable, residuals
from svmlab.examples import worked_example
from svmlab.kernels import kernel_matrix
from svmlab.smo import solve_dual
from svmlab.types import ConvergenceWarning

pytestmark = pytest.mark.core


def test_reproduces_the_worked_example():
    example = worked_example()
    exact = example.solution
    result = decomposition(example.K, example.y, C=10.0, tol=1e-10)
    dual = float(exact.dual)
    assert dual == pytest.approx(22 / 3)
    assert (dual - result.bound) / dual <= 1e-8
    assert abs(result.b - 9.0) <= 1e-6
    np.testing.assert_allclose(result.alpha, [float(a) for a in exact.alpha], atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("working_set", [2, 4, 10])
def test_certificate_bounds_the_gap(rng, kernel, working_set):
    tol = 1e-6 if working_set > 2 else 1e-4  # pairs of first order are slow
    for _ in range(3):
        K, y, C = random_dual(rng, kernel)
        result = decomposition(K, y, C, working_set=working_set, tol=tol)
        proof = certify(result.alpha, result.b, K, y, C)
        assert result.converged
        assert result.violation == kkt_violation(result.alpha, K, y, C) <= tol
        assert proof.box == 0.0
        assert proof.equality <= 1e-12 * (1.0 + result.alpha.sum())
        assert -1e-9 * proof.primal <= result.gap <= tol * C * len(y) + 1e-12 * proof.primal
        assert result.objective == proof.primal
        assert result.bound == proof.dual


def test_agrees_with_smo(rng):
    for kernel in ("linear", "rbf"):
        K, y, C = random_dual(rng, kernel)
        smo = solve_dual(K, y, C, tol=1e-9)
        result = decomposition(K, y, C, tol=1e-9)
        assert result.bound == pytest.approx(smo.bound, rel=1e-9)


def test_larger_sets_need_fewer_rounds(rng):
    X, y = overlapping(rng, n=80)
    K = kernel_matrix("rbf", X, gamma=0.5)
    rounds = [decomposition(K, y, working_set=q).n_iter for q in (2, 10)]
    assert rounds[1] < 0.5 * rounds[0]


def test_every_round_raises_the_dual(rng):
    K, y, C = random_dual(rng, "rbf")
    result = decomposition(K, y, C, tol=1e-8)
    history = result.history
    assert np.all(np.diff(history["dual"]) > -1e-12)
    assert history["dual"][-1] == pytest.approx(dual_objective(result.alpha, K, y))
    assert len(history["violation"]) == result.n_iter + 1
    assert history["step"][-1] == result.n_iter


def test_the_set_is_the_steepest_of_all_sets(rng):
    # Brute force: the best direction with entries in {-1, 0, 1} over every choice of variables.
    for _ in range(20):
        y = rng.permutation([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
        alpha = rng.choice([0.0, 0.4, 1.0], size=7)
        K = np.eye(7) + rng.normal(size=(7, 1)) ** 2
        r = residuals(alpha, K, y)
        up, low = movable(alpha, y, 1.0)

        def slope(rising, falling, r=r):
            return r[list(rising)].sum() - r[list(falling)].sum()

        best = max(
            slope(a, b)
            for k in (1, 2)
            for a in combinations(np.flatnonzero(up), k)
            for b in combinations(np.flatnonzero(low), k)
            if not set(a) & set(b)
        )
        chosen = steepest_set(r, up, low, 4)
        reached = max(
            slope(a, b)
            for k in (1, 2)
            for a in combinations([i for i in chosen if up[i]], k)
            for b in combinations([i for i in chosen if low[i]], k)
            if not set(a) & set(b)
        )
        assert reached == pytest.approx(best)


def test_duplicating_the_data_halves_C(rng):
    K, y, C = random_dual(rng, "rbf")
    once = decomposition(K, y, C, tol=1e-9)
    twice = decomposition(np.tile(K, (2, 2)), np.tile(y, 2), C / 2.0, tol=1e-9)
    assert twice.bound == pytest.approx(once.bound, rel=1e-8)
    pooled = twice.alpha.reshape(2, -1).sum(axis=0)
    np.testing.assert_allclose(K @ (pooled * y), K @ (once.alpha * y), atol=1e-6)


def test_flipping_the_signs_flips_b(rng):
    K, y, C = random_dual(rng, "poly")
    result, flipped = (decomposition(K, s * y, C, tol=1e-10) for s in (1.0, -1.0))
    assert flipped.b == pytest.approx(-result.b, abs=1e-6)
    assert flipped.bound == pytest.approx(result.bound, rel=1e-9)


def test_a_weight_of_zero_leaves_out(rng):
    K, y, _ = random_dual(rng, "rbf")
    C = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    kept = np.flatnonzero(C)
    weighted = decomposition(K, y, C, tol=1e-9)
    without = decomposition(K[np.ix_(kept, kept)], y[kept], 2.0, tol=1e-9)
    assert weighted.bound == pytest.approx(without.bound, rel=1e-9)
    assert np.all(weighted.alpha[C == 0.0] == 0.0)


def test_long_runs_go_on_compiled(rng, monkeypatch):
    K, y, C = random_dual(rng, "linear")
    plain = decomposition(K, y, C, tol=1e-6)
    monkeypatch.setattr("svmlab._smo_jit.PLAIN_WORK", 10)
    assert decomposition(K, y, C, tol=1e-6).bound == pytest.approx(plain.bound, rel=1e-9)


def test_too_few_rounds_warn_with_the_violation(rng):
    K, y, C = random_dual(rng, "rbf")
    with pytest.warns(ConvergenceWarning, match="KKT violation"):
        result = decomposition(K, y, C, max_iter=1)
    assert not result.converged
    assert result.n_iter == 1
    assert result.violation == kkt_violation(result.alpha, K, y, C) > 1e-3


def test_integers_and_fortran_order_just_work():
    example = worked_example()
    K, y = np.asfortranarray(example.K.astype(int)), example.y.astype(int)
    assert decomposition(K, y, 10, tol=1e-8).b == pytest.approx(9.0, abs=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"K": [[np.nan, 0.0], [0.0, 1.0]]}, "K must be finite"),
        ({"K": [[1.0, 2.0], [0.0, 1.0]]}, "K must be symmetric"),
        ({"K": np.ones((2, 3))}, "K must be square"),
        ({"K": np.empty((0, 0))}, "K is empty"),
        ({"y": [1.0, 1.0]}, "one class"),
        ({"y": [0.0, 1.0]}, "-1 and \\+1 only"),
        ({"y": [1.0, -1.0, 1.0]}, "2 entries, got 3"),
        ({"C": 0.0}, "C must be"),
        ({"C": np.inf}, "C must be"),
        ({"C": [1.0, 0.0]}, "where C > 0"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"working_set": 1}, "working_set must be 2 to 10"),
        ({"working_set": 11}, "working_set must be 2 to 10"),
    ],
)
def test_bad_input_is_named(changes, message):
    arguments = {"K": np.eye(2), "y": [1.0, -1.0], **changes}
    with pytest.raises(ValueError, match=message):
        decomposition(**arguments)
