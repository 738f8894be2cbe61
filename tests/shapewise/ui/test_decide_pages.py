"""Strategies, Experiment, and segments marked on Shapes and Pairs, through streamlit's AppTest."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit import cache_resource
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from gamcore.data.table import as_table
from gamcore.decide.arrivals import Arrivals
from gamcore.decide.outcomes import Outcome
from gamcore.decide.rules import EVERYBODY, All, AnyOf, Levels, Missing, Not, Range
from gamcore.decide.strategies import Strategy, StrategySet
from shapewise.decisions import boards as board
from shapewise.decisions import guided_example as example
from shapewise.decisions import plans
from shapewise.ui.decide import for_whom, plan
from shapewise.ui.widgets import guide, reach
from tests.support.hostile import EVIL
from tests.support.pages import button, captions, charts, choose, headlines, open_page


def metrics(app):
    return {metric.label: metric.value for metric in app.metric}


def keyed(elements, key):
    return next(one for one in elements if one.key == key)


def errors(app):
    return " ".join(one.value for one in app.error)


def on_board(acted, **query):
    return open_page("strategies", table=acted[1].id, board=acted[2].id, **query)


def on_experiment(acted, view):
    app = open_page("experiment", board=acted[2].id)
    return choose(app, "Show", view) if view != "plan" else app


def test_experiment_opens_with_the_plan_of_a_board_whose_target_is_a_mean(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.choice(["north", "south"], 400), "price": rng.gamma(4, 40_000, 400)})
    table, means = space.tables.add(frame, "prices", []), frame.groupby("area")["price"].mean()
    made = [Strategy(area, Levels("area", (area,)), metric="price", base=mean, is_rate=False)
            for area, mean in means.items()]  # fmt: skip
    kept = board.add_board(space, StrategySet("Prices", tuple(made)), table.id)
    app = open_page("experiment", board=kept.id)
    assert errors(app) == ""
    assert float(metrics(app)["Weeks"]) >= 1
    assert charts(app)


@pytest.mark.slow
def test_for_whom_offers_the_boards_that_the_table_can_answer(acted):
    space, _, made = acted
    frame = space.tables.read(example.load(space, example.OUTCOME).id)
    first, second, third = made.read().strategies
    lost = sorted(set(first.rule.columns) - {*second.rule.columns, *third.rule.columns})[0]
    offered = {}
    for name, gone in (("one", [lost]), ("none", made.read().gate.columns or made.read().cascade().columns)):
        table = space.tables.add(frame.drop(columns=list(gone)), name)
        app = choose(open_page("experiment", table=table.id), "Begin with", "test")
        keyed(app.multiselect, f"arms-outcomes-{table.id}-arm").set_value(["entry_1_click"]).run()
        offered[name] = next(one for one in app.selectbox if one.label == "By")
        if name == "one":
            offered[name].set_value(f"{for_whom.BOARD}{made.id}").run()
            assert not app.exception
            assert not app.error
            (warned,) = [one.value.replace("\\", "") for one in app.warning]
            assert warned.startswith(f"{first.name} cannot be read: the table has no column '{lost}'")
    label = f"Strategies of {made.read().name}"
    assert [label in field.options for field in offered.values()] == [True, False]


# Strategies


@pytest.mark.slow
def test_the_guide_leads_to_a_board(space):
    app = open_page("strategies")
    button(app, "Load renewal").click().run()
    assert not app.exception
    button(app, "Train three models").click().run()
    assert not app.exception
    assert len(space.models.listed()) == 3
    button(app, "Make the board").click().run()
    assert not app.exception
    assert [one.name for one in board.boards(space, space.tables.listed()[0].id)[0].read().strategies] == [
        "A",
        "C",
        "B",
    ]
    app.session_state["guide-False"] = True  # folded, where there is a board
    app.run()
    assert button(app, "Open the plan")


def test_a_finished_guide_stands_open_on_no_page(space, monkeypatch):
    mine = space.tables.add(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), "mine")
    opened = {}
    for steps in (0, len(guide.STEPS)):
        monkeypatch.setattr(guide, "done", lambda steps=steps: steps)
        app = open_page("strategies", table=mine.id)
        (opened[steps],) = [one.proto.expanded for one in app.expander if one.label.startswith("Guided example")]
    assert list(opened.values()) == [True, False]


def test_a_board_adds_up_and_moves_at_once(acted):
    space, table, made = acted
    app = on_board(acted)
    found = made.read().ledger(space.tables.read(table.id))
    assert metrics(app)["Eligible"] == f"{found.eligible:,}"
    assert (
        f"{found.exclusive[0]:,} + {found.exclusive[1]:,} + {found.exclusive[2]:,} + {found.remainder:,}"
        in captions(app)
    )
    reaches = [m.value for m in app.metric if m.label == "Exclusive reach"]
    assert reaches == [f"{n:,}" for n in found.exclusive]
    keyed(app.button, f"Lower-{made.id}-0").click().run()
    assert not app.exception
    after = board.board(space, made.id).read()
    assert [one.name for one in after.strategies] == ["C", "A", "B"]
    moved = [m.value for m in app.metric if m.label == "Exclusive reach"]
    assert moved == [f"{n:,}" for n in after.ledger(space.tables.read(table.id)).exclusive]
    assert moved[0] == f"{found.raw[1]:,}"
    keyed(app.button, f"remove-{made.id}-1").click().run()
    assert [one.name for one in board.board(space, made.id).read().strategies] == ["C", "B"]
    assert not [one for one in app.button if one.key == f"Higher-{made.id}-0"]  # nothing is higher than the first
    assert keyed(app.button, f"Lower-{made.id}-1").disabled


def test_a_board_is_found_without_its_table(acted):
    space, table, made = acted
    space.tables.add(pd.DataFrame({"x": [1, 2]}), "newer")
    app = open_page("strategies", board=made.id)
    assert metrics(app)["All rows"] == "30,000"
    assert app.query_params["table"] in (table.id, [table.id])


def test_boards_of_one_name_are_told_apart(acted):
    """The browser knows an option by its label: of two equal ones it may take the other."""
    space, table, made = acted
    board.add_board(space, made.read(), table.id)
    for page in ("strategies", "experiment"):
        field = next(field for field in open_page(page, board=made.id).selectbox if field.label == "Board")
        assert len(set(field.options)) == len(field.options) == 2


def test_the_three_quantities_keep_their_names(acted):
    app = on_board(acted)
    labels = [metric.label for metric in app.metric]
    assert labels.count("Opportunity") == labels.count("Model contrast") == labels.count("Scenario value") == 3
    helped = {m.label: m.help for m in app.metric if m.help}
    assert "association" in helped["Opportunity"]
    assert "not a measurement" in helped["Scenario value"]
    everything = " ".join([*labels, captions(app), *(m.value for m in app.markdown)])
    assert "uplift" not in everything.lower()
    assert "measured lift" not in " ".join(labels).lower()


@pytest.mark.slow
def test_each_view_of_a_board(acted):
    app = on_board(acted)
    assert "Saved segments" in " ".join(m.value for m in app.markdown)
    assert len(app.dataframe) >= 1
    choose(app, "More", "overlap")
    assert len(charts(app)) == 2
    choose(app, "More", "scenarios")
    assert (len(charts(app)), len(app.get("image"))) == (1, 3)
    assert "Strategy A is based on this curve" in captions(app)
    choose(app, "More", "alike")
    assert "sex (sex)" in " ".join(one.value for one in app.warning)
    assert "four-fifths" in captions(app)
    choose(app, "More", "files")
    button(app, "Check them on this table").click().run()
    assert "30,000 rows has the same strategy" in " ".join(one.value for one in app.success)
    assert not app.exception
    assert len(app.get("download_button")) >= 3


def test_segments_can_be_kept_and_forgotten(acted):
    space, table, _ = acted
    app = on_board(acted)
    kept = board.segments(space, table.id)
    keyed(app.button, f"forget-{kept[0].id}").click().run()
    assert len(board.segments(space, table.id)) == 2
    button(app, "Undo").click().run()
    assert board.segments(space, table.id) == kept
    assert "Undo" not in [one.label for one in app.button]


def test_a_board_whose_model_is_gone_still_counts(acted):
    space, _, made = acted
    space.delete("models", made.read().strategies[1].model)
    app = on_board(acted)
    assert [m.value for m in app.metric if m.label == "Opportunity"].count("not known") == 1
    assert not app.error


def test_a_board_on_columns_that_are_gone_says_so(acted):
    space, _, made = acted
    other = StrategySet("x", (Strategy("A", Range("gone", 1.0)),))
    board.change(space, made.id, strategies=lambda _: other)
    assert "'gone'" in errors(on_board(acted)).replace("\\", "")


@pytest.mark.slow
def test_hostile_names_on_a_board(full):
    space, table, number, _ = full
    rule = AnyOf((Range(EVIL, 3.0), Levels("district", ("Süd",))))
    first = Strategy(EVIL, rule, EVIL, EVIL, 0.2, (0.0, 0.1, 0.2), 3.0, 0.0, EVIL, number.id)
    made = StrategySet(EVIL, (first, Strategy("rest", EVERYBODY)))
    kept = board.add_board(space, made, table.id)
    board.add_segment(space, EVIL, rule, table.id, (number.id, EVIL), None)
    app = open_page("strategies", table=table.id, board=kept.id)
    for view in ("overlap", "scenarios", "alike", "files"):
        choose(app, "More", view)
        assert not app.exception
        for element in [*app.markdown, *app.caption, *app.warning]:
            assert EVIL not in element.value
        assert not any(EVIL in metric.delta for metric in app.metric)
    app = open_page("experiment", board=kept.id)
    assert not app.exception


def test_a_new_board_and_its_name(acted):
    space, table, made = acted
    app = on_board(acted)
    keyed(app.text_input, f"rename-{made.id}").set_value("Other").run()
    assert board.board(space, made.id).name == "Other"
    button(app, "New board").click().run()
    assert len(board.boards(space, table.id)) == 2
    assert "No strategy yet" in captions(app)


# The rule builder


def rule_of(rule, table):
    """What the builder's fields make of a rule, untouched."""

    def page(rule, table):
        import streamlit as st

        from shapewise.ui.widgets import rule_builder as builder

        if "draft" not in st.session_state:
            builder.begin("draft", rule)
        st.session_state["made"] = builder.edit("draft", table)

    app = AppTest.from_function(page, args=(rule, table)).run()
    assert not app.exception
    return app


