"""Take from a notebook the statements that its graded functions need; nothing of it runs here.

From each graded name its last top-level definition is followed to every statement that binds a
name it uses, so that an exception in a plotting cell, a slow experiment or a broken cell elsewhere
costs nobody a point.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.notebook import Cell, Rejected, read_cells, remarks_on
from autograder.statements import (
    MAX_STATEMENTS,
    Function,
    LeftOut,
    Piece,
    Statement,
    assigns_function,
    inside_functions,
    packages,
    parse,
    used_names,
)
from autograder.stubs import open_functions

__all__ = ["FORBIDDEN", "Extracted", "Rejected", "Statement", "extract"]

_FORBIDDEN = """
autograder clarabel cvxopt cvxpy ecos jax keras liblinear libsvm mosek osqp qpsolvers quadprog
scipy scs sklearn statsmodels svmlab svmutil tensorflow thundersvm torch
"""
FORBIDDEN = frozenset(_FORBIDDEN.split())
MAX_CODE = 500_000  # characters; a syntax tree takes some hundred bytes for each
MAX_REMARKS = 40


@dataclass(frozen=True)
class Extracted:
    """What a notebook says about the graded names.

    Parameters
    ----------
    statements : what the graded names need, in notebook order
    everything : all statements outside locked cells and the imports of these, for a second try
    missing : graded names that no statement defines
    policy : graded name -> forbidden package that code reached from it uses
    remarks : what a person should know and what changes no points
    broken : graded name without a definition -> why the text that seems to define it does not count
    open : graded name that certainly raises NotImplementedError -> how many arguments it takes
    """

    statements: tuple[Statement, ...]
    everything: tuple[Statement, ...]
    missing: tuple[str, ...]
    policy: Mapping[str, str]
    remarks: tuple[str, ...]
    broken: Mapping[str, str]
    open: Mapping[str, range]


def extract(data: bytes, graded: Sequence[str], supplied: Sequence[str] = ()) -> Extracted:
    r"""Read a notebook and return the statements that its graded functions need.

    Imports of locked cells count as well, because the set-up cell is locked; everything else in
    locked and test cells is ignored, whatever was done to it.

    >>> import json
    >>> cells = [{"cell_type": "code", "source": "def half(x):\n    return scale * x"},
    ...          {"cell_type": "code", "source": "print('noise')\nscale = 0.5"}]
    >>> found = extract(json.dumps({"nbformat": 4, "cells": cells}).encode(), ["half", "eta"])
    >>> found.statements[1], found.missing
    (Statement(source='scale = 0.5', cell=2, line=2), ('eta',))
    """
    cells = read_cells(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a backslash in a docstring is not our business
        parts = list(_parts(cells, {*graded, *supplied}))
        program = _Program([part for part in parts if isinstance(part, Piece)], graded)
        left_out = [part for part in parts if isinstance(part, LeftOut)]
        needed = program.closure()
        broken = {name: _why(name, left_out) for name in graded if not program.definers(name)}
        remarks = list(remarks_on(cells, graded))
        remarks += [part.reason for part in left_out if not isinstance(part, _NotCode)]
        remarks += program.remarks()
        remarks += _lost(program.unbound(needed) - set(supplied), left_out)
        return Extracted(
            statements=tuple(program.pieces[i].statement for i in needed),
            everything=tuple(piece.statement for piece in program.pieces),
            missing=tuple(name for name in graded if name not in program.binders),
            policy={name: package for name in graded if (package := program.policy(name))},
            remarks=_cut(remarks),
            broken={name: reason for name, reason in broken.items() if reason},
            open=open_functions(graded, program.pieces, needed),
        )


class _NotCode(LeftOut):
    """Text that nobody expects to count, unless a graded function stands in it."""


def _parts(cells: Iterable[Cell], ours: set[str]) -> Iterator[Piece | LeftOut]:
    """Parse the student's cells, and the imports of locked ones that hide no name of ours."""
    room, most = MAX_CODE, MAX_STATEMENTS
    for cell in cells:
        fits = cell.is_code and len(cell.text) <= room
        room -= len(cell.text) if fits else 0
        if cell.locked:
            why = "belongs to the homework; use arguments, and write code in cells of your own"
            yield _NotCode(cell.text, f"cell {cell.number} {why}")
        elif not cell.is_code:
            why = "is a text cell, so code in it does not run; make it a code cell"
            yield _NotCode(cell.text, f"cell {cell.number} {why}")
        elif not fits:
            why = f"was left out: the notebook has more than {MAX_CODE:,} characters of code"
            yield LeftOut(cell.text, f"cell {cell.number} {why}")
        else:
            parts = list(parse(cell, most))
            most -= len(parts)
            yield from parts
        if cell.locked and fits:
            for part in parse(cell, most):
                if isinstance(part, Piece) and part.imports and not part.binds & ours:
                    most -= 1
                    yield part


def _why(name: str, left_out: Sequence[LeftOut]) -> str | None:
    """Return why the last text that seems to define a name was left out."""
    word = re.escape(name)
    seems = re.compile(
        rf"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+{word}\b|^[ \t]*{word}[ \t]*=(?!=)",
        re.MULTILINE,
    )
    return next(
        (
            part.reason
            for part in reversed(left_out)
            if name in part.text and seems.search(part.text)
        ),
        None,
    )


def _lost(names: set[str], left_out: Sequence[LeftOut]) -> Iterator[str]:
    """Remark on names that are used, and defined in text that does not count."""
    reasons = defaultdict(list)
    for name in sorted(names)[:MAX_REMARKS]:
        if reason := _why(name, left_out):
            reasons[reason].append(name)
    for reason, lost in reasons.items():
        yield f"{', '.join(lost)} will be missing when graded: {reason}"


