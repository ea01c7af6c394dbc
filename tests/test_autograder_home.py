"""Checking at home: the command with its table, and ``check(...)`` in a notebook."""

from __future__ import annotations

import _thread
import contextlib
import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import local
from autograder.cli import main
from autograder.home import MESSAGE_WIDTH, SILENCE, CheckFailed, Homework, homework, homework_of
from autograder.judge import notebook_bytes
from autograder.local import Local
from autograder.manifest import load_manifest
from autograder.sources import reference_source

ROOT = Path(__file__).parents[1]
REFERENCE = reference_source("hw1-margins")
QUESTIONS = [question.id for question in load_manifest("hw1-margins").questions]
MINUS_B = "def decision_function(X, w, b):\n    return X @ w - b"
CRASH = "def slack(X, y, w, b):\n    return 1 / 0"
ENDLESS = "def objective(w, b, X, y, C):\n    while True:\n        C = C + 1"
STUB = "def hinge_loss(margins):\n    raise NotImplementedError()"
PASSED = "visible checks passed; 3 further checks run after submission."
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "autograder", *map(str, arguments)]


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        env=ENVIRONMENT | environment,
        check=False,
        timeout=120,
    )


def write(folder: Path, *cells: str, name: str = "hw1-margins.ipynb") -> Path:
    path = folder / name
    path.write_bytes(notebook_bytes(REFERENCE, *cells))
    return path


def on_terminal(
    path: Path, columns: int, interrupt_at: str = "", **environment: str
) -> tuple[str, int]:
    """Run the command on a terminal of this width; return what it shows and the exit status."""
    pty, fcntl = pytest.importorskip("pty"), pytest.importorskip("fcntl")
    termios = pytest.importorskip("termios")
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        command("check", path), stdin=its, stdout=its, stderr=its, env=ENVIRONMENT | environment
    )
    os.close(its)
    shown = ""
    with contextlib.suppress(OSError):  # the end of a terminal is an error on Linux
        while part := os.read(ours, 65_536):
            shown += part.decode(errors="replace")
            if interrupt_at and interrupt_at in shown:
                process.send_signal(signal.SIGINT)
                interrupt_at = ""
    os.close(ours)
    return shown.replace("\r\n", "\n"), process.wait()


def test_the_table_has_part_points_verdict_reason_and_where_to_read(tmp_path: Path) -> None:
    done = run("check", write(tmp_path, MINUS_B, CRASH, STUB))
    assert done.returncode == 1
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "hw1-margins: Margins"
    assert lines[2].split() == ["part", "points", "verdict", "reason"]
    rows = {line.split()[0]: line.split() for line in lines[3:] if line[:1].isalpha()}
    assert rows["decision"][1:5] == ["0", "/", "1", "wrong"]
    assert rows["functional"][1:5] == ["1", "/", "1", "ok"]
    assert rows["slack"][1:5] == ["0", "/", "1", "error"]
    text = " ".join(done.stdout.split())
    assert "slack raised ZeroDivisionError in cell 3, line 2: division by zero." in text
    assert "Read chapter 4, slack (eq-slack)." in text
    assert "not implemented" in text
    assert "note: cells are counted from the top of the notebook, those with text too" in text
    assert "3 of 7 parts need another look; 3 further checks run after submission." in text
    assert max(map(len, lines)) <= 100


