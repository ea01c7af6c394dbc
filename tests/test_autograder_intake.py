"""Taking submissions in: whose they are, which attempt counts, when it was handed in."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.intake import Intake, take_in
from autograder.intake.below import IntakeError
from autograder.intake.roster import Person, Roster
from autograder.intake.submissions import read, submitted

HW = "hw2-smo"
ROSTER = Roster(
    (
        Person("ada", "Ada", "Lovelace", "17"),
        Person("bob", "Bob", "O'Brien", None),
        Person("c-1", "José", "García-Márquez", "19"),
        Person("d1", "Wei", "Li", "21"),
        Person("d2", "Wei", "Li", "22"),
        Person("e1", "Wei", "Wu"),
        Person("e2", "Wu", "Wei"),
    )
)
NOON = (2026, 11, 16, 12, 0, 0)
Files = dict[str, bytes | tuple[bytes, tuple[int, ...]]]


@pytest.fixture(params=["zip", "folder"])
def pack(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    """Files as a zip or as a folder: the same comes of both."""
    return (make_zip if request.param == "zip" else make_folder, tmp_path / "download")


def make_zip(path: Path, files: Files) -> Path:
    path = path.with_suffix(".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            data, date = value if isinstance(value, tuple) else (value, NOON)
            archive.writestr(zipfile.ZipInfo(name, date), data)  # type: ignore[arg-type]
    return path


def make_folder(path: Path, files: Files) -> Path:
    for name, value in files.items():
        data, date = value if isinstance(value, tuple) else (value, NOON)
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
        moment = datetime(*date).timestamp()  # type: ignore[arg-type]
        os.utime(path / name, (moment, moment))
    return path


def take(pack: object, files: Files, roster: Roster = ROSTER, **options: object) -> Intake:
    make, path = pack  # type: ignore[misc]
    into = path.parent / "submitted"
    return take_in(make(path, files), into, HW, roster, **options)


def tree(pack: object) -> dict[str, bytes]:
    into = pack[1].parent / "submitted"  # type: ignore[index]
    return {one.student: read(one) for one in submitted(into, HW)}


def origins(intake: Intake) -> dict[str, list[str]]:
    return {
        "taken": [one.origin for one in intake.taken],
        "older": [one.origin for one in intake.older],
        "unknown": [one.origin for one in intake.unknown],
        "refused": [one.origin for one in intake.refused],
        "ignored": sorted(intake.ignored),
    }


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("path", "student"),
    [
        (f"lovelaceada_17_230_{HW}.ipynb", "ada"),
        (f"lovelaceada_LATE_17_230_{HW}-1.ipynb", "ada"),
        ("whoever_17_230_99_98_any name.ipynb", "ada"),
        ("_17_230_x.ipynb", "ada"),
        (f"obrienbob_4711_231_{HW}.ipynb", "bob"),
        ("garciamarquezjose_19_232_x.ipynb", "c-1"),
        ("liwei_22_232_x.ipynb", "d2"),
        ("Ada Lovelace_812_assignsubmission_file_/x.ipynb", "ada"),
        ("Ada Lovelace_812_assignsubmission_file/x.ipynb", "ada"),
        ("Ada Lovelace_812_assignsubmission_file_/deep/er/x.ipynb", "ada"),
        ("Ada Lovelace_812_assignsubmission_file_my x.ipynb", "ada"),
        ("LOVELACE, Ada_812_assignsubmission_file_x.ipynb", "ada"),
        ("Bob OBrien_812_assignsubmission_file_/x.ipynb", "bob"),
        ("Jose\u0301 Garci\u0301a-Ma\u0301rquez_8_assignsubmission_file_/x.ipynb", "c-1"),
        ("jose garcia-marquez_8_assignsubmission_file_/x.ipynb", "c-1"),
        ("Wei Wu_8_assignsubmission_file_/x.ipynb", "e1"),
        ("Wei, Wu_8_assignsubmission_file_/x.ipynb", "e2"),
        (f"ada/{HW}/{HW}.ipynb", "ada"),
        (f"submitted/ada/{HW}/{HW}.ipynb", "ada"),
        (f"ada/{HW}/mine.ipynb", "ada"),
        ("ada.ipynb", "ada"),
        ("ada.IPYNB", "ada"),
        ("c-1.ipynb", "c-1"),
        ("17.ipynb", "ada"),
        ("Ada Lovelace.ipynb", "ada"),
        (f"ada_{HW}.ipynb", "ada"),
        (f"ada_{HW}-2.ipynb", "ada"),
        ("ada/anything at all.ipynb", "ada"),
        ("submissions/ada.ipynb", "ada"),
        (f"{HW}/ada.ipynb", "ada"),
        ("download/ada.ipynb", "ada"),
        (f"ada/{HW}.ipynb", "ada"),
    ],
)
def test_the_path_says_whose_it_is(pack: object, path: str, student: str) -> None:
    intake = take(pack, {path: b"N"})
    assert [one.student for one in intake.taken] == [student], intake
    assert tree(pack) == {student: b"N"}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("lovelaceada_18_230_x.ipynb", "nobody in the roster"),  # a namesake: another number
        ("liwei_23_230_x.ipynb", "nobody in the roster"),
        ("x_17_22_230_x.ipynb", "it could be from ada or d2"),  # x_17 may be a student's name
        ("anon_AbCdE_230_x.ipynb", "nobody in the roster"),
        ("Wei Li_812_assignsubmission_file_/x.ipynb", "more than one person"),
        ("Participant_812_assignsubmission_file_/ada.ipynb", "nobody in the roster"),
        ("17_812_assignsubmission_file_/x.ipynb", "nobody in the roster"),  # a name, no number
        ("Ada.ipynb", "nobody in the roster"),  # ids are taken letter by letter
        ("adaa.ipynb", "nobody in the roster"),
        (f"17/{HW}/{HW}.ipynb", "nobody in the roster"),  # nbgrader's folders are ids
        ("x/y/z/ada.ipynb", "its path has no known form"),
        (f"{HW}.ipynb", "its path has no known form"),
    ],
)
def test_nobody_is_guessed(pack: object, path: str, why: str) -> None:
    intake = take(pack, {path: b"N"})
    assert why in intake.unknown[0].reason
    assert origins(intake)["unknown"] == [path]
    assert (intake.taken, tree(pack)) == ((), {})


def test_two_accounts_with_the_name_of_one_student_are_both_unknown(pack: object) -> None:
    paths = [
        "Ada Lovelace_812_assignsubmission_file_/x.ipynb",
        "ada lovelace_9_assignsubmission_file_x.ipynb",
    ]
    intake = take(pack, dict.fromkeys(paths, b"N") | {"bob.ipynb": b"B"})
    assert sorted(origins(intake)["unknown"]) == sorted(paths)
    assert "2 people (812, 9) have this name" in intake.unknown[0].reason
    assert tree(pack) == {"bob": b"B"}


def test_ids_that_are_not_in_the_roster_are_accepted_only_when_asked(pack: object) -> None:
    files: Files = {
        "zoe.ipynb": b"Z",
        f"yan_{HW}.ipynb": b"Y",
        "lovelaceada_18_230_x.ipynb": b"",
        "Xi Xu_8_assignsubmission_file_/x.ipynb": b"",
        f"{HW}.ipynb": b"",
        ".hidden.ipynb": b"",
        "readme.txt": b"",
    }
    assert tree(pack) == {}
    assert take(pack, files).taken == ()
    intake = take(pack, files, Roster(ROSTER.people, add=True))
    assert tree(pack) == {"zoe": b"Z", "yan": b"Y"}
    assert len(intake.unknown) == 3
    assert origins(intake)["refused"] == [".hidden.ipynb"]
    assert origins(intake)["ignored"] == ["readme.txt"]


def test_a_zip_of_one_new_student_is_that_students(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "zoe", {f"zoe/{HW}.ipynb": b"Z"})
    intake = take_in(source, tmp_path / "into", HW, Roster(add=True))
    assert [one.student for one in intake.taken] == ["zoe"]


def test_own_pattern_tells_student_number_name_and_attempt(pack: object) -> None:
    files: Files = {"HW_ada_try2.ipynb": b"2", "HW_ada_try10.ipynb": b"10", "ada.ipynb": b"plain"}
    intake = take(pack, files, pattern=r"HW_(?P<student>\w+)_try(?P<attempt>\d+)\.ipynb")
    assert tree(pack) == {"ada": b"10"}
    assert origins(intake)["older"] == ["HW_ada_try2.ipynb"]
    assert intake.unknown[0].reason == "the pattern does not match its path"
    assert take(pack, {"x-19.ipynb": b"J"}, pattern=r"x-(?P<lms>\d+)").taken[0].student == "c-1"
    named = take(pack, {"by Bob O'Brien.ipynb": b""}, pattern=r"by (?P<name>.+)\.ipynb")
    assert "bob" in [one.student for one in named.taken]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("(", "is no regular expression"), (".*", "no group named student"), ("", "no group named")],
)
def test_a_bad_pattern_is_an_error_before_any_work(tmp_path: Path, pattern: str, why: str) -> None:
    with pytest.raises(IntakeError, match=why):
        take_in(tmp_path / "missing.zip", tmp_path / "into", HW, ROSTER, pattern=pattern)
    assert not (tmp_path / "into").exists()


def test_the_last_attempt_counts_by_number_then_time_then_name(pack: object) -> None:
    early, late = (2026, 11, 15, 8, 0, 0), (2026, 11, 16, 8, 0, 0)
    files: Files = {
        f"lovelaceada_17_230_{HW}-10.ipynb": (b"number", early),
        f"lovelaceada_17_220_{HW}-9.ipynb": (b"", late),
        f"lovelaceada_17_210_{HW}.ipynb": (b"", late),
        "lovelaceada_17_240_scratch-11.ipynb": (b"", late),
        f"bob/{HW}.ipynb": (b"", early),
        "bob/better.ipynb": (b"time", late),
        "c-1/v9.ipynb": b"",
        "c-1/v10.ipynb": b"name",
        f"Wei Wu_1_assignsubmission_file_/{HW}.ipynb": b"homework",
        "Wei Wu_1_assignsubmission_file_/z.ipynb": b"",
    }
    intake = take(pack, files)
    assert tree(pack) == {"ada": b"number", "bob": b"time", "c-1": b"name", "e1": b"homework"}
    assert len(intake.older) == 6
    assert intake.older[-1].reason == f"Wei Wu_1_assignsubmission_file_/{HW}.ipynb is later"
    assert sum(map(len, origins(intake).values())) == len(files)


def test_dates_of_files_are_local_time_and_become_utc(pack: object, new_york: None) -> None:
    dates = {"ada": NOON, "bob": (2026, 7, 4, 23, 59, 58), "c-1": (1980, 1, 1, 0, 0, 0)}
    intake = take(pack, {f"{student}.ipynb": (b"", date) for student, date in dates.items()})
    into = pack[1].parent / "submitted"  # type: ignore[index]
    times = {one.student: one.time for one in submitted(into, HW)}
    assert times["ada"] == datetime(2026, 11, 16, 17, 0)
    assert times["bob"] == datetime(2026, 7, 5, 3, 59, 58)
    assert times["c-1"] is None
    assert intake.untimed == ("c-1",)
    assert {one.student: one.time for one in intake.taken} == times
    stamp = (into / "ada" / HW / "timestamp.txt").read_text()
    assert stamp == "2026-11-16 17:00:00.000000 UTC"
    assert not (into / "c-1" / HW / "timestamp.txt").exists()


@pytest.mark.parametrize("fields", [(2026, 0, 0), (2026, 13, 1), (2026, 2, 30)])
def test_a_date_that_is_none_is_unknown(tmp_path: Path, fields: tuple[int, ...]) -> None:
    info = zipfile.ZipInfo("ada.ipynb")
    info.date_time = (*fields, 0, 0, 0)  # type: ignore[assignment]
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(info, b"")
    assert take_in(tmp_path / "x.zip", tmp_path / "into", HW, ROSTER).untimed == ("ada",)


def test_the_exact_time_of_a_zip_goes_before_its_local_date(tmp_path: Path) -> None:
    moment = datetime(2026, 11, 16, 5, 4, 3)
    info = zipfile.ZipInfo("ada.ipynb", NOON)
    seconds = int(moment.replace(tzinfo=UTC).timestamp())
    info.extra = struct.pack("<HH", 1, 0) + struct.pack("<HHBi", 0x5455, 5, 1, seconds)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(info, b"")
    intake = take_in(tmp_path / "x.zip", tmp_path / "into", HW, ROSTER)
    assert intake.taken[0].time == moment


def test_files_of_a_learning_system_with_one_date_are_remarked_on(pack: object) -> None:
    one, other = f"lovelaceada_17_230_{HW}.ipynb", f"liwei_22_231_{HW}.ipynb"
    [remark] = take(pack, {one: b"", other: (b"", (2026, 11, 16, 12, 3, 0))}).remarks
    assert "when they were downloaded" in remark
    assert take(pack, {one: b"", other: (b"", (2026, 11, 18, 12, 3, 0))}).remarks == ()
    assert take(pack, {"ada.ipynb": b"", "bob.ipynb": b""}).remarks == ()


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "times.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


@pytest.mark.parametrize(
    "text",
    [
        "student,time\nada,2026-11-16T07:00\nbob,2026-11-16 12:00:01.5Z\n",
        "\ufeffName;STUDENT;Timestamp\r\nx;17;2026-11-16T07:00:00\r\n\r\n"
        "x;bob;2026-11-16 12:00:01.5 UTC",
        'student\ttime\n"Lovelace, Ada"\t2026-11-16T13:00+01:00\n'
        "bob\t2026-11-16T12:00:01.5Z\nc-1\t\n",
    ],
)
def test_times_can_come_from_a_table(
    pack: object, tmp_path: Path, new_york: None, text: str
) -> None:
    files: Files = {"ada.ipynb": b"", "bob.ipynb": b"", "c-1.ipynb": b""}
    intake = take(pack, files, times=table(tmp_path, text))
    times = {one.student: one.time for one in intake.taken}
    assert times["ada"] == datetime(2026, 11, 16, 12)
    assert times["bob"] == datetime(2026, 11, 16, 12, 0, 1, 500_000)
    assert times["c-1"] == datetime(2026, 11, 16, 17)  # not in the table: the date of the file


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has: nothing"),
        ("who,when\n", "has: who, when"),
        ("student,time\nada,2026-11-16\nbob,soon\n", "line 3: 'soon' is not a time"),
        ("student,time\nada,2026-02-30\n", "line 2: "),
        ("student,time\nada,0001-01-01T00:00+14:00\n", "line 2: .* is out of range"),
        ("student,time\nada\n", "line 2: it has no student or no time"),
        ("student,time\n,2026-11-16\n", "line 2: it has no student or no time"),
        ("student,time\nada,2026-11-16\n17,2026-11-17\n", "line 3: 17 has another time in line 2"),
        ("student,time\nad\udcff,2026-11-16\n", "is not a CSV table in UTF-8"),
    ],
)
def test_bad_lines_of_the_table_are_named(tmp_path: Path, text: str, why: str) -> None:
    source = make_zip(tmp_path / "x", {"ada.ipynb": b""})
    with pytest.raises(IntakeError, match=why):
        take_in(source, tmp_path / "into", HW, ROSTER, times=table(tmp_path, text))
    assert not (tmp_path / "into").exists()


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "x", {"ada.ipynb": b""})
    with pytest.raises(IntakeError, match=r"no\.csv cannot be read: No such file"):
        take_in(source, tmp_path / "into", HW, ROSTER, times=tmp_path / "no.csv")


def test_names_of_the_table_that_nobody_has_are_remarked_on(pack: object, tmp_path: Path) -> None:
    times = table(tmp_path, "student,time\nada@x.org,2026-11-16\nzoe,2026-11-16\nada,2026-11-16\n")
    [remark] = take(pack, {"ada.ipynb": b"", "zoe.ipynb": b""}, times=times).remarks
    assert remark.endswith("times.csv names people who are not in the roster: ada@x.org, zoe")
    roster = Roster(ROSTER.people, add=True)
    [remark] = take(pack, {"zoe.ipynb": b"", "ada.ipynb": b""}, roster, times=times).remarks
    assert remark.endswith("roster: ada@x.org")


def test_a_tree_of_nbgrader_keeps_its_times_and_other_homework_stays_out(pack: object) -> None:
    files: Files = {
        f"ada/{HW}/{HW}.ipynb": b"A",
        f"ada/{HW}/timestamp.txt": b"2026-11-15 02:26:10.123456 UTC",
        f"ada/{HW}/scratch.ipynb": (b"", (2026, 11, 30, 0, 0, 0)),
        "ada/hw1-margins/hw1-margins.ipynb": b"",
        "ada/hw1-margins/more.ipynb": b"",
        f"bob/{HW}/{HW}.ipynb": b"B",
        f"bob/{HW}/timestamp.txt": b"soon",
        f"zoe/{HW}/{HW}.ipynb": b"",
    }
    intake = take(pack, files)
    assert tree(pack) == {"ada": b"A", "bob": b"B"}
    assert intake.taken[0].time == datetime(2026, 11, 15, 2, 26, 10, 123456)
    assert intake.untimed == ("bob",)
    assert origins(intake)["unknown"] == [f"zoe/{HW}/{HW}.ipynb"]
    assert len(intake.ignored) == 5


def test_who_handed_in_only_other_files_is_listed(pack: object) -> None:
    files: Files = {
        "lovelaceada_17_1_report.pdf": b"",
        "lovelaceada_17_2_image.png": b"",
        "Bob OBrien_3_assignsubmission_onlinetext_/onlinetext.html": b"",
        "c-1.pdf": b"",
        "c-1.ipynb": b"",
        "e1.zip": b"PK",
        "d1/solution.tar.gz": b"",
        "e2/x.ipynb.txt": b"",
        "nobody.pdf": b"",
        "__MACOSX/._ada.ipynb": b"",
        ".DS_Store": b"",
        "d2/.ipynb_checkpoints/x-checkpoint.ipynb": b"",
    }
    intake = take(pack, files)
    assert tree(pack) == {"c-1": b""}
    refused = {one.student: one.reason for one in intake.refused}
    assert set(refused) == {"ada", "bob", "d1", "e1", "e2"}
    assert refused["ada"] == (
        "no notebook was handed in, only lovelaceada_17_1_report.pdf, "
        "lovelaceada_17_2_image.png; hand in the .ipynb file"
    )
    assert refused["e1"].endswith("hand in the .ipynb file itself")
    assert "nobody.pdf" in intake.ignored


def test_taking_in_twice_changes_nothing(pack: object) -> None:
    files: Files = {"ada.ipynb": b"A", "bob.ipynb": (b"B", (1980, 1, 1, 0, 0, 0))}
    assert all(one.changed for one in take(pack, files).taken)
    into = pack[1].parent / "submitted"  # type: ignore[index]
    before = {path: path.stat() for path in into.rglob("*")}
    again = take(pack, files)
    assert [one.changed for one in again.taken] == [False, False]
    assert again.untimed == ("bob",)
    assert {path: path.stat() for path in into.rglob("*")} == before


def test_a_newer_submission_of_the_course_stays(pack: object) -> None:
    take(pack, {"ada.ipynb": (b"new", (2026, 11, 16, 12, 0, 0))})
    intake = take(pack, {"ada.ipynb": (b"old", (2026, 11, 16, 11, 0, 0))})
    assert (intake.taken, tree(pack)) == ((), {"ada": b"new"})
    assert intake.older[0].student == "ada"
    assert "the course has one of 2026-11-16" in intake.older[0].reason
    intake = take(pack, {"ada.ipynb": (b"newest", (2026, 11, 16, 13, 0, 0))})
    assert (intake.taken[0].changed, tree(pack)) == (True, {"ada": b"newest"})


def test_a_new_notebook_without_a_time_does_not_keep_the_old_time(pack: object) -> None:
    take(pack, {"ada.ipynb": b"old"})
    undated: Files = {"ada.ipynb": (b"old", (1980, 1, 1, 0, 0, 0))}
    assert take(pack, undated).untimed == ()  # the same notebook: its time is known
    undated = {"ada.ipynb": (b"new", (1980, 1, 1, 0, 0, 0))}
    assert take(pack, undated).untimed == ("ada",)
    into = pack[1].parent / "submitted"  # type: ignore[index]
    assert sorted(path.name for path in (into / "ada" / HW).iterdir()) == [f"{HW}.ipynb"]


def test_a_table_corrects_the_time_of_what_is_there(pack: object, tmp_path: Path) -> None:
    take(pack, {"ada.ipynb": b"A"})
    times = table(tmp_path, "student,time\nada,2026-11-01T00:00Z\n")
    assert take(pack, {"ada.ipynb": b"A"}, times=times).taken[0].changed
    into = pack[1].parent / "submitted"  # type: ignore[index]
    assert submitted(into, HW)[0].time == datetime(2026, 11, 1)


def test_other_files_of_the_student_are_left(pack: object) -> None:
    into = pack[1].parent / "submitted"  # type: ignore[index]
    (into / "ada" / HW).mkdir(parents=True)
    (into / "ada" / HW / "data.csv").write_text("x")
    (into / "ada" / "note.txt").write_text("y")
    take(pack, {"ada.ipynb": b"A"})
    assert (into / "ada" / HW / "data.csv").read_text() == "x"
    assert (into / "ada" / "note.txt").read_text() == "y"
    assert not list(into.glob(".*"))


KILLED = """
import os, sys
from datetime import datetime
from pathlib import Path
from autograder.intake.tree import store

