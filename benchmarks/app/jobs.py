"""Clicks and seconds of five jobs, as a user would do them in a browser: `python -m benchmarks.app.jobs [--json FILE]`.

Each job begins on Home of a server with a workspace of its own, and ends when its result is on the screen or in a file.
A click is a press, a choice, a drag or a file given; looking something up in a list that has to be opened counts twice.
Seconds are of the machine: from the first click to the result, waiting before each click until the page is at rest
(.6 s of it each time to be sure of that), without any time to read. The kernels are compiled beforehand. Needs the
extra `[test]`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from sample_data import generate
from shapewise.decisions import guided_example as example
from shapewise.store.workspace import Workspace
from shapewise.training.train import add_bands, train
from tests.support.serving import browser_path, browsing, serving, settle, window

CUSTOMERS = 9_000
READ = "Read the curves"


@dataclass
class Hand:
    """A user's hand on a page: what it does is counted and timed from its first act."""

    page: Any
    clicks: int = 0
    began: float = field(default=float("nan"))
    clock: Callable[[], float] = time.monotonic

    def counted(self, clicks: int = 1) -> None:
        """Wait until the page is at rest, and count clicks."""
        if not self.clicks:
            self.began = self.clock()
        settle(self.page)
        self.clicks += clicks

    @property
    def seconds(self) -> float:
        """Seconds since the first act."""
        return self.clock() - self.began

    def press(self, name: str) -> None:
        """Press the first button of this name, once it is there."""
        button = self.page.get_by_role("button", name=name, exact=True).first
        button.wait_for()
        self.counted()
        button.click()

    def part(self, name: str) -> None:
        """Press a part of a control with several."""
        part = self.page.get_by_test_id("stButtonGroup").get_by_text(name, exact=True).first
        part.wait_for()
        self.counted()
        part.click()

    def menu(self, name: str) -> None:
        """Open a page from the menu."""
        self.counted()
        self.page.get_by_role("link", name=name, exact=True).first.click()
        self.page.get_by_role("heading", name=name, exact=True).first.wait_for()

    def text(self, words: str) -> None:
        """Click on a text, such as the head of a section that opens."""
        place = self.page.get_by_text(words).first
        place.wait_for()
        self.counted()
        place.click()

    def choose(self, label: str, option: str) -> None:
        """Choose from a list: one click to open it, one to take the option."""
        self.counted(2)
        self.page.get_by_role("combobox", name=label).first.click()
        self.page.get_by_role("option", name=option).first.click()

    def give(self, file: Path) -> None:
        """Give a file to the page."""
        zone = self.page.locator('[data-testid="stFileUploaderDropzone"]').last
        zone.wait_for()
        self.counted()
        self.page.locator('input[type="file"]').last.set_input_files(str(file))

    def drag(self, start: float, end: float) -> None:
        """Drag over the curve on the screen; places are shares of its width."""
        area = self.page.locator(".js-plotly-plot .draglayer .xy .nsewdrag").first
        area.wait_for()
        self.counted()
        box = area.bounding_box()
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + start * box["width"], y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + end * box["width"], y, steps=12)
        self.page.mouse.up()

    def download(self, name: str) -> int:
        """Press a download; return the bytes of the file."""
        self.page.get_by_role("button", name=name, exact=True).first.wait_for()
        with self.page.expect_download() as waiting:
            self.press(name)
        return Path(waiting.value.path()).stat().st_size

    def see(self, words: str) -> None:
        """Wait until the page says something."""
        self.page.get_by_text(words).first.wait_for()


def strategy_to_slides(hand: Hand, folder: Path) -> None:
    """From the sample renewal over a curve, a segment and a strategy to slides."""
    hand.press("Load renewal")
    hand.press("Train on this table")
    hand.press("Train")
    hand.press(READ)
    hand.part("Mark a segment")
    hand.drag(0.02, 0.2)
    hand.press("Save as segment")
    hand.menu("Strategies")
    hand.press("New board")
    hand.press("Add a strategy")
    hand.press("Save")
    hand.page.get_by_role("dialog").wait_for(state="detached")
    hand.menu("Report")
    hand.press("Make the report")
    assert hand.download("Download the file") > 10_000


