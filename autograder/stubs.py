"""Find functions that nobody has begun: what they answer can be told from the text alone.

Such a function raises NotImplementedError whatever it is given, so that no process is needed to
hear it. A function that works must never be taken for one of them: where a notebook does anything
out of the ordinary, none is found, and all are called.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from autograder.statements import Piece

SAYS_SO = "NotImplementedError"
IN_SECRET = frozenset({"eval", "exec", "globals", "vars"})  # may bind names that nobody sees
# What neither computes nor calls: a statement made of it ends at once and binds what it shows.
PLAIN = (
    *(ast.Import, ast.ImportFrom, ast.alias, ast.FunctionDef, ast.arguments, ast.arg, ast.Assign),
    *(ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Attribute, ast.Subscript),
    *(ast.UnaryOp, ast.USub, ast.expr_context),
)


def open_functions(
    graded: Iterable[str], pieces: Sequence[Piece], needed: Collection[int]
) -> dict[str, range]:
    """Return the graded functions that are still open, with how many arguments they take.

    Parameters
    ----------
    graded : the names
    pieces : all statements of a notebook
    needed : which of them run before a graded function is called
    """
    bound = defaultdict[str, list[Piece]](list)
    for piece in pieces:
        for name in piece.binds:
            bound[name].append(piece)
    found = {}
    for name in graded:
        tree = bound[name][0].tree if len(bound[name]) == 1 else None
        if isinstance(tree, ast.FunctionDef) and _is_open(tree):
            most = len(tree.args.args)
            found[name] = range(most - len(tree.args.defaults), most + 1)
    if not found or bound[SAYS_SO] or not all(_is_plain(pieces[i].tree) for i in needed):
        return {}
    secret = {name for piece in pieces for name in _bound_in_secret(piece.tree)}
    return {} if secret & {SAYS_SO, *IN_SECRET, *found} else found


def _is_open(function: ast.FunctionDef) -> bool:
    """Tell whether a function has a plain head and does nothing but say that it is open."""
    given = function.args
    if given.posonlyargs or given.vararg or given.kwonlyargs or given.kwarg or function.returns:
        return False
    if any(arg.annotation for arg in given.args) or not _all_constant(given.defaults):
        return False
    start = ast.get_docstring(function, clean=False) is not None
    match function.body[start:]:
        case [ast.Raise(exc=ast.Name(id=name), cause=None)]:
            return name == SAYS_SO
        case [ast.Raise(exc=ast.Call(ast.Name(id=name), words, []), cause=None)]:
            return name == SAYS_SO and _all_constant(words)
    return False


def _all_constant(values: Iterable[ast.expr]) -> bool:
    return all(isinstance(value, ast.Constant) for value in values)


def _is_plain(statement: ast.stmt) -> bool:
    """Tell whether a statement ends at once and binds no other names than it shows."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        inside = isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
        star = isinstance(node, ast.alias) and node.name == "*"
        if not isinstance(node, PLAIN) or inside or star:
            return False
        if not isinstance(node, ast.FunctionDef):
            stack += ast.iter_child_nodes(node)
        elif node.decorator_list:
            return False
        else:  # its body does not run yet
            stack += [node.args, *([node.returns] if node.returns else [])]
    return True


def _bound_in_secret(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that functions bind outside themselves, and what can bind any name."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.Name) and node.id in IN_SECRET:
            yield node.id
