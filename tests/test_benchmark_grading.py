"""The comparison with other graders: the same notebooks, the same checks, the same scores."""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import graders
import grading
import publish
import publish_grading
import record
import stock_checks
from graders import Class

STOCK, OURS = grading.STOCK, "warm, 2 jobs"


def row(grader: str, each: float, overhead: float, n: int = 100) -> dict[str, object]:
    row = {"kind": "hw1-margins", "grader": grader, "n": n}
    return {**row, "s each": each, "overhead s each": overhead}


def test_a_class_grows_by_the_same_notebooks_under_other_names():
    group = Class("hw1-margins", "hw1-margins", {"ada": b"1", "bob": b"2"})
    assert dict(group.first(1).notebooks) == {"ada": b"1"}
    assert list(group.first(5).notebooks) == ["ada", "bob", "ada-1", "bob-1", "ada-2"]
    assert list(group.first(5).notebooks.values()) == [b"1", b"2", b"1", b"2", b"1"]


def test_a_target_is_met_by_the_overhead_and_the_total():
    rows = grading.with_ratios([row(STOCK, 4.0, 4.0, 20), row(OURS, 0.1, 0.1)])
    assert rows[1]["nbgrader / total"] == 40.0
    assert rows[1]["target"] == "overhead 20, total 20: met"
    rows = grading.with_ratios([row(STOCK, 4.0, 4.0, 20), row(OURS, 0.25, 0.1)])
    assert rows[1]["target"] == "overhead 20, total 20: missed"
    assert rows[0]["target"] == ""


def published_row(kind: str, grader: str, n: int) -> dict[str, object]:
    ratio = None if grader == STOCK else 24.66
    figures = {"s each": 0.1144, "overhead s each": 0.1091}
    ratios = {"nbgrader / total": ratio, "nbgrader / overhead": ratio}
    return {"kind": kind, "grader": grader, "n": n, **figures, **ratios}


@pytest.fixture
def complete() -> dict[str, object]:
    """A record as a complete run writes it, with made-up figures."""
    rows = [published_row(*case) for case in grading.PLAN]
    return {**record.circumstances(grading.PACKAGES), "quick": False, "rows": rows}


def test_the_table_of_the_readme_has_every_row_and_its_origin(complete):
    lines = publish_grading.readme_table(complete).splitlines()
    assert "| hw1-margins | warm, 2 jobs | 1,000 | 0.114 | 0.109 | 24.7 × | 24.7 × |" in lines
    assert "| hw2-smo | stock nbgrader | 12 | 0.114 | 0.109 |  |  |" in lines
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(grading.PLAN)
    assert {line.count("|") for line in table} == {table[0].count("|")}
    assert f"nbgrader {complete['versions']['nbgrader']}" in lines[-1]


def test_readme_shows_the_published_grading():
    text = publish_grading.README.read_text(encoding="utf-8")
    if publish_grading.RESULTS.exists():
        published = json.loads(publish_grading.RESULTS.read_text(encoding="utf-8"))
        assert not published["quick"]
        assert publish_grading.missing(published) == []
        assert {"date", "command", "machine", "python", "versions"} <= set(published)
        assert publish_grading.with_table(text, published) == text
    else:  # no figures without a record
        assert publish.between(text, publish_grading.RESULTS, "") == text


def test_a_run_that_is_not_complete_is_not_published(complete, tmp_path, monkeypatch):
    monkeypatch.setattr(publish_grading, "README", tmp_path / "README.md")
    path = tmp_path / "grading.json"
    for change in ({"quick": True}, {"rows": complete["rows"][1:]}):
        path.write_text(json.dumps(complete | change), encoding="utf-8")
        with pytest.raises(SystemExit, match="not a complete run"):
            publish_grading.main([str(path)])
    assert not (tmp_path / "README.md").exists()


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return graders.make_course(tmp_path_factory.mktemp("grading") / "svm", grading.HOMEWORKS)


@pytest.mark.parametrize("homework", grading.HOMEWORKS)
def test_the_time_inside_functions_is_that_of_functions_that_work(
    homework: str, course: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BENCH_COURSE", str(course))
    correct = grading.classes(course)[homework].first(1)
    assert list(correct.notebooks) == ["correct-01"]
    stock_checks.failed.append("something of the last notebook")
    assert grading.student_seconds(correct) > 0.0
    assert stock_checks.failed == []
    assert "BENCH_STUDENT" not in os.environ  # it would decide whose data the next grader draws


def test_the_time_of_a_function_that_another_calls_counts_once(monkeypatch: pytest.MonkeyPatch):
    ticks = itertools.count()
    monkeypatch.setattr(stock_checks.time, "perf_counter", lambda: float(next(ticks)))
    watch = stock_checks.Watch()
    inner = watch.timed(lambda x: x + 1)
    outer = watch.timed(lambda x: inner(inner(x)))
    assert outer(1) == 3
    assert watch.seconds == 1.0  # from the first tick to the second
    assert inner(1) == 2
    assert watch.seconds == 2.0


@pytest.mark.parametrize("size", [2, pytest.param(12, marks=pytest.mark.full)])
def test_stock_nbgrader_and_ours_give_the_same_scores(size: int, tmp_path: Path):
    rows = grading.run_plan([("hw1-margins", name, size) for name in (STOCK, OURS)], tmp_path)
    assert [one["same scores"] for one in rows] == [None, f"{size} of {size}"]
    assert all(one["inside s each"] < one["s each"] for one in rows)
    assert all(one["cpu s each"] > 0 and one["peak MB"] > 20 for one in rows)
