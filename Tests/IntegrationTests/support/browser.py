"""Chromium without a window, driven by Playwright; whatever a page logs, loads and violates is written down.

Playwright and axe come from PyPI and live in build/venv (`scripts/setup test`); the browser is Debian's.
"""

import contextlib
import pathlib
import re
import time

import pytest

from .gateway import ROOT
from .pypi import VENV  # first: what follows is there through it

from playwright.sync_api import sync_playwright


SCREENSHOTS = ROOT / "build/screenshots"
TOKEN_KEY = "cutover-token"
AXE = pathlib.Path(VENV) / "axe_playwright_python/axe.min.js"

# Asks the document itself what its policy has kept from happening.
NOTE_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
    window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


def plain(text):
    return text.replace("\xa0", " ")


class Browser:
    """One browser process; every tab has a context of its own, with nothing kept from another one."""

    def __init__(self):
        self.playwright = sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])

    def tab(self, url, token=None, theme="light", size=(1320, 900), wait=True, **options):
        context = self.chromium.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=theme, locale="en-US",
            timezone_id="Europe/Berlin", reduced_motion="reduce", **options)
        return Tab(context, url, token, wait)

    @contextlib.contextmanager
    def watched_tabs(self):
        """Gives what opens tabs, as `tab` does; in the end nothing may have gone wrong in any of them."""
        tabs = []

        def open_tab(url, **options):
            tabs.append(self.tab(url, **options))
            return tabs[-1]

        try:
            yield open_tab
            for tab in tabs:
                tab.check()
        finally:
            for tab in tabs:
                tab.close()

    def close(self):
        self.chromium.close()
        self.playwright.stop()


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.close()


class Tab:
    def __init__(self, context, url, token, wait):
        self.context, self.url = context, url
        self.log, self.urls, self.allowed = [], [], []
        context.add_init_script(NOTE_VIOLATIONS)
        if token:
            # Only at first: a token that is forgotten stays forgotten when the page is loaded again.
            context.add_init_script(
                f"if (!sessionStorage.getItem('begun')) sessionStorage.setItem('{TOKEN_KEY}', '{token}');"
                "sessionStorage.setItem('begun', '1');")
        self.page = context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("console", lambda message: self.log.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.log.append(f"uncaught: {error}"))
        self.page.on("request", lambda request: self.urls.append(request.url))
        self.page.goto(url)
        if wait:
            self.wait_for('[data-field="stage"]', "[^–]")

    def allow(self, pattern):
        """A line of the console that the test brings about itself (a refusal that the browser logs as an error)."""
        self.allowed.append(re.compile(pattern))

    def check(self):
        """No error, no warning, no violation of the policy, nothing asked of anybody else."""
        lines = [line for line in self.log if not any(pattern.search(line) for pattern in self.allowed)]
        assert lines == [], "the page logged something"
        assert self.page.evaluate("window.violations") == []
        foreign = [url for url in self.urls if not url.startswith((self.url, "data:", "blob:" + self.url))]
        assert foreign == [], "the page asked somebody else"

    def text(self, selector):
        """What is seen of it. Spaces that do not break are as good as others."""
        return plain(self.page.locator(selector).first.inner_text())

    def texts(self, selector):
        return [plain(node.inner_text()) for node in self.page.locator(selector).all()]

    def content(self, selector):
        return plain(self.page.locator(selector).first.text_content())

    def action(self, name):
        return self.page.locator(f'[data-action="{name}"]')

    def until(self, check, what, seconds=20):
        """Returns the first true value of `check()`. Waits in the browser's own loop, so that its events are heard."""
        deadline = time.monotonic() + seconds
        while not (value := check()):
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}\n{self.log[-10:]}"
            self.page.wait_for_timeout(30)
        return value

    def wait_for(self, selector, pattern):
        """Waits until the element's text matches; its text."""
        last = [None]

        def matches():
            nodes = self.page.locator(selector)
            last[0] = plain(nodes.first.text_content()) if nodes.count() else None
            return last[0] is not None and re.search(pattern, last[0])

        try:
            self.until(matches, f"{selector} says {pattern}")
        except AssertionError as error:
            raise AssertionError(f"{error}\nit says {last[0]!r}") from None
        return last[0]

    def shot(self, name, full=False):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=full)

    def axe(self):
        """What axe-core finds, of every rule that it has but experimental ones."""
        self.page.add_script_tag(path=AXE)
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [(one["id"], one["help"], [node["html"][:200] for node in one["nodes"]]) for one in found["violations"]]

    def close(self):
        self.context.close()
