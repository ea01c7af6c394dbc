"""The autograded notebook: the instructor's own, with the student's answers put into it.

Points, tests and texts come from the trusted source; of the submitted file nothing survives but
text that does nothing, and pictures. So no forged cell, no hidden test and no model answer is in
it, and formgrader and feedback can show it to anybody who may see the report.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autograder.nbgrader.defuse import as_output, clean, defuse_markdown
from autograder.nbgrader.images import Images
from autograder.notebook import Cell, Rejected, read_cells
from autograder.visibility import lines

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from autograder.outcome import Report

MARKS = ("grade", "grade_id", "locked", "points", "schema_version", "solution", "task")
HIDDEN = re.compile(
    r"^[^\n]*### BEGIN HIDDEN TESTS.*?(?:### END HIDDEN TESTS[^\n]*\n?|\Z)",
    re.DOTALL | re.MULTILINE,
)
MAX_TEXT = 20_000  # characters of a cell: longer markdown takes seconds to draw
MAX_OWN = 100  # cells of the student's own
MAX_OWN_TEXT = 300_000

MISSING = "This cell is not in the notebook that was handed in."
UNREADABLE = "No notebook could be read."


@dataclass(frozen=True)
class Graded:
    """An autograded notebook, and what is to be known about the answers that a person grades.

    ``unanswered`` are the ids of those that were left as released or are not there; ``answers``
    maps each id to a digest of its text, so that a change after grading can be told.
    """

    notebook: bytes
    unanswered: frozenset[str]
    answers: Mapping[str, str]


def build(
    trusted: NotebookNode, released: Mapping[str, str], data: bytes | None, report: Report
) -> Graded:
    """Build the autograded notebook of one submission.

    Parameters
    ----------
    trusted : the instructor's notebook
    released : the text of each cell as it was handed out, by the cell's id
    data : the submitted bytes; None, or what is no notebook, gives a notebook that says so
    report : whose reasons stand under the test cells, as they are: give a student's view of it
        where nothing else keeps hidden ones back
    """
    try:
        cells = None if data is None else read_cells(data)
    except Rejected:
        cells = None
    paper = _sort(trusted, released, cells or [])
    images = Images()
    nodes = [_own(cell, images) for cell in paper.own[""]]
    for node in trusted.cells:
        name = _marks(node).get("grade_id", "")
        if _marks(node).get("solution") is True:
            answer = paper.chosen.get(name)
            nodes.append(_solution(node, answer, UNREADABLE if cells is None else MISSING, images))
        else:
            nodes.append(_locked(node, report))
        nodes += [_own(cell, images) for cell in paper.own[name]] if name else []
    for number, node in enumerate(nodes):
        node.setdefault("id", f"cell-{number}")
    by_hand = {name: paper.chosen.get(name) for name in _by_hand(trusted)}
    return Graded(
        notebook=_written(trusted, nodes),
        unanswered=frozenset(name for name, cell in by_hand.items() if not _said(cell, released)),
        answers={name: _digest(cell) for name, cell in by_hand.items()},
    )


@dataclass(frozen=True)
class _Paper:
    """The cells of a submission: answers by their id, and the student's own by what they follow."""

    chosen: Mapping[str, Cell]
    own: Mapping[str, Sequence[Cell]]


def _sort(trusted: NotebookNode, released: Mapping[str, str], cells: Sequence[Cell]) -> _Paper:
    names = {_marks(node).get("grade_id", ""): node for node in trusted.cells}
    others = {node.source for node in trusted.cells if not _marks(node).get("grade_id")}
    copies, own, last = defaultdict[str, list[Cell]](list), defaultdict[str, list[Cell]](list), ""
    for cell in cells:
        ours = names.get(cell.id) if cell.id else None
        last = last if ours is None else cell.id
        if ours is not None and _marks(ours).get("solution") is not True:
            continue  # text of the homework, whatever was made of it
        if ours is not None:
            copies[cell.id].append(cell)
        if _said(cell, released) and cell.text not in others:
            own[last].append(cell)
    chosen = {
        # a copy may have been filled in, and the first left as it was
        name: next((cell for cell in found if _said(cell, released)), found[0])
        for name, found in copies.items()
    }
    return _Paper(chosen, _limited(own, chosen))


def _limited(
    own: Mapping[str, Sequence[Cell]], chosen: Mapping[str, Cell]
) -> defaultdict[str, list[Cell]]:
    kept, count, characters = defaultdict[str, list[Cell]](list), 0, 0
    for place, cells in own.items():
        for cell in cells:
            if chosen.get(cell.id) is cell:
                continue
            count, characters = count + 1, characters + min(len(cell.text), MAX_TEXT)
            if count <= MAX_OWN and characters <= MAX_OWN_TEXT:
                kept[place].append(cell)
    return kept


def _said(cell: Cell | None, released: Mapping[str, str]) -> bool:
    """Tell whether a cell holds more than it was handed out with (nbgrader's rule), or blanks."""
    return cell is not None and bool(cell.text.strip()) and cell.text != released.get(cell.id)


def _marks(node: Any) -> Mapping[str, Any]:
    marks: Mapping[str, Any] = node.metadata.get("nbgrader", {})
    return marks


def _by_hand(trusted: NotebookNode) -> Iterator[str]:
    for node in trusted.cells:
        if _marks(node).get("grade") is True and _marks(node).get("solution") is True:
            yield _marks(node)["grade_id"]


def _locked(node: Any, report: Report) -> dict[str, Any]:
    """Return a cell of the homework; under a test, what its checks said."""
    cell = _cell(node.cell_type, HIDDEN.sub("", node.source), node)
    if _marks(node).get("grade") is True and node.cell_type == "code":
        question = _marks(node)["grade_id"].removeprefix("test-")
        text = as_output(lines(report, question))
        if text:
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": f"{text}\n"}]
    if "attachments" in node:
        cell["attachments"] = node.attachments
    return cell


def _solution(node: Any, answer: Cell | None, otherwise: str, images: Images) -> dict[str, Any]:
    if answer is None:
        text = f"# {otherwise}" if node.cell_type == "code" else f"*{otherwise}*"
        return _cell(node.cell_type, text, node)
    return _filled(node.cell_type, answer, images, node)


def _own(cell: Cell, images: Images) -> dict[str, Any]:
    return _filled("code" if cell.is_code else "markdown", cell, images, None)


def _filled(kind: str, cell: Cell, images: Images, node: Any) -> dict[str, Any]:
    """Return a cell with the text of a student, made harmless."""
    text = cell.text
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n\n… cut off: {len(text):,} characters were handed in."
    if kind == "code":
        return _cell(kind, clean(text), node)
    names, pictures = images.take(text, cell.attachments)
    made = _cell(kind, defuse_markdown(text, names), node)
    return {**made, "attachments": pictures} if pictures else made


def _cell(kind: str, text: str, node: Any) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    if node is not None:
        marks = {key: _marks(node)[key] for key in MARKS if key in _marks(node)}
        cell["metadata"] = {"nbgrader": marks} if marks else {}
        if "id" in node:
            cell["id"] = node.id
    return cell


def _digest(cell: Cell | None) -> str:
    data = [None, None] if cell is None else [cell.text, cell.attachments]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]


def _written(trusted: NotebookNode, nodes: Sequence[Mapping[str, Any]]) -> bytes:
    known = ("kernelspec", "language_info")
    metadata = {key: trusted.metadata[key] for key in known if key in trusted.metadata}
    notebook = {"cells": nodes, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
    return f"{text}\n".encode()
