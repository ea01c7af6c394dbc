"""Pictures of machines and of how they were found; the only part that needs matplotlib.

Every function draws what it is given into ``ax`` (a new figure if None) and returns the axes. None
fits a model, shows a window or changes matplotlib's settings.
"""

from svmlab.plotting.curves import (
    plot_choice,
    plot_comparison,
    plot_losses,
    plot_path,
    plot_progress,
    plot_risks,
)
from svmlab.plotting.flip_book import FlipBook, flip_book
from svmlab.plotting.lecture import plot_lifting, plot_worked_example
from svmlab.plotting.machines import (
    plot_decision_surface,
    plot_margin,
    plot_regression,
    plot_slack,
)
from svmlab.plotting.style import save_figure

__all__ = [
    "FlipBook",
    "flip_book",
    "plot_choice",
    "plot_comparison",
    "plot_decision_surface",
    "plot_lifting",
    "plot_losses",
    "plot_margin",
    "plot_path",
    "plot_progress",
    "plot_regression",
    "plot_risks",
    "plot_slack",
    "plot_worked_example",
    "save_figure",
]
