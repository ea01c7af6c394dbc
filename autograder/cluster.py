"""Judge on the workers of a Dask cluster: the same function, on machines without the course.

A worker gets a submission's bytes and its seeds; the course, its secret and its gradebook stay
where the command runs. Whoever reaches a scheduler can run any code on its workers, so that one
made here listens on this machine only.
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from autograder import sandbox
from autograder.keys import environment
from autograder.nbgrader.course import require
from autograder.trouble import Trouble

if TYPE_CHECKING:
    from distributed import Client

AHEAD = 3  # tasks for each thread of a worker that the scheduler knows at a time
WORKERS_SECONDS = 60.0
RETRIES = 2  # of a task that a worker refuses

Task = TypeVar("Task")
Result = TypeVar("Result")


class ClusterError(Trouble):
    """A cluster that cannot be used, with the reason and the way out."""


@contextlib.contextmanager
def connected(
    scheduler: str | None,
    workers: int | None,
    kind: str,
    say: Callable[[str], object],
) -> Iterator[Client]:
    """Give a client of a cluster all of whose workers can judge as this process would.

    Parameters
    ----------
    scheduler : its address; without it a cluster is made on this machine
    workers : how many processes that one has
    kind : the sandbox, see :class:`autograder.grading.Order`
    say : told what is waited for, and what a person should know
    """
    require("distributed", "grading on a cluster", "dask")
    import distributed

    if scheduler is not None and (warning := openness(scheduler)):
        say(warning)
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # of other packages; versions are compared below
        address: Any = scheduler
        if scheduler is None:
            say(f"starting {workers} workers")
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address=None,
                    silence_logs="CRITICAL",
                )
            )
        try:
            client = stack.enter_context(distributed.Client(address, set_as_default=False))
            client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        except (OSError, TimeoutError, ValueError) as problem:
            raise ClusterError(
                f"no worker can be reached through {scheduler or 'the cluster'} "
                f"({type(problem).__name__}: {problem}); start a scheduler with `dask scheduler "
                "--host 127.0.0.1` and workers with `dask worker ADDRESS --nthreads 1`"
            ) from None
        _compare(client, kind)
        yield client


def openness(address: str) -> str:
    """Return a warning where others may reach a scheduler that asks nobody who he is.

    >>> openness("tcp://127.0.0.1:8786"), openness("tls://10.0.0.7:8786")
    ('', '')
    >>> "whoever" in openness("tcp://10.0.0.7:8786")
    True
    """
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    host = parts.hostname or ""
    with contextlib.suppress(ValueError):
        host = "localhost" if ipaddress.ip_address(host).is_loopback else host
    if parts.scheme in ("tls", "wss") or host == "localhost":
        return ""
    return (
        f"WARNING: {address} is open: whoever reaches it runs code as the grader. Let it listen on "
        "127.0.0.1 only, or use tls:// with certificates"
    )


def about(kind: str) -> tuple[str, str]:
    """Return what a worker judges with, and what keeps it from doing so."""
    if kind != "none":
        try:
            sandbox.require()
        except Trouble as problem:
            return environment(), str(problem)
    return environment(), ""


def _compare(client: Client, kind: str) -> None:
    """Raise unless every worker has our versions and a sandbox."""
    try:
        answers: dict[str, Any] = client.run(about, kind, on_error="return")
    except Exception as problem:  # whatever a foreign worker answers
        raise ClusterError(f"the workers do not answer ({problem})") from None
    faults = []
    for worker, answer in sorted(answers.items()):
        if isinstance(answer, OSError) and len(answers) > 1:
            continue  # it has just died; whoever comes in its place is asked with its first task
        if isinstance(answer, BaseException):
            faults.append(f"{worker}: {answer} (is the same autograder installed there?)")
        elif answer[0] != environment():
            faults.append(f"{worker} has {answer[0]}")
        elif answer[1]:
            faults.append(f"{worker}: {answer[1]}")
    if faults:
        raise ClusterError(
            "not all workers can judge as this machine does, so nothing was graded. Here: "
            f"{environment()}\n"
            + "".join(f"  {fault}\n" for fault in faults)
            + "Install the same versions everywhere (constraints.txt), then start the workers anew."
        )


def spread(
    client: Client,
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    lost: Callable[[Task, str], Result],
) -> Iterator[tuple[Task, Result, float]]:
    """Do tasks on a cluster and yield them with their results, as they come.

    See :func:`autograder.spread.spread`. The scheduler gives the tasks of a worker that is lost to
    others; a task that has lost several is given up.
    """
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    waiting = iter(tasks)
    running: dict[Any, Task] = {}
    done = as_completed(loop=client.loop)

    def fill() -> None:
        room = AHEAD * max(1, sum(client.nthreads().values())) - len(running)
        for task in itertools.islice(waiting, max(0, room)):
            future = client.submit(_timed, environment(), work, task, pure=False, retries=RETRIES)
            running[future] = task
            done.add(future)

    fill()
    for future in done:
        task = running.pop(future)
        try:
            result, seconds = future.result()
        except KilledWorker:
            result, seconds = lost(task, "the workers that graded it died"), 0.0
        except Exception as problem:
            if future.status != "error":  # no verdict, and no failure of the task
                raise ClusterError(
                    f"the scheduler is gone ({type(problem).__name__}); what was recorded is not "
                    "lost: start it and give the same command again"
                ) from None
            reason = f"grading failed ({type(problem).__name__}: {problem})"
            result, seconds = lost(task, reason), 0.0
        yield task, result, seconds
        fill()


def _timed(expected: str, work: Callable[[Task], Result], task: Task) -> tuple[Result, float]:
    """Do a task on a worker, if that is one of ours: it may have come after the others."""
    if environment() != expected:
        raise ClusterError(f"a worker has {environment()}, not {expected}")
    started = time.perf_counter()
    return work(task), time.perf_counter() - started
