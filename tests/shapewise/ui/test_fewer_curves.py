"""How many curves a model needs, on Overview: the plot, the slider, and a model of those that stay."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.explain import plots
from gamcore.viz.spec import Line
from shapewise.training import runs
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.pages import button, captions, headlines, open_page

NOISE = [f"noise {k}" for k in range(5)]


@pytest.fixture
def customers(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, 2500), "use": rng.normal(size=2500)})
    frame = frame.assign(**{name: rng.normal(size=2500) for name in NOISE})
    frame["y"] = np.sin(frame["age"] / 8) + 0.5 * frame["use"] + 0.3 * rng.normal(size=2500)
    return space.tables.add(frame, "customers", [])


def model_of(space, table, **changes):
    features = ["age", "use", *NOISE]
    spec = Spec(table.id, "y", "all", features, goal="number", changes={"outer_bags": 3, **changes}, bands=0)
    return train(space, spec, 2)


def opened(model):
    app = open_page("overview", model=model.id)
    app.session_state[f"fewer-open-{model.id}"] = True
    app.run()
    assert not app.exception
    return app


@pytest.mark.slow
def test_the_overview_tells_how_many_are_enough_and_trains_with_these(space, customers):
    model = model_of(space, customers)
    app = opened(model)
    assert "2 of 7 curves are enough" in headlines(app)
    slider = next(one for one in app.select_slider if one.label == "How many curves")
    assert slider.value == 2
    (table,) = (frame.value for frame in app.dataframe if "Left of its effect" in frame.value)
    assert set(table["Feature"]) == {"age", "use"}
    assert (table["Stays in half samples"] > 90).all()
    slider.set_value(1).run()
    (table,) = (frame.value for frame in app.dataframe if "Left of its effect" in frame.value)
    assert len(table) == 1
    assert table["Stays in half samples"].iloc[0] > 90
    next(one for one in app.select_slider if one.label == "How many curves").set_value(2).run()
    button(app, "Train with 2 features").click().run()
    (run,) = runs.active(space) or runs.listing(space)
    assert run.spec.features == ["age", "use"]


@pytest.mark.slow
def test_what_cannot_be_told_is_said(space, customers):
    app = opened(model_of(space, customers, validation_fraction=0, max_rounds=10))
    assert "Curves are left out by rows that validate" in captions(app)


def test_the_plot_marks_the_choice_and_what_is_looked_at():
    path = pd.DataFrame({"curves": [3, 2, 1, 0], "loss": [0.5, 0.51, 0.6, 0.9], "error": [0.02] * 4,
                         "chosen": [False, True, False, False], "a": 1.0, "b": 1.0, "c": 1.0})  # fmt: skip
    plot = plots.fewer(path, "log-loss", 3)
    assert plot.title == "2 of 3 curves are enough"
    low, high = plot.main.y.limits
    assert low < 0.48 < 0.6 < high < 0.9
    assert {mark.at for mark in plot.main.marks if isinstance(mark, Line)} == {3.0}
    every = path.assign(chosen=[True, False, False, False])
    assert plots.fewer(every, "log-loss").title == "All curves are needed"


def test_train_leaves_out_what_is_not_needed(space, customers):
    app = open_page("train", table=customers.id)
    app.session_state[f"fewer-open-{customers.id}"] = True
    app.run()
    assert not app.exception
    assert "2 of 7 curves are enough" in headlines(app)
    button(app, "Leave 5 features out").click().run()
    assert not app.exception
    out = next(one for one in app.multiselect if one.label == "Leave out")
    assert set(out.value) == set(NOISE)
    assert "2 of 7 curves are enough" not in headlines(app)
