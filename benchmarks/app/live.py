"""From a changed setting to the redrawn curve, in a browser: `python -m benchmarks.app.live --data DIR --json FILE`.

A model of one table is trained in a fresh workspace, the Shapes page is opened in Chromium, and the sliders of two
settings are moved by the right arrow key, so that no change asks for what was fitted before. The clock runs in the
page, from the key's event to the first frame in which plotly holds another curve. Needs the extra `[test]`, which
brings the browser's driver.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from benchmarks.harness.tables import POSITIVE, REGRESSION
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.serving import browser_path, browsing, serving, settle, window

THEMES = ("light", "dark")
SLIDERS = ("Leaves per tree", "Smoothing rounds")
WAIT_MS = 20_000
CURVE = """(() => { const plot = document.querySelector('.js-plotly-plot');
    return plot && plot.data ? JSON.stringify(plot.data.map(t => [t.name, t.y])) : ''; })()"""
CLOCK = f"""() => {{
    window.found = null;
    const was = {CURVE};
    document.addEventListener('keydown', event => {{
        const look = () => {{
            const now = {CURVE};
            if (now && now !== was) window.found = performance.now() - event.timeStamp;
            else requestAnimationFrame(look);
        }};
        requestAnimationFrame(look);
    }}, {{once: true, capture: true}});
}}"""


def prepared(space: Workspace, data: Path, name: str) -> ModelAbout:
    """Store the table in the workspace, and return its default model."""
    frame = pd.read_parquet(data / f"{name}.parquet")
    *features, target = frame.columns
    table = space.tables.add(frame, name)
    positive = [POSITIVE[name]] if name in POSITIVE else None
    return train(space, Spec(table.id, target, name, features, positive=positive))


def changes(page: Any, most: int) -> list[float]:
    """Return the seconds from each key on a setting's slider to the redrawn curve."""
    page.get_by_test_id("stButtonGroup").get_by_text("Try other settings").click()
    settle(page)
    times = []
    for name in SLIDERS:
        for _ in range(most):
            slider = page.get_by_role("slider", name=name)
            slider.focus()
            page.evaluate(CLOCK)
            slider.press("ArrowRight")
            page.wait_for_function("() => window.found !== null", timeout=WAIT_MS)
            times.append(page.evaluate("() => window.found") / 1e3)
            settle(page)
    return times


def measured(space: Workspace, model: ModelAbout, theme: str, browser: str, most: int) -> list[float]:
    """Return the seconds of the changes, on a server of their own, which has no refit yet."""
    drawn = model.spec["features"][0]
    look = {"color_scheme": theme, "viewport": {"width": 1400, "height": 900}}
    with serving(space.root) as address, browsing(browser) as chromium:
        page = window(chromium, base_url=address, **look).new_page()
        page.goto(f"/shapes?model={model.id}&feature={drawn}")
        page.locator(".js-plotly-plot").first.wait_for(timeout=WAIT_MS)
        settle(page)
        return changes(page, most)


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the real tables (Parquet)")
    parser.add_argument("--json", type=Path, required=True, help="file of the result")
    parser.add_argument("--table", default="adult", choices=[*REGRESSION, *POSITIVE])
    parser.add_argument("--changes", type=int, default=6, help="of each of two settings")
    asked = parser.parse_args()
    browser = browser_path()
    if browser is None:
        sys.exit("No Chromium on this machine: install one to time the app in it.")
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        model = prepared(space, asked.data, asked.table)
        times = {theme: measured(space, model, theme, browser, asked.changes) for theme in THEMES}
    about = {"table": asked.table, "rows": model.rows, "machine": describe("streamlit", "plotly")}
    keep(asked.json, about | {"seconds": times})
    for theme, seconds in times.items():
        print(f"{theme:6} {len(seconds)} changes: median {np.median(seconds):.3f} s, longest {max(seconds):.3f} s")


if __name__ == "__main__":
    main()
