"""Every hostile notebook ends as it should, in a class in which nobody else notices."""

from __future__ import annotations

import json
import re

import pytest
from hostile.answers import memorised
from hostile.case import HOMEWORK, Case, World
from hostile.cases import CASES
from hostile.classroom import CORRECT, LIMIT, ODD_FILES, WRONG, Graded

from autograder.judge import judge
from autograder.manifest import load_manifest

MANIFEST = load_manifest(HOMEWORK)
ODD = [*(f"case-35-{name}" for name in ODD_FILES), "case-35-linked-folder"]
STUDENTS = [CORRECT, WRONG, *(case.student for case in CASES), *ODD]
GRADERS_MEMORY = 600 * 2**20  # bytes; one submission has 200 MB, another prints for ever


def test_all_numbers_of_the_list_have_a_case():
    elsewhere = {35, 36, 41, 42, 43}  # names and archives, and whole runs
    assert {case.number for case in CASES} == set(range(1, 46)) - elsewhere
    assert len({case.student for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.student)
def test_a_hostile_notebook_ends_as_it_should(case: Case, graded: Graded):
    outcomes = {outcome["check"]: outcome for outcome in graded.reports[case.student]["outcomes"]}
    assert list(outcomes) == [check.id for check in MANIFEST.checks]
    for check in MANIFEST.checks:
        outcome, wanted = outcomes[check.id], case.expected.get(check.id, ("OK",))
        seen = f"{check.id}: {outcome['status']} {outcome['points']} {outcome['reason']}"
        assert outcome["status"] in wanted, seen
        full = check.points if wanted == ("OK",) else 0.0
        assert outcome["points"] == case.points.get(check.id, full), seen
        assert outcome["max_points"] == check.points
        if check.id in case.expected:
            assert re.search(case.says, outcome["reason"]), seen
    if case.remark:
        remarks = graded.reports[case.student]["remarks"]
        assert any(re.search(case.remark, remark) for remark in remarks), remarks


@pytest.mark.parametrize("student", ODD)
def test_what_is_no_regular_file_is_rejected(student: str, graded: Graded):
    if student == "case-35-linked-folder":
        assert graded.row(student)["status"] == "REJECTED"
    outcomes = graded.reports[student]["outcomes"]
    assert {outcome["status"] for outcome in outcomes} == {"REJECTED"}
    assert all(outcome["points"] == 0 and outcome["reason"] for outcome in outcomes)


def test_a_name_that_no_file_can_have_is_rejected_and_reported(graded: Graded):
    (row,) = [row for row in graded.result["submissions"] if "line" in row["student"]]
    assert row["student"] == r"case-35-new\nline\x1b[2J"  # nothing for a terminal to obey
    assert row["status"] == "REJECTED"
    assert "name" in row["reasons"]["decision"]
    unnamed = [name for name in graded.reports if name.startswith("unnamed-")]
    assert len(unnamed) == 1
    assert set(graded.reports) == {*STUDENTS, *unnamed}


def test_the_batch_succeeds(graded: Graded):
    assert graded.finished["code"] == 0, graded.finished["err"]
    assert "INTERNAL" not in graded.result["counts"]
    assert "Traceback" not in graded.finished["err"]


def test_honest_students_get_what_they_get_alone(graded: Graded):
    assert (graded.row(CORRECT)["status"], graded.row(CORRECT)["points"]) == ("OK", 10)
    row = graded.row(WRONG)
    assert row["points"] == 9
    lost = {name: status for name, status in row["checks"].items() if status != "OK"}
    assert lost == {"hinge": "WRONG"}


def test_the_table_the_reports_and_the_gradebook_agree(graded: Graded):
    assert {row["student"] for row in graded.result["submissions"]} >= set(STUDENTS)
    assert set(graded.gradebook) == set(STUDENTS)
    for student in STUDENTS:
        report, row = graded.reports[student], graded.row(student)
        assert row["points"] == report["points"] == sum(o["points"] for o in report["outcomes"])
        for question in MANIFEST.questions:
            points = sum(o["points"] for o in report["outcomes"] if o["question"] == question.id)
            score, manual, extra, _ = graded.gradebook[student][f"grade test-{question.id}"]
            assert (score, manual, extra) == (points, None, None)


def test_only_the_writer_changes_the_course(graded: Graded):
    before, after = graded.before, graded.after
    changed = sorted(name for name in before if after.get(name) != before[name])
    assert changed == ["gradebook.db"]
    allowed = re.compile(
        r"autograded/[\w-]+/hw1-margins/(hw1-margins\.ipynb|timestamp\.txt)"
        r"|\.autograder/(reports|student-reports|answers)/hw1-margins/[\w-]+\.json"
        r"|\.autograder/\w+\.lock"
    )
    assert [name for name in set(after) - set(before) if not allowed.fullmatch(name)] == []


def test_no_process_outlives_the_command(graded: Graded):
    assert graded.finished["left"] == []


def test_nothing_is_left_on_the_machine(graded: Graded):
    assert graded.traces == []


def test_nothing_leaves_the_sandbox(graded: Graded):
    assert graded.knocks == []


def test_the_memory_of_the_grader_is_bounded(graded: Graded):
    assert 0 < graded.finished["peak"] < GRADERS_MEMORY


def test_a_loop_is_ended_soon_after_its_limit(graded: Graded):
    for name in ("case-03-endless-loop", "case-04-deaf-loop"):
        (seconds,) = [
            outcome["seconds"]
            for outcome in graded.reports[name]["outcomes"]
            if outcome["check"] == "geometric"
        ]
        # CPU time decides; on a clock more may pass, where others work too
        assert LIMIT - 0.5 < seconds < 8 * LIMIT


def test_hidden_inputs_are_in_nothing_that_a_student_sees(graded: Graded):
    tellers = [case.student for case in CASES if case.number == 44]
    assert len(tellers) == 3
    for student in tellers:
        (full,) = [
            outcome
            for outcome in graded.reports[student]["outcomes"]
            if outcome["check"] == "geometric-scale"
        ]
        copy = json.loads(graded.copies[student])
        (seen,) = [o for o in copy["outcomes"] if o["check"] == "geometric-scale"]
        assert seen["status"] == full["status"]
        comments = [values for key, values in graded.gradebook[student].items() if "comment" in key]
        for text in (json.dumps(seen), json.dumps(comments)):
            assert "LEAK" not in text
            assert "w = (" not in text
        assert seen["private"] == ""


def test_scripts_are_in_nothing_that_is_drawn(graded: Graded):
    cells = json.loads(graded.notebooks["case-37-scripts"])["cells"]
    texts = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    assert any("attacked" in text for text in texts)  # it is all there, as text
    assert not re.search(r"<(?=[A-Za-z/!?])", "\n".join(texts))
    assert {output["output_type"] for output in outputs} <= {"stream"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", json.dumps(outputs, ensure_ascii=False))
    assert not re.search(r"<(?=[A-Za-z/!?])", json.dumps(outputs))


def test_memorised_answers_do_work_at_home(template):
    """Else the case would not show that hidden seeds are what stops it."""
    path = template / "release" / HOMEWORK / f"{HOMEWORK}.ipynb"
    world = World(path.read_bytes(), template, template, 0, (), template, "")
    report = judge(HOMEWORK, memorised(world))
    assert all(outcome.full for outcome in report.of("geometric"))
