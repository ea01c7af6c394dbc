"""The processes that judge: results as they come, the dead replaced, nobody held up."""

import functools
import operator
import os
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from autograder.spread import spread


def lost(task: object, problem: str) -> str:
    return f"lost {task}: {problem}"


def results_of(done):
    return [result for _, result, _ in done]


def test_results_come_as_they_are_done_and_all_of_them() -> None:
    work = functools.partial(operator.mul, 2)
    done = list(spread(work, range(20), lost, jobs=3))
    assert sorted((task, result) for task, result, _ in done) == [(n, 2 * n) for n in range(20)]
    assert all(seconds >= 0 for _, _, seconds in done)


LOOK = """
import functools
from autograder.spread import prepare, spread
if __name__ == "__main__":
    prepare("wave")
    prepare("operator")  # too late: it is up
    loaded = functools.partial(eval, "'wave' in __import__('sys').modules")
    print(*(result for _, result, _ in spread(loaded, [{}], lambda *_: "lost", jobs=1)))
"""


def test_what_is_prepared_is_up_at_once_and_has_loaded_a_module(tmp_path: Path) -> None:
    program = tmp_path / "look.py"
    program.write_text(LOOK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


class Slow:
    """An office whose slow desks are all done when the first of their results is taken."""

    slow = 3

    def __init__(self, *_: object) -> None:
        self._futures: list[Future[tuple[int, float]]] = []

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, task: int) -> Future[tuple[int, float]]:
        self._futures.append(Future())
        if len(self._futures) == 5:
            self._futures[0].set_result((0, 0.0))
        return self._futures[-1]

    def help_out(self) -> None:
        self.slow = 0
        for future in self._futures:
            if not future.done():
                future.set_result((0, 0.0))


def test_slow_tasks_that_end_together_stop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.spread._Office", Slow)
    assert len(list(spread(operator.neg, range(9), lost, jobs=1))) == 9


def test_a_task_that_raises_is_lost_and_the_others_are_done() -> None:
    results = results_of(spread(functools.partial(operator.floordiv, 12), [3, 0, 4], lost, jobs=1))
    assert sorted(map(str, results))[:2] == ["3", "4"]
    assert "ZeroDivisionError" in str(sorted(map(str, results))[2])


def test_a_process_that_dies_is_replaced_and_its_task_tried_again(tmp_path: Path) -> None:
    marker = tmp_path / "first"
    marker.touch()
    system = "__import__('os')"
    once = f"({system}.unlink({str(marker)!r}), {system}._exit(1)) "
    once += f"if {system}.path.exists({str(marker)!r}) else 7"
    tasks = ["1 + 1", once, f"{system}._exit(1)", "2 + 2"]
    results = results_of(spread(eval, tasks, lost, jobs=1))
    expected = [2, 7, f"lost {tasks[2]}: the process that graded it died", 4]
    assert sorted(map(str, results)) == sorted(map(str, expected))


def test_tasks_are_done_where_the_temporary_folder_has_a_long_name(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    program = (
        "from autograder.spread import spread\n"
        "if __name__ == '__main__':\n"
        "    print(*(done[1] for done in spread(abs, [-1, -2], None, jobs=1)))\n"
    )
    (folder / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, str(folder / "program.py")],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert sorted(done.stdout.split()) == ["1", "2"], done


def test_an_interrupted_run_leaves_no_process(tmp_path: Path) -> None:
    results = spread(time.sleep, [0.0, 3600.0, 3600.0], lost, jobs=2)
    assert next(results)[:2] == (0.0, None)
    started = time.monotonic()
    results.close()
    assert time.monotonic() - started < 20


def test_who_takes_long_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.spread.PATIENCE", 0.5)
    monkeypatch.setattr("autograder.spread.LOOK_EVERY", 0.1)
    tasks = [3600.0, 3600.0, *(0.01 * n for n in range(6))]
    results = spread(time.sleep, tasks, lost, jobs=1)
    assert sorted(next(results)[0] for _ in range(6)) == tasks[2:]
    results.close()