def own_table_with_pairs(hand: Hand, folder: Path) -> None:
    """From a CSV of one's own to the heat map of its strongest pair."""
    hand.give(folder / "flats.csv")
    hand.press("Train on this table")
    hand.part("A number")
    hand.press("Train")
    hand.press(READ)
    hand.menu("Pairs")
    hand.page.locator(".js-plotly-plot").nth(1).wait_for()


def three_arms(hand: Hand, folder: Path) -> None:
    """From the CSV of an e-mail test of three arms to its verdict."""
    hand.give(folder / "emails.csv")
    hand.page.get_by_role("button", name="Train on this table").wait_for()
    hand.menu("Experiment")
    hand.see("Mens E-Mail works")


def one_customer(hand: Hand, folder: Path) -> None:
    """From a model to why its likeliest row is what it is, what would flip it, and another model's curve."""
    hand.menu("Rows")
    hand.see("What would flip it")
    hand.press("Options")
    hand.choose("In order of", "highest prediction")
    hand.see("The answer is")
    hand.menu("Compare")
    hand.page.locator("[class*=st-key-headline]").first.wait_for()


def hand_over(hand: Hand, folder: Path) -> None:
    """From a model to its SQL and a scored table, both as files."""
    hand.menu("Models")
    hand.text("Use it in other programs")
    assert hand.download("SQL") > 1_000
    hand.text("Score a table")
    hand.press("Score the table")
    assert hand.download("Download the file") > 1_000


JOBS: dict[str, Callable[[Hand, Path], None]] = {
    "sample to slides": strategy_to_slides, "own CSV with pairs": own_table_with_pairs,
    "read a test of three arms": three_arms, "one customer": one_customer, "hand over": hand_over,
}  # fmt: skip
NEED_MODELS = ("one customer", "hand over")


def files(folder: Path) -> None:
    """Write the CSV files that jobs begin with."""
    (folder / "flats.csv").write_bytes((Path(generate.__file__).parent / "housing.csv").read_bytes())
    rng = np.random.default_rng(0)
    arm = rng.choice(["No E-Mail", "Mens E-Mail", "Womens E-Mail"], CUSTOMERS)
    visit = (rng.random(CUSTOMERS) < np.where(arm == "Mens E-Mail", 0.18, 0.1)).astype(int)
    spend = (visit * rng.gamma(2, 30, CUSTOMERS)).round(2)
    recency = rng.integers(1, 13, CUSTOMERS)
    pd.DataFrame({"recency": recency, "segment": arm, "visit": visit, "spend": spend}).to_csv(
        folder / "emails.csv", index=False
    )


def models(space: Workspace) -> None:
    """Store the sample renewal and two models of it, with their bands."""
    table = example.load(space, example.FUNNEL)
    columns = [str(name) for name in space.tables.read(table.id).columns]
    for part in example.PARTS[:2]:
        add_bands(space, train(space, example.spec(table, columns, part)).id)


def done(name: str, browser: Any, folder: Path) -> dict[str, Any]:
    """Do a job on a fresh server; return its clicks and seconds."""
    folder.mkdir()
    files(folder)
    space = Workspace(folder / "space")
    models(space) if name in NEED_MODELS else None
    with serving(space.root) as address:
        context = window(browser, viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(address)
        settle(page)
        hand = Hand(page)
        JOBS[name](hand, folder)
        seconds = hand.seconds
        context.close()
    return {"job": name, "clicks": hand.clicks, "seconds": round(seconds, 1)}


def table_of(rows: list[dict[str, Any]]) -> str:
    """Return the results as Markdown."""
    lines = [f"| {row['job']} | {row['clicks']} | {row['seconds']:.0f} |" for row in rows]
    return "\n".join(["| job | clicks | seconds |", "|---|---:|---:|", *lines])


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--json", type=Path, help="a file for the results")
    asked.add_argument("--only", choices=list(JOBS), help="one job")
    options = asked.parse_args()
    path = browser_path()
    if path is None:
        asked.error("There is no Chromium on this machine.")
    with tempfile.TemporaryDirectory() as place, browsing(path) as browser:
        names = [options.only] if options.only else list(JOBS)
        rows = []
        for k, name in enumerate(names):
            rows.append(done(name, browser, Path(place) / str(k)))
            print(rows[-1], flush=True)
    print(table_of(rows))
    if options.json:
        keep(options.json, {"machine": describe(), "jobs": rows})


if __name__ == "__main__":
    main()
