"""Hostile zips and folders: each bad file is refused alone, and nothing is written elsewhere."""

from __future__ import annotations

import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.intake import Intake, take_in
from autograder.intake.archives import MAX_DIRECTORY, MAX_MEMBERS
from autograder.intake.below import IntakeError
from autograder.intake.roster import Person, Roster
from autograder.intake.submissions import read, submitted
from autograder.notebook import MAX_BYTES

HW = "hw2-smo"
ROSTER = Roster((Person("ada", "Ada", "Lovelace", "17"), Person("bob"), Person("eve")))
GOOD = {"bob.ipynb": b"good"}
ENTRY = b"PK\x01\x02"  # a member in the table of contents
HEADER = b"PK\x03\x04"  # a member at its place
DATE = (2026, 11, 16, 12, 0, 0)


def info(name: str, **attributes: object) -> zipfile.ZipInfo:
    one = zipfile.ZipInfo(name, DATE)
    one.compress_type = zipfile.ZIP_DEFLATED
    for key, value in attributes.items():
        setattr(one, key, value)
    return one


def make_zip(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(info(name) if isinstance(name, str) else name, data)
        for name, data in GOOD.items():
            archive.writestr(info(name), data)
    return path


def forge(path: Path, name: str, change: Callable[[bytearray, int, int], None]) -> None:
    """Change the entries of a member in place: ``change(data, entry, header)``."""
    data = bytearray(path.read_bytes())
    raw = name.encode()
    entry, header = data.index(ENTRY), data.index(HEADER)
    while data[entry + 46 : entry + 46 + len(raw)] != raw:
        entry = data.index(ENTRY, entry + 1)
    while data[header + 30 : header + 30 + len(raw)] != raw:
        header = data.index(HEADER, header + 1)
    change(data, entry, header)
    path.write_bytes(data)


def check_good(path: Path, into: Path, roster: Roster = ROSTER) -> Intake:
    """Take in and see that the good notebook got through and nothing else did."""
    intake = take_in(path, into, HW, roster)
    assert {one.student: read(one) for one in submitted(into, HW)} == {"bob": b"good"}
    assert [one.name for one in into.iterdir()] == ["bob"]
    return intake


def the_refused(path: Path, into: Path) -> tuple[str, str | None]:
    [refused] = check_good(path, into).refused
    return refused.reason, refused.student


@pytest.mark.parametrize(
    ("name", "why", "student"),
    [
        ("../eve.ipynb", "leads elsewhere", None),
        ("eve/../../eve.ipynb", "leads elsewhere", None),
        ("eve/./x.ipynb", "leads elsewhere", None),
        ("eve//x.ipynb", "leads elsewhere", None),
        ("/tmp/eve.ipynb", "is absolute", None),
        ("/eve.ipynb", "is absolute", None),
        ("//host/eve.ipynb", "is absolute", None),
        ("C:/eve.ipynb", "is absolute", None),
        ("c:eve.ipynb", "is absolute", None),
        ("..\\eve.ipynb", "backslash", None),
        ("eve\\eve.ipynb", "backslash", None),
        ("eve\0.ipynb", "control characters", None),
        ("eve.ipynb\0.png", "control characters", None),
        ("eve\n.ipynb", "control characters", None),
        ("eve\x1b[2J.ipynb", "control characters", None),
        ("eve\u202ebnyp.ipynb", "control characters", None),
        ("x" * 300 + ".ipynb", "longer than 255", None),
        ("eve/" + "x" * 300 + ".ipynb", "longer than 255", "eve"),
        ("ä" * 130 + ".ipynb", "longer than 255", None),
        ("x/" * 600 + "eve.ipynb", "longer than 255", None),
        ("Ada Lovelace_8_assignsubmission_file_/../../x.ipynb", "leads elsewhere", "ada"),
        ("lovelaceada_17_3_x\n.ipynb", "control characters", "ada"),
    ],
)
def test_paths_that_lead_elsewhere_are_refused(
    tmp_path: Path, name: str, why: str, student: str | None
) -> None:
    one = info("x")
    one.filename = one.orig_filename = name  # as it is, with NUL and all
    reason, who = the_refused(make_zip(tmp_path / "x.zip", (one, b"evil")), tmp_path / "into")
    assert why in reason
    assert who == student
    assert sorted(path.name for path in tmp_path.iterdir()) == ["into", "x.zip"]


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (stat.S_IFLNK, "a symbolic link"),
        (stat.S_IFIFO, "a pipe"),
        (stat.S_IFCHR, "a device"),
        (stat.S_IFBLK, "a device"),
        (stat.S_IFSOCK, "a socket"),
        (stat.S_IFDIR, "a folder"),
    ],
)
@pytest.mark.parametrize("system", [0, 3])
def test_special_members_are_refused(tmp_path: Path, kind: int, word: str, system: int) -> None:
    one = info("eve.ipynb", external_attr=(kind | 0o777) << 16, create_system=system)
    reason, who = the_refused(make_zip(tmp_path / "x.zip", (one, b"/etc/passwd")), tmp_path / "i")
    assert reason == f"it is {word}, not a file; hand in the .ipynb file itself"
    assert who == "eve"


