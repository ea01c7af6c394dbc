"""Nothing that a student writes runs in the pages of formgrader and feedback; formulas stay."""

from __future__ import annotations

import base64
import re
import warnings
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from bs4.element import PreformattedString
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.nbgrader.defuse import JOINER, clean, defuse_markdown, defuse_text
from autograder.nbgrader.images import MAX_IMAGES, Images

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import nbgrader
    from nbconvert.exporters import HTMLExporter
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

JS = "javascript:alert(1)"
ATTACKS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "text <img src=x onerror=alert(1)> text",
    "<svg/onload=alert(1)>",
    "<body onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<style>@import '//evil.example'</style>",
    "<!-- --><script>alert(1)</script><!-- -->",
    "<?xml version='1.0'?><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<div\nonmouseover=alert(1)>x</div>",
    "<\x00script>alert(1)</script>",
    "<\x1b[0mscript>alert(1)</script>",
    "</div></div></div><script>alert(1)</script>",
    f"[a]({JS})",
    f"[a](<{JS}>)",
    f"[a]( {JS} 'title')",
    "[a](java\tscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[a](vbscript:msgbox)",
    f"![a]({JS})",
    '![a](x "\\" onerror=alert(1)")',
    f"[![a](attachment:ok.png)]({JS})",
    f"[a][b]\n\n[b]: {JS}",
    f"[b]\n\n[b]: {JS}",
    f"[b]\n\n[b]:\n{JS}\n'title'",
    f"> [b]\n\n- [b]: {JS}",
    f"<{JS}>",
    f"&lt;script&gt;alert(1)&lt;/script&gt; <{JS}>",
    f"[a[b]]({JS})",
    f"*[a]*({JS}) [**a**]({JS})",
    f"`[a]`]({JS})",
    f"[a\\]]({JS})",
    f"[a](attachment:{JS})",
    "![a](attachment:missing.png)",
    "![a](attachment:ok.png&quot;onerror=alert(1))",
    f"$\\href{{{JS}}}{{x}}$",
    f"$$\\href{{{JS}}}{{x}}$$",
    f"\\\\(\\href{{{JS}}}{{x}}\\\\)",
    f"&#36;\\hre&#102;{{{JS}}}{{x}}&#36;",
    f"$\\h\\hrefref{{{JS}}}{{x}}$",
    f"$\\hr\x00ef{{{JS}}}{{x}}$",
    f'$\\mmlToken{{mi}}[href="{JS}"]{{x}}$',
    "$\\require{html}\\style{background:url(//evil.example)}{x}$",
    "$\\cssId{answer-norm}{x}\\class{score}{x}$",
    "$<script>alert(1)</script>$",
    "\\begin{align}<script>alert(1)</script>\\end{align}",
    "\\begin{<img src=x onerror=alert(1)>}x\\end{<img src=x onerror=alert(1)>}",
    '```mermaid\ngraph TD; click A href "javascript:alert(1)"\n<script>alert(1)</script>\n```',
    "~~~ mermaid `\n</pre><script>alert(1)</script>\n~~~",
    '```"><script>alert(1)</script>\nx\n```',
    "# answer-norm",
    "#answer-norm",
    "answer-norm\n===",
    "answer-norm-comment\n---",
    "> - # *answer*-norm",
    "Term\n: # answer-norm",
    "1. answer-norm\n   ---",
    "answer-norm  \n=====  \n",
    "| a | b |\n|---|---|\n| <script>alert(1)</script> | [x](javascript:alert(1)) |",
    "- [ ] <img src=x onerror=alert(1)>",
    "https://evil.example/<script>alert(1)</script>",
    "~~<b onclick=alert(1)>x</b>~~",
    "\ud800<script>alert(1)</script>",
]
GRADE_IDS = {"answer-norm", "answer-norm-comment", "answer-norm_extra_credit"}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 40).decode()


def exporter(template):
    """Return nbgrader's own exporter of a page."""
    base = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader"
    css = base / "static" / "node_modules" / "bootstrap" / "dist" / "css"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HTMLExporter(
            template_name=template,
            extra_template_basedirs=[str(base / "templates")],
            extra_template_paths=[str(css)],
        )


