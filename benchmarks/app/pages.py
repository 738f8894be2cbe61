"""Page changes in a real browser: `python -m benchmarks.app.pages --json FILE`.

A workspace with the guided example, a model of pairs and one of tasks; the server as in production, with its warm-up.
Three measurements, each from the click or the address to the page as drawn (see `page_clock`):

- first: a server that has just started, kernels compiled at an earlier start; every page is opened once.
- warm: the same session goes from page to page by the menu, in a random order; then to other features on Shapes.
- empty: a server whose kernels were never compiled; every page is opened once, those that need kernels first.

Goals: warm pages with a median under .4 s and a p95 under 1 s, a next feature under .4 s; a first visit under 5 s, and
with an empty cache something to read under 5 s. Another process on the machine spoils the figures: its load is printed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.app.load import prepared
from benchmarks.app.page_clock import WAIT_MS, WATCH, Look, by_address, by_menu, next_feature
from benchmarks.app.page_report import lines, missed
from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from benchmarks.harness.watch import Watch
from gamcore.kernels.warmup import warmup
from shapewise.decisions import guided_example as example
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.training.train import add_bands, train
from shapewise.ui.explain.feature_list import ROW_PIXELS
from tests.support.serving import Server, browser_path, browsing, window

PAGES = {
    "home": "Home", "data": "Data", "train": "Train", "models": "Models", "overview": "Overview", "shapes": "Shapes",
    "pairs": "Pairs", "rows": "Rows", "compare": "Compare", "strategies": "Strategies", "experiment": "Experiment",
    "report": "Report",
}  # fmt: skip
"""Title by path. Tasks shows another kind of model, and says so."""

NEED_KERNELS = ("pairs", "train")
SIZE = {"width": 1440, "height": 900}
N_PAIRS = 5


def model_of_pairs(space: Workspace) -> ModelAbout:
    """Train a model with pairs and bands on the sample funnel."""
    table = example.find(space, example.FUNNEL)
    assert table is not None
    spec = example.spec(table, list(space.tables.read(table.id).columns), example.PARTS[0])
    model = train(space, replace(spec, name="renew with pairs", changes={"interactions": N_PAIRS}), 2)
    return add_bands(space, model.id, 2)


@contextmanager
def reading(space: Workspace, browser: str, changes: dict[str, str]) -> Iterator[Any]:
    """Start a server as in production and a browser; yield the browser's page."""
    server = Server(space.root, {"GAMCORE_WARM_UP": "1", **changes}, bare=True)
    try:
        with browsing(browser) as chromium:
            page = window(chromium, base_url=server.ready(), viewport=SIZE).new_page()
            page.set_default_timeout(WAIT_MS)
            page.add_init_script(f"({WATCH})()")
            yield page
    finally:
        server.stop()


def first_visits(page: Any, model: ModelAbout, order: list[str]) -> list[Look]:
    """Open every page once: the first by its address, the others by the menu."""
    first, *others = order
    asked = f"/{first}?model={model.id}&table={model.table}"
    return [by_address(page, first, PAGES[first], asked), *(by_menu(page, other, PAGES[other]) for other in others)]


def changes_of_page(page: Any, rounds: int, rng: random.Random) -> list[Look]:
    """Go through all pages by the menu, each round in another order."""
    looks: list[Look] = []
    for _ in range(rounds):
        order = rng.sample(list(PAGES), len(PAGES))
        if looks and looks[-1].page == order[0]:
            order.reverse()
        looks += [by_menu(page, name, PAGES[name]) for name in order]
    return looks


def features(page: Any, number: int, rng: random.Random) -> list[Look]:
    """Go from feature to feature on Shapes; no feature follows itself."""
    by_menu(page, "shapes", PAGES["shapes"]) if "/shapes" not in page.url else None
    places, looks = [0], []
    for _ in range(number):
        places.append(rng.choice([place for place in range(8) if place != places[-1]]))
        looks.append(next_feature(page, places[-1], ROW_PIXELS))
    return looks[1:]  # the first may have chosen what was shown before


def main() -> None:
    """Measure, and print the seconds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="visits of each page in the warm measurement")
    parser.add_argument("--features", type=int, default=20, help="changes of the feature on Shapes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-empty", action="store_true", help="leave out the server without compiled kernels")
    parser.add_argument("--workspace", type=Path, help="a workspace of an earlier run of this benchmark, or for it")
    parser.add_argument("--json", type=Path, help="file of the result")
    asked = parser.parse_args()
    browser = browser_path()
    if browser is None:
        sys.exit("No Chromium on this machine: install one to time the app in it.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        result = measured(asked, browser, Path(scratch))
    print("\n".join(lines(result)), *missed(result), sep="\n")
    if asked.json:
        keep(asked.json, result)


def workspace(folder: Path) -> tuple[Workspace, ModelAbout]:
    """Return the workspace, set up if it is new, and its model of pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    space = Workspace(folder)
    if not space.models.listed():
        prepared(space)
    there = next((model for model in space.models.listed() if model.n_pairs == N_PAIRS), None)
    return space, there or model_of_pairs(space)


def measured(asked: argparse.Namespace, browser: str, scratch: Path) -> dict[str, Any]:
    """Return the seconds of all visits, and what the machine did beside them."""
    rng = random.Random(asked.seed)
    space, model = workspace(asked.workspace or scratch / "workspace")
    warmup()  # training compiles only what it calls, and "first" is a machine on which all was compiled before
    looks: dict[str, list[Look]] = {}
    with reading(space, browser, {}) as page, Watch() as watch:  # its children are the server and the browser
        looks["first"] = first_visits(page, model, rng.sample(list(PAGES), len(PAGES)))
        looks["warm"] = changes_of_page(page, asked.rounds, rng)
        looks["features"] = features(page, asked.features, rng)
    if not asked.no_empty:
        order = [*NEED_KERNELS, *(name for name in PAGES if name not in NEED_KERNELS)]
        with reading(space, browser, {"GAMCORE_CACHE_DIR": str(scratch / "kernels")}) as page:
            looks["empty"] = first_visits(page, model, order)
    about = {"machine": describe("streamlit", "plotly"), "others_cores": watch.others}
    return about | {name: [asdict(look) for look in visits] for name, visits in looks.items()}


if __name__ == "__main__":
    main()
