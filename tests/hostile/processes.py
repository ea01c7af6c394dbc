"""Cases 1 to 9: code that dies, never ends, or multiplies."""

from __future__ import annotations

from hostile.answers import FORGE
from hostile.case import STOPPED, Case, all_lost, attack, lost, right

EVERYBODY = """\
import os, signal
os.fork()
try:
    os.kill(-1, signal.SIGKILL)
finally:
    os._exit(1)
"""

SEGMENTATION_FAULT = """\
import ctypes
ctypes.string_at(0)
"""

DEAF = """\
import signal
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGXCPU):
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""

GROWING = """\
kept = []
while True:
    kept.append(bytearray(b"x" * 2**20))
"""

FAMILY = """\
import mmap, os, time
for _ in range(5):
    if os.fork() == 0:
        block = mmap.mmap(-1, 700 * 2**20)
        for k in range(700):
            block[k * 2**20 : (k + 1) * 2**20] = b"x" * 2**20
        time.sleep(60)
        os._exit(0)
time.sleep(60)
return 0.0
"""

# Memory that belongs to no process: it is counted in nobody's address space once detached.
NOBODYS = """\
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]
size = 400 * 2**20
for _ in range(7):
    segment = libc.shmget(0, size, 0o1600)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "no shared memory")
    where = libc.shmat(segment, None, 0)
    if where in (None, 2**64 - 1):
        raise OSError(ctypes.get_errno(), "not attached")
    ctypes.memset(where, 1, size)
    libc.shmdt(where)
return 0.0
"""

FORK_BOMB = """\
import os
while True:
    os.fork()
"""

PATIENT_FORK_BOMB = """\
import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
"""

THREAD_BOMB = """\
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
"""

DAEMON = """\
import os, time
started.append(1)
if len(started) == 1 and os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(64):
            try:
                os.close(number)
            except OSError:
                pass
        time.sleep(600)
    os._exit(0)
"""

LATE_ANSWER = """\
import os, time
answer, parent = frame(reply("0.5")), os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:  # until the deadline strikes
        time.sleep(0.01)
    while True:
        send(answer)
while True:
    pass
"""

CASES = [
    Case(1, "exit", attack("import os\nos._exit(0)"), lost("KILLED")),
    Case(1, "sys-exit", attack("import sys\nsys.exit(0)"), lost("KILLED")),
    Case(
        1,
        "kill-itself",
        attack("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
        lost("KILLED"),
    ),
    Case(1, "kill-everybody", attack(EVERYBODY), lost("KILLED")),
    Case(
        1,
        "exit-at-once",
        right("count", helpers="import os\ncount = os._exit(3)"),
        all_lost("KILLED"),
    ),
    Case(
        2,
        "segmentation-fault",
        attack(SEGMENTATION_FAULT),
        lost("KILLED"),
        says="(?i)SIGSEGV|segmentation",
    ),
    Case(3, "endless-loop", attack("while True:\n    pass"), lost("TIMEOUT")),
    Case(4, "deaf-loop", attack(DEAF), lost("TIMEOUT")),
    Case(5, "sleeper", attack("import time\ntime.sleep(1e6)"), lost("TIMEOUT")),
    Case(6, "four-gigabytes", attack("return float(np.ones(2**29).sum())"), lost("MEMORY")),
    Case(6, "growing-list", attack(GROWING), lost("MEMORY")),
    Case(6, "family-of-eaters", attack(FAMILY), lost("MEMORY")),
    Case(6, "memory-of-nobody", attack(NOBODYS), lost("MEMORY", "ERROR", "KILLED")),
    Case(7, "fork-bomb", attack(FORK_BOMB), lost(*STOPPED)),
    Case(7, "patient-fork-bomb", attack(PATIENT_FORK_BOMB), lost(*STOPPED)),
    Case(8, "thread-bomb", attack(THREAD_BOMB), lost(*STOPPED)),
    Case(9, "daemon", right(DAEMON, helpers="started = []")),
    Case(29, "late-answer", attack(LATE_ANSWER, helpers=FORGE), lost("TIMEOUT")),
]