@pytest.mark.parametrize(
    "rule",
    [
        Range("age", 30.0, 50.0), Range("age", None, 30.0, high_in=True), Range("age", 30.0, low_in=False),
        AnyOf((All((Range("age", 30.0), Not(Levels("sex", ("female", "gone"))))), Missing("education"))),
        Range("maturity_date", 20_100.25, date=True), Levels("tenure_months", ("3", "5")), EVERYBODY,
    ],
)  # fmt: skip
def test_a_rule_that_is_not_touched_stays_as_it_is(acted, rule):
    app = rule_of(rule, acted[1].id)
    assert app.session_state["made"] == rule


def test_an_end_that_is_edited_keeps_whether_it_is_in(acted):
    app = rule_of(Range("age", None, 30.0, high_in=True), acted[1].id)
    next(field for field in app.number_input if field.label == "at most").set_value(40.0).run()
    assert app.session_state["made"] == Range("age", None, 40.0, high_in=True)
    next(field for field in app.number_input if field.label == "at least").set_value(20.0).run()
    assert app.session_state["made"] == Range("age", 20.0, 40.0, high_in=True)


@pytest.mark.slow
def test_what_somebody_else_did_meanwhile_stays(acted):
    space, _, made = acted
    app = on_board(acted)
    board.change(space, made.id, strategies=lambda now: now.moved(0, 2))  # C, B, A
    keyed(app.button, f"remove-{made.id}-0").click().run()  # the first card here is A's
    assert [one.name for one in board.board(space, made.id).read().strategies] == ["C", "B"]
    stale = on_board(acted)
    board.change(space, made.id, strategies=lambda now: now.moved(1, 0))
    board.change(space, made.id, strategies=lambda now: StrategySet(now.name, now.strategies[:1]))
    keyed(stale.button, f"Higher-{made.id}-1").click().run()  # B's
    assert [one.name for one in board.board(space, made.id).read().strategies] == ["B"]
    gone = on_board(acted)
    space.delete("boards", made.id)
    keyed(gone.button, f"remove-{made.id}-0").click().run()
    assert not gone.exception
    assert "no such board" in errors(gone)


