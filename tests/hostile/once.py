"""Do something once in a test run, whatever the number of processes that test."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def once(shared: Path, name: str, make: Callable[[Path], Any]) -> Any:
    """Do something once in a test run, whoever comes first, and return what it gave."""
    result = shared / f"hostile-{name}.json"
    with (shared / f"hostile-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            made = make(shared / f"hostile-{name}")
            result.write_text(json.dumps(made), encoding="utf-8")
    return json.loads(result.read_text(encoding="utf-8"))
