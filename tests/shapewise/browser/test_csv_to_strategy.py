"""From a CSV to a curve to a strategy, in a real browser: the one browser flow of the default run."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from shapewise.decisions import boards
from tests.support.serving import settle, turn
from tests.support.steps import drag_along, options, press, upload

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser


def customers():
    """Customers of whom those above 45 renew more often the older they are."""
    rng = np.random.default_rng(0)
    age, region = rng.integers(18, 80, 2500), rng.choice(["north", "south"], 2500)
    score = np.maximum(age - 45, 0) / 10 + (region == "north") - 1.5
    renewed = np.where(rng.random(2500) < 1 / (1 + np.exp(-score)), "yes", "no")
    return pd.DataFrame({"age": age, "balance": rng.lognormal(8, 1, 2500).round(2), "region": region,
                         "renewed": renewed})  # fmt: skip


def test_from_a_csv_to_a_curve_to_a_strategy(page, space, tmp_path):
    file = tmp_path / "customers.csv"
    customers().to_csv(file, index=False)
    page.goto("/")
    settle(page)
    upload(page, file)
    press(page, "Train on this table")
    page.get_by_role("button", name="Train", exact=True).wait_for()
    settle(page)
    assert page.get_by_role("combobox", name=re.compile("Predict")).input_value() in ("", "renewed")
    page.get_by_text("Fast", exact=True).click()
    settle(page)
    press(page, "Train")
    page.get_by_role("button", name="Read the curves").wait_for()
    (model,) = space.models.listed()
    assert model.metrics["auc"] > 0.7
    press(page, "Read the curves")
    page.locator(".js-plotly-plot").first.wait_for()
    page.get_by_text("Bands from 30 refits").wait_for()  # the page is drawn anew when they come
    settle(page)

    page.goto(f"/shapes?model={model.id}&feature=age")
    page.locator("[class*=st-key-headline]", has_text=re.compile("age: .*rises")).wait_for()
    settle(page)
    options(page)
    with page.expect_download() as waiting:
        press(page, "CSV")
    assert "score" in waiting.value.path().read_text(encoding="utf-8-sig").splitlines()[0]
    with page.expect_download() as waiting:
        press(page, "PPTX")
    assert waiting.value.suggested_filename.endswith(".pptx")
    assert waiting.value.path().read_bytes().startswith(b"PK")
    page.keyboard.press("Escape")
    plot = page.locator(".js-plotly-plot").first
    for _ in range(3):  # a first drag may meet a figure that is still being drawn
        drag_along(page, plot, 0.7, 0.95)
        if page.get_by_test_id("stMetric").filter(has_text="Opportunity").count():
            break
    page.get_by_label("Name of the segment").fill("Older customers")
    press(page, "Save as segment")
    page.get_by_text("It is on the page Strategies").wait_for()

    turn(page, f"/strategies?table={model.table}")
    press(page, "New board")
    press(page, "Add a strategy")
    dialog = page.get_by_role("dialog")
    assert "Older customers" in dialog.get_by_label("From").input_value()
    dialog.get_by_label("Action, in words").fill("Call them")
    dialog.get_by_role("button", name="Save", exact=True).click()
    dialog.wait_for(state="detached")
    settle(page)
    (board,) = boards.boards(space, model.table)
    (strategy,) = board.read().strategies
    assert strategy.action == "Call them"
    inside = strategy.rule.holds(customers())
    rate = (customers()["renewed"][inside] == "yes").mean()
    assert rate > (customers()["renewed"] == "yes").mean() + 0.1
    assert (strategy.metric, strategy.base) == ("renewed", pytest.approx(rate, abs=0.1))  # proposed, of held-out rows
    assert page.get_by_text(f"{inside.sum():,}").count()  # what the page says it reaches
