"""Only features that beat chance: from the switch on Train to the model, its overview and its card."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore.estimators.saved import from_saved
from shapewise.reports.card import card
from shapewise.store.projects import Project
from shapewise.training import runs
from shapewise.training.cost import estimate
from shapewise.training.naming import labels
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.pages import button, open_page
from tests.support.spaces import wait

FEW = {"max_rounds": 30, "outer_bags": 2}
NOISE = [f"noise {k}" for k in range(6)]


@pytest.fixture
def mostly_noise(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, 1500), **{name: rng.normal(size=1500) for name in NOISE}})
    frame["y"] = np.sin(frame["age"] / 8) + 0.3 * rng.normal(size=1500)
    return space.tables.add(frame, "mostly noise", [])


def few(table, **changes):
    return Spec(
        table.id, "y", "few", ["age", *NOISE], goal="number", changes=FEW | {"order": "greedy"} | changes, bands=0
    )


@pytest.mark.slow
def test_the_switch_makes_a_model_of_few_curves(space, mostly_noise):
    app = open_page("train", table=mostly_noise.id)
    next(one for one in app.selectbox if one.label == "Predict").set_value("y").run()
    switch = next(one for one in app.toggle if one.label == "Only features that beat chance")
    switch.set_value(True).run()
    assert not any(one.label.startswith("Keep counts") for one in app.toggle)
    button(app, "Train").click().run()
    assert not app.exception
    (run,) = runs.active(space) or runs.listing(space)
    model = space.models.about(wait(space, run.id).model)
    assert model.spec["changes"]["order"] == "greedy"
    entries = from_saved(space.models.load(model.id)).entries_
    assert entries.loc[entries["entered"] > 0, "feature"].tolist() == ["age"]


def test_the_overview_names_those_without_a_curve(space, mostly_noise):
    model = train(space, few(mostly_noise), 2)
    app = open_page("overview", model=model.id)
    assert not app.exception
    assert any(box.label == "6 features did not beat chance" for box in app.expander)
    shown = next(frame.value for frame in app.dataframe if "As much by chance" in frame.value)
    assert sorted(shown["Feature"]) == NOISE
    assert (shown["As much by chance"] > 5).all()
    assert len([one for one in app.button if one.label == "Open"]) == 1  # one small curve


def test_card_labels_and_cost_tell_it(space, mostly_noise):
    whole = train(space, few(mostly_noise, order="cyclic"), 2)
    model = train(space, few(mostly_noise), 2)
    rows = dict(card(space, model.id).rows)
    assert rows["Features"] == "7, of which those that beat chance have curves"
    assert "order" not in rows["Parameters"]
    assert "beat chance" not in dict(card(space, whole.id).rows)["Features"]
    plain = [replace(one, spec=one.spec | {"changes": changes})
             for one, changes in ((model, {"order": "greedy"}), (whole, {}))]  # fmt: skip
    assert labels(Project(mostly_noise.id, (), plain)) == {
        whole.id: "few", model.id: "few · only features that beat chance",
    }  # fmt: skip
    usual, greedy = (estimate(10_000, 20, {"order": order}, 2, "squared").seconds for order in ("cyclic", "greedy"))
    assert greedy > 3 * usual
