"""Every chapter as a notebook to download: the same cells, with directives in plain words."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from listings import for_readers
from myst_nb.core.read import read_myst_markdown_notebook
from sphinx.application import Sphinx

BOOK = Path(__file__).parents[1]
FENCE = re.compile(r"^(?P<fence>:{3,}|`{3,})\{(?P<name>[\w:-]+)\} *(?P<title>.*)$")
OPTION = re.compile(r"^:([\w-]+): *(.*)$")
ROLE = re.compile(r"\{([\w:]+)\}`([^`]+)`")
LABELLED = re.compile(r"\$\$\n?(.*?)\n?\$\$ \(([\w-]+)\)", re.DOTALL)
TARGET = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)
PROOFS = {"theorem", "lemma", "definition", "corollary", "proposition", "algorithm", "remark"}


def plain(markdown: str) -> str:
    r"""Return markdown that reads well in any notebook program.

    >>> print(plain("By {eq}`eq-hinge`, {py:func}`~svmlab.losses.hinge_loss` is it."))
    By (eq-hinge), `hinge_loss` is it.
    >>> print(plain("\n".join([":::{note}", "Mind the sign.", ":::"])))
    > **Note.**
    >
    > Mind the sign.
    """
    text = LABELLED.sub(lambda m: f"$$\n{m[1]} \\tag{{{m[2]}}}\n$$", TARGET.sub("", markdown))
    return ROLE.sub(_role, "\n".join(_blocks(iter(text.split("\n"))))).strip()


def _role(match: re.Match[str]) -> str:
    kind, text = match[1], match[2]
    if kind == "eq":
        return f"({text})"
    shown = re.fullmatch(r"(.*?)\s*<[^>]+>", text, re.DOTALL)
    if shown:
        return shown[1]
    if kind.startswith("py:"):
        return f"`{text.rpartition('.')[2] if text.startswith('~') else text}`"
    return text.replace("-", " ") if kind in {"ref", "numref", "prf:ref", "doc"} else f"[{text}]"


def _blocks(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        match = FENCE.match(line)
        if match is None:
            yield line
            continue
        inside = []
        for inner in lines:
            if inner.rstrip() == match["fence"]:
                break
            inside.append(inner)
        options = {}
        while inside and (option := OPTION.match(inside[0])):
            options[option[1]] = option[2]
            inside.pop(0)
        body = list(_blocks(iter(inside)))
        yield from _block(match["name"], match["title"].strip(), options, body)


def _block(name: str, title: str, options: dict[str, str], body: list[str]) -> list[str]:
    short = name.removeprefix("prf:")
    if name in BLOCKS:
        return BLOCKS[name](title, options, body)
    if short in PROOFS:
        return [f"**{short.capitalize()}{f' ({title})' if title else ''}.**", "", *body]
    return [
        "> **" + (title or short.capitalize()) + ".**",
        ">",
        *(f"> {line}".rstrip() for line in body),
    ]


def _details(summary: str, body: list[str]) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", *body, "", "</details>"]


def _math(title: str, options: dict[str, str], body: list[str]) -> list[str]:
    tag = f" \\tag{{{options['label']}}}" if "label" in options else ""
    return ["$$", "\n".join(body).strip() + tag, "$$"]


def _quiz(title: str, options: dict[str, str], body: list[str]) -> list[str]:
    asked = [re.sub(r"^- \((x| )\)", "-", line) for line in body if not line.startswith("  ")]
    right = [line[6:] for line in body if line.startswith("- (x)")]
    return [f"**{title}**", "", *filter(None, asked), "", *_details("Answer", right)]


def _source(title: str, options: dict[str, str], body: list[str]) -> list[str]:
    text = (BOOK / title).read_text(encoding="utf-8")
    lines = text.split("\n")
    wanted = options.get("pyobject")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == wanted:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            lines = text.split("\n")[first - 1 : node.end_lineno]
    if start := options.get("start-at", "").strip('"'):
        lines = lines[_line_with(start, lines) :]
    if end := options.get("end-at", "").strip('"'):
        lines = lines[: _line_with(end, lines) + 1]
    if span := options.get("lines"):  # "13-": from there on
        lines = lines[int(span.removesuffix("-")) - 1 :]
    return ["```python", for_readers(textwrap.dedent("\n".join(lines))).rstrip(), "```"]


def _line_with(text: str, lines: list[str]) -> int:
    return next(k for k, line in enumerate(lines) if text in line)


BLOCKS: dict[str, Callable[[str, dict[str, str], list[str]], list[str]]] = {
    "bibliography": lambda title, options, body: [],
    "exercise": lambda title, options, body: [
        f"**Exercise{': ' + title if title else ''}**",
        "",
        *body,
    ],
    "figure": lambda title, options, body: [f"*Figure: {' '.join(body).strip()}*"],
    "image": lambda title, options, body: [f"*Figure: {options.get('alt', '')}*"],
    "lecture": lambda title, options, body: [f"*Lecture results: {title}*"],
    "literalinclude": _source,
    "math": _math,
    "prf:proof": lambda title, options, body: ["*Proof.*", *body, "", "∎"],
    "quiz": _quiz,
    "solution": lambda title, options, body: _details("Solution", body),
    "solution-end": lambda title, options, body: [],
    "solution-start": lambda title, options, body: ["**Solution**"],
}


def notebook(page: Path) -> Any:
    """Return a chapter as a notebook without outputs."""
    found = read_myst_markdown_notebook(page.read_text(encoding="utf-8"))
    for cell in found.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source)
            cell.metadata = {}
        else:
            tags = cell.metadata.get("tags")
            cell.metadata = {"tags": tags} if tags else {}
    found.cells = [cell for cell in found.cells if cell.source]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    found.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return nbformat.from_dict(found)


def _has_cells(app: Sphinx, page: str) -> bool:
    path = Path(app.srcdir) / f"{page}.md"
    return path.is_file() and "{code-cell}" in path.read_text(encoding="utf-8")


def offer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Put the notebook into the menu of downloads; written before the theme looks for it."""
    if _has_cells(app, page):
        target = Path(app.outdir) / "_sources" / f"{page}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook(Path(app.srcdir) / f"{page}.md"), target)
        context["ipynb_source"] = f"{page}.ipynb"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("html-page-context", offer, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
