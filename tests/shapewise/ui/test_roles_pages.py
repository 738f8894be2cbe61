"""Roles on the pages: guessed with a reason or asked, changed with one press, kept with the table, and begun from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shapewise.doctor.findings import LATER_WORDS
from shapewise.store.workspace import Workspace
from shapewise.training import derived
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.pages import button, open_page
from tests.support.places import ROOT


def policies(n=1_500, seed=0):
    rng = np.random.default_rng(seed)
    expo = np.where(rng.random(n) < 0.7, 1.0, rng.uniform(0.05, 1, n).round(3))
    return pd.DataFrame({
        "policy_id": np.arange(n) * 7 + 1000, "expo": expo, "nclaims": rng.poisson(0.2 * expo),
        "late": np.r_[rng.poisson(0.4, n - 20), np.full(20, 98)], "fleet": rng.integers(0, 2, n),
        "broker_id": rng.integers(1, 9, n), "start": rng.choice([20230115, 20230216, 20240331, 20240630], n),
        "lat": rng.normal(50, 1, n),
    })  # fmt: skip


@pytest.fixture
def table(space: Workspace):
    return space.tables.add(policies(), "policies")


def roles_shown(app):
    frame = next(one.value for one in app.dataframe if "Role" in one.value)
    return dict(zip(frame["Column"], frame["Role"], strict=True))


def said(app):
    return " ".join(one.value for one in [*app.caption, *app.error, *app.warning, *app.markdown]).replace("\\", "")


def test_data_shows_guesses_and_what_the_doctor_found(table):
    shown = open_page("data", table=table.id)
    assert not shown.exception
    roles = roles_shown(shown)
    assert (roles["policy_id"], roles["expo"], roles["lat"]) == ("id", "exposure", "feature")
    assert "98 in 20 rows may stand for a missing value" in said(shown)
    assert "every number is a day, as in 20230115" in said(shown)


def test_what_is_only_suspected_is_said_in_full_and_left_out_in_a_press(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["x", "call_duration", "y"])
    frame["seldom"] = np.where(np.arange(300) < 40, frame["x"], np.nan)
    table = space.tables.add(frame, "calls")
    app = open_page("data", table=table.id)
    assert f"**call_duration**: {LATER_WORDS}." in said(app)
    assert "**seldom**: mostly missing (87%)." in said(app)
    app.button(key=f"found-{table.id}-call_duration-Leave out").click().run()
    assert space.tables.about(table.id).roles == {"call_duration": "leave out"}


@pytest.mark.slow
def test_one_press_acts_on_a_finding_and_another_undoes_it(space, table):
    app = open_page("data", table=table.id)
    button(app, "Read as missing").click().run()
    assert space.tables.names(table.id).codes() == {"late": ("98",)}
    assert "98 counts as missing" in said(app)
    button(app, "Read as it is").click().run()
    assert space.tables.names(table.id).codes() == {}
    app.button(key=f"found-{table.id}-policy_id-Use as a feature").click().run()
    assert space.tables.about(table.id).roles == {"policy_id": "feature"}
    app.button(key=f"found-{table.id}-policy_id-Leave out").click().run()
    assert space.tables.about(table.id).roles == {}
    app.button(key=f"found-{table.id}-fleet-Read as a number").click().run()
    assert space.tables.about(table.id).as_levels == {"fleet": False}
    app.button(key=f"found-{table.id}-fleet-Read as levels").click().run()
    assert space.tables.about(table.id).as_levels == {}
    assert not app.exception


@pytest.mark.slow
def test_days_become_dates_and_numbers_again(space, table):
    app = open_page("data", table=table.id)
    button(app, "Read as dates").click().run()
    assert not app.exception
    newest = space.tables.listed()[0]
    assert newest.made_of == table.id
    assert str(space.tables.read(newest.id)["start"].dtype).startswith("datetime64")
    app = open_page("data", table=newest.id)
    button(app, "Read as numbers").click().run()
    assert app.query_params["table"] in (table.id, [table.id])


def test_roles_are_changed_and_move_from_column_to_column(space, table):
    app = open_page("data", table=table.id)
    names = list(space.tables.read(table.id).columns)

    def edit(column, role, stored):
        app.session_state[f"doctor-{table.id}-{stored}"] = {
            "edited_rows": {names.index(column): {"Role": role}}, "added_rows": [], "deleted_rows": [],
        }  # fmt: skip
        app.run()

    edit("late", "target", 0)
    assert space.tables.about(table.id).roles == {"late": "target"}
    edit("lat", "target", 1)
    assert space.tables.about(table.id).roles == {"lat": "target"}
    assert roles_shown(app)["lat"] == "target"
    train = open_page("train", table=table.id)
    assert train.selectbox(key=f"target-{table.id}").value == "lat"


def test_train_begins_from_roles_and_asks_where_it_is_unsure(space, table):
    space.tables.change_roles(table.id, {"nclaims": "target", "lat": "leave out"})
    app = open_page("train", table=table.id)
    assert app.selectbox(key=f"exposure-{table.id}-nclaims").value == "expo"
    left_out = next(one for one in app.multiselect if one.label == "Leave out").value
    assert {"policy_id", "lat"} <= set(left_out)
    codes = next(one for one in app.multiselect if one.label == "Numbers to treat as categories").value
    assert codes == ["fleet", "broker_id"]
    rng = np.random.default_rng(0)
    plain = space.tables.add(pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd")), "plain")
    app = open_page("train", table=plain.id)
    assert not app.exception
    assert "Which column is to be predicted?" in said(app)
    app.button(key=f"ask-target-{plain.id}-d").click().run()
    assert space.tables.about(plain.id).roles == {"d": "target"}
    assert app.selectbox(key=f"target-{plain.id}").value == "d"


def test_a_training_answers_what_is_to_be_predicted(space):
    rng = np.random.default_rng(0)
    plain = space.tables.add(pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd")), "plain")
    question = "Which column is to be predicted?"
    assert question in said(open_page("data", table=plain.id))
    train(space, Spec(plain.id, "a", "a", ["b", "c", "d"], goal="number", preset="fast"), n_jobs=1)
    assert question not in said(open_page("data", table=plain.id))


def test_a_newer_version_keeps_roles_and_readings(space, table):
    space.tables.change_roles(table.id, {"lat": "leave out"})
    space.tables.read_as_levels(table.id, "fleet", False)
    new, _ = derived.add_newer(
        space, space.tables.about(table.id), lambda: space.tables.add(policies(seed=1), "next month")
    )
    assert new.roles == {"lat": "leave out"}
    assert new.as_levels == {"fleet": False}


def test_an_experiment_begins_from_the_arm_or_asks(space):
    rng = np.random.default_rng(0)
    n = 3_000
    spend = rng.gamma(1, 200, n).round(2)
    frame = pd.DataFrame({
        "recency": rng.integers(1, 13, n), "history_segment": pd.cut(spend, [-1, 100, 300, 1e9]).astype(str),
        "history": spend, "mens": rng.integers(0, 2, n), "segment": rng.choice(["Mens", "Womens", "No E-Mail"], n),
        "visit": rng.integers(0, 2, n),
    })  # fmt: skip
    mails = space.tables.add(frame, "mails")
    app = open_page("experiment", table=mails.id)
    assert app.selectbox(key=f"arms-arm-{mails.id}").value == "segment"
    other = space.tables.add(frame.iloc[1:], "other mails")
    space.tables.change_roles(other.id, {"segment": "feature", "mens": "arm"})
    app = open_page("experiment", table=other.id)
    assert app.selectbox(key=f"arms-arm-{other.id}").value == "mens"
    assert not app.exception


def test_findings_with_one_cure_have_one_press_and_outcomes_none(space):
    """A page with a key twice fails: what came of a test is suspected by its name, and by how it goes with another."""
    winback = pd.read_csv(ROOT / "sample_data" / "winback.csv")
    table = space.tables.add(winback, "winback")
    app = open_page("data", table=table.id)
    assert roles_shown(app)["returned"] == "outcome"
    assert said(app).count("**returned**:") == 3
    pressed = [one.key for one in app.button if str(one.key).startswith(f"found-{table.id}-returned-")]
    assert pressed == [f"found-{table.id}-returned-Read as a number"]
