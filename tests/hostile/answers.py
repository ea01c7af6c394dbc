"""Cases 17 to 30: answers that lie, forge, cheat or depend on something else than their input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hostile.case import (
    HOMEWORK,
    VICTIM,
    Case,
    World,
    all_lost,
    attack,
    body,
    lost,
    notebook,
    right,
)

from autograder.manifest import load_manifest
from autograder.pools import functions_of, seeds_for
from autograder.sample import dump
from autograder.sandbox import child
from autograder.sources import reference_source
from autograder.student import Calls

PATCHES = """\
import builtins, json, sys, traceback


class Always:
    def __call__(self, *args, **kwargs):
        return True


np.allclose = np.array_equal = np.isclose = np.testing.assert_allclose = Always()
np.subtract = np.isfinite = lambda *a, **k: 0.0
builtins.all = builtins.any = Always()
sys.displayhook = sys.excepthook = print
traceback.print_exc = traceback.format_exc = lambda *a, **k: "10 of 10 points"
json.JSONEncoder.default = lambda self, value: 1.0
patched = True
"""

LIARS = """\
class Liar(float):
    def __eq__(self, other):
        return True

    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__

    def __array__(self, *args, **kwargs):
        return np.zeros(())

    def __float__(self):
        return 0.0


class LyingArray(np.ndarray):
    def __array_ufunc__(self, *args, **kwargs):
        return np.zeros(())

    def __array_function__(self, *args, **kwargs):
        return True

    def __reduce__(self):
        return print, ("a pickle was loaded",)
"""

# Finds what it can write to, whatever its number.
FORGE = '''\
import fcntl, os, stat, struct, sys


def send(data):
    for number in range(64):
        try:
            mode = os.fstat(number).st_mode
            writable = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
            if writable and not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
                os.write(number, data)
        except OSError:
            pass


def frame(text, *arrays):
    parts = [struct.pack(">I", len(text)), text]
    for data in arrays:
        parts += [struct.pack(">Q", len(data)), data]
    data = b"".join(parts)
    return struct.pack(">Q", len(data)) + data


def array(header, data=b""):
    header = header.encode().ljust(117) + b"\\n"
    return b"\\x93NUMPY\\x01\\x00" + struct.pack("<H", len(header)) + header + data


def ticket():
    """Return the id of the question that is being asked: it stands in a frame below."""
    frame = sys._getframe()
    while frame is not None:
        if isinstance(frame.f_locals.get("request"), dict):
            return str(frame.f_locals["request"]["id"])
        frame = frame.f_back
    return "?"


def reply(value, number=None):
    text = '{"values": [%s], "faults": [null], "echoes": [], "id": "%s", "text": ""}'
    return (text % (value, number or ticket())).encode()
'''

HUGE_SHAPE = """\
header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % 10**15
send(frame(reply('{"array": 0, "shape": [%d]}' % 10**15), array(header)))
return 0.0
"""

REPLY_LENGTHS = """\
send(struct.pack(">Q", 4 * 2**30))
return 0.0
"""

PICKLE_IN_THE_REPLY = """\
import pickle


class Bomb:
    def __reduce__(self):
        return os.system, ("touch " + $canary + "/pickle",)


header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
bomb = pickle.dumps(Bomb())
send(frame(reply('{"array": 0, "shape": [1]}'), array(header, bomb)) + bomb)
return 0.0
"""

PICKLED_RESULT = """\
class Bomb:
    def __reduce__(self):
        import os
        return os.system, ("touch " + $canary + "/pickle",)


