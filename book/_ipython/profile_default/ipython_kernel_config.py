"""How figures look in the book: SVG with a transparent ground, readable on light and dark pages."""

import os

os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # before the first import

from cycler import cycler

from svmlab.plotting.style import COLOURS, INK

c = get_config()  # type: ignore[name-defined]  # noqa: F821
c.IPKernelApp.log_level = "ERROR"
c.InlineBackend.figure_formats = {"svg"}
c.InlineBackend.print_figure_kwargs = {"bbox_inches": "tight", "metadata": {"Date": None}}
c.InlineBackend.rc = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
    "figure.edgecolor": "none",
    "figure.facecolor": "none",
    "figure.figsize": (5.6, 3.8),
    "grid.color": INK,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "savefig.facecolor": "none",
    "svg.hashsalt": "svmlab",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
