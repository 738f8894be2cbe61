"""Contact sheets of every page, to be read as a designer reads them: `python -m benchmarks.app.sheets table.csv`.

The table is loaded as it comes, a model is trained as Train proposes, with pairs and bands, and its largest segments
make a board; a second model leaves out the strongest feature. Each page is then taken empty and full, at three widths,
in both themes, and pasted on one sheet. What `tests.support.measuring` counts as a fault is printed beside it. Without
a table, the guided example is taken.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from benchmarks.app.pages import workspace
from benchmarks.wild.first_form import first_spec
from gamcore.data.table import Table
from gamcore.decide.rules import rounded
from gamcore.decide.segments import suggest
from gamcore.decide.strategies import StrategySet
from gamcore.model.additive import AdditiveModel
from shapewise.decisions import boards
from shapewise.doctor.examine import examine
from shapewise.ingest.read import read_file
from shapewise.store.workspace import ModelAbout, TableAbout, Workspace
from shapewise.training.dataset import read_data
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.measuring import CHART_ENDS, PHONE_HEIGHT, faults_at_rest, late_faults, tile_faults
from tests.support.serving import CALM, Server, browser_path, browsing, settle, window

PAGES: Final = {
    "home": "", "data": "table={table}", "train": "table={table}", "models": "model={model}",
    "overview": "model={model}", "shapes": "model={model}", "pairs": "model={model}", "rows": "model={model}",
    "compare": "model={model}&with={other}", "tasks": "model={tasks}", "strategies": "board={board}",
    "experiment": "board={board}", "report": "board={board}&model={model}",
}  # fmt: skip
SIZES: Final = {1440: 900, 1024: 768, 390: PHONE_HEIGHT}
THEMES: Final = ("light", "dark")
STATES: Final = ("empty", "full")
WHOLE: Final = 3600
"""Height of a window that shows all of nearly any page."""

GAP: Final = 16
N_PAIRS = 3


@dataclass(frozen=True)
class View:
    """One picture of a page, and the faults that were measured on it."""

    page: str
    full: bool
    theme: str
    width: int
    png: bytes
    faults: list[str]


def learn(space: Workspace, file: Path, tasks: str | None) -> None:
    """Load a table, train on it and make a board. tasks : a column whose levels are the tasks of a model; the shortest
    list of levels among the features if None."""
    loaded = read_file(file.name, file.read_bytes())
    table = space.tables.add(loaded.frame, file.stem, loaded.notes)
    frame = space.tables.read(table.id)
    reports = examine(frame)
    spec = replace(first_spec(table, Table.of(frame), reports, pairs=True), changes={"interactions": N_PAIRS})
    model = train(space, spec, 2)
    strongest = _strongest(space, model)
    others = [name for name in spec.features if name != strongest]
    train(space, replace(spec, name=f"{spec.name} without {strongest}", changes={}, features=others), 2)
    levels = {report.name: report.distinct for report in reports
              if report.name in spec.features and report.kind == "category" and report.distinct > 2}  # fmt: skip
    column = tasks or (min(levels, key=levels.__getitem__) if levels else None)
    if column is not None and spec.goal in ("binary", "number"):
        features = [name for name in spec.features if name != column]
        train(space, replace(spec, name=f"{spec.name} by {column}", features=features, kind="tasks", task=column,
                             preset="fast", changes={"max_rounds": 60}), 2)  # fmt: skip
    _add_board(space, table, model)


def ids_of(space: Workspace) -> dict[str, str]:
    """Return the ids that addresses are made of."""
    models = space.models.listed()
    model = next(model for model in models if model.n_pairs and not model.of_tasks)
    other = next(
        candidate
        for candidate in models
        if candidate.table == model.table and candidate.id != model.id and not candidate.of_tasks
    )
    tasks = next((model for model in models if model.of_tasks), model)
    board = boards.boards(space, model.table)[0]
    return {"table": model.table, "model": model.id, "other": other.id, "tasks": tasks.id, "board": board.id}


def _strongest(space: Workspace, model: ModelAbout) -> str:
    fitted = space.models.load(model.id).model
    assert isinstance(fitted, AdditiveModel)
    ranges = [np.ptp(term.scores) for term in fitted.terms[: len(fitted.bins)]]
    return str(fitted.bins[int(np.argmax(ranges))].feature.name)


def _add_board(space: Workspace, table: TableAbout, model: ModelAbout) -> None:
    """Store the largest segments of a model as the strategies of a board."""
    frame, spec, fitted = space.tables.read(table.id), Spec.from_dict(model.spec), space.models.load(model.id).model
    assert isinstance(fitted, AdditiveModel)
    data = read_data(frame, spec, space.tables.about(table.id).held_out_by)
    held = data.X.index[data.held_out]
    strategies = []
    for name, segment in zip(
        "AB", suggest(fitted, frame.loc[held], data.y[data.held_out].to_numpy(float)), strict=False
    ):
        rule, scenario = rounded(segment.rule, frame), (model.id, model.name)
        boards.add_segment(space, f"{name}: {rule.words()}", rule, table.id, scenario, segment.evidence)
        strategies.append(
            replace(boards.strategy_for(name, rule, spec.target, scenario, segment.evidence), action="Write")
        )
    boards.add_board(space, StrategySet(f"Strategies for {table.name}", tuple(strategies)), table.id)


def views(browser: Any, address: str, asked: argparse.Namespace, ids: dict[str, str] | None) -> Iterator[View]:
    """Yield each page that is asked for, at each width in each theme. ids : None for pages of an empty workspace."""
    tall = WHOLE if asked.whole else 0
    for theme in asked.themes:
        context = window(browser, base_url=address, color_scheme=theme, **CALM)
        page = context.new_page()
        for name in asked.pages:
            page.set_viewport_size({"width": max(SIZES), "height": tall or SIZES[max(SIZES)]})
            page.goto(f"/{name}?{PAGES[name].format(**ids)}" if ids else f"/{name}")
            settle(page)
            for width, height in SIZES.items():
                page.set_viewport_size({"width": width, "height": tall or height})
                settle(page)
                faults = faults_at_rest(page) + tile_faults(page)
                if ids and not tall and name in CHART_ENDS:
                    faults += late_faults(page, width, CHART_ENDS[name])
                yield View(name, ids is not None, theme, width, page.screenshot(), faults)
        context.close()


def sheet(shots: list[View]) -> Image.Image:
    """Paste the views of a page: a row per state and theme, a column per width."""
    images = {(shot.full, shot.theme, shot.width): Image.open(io.BytesIO(shot.png)).convert("RGB") for shot in shots}
    rows = sorted({key[:2] for key in images}, reverse=True)
    heights = [max(images[*row, width].height for width in SIZES) for row in rows]
    size = (sum(SIZES) + GAP * (len(SIZES) + 1), sum(heights) + GAP * (len(rows) + 1))
    whole, top = Image.new("RGB", size, "#808080"), GAP
    for row, height in zip(rows, heights, strict=True):
        left = GAP
        for width in SIZES:
            whole.paste(images[*row, width], (left, top))
            left += width + GAP
        top += height + GAP
    return whole


def main() -> None:
    """Take the sheets, and print the faults that were measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("table", nargs="?", type=Path, help="a file of a table; the guided example without")
    parser.add_argument("--tasks", help="a column whose levels are tasks")
    parser.add_argument("--pages", nargs="+", choices=PAGES, default=list(PAGES))
    parser.add_argument("--states", nargs="+", choices=STATES, default=STATES)
    parser.add_argument("--themes", nargs="+", choices=THEMES, default=THEMES)
    parser.add_argument("--folder", type=Path, default=Path("sheets"))
    parser.add_argument("--workspace", type=Path, help="a workspace of an earlier run, or for it")
    parser.add_argument("--whole", action="store_true", help="windows as tall as pages, not as screens")
    asked = parser.parse_args()
    browser = browser_path()
    if browser is None:
        sys.exit("No Chromium on this machine: install one to take pictures of the app.")
    asked.folder.mkdir(parents=True, exist_ok=True)
    shots = list[View]()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, browsing(browser) as chromium:
        for full in (state == "full" for state in asked.states):
            folder = (asked.workspace or Path(scratch) / "full") if full else Path(scratch) / "empty"
            folder.mkdir(parents=True, exist_ok=True)
            space = Workspace(folder)
            if full and not space.models.listed():
                learn(space, asked.table, asked.tasks) if asked.table else workspace(folder)
            ids = ids_of(space) if full else None
            server = Server(space.root)
            try:
                for shot in views(chromium, server.ready(), asked, ids):
                    shots.append(shot)
                    print(*(f"{shot.page} {'full' if full else 'empty'} {shot.theme} {shot.width}: {fault}"
                            for fault in shot.faults), sep="\n", end="\n" * bool(shot.faults), flush=True)  # fmt: skip
            finally:
                server.stop()
    for name in asked.pages:
        sheet([shot for shot in shots if shot.page == name]).save(asked.folder / f"{name}.png")


if __name__ == "__main__":
    main()
