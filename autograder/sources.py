"""The one source of a homework: its reference code, and the instructor's notebook.

A source is a py:percent text, ``assignments/HW/HW.py``, whose cells carry nbgrader's metadata. Its
solution code needs the standard library only; the notebook needs jupytext and nbformat.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from autograder.manifest import Manifest

CELL = re.compile(r"^# %%(?!%)[ \t]*(.*)$", re.MULTILINE)
MARKER = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[ \t]*$", re.MULTILINE)
# jupytext's notes on blank lines of the text, of no use in a notebook.
BLANK_LINES = ("lines_to_next_cell", "lines_to_end_of_cell_marker")
NOTEBOOK = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class SourceError(ValueError):
    """A source that cannot be read or released, with the place and the way out."""


@dataclass(frozen=True)
class Cell:
    """One cell of a source, numbered from 1 as a person counts."""

    number: int
    kind: str  # "code" or "markdown"
    metadata: Mapping[str, Any]
    text: str

    @property
    def nbgrader(self) -> Mapping[str, Any]:
        """Its nbgrader metadata, empty where it has none."""
        found = self.metadata.get("nbgrader", {})
        return found if isinstance(found, Mapping) else {}

    @property
    def name(self) -> str:
        """Its grade_id, empty where it has none."""
        return str(self.nbgrader.get("grade_id", ""))

    @property
    def place(self) -> str:
        """How an error names it."""
        return f"cell {self.number} ({self.name})" if self.name else f"cell {self.number}"

    def is_a(self, *, grade: bool, solution: bool) -> bool:
        """Tell whether it has this role."""
        roles = self.nbgrader.get("grade", False), self.nbgrader.get("solution", False)
        return bool(self.nbgrader) and roles == (grade, solution)


def assignments_folder() -> Path:
    """Return the folder ``assignments`` of the checkout that this package stands in."""
    folder = Path(__file__).resolve().parent.parent / "assignments"
    if not _names(folder):
        raise SourceError(
            f"there are no homework sources in {folder}: an installed package has none. Take a "
            "checkout of the project and give --assignments PATH, its folder assignments"
        )
    return folder


def homeworks(folder: Path | None = None) -> list[str]:
    """Return the names of the homework that has a source, in the order of the course."""
    folder = assignments_folder() if folder is None else Path(folder)
    if names := _names(folder):
        return names
    raise SourceError(
        f"{folder} holds no homework: expected HW/HW.py in it, such as hw1-margins/hw1-margins.py; "
        "give --assignments PATH"
    )


def _names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*/*.py") if path.stem == path.parent.name)


def source_path(homework: str, folder: Path | None = None) -> Path:
    """Return where the source of a homework stands."""
    folder = assignments_folder() if folder is None else Path(folder)
    if homework not in (names := homeworks(folder)):
        raise SourceError(f"there is no homework {homework!r} in {folder}; choose {join(names)}")
    return folder / homework / f"{homework}.py"


def reference_source(homework: str) -> str:
    """Return the reference code of a homework: numpy only, the functions that students write.

    A wheel carries it as ``autograder/reference/HW.py``, without text, tests and model answers; in
    a checkout it is cut out of the source.
    """
    packaged = Path(__file__).resolve().parent / "reference" / f"{homework}.py"
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return solution_code(source_path(homework).read_text(encoding="utf-8"))


def reference_functions(homework: str) -> dict[str, str]:
    """Return the source of each reference function by its name."""
    return dict(split_functions(reference_source(homework)))


@functools.lru_cache(100)
def split_functions(code: str) -> Mapping[str, str]:
    r"""Return the source of each top-level function by its name.

    >>> split_functions("a = 1\n\ndef f(x):\n    return x + a\n")
    {'f': 'def f(x):\n    return x + a\n'}
    """
    lines = code.splitlines()
    nodes = ast.parse(code).body
    return {
        node.name: _text(node, lines) + "\n" for node in nodes if isinstance(node, ast.FunctionDef)
    }


@functools.lru_cache(20)
def solution_code(text: str) -> str:
    """Return the code of the solution cells and of the supplied ones, markers removed.

    Kept are functions, constants and imports of numpy; what draws or prints is not.

    >>> print(solution_code('''
    ... # %% nbgrader={"grade": false, "grade_id": "twice", "solution": true}
    ... def twice(x):
    ...     ### BEGIN SOLUTION
    ...     return 2 * x
    ...     ### END SOLUTION
    ... '''))
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def twice(x):
        return 2 * x
    <BLANKLINE>
    """
    imports, parts = ["import numpy as np"], []
    for cell in read_cells(text):
        supplied = cell.nbgrader.get("locked") is True and cell.name.startswith("supplied")
        if cell.kind == "code" and (supplied or cell.nbgrader.get("solution") is True):
            for is_import, part in _kept(cell):
                if not is_import:
                    parts.append(part)
                elif part not in imports:
                    imports.append(part)
    return "\n\n\n".join(["\n".join(imports), *parts]) + "\n"


def read_cells(text: str) -> list[Cell]:
    """Split a py:percent text into its cells."""
    text = text.replace("\r\n", "\n")
    marks = list(CELL.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    cells = []
    for number, (mark, end) in enumerate(zip(marks, ends, strict=True), 1):
        head = mark.group(1)
        kind = "markdown" if re.search(r"\[(markdown|md)\]", head) else "code"
        cells.append(Cell(number, kind, _metadata(head, number), text[mark.end() : end].strip()))
    return cells


def _metadata(head: str, number: int) -> dict[str, Any]:
    found = re.search(r"\bnbgrader=(\{.*\})", head)
    if found is None:
        return {}
    try:
        return {"nbgrader": json.loads(found.group(1))}
    except json.JSONDecodeError as problem:
        raise SourceError(
            f"cell {number}: its metadata is no JSON ({problem}): {found.group(1)}"
        ) from None


def _kept(cell: Cell) -> Iterator[tuple[bool, str]]:
    """Yield (is it an import, its text) for the statements of a cell that belong to a reference."""
    code = without_markers(cell.text)
    lines = code.splitlines()
    for node in _parse(code, cell).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            if _packages(node) != {"numpy"}:
                raise SourceError(
                    f"{cell.place}: a reference imports numpy only, found {ast.unparse(node)!r}"
                )
            yield True, _text(node, lines)
        elif isinstance(node, ast.FunctionDef) or _is_constant(node):
            yield False, _text(node, lines)


def _packages(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.ImportFrom):
        return {(node.module or ".").split(".")[0]}
    return {alias.name.split(".")[0] for alias in node.names}


def _is_constant(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    within = list(ast.walk(node.value))
    called = any(isinstance(item, ast.Call | ast.Lambda | ast.comprehension) for item in within)
    return not called and all(isinstance(target, ast.Name) for target in targets)


def _text(node: ast.stmt, lines: Sequence[str]) -> str:
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    return "\n".join(lines[first - 1 : node.end_lineno])


def without_markers(code: str) -> str:
    """Return the text of a cell without the lines that mark its solution."""
    return "\n".join(line for line in code.splitlines() if not MARKER.match(line))


def _parse(code: str, cell: Cell) -> ast.Module:
    try:
        return ast.parse(code)
    except SyntaxError as problem:
        raise SourceError(
            f"{cell.place}: line {problem.lineno} is no Python: {problem.msg}"
        ) from None


def notebook(path: Path, manifest: Manifest | None = None) -> NotebookNode:
    """Return the instructor's notebook of a source, checked against its manifest.

    The same text always gives the same notebook: ids derive from the homework and the cell's name.
    """
    import jupytext
    import nbformat

    from autograder.source_faults import find_faults

    path = Path(path)
    homework = path.stem
    if manifest is None:
        from autograder.manifest import load_manifest

        manifest = load_manifest(homework)
    made = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    for cell in made.cells:
        for key in BLANK_LINES:
            cell.metadata.pop(key, None)
    cells = [
        Cell(number, cell.cell_type, cell.metadata, cell.source)
        for number, cell in enumerate(made.cells, 1)
    ]
    if faults := find_faults(cells, manifest):
        raise SourceError(f"{path.name} cannot be released:\n  " + "\n  ".join(faults))
    made.metadata = nbformat.from_dict(NOTEBOOK)
    made.nbformat, made.nbformat_minor = 4, 5
    for node, cell in zip(made.cells, cells, strict=True):
        key = f"{homework}/{cell.name or cell.number}"
        node.id = hashlib.sha256(key.encode()).hexdigest()[:12]
        if cell.kind == "code":
            node.outputs, node.execution_count = [], None
    nbformat.validate(made)
    return made


def write_notebook(nb: NotebookNode) -> bytes:
    """Return a notebook as the bytes of its file: keys sorted, the same for the same notebook."""
    import nbformat

    return f"{nbformat.writes(nb)}\n".encode()


def join(names: Sequence[str]) -> str:
    """Return names as a person lists them."""
    return ", ".join(names)
