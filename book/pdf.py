"""Print every chapter of the built book into a PDF, with Chromium: ``make pdf``.

Formulas are typeset first, solutions and the reasons in quizzes are open, menus are left out.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import yaml
from playwright.sync_api import sync_playwright

BOOK = Path(__file__).resolve().parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def pages() -> list[str]:
    """Return the chapters and the appendix, as the table of contents lists them."""
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    listed = [chapter["file"] for part in contents["parts"] for chapter in part["chapters"]]
    return [contents["root"], *(page for page in listed if not page.startswith("api/"))]


def main() -> None:
    """Print them."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit("pdf: no Chromium found; install it (Debian: apt-get install chromium)")
    out = BOOK / "_build" / "pdf"
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        tab = browser.new_page(color_scheme="light")
        for name in pages():
            tab.goto((BOOK / "_build" / "html" / f"{name}.html").as_uri())
            tab.wait_for_function("!window.MathJax || MathJax.startup.promise.then(() => true)")
            tab.pdf(path=out / f"{name}.pdf", format="A4", print_background=True)
            print(f"pdf: {out / name}.pdf", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