# Shapes


@pytest.mark.slow
def test_a_marked_range_is_told_in_words_and_kept(acted):
    space, table, made = acted
    model = made.read().strategies[1].model
    app = choose(open_page("shapes", model=model, feature="fund_visits"), "What next", "segment")
    assert "Drag over the plot" in captions(app)
    suggestion = next(b for b in app.button if b.label == "at least 4")
    suggestion.click().run()
    assert not app.exception
    assert "fund\\_visits at least 4" in " ".join(m.value for m in app.markdown)
    assert metrics(app)["Opportunity"].startswith("\\+2")
    found = charts(app)[0]
    areas = [shape for shape in found["layout"]["shapes"] if shape["type"] == "rect"]
    assert len(areas) == 1
    assert areas[0]["x0"] == 3.5
    assert any("held-out rows" in note["text"] for note in found["layout"]["annotations"])
    keyed(app.number_input, f"brush-low-{model}-fund_visits").set_value(6.0).run()
    assert "2 ranges were examined" in captions(app)
    button(app, "Save as segment").click().run()
    kept = board.segments(space, table.id)[-1]
    assert kept.read() == Range("fund_visits", 6.0)
    assert kept.known_evidence().tried == 2
    button(app, "Clear").click().run()
    assert "Drag over the plot" in captions(app)


