"""Layers: no module imports from a layer above its own, and the core needs numpy only."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from svmlab.examples import worked_example
from svmlab.kernels import gaussian_kernel
from svmlab.smo import solve_dual

PACKAGE = Path(__file__).parents[1] / "svmlab"
LAYERS = [
    "_jit types validation rows threads lecture_map",
    "losses kernels _gram_jit kernel_blocks gram margins",
    "primal dual certificates",
    "perceptron gradient _sgd_jit scaled_weights sgd pegasos _coordinate_jit coordinate "
    "_smo_jit working_sets smo qp "
    "decomposition cutting_plane norma newton logistic regression _multiclass_jit multiclass "
    "ensembles",
    "model_selection theory examples _datasets_jit datasets loaders",
    "estimators plotting __init__ __main__",
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
NOT_CORE = {"qp", "loaders", "estimators", "plotting", "__main__"}
ALLOWED = {"numpy", "svmlab", *sys.stdlib_module_names}
OPTIONAL = {"_jit.py": {"numba"}, "threads.py": {"threadpoolctl"}}
OUTSIDE = ["numba", "scipy", "sklearn", "matplotlib", "clarabel", "threadpoolctl"]


def part(path: Path) -> str:
    """The name in LAYERS that a file belongs to: its module, or its subpackage."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path: Path) -> set[str]:
    """Return every module imported anywhere in a file, absolute."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            module = node.module or ""
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return names


def printed_by(code: str, *arguments: str) -> str:
    """Return what a program prints in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
    ).stdout


FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_module_has_a_layer():
    assert {part(path) for path in FILES} <= set(LEVEL)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_imports_upwards(path):
    for name in imports(path):
        pieces = name.split(".")
        if pieces[0] == "svmlab" and len(pieces) > 1 and pieces[1] in LEVEL:
            assert LEVEL[pieces[1]] <= LEVEL[part(path)], f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_core_modules_import_numpy_only(path):
    if part(path) in NOT_CORE:
        return
    outside = {name.split(".")[0] for name in imports(path)} - ALLOWED
    assert outside <= OPTIONAL.get(path.name, set()), path.name


PROBE = """
import importlib, json, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[1].split(","):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Block())
for name in sys.argv[2].split(","):
    importlib.import_module(name)
import numpy as np
from svmlab.examples import worked_example
from svmlab.kernels import gaussian_kernel
from svmlab.smo import solve_dual
example = worked_example()
small = solve_dual(example.K, example.y, 10.0, tol=1e-9)
X = np.random.default_rng(1).normal(size=(1100, 3))
large = solve_dual(gaussian_kernel(X, X, 0.5), np.where(X[:, 0] > 0.1, 1.0, -1.0), 1.0, tol=1e-9)
print(json.dumps([small.b, small.bound, large.b, large.bound]))
"""


def test_the_core_runs_with_numpy_alone_and_gives_the_same_answers():
    core = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in FILES
        if part(path) not in NOT_CORE
    ]
    output = printed_by(PROBE, ",".join(OUTSIDE), ",".join(core))
    example = worked_example()
    small = solve_dual(example.K, example.y, 10.0, tol=1e-9)
    X = np.random.default_rng(1).normal(size=(1100, 3))
    y = np.where(X[:, 0] > 0.1, 1.0, -1.0)
    large = solve_dual(gaussian_kernel(X, X, 0.5), y, 1.0, tol=1e-9)
    expected = [small.b, small.bound, large.b, large.bound]
    np.testing.assert_allclose(json.loads(output), expected, rtol=1e-7)


def test_importing_svmlab_loads_neither_numpy_nor_anything_heavy():
    code = f"import svmlab, sys; print([m for m in {['numpy', *OUTSIDE]} if m in sys.modules])"
    assert printed_by(code) == "[]\n"


SMALL = """
import sys
import numpy as np
from svmlab import SVC, SVR, LinearSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3))
y = np.where(X[:, 0] + 0.1 * rng.normal(size=100) > 0, 1.0, -1.0)
for machine in (SVC(), SVR(), LinearSVC()):
    machine.fit(X, y).predict(X)
print("numba" in sys.modules)
"""


def test_a_small_problem_is_solved_before_a_compiler_is_loaded():
    assert printed_by(SMALL) == "False\n"
