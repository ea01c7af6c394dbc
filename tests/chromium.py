"""A real Chromium for tests: it reaches this machine only, and all that a page does is recorded."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Page,
    Response,
    Route,
    sync_playwright,
)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # What no handler of requests sees, such as sockets, does not get out either.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE = 60_000.0  # milliseconds for anything that a page is waited for
ELSEWHERE = re.compile(r"^(?!(http|ws)://127\.0\.0\.1[:/]|file:|data:|blob:|about:)")

# Handlers that formgrader's own pages have.
OWN_HANDLERS = ("toggle_name(true);", "toggle_name(false);", "toggleAllNames()")

# What stands in a page and has power, if it is not known or holds the mark of an attack.
SIGNS = r"""
([mark, known]) => {
  const found = [];
  const has = text => String(text || "").includes(mark);
  if (window[mark] !== undefined) found.push(`a script ran: window.${mark} = ${window[mark]}`);
  if (has(document.title)) found.push(`the title became ${document.title}`);
  const drawn = ["script", "iframe", "frame", "object", "embed", "style", "link", "base", "form",
    "meta", "svg", "math", "video", "audio", "template", "portal"];
  for (const element of document.querySelectorAll("*")) {
    const tag = element.tagName.toLowerCase();
    if (drawn.includes(tag) && has(element.outerHTML)) found.push(element.outerHTML.slice(0, 200));
    for (const {name, value} of element.attributes) {
      const handler = name.toLowerCase().startsWith("on") && !known.includes(value);
      const script = /^[\s\x00-\x20]*(javascript|vbscript|data:(?!image\/(png|jpeg|gif)))/i;
      const address = /^(href|xlink:href|src|srcdoc|action|formaction|data|poster|background)$/i;
      if (handler || (address.test(name) && (script.test(value) || has(value))))
        found.push(`<${tag} ${name}="${value.slice(0, 200)}">`);
    }
  }
  return found;
}
"""


def find_chromium() -> str:
    """Return the path of the system's browser."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise FileNotFoundError(
        f"no browser ({', '.join(NAMES)}) is installed: run `.ci/setup test`, or install Chromium"
    )


@dataclass
class Tab:
    """A page in a profile of its own, and everything that happened in it."""

    page: Page
    dialogs: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)  # requests to other machines
    failures: list[str] = field(default_factory=list)  # answers of this machine: not found, …
    popups: list[str] = field(default_factory=list)

    def open(self, address: str) -> None:
        """Go to an address and wait until nothing more is loaded."""
        answer = self.page.goto(address, wait_until="networkidle")
        # a file has no answer
        assert answer is None or answer.ok, f"{address}: {answer.status} {answer.text()[-2000:]}"

    def signs_of(self, mark: str) -> list[str]:
        """Return every sign that an attack with this mark has power over the page, or had."""
        found: list[str] = self.page.evaluate(SIGNS, [mark, OWN_HANDLERS])
        found += [f"dialog: {text}" for text in self.dialogs]
        found += [f"popup: {text}" for text in self.popups]
        found += [f"console: {text}" for text in self.console if mark in text]
        found += [f"request: {url}" for url in self.requests if mark in url]
        return found

    def screenshot(self, name: str) -> None:
        """Keep a picture of the whole page in the folder $SCREENSHOTS, if there is one."""
        if folder := os.environ.get("SCREENSHOTS"):
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    def _watch(self, context: BrowserContext) -> None:
        def dismiss(dialog: Dialog) -> None:
            self.dialogs.append(dialog.message)
            dialog.dismiss()

        def block(route: Route) -> None:
            self.blocked.append(route.request.url)
            route.abort()

        def look(answer: Response) -> None:
            if answer.status >= 400:
                self.failures.append(f"{answer.status} {answer.url}")

        context.route(ELSEWHERE, block)
        context.on("dialog", dismiss)
        context.on("request", lambda request: self.requests.append(request.url))
        context.on("response", look)
        self.page.on("popup", lambda page: self.popups.append(page.url))
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))


@dataclass(frozen=True)
class Chromium:
    """A running browser."""

    driver: Browser

    @contextmanager
    def tab(self, address: str = "", **options: Any) -> Iterator[Tab]:
        """Give an empty page, or that at an address; with Playwright's options of a context."""
        look = {"viewport": {"width": 1200, "height": 900}, **options}
        context = self.driver.new_context(service_workers="block", **look)
        context.set_default_timeout(PATIENCE)
        try:
            tab = Tab(context.new_page())
            tab._watch(context)
            if address:
                tab.open(address)
            yield tab
        finally:
            context.close()


@contextmanager
def chromium() -> Iterator[Chromium]:
    """Start the browser with a fresh profile, and end it.

    In between no other event loop can run in this thread.
    """
    with sync_playwright() as play:
        driver = play.chromium.launch(executable_path=find_chromium(), headless=True, args=FLAGS)
        try:
            yield Chromium(driver)
        finally:
            driver.close()
