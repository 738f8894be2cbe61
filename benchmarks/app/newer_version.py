"""From a newer file to the slide of *Why did it move?*: `python -m benchmarks.app.newer_version [--rows 100000]`.

On a real server in a real browser: the file is handed over, then come two clicks, on the panel and on *Slide*. CPU
seconds are those of the server with all its children and of the browser, since a busy machine tells other times.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from shapewise.store.workspace import Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.serving import browser_path, browsing, serving, settle, window

MOST_SECONDS = 20


def month(n: int, seed: int, older: float) -> pd.DataFrame:
    """Return the customers of a month. older : by how many years."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"c{k}": rng.normal(size=n).round(3) for k in range(10)})
    frame["age"] = rng.normal(40 + older, 9, n).round()
    frame["plan"] = rng.choice(["basic", "plus", "pro"], n)
    frame["region"] = rng.choice([f"r{k}" for k in range(20)], n)
    score = 0.1 * (frame["age"] - 40) + 0.5 * (frame["plan"] == "plus") + 0.3 * frame["c0"] - 0.2 * frame["c1"] ** 2
    frame["stays"] = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-score)), "yes", "no")
    return frame


def cpu_seconds() -> float:
    """Return the CPU seconds of all that this process has started: server, readers and browser."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times = child.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--rows", type=int, default=100_000)
    options = asked.parse_args()
    browser = browser_path()
    if browser is None:
        raise SystemExit("There is no Chromium on this machine.")
    with tempfile.TemporaryDirectory() as folder:
        space, newer = Workspace(Path(folder) / "space"), Path(folder) / "customers.csv"
        old = month(options.rows, 0, 0)
        table = space.tables.add(old, "customers", [])
        features = [name for name in old if name != "stays"]
        train(space, Spec(table.id, "stays", "a model", features, positive=["yes"], preset="fast", bands=0), 2)
        month(options.rows, 1, 3).to_csv(newer, index=False)
        with serving(space.root) as address, browsing(browser) as chromium:
            page = window(chromium, base_url=address, viewport={"width": 1440, "height": 900}).new_page()
            page.goto(f"/data?table={table.id}")
            settle(page)
            page.get_by_role("button", name="Newer version").click()
            clock = [(time.monotonic(), cpu_seconds())]
            page.locator('input[type="file"]').first.set_input_files(newer)
            page.get_by_text("It replaces the version of").wait_for()
            panel = page.get_by_text("Why did it move?")
            panel.wait_for()
            clock.append((time.monotonic(), cpu_seconds()))
            panel.click()
            page.get_by_text("stays = yes,").first.wait_for()
            clock.append((time.monotonic(), cpu_seconds()))
            with page.expect_download() as slide:
                page.get_by_role("button", name="Slide").click()
            size = Path(slide.value.path()).stat().st_size
            clock.append((time.monotonic(), cpu_seconds()))
    for step, before, after in zip(("read", "waterfall", "slide"), clock, clock[1:], strict=False):
        print(f"{step}: {after[0] - before[0]:.1f} s, {after[1] - before[1]:.1f} CPU seconds")
    seconds, cpu = (last - first for first, last in zip(clock[0], clock[-1], strict=True))
    print(f"{options.rows:,} rows, a slide of {size / 1024:.0f} KiB: {seconds:.1f} s, {cpu:.1f} CPU seconds")
    if seconds > MOST_SECONDS:
        raise SystemExit(f"More than {MOST_SECONDS} s.")


if __name__ == "__main__":
    main()