@pytest.mark.slow
def test_levels_missing_cells_and_all_others_can_be_marked(acted):
    model = acted[2].read().strategies[0].model
    app = choose(open_page("shapes", model=model, feature="education"), "What next", "segment")
    keyed(app.multiselect, f"brush-levels-{model}-education").set_value(["school"]).run()
    keyed(app.checkbox, f"brush-missing-{model}-education").check().run()
    keyed(app.checkbox, f"brush-inverted-{model}-education").check().run()
    assert "not (education is school or education is missing)" in " ".join(m.value for m in app.markdown).replace(
        "\\", ""
    )
    app = choose(open_page("shapes", model=model, feature="maturity_date"), "What next", "segment")
    keyed(app.date_input, f"brush-low-{model}-maturity_date").set_value(pd.Timestamp("2025-06-01").date()).run()
    assert "from 2025-06-01" in " ".join(m.value for m in app.markdown).replace("\\", "")
    assert not app.exception


@pytest.mark.slow
def test_a_range_that_ends_before_it_begins(acted):
    model = acted[2].read().strategies[0].model
    app = choose(open_page("shapes", model=model, feature="age"), "What next", "segment")
    keyed(app.number_input, f"brush-low-{model}-age").set_value(60.0).run()
    keyed(app.number_input, f"brush-high-{model}-age").set_value(30.0).run()
    assert "ends before it begins" in errors(app)
    keyed(app.number_input, f"brush-high-{model}-age").set_value(71.3).run()
    keyed(app.checkbox, f"brush-rounded-{model}-age").check().run()
    assert "age at least 60 and below 71" in " ".join(m.value for m in app.markdown)


# Experiment


def test_a_plan_is_kept_and_shares_out_the_traffic(acted):
    space, table, made = acted
    app = on_experiment(acted, "plan")
    keyed(app.number_input, f"a-day-{made.id}").set_value(5000.0).run()
    assert not app.exception
    assert board.board(space, made.id).plan["a_day"] == 5000.0
    found = made.read().ledger(space.tables.read(table.id))
    wanted = [f"{5000 * n / found.eligible:,.0f}" for n in found.exclusive]
    assert needed(app)["customers per day"].tolist() == wanted
    assert needed(app)["today"].unique().tolist() == ["22.0%"]
    assert metrics(app)["Comparisons"] == "3"
    board.change(space, made.id, plan=example.plan_of(made))
    app = on_experiment(acted, "plan")
    assert metrics(app)["Comparisons"] == "9"
    assert len(needed(app)) == 12
    assert re.search(r"A lift of 15% shows after \d+ days for \w and \d+ days for \w; after", headlines(app)[0])


def needed(app):
    """The table of what each comparison needs."""
    return next(d.value for d in app.dataframe if "lift worth finding" in d.value.columns)


@pytest.mark.slow
def test_a_plan_to_look_whenever_says_what_it_costs_and_the_read_out_follows(acted):
    space, _, made = acted
    outcome = example.outcome_of(example.load(space, example.OUTCOME))
    board.change(space, made.id, plan=example.plan_of(made) | {"looks": True}, outcome=outcome)
    app = on_experiment(acted, "plan")
    assert "Look whenever you like" in captions(app)
    assert "That costs" in captions(app)
    assert next(one for one in app.get("button_group") if one.label == "Read it").value == "Whenever we like"
    app = on_experiment(acted, "read")
    assert "always-valid intervals, narrowest at the planned" in captions(app)


def test_a_plan_of_three_arms_of_unequal_size(acted):
    space, _, made = acted
    split = [{"arm": "control", "share": 60}, {"arm": "mail", "share": 30}, {"arm": "call", "share": 10}]
    board.change(space, made.id, plan=example.plan_of(made) | {"arms": split})
    app = on_experiment(acted, "plan")
    assert metrics(app)["Comparisons"] == "18"
    table = needed(app).set_index(["strategy", "arm", "metric"])
    sizes = table.loc[("A", "call", "entry_1_click"), ["treated", "control"]].str.replace(",", "").astype(int)
    assert sizes["control"] == pytest.approx(6 * sizes["treated"], abs=6)
    assert "control 60%, mail 30%, call 10%" in str(headlines(app)) + captions(app).replace("\\", "")
    board.change(space, made.id, plan=example.plan_of(made) | {"arms": [*split, {"arm": "mail", "share": 1}]})
    assert "Two arms are called 'mail'" in errors(on_experiment(acted, "plan"))


