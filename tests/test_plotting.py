from __future__ import annotations

import inspect

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from svmlab import datasets, plotting
from svmlab.coordinate import dual_coordinate_descent
from svmlab.examples import worked_example
from svmlab.kernels import kernel_matrix
from svmlab.losses import hinge_loss
from svmlab.model_selection import ChoiceOfC, Comparison, CrossValidation
from svmlab.plotting import style
from svmlab.smo import solve_dual
from svmlab.theory import Simulation
from svmlab.types import Result

FUNCTIONS = {name: getattr(plotting, name) for name in plotting.__all__ if name.startswith("plot_")}

X = np.array([[2.0, 0.0], [0.4, 1.0], [-1.0, 0.0], [0.2, -1.0], [-3.0, 1.0]])
Y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])


class Machine:
    """f(x) = x₁, with support vectors, that must never be fitted by a plot."""

    support_ = np.array([1, 2, 3])

    def fit(self, X, y):
        raise AssertionError("a plot function fitted the model")

    def decision_function(self, X):
        return X[:, 0]


class Tree:
    """A model that predicts and nothing else."""

    def predict(self, X):
        return np.where(X[:, 1] > 0.5, 1.0, -1.0)


HISTORY = {
    "step": np.array([1.0, 2.0, 3.0]),
    "objective": np.array([5.0, 3.0, 2.5]),
    "bound": np.array([0.0, 2.0, 2.4]),
}
RESULT = Result(objective=2.5, bound=2.4, converged=True, n_iter=3, history=HISTORY)
FOLDS = CrossValidation(np.array([0.1, 0.3, 0.2]), np.zeros(3))
CHOICE = ChoiceOfC(1.0, np.array([0.1, 1.0, 10.0]), np.array([[0.4, 0.2], [0.1, 0.1], [0.1, 0.2]]))

CALLS = {
    "plot_choice": lambda ax: plotting.plot_choice(CHOICE, ax=ax),
    "plot_comparison": lambda ax: plotting.plot_comparison(Comparison({"a": FOLDS}), ax=ax),
    "plot_decision_surface": lambda ax: plotting.plot_decision_surface(Machine(), X, Y, ax=ax),
    "plot_lifting": lambda ax: plotting.plot_lifting(X, Y, ax=ax),
    "plot_losses": lambda ax: plotting.plot_losses("residual", ax=ax),
    "plot_margin": lambda ax: plotting.plot_margin(Machine(), X, Y, ax=ax),
    "plot_path": lambda ax: plotting.plot_path([0.1, 1.0], [[0.1, 0.2], [0.3, 0.4]], ax=ax),
    "plot_progress": lambda ax: plotting.plot_progress(RESULT, ax=ax),
    "plot_regression": lambda ax: plotting.plot_regression(
        lambda Z: Z[:, 0], X[:, :1], Y, 0.5, ax=ax
    ),
    "plot_risks": lambda ax: plotting.plot_risks(Simulation(np.array([0.1, 0.2]), 0.3), ax=ax),
    "plot_slack": lambda ax: plotting.plot_slack(Machine(), X, Y, ax=ax),
    "plot_worked_example": lambda ax: plotting.plot_worked_example(worked_example(), ax=ax),
}


def new_axes(name=""):
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot(projection="3d" if name == "plot_lifting" else None)


def points_labelled(ax, label):
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return np.asarray(found.get_offsets())


