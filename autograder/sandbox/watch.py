"""What a process and all its descendants use, read from Linux' /proc.

Nothing that runs in a sandbox can leave it: a daemon becomes a child of the sandbox's first
process, so that everything is found from the outer one.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
CHILDREN_FILES = (PROC / "self" / "task" / str(os.getpid()) / "children").exists()


@dataclass(frozen=True)
class Usage:
    """CPU seconds since their start, and what is true now, of some processes together.

    ``running`` is whether one of them computes, or would if the machine were free.
    """

    cpu: float
    memory: int
    running: bool


def usage(pid: int) -> Usage | None:
    """Return what a process and its descendants use; None where there is no /proc.

    >>> found = usage(os.getpid())
    >>> found is None or found.memory > 1_000_000
    True
    """
    if not (PROC / "self" / "stat").exists():
        return None
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    children = _children_by_file if CHILDREN_FILES else _children_by_parent()
    queue, ticks, pages, running = [pid], 0, 0, False
    for member in queue:  # which grows
        queue += children(member)
        if fields := _stat(member):
            ticks += sum(int(field) for field in fields[11:15])  # own and of ended children
            pages += int(fields[21])
            running |= fields[0] == "R"
    return Usage(ticks / tick, pages * page, running)


def _children_by_file(pid: int) -> list[int]:
    """Return the children of a process where the kernel lists them."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:  # it has just ended
        return []
    return [int(child) for tid in threads for child in _read(f"{pid}/task/{tid}/children").split()]


def _children_by_parent() -> Callable[[int], list[int]]:
    """Ask every process for its parent; return a function that knows the children of each."""
    children = defaultdict[int, list[int]](list)
    for name in os.listdir(PROC):
        if name.isdigit() and (fields := _stat(int(name))):
            children[int(fields[1])].append(int(name))
    return children.__getitem__


def _stat(pid: int) -> list[str]:
    """Return the fields after the name of the program, which may hold anything."""
    return _read(f"{pid}/stat").rpartition(b")")[2].decode().split()


def _read(name: str) -> bytes:
    try:
        with open(f"/proc/{name}", "rb") as file:
            return file.read()
    except OSError:  # it has just ended
        return b""
