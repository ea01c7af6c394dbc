"""The tree of submissions: who handed in what and when, and nothing that is not a file is read."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from autograder.intake.submissions import (
    NoSubmission,
    Submitted,
    only,
    read,
    submitted,
    usable_name,
)
from autograder.intake.timestamps import format_time, parse_time
from autograder.notebook import MAX_BYTES, Rejected

HW = "hw2-smo"
AS_ROOT = os.geteuid() == 0


def hand_in(
    root: Path, student: str, data: bytes = b"{}", time: str = "", name: str = f"{HW}.ipynb"
) -> Path:
    folder = root / student / HW
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    if time:
        (folder / "timestamp.txt").write_text(time)
    return folder / name


def reason(root: Path, student: str = "ada") -> str:
    [found] = only(submitted(root, HW), HW, [student])
    with pytest.raises(Rejected) as caught:
        read(found)
    return str(caught.value)


def test_submissions_come_by_name_with_path_and_time(tmp_path: Path) -> None:
    hand_in(tmp_path, "bob", b"B")
    hand_in(tmp_path, "ada", b"A", "2026-11-17 02:26:10.123456 UTC")
    (tmp_path / "zoe" / "hw1-margins").mkdir(parents=True)
    (tmp_path / "notes.txt").touch()
    ada, bob = submitted(tmp_path, HW)
    path = tmp_path / "ada" / HW / f"{HW}.ipynb"
    assert ada == Submitted("ada", path, datetime(2026, 11, 17, 2, 26, 10, 123456))
    assert (bob.student, bob.time, bob.problem, bob.remark) == ("bob", None, "", "")
    assert (read(ada), read(bob)) == (b"A", b"B")


def test_a_course_without_submissions_has_none(tmp_path: Path) -> None:
    assert submitted(tmp_path / "submitted", HW) == []


def test_only_those_asked_for_come_and_missing_ones_are_named_with_close_names(
    tmp_path: Path,
) -> None:
    for student in ("ada", "bob", "carol"):
        hand_in(tmp_path, student)
    found = submitted(tmp_path, HW)
    assert [one.student for one in only(found, HW, ["carol", "ada"])] == ["ada", "carol"]
    with pytest.raises(NoSubmission, match=r"hw2-smo by: carl \(there is carol\), xyz$"):
        only(found, HW, ["ada", "xyz", "carl"])


def test_a_notebook_of_another_name_is_a_problem_that_says_to_rename_it(tmp_path: Path) -> None:
    hand_in(tmp_path, "ada", name="mine.ipynb")
    hand_in(tmp_path, "ada", name="notes.txt")
    hand_in(tmp_path, "bob", name="notes.txt")
    ada, bob = submitted(tmp_path, HW)
    assert ada.problem == f"there is no {HW}.ipynb, but mine.ipynb; rename it to {HW}.ipynb"
    assert bob.problem == f"there is no notebook; {HW}.ipynb is expected"
    assert reason(tmp_path) == ada.problem


def test_files_that_are_not_regular_are_rejected_with_their_kind_and_nothing_waits(
    tmp_path: Path,
) -> None:
    path = hand_in(tmp_path, "ada")
    secret = tmp_path / "secret"
    secret.write_bytes(b"not for you")
    path.unlink()
    path.symlink_to(secret)
    assert "is a symbolic link, not a file; hand in the .ipynb file itself" in reason(tmp_path)
    path.unlink()
    path.symlink_to("nowhere")
    assert "is a symbolic link" in reason(tmp_path)
    path.unlink()
    os.mkfifo(path)
    assert "is a pipe" in reason(tmp_path)
    path.unlink()
    path.mkdir()
    assert "is a folder" in reason(tmp_path)
    path.rmdir()
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
            assert "is a socket" in reason(tmp_path)
    finally:
        os.chdir(here)


if AS_ROOT:

    def test_a_device_is_rejected_and_not_opened(tmp_path: Path) -> None:
        path = hand_in(tmp_path, "ada")
        path.unlink()
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # zeros without end
        assert "is a device" in reason(tmp_path)

else:

    def test_what_we_may_not_read_is_rejected(tmp_path: Path) -> None:
        path = hand_in(tmp_path, "ada")
        path.chmod(0)
        assert reason(tmp_path) == f"{HW}.ipynb cannot be read (Permission denied)"
        path.parent.chmod(0)
        assert "cannot be read (Permission denied)" in reason(tmp_path)
        path.parent.chmod(0o700)


def test_links_on_the_way_are_refused_and_what_they_lead_to_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    hand_in(outside, "ada", b"other", "2026-11-17 02:26:10 UTC")
    root = tmp_path / "submitted"
    (root / "bob").mkdir(parents=True)
    (root / "ada").symlink_to(outside / "ada")
    (root / "bob" / HW).symlink_to(outside / "ada" / HW)
    ada, bob = submitted(root, HW)
    assert ada.problem == "the folder ada is a symbolic link"
    assert bob.problem == f"{HW} is a symbolic link where a folder is expected"
    assert (ada.time, bob.time) == (None, None)
    for one in (ada, bob):  # also when the link comes after the look
        with pytest.raises(Rejected, match="symbolic link"):
            read(Submitted(one.student, one.path))


def test_a_link_that_comes_and_goes_is_never_read_through(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "ada", b"own")
    (tmp_path / "secret").write_bytes(b"not for you")
    [found] = submitted(tmp_path, HW)
    swap = (
        "import os, sys\n"
        "while True:\n"
        "    os.symlink('secret', 'link'); os.replace('link', sys.argv[1])\n"
        "    os.link('own', 'file'); os.replace('file', sys.argv[1])\n"
    )
    (tmp_path / "own").write_bytes(b"own")
    (path.parent / "secret").symlink_to(tmp_path / "secret")
    command = [sys.executable, "-S", "-c", swap, str(path)]
    with subprocess.Popen(command, cwd=tmp_path) as swapping:
        try:
            for _ in range(10_000):
                with contextlib.suppress(Rejected):
                    assert read(found) == b"own"
        finally:
            swapping.kill()


def test_a_file_where_the_homework_is_expected_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / HW).touch()
    assert reason(tmp_path) == f"{HW} is a file where a folder is expected"


def test_a_missing_file_is_rejected(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "ada")
    [found] = submitted(tmp_path, HW)
    path.unlink()
    with pytest.raises(Rejected, match=rf"there is no {HW}\.ipynb"):
        read(found)


def test_too_large_a_file_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "ada")
    os.truncate(path, MAX_BYTES)
    assert len(read(submitted(tmp_path, HW)[0])) == MAX_BYTES
    os.truncate(path, 10**13)
    assert reason(tmp_path).startswith("the file has 10,000,000,000,000 bytes, and at most")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        (".", "dot"),
        ("..", "dot"),
        (".ada", "dot"),
        ("../ada", "/"),
        ("a/b", "/"),
        ("a\\b", "/"),
        ("a\nb", "printed"),
        ("a\0b", "printed"),
        ("a\x1b[2J", "printed"),
        ("a\u202eb", "printed"),
        ("a\udcffb", "printed"),
        (" ada", "space"),
        ("ada ", "space"),
        ("a" * 101, "longer"),
        ("ä" * 100 + "b", "longer"),
        ("𝒂" * 51, "longer"),
    ],
)
def test_names_that_cannot_be_used_are_told_why(name: str, why: str) -> None:
    assert why in usable_name(name)


@pytest.mark.parametrize("name", ["ada", "Ada Lovelace", "s-17_b", "Łukasz", "a" * 100, "李"])
def test_ordinary_names_are_usable(name: str) -> None:
    assert usable_name(name) == ""


def test_a_folder_whose_name_no_student_can_have_is_a_problem(tmp_path: Path) -> None:
    names = [b".ada", b"a\nb", b" ada", b"a\xff", b"a\\b", b"\x1b[2J", b"x" * 101]
    for name in names:
        hand_in(tmp_path, os.fsdecode(name))
    (tmp_path / ".ipynb_checkpoints").mkdir()  # has no homework in it: no submission
    hand_in(tmp_path, "ada")
    found = submitted(tmp_path, HW)
    assert [one.student for one in found] == sorted([*map(os.fsdecode, names), "ada"])
    for one in found:
        assert bool(one.problem) == (one.student != "ada")
        assert one.problem.isprintable()


TIMES = [
    "2026-11-17 02:26:10.123456 UTC",
    "2026-11-17 02:26:10 UTC",
    "2026-11-17 02:26:10.5 UTC\n",
    "2026-11-17 02:26:10.1234567",
    "2026-11-17 02:26:10,25",
    "2026-11-17 02:26",
    "2026-11-17",
    "2026-11-17T02:26:10Z",
    "2026-11-17T02:26:10.000001+01:00",
    "2026-11-17 02:26:10+0130",
    "2026-11-17 02:26:10-08",
    "2026-11-17 02:26:10 EST",
    "2026-07-17 02:26:10 Europe/Berlin",
    "2026-11-17 02:26:10 CEST",
    "2026-11-17 02:26:10 +0100",
    "2026-11-17 02:26:10 -3600",
    "",
    "  \n",
]


@pytest.mark.parametrize("text", TIMES)
def test_times_are_those_that_nbgrader_reads(tmp_path: Path, text: str) -> None:
    path = hand_in(tmp_path, "ada", time=text or "\n")
    [found] = submitted(tmp_path, HW)
    course = CourseDirectory(root=str(tmp_path))
    assert found.time == course.get_existing_timestamp(str(path.parent))
    assert found.remark == ""


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)))
def test_what_we_write_nbgrader_reads_to_the_microsecond(moment: datetime) -> None:
    assert parse_time(format_time(moment)) == parse_utc(format_time(moment)) == moment


@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    st.sampled_from([" ", "T"]),
    st.timedeltas(timedelta(hours=-14), timedelta(hours=14)),
)
def test_offsets_are_read_as_nbgrader_reads_them(
    moment: datetime, between: str, offset: timedelta
) -> None:
    minutes = int(offset.total_seconds() // 60)
    sign = "-" if minutes < 0 else "+"
    hours, rest = divmod(abs(minutes), 60)
    text = f"{moment.isoformat(between)}{sign}{hours:02d}:{rest:02d}"
    assert parse_time(text) == parse_utc(text)


@pytest.mark.parametrize(
    "text", ["soon", "2026-13-01", "2026-11-17 24:00", "2026-11-17 02:26:10 UTC+3", "\0", "x" * 300]
)
def test_a_time_that_cannot_be_read_is_unknown_and_said(tmp_path: Path, text: str) -> None:
    hand_in(tmp_path, "ada", time=text)
    [found] = submitted(tmp_path, HW)
    assert (found.time, found.problem) == (None, "")
    assert found.remark.startswith("timestamp.txt cannot be used: ")
    assert found.remark.endswith("; counted as not late")


def test_a_timestamp_that_is_a_link_or_pipe_is_not_followed(tmp_path: Path) -> None:
    stamp = hand_in(tmp_path, "ada").parent / "timestamp.txt"
    other = tmp_path / "time"
    other.write_text("2026-11-17")
    stamp.symlink_to(other)
    assert submitted(tmp_path, HW)[0].time is None
    stamp.unlink()
    os.mkfifo(stamp)
    assert "is a pipe" in submitted(tmp_path, HW)[0].remark


def test_looking_opens_no_notebook(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "ada")
    os.utime(path, (1, 1))
    path.chmod(0)
    assert submitted(tmp_path, HW)[0].problem == ""
    assert path.stat().st_atime == 1


def test_it_works_from_anywhere_with_relative_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(tmp_path / "course" / "submitted", "ada", b"A")
    monkeypatch.chdir(tmp_path / "course")
    assert read(submitted(Path("submitted"), HW)[0]) == b"A"
    monkeypatch.chdir(tmp_path / "course" / "submitted")
    assert read(submitted(Path(), HW)[0]) == b"A"
