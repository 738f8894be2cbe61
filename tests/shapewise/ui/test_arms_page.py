"""A test of three arms on the page Experiment, without a board."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shapewise.decisions import arm_tests
from tests.support.pages import captions, choose, headlines, open_page

ARMS = ["No E-Mail", "Mens E-Mail", "Womens E-Mail"]


@pytest.fixture
def mailed(space):
    rng = np.random.default_rng(0)
    n = 6000
    arm = rng.choice(ARMS, n)
    visit = (rng.random(n) < np.where(arm == "Mens E-Mail", 0.2, 0.1)).astype(int)
    frame = pd.DataFrame({"segment": arm, "newbie": rng.integers(0, 2, n), "visit": visit,
                          "spend": visit * rng.gamma(2, 30, n)})  # fmt: skip
    return space, space.tables.add(frame, "emails", []), frame


def field(app, label):
    return next(one for one in app.selectbox if one.label == label)


def shown(app, name):
    """The table of an outcome."""
    return next(d.value for d in app.dataframe if name in d.value.columns and "Arm" in d.value.columns)


def test_a_test_of_three_arms_is_read_at_once(mailed):
    space, table, frame = mailed
    app = open_page("experiment", table=table.id)
    assert field(app, "Arm").value == "segment"
    assert field(app, "Control").value == "No E-Mail"
    assert "visit" not in field(app, "Arm").options[:1]
    outcomes = next(one for one in app.multiselect if one.label == "Outcomes")
    assert outcomes.value == ["visit", "spend"]
    rates = shown(app, "Rate")
    wanted = frame.groupby("segment")["visit"].mean()
    assert rates["Arm"].tolist() == ARMS
    assert rates["Rate"].tolist() == [f"{wanted[arm]:.1%}" for arm in ARMS]
    assert rates["Against control"][0] == "-"
    gap = 100 * (wanted["Mens E-Mail"] - wanted["No E-Mail"])
    assert rates["Against control"][1].startswith(f"{gap:+.1f} points")
    assert "Mens E-Mail works" in app.success[0].value.replace("\\", "")
    assert any("measured lifts are significant" in one for one in headlines(app))
    assert len(arm_tests.tests(space, {table.id})) == 1


def test_what_was_chosen_is_there_tomorrow(mailed):
    space, table, _ = mailed
    app = open_page("experiment", table=table.id)
    choose(app, "Adjust for many comparisons", "Dunnett")
    next(one for one in app.multiselect if one.label == "Outcomes").set_value(["visit"]).run()
    assert not app.exception
    again = open_page("experiment", table=table.id)
    assert next(one for one in again.multiselect if one.label == "Outcomes").value == ["visit"]
    assert "after Dunnett's adjustment over the arms of each outcome" in captions(again)
    assert len(arm_tests.tests(space, {table.id})) == 1


def test_for_whom_it_works(mailed):
    app = open_page("experiment", table=mailed[1].id)
    field(app, "By").set_value("newbie").run()
    assert not app.exception
    assert any(one.startswith("visit by newbie: ") for one in headlines(app))


def test_arms_of_the_wrong_sizes_stop_the_reading(mailed):
    space, _, frame = mailed
    wrong = frame[(frame["segment"] != "Mens E-Mail") | (frame.index % 3 == 0)]
    app = open_page("experiment", table=space.tables.add(wrong, "lost", []).id)
    assert "do not have the planned sizes" in app.error[0].value.replace("\\", "")
    assert not [d for d in app.dataframe if "Against control" in d.value.columns]


def test_a_table_without_arms_says_so(space):
    frame = pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50.0) ** 2})
    app = open_page("experiment", table=space.tables.add(frame, "numbers", []).id)
    assert "none can be the arm" in app.error[0].value.replace("\\", "")


def test_nothing_is_guessed_where_nothing_sounds_like_an_arm(space):
    frame = pd.DataFrame({"visit": np.resize([0, 1], 90), "conversion": np.resize([0, 0, 1], 90)})
    app = open_page("experiment", table=space.tables.add(frame, "outcomes", []).id)
    assert field(app, "Arm").value is None
    assert "Choose the arm column" in captions(app)