return np.array([Bomb()], dtype=object)
"""

WRONG = {
    "decision_function": "return np.full(len(X), np.nan)",
    "functional_margins": "return np.full(len(X), np.inf)",
    "geometric_margin": "return 1.0 + 2.0j",
    "canonical_form": "return None",
    "hinge_loss": "return 'about one'",
    "slack": "return np.zeros(len(y) + 1)",
    "objective": "return (x for x in [1.0])",
}
ALSO_WRONG = {
    "decision_function": "return (X @ w + b).astype(object)",
    "functional_margins": "return {'margins': y * (X @ w + b)}",
    "geometric_margin": "return [1.0, 2.0]",
    "canonical_form": "return w, b, 1.0",
    "hinge_loss": "return [[1.0], [2.0, 3.0]]",
    "slack": "return 10**400",
    "objective": "return np.datetime64('2025-01-01')",
}
ACCEPTED = {
    "decision_function": "return (X @ w + b)[:, None]",
    "functional_margins": "return [float(m) for m in y * (X @ w + b)]",
    "geometric_margin": "return np.array((y * (X @ w + b)).min() / np.linalg.norm(w))",
    "canonical_form": "s = (y * (X @ w + b)).min()\nreturn [list(w / s), np.array([[b / s]])]",
    "hinge_loss": "return [m if m > 0 else False for m in (1 - margins)]",
    "slack": "return np.asmatrix(np.maximum(0, 1 - y * (X @ w + b)))",
    "objective": "return np.array([w @ w / 2 + C * np.maximum(0, 1 - y * (X @ w + b)).sum()])",
}


def bodies(texts: dict[str, str]) -> Any:
    """Return a maker of a notebook with these bodies."""
    functions = {name: body(text, name) for name, text in texts.items()}
    return lambda world: dump(notebook(world, functions))


class Recorder(Calls):
    """Answers by the reference and keeps what it was asked."""

    def __init__(self) -> None:
        self.functions = functions_of(reference_source(HOMEWORK))
        self.table: dict[str, float] = {}

    def ask(self, name: str, cases: Sequence[Any], *, echo: bool, go_on: bool) -> dict[str, Any]:
        request = {"call": name, "cases": [list(case) for case in cases]}
        reply = child.answer({**request, "echo": echo, "go_on": go_on}, self.functions)
        for (X, _, w, b), value in zip(cases, reply["values"], strict=True):
            self.table[f"{X.sum():.9g} {w.sum():.9g} {b:.9g}"] = float(value)
        return reply


def memorised(world: World) -> bytes:
    """Make a notebook that knows the answers to the public problems, and nothing else."""
    recorder, seeds = Recorder(), seeds_for(HOMEWORK)
    for check in load_manifest(HOMEWORK).question("geometric").checks:
        check.load()(recorder, seeds.draw(check.id), **check.options)
    text = 'return TABLE.get(f"{X.sum():.9g} {w.sum():.9g} {b:.9g}", 0.0)'
    return dump(notebook(world, {VICTIM: body(text)}, f"TABLE = {recorder.table!r}"))


def near(factor: float) -> Any:
    """Return a maker of a notebook whose hinge loss is off by almost, or just over, the limit."""
    functions = {
        "hinge_loss": body(
            f"off = {factor!r} * 1e-4 * np.maximum(1.0, np.abs(margins))\n"
            "return np.maximum(0.0, 1.0 - margins) + off",
            "hinge_loss",
        ),
        "slack": body("return np.maximum(0.0, 1.0 - functional_margins(X, y, w, b))", "slack"),
    }
    return lambda world: dump(notebook(world, functions))


COUNTER = "calls = [0]"
CACHE = "first = []"
SKLEARN = (
    "from sklearn.svm import LinearSVC\nreturn 1 / np.linalg.norm(LinearSVC().fit(X, y).coef_)"
)
# Data and pictures of one's own, in a cell that no graded function needs.
OWN_PICTURES = """\
from sklearn.svm import LinearSVC
from svmlab.datasets import blobs
from svmlab.plotting import plot_margin

