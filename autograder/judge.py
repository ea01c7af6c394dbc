"""Judge a submission: call, measure, decide. No student code runs in this process."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.diagnosis import diagnose
from autograder.extract import Extracted, extract
from autograder.keys import question_key
from autograder.manifest import Check, Manifest, Question, load_manifest
from autograder.mistakes import Mistake, words
from autograder.outcome import Judged, Outcome, Report, Status, Verdict, Wrong, noting
from autograder.pools import seeds_for
from autograder.sandbox.channel import Launch, NotStarted, plain_process
from autograder.seeds import PUBLIC, Draw, Seeds
from autograder.sources import reference_functions
from autograder.student import (
    NOT_IMPLEMENTED,
    Fault,
    Student,
    StudentFault,
    StudentProcess,
)


def judge(
    homework: str,
    data: bytes,
    *,
    seeds: Seeds | None = None,
    visible_only: bool = False,
    limit: float = 30.0,
    launch: Launch = plain_process,
    trusted: Mapping[str, str] | None = None,
    before: Report | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Judge the bytes of a notebook, its functions running in a process of their own.

    Parameters
    ----------
    homework : whose manifest decides
    data : the notebook
    seeds : from which the student's data are drawn; without them the public ones are used, and the
        report says so
    visible_only : run the checks that a student may always see, and no others
    limit : CPU seconds for one check
    launch : starts the student's process: :func:`autograder.sandbox.launch` for code of others
    trusted : what all submissions have in common (:func:`autograder.keys.trusted_digests`), for a
        report whose verdicts can be taken over by the next run
    before : the report of an earlier run; verdicts that would be the same are taken over from it
    progress : told the title of each question before it is judged

    Raises
    ------
    autograder.extract.Rejected
        If the bytes are not a notebook.
    """
    manifest = load_manifest(homework)
    extracted = extract(data, manifest.functions, manifest.supplied)
    seeds = seeds_for(homework) if seeds is None else seeds
    bench = _Bench(manifest, seeds, visible_only, extracted.policy)
    outcomes: list[Outcome] = []
    judged: dict[str, Judged] = {}
    with _started(manifest, extracted, limit, launch) as pair:
        for question in manifest.questions:
            progress(question.title)
            failed = bench.failed_steps(question, outcomes)
            key = ""
            if trusted is not None:
                settings = [limit, visible_only, *failed]
                key = question_key(data, question, seeds, trusted[question.id], settings)
            if key and before is not None and (kept := before.kept(question.id, key)):
                outcomes += kept
                judged[question.id] = before.judged[question.id]
                continue
            with noting() as noted:
                outcomes += bench.judge(question, pair(()), pair(failed), failed)
            judged[question.id] = Judged(key, tuple(sorted(noted | pair(()).remarks)))
    made = sorted({remark for item in judged.values() for remark in item.remarks})
    return Report(
        homework=homework,
        student=seeds.student,
        seeds=seeds.source,
        outcomes=tuple(outcomes),
        remarks=(*extracted.remarks, *made),
        judged=judged if trusted is not None else {},
    )


@contextmanager
def _started(
    manifest: Manifest, extracted: Extracted, limit: float, launch: Launch
) -> Iterator[Callable[[tuple[str, ...]], _Pair]]:
    """Give a function that returns the submission with the reference in place of failed steps."""
    supplied = _sources(manifest.homework, manifest.supplied)
    with ExitStack() as stack:

        @functools.cache
        def pair(failed: tuple[str, ...]) -> _Pair:
            start = functools.partial(
                StudentProcess,
                extracted,
                manifest.functions,
                supplied=supplied,
                override=_sources(manifest.homework, failed),
                limit=limit,
                launch=launch,
            )
            return stack.enter_context(_Pair(start(), start()))

        yield pair


