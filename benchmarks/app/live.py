"""From a change to the redrawn curve, in a browser: `python -m benchmarks.app.live --data DIR --json FILE`.

A model of one table is trained in a fresh workspace, the Shapes page is opened in Chromium, and the sliders of two
settings are moved by the right arrow key, so that no change asks for what was fitted before; then that of an edit by
hand. `--rows` draws that many of the table's rows, with replacement if it has fewer. The clock runs in the page, from
the key's event to the first frame in which plotly holds another curve. Needs the extra `[test]`, which brings the
browser's driver.
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
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.real_tables import POSITIVE, REGRESSION
from tests.support.serving import browser_path, browsing, serving, settle, window

THEMES = ("light", "dark")
SLIDERS = ("Leaves per tree", "Smoothing rounds")
FREEDOM = "Degrees of freedom"
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


def prepared(space: Workspace, data: Path, name: str, rows: int) -> ModelAbout:
    """Store the table in the workspace, and return its default model."""
    frame = pd.read_parquet(data / f"{name}.parquet")
    if rows:
        frame = frame.sample(rows, replace=rows > len(frame), random_state=0, ignore_index=True)
    *features, target = frame.columns
    table = space.tables.add(frame, name)
    positive = [POSITIVE[name]] if name in POSITIVE else None
    return train(space, Spec(table.id, target, name, features, positive=positive))


def settings(page: Any, most: int) -> list[float]:
    """Return the seconds from each key on a setting's slider to the redrawn curve."""
    page.get_by_test_id("stButtonGroup").get_by_text("Try other settings").click()
    settle(page)
    return moved(page, SLIDERS, most)


def edits(page: Any, most: int) -> list[float]:
    """Return the seconds from each key on the slider of a smoothed curve to its redrawing."""
    page.get_by_test_id("stButtonGroup").get_by_text("Edit by hand").click()
    settle(page)
    page.get_by_role("combobox", name="What to do").focus()
    page.keyboard.type("Smooth")
    page.keyboard.press("Enter")
    page.get_by_role("slider", name=FREEDOM).wait_for(timeout=WAIT_MS)
    settle(page)
    return moved(page, (FREEDOM,), 2 * most)


def moved(page: Any, sliders: tuple[str, ...], most: int) -> list[float]:
    """Return the seconds from each key on some sliders to the redrawn curve."""
    times = []
    for name in sliders:
        for _ in range(most):
            slider = page.get_by_role("slider", name=name)
            slider.focus()
            page.evaluate(CLOCK)
            slider.press("ArrowRight")
            page.wait_for_function("() => window.found !== null", timeout=WAIT_MS)
            times.append(page.evaluate("() => window.found") / 1e3)
            settle(page)
    return times


def measured(space: Workspace, model: ModelAbout, theme: str, browser: str, most: int) -> dict[str, list[float]]:
    """Return the seconds of changed settings and of edits, on a server of their own, which has no refit yet."""
    drawn = model.spec["features"][0]
    times = {}
    look = {"color_scheme": theme, "viewport": {"width": 1400, "height": 900}}
    with serving(space.root) as address, browsing(browser) as chromium:
        for what, change in (("setting", settings), ("edit", edits)):
            page = window(chromium, base_url=address, **look).new_page()
            page.goto(f"/shapes?model={model.id}&feature={drawn}")
            page.locator(".js-plotly-plot").first.wait_for(timeout=WAIT_MS)
            settle(page)
            times[f"{what}, {theme}"] = change(page, most)
    return times


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the real tables (Parquet)")
    parser.add_argument("--json", type=Path, required=True, help="file of the result")
    parser.add_argument("--table", default="adult", choices=[*REGRESSION, *POSITIVE])
    parser.add_argument("--rows", type=int, default=0, help="rows drawn from the table; 0 for its own")
    parser.add_argument("--changes", type=int, default=6, help="of each of two settings")
    asked = parser.parse_args()
    browser = browser_path()
    if browser is None:
        sys.exit("No Chromium on this machine: install one to time the app in it.")
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        model = prepared(space, asked.data, asked.table, asked.rows)
        times = {}
        for theme in THEMES:
            times |= measured(space, model, theme, browser, asked.changes)
    about = {"table": asked.table, "rows": model.rows, "machine": describe("streamlit", "plotly")}
    keep(asked.json, about | {"seconds": times})
    for what, seconds in times.items():
        print(f"{what:14} {len(seconds)} changes: median {np.median(seconds):.3f} s, longest {max(seconds):.3f} s")


if __name__ == "__main__":
    main()
