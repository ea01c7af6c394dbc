"""Serve every script and font from the book itself: no page asks another host for anything."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.fileutil import copy_asset

ASSETS = Path(__file__).parents[1] / "_assets"
TALKATIVE = ("scripts/pydata-sphinx-theme.js", "togglebutton.js", "../search.html")
TALK = re.compile(r"console\.log\((?:[^()`]|`[^`]*`)*\)")
MATHJAX_PARTS = ("output/chtml/fonts", "input/tex/extensions", "a11y", "sre")


def mathjax_folder() -> Path:
    """Return where the wheel of MathJax keeps its files."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "static" / "mathjax"


def mend_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Take out sphinx-thebe, which Jupyter Book always loads from elsewhere, and an old role."""
    # docutils gives the items of a list of references a role that is no longer one.
    body = context.get("body") or ""
    context["body"] = body.replace('role="doc-biblioentry"', 'role="listitem"')
    context["script_files"][:] = [
        script for script in context["script_files"] if "thebe" not in _text(script)
    ]


def _text(script: Any) -> str:
    body = (getattr(script, "attributes", None) or {}).get("body") or ""
    return f"{getattr(script, 'filename', script)} {body}".lower()


def copy_files(app: Sphinx, problem: Exception | None) -> None:
    """Put MathJax and our own files into the finished book."""
    if problem is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    source, target = mathjax_folder(), static / "vendor" / "mathjax"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source / "tex-chtml.js", target)
    for part in MATHJAX_PARTS:
        shutil.copytree(source / part, target / part, dirs_exist_ok=True)
    for path in ASSETS.iterdir():
        copy_asset(path, static)
    for name in TALKATIVE:
        _silence(static / name)


def _silence(path: Path) -> None:
    """Take out what a script of the theme tells its developers in every reader's console."""
    text = path.read_text(encoding="utf-8")
    path.write_text(TALK.sub("void 0", text), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_css_file("book.css")
    app.add_js_file("quiz.js", loading_method="defer")
    app.add_js_file("scroll.js", loading_method="defer")
    app.connect("html-page-context", mend_page, priority=900)
    app.connect("build-finished", copy_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
