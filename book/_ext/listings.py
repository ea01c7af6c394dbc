"""Show code of the library without what the page around it says already.

The formulas of a docstring stand in the text, and remarks for the type checker help no reader.
"""

from __future__ import annotations

import ast
import re

from docutils import nodes
from sphinx.application import Sphinx

FOR_THE_CHECKER = re.compile(r"  # type: ignore(\[[\w-]+\])?$", re.MULTILINE)
HEADS = re.compile(r"^(def \w+\()(.+)(\)(?: -> .+)?:)$", re.MULTILINE)
WIDTH = 80  # columns that a page shows without scrolling


def for_readers(code: str) -> str:
    r"""Return the code without docstrings, and break the head of a function that is too wide.

    >>> print(for_readers("def f(x):  # type: ignore\n    '''One.\n\n    Two.\n    '''\n    x"))
    def f(x):
        x
    >>> for_readers(f"def f({'x' * 80}):\n    pass").split("\n")[::2]
    ['def f(', '):']
    """
    lines = FOR_THE_CHECKER.sub("", code).split("\n")
    try:
        parsed = ast.parse(code).body
    except SyntaxError:  # a part of a function
        return "\n".join(lines)
    for node in reversed(parsed):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            text = node.body[0]
            del lines[text.lineno - 1 : text.end_lineno]
    return HEADS.sub(_break, "\n".join(lines))


def _break(head: re.Match[str]) -> str:
    return head[0] if len(head[0]) <= WIDTH else "\n".join((head[1], f"    {head[2]}", head[3]))


def shorten(app: Sphinx, doctree: nodes.document) -> None:
    """Change what was included from a file."""
    for block in doctree.findall(nodes.literal_block):
        if "source" in block:
            code = for_readers(block.astext())
            block.rawsource = code
            block.children = [nodes.Text(code)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-read", shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
