"""From a click on "Higher priority" to the redrawn board of a big table: `python -m benchmarks.app.board`.

Six strategies on a million rows of the sample funnel, in a fresh workspace, on a real server in a real browser. The
clock runs in the page, from the click to the frame in which another card is first. Needs the extra `[test]`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness.machine import describe
from gamcore.decide.rules import AnyOf, Levels, Missing, Not, Range
from gamcore.decide.strategies import Strategy, StrategySet
from sample_data.generate import renewal
from shapewise.decisions import boards as board
from shapewise.store.workspace import Workspace
from tests.support.serving import browser_path, browsing, serving, settle, window

RULES = {
    "A": AnyOf((Levels("sex", ("female",)), Range("position_clicks", None, 4.0))),
    "B": Range("fund_visits", 4.0),
    "C": Range("balance", 12_000.0),
    "D": Range("age", 60.0),
    "E": Missing("education"),
    "F": Not(Levels("coupon", ("True",))),
}
CLOCK = """async () => {
    const first = () => [...document.querySelectorAll('strong')].find(s => s.innerText.startsWith('1 · '))?.innerText;
    const was = first(), began = performance.now();
    [...document.querySelectorAll('button')].find(b => b.innerText.includes('Alt')).click();
    while (first() === was || !first()) {
        if (performance.now() - began > 10000) return NaN;
        await new Promise(requestAnimationFrame);
    }
    return performance.now() - began;
}"""


def prepared(space: Workspace, millions: int) -> board.Board:
    """Store the table, and return a board on it."""
    parts = [renewal(500_000, seed) for seed in range(2 * millions)]
    table = space.tables.add(pd.concat(parts, ignore_index=True), "many")
    strategy_set = StrategySet(
        "Many", tuple(Strategy(name, rule) for name, rule in RULES.items()), Levels("step", ("drop",))
    )
    return board.add_board(space, strategy_set, table.id)


def clicks(page: Any, times: int) -> list[float]:
    """Return the milliseconds of clicks that move the second card to the top."""
    seconds = []
    for _ in range(times):
        seconds.append(float(page.evaluate(CLOCK)))
        settle(page)
    return seconds


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--clicks", type=int, default=20)
    asked.add_argument("--millions", type=int, default=1)
    options = asked.parse_args()
    browser = browser_path()
    if browser is None:
        raise SystemExit("There is no Chromium on this machine.")
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        prepared_board = prepared(space, options.millions)
        with serving(space.root) as address, browsing(browser) as chromium:
            page = window(chromium, base_url=address, viewport={"width": 1400, "height": 1300}).new_page()
            page.goto(f"/strategies?table={prepared_board.table}&board={prepared_board.id}")
            page.get_by_text("In this order").wait_for(timeout=120_000)
            settle(page)
            times = clicks(page, options.clicks)
    machine = describe()
    where = ", ".join(f"{name} {machine[name]}" for name in ("processor", "cores", "python"))
    middle, most, worst = np.quantile(times, [0.5, 0.9, 1.0])
    print(
        f"{where}: {options.millions:,} million rows, {len(RULES)} strategies, {len(times)} clicks: median "
        f"{middle:.0f} ms, nine in ten under {most:.0f} ms, the slowest {worst:.0f} ms."
    )


if __name__ == "__main__":
    main()
