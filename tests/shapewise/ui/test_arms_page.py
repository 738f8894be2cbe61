"""A test of three arms on the page Experiment, without a board."""

from __future__ import annotations

import re
from dataclasses import replace

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


def shown(app, outcome):
    """The rows of an outcome in the read-out."""
    table = next(d.value for d in app.dataframe if "Against control" in d.value.columns)
    return table[table["Outcome"] == outcome].reset_index(drop=True)


def test_a_test_of_three_arms_is_read_at_once(mailed):
    space, table, frame = mailed
    app = open_page("experiment", table=table.id)
    assert field(app, "Arm").value == "segment"
    assert field(app, "Control").value == "No E-Mail"
    assert "visit" not in field(app, "Arm").options[:1]
    outcomes = next(one for one in app.multiselect if one.label == "Outcomes")
    assert outcomes.value == ["visit", "spend"]
    rates = shown(app, "visit")
    wanted = frame.groupby("segment")["visit"].mean()
    assert rates["Arm"].tolist() == ARMS
    assert [text.split(" ")[0] for text in rates["Reached"]] == [f"{wanted[arm]:.1%}" for arm in ARMS]
    assert rates["Against control"][0] == "-"
    gap = 100 * (wanted["Mens E-Mail"] - wanted["No E-Mail"])
    assert rates["Against control"][1].startswith(f"{gap:+.1f} points")
    assert "Mens E-Mail works" in app.success[0].value.replace("\\", "")
    assert [str(one).startswith("data:image/svg+xml;base64,") for one in rates["Interval"]] == [False, True, True]
    choose(app, "Lifts as", "relative")
    relative = wanted["Mens E-Mail"] / wanted["No E-Mail"] - 1
    assert shown(app, "visit")["Against control"][1].startswith(f"{relative:+.0%}"[:4])
    assert len(arm_tests.tests(space, {table.id})) == 1


@pytest.mark.slow
def test_a_test_may_be_read_whenever_one_likes(mailed):
    space, table, _ = mailed
    app = open_page("experiment", table=table.id)
    once = shown(app, "visit")["Against control"][1]
    choose(app, "Adjust for many comparisons", "Dunnett")
    choose(app, "Read it", "Whenever we like")
    planned = next(one for one in app.number_input if one.label == "Customers planned")
    assert planned.value == 6000
    planned.set_value(12_000).run()
    always = shown(app, "visit")["Against control"][1]
    assert once.split(" points")[0] == always.split(" points")[0]
    assert once != always
    assert "narrowest at the planned 12,000 customers" in captions(app)
    kept = arm_tests.tests(space, {table.id})[0]
    assert (kept.customers, kept.adjustment) == (12_000, "Holm")
    app = open_page("experiment", table=table.id)
    assert next(one for one in app.number_input if one.label == "Customers planned").value == 12_000
    choose(app, "Read it", "Once, at the end")
    assert arm_tests.tests(space, {table.id})[0].customers == 0


def test_households_and_what_was_known_before_change_the_intervals(space):
    rng = np.random.default_rng(0)
    household = np.repeat(np.arange(500), 6)
    arm = rng.permutation(np.arange(500) % 2)[household]
    age = rng.normal(size=3000)
    spend = 20 + 5 * age + 4 * rng.normal(size=500)[household] + arm + rng.normal(size=3000)
    frame = pd.DataFrame({"arm": np.where(arm, "new", "control"), "household": household, "age": age, "spend": spend})
    table = space.tables.add(frame, "homes", [])
    app = open_page("experiment", table=table.id)
    widths = [width(shown(app, "spend")["Against control"][1])]
    field(app, "Assigned as a whole").set_value("household").run()
    widths.append(width(shown(app, "spend")["Against control"][1]))
    assert "Assigned by household: control" in captions(app)
    next(one for one in app.multiselect if one.label == "Known before the test").set_value(["age"]).run()
    assert not app.exception
    widths.append(width(shown(app, "spend")["Against control"][1]))
    assert widths[1] > 1.3 * widths[0]
    assert widths[2] < 0.95 * widths[1]
    assert "What was known before cut the variance by" in captions(app)
    (kept,) = arm_tests.tests(space, {table.id})
    assert (kept.cluster, kept.known_before) == ("household", ["age"])
    app = open_page("experiment", table=table.id)
    assert field(app, "Assigned as a whole").value == "household"


def width(text):
    """The width of an interval that is shown as "1.2 (0.8 to 1.6)"."""
    low, high = re.search(r"\((\S+) to (\S+)\)", text).groups()
    return float(high) - float(low)


def test_what_was_chosen_is_there_tomorrow(mailed):
    space, table, _ = mailed
    app = open_page("experiment", table=table.id)
    choose(app, "Adjust for many comparisons", "Dunnett")
    next(one for one in app.multiselect if one.label == "Outcomes").set_value(["visit"]).run()
    assert not app.exception
    again = open_page("experiment", table=table.id)
    assert next(one for one in again.multiselect if one.label == "Outcomes").value == ["visit"]
    assert "after Dunnett over the arms of each outcome" in captions(again)
    assert len(arm_tests.tests(space, {table.id})) == 1


