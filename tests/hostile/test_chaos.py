"""Case 41 at scale: everything that can be killed, filled or locked is, and no grade is lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile.case import HOMEWORK
from hostile.dask_cluster import dask_cluster
from hostile.machine import Place, Watcher, open_place, reaping, users
from hostile.small_class import results, sandboxes, wait_for, workers

from autograder.sample import sample_class, write_class

LOCKED_SECONDS = 20.0
SLOW = ("hostile-endless-loop", "hostile-sleep")  # they take long, and nothing else


@pytest.fixture
def user() -> str:
    """Return who runs everything: not root where that can be helped."""
    return users()[-1]


def hand_in(place: Place, size: int) -> int:
    """Write a mixed class of a size; return how many there are."""
    released = (place.course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
    samples = sample_class(released, HOMEWORK, size)
    samples = [sample for sample in samples if not sample.student.startswith(SLOW)]
    write_class(samples, place.course / "submitted")
    place.give_away()
    return len(samples)


class Disturbed:
    """A course, and runs on it that are disturbed."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._reports = place.course / ".autograder" / "reports" / HOMEWORK

    def reports(self) -> int:
        """Return how many reports there are."""
        return len(list(self._reports.glob("*.json")))

    @contextlib.contextmanager
    def run(self, *options: str, ends: tuple[int, ...] = (0,), **more: Any) -> Iterator[int]:
        """Give the process of a run, and see how it ends."""
        process = self.place.start(*self.place.grading(HOMEWORK, *options), **more)
        yield process.pid
        _, err = Watcher(process).wait()
        assert process.returncode in ends, err.decode()

    def kill_main(self) -> None:
        """End a run as soon as it has recorded something."""
        before = self.reports()
        with self.run(ends=(-signal.SIGKILL,)) as pid:
            wait_for(lambda: self.reports() > before, 300)
            os.kill(pid, signal.SIGKILL)

    def kill_helpers(self) -> None:
        """End a pool worker, then a warm parent, in a run that goes on."""
        with self.run("--force") as pid:
            wait_for(lambda: workers(pid), 300)
            os.kill(workers(pid)[-1], signal.SIGKILL)
            time.sleep(1.0)
            wait_for(lambda: sandboxes(pid), 300)
            os.kill(max(sandboxes(pid)), signal.SIGKILL)

    def fill_the_disk(self) -> None:
        """Give the folder of the reports a disk that is soon full."""
        disk = ["bwrap", "--dev-bind", "/", "/", "--size", "65536", "--tmpfs", str(self._reports)]
        disk += ["--cap-add", "ALL"] if self.place.user == "root" else []
        with self.run(ends=(1, 2), within=disk):
            pass

    def lock_the_gradebook(self) -> None:
        """Keep writers out for a while."""
        url = f"file:{self.place.course}/gradebook.db?mode=rw"
        with contextlib.closing(sqlite3.connect(url, uri=True, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with self.run("--force") as pid:
                wait_for(lambda: workers(pid), 300)
                time.sleep(LOCKED_SECONDS)
                other.execute("ROLLBACK")

    def kill_a_dask_worker(self, elsewhere: Place) -> None:
        """End a worker of a cluster in the middle of a run that goes on."""
        with dask_cluster(elsewhere, 2) as cluster:
            options = ["--force", "--scheduler", cluster.address]
            with self.run(*options):
                wait_for(lambda: sandboxes(cluster.workers[0]), 300)
                os.kill(cluster.workers[0], signal.SIGKILL)


@pytest.mark.parametrize("size", [40, pytest.param(300, marks=pytest.mark.full)])
def test_after_chaos_the_gradebook_is_that_of_an_undisturbed_run(
    size: int, place: Place, template: Path, shared: Path, user: str
):
    with open_place(user, template, shared) as quiet:
        count = hand_in(quiet, size)
        finished = quiet.grade(HOMEWORK)
        assert finished.code == 0, finished.err
        expected = results(quiet.course)
        assert len(expected["gradebook"]) == len(expected["reports"]) == count
        hand_in(place, size)
        chaos = Disturbed(place)
        steps: list[Callable[[], None]] = [
            chaos.kill_main,
            chaos.kill_main,
            chaos.kill_helpers,
            chaos.fill_the_disk,
            chaos.lock_the_gradebook,
            lambda: chaos.kill_a_dask_worker(quiet),
        ]
        for step in steps:
            with reaping() as survivors:
                step()
                assert survivors() == []
    last = place.grade(HOMEWORK)
    assert last.code == 0, last.err
    assert sum(json.loads(last.out)["counts"].values()) == count
    assert results(place.course) == expected
