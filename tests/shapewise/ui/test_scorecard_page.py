"""A model as a scorecard on the page Models: its settings, its card, its files, and the monitor of a newer table."""

from __future__ import annotations

import io
import json

import numpy as np
import openpyxl
import pandas as pd
import pytest

from gamcore.data.column_names import ColumnNames, Names
from gamcore.estimators.saved import from_saved
from gamcore.estimators.scorecard import scorecard
from gamcore.io import from_json
from shapewise.store.workspace import Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import read_all
from shapewise.ui.explain import scorecard as card_page
from tests.support.pages import captions, open_page


def field(app, kind, label):
    return next(one for one in app.get(kind) if one.label == label)


def opened(model):
    app = open_page("models", model=model.id)
    app.session_state["scorecard"] = True
    app.run()
    assert not app.exception
    return app


def card_of(app):
    return next(d.value for d in app.dataframe if "points" in d.value.columns)


@pytest.mark.slow
def test_the_card_is_shown_with_its_cost_and_its_settings_are_kept(sure):
    space, _, model, _ = sure
    app = opened(model)
    said = " ".join(one.value for one in app.markdown)
    assert "AUC in held-out rows:** the model 0." in said
    assert "in whole points 0." in said
    first = card_of(app)
    assert first["feature"][0] == "(start)"
    for base in (400.0, 450.0, 500.0):
        field(app, "number_input", "Base points").set_value(base).run()
        assert space.models.about(model.id).card["base"] == base
    field(app, "number_input", "Most bins per feature").set_value(3).run()
    field(app, "selectbox", "More points mean").set_value(False).run()
    assert not app.exception
    assert space.models.about(model.id).card == {"base": 500.0, "bins": 3, "rising": False}
    again = card_of(opened(model))
    assert again["points"].tolist() == card_of(app)["points"].tolist() != first["points"].tolist()
    ages = again[(again["feature"] == "age") & ~again["bin"].str.startswith("(")]
    assert len(ages) <= 3


def test_its_files_have_the_points_of_the_page(sure, monkeypatch):
    space, table, model, _ = sure
    app = opened(model)
    shown = card_of(app)
    monkeypatch.setattr(card_page.state, "workspace", lambda: Workspace(space.root))
    files = card_page.files(model.id, model.bands, "{}", *card_page.USUAL)
    book = openpyxl.load_workbook(io.BytesIO(files["xlsx"]))
    assert book.sheetnames == ["card", "what it cost", "scale"]
    rows = list(book["card"].iter_rows(values_only=True))
    assert [row[rows[0].index("points")] for row in rows[1:]] == shown["points"].tolist()
    formula = from_json(files["json"])
    frame = space.tables.read(table.id)
    code = {}
    exec(compile(files["py"].decode(), "card.py", "exec"), code)
    row = json.loads(frame[["age", "balance", "plan", "member"]].head(1).to_json(orient="records"))[0]
    assert code["score"](row) == formula.score(frame.head(1))[0]
    assert "points" in files["sql"].decode()


@pytest.mark.slow
def test_a_monitor_compares_with_a_newer_table(sure):
    space, table, model, _ = sure
    frame = space.tables.read(table.id)
    rng = np.random.default_rng(1)
    newer = frame.sample(1500, replace=True, random_state=0).assign(age=lambda rows: rows["age"] + 15)
    added = space.tables.add(newer.assign(salt=rng.random(1500)), "newer", [])
    other = space.tables.add(pd.DataFrame({"x": [1, 2, 3]}), "other", [])
    app = opened(model)
    field(app, "selectbox", "A newer table").set_value(added.id).run()
    assert not app.exception
    moved = next(d.value for d in app.dataframe if "Stability index" in d.value.columns).set_index("Part")
    assert moved.loc["age", "Verdict"] == "moved"
    assert moved.loc["All points", "Verdict"] == "moved"
    assert moved.loc["plan", "Verdict"] == "no significant change"
    assert "population stability index" in captions(app)
    field(app, "selectbox", "A newer table").set_value(other.id).run()
    assert not app.exception
    assert "does not have the card's columns" in app.error[0].value


@pytest.mark.slow
@pytest.mark.parametrize("which", ["full", "tasked"])
def test_a_model_without_points_has_no_card(which, request):
    made = request.getfixturevalue(which)
    app = open_page("models", model=made[2].id)
    assert "Scorecard" not in {one.label for one in app.expander}


def test_the_page_s_card_is_the_library_s(sure):
    space, _, model, _ = sure
    data = read_all(space, Spec.from_dict(model.spec))
    own = scorecard(from_saved(space.models.load(model.id)), data.X[data.held_out], data.y[data.held_out])
    assert card_of(opened(model))["points"].tolist() == own.frame()["points"].tolist()


def test_a_card_is_in_the_names_that_people_use(sure):
    space, table, model, _ = sure
    space.tables.set_names(table.id, Names({
        "age": ColumnNames(name="Age", unit="years"), "plan": ColumnNames(levels={"basic": "Basic", "plus": "Plus"}),
    }))  # fmt: skip
    shown = card_of(opened(model))
    assert {"Age", "plan"} <= set(shown["feature"])
    assert any(label.endswith(" years") for label in shown.loc[shown["feature"] == "Age", "bin"])
    plans = ", ".join(shown.loc[shown["feature"] == "plan", "bin"])
    assert "Basic" in plans
    assert "basic" not in plans