def test_a_guardrail_holds_once_a_fall_that_somebody_minds_is_ruled_out(mailed):
    space, table, _ = mailed
    app = open_page("experiment", table=table.id)
    (kept,) = arm_tests.tests(space, {table.id})
    setup = replace(kept.test(), metrics={"visit": "primary", "newbie": "guardrail"})
    arm_tests.keep(space, table.id, kept.name, setup, kept.id)
    app = open_page("experiment", table=table.id)
    assert "newbie could have fallen" in app.info[0].value
    assert "Say under *Roles* which fall of newbie nobody minds" in captions(app)
    arm_tests.keep(space, table.id, kept.name, replace(setup, accepted={"newbie": 0.2}), kept.id)
    app = open_page("experiment", table=table.id)
    assert "Mens E-Mail works" in app.success[0].value.replace("\\", "")
    assert "which fall" not in captions(app)
    roles = next(one.value for one in app.dataframe if "accepted" in one.value)
    assert roles["accepted"].tolist()[1:] == [0.2]
    assert arm_tests.test(space, kept.id).accepted == {"newbie": 0.2}


@pytest.mark.parametrize("unit", [1e-6, 1.0])
def test_planned_shares_are_on_any_scale(mailed, unit):
    """A plan may give them as parts of 1, or as customers."""
    space, table, frame = mailed
    shares = {arm: unit * int(n) for arm, n in frame["segment"].value_counts().items()}
    setup = arm_tests.ArmsTest("segment", ARMS[0], {"visit": "primary"}, shares=shares)
    kept = arm_tests.keep(space, table.id, "Mailed", setup)
    app = open_page("experiment", table=table.id)
    assert not app.exception
    assert "Mens E-Mail works" in app.success[0].value.replace("\\", "")
    assert arm_tests.test(space, kept.id).shares == pytest.approx(shares)


def test_arms_are_read_together_and_stay_so(mailed):
    """One alone is none; the control is no choice; a control that changes leaves no arm behind."""
    space, table, frame = mailed
    app = open_page("experiment", table=table.id)

    def pooled():
        return next(one for one in app.multiselect if one.label == "Arms read together")

    assert pooled().options == ["Mens E-Mail", "Womens E-Mail"]
    pooled().set_value(["Womens E-Mail"]).run()
    assert shown(app, "visit")["Arm"].tolist() == ARMS
    pooled().set_value(["Womens E-Mail", "Mens E-Mail"]).run()
    assert not app.exception
    row = shown(app, "visit").iloc[-1]
    assert row["Arm"] == "Mens E-Mail or Womens E-Mail"
    both = frame.loc[frame["segment"] != "No E-Mail", "visit"]
    gap = both.mean() - frame.loc[frame["segment"] == "No E-Mail", "visit"].mean()
    assert row["Customers"] == f"{len(both):,}"
    assert row["Against control"].startswith(f"{100 * gap:+.1f} points")
    assert arm_tests.tests(space, {table.id})[0].pooled == ["Mens E-Mail", "Womens E-Mail"]
    app = open_page("experiment", table=table.id)
    assert pooled().value == ["Mens E-Mail", "Womens E-Mail"]
    field(app, "Control").set_value("Mens E-Mail").run()
    assert not app.exception
    assert not app.error
    assert pooled().value == []


def test_for_whom_it_works(mailed):
    app = open_page("experiment", table=mailed[1].id)
    field(app, "By").set_value("newbie").run()
    assert not app.exception
    assert any(one.startswith("visit by newbie: ") for one in headlines(app))
    assert "each arm against No E-Mail, 95% intervals; coloured" in captions(app).replace("\\", "")


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


@pytest.mark.slow
def test_a_ratio_and_a_capped_mean_are_outcomes_too(space):
    rng = np.random.default_rng(0)
    visits = rng.poisson(2, 3000)
    frame = pd.DataFrame({"arm": rng.choice(["new", "control"], 3000), "visits": visits,
                          "revenue": visits * rng.gamma(0.5, 20, 3000)})  # fmt: skip
    table = space.tables.add(frame, "shop", [])
    app = open_page("experiment", table=table.id)
    next(each for each in app.multiselect if each.label == "Outcomes").set_value(["revenue"]).run()
    field(app, "Sum or mean of").set_value("revenue").run()
    field(app, "Per").set_value("visits").run()
    next(one for one in app.button if one.label == "Add revenue per visits").click().run()
    field(app, "Capped at").set_value(0.99).run()
    field(app, "Per").set_value(None).run()
    next(one for one in app.button if one.label == "Add revenue, capped at 99%").click().run()
    assert not app.exception
    chosen = ["revenue", "revenue per visits", "revenue, capped at 99%"]
    again = open_page("experiment", table=table.id)
    for one in (app, again):
        assert next(field for field in one.multiselect if field.label == "Outcomes").value == chosen
    (kept,) = arm_tests.tests(space, {table.id})
    assert list(kept.metrics) == chosen
    made = arm_tests.read_test(kept.test(), lambda columns: frame[list(columns)])
    sums = frame.groupby("arm")[["revenue", "visits"]].sum()
    assert made.level("new", "revenue per visits").value == pytest.approx(
        sums["revenue"]["new"] / sums["visits"]["new"]
    )