def page(template, texts, attachments=None):
    """Draw a page with texts as an answer, as own cells, as comment, as code and as output."""
    marks = {"grade": True, "grade_id": "answer-norm", "points": 2, "solution": True, "score": 1}
    answer = new_markdown_cell(
        "\n\n".join(texts),
        metadata={"nbgrader": {**marks, "comment": "\n".join(f"- {text}" for text in texts)}},
    )
    cells = [answer]
    for text in texts:
        cells.append(new_markdown_cell(text, attachments=attachments or {}))
        output = new_output("stream", name="stdout", text=text)
        cells.append(new_code_cell(text, outputs=[output]))
    resources = {
        "nbgrader": {"notebook": "hw", "score": 1, "max_score": 2, "late_penalty": 0},
        "notebook_id": "hw",
        "assignment_id": "hw",
        "submission_id": "1",
        "index": 0,
        "total": 1,
        "base_url": "",
        "student": "ada",
        "notebook_path": "x",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, _ = exporter(template).from_notebook_node(new_notebook(cells=cells), resources)
    return text


def powers(text):
    """Return what in a page can run, load or be mistaken for a field of formgrader."""
    soup = BeautifulSoup(f"<main>{text}", "html.parser")
    found = [
        str(part) for part in soup.find_all(string=True) if isinstance(part, PreformattedString)
    ]
    for element in soup.find_all(True):
        if element.name in ("script", "iframe", "object", "embed", "style", "link", "base", "form"):
            found.append(str(element))
        for name, value in element.attrs.items():
            value = " ".join(value) if isinstance(value, list) else value
            scheme = re.match(r"[\s\x00-\x20]*([a-z][a-z\s]*):", value.lower())
            address = name in ("href", "src", "srcdoc", "action", "xlink:href", "formaction")
            safe = ("http", "https", "mailto") if name == "href" else ("http", "https")
            if address and scheme and scheme[1] not in safe:
                found.append((element.name, name, value))
            if name.startswith("on") or (name == "style" and "url" in value):
                found.append((element.name, name, value))
            if name in ("id", "name") and value in GRADE_IDS:
                found.append((element.name, name, value))
    return found


def rendered(text, attachments=None):
    renderer = IPythonRenderer(escape=False, attachments=attachments or {})
    return MarkdownWithMath(renderer=renderer).render(text)


@pytest.mark.parametrize("template", ["formgrade", "feedback"])
def test_no_attack_gets_into_a_page(template):
    quiet = page(template, ["quiet"] * len(ATTACKS))
    texts = [defuse_markdown(text) for text in ATTACKS]
    assert powers(page(template, texts)) == powers(quiet)
    lines = [defuse_text(text).replace("\n", " ") for text in ATTACKS]
    assert powers(page(template, lines)) == powers(quiet)


def test_the_attacks_are_real():
    drawn = [text for text in ATTACKS if "attachment:" not in text and "\ud800" not in text]
    assert sum(powers(rendered(text)) != [] for text in drawn) > 35


@pytest.mark.parametrize("text", ATTACKS)
def test_a_formula_cannot_link_load_or_style(text):
    shown = BeautifulSoup(rendered(defuse_markdown(text)), "html.parser").get_text()
    assert not re.search(r"\\(href|require|style|cssId|class|mmlToken)(?![A-Za-z])", shown)
    assert 'class="mermaid"' not in rendered(defuse_markdown(text))


PARTS = [
    *"<>[]()!:&#;\\`*_~$|\n\t \"'=-+.0",
    *("script", "javascript:", "a", "href", "onerror=x", "answer-norm", "attachment:ok.png"),
    *(
        "&#60;",
        "&lt;",
        "&colon;",
        "===",
        "---",
        "```",
        "~~~",
        "$$",
        "\x1b[",
        "\x00",
        "<img ",
        "http://",
    ),
    *(
        "\\begin{a}",
        "\\end{a}",
        "\n\n",
        "\n# ",
        "\n> ",
        "\n- ",
        "\n: ",
        "\\href",
        "](",
        "]:",
        "</p>",
    ),
]


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join))
def test_no_mixture_of_markup_has_any_power(text):
    names, pictures = Images().take(text, {"ok.png": {"image/png": PNG}})
    assert (
        powers(rendered(defuse_markdown(text, names), pictures).replace("data:image/png", "")) == []
    )
    assert powers(rendered("- " + defuse_text(text).replace("\n", " "))) == []


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(), max_size=200))
def test_any_text_at_all_can_be_drawn_and_written(text):
    for made in (defuse_markdown(text), defuse_text(text), clean(text)):
        made.encode("utf-8")
        assert powers(rendered(made) if made != clean(text) else "") == []


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join))
def test_only_spaces_and_joiners_are_added(text):
    def core(value):
        return re.sub(rf"[ {JOINER}]|^.*?(`{{3,}}|~{{3,}}).*$", "", value, flags=re.MULTILINE)

    assert core(defuse_markdown(text)) == core(clean(text))