def test_a_link_in_place_of_a_students_folder_is_told_whose(tmp_path: Path) -> None:
    one = info("eve", external_attr=(stat.S_IFLNK | 0o777) << 16)
    assert the_refused(make_zip(tmp_path / "x.zip", (one, b"../bob")), tmp_path / "i")[1] == "eve"


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x41])
def test_encrypted_members_are_refused(tmp_path: Path, flag: int) -> None:
    path = make_zip(tmp_path / "x.zip", ("eve.ipynb", b"secret"))

    def encrypt(data: bytearray, entry: int, header: int) -> None:
        data[entry + 8] |= flag
        data[header + 6] |= flag

    forge(path, "eve.ipynb", encrypt)
    reason, who = the_refused(path, tmp_path / "into")
    assert reason == "it is encrypted; hand in the .ipynb file without a password"
    assert who == "eve"


@pytest.mark.parametrize("name", ["eve.zip", "eve.ZIP", "eve/x.tar.gz", "eve.7z", "eve/y.rar"])
def test_archives_in_the_archive_are_not_opened(tmp_path: Path, name: str) -> None:
    inner = make_zip(tmp_path / "inner.zip", ("eve.ipynb", b"hidden"))
    path = make_zip(tmp_path / "x.zip", (name, inner.read_bytes()))
    reason, who = the_refused(path, tmp_path / "into")
    assert reason.endswith("hand in the .ipynb file itself")
    assert who == "eve"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_all_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", *(("eve.ipynb", b"%d" % k) for k in range(3)))
    intake = check_good(path, tmp_path / "into")
    assert [one.student for one in intake.refused] == ["eve"] * 3
    assert "3 files of this name" in intake.refused[0].reason


def test_a_broken_checksum_is_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", (info("eve.ipynb", compress_type=0), b"contents"))
    path.write_bytes(path.read_bytes().replace(b"contents", b"Contents"))
    reason, who = the_refused(path, tmp_path / "into")
    assert "it is damaged in the archive (Bad CRC-32" in reason
    assert who == "eve"


def test_broken_compressed_data_are_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", ("eve.ipynb", os.urandom(3000)))

    def damage(data: bytearray, entry: int, header: int) -> None:
        data[header + 39] = 0xFF

    forge(path, "eve.ipynb", damage)
    assert "it is damaged in the archive" in the_refused(path, tmp_path / "into")[0]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 99])
def test_methods_without_a_limit_are_refused(tmp_path: Path, method: int) -> None:
    path = make_zip(tmp_path / "x.zip", ("eve.ipynb", b"x"))
    forge(path, "eve.ipynb", lambda data, at, _: struct.pack_into("<H", data, at + 10, method))
    assert f"compressed by method {method}" in the_refused(path, tmp_path / "into")[0]


def test_a_name_that_differs_at_its_place_is_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", ("eve.ipynb", b"x"))

    def rename(data: bytearray, entry: int, header: int) -> None:
        data[header + 30 : header + 33] = b"ada"

    forge(path, "eve.ipynb", rename)
    assert "it is damaged in the archive (File name in" in the_refused(path, tmp_path / "into")[0]


@pytest.mark.parametrize("declared", [1, 10, 99, 101, 5000, MAX_BYTES])
def test_a_member_of_another_size_than_declared_is_refused(tmp_path: Path, declared: int) -> None:
    data = os.urandom(50) + b"x" * 50
    path = make_zip(tmp_path / "x.zip", ("eve.ipynb", data))

    def lie(raw: bytearray, entry: int, header: int) -> None:
        struct.pack_into("<I", raw, entry + 24, declared)
        struct.pack_into("<I", raw, entry + 16, zlib.crc32(data[:declared]))  # a lie that fits

    forge(path, "eve.ipynb", lie)
    reason, who = the_refused(path, tmp_path / "into")
    assert "bytes than the" in reason or "Bad CRC" in reason
    assert who == "eve"


