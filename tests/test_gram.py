"""Gram matrices by rows: the same values, bounded memory, machines that are proved in float64."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from svmlab import SVC, SVR, certify, working_sets
from svmlab._gram_jit import add_block, add_long_rows, add_rows, sparse_products, store
from svmlab.dual import intercept_interval, movable
from svmlab.gram import KEEP_AFTER, KernelGram, whole
from svmlab.kernel_blocks import Kernel, KernelBlocks, kernel_scores
from svmlab.kernels import KERNELS, kernel_decision, kernel_matrix
from svmlab.regression import svr
from svmlab.smo import solve_dual
from svmlab.types import ConvergenceWarning
from svmlab.validation import check_rows

PARAMETERS = {"gamma": 0.3, "degree": 3, "coef0": 0.5}
FORMS = ["dense", "full CSR", "thin CSR"]


def rows_in(form, rng, n, d=30, offset=0.0):
    """Rows, as a dense matrix and in the form asked for."""
    X = rng.normal(offset, size=(n, d))
    if form == "thin CSR":
        X[rng.random((n, d)) > 0.1] = 0.0
    return X, X if form == "dense" else check_rows(sparse.csr_matrix(X))


def two_classes(rng, n, d=5, noise=0.5):
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 - 1.0 + noise * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", FORMS)
def test_the_values_are_those_of_the_kernel(form, kernel, rng):
    X, rows = rows_in(form, rng, 700)
    K = kernel_matrix(kernel, X, **PARAMETERS)
    size = np.abs(K).max()
    gram = KernelGram(rows, kernel, **PARAMETERS)
    v = np.where(rng.random(700) < 0.5, rng.normal(size=700), 0.0)
    some = rng.permutation(700)[:40]
    for wanted in (np.arange(700), np.flatnonzero(v), some):
        np.testing.assert_allclose(gram.times(v, wanted), (K @ v)[wanted], atol=1e-11 * size)
    np.testing.assert_allclose(gram.block(some), K[np.ix_(some, some)], atol=1e-13 * size)
    np.testing.assert_allclose(whole(gram), K, atol=1e-13 * size)
    for dtype, close in ((np.float32, 1e-5), (np.float64, 1e-13)):
        for _ in range(KEEP_AFTER + 2):  # then it is kept, and read
            summed = gram.combine(v[some], some, dtype)
            np.testing.assert_allclose(summed, v[some] @ K[some], atol=close * size)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("offset", [0.0, 20.0])
def test_rounding_never_exceeds_its_bound(form, kernel, offset, rng):
    X, rows = rows_in(form, rng, 600, offset=offset)
    gram = KernelGram(rows, kernel, gamma=0.01, degree=3, coef0=0.5)
    K = kernel_matrix(kernel, X, gamma=0.01, degree=3, coef0=0.5)
    signs = rng.choice([-1.0, 1.0], size=600) / 600
    for dtype in (np.float32, np.float64):
        rows = [gram.combine(np.ones(1), np.array([i]), dtype) for i in range(600)]
        wrong = np.abs(rows - K).max()
        bound = gram.doubt(dtype, 600)
        assert wrong <= bound
        if dtype == np.float32:
            assert bound < 1000.0 * wrong  # it says something
        total = gram.combine(signs, np.arange(600), dtype)
        assert np.abs(total - K @ signs).max() <= bound


def test_a_variable_is_left_out_of_the_proof_only_if_it_cannot_matter(rng, monkeypatch):
    X, y = two_classes(rng, 3000, d=6)
    asked = []
    times = KernelGram.times
    monkeypatch.setattr(
        KernelGram, "times", lambda *args: asked.append(len(args[2])) or times(*args)
    )
    machine = solve_dual(KernelGram(X, gamma=0.1, cache_size=5.0), y)
    n_support = np.count_nonzero(machine.alpha)
    assert n_support <= asked[-1] < n_support + 0.2 * (3000 - n_support)
    proof = certify(machine.alpha, machine.b, kernel_matrix("rbf", X, gamma=0.1), y, 1.0)
    assert machine.violation == pytest.approx(proof.violation, abs=1e-9)
    assert machine.objective == pytest.approx(proof.primal, rel=1e-12)
    assert machine.bound == pytest.approx(proof.dual, rel=1e-12)


def test_doubt_reaches_every_variable_that_rounding_could_move(rng):
    """Whatever r is wrong by within the doubt, who is left out has no loss and sets no end."""
    X, y = two_classes(rng, 2000, d=6)
    gram, C = KernelGram(X, gamma=0.1), np.ones(2000)
    with pytest.warns(ConvergenceWarning):
        alpha = solve_dual(gram, y, max_iter=800).alpha  # some at 0 still violate something
    r = y - kernel_matrix("rbf", X, gamma=0.1) @ (alpha * y)
    up, low = movable(alpha, y, C)
    ends = intercept_interval(r, up, low)
    rounds = working_sets._Rounds(gram, np.arange(2000), y, C, 1e-3)
    rounds.doubt = 0.05
    apart = np.where(alpha > 0.0, 0.05, -0.05)  # the ends move one way, all others the other way
    for wrong in (rng.uniform(-0.05, 0.05, 2000), apart, -apart):
        left_out = ~rounds._open(alpha, r + wrong)
        assert 300 < left_out.sum() <= np.sum(alpha == 0.0)
        assert np.all(r[left_out & up] < min(ends))
        assert np.all(r[left_out & low] > max(ends))


def test_what_is_asked_for_again_and_again_is_kept(rng):
    X = rng.normal(size=(4000, 3))
    gram = KernelGram(X, gamma=0.5, cache_size=1.0)
    assert gram.capacity(np.float32) == 2**20 // (4 * 4000) == 65
    computed = []
    meet = KernelBlocks.meet
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            KernelBlocks,
            "meet",
            lambda self, Z, *part: computed.append(len(Z)) or meet(self, Z, *part),
        )
        first, second = [np.arange(60)], [np.arange(60, 90)]
        for index in (KEEP_AFTER + 2) * first + (KEEP_AFTER + 2) * second + first:
            summed = gram.combine(np.ones(len(index)), index, np.float32)
            K = kernel_matrix("rbf", X[index], X, gamma=0.5)
            np.testing.assert_allclose(summed, K.sum(axis=0), atol=1e-4)
    # Each is kept in the end; 30 others take the places of the 25 that were kept longest.
    assert computed == (KEEP_AFTER + 1) * [60] + (KEEP_AFTER + 1) * [30] + [25]


@pytest.mark.parametrize("cache_size", [0.001, 0.5])
def test_a_sum_of_rows_is_right_whatever_was_asked_for_before(cache_size, rng):
    X = rng.normal(size=(3000, 3))
    gram = KernelGram(X, gamma=0.5, cache_size=cache_size)  # for 0 or for 43 rows
    K = kernel_matrix("rbf", X, gamma=0.5)
    for _ in range(50):
        index, weights = rng.permutation(60)[:40], rng.normal(size=40)
        dtype = np.float32 if rng.random() < 0.9 else np.float64
        summed = gram.combine(weights, index, dtype)
        np.testing.assert_allclose(summed, weights @ K[index], atol=1e-4)


def test_the_cache_bounds_the_memory(rng):
    X, y = two_classes(rng, 6000, d=10)
    solve_dual(KernelGram(X[:1500], gamma=0.1, cache_size=1.0), y[:1500])  # what is kept for good
    tracemalloc.start()
    solve_dual(KernelGram(X, gamma=0.1, cache_size=20.0), y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6 + 15e6  # all of K would be 288 MB


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_rounds_and_one_set_find_the_same_machine(form, kernel, rng, monkeypatch):
    X, rows = rows_in(form, rng, 400, d=12)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=400) > 0, 1.0, -1.0)
    gram = KernelGram(rows, kernel, **PARAMETERS, cache_size=0.5)
    whole_set = solve_dual(gram, y, 0.5, tol=1e-6)
    monkeypatch.setattr(working_sets, "WHOLE", 100)
    rounds = solve_dual(gram, y, 0.5, tol=1e-6)
    assert rounds.converged
    assert len(rounds.history["step"]) != len(whole_set.history["step"])
    assert rounds.objective == pytest.approx(whole_set.objective, rel=1e-6)
    proof = certify(rounds.alpha, rounds.b, kernel_matrix(kernel, X, **PARAMETERS), y, 0.5)
    assert proof.violation == pytest.approx(rounds.violation, abs=1e-9)
    assert proof.violation <= 1e-6 + 1e-9
    assert proof.dual == pytest.approx(rounds.bound, rel=1e-9)
    assert proof.primal == pytest.approx(rounds.objective, rel=1e-9)


def test_regression_by_rounds(rng, monkeypatch):
    x = np.sort(rng.uniform(-3, 3, 500))
    y = np.sin(x) + 0.1 * rng.normal(size=500)
    gram = KernelGram(x[:, None], gamma=1.0, cache_size=0.5)
    one_set = svr(gram, y, 1.0, 0.05, tol=1e-5)
    monkeypatch.setattr(working_sets, "WHOLE", 100)
    rounds = svr(gram, y, 1.0, 0.05, tol=1e-5)
    assert rounds.converged
    assert rounds.objective == pytest.approx(one_set.objective, rel=1e-5)
    assert rounds.gap <= 1e-5 * 500


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_what_float32_cannot_tell_is_proved_in_float64(C, rng, monkeypatch):
    X, y = two_classes(rng, 1200, d=4, noise=0.1)
    X = 30.0 + X * [1.0, 1.0, 10.0, 0.1]  # far from the origin: squared lengths lose the distances
    gram = KernelGram(X, gamma=0.05, cache_size=1.0)
    prepare, used = working_sets._Rounds.__init__, []

    def begin_in_float32(self, *args):
        prepare(self, *args)
        used.append(self.dtype)
        self.dtype = np.float32

    monkeypatch.setattr(working_sets._Rounds, "__init__", begin_in_float32)
    machine = solve_dual(gram, y, C)
    assert used == [np.float64]  # it would not have tried
    proof = certify(machine.alpha, machine.b, kernel_matrix("rbf", X, gamma=0.05), y, C)
    assert machine.converged
    assert proof.violation <= 1e-3 + 1e-7
    assert proof.violation == pytest.approx(machine.violation, abs=1e-7)


def test_a_limit_of_steps_is_said(rng):
    X, y = two_classes(rng, 1100)
    with pytest.warns(ConvergenceWarning, match="50 steps were not enough"):
        machine = solve_dual(KernelGram(X, gamma=0.5), y, max_iter=50)
    assert not machine.converged
    assert machine.n_iter == 50


@pytest.fixture(scope="module")
def machine():
    """A machine of 1,500 examples, trained by rounds, and what it was trained on."""
    X, y = two_classes(np.random.default_rng(1), 1500)
    return X, y, SVC(gamma=0.3, C=2.0, tol=1e-4).fit(X, y)


def agree(one, other, X, tol=2e-3):
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=tol)


def test_the_order_of_examples_does_not_matter(machine, rng):
    X, y, fitted = machine
    order = rng.permutation(len(y))
    agree(fitted, SVC(gamma=0.3, C=2.0, tol=1e-4).fit(X[order], y[order]), X)


def test_two_copies_with_half_the_cost_are_one_example(machine):
    X, y, fitted = machine
    twice = SVC(gamma=0.3, C=1.0, tol=1e-4).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    agree(fitted, twice, X)


def test_scaling_the_rows_is_scaling_gamma(machine):
    X, y, fitted = machine
    scaled = SVC(gamma=0.3 / 16.0, C=2.0, tol=1e-4).fit(4.0 * X, y)
    np.testing.assert_allclose(
        fitted.decision_function(X), scaled.decision_function(4.0 * X), atol=2e-3
    )


def test_sparse_and_dense_rows_are_the_same(machine):
    X, y, fitted = machine
    agree(fitted, SVC(gamma=0.3, C=2.0, tol=1e-4).fit(sparse.csr_matrix(X), y), X)


def test_the_same_data_give_the_same_machine(machine):
    X, y, fitted = machine
    SVC(gamma=0.1).fit(X[:300], y[:300])
    again = SVC(gamma=0.3, C=2.0, tol=1e-4).fit(X, y)
    np.testing.assert_array_equal(fitted.dual_coef_, again.dual_coef_)
    np.testing.assert_array_equal(fitted.intercept_, again.intercept_)


def test_a_small_cache_finds_the_same_machine(machine):
    X, y, fitted = machine
    agree(fitted, SVC(gamma=0.3, C=2.0, tol=1e-4, cache_size=0.5).fit(X, y), X)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_are_those_of_the_formula(form, kernel, rng):
    X, rows = rows_in(form, rng, 900)
    S, vectors = rows_in(form, rng, 600)
    coef = rng.normal(size=(2, 600))
    scores = kernel_scores(rows, vectors, coef, Kernel(kernel, **PARAMETERS))
    for k in range(2):
        slow = kernel_decision(S, coef[k], 0.0, X, kernel, **PARAMETERS)
        np.testing.assert_allclose(scores[:, k], slow, atol=1e-10 * np.abs(slow).max())


def test_scores_need_little_memory(rng):
    X, S = rng.normal(size=(20_000, 4)), rng.normal(size=(2000, 4))
    kernel_scores(X[:300], S, np.ones((1, 2000)))
    tracemalloc.start()
    kernel_scores(X, S, np.ones((1, 2000)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6  # the whole matrix would be 320 MB


def test_plain_and_compiled_loops_agree(rng):
    table, weights, places = rng.normal(size=(50, 3000)), rng.normal(size=30), rng.permutation(50)
    places = places[:30]
    X = check_rows(sparse.csr_matrix(rng.normal(size=(20, 50)) * (rng.random((20, 50)) < 0.2)))
    for loop, make in (
        (add_rows, lambda out: (out[0], weights, table, places)),
        (add_long_rows, lambda out: (out[0], weights, table, places)),
        (sparse_products, lambda out: (*X[:3], table, out[:20])),
        (add_block, lambda out: (out[0], weights, table[:30])),
        (add_block, lambda out: (out[0], weights, np.asfortranarray(table[:30]))),
        (store, lambda out: (table[:20], out, np.where(places[:20] % 3, places[:20], -1))),
    ):
        made = [np.ones((50, 3000)), np.ones((50, 3000))]
        loop.plain(*make(made[0]))
        loop.compiled(*make(made[1]))
        assert not np.array_equal(made[0], np.ones((50, 3000)))
        np.testing.assert_allclose(made[0], made[1], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cache_size": 0.0}, "cache_size must be"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"degree": 0}, "degree must be"),
        ({"kernel": "sigmoid"}, "kernel must be"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KernelGram(np.eye(2), **options)


def test_regressors_use_rows_too(rng):
    X = rng.uniform(-2, 2, size=(700, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    machine = SVR(gamma=0.5, C=1.0, epsilon=0.05, cache_size=1.0).fit(X, y)
    assert machine.score(X, y) > 0.95


ONE_THREAD = """
import os
import numpy as np
from svmlab import SVC, LinearSVC, SGDSVC
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20))
y = np.sign(X[:, 0] + 0.5 * rng.normal(size=3000))
for machine in (SVC(gamma=0.05), LinearSVC(random_state=0), SGDSVC(lam=1e-3, random_state=0)):
    machine.fit(X, y).decision_function(X)
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc to count threads")
def test_one_thread_is_all_that_is_used_where_one_is_allowed():
    names = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
    allowed = os.environ | {f"{name}_NUM_THREADS": "1" for name in names}
    run = [sys.executable, "-c", ONE_THREAD]
    done = subprocess.run(run, env=allowed, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_the_number_of_threads_does_not_change_the_machine(machine):
    X, y, fitted = machine
    for threads in (1, 2):
        with threadpool_limits(threads):
            again = SVC(gamma=0.3, C=2.0, tol=1e-4).fit(X, y)
        np.testing.assert_array_equal(fitted.support_, again.support_)
        np.testing.assert_array_equal(fitted.dual_coef_, again.dual_coef_)


@pytest.mark.parametrize("form", FORMS)
def test_more_jobs_give_the_same_machine_to_the_last_bit(form, rng):
    X, rows = rows_in(form, rng, 3000)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=3000) > 0, 1.0, -1.0)
    rows = X if form == "dense" else sparse.csr_matrix(X)
    one, three = (SVC(gamma=0.01, n_jobs=n_jobs).fit(rows, y) for n_jobs in (None, 3))
    np.testing.assert_array_equal(one.support_, three.support_)
    np.testing.assert_array_equal(one.dual_coef_, three.dual_coef_)
    np.testing.assert_array_equal(one.decision_function(rows), three.decision_function(rows))


