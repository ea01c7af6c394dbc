"""Lecture results: ``{lecture}`` in the margin of a section, and the page that maps them all.

``{lecture} S2 S3`` after a heading says that the section explains these results. ``{lecture-map}``
draws the table of all results and the table of all equations, and a result that lacks what its
kind asks for is a warning, which fails the build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from svmlab.lecture_map import IDS, Item, Label, load_lecture_map

log = logging.getLogger(__name__)
NAMES = {"S": "Sontag", "C": "Chen", "M": "Leskovec et al.", "G": "Garivier", "B": "Boyd-Graber"}


class Lecture(SphinxDirective):
    """The ids that a section explains, in the margin."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Note the ids and link each to its row of the map."""
        ids = self.arguments[0].replace(",", " ").split()
        if unknown := [name for name in ids if name not in IDS]:
            raise self.error(f"no such lecture result: {', '.join(unknown)}")
        text = nodes.paragraph("", "", nodes.Text("Lecture results: "))
        for k, name in enumerate(ids):
            link = addnodes.pending_xref(
                "", nodes.Text(name), reftype="ref", refdomain="std", refexplicit=True,
                reftarget=f"lecture-{name.lower()}", refwarn=True, refdoc=self.env.docname,
            )  # fmt: skip
            text += [nodes.Text(" · "), link] if k else [link]
        box = nodes.container("", text, classes=["margin", "lecture-ids"])
        box["lecture-ids"] = ids
        return [box]


class LectureMapPage(SphinxDirective):
    """Where the tables go; made when all chapters are known."""

    def run(self) -> list[nodes.Node]:
        """Leave places, with a target for every result."""
        standard = self.env.get_domain("std")
        for name in IDS:
            anchor = f"lecture-{name.lower()}"
            standard.anonlabels[anchor] = (self.env.docname, anchor)  # type: ignore[attr-defined]
            standard.labels[anchor] = (self.env.docname, anchor, name)  # type: ignore[attr-defined]
        return [nodes.container(classes=["lecture-map-here"])]


def note_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Remember in which section of this page which result is explained."""
    found = _sections(app.env)
    for box in doctree.findall(
        lambda node: isinstance(node, nodes.container) and "lecture-ids" in node
    ):
        section: Any = box.parent
        while not isinstance(section, nodes.section):
            section = section.parent
        for name in box["lecture-ids"]:
            title = section.next_node(nodes.title).astext()
            found.setdefault(name, []).append((app.env.docname, section["ids"][0], title))


def _sections(env: BuildEnvironment) -> dict[str, list[tuple[str, str, str]]]:
    if not hasattr(env, "lecture_sections"):
        env.lecture_sections = {}  # type: ignore[attr-defined]
    return env.lecture_sections  # type: ignore[attr-defined, no-any-return]


def draw_map(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the tables where the directive stood."""
    for place in list(doctree.findall(nodes.container)):
        if "lecture-map-here" in place["classes"]:
            table = _Tables(app, page)
            items, labels = load_lecture_map().items, load_lecture_map().labels
            place.children = []
            place += table.make(
                ("result", "explained in, computed by, proved by"),
                [table.item(item) for item in items.values()],
            )
            place += nodes.rubric("", "Equations")
            place += table.make(
                ("equation", "computed by, proved by"),
                [table.label(label) for label in labels.values()],
            )


class _Tables:
    def __init__(self, app: Sphinx, page: str) -> None:
        self.app, self.env, self.page = app, app.env, page
        self.order = {name: k for k, name in enumerate(app.env.found_docs)}
        toc = app.env.toctree_includes.get("index", [])
        self.order |= {name: k for k, name in enumerate(toc)}

    def make(self, heads: tuple[str, ...], rows: list[list[Any]]) -> nodes.Node:
        group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads), cols=len(heads))
        group += nodes.thead("", _row([[nodes.Text(head)] for head in heads]))
        group += nodes.tbody("", *(_row(row) for row in rows))
        table = nodes.table("", group, classes=["lecture-map", "table"])
        return nodes.container("", table, classes=["pst-scrollable-table-container"])

    def item(self, item: Item) -> list[Any]:
        """Return the cells of a result, and warn of what is missing."""
        places = sorted(_sections(self.env).get(item.id, ()), key=lambda p: self.order[p[0]])
        if not places:
            log.warning("no section explains the lecture result %s (%s)", item.id, item.title)
        sections = [self._section(*place) for place in places]
        functions = [self._function(function) for function in item.functions]
        proofs = [item.runner] if item.kind == "benchmark" else []
        name = nodes.strong("", item.id, ids=[f"lecture-{item.id.lower()}"])
        return [
            [name, nodes.Text(f" {item.title} ({NAMES[item.id[0]]})")],
            _lines([*sections, *functions, *_tests([*proofs, *item.tests])]),
        ]

    def label(self, label: Label) -> list[Any]:
        """Return the cells of an equation."""
        name = nodes.literal("", label.label)
        return [
            [self._equation(label.label), nodes.Text(" "), name],
            _lines([self._function(label.function), *_tests([label.test])]),
        ]

    def _section(self, page: str, anchor: str, title: str) -> nodes.Node:
        return make_refnode(self.app.builder, self.page, page, anchor, nodes.Text(title))

    def _function(self, name: str) -> nodes.Node:
        text = nodes.literal("", _breakable(name.removeprefix("svmlab.")))
        return self._resolved("py", "obj", name, text, f"the API reference lacks {name}")

    def _equation(self, label: str) -> nodes.Node:
        return self._resolved("math", "eq", label, nodes.Text(label), f"no equation {label}")

    def _resolved(self, domain: str, kind: str, name: str, text: Any, problem: str) -> nodes.Node:
        pending = addnodes.pending_xref("", reftype=kind, refdomain=domain, refdoc=self.page)
        found = self.env.get_domain(domain).resolve_xref(
            self.env, self.page, self.app.builder, kind, name, pending, text
        )
        if found is None:
            log.warning(problem)
        return found or text


def _tests(places: list[str]) -> list[nodes.Node]:
    shown = [_breakable(place.replace("::", " ")) for place in places]
    return [nodes.inline("", place, classes=["test"]) for place in shown]


def _breakable(name: str) -> str:
    """Let a long name break after each of its words."""
    return name.replace("_", "_\u200b").replace(".", ".\u200b")


def _lines(parts: list[nodes.Node]) -> list[nodes.Node]:
    return [nodes.line_block("", *(nodes.line("", "", part) for part in parts))]


def _row(cells: list[list[nodes.Node]]) -> nodes.row:
    entries = []
    for cell in cells:
        is_block = bool(cell) and isinstance(cell[0], nodes.line_block)
        entries.append(nodes.entry("", *(cell if is_block else [nodes.paragraph("", "", *cell)])))
    return nodes.row("", *entries)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_directive("lecture", Lecture)
    app.add_directive("lecture-map", LectureMapPage)
    app.connect("doctree-read", note_sections)
    app.connect("doctree-resolved", draw_map)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
