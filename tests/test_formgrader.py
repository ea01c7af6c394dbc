"""A graded course in a real browser: formgrader, its button, and the feedback pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Chromium, Tab
from formgrader import Formgrader, feedback, run, serve, wait_for_fields
from formgrader_class import ANSWERED, HOMEWORK, IN_NAME, MARK, POWERFUL, SCORES, Class
from hostile.machine import gradebook

from autograder.manifest import load_manifest
from autograder.sample import sample_class, write_class


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Class:
    made = Class(tmp_path_factory.mktemp("formgrader"))
    made.make()
    return made


@pytest.fixture(scope="module")
def formgrader(school: Class) -> Iterator[Formgrader]:
    with serve(school.course, school.folder) as running:
        yield running


@pytest.fixture(scope="module")
def ungraded(school: Class) -> Iterator[Formgrader]:
    """A server on the copy of the course in which nothing has been graded by the command."""
    home = school.folder / "button"
    home.mkdir()
    with serve(school.ungraded, home) as running:
        yield running


@pytest.fixture(scope="module")
def pages(school: Class) -> dict[str, Path]:
    """The feedback of everybody, made by nbgrader; that of zed from raw text."""
    school.undefuse("zed")
    return feedback(school.course, HOMEWORK, school.folder)


@pytest.fixture
def tab(browser: Chromium) -> Iterator[Tab]:
    with browser.tab() as made:
        yield made


def listed(tab: Tab) -> dict[str, tuple[str, str]]:
    """Return status and score of each student in the table of submissions."""
    tab.page.wait_for_function("window.models?.loaded")
    columns = ("student-id", "status", "score")
    rows = [
        [row.locator(f".{name}").inner_text() for name in columns]
        for row in tab.page.locator("#main-table tr").all()
    ]
    return {student: (status, score) for student, status, score in rows}


def only_mathjax_is_asked_for_elsewhere(tab: Tab) -> bool:
    return all("/mathjax/" in address for address in tab.blocked)


def test_the_table_of_submissions_shows_scores_and_what_is_to_do(formgrader: Formgrader, tab: Tab):
    formgrader.open(tab, f"manage_submissions/{HOMEWORK}")
    seen = listed(tab)
    tab.screenshot("table-of-submissions")
    for student in sorted(SCORES.keys() - {"dora"}):  # whom another test may have given points
        to_do = "needs manual grading" if student in ANSWERED else "graded"
        assert seen[student] == (to_do, f"{SCORES[student]} / 14")
    assert tab.failures == []
    assert tab.blocked == []


def test_the_gradebook_leads_to_a_submission_with_scores_comments_and_answers(
    formgrader: Formgrader, tab: Tab
):
    formgrader.open(tab, f"gradebook/{HOMEWORK}/{HOMEWORK}")
    tab.page.get_by_text("Show All Names").click()
    link = tab.page.get_by_role("link", name="ada")
    row = tab.page.locator("#main-table tr", has=link)
    columns = ("score", "code-score", "written-score")
    shown = [row.locator(f"td.{name}").inner_text() for name in columns]
    tab.screenshot("gradebook")
    assert shown == ["10 / 14", "10 / 10", "0 / 4"]

    link.click()
    wait_for_fields(tab)
    tab.screenshot("submission-correct")
    rows = gradebook(formgrader.course)["ada"]
    for question in load_manifest(HOMEWORK).questions:
        name = question.functions[-1]
        score = tab.page.locator(f"#test-{question.id}").get_attribute("placeholder")
        assert float(score or "nan") == question.points
        comment = tab.page.locator(f"#{name}-comment").get_attribute("placeholder") or ""
        assert comment.startswith(f"- {question.checks[0].id}: 1/1, OK: ")
        assert [comment, None] == rows[f"comment {name}"]
    text = tab.page.locator(".nbgrader_cell", has=tab.page.locator("#answer-norm")).inner_text()
    assert "Both matter: the distance of" in text
    assert r"\frac{|f(x)|}{\|w\|}" in text
    assert r"0<\alpha_i<C" in text.replace(" ", "")
    assert only_mathjax_is_asked_for_elsewhere(tab)
    assert tab.failures == []


def test_a_wrong_answer_is_explained_beside_it(formgrader: Formgrader, tab: Tab):
    formgrader.open_submission(tab, "ben")
    tab.screenshot("submission-wrong")
    assert tab.page.locator("#test-hinge").get_attribute("placeholder") == "0"
    comment = tab.page.locator("#hinge_loss-comment").get_attribute("placeholder") or ""
    assert comment.startswith("- hinge: 0/1, WRONG: ")
    shown = " ".join(tab.page.locator("#notebook").first.inner_text().split())
    assert " ".join(comment.removeprefix("- ").split()) in shown
    nothing = tab.page.locator("#answer-cost-comment").get_attribute("placeholder")
    assert nothing == "No response."


def type_in(tab: Tab, field: str, text: str, kind: str) -> None:
    """Type into a field and leave it; wait until it is saved."""
    with tab.page.expect_response(f"**/formgrader/api/{kind}/*") as answer:
        tab.page.locator(field).fill(text)
        tab.page.locator(field).blur()
    assert answer.value.ok, answer.value.text()


def test_what_is_typed_in_survives_the_next_grade(
    school: Class, formgrader: Formgrader, tab: Tab, browser: Chromium
):
    before, said = gradebook(school.course), "Nearly: **why** is it the norm?"
    formgrader.open_submission(tab, "dora")
    type_in(tab, "#answer-norm", "1.5", "grade")
    type_in(tab, "#answer-norm-comment", said, "comment")
    type_in(tab, "#test-hinge", "0.25", "grade")
    type_in(tab, "#test-hinge_extra_credit", "0.5", "grade")
    tab.screenshot("submission-graded-by-hand")
    school.grade()

    with browser.tab() as again:
        formgrader.open_submission(again, "dora")
        again.screenshot("submission-graded-again")
        fields = ("answer-norm", "answer-norm-comment", "test-hinge", "test-hinge_extra_credit")
        values = [again.page.locator(f"#{name}").input_value() for name in fields]
        assert values == ["1.5", said, "0.25", "0.5"]
        formgrader.open(again, f"manage_submissions/{HOMEWORK}")
        assert listed(again)["dora"] == ("needs manual grading", "11.25 / 14")
    rows = gradebook(school.course)
    assert rows["dora"]["grade answer-norm"] == [None, 1.5, None, 0]
    assert rows["dora"]["comment answer-norm"] == [None, said]
    assert rows["dora"]["grade test-hinge"] == [1.0, 0.25, 0.5, 0]
    del before["dora"], rows["dora"]
    assert rows == before


def test_the_button_gives_the_same_grades_as_the_command(
    school: Class, ungraded: Formgrader, tab: Tab
):
    students = SCORES.keys() - {"dora", "zed"}  # with whom other tests do something
    ungraded.open(tab, f"manage_submissions/{HOMEWORK}")
    seen = listed(tab)
    assert {seen[student] for student in students} == {("needs autograding", "")}
    for student in sorted(students):
        assert "Successfully autograded" in press_autograde(tab, student)
    seen = listed(tab)
    tab.screenshot("after-the-button")
    assert tab.signs_of(MARK) == []
    by_button, by_command = gradebook(school.ungraded), gradebook(school.course)
    for student in students:
        assert seen[student][1] == f"{SCORES[student]} / 14"
        assert by_button[student] == by_command[student]


@pytest.mark.full
def test_the_button_gives_the_whole_sample_class_the_same_grades(
    school: Class, tab: Tab, tmp_path: Path
):
    course, other = tmp_path / "course", tmp_path / "other"
    shutil.copytree(school.ungraded, course, ignore=shutil.ignore_patterns("submitted"))
    released = (course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
    samples = sample_class(released, HOMEWORK)
    write_class(samples, course / "submitted")
    shutil.copytree(course, other)
    run("autograder", "grade", HOMEWORK, "--course", str(course), course=course, folder=tmp_path)
    with serve(other, tmp_path) as formgrader:
        formgrader.open(tab, f"manage_submissions/{HOMEWORK}")
        everyone = {sample.student for sample in samples}
        for student in sorted(listed(tab).keys() & everyone):  # others were graded by another test
            assert "Successfully autograded" in press_autograde(tab, student), student
    by_button, by_command = gradebook(other), gradebook(course)
    for sample in samples:
        assert by_button[sample.student] == by_command[sample.student], sample.student


def press_autograde(tab: Tab, student: str) -> str:
    """Press the button of a student and return what formgrader then says."""
    row = tab.page.locator("#main-table tr", has=tab.page.get_by_text(student, exact=True))
    row.locator(".autograde a").click()
    window = tab.page.locator(".modal.in")
    window.wait_for(timeout=120_000.0)
    said = window.inner_text()
    window.get_by_role("button", name="OK").click()
    window.wait_for(state="detached")
    return said


def test_nothing_that_a_student_wrote_runs_in_formgrader(formgrader: Formgrader, tab: Tab):
    formgrader.open_submission(tab, "mallory")
    tab.screenshot("submission-hostile")
    assert tab.signs_of(MARK) == []
    assert only_mathjax_is_asked_for_elsewhere(tab)
    text = tab.page.locator("#notebook").first.inner_text()
    assert "< script>window.hacked = 1;" in text  # it is there to read
    assert "[a link] (javascript:window.hacked=4)" in text
    assert "</pre></div><script>window.hacked = 11" in text
    assert "geometric: 0/1, ERROR: " in text
    assert "\x1b" not in tab.page.content()


def test_nothing_that_a_student_wrote_runs_in_feedback(pages: dict[str, Path], browser: Chromium):
    for student in ("ada", "mallory"):
        with browser.tab(pages[student].as_uri()) as tab:
            tab.screenshot(f"feedback-{student}")
            assert tab.signs_of(MARK) == []
            assert only_mathjax_is_asked_for_elsewhere(tab)
            text = tab.page.inner_text("body")
            assert ("< script>window.hacked = 1;" in text) == (student == "mallory")
            assert f"(Score: {SCORES[student]}.0 / 14.0)" in text


def test_a_student_cannot_be_called_like_a_script(school: Class, ungraded: Formgrader, tab: Tab):
    """Formgrader's page of a submission shows the name, and does not escape it."""
    ungraded.open(tab, f"manage_submissions/{HOMEWORK}")
    said = press_autograde(tab, IN_NAME)
    assert "There was an error" in said
    assert "cannot be the name of a student" in said
    assert IN_NAME not in gradebook(school.course)
    for course in (school.course, school.ungraded):
        assert not (course / "autograded" / IN_NAME / HOMEWORK).exists()
    ungraded.open(tab, f"gradebook/{HOMEWORK}/{HOMEWORK}")
    assert tab.page.get_by_text(IN_NAME).count() == 0


def test_the_same_look_at_raw_text_sees_what_runs(
    school: Class, pages: dict[str, Path], formgrader: Formgrader, browser: Chromium
):
    school.undefuse("zed")
    with browser.tab() as tab, browser.tab(pages["zed"].as_uri()) as other:
        formgrader.open_submission(tab, "zed")
        for seen in (tab, other):
            signs = seen.signs_of(MARK)
            assert "console: hacked" in signs
            assert any(sign.startswith("a script ran") for sign in signs)
            forms = {k: (f"hacked = {k}", f"hacked={k}", f"hacked-{k}") for k in POWERFUL}
            unseen = [k for k in POWERFUL if not any(form in str(signs) for form in forms[k])]
            assert unseen == []
