"""Start students' processes from a warm parent: a fork with numpy loaded, in place of a new Python.

The parent (:mod:`autograder.sandbox.nursery`) runs in a sandbox like any student's process and
makes namespaces within it for each child. It dies with the thread that started it, and all children
with it.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import threading
import weakref
from pathlib import Path
from typing import IO

from autograder import sandbox
from autograder.sandbox.channel import Channel, NotStarted

ANSWER_SECONDS = 60.0
GONE = "the sandbox was ended from outside"


class Nursery:
    """A warm parent and its control socket."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(ANSWER_SECONDS)
        with theirs:
            self._process = sandbox.launch_nursery(theirs)
        self.close = weakref.finalize(self, _end, self._process, self._control)

    def start(self) -> WarmChild:
        """Return a new child, in namespaces and with limits of its own."""
        ends = [os.pipe() for _ in range(3)]
        theirs = [ends[0][0], ends[1][1], ends[2][1]]
        streams: list[IO[bytes]] = [os.fdopen(ends[0][1], "wb")]
        streams += [os.fdopen(end[0], "rb") for end in ends[1:]]
        try:
            message = f"start {sandbox.next_user()}".encode()
            socket.send_fds(self._control, [message], theirs)
            answer, handles, _, _ = socket.recv_fds(self._control, 1000, 1)
            if not handles:
                raise NotStarted(answer.decode(errors="replace") or self._last_words())
        except (OSError, NotStarted) as problem:
            for stream in streams:
                stream.close()
            raise NotStarted(f"the warm parent does not answer: {problem}") from None
        finally:
            for handle in theirs:
                os.close(handle)
        return WarmChild(self, int(answer), handles[0], streams)

    def status_of(self, number: int) -> int:
        """Return the exit status of a child that has ended."""
        self._control.send(f"wait {number}".encode())
        answer = self._control.recv(100)
        if not answer:
            raise OSError(GONE)
        return os.waitstatus_to_exitcode(int(answer))

    def _last_words(self) -> str:
        self._process.kill()
        _, said = self._process.communicate()
        return said.decode(errors="replace").strip()[-500:]


def _end(process: sandbox.Bubble, control: socket.socket) -> None:
    """End a warm parent and everything below it."""
    control.close()
    process.kill()
    process.communicate()


class WarmChild:
    """A student's process below a warm parent, with what ``subprocess.Popen`` offers."""

    confined = True  # only we, or somebody on this machine, can end it by a signal

    def __init__(
        self, nursery: Nursery, number: int, handle: int, streams: list[IO[bytes]]
    ) -> None:
        self._nursery, self._number, self._handle = nursery, number, handle
        self.stdin, self.stdout, self.stderr = streams
        self.returncode: int | None = None
        about = Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="utf-8")
        found = re.search(r"^Pid:\s+(-?\d+)$", about, re.MULTILINE)
        self.pid = int(found[1]) if found else -1

    def kill(self) -> None:
        """End the first process of its namespace, and so all."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit status when it has ended."""
        if self.returncode is None:
            if not select.select([self._handle], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a student's process", timeout or 0.0)
            try:
                self.returncode = self._nursery.status_of(self._number)
            except OSError:  # the parent is gone, and all its children with it
                self.returncode = -signal.SIGKILL
            os.close(self._handle)
        return self.returncode


_here = threading.local()


def launch() -> WarmChild:
    """Start :mod:`autograder.sandbox.child` below this thread's warm parent."""
    nursery: Nursery | None = getattr(_here, "nursery", None)
    if nursery is not None:
        try:
            return nursery.start()
        except NotStarted:  # somebody ended it
            nursery.close()
    _here.nursery = Nursery()
    return _here.nursery.start()  # type: ignore[no-any-return]


def problem() -> str:
    """Return why no child can be started below a warm parent here, or nothing."""
    try:
        with Channel(launch):
            return ""
    except (NotStarted, OSError) as trouble:
        return str(trouble)
