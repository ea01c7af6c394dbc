"""One grading run at a time on a course."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time(course: Path, say: Callable[[str], object]) -> Iterator[None]:
    """Wait until no other run works on a course; the system frees the lock of a killed one."""
    path = course / ".autograder" / "grading.lock"
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            other = file.read().strip() or "unknown"
            say(f"another run (process {other}) is grading {course}; waiting until it is done")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
