"""Reports are complete, private and readable; a student's copy holds nothing that is kept back."""

from __future__ import annotations

import dataclasses
import json
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder import reports
from autograder.manifest import load_manifest
from autograder.outcome import Outcome, Report, Status
from autograder.reports import (
    COPY,
    ReportError,
    is_after,
    read_report,
    reason_lines,
    report_path,
    student_view,
    write_report,
)
from autograder.visibility import EXCEPTIONS, KEPT_BACK, SHORT, UNTIL_AFTER

SECRET = "[0.173, -0.922]"


def outcome(visibility="after", status=Status.WRONG, reason=f"wrong on {SECRET}", **more):
    values = {
        "check": f"geometric-{visibility}",
        "question": "geometric",
        "points": 0.5,
        "max_points": 1,
        "measured": 0.173,
        "limit": 0.1,
        "seconds": 1.25,
        "mistake": "no-norm",
        "private": f"printed {SECRET}",
    }
    return Outcome(**{**values, **more}, visibility=visibility, status=status, reason=reason)


def report(*outcomes, **more):
    values = {"homework": "hw1-margins", "student": "ada", "seeds": "0123456789ab"}
    return Report(**{**values, **more}, outcomes=outcomes, remarks=("cells 3, 4 …",))


@pytest.fixture
def root(tmp_path):
    (tmp_path / ".autograder").mkdir()
    return tmp_path


def test_a_report_comes_back_as_it_was_written(root):
    mine = report(outcome(), outcome("always", Status.OK, carried=True))
    path = write_report(root, mine)
    assert path == report_path(root, "hw1-margins", "ada")
    assert read_report(root, "hw1-margins", "ada") == mine
    data = json.loads(path.read_text(encoding="utf-8"))
    assert (data["version"], data["status"], data["points"]) == (1, "WRONG", 1.0)
    assert read_report(root, "hw1-margins", "bob") is None


def test_nobody_else_can_read_reports(root):
    write_report(root, report(outcome()))
    for kind in ("reports", COPY):
        path = report_path(root, "hw1-margins", "ada", kind)
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not [path for path in (root / ".autograder").iterdir() if path.is_file()]


def test_the_students_copy_holds_nothing_that_is_kept_back(root):
    write_report(root, report(outcome(), outcome("never"), outcome("always")))
    text = report_path(root, "hw1-margins", "ada", COPY).read_text(encoding="utf-8")
    seen = {item["visibility"]: item for item in json.loads(text)["outcomes"]}
    assert SECRET in seen["always"]["private"]
    for visibility, reason in (("after", UNTIL_AFTER), ("never", KEPT_BACK)):
        hidden = seen[visibility]
        assert (hidden["reason"], hidden["points"], hidden["status"]) == (reason, 0.5, "WRONG")
        assert SECRET not in json.dumps(hidden)
        assert (hidden["measured"], hidden["limit"], hidden["mistake"]) == (None, None, None)


def test_the_label_of_a_mistake_is_kept_back_like_its_name():
    named = outcome(check="geometric-scale", label="eq-of-the-mistake")
    (own,) = [c for c in load_manifest("hw1-margins").checks if c.id == named.check]
    assert student_view(report(named), after=False).outcomes[0].label == own.label
    assert student_view(report(named), after=True).outcomes[0].label == "eq-of-the-mistake"


def test_every_field_of_a_report_is_documented():
    data = report(outcome()).to_dict()
    words = re.findall(r"\w+", reports.__doc__)
    assert {*data, *data["outcomes"][0]} <= set(words)
    assert data["version"] == 1
    fields = re.findall(r"^    (\w+)", reports.__doc__, re.MULTILINE)
    assert len(fields) == len(set(fields))


def test_a_report_of_a_newer_version_or_a_broken_one_is_named(root):
    path = write_report(root, report(outcome()))
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, "version": 2}), encoding="utf-8")
    with pytest.raises(ReportError, match=r"ada\.json: .*newer autograder; grade ada again"):
        read_report(root, "hw1-margins", "ada")
    for text in ("{", "[]", '{"version": 1}', '{"version": 1, "outcomes": [{}]}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ReportError, match="grade ada again"):
            read_report(root, "hw1-margins", "ada")


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", "", "..", "."])
def test_no_name_leads_out_of_the_folder(root, name):
    with pytest.raises(ReportError, match="cannot be the name"):
        write_report(root, report(student=name))


def test_after_the_deadline_a_reason_is_shown_but_not_what_the_code_printed():
    mine = report(outcome(), outcome("never"), outcome("always"))
    after, never, always = student_view(mine, after=True).outcomes
    assert after == dataclasses.replace(mine.outcomes[0], private="")
    assert never.reason == KEPT_BACK
    assert always == mine.outcomes[2]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (Status.REJECTED, "the file is empty"),
        (Status.POLICY, "smo uses scipy; write it with numpy"),
        (Status.ERROR, "not implemented"),
    ],
)
def test_what_holds_no_hidden_data_is_not_kept_back(status, reason):
    for visibility in ("after", "never"):
        mine = report(outcome(visibility, status, reason))
        assert student_view(mine, after=False).outcomes[0].reason == reason


