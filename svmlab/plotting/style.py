"""One look for all figures: it reads on light and on dark pages, and without colour."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import ArrayLike

from svmlab.types import Matrix

# Mid-tones that differ in lightness and stay apart for colour-blind readers; INK has the same
# contrast, about 4 to 1, with a white page and with a dark one.
INK = "#757b82"
COLOURS = ("#2b7fc2", "#d9701c", "#12977a", "#b763b0", "#9a8420")
MARKERS = ("o", "s", "^", "D", "v")
DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
MARKER_SIZE = 34.0


def axes_or_new(ax: Axes | None, projection: str | None = None) -> Axes:
    """Return the axes, or those of a new figure, in the common look.

    >>> ax = axes_or_new(Figure().subplots())
    >>> ax.get_facecolor()
    (0.0, 0.0, 0.0, 0.0)
    """
    if ax is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(5.6, 3.8), layout="constrained")
        figure.patch.set_alpha(0.0)
        ax = figure.add_subplot(projection=projection)
    ax.set_facecolor("none")
    ax.tick_params(which="both", colors=INK, labelcolor=INK, labelsize=9)
    for side, spine in ax.spines.items():
        spine.set_color(INK)
        spine.set_visible(side in ("left", "bottom"))
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_color(INK)
    return ax


def add_legend(ax: Axes, *, below: FigureBase | None = None, **options: Any) -> None:
    """Draw a legend without a frame, if there is anything to explain.

    With ``below`` it stands under the panels of that figure, which all draw the same lines.

    >>> ax = Figure().subplots()
    >>> add_legend(ax)
    >>> ax.get_legend() is None
    True
    """
    handles, labels = ax.get_legend_handles_labels()
    options = {"frameon": False, "labelcolor": INK, "fontsize": 9} | options
    if handles and below is None:
        ax.legend(handles, labels, **options)
    elif handles and below is not None:
        below.legend(handles, labels, loc="outside lower center", ncols=len(labels), **options)


def label_plainly(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers: powers of ten, and 2 and 5 where they are few.

    >>> ax = Figure().subplots()
    >>> _ = ax.semilogy([1, 2], [150, 600])
    >>> label_plainly(ax.yaxis)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['100', '200', '500']
    """
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_formatter(NullFormatter())


def scatter_classes(ax: Any, X: Matrix, y: ArrayLike) -> None:
    """Draw the points (n, 2 or 3) of each class in a colour and a marker of its own.

    Of the classes −1 and +1 the positive one comes first, so that +1 always looks the same.

    >>> ax = Figure().subplots()
    >>> scatter_classes(ax, np.eye(2), [1, -1])
    >>> [points.get_label() for points in ax.collections]
    ['+1', '−1']
    """
    y = np.asarray(y)
    classes = ordered_classes(y)
    in_space = {"depthshade": False} if X.shape[1] == 3 else {}  # fading would hide the class
    for k, (label, name) in enumerate(zip(classes, _class_names(classes), strict=True)):
        ax.scatter(
            *X[y == label].T,
            s=MARKER_SIZE,
            marker=MARKERS[k % len(MARKERS)],
            color=COLOURS[k % len(COLOURS)],
            linewidths=0,
            label=name,
            zorder=3,
            **in_space,
        )


def ordered_classes(y: ArrayLike) -> list[Any]:
    """Return the classes in the order of their colours.

    >>> [float(label) for label in ordered_classes([-1.0, 1.0])]
    [1.0, -1.0]
    """
    classes = list(np.unique(np.asarray(y)))
    return classes[::-1] if _are_signs(classes) else classes


def _class_names(classes: list[Any]) -> list[str]:
    if _are_signs(classes):
        return ["+1" if label > 0 else "−1" for label in classes]
    return [label if isinstance(label, str) else f"class {label:g}" for label in classes]


def _are_signs(classes: list[Any]) -> bool:
    return set(classes) <= {-1.0, 1.0}


def save_figure(figure: Figure, path: str | Path | IO[bytes], dpi: int = 150) -> None:
    """Write a figure with a transparent ground; an SVG has the same bytes in every run.

    Into a stream it is written as SVG. There ``dpi`` counts for coloured grounds only.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(Figure(), Path(folder) / "empty.svg")
    ...     (Path(folder) / "empty.svg").exists()
    True
    """
    form = Path(path).suffix.removeprefix(".") if isinstance(path, str | Path) else "svg"
    metadata = {"Date": None} if form == "svg" else None
    with matplotlib.rc_context({"svg.hashsalt": "svmlab"}):
        figure.savefig(path, format=form or None, transparent=True, metadata=metadata, dpi=dpi)