def test_every_plot_function_is_tried_here():
    assert set(CALLS) == set(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signature_has_a_keyword_ax_and_five_parameters_at_most(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    assert len(parameters) <= 5
    assert parameters["ax"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["ax"].default is None


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_it_draws_into_the_axes_given_and_leaves_matplotlib_as_it_was(name):
    settings = dict(matplotlib.rcParams)
    points, labels = X.copy(), Y.copy()
    ax = new_axes(name)
    assert CALLS[name](ax) is ax
    ax.figure.canvas.draw()
    assert ax.has_data()
    assert dict(matplotlib.rcParams) == settings
    assert np.array_equal(X, points)
    assert np.array_equal(Y, labels)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_without_axes_it_makes_one_transparent_figure(name):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    before = set(pyplot.get_fignums())
    ax = CALLS[name](None)
    assert len(set(pyplot.get_fignums()) - before) == 1
    assert ax.figure.patch.get_alpha() == 0.0
    assert ax.get_facecolor()[3] == 0.0
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    "name", ["plot_decision_surface", "plot_lifting", "plot_margin", "plot_worked_example"]
)
def test_an_svg_has_the_same_bytes_every_time(name, tmp_path):
    for copy in ("first", "second"):
        ax = new_axes(name)
        CALLS[name](ax)
        plotting.save_figure(ax.figure, tmp_path / f"{copy}.svg")
    first = (tmp_path / "first.svg").read_bytes()
    assert first == (tmp_path / "second.svg").read_bytes()
    assert b"<dc:date>" not in first


def test_a_flip_book_shows_its_last_picture_and_holds_all_with_their_captions():
    captions = ["C = 1 & more", "C < 10", "C = 100"]
    book = plotting.flip_book(lambda ax, k: ax.plot([0, k]), captions, title='A "street"')
    page = book._repr_html_()
    assert [picture[:5] for picture in book.pictures] == [b"<?xml"] * 3
    assert len(set(book.pictures)) == 3
    shown = [part for part in page.split("<img")[1:] if " hidden>" not in part]
    assert len(shown) == 1
    assert 'alt="C = 100"' in shown[0]
    assert 'alt="C = 1 &amp; more"' in page
    assert "A &quot;street&quot;" in page
    assert 'max="2" value="2"' in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_each_flip_book_has_an_id_of_its_own():
    book = plotting.flip_book(lambda ax, k: None, ["one"], title="one")
    assert book._repr_html_() != book._repr_html_()


def test_a_flip_book_without_pictures_is_refused():
    with pytest.raises(ValueError, match="captions"):
        plotting.flip_book(lambda ax, k: None, [], title="nothing")


def contrast(colour, page):
    def luminance(c):
        linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(c)]
        return np.dot([0.2126, 0.7152, 0.0722], linear)

    dark, light = sorted((luminance(colour), luminance(page)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#14181e"])
def test_colours_read_on_light_and_dark_pages(page):
    assert contrast(style.INK, page) > 4.0
    for colour in style.COLOURS:
        assert contrast(colour, page) > 3.0


def test_classes_differ_by_marker_and_not_by_colour_alone():
    ax = new_axes()
    style.scatter_classes(ax, X, [0, 1, 2, 3, 4])
    shapes = {c.get_paths()[0].vertices.tobytes() for c in ax.collections}
    assert len(shapes) == 5
    assert [c.get_label() for c in ax.collections][:2] == ["class 0", "class 1"]


def test_the_plus_class_looks_the_same_whatever_comes_first():
    for y in ([1, -1], [-1, 1]):
        ax = new_axes()
        style.scatter_classes(ax, np.eye(2), y)
        assert [c.get_label() for c in ax.collections] == ["+1", "−1"]


def test_the_street_runs_where_f_is_minus_one_zero_and_one():
    ax = plotting.plot_margin(Machine(), X, Y, ax=new_axes())
    lines = [c for c in ax.collections if hasattr(c, "levels") and not c.filled]
    assert list(lines[0].levels) == [-1.0, 0.0, 1.0]
    for level, path in zip(lines[0].levels, lines[0].get_paths(), strict=True):
        assert np.allclose(path.vertices[:, 0], level)
    assert ax.get_aspect() == 1.0


def test_support_vectors_are_those_of_the_model_or_those_on_and_inside_the_street():
    ax = plotting.plot_margin(Machine(), X, Y, ax=new_axes())
    assert np.array_equal(points_labelled(ax, "support vectors"), X[[1, 2, 3]])
    ax = plotting.plot_margin(Machine().decision_function, X, Y, ax=new_axes())
    assert np.array_equal(points_labelled(ax, "support vectors"), X[[1, 2, 3]])


def test_slack_lines_lead_each_violator_to_its_side_of_the_street(rng):
    points, y = datasets.blobs(40, rng)
    w = np.array([0.8, 1.3])
    ax = plotting.plot_slack(lambda Z: Z @ w + 0.3, points, y, ax=new_axes())
    xi = hinge_loss(y * (points @ w + 0.3))
    assert len(ax.lines) == np.sum(xi > 1e-3) > 3
    for line, i in zip(ax.lines, np.flatnonzero(xi > 1e-3), strict=True):
        start, end = line.get_xydata()
        assert np.allclose(start, points[i])
        assert end @ w + 0.3 == pytest.approx(y[i], abs=1e-6)
        assert np.linalg.norm(end - start) == pytest.approx(xi[i] / np.linalg.norm(w), rel=1e-6)


def test_a_surface_takes_the_colour_of_the_predicted_class():
    def corner_colours(model, y):
        ax = plotting.plot_decision_surface(model, X, y, ax=new_axes())
        picture = ax.images[0].get_array()
        return np.asarray(picture[0, 0, :3]), np.asarray(picture[-1, -1, :3])

    plus, minus = np.array(to_rgb(style.COLOURS[0])), np.array(to_rgb(style.COLOURS[1]))
    low, high = corner_colours(Tree(), Y)
    assert np.allclose(low, minus)
    assert np.allclose(high, plus)
    low, high = corner_colours(lambda Z: 10.0 * Z[:, 0], Y)
    assert np.allclose(low, minus)
    assert np.allclose(high, plus)
    first, third = np.array(to_rgb(style.COLOURS[0])), np.array(to_rgb(style.COLOURS[2]))
    scores = np.array([[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    low, high = corner_colours(lambda Z: Z @ scores, np.array([0, 1, 2, 1, 0]))
    assert np.allclose(low, first)
    assert np.allclose(high, third)


def test_progress_shows_primal_above_dual():
    ax = plotting.plot_progress(RESULT, ax=new_axes())
    primal, dual = ax.lines
    assert np.array_equal(primal.get_ydata(), HISTORY["objective"])
    assert np.array_equal(dual.get_ydata(), HISTORY["bound"])
    (gap,) = plotting.plot_progress(RESULT, gap=True, ax=new_axes()).lines
    assert np.allclose(gap.get_ydata(), [5.0, 1.0, 0.1])


def test_progress_is_drawn_from_real_results_of_dual_and_primal_solvers(rng):
    points, y = datasets.blobs(40, rng)
    dual = solve_dual(kernel_matrix("rbf", points), y, 1.0)
    primal = dual_coordinate_descent(points, y, 1.0, tol=1e-6)
    lines = plotting.plot_progress(dual, ax=new_axes()).lines
    assert np.all(lines[0].get_ydata() >= lines[1].get_ydata() - 1e-9)
    both = plotting.plot_progress({"SMO": dual, "DCD": primal}, gap=True, ax=new_axes())
    assert [line.get_label() for line in both.lines] == ["SMO", "DCD"]
    assert both.get_yscale() == "log"


def test_loss_curves_meet_at_their_known_points():
    ax = plotting.plot_losses(ax=new_axes())
    at_0 = {
        line.get_label(): np.interp(1e-9, line.get_xdata(), line.get_ydata())
        for line in ax.lines[1:]
    }
    assert at_0["hinge"] == pytest.approx(1.0, abs=1e-6)
    assert at_0["squared hinge"] == pytest.approx(1.0, abs=1e-4)
    assert at_0["logistic"] == pytest.approx(np.log(2.0), abs=1e-4)
    assert set(ax.lines[0].get_ydata()) == {0.0, 1.0}
    steps = np.column_stack(ax.lines[0].get_data())
    assert np.array_equal(steps[steps[:, 0] == 0.0], [[0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])


def test_the_worked_example_passes_through_its_margins():
    ax = plotting.plot_worked_example(worked_example(), ax=new_axes())
    assert np.allclose(points_labelled(ax, "support vectors"), [[2, 1], [5, -1], [6, 1]])
    (curve,) = [line for line in ax.lines if line.get_label().startswith("f(z)")]
    assert curve.get_label() == "f(z) = 2/3 z² − 16/3 z + 9"
    assert np.interp(5.0, *curve.get_data()) == pytest.approx(-1.0, abs=1e-3)


def test_lifted_points_stand_at_their_squared_distance(rng):
    points, y = datasets.circle_data(60, rng)
    ax = plotting.plot_lifting(points, y, ax=new_axes("plot_lifting"))
    ax.figure.canvas.draw()
    x1, x2, x3 = (np.asarray(v) for v in ax.collections[0]._offsets3d)
    assert np.allclose(x3, x1**2 + x2**2)
    assert x3.max() <= 0.36


def test_regression_rings_the_points_on_and_outside_the_tube():
    line, y = np.arange(4.0)[:, None], np.array([0.0, 1.5, 2.2, 5.0])
    ax = plotting.plot_regression(lambda Z: Z[:, 0], line, y, 0.5, ax=new_axes())
    assert np.array_equal(points_labelled(ax, "support vectors"), [[1.0, 1.5], [3.0, 5.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ax: plotting.plot_margin(Machine(), X[:, :1], Y, ax=ax), "two columns"),
        (lambda ax: plotting.plot_margin(Machine(), X, Y[:3], ax=ax), "y must have 5 entries"),
        (lambda ax: plotting.plot_margin(Machine(), X * np.nan, Y, ax=ax), "X must be finite"),
        (lambda ax: plotting.plot_margin(Machine(), X, Y + 1, ax=ax), "-1 and \\+1 only"),
        (lambda ax: plotting.plot_margin(3.0, X, Y, ax=ax), "model must have decision_function"),
        (lambda ax: plotting.plot_lifting(X, Y, ax=ax), "projection='3d'"),
        (lambda ax: plotting.plot_losses("other", ax=ax), "kind must be one of"),
        (lambda ax: plotting.plot_path([0.0, 1.0], [1.0, 2.0], ax=ax), "C must be above 0"),
        (lambda ax: plotting.plot_path([1.0], [1.0, 2.0], ax=ax), "a row for each C"),
        (
            lambda ax: plotting.plot_progress(
                Result(objective=1.0, converged=True, n_iter=1), ax=ax
            ),
            "history must record an objective",
        ),
        (
            lambda ax: plotting.plot_progress(
                Result(objective=1.0, converged=True, n_iter=1, history={"objective": np.ones(1)}),
                gap=True,
                ax=ax,
            ),
            "must have a dual bound",
        ),
        (
            lambda ax: plotting.plot_regression(lambda Z: Z[:, 0], X, Y, ax=ax),
            "one column",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call(new_axes())