def _cut(remarks: Sequence[str]) -> tuple[str, ...]:
    more = len(remarks) - MAX_REMARKS
    return (*remarks[:MAX_REMARKS], *([f"and {more} more remarks"] if more > 0 else []))


class _Program:
    """All statements of a notebook, and who binds which name."""

    def __init__(self, pieces: list[Piece], graded: Sequence[str]) -> None:
        self.pieces, self.graded = pieces, list(graded)
        self.binders: dict[str, list[int]] = {}
        self.changers: dict[str, list[int]] = {}
        self._uses: dict[int, tuple[set[str], set[str]]] = {}
        self._inside: dict[int, tuple[set[str], set[str]]] = {}
        self._functions = {name for piece in pieces for name in piece.defines}
        variables = set[str]()
        for i, piece in enumerate(pieces):
            for name in piece.binds:
                self.binders.setdefault(name, []).append(i)
            variables |= piece.binds - piece.defines
        for i, piece in enumerate(pieces):
            for name in piece.changes | (piece.calls & variables):  # np.random.seed changes no np
                self.changers.setdefault(name, []).append(i)

    def uses(self, i: int) -> tuple[set[str], set[str]]:
        """Return the names that a statement uses at once, and at once or later."""
        if i not in self._uses:
            self._uses[i] = used_names(self.pieces[i].statement.source)
        return self._uses[i]

    def definers(self, name: str) -> list[int]:
        """Return the statements that make a name a function, and no scratch variable."""
        return [
            i
            for i in self.binders.get(name, ())
            if name in self.pieces[i].defines
            or assigns_function(self.pieces[i], name, self._functions)
        ]

    def makers(self, name: str) -> list[int]:
        """Return the statements that give a name its value; of a graded one, the last definition.

        Earlier definitions count only where the last may not happen (``if``, ``try``) or builds
        on them (``f = jit(f)``).
        """
        binders, changers = self.binders.get(name, []), self.changers.get(name, [])
        if name not in self.graded:
            return sorted({*binders, *changers})
        chosen: list[int] = []
        for i in reversed(self.definers(name) or binders):
            chosen.append(i)
            now, ever = self.uses(i)
            tree = self.pieces[i].tree
            if isinstance(tree, ast.Assign | ast.AnnAssign):
                now = ever
            elif not isinstance(tree, Function | ast.Import | ast.ImportFrom):
                continue
            if name not in now:
                break
        return sorted({*chosen, *(i for i in changers if chosen and i > chosen[-1])})

    def closure(self) -> list[int]:
        """Return the statements that the graded names need, in order."""
        needed = {i for i, piece in enumerate(self.pieces) if piece.always}
        names, seen = list(self.graded), set(self.graded)
        while names:
            for i in self.makers(names.pop()):
                needed.add(i)
                fresh = self.uses(i)[1] - seen
                seen |= fresh
                names += fresh
        return sorted(needed)

    def unbound(self, needed: Iterable[int]) -> set[str]:
        """Return the names that some statements use and that none of the notebook binds."""
        used = {name for i in needed for name in self.uses(i)[1]}
        return used - self.binders.keys() - vars(builtins).keys()

    def policy(self, graded: str) -> str | None:
        """Return a forbidden package that code reached from a graded function uses.

        Other graded functions answer for themselves: one fault costs its own points only.
        """
        queue = self.makers(graded)
        first, seen, names = len(queue), set(queue), set(self.graded)
        for k, i in enumerate(queue):  # which grows
            found = self.inside(i)[0] | {
                self.pieces[i].imports.get(graded, "") if k < first else ""
            }
            for name in self._called(i, itself=k < first):
                if name in names:
                    continue
                names.add(name)
                makers = self.makers(name)
                found.update(self.pieces[j].imports.get(name, "") for j in makers)
                queue += [j for j in makers if j not in seen]
                seen.update(makers)
            if found & FORBIDDEN:
                return min(found & FORBIDDEN)
        return None

    def inside(self, i: int) -> tuple[set[str], set[str]]:
        """Return the packages and the names that stand in the functions of a statement."""
        if i not in self._inside:
            nodes = list(inside_functions(self.pieces[i].tree))
            names = {node.id for node in nodes if isinstance(node, ast.Name)}
            self._inside[i] = {name for node in nodes for name in packages(node)}, names
        return self._inside[i]

    def _called(self, i: int, *, itself: bool) -> list[str]:
        """Return the global names in the functions of a statement, or behind another name."""
        tree, ever = self.pieces[i].tree, self.uses(i)[1]
        if isinstance(tree, ast.Assign | ast.AnnAssign) and (
            itself or isinstance(tree.value, ast.Name | ast.Attribute)
        ):
            return sorted(ever)
        return sorted(self.inside(i)[1] & ever)

    def remarks(self) -> Iterator[str]:
        """Remark on graded names with more than one meaning."""
        for name in self.graded:
            places, definers = self.binders.get(name, []), self.definers(name)
            cells = dict.fromkeys(self.pieces[i].statement.cell for i in definers[-5:])
            if len(definers) > 1:
                where = f"cell{'s' * (len(cells) > 1)} {', '.join(map(str, cells))}"
                yield f"{name} is defined {len(definers)} times ({where}); the last counts"
            for i in sorted(set(places) - set(definers))[:1] if definers else ():
                cell = self.pieces[i].statement.cell
                yield f"cell {cell} uses the name {name} for something else; the function counts"
