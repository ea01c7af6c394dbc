"""A running child: frames to and from it, within limits that are watched from outside.

A check has a budget of CPU seconds; who waits without computing is ended after three times that.
So a busy machine fails nobody, and a sleeper still ends. Memory of all processes together and the
amount of output are limited too. Where the system does not tell what a process uses, elapsed time
counts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from autograder.outcome import Status
from autograder.sandbox import child
from autograder.sandbox.child import Forged
from autograder.sandbox.watch import Usage, usage
from autograder.trouble import Trouble


class Process(Protocol):
    """What is used of ``subprocess.Popen``."""

    @property
    def pid(self) -> int:
        """Its number on this machine."""

    @property
    def confined(self) -> bool:
        """Whether nothing that runs in it can end it as a whole by a signal."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """Where frames go."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """Where frames come from."""

    @property
    def stderr(self) -> IO[bytes] | None:
        """What is printed."""

    def kill(self) -> None:
        """End it at once."""

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit status when it has ended."""


Launch = Callable[[], Process]

START_SECONDS = 60.0  # for Python and numpy themselves
IDLE_FACTOR = 3.0
MAX_MEMORY = 2 * 2**30  # of all processes together
DROPPED_OUTPUT = 2**20  # bytes after which a remark is made
MAX_OUTPUT = 64 * 2**20
PAUSE = 0.05  # seconds between two looks at what is used


class Ended(Exception):
    """The child is gone before it answered; the text goes on after the name of the function."""

    def __init__(self, status: Status, kind: str, text: str) -> None:
        super().__init__(text)
        self.status, self.kind = status, kind


class NotStarted(Trouble):
    """The child did not come up: a fault of the grader's machine, not of the submission."""


@dataclass
class Budget:
    """What is left for one check."""

    limit: float
    cpu: float = 0.0
    idle: float = 0.0
    memory: int | None = None  # the most that was seen

    def problem(self, now: Usage | None, cpu: float, idle: float) -> Ended | None:
        """Return what is exceeded while a message takes so much more."""
        if now is not None:
            self.memory = max(self.memory or 0, now.memory)
        if self.cpu + cpu > self.limit:
            text = f"was stopped after {self.limit:g} s of computing: a loop that never ends?"
            return Ended(Status.TIMEOUT, "Timeout", text)
        if self.idle + idle > IDLE_FACTOR * self.limit:
            text = f"was stopped after {IDLE_FACTOR * self.limit:g} s of waiting: does it sleep?"
            return Ended(Status.TIMEOUT, "Timeout", text)
        if now is not None and now.memory > MAX_MEMORY:
            text = f"used more than {MAX_MEMORY / 2**30:g} GB of memory"
            return Ended(Status.MEMORY, "Memory", text)
        return None


class Unconfined(subprocess.Popen[bytes]):
    """A process whose own code can end it by a signal."""

    confined = False


