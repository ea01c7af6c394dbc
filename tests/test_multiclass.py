"""More than two classes: hand-worked machines, duality gaps, and data that only one way learns."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from svmlab import multiclass
from svmlab._multiclass_jit import best_row, sweep_csr, sweep_dense
from svmlab.coordinate import dual_coordinate_descent
from svmlab.datasets import one_versus_rest_fails
from svmlab.multiclass import (
    certify_joint,
    class_scores,
    class_weights,
    joint_multiclass,
    multiclass_dual_objective,
    multiclass_infeasibility,
    multiclass_objective,
    multiclass_slack,
    one_versus_rest,
    predict_codes,
)
from svmlab.primal import cost
from svmlab.rows import with_bias_column
from svmlab.smo import solve_dual
from svmlab.types import CSR, ConvergenceWarning, Indices, Matrix

pytestmark = pytest.mark.core


def crowd(rng: np.random.Generator, n: int = 60, d: int = 3, k: int = 4) -> tuple[Matrix, Indices]:
    """Noisy classes, each with an example."""
    X = rng.normal(size=(n, d))
    codes = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k))).argmax(axis=1)
    codes[:k] = np.arange(k)
    return X, codes


def sparse(X: Matrix) -> CSR:
    i, j = np.nonzero(X)
    return CSR(X[i, j], j, np.searchsorted(i, np.arange(len(X) + 1)), X.shape)


def mistakes(scores: Matrix, codes: Indices) -> float:
    return float(np.mean(predict_codes(scores) != codes))


def test_slack_is_the_least_that_meets_every_constraint(rng: np.random.Generator) -> None:
    scores, codes = rng.normal(size=(50, 4)), rng.integers(0, 4, 50)
    xi = multiclass_slack(scores, codes)
    for i, y in enumerate(codes):
        needed = [scores[i, c] + 1.0 - scores[i, y] for c in range(4) if c != y]
        assert xi[i] == pytest.approx(max(0.0, *needed))
    assert np.all(xi >= (predict_codes(scores) != codes))  # it bounds the number of mistakes


def test_two_opposite_points_give_the_machine_worked_by_hand() -> None:
    X, codes = np.array([[1.0], [-1.0]]), np.array([0, 1])
    result = joint_multiclass(X, codes, C=10.0, bias=0.0, tol=1e-12)
    assert pytest.approx(np.array([[0.5], [-0.5]])) == result.W  # f_0 − f_1 = x is 1 at x = 1
    assert result.objective == pytest.approx(0.25)
    halves = np.array([[0.25, -0.25], [-0.25, 0.25]])  # one optimum of the dual, not the only one
    assert certify_joint(halves, X, codes, 10.0).gap == 0.0
    small = joint_multiclass(X, codes, C=0.1, bias=0.0, tol=1e-12)
    assert pytest.approx(np.array([[0.2], [-0.2]])) == small.W
    assert small.coef[:, 0] == pytest.approx([0.1, -0.1])


def test_three_unit_vectors_give_the_machine_worked_by_hand() -> None:
    # by symmetry w_c = p e_c − q Σ others with p + q = 1; ½·3(p² + 2q²) is least at p = 2/3
    result = joint_multiclass(np.eye(3), [0, 1, 2], C=10.0, bias=0.0, tol=1e-12)
    assert pytest.approx(np.eye(3) - 1.0 / 3.0, abs=1e-9) == result.W
    assert result.objective == pytest.approx(1.0)
    assert result.bound == pytest.approx(1.0)


@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_the_gap_of_the_joint_problem_closes_to_1e_10(
    C: float, bias: float, rng: np.random.Generator
) -> None:
    X, codes = crowd(rng)
    result = joint_multiclass(X, codes, C, bias=bias, tol=1e-10)
    assert result.coef is not None
    assert result.W is not None
    rows = np.column_stack((X, np.full(60, bias))) if bias else X
    W = result.coef.T @ rows
    own = np.arange(60), codes
    margins = rows @ W.T
    margins = margins[own][:, None] - margins - 1.0
    margins[own] = 0.0
    primal = 0.5 * np.sum(W**2) - C * margins.min(axis=1).sum()
    dual = result.coef[own].sum() - 0.5 * np.sum(W**2)
    assert multiclass_infeasibility(result.coef, codes, C) <= 1e-12 * C
    assert abs(primal - dual) <= 1.1e-10 * primal
    assert result.objective == pytest.approx(primal, rel=1e-11)
    assert result.bound == pytest.approx(dual, rel=1e-11)
    assert result.converged
    extended = np.column_stack((result.W, result.b / bias)) if bias else result.W
    assert extended == pytest.approx(W, abs=1e-12)


def test_every_feasible_multiplier_bounds_the_objective_from_below(
    rng: np.random.Generator,
) -> None:
    X, codes = crowd(rng, 30)
    best = joint_multiclass(X, codes, 2.0, bias=0.0, tol=1e-10)
    own = np.arange(30), codes
    for _ in range(50):
        coef = -rng.uniform(0.0, 1.0, (30, 4)) * rng.uniform(0.0, 0.6)
        coef[own] = 0.0
        coef[own] = -coef.sum(axis=1)
        assert multiclass_infeasibility(coef, codes, 2.0) < 1e-12
        assert multiclass_dual_objective(coef, X, codes) <= best.objective
        assert certify_joint(coef, X, codes, 2.0).gap >= 0.0
        W = rng.normal(size=(4, 3))
        assert multiclass_objective(W, X, codes, 2.0) >= best.bound


def test_infeasibility_sees_each_broken_constraint() -> None:
    codes = np.array([1])
    assert multiclass_infeasibility(np.array([[-1.0, 1.0, 0.0]]), codes, 1.0) == 0.0
    assert multiclass_infeasibility(np.array([[-2.0, 2.0, 0.0]]), codes, 1.0) == 1.0
    assert multiclass_infeasibility(np.array([[-1.0, 0.75, 0.25]]), codes, 1.0) == 0.25
    assert multiclass_infeasibility(np.array([[-1.0, 0.5, 0.0]]), codes, 1.0) == 0.5


def test_two_classes_are_the_binary_machine_with_twice_the_cost(rng: np.random.Generator) -> None:
    X, codes = crowd(rng, 50, 3, 2)
    y = np.where(codes == 1, 1.0, -1.0)
    joint = joint_multiclass(X, codes, 0.7, tol=1e-12)
    rows = with_bias_column(X)
    binary = dual_coordinate_descent(rows, y, 1.4, tol=1e-10)
    assert joint.W is not None
    assert joint.coef is not None
    assert joint.W[1] == pytest.approx(-joint.W[0], abs=1e-9)
    assert joint.W[1] == pytest.approx(binary.w[:3] / 2.0, abs=1e-6)
    assert joint.b[1] == pytest.approx(binary.w[3] / 2.0, abs=1e-6)
    assert joint.objective == pytest.approx(binary.objective / 2.0, rel=1e-9)
    alpha = 2.0 * joint.coef[np.arange(50), codes]  # a multiplier of the binary dual in [0, 2C]
    w = (alpha * y) @ np.asarray(rows)
    primal = 0.5 * w @ w + 1.4 * np.maximum(0.0, 1.0 - y * (rows @ w)).sum()  # type: ignore[operator]
    assert primal - (alpha.sum() - 0.5 * w @ w) <= 1e-9 * primal


def test_the_objective_of_S7_without_the_half_has_half_the_cost(rng: np.random.Generator) -> None:
    X, codes = crowd(rng)
    best = joint_multiclass(X, codes, cost(3.0, 60, "whole"), bias=0.0, tol=1e-10)
    assert best.W is not None

    def lecture(W: Matrix) -> float:
        return float(np.sum(W**2) + 3.0 * multiclass_slack(class_scores(X, W), codes).sum())

    assert lecture(best.W) == pytest.approx(2.0 * best.objective)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            assert lecture(best.W + size * rng.normal(size=(4, 3))) >= lecture(best.W) - 1e-8


def test_permuting_classes_permutes_the_machines(rng: np.random.Generator) -> None:
    X, codes = crowd(rng)
    order = np.array([2, 0, 3, 1])
    base, moved = (joint_multiclass(X, c, tol=1e-12) for c in (codes, order[codes]))
    assert base.W is not None
    assert moved.W is not None
    assert moved.W[order] == pytest.approx(base.W, abs=1e-6)
    assert moved.b[order] == pytest.approx(base.b, abs=1e-6)
    K = X @ X.T
    tight = partial(solve_dual, tol=1e-10)
    first, second = (one_versus_rest(K, c, solve=tight) for c in (codes, order[codes]))
    assert first.coef is not None
    assert second.coef is not None
    assert K @ second.coef[:, order] == pytest.approx(K @ first.coef, abs=1e-6)


def test_weights_sum_to_zero_over_classes(rng: np.random.Generator) -> None:
    X, codes = crowd(rng)
    result = joint_multiclass(X, codes, 5.0, tol=1e-10)
    assert result.W is not None
    assert np.abs(result.W.sum(axis=0)).max() < 1e-10
    assert abs(result.b.sum()) < 1e-10


def test_duplicating_the_data_halves_C(rng: np.random.Generator) -> None:
    X, codes = crowd(rng)
    once = joint_multiclass(X, codes, 2.0, tol=1e-12)
    twice = joint_multiclass(np.vstack((X, X)), np.tile(codes, 2), 1.0, tol=1e-12)
    assert twice.objective == pytest.approx(once.objective, rel=1e-11)
    assert pytest.approx(once.W, abs=1e-5) == twice.W  # ‖W − W*‖² ≤ 2 gap


def test_an_integer_cost_repeats_the_example_and_zero_drops_it(rng: np.random.Generator) -> None:
    X, codes = crowd(rng)
    times = rng.integers(0, 4, 60)
    times[:4] = 1
    index = np.repeat(np.arange(60), times)
    weighted = joint_multiclass(X, codes, 0.5 * times, tol=1e-11)
    repeated = joint_multiclass(X[index], codes[index], 0.5, tol=1e-11)
    assert pytest.approx(repeated.W, abs=1e-4) == weighted.W  # ‖W − W*‖² ≤ 2 gap
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-10)
    assert weighted.coef is not None
    assert np.all(weighted.coef[times == 0] == 0.0)


def test_a_row_of_zeros_costs_its_slack_and_leaves_no_gap(rng: np.random.Generator) -> None:
    X, codes = crowd(rng, 30)
    with_zero = np.vstack((X, np.zeros((1, 3))))
    base = joint_multiclass(X, codes, 2.0, bias=0.0, tol=1e-11)
    more = joint_multiclass(with_zero, np.append(codes, 2), 2.0, bias=0.0, tol=1e-11)
    assert more.objective == pytest.approx(base.objective + 2.0, rel=1e-10)
    assert multiclass_infeasibility(more.coef, np.append(codes, 2), 2.0) < 1e-12  # type: ignore[arg-type]
    assert more.converged


def test_a_large_bias_column_frees_the_intercepts(rng: np.random.Generator) -> None:
    X, codes = crowd(rng, 40, 2, 3)
    shifted = joint_multiclass(X + 2.0, codes, bias=100.0, tol=1e-10, max_iter=5000)
    centred = joint_multiclass(X, codes, bias=100.0, tol=1e-10, max_iter=5000)
    assert pytest.approx(centred.W, abs=1e-2) == shifted.W  # equal only without any penalty on b


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_sparse_rows_give_the_same_machines(bias: float, rng: np.random.Generator) -> None:
    X, codes = crowd(rng, 50, 6, 3)
    X *= rng.random(X.shape) < 0.5
    dense = joint_multiclass(X, codes, bias=bias, tol=1e-11)
    rows = joint_multiclass(sparse(X), codes, bias=bias, tol=1e-11)
    assert pytest.approx(dense.W, abs=1e-4) == rows.W  # ‖W − W*‖² ≤ 2 gap
    assert rows.objective == pytest.approx(dense.objective, rel=1e-10)


def test_a_step_ends_where_the_cost_is_lost_in_rounding(rng: np.random.Generator) -> None:
    for _ in range(3000):
        scores, row, new = np.full(3, rng.normal()), np.zeros(3), np.empty(3)
        scores[0] -= 1.0  # class 0 is the right one: all three compete
        best_row.plain(scores, row, 0, 1.0, 10.0 ** rng.integers(-18, -14), new)
        assert np.abs(new).max() < 1e-13


def test_one_step_is_the_best_for_its_example(rng: np.random.Generator) -> None:
    X, codes = crowd(rng, 20)
    start = np.zeros((20, 4))
    W = class_weights(start, X)
    sweep_dense.plain(X, codes, np.full(20, 0.3), np.sum(X**2, axis=1), np.arange(20), start, W)
    assert class_weights(start, X) == pytest.approx(W)
    coef = start.copy()
    best_row.plain(W @ X[7], start[7], codes[7], X[7] @ X[7], 0.3, coef[7])
    top = multiclass_dual_objective(coef, X, codes)
    assert multiclass_infeasibility(coef, codes, 0.3) < 1e-15
    assert top >= multiclass_dual_objective(start, X, codes)
    for _ in range(200):
        other = coef.copy()
        other[7] = -rng.dirichlet(np.ones(4) * 0.3) * 0.3
        other[7, codes[7]] += 0.3
        assert multiclass_dual_objective(other, X, codes) <= top + 1e-14


def test_the_plain_the_compiled_and_the_sparse_loop_agree(rng: np.random.Generator) -> None:
    X, codes = crowd(rng, 30)
    curvatures, order = np.sum(X**2, axis=1), rng.permutation(30)
    found = []
    for run, arrays in (
        (sweep_dense.plain, (X,)),
        (sweep_dense, (X,)),
        (sweep_csr.plain, sparse(X)[:3]),
        (sweep_csr, sparse(X)[:3]),
    ):
        coef, W = np.zeros((30, 4)), np.zeros((4, 3))
        for _ in range(3):
            run(*arrays, codes, np.full(30, 0.5), curvatures, order, coef, W)
        found.append(coef)
    for other in found[1:]:
        assert other == pytest.approx(found[0], abs=1e-12)


def test_single_moves_alone_reach_the_same_optimum(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, codes = crowd(rng, 40, 3, 3)
    together = joint_multiclass(X, codes, 0.2, tol=1e-9)
    monkeypatch.setattr(multiclass, "POLISH_SIZE", 0)
    alone = joint_multiclass(X, codes, 0.2, tol=1e-7)
    assert alone.objective == pytest.approx(together.objective, rel=2e-7)
    assert alone.n_iter >= together.n_iter


def test_the_dual_never_falls_and_the_run_repeats(rng: np.random.Generator) -> None:
    X, codes = crowd(rng)
    result = joint_multiclass(X, codes, 5.0, tol=1e-8, rng=np.random.default_rng(3))
    again = joint_multiclass(X, codes, 5.0, tol=1e-8, rng=np.random.default_rng(3))
    bound = result.history["bound"]
    assert np.all(np.diff(bound) >= -1e-12 * bound[1:])
    assert np.array_equal(result.W, again.W)  # type: ignore[arg-type]
    assert result.n_iter == len(result.history["step"])


def test_one_versus_rest_is_one_certified_machine_a_class(rng: np.random.Generator) -> None:
    X, codes = crowd(rng)
    K = X @ X.T
    result = one_versus_rest(K, codes, 2.0, solve=partial(solve_dual, tol=1e-8))
    assert result.coef is not None
    scores = K @ result.coef + result.b
    primal = 0.0
    for c in range(4):
        y = np.where(codes == c, 1.0, -1.0)
        single = solve_dual(K, y, 2.0, tol=1e-8)
        assert scores[:, c] == pytest.approx(K @ (single.alpha * y) + single.b, abs=1e-6)
        primal += 0.5 * result.coef[:, c] @ K @ result.coef[:, c]
        primal += 2.0 * np.maximum(0.0, 1.0 - y * scores[:, c]).sum()
    assert result.objective == pytest.approx(primal)
    assert 0.0 <= result.gap + 1e-9 <= 4 * 60 * 2.0 * 1e-8 + 2e-9
    W = class_weights(result.coef, X)
    assert class_scores(X, W, result.b) == pytest.approx(scores, abs=1e-9)


def test_one_versus_rest_takes_a_linear_solver_too(rng: np.random.Generator) -> None:
    X, codes = crowd(rng)
    rows = with_bias_column(X)
    result = one_versus_rest(rows, codes, solve=lambda X, y, C: dual_coordinate_descent(X, y, C))
    assert result.W is not None
    assert result.W.shape == (4, 4)
    y = np.where(codes == 2, 1.0, -1.0)
    assert result.W[2] == pytest.approx(dual_coordinate_descent(rows, y, 1.0).w)


@pytest.mark.parametrize(
    "C",
    [1e-3, 1e-2, 1e-1, 1.0, 10.0, *(pytest.param(C, marks=pytest.mark.full) for C in (1e2, 1e3))],
)
def test_one_versus_rest_loses_a_class_of_three_in_a_row_whatever_C(
    C: float, rng: np.random.Generator
) -> None:
    X, codes = one_versus_rest_fails(40, rng)
    K = X @ X.T
    single = one_versus_rest(K, codes, C, solve=partial(solve_dual, tol=1e-4))
    assert single.coef is not None
    predicted = predict_codes(K @ single.coef + single.b)
    assert np.all(predicted[codes == 0] != 0)
    assert np.mean(predicted != codes) == 0.25


def test_the_joint_problem_learns_three_classes_in_a_row(rng: np.random.Generator) -> None:
    X, codes = one_versus_rest_fails(40, rng)
    joint = joint_multiclass(X, codes, 100.0, tol=1e-8)
    assert joint.W is not None
    scores = class_scores(X, joint.W, joint.b)
    assert mistakes(scores, codes) == 0.0
    assert multiclass_slack(scores, codes).max() <= 1e-3  # every constraint, not only the argmax


def test_the_data_that_defeat_one_versus_rest_do_so_for_every_seed() -> None:
    for seed in range(5):
        X, codes = one_versus_rest_fails(80, np.random.default_rng(seed))
        assert np.array_equal(np.bincount(codes), [20, 32, 28])
        x = X[:, 0]
        assert mistakes(np.column_stack((-x, np.full(80, 1.0), x - 7.0)), codes) == 0.0
        single = one_versus_rest(X @ X.T, codes, 1.0)
        assert mistakes(X @ X.T @ single.coef + single.b, codes) >= 0.2  # type: ignore[operator]
        joint = joint_multiclass(X, codes, 10.0)
        assert mistakes(class_scores(X, joint.W, joint.b), codes) == 0.0  # type: ignore[arg-type]
        assert np.array_equal(X, one_versus_rest_fails(80, np.random.default_rng(seed))[0])
    with pytest.raises(ValueError, match="n must be 3 or above"):
        one_versus_rest_fails(2, np.random.default_rng(0))


def test_too_few_epochs_warn_and_say_so(rng: np.random.Generator) -> None:
    X, codes = crowd(rng)
    with pytest.warns(ConvergenceWarning, match="joint_multiclass did not converge: relative dual"):
        result = joint_multiclass(X, codes, 100.0, tol=1e-10, max_iter=1)
    assert not result.converged
    assert result.violation == pytest.approx(result.gap / result.objective)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.nan], [1.0]]}, "X must be finite"),
        ({"X": np.empty((0, 2)), "codes": []}, "X is empty"),
        ({"codes": [0, 1, 2]}, "codes must have 2 entries, got 3"),
        ({"codes": [1, 1]}, "at least two classes"),
        ({"codes": [0, 0]}, "at least two classes"),
        ({"codes": [0, 2]}, "no gap"),
        ({"codes": [-1, 1]}, "codes must hold class codes 0, 1, ..., got -1"),
        ({"codes": [0.5, 1.0]}, "codes must hold class codes 0, 1, ..., got 0.5"),
        ({"codes": ["a", "b"]}, "codes must hold real numbers"),
        ({"C": 0.0}, "C must be a finite number above 0"),
        ({"bias": -1.0}, "bias must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_input_is_named(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"X": [[1.0], [2.0]], "codes": [0, 1], **change}
    with pytest.raises(ValueError, match=message):
        joint_multiclass(**arguments)  # type: ignore[arg-type]


def test_one_versus_rest_names_bad_codes() -> None:
    with pytest.raises(ValueError, match="at least two classes"):
        one_versus_rest(np.eye(2), [0, 0])
    with pytest.raises(ValueError, match="codes must be a vector"):
        one_versus_rest(np.eye(2), 3)
    with pytest.raises(ValueError, match="C must be a finite number above 0"):
        one_versus_rest(np.eye(2), [0, 1], C=-1.0)


def test_integers_and_fortran_order_just_work_and_nothing_is_changed(
    rng: np.random.Generator,
) -> None:
    X = np.asfortranarray(rng.integers(-3, 4, (40, 3)))
    codes = np.where(X[:, 0] > 0, 2, np.where(X[:, 1] > 0, 1, 0))
    before = X.copy(), codes.copy()
    result = joint_multiclass(X, codes, tol=1e-10)  # type: ignore[arg-type]
    plain = joint_multiclass(np.ascontiguousarray(X, dtype=float), codes.astype(float), tol=1e-10)
    assert np.array_equal(result.W, plain.W)  # type: ignore[arg-type]
    assert np.array_equal(X, before[0])
    assert np.array_equal(codes, before[1])
