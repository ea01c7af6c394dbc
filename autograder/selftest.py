"""Prove the checks: every correct variant accepted, every known mistake caught and named."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from autograder.judge import judge_source
from autograder.mistakes import Mistake, faulty_source, load_mistakes
from autograder.outcome import Report
from autograder.sources import reference_source

NAMED_SHARE = 0.9
LIMIT = 10.0  # seconds for one message; a correct one takes a fraction of a second
ENDLESS_LIMIT = 3.0


@dataclass(frozen=True)
class Trial:
    """One variant of the reference under one course secret, and what came of it."""

    homework: str
    variant: str
    secret: int
    correct: bool
    right: bool  # accepted if correct, caught if not
    named: bool
    note: str


def trial_secret(number: int) -> bytes:
    """Return the course secret that stands for a number in self-tests.

    >>> len(trial_secret(0))
    32
    """
    return hashlib.blake2b(f"selftest {number}".encode(), digest_size=32).digest()


def run_trial(homework: str, mistake: Mistake | None, secret: int) -> Trial:
    """Judge the reference, or one variant of it."""
    source = reference_source(homework) if mistake is None else faulty_source(homework, mistake)
    limit = ENDLESS_LIMIT if mistake is not None and mistake.timeout else LIMIT
    report = judge_source(
        homework, source, secret=trial_secret(secret), student="selftest", limit=limit
    )
    if mistake is None or mistake.acceptable:
        return _correct(report, mistake, secret)
    return _faulty(report, mistake, secret)


def _correct(report: Report, mistake: Mistake | None, secret: int) -> Trial:
    lost = [outcome for outcome in report.outcomes if not outcome.full]
    note = f"{lost[0].check}: {lost[0].reason}" if lost else ""
    variant = mistake.id if mistake else "reference"
    return Trial(report.homework, variant, secret, True, not lost, False, note)


def _faulty(report: Report, mistake: Mistake, secret: int) -> Trial:
    """A mistake is caught when its own question loses points and others lose theirs to none."""
    lost = [outcome for outcome in report.of(mistake.question) if not outcome.full]
    elsewhere = [o for o in report.outcomes if not o.full and o.question != mistake.question]
    names = {outcome.mistake for outcome in lost}
    note = "" if lost else "not caught"
    if lost and names != {mistake.id}:
        note = f"named {', '.join(sorted(str(name) for name in names))}: {lost[0].reason}"
    if elsewhere:
        note = f"also lost {elsewhere[0].check}: {elsewhere[0].reason}"
    right = bool(lost) and not elsewhere
    return Trial(report.homework, mistake.id, secret, False, right, names == {mistake.id}, note)


def trials(homeworks: Sequence[str], n_secrets: int) -> Iterator[tuple[str, Mistake | None, int]]:
    """Yield all that is to be judged."""
    for homework in homeworks:
        for secret in range(n_secrets):
            yield homework, None, secret
            for mistake in load_mistakes(homework):
                yield homework, mistake, secret


def selftest(
    homeworks: Sequence[str],
    *,
    n_secrets: int = 5,
    jobs: int = 1,
    verbose: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> int:
    """Judge all variants, print the table, and return the exit status (``autograder selftest``)."""
    work = list(trials(homeworks, n_secrets))
    results: list[Trial] = []
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        for done, trial in enumerate(pool.map(run_trial, *zip(*work, strict=True)), start=1):
            results.append(trial)
            progress(f"{done} of {len(work)}: {trial.homework} {trial.variant}")
    progress("")
    print(summary(results, homeworks))
    for trial in results:
        if verbose or not trial.right:
            word = "ok" if trial.right else "FAILED"
            print(
                f"{word:6}  {trial.homework} {trial.variant} (secret {trial.secret})  {trial.note}"
            )
    return 0 if passed(results) else 1


def summary(results: Sequence[Trial], homeworks: Sequence[str]) -> str:
    """Return the table: correct variants accepted, mistakes caught, mistakes named."""
    lines = [f"{'homework':24} {'accepted':>11} {'caught':>11} {'named':>11}"]
    for homework in homeworks:
        mine = [trial for trial in results if trial.homework == homework]
        correct = [trial for trial in mine if trial.correct]
        faulty = [trial for trial in mine if not trial.correct]
        accepted = f"{sum(t.right for t in correct)} of {len(correct)}"
        caught = f"{sum(t.right for t in faulty)} of {len(faulty)}"
        named = f"{sum(t.named for t in faulty)} of {len(faulty)}"
        lines.append(f"{homework:24} {accepted:>11} {caught:>11} {named:>11}")
    return "\n".join(lines)


def passed(results: Sequence[Trial]) -> bool:
    """Tell whether all are right and enough mistakes were named."""
    faulty = [trial for trial in results if not trial.correct]
    named = sum(trial.named for trial in faulty)
    return all(trial.right for trial in results) and named >= NAMED_SHARE * len(faulty)
