"""A sample class to try the grader on: right, mistaken, hostile, broken and untouched notebooks.

Every notebook is made from the released one, as a student makes it, and the same class comes out
every time. Each sample says how its grading must end.
"""

from __future__ import annotations

import ast
import itertools
import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from autograder.hostile import ATTACKS, Notebook
from autograder.manifest import Question, load_manifest
from autograder.mistakes import Mistake, changed_function, load_mistakes
from autograder.outcome import Status
from autograder.sources import reference_functions

DEADLINE = datetime(2025, 1, 15, 23, 59, tzinfo=UTC)  # one of the samples is late by it

# The order in which a class of a given size is filled: any beginning of it is mixed.
ROUND = (
    *("correct", "mistake", "hostile", "untouched", "mistake", "broken", "answers", "mistake"),
    *("variant", "hostile", "mistake", "syntax", "correct", "mistake", "late"),
)

ANSWER = r"""
Both matter: the distance of $x$ from the line is $\frac{|f(x)|}{\|w\|}$, so with $y_i f(x_i) \ge 1$

$$\gamma = \min_i \frac{y_i f(x_i)}{\|w\|} \ge \frac{1}{\|w\|}, \qquad 0<\alpha_i<C \;\&\; a<b.$$

A smaller $\|w\|$ is a **wider** margin; without the constraint $w = 0$ would win.
"""


@dataclass(frozen=True)
class Expected:
    """How grading must end: the worst status is one of these, the points are in this range."""

    statuses: tuple[Status, ...]
    least: float
    most: float


@dataclass(frozen=True)
class Sample:
    """One submission of the sample class; ``submitted`` is when it was handed in."""

    student: str
    kind: str
    homework: str
    data: bytes
    expected: Expected
    submitted: datetime


Entry = tuple[str, bytes, Expected]  # name, notebook, and what must come of it


def sample_class(released: bytes, homework: str, size: int | None = None) -> list[Sample]:
    """Return a class made from the released notebook of a homework.

    Parameters
    ----------
    released
        The notebook that students get, ``COURSE/release/HW/HW.ipynb``.
    homework
        Its name.
    size
        How many students, taken in turn from all kinds; without it one of each.
    """
    kinds = {kind: list(make(released, homework)) for kind, make in KINDS.items()}
    if size is None:
        chosen = [(kind, entry) for kind, entries in kinds.items() for entry in entries]
    else:
        endless = {kind: itertools.cycle(entries) for kind, entries in kinds.items()}
        turns = itertools.islice(itertools.cycle(ROUND), size)
        chosen = [(kind, next(endless[kind])) for kind in turns]
    samples: list[Sample] = []
    counts = Counter[str]()
    for kind, (name, data, expected) in chosen:
        counts[name] += 1
        number = f"-{counts[name]:02}" if counts[name] > 1 or name == "correct" else ""
        hours = 26 if kind == "late" else -1 - len(samples) % 48
        when = DEADLINE + timedelta(hours=hours)
        samples.append(Sample(f"{name}{number}", kind, homework, data, expected, when))
    return samples


def write_class(samples: Iterable[Sample], submitted: Path) -> list[Path]:
    """Write samples as nbgrader collects them, STUDENT/HW/HW.ipynb and a timestamp each."""
    written = []
    for sample in samples:
        folder = Path(submitted) / sample.student / sample.homework
        folder.mkdir(parents=True, exist_ok=True)
        when = sample.submitted.strftime("%Y-%m-%d %H:%M:%S.%f %Z")
        _write(folder / "timestamp.txt", f"{when}\n".encode())
        written.append(_write(folder / f"{sample.homework}.ipynb", sample.data))
    return written


def _write(path: Path, data: bytes) -> Path:
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(data)
    return fresh.replace(path)


def fill(released: bytes, functions: Mapping[str, str], answer: str = "") -> Notebook:
    """Return the released notebook with functions in its solution cells.

    Parameters
    ----------
    released
        The notebook that students get.
    functions
        The text for a solution cell by its name, which is that of its function; others stay.
    answer
        The text for every answer that is graded by hand; without it they stay untouched.
    """
    notebook: Notebook = json.loads(released)
    for cell in notebook["cells"]:
        marks = cell["metadata"].get("nbgrader", {})
        if not marks.get("solution"):
            continue
        if cell["cell_type"] == "code" and marks["grade_id"] in functions:
            cell["source"] = functions[marks["grade_id"]].strip("\n")
        elif cell["cell_type"] == "markdown" and answer:
            cell["source"] = answer.strip("\n")
    return notebook


def dump(notebook: Notebook) -> bytes:
    """Return a notebook as Jupyter saves it."""
    return f"{json.dumps(notebook, indent=1, ensure_ascii=False)}\n".encode()


