"""Grades are written at once or not at all, and what a person typed in stays."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest
from autograder_papers import (
    HW,
    by_hand,
    copy_of,
    dumped,
    files_of,
    made_report,
    notebook,
    released_course,
    rows,
    written,
)
from sqlalchemy import text

from autograder.nbgrader import rows as gradebook_rows
from autograder.nbgrader.course import CourseError, open_course
from autograder.nbgrader.files import ANSWERS
from autograder.nbgrader.gradebook import (
    GradebookError,
    Person,
    due_date,
    entry_maker,
    recompute_penalties,
    record,
    roster,
)
from autograder.outcome import Status
from autograder.reports import COPY, read_report, report_path
from autograder.visibility import UNTIL_AFTER

NEW_YEAR = datetime(2030, 1, 1)
ANSWERED = {"answer-norm": "Because.", "answer-cost": "Errors against width."}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return released_course(tmp_path_factory.mktemp("released"))


@pytest.fixture
def course(released, tmp_path):
    return copy_of(released, tmp_path)


@pytest.fixture
def made(course):
    """Make an entry: a student, answers by hand, a time, and what the checks gave."""

    def make(student="ada", texts=ANSWERED, time=None, report=None, **changes):
        data = dumped(written(notebook(course), texts))
        return entry_maker(course, HW)(report or made_report(student, **changes), data, time)

    return make


def configure(course, *lines):
    path = course.root / "nbgrader_config.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")
    return open_course(course.root)


def test_scores_comments_and_times_get_into_the_gradebook(course, made):
    record(course, HW, [made(time=NEW_YEAR), made("bob", texts={}, share=0.5)])
    ada, bob = rows(course)["ada"], rows(course)["bob"]
    assert (ada["score"], bob["score"]) == (10.0, 5.0)
    assert (ada["time"], bob["time"]) == (NEW_YEAR, None)
    assert ada["grades"]["test-geometric"] == (2.0, None, None, False)
    assert ada["grades"]["answer-norm"] == (None, None, None, True)
    assert bob["grades"]["answer-norm"] == (0.0, None, None, False)
    assert ada["comments"]["answer-norm"] == (None, None)
    assert bob["comments"]["answer-norm"] == ("No response.", None)
    assert ada["comments"]["geometric_margin"][0].splitlines() == [
        "- geometric: 1/1, OK: said of geometric: 0.25.",
        f"- geometric-scale: 1/1, OK: {UNTIL_AFTER}.",
    ]


def test_reports_the_students_copy_and_the_notebook_are_there(course, made):
    entry = made(time=NEW_YEAR.replace(microsecond=123456))
    record(course, HW, [entry])
    assert read_report(course.root, HW, "ada") == entry.report
    assert report_path(course.root, HW, "ada", COPY).is_file()
    folder = course.autograded / "ada" / HW
    assert files_of(folder) == {
        f"{HW}.ipynb": entry.graded.notebook,
        "timestamp.txt": b"2030-01-01 00:00:00.123456 UTC\n",
    }
    assert (folder / f"{HW}.ipynb").stat().st_mode & 0o777 == 0o444
    names = {path.name for path in (course.root / ".autograder").iterdir()}
    names -= {"recording.lock"}
    assert names == {"answers", "pools", "reports", "secret", "student-reports"}


def test_other_files_beside_the_notebook_are_removed_and_links_not_followed(course, made, tmp_path):
    folder = course.autograded / "ada" / HW
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "file").write_text("x", encoding="utf-8")
    (folder / "solution.py").write_text("x", encoding="utf-8")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x", encoding="utf-8")
    os.symlink(tmp_path / "kept", folder / "link")
    os.symlink(tmp_path / "kept" / "file", folder / f"{HW}.ipynb")
    record(course, HW, [made()])
    assert [path.name for path in folder.iterdir()] == [f"{HW}.ipynb"]
    assert (tmp_path / "kept" / "file").read_text(encoding="utf-8") == "x"


def test_a_second_run_changes_nothing(course, made):
    entries = [made(time=NEW_YEAR), made("bob", texts={})]
    record(course, HW, entries)
    by_hand(course, "ada", score=1.5, comment="well said")
    first, files = rows(course), files_of(course.root / ".autograder")
    record(course, HW, entries)
    assert rows(course) == first
    assert files_of(course.root / ".autograder") == files


def test_what_a_person_typed_in_survives(course, made):
    record(course, HW, [made()])
    by_hand(course, "ada", score=1.5, extra=0.5, comment="well said", flagged=True)
    by_hand(course, "ada", answer="test-slack", score=0.25)
    record(course, HW, [made(share=0.5)])
    ada = rows(course)["ada"]
    assert ada["grades"]["answer-norm"] == (None, 1.5, 0.5, False)
    assert ada["grades"]["test-slack"][:2] == (0.5, 0.25)
    assert ada["comments"]["answer-norm"] == (None, "well said")
    assert ada["flagged"] is True
    assert ada["score"] == 10 / 2 - 0.5 + 0.25 + 1.5 + 0.5


def test_an_answer_graded_by_hand_is_to_be_graded_again_only_when_its_text_changed(course, made):
    record(course, HW, [made()])
    by_hand(course, "ada", score=1.5)
    record(course, HW, [made(share=0.5)])
    assert rows(course)["ada"]["grades"]["answer-norm"] == (None, 1.5, None, False)
    other = made(texts={**ANSWERED, "answer-norm": "On second thoughts."})
    for _ in range(2):  # it stays so until a person has looked
        record(course, HW, [other])
        assert rows(course)["ada"]["grades"]["answer-norm"] == (None, 1.5, None, True)
    by_hand(course, "ada", score=2.0)
    record(course, HW, [other])
    assert rows(course)["ada"]["grades"]["answer-norm"] == (None, 2.0, None, False)
    record(course, HW, [made(texts={})])
    assert rows(course)["ada"]["grades"]["answer-norm"] == (0.0, 2.0, None, True)


def test_without_memory_of_the_graded_text_a_person_looks_again(course, made):
    record(course, HW, [made()])
    by_hand(course, "ada", score=1.5)
    report_path(course.root, HW, "ada", ANSWERS).write_text("?", encoding="utf-8")
    record(course, HW, [made()])
    assert rows(course)["ada"]["grades"]["answer-norm"] == (None, 1.5, None, True)


def test_a_corrected_test_is_to_be_looked_at_again_only_when_the_verdict_changed(course, made):
    record(course, HW, [made(share=0.5)])
    by_hand(course, "ada", answer="test-slack", score=1.0)
    record(course, HW, [made(share=0.5)])
    assert rows(course)["ada"]["grades"]["test-slack"] == (0.5, 1.0, None, False)
    record(course, HW, [made(share=0.0)])
    assert rows(course)["ada"]["grades"]["test-slack"] == (0.0, 1.0, None, True)


def test_an_answer_that_came_after_none_needs_grading(course, made):
    record(course, HW, [made(texts={})])
    record(course, HW, [made()])
    assert rows(course)["ada"]["grades"]["answer-norm"] == (None, None, None, True)
    assert rows(course)["ada"]["comments"]["answer-norm"] == (None, None)


def test_hidden_reasons_get_into_comments_after_the_deadline_and_an_extension_delays_it(
    course, made
):
    record(course, HW, [made(), made("bob")])
    by_hand(course, "bob", due=NEW_YEAR, extension=timedelta(days=2))
    for day, ada, bob in ((31, False, False), (2, True, False), (4, True, True)):
        now = datetime(2029 + (day < 31), 12 if day == 31 else 1, day, tzinfo=UTC)
        record(course, HW, [made(), made("bob")], now=now)
        for student, shown in (("ada", ada), ("bob", bob)):
            comment = rows(course)[student]["comments"]["geometric_margin"][0]
            assert ("said of geometric-scale" in comment) == shown
            copy = report_path(course.root, HW, student, COPY).read_text(encoding="utf-8")
            assert ("said of geometric-scale" in copy) == shown
    assert due_date(course, HW) == NEW_YEAR
    assert due_date(course, HW, "bob") == NEW_YEAR + timedelta(days=2)


def test_a_course_without_our_plugins_gets_no_hidden_reason_into_its_notebooks(course):
    plain = dataclasses.replace(course, config=type(course.config)())
    data = dumped(notebook(course))
    assert (
        b"said of geometric-scale"
        in entry_maker(course, HW)(made_report("ada"), data, None).graded.notebook
    )
    notebook_ = entry_maker(plain, HW)(made_report("ada"), data, None).graded.notebook
    assert b"said of geometric-scale" not in notebook_
    assert b"said of geometric: 0.25" in notebook_


def test_comments_are_harmless(course, made):
    record(course, HW, [made(reason="x raised <img src=x onerror=alert(1)>\n# [a](javascript:b)")])
    comment = rows(course)["ada"]["comments"]["slack"][0]
    assert (
        comment == "- slack: 1/1, OK: x raised < img src=x onerror=alert(1)> # [a] (javascript:b)."
    )


@pytest.mark.parametrize("points", [float("nan"), float("inf"), -1.0, 1.5, 1000.0])
def test_an_impossible_score_stops_the_batch_before_anything_is_written(course, made, points):
    good, bad = made(), made("bob", points=points)
    before = files_of(course.root)
    with pytest.raises(GradebookError, match="report of 'bob' on hw1-margins: decision has"):
        record(course, HW, [good, bad])
    assert files_of(course.root) == before


def test_a_report_with_other_checks_is_refused(course, made):
    entry = made()
    short = dataclasses.replace(entry.report, outcomes=entry.report.outcomes[:-1])
    with pytest.raises(GradebookError, match="does not hold the checks"):
        record(course, HW, [dataclasses.replace(entry, report=short)])
    with pytest.raises(GradebookError, match="two submissions of one student"):
        record(course, HW, [entry, entry])
    assert rows(course) == {}


def test_a_half_failed_batch_leaves_the_gradebook_as_it_was(course, made):
    record(course, HW, [made(share=0.5, time=NEW_YEAR)])
    by_hand(course, "ada", score=1.0, due=NEW_YEAR - timedelta(days=1))
    broken = configure(
        course,
        "from nbgrader.plugins import BasePlugin",
        "class Broken(BasePlugin):",
        "    def late_submission_penalty(self, student, score, seconds):",
        "        return float('nan') if student == 'bob' else 0.0",
        "c.AssignLatePenalties.plugin_class = Broken",
    )
    before = rows(course)
    other = {**ANSWERED, "answer-norm": "new"}
    batch = [made(texts=other, time=NEW_YEAR), made("bob", time=NEW_YEAR), made("cyd")]
    with pytest.raises(GradebookError, match="Broken gave bob the late penalty nan"):
        record(broken, HW, batch)
    assert rows(course) == before
    record(course, HW, batch)  # and the change of the answer is not forgotten
    assert rows(course)["ada"]["grades"]["answer-norm"] == (None, 1.0, None, True)
    assert sorted(rows(course)) == ["ada", "bob", "cyd"]


def test_late_penalties_follow_the_courses_rule_and_scores_given_by_hand(course, made):
    zero = configure(course, "c.LateSubmissionPlugin.penalty_method = 'zero'")
    late, in_time = made(time=NEW_YEAR + timedelta(hours=1)), made("bob", time=NEW_YEAR)
    record(zero, HW, [late, in_time])
    assert (rows(course)["ada"]["penalty"], rows(course)["bob"]["penalty"]) == (None, None)
    by_hand(course, "ada", due=NEW_YEAR)
    record(zero, HW, [late, in_time])
    assert (rows(course)["ada"]["penalty"], rows(course)["bob"]["penalty"]) == (10.0, None)
    by_hand(course, "ada", score=2.0)
    assert rows(course)["ada"]["penalty"] == 10.0
    assert recompute_penalties(zero, HW) == 1
    assert rows(course)["ada"]["penalty"] == 12.0
    assert recompute_penalties(zero) == recompute_penalties(zero, HW, "bob") == 0
    by_hand(course, "ada", extension=timedelta(days=1))
    assert recompute_penalties(zero, HW, "ada") == 1
    assert rows(course)["ada"]["penalty"] is None


def test_a_rule_of_ones_own_beside_the_configuration_is_found_and_bounded(course, made):
    (course.root / "our_rule.py").write_text(
        "from nbgrader.plugins import BasePlugin\n"
        "class Rule(BasePlugin):\n"
        "    def late_submission_penalty(self, student, score, seconds):\n"
        "        return {'ada': 1e9, 'bob': -5, 'cyd': None}[student]\n",
        encoding="utf-8",
    )
    ruled = configure(course, "c.AssignLatePenalties.plugin_class = 'our_rule.Rule'")
    late = NEW_YEAR + timedelta(days=1)
    entries = [made(name, time=late) for name in ("ada", "bob", "cyd")]
    by_hand(course, "", due=NEW_YEAR)
    record(ruled, HW, entries)
    assert [rows(course)[name]["penalty"] for name in ("ada", "bob", "cyd")] == [10.0, 0.0, None]


def test_a_time_with_a_zone_is_kept_in_utc_and_an_unknown_one_forgets_an_older(course, made):
    zone = timezone(timedelta(hours=2))
    record(course, HW, [made(time=datetime(2030, 1, 1, 2, tzinfo=zone))])
    assert rows(course)["ada"]["time"] == NEW_YEAR
    record(course, HW, [made(time=None)])
    assert rows(course)["ada"]["time"] is None
    assert not (course.autograded / "ada" / HW / "timestamp.txt").exists()


def test_a_locked_gradebook_is_waited_for(course, made):
    locker = sqlite3.connect(course.root / "gradebook.db", check_same_thread=False)
    locker.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(1.0, locker.rollback)
    timer.start()
    record(course, HW, [made()])
    timer.join()
    locker.close()
    assert rows(course)["ada"]["score"] == 10.0


def test_a_gradebook_that_stays_locked_is_an_error_and_nothing_is_half_written(
    course, made, monkeypatch
):
    entry = made()
    monkeypatch.setattr(gradebook_rows, "PATIENCE", 1)
    locker = sqlite3.connect(course.root / "gradebook.db")
    locker.execute("BEGIN IMMEDIATE")
    with pytest.raises(GradebookError, match=r"locked by another program for 1 s; nothing was"):
        record(course, HW, [entry])
    locker.rollback()
    locker.close()
    assert rows(course) == {}
    assert not report_path(course.root, HW, "ada", ANSWERS).exists()


def test_a_writer_reads_what_nobody_else_can_change_meanwhile(course):
    other = sqlite3.connect(course.root / "gradebook.db", timeout=0)
    with gradebook_rows.session(course, write=True) as db:
        assert db.execute(text("PRAGMA busy_timeout")).scalar() == 60_000
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
    with gradebook_rows.session(course) as db:
        assert db.execute(text("PRAGMA busy_timeout")).scalar() == 60_000
        other.execute("BEGIN IMMEDIATE")
    other.close()


def test_two_writers_at_once_give_what_one_after_the_other_gives(course, made):
    batches = [
        [made(f"{name}{k}", share=share) for k in range(10)]
        for name, share in (("a", 1.0), ("b", 0.5), ("a", 1.0), ("b", 0.5))
    ]
    threads = [threading.Thread(target=record, args=(course, HW, batch)) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {name: row["score"] for name, row in rows(course).items()}
    assert found == {
        f"{name}{k}": score for name, score in (("a", 10.0), ("b", 5.0)) for k in range(10)
    }


def test_a_homework_that_was_not_released_here_is_named(course, made):
    with pytest.raises(GradebookError, match=r"knows no homework hw2-smo: run `autograder release"):
        due_date(course, "hw2-smo")
    with pytest.raises(CourseError, match="autograder release hw2-smo"):
        entry_maker(course, "hw2-smo")


def test_other_points_in_the_gradebook_than_in_the_manifest_are_refused(course, made):
    entry = made()
    with sqlite3.connect(course.root / "gradebook.db") as database:
        database.execute("UPDATE grade_cells SET max_score = 3 WHERE cell_type = 'markdown'")
    database.close()
    with pytest.raises(
        GradebookError, match=r"\(answer-cost, answer-norm\): run `autograder release"
    ):
        record(course, HW, [entry])
    assert rows(course) == {}


def test_the_roster_is_the_gradebooks(course, made):
    assert roster(course) == []
    record(course, HW, [made("bob"), made("ada")])
    with sqlite3.connect(course.root / "gradebook.db") as database:
        database.execute("UPDATE student SET first_name = 'Ada', lms_user_id = 17 WHERE id = 'ada'")
    database.close()
    assert roster(course) == [Person("ada", "Ada", None, "17"), Person("bob", None, None, None)]


def test_where_a_check_itself_failed_a_person_has_to_look(course, made):
    record(course, HW, [made()])
    report = made_report("ada", share=0.5)
    broken = dataclasses.replace(report.outcomes[3], status=Status.INTERNAL, points=0.0)
    outcomes = (*report.outcomes[:3], broken, *report.outcomes[4:])
    record(course, HW, [made(report=dataclasses.replace(report, outcomes=outcomes))])
    ada = rows(course)["ada"]
    assert broken.question == "geometric"
    assert ada["grades"]["test-geometric"] == (None, None, None, True)
    assert ada["grades"]["test-slack"] == (0.5, None, None, False)


def test_nothing_to_record_is_nothing_done(course):
    before = files_of(course.root)
    record(course, HW, [])
    assert {**files_of(course.root), ".autograder/recording.lock": b""} == {
        **before,
        ".autograder/recording.lock": b"",
    }


def test_a_rejected_submission_has_its_reason_everywhere(course):
    report = made_report("ada", status=Status.REJECTED, points=0.0, reason="the file is empty")
    record(course, HW, [entry_maker(course, HW)(report, b"", None)])
    ada = rows(course)["ada"]
    assert ada["score"] == 0.0
    assert ada["comments"]["geometric_margin"][0].count("REJECTED: the file is empty.") == 2
    assert ada["grades"]["answer-norm"] == (0.0, None, None, False)
    text = json.loads(report_path(course.root, HW, "ada", COPY).read_text(encoding="utf-8"))
    assert {item["reason"] for item in text["outcomes"]} == {"the file is empty"}
