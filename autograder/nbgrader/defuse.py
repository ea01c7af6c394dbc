r"""Make text of a student harmless in the pages that nbgrader draws from notebooks.

Neither formgrader nor feedback cleans what a markdown cell holds: a script in an answer would run
with the rights of the person who grades it. No text is removed here and none is escaped, which
would show in formulas; a space in the right place takes its power away:

- after ``<`` where a tag, a comment or an automatic link could begin;
- after ``]`` where the target of a link could begin, but for images that come with the cell;
- after the ``\`` of commands by which a formula can link, load or style;
- after the ``&`` of an entity, by which any of these could be written.

Headings become ``id`` attributes, and formgrader finds its input fields by theirs: an invisible
character keeps a heading from taking the place of a score. What a terminal or a file format could
stumble over (control characters, ANSI codes, halves of characters) is taken out first, so that it
cannot hide one of the above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from autograder.home import wrap

OUTPUT_WIDTH = 100
JOINER = "\N{WORD JOINER}"
COMMANDS = "href|require|style|class|cssId|mmlToken|data|htmlData|htmlId|htmlClass|includegraphics"

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)?|[@-Z\\-_])")
# Controls but tab and line end; marks that turn the direction of text; no characters at all.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_NO_CHARACTER = re.compile("[\ud800-\udfff\ufffe\uffff]")

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_COMMAND = re.compile(rf"\\(?=(?:{COMMANDS})(?![A-Za-z]))")
_ENTITY = re.compile(r"&(?=[^\s<&;]{1,40};)")
_TARGET = re.compile(r"\](?=[\[:(])(?:\(attachment:(?P<name>[^()\s<>]{1,300})\))?")
# What may stand before a heading or a fence: quotes, lists, numbers, definitions.
_BEFORE = r"[ \t>*+\-0-9.):]*+"
_HEADING = re.compile(rf"^({_BEFORE}#+)", re.MULTILINE)
_UNDERLINED = re.compile(
    r"(?<=[^\s`~])([ \t]*+)(?=\n[ \t>*+0-9.):]*+[=-])(?=\n[ \t>*+\-0-9.):=]*+$)", re.MULTILINE
)
_FENCE = re.compile(rf"^({_BEFORE}(?:`{{3,}}+(?=[^`\n]*$)|~{{3,}}+))([^\n]*)$", re.MULTILINE)
LANGUAGES = ("", "python", "python3", "py", "text")


def clean(text: str) -> str:
    r"""Return a text without control characters, and with plain line ends.

    >>> clean("a\x1b[31mred\x1b[0m\r\nb\x00\u202ec \ud800")
    'ared\nbc \ufffd'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NO_CHARACTER.sub("\ufffd", _CONTROL.sub("", _ANSI.sub("", text)))


def defuse_markdown(text: str, attachments: Mapping[str, str] | None = None) -> str:
    r"""Return markdown that shows what its author wrote, formulas too, and does nothing.

    ``attachments`` maps the names of the images that come with the cell to the names under which
    they are kept; a link to any other becomes text.

    >>> defuse_markdown("$a<b$, ![f](attachment:f%20g.png) ![f](attachment:g)", {"f g.png": "1"})
    '$a< b$, ![f](attachment:1) ![f] (attachment:g)'
    """
    text = _FENCE.sub(_fence, _without_power(clean(text), attachments or {}))
    return _UNDERLINED.sub(rf"{JOINER}\1", _HEADING.sub(rf"\1{JOINER}", text))


def defuse_text(text: str) -> str:
    """Return a text that does nothing in an output, nor in a comment, which is markdown too.

    >>> defuse_text("<img src=x onerror=alert(1)>, [a](javascript:b)")
    '< img src=x onerror=alert(1)>, [a] (javascript:b)'
    """
    return defuse_markdown(text)


def as_output(lines: Iterable[str]) -> str:
    """Return lines as the output of a cell: harmless, and no wider than its box.

    >>> as_output(["eta: 2/2, OK: right."])
    'eta: 2/2, OK: right.'
    """
    return "\n".join("\n  ".join(wrap(defuse_text(line), OUTPUT_WIDTH)) for line in lines)


def _without_power(text: str, attachments: Mapping[str, str]) -> str:
    def target(found: re.Match[str]) -> str:
        name = unquote(found["name"]) if found["name"] else ""
        if name in attachments:
            return f"](attachment:{attachments[name]})"
        return f"] {found[0][1:]}"

    text = _COMMAND.sub(r"\\ ", _TAG.sub("< ", text))
    return _TARGET.sub(target, _ENTITY.sub("& ", text))


def _fence(found: re.Match[str]) -> str:
    """Name no language but a few: some others are read at a crawl, or drawn by a script."""
    return found[0] if found[2].strip() in LANGUAGES else found[1]
