"""The editor on Shapes and Pairs: edits with a price, undone to the bit, and stored as a model of their own."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from gamcore import load_model
from gamcore.additions.editing import edit, edits_of
from gamcore.additions.editing.edits import edit_of
from gamcore.estimators.base import to_saved
from gamcore.io.gamx import to_bytes
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.pages import button, captions, headlines, open_page


@pytest.fixture
def claims(space):
    rng = np.random.default_rng(0)
    n = 2500
    frame = pd.DataFrame({"age": rng.uniform(20, 80, n), "use": rng.normal(size=n), "area": rng.choice(list("abc"), n)})
    frame["y"] = np.sin(frame["age"] / 8) + frame["use"] * (frame["area"] == "a") + 0.3 * rng.normal(size=n)
    return space.tables.add(frame, "claims", [])


def model_of(space, table, **changes):
    features = ["age", "use", "area"]
    return train(space, Spec(table.id, "y", "all", features, goal="number", changes={"outer_bags": 3, **changes}), 2)


def opened(model, feature="age", **marked):
    app = open_page("shapes", model=model.id, feature=feature)
    app.session_state["shapes-act"] = "edit"
    for name, value in marked.items():
        app.session_state[f"brush-{name}-{model.id}-{feature}"] = value
    app.run()
    assert not app.exception
    return app


def do(app, model, operation, feature="age", value=None, why="few rows"):
    key = f"{model.id}-{feature}"
    app.selectbox(key=f"operation-{key}").set_value(operation).run()
    if value is not None:
        app.number_input(key=f"value-{operation}-link-{key}").set_value(value).run()
    app.text_input(key=f"reason-{key}").set_value(why).run()
    button(app, "Keep this edit").click().run()
    assert not app.exception
    return app


def kept(app):
    (table,) = (frame.value for frame in app.dataframe if "Why" in frame.value)
    return table


def metric(app, label):
    return next(one for one in app.metric if one.label == label)


@pytest.mark.slow
def test_an_edit_tells_its_price_and_is_undone_and_redone(space, claims):
    model = model_of(space, claims, triples=[["age", "use", "area"]])
    app = opened(model, low=60.0)
    key = f"{model.id}-age"
    app.selectbox(key=f"operation-{key}").set_value("set").run()
    app.number_input(key=f"value-set-link-{key}").set_value(1.0).run()
    assert button(app, "Keep this edit").disabled
    assert metric(app, "Held-out RMSE").delta.startswith("+")
    assert metric(app, "Held-out squared error").delta.startswith("+")
    assert metric(app, "Mean prediction").delta != "no change"
    assert float(metric(app, "Changing sides").value.rstrip("%")) > 0
    app.text_input(key=f"reason-{key}").set_value("the tariff asks for it").run()
    button(app, "Keep this edit").click().run()
    assert kept(app).to_dict("list") == {"Edit": ["age from 60: set to 1"], "Why": ["the tariff asks for it"]}
    assert app.selectbox(key=f"operation-{key}").value is None
    button(app, "Undo").click().run()
    assert not [one for one in app.metric if one.label == "Mean prediction"]
    assert button(app, "Undo").disabled
    button(app, "Redo").click().run()
    assert len(kept(app)) == 1
    assert not app.exception


def test_a_range_that_ends_before_it_begins_is_said(space, claims):
    app = opened(model_of(space, claims), low=60.0, high=40.0)
    assert [one.value for one in app.error] == ["The range ends before it begins: swap the two."]


@pytest.mark.slow
def test_a_typed_value_is_the_same_on_every_scale(space, claims):
    frame = space.tables.read(claims.id, {})
    frame["bad"] = np.where(frame["y"] > 0.5, "yes", "no")
    table = space.tables.add(frame, "yes or no", [])
    spec = Spec(table.id, "bad", "bad", ["age", "use"], positive=["yes"], changes={"outer_bags": 2})
    model = train(space, spec, 2)
    app = opened(model, low=60.0)
    key = f"{model.id}-age"
    app.selectbox(key=f"operation-{key}").set_value("set").run()
    app.number_input(key=f"value-set-points-{key}").set_value(0.0).run()
    app.segmented_control(key="scale-logistic").set_value("ratio").run()
    assert app.number_input(key=f"value-set-ratio-{key}").value == 1.0
    app.text_input(key=f"reason-{key}").set_value("no effect").run()
    button(app, "Keep this edit").click().run()
    assert not app.exception
    assert kept(app)["Edit"].tolist() == ["age from 60: set to ×1"]
    assert "Unit of the values: odds ratio." in captions(app)


@pytest.mark.slow
def test_a_draft_is_there_in_the_next_session(space, claims):
    model = model_of(space, claims)
    do(opened(model, low=60.0), model, "equal")
    plain = open_page("shapes", model=model.id)
    assert "1 edit is not saved yet" in captions(plain)
    button(plain, "Go on editing").click().run()
    assert kept(plain)["Edit"].tolist() == ["age from 60: made equal"]
    assert kept(opened(model))["Edit"].tolist() == ["age from 60: made equal"]
    app = opened(model)
    button(app, "Drop the edits").click().run()
    assert space.drafts.read("models", model.id) is None


@pytest.mark.slow
def test_the_stored_model_is_that_of_the_library(space, claims):
    model = model_of(space, claims)
    app = do(opened(model, low=60.0), model, "set", value=0.25)
    app = do(opened(model), model, "rising", why="risk rises with age")
    app = do(opened(model, "area", levels=["b", "c"]), model, "equal", "area", why="same tariff")
    app.text_input(key=f"name-{model.id}").set_value("by hand").run()
    button(app, "Save").click().run()
    assert not app.exception
    child = next(one for one in space.models.listed() if one.name == "by hand")
    assert child.edited_from == model.id
    assert child.metrics["rmse"] > model.metrics["rmse"]
    assert space.drafts.read("models", model.id) is None
    library = load_model(space.models.path(model.id))
    library = edit(library, "age", "set", {"at_least": 60}, 0.25, "few rows")
    library = edit(library, "age", "rising", reason="risk rises with age")
    library = edit(library, "area", "equal", {"is": ["b", "c"]}, reason="same tariff")
    stored = space.models.load(child.id)
    own = to_saved(library, **{name: stored.about[name] for name in ("target", "table", "held_out", "created")})
    own = type(own)(own.kind, stored.model.__class__(**{**vars_of(own.model), "intervals": stored.model.intervals}),
                    own.classes, own.about)  # fmt: skip
    assert to_bytes(own) == to_bytes(stored)
    assert [edit_of(plain) for plain in child.edits] == list(edits_of(library))


def vars_of(model):
    return {name: getattr(model, name) for name in model.__dataclass_fields__}


@pytest.mark.slow
def test_what_was_not_edited_is_learnt_anew_where_that_is_asked_for(space, claims):
    model = model_of(space, claims)
    app = do(opened(model), model, "remove", why="not allowed")
    app.checkbox(key=f"around-{model.id}").set_value(True).run()
    button(app, "Save").click().run()
    assert not app.exception
    child = space.models.listed()[0]
    assert child.learnt_around
    app = opened(child)
    assert button(app, "Undo").disabled
    assert "refit around edits by hand" in captions(app)
    again = space.models.bring_in(space.models.path(child.id).read_bytes(), "brought in")
    assert again.edits == child.edits
    assert again.learnt_around
    assert not load_model(space.models.path(child.id)).model_.terms[0].scores.any()


@pytest.mark.slow
def test_edits_of_another_model_are_brought_in_and_what_does_not_fit_is_said(space, claims):
    first = model_of(space, claims)
    app = do(opened(first, "area", levels=["b"]), first, "add", "area", value=0.5)
    app = do(opened(first), first, "rising")
    button(app, "Save").click().run()
    frame = space.tables.read(claims.id, {})
    second = model_of(space, space.tables.add(frame[frame["area"] != "b"], "newer", []))
    app = opened(second)
    button(app, "Bring them in").click().run()
    assert kept(app)["Edit"].tolist() == ["age: only rising"]
    assert "has no level 'b'" in captions(app)


@pytest.mark.slow
def test_missing_cells_and_new_values_can_be_set(space, claims):
    model = model_of(space, claims)
    app = opened(model, missing=True, unseen=True)
    do(app, model, "set", value=-0.5)
    assert kept(app)["Edit"].tolist() == ["age missing and unseen values: set to -0.5"]


@pytest.mark.slow
def test_a_rectangle_of_a_pair_is_edited(space, claims):
    model = model_of(space, claims, interactions=[("use", "area")])
    app = open_page("pairs", model=model.id)
    app.toggle(key=f"pair-edit-{model.id}").set_value(True).run()
    assert not app.exception
    sides = [slider for slider in app.select_slider if slider.key.startswith("side-")]
    sides[0].set_value((0, 3)).run()
    key = f"{model.id}-use-area"
    app.selectbox(key=f"operation-{key}").set_value("set").run()
    app.number_input(key=f"value-set-link-{key}").set_value(0.0).run()
    assert metric(app, "Held-out RMSE").delta != "no change"
    app.text_input(key=f"reason-{key}").set_value("thin").run()
    button(app, "Keep this edit").click().run()
    assert not app.exception
    (words,) = kept(app)["Edit"]
    assert words.startswith("use below ")
    assert words.endswith(" × area: set to 0")
    button(app, "Save").click().run()
    child = space.models.listed()[0]
    made = load_model(space.models.path(child.id))
    assert edits_of(made)[0].on == ("use", "area")
    low = made.explain_pair("use", "area").scores[:4]
    np.testing.assert_allclose(low, 0.0, atol=1e-12)


@pytest.mark.slow
def test_the_region_that_is_equally_good_follows_its_slider(space, claims):
    model = model_of(space, claims)

    def region(app):
        traces = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
        return [trace for trace in traces if "loss at most" in str(trace.get("name"))]

    app = opened(model)
    assert region(app)[-1]["name"] == "loss at most 0.5% higher"
    app.select_slider(key=f"room-{model.id}").set_value(0.02).run()
    assert region(app)[-1]["name"] == "loss at most 2.0% higher"
    app.select_slider(key=f"room-{model.id}").set_value(0.0).run()
    assert not region(app)
    assert not app.exception
    plain = open_page("shapes", model=model.id, feature="age")
    assert not region(plain)


@pytest.mark.slow
def test_a_pair_is_not_called_edited_by_an_edit_that_no_longer_fits(space, claims):
    model = model_of(space, claims, interactions=[("use", "area")])
    space.drafts.keep("models", model.id, [{"on": ["gone"], "operation": "remove", "where": [{}], "reason": "noise"}])
    app = open_page("pairs", model=model.id)
    app.toggle(key=f"pair-edit-{model.id}").set_value(True).run()
    assert not app.exception
    assert "edited by hand" not in " ".join(headlines(app))
