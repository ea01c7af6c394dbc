"""What of a report its student may see, now and after the deadline.

For a hidden check that is the verdict and, where the student's code did not get to an answer, the
type of the exception and the line. These are said in words of ours: whatever came from the
student's process could have been made to carry hidden data out of it.
"""

from __future__ import annotations

import builtins
import dataclasses
import re
from collections.abc import Iterable

from autograder.home import explanation
from autograder.manifest import Manifest, load_manifest
from autograder.outcome import Outcome, Report, Status

NOT_IMPLEMENTED = "not implemented"
KEPT_BACK = "kept back"
UNTIL_AFTER = f"{KEPT_BACK} until after the deadline"
MAX_LINE = 600  # characters of a reason in a comment

# Said of the notebook's own text, before anything hidden is drawn.
OPEN = (Status.POLICY, Status.REJECTED)
SHORT = {
    Status.ERROR: "ended with an error",
    Status.TIMEOUT: "ran into the time limit",
    Status.MEMORY: "ran out of memory",
    Status.OUTPUT: "printed too much",
    Status.KILLED: "the process that ran it ended",
    Status.INTERNAL: "the check itself failed; please report it",
}
EXCEPTIONS = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception)
} | {"AxisError", "LinAlgError"}

_RAISED = re.compile(r"\braised (\w+)\b")
_PLACE = re.compile(r"\bin cell (\d{1,4}), line (\d{1,4})\b")
_NEEDS = re.compile(rf"\b(\w+) needs (\w+), which is {NOT_IMPLEMENTED}")


def student_view(report: Report, *, after: bool) -> Report:
    """Return a report as its student may see it; ``after`` says that the deadline has passed."""
    shown = {outcome.reason for outcome in report.outcomes if outcome.visibility == "always"}
    manifest = load_manifest(report.homework)
    outcomes = tuple(_seen(outcome, shown, manifest, after) for outcome in report.outcomes)
    return dataclasses.replace(report, outcomes=outcomes, judged={})


def _seen(outcome: Outcome, shown: set[str], manifest: Manifest, after: bool) -> Outcome:
    if outcome.visibility == "always":
        return outcome
    if outcome.visibility == "after" and after:
        return dataclasses.replace(outcome, private="")
    reason = outcome.reason
    open_anyway = outcome.status in OPEN or reason == NOT_IMPLEMENTED
    if not open_anyway and outcome.status in SHORT and reason not in shown:
        reason = _in_short(outcome, manifest.functions)
    elif not open_anyway and outcome.status not in SHORT:
        reason = UNTIL_AFTER if outcome.visibility == "after" else KEPT_BACK
    labels = {check.id: check.label for check in manifest.checks}
    return dataclasses.replace(
        outcome,
        reason=reason,
        label=labels.get(outcome.check, ""),  # that of a mistake would name it
        measured=None,
        limit=None,
        seconds=0.0,
        memory=None,
        mistake=None,
        private="",
    )


def _in_short(outcome: Outcome, names: Iterable[str]) -> str:
    """Say how a call ended, with nothing in it that the call itself could choose freely.

    >>> hidden = {"check": "c", "question": "q", "points": 0, "max_points": 1}
    >>> reason = "eta raised ZeroDivisionError in cell 7, line 3"
    >>> _in_short(Outcome(**hidden, status=Status.ERROR, reason=reason), ["eta"])
    'raised ZeroDivisionError in cell 7, line 3'
    >>> reason = "eta raised X_is_0_173_0_922 in cell 7, line 3"
    >>> _in_short(Outcome(**hidden, status=Status.ERROR, reason=reason), ["eta"])
    'raised an exception in cell 7, line 3'
    """
    needs, raised = _NEEDS.search(outcome.reason), _RAISED.search(outcome.reason)
    places = _PLACE.findall(outcome.reason)
    place = " in cell {}, line {}".format(*places[-1]) if places else ""
    if outcome.status is not Status.ERROR:
        return SHORT[outcome.status]
    if needs and set(needs.groups()) <= set(names):
        return needs[0]
    if raised:
        kind = raised[1] if raised[1] in EXCEPTIONS else "an exception"
        return f"raised {kind}{place}"
    return f"{SHORT[outcome.status]}{place}"


def reason_lines(report: Report, question: str, after: bool) -> list[str]:
    """Return what a student may read about a question, one line a check."""
    return lines(student_view(report, after=after), question)


def lines(report: Report, question: str) -> list[str]:
    """Return one line for each check of a question: points, status, reason.

    >>> outcome = Outcome(check="eta", question="eta", status=Status.OK, points=2, max_points=2,
    ...     reason="right")
    >>> lines(Report(homework="hw2-smo", student="", seeds="public", outcomes=(outcome,)), "eta")
    ['eta: 2/2, OK: right.']
    """
    return [_line(outcome) for outcome in report.of(question)]


def _line(outcome: Outcome) -> str:
    points = f"{outcome.points:g}/{outcome.max_points:g}"
    text = " ".join(explanation(outcome).split())
    text = text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]} …"
    return f"{outcome.check}: {points}, {outcome.status}: {text}"
