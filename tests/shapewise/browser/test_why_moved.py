"""From a newer version of a table to why its mean differs: two presses; and a bar that opens its feature."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.serving import settle

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def month(n, seed, older):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40 + older, 9, n).round(), "plan": rng.choice(["basic", "plus"], n)})
    score = 0.15 * (frame["age"] - 40) + 0.5 * (frame["plan"] == "plus")
    frame["stays"] = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-score)), "yes", "no")
    return frame


def test_a_newer_file_is_two_presses_from_its_waterfall(page, space, tmp_path):
    old, new = month(1500, 0, 0), month(1200, 1, 6)
    table = space.tables.add(old, "customers", [])
    train(space, Spec(table.id, "stays", "a model", ["age", "plan"], positive=["yes"], preset="fast", bands=0))
    new.to_csv(tmp_path / "customers.csv", index=False)
    page.goto(f"/data?table={table.id}")
    settle(page)
    page.get_by_role("button", name="Newer version").click()
    page.locator('input[type="file"]').first.set_input_files(str(tmp_path / "customers.csv"))
    page.get_by_text("It replaces the version of").wait_for()
    settle(page)
    page.get_by_text("Why did it move?").click()  # the only press between the newer version and the waterfall
    shares = [f"{100 * (frame['stays'] == 'yes').mean():.1f}%" for frame in (old, new)]
    page.get_by_text(f"stays = yes, {shares[0]} for version 1 and {shares[1]} for version 2").wait_for()
    settle(page)
    page.get_by_text("age in both groups").wait_for()
    bars = page.locator(".js-plotly-plot .bars .point")
    plan = page.locator(".js-plotly-plot", has_text="not explained").locator(".bars .point").nth(1)
    assert bars.count() > 2
    plan.scroll_into_view_if_needed()
    plan.click(force=True)
    page.get_by_text("plan in both groups").wait_for()
