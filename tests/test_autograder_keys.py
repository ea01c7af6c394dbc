"""Verdicts are taken over exactly where they would be the same."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.grading import Order, grade_one
from autograder.judge import judge, notebook_bytes
from autograder.keys import code_digest, question_key, trusted_digests
from autograder.manifest import load_manifest
from autograder.outcome import Report, Status
from autograder.pools import seeds_for
from autograder.reports import from_dict
from autograder.sandbox.channel import NotStarted, Unconfined, plain_process
from autograder.sources import reference_source

HW = "hw1-margins"
ROOT = Path(__file__).parent.parent
DATA = notebook_bytes(reference_source(HW))


def graded(data: bytes = DATA, before: Report | None = None, **changes: object) -> Report:
    options = {"seeds": seeds_for(HW, student="ada"), "trusted": trusted_digests(HW), **changes}
    return judge(HW, data, before=before, **options)  # type: ignore[arg-type]


def never() -> Unconfined:
    raise AssertionError("no process is needed")


def test_an_unchanged_submission_is_taken_over_without_a_process() -> None:
    first = graded()
    assert set(first.judged) == {question.id for question in load_manifest(HW).questions}
    again = graded(before=from_dict(json.loads(json.dumps(first.to_dict()))), launch=never)
    assert again == first  # to the seconds that it took


def test_another_submission_student_seed_or_limit_is_judged_again() -> None:
    first = graded()
    kept = {name: item.key for name, item in first.judged.items()}
    for changed in (
        graded(DATA + b" "),
        graded(seeds=seeds_for(HW, student="bob")),
        graded(seeds=seeds_for(HW, student="ada", secret=b"k" * 32)),
        graded(limit=29.0),
    ):
        assert not set(kept.values()) & {item.key for item in changed.judged.values()}


def test_what_the_grader_spoilt_is_judged_again() -> None:
    left = [2]  # processes that can be started before it fails

    def launch() -> Unconfined:
        left[0] -= 1
        if left[0] < 0:
            raise NotStarted("out of order")
        return plain_process()

    wrong = reference_source(HW).replace("return", "import os; os._exit(3)\n    return", 1)
    data = notebook_bytes(wrong)  # each call of its first function needs another process
    broken = graded(data, launch=launch)
    assert broken.status is Status.INTERNAL
    mended = graded(data, before=broken)
    assert Status.INTERNAL not in {outcome.status for outcome in mended.outcomes}
    without_times = [(o.check, o.status, o.points, o.reason) for o in mended.outcomes]
    alone = [(o.check, o.status, o.points, o.reason) for o in graded(data).outcomes]
    assert without_times == alone


def test_the_grader_tries_again_where_it_failed_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [2]

    def launch() -> Unconfined:
        failures[0] -= 1
        if failures[0] >= 0:
            raise NotStarted("out of order")
        return plain_process()

    monkeypatch.setattr("autograder.grading.launcher", lambda kind: launch)
    report = grade_one(DATA, Order(HW, trusted=trusted_digests(HW)), seeds_for(HW))
    assert (report.status, report.points) == (Status.OK, 10)


def test_remarks_are_taken_over_with_their_question() -> None:
    source = reference_source(HW) + "\n\ndef hinge_loss(margins):\n"
    source += "    print('x' * 2_000_000)\n    return np.maximum(0, 1 - margins)[:, None]"
    first = graded(notebook_bytes(source))
    assert "more than 1 MB was printed; the rest was not kept" in first.remarks
    assert graded(notebook_bytes(source), before=first, launch=never).remarks == first.remarks


def digests(folder: Path) -> dict[str, dict[str, str]]:
    """Return the digests of all questions as a copy of the project computes them."""
    code = (
        "import json; from autograder.keys import trusted_digests\n"
        "print(json.dumps({hw: trusted_digests(hw) for hw in ('hw1-margins', 'hw2-smo')}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def edit(path: Path, change: Callable[[str], str]) -> None:
    before = path.read_text(encoding="utf-8")
    assert change(before) != before
    path.write_text(change(before), encoding="utf-8")


def test_a_change_concerns_what_depends_on_it_and_nothing_else(tmp_path: Path) -> None:
    for name in ("autograder", "svmlab", "assignments"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    first = digests(tmp_path)

    def changed(name: str, change: Callable[[str], str]) -> set[str]:
        """Return the questions that have another digest after an edit; take it back."""
        path = tmp_path / name
        before = path.read_text(encoding="utf-8")
        edit(path, change)
        now = digests(tmp_path)
        path.write_text(before, encoding="utf-8")
        return {q for hw in first for q in first[hw] if now[hw][q] != first[hw][q]}

    def comment(text: str) -> str:
        return f"{text}\n# changed\n"

    all_of = {hw: set(first[hw]) for hw in first}
    everything = all_of["hw1-margins"] | all_of["hw2-smo"]
    assert changed("autograder/checks/margins.py", comment) == all_of["hw1-margins"]
    assert changed("autograder/checks/smo_loop.py", comment) == {"smo"}
    assert changed("svmlab/margins.py", comment) >= all_of["hw1-margins"]
    assert changed("svmlab/ensembles/forest.py", comment) == set()
    assert changed("autograder/judge.py", comment) == everything
    assert changed("autograder/sandbox/nursery.py", comment) == everything
    assert changed("autograder/doctor.py", comment) == set()
    one = changed("autograder/mistakes/hw2-smo.toml", lambda text: text.replace("squared", "…", 1))
    assert len(one) == 1


def test_a_question_of_the_manifest_has_its_own_key() -> None:
    manifest, seeds = load_manifest("hw2-smo"), seeds_for("hw2-smo")
    keys = [question_key(DATA, q, seeds, "same", []) for q in manifest.questions]
    assert len(set(keys)) == len(keys)
    loop = manifest.questions[-1]
    assert question_key(DATA, loop, seeds, "same", ["eta"]) != keys[-1]


def test_a_digest_covers_what_is_imported() -> None:
    assert code_digest("autograder.checks.smo") != code_digest("autograder.checks.smo_loop")
