"""*What would a black box know?* on Overview: a press answers, and a press adds what the model lacks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.columns import TableError
from gamcore.estimators.saved import from_saved
from shapewise.additions.black_box import on_overview
from shapewise.additions.black_box.more import with_crossing, with_interactions
from shapewise.training import runs
from shapewise.training.spec import Spec
from shapewise.training.train import read_all, train
from tests.support.hostile import EVIL
from tests.support.pages import button, headlines, open_page

TITLE = "What would a black box know?"


def add(space, rows=2500, **changes):
    """A table whose target has a triple of two features with few values and a third, and a model of curves."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"hour": rng.integers(0, 12, rows), EVIL: rng.choice(["work", "off"], rows),
                          "heat": rng.normal(size=rows), "more": rng.normal(size=rows)})  # fmt: skip
    evening = (frame["hour"] > 6) & (frame[EVIL] == "work")
    frame["rentals"] = np.where(evening, 2.0, -0.5) * frame["heat"] + 1.5 * evening + rng.normal(size=rows)
    frame["many"] = np.where(frame["rentals"] > 0, "yes", "no")
    table = space.tables.add(frame, "bikes", [])
    usual = {"target": "rentals", "features": ["hour", EVIL, "heat", "more"], "name": "a model", "preset": "fast",
             "changes": {"max_rounds": 200, "interactions": 3}}  # fmt: skip
    return frame, table, train(space, Spec(table.id, **usual | changes))


def opened(model):
    app = open_page("overview", model=model.id)
    app.session_state[f"panel-{TITLE}"] = True
    return app.run()


@pytest.mark.slow
def test_a_press_says_the_gap_and_where_and_another_trains_the_crossing(space):
    _, table, model = add(space)
    app = opened(model)
    assert not app.exception
    assert TITLE in [box.label for box in app.expander]
    press = button(app, "Train a black box")
    app = press.click().run()
    assert not app.exception
    assert any(line.startswith("A black box is") and "better" in line and "hour" in line for line in headlines(app))
    before = space.models.about(model.id).metrics["rmse"]
    for key in (f"full-{model.id}-joint", f"black-box-cross-{model.id}"):  # a triple, or pairs of a column of two of it
        app = open_page("overview", model=model.id)  # the answer is there again without a press
        app.session_state[f"panel-{TITLE}"] = True
        app.session_state[f"black-box-{model.id}"] = True
        app.run().button(key=key).click().run()
        spec = (runs.active(space) or runs.listing(space))[0].spec
        assert (spec.table == table.id) == ("triples" in spec.changes)
        after = train(space, spec).metrics["rmse"]
        assert after**2 - 1 < 0.5 * (before**2 - 1)  # noise has a variance of 1


@pytest.mark.slow
def test_a_crossing_is_made_once_and_named_apart(space):
    frame, _, model = add(space, rows=2000)
    estimator, spec = from_saved(space.models.load(model.id)), Spec.from_dict(model.spec)
    price = on_overview.asked_of(estimator, read_all(space, spec))
    assert set(price.crossing) == {"hour", EVIL}
    made = with_crossing(space, spec, estimator, price)
    again = with_crossing(space, Spec.from_dict(made.to_dict()), estimator, price)
    assert again.table == made.table
    assert again.features == made.features
    column = made.features[-1]
    values = space.tables.read(made.table)[column]
    assert values.nunique() == 24
    assert [column, "heat"] in made.changes["interactions"]
    assert len(frame) == len(values)


def test_pairs_and_triples_are_added_to_those_of_the_model(space):
    _, _, model = add(space, rows=400, changes={"max_rounds": 20, "interactions": [["hour", "heat"]]})
    estimator, spec = from_saved(space.models.load(model.id)), Spec.from_dict(model.spec)
    made = with_interactions(spec, estimator, [("heat", "hour"), ("heat", "more"), ("more", "heat", EVIL)])
    assert made.changes["interactions"] == [["hour", "heat"], ["heat", "more"]]
    assert made.changes["triples"] == [["more", "heat", EVIL]]


@pytest.mark.slow
def test_a_model_of_yes_and_no_is_asked_too_and_a_refusal_is_said(space, monkeypatch):
    _, _, model = add(space, target="many", positive=["yes"], rows=1200)
    app = button(opened(model), "Train a black box").click().run()
    assert not app.exception
    assert any("points of AUC" in line for line in headlines(app))
    on_overview.price_of.clear(model.id)

    def refused(*of):
        raise TableError("There is no black box: take another.")

    monkeypatch.setattr(on_overview, "asked_of", refused)
    app = opened(model)
    app.session_state[f"black-box-{model.id}"] = True
    app = app.run()
    assert [one.value for one in app.error] == [r"There is no black box\: take another\."]
