"""Shapes, Overview, Rows and Compare on a model with bands, through streamlit's AppTest."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore.estimators.reading import NOTHING_LEARNED
from gamcore.estimators.saved import from_saved
from shapewise.training import runs
from shapewise.training.runs import Run, Standing
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, read_all, train, train_parts
from tests.support.pages import button, captions, charts, choose, headlines, open_page, open_tab


def test_a_shape_says_what_its_band_supports_on_every_scale(sure):
    model = sure[2]
    app = open_page("shapes", model=model.id, feature="age")
    found = charts(app)[0]
    assert headlines(app)[0].startswith("age: ")
    assert "rises" in headlines(app)[0]
    assert "percentage points" in found["layout"]["yaxis"]["title"]["text"]
    names = [trace.get("name") for trace in found["data"]]
    assert "95% band, point by point" in names
    assert "95% band, whole curve" in names
    assert "Bands from 10 refits" in captions(app)
    for scale, words, zero in (("ratio", "odds ratio", 1), ("link", "log-odds", 0)):
        choose(app, "Scale", scale)
        found = charts(app)[0]
        assert found["layout"]["yaxis"]["title"]["text"] == words
        assert any(shape["y0"] == zero for shape in found["layout"]["shapes"])
    assert found["layout"]["yaxis"].get("type") != "log"


def test_the_rule_at_prediction_is_said_in_words(sure):
    app = open_page("shapes", model=sure[2].id, feature="plan")
    assert "new levels are scored as average" in captions(app)
    assert "1 of 3 levels has under 30 rows or 5 events, neighbours included, and is grey." in captions(app)
    app = open_page("shapes", model=sure[2].id, feature="balance")
    assert "Missing cells" in captions(app)


def test_a_headline_can_be_overwritten_and_taken_back(sure):
    space, _, model, _ = sure
    app = open_page("shapes", model=model.id, feature="age")
    read = headlines(app)[0]
    field = next(f for f in app.text_input if f.label == "Say it in your own words")
    assert field.placeholder == read
    field.set_value("Older customers stay <b>").run()
    assert headlines(app)[0] != read
    assert space.models.about(model.id).headlines == {"age": "Older customers stay <b>"}
    assert "<b>" in headlines(app)[0]
    next(f for f in app.text_input if f.label == "Say it in your own words").set_value("").run()
    assert headlines(app)[0] == read


@pytest.mark.slow
def test_bands_are_measured_on_demand_and_watched(sure, monkeypatch):
    space, _, _, other = sure
    began = []
    with monkeypatch.context() as patched:
        patched.setattr(runs, "start", lambda *told, **more: began.append(told) or "0" * 16)
        app = open_page("shapes", model=other.id)
        assert "There is no band yet" in captions(app)
        button(app, "Measure bands").click().run()
        assert began[0][3] == other.id
        assert began[0][1].bands == 10
        standing = Standing("bands", 0, 10, 20, 1.0, np.array([[0, 1, np.nan, 0.5], [3, 1, np.nan, 0.5]]))
        run = Run("0" * 16, Spec.from_dict(other.spec), "", "running", other.id, "", standing)
        patched.setattr(runs, "working_on", lambda *told: run)
        app = open_page("shapes", model=other.id)
        assert "refit 2 of 10" in captions(app)
    add_bands(space, other.id)
    assert "Bands from 10 refits" in captions(open_page("shapes", model=other.id))


@pytest.mark.slow
def test_the_overview_tells_how_good_the_model_is(sure):
    _, _, model, _ = sure
    app = open_page("overview", model=model.id)
    assert not app.error
    told = captions(app)
    for words in ("AUC", "Average precision", "likeliest tenth", "deviance per row"):
        assert words in told, words
    assert "Wilson" not in told
    assert "Wilson" in captions(open_tab(app, f"quality-{model.id}", "Calibration"))
    assert "trained on earlier periods only" in told
    choose(app, "Importance", "permutation")
    assert not app.exception
    assert charts(app)[0]["layout"]["xaxis"]["title"]["text"] == "rise of the loss"


def test_a_threshold_follows_the_costs(sure):
    app = open_tab(open_page("overview", model=sure[2].id), f"quality-{sure[2].id}", "Where to draw the line")
    assert "cheapest threshold" in captions(app)
    slider = next(s for s in app.slider if s.label == "Say yes from a chance of")
    before = slider.value
    next(n for n in app.number_input if n.label == "A miss costs").set_value(20.0).run()
    assert next(s for s in app.slider if s.label == "Say yes from a chance of").value < before
    assert "for exact chances it would be 0.048" in captions(app)


def test_a_regression_has_residuals(full):
    app = open_page("overview", model=full[2].id)
    told = captions(app)
    assert "predictions are exact" in told
    assert "excludes 0" in captions(open_tab(app, f"quality-{full[2].id}", "Residuals"))


def test_rows_add_up_and_answer_what_if(sure):
    space, _, model, _ = sure
    app = open_page("rows", model=model.id)
    estimator = from_saved(space.models.load(model.id))
    metric = next(m for m in app.metric if m.label == "Prediction")
    found = charts(app)[0]["data"][0]
    assert found["text"][-1] == metric.value
    age = next(s for s in app.slider if s.label == "age")
    age.set_value(79 if age.value < 60 else 20).run()
    assert not app.exception
    then = next(m for m in app.metric if m.label == "Prediction then")
    assert then.value != metric.value
    assert "points" in then.delta
    assert charts(app)[0]["data"][0]["text"][-1] == then.value
    plan = next(s for s in app.selectbox if s.label == "plan")
    plan.set_value("(missing)").run()
    assert not app.exception
    assert estimator.model_.bins[2].feature.name == "plan"


def test_rows_are_found_and_ordered(sure):
    app = open_page("rows", model=sure[2].id)
    values = {}
    for choice in ("highest prediction", "lowest prediction"):
        app = open_page("rows", model=sure[2].id)
        next(s for s in app.selectbox if s.label == "In order of").set_value(choice).run()
        values[choice] = float(next(m for m in app.metric if m.label == "Prediction").value.rstrip("%"))
    assert values["highest prediction"] > values["lowest prediction"]
    next(f for f in app.text_input if f.label == "Find a row").set_value("no such cell").run()
    assert "No held-out row has" in captions(app)


def test_the_smallest_change_flips_the_answer(sure):
    app = open_page("rows", model=sure[2].id)
    now = float(next(m for m in app.metric if m.label == "Prediction").value.rstrip("%"))
    line = next(s for s in app.slider if s.label == "Decide yes from a chance of")
    line.set_value(round(now) + 2 if now < 50 else round(now) - 2).run()
    (said,) = (m.value.replace("\\", "") for m in app.markdown if "the closest change is" in m.value)
    data = read_all(sure[0], Spec.from_dict(sure[2].spec))
    row, changes = data.X[data.held_out].iloc[0], re.findall(r"(\w+) (?:is|from|\d)[^*]*? instead of (\w+)", said)
    assert changes
    for feature, today in changes:  # a row's own value, as it is in the table
        assert today == str(row[feature]).removesuffix(".0")
    line.set_value(99).run()
    assert not app.exception


def metrics_of(app):
    """The table of metrics of Compare."""
    return next(one.value for one in app.dataframe if "Training rows" in one.value)


def test_two_models_are_compared_with_their_difference(sure):
    space, _, model, other = sure
    app = open_page("compare", model=model.id)
    assert not app.error
    assert "No bands yet: fewer" in captions(app)
    spec = other.spec | {"preset": "balanced"}
    space.edit("models", other.id, lambda about: about | {"name": model.name, "spec": spec})
    alike = open_page("compare", model=model.id)
    labels = metrics_of(alike)["Model"].tolist()
    assert len(set(labels)) == 2
    assert f"No bands yet: {labels[1]}." in captions(alike)  # what tells it from the other of its name
    assert all(f"“{label}”" in headlines(alike)[0] for label in labels)  # set apart from the words around them
    assert f"{model.name} · " not in headlines(alike)[0]
    space.edit("models", other.id, lambda about: about | {"name": other.name, "spec": other.spec})
    add_bands(space, other.id)
    app = open_page("compare", model=model.id)
    found = charts(app)[0]
    names = [trace.get("name") for trace in found["data"]]
    assert {"stays", "fewer", "difference"} <= set(names)
    assert "no clear difference" in headlines(app)[0] or "“fewer” minus “stays”" in headlines(app)[0]


@pytest.mark.slow
def test_parts_of_the_rows_are_fitted_and_compared(sure):
    space, _, model, _ = sure
    app = open_page("compare", model=model.id)
    choose(app, "Compare", "parts")
    assert "parts: 2023Q1; 2023Q2" in captions(app) or "2 parts: 2023; 2024" in captions(app)
    made = train_parts(space, model.id, "since")
    assert len(made) == len(space.models.parts(model.id)) >= 2
    assert sum(part.rows["training"] for part in made) == model.rows["training"]  # held-out rows are in none
    assert {part.bands for part in made} == {10}
    assert len(space.models.listed()) == 2  # parts are not listed
    app = open_page("compare", model=model.id)
    choose(app, "Compare", "parts")
    names = [trace.get("name") for trace in charts(app)[0]["data"]]
    assert {*[part.part for part in made], "difference"} <= set(names)
    again = train_parts(space, model.id, "plan")
    assert [part.id for part in space.models.parts(model.id)] == [part.id for part in again]
    space.delete("models", model.id)
    assert space.models.parts(model.id) == []


@pytest.mark.slow
@pytest.mark.parametrize("page", ["rows", "compare", "overview", "shapes"])
def test_a_model_whose_table_is_gone_is_still_read(sure, page):
    space, table, model, _ = sure
    space.delete("tables", table.id)
    app = open_page(page, model=model.id)
    assert not app.error


@pytest.mark.slow
def test_a_model_that_learned_nothing_says_so_before_anything_else_is_read_off_it(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 121)), columns=[f"x{k}" for k in range(120)] + ["y"])
    table = space.tables.add(frame, "noise", [])
    spec = Spec(table.id, "y", "noise", list(frame)[:-1], goal="number", preset="fast", bands=0)
    model = train(space, replace(spec, changes={"outer_bags": 2}))
    said = " ".join(warning.value for warning in open_page("overview", model=model.id).warning)
    assert NOTHING_LEARNED in said
    assert "Only features that beat chance" in said
