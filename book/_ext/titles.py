"""Call a chapter by what stands before the colon of its title.

A page is headed by its whole title; the menu and references in the text would be too long with it.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def shorten(app: Sphinx, env: BuildEnvironment) -> None:
    """Take the short titles for references, the menu and the links to the next page."""
    for page, title in env.titles.items():
        short, colon, _ = title.astext().partition(": ")
        if colon:
            env.titles[page] = nodes.title("", short)
            entry = env.tocs[page].next_node(nodes.reference)
            if entry is not None:
                entry.children = []
                entry += nodes.Text(short)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("env-updated", shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
