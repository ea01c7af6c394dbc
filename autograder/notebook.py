"""Read the bytes of a notebook as data: limits first, then JSON, then cells of known types.

Their text may hold IPython's magics; taking these out keeps the numbers of the lines.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograder.trouble import Trouble

MAX_BYTES = 20_000_000
MAX_DEPTH = 200
MAX_BRACKETS = 1_000_000  # of the JSON text: each may become an object of a hundred bytes
MAX_CELLS = 5_000
KEPT_MAGICS = {"time", "timeit", "capture"}

# Possessive, and with endings that may be missing: linear on any input.
_JSON_PART = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_PART = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?'
    r"|'''(?:[^'\\]++|\\.|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'(?:[^'\\\n]++|\\.)*+'?"
    r"|\#[^\n]*+|[()\[\]{}]|\\\n|\n",
    re.DOTALL,
)
_MAGIC = re.compile(
    r"(?P<indent>[ \t]*+)"
    r"(?:[%!?]|[\w.]++\?\??[ \t]*(?=\n|\Z)|[\w.,*\[\] \t]++=[ \t]*(?:!|%[ \t]*\w))"
    r"(?:[^\\\n]++|\\\n?)*+"
)
_CELL_MAGIC = re.compile(r"\s*+(?<![^\n])%%(?P<name>\S*)[^\n]*")


class Rejected(Trouble):
    """Raised for bytes that are no notebook; the text says why and what to do."""


@dataclass(frozen=True)
class Cell:
    """A cell as its owner sees it: number from 1 over all cells, text with plain line ends.

    ``marks`` is nbgrader's metadata, ``attachments`` what was pasted into the cell. Both may be
    forged: nothing is known about their values.
    """

    number: int
    is_code: bool
    text: str
    marks: Mapping[str, Any]
    damaged: bool = False
    attachments: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def locked(self) -> bool:
        """Whether it is the homework's and not the student's: a test, supplied code, a text."""
        ours = self.marks.get("locked") is True or self.marks.get("grade") is True
        return ours and self.marks.get("solution", False) is False

    @property
    def id(self) -> str:
        """The name of the cell, or an empty text."""
        name = self.marks.get("grade_id")
        return name if isinstance(name, str) else ""


def read_cells(data: bytes) -> list[Cell]:
    r"""Return the cells of a notebook of format 4; raise :class:`Rejected` for anything else.

    >>> read_cells(b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": ["a\\r\\n", "b"]}]}')
    [Cell(number=1, is_code=True, text='a\nb', marks={}, damaged=False)]
    >>> read_cells(b'{"nbformat": 3, "worksheets": []}')
    Traceback (most recent call last):
    autograder.notebook.Rejected: the notebook has format 3, but 4 is expected; ...
    """
    text = _decode(data)
    _check_nesting(text)
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Rejected(
            f"the file is not valid JSON ({str(problem)[:100]}); was it cut off, or is it not "
            "the .ipynb file?"
        ) from None
    return [_cell(number, value) for number, value in enumerate(_values(tree), 1)]


def too_large(size: int, limit: int = MAX_BYTES) -> Rejected:
    """Return the refusal of a file that is not read because of its size."""
    return Rejected(
        f"the file has {size:,} bytes, and at most {limit:,} are read; "
        "clear the outputs and save it again"
    )


def _decode(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise too_large(len(data))
    if not data.strip():
        raise Rejected("the file is empty; save the notebook and hand it in again")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Rejected(
            f"the file is not UTF-8 text (byte {problem.start:,}); hand in the .ipynb file itself, "
            "as Jupyter saves it"
        ) from None


def _check_nesting(text: str) -> None:
    depth = brackets = 0
    for part in _JSON_PART.finditer(text):
        mark = part[0]
        if mark[0] == '"':
            continue
        depth += 1 if mark in "[{" else -1
        brackets += 1
        if depth > MAX_DEPTH:
            raise Rejected(f"the file is nested more than {MAX_DEPTH} levels deep: not a notebook")
        if brackets > MAX_BRACKETS:
            raise Rejected(
                f"the file has more than {MAX_BRACKETS:,} brackets; clear the outputs and save it"
            )


def _values(tree: Any) -> list[Any]:
    if not isinstance(tree, dict) or "nbformat" not in tree:
        raise Rejected("the file is JSON, but not a notebook; hand in the .ipynb file")
    if tree["nbformat"] != 4:
        raise Rejected(
            f"the notebook has format {repr(tree['nbformat'])[:20]}, but 4 is expected; "
            "open it in a current Jupyter and save it again"
        )
    cells = tree.get("cells")
    if not isinstance(cells, list):
        raise Rejected("the notebook has no list of cells; open it in Jupyter and save it again")
    if len(cells) > MAX_CELLS:
        raise Rejected(f"the notebook has {len(cells):,} cells, and at most {MAX_CELLS:,} are read")
    return cells


def _cell(number: int, value: Any) -> Cell:
    if not isinstance(value, dict):
        return Cell(number, False, "", {}, damaged=True)
    source = value.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    damaged = not isinstance(source, str)
    text = "" if damaged else source.replace("\r\n", "\n").replace("\r", "\n")
    metadata = value.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    is_code = value.get("cell_type") == "code"
    marks = marks if isinstance(marks, dict) else {}
    pasted = value.get("attachments")
    pasted = pasted if isinstance(pasted, dict) else {}
    return Cell(number, is_code, text.removeprefix("\ufeff"), marks, damaged, pasted)


def without_cell_magics(text: str) -> tuple[str, str]:
    r"""Return the code of a cell, and the first magic that makes it something else than Python.

    >>> without_cell_magics("%%time\n%%capture out\nx = 1"), without_cell_magics("%%bash\nls")[1]
    (('\n\nx = 1', ''), '%%bash')
    """
    start = 0
    while magic := _CELL_MAGIC.match(text, start):
        if magic["name"] not in KEPT_MAGICS:
            return "", f"%%{magic['name'][:30]}"
        start = magic.end()
    return "\n" * text.count("\n", 0, start) + text[start:], ""


def without_line_magics(text: str) -> str:
    r"""Replace magics where a statement could begin, so that lines keep their numbers.

    >>> without_line_magics("%time\ns = '''\n%s'''\nx = (s\n  % 1)\ny = !ls")
    "\ns = '''\n%s'''\nx = (s\n  % 1)\n"
    """
    kept, start, depth, fresh = [], 0, 0, True
    while start < len(text):
        if fresh and (magic := _MAGIC.match(text, start)):
            kept.append(magic["indent"] + "pass" if magic["indent"] else "")
            kept.append("\n" * magic[0].count("\n"))
            start, fresh = magic.end(), False
            continue
        part = _PART.search(text, start)
        mark, end = (part[0], part.end()) if part else ("", len(text))
        kept.append(text[start:end])
        depth += (mark in {"(", "[", "{"}) - (mark in {")", "]", "}"})
        start, fresh = end, mark == "\n" and depth <= 0
    return "".join(kept)


def remarks_on(cells: Sequence[Cell], graded: Sequence[str]) -> Iterator[str]:
    """Yield what a person should know about the cells; none of it changes points."""
    for cell in cells:
        if cell.damaged:
            yield f"cell {cell.number} is damaged and was left out"
        elif cell.locked and cell.id.startswith("test-") and not _is_untouched_test(cell):
            yield f"cell {cell.number} is an edited test cell; it has no effect"
    places = defaultdict(list)
    for cell in cells:
        if cell.id:
            places[cell.id].append(cell.number)
    if not places:
        yield "the cells carry no ids; functions were found by their names"
        return
    for name, numbers in places.items():
        if len(numbers) > 1:
            where = ", ".join(map(str, numbers[:5]))
            yield f"cells {where} have the same id {name[:60]!r}; all of them were read"
    for name in graded:
        if name not in places:
            yield f"the homework's cell {name!r} is not in the notebook"
    if not any(name.startswith("test-") for name in places):
        yield "the test cells are not in the notebook; grading does not need them"


def _is_untouched_test(cell: Cell) -> bool:
    lines = [line.strip() for line in cell.text.split("\n")]
    code = [line for line in lines if line and not line.startswith("#")]
    question = cell.id.removeprefix("test-")
    return cell.is_code and code in ([f'check("{question}")'], [f"check('{question}')"])
