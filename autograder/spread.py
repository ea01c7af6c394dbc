"""Do tasks on several processes: one that dies is replaced, and nobody else notices."""

from __future__ import annotations

import contextlib
import functools
import itertools
import multiprocessing
import multiprocessing.util
import os
import queue
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

TASKS_PER_PROCESS = 100  # then it is replaced, so that memory stays flat
TRIES = 2
PATIENCE = 20.0  # seconds after which a task gets company
MOST_SLOW = 4  # times the number of jobs: desks beyond it are not put up
LOOK_EVERY = 1.0
LONGEST_FOLDER = 70
SHORT_FOLDER = "/tmp"

Task = TypeVar("Task")
Result = TypeVar("Result")


def spread(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    lost: Callable[[Task, str], Result],
    *,
    jobs: int,
) -> Iterator[tuple[Task, Result, float]]:
    """Do tasks on processes and yield them with results and seconds, as they come.

    Parameters
    ----------
    work : a function that a module holds (or a ``partial`` of one), called in another process
    tasks : taken up as processes become free, so that memory does not grow with their number
    lost : makes the result of a task that failed or killed its process twice
    jobs : how many at once; who takes long is joined by another, so that nobody waits for him
    """
    prepare(getattr(work, "func", work).__module__)  # of a partial, that of its function
    office = _Office(work, lost, jobs)
    waiting = iter(tasks)
    running: dict[Future[tuple[Result, float]], Task] = {}
    with office:
        while True:
            room = 2 * jobs + office.slow - len(running)
            for task in itertools.islice(waiting, max(0, room)):  # several slow ones may be done
                running[office.submit(task)] = task
            if not running:
                return
            done, _ = wait(running, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), *future.result()
            office.help_out()


def prepare(module: str) -> None:
    """Start the process that desks are forked from; it loads a module while this one goes on."""
    _keep_sockets_short()
    multiprocessing.set_forkserver_preload([module])
    forkserver.ensure_running()


class _Office(Generic[Task, Result]):
    """Desks, and a thread for each task that waits for one."""

    def __init__(
        self, work: Callable[[Task], Result], lost: Callable[[Task, str], Result], jobs: int
    ) -> None:
        self._new_desk = functools.partial(_Desk[Task, Result], work, lost)
        self._desks = [self._new_desk() for _ in range(jobs)]
        self._free: queue.SimpleQueue[_Desk[Task, Result]] = queue.SimpleQueue()
        for desk in self._desks:
            self._free.put(desk)
        self._most = MOST_SLOW * jobs
        self._threads = ThreadPoolExecutor(2 * jobs + self._most)

    @property
    def slow(self) -> int:
        """How many desks hold somebody up."""
        return sum(desk.slow for desk in self._desks)

    def submit(self, task: Task) -> Future[tuple[Result, float]]:
        """Do a task as soon as a desk is free."""
        return self._threads.submit(self._do, task)

    def _do(self, task: Task) -> tuple[Result, float]:
        desk = self._free.get()
        desk.began = time.monotonic()
        try:
            return desk.do(task), time.monotonic() - desk.began
        finally:
            if desk.slow:  # another has taken its place
                self._desks.remove(desk)
                desk.clear()
            else:
                desk.began = None
                self._free.put(desk)

    def help_out(self) -> None:
        """Put up another desk for each that has been busy with one task for long."""
        now = time.monotonic()
        for desk in list(self._desks):
            busy = desk.began is not None and now - desk.began > PATIENCE
            if busy and not desk.slow and self.slow < self._most:
                desk.slow = True
                self._desks.append(self._new_desk())
                self._free.put(self._desks[-1])

    def __enter__(self) -> _Office[Task, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        for desk in list(self._desks):
            desk.stop()
        self._threads.shutdown(cancel_futures=True)
        for desk in list(self._desks):
            desk.clear()


def _keep_sockets_short() -> None:
    """Let multiprocessing keep its socket where the path fits the system's 107 bytes."""
    if len(tempfile.gettempdir()) > LONGEST_FOLDER and os.access(SHORT_FOLDER, os.W_OK):
        previous, tempfile.tempdir = tempfile.tempdir, SHORT_FOLDER
        try:
            multiprocessing.util.get_temp_dir()  # which remembers it
        finally:
            tempfile.tempdir = previous


class _Desk(Generic[Task, Result]):
    """One process, started when there is work for it."""

    def __init__(self, work: Callable[[Task], Result], lost: Callable[[Task, str], Result]) -> None:
        self._work, self._lost = work, lost
        # Not fork: this process has threads. Not spawn: a child would die with the thread, not
        # with the process, that started it.
        self._context = multiprocessing.get_context("forkserver")
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None
        self._count = 0
        self._closed = False
        self.began: float | None = None  # when it took up what it is doing
        self.slow = False  # whether that takes so long that another desk was put up

    def do(self, task: Task) -> Result:
        """Do one task; a process that dies on it is replaced once."""
        problem = ""
        for _ in range(TRIES):
            if self._closed:
                break
            try:
                pipe = self._ready()
                pipe.send(task)
                result, problem = pipe.recv()
                if not problem:
                    return result  # type: ignore[no-any-return]
            except EOFError:
                problem = "the process that graded it died"
                self.clear()
            except OSError as trouble:
                problem = f"the process that graded it is out of reach ({trouble})"
                self.clear()
        return self._lost(task, problem)

    def stop(self) -> None:
        """End the process, in the middle of its work if need be; from another thread."""
        self._closed = True
        if self._process is not None:
            self._process.kill()

    def _ready(self) -> Connection:
        if self._count >= TASKS_PER_PROCESS:
            self.clear()
        if self._pipe is None:
            self._pipe, theirs = self._context.Pipe()
            process = self._context.Process(target=_serve, args=(self._work, theirs), daemon=True)
            process.start()
            theirs.close()
            self._process = process
        if self._closed:  # in the meantime
            raise OSError
        self._count += 1
        return self._pipe

    def clear(self) -> None:
        """End the process; the next task starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process, self._pipe, self._count = None, None, 0


def _serve(work: Callable[[Task], Result], pipe: Connection) -> None:
    """Do tasks until the other side is gone; Ctrl-C is for the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, OSError):
        while True:
            task = pipe.recv()
            try:
                answer: tuple[Result | None, str] = work(task), ""
            except Exception as problem:
                answer = None, f"grading failed ({type(problem).__name__}: {problem})"
            pipe.send(answer)
