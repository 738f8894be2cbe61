"""Shapes of curves, from the form and from a curve to the model and its card."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.estimators.saved import from_saved
from shapewise.reports.card import card
from shapewise.training import by_feature, runs
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, train
from tests.support.pages import button, choose, open_page
from tests.support.spaces import wait

FEW = {"max_rounds": 40, "outer_bags": 2}
KINDS = {"age": False, "use": False, "kind": True}


@pytest.fixture
def waves(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, 2000), "use": rng.normal(size=2000)})
    frame["kind"] = rng.choice(list("xyz"), 2000)
    frame["y"] = np.sin(frame["age"] / 8) + 0.3 * frame["use"] + 0.3 * rng.normal(size=2000)
    return space.tables.add(frame, "waves", [])


def test_shapes_are_read_changed_and_told():
    spec = Spec("t", "y", "n", list(KINDS), changes={"shapes": {"age": "smooth", "use": "linear", "kind": "steps"}})
    assert by_feature.shapes_of(spec, KINDS) == {"age": "smooth", "use": "linear"}
    assert by_feature.words(spec.changes, "shapes") == "smooth in age; straight in use"
    assert by_feature.words({}, "shapes") == ""
    assert by_feature.words({"shapes": "smooth"}, "shapes") == "all curves smooth"
    assert by_feature.reshaped(spec, "age", "steps", KINDS).changes == {"shapes": {"use": "linear"}}
    parts = {"shapes": {"when (month)": "cyclic", "use": "linear"}}
    assert by_feature.among(parts, {"when"}) == {"shapes": {"when (month)": "cyclic"}}
    smooth = Spec("t", "y", "n", list(KINDS), preset="smooth")
    assert by_feature.shapes_of(smooth, KINDS) == {"age": "smooth", "use": "smooth", "kind": "levels"}
    freed = by_feature.reshaped(smooth, "age", "steps", KINDS)
    assert freed.changes == {"shapes": {"use": "smooth", "kind": "levels"}}
    for name in ("use", "kind"):
        freed = by_feature.reshaped(freed, name, "steps", KINDS)
    assert freed.parameters()["shapes"] == "steps"


@pytest.mark.slow
def test_the_form_makes_a_model_of_these_shapes(space, waves):
    app = open_page("train", table=waves.id)
    fields = {field.label: field for field in app.multiselect}
    assert fields["Smooth"].options == fields["Straight"].options == ["age", "use"]
    assert fields["Drawn to the mean"].options == ["kind"]
    app = fields["Smooth"].select("age").run()
    fields = {field.label: field for field in app.multiselect}
    assert fields["Straight"].options == ["use"]
    app = fields["Straight"].select("use").run()
    next(one for one in app.number_input if one.label == "Most rounds").set_value(40).run()
    button(app, "Train").click().run()
    assert not app.exception
    (run,) = runs.active(space) or runs.listing(space)
    about = space.models.about(wait(space, run.id).model)
    assert about.spec["changes"] == {"shapes": {"age": "smooth", "use": "linear"}, "max_rounds": 40}
    model = from_saved(space.models.load(about.id))
    assert model.model_.shapes == ("smooth", "linear", "steps")
    assert ("Curves", "smooth in age; straight in use") in card(space, about.id).rows


@pytest.mark.slow
def test_the_preset_smooth_trains_and_is_not_offered_for_classes(space, waves):
    app = choose(open_page("train", table=waves.id), "Preset", "smooth")
    assert not app.exception
    assert any("All numbers and dates are smooth lines" in one.value for one in app.caption)
    next(one for one in app.selectbox if one.label == "Predict").set_value("kind").run()
    app = next(one for one in app.selectbox if one.label == "Treat it as").set_value("classes").run()
    assert not app.exception
    (presets,) = (one for one in app.get("button_group") if one.label == "Preset")
    assert "Smooth" not in presets.options
    assert presets.value == "balanced"
    model = train(space, Spec(waves.id, "y", "waves", list(KINDS), preset="smooth", changes=FEW, bands=0))
    assert from_saved(space.models.load(model.id)).model_.shapes == ("smooth", "smooth", "levels")


@pytest.mark.slow
def test_a_shape_is_tried_on_its_curve_and_its_price_is_told(space, waves):
    model = train(space, Spec(waves.id, "y", "waves", list(KINDS), changes=FEW, bands=0))
    app = choose(open_page("shapes", model=model.id, feature="age"), "What next", "settings")
    app = choose(app, "Learnt as", "linear")
    assert not app.exception
    (price,) = (one for one in app.metric if one.label.startswith("Held-out"))
    assert price.delta not in ("", "no change")
    assert any("The line changes the prediction by" in one.value for one in app.caption)
    bent = train(space, Spec(waves.id, "y", "waves", list(KINDS), changes=FEW | {"shapes": "linear"}, bands=10))
    app = open_page("shapes", model=add_bands(space, bent.id).id, feature="use")
    assert any("per unit (95%: +0." in one.value for one in app.caption)
