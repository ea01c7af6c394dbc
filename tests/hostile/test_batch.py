"""Cases 30 and 41 to 43: whole runs that are killed, locked out, starved or doubled."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hostile.case import HOMEWORK
from hostile.machine import Finished, Place, Watcher, hashes, reaping
from hostile.small_class import hand_in_slow, results, wait_for, workers


def test_grading_again_gives_the_same_verdicts(classroom: Place, undisturbed: dict[str, Any]):
    first = classroom.grade(HOMEWORK)
    assert results(classroom.course) == undisturbed
    before = hashes(classroom.course / "autograded")
    for options, taken_over in ((["--force"], False), ([], True)):
        second = classroom.grade(HOMEWORK, *options)
        assert results(classroom.course) == undisturbed
        assert hashes(classroom.course / "autograded") == before
        for row in first.json["submissions"]:
            again = second.row(row["student"])
            assert (again["status"], again["points"]) == (row["status"], row["points"])
            assert again["taken_over"] is (taken_over and row["status"] != "REJECTED")


@pytest.mark.parametrize("moment", ["judging", "recorded"])
def test_a_killed_run_is_resumed(moment: str, classroom: Place, undisturbed: dict[str, Any]):
    folder = classroom.course / ".autograder" / "reports"
    hand_in_slow(classroom, 0 if moment == "judging" else 3)
    with reaping() as survivors:
        process = classroom.start(*classroom.grading(HOMEWORK))
        if moment == "judging":
            wait_for(lambda: workers(process.pid))
        else:
            wait_for(lambda: list(folder.rglob("*.json")))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL  # else it was done already
        assert survivors() == []
    finished = classroom.grade(HOMEWORK)
    assert finished.code == 0, finished.err
    found = results(classroom.course)
    for kind in ("gradebook", "reports"):
        slow = {name: found[kind].pop(name) for name in list(found[kind]) if "slow" in name}
        assert len(slow) == (0 if moment == "judging" else 3)
    assert found == undisturbed
    handed_out = {path.name for path in (classroom.course / "autograded").glob("*/*/*")}
    assert handed_out == {f"{HOMEWORK}.ipynb", "timestamp.txt"}


def test_a_killed_worker_is_replaced(classroom: Place, undisturbed: dict[str, Any]):
    with reaping() as survivors:
        process = classroom.start(*classroom.grading(HOMEWORK))
        wait_for(lambda: workers(process.pid))
        os.kill(workers(process.pid)[0], signal.SIGKILL)
        out, err = Watcher(process).wait()
        assert survivors() == []
    assert process.returncode == 0, err.decode()
    assert "INTERNAL" not in json.loads(out)["counts"]
    assert results(classroom.course) == undisturbed


def test_a_locked_gradebook_is_waited_for(classroom: Place, undisturbed: dict[str, Any]):
    url = f"file:{classroom.course}/gradebook.db?mode=rw"
    folder = classroom.course / ".autograder" / "reports"
    with contextlib.closing(sqlite3.connect(url, uri=True, isolation_level=None)) as other:
        process = classroom.start(*classroom.grading(HOMEWORK))
        wait_for(lambda: workers(process.pid))
        other.execute("BEGIN IMMEDIATE")  # others may read, nobody else may write
        wait_for(lambda: list(folder.rglob("*.json")))  # files come first, then the gradebook
        time.sleep(8.0)  # longer than sqlite itself would wait
        assert process.poll() is None
        other.execute("ROLLBACK")
    _, err = Watcher(process).wait()
    assert process.returncode == 0, err.decode()
    assert results(classroom.course) == undisturbed


# Inside: a course on a disk of its own, filled to the brim but for $3 KB, then with room again.
FULL_DISK = """\
set -u
cp -a "$1/." "$2"
dd if=/dev/zero of="$2/filler" bs=1k status=none
dd if=/dev/null of="$2/filler" bs=1k seek=$(($(stat -c %s "$2/filler") / 1024 - $3)) status=none
shift 3
"$@" >"$OUT/full.out" 2>"$OUT/full.err"
echo $? >"$OUT/full.code"
rm "$COURSE/filler"
"$@" >"$OUT/free.out" 2>"$OUT/free.err"
echo $? >"$OUT/free.code"
cp -a "$COURSE/gradebook.db" "$COURSE/.autograder" "$OUT"
"""


@pytest.mark.parametrize("kilobytes", [40])  # room for some reports, and not for all
def test_a_full_disk_loses_nothing(kilobytes: int, classroom: Place, undisturbed: dict[str, Any]):
    source, out = classroom.folder / "class", classroom.folder / "out"
    classroom.course.rename(source)
    for folder in (classroom.course, out):
        folder.mkdir()
    warm = classroom.folder / "warm.py"  # the sandbox's own files stand elsewhere
    warm.write_text("from autograder.sandbox.kit import kit; kit()", encoding="utf-8")
    classroom.give_away()
    assert classroom.run(str(warm)).code == 0
    disk = ["bwrap", "--dev-bind", "/", "/", "--size", "4000000", "--tmpfs", str(classroom.course)]
    disk += ["--cap-add", "ALL"] if classroom.user == "root" else []
    script = ["sh", "-c", FULL_DISK, "sh", str(source), str(classroom.course), str(kilobytes)]
    finished = classroom.run(
        *classroom.grading(HOMEWORK),
        within=[*disk, *script],
        environment={"OUT": str(out), "COURSE": str(classroom.course)},
    )
    assert finished.left == []
    said = {path.name: path.read_text(encoding="utf-8") for path in out.glob("f*.*")}
    assert said["full.code"].strip() in ("1", "2"), finished.err
    assert "Traceback" not in said["full.err"]
    assert "space" in said["full.err"] or "full" in said["full.err"]
    assert said["free.code"].strip() == "0", said["free.err"]
    assert results(out) == undisturbed


def test_two_runs_at_once_are_as_one_after_the_other(classroom: Place, undisturbed: dict[str, Any]):
    with reaping() as survivors:
        both = [classroom.start(*classroom.grading(HOMEWORK)) for _ in range(2)]
        said = [Watcher(process).wait() for process in both]
        assert survivors() == []
    assert [process.returncode for process in both] == [0, 0], said
    tables = [
        {row["student"]: (row["status"], row["points"]) for row in json.loads(out)["submissions"]}
        for out, _ in said
    ]
    assert tables[0] == tables[1]
    assert results(classroom.course) == undisturbed


@contextlib.contextmanager
def without_bubblewrap(place: Place) -> Iterator[str]:
    """Give a search path on which everything is but bubblewrap."""
    folder = place.folder / "programs"
    folder.mkdir()
    for path in place.environment()["PATH"].split(":")[1:]:
        for program in Path(path).iterdir() if Path(path).is_dir() else ():
            if program.name != "bwrap" and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    yield f"{Path(sys.executable).parent}:{folder}"


def assert_refused(finished: Finished, place: Place, before: dict[str, str]) -> None:
    assert finished.code == 2, finished.err
    assert "Traceback" not in finished.err
    assert finished.out == ""
    assert hashes(place.course) == before


def test_without_bubblewrap_nothing_is_graded(classroom: Place):
    before = hashes(classroom.course)
    with without_bubblewrap(classroom) as path:
        finished = classroom.grade(HOMEWORK, environment={"PATH": path})
    assert_refused(finished, classroom, before)
    assert "bubblewrap" in finished.err
    assert "apt-get install bubblewrap" in finished.err


def test_without_bubblewrap_unsafe_must_be_asked_for(classroom: Place, undisturbed: dict[str, Any]):
    with without_bubblewrap(classroom) as path:
        finished = classroom.grade(HOMEWORK, "--unsafe", environment={"PATH": path})
    assert finished.code == 0, finished.err
    assert "WITHOUT A SANDBOX" in finished.err
    assert results(classroom.course)["gradebook"] == undisturbed["gradebook"]


def without_namespaces(user: str) -> Sequence[str]:
    """Return a program within which no namespace can be made."""
    if user == "root":
        return ["setpriv", "--bounding-set", "-sys_admin"]
    return ["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/"]


def test_where_namespaces_are_forbidden_nothing_is_graded(classroom: Place):
    before = hashes(classroom.course)
    finished = classroom.grade(HOMEWORK, within=without_namespaces(classroom.user))
    assert_refused(finished, classroom, before)
    assert "sandbox" in finished.err
    assert "amespace" in finished.err
