"""Build hook: put the reference code of each homework into a wheel (all else: pyproject.toml).

A wheel carries the functions that the checks compare with, cut out of the sources in
``assignments/``; it carries neither these sources nor their model answers.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


def load_sources() -> ModuleType:
    """Load autograder/sources.py alone: while a wheel is built, numpy may be missing."""
    spec = importlib.util.spec_from_file_location("sources", ROOT / "autograder" / "sources.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sources"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def source_files() -> list[Path]:
    """Return the homework sources of this tree."""
    return sorted(path for path in ROOT.glob("assignments/*/*.py") if path.stem == path.parent.name)


class BuildWithReferences(build_py):
    """Copy the packages, then write autograder/reference/HW.py beside them."""

    def run(self) -> None:
        """Build; an editable install reads the sources themselves and gets no copies."""
        super().run()
        if self.editable_mode:
            return
        sources = load_sources()
        for path, target in zip(source_files(), self.references(), strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            code = sources.solution_code(path.read_text(encoding="utf-8"))
            target.write_text(code, encoding="utf-8", newline="\n")

    def references(self) -> list[Path]:
        """Return the files that a build adds."""
        folder = Path(self.build_lib) / "autograder" / "reference"
        return [folder / path.name for path in source_files()]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Return all files of a build."""
        added = [] if self.editable_mode else [str(path) for path in self.references()]
        return [*super().get_outputs(include_bytecode), *added]

    def get_source_files(self) -> list[str]:
        """Return what a source distribution needs: the homework sources too."""
        added = [str(path.relative_to(ROOT)) for path in source_files()]
        return [*super().get_source_files(), *added]


setup(cmdclass={"build_py": BuildWithReferences})
