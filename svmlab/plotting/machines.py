"""Machines in the plane: the street, its support vectors and slack, surfaces, the SVR tube."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from numpy.typing import ArrayLike

from svmlab.losses import hinge_loss
from svmlab.plotting.style import (
    COLOURS,
    INK,
    MARKER_SIZE,
    add_legend,
    axes_or_new,
    ordered_classes,
    scatter_classes,
)
from svmlab.types import Indices, Matrix, Vector
from svmlab.validation import check_matrix, check_nonnegative, check_signs, check_vector

PIXELS = 240
ON_MARGIN = 1e-3
LABELLED_SLACKS = 5


def plot_margin(model: Any, X: ArrayLike, y: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the boundary f = 0, the street |f| ≤ 1 and the ringed support vectors (C2, M4, C14).

    Parameters
    ----------
    model : an object with ``decision_function``, and ``support_`` if it has one; or the function f
    X : (n, 2) points
    y : (n,) signs

    >>> from matplotlib.figure import Figure
    >>> X, y = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    >>> plot_margin(lambda X: X[:, 0], X, y, ax=Figure().subplots()).get_aspect()
    1.0
    """
    X, y = _points(X, y)
    f = _decision(model)
    ax = axes_or_new(ax)
    grid_x, grid_y, grid = _grid(X)
    values = _values(f, grid).reshape(grid_x.shape)
    ax.contourf(grid_x, grid_y, values, levels=[-1.0, 1.0], colors=[INK], alpha=0.14)
    ax.contour(
        grid_x,
        grid_y,
        values,
        levels=[-1.0, 0.0, 1.0],
        colors=[COLOURS[1], INK, COLOURS[0]],
        linestyles=["--", "-", "--"],
        linewidths=[1.2, 1.8, 1.2],
    )
    scatter_classes(ax, X, y)
    _ring(ax, X[_support(model, y * _values(f, X))])
    _finish(ax)
    return ax


