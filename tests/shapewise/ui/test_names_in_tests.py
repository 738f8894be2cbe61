"""Names people use, in tests: Experiment, its plans and read-outs, profiles on Data and report slides say no other."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from gamcore.data.column_names import ColumnNames, Names
from gamcore.decide.arms import ArmsTest, by_segment, read_arms
from gamcore.decide.rules import Range
from gamcore.decide.shown import shown_read_out, shown_segments
from gamcore.decide.strategies import Strategy, StrategySet
from shapewise.decisions import arm_tests
from shapewise.decisions import boards as stored
from shapewise.reports.recipes import Recipe, ReportItem
from shapewise.reports.review import review_of
from tests.support.pages import charts, choose, headlines, open_page

OWN = ("arm_cd", "visit_fl", "spend_am", "past_am", "new_fl", "C0", "T1", "T2")
NAMES = Names({
    "arm_cd": ColumnNames("Mailing", levels={"C0": "nothing", "T1": "first letter", "T2": "second letter"}),
    "visit_fl": ColumnNames("Shop visit"), "spend_am": ColumnNames("Revenue", "€", "money"),
    "past_am": ColumnNames("Revenue last year", "€", "money"),
    "new_fl": ColumnNames("Customer", levels={"0": "old", "1": "new"}),
})  # fmt: skip
ROLES = {"visit_fl": "primary", "spend_am": "guardrail"}
TEST = ArmsTest("arm_cd", "C0", ROLES, before={"spend_am": "past_am"}, pooled=("T1", "T2"))


@pytest.fixture
def tested(space):
    """A table of a test whose columns have names, and the test as it was set up."""
    rng = np.random.default_rng(0)
    n = 6000
    arm = rng.choice(["C0", "T1", "T2"], n)
    visit = (rng.random(n) < np.where(arm == "T1", 0.2, 0.1)).astype(int)
    past = rng.gamma(2, 30, n)
    frame = pd.DataFrame({"arm_cd": arm, "new_fl": rng.integers(0, 2, n), "visit_fl": visit, "past_am": past,
                          "spend_am": visit * 2000 + past})  # fmt: skip
    table = space.tables.add(frame, "letters", [])
    space.tables.set_names(table.id, NAMES)
    arm_tests.keep(space, table.id, "letters", TEST)
    return space, table, frame


def written(app):
    """All that a page says, in one text."""
    parts = [one.value for kind in (app.caption, app.markdown, app.subheader, app.success, app.warning, app.info,
                                    app.error) for one in kind]  # fmt: skip
    parts += [str(one.options) + one.label for one in [*app.selectbox, *app.multiselect]]
    parts += [one.label for one in app.number_input]
    parts += [one.value.to_csv() for one in app.dataframe]
    return " ".join([*parts, *map(json.dumps, charts(app))]).replace("\\", "")


def own_names(text):
    return {name for name in OWN if re.search(rf"\b{name}\b", text)}


def test_a_test_that_has_run_says_names(tested):
    app = open_page("experiment", table=tested[1].id)
    text = written(app)
    assert not own_names(text)
    assert "first letter or second letter" in text
    assert {"Mailing", "nothing", "first letter", "Shop visit", "Revenue"} <= set(re.split(r"[^\w ]", text))
    assert re.search(r"\+€\d", text)  # differences of means in their unit
    roles = next(one.value for one in app.dataframe if "role" in one.value)
    assert roles.drop(columns="accepted").values.tolist() == [
        ["Shop visit", "primary", "-"],
        ["Revenue", "guardrail", "Revenue last year"],
    ]
    next(one for one in app.selectbox if one.label == "By").set_value("new_fl").run()
    assert not app.exception
    assert any(one.startswith("Shop visit by Customer: first letter: ") for one in headlines(app))
    assert not own_names(written(app))
    drawn = json.dumps(charts(app), ensure_ascii=False)
    assert '"old"' in drawn
    assert '"first letter"' in drawn


def test_what_is_stored_keeps_the_columns_own_names(tested):
    space, table, _ = tested
    app = open_page("experiment", table=table.id)
    edits = {0: {"role": "expected null", "before": "Revenue last year"}}
    key = f"arms-roles-{table.id}-Shop visit|Revenue"
    app.session_state[key] = {"edited_rows": edits, "added_rows": [], "deleted_rows": []}
    app.run()
    assert not app.exception
    kept = arm_tests.tests(space, {table.id})[0].test()
    assert kept.metrics == {"visit_fl": "expected null", "spend_am": "guardrail"}
    assert kept.before == {"visit_fl": "past_am", "spend_am": "past_am"}


def test_numbers_are_the_same_under_any_name(tested):
    _, _, frame = tested
    made, segments = read_arms(frame, TEST), by_segment(frame, TEST, "visit_fl", "new_fl")
    seen, parts = shown_read_out(made, NAMES), shown_segments(segments, NAMES, made.test, "new_fl")
    numbers = [one.frame().select_dtypes("number") for one in (made, seen)]
    pd.testing.assert_frame_equal(*numbers)
    assert seen.sizes["all"].counts == {"nothing": made.sizes["all"].counts["C0"],
                                        "first letter": made.sizes["all"].counts["T1"],
                                        "second letter": made.sizes["all"].counts["T2"]}  # fmt: skip
    assert set(parts.frame()["segment"]) == {"old", "new"}
    assert list(parts.p.values()) == list(segments.p.values())
    assert shown_read_out(made, Names()).frame().equals(made.frame())


def test_a_plan_says_names_and_keeps_columns(tested):
    space, table, _ = tested
    app = open_page("experiment", table=table.id)
    choose(app, "Begin with", "plan")
    assert not app.exception
    assert not own_names(written(app))
    assert "Shop visit" in written(app)
    add = next(one for one in app.selectbox if one.label == "Add a column of the table")
    add.set_value("past_am").run()
    assert not app.exception
    form = space.listed("plans", lambda about: about)[0]["form"]
    assert {row["metric"] for row in form["metrics"]} >= {"visit_fl", "past_am"}
    assert not own_names(written(app))


@pytest.fixture
def board(tested):
    """A board whose test was read from the rows of the table."""
    space, table, _ = tested
    made = StrategySet("letters", (Strategy("big", Range("past_am", 40.0, None), metric="visit_fl", value=1.0),))
    kept = stored.add_board(space, made, table.id)
    rows = {"table": table.id, "arm": "arm_cd", "control": "C0", "treated": ["T1", "T2"], "shares": None,
            "roles": ROLES, "before": {}, "by": "by the rules of the board"}  # fmt: skip
    return space, table, stored.change(space, kept.id, outcome={"way": "rows", "rows": rows})


def test_a_board_s_read_out_says_names(board):
    _, table, _ = board
    app = open_page("experiment", table=table.id)
    choose(app, "Begin with", "board")
    choose(app, "Show", "read")
    assert not app.exception
    text = written(app)
    assert not own_names(text)
    assert "first letter · Shop visit" in text


def test_slides_say_names(board):
    space, table, kept = board
    items = tuple(ReportItem(kind) for kind in ("decision", "who", "lifts", "effects", "plan"))
    of_board = Recipe("r", "report", "", items=items, board=kept.id)
    test = arm_tests.tests(space, {table.id})[0]
    of_test = Recipe(
        "r", "report", "", items=tuple(ReportItem(kind) for kind in ("decision", "lifts", "effects")), test=test.id
    )
    for recipe in (of_board, of_test):
        parts = review_of(space, recipe).parts
        text = " ".join(str(part) for part in parts)
        assert not own_names(text)
        assert "Shop visit" in text


@pytest.mark.slow
def test_a_profile_says_names(tested):
    table = tested[1]
    app = open_page("data", table=table.id)
    app.selectbox(key=f"profile-{table.id}").set_value("past_am").run()
    app.selectbox(key=f"profile-by-{table.id}").set_value("new_fl").run()
    app.selectbox(key=f"profile-of-{table.id}-new_fl").set_value("1").run()
    assert not app.exception
    assert "Customer = new" in json.dumps(charts(app)[0])
    assert not own_names(json.dumps(charts(app)[0]) + headlines(app)[0])
    assert headlines(app)[0].startswith("Customer = new")
    app.selectbox(key=f"profile-{table.id}").set_value("new_fl").run()
    app.selectbox(key=f"profile-by-{table.id}").set_value("spend_am").run()
    assert not app.exception
    drawn = json.dumps(charts(app)[0], ensure_ascii=False)
    assert "Revenue (€)" in drawn
    assert '"old"' in drawn
    assert not own_names(drawn)
