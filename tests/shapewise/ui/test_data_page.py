"""Data: a closer look at columns and rows, computed columns and other types, and models that need them."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from gamcore import io
from gamcore.data.column_names import ColumnNames, Names
from gamcore.decide.rules import Levels
from gamcore.estimators.saved import from_saved
from gamcore.io import from_json, to_json, to_sql
from shapewise import patience
from shapewise.columns.steps import Computed, Retyped
from shapewise.store.workspace import Workspace
from shapewise.training import derived
from shapewise.training.train import train
from tests.support.hostile import EVIL
from tests.support.pages import button, captions, choose, headlines, open_page
from tests.support.places import ROOT
from tests.support.spaces import spec_of


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return pd.DataFrame({
        "a": a, "b": rng.integers(1, 5, n), EVIL: rng.choice(["x", EVIL], n),
        "size": rng.choice(["10", "20", "large"], n, p=[0.5, 0.4, 0.1]),
        "y": np.where(rng.random(n) < 1 / (1 + np.exp(-2 * a)), "yes", "no"),
    })  # fmt: skip


@pytest.fixture
def table(space: Workspace):
    return space.tables.add(people(), "people")


def field(app, label, last=False):
    fields = [one for kind in ("selectbox", "text_input", "multiselect") for one in app.get(kind) if one.label == label]
    return fields[-1 if last else 0]


def said(app):
    return " ".join(one.value for one in [*app.caption, *app.error, *app.warning, *app.markdown]).replace("\\", "")


def step(app, label, value, last=False):
    field(app, label, last).set_value(value).run()
    assert not app.exception


def test_the_table_of_columns_does_not_say_again_what_the_doctor_found(space):
    made = space.tables.add(people().assign(customer_id=range(400)), "people with a number")
    app = open_page("data", table=made.id)
    columns = next(one.value for one in app.dataframe if "Role" in one.value)
    findings = [text.value for text in app.markdown if text.value.startswith("**") and "**: " in text.value]
    assert findings
    assert not any(why and why in line for why in columns["Why"] for line in findings)
    assert (columns["Why"] != "").all()


def test_a_column_is_seen_by_the_target(table):
    app = open_page("data", table=table.id)
    assert headlines(app)[0].startswith("y = yes: ")
    assert "where a is" in headlines(app)[0]
    app.selectbox(key=f"profile-{table.id}").set_value(EVIL).run()
    assert f"along {EVIL}" in headlines(app)[0].replace("\u2060", "")
    assert "2 distinct values" in said(app)
    step(app, "By", "(nothing)")
    assert "of the rows with a value are" in headlines(app)[0]
    app.selectbox(key=f"profile-{table.id}").set_value("b").run()
    step(app, "By", "a")
    assert headlines(app)[0].startswith("a ")


@pytest.mark.slow
def test_a_filter_picks_the_rows_that_are_shown(space, table):
    app = open_page("data", table=table.id)
    rule = next(one for one in app.selectbox if one.label == "Column" and one.value is None)
    rule.set_value("size").run()
    app.multiselect[0].set_value(["large"]).run()
    rows = int((people()["size"] == "large").sum())
    assert f"**{rows}** of 400 rows where size is large." in said(app)
    assert f"{rows} rows" in said(app)
    assert rows in [len(one.value) for one in app.dataframe]
    assert space.tables.read(table.id).equals(people())


@pytest.mark.slow
def test_a_computed_column_is_looked_at_and_kept_as_a_version(space, table):
    app = open_page("data", table=table.id)
    step(app, "Formula", "a / incom")
    assert "Character 5: there is no column incom. Put text in quotes." in said(app)
    step(app, "Formula", "a / b")
    step(app, "Name", "per head")
    assert "**per head**: a number" in said(app)
    assert not any(one.label == "Keep as a new version" for one in app.button)
    button(app, "Add").click().run()
    assert "per head = a / b" in said(app)
    step(app, "Formula", "`per head` > 0")
    button(app, "Add").click().run()
    button(app, "Keep as a new version").click().run()
    assert not app.exception
    new = next(one for one in space.tables.listed() if one.steps)
    assert [one["column"] for one in new.steps] == ["per head", "computed 1"]
    assert app.query_params["table"] in (new.id, [new.id])
    read = space.tables.read(new.id)
    assert np.allclose(read["per head"], people()["a"] / people()["b"])
    assert "Version 2" in field(app, "Version").options[0]
    assert "with per head, computed 1" in field(app, "Version").options[0]
    assert open_page("train", table=new.id).selectbox[0].value == "y"


@pytest.mark.slow
def test_another_type_counts_the_cells_that_it_cannot_read(space, table):
    app = open_page("data", table=table.id)
    choose(app, "Add", "Another type")
    step(app, "Column", "size", last=True)
    odd = int((people()["size"] == "large").sum())
    assert f"{odd} cells cannot be read and will be missing: 'large'." in said(app)
    button(app, "Add").click().run()
    button(app, "Discard the changes").click().run()
    assert not any(one.label == "Keep as a new version" for one in app.button)
    assert len(space.tables.listed()) == 1


def test_a_table_without_what_a_model_computes_is_not_scored_before_it_has_it(space, table):
    made, _ = derived.keep(space, table, [Retyped("b", "category"), Computed("ratio", "a / 2")])
    model = train(space, spec_of(made.id, features=["ratio", "b"], bands=0))
    other = space.tables.add(people(90, 3), "others")
    app = open_page("models", model=model.id)
    app.session_state["score"] = True
    app.session_state[f"score-table-{model.id}"] = other.id
    app.run()
    assert "others lacks them: b as category; ratio = a / 2." in said(app)
    assert not any(one.label == "Score the table" for one in app.button)
    button(app, "Compute them").click().run()
    assert not app.exception
    assert any(one.label == "Score the table" for one in app.button)
    version = next(one for one in space.tables.listed() if one.name == "others" and one.steps)
    assert app.session_state[f"score-table-{model.id}"] == version.id
    assert version.replaces == other.id


def test_sql_says_what_is_computed_first(space, table):
    made, _ = derived.keep(space, table, [Computed("ratio", "a /\n2")])
    model = train(space, spec_of(made.id, features=["ratio"], bands=0))
    sql = to_sql(from_saved(space.models.load(model.id)), "t", computed=[Computed("ratio", "a /\n2").words()])
    assert sql.splitlines()[1] == "-- compute this column first: ratio = a / 2"


def test_json_says_what_is_computed_first(space, table, monkeypatch):
    steps = [Computed("half", "a / 2"), Retyped("b", "category"), Computed("ratio", "half * 3"), Computed("no", "a")]
    made, _ = derived.keep(space, table, steps)
    model = train(space, spec_of(made.id, features=["ratio", "b"], bands=0))
    written = []
    monkeypatch.setattr(io, "to_json", lambda *given: written.append(to_json(*given)) or written[-1])
    app = open_page("models", model=model.id)
    app.session_state["elsewhere"] = True
    app.run()
    assert not app.exception
    assert json.loads(written[0])["computed"] == [
        {"column": "half", "formula": "a / 2", "needs": ["a"]}, {"column": "b", "to": "category", "needs": ["b"]},
        {"column": "ratio", "formula": "half * 3", "needs": ["half"]},
    ]  # fmt: skip
    rows = space.tables.read(made.id)[["ratio", "b"]]
    fitted = from_saved(space.models.load(model.id))
    np.testing.assert_allclose(from_json(written[0]).predict(rows), fitted.predict_proba(rows)[:, 1], atol=1e-12)
    assert "computed" not in json.loads(to_json(fitted))


@pytest.mark.slow
def test_train_offers_the_filter_of_data_and_does_not_apply_it_unasked(space, table):
    space.tables.set_names(table.id, Names({"b": ColumnNames("Size of flat", "rooms")}))
    data = open_page("data", table=table.id)
    next(one for one in data.selectbox if one.label == "Column" and one.value is None).set_value("b").run()
    next(one for one in data.number_input if one.label == "at least").set_value(3.0).run()
    key = f"filtered-{table.id}"

    def train_page():
        app = AppTest.from_file(str(ROOT / "pages" / "train.py"), default_timeout=60)
        app.query_params["table"] = table.id
        app.session_state[key] = data.session_state[key]
        return app.run()

    app = train_page()
    assert not app.exception
    offered = next(one for one in app.checkbox if one.label.startswith("Train on the rows you filtered: "))
    assert offered.label.endswith("Size of flat at least 3 rooms")
    assert not offered.value
    assert "left out by levels, filter" not in help_of_train(app)
    offered.check().run()
    assert not app.exception
    left = int((space.tables.read(table.id)["b"] < 3).sum())
    assert f"{left} rows are left out by levels, filter" in help_of_train(app)
    data.session_state[key] = json.dumps(Levels("y", ("yes",)).to_dict())
    app = train_page()
    assert not any(one.label.startswith("Train on the rows") for one in app.checkbox)
    assert "You filtered rows on Data by the target" in captions(app)


def help_of_train(app):
    return button(app, "Train").help


def test_a_formula_that_takes_too_long_is_refused_in_words_and_can_be_changed(table, monkeypatch):
    app = open_page("data", table=table.id)
    with monkeypatch.context() as slow:
        slow.setattr(patience.time, "thread_time", itertools.count(0, 100).__next__)
        step(app, "Formula", "a < (a < 1) < a")
        assert "This takes more than 10 seconds to compute" in said(app)
        assert not any(one.label == "Add" for one in app.button)
    step(app, "Formula", "a + 1")
    assert "**computed 1**: a number" in said(app)