calls = iter(range(100))
def die(event, _):
    if event in ("os.rename", "os.remove", "open") and next(calls) == int(sys.argv[2]):
        os._exit(9)
sys.addaudithook(die)
store(Path(sys.argv[1]), "ada", "hw2-smo", b"new", datetime(2026, 11, 20), sure=False)
"""


def test_a_crash_never_leaves_a_notebook_with_the_time_of_another(tmp_path: Path) -> None:
    """Die before each change of the disk: what is left is old, new, or without a time."""
    states, step, status = set(), 0, 9
    while status:
        into = tmp_path / str(step) / "into"
        old, new = datetime(2026, 11, 10), datetime(2026, 11, 20)
        source = make_zip(into.parent.with_suffix(".old"), {"ada.ipynb": b"old"})
        times = table(tmp_path, "student,time\nada,2026-11-10T00:00Z\n")
        take_in(source, into, HW, ROSTER, times=times)
        command = [sys.executable, "-c", KILLED, str(into), str(step)]
        status = subprocess.run(command, check=False).returncode
        [found] = submitted(into, HW)
        states.add((read(found), found.time))
        again = make_zip(into.parent.with_suffix(".new"), {"ada.ipynb": b"new"})
        times = table(tmp_path, "student,time\nada,2026-11-20T00:00Z\n")
        take_in(again, into, HW, ROSTER, times=times)  # and the next run mends it
        assert [(read(one), one.time) for one in submitted(into, HW)] == [(b"new", new)]
        step += 1
    assert states == {(b"old", old), (b"old", None), (b"new", None), (b"new", new)}


def test_runs_at_the_same_time_never_mix_notebook_and_time(tmp_path: Path) -> None:
    """Two programs store by turns; whenever neither is at it, notebook and time belong together."""
    program = (
        "import sys; from pathlib import Path; from datetime import datetime\n"
        "from autograder.intake.tree import store\n"
        "for k in range(300):\n"
        "    n = 2 * k + int(sys.argv[2])\n"
        "    moment = datetime.fromtimestamp(1_800_000_000 + n)\n"
        "    store(Path(sys.argv[1]), 'ada', 'hw2-smo', b'%d' % n, moment, sure=False)\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(k)]) for k in (0, 1)
    ]
    looks = 0
    while None in (statuses := [run.poll() for run in runs]) or not looks:
        folder = os.open(tmp_path, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        for found in submitted(tmp_path, HW):
            looks += 1
            assert found.time == datetime.fromtimestamp(1_800_000_000 + int(read(found)))
        os.close(folder)
    assert statuses == [0, 0]
