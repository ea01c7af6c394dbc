"""The autograded notebook holds the homework's cells and the student's words, and nothing else."""

from __future__ import annotations

import base64
import copy
import json
import warnings

import pytest
from autograder_papers import (
    HW,
    cell_of,
    dumped,
    made_report,
    notebook,
    own_cell,
    released_course,
    written,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.manifest import load_manifest
from autograder.nbgrader.course import open_course, trusted_notebook
from autograder.nbgrader.gradebook import released_texts
from autograder.nbgrader.graded import MAX_OWN, MAX_TEXT, MISSING, UNREADABLE, build

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import nbformat

ANSWERS = ["answer-norm", "answer-cost"]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 40).decode()


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return open_course(released_course(tmp_path_factory.mktemp("released")))


@pytest.fixture(scope="module")
def trusted(course):
    return trusted_notebook(course, HW)


@pytest.fixture(scope="module")
def texts(course):
    return released_texts(course, HW)


@pytest.fixture
def graded(trusted, texts):
    """Build from bytes or from a notebook, and check what always holds."""

    def make(data, report=None):
        data = dumped(data) if isinstance(data, dict) else data
        before = copy.deepcopy(trusted)
        made = build(trusted, texts, data, report or made_report("ada"))
        assert trusted == before
        nb = nbformat.reads(made.notebook.decode(), as_version=4)
        nbformat.validate(nb)
        made_nb = json.loads(made.notebook)
        assert_ours(made_nb, trusted)
        return made, made_nb

    return make


def assert_ours(nb, trusted):
    """Assert that the homework's cells are there, once and in order, with its own marks."""
    marked = [cell for cell in nb["cells"] if cell["metadata"]]
    assert [cell["metadata"] for cell in marked] == [
        {"nbgrader": dict(cell.metadata.nbgrader)} for cell in trusted.cells
    ]
    assert [cell["cell_type"] for cell in marked] == [cell.cell_type for cell in trusted.cells]
    for cell, ours in zip(marked, trusted.cells, strict=True):
        if not ours.metadata.nbgrader.solution:
            assert cell["source"] == ours.source
    text = json.dumps(nb, ensure_ascii=False)
    assert "SOLUTION" not in text
    assert not any(cell.get("outputs") for cell in nb["cells"] if cell["source"][:6] != "check(")


def words(text):
    return "".join(text)


def test_the_untouched_notebook_has_no_response(course, graded):
    made, nb = graded(notebook(course))
    assert made.unanswered == set(ANSWERS)
    assert "YOUR CODE HERE" in cell_of(nb, "slack")["source"]


def test_the_solved_notebook_is_answered_and_shown(course, graded):
    solved = notebook(course, "source")
    for cell in solved["cells"]:
        cell["source"] = (
            words(cell["source"])
            .replace("### BEGIN SOLUTION", "#")
            .replace("### END SOLUTION", "#")
        )
    made, nb = graded(solved)
    assert made.unanswered == set()
    assert "1/‖w‖" in cell_of(nb, "answer-norm")["source"]
    assert cell_of(nb, "slack")["source"] == cell_of(solved, "slack")["source"]


@pytest.mark.parametrize("data", [None, b"", b"{", b'{"nbformat": 3}', b"\xff\xfe"])
def test_without_a_notebook_every_answer_says_so(graded, data):
    made, nb = graded(data)
    assert made.unanswered == set(ANSWERS)
    for name in (*load_manifest(HW).functions, *ANSWERS):
        assert UNREADABLE in cell_of(nb, name)["source"]


def test_a_removed_cell_says_so_and_shows_no_model_answer(course, graded):
    nb = notebook(course)
    nb["cells"] = [cell for cell in nb["cells"] if cell["metadata"]["nbgrader"]["locked"]]
    made, shown = graded(nb)
    assert made.unanswered == set(ANSWERS)
    assert cell_of(shown, "slack")["source"] == f"# {MISSING}"
    assert cell_of(shown, "answer-norm")["source"] == f"*{MISSING}*"
    assert graded({"nbformat": 4, "cells": []})[0].unanswered == set(ANSWERS)


def test_blanks_are_no_answer(course, graded):
    made, _ = graded(written(notebook(course), {"answer-norm": " \n\t\n"}))
    assert made.unanswered == set(ANSWERS)


def test_windows_line_ends_do_not_make_an_answer(course, graded):
    nb = notebook(course)
    text = words(cell_of(nb, "answer-norm")["source"]).replace("\n", "\r\n")
    assert graded(written(nb, {"answer-norm": text}))[0].unanswered == set(ANSWERS)


def test_reasons_stand_under_the_tests_and_old_outputs_are_gone(course, graded):
    nb = notebook(course)
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "forged"}]
    report = made_report("ada", reason="<script>alert(1)</script>\x1b[31m")
    made, shown = graded(nb, report)
    assert b"forged" not in made.notebook
    (output,) = cell_of(shown, "test-geometric")["outputs"]
    assert output["text"] == (
        "geometric: 1/1, OK: < script>alert(1)< /script>.\n"
        "geometric-scale: 1/1, OK: < script>alert(1)< /script>.\n"
    )


def test_hidden_tests_of_an_own_source_are_not_in_it(trusted, texts, course):
    mine = copy.deepcopy(trusted)
    test = next(cell for cell in mine.cells if cell.source.startswith('check("slack")'))
    test.source += "\n### BEGIN HIDDEN TESTS\nassert slack(1) == 2\n### END HIDDEN TESTS\n# end"
    made = build(mine, texts, dumped(notebook(course)), made_report("ada"))
    assert b"assert slack" not in made.notebook
    assert cell_of(json.loads(made.notebook), "test-slack")["source"] == 'check("slack")\n# end'


