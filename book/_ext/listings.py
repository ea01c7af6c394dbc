"""Show code of the library without what the page around it says already.

The formulas of a docstring stand in the text, and remarks for the type checker help no reader.
"""

from __future__ import annotations

import ast
import re

from docutils import nodes
from sphinx.application import Sphinx

FOR_THE_CHECKER = re.compile(r"  # type: ignore(\[[\w-]+\])?$", re.MULTILINE)


def for_readers(code: str) -> str:
    r"""Return the code without docstrings.

    >>> print(for_readers("def f(x):  # type: ignore\n    '''One.\n\n    Two.\n    '''\n    x"))
    def f(x):
        x
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
    return "\n".join(lines)


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
