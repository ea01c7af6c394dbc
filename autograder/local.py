"""Call the functions of a running notebook, in its own process but with a time limit.

Each message runs in a thread of its own. To end a loop an exception is raised in that thread and
nowhere else, so that none can hit the notebook late, and what the student interrupts by hand stays
a ``KeyboardInterrupt``. No signal is needed: it is the same on every platform. A loop that swallows
every exception, or one in C code, goes on in the background, and the student is told.
"""

from __future__ import annotations

import contextlib
import ctypes
import linecache
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from autograder.sandbox import child
from autograder.student import Calls, Case

TICK = 0.01  # seconds; long waits would not hear an interrupt on Windows
PATIENCE = 1.0  # seconds in which a loop must end


class Local(Calls):
    """The functions of a notebook, found by their names at each call."""

    def __init__(self, namespace: dict[str, Any], limit: float) -> None:
        self._namespace, self._limit = namespace, limit
        self.printed = False  # whether a function printed something

    def ask(self, name: str, cases: Sequence[Case], *, echo: bool, go_on: bool) -> dict[str, Any]:
        """Call on copies, as the child process does."""
        function = self._namespace.get(name)
        if not callable(function):
            return _fault("Missing", self._not_there(name))
        copies = child.decode(child.encode([list(case) for case in cases]))
        request = {"call": name, "cases": copies, "echo": echo, "go_on": go_on}
        message = _Message(request, function, self._namespace)
        sink = child.Sink()
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            in_time = message.finish(self._limit)
        self.printed |= bool(sink.take())
        if in_time:
            return message.reply
        text = f"no answer within {self._limit:g} s: is there a loop that never ends?"
        text += f" It was in {message.last_line}." if message.last_line else ""
        text += "" if message.done.is_set() else " It still runs; restart the kernel."
        return _fault("Timeout", text)

    def _not_there(self, name: str) -> str:
        if name not in self._namespace:
            return "there is no such function yet; run the cell that defines it"
        kind = type(self._namespace[name]).__name__
        return f"the name stands for a {kind} now; run the cell that defines the function again"


class _Message(threading.Thread):
    """One message to a function and, in the end, its reply."""

    def __init__(
        self, request: dict[str, Any], function: Callable[..., Any], namespace: dict[str, Any]
    ) -> None:
        super().__init__(daemon=True)
        self._request, self._function, self._namespace = request, function, namespace
        self._lines: list[tuple[str, str]] = []
        self.last_line = ""
        self.reply: dict[str, Any] = {}
        self.done = threading.Event()  # an interrupted Thread.join would take it for ended

    def run(self) -> None:
        """Answer, whatever happens."""
        try:
            self.reply = self._answer()
        except BaseException as problem:  # sys.exit(), or the end of its time
            self.reply = _fault(type(problem).__name__, str(problem))
        finally:
            self.done.set()

    def _answer(self) -> dict[str, Any]:
        """Add to each fault the student's line in which it came up."""
        reply = child.answer(self._request, {self._request["call"]: self._call})
        for fault, (function, line) in zip(reply["faults"], self._lines, strict=True):
            if fault is not None and line:
                message = f"{fault['message']}, in {line}".removeprefix(", ")
                fault.update(function=function, message=message)
        return reply

    def _call(self, *arguments: Any) -> Any:
        self._lines.append(("", ""))
        try:
            return self._function(*arguments)
        except Exception as problem:
            stack = list(traceback.walk_tb(problem.__traceback__))
            self._lines[-1] = self._line(stack[::-1])
            raise

    def _line(self, stack: Sequence[tuple[FrameType, int]]) -> tuple[str, str]:
        """Return the innermost function of the notebook in a stack, and where it is, in words."""
        for frame, number in stack:
            if frame.f_globals is self._namespace:
                name = frame.f_code.co_name
                cell = "its cell" if name.startswith("<") else f"the cell with {name}"
                place = f"line {number} of {cell}"
                code = linecache.getline(frame.f_code.co_filename, number).strip()
                return name, f"{place}: {code}" if code else place
        return "", ""

    def finish(self, limit: float) -> bool:
        """Run, but not longer than this; return whether there is a reply."""
        end = time.monotonic() + limit
        try:
            self.start()
            while not self.done.wait(TICK) and time.monotonic() < end:
                pass
            return self.done.is_set()
        finally:
            self._end()

    def _end(self) -> None:
        """Raise SystemExit in the thread until it ends, because ``except:`` may swallow it."""
        number, end = self.ident or 0, time.monotonic() + PATIENCE
        if frame := sys._current_frames().get(number):
            self.last_line = self._line(list(traceback.walk_stack(frame)))[1]
        while not self.done.is_set() and time.monotonic() < end:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(number), ctypes.py_object(SystemExit)
            )
            self.done.wait(TICK)


def _fault(kind: str, text: str) -> dict[str, Any]:
    place = {"cell": 0, "line": 0, "function": ""}
    fault = {"type": kind, "message": text, **place}
    return {"values": [None], "faults": [fault], "echoes": [[]]}
