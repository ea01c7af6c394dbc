"""The hostile class: written, graded by the real command, and everything about it collected."""

from __future__ import annotations

import json
import mmap
import os
import socket
import stat
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hostile.case import HOMEWORK, World, notebook
from hostile.cases import CASES
from hostile.machine import MARK, ROOT, Place, gradebook, hashes

from autograder.sample import dump

LIMIT = 5.0  # seconds a check: the family of memory eaters needs three to be caught
EATEN = 3 * 2**30  # bytes of memory that attacks fill
CORRECT, WRONG = "honest-correct", "honest-wrong"


@dataclass
class Graded:
    """What came of the hostile class, for one user."""

    finished: dict[str, Any]
    result: dict[str, Any]  # what the command printed
    reports: dict[str, Any]
    copies: dict[str, str]  # what students see, as text
    notebooks: dict[str, str]  # autograded ones, as text
    gradebook: dict[str, Any]
    before: dict[str, str]
    after: dict[str, str]
    knocks: list[str]  # who reached the listeners of this machine
    traces: list[str]  # files that attacks left on this machine

    def row(self, student: str) -> dict[str, Any]:
        """Return what the command printed about a student."""
        return next(row for row in self.result["submissions"] if row["student"] == student)


def grade_class(place: Place, *options: str) -> Graded:
    """Write the class, grade it, and collect everything that there is to know."""
    listeners = Listeners(place.folder)
    canary = place.folder / "canary"
    canary.mkdir()
    world = World(
        released=(place.course / "release" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes(),
        course=place.course,
        root=ROOT,
        port=listeners.port,
        sockets=listeners.names,
        canary=canary,
        mark=place.environment()[MARK],
    )
    write_class(world)
    place.give_away()
    canary.chmod(0o1777)
    before = hashes(place.course)
    fetch_memory()
    finished = place.grade(HOMEWORK, "--limit", f"{LIMIT:g}", *options)
    return Graded(
        finished=asdict(finished),
        result=finished.json,
        reports=texts(place.course / ".autograder" / "reports" / HOMEWORK, json.loads),
        copies=texts(place.course / ".autograder" / "student-reports" / HOMEWORK),
        notebooks={
            path.parts[-3]: path.read_text(encoding="utf-8")
            for path in (place.course / "autograded").glob(f"*/{HOMEWORK}/{HOMEWORK}.ipynb")
        },
        gradebook=gradebook(place.course),
        before=before,
        after=hashes(place.course),
        knocks=listeners.close(),
        traces=traces(place),
    )


def fetch_memory() -> None:
    """Use memory once: what a virtual machine has never used may take it seconds a gigabyte."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    mmap.mmap(-1, EATEN, flags=flags).close()


def texts(folder: Path, read: Callable[[str], Any] = str) -> dict[str, Any]:
    """Return the JSON files of a folder by name."""
    return {path.stem: read(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}


def traces(place: Place) -> list[str]:
    """Return what attacks wrote, or the command forgot, outside the course."""
    found = [str(path) for path in place.folder.glob("canary/*")]
    found += [str(path) for path in place.folder.glob("tmp/*")]
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/", str(Path.home()), str(ROOT)):
        found += [str(path) for path in Path(folder).glob("svmlab-hostile-file*")]
    return found


def write_class(world: World) -> None:
    """Hand in a right notebook, a wrong one, and every hostile one."""
    wrong = {"hinge_loss": "def hinge_loss(margins):\n    return 1 - margins"}
    put(world, CORRECT, dump(notebook(world)))
    put(world, WRONG, dump(notebook(world, wrong)))
    for case in CASES:
        put(world, case.student, case.make(world))
    right = world.course / "submitted" / CORRECT / HOMEWORK / f"{HOMEWORK}.ipynb"
    for name, make in ODD_FILES.items():
        folder = world.course / "submitted" / f"case-35-{name}" / HOMEWORK
        folder.mkdir(parents=True)
        make(folder / f"{HOMEWORK}.ipynb", right)
    (world.course / "submitted" / "case-35-linked-folder").symlink_to(right.parents[1])
    put(world, "case-35-new\nline\x1b[2J", dump(notebook(world)))


def put(world: World, student: str, data: bytes) -> None:
    """Write one submission as nbgrader collects it."""
    folder = world.course / "submitted" / student / HOMEWORK
    folder.mkdir(parents=True)
    (folder / f"{HOMEWORK}.ipynb").write_bytes(data)
    (folder / "timestamp.txt").write_text("2025-01-10 12:00:00.000000 UTC\n", encoding="utf-8")


ODD_FILES: dict[str, Callable[[Path, Path], object]] = {
    "linked-file": lambda path, right: path.symlink_to(right),
    "dangling-link": lambda path, right: path.symlink_to("/etc/no such file"),
    "fifo": lambda path, right: os.mkfifo(path),
    "folder-for-a-file": lambda path, right: path.mkdir(),
}
if os.geteuid() == 0:
    ODD_FILES["device"] = lambda path, right: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))


class Listeners:
    """Doors of this machine at which no submission may knock."""

    def __init__(self, folder: Path) -> None:
        self.names = (str(folder / "socket"), f"\0{folder.name}")
        self._sockets = [socket.create_server(("127.0.0.1", 0))]
        self.port = self._sockets[0].getsockname()[1]
        for name in self.names:
            door = socket.socket(socket.AF_UNIX)
            door.bind(name)
            door.listen()
            self._sockets.append(door)
        (folder / "socket").chmod(0o777)
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", self.port))
        self._sockets.append(datagrams)
        self._knocks: list[str] = []
        self._threads = [
            threading.Thread(target=self._wait, args=(s,), daemon=True) for s in self._sockets
        ]
        for thread in self._threads:
            thread.start()

    def _wait(self, door: socket.socket) -> None:
        door.settimeout(0.2)
        while not getattr(self, "_closing", False):
            try:
                if door.type == socket.SOCK_DGRAM:
                    door.recv(1)
                else:
                    door.accept()[0].close()
                self._knocks.append(str(door.getsockname()))
            except TimeoutError:
                continue

    def close(self) -> list[str]:
        """Return who knocked."""
        self._closing = True
        for thread, door in zip(self._threads, self._sockets, strict=True):
            thread.join()
            door.close()
        return self._knocks
