"""How the judge calls a student's functions: ``Student``, and its form in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from autograder import child
from autograder.child import Forged, Seeded, Unusable
from autograder.extract import FORBIDDEN, Extracted
from autograder.outcome import Status

__all__ = ["Fault", "Seeded", "Student", "StudentFault", "StudentProcess", "Unusable"]

START_LIMIT = 30.0  # seconds for starting Python, numpy and the notebook's own statements
Case = Sequence[Any]


@dataclass(frozen=True)
class Fault:
    """What went wrong in a call; ``private`` is text that came from the student's process."""

    status: Status
    kind: str
    reason: str
    private: str = ""


class StudentFault(Exception):
    """Raised by a call that did not return; the judge turns it into an outcome."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


class Student(Protocol):
    """What a check may ask of a submission."""

    def call(self, name: str, *args: Any) -> Any:
        """Return the answer of one call."""

    def call_many(self, name: str, cases: Sequence[Case]) -> list[Any]:
        """Return the answers to many calls, sent in one message."""

    def call_echo(self, name: str, *args: Any) -> tuple[Any, list[Any]]:
        """Return the answer, and the arguments as they are after the call."""

    def outputs(self, name: str, cases: Sequence[Case]) -> list[Any]:
        """Return each answer with the arguments after the call, or a :class:`Fault`."""


class Calls(ABC):
    """The four ways to call, all made of one message: shared by every kind of student."""

    @abstractmethod
    def ask(self, name: str, cases: Sequence[Case], *, echo: bool, go_on: bool) -> dict[str, Any]:
        """Send one message; return values, faults and echoes, case by case."""

    def call(self, name: str, *args: Any) -> Any:
        """Return the answer of one call."""
        return self.call_many(name, [args])[0]

    def call_many(self, name: str, cases: Sequence[Case]) -> list[Any]:
        """Return the answers to many calls, sent in one message; raise at the first failure."""
        reply = self.ask(name, cases, echo=False, go_on=False)
        _raise_first(reply["faults"], name)
        return list(reply["values"])

    def call_echo(self, name: str, *args: Any) -> tuple[Any, list[Any]]:
        """Return the answer, and the arguments as they are after the call."""
        reply = self.ask(name, [args], echo=True, go_on=False)
        _raise_first(reply["faults"], name)
        return reply["values"][0], list(reply["echoes"][0])

    def outputs(self, name: str, cases: Sequence[Case]) -> list[Any]:
        """Return each answer with the arguments after the call, or a :class:`Fault`."""
        reply = self.ask(name, cases, echo=True, go_on=True)
        replies = zip(reply["values"], reply["faults"], reply["echoes"], strict=True)
        return [
            [value, [a for a in echo if a is not None]] if fault is None else explain(fault, name)
            for value, fault, echo in replies
        ]


def _raise_first(faults: Sequence[Any], name: str) -> None:
    for fault in faults:
        if fault is not None:
            raise StudentFault(explain(fault, name))


def explain(fault: dict[str, Any], name: str) -> Fault:
    """Turn an exception of the student's code into words.

    >>> place = {"cell": 7, "line": 3, "function": "eta"}
    >>> explain({"type": "ZeroDivisionError", "message": "division by zero", **place}, "eta").reason
    'eta raised ZeroDivisionError in cell 7, line 3'
    """
    kind, text = str(fault["type"])[:80], str(fault["message"])
    place = f" in cell {fault['cell']}, line {fault['line']}" if fault["cell"] else ""
    if kind == "NotImplementedError":
        inner = str(fault["function"])
        needed = f"{name} needs {inner}, which" if inner not in ("", name) else name
        return Fault(Status.ERROR, kind, f"{needed} is not written yet")
    if kind in ("Missing", "Timeout"):  # said by autograder.local.Local
        status = Status.TIMEOUT if kind == "Timeout" else Status.ERROR
        return Fault(status, kind, f"{name}: {text}")
    if kind == "MemoryError":
        return Fault(Status.MEMORY, kind, f"{name} ran out of memory{place}", text)
    if kind == "ModuleNotFoundError" and (package := _package(text)) in FORBIDDEN:
        reason = f"{name} uses {package}{place}; write it with numpy: here you build it yourself"
        return Fault(Status.POLICY, kind, reason)
    if kind in ("Unavailable", "ModuleNotFoundError"):
        return Fault(Status.ERROR, kind, f"{name} stopped{place}: {text}")
    return Fault(Status.ERROR, kind, f"{name} raised {kind}{place}", text)


def _package(text: str) -> str:
    words = text.split()
    return words[1] if text.startswith("package ") and len(words) > 1 else ""


class StudentProcess(Calls):
    """A submission in a process of its own, started when it is first asked, replaced when it dies.

    Parameters
    ----------
    extracted : the statements of the notebook
    names : graded functions
    supplied : source of the functions that the notebook gives, run first
    override : source that is run last: reference steps that stand in for failed ones
    limit : seconds for one message
    command : what starts :mod:`autograder.child`
    """

    def __init__(
        self,
        extracted: Extracted,
        names: Sequence[str],
        *,
        supplied: str = "",
        override: str = "",
        limit: float = 30.0,
        command: Sequence[str] | None = None,
    ) -> None:
        program = str(Path(child.__file__))
        self._command = list(command or [sys.executable, "-P", "-X", "utf8", program])
        self._extracted, self._names = extracted, list(names)
        self._supplied, self._override = supplied, override
        self._everything = bool(set(extracted.missing) - set(extracted.broken))
        self._limit = limit
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = 0
        self.text = ""  # what the student's code printed during the last message

    def __enter__(self) -> StudentProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    _close_quietly(stream)
            self._process.wait()
            self._process = None

    def ask(self, name: str, cases: Sequence[Case], *, echo: bool, go_on: bool) -> dict[str, Any]:
        """Send one message; where a name is missing, try again with all cells of the notebook."""
        message: dict[str, Any] = {"call": name, "cases": [list(case) for case in cases]}
        message |= {"echo": echo, "go_on": go_on}
        self._start(name)
        reply = self._send(message, self._limit, name)
        if not self._everything and any(f and f["type"] == "NameError" for f in reply["faults"]):
            self.close()
            self._everything = True
            self._start(name)
            reply = self._send(message, self._limit, name)
        return reply

    def _start(self, name: str) -> None:
        if self._process is not None:
            return
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        chosen = self._extracted.everything if self._everything else self._extracted.statements
        statements: list[list[Any]] = [[self._supplied, 0, 1]] if self._supplied else []
        statements += [[s.source, s.cell, s.line] for s in chosen]
        statements += [[self._override, 0, 1]] if self._override else []
        limit = START_LIMIT + self._limit
        message = {"statements": statements, "names": self._names}
        self._defined = self._send(message, limit, "your notebook")["names"]
        if name not in self._defined and not self._everything:
            self.close()
            self._everything = True
            self._start(name)

    def _send(self, message: dict[str, Any], limit: float, name: str) -> dict[str, Any]:
        if "call" in message and name not in self._defined:
            raise StudentFault(self._undefined(name))
        self._asked += 1
        frame = child.encode({**message, "id": self._asked})
        exchange = _Exchange(self._process, frame)
        exchange.start()
        exchange.join(limit)
        if exchange.is_alive():
            self.close()
            exchange.join()
            reason = f"{name} gave no answer within {limit:g} s: is there a loop that never ends?"
            raise StudentFault(Fault(Status.TIMEOUT, "Timeout", reason))
        try:
            return self._accept(exchange, name)
        except StudentFault:
            self.close()
            raise

    def _accept(self, exchange: _Exchange, name: str) -> dict[str, Any]:
        if isinstance(exchange.problem, Forged):
            raise StudentFault(_forged(name))
        if exchange.reply is None:
            reason = f"{name} ended the Python process (sys.exit, quit, a crash or too much memory)"
            raise StudentFault(Fault(Status.KILLED, "Exit", reason))
        try:
            reply = child.decode(exchange.reply)
            if reply["id"] != self._asked or not isinstance(reply["faults"], list):
                raise Forged("a reply to another question")
            self.text = str(reply["text"])
        except (Forged, KeyError, TypeError):
            raise StudentFault(_forged(name)) from None
        return dict(reply)

    def _undefined(self, name: str) -> Fault:
        if name in self._extracted.broken:
            return Fault(Status.ERROR, "SyntaxError", self._extracted.broken[name])
        reason = f"there is no function {name} in your notebook; give it just this name"
        return Fault(Status.ERROR, "Missing", reason)


def _forged(name: str) -> Fault:
    return Fault(Status.ERROR, "Forged", f"the process that ran {name} sent an answer nobody reads")


def _close_quietly(stream: Any) -> None:
    with contextlib.suppress(OSError):  # a pipe to a dead process cannot be flushed
        stream.close()


class _Exchange(threading.Thread):
    """One message and its reply, in a thread, so that waiting can end on every platform."""

    def __init__(self, process: subprocess.Popen[bytes] | None, frame: bytes) -> None:
        super().__init__(daemon=True)
        assert process is not None
        self._process, self._frame = process, frame
        self.reply: bytes | None = None
        self.problem: Exception | None = None

    def run(self) -> None:
        """Write, then read; a process that died gives no reply."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            child.write_frame(self._process.stdin, self._frame)  # type: ignore[arg-type]
            self.reply = child.read_frame(self._process.stdout)  # type: ignore[arg-type]
        except (OSError, ValueError):
            self.reply = None
        except Forged as problem:
            self.problem = problem
