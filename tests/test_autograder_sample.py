"""The sample class: made like students make it, the same every time, ending as it says."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder import sources
from autograder.hostile import ATTACKS
from autograder.judge import judge
from autograder.manifest import load_manifest
from autograder.mistakes import load_mistakes
from autograder.notebook import Rejected
from autograder.sample import DEADLINE, KINDS, Sample, sample_class, victim, write_class

HOMEWORKS = sources.homeworks()
FIRST = HOMEWORKS[0]


def released(homework: str) -> bytes:
    """Return the notebook that students get, made without nbgrader: stubs for solutions."""
    made = json.loads(sources.write_notebook(sources.notebook(sources.source_path(homework))))
    for cell in made["cells"]:
        marks = cell["metadata"].get("nbgrader", {})
        text = "".join(cell["source"])
        if marks.get("solution") and cell["cell_type"] == "code":
            stub = "    # YOUR CODE HERE\n    raise NotImplementedError()\n"
            pattern = r"^ *### BEGIN SOLUTION$.*?^ *### END SOLUTION\n?"
            text = re.sub(pattern, stub, text + "\n", flags=re.DOTALL | re.MULTILINE)
        elif marks.get("solution"):
            text = "YOUR ANSWER HERE"
        cell["source"] = text.rstrip("\n")
    return json.dumps(made).encode()


@pytest.fixture(scope="module", params=HOMEWORKS)
def samples(request: pytest.FixtureRequest) -> list[Sample]:
    return sample_class(released(request.param), request.param)


def one(samples: list[Sample], student: str) -> Sample:
    return next(sample for sample in samples if sample.student == student)


def test_it_has_one_of_each(samples: list[Sample]):
    homework = samples[0].homework
    catalogue = Counter(mistake.acceptable for mistake in load_mistakes(homework))
    counts = Counter(sample.kind for sample in samples)
    assert set(counts) == set(KINDS)
    assert counts["mistake"] == catalogue[False]
    assert counts["variant"] == catalogue[True]
    assert counts["hostile"] == len(ATTACKS) == 12
    assert counts["broken"] == 3


def test_names_are_readable_and_all_different(samples: list[Sample]):
    names = [sample.student for sample in samples]
    assert len(set(names)) == len(names)
    assert {"correct-01", "untouched", "hostile-fork-bomb", "syntax-error", "late"} <= set(names)
    assert all(re.fullmatch(r"[A-Za-z][\w-]{2,60}", name) for name in names)


def test_the_same_class_comes_out_every_time(samples: list[Sample]):
    homework = samples[0].homework
    assert sample_class(released(homework), homework) == samples


def test_one_is_late_and_nobody_else(samples: list[Sample]):
    assert [s.student for s in samples if s.submitted > DEADLINE] == ["late"]


def test_no_solution_is_left_out_of_the_correct_one(samples: list[Sample]):
    texts = solutions(one(samples, "correct-01"))
    assert len(texts) == len(load_manifest(samples[0].homework).functions) + 2
    assert not any("NotImplementedError" in text for text in texts)
    assert texts.count("YOUR ANSWER HERE") == 2
    answers = [text for text in solutions(one(samples, "answers")) if r"\frac" in text]
    assert len(answers) == 2


def solutions(sample: Sample) -> list[str]:
    """Return what stands in the cells that a student fills."""
    cells = json.loads(sample.data)["cells"]
    return [c["source"] for c in cells if c["metadata"].get("nbgrader", {}).get("solution")]


@pytest.mark.parametrize("kind", ["correct", "untouched", "syntax", "answers", "broken"])
def test_harmless_ones_end_as_they_say(kind: str, samples: list[Sample]):
    chosen = [sample for sample in samples if sample.kind == kind]
    assert chosen
    for sample in chosen:
        assert_as_expected(sample)


def test_mistakes_and_variants_end_as_they_say(samples: list[Sample]):
    endless = {m.id for m in load_mistakes(samples[0].homework) if m.timeout}
    quick = [s for s in samples if s.student.removeprefix("mistake-") not in endless]
    mistakes = [sample for sample in quick if sample.kind == "mistake"]
    variants = [sample for sample in quick if sample.kind == "variant"]
    for sample in [*mistakes[:4], variants[0]]:  # `autograder selftest` judges all of them
        assert_as_expected(sample)


def assert_as_expected(sample: Sample) -> None:
    """Judge a sample that does no harm, and compare."""
    expected = sample.expected
    try:
        report = judge(sample.homework, sample.data)
    except Rejected:
        assert expected.statuses == ("REJECTED",)
        return
    assert report.status in expected.statuses, sample.student
    assert expected.least <= report.points <= expected.most, sample.student
    if sample.kind == "untouched":
        assert {outcome.reason for outcome in report.outcomes} == {"not implemented"}


def test_hostile_ones_differ_from_the_correct_one_where_they_should(samples: list[Sample]):
    correct = json.loads(one(samples, "correct-01").data)["cells"]
    name = victim(samples[0].homework).functions[-1]
    for sample in [sample for sample in samples if sample.kind == "hostile"]:
        if ATTACKS[sample.student.removeprefix("hostile-")].body:
            cells = json.loads(sample.data)["cells"]
            changed = [a for a, b in zip(cells, correct, strict=True) if a != b]
            assert [c["metadata"]["nbgrader"]["grade_id"] for c in changed] == [name]
        else:
            assert sample.data != one(samples, "correct-01").data


@pytest.mark.parametrize("size", [1, 15, 60, 200])
def test_a_class_of_any_size_is_mixed(size: int):
    samples = sample_class(released(FIRST), FIRST, size)
    assert len(samples) == len({sample.student for sample in samples}) == size
    assert samples == sample_class(released(FIRST), FIRST, 200)[:size]
    if size >= 15:
        assert {sample.kind for sample in samples} == set(KINDS)
    if size >= 60:
        questions = {m.id: m.question for m in load_mistakes(FIRST)}
        names = [s.student.removeprefix("mistake-") for s in samples if s.kind == "mistake"]
        mistaken = {questions.get(re.sub(r"-\d\d$", "", name)) for name in names}
        assert mistaken == set(questions.values())


def test_it_is_written_as_nbgrader_collects_it(tmp_path: Path):
    from nbgrader.utils import parse_utc

    samples = sample_class(released(FIRST), FIRST, 15)
    paths = write_class(samples, tmp_path / "submitted")
    for sample, path in zip(samples, paths, strict=True):
        place = tmp_path / "submitted" / sample.student / FIRST
        assert path == place / f"{FIRST}.ipynb"
        assert path.read_bytes() == sample.data
        stamp = parse_utc((place / "timestamp.txt").read_text(encoding="utf-8"))
        assert stamp.replace(tzinfo=UTC) == sample.submitted
        assert {item.name for item in place.iterdir()} == {f"{FIRST}.ipynb", "timestamp.txt"}


def test_writing_again_replaces(tmp_path: Path):
    samples = sample_class(released(FIRST), FIRST, 3)
    write_class(samples, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_class(samples, tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_deadline_has_passed():
    assert datetime.now(UTC) > DEADLINE