BOMB = """
import resource, sys
from pathlib import Path
from autograder.intake import take_in
from autograder.intake.roster import Person, Roster
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
intake = take_in(Path(sys.argv[1]), Path(sys.argv[2]), "hw2-smo",
                 Roster(tuple(map(Person, ("bob", "eve", "ada")))))
print([one.reason for one in intake.refused])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_bombs_are_refused_in_bounded_memory(tmp_path: Path) -> None:
    """One says what it is, one lies: 500 MB in 500 kB each."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    million = b"\0" * 1_000_000
    bomb = b"".join(packer.compress(million) for _ in range(500)) + packer.flush()
    path = make_zip(
        tmp_path / "x.zip",
        (info("eve.ipynb", compress_type=0), bomb),
        (info("ada.ipynb", compress_type=0), bomb),
    )

    def declare(size: int) -> Callable[[bytearray, int, int], None]:
        def change(data: bytearray, entry: int, header: int) -> None:
            struct.pack_into("<H", data, entry + 10, zipfile.ZIP_DEFLATED)
            struct.pack_into("<I", data, entry + 24, size)

        return change

    forge(path, "eve.ipynb", declare(500_000_000))
    forge(path, "ada.ipynb", declare(1000))
    done = subprocess.run(
        [sys.executable, "-c", BOMB, str(path), str(tmp_path / "into")],
        capture_output=True,
        text=True,
        check=True,
    )
    reasons, growth = done.stdout.splitlines()
    assert "the file has 500,000,000 bytes" in reasons
    assert "more bytes than the 1,000" in reasons
    assert int(growth) < 30_000  # kB
    assert [one.student for one in submitted(tmp_path / "into", HW)] == ["bob"]


def test_a_notebook_may_have_as_many_bytes_as_are_read(tmp_path: Path) -> None:
    data = {"eve.ipynb": bytes(MAX_BYTES), "ada.ipynb": bytes(MAX_BYTES + 1)}
    intake = take_in(make_zip(tmp_path / "x.zip", *data.items()), tmp_path / "into", HW, ROSTER)
    assert [one.student for one in intake.taken] == ["bob", "eve"]
    assert "clear the outputs" in intake.refused[0].reason


def test_too_many_bytes_in_all_are_an_error_before_anything_is_written(tmp_path: Path) -> None:
    people = tuple(Person(f"s{k}") for k in range(201))
    path = make_zip(tmp_path / "x.zip", *((f"s{k}.ipynb", b"x") for k in range(201)))
    raw = bytearray(path.read_bytes())
    at = raw.find(ENTRY)
    while at >= 0:
        struct.pack_into("<I", raw, at + 24, MAX_BYTES)
        at = raw.find(ENTRY, at + 1)
    path.write_bytes(raw)
    with pytest.raises(IntakeError, match=r"4,020,000,000 bytes together.*split it"):
        take_in(path, tmp_path / "into", HW, Roster(people))
    assert not (tmp_path / "into").exists()


def test_too_many_members_are_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for k in range(MAX_MEMBERS + 1):
            archive.writestr(f"{k}.txt", b"")
    with pytest.raises(IntakeError, match="more than 20,000 files"):
        take_in(tmp_path / "x.zip", tmp_path / "into", HW, ROSTER)


