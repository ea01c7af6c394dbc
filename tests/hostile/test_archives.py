"""Cases 35 and 36: names that lead elsewhere, and archives made to hurt."""

from __future__ import annotations

import os
import stat
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.case import HOMEWORK
from hostile.classroom import traces
from hostile.machine import Finished, Place, hashes, open_place, users

from autograder.sample import dump, fill
from autograder.sources import reference_functions

ESCAPED = "svmlab-hostile-file"  # what must be nowhere afterwards
ZEROS = 200_000_000

# Names that are no place in an archive, as they are shown in the list of what was refused.
NAMES = {
    f"../../{ESCAPED}.ipynb": f"../../{ESCAPED}.ipynb",
    f"ada/../../{ESCAPED}.ipynb": f"ada/../../{ESCAPED}.ipynb",
    f"/tmp/{ESCAPED}.ipynb": f"/tmp/{ESCAPED}.ipynb",
    f"C:\\{ESCAPED}.ipynb": f"C:\\{ESCAPED}.ipynb",
    f"{ESCAPED}\0.ipynb": f"{ESCAPED}\\x00.ipynb",
    f"{ESCAPED}\n.ipynb": f"{ESCAPED}\\n.ipynb",
    f"{'x' * 300}.ipynb": "x" * 150,
    f"{'x' * 300}/{HOMEWORK}.ipynb": "x" * 150,
    f"../{ESCAPED}/{HOMEWORK}/{HOMEWORK}.ipynb": f"../{ESCAPED}",
    f"./{ESCAPED}.ipynb": f"./{ESCAPED}",
}


def notebook(place: Place) -> bytes:
    released = (place.course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
    return dump(fill(released, reference_functions(HOMEWORK)))


def add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int = stat.S_IFREG | 0o644) -> None:
    """Add a member under whatever name."""
    info = zipfile.ZipInfo("x", (2025, 1, 10, 12, 0, 0))
    info.filename, info.external_attr = name, mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data)


def hostile_zip(path: Path, right: bytes) -> None:
    """Make a zip with one good member among bad ones of every kind."""
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")  # of a name that is there twice
        add(archive, f"good/{HOMEWORK}.ipynb", right)
        for name in NAMES:
            add(archive, name, right)
        add(archive, f"link/{HOMEWORK}.ipynb", b"/etc/passwd", stat.S_IFLNK | 0o777)
        add(archive, f"device/{HOMEWORK}.ipynb", b"", stat.S_IFCHR | 0o666)
        add(archive, f"twice/{HOMEWORK}.ipynb", right)
        add(archive, f"twice/{HOMEWORK}.ipynb", right.replace(b"return", b"return 0 *"))
        add(archive, f"encrypted/{HOMEWORK}.ipynb", right)
        archive.filelist[-1].flag_bits |= 1
        add(archive, f"bomb/{HOMEWORK}.ipynb", bytes(ZEROS))
        add(archive, f"liar/{HOMEWORK}.ipynb", bytes(ZEROS))
        archive.filelist[-1].file_size = 1000  # what the directory of the zip says
        nested = path.with_name("nested.zip")
        with zipfile.ZipFile(nested, "w") as inner:
            add(inner, f"{HOMEWORK}.ipynb", right)
        add(archive, "nested/work.zip", nested.read_bytes())
        nested.unlink()
        # A second name for a folder of the course: nobody is called so.
        add(archive, f"..\\..\\source/{HOMEWORK}.ipynb", right)


BY_NAME = ("link", "device", "twice", "encrypted", "bomb", "liar", "nested")


@pytest.fixture(scope="module", params=users())
def taken_in(
    request: pytest.FixtureRequest, template: Path, shared: Path
) -> Iterator[tuple[Place, Finished, dict[str, str]]]:
    """Take a hostile zip in, and grade."""
    with open_place(request.param, template, shared) as place:
        path = place.folder / "download" / "submissions.zip"
        path.parent.mkdir()
        hostile_zip(path, notebook(place))
        place.give_away()
        before = hashes(place.folder)
        yield place, place.grade(HOMEWORK, "--submissions", str(path)), before


def test_the_good_one_is_graded(taken_in: tuple[Place, Finished, dict[str, str]]):
    _, finished, _ = taken_in
    assert finished.code == 0, finished.err
    assert (finished.row("good")["status"], finished.row("good")["points"]) == ("OK", 10)


