"""No page cuts a text, spills it, draws it over another or makes it too pale, and pages that answer something open
with the answer: three widths, two themes."""

from __future__ import annotations

import pytest

from gamcore.decide.rules import Range
from gamcore.decide.strategies import Strategy, StrategySet
from shapewise.decisions import boards
from shapewise.ingest.read import read_file
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, train
from tests.support.measuring import CHART_ENDS, faults_at_rest, late_faults, tile_faults, too_many_controls
from tests.support.places import ROOT
from tests.support.prepared import winback
from tests.support.serving import CALM, walk, window

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

WIDTHS = (1440, 1024, 390)
OF_MODEL = ("data", "train", "models", "compare", "overview", "shapes", "pairs", "rows", "strategies", "experiment",
            "report")  # fmt: skip
FEATURES = ["age", "income", "debt_ratio", "months_employed", "card_use", "late_payments"]


@pytest.fixture
def addresses(space):
    """The pages of a project with a model of pairs and bands, a sibling, a model of tasks, and a board."""
    loaded = read_file("loans.csv", (ROOT / "sample_data" / "loans.csv").read_bytes())
    other = space.tables.add(loaded.frame.head(500), "another project, of the quarter before", loaded.notes).id
    few = {"preset": "fast", "changes": {"max_rounds": 5}}
    train(space, Spec(other, "default", "default · without months_employed", FEATURES[:3], positive=["yes"], **few))
    table = space.tables.add(loaded.frame, "loans", loaded.notes).id

    def trained(name, features=FEATURES, rounds=100, **changes):
        spec = Spec(table, "default", name, features, positive=["yes"], preset="fast", bands=10, **changes)
        return train(space, spec)

    first = trained("default · all", changes={"interactions": 3, "max_rounds": 100})
    add_bands(space, first.id)
    trained("default · without age", FEATURES[1:], changes={"max_rounds": 30})
    tasks = trained("default by product", kind="tasks", task="product", changes={"max_rounds": 30})
    made = [
        Strategy("Offer a lower limit", Range("card_use", 0.7, None), "Lower the limit", base=0.12, value=30.0,
                 scenario=first.name, model=first.id),
        Strategy("Call those who paid late", Range("late_payments", 2, None), "Call", base=0.2, value=1000.0,
                 scenario=first.name, model=first.id),
    ]  # fmt: skip
    boards.add_board(space, StrategySet("Loans: two messages", tuple(made)), table)
    listed = {name: f"/{name}?model={first.id}&table={table}" for name in OF_MODEL}
    tested = space.tables.add(winback(), "winback", []).id
    return {"home": "/", **listed, "tasks": f"/tasks?model={tasks.id}&table={table}",
            "read-out": f"/experiment?table={tested}"}  # fmt: skip


def test_every_text_keeps_to_its_place(chromium, server, addresses):
    faults = []
    context = window(chromium, base_url=server.ready(), **CALM)
    page = context.new_page()
    for name, _ in zip(addresses, walk(page, addresses.values()), strict=True):
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            faults += [f"{name} {width}: {fault}" for fault in [*faults_at_rest(page), *tile_faults(page)]]
            if name in CHART_ENDS:
                faults += [f"{name} {width}: {fault}" for fault in late_faults(page, width, CHART_ENDS[name])]
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        if name == "models":
            faults += [f"{name}: {fault}" for fault in too_many_controls(page)]
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 1440, "height": 900})
    for name, _ in zip(addresses, walk(page, addresses.values()), strict=True):
        faults += [f"{name} dark: {fault}" for fault in faults_at_rest(page)]
    context.close()
    assert not faults, "\n".join(faults)
