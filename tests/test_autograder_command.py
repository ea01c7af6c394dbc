"""The command of an instructor: what it takes, shows, lists and answers to the shell."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import warnings
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from autograder_papers import HW, copy_of, released_course

from autograder.batch import Batch
from autograder.cli import main
from autograder.nbgrader.course import Course, CourseError
from autograder.nbgrader.gradebook import set_due_date
from autograder.sample import dump, fill
from autograder.sources import reference_functions

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nbgrader.api import Gradebook

DUE = datetime(2025, 1, 15)
EARLY, LATE, NEVER = (2025, 1, 10, 12, 0, 0), (2025, 1, 20, 12, 0, 0), (1980, 1, 1, 0, 0, 0)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released_course(tmp_path_factory.mktemp("command"))


@pytest.fixture
def course(released: Path, tmp_path: Path) -> Course:
    """Give a course with three people and a due date."""
    made = copy_of(released, tmp_path)
    with Gradebook(made.db_url) as gradebook:
        gradebook.add_student("ada", first_name="Ada", last_name="Lovelace", lms_user_id="17")
        gradebook.add_student("ben", first_name="Ben", last_name="Ng")
        gradebook.add_student("cora", first_name="Cora", last_name="Diaz")
    set_due_date(made, HW, DUE)
    return made


def grading(course: Course, *options: object) -> list[str]:
    """Return the command that grades the course."""
    command = [sys.executable, "-m", "autograder", "grade", HW, "--course", str(course.root)]
    return [*command, "--jobs", "2", *map(str, options)]


def grade(course: Course, *options: object) -> str:
    """Run it and return what it prints."""
    done = subprocess.run(grading(course, *options), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def canvas(course: Course, path: Path) -> Path:
    """Make a download of Canvas: two attempts, one without a date, a stranger, and a zip."""
    untouched = (course.release / HW / f"{HW}.ipynb").read_bytes()
    right = dump(fill(untouched, reference_functions(HW)))
    with zipfile.ZipFile(path, "w") as archive:
        for name, date, data in (
            (f"lovelaceada_17_230_{HW}.ipynb", EARLY, untouched),
            (f"lovelaceada_LATE_17_231_{HW}-1.ipynb", LATE, right),
            (f"ngben_18_232_{HW}.ipynb", NEVER, untouched),
            (f"smithjohn_19_233_{HW}.ipynb", EARLY, right),
            ("diazcora_20_234_work.zip", EARLY, b"PK"),
        ):
            archive.writestr(zipfile.ZipInfo(name, date), data)
    return path


def test_a_download_is_graded_and_what_is_left_out_is_listed(course: Course, tmp_path: Path):
    text = grade(course, "--submissions", canvas(course, tmp_path / "download.zip"))
    ada, ben, cora = (line.split() for line in text.splitlines()[1:4])
    assert ada == ["ada", "OK", "10", "/", "10", "late"]
    assert ben == ["ben", "ERROR", "0", "/", "10", "decision:", "not", "implemented"]
    assert cora[:5] == ["cora", "REJECTED", "0", "/", "10"]
    assert f"{HW}: 3 graded (1 OK, 1 ERROR, 1 REJECTED), 3.3 points on average" in text
    lists = text.split("\n\n")
    for title, item in (
        ("1 not among the students of the gradebook, and not graded", f"smithjohn_19_233_{HW}"),
        ("1 refused", "diazcora_20_234_work.zip: it is an archive, which is not opened"),
        ("1 older attempts, not graded", f"ada: lovelaceada_17_230_{HW}.ipynb"),
        ("1 without a time, so not late", "ben"),
    ):
        assert [part for part in lists if part.startswith(title) and f"\n  {item}" in part], text
    assert {path.name for path in course.submitted.iterdir()} == {"ada", "ben"}


def test_a_table_of_times_decides_who_is_late(course: Course, tmp_path: Path):
    times = tmp_path / "times.csv"
    times.write_text("student,time\nada,2025-01-14T10:00Z\nben,2025-01-16T10:00Z\n", "utf-8")
    options = ("--submissions", canvas(course, tmp_path / "download.zip"), "--times", times)
    result = json.loads(grade(course, *options, "--json"))
    late = {row["student"]: row["late"] for row in result["submissions"]}
    assert late == {"ada": False, "ben": True, "cora": None}
    assert result["untimed"] == []
    assert result["counts"] == {"OK": 1, "ERROR": 1, "REJECTED": 1}


def test_who_is_new_to_the_gradebook_is_named(course: Course):
    place = course.submitted / "aad" / HW
    place.mkdir(parents=True)
    (place / f"{HW}.ipynb").write_bytes(b"")
    note = "new among the students of the gradebook, and now added (1): aad"
    assert f"note: {note}\n" in grade(course)
    assert note not in grade(course)  # now there is such a student


def test_on_a_terminal_it_shows_how_far_it_is(course: Course, tmp_path: Path):
    grade(course, "--submissions", canvas(course, tmp_path / "download.zip"))
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 30, 0, 0))
    process = subprocess.Popen(grading(course), stdin=its, stdout=subprocess.DEVNULL, stderr=its)
    os.close(its)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error on Linux
        while part := os.read(ours, 65_536):
            shown += part
    os.close(ours)
    assert process.wait() == 0
    *steps, end = shown.decode().split("\r\033[K")
    assert end == ""  # nothing stays on the line
    assert steps[-1].startswith("█████ 2/2  0:00 left  ")  # a short bar leaves room for counts
    assert "OK 1" in steps[-1]
    assert max(map(len, steps)) < 30


def row(student: str, status: str) -> dict[str, Any]:
    """Return what is told of a submission."""
    points = {"points": 1.0, "max_points": 10, "late": None, "remarks": [], "seconds": 1.0}
    return {
        "student": student,
        "status": status,
        "checks": {"decision": status},
        "reasons": {"decision": f"{status} \x1b[2J of\n{student}"},
        **points,
    }


@pytest.mark.parametrize(
    ("options", "started"), [([], ["autograder.batch"]), (["--cluster", "local:2"], [])]
)
def test_processes_here_come_up_while_nbgrader_is_imported(
    options: list[str], started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def open_course(_: Path) -> Course:
        seen.append("the course")
        raise CourseError("that is enough")

    monkeypatch.setattr("autograder.spread.prepare", seen.append)
    monkeypatch.setattr("autograder.nbgrader.course.open_course", open_course)
    assert main(["grade", HW, *options]) == 2
    assert seen == [*started, "the course"]


def told(
    monkeypatch: pytest.MonkeyPatch, course: Course, rows: list[dict[str, Any]], *options: str
) -> int:
    """Run the command on a course where grading gives these rows; return its exit status."""
    batch = Batch(HW)
    for one in rows:
        batch.add(one)
    monkeypatch.setattr("autograder.batch.grade_course", lambda *_, **__: batch)
    return main(["grade", HW, "--course", str(course.root), *options])


@pytest.mark.parametrize("status", ["OK", "KILLED", "POLICY", "REJECTED", "TIMEOUT"])
def test_whatever_students_do_the_command_succeeds(
    course: Course, monkeypatch: pytest.MonkeyPatch, status: str
):
    assert told(monkeypatch, course, [row("ada", status)]) == 0


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_failure_of_the_grader_itself_is_one_of_the_command(
    course: Course, monkeypatch: pytest.MonkeyPatch, options: list[str]
):
    assert told(monkeypatch, course, [row("ada", "OK"), row("ben", "INTERNAL")], *options) == 1


def test_of_a_large_class_only_those_are_listed_whom_to_look_at(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    calm = [row(f"student-{k:03}", "WRONG" if k % 2 else "OK") for k in range(99)]
    told(monkeypatch, course, [*calm, row("mallory", "KILLED")])
    text = capsys.readouterr().out
    assert "mallory" in text
    assert "decision: KILLED  [2J of mallory" in text  # on one line, and nothing to obey
    assert "student-000" not in text
    assert "(and 99 that are OK or WRONG, with nothing to look at)" in text
    assert "100 graded (50 OK, 49 WRONG, 1 KILLED)" in text


@pytest.mark.parametrize("option", [["--pattern", "(?P<student>.*)"], ["--times", "times.csv"]])
def test_options_that_would_do_nothing_are_refused(
    course: Course, capsys: pytest.CaptureFixture[str], option: list[str]
):
    assert main(["grade", HW, "--course", str(course.root), *option]) == 2
    said = capsys.readouterr().err
    assert f"{option[0]} is for files that are taken in: give them with --submissions" in said


def test_a_sample_of_what_is_not_released_says_to_release_it(
    course: Course, capsys: pytest.CaptureFixture[str]
):
    assert main(["sample", "hw2-smo", "--course", str(course.root)]) == 2
    assert "run `autograder release hw2-smo --course" in capsys.readouterr().err
