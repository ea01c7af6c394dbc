"""What every benchmark shares: timing, tables, progress, a record of where figures come from."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

Answer = TypeVar("Answer")
Row = dict[str, Any]
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "scikit-learn-intelex", "svmlab")
BAR = 20


def timed(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """Return the seconds that the work took, and its answer."""
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


def table(rows: list[Row]) -> str:
    """Return rows with the same keys as plain text, one column a key."""
    names = list(rows[0])
    cells = [names] + [[_text(row[name]) for name in names] for row in rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
    lines = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


class Progress:
    """Says on stderr what runs now: a bar on a terminal, elsewhere a line where a case begins."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.case = total, 0, ""
        self.on_terminal = sys.stderr.isatty()

    def begin(self, case: str) -> None:
        """Say that the next case begins."""
        self.case = case
        self.tell("")
        if not self.on_terminal:
            print(f"[{self.done + 1}/{self.total}] {case}", file=sys.stderr, flush=True)

    def tell(self, what: str) -> None:
        """Say what of the case runs now."""
        if self.on_terminal:
            filled = BAR * self.done // max(self.total, 1)
            bar = "█" * filled + "·" * (BAR - filled)
            text = f"{bar} {self.done}/{self.total}  {self.case}  {what}"
            print(f"\r\033[K{text[: _columns()]}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Count the case as done, and leave the line free for its table."""
        self.done += 1
        if self.on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _columns() -> int:
    return (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1  # 0 is unknown


def circumstances(packages: Sequence[str] = PACKAGES) -> Row:
    """Return machine, date, command and versions, to stand beside the figures.

    Of a folder outside the project the command shows the last part only.
    """
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join([Path(sys.argv[0]).name, *map(_without_folders, sys.argv[1:])]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def write_json(path: Path, results: Row, packages: Sequence[str] = PACKAGES) -> None:
    """Write the results with their circumstances; the file is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = _plain({**circumstances(packages), **results})
    text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text + "\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def _plain(value: Any) -> Any:
    """Return the value with null for infinity and nan, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _without_folders(argument: str) -> str:
    return f"…/{Path(argument).name}" if Path(argument).is_absolute() else argument


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
