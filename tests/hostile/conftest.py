"""One class of hostile students, graded once for each user by the real command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hostile.case import HOMEWORK
from hostile.classroom import Graded, grade_class
from hostile.machine import Place, open_place, users
from hostile.once import once
from hostile.small_class import hand_in, results

from autograder.release import release


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of this test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def template(shared: Path) -> Path:
    """Return a released course without submissions: copied, never changed."""

    def make(folder: Path) -> str:
        release(folder / "course", [HOMEWORK, "hw2-smo"], wheel=False, progress=lambda line: None)
        return str(folder / "course")

    return Path(once(shared, "template", make))


@pytest.fixture(scope="session", params=users())
def user(request: pytest.FixtureRequest) -> str:
    """Return who runs the command."""
    return str(request.param)


@pytest.fixture
def place(user: str, template: Path, shared: Path) -> Iterator[Place]:
    """Give a fresh copy of the course to the user."""
    with open_place(user, template, shared) as made:
        yield made


def sittings() -> list[Any]:
    """Return who grades the class and how: every user and every mode, all pairs in the full run."""
    first, last = users()[0], users()[-1]
    rest = [(first, "warm"), (last, "fresh")] if first != last else []
    pairs = [(first, "fresh"), (last, "warm")]
    return [*pairs, *(pytest.param(pair, marks=pytest.mark.full) for pair in rest)]


@pytest.fixture(scope="session", params=sittings(), ids="-".join)
def graded(request: pytest.FixtureRequest, template: Path, shared: Path) -> Graded:
    """Grade the hostile class by the real command, once for each user and mode."""
    user, mode = request.param

    def make(folder: Path) -> dict[str, Any]:
        with open_place(user, template, shared) as place:
            return asdict(grade_class(place, *(["--fresh"] if mode == "fresh" else [])))

    return Graded(**once(shared, f"class-{user}-{mode}", make))


@pytest.fixture(scope="session")
def undisturbed(template: Path, shared: Path) -> dict[str, Any]:
    """Return what a run gives that nobody disturbs."""

    def make(_: Path) -> dict[str, Any]:
        with open_place(users()[0], template, shared) as place:
            students = hand_in(place)
            finished = place.grade(HOMEWORK)
            assert finished.code == 0, finished.err
            found = results(place.course)
            assert sorted(found["gradebook"]) == sorted(found["reports"]) == students
            return found

    return dict(once(shared, "undisturbed", make))


@pytest.fixture
def classroom(place: Place) -> Place:
    """Give a course with a small class, not yet graded."""
    hand_in(place)
    return place
