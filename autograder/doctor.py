"""Attack our own sandbox and say which limits hold on this machine."""

from __future__ import annotations

import os
import platform
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder import sandbox
from autograder.extract import extract
from autograder.grading import launcher
from autograder.judge import notebook_bytes
from autograder.outcome import Status
from autograder.sandbox import jail, warm
from autograder.sandbox.channel import Launch, NotStarted
from autograder.sandbox.kit import kit
from autograder.student import StudentFault, StudentProcess

LIMIT = 4.0  # CPU seconds for an attack
EATING = 30.0  # and where it fills memory: a virtual machine may take seconds for a gigabyte


@dataclass(frozen=True)
class Attack:
    """One promise of the sandbox, and a program that tries to break it.

    ``holds`` gets what the function ``attack(target)`` returned, or the status of its end.
    """

    promise: str
    source: str
    holds: Callable[[Any], bool]
    target: str = ""
    limit: float = LIMIT


@dataclass(frozen=True)
class Finding:
    """What came of an attack."""

    promise: str
    held: bool
    seen: str


ATTACKS = [
    Attack(
        "an endless loop is ended",
        "def attack(_):\n    while True:\n        pass",
        lambda end: end is Status.TIMEOUT,
    ),
    Attack(
        "a sleeper is ended",
        "import time\ndef attack(_):\n    time.sleep(3600)",
        lambda end: end is Status.TIMEOUT,
    ),
    Attack(
        "a process gets 1 GB of memory and no more",
        "import numpy as np\n"
        "def attack(_):\n    np.ones(75_000_000)\n    return float(np.ones(140_000_000)[0])",
        lambda end: end is Status.MEMORY,
        limit=EATING,
    ),
    Attack(
        "all processes of a submission together get 2 GB",
        "import os, time\n"
        "def attack(_):\n    for _ in range(5):\n        if os.fork() == 0:\n"
        "            block = bytearray(600_000_000)\n            break\n    time.sleep(3600)",
        lambda end: end is Status.MEMORY,
        limit=EATING,
    ),
    Attack(
        f"at most {jail.LIMITS['NPROC']} processes",
        "import os, time\n"
        "def attack(_):\n    for n in range(200):\n        try:\n            if os.fork() == 0:\n"
        "                time.sleep(3600)\n        except OSError:\n            return n\n"
        "    return n",
        lambda seen: isinstance(seen, int) and seen < jail.LIMITS["NPROC"],
    ),
    Attack(
        f"at most {jail.LIMITS['NPROC']} threads",
        "import threading, time\n"
        "def attack(_):\n    for n in range(200):\n        try:\n"
        "            threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
        "        except RuntimeError:\n            return n\n    return n",
        lambda seen: isinstance(seen, int) and seen < jail.LIMITS["NPROC"],
    ),
    Attack(
        f"at most {jail.LIMITS['NOFILE']} open files",
        "import os\n"
        "def attack(_):\n    for n in range(2000):\n        try:\n"
        "            os.open('/dev/null', os.O_RDONLY)\n"
        "        except OSError:\n            return n\n    return n",
        lambda seen: isinstance(seen, int) and seen < jail.LIMITS["NOFILE"],
    ),
    Attack(
        "a flood of output is ended",
        "import os\ndef attack(_):\n    while True:\n        os.write(1, b'x' * 65536)",
        lambda end: end is Status.OUTPUT,
    ),
    Attack(
        "no path is writable",
        "import os\n"
        "def attack(_):\n    found = []\n    for folder, _, _ in os.walk('/'):\n        try:\n"
        "            os.close(os.open(folder + '/x', os.O_CREAT | os.O_WRONLY))\n"
        "            found.append(folder)\n        except OSError:\n            pass\n"
        "    return found + [p for p in ('/tmp', '/dev/shm', '/run') if os.path.exists(p)]",
        lambda seen: seen == [],
    ),
    Attack(
        "files of this machine are not there",
        "import os\ndef attack(target):\n    return os.path.exists(target)",
        lambda seen: seen is False,
        target="a file",
    ),
    Attack(
        "nothing but the standard library and numpy can be imported",
        "import pkgutil, sys\n"
        "def attack(_):\n    names = {module.name for module in pkgutil.iter_modules()}\n"
        "    names -= {*sys.stdlib_module_names, 'numpy', '_xxsubinterpreters'}\n"
        "    return sorted(name for name in names if not name.startswith('_sysconfigdata'))",
        lambda seen: seen == [],
    ),
    Attack(
        "no network, not even this machine's own services",
        "import socket\n"
        "def attack(target):\n    try:\n"
        "        socket.create_connection(('127.0.0.1', int(target)), 2).close()\n"
        "        return 'connected'\n    except OSError:\n"
        "        return [name for _, name in socket.if_nameindex() if name != 'lo']",
        lambda seen: seen == [],
        target="a port",
    ),
    Attack(
        "other processes cannot be seen",
        "import os\ndef attack(_):\n    return os.path.exists('/proc') or os.getpid() > 10",
        lambda seen: seen is False,
    ),
    Attack(
        "nobody becomes root, and no privilege is left",
        "import ctypes, os\n"
        "def attack(_):\n    c = ctypes.CDLL(None)\n    try:\n        os.setuid(0)\n"
        "    except OSError:\n        pass\n"
        "    return [os.getuid() * os.geteuid() > 0, c.prctl(39, 0, 0, 0, 0) == 1]",
        lambda seen: seen == [True, True],
    ),
    Attack(
        "dangerous system calls are refused",
        "import ctypes\n"
        "def attack(_):\n    c = ctypes.CDLL(None)\n"
        "    calls = [c.unshare(0x10000000), c.unshare(0x20000), c.ptrace(0, 0, 0, 0)]\n"
        "    calls += [c.shmget(0, 4096, 0o1600), c.mount(b'x', b'/', b'tmpfs', 0, None)]\n"
        "    return [c.prctl(21, 0, 0, 0, 0) == 2, all(result == -1 for result in calls)]",
        lambda seen: seen == [True, True],
    ),
    Attack(
        "a crash is a crash of its own",
        "import ctypes\ndef attack(_):\n    ctypes.string_at(0)",
        lambda end: end is Status.KILLED,
    ),
]


