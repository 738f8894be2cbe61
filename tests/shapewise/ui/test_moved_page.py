"""Who is moved by an arm, on the page Experiment: a model of the effect, and the strategy that follows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shapewise.decisions import boards, money
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.pages import button, captions, charts, headlines, open_page
from tests.support.prepared import effect_spec, winback


@pytest.fixture(scope="module")
def customers():
    return winback()


def field(app, kind, label):
    return next(one for one in app.get(kind) if one.label == label)


def said(app):
    return " ".join(one.value for one in app.markdown).replace("\\", "")


def test_a_test_offers_to_find_out_who_is_moved(space, customers):
    table = space.tables.add(customers, "winback", [])
    app = open_page("experiment", table=table.id)
    assert field(app, "multiselect", "Outcomes").value == ["returned", "spend"]
    known = field(app, "multiselect", "What was known before the test")
    assert known.value == ["age", "days_away", "past_orders", "app", "region"]  # neither the id nor an outcome
    assert button(app, "Find out who is moved")
    known.set_value([]).run()
    assert "Choose at least one column that was known before" in captions(app)


def test_those_who_are_moved_become_a_strategy(moved, customers):
    space, table, about = moved
    app = open_page("experiment", table=table.id)
    assert "Nothing known before the test tells the arms apart" in captions(app)
    assert "What moves the effect:** days_away, app" in said(app)
    assert any(line.startswith("Measured effect: +") and "predicted to move most" in line for line in headlines(app))
    assert {m.label: m.value for m in app.metric}["Qini"].endswith(" points")
    (parts,) = (one for one in charts(app) if "predicted effect" in one["layout"]["xaxis"]["title"]["text"])
    n_parts = len(parts["layout"]["xaxis"]["ticktext"])
    assert parts["layout"]["xaxis"]["title"]["text"].startswith("tenths" if n_parts == 10 else "parts")
    chosen = field(app, "multiselect", "Segments")
    assert len(chosen.value) == len(chosen.options) == 2
    field(app, "number_input", "Worth of one more outcome").set_value(20.0).run()
    field(app, "number_input", "Cost per customer reached").set_value(0.5).run()
    worth = next(d.value for d in app.dataframe if "Who" in d.value.columns)
    assert worth["Who"][1] == "Everybody"
    assert worth["Customers"][1] == "18,000"
    value = 18_000 * (20 * about.metrics["effect"] / 100 - 0.5)
    assert worth["Worth"][1].startswith(f"{value:,.0f}"[:3])
    button(app, "Make the strategy").click().run()
    [board] = boards.boards(space, table.id)
    [made] = board.read().strategies
    assert made.action == "email"
    assert made.rule.columns == ("days_away", "app")
    assert made.model == about.id
    rows = customers[made.rule.holds(customers) & (customers["arm"] == "none")]
    assert made.base == pytest.approx(rows["returned"].mean())
    assert made.lift[0] < made.lift[1] < made.lift[2]
    [priced] = money.priced(board, board.read(), money.of_table(space, table.id)).strategies
    assert priced.worth(100)[1] == pytest.approx(100 * (made.base * made.lift[1] * 20 - 0.5))


@pytest.mark.slow
def test_pages_say_effect_and_its_unit(moved):
    _, table, about = moved
    shapes = open_page("shapes", model=about.id, feature="days_away")
    assert "added to the mean effect of email on returned \\(points\\)" in captions(shapes)
    assert "held\\-out Qini" in captions(shapes)
    overview = open_page("overview", model=about.id)
    assert {m.label for m in overview.metric} >= {"Measured effect", "Qini"}
    rows = open_page("rows", model=about.id)
    assert "It was" not in {m.label for m in rows.metric}
    strategies = open_page("strategies", table=table.id)
    assert not strategies.exception


@pytest.mark.slow
def test_arms_that_differ_before_the_test_are_warned_of(space, customers):
    rng = np.random.default_rng(0)
    arms = ["none", "email", "letter"]
    by_app = [rng.choice(arms, len(customers), p=p) for p in ([0.38, 0.29, 0.33], [0.277, 0.387, 0.336])]
    spoilt = customers.assign(arm=np.where(customers["app"], by_app[1], by_app[0]))
    table = space.tables.add(spoilt, "spoilt", [])
    train(space, effect_spec(table.id), n_jobs=1)
    app = open_page("experiment", table=table.id)
    assert any("The arms differ in **app**" in one.value for one in app.warning)


@pytest.mark.slow
def test_nobody_stands_out_where_all_are_moved_alike(space, customers):
    rng = np.random.default_rng(1)
    still = customers.assign(arm=rng.permutation(customers["arm"]))
    table = space.tables.add(still, "still", [])
    about = train(space, effect_spec(table.id), n_jobs=1)
    assert Spec.from_dict(about.spec).treatment.known_by == about.id
    app = open_page("experiment", table=table.id)
    assert "Nobody stands out" in said(app)
    assert "so the strategy below is for everybody" in captions(app)
    assert "The model puts no row before another" in headlines(app)


@pytest.mark.slow
def test_all_features_may_have_curves(moved):
    space, table, about = moved
    app = open_page("experiment", table=table.id)
    assert "Train again in this way" not in {one.label for one in app.button}
    field(app, "toggle", "Only features that beat chance").set_value(False).run()
    assert button(app, "Train again in this way")
    train(space, replace(Spec.from_dict(about.spec), changes={"interactions": 0}), n_jobs=1)
    app = open_page("experiment", table=table.id)
    assert "Every feature has a curve" in captions(app)
    assert "What moves the effect:** days_away" in said(app)
