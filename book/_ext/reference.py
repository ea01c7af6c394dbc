r"""The API reference, from docstrings in the form of the house.

Sections such as *Parameters* hold lines ``name : what it is``, with further lines indented. A
formula holds ``\tag{eq-hinge}``; the page of the function shows the number that the equation has
in its chapter, as a link.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.autodoc import FunctionDocumenter

from svmlab._jit import Jitted
from svmlab.lecture_map import IDS

CITED = re.compile(r"\((eq-[a-z0-9-]+)\)|(?<![\w`{-])(eq-[a-z0-9-]*[a-z0-9])")
RESULT = re.compile(r"\b[SCMGB]\d{1,2}\b")
RESULTS = re.compile(r"\([SCMGB]\d[^()]*\)")
TAG = re.compile(r"\s*\\tag\{(eq-[a-z0-9-]+)\}")
SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Notes")
SENTENCE = re.compile(r" +(?:[A-Z]|``)")
FITTED = re.compile(r"(?<![`\w])([A-Za-z]\w*_)(?![`\w{])")
INDEX = re.compile(r"(?<![\w`\\])([A-Za-zα-ω])_(\{[^{}]+\}|up|low|typ|[A-Za-z])(?!\w)")
POWER = re.compile(r"(?<=[\w)])\^(\{[^{}]+\}|\([^()]+\)|\w+)")


def escape_prose(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Keep |x| and ``coef_`` from being taken for markup, and set x_i and r^d as they are meant.

    Formulas and examples stay.
    """
    formula = False
    for k, line in enumerate(lines):
        formula = line.startswith(".. math::") or (formula and (not line or line.startswith(" ")))
        if not formula and not line.lstrip().startswith((">>>", "...")):
            lines[k] = in_prose(_escape, line)


def _escape(text: str) -> str:
    text = FITTED.sub(r"``\1``", text.replace("|", r"\|"))
    text = INDEX.sub(lambda match: match[1] + _small("sub", match, match[2]), text)
    return POWER.sub(lambda match: _small("sup", match, match[1]), text)


def _small(role: str, match: re.Match[str], text: str) -> str:
    following = match.string[match.end() : match.end() + 1]
    end = "" if following in " .,;:)" else "\\ "  # "" too is in any string
    return f"\\ :{role}:`{text[1:-1] if text[0] in '{(' else text}`{end}"


def in_prose(change: Callable[[str], str], line: str) -> str:
    """Change what is not a literal."""
    parts = line.split("``")
    parts[::2] = map(change, parts[::2])
    return "``".join(parts)


def link_names(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Link the lecture results of the first sentence, and equations named in the text."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[k] = in_prose(lambda part: CITED.sub(_to_equation, part), line)
    for k, line in enumerate(lines[: lines.index("") if "" in lines else len(lines)]):
        lines[k] = RESULTS.sub(lambda group: RESULT.sub(_to_map, group[0]), line)


def _to_equation(match: re.Match[str]) -> str:
    return f":eq:`{match[1] or match[2]}`"


def _to_map(match: re.Match[str]) -> str:
    return f":ref:`{match[0]} <lecture-{match[0].lower()}>`" if match[0] in IDS else match[0]


def list_entries(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Turn the sections into definition lists."""
    found: list[str] = []
    inside, section = False, ""
    for k, line in enumerate(lines):
        following = lines[k + 1] if k + 1 < len(lines) else ""
        if line in SECTIONS and set(following) == {"-"}:
            found += ["", f".. rubric:: {line}", ""]
            inside, section = line != "Notes", line
        elif found and set(line) == {"-"} and lines[k - 1] in SECTIONS:
            continue
        elif inside and line and not line.startswith(" "):
            if not lines[k - 1]:  # text after a section
                inside = False
                found += ["", line]
                continue
            term, _, text = line.partition(" : ")
            words = section == "Attributes" or (section == "Returns" and " " in term)
            if words and not text:  # no name that is explained
                found.append(line)
                continue
            term = term.replace("`", "")
            if text and SENTENCE.match(following) and ": " not in text:
                text += ":"  # the type, before a sentence of its own
            found += [f"``{term}``", f"    {text}" if text else "    \\"]
        else:
            found.append(line)
    lines[:] = found


def link_equations(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Take the tags out of the formulas and name the equations at the end."""
    labels: list[str] = []
    for k, line in enumerate(lines):
        labels += TAG.findall(line)
        lines[k] = TAG.sub("", line)
    if labels:
        numbers = ", ".join(f":eq:`{label}`" for label in dict.fromkeys(labels))
        lines += ["", f"In the book: {numbers}", ""]


def leave_out(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool:
    """Leave out what scikit-learn adds for the routing of metadata, and fields without words."""
    added = name.startswith("set_") and name.endswith("_request")
    return skip or added or (getattr(obj, "__doc__", None) or "").startswith("Alias for field")


class JittedDocumenter(FunctionDocumenter):
    """Documents a loop that numba compiles as the function that it is."""

    objtype = "jitted"
    directivetype = "function"
    priority = FunctionDocumenter.priority + 1

    @classmethod
    def can_document_member(cls, member: Any, name: str, isattr: bool, parent: Any) -> bool:
        """Return whether it is one."""
        return isinstance(member, Jitted)

    def import_object(self, raiseerror: bool = False) -> bool:
        """Look at the function as it is written."""
        found = super().import_object(raiseerror)
        self.object = self.object.__wrapped__
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_autodocumenter(JittedDocumenter)
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", escape_prose)
    app.connect("autodoc-process-docstring", link_names)
    app.connect("autodoc-process-docstring", list_entries)
    app.connect("autodoc-process-docstring", link_equations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