@pytest.mark.parametrize("groups", [1, 2, 32])
def test_products_are_right_and_the_same_for_any_jobs_and_groups(groups, rng, monkeypatch):
    monkeypatch.setattr("svmlab.gram.GROUPS", groups)
    X = rng.normal(size=(5000, 3))
    v = np.where(rng.random(5000) < 0.7, rng.normal(size=5000), 0.0)
    wanted = np.flatnonzero((v != 0.0) | (rng.random(5000) < 0.5))
    one, three = (KernelGram(X, gamma=0.3, n_jobs=n).times(v, wanted) for n in (1, 3))
    np.testing.assert_array_equal(one, three)
    K = kernel_matrix("rbf", X, gamma=0.3)
    np.testing.assert_allclose(one, (K @ v)[wanted], atol=1e-10)


def test_jobs_work_in_threads_of_their_own_beside_the_callers(rng, monkeypatch):
    X, y = two_classes(rng, 3000)
    at_work = set()
    meet, together = KernelBlocks.meet, threading.Barrier(2, timeout=60.0)

    def watched(self, *args):
        at_work.add(threading.current_thread())
        together.wait()  # nobody goes on alone
        return meet(self, *args)

    monkeypatch.setattr(KernelBlocks, "meet", watched)
    KernelGram(X, n_jobs=2).combine(np.ones(1), np.arange(1), np.float32)
    assert len(at_work) == 2
    assert threading.main_thread() in at_work
    monkeypatch.undo()
    for n_jobs in (0, -2, 1.5, True):
        with pytest.raises(ValueError, match="n_jobs must be"):
            SVC(n_jobs=n_jobs).fit(X, y)


ENDLESS = """
import numpy as np
from svmlab import SVC
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 20))
y = np.sign(rng.normal(size=20_000))
SVC(C=1e6, gamma=0.01, max_iter=100).fit(X[:1100], y[:1100])  # compiles
print("begin", flush=True)
SVC(C=1e6, gamma=0.01).fit(X, y)
"""


def test_a_key_press_stops_a_fit():
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        time.sleep(1.0)
        os.kill(process.pid, signal.SIGINT)
        began = time.monotonic()
        _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert time.monotonic() - began < 12.0  # three seconds, and slack for a busy machine