@pytest.mark.parametrize("name", NAMES, ids=[f"name-{k}" for k in range(len(NAMES))])
def test_a_name_that_leads_elsewhere_is_refused(
    name: str, taken_in: tuple[Place, Finished, dict[str, str]]
):
    refused = taken_in[1].json["refused"]
    assert any(NAMES[name] in line for line in refused), refused


@pytest.mark.parametrize("student", BY_NAME)
def test_a_member_that_cannot_be_trusted_is_rejected(
    student: str, taken_in: tuple[Place, Finished, dict[str, str]]
):
    place, finished, _ = taken_in
    row = finished.row(student)
    assert (row["status"], row["points"]) == ("REJECTED", 0)
    assert not (place.course / "submitted" / student / HOMEWORK / f"{HOMEWORK}.ipynb").exists()
    assert (place.course / ".autograder" / "reports" / HOMEWORK / f"{student}.json").exists()


def test_one_whose_only_file_was_refused_can_be_asked_for(
    taken_in: tuple[Place, Finished, dict[str, str]],
):
    place, _, _ = taken_in
    path = place.folder / "download" / "submissions.zip"
    finished = place.grade(HOMEWORK, "--submissions", str(path), "--students", "bomb")
    assert [row["student"] for row in finished.json["submissions"]] == ["bomb"]
    assert finished.row("bomb")["status"] == "REJECTED"


def test_nobody_else_is_graded(taken_in: tuple[Place, Finished, dict[str, str]]):
    assert {row["student"] for row in taken_in[1].json["submissions"]} == {"good", *BY_NAME}


def test_nothing_is_written_outside(taken_in: tuple[Place, Finished, dict[str, str]]):
    place, finished, before = taken_in
    assert traces(place) == []
    assert finished.left == []
    after = hashes(place.folder)
    allowed = (
        "course/submitted/good/",
        "course/autograded/",
        "course/.autograder/",
        "home/.cache/",
    )
    made = [name for name in after if name not in before and not name.startswith(allowed)]
    assert made == []
    changed = [name for name in before if after.get(name) != before[name]]
    assert changed == ["course/gradebook.db"]
    assert not list(place.folder.rglob(f"*{ESCAPED}*"))


def test_the_memory_for_a_zip_bomb_is_bounded(taken_in: tuple[Place, Finished, dict[str, str]]):
    assert taken_in[1].peak < ZEROS + 100_000_000


@pytest.mark.parametrize("data", [b"", b"no zip at all"], ids=["truncated", "no-zip"])
def test_a_broken_archive_changes_nothing_and_says_so(data: bytes, place: Place):
    path = place.folder / "submissions.zip"
    hostile_zip(path, notebook(place))
    path.write_bytes(data or path.read_bytes()[:5000])
    place.give_away()
    before = hashes(place.course)
    finished = place.grade(HOMEWORK, "--submissions", str(path))
    assert finished.code == 2
    assert "submissions.zip" in finished.err
    assert "Traceback" not in finished.err
    changed = set(hashes(place.course).items()) ^ set(before.items())
    assert {name for name, _ in changed} <= {".autograder/grading.lock"}


def test_a_folder_with_pipes_links_and_odd_names_is_read_with_care(place: Place):
    folder = place.folder / "download"
    folder.mkdir()
    (folder / "good.ipynb").write_bytes(notebook(place))
    os.mkfifo(folder / "pipe.ipynb")
    (folder / "linked.ipynb").symlink_to(place.course / ".autograder" / "secret")
    (folder / "loop").symlink_to(folder)
    (folder / "new\nline.ipynb").write_bytes(notebook(place))
    (folder / f"{'x' * 240}.ipynb").write_bytes(notebook(place))
    place.give_away()
    finished = place.grade(HOMEWORK, "--submissions", str(folder))
    assert finished.code == 0, finished.err
    rows = {row["student"]: row["status"] for row in finished.json["submissions"]}
    assert rows == {"good": "OK", "pipe": "REJECTED", "linked": "REJECTED", "loop": "REJECTED"}
    refused = "\n".join(finished.json["refused"])
    assert "new\\nline" in refused
    assert "x" * 150 in refused
    assert {path.name for path in (place.course / "submitted").iterdir()} == {"good"}
