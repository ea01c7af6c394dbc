"""A node that becomes an HTML element, for what docutils has no node."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

VOID = {"input"}


class Tag(nodes.General, nodes.Element):
    """An HTML element: ``Tag("", *children, tag="label", attributes={"for": "x"})``."""


def _open(translator: Any, node: Tag) -> None:
    attributes = "".join(
        f" {name}" if value is True else f' {name}="{translator.attval(value)}"'
        for name, value in node.get("attributes", {}).items()
    )
    translator.body.append(f"<{node['tag']}{attributes}>")


def _close(translator: Any, node: Tag) -> None:
    if node["tag"] not in VOID:
        translator.body.append(f"</{node['tag']}>")


def _pass(translator: Any, node: Tag) -> None:
    """Leave the element out where the output is not HTML."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_node(Tag, html=(_open, _close), text=(_pass, _pass), latex=(_pass, _pass))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
