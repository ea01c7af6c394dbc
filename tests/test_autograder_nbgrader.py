"""Stock nbgrader, with the configuration of a course, gives our grades and keeps our secrets."""

from __future__ import annotations

import copy
import csv
import json
import os
import subprocess
import sys
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from autograder_papers import (
    HW,
    by_hand,
    cell_of,
    copy_of,
    dumped,
    files_of,
    hand_in,
    made_report,
    notebook,
    own_cell,
    released_course,
    rows,
    written,
)
from bs4 import BeautifulSoup

from autograder import grading, seeds
from autograder.intake.submissions import read, submitted
from autograder.nbgrader.course import open_course
from autograder.nbgrader.gradebook import entry_maker, record
from autograder.notebook import Rejected
from autograder.outcome import Status, rejected_report
from autograder.pools import course_pools, seeds_for
from autograder.reports import read_report, report_path
from autograder.visibility import UNTIL_AFTER

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

ROOT = Path(__file__).parents[1]
NOW = datetime.now(UTC).replace(tzinfo=None)
TEXT = {"answer-norm": "Because $a<b$.", "answer-cost": "Errors against width."}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return released_course(tmp_path_factory.mktemp("released"))


@pytest.fixture
def course(released, tmp_path):
    return copy_of(released, tmp_path)


@pytest.fixture
def api(course, tmp_path, monkeypatch):
    """What formgrader's buttons call."""
    monkeypatch.setenv("HOME", str(tmp_path))

    def call(name, *arguments, works=True, **options):
        config = open_course(course.root).config
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            there = CourseDirectory(config=config)
            result = getattr(NbGraderAPI(there, config=config), name)(HW, *arguments, **options)
        assert result["success"] is works, result
        return result.get("log", "")

    return call