def test_cells_of_ones_own_follow_the_cell_that_they_followed(course, graded):
    nb = notebook(course)
    place = nb["cells"].index(cell_of(nb, "slack"))
    nb["cells"].insert(place + 1, own_cell("def helper():\n    pass", "code"))
    nb["cells"].insert(place + 2, own_cell("<b>why</b>", "raw"))
    nb["cells"].insert(0, own_cell("my name"))
    nb["cells"].append(own_cell("  \n"))
    _, shown = graded(nb)
    assert len(shown["cells"]) == len(nb["cells"]) - 1
    assert shown["cells"][0]["source"] == "my name"
    place = shown["cells"].index(cell_of(shown, "slack"))
    code, text = shown["cells"][place + 1 : place + 3]
    assert (code["cell_type"], code["source"]) == ("code", "def helper():\n    pass")
    assert (text["cell_type"], text["source"]) == ("markdown", "< b>why< /b>")


def test_of_a_copied_answer_the_first_that_says_something_counts(course, graded):
    nb = written(notebook(course), {"slack": "mine"})
    place = nb["cells"].index(cell_of(nb, "answer-norm"))
    for text in ("first", "second"):
        copied = copy.deepcopy(nb["cells"][place])
        copied["source"] = text
        nb["cells"].insert(place + 1 + (text == "second"), copied)
    made, shown = graded(nb)
    assert made.unanswered == {"answer-cost"}
    place = shown["cells"].index(cell_of(shown, "answer-norm"))
    assert [cell["source"] for cell in shown["cells"][place : place + 2]] == ["first", "second"]
    assert shown["cells"][place + 1]["metadata"] == {}


def test_forged_marks_types_and_orders_change_nothing(course, graded):
    nb = notebook(course)
    for cell in nb["cells"]:
        marks = cell["metadata"]["nbgrader"]
        marks |= {"points": 1000, "grade": True, "solution": True, "schema_version": 99}
        cell["cell_type"] = "raw"
        cell["metadata"]["tags"] = ["x"]
    nb["cells"].reverse()
    nb["metadata"] = {
        "kernelspec": {"name": "evil", "display_name": "<script>"},
        "title": "<script>",
    }
    nb["cells"].append(own_cell("x", metadata={"nbgrader": {"grade_id": "free", "points": 9}}))
    made, shown = graded(nb)
    assert made.unanswered == set(ANSWERS)
    assert shown["metadata"]["kernelspec"]["name"] == "python3"
    assert "title" not in shown["metadata"]
    assert b"1000" not in made.notebook
    assert b"free" not in made.notebook


def test_long_texts_and_many_cells_are_cut(course, graded):
    nb = written(notebook(course), {"answer-norm": "x" * (MAX_TEXT + 1), "slack": "y" * 10**6})
    nb["cells"] += [own_cell(f"own {k} " + "z" * 5_000) for k in range(500)]
    made, shown = graded(nb)
    assert cell_of(shown, "answer-norm")["source"].endswith("20,001 characters were handed in.")
    assert len(shown["cells"]) <= len(notebook(course)["cells"]) + MAX_OWN
    assert len(made.notebook) < 500_000


def test_pictures_of_an_answer_are_carried_over(course, graded):
    nb = written(
        notebook(course), {"answer-norm": "![my plot](attachment:a.png) ![x](attachment:b)"}
    )
    cell_of(nb, "answer-norm")["attachments"] = {
        "a.png": {"image/png": PNG},
        "unused.png": {"image/png": PNG},
    }
    _, shown = graded(nb)
    cell = cell_of(shown, "answer-norm")
    assert cell["attachments"] == {"image1.png": {"image/png": PNG}}
    assert cell["source"] == "![my plot](attachment:image1.png) ![x] (attachment:b)"


def test_the_digest_of_an_answer_changes_with_text_and_picture_only(course, graded):
    nb = written(notebook(course), {"answer-norm": "![a](attachment:a)"})
    first = graded(nb)[0].answers
    other = written(nb, {"slack": "changed"})
    assert graded(other)[0].answers == first
    cell_of(other, "answer-norm")["attachments"] = {"a": {"image/png": PNG}}
    assert graded(other)[0].answers["answer-norm"] != first["answer-norm"]
    assert graded(other)[0].answers["answer-cost"] == first["answer-cost"]
    assert graded(None)[0].answers["answer-cost"] != first["answer-cost"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
CELLS = st.fixed_dictionaries(
    {},
    optional={
        "cell_type": st.sampled_from(["code", "markdown", "raw"]) | JSON,
        "source": st.text(max_size=60) | st.lists(st.text(max_size=20), max_size=3) | JSON,
        "attachments": JSON | st.dictionaries(st.text(max_size=5), st.just({"image/png": PNG})),
        "metadata": JSON
        | st.fixed_dictionaries(
            {
                "nbgrader": JSON
                | st.fixed_dictionaries(
                    {
                        "grade_id": st.sampled_from(
                            ["slack", "answer-norm", "test-slack", "new", ""]
                        )
                        | JSON
                    }
                )
            }
        ),
    },
)


@settings(max_examples=150, deadline=None)
@given(cells=st.lists(CELLS | JSON, max_size=8))
def test_whatever_is_in_a_notebook_the_result_is_a_notebook_of_ours(trusted, texts, cells):
    data = json.dumps({"nbformat": 4, "cells": cells}).encode()
    made = build(trusted, texts, data, made_report("ada"))
    shown = nbformat.reads(made.notebook.decode(), as_version=4)
    nbformat.validate(shown)
    assert_ours(json.loads(made.notebook), trusted)
