"""Keep the comma after a formula on the line of the formula, and the % with its number.

A browser may break a line on either side of a formula, even before a full stop; and a long name in
a heading anywhere, where it should break after a dot.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

AFTER = re.compile(r"[^\s—–]{1,6}(?=\s|$)")  # ".", "),", "-th"
BEFORE = re.compile(r"[(\[“‘]+$")
LITERAL = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)
DOTTED = re.compile(r"\w+(\.\w+)+")
PER_CENT = re.compile(r"(?<=\d) %")


def keep_together(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Tie each formula to what stands next to it without a space."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        k = parent.index(formula)
        before, after = _text(parent, k - 1), _text(parent, k + 1)
        tied: list[nodes.Node] = [formula]
        if match := AFTER.match(after):
            tied.append(nodes.Text(match[0]))
            parent[k + 1] = nodes.Text(after[match.end() :])
        if match := BEFORE.search(before):
            tied.insert(0, nodes.Text(match[0]))
            parent[k - 1] = nodes.Text(before[: match.start()])
        if len(tied) > 1:
            parent[k] = nodes.inline("", "", *tied, classes=["unbroken"])
    for text in list(doctree.findall(nodes.Text)):
        if PER_CENT.search(text) and not isinstance(text.parent, LITERAL):
            text.parent.replace(text, nodes.Text(PER_CENT.sub("\u00a0%", text)))


def break_at_dots(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Let headings such as svmlab.estimators.svm go on in the next line after a dot."""
    for title in doctree.findall(nodes.title):
        if DOTTED.fullmatch(title.astext()):
            title[:] = [nodes.Text(title.astext().replace(".", ".\u200b"))]


def _text(parent: nodes.Element, k: int) -> str:
    """Return the text at place k, or none if something else stands there."""
    found = parent[k] if 0 <= k < len(parent) else None
    return str(found) if isinstance(found, nodes.Text) else ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-resolved", keep_together)
    app.connect("doctree-resolved", break_at_dots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