@pytest.mark.slow
def test_a_test_is_planned_without_a_board(space):
    """The outcomes of the table come with their rate, or their mean and its spread, of today."""
    rng = np.random.default_rng(0)
    visit = rng.integers(0, 5, 4000) == 0
    frame = pd.DataFrame({"recency": rng.integers(1, 13, 4000), "visit": visit.astype(int),
                          "spend": visit * rng.gamma(2, 30, 4000), "age": rng.integers(18, 80, 4000)})  # fmt: skip
    table = space.tables.add(frame, "customers")
    app = choose(open_page("experiment", table=table.id), "Begin with", "plan")
    assert not app.exception
    shown = needed(app).set_index("metric")
    assert shown.loc["visit", "today"] == f"{visit.mean():.1%}"
    assert shown.loc["spend", "today"] == f"{frame['spend'].mean():.3g}"
    assert "A lift of 10% shows after" in headlines(app)[0]
    assert plans.plans(space, table.id) == []
    keyed(app.number_input, f"a-day-plan-{table.id}").set_value(400.0).run()
    days = int(needed(app)["days"][0])
    choose(app, "Adjust for many comparisons", "Dunnett")
    assert int(needed(app)["days"][0]) < days
    keyed(app.selectbox, f"add-plan-{table.id}").set_value("recency").run()
    assert needed(app)["metric"].tolist() == ["visit", "spend", "recency"]
    (kept,) = plans.plans(space, table.id)
    assert (kept.form["a_day"], kept.form["adjustment"]) == (400.0, "Dunnett")
    row = plans.metric_of(as_table(frame), Outcome("recency"))
    assert kept.form["metrics"][2] == row
    assert row["deviation"] == pytest.approx(frame["recency"].std())
    again = choose(open_page("experiment", table=table.id), "Begin with", "plan")
    assert needed(again).equals(needed(app))
    sent_again(app, keyed(app.selectbox, f"add-plan-{table.id}"), "recency")
    assert needed(app)["metric"].tolist() == ["visit", "spend", "recency"]


def test_a_plan_says_by_which_day_what_can_be_seen(space):
    """From a first day, and with the weekdays of a column of dates; both are kept, and stand in the downloaded page."""
    days = pd.Series(pd.date_range("2026-01-05", periods=28)).repeat(50).reset_index(drop=True)
    frame = pd.DataFrame({"came": days, "visit": np.arange(len(days)) % 4 == 0})
    table = space.tables.add(frame[frame["came"].dt.day_of_week < 5], "customers")
    app = choose(open_page("experiment", table=table.id), "Begin with", "plan")
    keyed(app.date_input, f"first-plan-{table.id}").set_value(date(2026, 11, 30)).run()
    keyed(app.selectbox, f"weekdays-plan-{table.id}").set_value("came").run()
    assert not app.exception
    seen = next(one.value for one in app.dataframe if "after" in one.value)
    assert seen["until"].tolist()[:2] == ["2026-12-06", "2026-12-13"]
    assert seen["customers"].tolist()[:2] == ["7,000", "14,000"]
    (kept,) = plans.plans(space, table.id)
    made = plans.planned_for_all(kept.form)
    assert made.arrivals == Arrivals(date(2026, 11, 30), (50.0,) * 5 + (0.0,) * 2)
    assert seen["smallest lift that shows"].tolist() == made.by_week_table()["smallest lift that shows"].tolist()
    assert f"({made.arrivals.last(made.days)})" in headlines(app)[0]
    assert metrics(app)["Until"] == str(made.arrivals.last(7 * made.weeks))
    assert "| 1 week | 2026-12-06 | 7,000 |" in plan.page("customers", made, []).replace("\\", "")
    again = choose(open_page("experiment", table=table.id), "Begin with", "plan")
    assert needed(again).equals(needed(app))


