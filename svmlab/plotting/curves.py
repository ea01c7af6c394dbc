"""Curves: losses, the progress of solvers, paths over C, errors and risks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from svmlab.losses import MARGIN_LOSSES, RESIDUAL_LOSSES, zero_one_loss
from svmlab.model_selection import ChoiceOfC, Comparison
from svmlab.plotting.style import COLOURS, DASHES, INK, add_legend, axes_or_new
from svmlab.theory import Simulation
from svmlab.types import Result, Vector
from svmlab.validation import check_choice, check_matrix, check_vector

LOSS_NAMES = {
    "hinge": "hinge",
    "squared_hinge": "squared hinge",
    "logistic": "logistic",
    "absolute": "absolute",
    "squared": "squared",
    "epsilon_insensitive": "ε-insensitive",
    "squared_epsilon_insensitive": "squared ε-insensitive",
}
EPSILON = 0.5  # wide enough to be seen
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def plot_losses(kind: str = "margin", *, ax: Axes | None = None) -> Axes:
    """Draw the losses of a margin beside 0/1, or those of a residual with ε = ½ (S4, C16, C18).

    ``kind`` is ``"margin"`` or ``"residual"``.

    >>> from matplotlib.figure import Figure
    >>> ax = plot_losses(ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['0/1', 'hinge', 'squared hinge', 'logistic']
    """
    check_choice(kind, ("margin", "residual"), "kind")
    ax = axes_or_new(ax)
    u = np.linspace(-2.0, 2.5, 901) if kind == "margin" else np.linspace(-2.5, 2.5, 901)
    if kind == "margin":
        at_0 = np.searchsorted(u, 0.0, side="right")
        jump = np.insert(u, at_0, [0.0, 0.0])
        steps = np.insert(zero_one_loss(u), at_0, [1.0, 0.0])  # a vertical edge at 0
        ax.plot(jump, steps, color=INK, linewidth=2.2, label="0/1")
    losses = MARGIN_LOSSES if kind == "margin" else RESIDUAL_LOSSES
    for k, (name, loss) in enumerate(losses.items()):
        options = (EPSILON,) if "epsilon" in name else ()
        ax.plot(
            u,
            loss.value(u, *options),
            color=COLOURS[k],
            linestyle=DASHES[k],
            linewidth=2.0,
            label=LOSS_NAMES[name],
        )
    ax.set_ylim(-0.1, 4.0)
    ax.set_xlabel("margin y f(x)" if kind == "margin" else "residual f(x) − y")
    ax.set_ylabel("loss")
    add_legend(ax)
    return ax


def plot_progress(
    results: Result | Mapping[str, Result], *, gap: bool = False, ax: Axes | None = None
) -> Axes:
    """Draw the objective over the steps of a solver, with the dual bound from below (C20, M8).

    Parameters
    ----------
    results : one result, or several by name (then the objectives only); ``history`` has "step",
        "objective" and "bound" or "dual"; of what is not recorded the last value is drawn
    gap : draw objective − bound on a logarithmic scale instead

    >>> from matplotlib.figure import Figure
    >>> history = {"step": np.array([1.0, 2.0]), "objective": np.array([3.0, 2.0])}
    >>> result = Result(objective=2.0, bound=1.9, converged=True, n_iter=2, history=history)
    >>> [line.get_label() for line in plot_progress(result, ax=Figure().subplots()).lines]
    ['primal', 'dual']
    """
    named = results if isinstance(results, Mapping) else {"primal": results}
    ax = axes_or_new(ax)
    for k, (name, result) in enumerate(named.items()):
        step, primal, dual = _recorded(result)
        if gap and not np.isfinite(dual).all():
            raise ValueError(f"results must have a dual bound to draw the gap, {name!r} has none")
        look: dict[str, Any] = {
            "color": COLOURS[k % len(COLOURS)],
            "linestyle": DASHES[k % len(DASHES)],
            "label": name,
        }
        ax.plot(step, primal - dual if gap else primal, linewidth=1.8, **look)
        if not isinstance(results, Mapping) and not gap and np.isfinite(dual).all():
            ax.plot(step, dual, color=COLOURS[1], linestyle="--", linewidth=1.8, label="dual")
            ax.fill_between(step, dual, primal, color=INK, alpha=0.12, linewidth=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if gap:
        ax.set_yscale("log")
    ax.set_xlabel("step")
    ax.set_ylabel("primal − dual" if gap else "objective")
    if isinstance(results, Mapping) or not gap:
        add_legend(ax)
    return ax


def plot_path(
    C: ArrayLike, values: ArrayLike, names: Sequence[str] = (), *, ax: Axes | None = None
) -> Axes:
    """Draw quantities (weights, say, or the width of the street) over C (C4, C5, M6).

    Parameters
    ----------
    C : (k,) values above 0
    values : (k,) or (k, p), a column for each quantity
    names : one for each column

    >>> from matplotlib.figure import Figure
    >>> plot_path([0.1, 1.0], [[0.0, 1.0], [0.5, 0.8]], ax=Figure().subplots()).get_xscale()
    'log'
    """
    C = check_vector(C, "C")
    if C.min() <= 0:
        raise ValueError(f"C must be above 0, got {C.min():g}")
    values = check_matrix(np.reshape(values, (np.shape(values)[0], -1)), "values")
    if len(values) != len(C):
        raise ValueError(f"values must have a row for each C, {len(C)}, got {len(values)}")
    ax = axes_or_new(ax)
    for k, column in enumerate(values.T):
        ax.plot(
            C,
            column,
            color=COLOURS[k % len(COLOURS)],
            linestyle=DASHES[k % len(DASHES)],
            linewidth=1.8,
            label=names[k] if k < len(names) else "w" + str(k + 1).translate(SUBSCRIPTS),
        )
    ax.set_xscale("log")
    ax.set_xlabel("C")
    if values.shape[1] > 1 or names:
        add_legend(ax)
    return ax


def plot_choice(choice: ChoiceOfC, *, ax: Axes | None = None) -> Axes:
    """Draw the cross-validated error over C, and the C that was chosen (M6).

    >>> from matplotlib.figure import Figure
    >>> choice = ChoiceOfC(1.0, np.array([0.1, 1.0]), np.array([[0.4, 0.2], [0.1, 0.1]]))
    >>> plot_choice(choice, ax=Figure().subplots()).get_xlabel()
    'C'
    """
    ax = axes_or_new(ax)
    ax.errorbar(
        choice.grid,
        choice.means,
        yerr=choice.standard_errors,
        color=COLOURS[0],
        marker="o",
        markersize=5,
        linewidth=1.8,
        elinewidth=1.0,
        capsize=3,
        label="mean ± standard error",
    )
    ax.axvline(choice.C, color=COLOURS[1], linestyle="--", label=f"chosen: C = {choice.C:g}")
    ax.set_xscale("log")
    ax.set_xlabel("C")
    ax.set_ylabel("cross-validated error")
    add_legend(ax)
    return ax


def plot_comparison(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw the error of each model on each fold, and its mean (M1, G8–G10).

    >>> from matplotlib.figure import Figure
    >>> from svmlab.model_selection import CrossValidation
    >>> fold_errors = CrossValidation(np.array([0.1, 0.3]), np.zeros(2))
    >>> ax = plot_comparison(Comparison({"tree": fold_errors}), ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['tree']
    """
    ax = axes_or_new(ax)
    rows = range(len(comparison.results))
    for row, result in zip(rows, comparison.results.values(), strict=True):
        height = row + np.linspace(-0.15, 0.15, result.errors.size)  # equal errors stay apart
        ax.scatter(result.errors, height, s=26, color=COLOURS[0], alpha=0.85, linewidths=0)
        ax.scatter([result.mean], [row], s=150, marker="|", color=COLOURS[1], linewidths=3)
    ax.set_yticks(list(rows), list(comparison.results))
    ax.set_ylim(len(comparison.results) - 0.5, -0.5)
    ax.set_xlabel("error on each fold, and mean")
    return ax


def plot_risks(simulation: Simulation, *, ax: Axes | None = None) -> Axes:
    """Draw the true risks of many training sets beside the bound that they should keep (G2, G3).

    >>> from matplotlib.figure import Figure
    >>> simulation = Simulation(np.array([0.1, 0.2, 0.2]), bound=0.4)
    >>> plot_risks(simulation, ax=Figure().subplots()).get_ylabel()
    'training sets'
    """
    ax = axes_or_new(ax)
    end = 1.1 * max(simulation.bound, float(simulation.risks.max()))
    bins = np.linspace(0.0, end, 61).tolist()
    ax.hist(simulation.risks, bins=bins, color=COLOURS[0], label="true risk")
    ax.axvline(
        simulation.mean,
        color=INK,
        linestyle=":",
        linewidth=1.6,
        label=f"mean {simulation.mean:.3f}",
    )
    ax.axvline(
        simulation.bound,
        color=COLOURS[1],
        linestyle="--",
        linewidth=2.0,
        label=f"bound {simulation.bound:.3f}",
    )
    ax.set_xlim(0.0, end)
    ax.set_xlabel("risk")
    ax.set_ylabel("training sets")
    add_legend(ax)
    return ax


def _recorded(result: Result) -> tuple[Vector, Vector, Vector]:
    """Return steps, primal and dual values; what was not recorded stands at its last value."""
    history = result.history
    primal, dual = history.get("objective"), history.get("bound", history.get("dual"))
    if primal is None and dual is None:
        raise ValueError(f"result.history must record an objective, got {sorted(history)}")
    n = len(primal if primal is not None else dual)  # type: ignore[arg-type]
    step = history.get("step", np.arange(1.0, n + 1.0))
    primal = np.full(n, result.objective) if primal is None else primal
    return step, primal, np.full(n, result.bound) if dual is None else dual
