"""Keys of verdicts: two runs with the same key decide the same, so one of them is enough.

A key names the submission, the student's seeds, the question of the manifest, the code of its
checks and of everything that they import, the reference, the known mistakes, the judge and the
versions of what it runs on. A changed check has other keys, and so have only the questions that
use it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from autograder.manifest import Question, load_manifest
from autograder.mistakes import load_mistakes
from autograder.seeds import Seeds
from autograder.sources import reference_source

OURS = ("autograder", "svmlab")
IN_THE_SANDBOX = ("jail.py", "nursery.py", "child.py")  # not imported by the judge, but run


def question_key(
    data: bytes, question: Question, seeds: Seeds, trusted: str, settings: Sequence[object]
) -> str:
    """Return the key of the verdict on one question.

    Parameters
    ----------
    data : the submission
    question, seeds : what is asked
    trusted : see :func:`trusted_digests`
    settings : what else decides: limits, steps that are replaced by the reference's
    """
    drawn = [(check.id, seeds.drawn[check.id]) for check in question.checks]
    submission = hashlib.sha256(data).hexdigest()
    parts = repr([submission, question, seeds.student, drawn, trusted, list(settings)])
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


@functools.cache
def trusted_digests(homework: str) -> Mapping[str, str]:
    """Return for each question a digest of all that decides and does not come from a student."""
    return {part.id: _trusted(homework, part) for part in load_manifest(homework).questions}


def _trusted(homework: str, question: Question) -> str:
    checks = {f"autograder.checks.{check.function.split('.')[0]}" for check in question.checks}
    mistakes = [mistake for mistake in load_mistakes(homework) if mistake.question == question.id]
    parts = [code_digest(*sorted(checks)), reference_source(homework), repr(mistakes)]
    return hashlib.sha256("\0".join([*parts, environment()]).encode()).hexdigest()


@functools.cache
def environment() -> str:
    """Name the judge's own code and what it runs on: equal on all machines that grade together."""
    return " ".join(
        [
            f"judge {code_digest('autograder.judge', 'autograder.sandbox')[:16]}",
            f"python {platform.python_version()}",
            f"numpy {np.__version__}",
            platform.machine(),
        ]
    )


@functools.cache
def code_digest(*modules: str) -> str:
    """Return a digest of the sources of modules and of all of ours that they import.

    >>> code_digest("autograder.seeds") == code_digest("autograder.lock")
    False
    """
    waiting, found = list(modules), dict[str, bytes]()
    while waiting:
        name = waiting.pop()
        if name not in found and (path := _file(name)):
            found[name] = path.read_bytes()
            waiting += _imports(found[name])
    parts = [name.encode() + b"\0" + found[name] for name in sorted(found)]
    folder = Path(__file__).parent / "sandbox"
    parts += [(folder / name).read_bytes() for name in IN_THE_SANDBOX]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _file(name: str) -> Path | None:
    """Return the source of a module, without importing it; "module.function" has none."""
    base = Path(__file__).parent.parent.joinpath(*name.split("."))
    files = (base.with_suffix(".py"), base / "__init__.py")
    return next((path for path in files if path.is_file()), None)


@functools.cache
def _imports(source: bytes) -> list[str]:
    """Return the modules of ours that a source imports, and names that may be modules."""
    names, waiting = [], list[ast.AST](ast.parse(source).body)
    for node in waiting:  # which grows
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.partition(".")[0] in OURS]