@pytest.mark.slow
def test_a_ratio_is_planned_on_a_table_and_on_a_board(acted):
    """Its spread is that of the rows; it stays what it is made of while other fields change."""
    space, _, made = acted
    rng = np.random.default_rng(0)
    visits = rng.poisson(2, 2000)
    frame = pd.DataFrame({"visits": visits, "revenue": visits * rng.gamma(0.5, 20, 2000)})
    shop = space.tables.add(frame, "shop")
    app = choose(open_page("experiment", table=shop.id), "Begin with", "plan")
    for label, value in (("Sum or mean of", "revenue"), ("Per", "visits")):
        next(one for one in app.selectbox if one.label == label).set_value(value).run()
    button(app, "Add revenue per visits").click().run()
    assert not app.exception
    assert "revenue per visits" in needed(app)["metric"].tolist()
    keyed(app.number_input, f"a-day-plan-{shop.id}").set_value(300.0).run()
    (kept,) = plans.plans(space, shop.id)
    assert kept.form["metrics"][-1] == plans.metric_of(as_table(frame), Outcome("revenue", "visits"))
    app = on_experiment(acted, "plan")
    there = needed(app)["metric"].tolist()
    add = keyed(app.selectbox, f"add-{made.id}")
    add.set_value(next(name for name in add.options if name not in there)).run()
    assert not app.exception
    assert len(needed(app)) > len(there)


def sent_again(app, box, value):
    """Run a page as a browser does that still holds what was chosen before."""
    states = app._tree.get_widget_states()
    kept = [state for state in states.widgets if state.id != box.id]
    del states.widgets[:]
    states.widgets.extend([*kept, WidgetState(id=box.id, string_value=value)])
    app._run(states)


@pytest.mark.parametrize(
    ("text", "value"),
    [("22%", 0.22), (" 0.5 % ", 0.005), ("1,234.5", 1234.5), ("0.22", 0.22), ("about 3", None), (None, None)],
)  # fmt: skip
def test_rates_and_means_as_they_are_typed(text, value):
    assert plans.level_of(text) == (value if value is None else pytest.approx(value))


@given(base=st.floats(1e-4, 1e6), deviation=st.none() | st.floats(0.1, 10))
def test_what_is_shown_is_what_was_typed(base, deviation):
    assert plans.level_of(plans.level_typed(base, deviation)) == pytest.approx(base, rel=1e-3)


@pytest.mark.slow
def test_looking_at_a_plan_writes_nothing(acted):
    space, _, made = acted
    stale = on_experiment(acted, "plan")
    assert board.board(space, made.id).plan == {}
    other = on_experiment(acted, "plan")
    keyed(other.number_input, f"a-day-{made.id}").set_value(5000.0).run()
    stale.run()
    assert board.board(space, made.id).plan["a_day"] == 5000.0


@pytest.mark.slow
def test_the_read_out_goes_by_the_board_that_was_tested(acted):
    space, _, made = acted
    outcome = example.outcome_of(example.load(space, example.OUTCOME))
    board.change(space, made.id, plan=example.plan_of(made), outcome=outcome)
    board.change(space, made.id, strategies=lambda now: now.moved(0, 2))
    app = on_experiment(acted, "read")
    assert "as it was when the test began" in captions(app)
    assert "A 23,212 / 23,230" in captions(app)
    app = on_experiment(acted, "plan")
    assert "has changed since the test began" in captions(app)
    button(app, "Restart with this board").click().run()
    assert board.board(space, made.id).plan["tested"] == board.board(space, made.id).strategies


@pytest.mark.slow
def test_a_plan_that_cannot_be_is_refused(acted):
    space, _, made = acted
    told = example.plan_of(made)
    told["metrics"][0]["lift"] = 9.0
    board.change(space, made.id, plan=told)
    assert "not a rate between 0 and 1" in errors(on_experiment(acted, "plan"))
    told["metrics"][0]["lift"] = None
    board.change(space, made.id, plan=told)
    assert "Row 1" in errors(on_experiment(acted, "plan"))


@pytest.mark.slow
def test_the_read_out_recovers_what_was_simulated(acted):
    space, _, made = acted
    outcome = example.outcome_of(example.load(space, example.OUTCOME))
    board.change(space, made.id, plan=example.plan_of(made), outcome=outcome)
    app = on_experiment(acted, "read")
    assert not app.exception
    assert "Clear" in app.success[0].value
    told = captions(app)
    assert "Sample ratio" in told
    assert told.count("Flat as expected") + told.count("No change detected, as expected") == 3
    assert told.count("A measured lift") == 9
    assert title_of_axis(charts(app)[0]) == "measured lift, relative"
    assert board.board(space, made.id).outcome["rows"]["roles"] == outcome["rows"]["roles"]


def title_of_axis(found):
    return found["layout"]["xaxis"]["title"]["text"]


