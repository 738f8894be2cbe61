"""The first minutes of somebody new, in seconds: `python -m benchmarks.app.first_minute [--json FILE]`.

From nothing over `python -m venv` and `pip install "shapewise[app]"` to the first curve of a CSV of one's own, in a
browser. The wheel is built beforehand, and the rest comes from the package registry or pip's cache. The kernels are
compiled as on a new machine; a second start, from another environment, shows what is left once they are. Needs the
extra `[test]`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

from benchmarks.app.jobs import READ, Hand, files
from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from tests.support import serving
from tests.support.places import ROOT

STARTING_MS = 15 * 60_000
"""For what may wait for compilers."""


class Log:
    """What has been done, and the seconds since the beginning."""

    def __init__(self) -> None:
        self._began, self.steps = time.monotonic(), dict[str, float]()

    def note(self, step: str) -> None:
        self.steps[step] = round(time.monotonic() - self._began, 1)
        print(f"{self.steps[step]:7.1f} s  {step}", flush=True)


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def install(folder: Path, wheel: Path, log: Log) -> Path:
    """Install a wheel with the app into a new environment; return the path of its command."""
    venv.create(folder, with_pip=True)
    log.note("an environment")
    constraints = ROOT / "constraints.txt"
    run(folder / "bin" / "pip", "install", "-q", "--constraint", constraints, f"{wheel}[app]")
    log.note('pip install "shapewise[app]"')
    return folder / "bin" / "shapewise"


def first_curve(command: Path, folder: Path, browser: Any, log: Log) -> None:
    """Start the app on an empty workspace, give it a CSV, train, and read a curve."""
    folder.mkdir()
    files(folder)
    changes = {"HOME": str(folder), "GAMCORE_CACHE_DIR": str(folder.parent / "cache"), "GAMCORE_WARM_UP": "1"}
    server = serving.Server(folder, changes, installed=command)
    try:
        page = serving.window(browser, viewport={"width": 1440, "height": 900}).new_page()
        page.set_default_timeout(STARTING_MS)
        page.goto(server.ready())
        log.note("the server answers")
        hand = Hand(page)
        page.get_by_role("heading", name="Home", exact=True).wait_for()
        log.note("Home")
        hand.give(folder / "flats.csv")
        page.get_by_role("button", name="Train on this table").wait_for()
        log.note("the CSV is a table")
        hand.press("Train on this table")
        hand.press("Train")
        log.note("Train is pressed")
        page.locator(".js-plotly-plot .scatterlayer path.js-line").first.wait_for()
        log.note("the first curve")
        hand.press(READ)
        page.wait_for_url("**/shapes?*")
        page.locator(".js-plotly-plot .scatterlayer path.js-line").first.wait_for()
        log.note("Shapes")
    finally:
        server.stop()


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--json", type=Path, help="a file for the results")
    options = asked.parse_args()
    path = serving.browser_path()
    if path is None:
        asked.error("There is no Chromium on this machine.")
    os.environ.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, serving.browsing(path) as browser:
        folder, logs = Path(place), dict[str, dict[str, float]]()
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
        (wheel,) = folder.glob("*.whl")
        for name in ("on a new machine", "once kernels are compiled"):
            print(name)
            log = Log()
            command = install(folder / f"environment {len(logs)}", wheel, log)
            first_curve(command, folder / f"space {len(logs)}", browser, log)
            logs[name] = log.steps
    if options.json:
        keep(options.json, {"machine": describe(), "steps": logs})


if __name__ == "__main__":
    main()
