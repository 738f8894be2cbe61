"""A real server and a real browser, for the browser tests and for `benchmarks.app.live`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.places import ROOT

LOG = "server.log"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WAIT_MS = 180_000
"""For whatever a page is to show: a machine may be busy with other tests, and a test that fails has time."""

PROBES = re.compile(r"_stcore/(health|host-config)|favicon")
RESTS = '[data-testid="stApp"][data-test-script-state="notRunning"]'
SWITCHES = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync")

CALM = {"reduced_motion": "reduce"}
"""For visitors whose steps are tested, not timed: Streamlit's fades and shimmers, drawn without a graphics card, take a
quarter of a browser's time."""


def browser_path() -> str | None:
    """Return the path of the first Chromium on this machine, if any."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def answers(process: subprocess.Popen[bytes], address: str) -> bool:
    """Wait for a server to answer at an address; return whether it does."""
    end = time.monotonic() + WAIT_MS / 1000
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=1)
            return True
        time.sleep(0.1)
    return False


class Server:
    """A server on a workspace, starting in the background. Its output goes to LOG there; `changes` are environment
    variables; `port` is for when others must know it beforehand; `installed` is the path of the command `shapewise`,
    where it is to be started by that, away from the checkout; `bare` starts `python app.py`, as on a server; `script`
    is served in place of the app."""

    def __init__(
        self, space: Path, changes: dict[str, str] | None = None, port: int = 0, installed: Path | None = None,
        *, bare: bool = False, script: Path = ROOT / "app.py",
    ) -> None:  # fmt: skip
        port = port or free_port()
        self.space, self.address = space, f"http://localhost:{port}"
        environment = {**os.environ, "GAMCORE_WORKSPACE": str(space), "GAMCORE_WARM_UP": "0", **(changes or {})}
        command = [sys.executable, str(script)] if bare else [sys.executable, "-m", "streamlit", "run", str(script)]
        command += ["--server.headless", "true", "--server.port", str(port)]
        if installed:
            command = [str(installed), "--no-browser", "--port", str(port), "--workspace", str(space)]
            environment = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
        place = space if installed else ROOT
        with (space / LOG).open("wb") as log:
            self.process = subprocess.Popen(command, cwd=place, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def ready(self) -> str:
        """Return its address once it answers; RuntimeError with the end of its log if it does not."""
        if answers(self.process, f"{self.address}/_stcore/health"):
            return self.address
        raise RuntimeError(f"The server does not answer: {(self.space / LOG).read_text()[-2000:]}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


@contextmanager
def sound(server: Server) -> Iterator[Server]:
    """Stop the server however a test ends; if the test passes, check that its log has no traceback."""
    try:
        yield server
    finally:
        server.stop()
    log = (server.space / LOG).read_text()
    assert "Traceback" not in log, log[-3000:]


@contextmanager
def serving(space: Path) -> Iterator[str]:
    """Start a fresh server on a workspace; yield its address."""
    server = Server(space)
    try:
        yield server.ready()
    finally:
        server.stop()


@contextmanager
def browsing(path: str) -> Iterator[Any]:
    """Yield a headless Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=SWITCHES)
        yield browser
        browser.close()


def window(browser: Any, **options: Any) -> Any:
    """Return a separate browser context with a timeout long enough for a busy machine."""
    context = browser.new_context(**options)
    context.set_default_timeout(WAIT_MS)
    return context


def settle(page: Any) -> None:
    """Wait until the page is at rest."""
    page.wait_for_selector('[data-testid="stApp"][data-test-connection-state="CONNECTED"]')
    end = time.monotonic() + WAIT_MS / 1000
    while time.monotonic() < end:
        page.wait_for_selector(RESTS)
        page.wait_for_timeout(600)  # tables and uploaders keep moving for a moment after the script
        if page.locator(RESTS).count():  # the last request may not have started before
            return
    raise RuntimeError(f"{page.url} does not come to rest.")


TURN = "address => { history.pushState(null, '', address); dispatchEvent(new PopStateEvent('popstate')); }"


def turn(page: Any, address: str) -> None:
    """Open an address of the app in the session that is there, as Back and Forward do. Where a test needs no session of
    its own, this takes a browser less than half of what it takes to load and compile the app anew."""
    page.evaluate(TURN, address)
    settle(page)


def walk(page: Any, addresses: Iterable[str]) -> Iterator[str]:
    """Open addresses in one session, the first of them anew; yield each when its page is at rest."""
    for k, address in enumerate(addresses):
        if k:
            turn(page, address)
        else:
            page.goto(address)
            settle(page)
        yield address


@contextmanager
def visiting(chromium: Any, server: Server, **options: Any) -> Iterator[Any]:
    """A visitor of a server with one tab, for one test after another: in each new tab a browser loads and compiles the
    scripts of the app anew."""
    context = window(chromium, base_url=server.ready(), **CALM, **options)
    context.new_page()
    yield context
    context.close()


@contextmanager
def opened(visitor: Any) -> Iterator[Any]:
    """The tab of a visitor, for sessions of its own; it fails its test where the browser's console shows an error, but
    for the health probes of deep links. What it keeps in the browser is gone afterwards, and so is its session."""
    errors: list[str] = []

    def logged(message: Any) -> None:
        if message.type == "error":
            errors.append(f"{message.text} {message.location.get('url')}")

    def thrown(error: Any) -> None:
        errors.append(str(error))

    page, *_ = visitor.pages
    page.on("console", logged)
    page.on("pageerror", thrown)
    yield page
    for tab in visitor.pages:  # a run that goes on would read what the next test deletes, and fail that
        if tab.locator('[data-testid="stApp"]').count():
            tab.wait_for_selector(RESTS)
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.goto("about:blank")
    visitor.clear_cookies()
    for one in visitor.pages[1:]:
        one.close()
    page.remove_listener("console", logged)
    page.remove_listener("pageerror", thrown)
    left = [error for error in errors if not PROBES.search(error)]
    assert left == [], left
