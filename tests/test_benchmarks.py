"""The benchmarks run, on small data: the lectures' tables (S8, S11, M9, M10), ours and peers'.

No seconds are asserted, only what was run in which order, and what the answers are worth.
"""

from __future__ import annotations

import doctest
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import child
import cold_start
import compare
import growing
import kernel_machines
import lectures
import linear_machines
import publish
import record
import sets
import sides
import solvers

from svmlab import SVC
from svmlab.certificates import certify
from svmlab.coordinate import certify_linear, dual_coordinate_descent
from svmlab.datasets import blobs
from svmlab.kernels import gaussian_kernel
from svmlab.validation import check_rows


def test_ours_and_libsvm_agree_on_weighted_and_many_class_problems():
    rows = lectures.compare_with_libsvm(repeats=1)
    assert len(rows) == 2
    assert min(row["same predictions"] for row in rows) > 0.995


def test_every_family_of_solvers_reaches_the_same_objective_on_text():
    rows = lectures.training_times(400)
    solvers = [row["solver"] for row in rows]
    assert {"Pegasos", "SVM-Perf (cutting plane)", "SVM-light (with intercept)"} <= set(solvers)
    ratios = [row["objective / optimum"] for row in rows[:-1]]
    assert min(ratios) >= 1 - 1e-9
    assert max(ratios) <= 1.02
    assert max(row["test error"] for row in rows) < 0.5


def test_more_rows_bring_conjugate_gradients_closer_to_sgd():
    rows = lectures.stochastic_or_batch(1000)
    assert [row["rows"] for row in rows] == [1000, 10, 100, 1000]
    sgd, smallest, _, all_rows = (row["test error"] for row in rows)
    assert all_rows < smallest
    assert abs(all_rows - sgd) < 0.1


def test_a_record_names_its_circumstances_and_is_whole_or_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["lectures.py", "--quick"])
    path = tmp_path / "results" / "lectures.json"
    record.write_json(path, {"tables": {"S8": [{"seconds": 1.0}]}})
    written = json.loads(path.read_text())
    assert written["command"] == "lectures.py --quick"
    assert {"date", "machine", "python", "versions", "tables"} <= set(written)
    with pytest.raises(TypeError):
        record.write_json(path, {"tables": object()})
    assert json.loads(path.read_text()) == written
    assert [p.name for p in path.parent.iterdir()] == ["lectures.json"]


def test_tables_line_up():
    lines = record.table([{"a": 1.5, "b": "x"}, {"a": 22.25, "b": "long"}]).splitlines()
    assert len({len(line) for line in lines}) == 1


@pytest.fixture
def progress():
    return record.Progress(1)


@pytest.fixture
def settings():
    return solvers.Settings(folder=None, quick=True, repeats=2, limit=30.0)


@pytest.fixture
def without_intel(monkeypatch):
    """As on a machine where scikit-learn-intelex is not installed."""
    monkeypatch.setattr(kernel_machines, "is_installed", lambda side: "intelex" not in side)


