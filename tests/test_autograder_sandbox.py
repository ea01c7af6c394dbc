"""The sandbox, and the limits that are watched from outside, in new processes and warm ones."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder import grade, sandbox
from autograder.doctor import ATTACKS, Attack, examine
from autograder.extract import extract
from autograder.judge import judge_source, notebook_bytes
from autograder.outcome import Status
from autograder.sandbox import seccomp, warm
from autograder.sandbox.channel import (
    Budget,
    Channel,
    Ended,
    Launch,
    NotStarted,
    Process,
    plain_process,
)
from autograder.sandbox.kit import kit
from autograder.sandbox.watch import usage
from autograder.sources import reference_source
from autograder.student import StudentFault, StudentProcess

REFERENCE = reference_source("hw1-margins")


@pytest.fixture(params=[sandbox.launch, warm.launch], ids=["fresh", "warm"])
def launch(request: pytest.FixtureRequest) -> Launch:
    """Start processes in new sandboxes, then below a warm parent: the same must hold."""
    return request.param  # type: ignore[no-any-return]


def student_of(launch: Launch, *cells: str, limit: float = 20.0) -> StudentProcess:
    extracted = extract(notebook_bytes(*cells), ["f"])
    return StudentProcess(extracted, ["f"], limit=limit, launch=launch)


def end_of(launch: Launch, *cells: str, limit: float = 20.0) -> Status:
    with student_of(launch, *cells, limit=limit) as student, pytest.raises(StudentFault) as caught:
        student.call("f")
    return caught.value.fault.status


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.promise)
def test_the_sandbox_keeps_its_promise(
    launch: Launch, attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autograder.doctor.ATTACKS", [attack])
    (finding,) = examine(launch)
    assert finding.held, finding.seen


HARMLESS = ("open files", "files of this machine", "no network", "system calls", "be imported")


def test_the_doctor_notices_that_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [attack for attack in ATTACKS if any(word in attack.promise for word in HARMLESS)]
    monkeypatch.setattr("autograder.doctor.ATTACKS", chosen)
    findings = list(examine(plain_process))
    assert len(findings) == len(HARMLESS)
    assert not any(finding.held for finding in findings)


def command(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "autograder", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
        **options,
    )


def test_without_bubblewrap_nothing_is_graded_and_the_way_out_is_named(tmp_path: Path) -> None:
    done = command("doctor", env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 2
    assert "bubblewrap is not installed" in done.stderr
    assert "apt-get install bubblewrap" in done.stderr
    assert "doctor` says more" not in done.stderr  # it is the doctor who speaks


def test_where_namespaces_are_forbidden_the_doctor_says_so() -> None:
    forbidden = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--disable-userns"]
    done = subprocess.run(
        [*forbidden, sys.executable, "-m", "autograder", "doctor"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
    )
    assert done.returncode == 2, done.stdout
    assert "no sandbox can be made here: bwrap: " in done.stderr
    assert "Namespaces are forbidden here" in done.stderr


def test_a_correct_notebook_earns_full_marks_in_the_sandbox(tmp_path: Path) -> None:
    path = tmp_path / "ada.ipynb"
    path.write_bytes(notebook_bytes(REFERENCE))
    report = grade(path, "hw1-margins", student="ada")
    assert (report.points, report.status, report.seeds) == (10, Status.OK, "public")
    hidden = grade(path, "hw1-margins", student="ada", secret=bytes(32))
    assert (hidden.points, hidden.status) == (10, Status.OK)
    assert hidden.seeds != "public"


def test_what_is_no_notebook_gets_a_report_too(tmp_path: Path) -> None:
    path = tmp_path / "ada.ipynb"
    path.write_bytes(b"%PDF-1.5")
    report = grade(path, "hw1-margins")
    assert {outcome.status for outcome in report.outcomes} == {Status.REJECTED}
    assert report.points == 0
    assert "not valid JSON" in report.outcomes[0].reason
    with pytest.raises(FileNotFoundError, match="is not a file"):
        grade(tmp_path / "ben.ipynb", "hw1-margins")


def test_a_file_without_end_is_rejected_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "ada.ipynb"
    with path.open("wb") as file:
        file.truncate(2**40)
    reasons = {outcome.reason for outcome in grade(path, "hw1-margins").outcomes}
    assert len(reasons) == 1
    assert "the file has 1,099,511,627,776 bytes" in reasons.pop()


def test_a_process_that_died_is_replaced_and_later_checks_go_on(launch: Launch) -> None:
    source = REFERENCE + "\n\ndef functional_margins(X, y, w, b):\n    __import__('os')._exit(0)\n"
    report = judge_source("hw1-margins", source, launch=launch)
    statuses = {outcome.question: outcome.status for outcome in report.outcomes}
    assert statuses.pop("functional") is Status.KILLED
    assert set(statuses.values()) == {Status.OK}  # later parts with our step in place of theirs


def test_statements_that_never_end_are_waited_for_once(launch: Launch) -> None:
    source = "import itertools\nx = sum(itertools.count())\n" + REFERENCE.replace(
        "X @ w + b", "X @ w + b + 0 * x"
    )
    started = time.monotonic()
    report = judge_source("hw1-margins", source, launch=launch, limit=2.0)
    lost = {o.question for o in report.outcomes if o.status is Status.TIMEOUT}
    assert "decision" in lost
    assert time.monotonic() - started < 4 * 2 * 3.0  # twice, with a factor of 4


def test_a_check_has_one_budget_however_many_messages_it_sends(launch: Launch) -> None:
    busy = "import time\ndef f():\n    end = time.process_time() + 0.8\n" + (
        "    while time.process_time() < end:\n        pass\n    return 1"
    )
    with student_of(launch, busy, limit=2.0) as student:
        for _ in range(2):
            student.begin()
            assert student.call("f") == student.call("f") == 1
        with pytest.raises(StudentFault, match="stopped after 2 s of computing"):
            student.call("f")


def test_a_loop_computes_less_than_two_seconds_beyond_its_limit(launch: Launch) -> None:
    used, done = [0.0], threading.Event()

    def watch(pid: int) -> None:
        while not done.wait(0.02) and (now := usage(pid)):
            used.append(now.cpu)

    def watched() -> Process:
        process = launch()
        threading.Thread(target=watch, args=(process.pid,), daemon=True).start()
        return process

    extracted = extract(notebook_bytes("def f():\n    while True:\n        pass"), ["f"])
    student = StudentProcess(extracted, ["f"], limit=2.0, launch=watched)
    with student, pytest.raises(StudentFault, match="stopped after 2 s of computing"):
        student.call("f")
    done.set()
    assert 2.0 <= max(used) < 2.0 + 2.0  # the start of Python and numpy included


def test_a_sleeper_has_three_times_the_limit(launch: Launch) -> None:
    source = "import time\ndef f(x):\n    time.sleep(x)\n    return 1"
    with student_of(launch, source, limit=1.0) as student:
        assert student.call("f", 2.0) == 1
        student.begin()
        with pytest.raises(StudentFault, match="after 3 s of waiting"):
            student.call("f", 60.0)


def test_a_busy_machine_fails_nobody(launch: Launch) -> None:
    busy = "import time\ndef f():\n    end = time.process_time() + 0.8\n" + (
        "    while time.process_time() < end:\n        pass\n    return 1"
    )
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        with student_of(launch, busy, limit=1.0) as student:
            assert student.call("f") == 1
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_waiting_is_no_computing(launch: Launch) -> None:
    source = "import time\ndef f():\n    time.sleep(1.2)\n    return 1"
    with student_of(launch, source, limit=1.0) as student:
        assert student.call("f") == student.call("f") == 1  # two messages, one budget


def test_output_is_dropped_then_ended(launch: Launch) -> None:
    with student_of(launch, "def f():\n    print('x' * 3_000_000)\n    return 1") as student:
        assert student.call("f") == 1
        assert len(student.text) == 4_000
    assert student.remarks == {"more than 1 MB was printed; the rest was not kept"}
    assert end_of(launch, "def f():\n    while True:\n        print('x' * 10_000)") is Status.OUTPUT


def test_a_signal_is_named(launch: Launch) -> None:
    crash = "import ctypes\ndef f():\n    ctypes.string_at(0)"
    with (
        student_of(launch, crash) as student,
        pytest.raises(StudentFault, match="the signal SIGSEGV"),
    ):
        student.call("f")


DAEMON = """
import os, time
def f():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(0.1)
        os._exit(0)
    return 1
