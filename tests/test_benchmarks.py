"""The benchmark runners of the lectures' tables (S8, S11, M9, M10) run, on small data."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import lectures
import record


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
