"""Do tasks on several processes: one that dies is replaced, and nobody else notices."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.util
import os
import queue
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

TASKS_PER_PROCESS = 100  # then it is replaced, so that memory stays flat
TRIES = 2
LONGEST_FOLDER = 70
SHORT_FOLDER = "/tmp"

Task = TypeVar("Task")
Result = TypeVar("Result")


def spread(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    jobs: int,
    lost: Callable[[Task, str], Result],
) -> Iterator[Result]:
    """Do tasks on processes and yield the results as they come.

    Parameters
    ----------
    work : a function that a module holds (or a ``partial`` of one), called in another process
    tasks : taken up as processes become free, so that memory does not grow with their number
    jobs : how many at once
    lost : makes the result of a task that failed or killed its process twice
    """
    _keep_sockets_short()
    desks = [_Desk(work, lost) for _ in range(jobs)]
    free: queue.SimpleQueue[_Desk[Task, Result]] = queue.SimpleQueue()
    for desk in desks:
        free.put(desk)

    def do(task: Task) -> Result:
        desk = free.get()
        try:
            return desk.do(task)
        finally:
            free.put(desk)

    threads = ThreadPoolExecutor(jobs)
    try:
        running: set[Future[Result]] = set()
        for task in tasks:
            running.add(threads.submit(do, task))
            if len(running) > jobs:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        for desk in desks:
            desk.stop()
        threads.shutdown(cancel_futures=True)
        for desk in desks:
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