"""


def test_a_daemon_is_gone_when_the_submission_is(launch: Launch) -> None:
    before = usage(os.getpid())
    student = student_of(launch, DAEMON)
    assert student.call("f") == 1
    with_daemon = usage(os.getpid())
    student.close()
    time.sleep(0.2)
    after = usage(os.getpid())
    assert before is not None
    assert with_daemon is not None
    assert after is not None
    assert with_daemon.memory > before.memory + 20_000_000
    assert after.memory < before.memory + 20_000_000


FORGED = {
    "an answer before the question": "os.write(4, bytes(8) + b'more')",
    "a length of 4 GB": "os.write(4, (2**32).to_bytes(8, 'big') + bytes(100))",
    "a length of 2**63": "os.write(4, (2**63).to_bytes(8, 'big') + bytes(100))",
    "bytes": "os.write(4, os.urandom(1000))",
    "JSON that is no answer": "os.write(4, (6).to_bytes(8, 'big') + b'\\0\\0\\0\\2{}')",
    "nested JSON": "os.write(4, (20004).to_bytes(8, 'big') + b'\\0\\0\\x4e\\x20' + b'[' * 20000)",
    "a pickle": "os.write(4, (9).to_bytes(8, 'big') + b'\\x80\\x04N.abcde')",
}


@pytest.mark.parametrize("attack", FORGED.values(), ids=FORGED)
def test_forged_answers_are_an_error_and_take_no_memory(launch: Launch, attack: str) -> None:
    before = usage(os.getpid())
    assert (
        end_of(launch, f"import os, time\ndef f():\n    {attack}\n    time.sleep(0.2)")
        is Status.ERROR
    )
    after = usage(os.getpid())
    assert before is not None
    assert after is not None
    assert after.memory < before.memory + 200_000_000


def test_a_sandbox_that_does_not_start_is_our_fault() -> None:
    def fail() -> sandbox.Bubble:
        pipe = subprocess.PIPE
        return sandbox.Bubble(["bwrap", "--no"], stdin=pipe, stdout=pipe, stderr=pipe)

    with pytest.raises(NotStarted, match="Unknown option --no"):
        Channel(fail)
    report = judge_source("hw1-margins", REFERENCE, launch=fail)
    assert {outcome.status for outcome in report.outcomes} == {Status.INTERNAL}
    assert "did not start: bwrap: Unknown option" in report.outcomes[0].reason


def test_memory_of_all_processes_is_in_the_budget() -> None:
    now = usage(os.getpid())
    assert now is not None
    assert Budget(1.0).problem(now, 0.5, 0.5) is None
    problem = Budget(1.0, cpu=0.6).problem(now, 0.5, 0.5)
    assert isinstance(problem, Ended)
    assert problem.status is Status.TIMEOUT


def test_the_kit_holds_no_package_but_numpy() -> None:
    root = kit() / "root"
    assert [path.name for path in (root / "site").iterdir() if not path.suffix] == ["numpy"]
    names = {path.name for path in root.rglob("*")}
    assert not names & {
        "site-packages",
        "dist-packages",
        "scipy",
        "sklearn",
        "svmlab",
        "autograder",
    }
    assert not names & {"sh", "bash", "busybox"}
    modes = {path.stat().st_mode & 0o777 for path in root.rglob("*") if not path.is_symlink()}
    assert modes <= {0o755, 0o644}


def test_the_filter_is_made_for_known_machines_only() -> None:
    assert seccomp.filter_program("x86_64") != seccomp.filter_program("aarch64")
    with pytest.raises(NotImplementedError, match="no list of system calls for sparc"):
        seccomp.filter_program("sparc")


def test_ldd_is_not_needed_once_the_kit_is_there(tmp_path: Path) -> None:
    kit()
    (tmp_path / "bwrap").symlink_to(str(shutil.which("bwrap")))
    code = "from autograder import sandbox; sandbox.require(); print('works')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
    )
    assert done.stdout == "works\n", done.stderr


SPY = """
seen = []
def canonical_form(X, y, w, b):
    seen.append(w.tolist())
    smallest = functional_margins(X, y, w, b).min()
    return w / smallest, b / smallest
