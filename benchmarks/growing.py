"""How cost grows: time and peak memory against n and against C, each run a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from child import SGD_EPOCHS, call
from record import Progress, Row
from sides import KERNEL, LINEAR, is_installed

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0)
ROWS_OVER_C = {"kernel": 5_000, "linear": 20_000}
QUICK_SIZES = (250, 1_000)
QUICK_COSTS = (10.0,)
QUICK_ROWS_OVER_C = {"kernel": 500, "linear": 500}
KINDS = {"kernel": KERNEL, "linear": LINEAR}
FITS = [1, 3]


def series(kind: str, over: str, quick: bool, limit: float, progress: Progress) -> list[Row]:
    """Return the runs of all solvers of a kind over n or over C.

    At each value all solvers run in turn. One that fails or takes longer than the limit is left out
    from there on; its last row says why.
    """
    sizes, costs = (QUICK_SIZES, QUICK_COSTS) if quick else (SIZES, COSTS)
    rows_over_C = (QUICK_ROWS_OVER_C if quick else ROWS_OVER_C)[kind]
    values = [(n, 1.0) for n in sizes] if over == "n" else [(rows_over_C, C) for C in costs]
    return run_series(kind, over, values, limit, progress)


def run_series(
    kind: str,
    over: str,
    values: list[tuple[int, float]],
    limit: float,
    progress: Progress,
    ask: Callable[[Row], Row] = call,
) -> list[Row]:
    """Do the work of :func:`series` for pairs (n, C); ``ask`` runs a specification."""
    rows, out = [], {side for side in KINDS[kind] if not is_installed(side)}
    for n, C in values:
        for side in KINDS[kind]:
            if side in out:
                continue
            progress.tell(f"{side}, n = {n:,}, C = {C:g}")
            spec = {"solver": side, "kind": kind, "n": n, "C": C}
            answer = ask(spec | {"warm": True, "fits": FITS, "limit": limit})
            rows.append({"kind": kind, "over": over} | spec | _row(answer))
            if "failed" in answer:
                out.add(side)
    return rows


def _row(answer: Row) -> Row:
    fits = answer.get("fits s")
    return {
        "seconds": median(fits) if fits else None,
        "min s": min(fits) if fits else None,
        "max s": max(fits) if fits else None,
        "peak MB": answer.get("peak MB"),
        "before MB": answer.get("before MB"),
        "without warning": answer.get("without warning"),
        "note": answer.get("failed", ""),
    }


def show(row: Row) -> Row:
    """Return the columns of a printed table."""
    added = None if row["peak MB"] is None else round(row["peak MB"] - row["before MB"])
    note = row["note"] or ("" if row["without warning"] else "not converged")
    return {
        "problem": f"{row['kind']}, synthetic",
        "n": f"{row['n']:,}",
        "C": f"{row['C']:g}",
        "solver": row["solver"] + (f", {SGD_EPOCHS} epochs" if _is_sgd(row) else ""),
        "s": row["seconds"],
        "peak MB": None if row["peak MB"] is None else round(row["peak MB"]),
        "of it for the fit": added,
        "note": note,
    }


def draw(rows: list[Row], path: Path) -> None:
    """Draw time and memory over n, and time over C, for kernel and linear machines."""
    from matplotlib.figure import Figure

    from svmlab.plotting import save_figure
    from svmlab.plotting.style import INK, add_legend

    figure = Figure(figsize=(11.0, 7.0), layout="constrained")
    panels = [("n", "n", "seconds"), ("n", "n", "peak MB"), ("C", "C", "seconds")]
    for part, kind in zip(figure.subfigures(2, 1, hspace=0.04), KINDS, strict=True):
        part.suptitle(f"{kind} machines (synthetic data)", color=INK, fontsize=11)
        line = part.subplots(1, 3)
        for ax, (over, x, y) in zip(line, panels, strict=True):
            of_panel = [row for row in rows if row["kind"] == kind and row["over"] == over]
            plot_growth(ax, of_panel, x, y)
        add_legend(line[0], below=part)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_figure(figure, path)


def plot_growth(ax: Any, rows: list[Row], x: str, y: str) -> Any:
    """Draw one line a solver on logarithmic scales; what has no figure is left out."""
    from svmlab.plotting.style import COLOURS, DASHES, MARKERS, axes_or_new, label_plainly

    ax = axes_or_new(ax)
    for k, solver in enumerate(dict.fromkeys(row["solver"] for row in rows)):
        points = [
            (row[x], row[y]) for row in rows if row["solver"] == solver and row[y] is not None
        ]
        if points:
            ax.plot(
                *zip(*points, strict=True),
                color=COLOURS[k],
                linestyle=DASHES[k],
                marker=MARKERS[k],
                markersize=5,
                linewidth=1.8,
                label=solver,
            )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("rows" if x == "n" else x)
    ax.set_ylabel(y)
    for axis in (ax.xaxis, ax.yaxis) if x == "n" else (ax.yaxis,):
        label_plainly(axis)
    return ax


def _is_sgd(row: Row) -> bool:
    return "sgd" in row["solver"].lower()
