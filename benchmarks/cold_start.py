"""Cold start: import, first fit and later fits in a fresh process, with and without a cache."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from child import call
from compare import spread
from record import Progress, Row

LIMIT = 300.0
PROBLEMS = [("kernel", 100), ("kernel", 2_000), ("linear", 5_000)]
QUICK_PROBLEMS = [("kernel", 2_000)]
SIDES = {"kernel": ("svmlab", "scikit-learn"), "linear": ("svmlab LinearSVC", "LinearSVC")}


def cold_start(kind: str, n: int, repeats: int, progress: Progress) -> list[Row]:
    """Return a row for us with an empty cache, with a filled one, and for the peer."""
    ours, peer = SIDES[kind]
    answers: dict[tuple[str, str], list[Any]] = {
        (ours, "empty"): [],
        (ours, "filled"): [],
        (peer, "has none"): [],
    }
    for k in range(repeats):
        with tempfile.TemporaryDirectory() as folder:  # empty for the first, filled by it
            for (side, cache), found in answers.items():
                progress.tell(f"{side}, cache {cache}, run {k + 1} of {repeats}")
                found.append(call(_spec(side, kind, n), Path(folder)))
    return [
        {"problem": f"{kind}, synthetic", "rows": n, "solver": side, "cache": cache} | _row(found)
        for (side, cache), found in answers.items()
    ]


def show(row: Row) -> Row:
    """Return the columns of a printed table."""
    return {
        "problem": row["problem"],
        "n": f"{row['rows']:,}",
        "solver": row["solver"],
        "cache": row["cache"],
        "import s": spread(row, "import"),
        "first fit s": spread(row, "first fit"),
        "second fit s": spread(row, "second fit"),
        "note": row["failed"],
    }


def _spec(side: str, kind: str, n: int) -> Row:
    """Ask for two fits, the first of them cold."""
    spec = {"solver": side, "kind": kind, "n": n, "C": 1.0}
    return spec | {"warm": False, "fits": [2, 2], "limit": LIMIT}


def _row(found: list[Row]) -> Row:
    """Return medians and ranges over the processes."""
    failed = [answer["failed"] for answer in found if "failed" in answer]
    columns = {
        "import": [answer.get("import s") for answer in found],
        "first fit": [answer.get("fits s", [None])[0] for answer in found],
        "second fit": [answer.get("fits s", [None])[-1] for answer in found],
    }
    row: Row = {"failed": failed[0] if failed else ""}
    for name, values in columns.items():
        known = [value for value in values if value is not None]
        row[f"{name} s"] = median(known) if known else None
        row[f"{name} min s"] = min(known, default=None)
        row[f"{name} max s"] = max(known, default=None)
    return row
