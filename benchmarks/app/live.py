"""From a click to the redrawn curve, in a real browser: `python -m benchmarks.app.live --data DIR --json FILE`.

A model of one table is trained in a fresh workspace, the Shapes page is opened in Chromium, and features other than the
drawn one are turned off, one after the other, then on again, so that no click asks for what was fitted before. The
clock runs in the page, from the click's event to the first frame in which plotly holds another curve. Needs the extra
`[test]`, which brings the browser's driver.
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
WAIT_MS = 20_000
CURVE = """(() => { const plot = document.querySelector('.js-plotly-plot');
    return plot && plot.data ? JSON.stringify(plot.data.map(t => [t.name, t.y])) : ''; })()"""
CLOCK = f"""() => {{
    window.found = null;
    const was = {CURVE};
    document.addEventListener('click', event => {{
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


def clicks(page: Any, names: list[str]) -> list[float]:
    """Return the seconds from each click on a feature's switch to the redrawn curve: all off, then on but for the
    last."""
    switches = page.get_by_test_id("stButtonGroup").filter(has_text="Features in the model")
    times = []
    for name in [*names, *names[:-1]]:
        page.evaluate(CLOCK)
        switches.get_by_role("button", name=name, exact=True).click()
        page.wait_for_function("() => window.found !== null", timeout=WAIT_MS)
        times.append(page.evaluate("() => window.found") / 1e3)
        settle(page)
    return times


def measured(space: Workspace, model: ModelAbout, theme: str, browser: str, most: int) -> list[float]:
    """Return the seconds of the clicks, on a server of their own, which has no refit yet."""
    drawn, *names = model.spec["features"][: most + 1]
    look = {"color_scheme": theme, "viewport": {"width": 1400, "height": 900}}
    with serving(space.root) as address, browsing(browser) as chromium:
        page = window(chromium, base_url=address, **look).new_page()
        page.goto(f"/shapes?model={model.id}&feature={drawn}")
        page.locator(".js-plotly-plot").first.wait_for(timeout=WAIT_MS)
        settle(page)
        return clicks(page, names)


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the real tables (Parquet)")
    parser.add_argument("--json", type=Path, required=True, help="file of the result")
    parser.add_argument("--table", default="adult", choices=[*REGRESSION, *POSITIVE])
    parser.add_argument("--clicks", type=int, default=7, help="features that are turned off and on again")
    asked = parser.parse_args()
    browser = browser_path()
    if browser is None:
        sys.exit("No Chromium on this machine: install one to time the app in it.")
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        model = prepared(space, asked.data, asked.table)
        times = {theme: measured(space, model, theme, browser, asked.clicks) for theme in THEMES}
    about = {"table": asked.table, "rows": model.rows, "machine": describe("streamlit", "plotly")}
    keep(asked.json, about | {"seconds": times})
    for theme, seconds in times.items():
        print(f"{theme:6} {len(seconds)} clicks: median {np.median(seconds):.3f} s, longest {max(seconds):.3f} s")


if __name__ == "__main__":
    main()
