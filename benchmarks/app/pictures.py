"""Pictures of every page for the documentation: `python -m benchmarks.app.pictures`.

The guided example, a model of pairs and one of tasks are made anew in a workspace of their own, and each page is taken
in both themes. So the pictures show the app as it is; names on the command line take those pages alone.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.app.pages import workspace
from shapewise.decisions import boards
from shapewise.decisions import guided_example as example
from shapewise.store.workspace import ModelAbout, Workspace
from tests.support.places import ROOT
from tests.support.serving import Server, browser_path, browsing, settle, window
from tests.support.steps import row

FOLDER = ROOT / "docs" / "pictures"
THEMES = ("light", "dark")
WIDTH = 1200
QUALITY = 80


def nothing(page: Any) -> None:
    """Leave the page as it opens."""


def to(page: Any, element: Any) -> None:
    """Scroll until an element is near the top."""
    settle(page)
    element.first.wait_for()
    element.first.evaluate("one => one.scrollIntoView()")


def drawn(page: Any) -> None:
    """Wait for a curve that is made while the page is open."""
    page.locator(".js-plotly-plot").first.wait_for()


def age(page: Any) -> None:
    """Choose a feature whose curve bends."""
    row(page, 3)
    page.locator("[class*=st-key-headline]", has_text="age").first.wait_for()


def heat_map(page: Any) -> None:
    """Scroll past the ranking, to the pair."""
    to(page, page.get_by_text("Pair, by importance"))


def read_out(page: Any) -> None:
    """Turn from the plan of a test to what it measured."""
    page.get_by_text("Read-out", exact=True).click()
    to(page, page.locator(".js-plotly-plot"))


@dataclass(frozen=True)
class Shot:
    """A picture: the page, the model or board in view, the height of the window, and what is done first."""

    page: str
    about: str = "model={renew}"
    height: int = 860
    first: Callable[[Any], None] = nothing


SHOTS = {
    "home": Shot("home"),
    "data": Shot("data", "table={table}"),
    "train": Shot("train", "table={table}", first=drawn),
    "models": Shot("models"),
    "overview": Shot("overview"),
    "shapes": Shot("shapes", first=age),
    "pairs": Shot("pairs", "model={pairs}"),
    "heat-map": Shot("pairs", "model={pairs}", first=heat_map),
    "rows": Shot("rows"),
    "compare": Shot("compare", "model={renew}&with={pairs}"),
    "tasks": Shot("tasks", "model={tasks}"),
    "strategies": Shot("strategies", "board={board}", 940),
    "plan": Shot("experiment", "board={board}", 940),
    "read-out": Shot("experiment", "board={board}", 940, read_out),
    "report": Shot("report", "board={board}"),
}


def places(space: Workspace, pairs: ModelAbout) -> dict[str, str]:
    """Return the ids that addresses are made of."""
    table = example.find(space, example.FUNNEL)
    assert table is not None
    renew = example.model(space, table.id, example.PARTS[0])
    assert renew is not None
    tasks = next(model for model in space.models.listed() if model.of_tasks)
    board = boards.boards(space, table.id)[0]
    return {"table": table.id, "renew": renew.id, "pairs": pairs.id, "tasks": tasks.id, "board": board.id}


def squeezed(png: bytes) -> bytes:
    """Return a screenshot as a WebP file of some tens of kilobytes."""
    file = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").save(file, "WEBP", quality=QUALITY, method=6)
    return file.getvalue()


def taken(browser: Any, address: str, ids: dict[str, str], names: list[str]) -> Iterator[tuple[str, bytes]]:
    """Open each page in each theme; yield its name and picture."""
    for theme in THEMES:
        context = window(browser, base_url=address, color_scheme=theme, reduced_motion="reduce")
        page = context.new_page()
        for name in names:
            shot = SHOTS[name]
            page.set_viewport_size({"width": WIDTH, "height": shot.height})
            page.goto(f"/{shot.page}?{shot.about.format(**ids)}")
            settle(page)
            shot.first(page)
            settle(page)
            page.mouse.move(0, 0)
            yield f"{name}-{theme}", squeezed(page.screenshot())
        context.close()


def main() -> None:
    """Take the pictures, and print their sizes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*SHOTS, []], help="pages; all if none is named")
    parser.add_argument("--workspace", type=Path, help="a workspace of an earlier run, or for it")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    browser = browser_path()
    if browser is None:
        sys.exit("No Chromium on this machine: install one to take pictures of the app.")
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        space, pairs = workspace(asked.workspace or Path(scratch) / "workspace")
        server = Server(space.root)
        try:
            with browsing(browser) as chromium:
                shots = taken(chromium, server.ready(), places(space, pairs), asked.names or list(SHOTS))
                for name, picture in shots:
                    (asked.folder / f"{name}.webp").write_bytes(picture)
                    print(f"{name}.webp: {len(picture) // 1024} kB")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
