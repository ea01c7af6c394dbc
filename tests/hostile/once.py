"""Do something once in a test run, whatever the number of processes that test."""

from __future__ import annotations

import fcntl
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


def once(shared: Path, name: str, make: Callable[[Path], Any]) -> Any:
    """Do something once in a test run, whoever comes first, and return what it gave.

    What failed is not tried again: each test that needs it fails with the same words.
    """
    result = shared / f"hostile-{name}.json"
    with (shared / f"hostile-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            result.write_text(json.dumps(_attempt(make, shared / f"hostile-{name}")), "utf-8")
    found = json.loads(result.read_text(encoding="utf-8"))
    assert "made" in found, f"{name} could not be made:\n{found['failed']}"
    return found["made"]


def _attempt(make: Callable[[Path], Any], folder: Path) -> dict[str, Any]:
    try:
        return {"made": make(folder)}
    except Exception:
        return {"failed": traceback.format_exc()}
