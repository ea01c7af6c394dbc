# ruff: noqa: E501  (nbgrader's metadata must stand on one line)
"""A source gives its reference code and its notebook, and says what is wrong with it."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from autograder import sources
from autograder.manifest import load_manifest, parse_manifest

ROOT = Path(__file__).parents[1]
HOMEWORKS = sources.homeworks(ROOT / "assignments")

SOURCE = '''\
# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] nbgrader={"grade": false, "grade_id": "title", "locked": true, "schema_version": 3, "solution": false, "task": false}
# # Doubling

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import sys

import numpy as np

MANY = 1000
data = np.zeros(MANY)

# %% nbgrader={"grade": false, "grade_id": "supplied-draw", "locked": true, "schema_version": 3, "solution": false, "task": false}
def draw(n, rng):
    """Draw a row."""
    return rng.integers(n)


print(draw(3, np.random.default_rng(0)))

# %% nbgrader={"grade": false, "grade_id": "twice", "locked": false, "schema_version": 3, "solution": true, "task": false}
FACTOR = 2
table = np.ones(3)


def twice(x):
    """Return two times x."""
    # Hint: once is not enough.
    ### BEGIN SOLUTION
    return FACTOR * np.asarray(x)  # the secret
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-twice", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("twice")

# %% [markdown] nbgrader={"grade": true, "grade_id": "answer-why", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# Because two is the first number after one.

# %%
# free to use
'''

MANIFEST = """
title = "Doubling"
supplied = ["draw"]
[[question]]
id = "twice"
title = "Twice"
functions = ["twice"]
chapter = "chapter 1"
[[question.check]]
id = "twice"
function = "doubling.twice"
points = 1
visibility = "always"
lecture = "C1"
label = "eq-decision"
[[question.check]]
id = "twice-again"
function = "doubling.twice"
points = 2
visibility = "after"
lecture = "C1"
label = "eq-decision"
[[answer]]
id = "answer-why"
title = "Why"
points = 2
"""


@pytest.fixture
def manifest():
    return parse_manifest("hw0-twice", tomllib.loads(MANIFEST))


@pytest.fixture
def made(tmp_path, manifest):
    """Make the notebook of a text."""

    def make(text=SOURCE):
        path = tmp_path / "hw0-twice.py"
        path.write_text(text, encoding="utf-8")
        return sources.notebook(path, manifest)

    return make


def test_the_reference_is_the_solution_code_and_runs_alone():
    code = sources.solution_code(SOURCE)
    namespace = {}
    exec(code, namespace)
    assert list(namespace["twice"]([1, 2])) == [2, 4]
    assert namespace["draw"](1, np.random.default_rng(0)) == 0
    assert set(namespace) - {"__builtins__", "np"} == {"twice", "draw", "FACTOR"}
    assert "SOLUTION" not in code
    assert "Because" not in code
    assert code.count("import numpy as np") == 1


def test_reading_the_reference_twice_gives_the_same_functions():
    functions = sources.split_functions(sources.solution_code(SOURCE))
    assert list(functions) == ["draw", "twice"]
    assert functions["twice"].startswith("def twice(x):\n")
    assert functions["twice"].endswith("# the secret\n")


def test_a_reference_that_imports_more_than_numpy_is_refused():
    text = SOURCE.replace("FACTOR = 2\n", "import math\nFACTOR = 2\n")
    with pytest.raises(sources.SourceError, match=r"cell 4 \(twice\).*numpy only.*import math"):
        sources.solution_code(text)


@pytest.mark.parametrize("homework", HOMEWORKS)
def test_the_reference_of_each_homework_defines_what_its_manifest_names(homework):
    manifest = load_manifest(homework)
    functions = sources.reference_functions(homework)
    assert set(functions) >= set(manifest.functions) | set(manifest.supplied)
    for code in functions.values():
        assert isinstance(ast.parse(code).body[0], ast.FunctionDef)


@pytest.mark.parametrize("homework", HOMEWORKS)
def test_each_source_agrees_with_its_manifest(homework):
    nb = sources.notebook(sources.source_path(homework))
    points = sum(cell.metadata.nbgrader.get("points", 0) for cell in nb.cells if cell.metadata)
    manifest = load_manifest(homework)
    assert points == manifest.points + sum(answer.points for answer in manifest.answers)


def test_the_notebook_has_the_same_bytes_wherever_it_is_made(tmp_path, manifest):
    found = set()
    for name in ("a", "another place"):
        path = tmp_path / name / "hw0-twice.py"
        path.parent.mkdir()
        path.write_text(SOURCE, encoding="utf-8")
        found.add(sources.write_notebook(sources.notebook(path, manifest)))
    assert len(found) == 1


def test_the_notebook_is_plain_and_its_cells_have_ids_of_their_own(made):
    nb = made()
    assert (nb.nbformat, nb.nbformat_minor) == (4, 5)
    assert set(nb.metadata) == {"kernelspec", "language_info"}
    assert len({cell.id for cell in nb.cells}) == len(nb.cells) == 7
    assert all(set(cell.metadata) <= {"nbgrader"} for cell in nb.cells)


def test_a_new_cell_leaves_the_ids_of_the_others(made):
    before = {cell.metadata.nbgrader.grade_id: cell.id for cell in made().cells[:-1]}
    start, end = SOURCE.index("# %% [markdown]"), SOURCE.index("# %% nbgrader")
    new = SOURCE[start:end].replace('"title"', '"new"')
    after = made(SOURCE[:start] + new + SOURCE[start:])
    ids = {cell.metadata.nbgrader.grade_id: cell.id for cell in after.cells[:-1]}
    assert len(ids) == len(before) + 1
    assert {name: ids[name] for name in before} == before


FAULTS = {
    "broken JSON": ('"task": false}\n# # Doubling', '"task" false}\n# # Doubling', "no JSON"),
    "no grade_id": ('"grade_id": "title", ', "", "grade_id must be a name"),
    "an empty grade_id": ('"grade_id": "title"', '"grade_id": ""', "grade_id must be a name"),
    "a name twice": ('"grade_id": "title"', '"grade_id": "setup"', "setup occurs 2 times"),
    "an unknown key": ('"title", ', '"title", "colour": 1, ', "has colour"),
    "a misspelt key": ('"title", "locked"', '"title", "loked"', "lacks locked"),
    "misspelt metadata": ("[markdown] nbgrader=", "[markdown] nbgradr=", "metadata nbgradr"),
    "an old schema": ('3, "solution": false', '2, "solution": false', "schema_version must be 3"),
    "a word for a truth": ('"grade": false', '"grade": "false"', "grade must be true or false"),
    "no markers": ("    ### BEGIN SOLUTION\n", "", "must come in pairs"),
    "no solution": (
        "    ### BEGIN SOLUTION\n    return FACTOR * np.asarray(x)  # the secret\n"
        "    ### END SOLUTION\n",
        "    return 1\n",
        "would be released solved",
    ),
    "a marker in words": ("### END SOLUTION", "x = 1  ### END SOLUTION", "alone on its line"),
    "markers elsewhere": (
        'check("twice")',
        '### BEGIN SOLUTION\ncheck("twice")\n### END SOLUTION',
        "does not make it a code cell to solve",
    ),
    "a locked solution": (
        '"twice", "locked": false',
        '"twice", "locked": true',
        "must not be locked",
    ),
    "an open test": ('"test-twice", "locked": true', '"test-twice", "locked": false', "locked"),
    "other points": ('"points": 3', '"points": 4', "says 4 points, the manifest 3"),
    "other points by hand": ('"points": 2', '"points": 1', "says 1 points, the manifest 2"),
    "no test": ('"test-twice"', '"test-thrice"', "no graded cell test-twice"),
    "a test of nothing": ('"test-twice"', '"test-thrice"', "manifest has no question for"),
    "another check": ('check("twice")', 'check("thrice")', r'must call check\("twice"\)'),
    "no answer": ('"answer-why"', '"answer-how"', "no graded cell answer-why"),
    "no cell for a function": ('"grade_id": "twice"', '"grade_id": "two"', "function twice"),
    "another function": ("def twice", "def thrice", "does not define the function twice"),
    "nothing supplied": ("def draw", "def drew", "defines draw"),
    "a supplied cell under another name": ('"supplied-draw"', '"draw"', "defines draw"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_source_is_refused_with_the_reason(fault, made):
    old, new, reason = FAULTS[fault]
    assert old in SOURCE
    with pytest.raises(sources.SourceError, match=reason):
        made(SOURCE.replace(old, new, 1))


def test_all_faults_of_a_source_are_told_at_once(made):
    text = SOURCE.replace('"points": 3', '"points": 4').replace("def draw", "def drew")
    with pytest.raises(sources.SourceError, match=r"(?s)says 4 points.*defines draw"):
        made(text)


def test_unknown_homework_and_missing_folders_name_the_way_out(tmp_path):
    with pytest.raises(sources.SourceError, match="give --assignments PATH"):
        sources.homeworks(tmp_path)
    with pytest.raises(sources.SourceError, match=f"no homework 'hw9'.*{HOMEWORKS[0]}"):
        sources.source_path("hw9")


def test_the_reference_is_read_with_the_standard_library_alone():
    """setup.py does this where a wheel is built and numpy is missing."""
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('s', {str(sources.__file__)!r})\n"
        "s = sys.modules['s'] = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(s)\n"
        "print(s.solution_code(sys.stdin.read()), end='')\n"
    )
    command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", code]
    done = subprocess.run(
        command, input=SOURCE, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout == sources.solution_code(SOURCE)
