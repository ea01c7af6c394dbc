"""Every page of the built book in a real browser: nothing from elsewhere, broken, or a barrier.

``make test`` looks at each page once and at four pages in all variants, ``make test-full`` at all
pages in all variants.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from chromium import Chromium, Tab
from hostile.once import once
from playwright.sync_api import Page
from test_book import BOOK, CHAPTERS, mini_book, pages

SITE = BOOK / "_build" / "html"
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
MADE = ["genindex", "py-modindex", "search"]
VARIANTS = [(scheme, width) for scheme in ("light", "dark") for width in (1280, 390)]
CLOSELY = ("index", "soft-margin", "smo", "api/solvers")
VISITS = [
    pytest.param(
        page,
        *variant,
        id=f"{page}-{variant[0]}-{variant[1]}",
        marks=[] if variant == VARIANTS[0] or page in CLOSELY else [pytest.mark.full],
    )
    for page in [*pages(), *MADE]
    for variant in VARIANTS
]

LOOK = r"""
() => {
  const article = document.querySelector("article") || document.body;
  const seen = element => element.checkVisibility();
  const text = [];
  const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const parent = walk.currentNode.parentElement;
    if (!parent.closest("pre, code, script, style, mjx-container, [hidden]"))
      text.push(walk.currentNode.data);
  }
  return {
    width: document.documentElement.scrollWidth,
    unset: [...document.querySelectorAll(".math")]
      .filter(m => !m.querySelector("mjx-container")).length,
    wrong: document.querySelectorAll("mjx-merror, [data-mjx-error]").length,
    raw: text.filter(t => /\\\(|\\\[|\$\$|\\(frac|alpha|xi)\b/.test(t)),
    broken: [...document.images]
      .filter(i => seen(i) && i.complete && !i.naturalWidth).map(i => i.src),
    nameless: [...article.querySelectorAll("img")]
      .filter(i => !i.alt.trim()).map(i => i.src.slice(0, 90)),
  };
}
"""

CUT = """
() => [...document.querySelectorAll("article mjx-container:not([display='true'])")]
  .filter(formula => formula.checkVisibility() && !formula.closest("table")
    && formula.getBoundingClientRect().right > innerWidth)
  .map(formula => formula.textContent.slice(0, 80))
"""

BARRIERS = """
async () => {
  // How MathJax draws a formula is its own; the formula itself and its name are looked at.
  document.querySelectorAll("mjx-math").forEach(drawing => drawing.replaceChildren());
  // What has just been opened fades in, and is pale until then.
  const fading = document.getAnimations().filter(a => a.effect.getComputedTiming().endTime < 1e4);
  await Promise.all(fading.map(a => a.finished.catch(() => null)));
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.flatMap(
    v => v.nodes.map(n => [v.id, n.target.join(" "), n.html.slice(0, 200)])
  );
}
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the book, which ``make book`` has built."""
    assert (SITE / "index.html").exists(), "run `make book` first"
    handler = functools.partial(_Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def settle(tab: Tab) -> None:
    """Wait until formulas are set."""
    # Where the machine is busy, the page has the settings of MathJax before MathJax itself.
    ready = "!window.MathJax || MathJax.startup?.promise?.then(() => true)"
    tab.page.wait_for_function(ready)
    tab.page.wait_for_timeout(50)  # what waits for the formulas too


def barriers(tab: Tab) -> list[list[str]]:
    tab.page.wait_for_timeout(300)  # scrolling brings the theme's own button, which fades in too
    tab.page.evaluate(AXE)
    found: list[list[str]] = tab.page.evaluate(BARRIERS)
    return found


@pytest.fixture(scope="module")
def known_barriers(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Rules that an empty page of the theme breaks already."""

    def look(folder: Path) -> list[str]:
        folder.mkdir()
        mini_book(folder, "# Empty\n")
        with browser.tab((folder / "book" / "_build" / "html" / "index.html").as_uri()) as tab:
            return [rule for rule, _, _ in barriers(tab)]

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    return set(once(shared, "empty-page", look))


def test_the_built_book_is_that_of_these_sources():
    built = subprocess.run(
        [sys.executable, str(BOOK / "build.py")], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    assert "nothing has changed" in built.stdout  # run `make book` before these tests
    found = {path.relative_to(SITE).with_suffix("").as_posix() for path in SITE.rglob("*.html")}
    assert {page for page in found if not page.startswith("_static/")} == {*pages(), *MADE}


def answer_quizzes(page: Page) -> None:
    """Answer every quiz by keyboard: not at all, wrongly, rightly."""
    for form in page.locator("form.quiz").all():
        verdict = form.locator(".quiz-verdict")
        form.locator("button").focus()
        page.keyboard.press("Enter")
        assert verdict.inner_text() == "Choose an answer first."
        wrong = form.locator("input:not([data-right])").first
        wrong.focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        assert verdict.inner_text().startswith("Not")
        why = wrong.locator("xpath=..").locator(".quiz-why")
        assert why.is_visible()
        assert why.inner_text().strip()
        if wrong.get_attribute("type") == "checkbox":
            page.keyboard.press("Space")
        for right in form.locator("input[data-right]").all():
            right.focus()
            page.keyboard.press("Space")
        page.keyboard.press("Enter")
        assert verdict.inner_text() == "Right."


def open_solutions(page: Page) -> int:
    """Open every hidden solution by keyboard; return how many there are."""
    solutions = page.locator(".solution.dropdown").all()
    for solution in solutions:
        content = solution.locator(".section, section, .solution-content, p:not(.admonition-title)")
        assert not content.first.is_visible()
        solution.locator("button").first.focus()
        page.keyboard.press("Enter")
        assert content.first.is_visible()
    return len(solutions)


@pytest.mark.parametrize(("page", "scheme", "width"), VISITS)
def test_a_page_is_whole_and_works_by_keyboard(
    page: str,
    scheme: str,
    width: int,
    browser: Chromium,
    address: str,
    known_barriers: set[str],
):
    with browser.tab(color_scheme=scheme, viewport={"width": width, "height": 900}) as tab:
        tab.open(f"{address}/{page}.html")
        settle(tab)
        assert tab.blocked == []
        assert tab.failures == []
        assert tab.console == []
        assert tab.page.evaluate("document.documentElement.dataset.theme") == scheme
        seen: dict[str, Any] = tab.page.evaluate(LOOK)
        assert seen.pop("width") <= width
        assert seen == {"unset": 0, "wrong": 0, "raw": [], "broken": [], "nameless": []}
        tab.screenshot(f"{page.replace('/', '-')}-{scheme}-{width}")
        if page in CHAPTERS:
            answer_quizzes(tab.page)
            assert open_solutions(tab.page) >= 2
            assert tab.console == []
        assert tab.page.evaluate(CUT) == []
        assert [found for found in barriers(tab) if found[0] not in known_barriers] == []


def test_flip_books_turn(browser: Chromium, address: str):
    with browser.tab(f"{address}/soft-margin.html") as tab:
        book = tab.page.locator(".flip-book").first
        last = book.locator("output").inner_text()
        book.locator("input").focus()
        tab.page.keyboard.press("Home")
        assert book.locator("output").inner_text() != last
        assert book.locator("img:visible").count() == 1
        book.locator("button").focus()
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_function(
            "text => document.querySelector('.flip-book output').innerText === text", arg=last
        )


def test_the_search_finds(browser: Chromium, address: str):
    with browser.tab(f"{address}/search.html?q=hinge") as tab:
        tab.page.wait_for_selector("#search-results li a")
        found = tab.page.locator("#search-results li a").all_inner_texts()
        assert any("Soft margin" in text for text in found), found


def test_the_book_can_be_read_from_the_disk(browser: Chromium):
    with browser.tab((SITE / "soft-margin.html").as_uri()) as tab:
        settle(tab)
        seen = tab.page.evaluate(LOOK)
        assert (seen["unset"], seen["raw"], tab.blocked, tab.console) == (0, [], [], [])


def test_a_printed_page_has_its_lecture_results_and_nothing_to_click(
    browser: Chromium, address: str
):
    with browser.tab(f"{address}/smo.html") as tab:
        tab.page.emulate_media(media="print")
        results = tab.page.locator(".lecture-ids").first
        assert results.evaluate("element => getComputedStyle(element).float") == "none"
        assert tab.page.locator("details.hide:visible, form.quiz button:visible").count() == 0
        assert tab.page.locator(".quiz-why:visible").count() > 0


def test_each_page_can_be_left_for_the_next_and_downloaded(browser: Chromium, address: str):
    with browser.tab(f"{address}/smo.html") as tab:
        assert "kernels" in (tab.page.locator("a.left-prev").get_attribute("href") or "")
        assert "losses" in (tab.page.locator("a.right-next").get_attribute("href") or "")
        link = tab.page.locator("a.btn-download-notebook-button").get_attribute("href")
        assert tab.page.request.get(f"{address}/{link}").ok
        assert tab.page.locator("button.copybtn").count() > 0


@pytest.mark.parametrize(
    "chapter",
    [
        pytest.param(name, marks=[] if name == "learning" else [pytest.mark.full])
        for name in CHAPTERS
    ],
)
def test_a_downloaded_notebook_runs_anywhere(chapter: str, tmp_path: Path):
    if chapter == "practice":  # draws from committed results: it needs the folder beside it
        (tmp_path / "benchmarks").symlink_to(BOOK.parent / "benchmarks")
    folder = tmp_path / "book"
    folder.mkdir()
    shutil.copy(SITE / "_sources" / f"{chapter}.ipynb", folder)
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace"]
    done = subprocess.run(
        [*command, f"{chapter}.ipynb"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