@pytest.mark.parametrize(
    ("status", "reason", "shown"),
    [
        (
            Status.ERROR,
            "geometric_margin raised ValueError in cell 7, line 3",
            "raised ValueError in cell 7, line 3",
        ),
        (
            Status.ERROR,
            "You forgot ‖w‖. (slack raised IndexError in cell 12, line 2) (judged with our slack)",
            "raised IndexError in cell 12, line 2",
        ),
        (
            Status.ERROR,
            f"slack raised X{SECRET} in cell 1, line 2 in cell 7, line 3",
            "raised an exception in cell 7, line 3",
        ),
        (
            Status.ERROR,
            f"slack stopped in cell 7, line 3: {SECRET}",
            f"{SHORT[Status.ERROR]} in cell 7, line 3",
        ),
        (
            Status.ERROR,
            "slack needs hinge_loss, which is not implemented",
            "slack needs hinge_loss, which is not implemented",
        ),
        (Status.ERROR, "slack needs x0173, which is not implemented", SHORT[Status.ERROR]),
        (Status.TIMEOUT, f"slack: {SECRET}", SHORT[Status.TIMEOUT]),
        (Status.MEMORY, "slack ran out of memory in cell 7, line 3", SHORT[Status.MEMORY]),
        (Status.INTERNAL, f"the check itself failed ({SECRET})", SHORT[Status.INTERNAL]),
    ],
)
def test_of_a_hidden_failure_only_type_and_line_are_told(status, reason, shown):
    for visibility in ("after", "never"):
        seen = student_view(report(outcome(visibility, status, reason)), after=False).outcomes[0]
        assert (seen.reason, seen.private, seen.status) == (shown, "", status)


def test_a_reason_that_a_visible_check_shows_anyway_is_not_shortened():
    reason = "there is no function slack in your notebook; give it just this name"
    hidden, visible = (outcome(kind, Status.ERROR, reason) for kind in ("never", "always"))
    assert student_view(report(hidden, visible), after=False).outcomes[0].reason == reason


@given(
    st.sampled_from(sorted(set(Status) - {Status.REJECTED, Status.POLICY})),
    st.sampled_from(
        [
            "slack raised {} in cell 7, line 3",
            "{} raised",
            "slack needs {}, which is not implemented",
            "{}",
            "slack: {}",
        ]
    ),
    st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=3, max_size=90),
)
def test_no_text_of_a_hidden_check_gets_through(status, form, text):
    mine = report(outcome("after", status, form.format(text)))
    seen = student_view(mine, after=False).outcomes[0].reason
    words = {UNTIL_AFTER, *SHORT.values(), "raised an exception"}
    words |= {f"raised {name}" for name in EXCEPTIONS} | {"not implemented"}
    assert seen.removesuffix(" in cell 7, line 3") in words or text in ("slack", "hinge_loss")


def test_comments_have_one_line_a_check():
    long = outcome("always", Status.WRONG, "a\nb " * 500, mistake=None)
    first, second = reason_lines(report(long, outcome()), "geometric", after=False)
    assert first.startswith("geometric-always: 0.5/1, WRONG: a b a b")
    assert len(first) < 700
    assert second == f"geometric-after: 0.5/1, WRONG: {UNTIL_AFTER}."
    assert reason_lines(report(outcome()), "slack", after=False) == []


def test_after_means_later_than_the_deadline_whatever_the_zone():
    due = datetime(2030, 1, 1, 12)
    assert not is_after(due, due)
    assert is_after(due, due + timedelta(seconds=1))
    assert is_after(due, datetime(2030, 1, 1, 12, 1, tzinfo=UTC))
    assert not is_after(due, datetime(2030, 1, 1, 13, tzinfo=timezone(timedelta(hours=2))))
    assert not is_after(None, due)