def test_when_all_visible_checks_pass_the_status_is_0_and_more_is_announced(tmp_path: Path) -> None:
    done = run("check", write(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert PASSED in done.stdout.splitlines()
    assert "public seeds" in done.stdout.splitlines()[-1]


def test_a_pipe_is_plain_and_a_terminal_has_colours_and_its_own_width(tmp_path: Path) -> None:
    path = write(tmp_path, MINUS_B)
    assert "\x1b" not in run("check", path).stdout
    shown, status = on_terminal(path, 80)
    assert status == 1
    assert "\x1b[31mwrong" in shown
    assert "\x1b[32mok" in shown
    table = re.sub(r"\x1b\[\d*[mK]", "", shown[shown.index("part") :])
    assert 60 < max(map(len, table.splitlines())) <= 80


def test_colours_can_be_switched_off(tmp_path: Path) -> None:
    shown, _ = on_terminal(write(tmp_path), 120, NO_COLOR="1")
    assert "\x1b[3" not in shown
    assert PASSED in shown


def test_the_report_as_json_is_nothing_but_json(tmp_path: Path) -> None:
    huge = "def decision_function(X, w, b):\n    return np.full(len(X), 1.7e308)"
    done = run("check", "--json", write(tmp_path, huge))
    report = json.loads(done.stdout, parse_constant=pytest.fail)
    assert (done.returncode, done.stderr) == (1, "")
    assert report["homework"] == "hw1-margins"
    assert report["max_points"] - report["points"] == 1
    assert {outcome["visibility"] for outcome in report["outcomes"]} == {"always"}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nowhere.ipynb"], "is not a file"),
        (["."], "is not a file"),
        (["hw1-margins.ipynb", "--homework", "hw9"], "there is no homework 'hw9'; there are hw1"),
        (["hw1-margins.txt"], "not valid JSON"),
        (["essay.txt"], "not valid JSON"),
        (["mine.ipynb"], "which homework is mine.ipynb? Say it with --homework: hw1-margins"),
    ],
)
def test_what_cannot_be_checked_is_told_in_one_line_with_status_2(
    arguments: list[str], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    write(tmp_path, name="mine.ipynb")
    for name in ("essay.txt", "hw1-margins.txt"):
        (tmp_path / name).write_text("An essay.", encoding="utf-8")
    done = run("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("autograder: ")
    assert done.stderr.count("\n") == 1
    assert word in done.stderr


def test_an_endless_loop_ends_with_a_clear_word_and_the_others_are_judged(tmp_path: Path) -> None:
    done = run("check", "--limit", "1", write(tmp_path, ENDLESS, MINUS_B))
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "timeout objective was stopped after 1 s of computing: a loop that never ends?" in text
    assert "decision 0 / 1 wrong" in text
    assert "slack 1 / 1 ok" in text


@pytest.mark.parametrize("limit", ["0", "soon", "nan", "-1"])
def test_a_limit_that_is_no_time_is_refused(limit: str) -> None:
    done = run("check", f"--limit={limit}", "x.ipynb")
    assert done.returncode == 2
    assert f"give seconds between 0 and 86400, not {limit!r}" in done.stderr


def test_the_homework_is_found_by_name_or_by_its_line() -> None:
    line = notebook_bytes('from autograder import homework\ncheck = homework("hw1-margins")')
    assert homework_of(Path("down/HW1-margins (2).ipynb"), b"") == "hw1-margins"
    assert homework_of(Path("mine.ipynb"), line) == "hw1-margins"
    assert homework_of(Path("hw2-smo_final.ipynb"), line) == "hw2-smo"


def test_a_console_without_greek_letters_shows_the_rest(tmp_path: Path) -> None:
    done = run("check", write(tmp_path, MINUS_B), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (1, "")
    assert "f(x) = w?x + b" in done.stdout


def test_a_reader_that_has_seen_enough_gets_no_traceback(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("check", write(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT | {"PYTHONUNBUFFERED": ""},
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.communicate()[1] == b""
    assert process.returncode == 1


def test_pressing_control_c_stops_with_a_word_and_no_traceback(tmp_path: Path) -> None:
    shown, status = on_terminal(write(tmp_path, ENDLESS), 80, interrupt_at="The objective")
    assert status == 130
    assert shown.endswith("The objective\r\x1b[Kautograder: stopped\n")


def test_every_command_and_option_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("check", "release", "selftest", "pools"):
        with pytest.raises(SystemExit, match="0"):
            main([verb, "--help"])
        text = capsys.readouterr().out
        assert len(text.split("\n\n")[1].split()) > 15, "a paragraph says what it does"
        for line in text.splitlines():
            if re.match(r"  \S+$|  --\S+( [A-Z]+)?$", line):
                pytest.fail(f"{verb}: no words for {line}")


class Session:
    """A notebook without a kernel: cells run in one namespace."""

    def __init__(self, *cells: str, limit: float = 20.0) -> None:
        self.namespace: dict[str, Any] = {"check": homework("hw1-margins", limit)}
        for cell in (REFERENCE, *cells):
            self.run(cell)

    def run(self, cell: str) -> Any:
        exec(compile(cell, "<notebook>", "exec"), self.namespace)
        return self.namespace.get("_")

    def fails(self, question: str) -> str:
        with pytest.raises(AssertionError) as caught:
            self.run(f"check({question!r})")
        assert max(map(len, str(caught.value).splitlines())) <= MESSAGE_WIDTH
        return " ".join(str(caught.value).split())


def test_check_says_on_stdout_that_visible_checks_passed_and_returns_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    session = Session()
    assert session.run("_ = check('decision')") is None
    session.run("check('geometric')")
    assert capfd.readouterr() == (
        "decision: visible checks passed; no further checks run after submission.\n"
        "geometric: visible checks passed; 1 further check runs after submission.\n",
        "",
    )


def test_check_raises_an_assertion_error_with_the_reason_and_where_to_read() -> None:
    text = Session(MINUS_B).fails("decision")
    assert text.startswith("You subtract b.")
    assert text.endswith("Read chapter 3, the separating hyperplane (eq-decision).")


def test_an_exception_is_told_with_the_students_own_line() -> None:
    words = "slack raised ZeroDivisionError: division by zero, in line 2 of the cell with slack."
    assert words in Session(CRASH).fails("slack")
    assert "slack() takes 2" in Session("def slack(X, y):\n    return 1").fails("slack")


def test_a_stub_that_is_needed_is_named() -> None:
    assert Session(STUB).fails("hinge").startswith("not implemented")
    assert (
        Session(STUB).fails("slack").startswith("slack needs hinge_loss, which is not implemented")
    )


def test_a_name_that_is_no_function_is_told() -> None:
    session = Session("slack = 3.0", "del objective")
    assert "the name stands for a float now; run the cell" in session.fails("slack")
    assert "there is no such function yet; run the cell that defines it" in session.fails(
        "objective"
    )


def test_an_unknown_question_is_told_with_the_known_ones() -> None:
    for call in ("check('nothing')", "check.passed('nothing')"):
        with pytest.raises(AssertionError, match=r"has no question 'nothing'; it has decision"):
            Session().run(call)


def test_passed_tells_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    session = Session(MINUS_B, "def hinge_loss(m):\n    print('hm')\n    return 0")
    assert session.run("_ = check.passed('decision')") is False
    assert session.run("_ = check.passed('hinge')") is False
    assert session.run("_ = check.passed('objective')") is False
    assert Session().run("_ = check.passed('objective')") is True
    assert capfd.readouterr() == ("", "")


def test_check_without_a_question_prints_the_table(capfd: pytest.CaptureFixture[str]) -> None:
    assert Session().run("_ = check()") is None
    assert PASSED in capfd.readouterr().out
    Session(CRASH).run("check()")
    out, err = capfd.readouterr()
    assert err == ""
    assert [line.split()[0] for line in out.splitlines() if " / " in line[:24]] == QUESTIONS
    assert "2 of 7 parts need another look; 3 further checks run after submission." in out


def test_a_function_that_prints_does_not_disturb(capfd: pytest.CaptureFixture[str]) -> None:
    noisy = (
        "import sys\ndef hinge_loss(m):\n    print('out')\n    sys.stderr.write('err')\n"
        "    return np.maximum(0, 1 - m)"
    )
    session, before = Session(noisy), (sys.stdout, sys.stderr)
    session.run("check('hinge')")
    assert (sys.stdout, sys.stderr) == before
    out, err = capfd.readouterr()
    assert out.splitlines()[0] == SILENCE
    assert out.splitlines()[1:] == [
        "hinge: visible checks passed; no further checks run after submission."
    ]
    assert err == ""


def test_functions_get_copies_and_change_no_variable_of_the_notebook() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x, pair):\n    x += 1\n    pair.append(x)\n    return x", namespace)
    x, pair = np.zeros(2), [1]
    student = Local(namespace, 5.0)
    assert student.call("f", x, pair).tolist() == [1, 1]
    assert student.call_echo("f", x, pair)[1][0].tolist() == [1, 1]
    assert (x.tolist(), pair) == ([0, 0], [1])
    text = Session("def hinge_loss(m):\n    m[:] = np.maximum(0, 1 - m)\n    return m").fails(
        "hinge"
    )
    assert "changes the caller's arrays" in text


def test_a_function_that_ends_python_is_told() -> None:
    assert "slack raised SystemExit" in Session("def slack(*_):\n    exit()").fails("slack")


def still_runs(name: str) -> bool:
    """Tell whether a thread is in a function; ``is_alive`` can be wrong after an interrupt."""
    time.sleep(0.05)
    stacks = [list(traceback.walk_stack(frame)) for frame in sys._current_frames().values()]
    return any(frame.f_code.co_name == name for stack in stacks for frame, _ in stack)


def test_an_endless_loop_in_a_notebook_ends_with_its_line() -> None:
    text = Session(ENDLESS, limit=0.2).fails("objective")
    assert "objective: no answer within 0.2 s: is there a loop that never ends? It was in" in text
    assert re.search(r"It was in line [23] of the cell with objective\.", text)
    assert "restart" not in text
    assert not still_runs("objective")


def test_a_loop_that_catches_every_exception_but_the_last_ends_too() -> None:
    loop = "def slack(*_):\n    while True:\n        try:\n            sum(range(50_000))\n"
    loop += "        except Exception:\n            pass"
    assert "restart" not in Session(loop, limit=0.2).fails("slack")
    assert not still_runs("slack")


def test_the_other_parts_are_judged_after_an_endless_loop(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Session(ENDLESS.replace("objective(w, b, X, y, C)", "slack(X, y, w, b, C=0)"), limit=0.2).run(
        "check()"
    )
    out = capfd.readouterr().out
    assert "2 of 7 parts need another look" in out
    assert out.count("timeout") == 2


def test_a_loop_that_catches_the_end_and_answers_is_too_late() -> None:
    late = (
        "caught = []\ndef hinge_loss(m):\n    try:\n        while not caught:\n            pass\n"
        "    except:\n        caught.append(True)\n    return np.maximum(0, 1 - m)"
    )
    assert "no answer within 0.2 s" in Session(late, limit=0.2).fails("hinge")


def test_a_loop_that_cannot_be_stopped_leaves_the_notebook_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "PATIENCE", 0.1)
    session = Session("import threading\ngate = threading.Event()", limit=0.1)
    session.run("def slack(*_):\n    gate.wait()")
    try:
        assert "It still runs; restart the kernel." in session.fails("slack")
    finally:
        session.namespace["gate"].set()
    assert not still_runs("slack")


def test_answers_near_the_limit_never_disturb_the_notebook() -> None:
    namespace: dict[str, Any] = {"time": time}
    exec("def f(seconds):\n    time.sleep(seconds)\n    return 1", namespace)
    replies = []
    for k in range(40):
        student = Local(namespace, 0.01)
        replies += [student.ask("f", [(0.005 + k * 2.5e-4,)], echo=False, go_on=False)]
        sum(range(2_000))
    kinds = {fault["type"] if fault else "answer" for r in replies for fault in r["faults"]}
    assert kinds <= {"answer", "Timeout"}
    assert not still_runs("f")


def test_an_interrupt_by_hand_is_one_and_ends_the_loop() -> None:
    session = Session(ENDLESS)
    press = threading.Timer(0.3, _thread.interrupt_main)
    press.start()
    with pytest.raises(KeyboardInterrupt):
        session.run("check('objective')")
    press.join()
    assert not still_runs("objective")


def test_check_works_outside_the_main_thread() -> None:
    out = io.StringIO()

    def cell() -> None:
        with contextlib.redirect_stdout(out):
            Session().run("check('slack')")

    thread = threading.Thread(target=cell)
    thread.start()
    thread.join()
    assert "slack: visible checks passed" in out.getvalue()


def test_ipython_shows_the_reason_and_none_of_our_lines() -> None:
    assert CheckFailed("slack is wrong.")._render_traceback_() == ["slack is wrong."]
    assert repr(Homework("hw1-margins")) == "the checks of hw1-margins: Margins"


class Kernel:
    """A real Jupyter kernel."""

    def __init__(self, manager: Any, client: Any) -> None:
        self.manager, self.client = manager, client

    def run(self, *lines: str, interrupt_at: str | None = None) -> list[dict[str, Any]]:
        """Run a cell; return its outputs; interrupt it when it prints something given."""
        outputs: list[dict[str, Any]] = []

        def hook(message: dict[str, Any]) -> None:
            if message["msg_type"] in ("stream", "error"):
                outputs.append(message["content"])
                if interrupt_at and interrupt_at in message["content"].get("text", ""):
                    time.sleep(0.3)  # until the loop runs
                    self.manager.interrupt_kernel()

        self.client.execute_interactive("\n".join(lines), output_hook=hook, timeout=60)
        return outputs


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    jupyter = pytest.importorskip("jupyter_client.manager")
    folder = tmp_path_factory.mktemp("kernel")
    manager, client = jupyter.start_new_kernel(
        cwd=str(folder),
        env=ENVIRONMENT | {"HOME": str(folder), "IPYTHONDIR": str(folder)},
        stderr=subprocess.DEVNULL,
    )
    kernel = Kernel(manager, client)
    kernel.run("from autograder import homework", "check = homework('hw1-margins', limit=1.0)")
    kernel.run(REFERENCE)
    yield kernel
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_in_a_kernel_the_reason_stands_alone_with_the_students_line(kernel: Kernel) -> None:
    kernel.run(CRASH)
    (error,) = kernel.run("check('slack')")
    assert error["ename"] == "CheckFailed"
    text = " ".join("\n".join(error["traceback"]).split())
    assert text == (
        "slack raised ZeroDivisionError: division by zero, in line 2 of the cell with slack: "
        "return 1 / 0. Read chapter 4, slack (eq-slack)."
    )


def test_in_a_kernel_an_endless_loop_ends_and_the_next_cell_runs(kernel: Kernel) -> None:
    kernel.run(ENDLESS)
    (error,) = kernel.run("check('objective')")
    assert "is there a loop that never ends?" in error["evalue"]
    assert "C = C + 1" in error["evalue"] or "while True:" in error["evalue"]
    assert "restart" not in error["evalue"]
    later = "import time\nend = time.time() + 0.3\nwhile time.time() < end: pass\nprint('fine')"
    assert kernel.run(later) == [{"name": "stdout", "text": "fine\n"}]


def test_in_a_kernel_the_students_own_interrupt_stays_one(kernel: Kernel) -> None:
    kernel.run("check = homework('hw1-margins', limit=50.0)")
    kernel.run(ENDLESS)
    outputs = kernel.run("print('go', flush=True)\ncheck('objective')", interrupt_at="go")
    assert outputs[-1]["ename"] == "KeyboardInterrupt"
    assert kernel.run("print('fine')") == [{"name": "stdout", "text": "fine\n"}]


def test_in_a_kernel_a_right_function_that_warns_passes_on_stdout_alone(kernel: Kernel) -> None:
    """For nbgrader a cell that writes to stderr has failed."""
    kernel.run("def hinge_loss(m):\n    np.log(-1.0)\n    return np.maximum(0, 1 - m)")
    outputs = kernel.run("check('hinge')")
    assert {output["name"] for output in outputs} == {"stdout"}
    assert "hinge: visible checks passed" in "".join(output["text"] for output in outputs)