def with_body(source: str, body: str) -> str:
    r"""Return a function with another body under the same head.

    >>> print(with_body("def f(x,\n      y=2):\n    '''Add.'''\n    return x + y\n", "return 7"))
    def f(x,
          y=2):
        return 7
    """
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    head = source.splitlines()[: function.body[0].lineno - 1]
    return "\n".join([*head, textwrap.indent(body.strip("\n"), "    ")])


def victim(homework: str) -> Question:
    """Return the question that samples get wrong on purpose: one with others before and after.

    >>> victim("hw1-margins").id
    'geometric'
    """
    return load_manifest(homework).questions[2]


def _full(homework: str) -> Expected:
    points = load_manifest(homework).points
    return Expected((Status.OK,), points, points)


def _without(homework: str, question: Question, *statuses: Status) -> Expected:
    points = load_manifest(homework).points - question.points
    return Expected(statuses, points, points)


def _correct(released: bytes, homework: str) -> Iterator[Entry]:
    notebook = fill(released, reference_functions(homework))
    yield "correct", dump(notebook), _full(homework)


def _changed(released: bytes, homework: str, mistake: Mistake) -> bytes:
    changed = {mistake.function: changed_function(homework, mistake)}
    return dump(fill(released, reference_functions(homework) | changed))


def _mistakes(released: bytes, homework: str) -> Iterator[Entry]:
    """Yield each mistake of the catalogue: it costs points of its own question, and only these."""
    manifest = load_manifest(homework)
    for mistake in _by_turns(load_mistakes(homework)):
        if not mistake.acceptable:
            least = manifest.points - manifest.question(mistake.question).points
            # all points may be left: some checks are worth none
            expected = Expected(LOST, least, manifest.points)
            yield f"mistake-{mistake.id}", _changed(released, homework, mistake), expected


def _by_turns(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """Return the first of each question, then the second of each: a small class has all kinds."""
    seen = Counter[str]()

    def turn(mistake: Mistake) -> int:
        seen[mistake.question] += 1
        return seen[mistake.question]

    return sorted(mistakes, key=turn)


def _variants(released: bytes, homework: str) -> Iterator[Entry]:
    for mistake in _by_turns(load_mistakes(homework)):
        if mistake.acceptable:
            data = _changed(released, homework, mistake)
            yield f"variant-{mistake.id}", data, _full(homework)


def _hostile(released: bytes, homework: str) -> Iterator[Entry]:
    functions, question = reference_functions(homework), victim(homework)
    name = question.functions[-1]
    for attack, (statuses, body, edit) in ATTACKS.items():
        changed = {name: with_body(functions[name], body)} if body else {}
        notebook = fill(released, functions | changed)
        if edit is not None:
            edit(notebook)
        expected = _without(homework, question, *statuses) if body else _full(homework)
        yield f"hostile-{attack}", dump(notebook), expected


def _broken(released: bytes, homework: str) -> Iterator[Entry]:
    expected = Expected((Status.REJECTED,), 0.0, 0.0)
    whole = dump(fill(released, reference_functions(homework)))
    old: dict[str, Any] = json.loads(whole)
    old = {"metadata": {}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [old]}
    yield "broken-truncated", whole[: len(whole) // 2], expected
    yield "broken-empty", b"", expected
    yield "broken-old-format", dump(old), expected


def _untouched(released: bytes, homework: str) -> Iterator[Entry]:
    yield "untouched", released, Expected((Status.ERROR,), 0.0, 0.0)


def _syntax(released: bytes, homework: str) -> Iterator[Entry]:
    functions, question = reference_functions(homework), victim(homework)
    name = question.functions[-1]
    text = with_body(functions[name], "return (1.0\n")
    data = dump(fill(released, functions | {name: text}))
    yield "syntax-error", data, _without(homework, question, Status.ERROR)


def _answers(released: bytes, homework: str) -> Iterator[Entry]:
    yield "answers", dump(fill(released, reference_functions(homework), ANSWER)), _full(homework)


def _late(released: bytes, homework: str) -> Iterator[Entry]:
    yield "late", dump(fill(released, reference_functions(homework), ANSWER)), _full(homework)


LOST = (Status.WRONG, Status.ERROR, Status.TIMEOUT)
KINDS: dict[str, Callable[[bytes, str], Iterator[Entry]]] = {
    "correct": _correct,
    "mistake": _mistakes,
    "variant": _variants,
    "hostile": _hostile,
    "broken": _broken,
    "untouched": _untouched,
    "syntax": _syntax,
    "answers": _answers,
    "late": _late,
}