def examine(launch: Launch) -> Iterator[Finding]:
    """Run every attack and tell what was seen."""
    with tempfile.NamedTemporaryFile() as file, socket.create_server(("127.0.0.1", 0)) as server:
        os.chmod(file.name, 0o644)
        targets = {"a file": file.name, "a port": str(server.getsockname()[1])}
        for attack in ATTACKS:
            seen = _run(attack, targets.get(attack.target, ""), launch)
            yield Finding(attack.promise, attack.holds(seen), str(seen))


def _run(attack: Attack, target: str, launch: Launch) -> Any:
    extracted = extract(notebook_bytes(attack.source), ["attack"])
    with StudentProcess(extracted, ["attack"], limit=attack.limit, launch=launch) as process:
        try:
            return process.call("attack", target)
        except StudentFault as problem:
            return problem.fault.status
        except NotStarted as problem:
            return str(problem)


def doctor(say: Callable[[str], object] = print, *, kind: str = "warm") -> bool:
    """Examine this machine, tell a person, and return whether everything holds.

    Attacked is the sandbox that grading would use, or with the ``kind`` "fresh" one that is new for
    each process.
    """
    root = sandbox.is_root()
    user = "root" if root else f"an ordinary user (id {os.geteuid()})"
    say(f"Python {platform.python_version()}, Linux {platform.release()}, as {user}")
    sandbox.require()
    say(f"bubblewrap: {sandbox.bubblewrap()}; files of the sandbox: {kit()}")
    way = "a user id of its own for each job" if root else "a user namespace"
    say(f"the sandbox works here, with {way}.")
    say(f"students' processes are {_manner(kind)}.")
    say("Now attacking it; this takes half a minute.\n")
    broken = 0
    for finding in examine(launcher(kind)):
        say(f"  {'holds' if finding.held else 'BROKEN'}  {finding.promise}")
        if not finding.held:
            broken += 1
            say(f"          seen: {finding.seen[:300]}")
    if broken:
        say(
            f"\n{broken} of {len(ATTACKS)} promises do not hold here: do not grade on this machine."
        )
        say(remedies())
    else:
        say(f"\nAll {len(ATTACKS)} promises hold: it is safe to grade here.")
    return not broken


def _manner(kind: str) -> str:
    """Say how processes are started, and why so."""
    if kind == "fresh":
        return "started in a new sandbox each, as you ask"
    if problem := warm.problem():
        return (
            "started in a new sandbox each: copies of a warm one, which are faster, are not "
            f"possible here ({problem})"
        )
    return "copies of a warm one, each in namespaces of its own (grade --fresh: new ones)"


def remedies() -> str:
    """Return what to look at where a limit does not hold."""
    version = tuple(int(part) for part in platform.release().split(".")[:2] if part.isdigit())
    advice = ["What may help: a newer bubblewrap (0.8 or later) and kernel (5.14 or later"]
    advice.append(f"; here {platform.release()})" if version < (5, 14) else ")")
    advice.append(", grading in a virtual machine of its own, and telling us what was seen.")
    if not Path("/proc/self/stat").exists() or sys.platform != "linux":
        advice.append(" Without /proc memory and computing time cannot be watched: mount it.")
    return "".join(advice)
