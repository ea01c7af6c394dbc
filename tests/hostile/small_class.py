"""A small class that is graded again and again, and how to disturb it meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from hostile.case import HOMEWORK, World, right
from hostile.cases import CASES
from hostile.classroom import put
from hostile.machine import Place, descendants, gradebook

from autograder.sample import sample_class

WANTED = ("case-01-exit", "case-30-just-inside", "case-30-just-outside", "case-34-truncated")
HONEST = ("correct-01", "mistake-decision-minus-b", "untouched", "answers", "variant-hinge-by-mask")


def hand_in(place: Place) -> list[str]:
    """Write a small class; return the students."""
    released = (place.course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
    world = World(released, place.course, place.folder, 0, (), place.folder, "")
    samples = sample_class(released, HOMEWORK)
    handed_in = {sample.student: sample.data for sample in samples if sample.student in HONEST}
    handed_in |= {case.student: case.make(world) for case in CASES if case.student in WANTED}
    for student, data in handed_in.items():
        put(world, student, data)
    place.give_away()
    return sorted(handed_in)


def reports(course: Path) -> dict[str, Any]:
    """Return all reports, without the times that they took."""
    found = {}
    for path in (course / ".autograder" / "reports" / HOMEWORK).glob("*.json"):
        report = json.loads(path.read_text(encoding="utf-8"))
        for outcome in report["outcomes"]:
            del outcome["seconds"], outcome["memory"]
        found[path.stem] = report
    return found


def results(course: Path) -> dict[str, Any]:
    """Return everything that a run decides, as plain JSON."""
    both = {"gradebook": gradebook(course), "reports": reports(course)}
    return dict(json.loads(json.dumps(both)))


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


def sandboxes(pid: int) -> dict[int, int]:
    """Return the sandboxes below a process, each with the process that started it."""
    found = {}
    for member in descendants(pid):
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{member}/comm").read_text(encoding="utf-8").strip()
            if name == "bwrap" and namespace(member) == namespace(os.getpid()):
                found[member] = parent(member)
    return found


def workers(pid: int) -> list[int]:
    """Return the processes below a grader that have started a sandbox for submissions."""
    # The grader itself starts one, to see that it can; one may outlive its parent for a moment.
    return sorted(set(sandboxes(pid).values()) & set(descendants(pid)))


def namespace(pid: int) -> str:
    return os.readlink(f"/proc/{pid}/ns/pid")


def parent(pid: int) -> int:
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return int(text.rpartition(")")[2].split()[1])


def hand_in_slow(place: Place, count: int) -> None:
    """Add students who take some seconds each, so that a run can be caught in the middle."""
    released = (place.course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
    world = World(released, place.course, place.folder, 0, (), place.folder, "")
    slow = right("import time\ntime.sleep(0.03)")
    for number in range(count):
        put(world, f"z-slow-{number}", slow(world))
    place.give_away()
