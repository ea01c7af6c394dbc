"""How the judge calls a student's functions: ``Student``, and its form in a process of its own."""

from __future__ import annotations

import ast
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autograder.extract import FORBIDDEN, Extracted
from autograder.outcome import Status
from autograder.sandbox import child
from autograder.sandbox.channel import (
    Budget,
    Channel,
    Ended,
    Launch,
    NotStarted,
    plain_process,
)
from autograder.sandbox.child import Forged, Seeded, Unusable

NOT_IMPLEMENTED = "not implemented"

__all__ = ["Fault", "Seeded", "Student", "StudentFault", "StudentProcess", "Unusable"]

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

    @property
    def memory(self) -> int | None:
        """Bytes that the check took at most, as far as that was seen."""

    def begin(self) -> None:
        """Begin a check, with its whole time limit."""

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

    @property
    def memory(self) -> int | None:
        """Bytes that the check took at most, as far as that was seen."""
        return None

    def begin(self) -> None:  # noqa: B027 - only a process has a budget
        """Begin a check, with its whole time limit."""

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
    kind, text = str(fault["type"])[:80], str(fault["message"])[:500]
    place = f" in cell {fault['cell']}, line {fault['line']}" if fault["cell"] else ""
    if kind == "NotImplementedError":
        inner = str(fault["function"])[:80]
        needed = inner not in ("", name)
        reason = f"{name} needs {inner}, which is {NOT_IMPLEMENTED}" if needed else NOT_IMPLEMENTED
        return Fault(Status.ERROR, kind, reason)
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

    For functions that are still open it is not asked: see :mod:`autograder.stubs`.

    Parameters
    ----------
    extracted : the statements of the notebook
    names : graded functions
    supplied : source of the functions that the notebook gives, run first
    override : source that is run last: functions of ours that stand in for the student's
    limit : CPU seconds for one check
    launch : starts the process; by default without a sandbox, for one's own code
    """

    def __init__(
        self,
        extracted: Extracted,
        names: Sequence[str],
        *,
        supplied: str = "",
        override: str = "",
        limit: float = 30.0,
        launch: Launch = plain_process,
    ) -> None:
        self._launch = launch
        self._extracted, self._names = extracted, list(names)
        self._supplied, self._override = supplied, override
        self._open = {name: n for name, n in extracted.open.items() if name not in _defs(override)}
        self._wanting = set(extracted.missing) - set(extracted.broken)  # need all cells to be run
        self._limit = limit
        self._budget = Budget(limit)
        self._channel: Channel | None = None
        self._everything = False  # whether all cells were run in it, or what is needed only
        self._defined: set[str] = set()
        self._doomed: dict[bool, Fault] = {}  # why these statements do not come to an end
        self._dropped_output = False
        self.text = ""  # what the student's code printed during the last message

    def __enter__(self) -> StudentProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def memory(self) -> int | None:
        """Bytes that the check took at most; None if it was too quick to look."""
        return self._budget.memory

    def begin(self) -> None:
        """Begin a check: it has its whole budget."""
        self._budget = Budget(self._limit)

    def close(self) -> None:
        """End the process."""
        if self._channel is not None:
            self._dropped_output |= self._channel.dropped_output
            self._channel.close()
            self._channel = None

    @property
    def remarks(self) -> set[str]:
        """What a person should know about it."""
        dropped = self._channel is not None and self._channel.dropped_output
        if dropped or self._dropped_output:
            return {"more than 1 MB was printed; the rest was not kept"}
        return set()

    def ask(self, name: str, cases: Sequence[Case], *, echo: bool, go_on: bool) -> dict[str, Any]:
        """Send one message; where a name is missing, try again with all cells of the notebook."""
        message: dict[str, Any] = {"call": name, "cases": [list(case) for case in cases]}
        message |= {"echo": echo, "go_on": go_on}
        if name in self._open and all(len(case) in self._open[name] for case in cases):
            return _not_implemented(name, message)
        reply = self._call(name, message)
        unknown = any(f and f["type"] == "NameError" for f in reply["faults"])
        if unknown and name not in self._wanting:
            self._wanting.add(name)
            reply = self._call(name, message)
        return reply

    def _call(self, name: str, message: dict[str, Any]) -> dict[str, Any]:
        self._start(name)
        if name not in self._defined:
            raise StudentFault(self._undefined(name))
        reply = self._send(message, name, self._budget)
        if not _complete(reply, message):
            self.close()
            raise StudentFault(_forged(name))
        return reply

    @property
    def doomed(self) -> bool:
        """Whether the statements that every function needs do not come to an end."""
        return False in self._doomed

    def _start(self, name: str) -> None:
        everything = name in self._wanting
        if self._channel is not None and everything is self._everything:
            return
        self.close()
        if everything in self._doomed:  # the same statements would do the same again
            raise StudentFault(self._doomed[everything])
        self._channel, self._everything = Channel(self._launch), everything
        message = {"statements": self._statements(), "names": self._names}
        try:
            reply = self._send(message, "your notebook", Budget(self._limit))
        except StudentFault as problem:
            self._doomed[everything] = problem.fault
            raise
        self._defined = {name for name in reply["names"] if isinstance(name, str)}
        if name not in self._defined and not everything:
            self._wanting.add(name)
            self._start(name)

    def _statements(self) -> list[list[Any]]:
        chosen = self._extracted.everything if self._everything else self._extracted.statements
        statements: list[list[Any]] = [[self._supplied, 0, 1]] if self._supplied else []
        statements += [[s.source, s.cell, s.line] for s in chosen]
        return [*statements, *([[self._override, 0, 1]] if self._override else [])]

    def _send(self, message: dict[str, Any], name: str, budget: Budget) -> dict[str, Any]:
        assert self._channel is not None
        ticket = secrets.token_hex(8)  # nobody can answer a message before it is sent
        try:
            reply = child.decode(self._channel.ask(child.encode({**message, "id": ticket}), budget))
            if reply["id"] != ticket or not isinstance(reply["faults"], list):
                raise Forged("a reply to another question")
            reply["names" if "names" in message else "values"] += []
            self.text = str(reply["text"])[: child.MAX_TEXT]
            return dict(reply)
        except Ended as end:
            fault = Fault(end.status, end.kind, f"{name} {end}")
        except (Forged, KeyError, TypeError):
            fault = _forged(name)
        except NotStarted:
            self.close()
            raise
        self.close()
        raise StudentFault(fault)

    def _undefined(self, name: str) -> Fault:
        if name in self._extracted.broken:
            return Fault(Status.ERROR, "SyntaxError", self._extracted.broken[name])
        reason = f"there is no function {name} in your notebook; give it just this name"
        return Fault(Status.ERROR, "Missing", reason)


def _defs(source: str) -> set[str]:
    return {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def _not_implemented(name: str, message: dict[str, Any]) -> dict[str, Any]:
    """Return what a process answers for a function that is still open."""
    cases = message["cases"] if message["go_on"] else message["cases"][:1]
    fault = {"type": "NotImplementedError", "message": "", "cell": 0, "line": 0, "function": name}
    echoes = [list(case) for case in cases] if message["echo"] else []
    return {"values": [None] * len(cases), "faults": [fault] * len(cases), "echoes": echoes}


def _complete(reply: dict[str, Any], message: dict[str, Any]) -> bool:
    """Return whether a reply has what every honest one has: the process may have been taken over.

    >>> asked = {"cases": [[1]], "echo": False, "go_on": False}
    >>> _complete({"values": [2], "faults": [None], "echoes": []}, asked)
    True
    >>> _complete({"values": [], "faults": [], "echoes": []}, asked)
    False
    """
    values, faults, echoes = (reply.get(key) for key in ("values", "faults", "echoes"))
    if not (isinstance(values, list) and isinstance(faults, list) and isinstance(echoes, list)):
        return False
    if not all(fault is None or _is_fault(fault) for fault in faults):
        return False
    stopped = bool(faults) and faults[-1] is not None and not message["go_on"]
    right_number = (
        0 < len(faults) <= len(message["cases"])
        if stopped
        else (len(faults) == len(message["cases"]))
    )
    right_echoes = len(echoes) == (len(faults) if message["echo"] else 0) and all(
        isinstance(echo, list) and len(echo) == len(case)
        for echo, case in zip(echoes, message["cases"], strict=False)
    )
    return right_number and len(values) == len(faults) and right_echoes


def _is_fault(fault: Any) -> bool:
    texts, numbers = ("type", "message", "function"), ("cell", "line")
    return (
        isinstance(fault, dict)
        and all(isinstance(fault.get(key), str) for key in texts)
        and all(type(fault.get(key)) is int for key in numbers)
    )


def _forged(name: str) -> Fault:
    return Fault(Status.ERROR, "Forged", f"the process that ran {name} sent an answer nobody reads")
