"""What a hostile case is, and how its notebook is made from the released one."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.manifest import load_manifest
from autograder.sample import dump, fill, with_body
from autograder.sources import reference_functions

HOMEWORK = "hw1-margins"
VICTIM = "geometric_margin"  # questions before it, and questions after it that do not need it
STOPPED = ("ERROR", "KILLED", "MEMORY", "TIMEOUT")

# Raised by a probe that found nothing of what it looked for: its name is in the reason.
NOTHING = """\
class NothingThere(Exception):
    pass


class Found(Exception):
    pass
"""


@dataclass(frozen=True)
class World:
    """What the attacks aim at: all of it exists while they run."""

    released: bytes
    course: Path
    root: Path  # the checkout
    port: int  # of a listener on this machine
    sockets: tuple[str, ...]  # unix sockets of this machine, the last one abstract
    canary: Path  # a folder that everybody may write to
    mark: str  # stands in the environment of the command

    @property
    def targets(self) -> list[str]:
        """Files that no student may read or write."""
        course, name = self.course, f"{HOMEWORK}.ipynb"
        files = [
            course / ".autograder" / "secret",
            course / ".autograder" / "pools" / "hw2-smo.json",
            course / "gradebook.db",
            course / "nbgrader_config.py",
            course / "source" / HOMEWORK / name,
            course / "release" / HOMEWORK / name,
            course / "submitted" / "honest-correct" / HOMEWORK / name,
            self.root / "assignments" / HOMEWORK / f"{HOMEWORK}.py",
            self.root / "autograder" / "checks" / "margins.py",
            self.root / "svmlab" / "margins.py",
        ]
        return [str(path) for path in files]


Make = Callable[[World], bytes]


@dataclass(frozen=True)
class Case:
    """One submission: how it is made, and what must come of it.

    ``expected`` maps the checks that may not end with OK to the statuses that they may have; all
    others must be OK in full. ``says`` must be found in the reason of each of these checks,
    ``remark`` in some remark; ``points`` are those of a check that is neither lost nor full.
    """

    number: int
    name: str
    make: Make
    expected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    says: str = ""
    remark: str = ""
    points: Mapping[str, float] = field(default_factory=dict)

    @property
    def student(self) -> str:
        """The folder in which it is handed in."""
        return f"case-{self.number:02}-{self.name}"


def checks_of(function: str) -> list[str]:
    """Return the checks of the question to which a function belongs."""
    questions = load_manifest(HOMEWORK).questions
    return [check.id for q in questions if function in q.functions for check in q.checks]


def lost(*statuses: str, function: str = VICTIM) -> dict[str, tuple[str, ...]]:
    """Expect that all checks of a function end like this."""
    return dict.fromkeys(checks_of(function), statuses)


def all_lost(*statuses: str) -> dict[str, tuple[str, ...]]:
    """Expect that every check ends like this."""
    return dict.fromkeys([check.id for check in load_manifest(HOMEWORK).checks], statuses)


def notebook(world: World, functions: Mapping[str, str] | None = None, helpers: str = "") -> Any:
    """Return a right notebook in which some functions are replaced, with a cell of helpers."""
    made = fill(world.released, reference_functions(HOMEWORK) | dict(functions or {}))
    if helpers:
        made["cells"].insert(2, code_cell(helpers))
    return made


def code_cell(source: str) -> dict[str, Any]:
    """Return a cell of the student's own."""
    base = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return {**base, "id": f"own-{zlib.crc32(source.encode()):08x}", "source": source}


def body(text: str, function: str = VICTIM) -> str:
    """Return a function of the homework with another body."""
    return with_body(reference_functions(HOMEWORK)[function], text)


def attack(text: str, *, helpers: str = "", function: str = VICTIM) -> Make:
    """Put an attack into one function; $names of it are filled in from the world."""

    def make(world: World) -> bytes:
        words = {
            "$targets": repr(world.targets),
            "$sockets": repr(world.sockets),
            "$port": repr(world.port),
            "$canary": repr(str(world.canary)),
            "$mark": repr(world.mark),
        }
        code = body(text, function)
        for word, value in words.items():
            code = code.replace(word, value)
        return dump(notebook(world, {function: code}, helpers))

    return make


def probe(text: str) -> Make:
    """Make an attack that raises Found or NothingThere."""
    return attack(text + "\nraise NothingThere", helpers=NOTHING)


def right(before: str, *, helpers: str = "", function: str = VICTIM) -> Make:
    """Do something first, then answer correctly."""
    reference = reference_functions(HOMEWORK)[function]
    return attack(f"{before}\n{_code_of(reference)}", helpers=helpers, function=function)


def _code_of(reference: str) -> str:
    """Return the lines below the docstring, without their indent."""
    lines = reference.split('"""')[-1].strip("\n").splitlines()
    return "\n".join(line.removeprefix("    ") for line in lines)


def edited(change: Callable[[dict[str, Any]], None], **functions: str) -> Make:
    """Change the JSON of a right notebook."""

    def make(world: World) -> bytes:
        made = copy.deepcopy(notebook(world, functions))
        change(made)
        return dump(made)

    return make
