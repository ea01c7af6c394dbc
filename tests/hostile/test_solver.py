"""Hostile and slow solvers of homework 2, where a loop does the work."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hostile.machine import Place, open_place, users
from hostile.once import once

from autograder.sample import dump, fill, with_body
from autograder.sources import reference_functions

HOMEWORK = "hw2-smo"
FUNCTIONS = reference_functions(HOMEWORK)

SLOW = """\
from copy import deepcopy


{one}


def smo(K, y, C, tol, max_passes, rng, max_sweeps):
    answers = [one(K, y, C, tol, max_passes, deepcopy(rng), max_sweeps) for _ in range(20)]
    return answers[-1]
""".format(one=FUNCTIONS["smo"].replace("def smo(", "def one(", 1))

SKLEARN = """\
from sklearn.svm import SVC
machine = SVC(C=C, kernel="precomputed", tol=tol).fit(K, y)
alpha = np.zeros(len(y))
alpha[machine.support_] = abs(machine.dual_coef_[0])
return alpha, machine.intercept_[0]
"""

# With a public problem it answers well, with any other it does not: shape and first entry decide.
FAMILIAR = """\
if len(y) > 5:
    return np.zeros(len(y)), 0.0
return np.full(len(y), 2 / 9), -1 / 3
"""

CLASS = {
    "correct": FUNCTIONS["smo"],
    "twenty-times-slower": SLOW,
    "sklearn": with_body(FUNCTIONS["smo"], SKLEARN),
    "familiar": with_body(FUNCTIONS["smo"], FAMILIAR),
}


def grade(place: Place) -> dict[str, Any]:
    released = (place.course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
    for student, smo in CLASS.items():
        folder = place.course / "submitted" / student / HOMEWORK
        folder.mkdir(parents=True)
        data = dump(fill(released, FUNCTIONS | {"smo": smo}))
        (folder / f"{HOMEWORK}.ipynb").write_bytes(data)
    place.give_away()
    finished = place.grade(HOMEWORK)
    return {
        **asdict(finished),
        "loop": {student: loop_seconds(place, student) for student in CLASS},
    }


def loop_seconds(place: Place, student: str) -> float:
    """Return what the checks of the loop alone took, without the other questions."""
    report = place.course / ".autograder" / "reports" / HOMEWORK / f"{student}.json"
    outcomes = json.loads(report.read_text(encoding="utf-8"))["outcomes"]
    return sum(one["seconds"] for one in outcomes if one["check"].startswith("smo"))


@pytest.fixture(scope="module", params=users())
def rows(request: pytest.FixtureRequest, template: Path, shared: Path) -> dict[str, Any]:
    """Return what the command printed about each student."""
    user: str = request.param

    def make(_: Path) -> dict[str, Any]:
        with open_place(user, template, shared) as place:
            finished = grade(place)
        assert finished["code"] == 0, finished["err"]
        return finished

    graded = once(shared, f"solver-{user}", make)
    found = json.loads(graded["out"])["submissions"]
    return {row["student"]: row | {"loop": graded["loop"][row["student"]]} for row in found}


def test_a_correct_solver_gets_full_marks(rows: dict[str, Any]):
    assert (rows["correct"]["status"], rows["correct"]["points"]) == ("OK", 20)


def test_twenty_times_slower_is_as_good(rows: dict[str, Any]):
    row = rows["twenty-times-slower"]
    assert (row["status"], row["points"]) == ("OK", 20), row["reasons"]
    assert row["loop"] > 3 * rows["correct"]["loop"]  # else it was not slow


def test_a_solver_out_of_a_package_earns_nothing(rows: dict[str, Any]):
    row = rows["sklearn"]
    assert row["points"] == 15
    loop = {name: status for name, status in row["checks"].items() if name.startswith("smo")}
    assert set(loop.values()) == {"POLICY"}
    assert "sklearn" in row["reasons"]["smo-linear"]


def test_knowing_one_problem_earns_nothing_for_optimality(rows: dict[str, Any]):
    row = rows["familiar"]
    assert row["points"] < 17
    for check in ("smo-linear", "smo-gaussian", "smo-lecture"):
        assert row["checks"][check] == "WRONG"