@pytest.mark.slow
def test_a_broken_split_stops_the_page(acted):
    space, _, made = acted
    frame = space.tables.read(example.load(space, example.OUTCOME).id)
    lost = (frame["arm"] == "treated") & frame["entry_1_click"] & (np.arange(len(frame)) % 4 == 0)
    broken = space.tables.add(frame[~lost], "broken")
    board.change(space, made.id, outcome=example.outcome_of(broken))
    app = on_experiment(acted, "read")
    assert "Stop" in errors(app)
    assert not charts(app)
    assert "measured lift of" not in captions(app)
    assert re.search(r"p <\\? \\?\.0001", captions(app))


def test_counts_can_be_read_instead(acted):
    space, _, made = acted
    row = {"strategy": "A", "metric": "clicks", "treated": 5000, "treated successes": 600, "control": 5000,
           "control successes": 500}  # fmt: skip
    counts = {"counts": [row], "share": 0.5, "roles": {}}
    board.change(space, made.id, outcome={"way": "counts", "counts": counts})
    app = on_experiment(acted, "read")
    assert not app.exception
    assert app.success[0].value.replace("\\", "").endswith("A works.")
    assert board.board(space, made.id).outcome["counts"]["share"] == 0.5
    counts = counts | {"counts": [row | {"treated successes": 6000}]}
    board.change(space, made.id, outcome={"counts": counts})
    assert "Row 1" in errors(on_experiment(acted, "read"))


@pytest.mark.slow
def test_an_experiment_on_a_table_without_the_rules_columns(acted):
    space, _, made = acted
    frame = pd.DataFrame({"arm": ["a", "b"] * 50, "bought": [0, 1, 1, 1] * 25})
    other = space.tables.add(frame, "other")
    told = {"table": other.id, "arm": "arm", "treated": "b", "roles": {"bought": "primary"}, "share": 0.5, "before": {}}
    board.change(space, made.id, outcome={"rows": told})
    assert "no column" in errors(on_experiment(acted, "read"))
    frame["group"] = "A"
    named = space.tables.add(frame, "named")
    board.change(space, made.id, outcome={"rows": told | {"table": named.id, "by": "group"}})
    app = on_experiment(acted, "read")
    assert not app.exception
    assert not app.error
    (drawn,) = charts(app)
    assert drawn["layout"]["yaxis"]["ticktext"] == ["A · bought"]


def test_titles_are_sentences(acted):
    app = open_page("shapes", model=acted[2].read().strategies[1].model, feature="fund_visits")
    assert headlines(app)[0].startswith("fund_visits: ")


@pytest.mark.slow
def test_the_read_out_of_three_arms(acted):
    """A third arm that does nothing: only the other one has lifts; half the control and twice the comparisons."""
    space, _, made = acted
    frame = space.tables.read(example.load(space, example.OUTCOME).id)
    rng = np.random.default_rng(0)
    third = (frame["arm"] == "control") & (rng.random(len(frame)) < 0.5)
    three = space.tables.add(frame.assign(arm=frame["arm"].astype(str).mask(third, "postcard")), "three arms")
    told = example.outcome_of(three)["rows"] | {"control": "control", "treated": ["treated", "postcard"]}
    del told["share"]
    shares = {"control": 1.0, "postcard": 1.0, "treated": 2.0}
    board.change(space, made.id, plan=example.plan_of(made), outcome={"way": "rows", "rows": told | {"shares": shares}})
    app = on_experiment(acted, "read")
    assert not app.exception
    assert keyed(app.multiselect, f"treated-{made.id}-{three.id}-arm").value == ["treated", "postcard"]
    said = captions(app).replace("\\", "")
    assert 6 <= said.count("A measured lift") <= 9
    assert not [one.value for one in app.caption if "postcard" in one.value and "A measured lift" in one.value]
    assert re.search(r"treated · entry_1_click\*\* \(primary\): [\d.]+% treated against [\d.]+% in the control", said)
    assert said.count("postcard · entry_1_click") == 3
    board.change(space, made.id, outcome={"rows": told | {"shares": None}})
    assert "Stop" in errors(on_experiment(acted, "read"))  # two in four were to be treated


@pytest.mark.slow
def test_only_the_strategy_that_lacks_a_column_cannot_be_read(acted):
    space, _, made = acted
    frame = space.tables.read(example.load(space, example.OUTCOME).id)
    first, second, third = made.read().strategies
    lost = sorted(set(first.rule.columns) - {*second.rule.columns, *third.rule.columns})[0]
    without = space.tables.add(frame.drop(columns=lost), "a column less")
    board.change(space, made.id, plan=example.plan_of(made), outcome=example.outcome_of(without))
    app = on_experiment(acted, "read")
    assert not app.error
    words = " ".join(one.value for one in app.warning).replace("\\", "")
    assert f"{first.name} cannot be read: the table has no column '{lost}'" in words
    assert {label.split(" ")[0] for label in charts(app)[0]["layout"]["yaxis"]["ticktext"]} == {second.name, third.name}


