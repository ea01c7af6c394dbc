"""At home: ``check(...)`` inside a notebook, and the table of ``autograder check``."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from autograder.judge import judge, judge_question
from autograder.local import Local
from autograder.manifest import (
    Manifest,
    Question,
    UnknownHomework,
    homework_names,
    load_manifest,
)
from autograder.notebook import read_cells
from autograder.outcome import Outcome, Report

NOTEBOOK_LIMIT = 20.0  # seconds for one message inside a notebook
MESSAGE_WIDTH = 66  # nbgrader's validate cuts longer lines of an error
GREEN, YELLOW, RED = 32, 33, 31
SILENCE = "(What your functions print is not shown here; call them yourself to see it.)"


class CheckFailed(AssertionError):
    """What a student reads when an answer is not right yet."""

    def __init__(self, reason: str) -> None:
        super().__init__("\n".join(wrap(reason, MESSAGE_WIDTH)))

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: the reason, without the lines of our own code."""
        return [str(self)]


class Homework:
    """The checks of one homework, called as ``check("question")`` in a notebook.

    >>> Homework("hw1-margins")
    the checks of hw1-margins: Margins
    """

    def __init__(self, name: str, limit: float = NOTEBOOK_LIMIT) -> None:
        self._manifest, self._limit = load_manifest(name), limit

    def __repr__(self) -> str:
        return f"the checks of {self._manifest.homework}: {self._manifest.title}"

    def __call__(self, question: str | None = None) -> None:
        """Run the visible checks of one question, or print the table of all.

        Raises
        ------
        AssertionError
            If a question is given and its answer is not right, with the reason.
        """
        student = Local(sys._getframe(1).f_globals, self._limit)
        names = [part.id for part in self._manifest.questions] if question is None else [question]
        outcomes = tuple(outcome for name in names for outcome in self._judge(name, student))
        if student.printed:
            print(SILENCE)
        if question is None:
            homework = self._manifest.homework
            report = Report(homework=homework, student="", seeds="public", outcomes=outcomes)
            print(f"{table(report, self._manifest)}\n\n{closing(report, self._manifest)}")
            return
        for outcome in outcomes:
            if not outcome.full:
                place = where(outcome, self._manifest.question(question))
                raise CheckFailed(f"{explanation(outcome)} {place}")
        print(f"{question}: {_passed(_hidden(self._manifest, question))}")

    def passed(self, question: str) -> bool:
        """Tell whether the visible checks of a question pass, without a word."""
        student = Local(sys._getframe(1).f_globals, self._limit)
        return all(outcome.full for outcome in self._judge(question, student))

    def _judge(self, question: str, student: Local) -> list[Outcome]:
        try:
            self._manifest.question(question)
        except KeyError as problem:
            raise CheckFailed(f"{problem.args[0]}.") from None
        return judge_question(self._manifest.homework, question, student)


def homework(name: str, limit: float = NOTEBOOK_LIMIT) -> Homework:
    """Return the checks of a homework, for use in its notebook.

    Parameters
    ----------
    name : for example "hw1-margins"
    limit : seconds after which a function is said to run for ever

    >>> check = homework("hw1-margins")
    """
    return Homework(name, limit)


def explanation(outcome: Outcome) -> str:
    """Return the reason with what the student's own code said, as sentences."""
    text = outcome.reason
    if outcome.private:  # what the code said belongs to the reason, in brackets behind known words
        named = outcome.mistake is not None
        text = f"{text[:-1]}: {outcome.private})" if named else f"{text}: {outcome.private}"
    return text if text.endswith((".", "?", "!")) else f"{text}."


def where(outcome: Outcome, question: Question) -> str:
    """Return where to read about a check."""
    return f"Read {question.chapter} ({outcome.label})."


def _hidden(manifest: Manifest, question: str | None = None) -> int:
    parts = [manifest.question(question)] if question else manifest.questions
    return sum(check.visibility != "always" for part in parts for check in part.checks)