def hinge_loss(margins):
    raise ValueError(f"seen: {len(seen)} {seen}")
"""


def test_what_a_hidden_check_asked_is_not_known_where_text_is_shown(launch: Launch) -> None:
    report = judge_source("hw1-margins", f"{REFERENCE}\n{SPY}", launch=launch)
    assert report.of("canonical")[1].visibility == "after"
    visible = judge_source("hw1-margins", f"{REFERENCE}\n{SPY}", visible_only=True)
    assert "seen: " in report.of("hinge")[0].private
    assert report.of("hinge")[0].private == visible.of("hinge")[0].private


def test_a_sandbox_that_somebody_ends_is_no_fault_of_the_submission(launch: Launch) -> None:
    with student_of(launch, "import time\ndef f(x):\n    time.sleep(x)\n    return 1") as student:
        assert student.call("f", 0.0) == 1
        timer = threading.Timer(0.5, kill_sandboxes)
        timer.start()
        with pytest.raises(NotStarted, match="ended from outside"):
            student.call("f", 60.0)
        timer.join()
        assert student.call("f", 0.0) == 1  # in a new one


def kill_sandboxes() -> None:
    """End every sandbox that this process has started."""
    for path in Path("/proc/self/task").glob("*/children"):
        for pid in path.read_text().split():
            if Path(f"/proc/{pid}/comm").read_text().strip() == "bwrap":
                os.kill(int(pid), signal.SIGKILL)


def test_children_of_a_warm_parent_know_nothing_of_each_other() -> None:
    """Another process, memory segment, socket or random number of a sibling cannot be reached."""
    source = (
        "import os, random, socket\nimport numpy as np\n"
        "def f(name):\n"
        "    global door\n    door = socket.socket(socket.AF_UNIX)\n    door.bind(name)\n"
        "    chance = [random.random(), np.random.rand(), np.random.default_rng().random()]\n"
        "    return [os.path.exists('/proc'), os.getpid(), [float(x) for x in chance]]\n"
    )
    with student_of(warm.launch, source) as one, student_of(warm.launch, source) as two:
        first, second = one.call("f", "\0door"), two.call("f", "\0door")  # each binds it alone
    assert first[:2] == second[:2] == [False, 2]
    assert not set(first[2]) & set(second[2])


def test_numpy_is_loaded_in_the_warm_parent_with_the_parts_that_every_child_uses() -> None:
    source = (  # what was there before the parent froze is not listed
        "import gc\nimport numpy as np\n"
        "def f():\n"
        "    parts = np, np.random, np.linalg, np.fft  # the last is loaded now\n"
        "    mine = [id(thing) for thing in gc.get_objects()]\n"
        "    return [id(part) in mine for part in parts]"
    )
    with student_of(warm.launch, source) as student:
        assert student.call("f") == [False, False, False, True]


def test_nothing_of_a_submission_is_left_for_the_next_one() -> None:
    """The warm parent serves many: whatever one does to numpy or builtins, it does to a copy."""
    vandal = "import builtins\nimport numpy as np\n"
    vandal += "def f():\n    np.zeros = builtins.sum = None\n    return 1"
    with student_of(warm.launch, vandal) as student:
        assert student.call("f") == 1
    with student_of(
        warm.launch, "import numpy as np\ndef f():\n    return sum(np.zeros(3))"
    ) as next_one:
        assert next_one.call("f") == 0.0


def test_the_memory_of_a_check_is_seen(launch: Launch) -> None:
    source = "import time\nimport numpy as np\n"
    source += "def f():\n    block = np.ones(30_000_000)\n    time.sleep(0.5)\n    return 1"
    with student_of(launch, source) as student:
        student.begin()
        assert student.memory is None
        student.call("f")
        assert student.memory is not None
        assert 240_000_000 < student.memory < 600_000_000
