"""Split code cells into top-level statements, and say what each does to names.

Code is parsed and never compiled: nested ``finally`` blocks can make the compiler write gigabytes.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from autograder.notebook import Cell, without_cell_magics, without_line_magics

MAX_STATEMENTS = 10_000
MAX_BRACES = 5_000  # Python 3.11 reads the whole f-string again for each of its fields
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef

_INDENT = re.compile(r"\s*^([ \t]+)", re.MULTILINE)


@dataclass(frozen=True)
class Statement:
    """One top-level statement, with its place as the student counts: cells and lines from 1."""

    source: str
    cell: int
    line: int


@dataclass(frozen=True)
class LeftOut:
    """Text that does not count, and why."""

    text: str
    reason: str


@dataclass(frozen=True)
class Piece:
    """A statement, and what it does to names outside functions.

    Of the names that it ``binds``, ``defines`` are those of functions, classes and imports.
    ``changes`` are names changed by ``x[...] =`` or ``x.attr =``, ``calls`` those of which a
    method is called for its effect, ``imports`` maps a name to its package, and ``always`` marks
    imports without a name: star imports and those from ``__future__``.
    """

    statement: Statement
    tree: ast.stmt
    binds: Set[str]
    defines: Set[str]
    changes: Set[str]
    calls: Set[str]
    imports: Mapping[str, str]
    always: bool


def parse(cell: Cell, most: int = MAX_STATEMENTS) -> Iterator[Piece | LeftOut]:
    r"""Yield the statements of a code cell, and what of it cannot be read.

    >>> from autograder.notebook import Cell
    >>> [piece.statement for piece in parse(Cell(3, True, "%time\na = 1; b = a", {}))]
    [Statement(source='a = 1', cell=3, line=2), Statement(source='b = a', cell=3, line=2)]
    """
    try:
        text, body = _read(cell.text, most)
    except (*UNREADABLE, _Unfit) as problem:
        yield LeftOut(cell.text, f"cell {cell.number} {_in_words(problem)}")
        return
    lines = text.encode().split(b"\n")
    sound = _fault_of_scopes(text) is None
    for node in body:
        statement = _statement(node, lines, cell.number)
        nodes = list(_outside_functions(node))
        fault = _fault_of_place(nodes) or (None if sound else _fault_of_scopes(statement.source))
        if fault:
            place = f"cell {cell.number}, line {statement.line}"
            yield LeftOut(statement.source, f"{place} was left out: {fault}")
        else:
            yield _piece(statement, node, nodes)


class _Unfit(Exception):
    """Raised for a cell that is not read, with the reason."""


def _read(text: str, most: int) -> tuple[str, list[ast.stmt]]:
    """Return the Python of a cell, with every line where it was, and its statements."""
    code, foreign = without_cell_magics(text)
    if foreign:
        raise _Unfit(f"was left out: {foreign!r} is not Python")
    if code.count("{") > MAX_BRACES:
        raise _Unfit("was left out: it has too many curly brackets")
    code, tree = _parsed(code)
    body = [part for node in tree.body for part in _apart(node)]
    if len(body) > most:
        raise _Unfit("was left out: the notebook has too many statements")
    return code, body


def _parsed(text: str) -> tuple[str, ast.Module]:
    """Parse code as it is, or else without magics, or else without a common indent too."""
    try:
        return text, ast.parse(text)
    except SyntaxError:
        plain = without_line_magics(text)
    if indent := _INDENT.match(text):
        shifted = without_line_magics(re.sub(f"(?m)^{indent[1]}", "", text))
        try:
            return shifted, ast.parse(shifted)
        except SyntaxError:
            pass  # the complaint about the text as it stands is the better one
    return plain, ast.parse(plain)


def _in_words(problem: Exception) -> str:
    if isinstance(problem, _Unfit):
        return str(problem)
    if isinstance(problem, SyntaxError) and problem.lineno:
        return f"has a syntax error in line {problem.lineno}: {problem.msg[:200]}"
    if isinstance(problem, RecursionError | MemoryError):
        return "cannot be read: its code is nested too deeply"
    return "cannot be read: it holds characters that Python does not allow"


def _apart(node: ast.stmt) -> list[ast.stmt]:
    """Split ``import a, b``: where one package is missing, the other may be there."""
    if not isinstance(node, ast.Import):
        return [node]
    return [ast.copy_location(ast.Import([alias]), node) for alias in node.names]


def _statement(node: ast.stmt, lines: Sequence[bytes], cell: int) -> Statement:
    if isinstance(node, ast.Import):
        return Statement(ast.unparse(node), cell, node.lineno)
    first, column, end = node.lineno, node.col_offset, node.end_col_offset
    for decorator in getattr(node, "decorator_list", ()):
        first, column = min(first, decorator.lineno), 0
    if first == node.end_lineno:
        return Statement(lines[first - 1][column:end].decode(), cell, first)
    *part, last = lines[first - 1 : node.end_lineno]
    return Statement(b"\n".join([*part, last[:end]])[column:].decode(), cell, first)


def _fault_of_scopes(source: str) -> str | None:
    """Return what is wrong with names in code that parses, such as an argument given twice."""
    try:
        symtable.symtable(source, "cell", "exec")
    except UNREADABLE as problem:
        return problem.msg if isinstance(problem, SyntaxError) else _in_words(problem)
    return None


def _fault_of_place(nodes: Iterable[ast.AST]) -> str | None:
    for part in nodes:
        if isinstance(part, ast.Return | ast.Yield | ast.YieldFrom):
            word = "return" if isinstance(part, ast.Return) else "yield"
            return f"{word!r} stands outside a function; is it indented far enough?"
        waits = isinstance(part, ast.Await | ast.AsyncFor | ast.AsyncWith)
        if waits or (isinstance(part, ast.comprehension) and part.is_async):
            return "await and async outside a function do not run when graded"
    return None


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk what runs in the notebook's own scope."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.comprehension):
            stack += [node.iter, *node.ifs]  # its variable is its own
        elif not isinstance(node, Function) and not (
            isinstance(node, ast.AnnAssign) and node.value is None
        ):
            stack += ast.iter_child_nodes(node)


def _piece(statement: Statement, tree: ast.stmt, nodes: Iterable[ast.AST]) -> Piece:
    binds, defines, changes, calls = set[str](), set[str](), set[str](), set[str]()
    imports: dict[str, str] = {}
    always = False
    for node in nodes:
        match node:
            case ast.Constant() | ast.expr_context():
                pass  # most nodes of pasted data
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                defines.add(node.name)
            case ast.Name(ctx=ast.Store()):
                binds.add(node.id)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                binds.add(name)
            case ast.MatchMapping(rest=str(name)):
                binds.add(name)
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                changes.add(_root(node))
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                calls.add(_root(method))
            case ast.Import() | ast.ImportFrom():
                for alias, package in zip(node.names, packages(node), strict=True):
                    always |= alias.name == "*" or package == "__future__"
                    imports[alias.asname or alias.name.partition(".")[0]] = package
    defines |= imports.keys()
    return Piece(statement, tree, binds | defines, defines, changes, calls, imports, always)


def assigns_function(piece: Piece, name: str, functions: Container[str]) -> bool:
    """Tell whether a statement says ``f = lambda …``, ``f = g`` or ``f = jit(g)``.

    Any other value is a number or an array that happens to have the name of a function.
    """
    for node in _outside_functions(piece.tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=target), value=value):
                names = [target]
            case _:
                continue
        if name in names and _is_function(value, functions):
            return True
    return False


def _is_function(value: ast.expr | None, functions: Container[str]) -> bool:
    if isinstance(value, ast.Attribute):
        return _root(value) in functions
    given = [value]
    if isinstance(value, ast.Call):
        given = [*value.args, *(keyword.value for keyword in value.keywords)]
    return any(
        isinstance(item, ast.Lambda) or (isinstance(item, ast.Name) and item.id in functions)
        for item in given
    )


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def packages(node: ast.AST) -> list[str]:
    """Return the packages that a node imports, one for each name."""
    match node:
        case ast.Import():
            return [alias.name.partition(".")[0] for alias in node.names]
        case ast.ImportFrom():
            return ["" if node.level else str(node.module).partition(".")[0]] * len(node.names)
        case ast.Call(
            func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return [name.partition(".")[0]]
    return []


def inside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk functions and classes with their decorators and defaults, without annotations."""
    stack = [(tree, False)]
    while stack:
        node, inside = stack.pop()
        inside = inside or isinstance(node, Function)
        if inside:
            yield node
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                values = value if isinstance(value, list) else [value]
                stack += [(item, inside) for item in values if isinstance(item, ast.AST)]


def used_names(source: str) -> tuple[set[str], set[str]]:
    r"""Return the global names that a statement uses: at once, and at once or later in functions.

    >>> now, ever = used_names("def f(x, t=tol):\n    y = x\n    return np.dot(x, y)")
    >>> sorted(now), sorted(ever)
    (['tol'], ['np', 'tol'])
    """
    top = symtable.symtable(source, "cell", "exec")
    now = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    ever, tables = set(now), list(top.get_children())
    while tables:
        table = tables.pop()
        ever |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
        tables += table.get_children()
    return now, ever