points, labels = blobs(40)
plot_margin(LinearSVC().fit(points, labels), points, labels)
"""
UNREAD = ("ERROR", "WRONG")
WORDS = (  # each reason says what came instead of numbers
    "nan|inf|complex|None|str|shape|generator|object|dict|two values|one number|length|datetime"
    "|digits|large"
)

CASES = [
    Case(17, "patches", attack("return 0.0 * patched", helpers=PATCHES), lost("WRONG")),
    Case(17, "patches-but-right", right("patched", helpers=PATCHES)),
    Case(18, "liar", attack("return Liar(0.0)", helpers=LIARS), lost("WRONG")),
    Case(
        18,
        "lying-array",
        attack("return np.zeros(1).view(LyingArray)", helpers=LIARS),
        lost("WRONG"),
    ),
    Case(18, "masked", attack("return np.ma.array([0.0], mask=[True])"), lost("WRONG")),
    Case(19, "unusable", bodies(WRONG), all_lost("WRONG"), says=WORDS),
    Case(19, "also-unusable", bodies(ALSO_WRONG), all_lost("WRONG"), says=WORDS),
    Case(19, "converted", bodies(ACCEPTED), remark=r"\(n, ?1\)|shape|column"),
    Case(
        20, "forged-garbage", attack("send(b'x' * 5000)\nreturn 0.0", helpers=FORGE), lost("ERROR")
    ),
    Case(20, "forged-length", attack(REPLY_LENGTHS, helpers=FORGE), lost("ERROR")),
    Case(20, "forged-shape", attack(HUGE_SHAPE, helpers=FORGE), lost("ERROR")),
    Case(
        20,
        "extra-replies",
        right("for k in range(9):\n    send(frame(reply('1.0', 99)))", helpers=FORGE),
        lost("ERROR"),
    ),
    Case(
        20,
        "huge-answer",
        attack("return np.zeros(200_000)"),
        lost("WRONG", "ERROR", "MEMORY"),
    ),
    Case(
        20,
        "forged-number",
        attack("send(frame(reply('1e400')))\nreturn 0.0", helpers=FORGE),
        lost("ERROR"),
    ),
    Case(
        20,
        "reply-too-early",
        right("early", helpers=FORGE + "\n\nearly = send(frame(reply('1.0')))"),
        all_lost("ERROR"),
    ),
    Case(21, "pickle-in-reply", attack(PICKLE_IN_THE_REPLY, helpers=FORGE), lost(*UNREAD)),
    Case(21, "pickled-result", attack(PICKLED_RESULT), lost("WRONG")),
    Case(
        22,
        "prints-points",
        attack("print(10.0)\nprint({'points': 10.0})\nreturn 0.0"),
        lost("WRONG"),
    ),
    Case(22, "displays-points", attack("display(10.0, raw=True)\nreturn 0.0"), lost("WRONG")),
    Case(22, "displays-and-is-right", right("display(X, w)")),
    Case(
        23,
        "warns",
        right(
            "import sys, warnings\nwarnings.warn('careful')\nsys.stderr.write('hm\\n')\nnp.log(0.0)"
        ),
    ),
    Case(24, "sklearn", attack(SKLEARN), lost("POLICY"), says="sklearn"),
    Case(
        24,
        "sklearn-above",
        attack("return LinearSVC().fit(X, y).score(X, y)", helpers=SKLEARN.splitlines()[0]),
        lost("POLICY"),
        says="sklearn",
    ),
    Case(
        24,
        "sklearn-by-stealth",
        attack("import importlib\nreturn importlib.import_module('skl' + 'earn').svm"),
        lost("POLICY"),
        says="sklearn",
    ),
    Case(
        24,
        "svmlab",
        attack("from svmlab.margins import geometric_margin as g\nreturn g(X, y, w, b)"),
        lost("POLICY"),
        says="svmlab",
    ),
    Case(24, "cvxopt", attack("import cvxopt.solvers\nreturn 0.0"), lost("POLICY"), says="cvxopt"),
    Case(
        24,
        "scipy",
        attack("return 1 / norm(w)", helpers="from scipy.linalg import norm"),
        lost("POLICY"),
        says="scipy",
    ),
    Case(24, "own-pictures", right("1 + 1", helpers=OWN_PICTURES)),
    Case(
        24,
        "by-subprocess",
        attack(
            "import subprocess, sys\n"
            "subprocess.run([sys.executable, '-c', 'import sklearn'], check=True)"
        ),
        lost("ERROR"),
    ),
    Case(
        24,
        "vendored",
        attack("import sys\nsys.path.insert(0, 'libs')\nimport my_svm\nreturn my_svm.margin(X, y)"),
        lost("ERROR"),
    ),
    Case(
        25,
        "by-ctypes",
        attack("import ctypes\nreturn ctypes.CDLL('libsvm.so').svm_train()"),
        lost("ERROR"),
    ),
    Case(
        25,
        "package-source",
        attack("import pkgutil\nreturn pkgutil.get_data('autograder', 'reference/hw1-margins.py')"),
        lost("ERROR", "POLICY", "WRONG"),
    ),
    Case(26, "inputs-changed", attack("X[:] = 0\nw[:] = 1\ny[:] = 1\nreturn 0.0"), lost("WRONG")),
    Case(
        26,
        "right-but-changing",
        attack("m = (y * (X @ w + b)).min() / np.linalg.norm(w)\nX[:] = 0\nreturn m"),
        {"geometric": ("WRONG",)},
        says="changes the caller",
        points={"geometric": 0.5},
    ),
    Case(27, "memorised", memorised, lost("WRONG")),
    Case(
        27,
        "knows-the-example",
        right("if X.shape != (6, 2):\n    return 0.0"),
        lost("WRONG"),
    ),
    Case(
        27,
        "counts-calls",
        right("calls[0] += 1\nif calls[0] > 20:\n    return 0.0", helpers=COUNTER),
        lost("WRONG"),
    ),
    Case(
        28,
        "caches-the-first",
        attack(
            "first.append((y * (X @ w + b)).min() / np.linalg.norm(w))\nreturn first[0]",
            helpers=CACHE,
        ),
        lost("WRONG"),
    ),
    Case(30, "just-inside", near(0.99999)),
    Case(30, "just-outside", near(1.00001), lost("WRONG", function="hinge_loss")),
]
