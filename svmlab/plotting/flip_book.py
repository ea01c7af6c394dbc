"""A figure that moves: a few pictures, a slider and a button, without any library in the page."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from svmlab.plotting.style import axes_or_new, save_figure

SECONDS = 0.7  # that a picture stays
GROUND_DPI = 75  # of coloured grounds, which are smooth; lines and letters are no pixels
_numbers = count(1)

_SHOW = (
    "const book = this.closest('.flip-book'), k = +book.querySelector('input').value;"
    "book.querySelectorAll('img').forEach((page, j) => {page.hidden = j !== k;});"
    "book.querySelector('output').value = book.querySelectorAll('img')[k].alt;"
)
_PLAY = (
    "const book = this.closest('.flip-book'), slider = book.querySelector('input');"
    "clearInterval(book.timer); slider.value = 0; slider.oninput();"
    "book.timer = setInterval(() => {{ slider.stepUp(); slider.oninput();"
    "if (slider.value === slider.max) clearInterval(book.timer); }}, {milliseconds});"
)


@dataclass(frozen=True)
class FlipBook:
    """Pictures as SVG with a caption each; a notebook or the book shows them with a slider."""

    pictures: tuple[bytes, ...]
    captions: tuple[str, ...]
    title: str

    def _repr_html_(self) -> str:
        last, number = len(self.pictures) - 1, next(_numbers)
        pages = "".join(
            f'<img src="data:image/svg+xml;base64,{base64.b64encode(picture).decode()}" '
            f'alt="{html.escape(caption)}"{"" if k == last else " hidden"}>'
            for k, (picture, caption) in enumerate(zip(self.pictures, self.captions, strict=True))
        )
        play = _PLAY.format(milliseconds=int(1000 * SECONDS))
        return (
            f'<figure class="flip-book" role="group" aria-label="{html.escape(self.title)}">'
            f"{pages}<div>"
            f'<button type="button" onclick="{html.escape(play)}">Play</button> '
            f'<label for="flip-book-{number}">step</label> '
            f'<input id="flip-book-{number}" type="range" min="0" max="{last}" value="{last}" '
            f'oninput="{html.escape(_SHOW)}"></div>'
            f"<output>{html.escape(self.captions[-1])}</output></figure>"
        )


def flip_book(
    draw: Callable[[Axes, int], object],
    captions: Sequence[str],
    *,
    title: str,
    size: tuple[float, float] = (5.0, 3.6),
) -> FlipBook:
    """Draw a picture for each caption and bind them to a flip book.

    The last picture shows first, and alone in print; *Play* runs from the first to the last.

    Parameters
    ----------
    draw : function (ax, k) that draws picture k on fresh axes
    captions : what each picture shows; they are also the alt texts
    title : what the whole shows, for those who do not see it
    size : of the pictures in inches

    >>> book = flip_book(lambda ax, k: ax.plot([0, k]), ["start", "end"], title="A line that rises")
    >>> len(book.pictures), "end" in book._repr_html_()
    (2, True)
    """
    if not captions:
        raise ValueError("captions must hold one text a picture, got none")
    pictures = []
    for k in range(len(captions)):
        figure = Figure(figsize=size, layout="constrained")
        draw(axes_or_new(figure.subplots()), k)
        buffer = io.BytesIO()
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            save_figure(figure, buffer, GROUND_DPI)
        pictures.append(buffer.getvalue())
    return FlipBook(tuple(pictures), tuple(captions), title)
