"""What a finished book must have: alt text, words on every function, each equation of the map."""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from svmlab.lecture_map import load_lecture_map

log = logging.getLogger(__name__)


def check_images(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Warn of an image that a blind reader could not know."""
    for image in doctree.findall(nodes.image):
        alt = image.get("alt", "").strip()
        if not alt or alt == image.get("uri"):
            log.warning("an image has no alt text (cell: mystnb: image: alt)", location=image)


def check_reference(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Warn of a name in the reference about which nothing is said."""
    for entry in doctree.findall(addnodes.desc):
        content = entry.next_node(addnodes.desc_content)
        if content is None or not content.children:
            name = entry.next_node(addnodes.desc_signature).get("fullname")
            log.warning("%s has no docstring here", name, location=entry)


def check_labels(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of equations of the lecture map that no chapter defines; Sphinx sees the doubled."""
    defined = set(env.get_domain("math").equations)  # type: ignore[attr-defined]
    for label in load_lecture_map().labels.values():
        if label.label not in defined:
            log.warning("no chapter defines the equation %s of %s", label.label, label.function)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-resolved", check_images)
    app.connect("doctree-resolved", check_reference)
    app.connect("env-check-consistency", check_labels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
