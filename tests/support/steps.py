"""Steps that browser tests take on a page, and the small model that they begin with."""

from __future__ import annotations

import time

from shapewise.ingest.read import read_file
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.places import ROOT
from tests.support.serving import settle


def press(page, name):
    page.get_by_role("button", name=name, exact=True).first.click()


def options(page, place=0):
    """Open the options of one of the charts, the first one at the top."""
    page.get_by_role("button", name="Options", exact=True).nth(place).click()


def upload(page, path):
    page.locator('[data-testid="stFileUploaderDropzone"]').last.wait_for()
    page.locator('input[type="file"]').last.set_input_files(str(path))


def row(page, place):
    """Click on a feature in the list of Shapes."""
    grid = page.get_by_test_id("stDataFrame").first.bounding_box()
    page.mouse.click(grid["x"] + 70, grid["y"] + 35 * (place + 1.5))
    settle(page)


def drag_along(page, plot, start, end):
    """Drag over a curve; places are shares of its width."""
    area = plot.locator(".draglayer .xy .nsewdrag").bounding_box()
    middle = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + start * area["width"], middle)
    page.mouse.down()
    page.mouse.move(area["x"] + end * area["width"], middle, steps=12)
    page.mouse.up()
    settle(page)


def in_sight(page, element, seconds=5.0):
    """Whether an element is wholly inside the window, or soon will be: what a run replaces is gone for a moment."""
    until = time.monotonic() + seconds
    while not _inside(element.bounding_box(), page.viewport_size):
        if time.monotonic() > until:
            return False
        page.wait_for_timeout(50)
    return True


def _inside(box, window):
    return (
        box is not None and box["x"] >= 0 and box["y"] >= 0
        and box["x"] + box["width"] <= window["width"] and box["y"] + box["height"] <= window["height"]
    )  # fmt: skip


def small_model(space, preset="fast", rounds=20):
    data = (ROOT / "sample_data" / "housing.csv").read_bytes()
    loaded = read_file("housing.csv", data)
    table = space.tables.add(loaded.frame, "housing", loaded.notes)
    features = [name for name in loaded.frame.columns if name != "price_thousand"]
    spec = Spec(table.id, "price_thousand", "prices", features, preset=preset, changes={"max_rounds": rounds})
    return train(space, spec)