def plot_slack(model: Any, X: ArrayLike, y: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the margin, and from each violator the way back to its side of the street (S2, C5).

    For a linear machine the way is ξ/‖w‖ long. The largest slacks are written beside their
    points, where there is room.

    >>> from matplotlib.figure import Figure
    >>> X, y = np.array([[0.5, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    >>> ax = plot_slack(lambda X: X[:, 0], X, y, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['ξ = 0.50']
    """
    X, y = _points(X, y)
    f = _decision(model)
    ax = plot_margin(model, X, y, ax=ax)
    values = _values(f, X)
    xi = hinge_loss(y * values)
    violators = np.flatnonzero(xi > ON_MARGIN)
    slope = _gradient(f, X)
    ends = X + ((y - values) / np.sum(slope**2, axis=1))[:, None] * slope
    for k in violators:
        colour = COLOURS[0] if y[k] > 0 else COLOURS[1]
        ax.plot(*np.column_stack((X[k], ends[k])), color=colour, linewidth=1.0, zorder=2)
    for i in _with_room(X, violators[np.argsort(-xi[violators])]):
        ax.annotate(
            f"ξ = {xi[i]:.2f}",
            X[i],
            xytext=(10, -3),
            textcoords="offset points",
            color=INK,
            fontsize=9,
            zorder=5,
        )
    return ax


def plot_decision_surface(
    model: Any, X: ArrayLike, y: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Colour the plane by the decision function, or by the predicted class (C12, S6, G9).

    A machine with one decision value for each point is drawn in depth; one with several, or with
    ``predict`` alone such as a tree, as regions.

    >>> from matplotlib.figure import Figure
    >>> X, y = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    >>> ax = plot_decision_surface(lambda X: X[:, 0], X, y, ax=Figure().subplots())
    >>> len(ax.images)
    1
    """
    X = _plane(X)
    y = np.asarray(y)
    ax = axes_or_new(ax)
    grid_x, grid_y, grid = _grid(X)
    values = _surface(model, grid)
    if values is not None and values.ndim == 1:
        picture = _blend()(np.clip(values / 4.0 + 0.5, 0.0, 1.0))
        levels = values.reshape(grid_x.shape)
        ax.contour(grid_x, grid_y, levels, levels=[0.0], colors=[INK], linewidths=1.8)
    else:
        picture = _region_colours(model, values, grid, y)
    ax.imshow(
        picture.reshape(*grid_x.shape, 4),
        extent=(grid_x[0, 0], grid_x[0, -1], grid_y[0, 0], grid_y[-1, 0]),
        origin="lower",
        interpolation="bilinear",
        zorder=0,
    )
    scatter_classes(ax, X, y)
    if hasattr(model, "support_"):
        _ring(ax, X[np.asarray(model.support_)])
    _finish(ax)
    return ax


def plot_regression(
    model: Any, X: ArrayLike, y: ArrayLike, epsilon: float = 0.0, *, ax: Axes | None = None
) -> Axes:
    """Draw a regression on the line with its tube of half-width ε; points outside are ringed (C18).

    ``model`` has ``predict``, or is the function itself.

    >>> from matplotlib.figure import Figure
    >>> X, y = np.array([[0.0], [1.0]]), np.array([0.0, 2.0])
    >>> ax = plot_regression(lambda X: X[:, 0], X, y, 0.5, ax=Figure().subplots())
    >>> ax.collections[-1].get_offsets().tolist()
    [[1.0, 2.0]]
    """
    X = check_matrix(X)
    y = check_vector(y, "y", len(X))
    check_nonnegative(epsilon=epsilon)
    if X.shape[1] != 1:
        raise ValueError(f"X must have one column to be drawn on a line, got shape {X.shape}")
    predict = model.predict if hasattr(model, "predict") else model
    ax = axes_or_new(ax)
    line = np.linspace(X.min(), X.max(), PIXELS)
    f = _values(predict, line[:, None])
    if epsilon > 0:
        ax.fill_between(line, f - epsilon, f + epsilon, color=INK, alpha=0.16, linewidth=0)
        for edge in (f - epsilon, f + epsilon):
            ax.plot(line, edge, color=INK, linewidth=1.0, linestyle="--")
    ax.plot(line, f, color=COLOURS[0], linewidth=2.0, label="f(x)")
    ax.scatter(X[:, 0], y, s=MARKER_SIZE * 0.7, color=COLOURS[1], linewidths=0, label="data")
    outside = np.abs(_values(predict, X) - y) >= epsilon * (1.0 - ON_MARGIN)
    if epsilon > 0:
        _ring(ax, np.column_stack((X[outside, 0], y[outside])), "support vectors")
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    add_legend(ax)
    return ax


def _decision(model: Any) -> Callable[[Matrix], ArrayLike]:
    f = getattr(model, "decision_function", model)
    if not callable(f):
        raise ValueError(f"model must have decision_function or be a function, got {model!r}")
    return f  # type: ignore[no-any-return]


def _values(f: Callable[[Matrix], ArrayLike], X: Matrix) -> Vector:
    return check_vector(np.asarray(f(X), dtype=np.float64), "f(X)", len(X))


def _plane(X: ArrayLike) -> Matrix:
    points = check_matrix(X)
    if points.shape[1] != 2:
        raise ValueError(f"X must have two columns to be drawn in the plane, got {points.shape}")
    return points


def _points(X: ArrayLike, y: ArrayLike) -> tuple[Matrix, Vector]:
    points = _plane(X)
    return points, check_signs(y, len(points))


def _support(model: Any, margins: Vector) -> Indices:
    """Return the support vectors; where they are not known, the examples with y f ≤ 1 (eq-kkt)."""
    if hasattr(model, "support_"):
        return np.asarray(model.support_, dtype=np.int64)
    return np.flatnonzero(margins <= 1.0 + ON_MARGIN)


def _with_room(X: Matrix, order: Indices) -> list[int]:
    """Return the first few points in that order with no other where their label would stand."""
    size = np.ptp(X) * np.array([0.25, 0.07])
    chosen: list[int] = []
    for i in order:
        right, up = (X - X[i]).T
        inside = (right > -size[0] / 10) & (right < size[0]) & (np.abs(up) < size[1])
        if inside.sum() == 1:
            chosen.append(int(i))
    return chosen[:LABELLED_SLACKS]


def _ring(ax: Axes, X: Matrix, label: str = "support vectors") -> None:
    if not len(X):  # nothing for the legend to explain
        return
    ax.scatter(
        X[:, 0],
        X[:, 1],
        s=3.2 * MARKER_SIZE,
        facecolors="none",
        edgecolors=INK,
        linewidths=1.3,
        label=label,
        zorder=4,
    )


def _finish(ax: Axes) -> None:
    ax.set_aspect("equal")  # the margin is a distance: both axes need one scale
    ax.set_xlabel("x₁")
    ax.set_ylabel("x₂")
    add_legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, columnspacing=1.2)


def _grid(X: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.08 * max(float((high - low).max()), 1e-9)
    sides = [np.linspace(low[j] - pad, high[j] + pad, PIXELS) for j in (0, 1)]
    grid_x, grid_y = np.meshgrid(*sides)
    return grid_x, grid_y, np.column_stack((grid_x.ravel(), grid_y.ravel()))


def _gradient(f: Callable[[Matrix], ArrayLike], X: Matrix) -> Matrix:
    """Return the gradient of f at each point, by central differences."""
    step = 1e-5 * max(float(np.ptp(X)), 1e-9)
    columns = [
        (_values(f, X + step * unit) - _values(f, X - step * unit)) / (2.0 * step)
        for unit in np.eye(2)
    ]
    return np.column_stack(columns)


def _surface(model: Any, grid: Matrix) -> Matrix | None:
    """Return f on the grid, one or several values a point; None if the model only predicts."""
    if hasattr(model, "predict") and not hasattr(model, "decision_function"):
        return None
    return np.asarray(_decision(model)(grid), dtype=np.float64)


def _blend() -> LinearSegmentedColormap:
    ends = [to_rgba(COLOURS[1], 0.6), to_rgba(INK, 0.05), to_rgba(COLOURS[0], 0.6)]
    return LinearSegmentedColormap.from_list("svmlab", ends)


def _region_colours(model: Any, values: Matrix | None, grid: Matrix, y: ArrayLike) -> Matrix:
    classes = ordered_classes(y)
    if values is None:
        prediction = np.asarray(model.predict(grid))
    else:
        prediction = np.unique(np.asarray(y))[values.argmax(axis=1)]
    palette = np.array([to_rgba(COLOURS[k % len(COLOURS)], 0.3) for k in range(len(classes))])
    number = {label: k for k, label in enumerate(classes)}
    return palette[[number[label] for label in prediction]]
