"""Bins of one's own, from the form and from a curve to the model, its card and a newer version of its table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.column_names import ColumnNames, Names
from gamcore.data.columns import TableError
from gamcore.estimators.saved import from_saved
from shapewise.reports.card import card
from shapewise.training import by_feature, chosen_bins, runs
from shapewise.training.carry_over import carried
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.pages import button, choose, open_page
from tests.support.spaces import wait

FEW = {"max_rounds": 40, "outer_bags": 2}
CHOSEN = {"age": [30.0, 50.0], "since": ["2024-06-01"], "kind": [["y", "z"]]}


def frame_of(seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, 2000), "kind": rng.choice(list("xyz"), 2000)})
    frame["since"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, 2000), "D")
    return frame.assign(y=frame["age"] / 20 + (frame["kind"] == "x") + 0.3 * rng.normal(size=2000))


@pytest.fixture
def table(space):
    return space.tables.add(frame_of(), "kinds", [])


def test_chosen_bins_are_told_in_the_names_of_the_table():
    names = Names({"kind": ColumnNames("Kind", levels={"y": "Yes"}), "age": ColumnNames("Age")})
    told = chosen_bins.words({"bins": CHOSEN}, names)
    assert told == "Age cut at 30, 50; since cut at 2024-06-01; Kind takes Yes with z"
    assert chosen_bins.words({}) == ""
    assert by_feature.among({"bins": CHOSEN}, {"kind"}) == {"bins": {"kind": [["y", "z"]]}}
    assert by_feature.with_values({"bins": CHOSEN}, "bins", {"age": []}) == {}


def test_a_model_of_chosen_bins_has_them_its_card_tells_and_a_newer_version_takes_them(space, table):
    spec = Spec(table.id, "y", "kinds", ["age", "since", "kind"], changes=FEW | {"bins": CHOSEN}, bands=0)
    made = train(space, spec)
    model = from_saved(space.models.load(made.id))
    assert model.explain_shape("age").edges.tolist()[1:-1] == [30, 50]
    assert set(model.explain_shape("kind").labels) == {"x", "y, z"}
    told = "age cut at 30, 50; since cut at 2024-06-01; kind takes y with z"
    assert ("Own bins", told) in card(space, made.id).rows
    newer = frame_of(1)
    newer["kind"] = newer["kind"].replace("z", "w")
    assert carried(spec, frame_of(), "other", newer).spec.changes == spec.changes
    retyped = carried(spec, frame_of(), "other", newer.assign(age="young")).spec
    assert set(retyped.changes["bins"]) == {"since", "kind"}


@pytest.mark.slow
def test_the_form_merges_levels(space, table):
    app = open_page("train", table=table.id)
    of = next(one for one in app.selectbox if one.label == "Bins of your own for")
    assert of.options == ["age", "kind", "since"]
    app = of.set_value("kind").run()
    field = next(one for one in app.multiselect if one.label == "Levels that count as one")
    app = field.set_value(["z", "x"]).run()
    assert not app.exception
    assert any("kind takes z with x" in one.value for one in app.caption)
    app = next(one for one in app.selectbox if one.label == "Bins of your own for").set_value("age").run()
    next(one for one in app.number_input if one.label == "Most rounds").set_value(40).run()
    button(app, "Train").click().run()
    assert not app.exception
    (run,) = runs.active(space) or runs.listing(space)
    about = space.models.about(wait(space, run.id).model)
    assert about.spec["changes"] == {"bins": {"kind": [["z", "x"]]}, "max_rounds": 40}


def test_what_is_typed_is_read_as_cuts():
    assert chosen_bins.cuts_in("18, 25;35\n50.5  65", False) == [18, 25, 35, 50.5, 65]
    assert chosen_bins.cuts_in("2024-01-01 2024-07-01", True) == ["2024-01-01", "2024-07-01"]
    assert chosen_bins.cuts_in(" ", False) == []
    for text, is_date, said in [
        ("25, x", False, "'x' is not a number"), ("2024-13-01", True, "not a date such as"),
        ("1,000", False, "000 comes after"),
        ("5 5", False, "comes after"), ("1, inf", False, "finite"), ("01/06/2024", True, "not a date such as"),
    ]:  # fmt: skip
        with pytest.raises(TableError, match=said):
            chosen_bins.cuts_in(text, is_date)


@pytest.mark.slow
def test_cuts_are_tried_on_their_curve_and_a_slip_is_told(space, table):
    model = train(space, Spec(table.id, "y", "kinds", ["age", "since", "kind"], changes=FEW, bands=0))
    for feature, typed, wrong in (("age", "30, 50", "30, y"), ("since", "2024-06-01", "June")):
        app = choose(open_page("shapes", model=model.id, feature=feature), "What next", "settings")
        field = next(one for one in app.text_input if one.label == "Bins begin at")
        app = field.set_value(typed).run()
        assert not app.exception
        assert [one.label for one in app.metric if one.label.startswith("Held-out")]
        app = next(one for one in app.text_input if one.label == "Bins begin at").set_value(wrong).run()
        assert not app.exception
        assert any("is not a" in one.value for one in app.error)


@pytest.mark.slow
def test_levels_are_merged_on_their_curve_and_the_price_is_told(space, table):
    model = train(space, Spec(table.id, "y", "kinds", ["age", "kind"], changes=FEW, bands=0))
    app = choose(open_page("shapes", model=model.id, feature="kind"), "What next", "settings")
    field = next(one for one in app.multiselect if one.label == "Levels that count as one")
    app = field.set_value(["x", "y"]).run()
    assert not app.exception
    (price,) = (one for one in app.metric if one.label.startswith("Held-out"))
    assert price.delta not in ("", "no change")
