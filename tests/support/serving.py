"""A real server and a real browser, for the browser tests and for `benchmarks.app.live`."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.places import ROOT

LOG = "server.log"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WAIT_MS = 180_000
"""For whatever a page is to show: a machine may be busy with other tests, and a test that fails has time."""

SWITCHES = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync")


def browser_path() -> str | None:
    """The first Chromium on this machine."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def answers(process: subprocess.Popen[bytes], address: str) -> bool:
    """Whether a server comes to answer at an address."""
    end = time.monotonic() + WAIT_MS / 1000
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=1)
            return True
        time.sleep(0.1)
    return False


class Server:
    """A server on a workspace, starting in the background. What it writes is in LOG there; `changes` of its
    environment; `port`, where others must know it before."""

    def __init__(self, space: Path, changes: dict[str, str] | None = None, port: int = 0) -> None:
        port = port or free_port()
        self.space, self.address = space, f"http://localhost:{port}"
        options = ["--server.headless", "true", "--server.port", str(port)]
        environment = {**os.environ, "GAMCORE_WORKSPACE": str(space), "GAMCORE_WARM_UP": "0", **(changes or {})}
        command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
        with (space / LOG).open("wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def ready(self) -> str:
        """Its address, once it answers; RuntimeError with its last words where it does not."""
        if answers(self.process, f"{self.address}/_stcore/health"):
            return self.address
        raise RuntimeError(f"The server does not answer: {(self.space / LOG).read_text()[-2000:]}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


@contextmanager
def sound(server: Server) -> Iterator[Server]:
    """A server that is stopped however a test ends; where that ends well, its log has no traceback."""
    try:
        yield server
    finally:
        server.stop()
    assert b"Traceback" not in (server.space / LOG).read_bytes()


@contextmanager
def serving(space: Path) -> Iterator[str]:
    """A fresh server on a workspace; its address."""
    server = Server(space)
    try:
        yield server.ready()
    finally:
        server.stop()


@contextmanager
def browsing(path: str) -> Iterator[Any]:
    """A headless Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=SWITCHES)
        yield browser
        browser.close()


def window(browser: Any, **options: Any) -> Any:
    """A window of its own: a context that waits as long as a busy machine takes."""
    context = browser.new_context(**options)
    context.set_default_timeout(WAIT_MS)
    return context


def settle(page: Any) -> None:
    """Wait until the server has nothing more to say."""
    page.wait_for_selector('[data-testid="stApp"][data-test-connection-state="CONNECTED"]')
    rests, end = '[data-testid="stApp"][data-test-script-state="notRunning"]', time.monotonic() + WAIT_MS / 1000
    while time.monotonic() < end:
        page.wait_for_selector(rests)
        page.wait_for_timeout(600)  # tables and uploaders take a moment after the script to stop moving
        if page.locator(rests).count():  # what was asked for just before had not begun
            return
    raise RuntimeError(f"{page.url} does not come to rest.")