@pytest.mark.parametrize(
    "module", [compare, sets, linear_machines], ids=lambda module: module.__name__
)
def test_the_examples_in_the_benchmarks_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("sides_", [["a", "b"], ["a", "b", "c"]])
def test_every_side_runs_once_untimed_and_then_comes_first_equally_often(sides_):
    calls = []
    works = {side: lambda k, side=side: calls.append((side, k)) or side for side in sides_}
    timings = compare.alternate(works, repeats=6)
    m = len(sides_)
    assert calls[:m] == [(side, 0) for side in sides_]
    rounds = [calls[i : i + m] for i in range(m, len(calls), m)]
    assert len(rounds) == 6
    for k, calls_of_round in enumerate(rounds):
        assert {side for side, _ in calls_of_round} == set(sides_)
        assert {number for _, number in calls_of_round} == {k}
    firsts = [calls_of_round[0][0] for calls_of_round in rounds]
    assert {firsts.count(side) for side in sides_} == {6 // m}
    for side, timing in timings.items():
        assert timing.answers == [side] * 6
        assert len(timing.wall) == len(timing.cpu) == 6


def test_short_work_is_called_several_times_a_run():
    calls = []
    timings = compare.alternate({"a": lambda k: calls.append(k) or k}, repeats=2, calls=3)
    assert calls == [0, 0, 0, 0, 1, 1, 1]
    assert len(timings["a"].wall) == 2
    assert timings["a"].answers == [0, 1]


def test_a_ratio_is_the_peers_median_over_ours_and_both_spreads_are_kept():
    ours = compare.Timing(wall=[1.0, 2.0, 30.0], cpu=[1.0, 1.0, 1.0])
    peer = compare.Timing(wall=[50.0, 8.0, 7.0], cpu=[4.0, 5.0, 6.0])
    row = kernel_machines._times("scikit-learn", {"svmlab": ours, "scikit-learn": peer})
    assert row["ratio"] == 8.0 / 2.0
    assert row["ratio of cpu"] == 5.0
    assert (row["svmlab min s"], row["svmlab s"], row["svmlab max s"]) == (1.0, 2.0, 30.0)
    assert (row["peer min s"], row["peer s"], row["peer max s"]) == (7.0, 8.0, 50.0)


def test_a_fast_answer_that_is_no_answer_misses_its_target():
    good = kernel_machines.Proof(violation=9e-4, dual=1.0, infeasible=0.0, n_support=1)
    assert kernel_machines.objection(good) == ""
    for bad in (good._replace(violation=1.1e-3), good._replace(infeasible=1e-3)):
        found = compare.verdict("scikit-learn", "adult", 99.0, kernel_machines.objection(bad))
        assert "missed (" in found
    assert compare.verdict("scikit-learn", "adult", 99.0).endswith("aim met")
    assert compare.verdict("scikit-learn", "no such case", 99.0) == ""


def test_the_proof_of_a_kernel_machine_is_the_librarys_certificate(rng, monkeypatch):
    X, y = blobs(120, rng, d=3)
    machine = SVC(C=2.0, gamma=0.5).fit(X, y)
    monkeypatch.setattr(kernel_machines, "BLOCK_ENTRIES", 1000)  # several blocks
    proof = kernel_machines.prove(machine, X, y, 2.0, 0.5)
    alpha = np.zeros(len(y))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    expected = certify(alpha, machine.intercept_[0], gaussian_kernel(X, X, 0.5), y, 2.0)
    assert proof.violation == pytest.approx(expected.violation, abs=1e-9)
    assert proof.dual == pytest.approx(expected.dual, rel=1e-12)
    assert proof.infeasible < 1e-12
    assert proof.n_support == machine.support_.size


def test_the_proof_sees_through_a_machine_that_stopped_too_early(rng):
    X, y = blobs(120, rng, d=3)
    machine = SVC(C=2.0, gamma=0.5, tol=0.5).fit(X, y)
    proof = kernel_machines.prove(machine, X, y, 2.0, 0.5)
    assert kernel_machines.objection(proof).startswith("violation")
    machine.dual_coef_ *= 1.5
    assert kernel_machines.prove(machine, X, y, 2.0, 0.5).infeasible > 0.1


def test_kernel_rows_hold_both_sides_and_their_proofs(progress, without_intel):
    problem = sets.kernel_problems(quick=True)[0]
    rows = kernel_machines.train(problem, None, 2, progress)
    assert [row["peer"] for row in rows] == ["scikit-learn", "scikit-learn-intelex"]
    row, absent = rows
    assert row["ratio"] == row["peer s"] / row["svmlab s"]
    assert row["svmlab violation"] <= 1e-3 * (1 + 1e-6)
    assert row["peer violation"] <= 1.1e-3  # LIBSVM keeps its kernel in float32
    assert row["svmlab dual"] == pytest.approx(row["peer dual"], rel=1e-4)
    assert "at least 2, aim 4" in row["target"]
    assert absent["ratio"] is None
    assert "not installed" in absent["target"]
    assert "not installed" in record.table([kernel_machines.show_training(r) for r in rows])


def test_both_sides_predict_the_same_rows(progress, without_intel, rng):
    X, y = blobs(300, rng, d=3)
    row, absent = kernel_machines.predict_rows(X[:200], y[:200], X[200:], 0.5, 2, progress)
    assert row["rows"] == 100
    assert row["same predictions"] == 1.0
    assert "at least 10, aim 20" in row["target"]
    assert absent["same predictions"] is None
    record.table([kernel_machines.show_prediction(r) for r in (row, absent)])


def test_the_optimum_of_a_linear_machine_is_proved_from_alpha_alone():
    X, y = sets.text(300, 200)
    lam = 1e-2
    optimum = linear_machines.certified_optimum(X, y, lam)
    assert 0.0 <= optimum.gap <= 1e-5
    result = dual_coordinate_descent(X, y, 1.0 / (300 * lam), tol=1e-2)
    rough = linear_machines.bounds(result.alpha, X, y, lam)
    proof = certify_linear(result.alpha, check_rows(X), y, 1.0 / (300 * lam))
    assert rough.low == pytest.approx(lam * proof.dual, rel=1e-10)
    assert rough.high == pytest.approx(lam * proof.primal, rel=1e-10)
    assert rough.low <= optimum.high
    assert optimum.low <= rough.high
    with pytest.raises(ValueError, match="alpha must be in"):
        linear_machines.bounds(result.alpha + 1.0, X, y, lam)


def test_time_to_target_is_that_of_the_shortest_run_with_which_every_seed_reaches_it():
    asked = []

    def error(epochs, seed):
        asked.append((epochs, seed))
        return 1.0 if epochs < 4 or (epochs == 4 and seed == 1) else 0.0

    found = linear_machines.shortest(error, 0.5, n_seeds=3, limit=60.0)
    assert found == linear_machines.Found(epochs=5, reached=True)
    assert asked == [(1, 0), (2, 0), (3, 0), (4, 0), (4, 1), (5, 0), (5, 1), (5, 2)]
    never = linear_machines.shortest(lambda epochs, seed: 1.0, 0.5, n_seeds=2, limit=60.0)
    assert never == linear_machines.Found(epochs=linear_machines.EPOCHS[-1], reached=False)
    too_long = linear_machines.shortest(lambda epochs, seed: 1.0, 0.5, n_seeds=2, limit=-1.0)
    assert too_long == linear_machines.Found(epochs=1, reached=False)


def test_linear_rows_reach_what_they_claim(progress, monkeypatch):
    monkeypatch.setattr(linear_machines, "EPOCHS", (1, 4, 16))
    problem = sets.LinearProblem("synthetic", "", lambda _: sets.text(400, 300), lam=1e-2)
    data = problem.load(None)
    optimum = linear_machines.certified_optimum(*data, problem.lam)
    rows, ratios = linear_machines.time_to_target(problem, data, optimum, 2, 60.0, progress)
    assert len(rows) == len(sides.LINEAR) * len(linear_machines.TARGETS)
    seconds = {}
    for row in rows:
        assert row["synthetic"]
        assert row["worst error"] >= -1e-12
        assert row["reached"] == (row["worst error"] <= row["accuracy"])
        seconds[row["accuracy"], row["solver"]] = row["solver s"]
    for row in ratios:
        if row["svmlab"] is not None:
            accuracy = row["accuracy"]
            expected = seconds[accuracy, row["peer"]] / seconds[accuracy, row["svmlab"]]
            assert row["ratio"] == expected
    assert any(row["reached"] for row in rows if row["solver"] == "svmlab LinearSVC")
    record.table([linear_machines.show_solver(row) for row in rows])
    record.table([linear_machines.show_ratio(row) for row in ratios])
    own = linear_machines.own_rule(problem, data, optimum, 1, progress)
    assert [row["solver"] for row in own] == list(sides.LINEAR)
    errors = {row["solver"]: row["worst error"] for row in own}
    assert max(errors["svmlab LinearSVC"], errors["LinearSVC"]) < 1e-3


def test_a_peer_that_does_not_reach_the_target_gives_a_bound():
    found = {side: linear_machines.Found(1, side != "SGDClassifier") for side in sides.LINEAR}
    timings = {
        side: compare.Timing(wall=[float(k)], cpu=[float(k)])
        for k, side in enumerate(sides.LINEAR, start=1)
    }
    rows = linear_machines._ratios("20news 0.01", found, timings)
    assert [(row["svmlab"], row["peer"], row["ratio"], row["is bound"]) for row in rows] == [
        ("svmlab LinearSVC", "LinearSVC", 3.0, False),
        ("svmlab LinearSVC", "SGDClassifier", 4.0, True),
    ]
    found = dict.fromkeys(sides.LINEAR, linear_machines.Found(1, False))
    for row in linear_machines._ratios("20news 0.01", found, timings):
        assert row["ratio"] is None
        assert row["target"] == "not reached by svmlab"


def test_a_fresh_process_reports_import_fits_and_memory():
    spec = {"solver": "scikit-learn", "kind": "kernel", "n": 60, "C": 1.0}
    answer = child.call(spec | {"warm": False, "fits": [2, 2], "limit": 60.0})
    assert len(answer["fits s"]) == 2
    assert answer["import s"] > 0.0
    assert answer["peak MB"] >= answer["before MB"] > 10.0
    late = child.call(spec | {"n": 5000, "warm": False, "fits": [1, 1], "limit": 1e-3})
    assert late == {"failed": "over 0.001 s"}
    broken = child.call(spec | {"C": -1.0, "warm": False, "fits": [1, 1], "limit": 60.0})
    assert broken["failed"].startswith("InvalidParameterError: The 'C' parameter")


def test_the_first_cold_run_has_an_empty_cache_and_the_second_finds_it(progress, monkeypatch):
    seen = []

    def call(spec, cache):
        seen.append((spec["solver"], spec["warm"], [p.name for p in cache.iterdir()]))
        (cache / "code").touch()
        return {"import s": 1.0, "fits s": [5.0, 2.0]}

    monkeypatch.setattr(cold_start, "call", call)
    rows = cold_start.cold_start("kernel", 50, 2, progress)
    assert seen[:2] == [("svmlab", False, []), ("svmlab", False, ["code"])]
    assert seen[3] == ("svmlab", False, [])
    assert [row["cache"] for row in rows] == ["empty", "filled", "has none"]
    assert {(row["first fit s"], row["second fit s"]) for row in rows} == {(5.0, 2.0)}
    record.table([cold_start.show(row) for row in rows])


def test_a_solver_that_takes_too_long_is_left_out_from_there_on(progress, tmp_path):
    asked = []

    def ask(spec):
        asked.append((spec["solver"], spec["n"]))
        if spec["solver"] == "LinearSVC" and spec["n"] >= 20:
            return {"failed": "over 1 s"}
        fits = [1e-3 * spec["n"]]
        return {"fits s": fits, "peak MB": 9.0, "before MB": 5.0, "without warning": True}

    values = [(n, 1.0) for n in (10, 20, 40)]
    rows = growing.run_series("linear", "n", values, 1.0, progress, ask)
    assert [n for solver, n in asked if solver == "LinearSVC"] == [10, 20]
    assert [n for solver, n in asked if solver == "SGDClassifier"] == [10, 20, 40]
    notes = [row["note"] for row in rows if row["solver"] == "LinearSVC"]
    assert notes == ["", "over 1 s"]
    assert "over 1 s" in record.table([growing.show(row) for row in rows])
    growing.draw(rows, tmp_path / "new" / "growth.svg")
    assert "<svg" in (tmp_path / "new" / "growth.svg").read_text(encoding="utf-8")


def test_a_missing_set_is_said_with_its_origin_and_left_out(settings, monkeypatch, tmp_path):
    monkeypatch.delenv("SVMLAB_DATA", raising=False)
    chosen = [case for case in solvers.cases(quick=False) if "heart" in case.labels]
    for folder in (None, tmp_path):
        ((tables, missing),) = solvers.run_all(chosen, settings._replace(folder=folder))
        assert tables == {}
        assert missing[0]["left out"] == "heart, C = 1"
        assert "LIBSVM" in missing[0]["origin of the data"]
        assert str(tmp_path) not in json.dumps(missing)
        assert "not here" in solvers.report(tables, missing)


def test_every_target_belongs_to_a_case_that_is_run():
    kernel = {problem.case for problem in sets.kernel_problems(quick=False)} | {"predict"}
    linear = {
        f"{problem.case} {target:g}"
        for problem in sets.linear_problems(quick=False)
        for target in linear_machines.TARGETS
    }
    for peer, case in compare.TARGETS:
        assert case in (linear if peer in sides.LINEAR else kernel), case


def test_the_command_writes_what_it_measured_and_where(tmp_path, monkeypatch, capsys):
    path = tmp_path / "solvers.json"
    arguments = ["--quick", "--repeats", "1", "--only", "breast_cancer", "--json", str(path)]
    monkeypatch.setattr(sys, "argv", ["solvers.py", *arguments])
    solvers.main()
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["complete"]
    assert written["settings"]["repeats"] == 1
    assert written["command"].endswith("--json …/solvers.json")
    assert {row["set"] for row in written["tables"]["kernel"]} == {"breast_cancer"}
    assert {row["C"] for row in written["tables"]["kernel"]} == {1.0, 100.0}
    printed = capsys.readouterr()
    assert "at least 2, aim 4" in printed.out
    assert "[1/4] breast_cancer, C = 1" in printed.err
    assert "[3/4] breast_cancer, all cores" in printed.err
    assert {row["threads"] for row in written["tables"]["threads"]} == {os.cpu_count()}
    with pytest.raises(SystemExit):
        solvers.main(["--repeats", "1"])  # fewer than five only with --quick


@pytest.fixture
def published():
    """The record that the book and README draw from."""
    return json.loads(publish.RESULTS.read_text(encoding="utf-8"))


def test_the_published_run_is_complete_and_names_its_circumstances(published):
    assert published["complete"]
    assert published["missing"] == []
    assert not published["settings"]["quick"]
    assert published["settings"]["repeats"] >= solvers.FEWEST_REPEATS
    assert {"date", "command", "machine", "python", "versions"} <= set(published)
    assert set(solvers.TITLES) - {"threads"} <= set(published["tables"])
    assert "not installed" not in json.dumps(published)
    assert not [word for word in published["command"].split() if word.startswith("/")]


def test_every_target_has_a_row_in_the_published_run(published):
    rows = publish.headline(published)
    assert len(rows) == len(compare.TARGETS)
    for row in rows:
        assert row["ratio"] == pytest.approx(row["peer s"] / row["svmlab s"])


def test_a_published_answer_of_ours_holds_its_tolerance_and_its_objective(published):
    for row in published["tables"]["kernel"]:
        assert row["svmlab violation"] <= sides.TOL * (1.0 + kernel_machines.ROUNDING)
        assert row["svmlab dual"] >= row["peer dual"] * (1.0 - 1e-6)


def test_the_published_memory_of_ours_is_bounded(published):
    def added(solver):
        rows = [r for r in published["tables"]["growth"] if r["solver"] == solver]
        known = [r for r in rows if r["over"] == "n" and r["peak MB"] is not None]
        return {row["n"]: row["peak MB"] - row["before MB"] for row in known}

    kernel, sgd = added("svmlab"), added("svmlab svm_sgd")
    assert max(kernel) >= 50_000
    assert max(kernel.values()) <= sides.CACHE_MB + 300
    X, _ = sets.text(1_000, 47_236)
    stored = (X.data.nbytes + X.indices.nbytes) / 1000 / 2**20  # MB a row
    assert sgd[200_000] <= 0.5 * 200_000 * stored  # no copy of the rows


@pytest.mark.full
def test_a_kernel_machine_of_fifty_thousand_rows_needs_its_cache_and_300_MB():
    spec = {"solver": "svmlab", "kind": "kernel", "n": 50_000, "C": 1.0}
    answer = child.call(spec | {"warm": True, "fits": [1, 1], "limit": 600.0})
    assert answer["peak MB"] - answer["before MB"] <= sides.CACHE_MB + 300


def test_readme_shows_the_published_run(published):
    text = publish.README.read_text(encoding="utf-8")
    assert publish.with_table(text, published) == text


def test_the_figure_is_drawn_from_the_published_run(published, tmp_path):
    import matplotlib

    committed = publish.FIGURE.read_text(encoding="utf-8")
    growing.draw(published["tables"]["growth"], tmp_path / "growth.svg")
    drawn = (tmp_path / "growth.svg").read_text(encoding="utf-8")
    if f"Matplotlib v{matplotlib.__version__}," in committed:  # others draw letters differently
        assert drawn == committed


def test_a_run_that_is_not_complete_is_not_published(tmp_path, published):
    path = tmp_path / "solvers.json"
    for change in ({"complete": False}, {"missing": [{"left out": "adult"}]}):
        path.write_text(json.dumps(published | change), encoding="utf-8")
        with pytest.raises(SystemExit, match="not a complete run"):
            publish.main([str(path)])
    with pytest.raises(ValueError, match="README"):
        publish.with_table("no place for a table", published)
