"""Cases 10 to 16: output, files, network, and looking around."""

from __future__ import annotations

from hostile.case import NOTHING, Case, World, attack, body, lost, notebook, probe, right

from autograder.sample import dump

FILES = """\
import os
places = ["/", "/tmp", "/var/tmp", "/dev/shm", "/dev", "/run", "/home", "/root", "/etc"]
places += ["/proc/self", os.getcwd(), os.path.expanduser("~"), $canary]
for folder, folders, _ in os.walk("/"):
    if folder.count("/") > 3 or folder.startswith(("/proc", "/sys")):
        folders.clear()
    places.append(folder)
for place in places:
    try:
        with open(os.path.join(place, "svmlab-hostile-file"), "wb") as file:
            file.write(b"x" * 2**20)
    except OSError:
        continue
    raise Found(place)
"""

ANONYMOUS_FILE = """\
import os
with open(os.memfd_create("much"), "wb") as file:
    for _ in range(4096):
        file.write(b"x" * 2**20)
return 0.0
"""

NETWORK = """\
import socket
tries = [(socket.AF_INET, ("127.0.0.1", $port)), (socket.AF_INET, ("192.0.2.1", 80))]
tries += [(socket.AF_UNIX, name) for name in $sockets]
for family, address in tries:
    try:
        with socket.socket(family) as there:
            there.settimeout(1)
            there.connect(address)
            there.sendall(b"answers, please")
    except OSError:
        continue
    raise Found(address)
try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
        there.sendto(b"answers, please", ("127.0.0.1", $port))  # its own loopback, at most
except OSError:
    pass
try:
    raise Found(socket.getaddrinfo("example.org", 80))
except OSError:
    pass
"""

READING = """\
import os, time
for path in $targets:
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError:
        continue
    raise Found(path)
end = time.process_time() + 1.0
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys")]
    for name in files + folders:
        if name.endswith(".ipynb") or name in ("svmlab", "autograder", "secret"):
            raise Found(folder + "/" + name)
    if time.process_time() > end:
        break
"""

# In a carried-forward run the step that failed is there, in our words; nothing else may be.
LOOKING_FOR_STEPS = """\
import gc
functions = [item for item in gc.get_objects() if type(item) is type(slack)] if len(y) == 1 else []
for function in functions:
    ours = function.__code__.co_filename.startswith("<cell 0")
    if ours and function.__name__ != "decision_function":
        raise Found(function.__name__)
return y * decision_function(X, w, b)
"""

LOOKING_IN_MEMORY = """\
import gc, sys
for name in list(sys.modules):
    if name.partition(".")[0] in ("autograder", "svmlab", "judge", "checks", "sklearn", "scipy"):
        raise Found(name)
if {"In", "Out", "get_ipython", "_ih"} & set(globals()):
    raise Found("a notebook")
main = vars(sys.modules["__main__"])
words = ("secret", "expected", "solution", "reference", "verdict", "check_", "pools", "points")
for name in main:
    if name.lower().startswith(words):
        raise Found(name)
frame = sys._getframe()
while frame is not None:
    for name in frame.f_locals:
        if name.lower().startswith(words):
            raise Found(name)
    frame = frame.f_back
for item in gc.get_objects():
    if type(item) is type(slack) and item.__code__.co_filename.count("svmlab"):
        raise Found(item.__code__.co_filename)
    if type(item) is dict and {"expected", "secret", "max_points"} & set(map(str, item)):
        raise Found("a dictionary")
"""

LOOKING_AT_PROCESSES = """\
import os
mark = $mark.encode()
if any($mark in value for value in os.environ.values()) or len(os.environ) > 12:
    raise Found("the environment")
for number in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
    for name in ("environ", "cmdline"):
        try:
            with open(f"/proc/{number}/{name}", "rb") as file:
                data = file.read()
        except OSError:
            continue
        if mark in data or b"submitted" in data or b"--course" in data:
            raise Found(name)
"""

WRITING = """\
import os
for path in $targets:
    for mode in ("ab", "r+b", "wb"):
        try:
            open(path, mode).close()
        except OSError:
            continue
        raise Found(path)
    try:
        os.remove(path)
    except OSError:
        continue
    raise Found(path)
"""


def carried(world: World) -> bytes:
    """Make a notebook whose first function is wrong and whose second looks for ours."""
    functions = {
        "decision_function": body("return 0 * (X @ w)", "decision_function"),
        "functional_margins": body(LOOKING_FOR_STEPS, "functional_margins"),
    }
    return dump(notebook(world, functions, NOTHING))


NONE_THERE = "NothingThere"
CASES = [
    Case(10, "chatty", right("print('step ' * 10_000)"), remark="(?i)output|print"),
    Case(10, "flood", attack("while True:\n    print('x' * 2**20)"), lost("OUTPUT")),
    Case(
        10,
        "flood-of-errors",
        attack("import sys\nwhile True:\n    sys.stderr.write('x' * 2**20)"),
        lost("OUTPUT"),
    ),
    Case(
        10,
        "flood-past-python",
        attack(
            "import os\nwhile True:\n    os.write(1, b'x' * 2**20)\n    os.write(2, b'x' * 2**20)"
        ),
        lost("OUTPUT", "TIMEOUT", "ERROR"),
    ),
    Case(11, "disk", probe(FILES), lost("ERROR"), says=NONE_THERE),
    Case(
        11,
        "million-files",
        attack("for k in range(10**6):\n    open(f'/tmp/svmlab-hostile-file-{k}', 'w').close()"),
        lost("ERROR"),
    ),
    Case(
        11,
        "shared-memory",
        attack("open('/dev/shm/svmlab-hostile-file', 'wb').write(b'x' * 2**30)"),
        lost("ERROR"),
    ),
    Case(11, "anonymous-file", attack(ANONYMOUS_FILE), lost("ERROR", "KILLED")),
    Case(12, "network", probe(NETWORK), lost("ERROR"), says=NONE_THERE),
    Case(13, "reading-files", probe(READING), lost("ERROR"), says=NONE_THERE),
    Case(
        13,
        "looking-for-steps",
        carried,
        lost("WRONG", function="decision_function"),
    ),
    Case(14, "looking-in-memory", probe(LOOKING_IN_MEMORY), lost("ERROR"), says=NONE_THERE),
    Case(15, "looking-at-processes", probe(LOOKING_AT_PROCESSES), lost("ERROR"), says=NONE_THERE),
    Case(16, "writing-files", probe(WRITING), lost("ERROR"), says=NONE_THERE),
]
