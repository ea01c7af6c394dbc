"""A sample class of some size: everybody gets what is due, whoever grades and by which command."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hostile.case import HOMEWORK
from hostile.machine import Finished, Place, gradebook, users

from autograder.sample import Sample, sample_class, write_class

ORDINARY = users()[-1]  # not root where that can be helped
MEGABYTE = 2**20
SIZES = (200, 1000)  # of the classes in the full run


def hand_in(place: Place, size: int | None, without: str = "nobody") -> list[Sample]:
    """Write a sample class into a course."""
    released = (place.course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
    samples = [s for s in sample_class(released, HOMEWORK, size) if s.student != without]
    write_class(samples, place.course / "submitted")
    place.give_away()
    return samples


def assert_as_expected(samples: list[Sample], finished: Finished) -> None:
    """Compare what the command printed with what each sample says of itself."""
    assert finished.code == 0, finished.err
    assert not finished.left
    assert len(finished.json["submissions"]) == len(samples)
    assert sum(finished.json["counts"].values()) == len(samples)
    for sample in samples:
        row, expected = finished.row(sample.student), sample.expected
        assert row["status"] in expected.statuses, row
        assert expected.least <= row["points"] <= expected.most, row


@pytest.mark.parametrize("size", [60, *(pytest.param(n, marks=pytest.mark.full) for n in SIZES)])
@pytest.mark.parametrize("user", [ORDINARY], indirect=True)
def test_a_class_is_graded_and_memory_stays_flat(place: Place, size: int) -> None:
    few = hand_in(place, size // 4)
    first = place.grade(HOMEWORK, "--limit", "4")
    assert_as_expected(few, first)
    samples = hand_in(place, size)
    second = place.grade(HOMEWORK, "--limit", "4", "--force")
    assert_as_expected(samples, second)
    reports = (place.course / ".autograder" / "reports" / HOMEWORK).glob("*.json")
    assert {path.stem for path in reports} == {sample.student for sample in samples}
    assert second.peak < first.peak + 30 * MEGABYTE, f"{first.peak} then {second.peak} bytes"


def stock_autograde(course: Path) -> None:
    """Grade by nbgrader's own command, in the folder of the course."""
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "autograde", HOMEWORK],
        cwd=course,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("size", [15, pytest.param(None, marks=pytest.mark.full)])
@pytest.mark.parametrize("user", [users()[0]], indirect=True)
def test_nbgraders_own_command_gives_the_same_grades(place: Place, size: int | None) -> None:
    samples = hand_in(place, size, "hostile-endless-loop" if size else "nobody")
    other = place.folder / "other"
    shutil.copytree(place.course, other)
    assert_as_expected(samples, place.grade(HOMEWORK))
    stock_autograde(other)
    ours, theirs = gradebook(place.course), gradebook(other)
    assert ours.keys() == theirs.keys() == {sample.student for sample in samples}
    for student in ours:
        assert theirs[student] == ours[student], student
