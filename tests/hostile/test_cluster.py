"""Grading on Dask: the same grades, without the secret, and whatever happens to a worker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile.case import HOMEWORK
from hostile.dask_cluster import Cluster, Recorder, dask_cluster, memory_holds, wait_until
from hostile.machine import Place, gradebook, open_place, users
from hostile.small_class import results

from autograder.seeds import fingerprint

PLAIN = {"DASK_DISTRIBUTED__COMM__COMPRESSION": "None"}  # so that messages can be read


@pytest.fixture
def user() -> str:
    """Return who runs the command and the workers: not root where that can be helped."""
    return users()[-1]


@pytest.fixture
def cluster(template: Path, shared: Path, user: str) -> Iterator[Cluster]:
    """Run two workers in a folder of their own, where no course is."""
    with open_place(user, template, shared) as elsewhere, dask_cluster(elsewhere, 2) as running:
        yield running


def test_workers_give_the_same_grades_and_never_learn_the_secret(
    classroom: Place, cluster: Cluster, undisturbed: dict[str, Any]
):
    recorder = Recorder(cluster.address)
    finished = classroom.grade(HOMEWORK, "--scheduler", recorder.address, environment=PLAIN)
    said = recorder.close()
    assert finished.code == 0, finished.err
    assert results(classroom.course) == undisturbed
    secret = (classroom.course / ".autograder" / "secret").read_bytes()
    known = fingerprint(secret).encode()  # goes into reports: the search below can find things
    assert known in said
    assert any(memory_holds(pid, known) for pid in cluster.workers)
    for form in (secret, secret.hex().encode()):
        assert form not in said
        for pid in [cluster.scheduler, *cluster.workers]:
            assert not memory_holds(pid, form)


def test_a_killed_worker_loses_nothing(
    classroom: Place, cluster: Cluster, undisturbed: dict[str, Any]
):
    process = classroom.start(*classroom.grading(HOMEWORK, "--scheduler", cluster.address))
    wait_until(lambda: (classroom.course / ".autograder" / "grading.lock").exists())
    os.kill(cluster.workers[0], signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == 0, err.decode()
    assert results(classroom.course) == undisturbed


def test_a_cluster_on_this_machine_listens_on_this_machine_only(
    classroom: Place, undisturbed: dict[str, Any]
):
    process = classroom.start(*classroom.grading(HOMEWORK, "--cluster", "local:2"))
    seen: set[str] = set()
    while process.poll() is None:
        seen |= listening(process.pid)
        time.sleep(0.2)
    _, err = process.communicate()
    assert process.returncode == 0, err.decode()
    assert gradebook(classroom.course) == undisturbed["gradebook"]
    assert seen == {"127.0.0.1"}


def listening(pid: int) -> set[str]:
    """Return the addresses on which a process accepts connections."""
    import psutil

    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        found = [c for one in family for c in one.net_connections("inet")]
    except psutil.Error:
        return set()
    return {str(c.laddr.ip) for c in found if c.status == psutil.CONN_LISTEN}


def test_an_unreachable_scheduler_is_named_and_nothing_is_graded(classroom: Place):
    before = gradebook(classroom.course)
    options = ["--scheduler", "tcp://127.0.0.1:9"]
    environment = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}
    finished = classroom.grade(HOMEWORK, *options, environment=environment)
    assert finished.code == 2
    assert "127.0.0.1:9" in finished.err
    assert "dask worker" in finished.err
    assert "Traceback" not in finished.err
    assert gradebook(classroom.course) == before


def test_workers_with_other_versions_are_refused(classroom: Place, cluster: Cluster):
    program = (
        "import sys\nfrom autograder import cli, cluster\n"
        "cluster.environment = lambda: 'judge of another day'\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    arguments = classroom.grading(HOMEWORK, "--scheduler", cluster.address)[2:]
    finished = classroom.run("-c", program, *arguments)
    assert finished.code == 2, finished.out
    assert "not all workers can judge as this machine does" in finished.err
    assert "judge of another day" in finished.err
    assert finished.err.count("numpy") == 2  # each worker says what it has
    assert not gradebook(classroom.course)
