"""Directions, from the form and from a curve to the model, its card and its file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.estimators.saved import from_saved
from shapewise.reports.card import card
from shapewise.training import by_feature, runs
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.pages import button, choose, open_page
from tests.support.spaces import wait

FEW = {"max_rounds": 40, "outer_bags": 2}


@pytest.fixture
def waves(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, 3000), "use": rng.normal(size=3000), "kind": "x"})
    frame.loc[::3, "kind"] = "y"
    frame["y"] = np.sin(frame["age"] / 8) + 0.3 * frame["use"] + 0.3 * rng.normal(size=3000)
    return space.tables.add(frame, "waves", [])


def test_directions_are_read_changed_and_told():
    changes = {"max_leaves": 3, "monotone": {"age": 1, "use": -1, "size": 1}}
    assert by_feature.words(changes, "monotone") == "rises along age, size; falls along use"
    assert by_feature.words({}, "monotone") == ""
    assert by_feature.among(changes, {"use"}) == {"max_leaves": 3, "monotone": {"use": -1}}
    assert by_feature.among(changes, set()) == {"max_leaves": 3}
    assert by_feature.among({"max_leaves": 3}, set()) == {"max_leaves": 3}
    spec = Spec("t", "y", "n", ["age"], changes=changes)
    assert by_feature.turned(spec, "age", 0).changes["monotone"] == {"use": -1, "size": 1}
    assert by_feature.turned(spec, "use", 1).changes["monotone"] == {"age": 1, "use": 1, "size": 1}


@pytest.mark.slow
def test_the_form_makes_a_model_that_keeps_the_order(space, waves):
    app = open_page("train", table=waves.id)
    fields = {field.label: field for field in app.multiselect}
    assert fields["May only rise along"].options == ["age", "use"]
    fields["May only rise along"].select("age").run()
    fields = {field.label: field for field in app.multiselect}
    assert fields["May only fall along"].options == ["use"]
    next(one for one in app.number_input if one.label == "Most rounds").set_value(40).run()
    button(app, "Train").click().run()
    assert not app.exception
    (run,) = runs.active(space) or runs.listing(space)
    about = space.models.about(wait(space, run.id).model)
    assert about.spec["changes"] == {"monotone": {"age": 1}, "max_rounds": 40}
    model = from_saved(space.models.load(about.id))
    assert (np.diff(model.explain_shape("age").scores) >= 0).all()
    assert ("Order", "a prediction rises along age") in card(space, about.id).rows


@pytest.mark.slow
def test_a_direction_is_tried_on_its_curve_and_its_price_is_told(space, waves):
    model = train(space, Spec(waves.id, "y", "waves", ["age", "use", "kind"], changes=FEW, bands=0))
    app = choose(open_page("shapes", model=model.id, feature="age"), "What next", "settings")
    app = choose(app, "This curve", 1)
    assert not app.exception
    (price,) = (one for one in app.metric if one.label.startswith("Held-out"))
    assert price.delta not in ("", "no change")
    app = choose(open_page("shapes", model=model.id, feature="kind"), "What next", "settings")
    assert "This curve" not in [one.label for one in app.get("button_group")]
