"""Two pictures of the lectures: the circle lifted into space, and the worked example."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from svmlab.datasets import CIRCLE_RADIUS
from svmlab.examples import WorkedExample
from svmlab.kernels import circle_map
from svmlab.plotting.style import (
    COLOURS,
    INK,
    MARKER_SIZE,
    add_legend,
    axes_or_new,
    scatter_classes,
)
from svmlab.validation import check_matrix, check_signs


def plot_lifting(X: ArrayLike, y: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the circle data lifted by eq-circle-map, with the plane that separates them (C9).

    ``ax`` must be three-dimensional.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot(projection="3d")
    >>> plot_lifting(np.array([[0.0, 0.0], [1.0, 1.0]]), [1, -1], ax=ax).get_zlabel()
    'x₁² + x₂²'
    """
    X = check_matrix(X)
    y = check_signs(y, len(X))
    if X.shape[1] != 2:
        raise ValueError(f"X must have two columns to be lifted, got shape {X.shape}")
    space: Any = axes_or_new(ax, projection="3d")
    if space.name != "3d":
        raise ValueError("ax must be three-dimensional: make it with projection='3d'")
    scatter_classes(space, circle_map(X), y)
    side = np.array([-1.0, 1.0]) * np.abs(X).max()
    plane_x, plane_y = np.meshgrid(side, side)
    height = np.full(plane_x.shape, CIRCLE_RADIUS**2)
    space.plot_surface(plane_x, plane_y, height, color=INK, alpha=0.22, shade=False)
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    ring = CIRCLE_RADIUS * np.column_stack((np.cos(angle), np.sin(angle)))
    space.plot(*ring.T, CIRCLE_RADIUS**2, color=INK, linewidth=1.6)
    space.plot(*ring.T, 0.0, color=INK, linewidth=1.2, linestyle="--")
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.set_pane_color((0.0, 0.0, 0.0, 0.0))
        axis.line.set_color(INK)
        axis.label.set_color(INK)
    space.grid(visible=False)
    space.set_xticks([-1.0, 0.0, 1.0])
    space.set_yticks([-1.0, 0.0, 1.0])
    space.set_zticks([0.0, CIRCLE_RADIUS**2, 1.0, 2.0])
    space.set_xlabel("x₁")
    space.set_ylabel("x₂")
    space.set_zlabel("x₁² + x₂²")
    space.view_init(elev=14.0, azim=-60.0)
    add_legend(space, loc="upper left")
    return space  # type: ignore[no-any-return]


def plot_worked_example(example: WorkedExample, *, ax: Axes | None = None) -> Axes:
    """Draw f of the worked example over the line, the five points and their margins (C15).

    >>> from matplotlib.figure import Figure
    >>> from svmlab.examples import worked_example
    >>> ax = plot_worked_example(worked_example(), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['α = 5/2', 'α = 22/3', 'α = 29/6']
    """
    ax = axes_or_new(ax)
    x, y = example.X[:, 0], example.y
    z = np.linspace(x.min() - 0.6, x.max() + 0.6, 400)
    f = np.array([float(example.f(point)) for point in z])
    values = np.array([float(example.f(point)) for point in x])
    ax.axhline(0.0, color=INK, linewidth=1.0)
    for level, colour in ((1.0, COLOURS[0]), (-1.0, COLOURS[1])):
        ax.axhline(level, color=colour, linewidth=1.0, linestyle="--")
    for sign, colour in ((1.0, COLOURS[0]), (-1.0, COLOURS[1])):
        ax.fill_between(z, 0.0, f, where=sign * f > 0, color=colour, alpha=0.12, linewidth=0)
    ax.plot(z, f, color=INK, linewidth=2.0, label=_polynomial(example))
    ax.vlines(x, 0.0, values, color=INK, linewidth=1.0, linestyle=":")
    scatter_classes(ax, np.column_stack((x, values)), y)
    support = np.array([a > 0 for a in example.solution.alpha])
    ax.scatter(
        x[support],
        values[support],
        s=3.2 * MARKER_SIZE,
        facecolors="none",
        edgecolors=INK,
        linewidths=1.3,
        label="support vectors",
        zorder=4,
    )
    _write_multipliers(ax, example)
    ax.set_xticks(x)
    ax.set_xlabel("z")
    ax.set_ylabel("f(z)")
    add_legend(ax)
    return ax


def _write_multipliers(ax: Axes, example: WorkedExample) -> None:
    """Write α beside each support vector, on the side where the curve is not."""
    a2, a1, _ = example.polynomial
    for point, alpha in zip(example.X[:, 0], example.solution.alpha, strict=True):
        if alpha > 0:
            value, slope = float(example.f(point)), float(2 * a2) * point + float(a1)
            ax.annotate(
                f"α = {alpha}",
                (point, value),
                xytext=(-32 * np.sign(slope * value), 10 if value > 0 else -14),
                textcoords="offset points",
                ha="center",
                color=INK,
                fontsize=9,
            )


def _polynomial(example: WorkedExample) -> str:
    a2, a1, a0 = example.polynomial
    signs = ["−" if a < 0 else "+" for a in (a1, a0)]
    return f"f(z) = {a2} z² {signs[0]} {abs(a1)} z {signs[1]} {abs(a0)}"