def _passed(hidden: int) -> str:
    return f"visible checks passed; {_further(hidden)}"


def _further(hidden: int) -> str:
    if hidden == 1:
        return "1 further check runs after submission."
    return f"{hidden or 'no'} further checks run after submission."


def closing(report: Report, manifest: Manifest) -> str:
    """Return the last words: what passed, and that more is to come."""
    wrong = {outcome.question for outcome in report.outcomes if not outcome.full}
    parts = f"{len(wrong)} of {len(manifest.questions)} parts need another look"
    if len(wrong) == 1:
        parts = f"1 of {len(manifest.questions)} parts needs another look"
    hidden = _hidden(manifest)
    first = f"{parts}; {_further(hidden)}" if wrong else _passed(hidden)
    return f"{first}\nHere the data come from public seeds; when graded, from others."


def table(report: Report, manifest: Manifest, *, colour: bool = False, width: int = 100) -> str:
    """Return the report as a table: part, points, verdict, reason, where to read."""
    name_width = max(len(question.id) for question in manifest.questions)
    lines = [f"{'part':{name_width}}  {'points':>7}  {'verdict':8}  reason"]
    for question in manifest.questions:
        outcomes = report.of(question.id)
        points = sum(outcome.points for outcome in outcomes)
        possible = sum(outcome.max_points for outcome in outcomes)
        verdict = _verdict(outcomes)
        head = f"{question.id:{name_width}}  {f'{points:g} / {possible:g}':>7}  "
        indent = " " * (len(head) + 10)
        first, *more = [
            line
            for text in _reasons(outcomes, question)
            for line in wrap(text, max(30, width - len(indent)))
        ]
        shown = f"{verdict:8}"
        if colour:
            shown = f"\033[{_colour(verdict)}m{shown}\033[0m"
        lines += [f"{head}{shown}  {first}", *(indent + line for line in more)]
    return "\n".join(lines)


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines, but not at the hyphens of labels."""
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _verdict(outcomes: Sequence[Outcome]) -> str:
    """Return one word: ok, partly, or how the first check that failed ended."""
    failed = [outcome for outcome in outcomes if not outcome.full]
    if not failed:
        return "ok"
    return "partly" if any(outcome.points > 0 for outcome in outcomes) else failed[0].status.lower()


def _colour(verdict: str) -> int:
    return {"ok": GREEN, "partly": YELLOW}.get(verdict, RED)


def _reasons(outcomes: Sequence[Outcome], question: Question) -> list[str]:
    failed = [outcome for outcome in outcomes if not outcome.full]
    if not failed:
        return [outcomes[0].reason] if len(outcomes) == 1 else ["right"]
    reasons = dict.fromkeys(explanation(outcome) for outcome in failed)
    return [*reasons, where(failed[0], question)]


def homework_of(path: Path, data: bytes) -> str:
    """Return which homework a notebook is, by its name or by its ``homework("…")`` line.

    >>> homework_of(Path("hw1-margins (2).ipynb"), b"")
    'hw1-margins'
    """
    for name in homework_names():
        if path.name.lower().startswith(name):
            return name
    match = re.search(rb'homework\(\\?["\']([\w-]+)', data)
    if match and (name := match[1].decode()) in homework_names():
        return name
    known = ", ".join(homework_names())
    raise UnknownHomework(f"which homework is {path.name}? Say it with --homework: {known}")


def check_notebook(
    path: Path,
    name: str | None = None,
    *,
    limit: float = 30.0,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Report, Manifest]:
    """Run the visible checks on a notebook file (``autograder check``)."""
    data = path.read_bytes()
    read_cells(data)  # what is no notebook is told before asking which homework it is
    name = name or homework_of(path, data)
    report = judge(name, data, visible_only=True, limit=limit, progress=progress)
    return report, load_manifest(name)
