"""Case 37: nothing of a hostile notebook runs in the pages that people look at."""

from __future__ import annotations

import pytest
from chromium import Tab, chromium
from formgrader import feedback, serve
from hostile.case import HOMEWORK, World
from hostile.cases import CASES
from hostile.classroom import put
from hostile.machine import ROOT, Place, users

from autograder.hostile import SCRIPTS

MARK = "attacked"


def hand_in(place: Place) -> str:
    """Hand the notebook of this case in and return the student's name."""
    (case,) = [case for case in CASES if case.number == 37]
    released = (place.course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
    world = World(released, place.course, ROOT, 0, (), place.folder, "")
    put(world, case.student, case.make(world))
    place.give_away()
    return case.student


@pytest.mark.parametrize("user", users()[:1], indirect=True)
def test_scripts_run_neither_in_formgrader_nor_in_feedback(place: Place):
    student = hand_in(place)
    finished = place.grade(HOMEWORK)
    assert finished.code == 0, finished.err
    page = feedback(place.course, HOMEWORK, place.folder)[student]
    # No sooner: the command is asked to leave no process behind, and a browser would be one.
    with serve(place.course, place.folder) as formgrader, chromium() as browser:
        with browser.tab() as tab:
            formgrader.open_submission(tab, student)
            assert_harmless(tab, "formgrader")
        with browser.tab(page.as_uri()) as tab:
            assert_harmless(tab, "feedback")


def assert_harmless(tab: Tab, name: str) -> None:
    """Look for what the attacks do, and for their text, which is there to read."""
    tab.screenshot(f"case-37-{name}")
    assert tab.signs_of(MARK) == []
    assert tab.page.title() == HOMEWORK
    text = tab.page.inner_text("body")
    assert "< script>document.title" in text
    assert "geometric: 0/1, ERROR: " in text
    assert "\x1b" not in tab.page.content()


def test_the_scripts_of_the_case_do_run_where_nothing_stops_them():
    with chromium() as browser, browser.tab() as tab:
        tab.page.set_content(SCRIPTS)
        tab.page.get_by_text("bold text").hover()
        signs = tab.signs_of(MARK)
        assert "the title became attacked" in signs
        assert "dialog: 1" in signs
        assert any("onerror" in sign for sign in signs)