@dataclass(frozen=True)
class _Pair:
    """A submission in two processes: what hidden checks asked is not known where text is shown."""

    visible: StudentProcess
    hidden: StudentProcess

    def __enter__(self) -> _Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.visible.close()
        self.hidden.close()

    def __call__(self, check: Check) -> Student:
        return self.visible if check.visibility == "always" else self.hidden

    @property
    def remarks(self) -> set[str]:
        """What a person should know about either."""
        return self.visible.remarks | self.hidden.remarks


def judge_source(
    homework: str, source: str, *, secret: bytes = PUBLIC, student: str = "", **options: Any
) -> Report:
    """Judge plain source as if it stood in the only cell of a notebook."""
    seeds = seeds_for(homework, secret=secret, student=student)
    return judge(homework, notebook_bytes(source), seeds=seeds, **options)


def notebook_bytes(*cells: str) -> bytes:
    """Return a notebook with these code cells."""
    code: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": cell,
        }
        for cell in cells
    ]
    notebook = {"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(notebook).encode()


def _sources(homework: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    functions = reference_functions(homework)
    return "import numpy as np\n\n" + "\n\n".join(functions[name] for name in names)


def judge_question(
    homework: str, question: str, student: Student, *, seeds: Seeds | None = None
) -> list[Outcome]:
    """Judge one question by its visible checks with public seeds, or with others by all checks."""
    manifest = load_manifest(homework)
    bench = _Bench(manifest, seeds or seeds_for(homework), visible_only=seeds is None)
    part = manifest.question(question)
    return bench.finish(part, student, bench.run(part, lambda _: student))


def run_check(check: Check, question: Question, student: Student, draw: Draw) -> Outcome:
    """Run one check and turn whatever happens into an outcome."""
    started = time.perf_counter()
    student.begin()
    try:
        with np.errstate(all="ignore"):  # answers may be huge
            verdict: Verdict = check.load()(student, draw, **check.options)
    except StudentFault as problem:
        verdict = _verdict(problem.fault)
    except Wrong as problem:
        verdict = Verdict(0.0, str(problem), status=Status.WRONG)
    except NotStarted as problem:
        verdict = Verdict(0.0, f"{problem}; please grade again", status=Status.INTERNAL)
    except Exception as problem:
        reason = f"the check itself failed ({type(problem).__name__}: {problem}); please report it"
        verdict = Verdict(0.0, reason, status=Status.INTERNAL)
    seconds = time.perf_counter() - started
    return _outcome(check, question, verdict, seconds=seconds, memory=student.memory)


def _verdict(fault: Fault) -> Verdict:
    return Verdict(0.0, fault.reason, status=fault.status, private=fault.private)


def _outcome(
    check: Check,
    question: Question,
    verdict: Verdict,
    *,
    seconds: float = 0.0,
    memory: int | None = None,
) -> Outcome:
    return Outcome(
        check=check.id,
        question=question.id,
        status=verdict.status,
        points=verdict.share * check.points,
        max_points=check.points,
        reason=verdict.reason,
        measured=_finite(verdict.measured),
        limit=verdict.limit,
        seconds=seconds,
        memory=memory,
        visibility=check.visibility,
        lecture=check.lecture,
        label=check.label,
        private=verdict.private,
    )


def _finite(value: float | None) -> float | None:
    """Return None for infinity and nan, which JSON does not know."""
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class _Bench:
    """What does not change while one submission is judged."""

    manifest: Manifest
    seeds: Seeds
    visible_only: bool
    policy: Mapping[str, str] = field(default_factory=dict)

    def checks(self, question: Question) -> list[Check]:
        return [c for c in question.checks if c.visibility == "always" or not self.visible_only]

    def refused(self, question: Question) -> Verdict | None:
        for name in question.functions:
            if package := self.policy.get(name):
                reason = f"{name} uses {package}; write it with numpy: here you build it yourself"
                return Verdict(0.0, reason, status=Status.POLICY)
        return None

    def judge(
        self, question: Question, own: _Pair, carried: _Pair, failed: Sequence[str]
    ) -> list[Outcome]:
        """Judge a question; where steps that it needs have failed, with ours in their place."""
        if not failed or own.visible.doomed or self.refused(question):
            return self.finish(question, own.visible, self.run(question, own))
        judged = [_carried(outcome, failed) for outcome in self.run(question, carried)]
        if not all(outcome.full for outcome in judged):  # its own steps may serve it better
            mine = self.run(question, own)
            judged = [_better(a, b) for a, b in zip(mine, judged, strict=True)]
        return self.finish(question, carried.visible, judged)

    def run(self, question: Question, student: Callable[[Check], Student]) -> list[Outcome]:
        """Run the checks of a question; a time limit that was hit is final."""
        outcomes: list[Outcome] = []
        for check in self.checks(question):
            stop = self.refused(question) or _time_is_up(outcomes)
            if stop is not None:
                outcomes.append(_outcome(check, question, stop))
                continue
            draw = self.seeds.draw(check.id)
            outcomes.append(run_check(check, question, student(check), draw))
        return outcomes

    def failed_steps(self, question: Question, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
        """Return the step functions of a loop whose own questions were not answered in full."""
        lost = {outcome.question for outcome in outcomes if not outcome.full}
        parts = [part for part in self.manifest.questions if part.id in lost]
        return tuple(name for part in parts for name in part.functions if name in question.steps)

    def finish(self, question: Question, student: Student, judged: list[Outcome]) -> list[Outcome]:
        """Give what ``or_all_of`` gives, and name the mistake."""
        return self.named(question, student, _or_all_of(question, judged))

    def named(self, question: Question, student: Student, judged: list[Outcome]) -> list[Outcome]:
        """Add the words of the catalogue, and its credit, where the mistake is known."""
        lost = [outcome for outcome in judged if not outcome.full]
        statuses = {outcome.status for outcome in lost}
        if statuses <= {Status.POLICY, Status.INTERNAL} or all(map(_is_open, lost)):
            return judged
        student.begin()
        timeout = Status.TIMEOUT in statuses
        mistake = diagnose(self.manifest.homework, question.id, student, timeout=timeout)
        if mistake is None:
            return judged
        return [outcome if outcome.full else _with_words(outcome, mistake) for outcome in judged]


def _time_is_up(outcomes: Sequence[Outcome]) -> Verdict | None:
    for outcome in outcomes:
        if outcome.status is Status.TIMEOUT:
            reason = f"not run, because check {outcome.check} ran into the time limit"
            return Verdict(0.0, reason, status=Status.TIMEOUT)
    return None


def _or_all_of(question: Question, judged: list[Outcome]) -> list[Outcome]:
    done = {outcome.check for outcome in judged if outcome.full}
    checks = {check.id: check for check in question.checks}
    return [
        _excused(outcome)
        if not outcome.full
        and checks[outcome.check].or_all_of
        and set(checks[outcome.check].or_all_of) <= done
        else outcome
        for outcome in judged
    ]


def _excused(outcome: Outcome) -> Outcome:
    reason = f"not as in the lecture ({outcome.reason}), but the answers are optimal"
    points = outcome.max_points
    return dataclasses.replace(outcome, status=Status.OK, points=points, reason=reason)


def _with_words(outcome: Outcome, mistake: Mistake) -> Outcome:
    return dataclasses.replace(
        outcome,
        mistake=mistake.id,
        label=mistake.label,
        points=max(outcome.points, mistake.credit * outcome.max_points),
        reason=f"{words(mistake)} ({outcome.reason})",
    )


def _is_open(outcome: Outcome) -> bool:
    return outcome.reason == NOT_IMPLEMENTED


def _carried(outcome: Outcome, failed: Sequence[str]) -> Outcome:
    if _is_open(outcome):
        return outcome
    reason = f"{outcome.reason} (judged with our {', '.join(failed)} in place of yours)"
    return dataclasses.replace(outcome, carried=True, reason=reason)


def _better(own: Outcome, carried: Outcome) -> Outcome:
    return own if (own.full, own.points) >= (carried.full, carried.points) else carried
