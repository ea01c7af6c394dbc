"""Take a complete run of ``solvers.py`` into the project: its record, README's table and figure.

``python benchmarks/publish.py .cache/bench/solvers.json`` (``make bench-publish``) copies the file
to ``benchmarks/results``, from which the book draws, and makes the other two from it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import growing
from compare import TARGETS
from record import Row
from sets import kernel_problems

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "solvers.json"
FIGURE = ROOT / "book" / "images" / "growth.svg"
README = ROOT / "README.md"
END = "<!-- end -->"


def headline(record: Any) -> list[Row]:
    """Return for each target the row of the run that stands worst: set, seconds, peer, ratio."""
    rows = [*_kernel_rows(record), *_predict_rows(record), *_linear_rows(record)]
    found = []
    for peer, case in TARGETS:
        of_case = [row for row in rows if (row["peer"], row["case"]) == (peer, case)]
        if of_case:
            found.append(min(of_case, key=lambda row: float(row["ratio"])))
    return found


def _kernel_rows(record: Any) -> list[Row]:
    cases = {(p.name, p.C): p.case for p in kernel_problems(quick=False)}
    return [
        {
            "what": f"{row['set']}, {row['rows']:,} × {row['columns']}, C = {row['C']:g}",
            "case": cases.get((row["set"], row["C"])),
            "svmlab s": row["svmlab s"],
            "peer": row["peer"],
            "peer s": row["peer s"],
            "ratio": row["ratio"],
        }
        for row in record["tables"].get("kernel", [])
    ]


def _predict_rows(record: Any) -> list[Row]:
    return [
        {
            "what": f"predict {row['rows']:,} rows, {row['svmlab SVs']:,} support vectors",
            "case": "predict",
            "svmlab s": row["svmlab s"],
            "peer": row["peer"],
            "peer s": row["peer s"],
            "ratio": row["ratio"],
        }
        for row in record["tables"].get("predict", [])
    ]


def _linear_rows(record: Any) -> list[Row]:
    tables = record["tables"]
    seconds = {
        (row["set"], row["accuracy"], row["solver"]): row["solver s"]
        for row in tables.get("time to target", [])
    }
    rows = []
    for row in tables.get("ratio to target", []):
        place = row["set"], row["accuracy"]
        name = "rcv1" if row["synthetic"] else "20news"
        rows.append(
            {
                "what": f"linear, {row['set']}, to {row['accuracy']:g}",
                "case": f"{name} {row['accuracy']:g}",
                "svmlab s": seconds.get((*place, row["svmlab"])),
                "peer": row["peer"],
                "peer s": seconds[(*place, row["peer"])],
                "ratio": row["ratio"],
            }
        )
    return rows


def readme_table(record: Any) -> str:
    """Return the headline as a table for README, with where it comes from."""
    lines = ["| training, one thread | svmlab | peer | takes | ratio |", "|---|---|---|---|---|"]
    for row in headline(record):
        ours, theirs = f"{row['svmlab s']:.3g} s", f"{row['peer s']:.3g} s"
        lines.append(
            f"| {row['what']} | {ours} | {row['peer']} | {theirs} | {row['ratio']:.3g} × |"
        )
    return "\n".join([*lines, "", origin(record)]) + "\n"


def origin(record: Any) -> str:
    """Return where the figures of a record come from, in a line."""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    return f"({record['date'][:10]}, {record['machine']}, Python {record['python']}, {versions})"


def with_table(text: str, record: Any) -> str:
    """Return README with its table made anew."""
    return between(text, RESULTS, readme_table(record))


def between(text: str, results: Path, table: str) -> str:
    """Return README with another table where that of some results stands."""
    begin = f"<!-- from {results.relative_to(ROOT)} -->\n"
    before, _, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"README.md must hold {begin!r} and after it {END!r}")
    return before + begin + table + end + after


def main(argv: list[str] | None = None) -> None:
    (source,) = sys.argv[1:] if argv is None else argv
    text = Path(source).read_text(encoding="utf-8")
    record = json.loads(text)
    if not record["complete"] or record["settings"]["quick"] or record["missing"]:
        raise SystemExit(f"{source} is not a complete run: quick, cut short, or sets are missing")
    RESULTS.write_text(text, encoding="utf-8")
    growing.draw(record["tables"]["growth"], FIGURE)
    README.write_text(with_table(README.read_text(encoding="utf-8"), record), encoding="utf-8")
    for path in (RESULTS, FIGURE, README):
        print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
