"""The judge: errors carried forward, time limits, policy, seeds, and what a report holds."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import autograder
from autograder.checks import convert
from autograder.judge import judge, judge_source, notebook_bytes
from autograder.manifest import ManifestError, homework_names, load_manifest, parse_manifest
from autograder.mistakes import faulty_source, load_mistakes
from autograder.outcome import Report, Status, Verdict, Wrong
from autograder.pools import PoolError, course_pools, public_pools, seeds_for, write_pools
from autograder.sample import with_body
from autograder.seeds import Draw, SecretMissing, derive_seed, make_secret, read_secret, secret_path
from autograder.sources import reference_functions, reference_source
from autograder.student import NOT_IMPLEMENTED
from svmlab.lecture_map import IDS, load_lecture_map

pytestmark = pytest.mark.core

REFERENCE = reference_source("hw1-margins")
WRONG_DECISION = REFERENCE + "\n\ndef decision_function(X, w, b):\n    return X @ w - b\n"
PACKAGE = Path(autograder.__file__).parent


def statuses(report: Report, question: str) -> set[Status]:
    return {outcome.status for outcome in report.of(question)}


def test_the_reference_gets_every_point_and_the_report_says_public() -> None:
    report = judge_source("hw1-margins", REFERENCE)
    assert report.points == report.max_points == 10
    assert report.seeds == "public"
    assert json.loads(json.dumps(report.to_dict()))["points"] == 10


def test_a_wrong_step_costs_its_own_points_only() -> None:
    report = judge_source("hw1-margins", WRONG_DECISION)
    lost = {outcome.question for outcome in report.outcomes if not outcome.full}
    assert lost == {"decision"}
    carried = [outcome for outcome in report.outcomes if outcome.carried]
    assert carried
    assert all("decision_function in place of yours" in outcome.reason for outcome in carried)


def test_an_empty_notebook_gets_nothing_and_a_reason_for_each_part() -> None:
    report = judge("hw1-margins", notebook_bytes())
    assert report.points == 0
    for outcome in report.outcomes:
        assert outcome.status is Status.ERROR
        assert f"there is no function {outcome.question}" in outcome.reason


def stub(source: str) -> str:
    """Return a function as it is handed out."""
    return with_body(source, "raise NotImplementedError()")


def untouched(homework: str, *but: str) -> bytes:
    """Return a notebook in which all functions but some are as they were handed out."""
    functions = reference_functions(homework)
    graded = load_manifest(homework).functions
    return notebook_bytes(*(functions[n] if n in but else stub(functions[n]) for n in graded))


def plain(report: Report) -> dict[str, Any]:
    """Return a report without what differs from run to run."""
    outcomes = [dataclasses.replace(o, seconds=0.0, memory=None) for o in report.outcomes]
    return dataclasses.replace(report, outcomes=tuple(outcomes)).to_dict()


@pytest.mark.parametrize("homework", homework_names())
def test_a_notebook_that_nobody_touched_starts_no_process(homework: str) -> None:
    def refuse() -> NoReturn:
        pytest.fail("a process was started")

    report = judge(homework, untouched(homework), launch=refuse)
    assert report.points == 0
    assert {(o.status, o.reason) for o in report.outcomes} == {(Status.ERROR, NOT_IMPLEMENTED)}


@pytest.mark.parametrize(
    ("homework", "done"),
    [
        ("hw1-margins", ()),
        ("hw1-margins", ("functional_margins", "objective")),
        ("hw2-smo", ()),
        ("hw2-smo", ("clip", "thresholds", "smo")),
        ("hw3-sgd", ("pegasos", "lam_from_C")),
    ],
)
def test_the_report_is_the_same_whether_open_functions_are_called_or_not(
    homework: str, done: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = untouched(homework, *done)
    seen = judge(homework, data)
    monkeypatch.setattr("autograder.extract.open_functions", lambda *_: {})
    assert plain(seen) == plain(judge(homework, data))
    assert any(outcome.carried and outcome.full for outcome in seen.outcomes) == bool(done)


def test_a_time_limit_is_final_for_its_question_and_for_no_other() -> None:
    source = REFERENCE + "\n\ndef objective(w, b, X, y, C):\n    while True:\n        pass\n"
    report = judge_source("hw1-margins", source, limit=1.0)
    assert statuses(report, "objective") == {Status.TIMEOUT}
    assert "not run" in report.of("objective")[1].reason
    assert report.points == 10 - load_manifest("hw1-margins").question("objective").points


def test_a_forbidden_package_earns_nothing_where_it_is_used() -> None:
    source = (
        "import svmlab.losses\n" + REFERENCE + "\n\ndef hinge_loss(margins):\n"
        "    return svmlab.losses.hinge_loss(margins)\n"
    )
    report = judge_source("hw1-margins", source)
    assert statuses(report, "hinge") == {Status.POLICY}
    assert report.points >= 8


def test_at_home_only_visible_checks_run() -> None:
    report = judge_source("hw1-margins", REFERENCE, visible_only=True)
    manifest = load_manifest("hw1-margins")
    assert {o.check for o in report.outcomes} == {
        check.id for check in manifest.checks if check.visibility == "always"
    }


def test_a_failing_check_is_internal_and_not_the_students_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> Verdict:
        raise IndexError("of our own")

    monkeypatch.setattr("autograder.checks.margins.hinge", broken)
    names = {c.id for c in load_manifest("hw1-margins").checks if c.function == "margins.hinge"}
    report = judge_source("hw1-margins", REFERENCE)
    internal = {o.check for o in report.outcomes if o.status is Status.INTERNAL}
    assert internal == names != set()


def test_two_runs_give_the_same_report_and_students_get_different_data() -> None:
    check = load_manifest("hw1-margins").checks[0].id

    def drawn(secret: bytes, student: str) -> float:
        seeds = seeds_for("hw1-margins", secret=secret, student=student)
        return seeds.draw(check).rng.random()

    draws = {
        (secret, student): drawn(secret, student)
        for secret in (b"", b"k" * 32)
        for student in ("ada", "bob")
    }
    assert len(set(draws.values())) == 4
    assert drawn(b"k" * 32, "ada") == draws[b"k" * 32, "ada"]


def test_the_mistake_is_named_and_known_variants_keep_half_where_the_catalogue_says_so() -> None:
    for mistake in load_mistakes("hw1-margins"):
        if mistake.acceptable or not mistake.credit:
            continue
        report = judge_source("hw1-margins", faulty_source("hw1-margins", mistake))
        lost = [outcome for outcome in report.of(mistake.question) if not outcome.full]
        assert {outcome.mistake for outcome in lost} == {mistake.id}
        assert all(o.points == mistake.credit * o.max_points for o in lost)
        assert all(mistake.say.rstrip(".") in outcome.reason for outcome in lost)
        return
    pytest.fail("no mistake of hw1 keeps a share of its points")


def test_the_secret_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    secret = make_secret(tmp_path)
    assert make_secret(tmp_path) == read_secret(tmp_path) == secret
    assert len(secret) == 32
    assert os.listdir(secret_path(tmp_path).parent) == ["secret"]
    if os.name == "posix":
        assert stat.S_IMODE(secret_path(tmp_path).stat().st_mode) == 0o600


def test_a_missing_or_damaged_secret_is_an_error_and_never_a_new_one(tmp_path: Path) -> None:
    with pytest.raises(SecretMissing, match="backup"):
        read_secret(tmp_path)
    assert not secret_path(tmp_path).exists()
    make_secret(tmp_path)
    secret_path(tmp_path).write_bytes(b"short")
    with pytest.raises(SecretMissing, match="5 bytes"):
        make_secret(tmp_path)


def test_pools_of_another_secret_are_refused(tmp_path: Path) -> None:
    make_secret(tmp_path)
    path = write_pools(tmp_path, "hw1-margins")
    assert course_pools(tmp_path, "hw1-margins") == {}
    secret_path(tmp_path).write_bytes(b"x" * 32)
    with pytest.raises(PoolError, match="another course secret"):
        write_pools(tmp_path, "hw1-margins")
    path.unlink()
    with pytest.raises(PoolError, match="release"):
        course_pools(tmp_path, "hw1-margins")


def test_public_pools_have_64_different_problems() -> None:
    for homework in ("hw2-smo", "hw3-sgd"):
        pools = public_pools(homework)
        assert pools
        for entries in pools.values():
            assert len({entry["seed"] for entry in entries}) == 64


def test_seeds_of_a_draw_do_not_depend_on_what_was_drawn_before() -> None:
    first, second = Draw(3), Draw(3)
    second.rng.random(100)
    assert first.seeds(3) == second.seeds(3)
    assert derive_seed(b"a", "x") != derive_seed(b"b", "x")


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (None, "return"),
        ([1.0, float("nan")], "nan"),
        ([1.0, float("inf")], "inf"),
        ("text", "str"),
        ([[1, 2], [3]], "differ in length"),
        ([1.0, None], "holds something else"),
        (np.zeros(3), "shape"),
        ({"a": 1}, "dict"),
        (10**400, "too large"),
    ],
)
def test_what_is_not_a_pair_of_numbers_is_refused_in_words(value: object, word: str) -> None:
    with pytest.raises(Wrong, match=word):
        convert.vector(value, 2, "w")


@pytest.mark.parametrize(
    "value", [[1, 2], (1.0, True + 1), np.array([[1], [2]]), np.float32([1, 2])]
)
def test_correct_answers_in_unusual_clothes_are_converted(value: object) -> None:
    assert convert.vector(value, 2, "w").tolist() == [1.0, 2.0]


def test_a_pair_may_hold_an_array_and_a_number() -> None:
    first, second = convert.pair((np.zeros(3), 2.0), "w and b")
    assert (first.tolist(), second) == ([0, 0, 0], 2.0)
    for value in (None, 3.0, (1, 2, 3), np.float64(2)):
        with pytest.raises(Wrong, match="two values"):
            convert.pair(value, "w and b")


POINTS = {"hw1-margins": 10, "hw2-smo": 20, "hw3-sgd": 15, "hw4-kernels-multiclass": 15}


def test_every_homework_has_its_points_and_two_answers_read_by_a_person() -> None:
    assert {name: load_manifest(name).points for name in homework_names()} == POINTS
    for name in homework_names():
        assert [answer.points for answer in load_manifest(name).answers] == [2, 2]


@pytest.mark.parametrize("homework", POINTS)
def test_every_check_exists_and_cites_the_lectures(homework: str) -> None:
    for check in load_manifest(homework).checks:
        assert callable(check.load())
        assert check.lecture in IDS
        assert check.label in load_lecture_map().labels


def test_a_contradictory_manifest_is_refused() -> None:
    check = {"id": "c", "function": "margins.hinge", "points": 1, "visibility": "always"}
    check |= {"lecture": "S2", "label": "eq-hinge"}
    question = {"id": "q", "title": "", "functions": ["f"], "chapter": "", "check": [check]}
    good = {"title": "t", "question": [question]}
    assert parse_manifest("x", good).points == 1
    bad = [
        ({**check, "visibility": "sometimes"}, "visibility"),
        ({**check, "visibility": "after"}, "visible always"),
        ({**check, "points": -1}, "points"),
        ({**check, "pints": 1}, "pints"),
        ({**check, "or_all_of": ["d"]}, "or_all_of"),
        ({key: check[key] for key in check if key != "label"}, "label"),
    ]
    for faulty, word in bad:
        with pytest.raises(ManifestError, match=word):
            parse_manifest("x", {"title": "t", "question": [{**question, "check": [faulty]}]})
    with pytest.raises(ManifestError, match="twice"):
        parse_manifest("x", {"title": "t", "question": [question, question]})
    with pytest.raises(ManifestError, match="steps"):
        parse_manifest("x", {"title": "t", "question": [{**question, "steps": ["g"]}]})


def test_nothing_in_the_package_can_unpickle() -> None:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"^\s*(import|from) (pickle|dill|cloudpickle|joblib|shelve)", text, re.M
        )
        for call in re.findall(r"(?:np|numpy)\.load\([^)]*\)", text):
            assert "allow_pickle=False" in call, f"{path.name}: {call}"


BLOCKED = """
import os, signal, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "crypt"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
for name in ("fork", "getuid", "geteuid", "setuid", "killpg", "setsid", "wait4", "chroot"):
    if hasattr(os, name): delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "alarm", "setitimer"):
    if hasattr(signal, name): delattr(signal, name)
from autograder.cli import main
sys.exit(main(["check", sys.argv[1]]))
"""


def test_checking_works_without_posix_modules(tmp_path: Path) -> None:
    path = tmp_path / "hw1-margins.ipynb"
    path.write_bytes(notebook_bytes(REFERENCE))
    command = [sys.executable, "-c", BLOCKED, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "visible checks passed" in done.stdout
