"""No pickle anywhere: nothing that came from somewhere else is ever executed by loading it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hostile.machine import ROOT

FILES = sorted([*(ROOT / "autograder").rglob("*.py"), *(ROOT / "svmlab").rglob("*.py")])
FORBIDDEN = {"cloudpickle", "copyreg", "dill", "joblib", "marshal", "pickle", "shelve"}
LOADERS = {"load", "read_array", "write_array", "save", "savez"}
# A reference of ours, in the judge's process; a student's code, in the child's.
MAY_EXECUTE = {"autograder/pools.py", "autograder/sandbox/child.py"}


def faults(path: Path) -> list[str]:
    """Return what a source does that could load objects."""
    name = path.relative_to(ROOT).as_posix()
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names]
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            packages = {part for module in modules for part in module.split(".")}
            found += [f"imports {package}" for package in packages & FORBIDDEN]
        elif isinstance(node, ast.Call):
            found += called(node, name)
    return [f"{name}: {fault}" for fault in found]


def called(node: ast.Call, name: str) -> list[str]:
    word = ast.unparse(node.func)
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    if word in ("eval", "builtins.eval"):
        return ["calls eval"]
    if word in ("exec", "builtins.exec") and name not in MAY_EXECUTE:
        return ["calls exec"]
    if options.get("allow_pickle", "False") != "False":
        return [f"{word} allows pickle"]
    numpys = word.split(".")[0] in ("np", "numpy") and word.split(".")[-1] in LOADERS
    if numpys and "allow_pickle" not in options:
        return [f"{word} does not say allow_pickle=False"]
    if word == "__import__" or word.endswith("import_module"):
        return [f"imports {p}" for p in FORBIDDEN if any(p in ast.unparse(a) for a in node.args)]
    return []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_source_can_load_a_pickle(path: Path):
    assert faults(path) == []


def test_the_search_finds_what_it_looks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    bad = "import pickle as p\nfrom os import path\nnp.load(f)\nnp.load(f, allow_pickle=True)\n"
    bad += "np.load(f, allow_pickle=False)\neval(data)\nexec(data)\n"
    bad += "from multiprocessing import pickle\nimportlib.import_module('pickle')\n"
    (tmp_path / "bad.py").write_text(bad, encoding="utf-8")
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    assert len(faults(tmp_path / "bad.py")) == 7