def plain_process() -> Unconfined:
    """Start the child as an ordinary process, without a sandbox: at home, on one's own code."""
    program = str(Path(child.__file__))
    return Unconfined(
        [sys.executable, "-P", "-X", "utf8", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=os.name == "posix",
    )


class Channel:
    """One child from its start to its end."""

    def __init__(self, launch: Launch) -> None:
        self._process = launch()
        self._output = _Output(self._process)
        self._output.start()
        try:
            ready = self._exchange(b"", Budget(START_SECONDS))
            if ready != child.READY:
                raise NotStarted(f"the sandbox says {ready[:80]!r} first")
        except (Ended, Forged, NotStarted) as problem:
            self.close()
            said = self._output.beginning.decode(errors="replace").strip()
            raise NotStarted(f"the sandbox did not start: {said or problem}") from None

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, frame: bytes, budget: Budget) -> bytes:
        """Send a frame and return the answer, or raise :class:`Ended` or ``child.Forged``.

        Where somebody else ended the sandbox that is :class:`NotStarted`: no fault of a submission.
        """
        try:
            return self._exchange(frame, budget)
        except (Ended, NotStarted):
            if self._output.size > MAX_OUTPUT:
                text = f"printed more than {MAX_OUTPUT // 2**20} MB"
                raise Ended(Status.OUTPUT, "Output", text) from None
            raise

    @property
    def dropped_output(self) -> bool:
        """Whether more was printed than anybody reads."""
        return self._output.size > DROPPED_OUTPUT

    def close(self) -> None:
        """End the process and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg") and os.getpgid(self._process.pid) == self._process.pid:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._output.join(1.0)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # a pipe to a dead process cannot be flushed
                    stream.close()

    def _exchange(self, frame: bytes, budget: Budget) -> bytes:
        exchange = _Exchange(self._process, frame)
        exchange.start()
        try:
            self._wait(exchange, budget)
        except BaseException:
            self.close()
            exchange.join(1.0)
            raise
        if exchange.problem is not None:
            raise exchange.problem
        if exchange.reply is None:
            raise self._end()
        return exchange.reply

    def _wait(self, exchange: _Exchange, budget: Budget) -> None:
        """Wait for the answer while the budget lasts, then take off what it cost."""
        began = last = time.monotonic()
        pause, cpu, idle, before = PAUSE, 0.0, 0.0, None
        exchange.join(pause)
        while exchange.is_alive():
            now, looked = usage(self._process.pid), time.monotonic()
            if now is None:
                cpu = looked - began
            else:  # before the first look it can hardly have used more than the time that passed
                before = max(0.0, now.cpu - (looked - began)) if before is None else before
                idle += looked - last if now.cpu - before <= cpu and not now.running else 0.0
                cpu = now.cpu - before
            if problem := budget.problem(now, cpu, idle):
                raise problem
            pause = max(PAUSE, 10 * (time.monotonic() - looked))  # looking costs at most a tenth
            last = looked
            exchange.join(pause)
        if before is not None and (now := usage(self._process.pid)) is not None:
            cpu = max(cpu, now.cpu - before)  # what has ended counts no more
        else:  # too short to look, or nothing to look at
            cpu = time.monotonic() - began
        budget.cpu += cpu
        budget.idle += idle

    def _end(self) -> Ended:
        """Say how the process ended that gave no answer."""
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:  # it has closed its pipe and lives on
            code = 0
        if code < 0 and self._process.confined:
            raise NotStarted("the sandbox was ended from outside")
        number = -code if code < 0 else code - 128
        if number in set(signal.Signals):
            return Ended(
                Status.KILLED, "Exit", f"was killed by the signal {signal.Signals(number).name}"
            )
        text = "ended the Python process (sys.exit, quit, a crash or too much memory)"
        return Ended(Status.KILLED, "Exit", text)


class _Exchange(threading.Thread):
    """One message and its reply, in a thread, so that waiting can end on every platform."""

    def __init__(self, process: Process, frame: bytes) -> None:
        super().__init__(daemon=True)
        self._process, self._frame = process, frame
        self.reply: bytes | None = None
        self.problem: Forged | None = None

    def run(self) -> None:
        """Write, then read; a process that died gives no reply."""
        try:
            if self._frame:
                child.write_frame(_open(self._process.stdin), self._frame)
            self.reply = child.read_frame(_open(self._process.stdout))
        except (OSError, ValueError):
            self.reply = None
        except Forged as problem:
            self.problem = problem


class _Output(threading.Thread):
    """Reads what the child prints, keeps the beginning, counts the rest, and ends a flood."""

    def __init__(self, process: Process) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.beginning, self.size = b"", 0

    def run(self) -> None:
        """Read to the end."""
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(_open(self._process.stderr).fileno(), 65536):
                self.beginning += data[: 1000 - len(self.beginning)]
                self.size += len(data)
                if self.size > MAX_OUTPUT:
                    self._process.kill()


def _open(stream: IO[bytes] | None) -> Any:
    assert stream is not None
    return stream
