"""A dataset that stays with a cluster, from its address to a curve, while a worker is killed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shapewise.store.workspace import Workspace
from shapewise.training import runs
from tests.support.pieces import bare_cluster
from tests.support.serving import Server, opened, settle, sound, visiting
from tests.support.spaces import until
from tests.support.steps import press

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROWS, FILES = 120_000, 6


def lake(folder):
    """Write a dataset of several files: who renews, by age, balance and region."""
    rng = np.random.default_rng(0)
    age, balance = rng.integers(18, 90, ROWS), rng.lognormal(8, 1, ROWS).round(2)
    region = rng.choice(["north", "south", "east"], ROWS)
    score = np.sin(age / 12) + 0.4 * np.log(balance / 3000) + (region == "north")
    frame = pd.DataFrame({"age": age, "balance": balance, "region": region,
                          "renewed": np.where(rng.random(ROWS) < 1 / (1 + np.exp(-score)), "yes", "no")})  # fmt: skip
    folder.mkdir(parents=True)
    for number, part in enumerate(np.array_split(np.arange(ROWS), FILES)):
        frame.iloc[part].to_parquet(folder / f"part-{number}.parquet", index=False)


def learning(space):
    """Tell whether the run has learned a round. One that ended before says why."""
    (run,) = runs.listing(space)
    assert run.goes_on, run.message
    return len(run.standing.points)


def test_from_the_address_to_the_curve(chromium, tmp_path):
    lake(tmp_path / "lake" / "renewals")
    space = Workspace(tmp_path / "space")
    with bare_cluster(tmp_path) as cluster:
        environment = {
            "SHAPEWISE_CLUSTER": cluster.client.scheduler.address, "SHAPEWISE_DATASETS": str(tmp_path / "lake"),
            "GAMCORE_TABLE_MEMORY": str(2**22),
        }  # fmt: skip
        size = {"width": 1440, "height": 900}
        with (
            sound(Server(space.root, environment)) as server,
            visiting(chromium, server, viewport=size) as visitor,
            opened(visitor) as page,
        ):
            page.goto("/data")
            settle(page)
            page.get_by_role("textbox", name="Path or URL").fill(str(tmp_path / "elsewhere"))
            page.keyboard.press("Enter")
            settle(page)
            press(page, "Load the dataset")
            page.get_by_text("may not be loaded here: give a dataset below").wait_for()
            page.get_by_role("textbox", name="Path or URL").fill(str(tmp_path / "lake" / "renewals"))
            page.keyboard.press("Enter")
            settle(page)
            press(page, "Load the dataset")
            page.get_by_text("The rows stay in").wait_for()
            settle(page)
            press(page, "Train on this table")
            page.get_by_text("2 workers, 2 threads").wait_for()
            page.get_by_text("Accurate", exact=True).click()  # long enough to lose a worker
            settle(page)
            page.get_by_role("button", name="Train", exact=True).click()
            until(lambda: runs.listing(space))
            until(lambda: learning(space), 120)
            cluster.workers[0].kill()
            press(page, "Read the curves")
            page.wait_for_url("**/shapes?*")
            page.locator(".js-plotly-plot").first.wait_for()
            settle(page)
    (about,) = space.models.listed()
    assert about.on_cluster
    assert about.rows["training"] + about.rows["set_aside"] == ROWS
    assert about.metrics["auc"] > 0.7