def test_a_table_of_contents_without_end_is_not_read_into_memory(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip")
    data = path.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    size, start = struct.unpack_from("<II", data, end + 12)
    with path.open("wb") as file:
        file.write(data[: start + size])
        file.seek(2_000_000_000)  # a hole
        file.write(data[end:])
        file.seek(2_000_000_000 + 12)
        file.write(struct.pack("<II", 2_000_000_000 - start, start))
    with pytest.raises(IntakeError, match=f"directory has more than {MAX_DIRECTORY:,} bytes"):
        take_in(path, tmp_path / "into", HW, ROSTER)


def test_a_file_that_is_no_zip_is_an_error_that_says_so(tmp_path: Path) -> None:
    whole = make_zip(tmp_path / "x.zip", ("eve.ipynb", bytes(1000))).read_bytes()
    for k, data in enumerate([b"", b"hello", whole[:-30], whole[:40], whole[20:60]]):
        path = tmp_path / f"{k}.zip"
        path.write_bytes(data)
        with pytest.raises(IntakeError, match="cannot be read as a zip file"):
            take_in(path, tmp_path / "into", HW, ROSTER)
    with pytest.raises(IntakeError, match="there is no"):
        take_in(tmp_path / "missing.zip", tmp_path / "into", HW, ROSTER)
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(IntakeError, match="neither a folder nor a zip"):
        take_in(tmp_path / "pipe.zip", tmp_path / "into", HW, ROSTER)
    assert not (tmp_path / "into").exists()


def test_another_good_notebook_of_the_student_counts(tmp_path: Path) -> None:
    files = [("eve/old.ipynb", b"old"), (info("eve/new.ipynb", compress_type=0), b"contents")]
    files[1][0].date_time = (2026, 11, 17, 0, 0, 0)  # type: ignore[union-attr]
    path = make_zip(tmp_path / "x.zip", *files, ("eve.zip", b"PK"))
    path.write_bytes(path.read_bytes().replace(b"contents", b"Contents"))
    intake = take_in(path, tmp_path / "into", HW, ROSTER)
    assert [(one.student, one.origin) for one in intake.taken][1] == ("eve", "eve/old.ipynb")
    assert [one.student for one in intake.refused] == [None, None]
    assert intake.refused[1].reason.endswith("; another notebook of eve counts")


def test_a_refused_file_leaves_the_notebook_that_the_course_has(tmp_path: Path) -> None:
    first = make_zip(tmp_path / "1.zip", ("eve.ipynb", b"good"))
    take_in(first, tmp_path / "into", HW, ROSTER)
    second = make_zip(tmp_path / "2.zip", ("eve.zip", b"PK"))
    intake = take_in(second, tmp_path / "into", HW, ROSTER)
    assert [one.student for one in intake.refused] == [None]
    assert [one.student for one in submitted(tmp_path / "into", HW)] == ["bob", "eve"]


def make_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "bob.ipynb").write_bytes(b"good")
    return folder


def test_files_of_a_folder_that_are_not_regular_are_refused_and_nothing_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.ipynb").write_bytes(b"secret")
    (folder / "eve.ipynb").symlink_to(outside / "x.ipynb")
    (folder / "ada").symlink_to(outside)
    (folder / "eve").mkdir()
    (folder / "eve" / "loop").symlink_to(folder)
    os.mkfifo(folder / "eve" / "pipe.ipynb")
    (folder / "eve" / "folder.ipynb").mkdir()
    monkeypatch.chdir(folder / "eve")  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.ipynb")
        intake = check_good(folder, tmp_path / "into")
    refused = {one.origin: (one.reason.split(",")[0], one.student) for one in intake.refused}
    assert refused == {
        "eve.ipynb": ("it is a symbolic link", "eve"),
        "ada": ("it is a symbolic link", "ada"),
        "eve/loop": ("it is a symbolic link", "eve"),
        "eve/pipe.ipynb": ("it is a pipe", "eve"),
        "eve/folder.ipynb": ("it is a folder", "eve"),
        "eve/socket.ipynb": ("it is a socket", "eve"),
    }


def test_odd_names_in_a_folder_are_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    names = [b"eve\n.ipynb", b"eve\xff.ipynb", b"C:eve.ipynb", b"..\\eve.ipynb"]
    for name in names:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).touch()
    intake = check_good(folder, tmp_path / "into")
    assert len(intake.refused) == 4
    assert all(str(one).isprintable() for one in intake.refused)


