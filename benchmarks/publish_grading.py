"""Take a complete run of ``grading.py`` into the project: its record and README's table.

``python benchmarks/publish_grading.py .cache/bench/grading.json`` (``make bench-grading-publish``).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from grading import PLAN, STOCK
from publish import README, ROOT, between, origin

RESULTS = ROOT / "benchmarks" / "results" / "grading.json"
HEAD = (
    "| class | graded by | submissions | seconds each | of it overhead | nbgrader / total "
    "| nbgrader / overhead |"
)


def readme_table(record: Any) -> str:
    """Return all rows as a table for README, with where they come from."""
    lines = [HEAD, "|" + "---|" * HEAD.count(" |")]
    for row in record["rows"]:
        grader = "stock nbgrader" if row["grader"] == STOCK else row["grader"]
        cells = [row["kind"], grader, f"{row['n']:,}"]
        cells += [f"{row[name]:.3g}" for name in ("s each", "overhead s each")]
        ratios = [row["nbgrader / total"], row["nbgrader / overhead"]]
        cells += ["" if ratio is None else f"{ratio:.3g} ×" for ratio in ratios]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", origin(record)]) + "\n"


def with_table(text: str, record: Any) -> str:
    """Return README with its table made anew."""
    return between(text, RESULTS, readme_table(record))


def missing(record: Any) -> list[tuple[str, str, int]]:
    """Return what of the plan a record lacks."""
    there = [(row["kind"], row["grader"], row["n"]) for row in record["rows"]]
    return [case for case in PLAN if case not in there]


def main(argv: list[str] | None = None) -> None:
    (source,) = sys.argv[1:] if argv is None else argv
    text = Path(source).read_text(encoding="utf-8")
    record = json.loads(text)
    if record["quick"] or missing(record):
        raise SystemExit(f"{source} is not a complete run: quick, or without {missing(record)}")
    RESULTS.write_text(text, encoding="utf-8")
    README.write_text(with_table(README.read_text(encoding="utf-8"), record), encoding="utf-8")
    for path in (RESULTS, README):
        print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
