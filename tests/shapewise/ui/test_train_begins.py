"""Train begins with the model in view, or with what was last set for the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from gamcore.decide.rules import AnyOf, Levels, Range
from shapewise.training import runs
from shapewise.training.spec import Spec
from shapewise.training.train import train
from shapewise.ui.train.begun import KEPT
from shapewise.ui.train.target import NO_TARGET
from tests.support.pages import button, choose, open_page
from tests.support.places import ROOT

RNG = np.random.default_rng(3)
ROWS = pd.DataFrame({
    "code": RNG.integers(0, 4, 400), "age": RNG.integers(18, 80, 400), "income": RNG.gamma(2, 900, 400).round(),
    "region": RNG.choice(["north", "south", "west"], 400), "when": pd.Timestamp("2025-01-01")
    + pd.to_timedelta(RNG.integers(0, 300, 400), "D"), "years": RNG.uniform(0.2, 1, 400).round(2),
    "claims": RNG.poisson(0.6, 400), "bought": RNG.choice(["yes", "no", "later"], 400),
})  # fmt: skip
FEATURES = ["code", "age", "income", "region", "when"]
FAST = {"preset": "fast", "bands": 0}
SPECS = {
    "yes or no against one level": {"target": "bought", "goal": "binary", "positive": ["later"], "negative": ["no"],
                                    "changes": {"boosting": "mart"}, **FAST},
    "classes": {"target": "bought", "goal": "classes", **FAST},
    "a rate": {"target": "claims", "goal": "count", "exposure": "years", "categories": ["code"], **FAST},
    "a quantile": {"target": "income", "goal": "quantile", "quantile": 0.75, "features": ["age", "region"], **FAST},
    "some rows": {"target": "income", "goal": "number", "features": ["code", "age"], "bands": 0,
                  "conditions": [Range("age", 30.0, None, high_in=True), Levels("region", ("north", "west"))]},
    "settings": {"target": "income", "goal": "number", "features": ["code", "age", "when"], "preset": "fast",
                 "changes": {"interactions": 1, "triples": "auto", "max_rounds": 40, "date_parts": True},
                 "keep_counts": False},
}  # fmt: skip
NOT_SET = ("name", "codes", "seed", "group", "time", "weight")


@pytest.mark.parametrize("which", [pytest.param(name, marks=[] if name == "a rate" else pytest.mark.slow)
                                   for name in SPECS])  # fmt: skip
def test_the_form_shows_how_the_model_in_view_was_trained(which, space):
    table = space.tables.add(ROWS, "offers")
    features = [name for name in FEATURES if name != SPECS[which]["target"]]
    wanted = Spec(**{"table": table.id, "name": "first", "features": features, **SPECS[which]})
    model = train(space, wanted, 1)
    app = open_page("train", model=model.id)
    assert not app.error
    button(app, "Train").click().run()
    assert not app.exception
    newest = space.models.listed()[0]
    assert newest.id != model.id
    before, after = ({name: value for name, value in one.spec.items() if name not in NOT_SET}
                     for one in (model, newest))  # fmt: skip
    assert after == before


@pytest.mark.one_in(3)
@pytest.mark.parametrize("conditions", [
    [Range("age", 30.0), Range("age", None, 60.0, high_in=True)], [Range("age", 30.0, 60.0)],
    [AnyOf((Range("age", 60.0), Levels("region", ("north",))))], [Range("when", 20200.0, None, date=True)],
    [Levels("code", ("1", "2"))],
])  # fmt: skip
def test_a_filter_without_a_field_is_not_dropped_from_a_model(conditions, space):
    """The form begins with first guesses then, not with the model on other rows than its own."""
    table = space.tables.add(ROWS, "offers")
    model = train(space, Spec(table.id, "income", "first", ["region"], goal="number", conditions=conditions, **FAST), 1)
    app = open_page("train", model=model.id)
    assert not app.error
    assert app.session_state[KEPT][table.id]["spec"] is None


def test_a_table_without_a_target_is_asked_for_one_and_proposes_none(space):
    names = [f"place {k}" for k in range(90)]
    table = space.tables.add(pd.DataFrame({"atlas": names, "register": names[::-1]}), "places")
    app = open_page("train", table=table.id)
    assert not app.error
    assert next(box for box in app.selectbox if box.label == "Predict").value is None
    assert app.info[0].value == NO_TARGET


def test_an_exposure_that_a_model_did_not_ask_for_is_still_proposed(space):
    table = space.tables.add(ROWS, "offers")
    space.tables.change_roles(table.id, {"years": "exposure"})
    model = train(space, Spec(table.id, "claims", "first", ["age"], goal="number", **FAST), 1)
    app = open_page("train", model=model.id)
    kind = next(box for box in app.selectbox if box.label == "Treat it as")
    assert kind.value == "number"
    kind.set_value("count").run()
    assert next(box for box in app.selectbox if box.label == "Per unit of").value == "years"


@pytest.mark.slow
def test_what_was_set_outlives_a_change_of_pages(full):
    app = open_page("train", table=full[1].id)
    box = next(one for one in app.multiselect if one.label == "Leave out")
    out = [*box.value, next(name for name in box.options if name not in box.value)]
    box.set_value(out).run()
    next(control for control in app.get("button_group") if control.label == "Preset").set_value("accurate").run()
    again = AppTest.from_file(str(ROOT / "pages" / "train.py"), default_timeout=60)
    again.session_state[KEPT] = app.session_state[KEPT]  # widgets themselves are forgotten by a change of pages
    again.query_params["table"] = full[1].id
    again.run()
    assert not again.exception
    preset = next(control for control in again.get("button_group") if control.label == "Preset")
    assert preset.value == "accurate"
    assert next(one for one in again.multiselect if one.label == "Leave out").value == out


def test_what_was_set_outlives_a_reload_and_reaches_another_tab(full):
    """Each is a new session: nothing of the old one is left but what is kept for this person, even where the server has
    ended meanwhile."""
    table, models = full[1], full[2:]
    app = open_page("train", model=models[0].id)
    box = next(one for one in app.multiselect if one.label == "Leave out")
    out = [*box.value, next(name for name in box.options if name not in box.value)]
    box.set_value(out).run()
    choose(app, "Preset", "accurate")
    st.cache_resource.clear()
    again = open_page("train", model=models[0].id)
    assert next(one for one in again.get("button_group") if one.label == "Preset").value == "accurate"
    assert next(one for one in again.multiselect if one.label == "Leave out").value == out
    other = open_page("train", model=models[1].id)  # of another model in view, what that was trained with
    assert next(one for one in other.get("button_group") if one.label == "Preset").value == "fast"
    assert table.id in again.session_state[KEPT]


@pytest.mark.slow
def test_a_newer_version_begins_with_how_the_older_one_s_model_was_trained(space):
    older = space.tables.add(ROWS, "offers")
    spec = Spec(older.id, "income", "first", ["code", "age"], goal="number", categories=["code"],
                conditions=[Range("age", 30.0, None, high_in=True)], changes={"interactions": 1, "max_rounds": 40},
                **FAST)  # fmt: skip
    model = train(space, spec, 1)
    fresh = ROWS.assign(visits=RNG.integers(0, 9, 400), income_copy=ROWS["income"] * 2)
    newer = space.tables.add(fresh.drop(columns="when"), "offers", replaces=older.id)
    app = open_page("train", table=newer.id, model=model.id)
    assert not app.error
    button(app, "Train").click().run()
    assert not app.exception
    newest = space.models.listed()[0]
    assert newest.table == newer.id
    apart = (*NOT_SET, "table", "features")
    before, after = ({name: value for name, value in about.spec.items() if name not in apart}
                     for about in (model, newest))  # fmt: skip
    assert after == before
    assert newest.spec["features"] == ["code", "age", "visits"]  # a new column as it is for a new table


def test_a_newer_version_without_a_column_of_the_model_begins_with_first_guesses(space):
    older = space.tables.add(ROWS, "offers")
    model = train(space, Spec(older.id, "income", "first", ["code", "age"], goal="number", **FAST), 1)
    newer = space.tables.add(ROWS.drop(columns="age"), "offers", replaces=older.id)
    app = open_page("train", table=newer.id, model=model.id)
    assert not app.error
    assert app.session_state[KEPT][newer.id]["spec"] is None


def test_a_run_that_is_watched_stays_in_the_address(full):
    space, _, model = full[:3]
    run = runs.start(space, Spec.from_dict(model.spec), 1)
    app = open_page("train", model=model.id, run=run)
    assert app.query_params["run"] == run
    runs.cancel(space, run)


@pytest.mark.slow
def test_another_model_in_view_is_what_the_form_begins_with(full):
    models = full[2:]
    first, second = ({**one.spec} for one in models)
    app = open_page("train", model=models[0].id)
    assert next(box for box in app.selectbox if box.label == "Predict").value == first["target"]
    again = AppTest.from_file(str(ROOT / "pages" / "train.py"), default_timeout=60)
    again.session_state[KEPT] = app.session_state[KEPT]
    again.query_params["model"] = models[1].id
    again.run()
    assert next(box for box in again.selectbox if box.label == "Predict").value == second["target"]
    assert first["target"] != second["target"]
