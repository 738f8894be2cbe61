"""Newer versions of a table: how they are stored, and the pages that tell what moved and train models again."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from gamcore.decide.rules import Range
from shapewise.store.atomic_files import scratch_file
from shapewise.store.database import forget
from shapewise.store.workspace import StoreError, Workspace
from shapewise.training import carry_over as versions
from shapewise.training import runs
from shapewise.training.runs import Run, Standing
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.hostile import EVIL
from tests.support.pages import button, open_page


def a_month(n=400, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40 + shift, 9, n).round(1), EVIL: rng.choice(["x", EVIL], n)})
    frame["who"] = rng.integers(0, 80, n)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(30 * seed + rng.integers(0, 30, n), unit="D")
    frame["stays"] = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-0.2 * (frame["age"] - 40))), "yes", "no")
    return frame


def a_spec(table, **more):
    usual = {"preset": "fast", "changes": {"max_rounds": 5}, "bands": 0, "features": ["age", EVIL]}
    return Spec(table, "stays", EVIL, positive=["yes"], **(usual | more))


def add(space, frame, of):
    return versions.add_version(space, of, lambda: space.tables.add(frame, "read", []))


@pytest.fixture(scope="session")
def months_once(tmp_path_factory):
    """A workspace with a table, a model of it, and a newer version of the table; and what is said of that."""
    space = Workspace(tmp_path_factory.mktemp("months") / "space")
    old = space.tables.add(a_month(), EVIL, [])
    space.tables.change_roles(old.id, {"stays": "target", "who": "group"})
    model = train(space, a_spec(old.id, group="who"))
    return space.root, model, *add(space, a_month(500, 1, 6).drop(columns="when"), space.tables.about(old.id))


@pytest.fixture
def months(space, months_once):
    """A copy of it."""
    root, model, new, said = months_once
    for one in (root, space.root):
        forget(one)
    shutil.rmtree(space.root)
    shutil.copytree(root, space.root)
    return space, space.tables.about(model.table), new, model, said


def metrics(app):
    return {metric.label: metric.value for metric in app.metric}


def written(app):
    return " ".join(one.value for one in [*app.markdown, *app.caption, *app.info, *app.error]).replace("\\", "")


def opened(name, table):
    app = open_page("data", table=table.id)
    app.session_state[f"{name}-{table.id}"] = True
    app.run()
    assert not app.exception
    return app


# The store


def test_a_version_takes_over_name_roles_and_what_rows_are_held_out_by(months):
    _, old, new, _, said = months
    assert (new.name, new.replaces, said) == (old.name, old.id, [])
    assert new.roles == {"stays": "target", "who": "group"}
    assert new.held_out_by == old.held_out_by == {"group": "who"}


def test_roles_of_columns_that_are_gone_are_dropped_and_the_lost_rule_is_said(months):
    space, old, *_ = months
    new, said = add(space, a_month(450, 2).drop(columns="who"), old)
    assert new.roles == {"stays": "target"}
    assert new.held_out_by is None
    assert said == ["Rows were held out by who, and this version has no column who: its first training will decide."]


def test_a_time_that_is_no_time_any_more_decides_nothing(space):
    old = space.tables.add(a_month(), "months", [])
    space.tables.hold_out_by(old.id, None, "when")
    frame = a_month(450, 2)
    _, said = add(space, frame.assign(when=frame["when"].astype(str)), old)
    assert "another type of when" in said[0]
    new, said = add(space, frame, old)
    assert (new.held_out_by, said) == ({"time": "when"}, [])


def test_the_same_table_is_not_stored_again(months):
    space, old, new, *_ = months
    before = space.tables.listed()
    for frame, message in ((a_month(), "holds the same table"), (space.tables.read(new.id), "already been loaded")):
        with pytest.raises(StoreError, match=message):
            add(space, frame, old)
    with pytest.raises(StoreError, match="holds an older version"):
        add(space, a_month(), new)
    assert space.tables.listed() == before


def test_an_equal_table_of_other_bytes_is_the_same(months):
    space, old, *_ = months

    def store():
        with scratch_file(space.root) as path:
            a_month().to_parquet(path, compression="gzip")
            return space.tables.add_file(path, "read", old.rows, old.columns)

    with pytest.raises(StoreError, match="nothing was stored"):
        versions.add_version(space, old, store)
    assert len(space.tables.listed()) == 2


def test_a_table_that_was_here_becomes_the_newer_version(months):
    space, _, new, *_ = months
    lone = space.tables.add(a_month(90, 7), "lone", [])
    found, said = add(space, a_month(90, 7), new)
    assert (found.id, found.replaces, said[0]) == (lone.id, new.id, f"It is now the newer version of {EVIL}.")


def test_chains_lead_to_their_newest_end(months):
    space, old, new, *_ = months
    third, _ = add(space, a_month(300, 3), new)
    beside, _ = add(space, a_month(310, 4), old)
    tables = space.tables.listed()
    assert versions.newest(tables, new.id) == third
    assert versions.newest(tables, old.id) == beside  # of two that replace it, the one made last
    assert versions.newest(tables, third.id) is None
    assert [table.id for table in versions.older(tables, third.id)] == [new.id, old.id]


def test_deleting_a_version_keeps_the_chain(months):
    space, old, new, *_ = months
    third, _ = add(space, a_month(300, 3), new)
    versions.delete(space, new.id)
    assert space.tables.about(third.id).replaces == old.id
    versions.delete(space, old.id)
    assert versions.newest(space.tables.listed(), old.id) == space.tables.about(
        third.id
    )  # for models whose table is gone
    assert versions.older(space.tables.listed(), third.id) == []


def test_a_ring_of_versions_ends(months):
    _, old, new, *_ = months
    ring = [replace(new, replaces=old.id), replace(old, replaces=new.id)]
    assert versions.newest(ring, old.id).id == new.id
    assert [table.id for table in versions.older(ring, old.id)] == [new.id]


# Specifications


def test_a_specification_is_carried_without_what_is_gone():
    then, now = a_month(), a_month(50, 1).drop(columns=EVIL)
    spec = replace(a_spec("old"), categories=[EVIL], changes={"interactions": [["age", EVIL], ["age", "age"]],
                                                                 "triples": [["age", "age", EVIL]]})  # fmt: skip
    found = versions.carried(spec, then, "new", now)
    assert found.left_out == (EVIL,)
    assert (found.spec.table, found.spec.features, found.spec.categories) == ("new", ["age"], [])
    assert found.spec.changes == {"interactions": [["age", "age"]], "triples": []}
    typed = versions.carried(spec, then, "new", a_month(50, 1).assign(age="young"))
    assert (typed.retyped, typed.left_out) == (("age",), ())


@pytest.mark.parametrize(
    ("change", "more", "why"),
    [
        (lambda f: f.drop(columns="stays"), {}, "no column stays, which is the target"),
        (lambda f: f.assign(stays=1.0), {}, "target, stays, is of another type"),
        (lambda f: f.drop(columns="who"), {"group": "who"}, "no column who, which holds the groups"),
        (lambda f: f.drop(columns="when"), {"time": "when"}, "no column when, which holds the time"),
        (lambda f: f.drop(columns="who"), {"conditions": [Range("who", 3)]}, "which the row filter names"),
        (lambda f: f.drop(columns=["age", EVIL]), {}, "none of the features"),
    ],
)
def test_what_cannot_be_trained_again_is_refused_in_words(change, more, why):
    found = versions.carried(a_spec("old", **more), a_month(), "new", change(a_month(50, 1)))
    assert found.spec is None
    assert why in found.why


# The page Data


def in_the_dialog(table, frame):
    """The dialog alone, as AppTest knows no runs of a dialog without its page, with a file dropped on it."""

    def script():
        from shapewise.ui.data import versions
        from shapewise.ui.session import current

        versions.dialog(current.in_view().table)

    app = AppTest.from_function(script, default_timeout=60)
    app.query_params["table"] = table.id
    data = io.BytesIO()
    frame.to_parquet(data)
    app.run().file_uploader[0].set_value(("march.parquet", data.getvalue(), "application/octet-stream")).run()
    assert not app.exception
    return app


@pytest.mark.slow
def test_a_newer_version_is_loaded_in_a_dialog(months):
    space, old, new, *_ = months
    app = open_page("data", table=new.id)
    button(app, "Newer version").click().run()
    assert "with the same roles and the same rule" in written(app)
    app = in_the_dialog(new, a_month(300, 3))
    third = space.tables.listed()[0]
    assert (third.name, third.replaces) == (old.name, new.id)
    assert app.query_params["table"] in (third.id, [third.id])
    assert "500 rows then, 300 now" in written(open_page("data", table=third.id))


@pytest.mark.slow
def test_the_same_file_again_is_said_to_be_the_same(months):
    space, old, *_ = months
    assert "nothing was stored" in written(in_the_dialog(old, a_month()))
    assert len(space.tables.listed()) == 2


def test_an_older_version_leads_to_the_newest(months):
    _, old, new, *_ = months
    app = open_page("data", table=old.id)
    assert "What moved" not in [one.value for one in app.subheader]
    version = next(one for one in app.selectbox if one.label == "Version")
    assert [label.split(",")[0] for label in version.options] == ["Version 2", "Version 1"]
    version.select_index(0).run()
    assert metrics(app)["Rows"] == "500"
    assert app.query_params["table"] in (new.id, [new.id])


def test_what_moved_is_told_and_drawn(months):
    _, _, new, *_ = months
    app = open_page("data", table=new.id)
    assert "removed columns: *when*" in written(app)
    assert len(app.get("plotly_chart")) == 1  # the profile: what moved is not drawn before it is asked for
    app = opened("moved", new)
    assert "columns changed significantly" in written(app)
    field = next(one for one in app.selectbox if one.label.startswith("Column,"))
    assert field.options[0] == "age"
    for name in field.options[2:4]:  # levels, then dates
        next(one for one in app.selectbox if one.label.startswith("Column,")).set_value(name).run()
        assert not app.exception
        assert len(app.get("plotly_chart")) == 2
    for element in [*app.markdown, *app.caption]:
        assert EVIL not in element.value


def test_a_change_of_type_is_told(months):
    space, old, *_ = months
    new, _ = add(space, a_month(90, 5).assign(age="young"), old)
    assert "*age* was a number and is now a category" in written(opened("moved", new))


@pytest.mark.slow
def test_models_are_trained_again_and_compared(months, monkeypatch):
    space, _, new, model, _ = months
    began = []
    with monkeypatch.context() as patched:
        patched.setattr(runs, "start", lambda space, spec, n_jobs, adds, edits: began.append(spec))
        app = opened("renewed", new)
        button(app, "Retrain on the newer version").click().run()
    assert not app.exception
    assert began == [replace(Spec.from_dict(model.spec), table=new.id, codes=None)]
    run = Run("r", began[0], "", "running", None, "", Standing())
    with monkeypatch.context() as patched:
        patched.setattr(runs, "active", lambda space: [run])
        patched.setattr(runs, "read", lambda space, identifier: run)
        app = opened("renewed", new)
        assert "Retraining: main effects" in written(app)
        assert "Retrain on the newer version" not in [one.label for one in app.button]
    train(space, began[0])
    app = opened("renewed", new)
    assert "moved most: by" in written(app)
    assert "percentage points" in written(app)
    assert button(app, "Compare the curves")


def test_a_training_that_ended_badly_says_why(months, monkeypatch):
    _, _, new, model, _ = months
    run = Run(
        "r", replace(Spec.from_dict(model.spec), table=new.id), "", "failed", None, "All rows are <b>", Standing()
    )
    looked = []
    monkeypatch.setattr(runs, "active", lambda space: [] if looked else [run])
    monkeypatch.setattr(runs, "read", lambda space, identifier: looked.append(identifier) or run)
    app = opened("renewed", new).run()  # again, as the timer of what waits has the page drawn
    assert "All rows are <b>" in written(app)
    assert button(app, "Retrain on the newer version")


def test_a_training_that_is_refused_says_why(months, monkeypatch):
    new = months[2]

    def refused(*_, **__):
        raise StoreError("There is no room: <b>")

    monkeypatch.setattr(runs, "start", refused)
    app = opened("renewed", new)
    button(app, "Retrain on the newer version").click().run()
    assert "There is no room" in written(app)


def test_a_model_without_its_target_is_refused_and_lost_features_are_named(months):
    space, old, *_ = months
    new, _ = add(space, a_month(90, 5).drop(columns="stays"), old)
    app = opened("renewed", new)
    assert "has no column stays, which is the target" in written(app)
    assert "Retrain on the newer version" not in [one.label for one in app.button]
    new, _ = add(space, a_month(90, 6).drop(columns="age"), old)
    assert "Without the features that are gone: age" in written(opened("renewed", new))


def test_a_version_without_models_says_so(months):
    space, _, new, *_ = months
    third, _ = add(space, a_month(90, 5), new)
    assert "no model to retrain" in written(opened("renewed", third))


# Other pages


def test_compare_takes_the_other_model_from_the_url(months):
    space, old, new, model, _ = months
    twin = train(space, a_spec(new.id, group="who"))
    train(space, a_spec(old.id, features=["age"]))
    app = open_page("compare", model=model.id, **{"with": twin.id})
    assert app.multiselect[0].value == [twin.id]
    app = open_page("compare", model=model.id, **{"with": "0" * 16})
    assert app.multiselect[0].value != [twin.id]


def test_models_offers_the_newest_version(months, monkeypatch):
    space, old, new, model, _ = months
    began = []
    monkeypatch.setattr(runs, "start", lambda space, spec, n_jobs, adds, edits: began.append(spec) or "0" * 16)
    monkeypatch.setattr(st, "switch_page", lambda *_, **__: None)  # AppTest knows of one page only
    label = "Retrain on the newest"
    app = open_page("models", model=model.id)
    button(app, label).click().run()
    assert not app.exception
    assert [spec.table for spec in began] == [new.id]
    twin = train(space, a_spec(new.id, group="who"))
    assert label not in [one.label for one in open_page("models", model=twin.id).button]
    versions.delete(space, old.id)
    app = open_page("models", model=model.id)
    assert button(app, "Retrain").disabled
    assert not button(app, label).disabled