if os.geteuid() == 0:

    def test_devices_in_a_folder_are_refused(tmp_path: Path) -> None:
        folder = make_folder(tmp_path)
        os.mknod(folder / "eve.ipynb", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        [refused] = check_good(folder, tmp_path / "into").refused
        assert refused.reason.startswith("it is a device")

else:

    def test_what_we_may_not_read_in_a_folder_is_refused(tmp_path: Path) -> None:
        folder = make_folder(tmp_path)
        (folder / "eve.ipynb").write_bytes(b"x")
        (folder / "eve.ipynb").chmod(0)
        (folder / "ada").mkdir(mode=0)
        refused = check_good(folder, tmp_path / "into").refused
        assert {one.student for one in refused} == {"ada", "eve"}
        assert all("Permission denied" in one.reason for one in refused)


def test_a_folder_of_too_many_files_is_an_error(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    for k in range(MAX_MEMBERS):
        (folder / f"{k}").touch()
    with pytest.raises(IntakeError, match="more than 20,000 files"):
        take_in(folder, tmp_path / "into", HW, ROSTER)


def test_the_course_itself_is_not_taken_in(tmp_path: Path) -> None:
    into = tmp_path / "course" / "submitted"
    into.mkdir(parents=True)
    (tmp_path / "link").symlink_to(into)
    for path in (into, into.parent, tmp_path / "link"):
        with pytest.raises(IntakeError, match="the course's own folder"):
            take_in(path, into, HW, ROSTER)


@pytest.mark.parametrize("depth", [1, 2])
def test_links_in_the_tree_are_not_written_through(tmp_path: Path, depth: int) -> None:
    into, outside = tmp_path / "into", tmp_path / "outside"
    outside.mkdir()
    target = into / "/".join(["eve", HW][:depth])
    target.parent.mkdir(parents=True)
    target.symlink_to(outside)
    intake = take_in(make_zip(tmp_path / "x.zip", ("eve.ipynb", b"x")), into, HW, ROSTER)
    assert "is a symbolic link where a folder is expected" in intake.refused[0].reason
    assert list(outside.iterdir()) == []
    assert [one.student for one in intake.taken] == ["bob"]


def test_a_link_or_pipe_in_place_of_the_notebook_is_replaced(tmp_path: Path) -> None:
    into, outside = tmp_path / "into", tmp_path / "outside"
    outside.write_bytes(b"untouched")
    for student in ("eve", "ada"):
        (into / student / HW).mkdir(parents=True)
    (into / "eve" / HW / f"{HW}.ipynb").symlink_to(outside)
    (into / "eve" / HW / "timestamp.txt").symlink_to(outside)
    os.mkfifo(into / "ada" / HW / f"{HW}.ipynb")
    files = {"eve.ipynb": b"E", "ada.ipynb": b"A"}
    take_in(make_zip(tmp_path / "x.zip", *files.items()), into, HW, ROSTER)
    found = {one.student: read(one) for one in submitted(into, HW)}
    assert found == {"eve": b"E", "ada": b"A", "bob": b"good"}
    assert outside.read_bytes() == b"untouched"


def test_a_folder_in_place_of_the_notebook_is_refused(tmp_path: Path) -> None:
    into = tmp_path / "into"
    (into / "eve" / HW / f"{HW}.ipynb").mkdir(parents=True)
    intake = take_in(make_zip(tmp_path / "x.zip", ("eve.ipynb", b"x")), into, HW, ROSTER)
    assert intake.refused[0].reason == f"in the course, {HW}.ipynb is a folder; remove it"


PARTS = st.sampled_from(["", " ", "Ada Lovelace", "x" * 300]) | st.sampled_from(
    f"eve ada bob .. . / \\ C: \0 \n {HW} {HW}.ipynb _17_3_ .ipynb .zip .pdf __MACOSX /../ // ~ -1 "
    "_8_assignsubmission_file_ timestamp.txt submitted é \u202e .part 😀".split(" ")
)
NAMES = st.one_of(
    st.lists(PARTS, min_size=1, max_size=6).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
).filter(lambda name: not name.endswith("/"))  # folders are no files


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(NAMES, max_size=8), st.booleans())
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_whatever_the_names_nothing_leaves_the_tree_and_every_file_is_accounted_for_once(
    names: list[str], add: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        into = place / "course" / "submitted"
        into.mkdir(parents=True)
        members = []
        for k, name in enumerate(names):
            one = info("x")
            one.filename = one.orig_filename = name
            members.append((one, b"%d" % k))
        path = make_zip(place / "x.zip", *members)
        intake = take_in(path, into, HW, Roster(ROSTER.people, add=add))

        assert {one.name for one in place.iterdir()} == {"course", "x.zip"}
        assert {one.name for one in (place / "course").iterdir()} == {"submitted"}
        files = {one.relative_to(into) for one in into.rglob("*") if not one.is_dir()}
        wanted = {Path(one.student) / HW / f"{HW}.ipynb" for one in intake.taken}
        assert files == wanted | {one.parent / "timestamp.txt" for one in wanted}
        assert {one.student for one in submitted(into, HW)} == {o.student for o in intake.taken}

        lists = (intake.taken, intake.older, intake.unknown, intake.refused)
        seen = Counter(one.origin for some in lists for one in some) + Counter(intake.ignored)
        assert seen.total() == len(names) + len(GOOD)
        assert all(origin.isprintable() for origin in seen)
        assert not {one.student for one in intake.refused} & {one.student for one in intake.taken}