@pytest.mark.parametrize(
    "formula",
    [
        "$a<b$",
        r"$\|w\|$",
        "$$x_1 < x_2$$",
        "$$x_1<x_2$$",
        r"$f[i][j](x)$",
        r"\begin{align}a &= b \\ c &<d\end{align}",
        r"$\begin{cases} x & x>0 \\ 0 &else \end{cases}$",
        r"$\textstyle\sum_i \alpha_i y_i$",
        r"$\langle w, x\rangle \ge 1 - \xi_i$",
    ],
)
def test_formulas_mean_the_same_in_tex(formula):
    def tex(text):
        shown = BeautifulSoup(rendered(text), "html.parser").get_text()
        return re.sub(r"\s", "", shown)

    assert tex(defuse_markdown(formula)) == tex(formula)


def test_headings_lists_and_rules_stay_what_they_are():
    text = "# One\n\nTwo\n---\n\n---\n\n- a\n- b\n\n```python\nx = 1\n```\n\n| a |\n|---|\n| 1 |"
    soup = BeautifulSoup(rendered(defuse_markdown(text)), "html.parser")
    names = [element.name for element in soup.find_all(["h1", "h2", "hr", "li", "table", "pre"])]
    assert names == ["h1", "h2", "hr", "li", "li", "pre", "table"]


def test_a_pasted_picture_is_shown_and_a_missing_one_is_text():
    text = "![a](attachment:my%20plot.png) ![b](attachment:none.png)"
    names, pictures = Images().take(text, {"my plot.png": {"image/png": PNG}})
    shown = rendered(defuse_markdown(text, names), pictures)
    assert f'src="data:image/png;base64,{PNG}"' in shown
    assert "(attachment:none.png)" in shown


@pytest.mark.parametrize(
    "bundle",
    [
        {"image/svg+xml": base64.b64encode(b"<svg onload='alert(1)'/>").decode()},
        {"image/png": base64.b64encode(b"<svg onload='alert(1)'/>").decode()},
        {"image/png": 'x" onerror="alert(1)'},
        {"image/png": ["\ud800"]},
        {"image/png": None},
        {"text/html": "<script>"},
        ["image/png"],
        None,
    ],
)
def test_what_is_no_picture_is_left_out(bundle):
    assert Images().take("![a](attachment:a)", {"a": bundle}) == ({}, {})


def test_there_are_not_too_many_pictures():
    text = "".join(f"![a](attachment:{k})" for k in range(100))
    names, pictures = Images().take(text, {str(k): {"image/png": PNG} for k in range(100)})
    assert len(names) == len(pictures) == MAX_IMAGES


@pytest.mark.parametrize("part", [*PARTS, "- ", "[x](", "&a", "\n-", "=\n", "\x1b]"])
def test_long_texts_take_no_time(part):
    text = (part * 20_000)[:20_000] + "x"
    assert len(defuse_markdown(text)) <= 2 * len(text)