@pytest.mark.slow
def test_for_whom_by_the_strategies_of_a_board(acted):
    """The lifts of the strategies, without a read-out of the board: they are those that were simulated."""
    space, _, made = acted
    table = example.load(space, example.OUTCOME)
    app = choose(open_page("experiment", table=table.id), "Begin with", "test")
    keyed(app.multiselect, f"arms-outcomes-{table.id}-arm").set_value(["entry_1_click"]).run()
    field = next(one for one in app.selectbox if one.label == "By")
    field.set_value(f"{for_whom.BOARD}{made.id}").run()
    assert not app.exception
    axes = [chart["layout"]["yaxis"] for chart in charts(app)]  # the last chart is by day
    drawn = [axis["ticktext"] for axis in axes if "ticktext" in axis][-1]
    assert [label.split(" · ")[0] for label in drawn] == ["A", "C", "B", "no strategy"]
    assert any(
        one.startswith(f"entry_1_click by {made.read().name}: treated: the lift differs") for one in headlines(app)
    )


def adding():
    from shapewise.decisions import boards
    from shapewise.ui.decide import board as deck
    from shapewise.ui.session import state

    deck.add(boards.boards(state.workspace())[0])


def changing():
    from shapewise.decisions import boards
    from shapewise.ui.decide import board as deck
    from shapewise.ui.session import state

    board = boards.boards(state.workspace())[0]
    deck.change(board, board.read().strategies[1].name)


def test_an_edit_that_was_not_saved_is_there_after_a_restart(acted):
    space, _, made = acted
    before = board.board(space, made.id).read().strategies
    app = AppTest.from_function(changing, default_timeout=60).run()
    next(field for field in app.text_input if field.label == "Action, in words").set_value("Write to them").run()
    next(field for field in app.number_input if field.label == "Cost per customer").set_value(0.75).run()
    assert not app.exception
    assert board.board(space, made.id).read().strategies == before
    cache_resource.clear()  # as at a new start of the server
    again = AppTest.from_function(changing, default_timeout=60).run()
    assert next(field for field in again.text_input if field.label == "Action, in words").value == "Write to them"
    button(again, "Begin with what is saved").click().run()
    assert next(field for field in again.text_input if field.label == "Action, in words").value == before[1].action
    next(field for field in again.text_input if field.label == "Action, in words").set_value("Call them").run()
    button(again, "Save").click().run()
    assert not again.exception
    saved = board.board(space, made.id).read().strategies
    assert [one.action for one in saved] == [before[0].action, "Call them", before[2].action]
    fresh = AppTest.from_function(changing, default_timeout=60).run()
    assert not any(one.label == "Begin with what is saved" for one in fresh.button)


@pytest.mark.slow
def test_a_strategy_that_was_not_saved_is_there_after_a_reload(acted):
    space, _, made = acted
    app = AppTest.from_function(adding, default_timeout=60).run()
    action = next(field for field in app.text_input if field.label == "Action, in words")
    action.set_value("Call them at noon").run()
    assert not app.exception
    again = AppTest.from_function(adding, default_timeout=60).run()  # a new session
    action = next(field for field in again.text_input if field.label == "Action, in words")
    assert action.value == "Call them at noon"
    button(again, "Save").click().run()
    assert not again.exception
    assert board.board(space, made.id).read().strategies[-1].action == "Call them at noon"
    fresh = AppTest.from_function(adding, default_timeout=60).run()
    assert next(field for field in fresh.text_input if field.label == "Action, in words").value == ""


@pytest.mark.slow
def test_a_suggestion_is_above_average_where_its_rate_is(acted, monkeypatch):
    """Whatever the sign of the model's term there: the rate stands beside the word."""
    suggested = reach.suggested
    monkeypatch.setattr(reach, "suggested", lambda model: [replace(one, up=not one.up) for one in suggested(model)])
    app = AppTest.from_function(adding, default_timeout=60).run()
    model = acted[2].read().strategies[0].scenario
    rates = {}
    for word in ("above", "below"):
        source = next(one for one in app.selectbox if one.label == "From")
        label = next(one for one in source.options if one.endswith(f"({word} average in {model})"))
        source.set_value(label).run()
        rates[word] = next(one for one in app.number_input if one.label == "Rate today").value
    assert rates["below"] < rates["above"]
