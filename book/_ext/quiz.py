"""A question that marks itself.

.. code-block:: markdown

    :::{quiz} What happens to the street when C grows?
    - (x) It becomes narrower or stays as it is.

      A larger C makes slack dearer, and shrinking slack costs width.
    - ( ) It becomes wider.

      That is what a *smaller* C does.
    :::

The title is the question; text before the list belongs to it. Each answer begins with ``(x)`` or
``( )``; paragraphs after the first say why, and show when the answer was chosen. With several
right answers all of them are asked for.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from markup import Tag
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

MARKS = {"(x)": True, "( )": False}


class Quiz(SphinxDirective):
    """The directive ``quiz``."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Build the form."""
        name = f"quiz-{self.env.docname.replace('/', '-')}-{self.env.new_serialno('quiz')}"
        title, messages = self.state.inline_text(self.arguments[0], self.lineno)
        question = nodes.paragraph("", "", *title)
        body = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, body)
        answers = body.children[-1] if body.children else None
        if not isinstance(answers, nodes.bullet_list):
            raise self.error("a quiz ends with a list of answers, each with (x) or ( )")
        marks = [self._mark(item) for item in answers.children]
        if not any(marks) or len(marks) < 2:
            raise self.error("a quiz has at least two answers, and one of them is right")
        kind = "checkbox" if sum(marks) > 1 else "radio"
        options = [
            self._option(item, right, kind, f"{name}-{k}", name)
            for k, (item, right) in enumerate(zip(answers.children, marks, strict=True))
        ]
        asked = Tag("", question, *body.children[:-1], tag="div", attributes={"id": f"{name}-q"})
        field = Tag(
            "",
            asked,
            *options,
            tag="fieldset",
            attributes={"aria-labelledby": f"{name}-q"},
        )
        button = Tag("", nodes.Text("Check"), tag="button", attributes={"type": "submit"})
        verdict = Tag("", tag="p", attributes={"class": "quiz-verdict", "role": "status"})
        form = Tag("", field, button, verdict, tag="form", attributes={"class": "quiz"})
        return [form, *messages]

    def _mark(self, item: nodes.Node) -> bool:
        """Take the mark off an answer and return whether it is right."""
        text = next(item.findall(nodes.Text), nodes.Text(""))
        mark = text.astext()[:3]
        if mark not in MARKS:
            raise self.error(f"an answer begins with (x) or ( ), not {text.astext()[:20]!r}")
        text.parent.replace(text, nodes.Text(text.astext()[3:].lstrip()))
        return MARKS[mark]

    def _option(self, item: Any, right: bool, kind: str, id_: str, group: str) -> nodes.Node:
        answer, why = item.children[0], item.children[1:]
        box = {"type": kind, "id": id_, "name": group} | ({"data-right": True} if right else {})
        label = Tag("", *answer.children, tag="label", attributes={"for": id_})
        reason = Tag("", *why, tag="div", attributes={"class": "quiz-why", "hidden": True})
        return Tag(
            "",
            Tag("", tag="input", attributes=box),
            label,
            reason,
            tag="div",
            attributes={"class": "quiz-option"},
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.setup_extension("markup")
    app.add_directive("quiz", Quiz)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