def stock(course, *arguments):
    """Run nbgrader as an instructor does."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(course.root.parent)}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(
        command, cwd=course.root, env=environment, capture_output=True, text=True, check=False
    )


def configure(course, *lines):
    path = course.root / "nbgrader_config.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")
    return open_course(course.root)


def ours(course):
    """Grade what was handed in, as the command does."""
    secret, pools = seeds.read_secret(course.root), course_pools(course.root, HW)
    make, entries = entry_maker(course, HW), []
    for one in submitted(course.submitted, HW):
        data = None
        try:
            data = read(one)
            own = seeds_for(HW, secret=secret, student=one.student, pools=pools)
            report = grading.grade_one(data, grading.Order(HW), own)
        except Rejected as problem:
            report = rejected_report(HW, one.student, seeds.fingerprint(secret), str(problem))
        entries.append(make(report, data, one.time))
    record(course, HW, entries)


def duplicated(nb):
    """Copy two cells as Jupyter does, with their ids."""
    nb = copy.deepcopy(nb)
    for name in ("slack", "answer-norm", "test-slack"):
        nb["cells"].insert(nb["cells"].index(cell_of(nb, name)), copy.deepcopy(cell_of(nb, name)))
    return nb


def forged(nb):
    """Give test cells a thousand points, and make them print what nbgrader would count."""
    nb = copy.deepcopy(nb)
    for cell in nb["cells"]:
        if cell["metadata"]["nbgrader"].get("points"):
            cell["metadata"]["nbgrader"]["points"] = 1000
            cell["source"] = "1000"
    cell_of(nb, "slack")["metadata"]["nbgrader"] |= {"grade": True, "points": 1000}
    nb["cells"].append(
        own_cell(
            "5", "code", metadata={"nbgrader": {"grade_id": "more", "grade": True, "points": 5}}
        )
    )
    return nb


def hand_in_a_class(course):
    solved, blank = notebook(course, "source"), notebook(course)
    wrong = written(solved, {"slack": "def slack(X, y, w, b):\n    return 0 * y", **TEXT})
    hand_in(course, "ada", dumped(written(solved, TEXT)), "2030-01-01 10:00:00.250000 UTC")
    hand_in(course, "bob", dumped(wrong), "2030-01-03 10:00:00 UTC")
    hand_in(course, "cyd", dumped(blank), "rubbish")
    hand_in(course, "dan", dumped(duplicated(written(solved, TEXT))))
    hand_in(course, "eve", dumped(solved)[:5000])
    hand_in(course, "fay", dumped(forged(blank)))
    hand_in(course, "gil", b"", "2030-01-03 10:00:00 UTC")
    by_hand(course, "", due=datetime(2030, 1, 2))


def test_stock_autograde_gives_the_same_gradebook_files_and_reports(released, tmp_path):
    lines = "c.LateSubmissionPlugin.penalty_method = 'zero'"
    first, second = (copy_of(released, tmp_path / name) for name in ("ours", "stock"))
    first, second = configure(first, lines), configure(second, lines)
    hand_in_a_class(first)
    hand_in_a_class(second)
    ours(first)
    done = stock(second, "autograde", HW)
    assert done.returncode == 0, done.stderr
    assert "more than once" not in done.stderr
    found = rows(first)
    assert {name: row["score"] for name, row in found.items()} == {
        **{"ada": 10.0, "bob": 9.0, "cyd": 0.0, "dan": 10.0, "eve": 0.0, "fay": 0.0, "gil": 0.0}
    }
    assert [found[name]["penalty"] for name in ("ada", "bob", "gil")] == [None, 9.0, 0.0]
    assert rows(second) == found
    assert files_of(second.autograded) == files_of(first.autograded)
    for name in found:
        mine, theirs = (read_report(each.root, HW, name) for each in (first, second))
        assert [o.reason for o in mine.outcomes] == [o.reason for o in theirs.outcomes]
    again = stock(second, "autograde", HW)
    assert again.returncode == 0, again.stderr
    assert rows(second) == found
    by_hand(second, "ada", score=1.5, comment="well said")
    by_hand(first, "ada", score=1.5, comment="well said")
    forced = stock(second, "autograde", HW, "--force", "--student", "ada")
    assert forced.returncode == 0, forced.stderr
    assert rows(second)["ada"]["grades"]["answer-norm"] == (None, 1.5, None, False)
    assert rows(second)["ada"]["comments"]["answer-norm"] == (None, "well said")
    ours(first)
    assert rows(first)["ada"] == rows(second)["ada"]


def test_formgraders_button_grades_and_a_manual_score_survives_it(course, api):
    data = dumped(written(notebook(course, "source"), TEXT))
    hand_in(course, "ada", data, "2030-01-01 10:00:00.250000 UTC")
    for _ in range(2):
        api("autograde", "ada")
        by_hand(course, "ada", score=2.0)
    ada = rows(course)["ada"]
    assert (ada["score"], ada["time"]) == (12.0, datetime(2030, 1, 1, 10, 0, 0, 250000))
    assert ada["grades"]["answer-norm"] == (None, 2.0, None, False)
    folder = course.autograded / "ada" / HW
    assert sorted(path.name for path in folder.iterdir()) == [f"{HW}.ipynb", "timestamp.txt"]
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o444}


def test_formgrader_knows_what_was_graded_by_us_and_what_came_since(course, api, tmp_path):
    data = dumped(written(notebook(course), TEXT))
    hand_in(course, "ada", data, "2030-01-01 10:00:00.250000 UTC")
    time = submitted(course.submitted, HW)[0].time
    record(course, HW, [entry_maker(course, HW)(made_report("ada"), data, time)])
    config = course.config
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        buttons = NbGraderAPI(CourseDirectory(config=config), config=config)
        assert buttons.get_autograded_students(HW) == {"ada"}
        assert buttons.get_submission(HW, "ada")["needs_manual_grade"] is True
        hand_in(course, "ada", data, "2030-01-01 11:00:00.250000 UTC")
        assert buttons.get_autograded_students(HW) == set()


def test_a_student_with_an_impossible_name_is_refused(course):
    hand_in(course, "a\tb", dumped(notebook(course)))
    done = stock(course, "autograde", HW)
    assert done.returncode == 1
    assert "cannot be the name of a student" in done.stderr
    assert not course.autograded.exists() or not list(course.autograded.rglob("*.ipynb"))


def test_nothing_that_lies_beside_a_notebook_is_copied(course, api, tmp_path):
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    hand_in(course, "ada", dumped(notebook(course)))
    folder = course.submitted / "ada" / HW
    os.symlink(tmp_path / "secret", folder / "link.txt")
    (folder / "sub").mkdir()
    (folder / "sub" / "file.py").write_text("x", encoding="utf-8")
    (course.source / HW / "solution.py").write_text("secret", encoding="utf-8")
    assert "Copying" not in api("autograde", "ada")
    assert list(files_of(course.autograded)) == [f"ada/{HW}/{HW}.ipynb"]
    api("generate_feedback", "ada")
    assert list(files_of(course.feedback)) == [f"ada/{HW}/{HW}.html"]


@pytest.mark.parametrize("what", ["link", "pipe", "folder of another"])
def test_a_link_or_a_pipe_for_a_notebook_is_rejected_and_not_read(course, api, tmp_path, what):
    hand_in(course, "bob", dumped(written(notebook(course, "source"), TEXT)))
    folder = course.submitted / "ada" / HW
    if what == "folder of another":
        folder.parent.mkdir()
        os.symlink(course.submitted / "bob" / HW, folder)
    else:
        folder.mkdir(parents=True)
        path = folder / f"{HW}.ipynb"
        os.mkfifo(path) if what == "pipe" else os.symlink(
            course.submitted / "bob" / HW / path.name, path
        )
    api("autograde", "ada")
    assert rows(course)["ada"]["score"] == 0.0
    report = read_report(course.root, HW, "ada")
    assert {outcome.status for outcome in report.outcomes} == {Status.REJECTED}


def test_an_assignment_that_is_not_ours_is_not_run(course, api, monkeypatch, tmp_path):
    folder = course.submitted / "ada" / "other"
    folder.mkdir(parents=True)
    mark = tmp_path / "ran"
    nb = {
        "nbformat": 4,
        "nbformat_minor": 4,
        "metadata": {},
        "cells": [own_cell(f"open({str(mark)!r}, 'w')", "code")],
    }
    (folder / "other.ipynb").write_bytes(dumped(nb))
    (course.source / "other").mkdir()
    (course.source / "other" / "other.ipynb").write_bytes(dumped({**nb, "cells": []}))
    made = stock(course, "generate_assignment", "other")
    assert made.returncode == 0, made.stderr
    done = stock(course, "autograde", "other")
    assert done.returncode == 1
    assert "other is not a homework of the autograder" in done.stderr
    assert not mark.exists()
    assert not (course.autograded / "ada").joinpath("other").exists()


def test_without_the_secret_or_a_sandbox_nothing_is_graded(course, api, monkeypatch, tmp_path):
    hand_in(course, "ada", dumped(notebook(course, "source")))
    path = course.root / ".autograder" / "secret"
    path.rename(path.with_name("kept"))
    assert f"the course secret {path} is missing" in api("autograde", "ada", works=False)
    path.with_name("kept").rename(path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "SandboxMissing" in api("autograde", "ada", works=False)
    assert not (course.autograded / "ada" / HW).exists()
    assert rows(course)["ada"]["grades"]["test-slack"] == (None, None, None, True)


def feedback_page(course, student="ada"):
    path = course.feedback / student / HW / f"{HW}.html"
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def test_feedback_keeps_hidden_reasons_back_until_the_deadline_and_then_shows_them(course, api):
    data = dumped(written(notebook(course), TEXT))
    by_hand(course, "", due=NOW + timedelta(days=1))
    record(course, HW, [entry_maker(course, HW)(made_report("ada"), data, None)])
    assert (
        b"said of geometric-scale" in (course.autograded / "ada" / HW / f"{HW}.ipynb").read_bytes()
    )
    api("generate_feedback", "ada")
    text = feedback_page(course).get_text()
    assert "said of geometric-scale" not in text
    assert (
        text.count(f"geometric-scale: 1/1, OK: {UNTIL_AFTER}.") == 2
    )  # under the test, as comment
    assert text.count("geometric: 1/1, OK: said of geometric: 0.25.") == 2
    by_hand(course, "", due=NOW - timedelta(days=1))
    api("generate_feedback", "ada")
    assert feedback_page(course).get_text().count("said of geometric-scale: 0.25.") == 2
    by_hand(course, "ada", extension=timedelta(days=2))
    api("generate_feedback", "ada")
    assert "said of geometric-scale" not in feedback_page(course).get_text()


def test_feedback_shows_scores_comments_by_hand_and_up_to_date_penalties(course, api):
    configure(course, "c.LateSubmissionPlugin.penalty_method = 'zero'")
    data = dumped(written(notebook(course), TEXT))
    late = datetime(2030, 1, 2)
    by_hand(course, "", due=datetime(2030, 1, 1))
    mine = open_course(course.root)
    record(mine, HW, [entry_maker(mine, HW)(made_report("ada"), data, late)])
    by_hand(course, "ada", score=2.0, comment="well said")
    by_hand(course, "ada", answer="slack", comment="look at ξ again")
    api("generate_feedback", "ada")
    page = feedback_page(course)
    assert "(Score: 0.0 / 14.0)" in page.h4.get_text()
    assert "Late submission penalty (Score: -12.0)" in page.get_text()
    footers = [footer.get_text() for footer in page.select(".panel-footer")]
    assert any("well said" in text for text in footers)
    assert any("look at ξ again" in text for text in footers)
    assert not any("said of slack" in text for text in footers)
    assert "$a< b$" in page.get_text()


def test_feedback_shows_no_hidden_test_and_no_output_but_ours(course, api):
    data = dumped(written(notebook(course), TEXT))
    record(course, HW, [entry_maker(course, HW)(made_report("ada"), data, None)])
    path = course.autograded / "ada" / HW / f"{HW}.ipynb"
    nb = json.loads(path.read_text(encoding="utf-8"))
    cell_of(nb, "test-slack")["source"] += (
        "\n### BEGIN HIDDEN TESTS\nassert 0 == 173\n### END HIDDEN TESTS"
    )
    cell_of(nb, "slack")["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": "traced 173"}
    ]
    path.chmod(0o644)
    path.write_text(json.dumps(nb), encoding="utf-8")
    api("generate_feedback", "ada")
    text = feedback_page(course).get_text()
    assert "173" not in text
    assert 'check("slack")' in text


def test_feedback_without_a_report_says_so_and_shows_nothing_of_it(course, api):
    data = dumped(written(notebook(course), TEXT))
    record(course, HW, [entry_maker(course, HW)(made_report("ada"), data, None)])
    report_path(course.root, HW, "ada").unlink()
    log = api("generate_feedback", "ada")
    assert f"there is no report on {HW} of ada" in log
    assert "said of geometric-scale" not in feedback_page(course).get_text()


def test_an_attack_in_an_answer_a_name_or_a_reason_does_not_get_into_feedback(course, api):
    attack = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    nb = written(notebook(course), {"answer-norm": attack, "slack": f"# {attack}"})
    nb["cells"].insert(3, own_cell(attack))
    report = made_report("ada", reason=attack)
    record(course, HW, [entry_maker(course, HW)(report, dumped(nb), None)])
    api("generate_feedback", "ada")
    page = feedback_page(course)
    assert not [script for script in page.find_all("script") if "alert" in script.get_text()]
    assert not page.select("[onerror]")
    assert page.get_text().count("alert(1)") > 10


def test_an_export_has_penalties_that_are_up_to_date(course):
    mine = configure(course, "c.LateSubmissionPlugin.penalty_method = 'zero'")
    data = dumped(written(notebook(course), TEXT))
    by_hand(course, "", due=datetime(2030, 1, 1))
    entry = entry_maker(mine, HW)(made_report("ada"), data, datetime(2030, 1, 2))
    record(mine, HW, [entry])
    by_hand(course, "ada", score=2.0)
    done = stock(course, "export", "--to", "out.csv")
    assert done.returncode == 0, done.stderr
    with (course.root / "out.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["raw_score"], row["late_submission_penalty"], row["score"]) == (
        "12.0",
        "12.0",
        "0.0",
    )
