"""What a submission can import, as every user: the standard library and numpy."""

from __future__ import annotations

import json
import sys

from hostile.machine import Place

PROGRAM = """
import json, sys
from autograder import sandbox
from autograder.extract import extract
from autograder.judge import notebook_bytes
from autograder.student import StudentProcess

code = sys.stdin.read()
extracted = extract(notebook_bytes(code), ["answer"])
with StudentProcess(extracted, ["answer"], launch=sandbox.launch) as student:
    print(json.dumps(student.call("answer")))
"""

# The hook that refuses imports is taken away first: the packages must not be there at all.
IMPORTABLE = """
import importlib, pkgutil, sys


def answer():
    sys.meta_path[:] = [hook for hook in sys.meta_path if type(hook).__name__ != "OnlyNumpy"]
    names = {module.name for module in pkgutil.iter_modules()} | set(sys.builtin_module_names)
    return sorted(names | set(filter(can_import, CANDIDATES)))


def can_import(name):
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


CANDIDATES = [%s]
"""

OTHERS = """
autograder child cvxopt hostile IPython jail jax joblib jupytext matplotlib nbformat nbgrader numba
pandas pip pytest scipy setuptools sklearn svmlab torch wheel sitecustomize usercustomize
"""

LOOK_ROUND = """
import os


def answer():
    found = []
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if folder != "/" or name not in ("proc", "sys")]
        found += [os.path.join(folder, name) for name in files if os.access(folder, os.W_OK)]
        found += [folder] if os.access(folder, os.W_OK) else []
    top = sorted(os.listdir("/"))
    return [top, found, sorted(os.environ), os.getuid(), os.getgid()]
"""


def ask(place: Place, code: str):
    """Return what a function answers in the sandbox."""
    source = place.folder / "code.py"
    source.write_text(code, encoding="utf-8")
    place.give_away()
    with source.open("rb") as stream:
        finished = place.run("-c", PROGRAM, stdin=stream)
    assert finished.code == 0, finished.err
    assert finished.left == []
    return json.loads(finished.out)


def test_only_the_standard_library_and_numpy_can_be_imported(place: Place):
    names = ask(place, IMPORTABLE % ", ".join(map(repr, OTHERS.split())))
    extra = set(names) - set(sys.stdlib_module_names) - set(sys.builtin_module_names) - {"numpy"}
    # how this Python was built, and what it tests itself with
    own = {name for name in extra if name.startswith(("_sysconfigdata", "__", "_xx"))}
    assert sorted(extra - own - {"child"}) == []  # the program that runs the submission
    assert {"numpy", "math", "json", "ctypes"} <= set(names)


def test_nothing_is_writable_and_nothing_of_the_machine_is_there(place: Place):
    top, writable, environment, user, group = ask(place, LOOK_ROUND)
    assert writable == []
    assert set(top) <= {"dev", "etc", "lib", "lib64", "proc", "program", "site", "usr"}
    assert not [name for name in environment if "MARK" in name or "TOKEN" in name]
    assert 0 not in (user, group)
