"""Rows of a newer version, added to a model that keeps counts of the rows of the older one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore import update
from gamcore.data.column_names import ColumnNames, Names
from gamcore.data.columns import TableError
from gamcore.estimators.saved import from_saved
from shapewise.reports.card import card
from shapewise.store.workspace import StoreError
from shapewise.training import carry_over as versions
from shapewise.training import runs
from shapewise.training.adding import add_rows
from shapewise.training.spec import Spec
from shapewise.training.train import read_all, train
from tests.support.pages import button, captions, choose, open_page
from tests.support.spaces import wait

FEATURES = ["size", "rooms"]


def a_quarter(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    size, rooms = rng.gamma(4, 20, n).round(1) + shift, rng.choice(["one", "two", "many"], n)
    price = 2 * np.sqrt(size) + 3 * (rooms == "many") + rng.normal(0, 1, n)
    return pd.DataFrame({"size": size, "rooms": rooms, "price": price.round(3)})


def a_spec(table, **more):
    usual = {"changes": {"max_rounds": 30}, "bands": 0, "keep_counts": True}
    return Spec(table.id, "price", "prices", FEATURES, **(usual | more))


@pytest.fixture
def quarters(space):
    """Two tables of which the second replaces the first, and a model of the first that keeps counts."""
    first = space.tables.add(a_quarter(900, 0), "prices")
    second, _ = versions.add_version(space, first, lambda: space.tables.add(a_quarter(300, 1, 40.0), "read"))
    return first, second, train(space, a_spec(first))


def predictions(space, model, X):
    return from_saved(space.models.load(model.id)).predict(X[FEATURES])


def test_the_model_of_both_tables_is_that_of_the_library(space, quarters):
    _first, second, model = quarters
    grown = add_rows(space, a_spec(second), model.id)
    library = from_saved(space.models.load(model.id))
    library.tables_ = space.models.tables(model.id)
    data = read_all(space, a_spec(second))
    update(library, data.X[~data.held_out], data.y[~data.held_out])
    X = a_quarter(200, 2)
    np.testing.assert_array_equal(predictions(space, grown, X), library.predict(X[FEATURES]))
    assert np.any(predictions(space, grown, X) != predictions(space, model, X))


def test_it_says_how_many_rows_were_added_and_what_moved(space, quarters):
    _first, second, model = quarters
    grown = add_rows(space, a_spec(second), model.id)
    assert grown.rows["added"] + grown.rows["held_out"] == 300
    assert grown.rows["training"] == grown.rows["added"] + model.rows["training"]
    assert (grown.table, grown.counted, space.models.tables(grown.id).n_rows) == (
        second.id,
        True,
        grown.rows["training"],
    )
    said = dict(card(space, grown.id).rows)
    assert f"{grown.rows['added']} were added" in said["Rows"]
    assert said["Moved since"].startswith("size")
    assert "rooms" not in said["Moved since"]


def test_the_older_rows_need_not_exist_any_more(space, quarters):
    first, second, model = quarters
    before = add_rows(space, a_spec(second), model.id)
    space.delete("tables", first.id)
    after = add_rows(space, a_spec(second), model.id)
    X = a_quarter(200, 2)
    np.testing.assert_array_equal(predictions(space, after, X), predictions(space, before, X))


def test_rows_that_the_model_knows_are_refused(space, quarters):
    _first, second, model = quarters
    both = pd.concat([a_quarter(900, 0), a_quarter(300, 5)])
    third, _ = versions.add_version(space, second, lambda: space.tables.add(both, "read"))
    with pytest.raises(TableError, match="75% of the rows are in the older version"):
        add_rows(space, a_spec(third), model.id)
    assert len(space.models.listed()) == 1


def test_a_model_without_counts_is_refused(space, quarters):
    first, second, _ = quarters
    without = train(space, a_spec(first, keep_counts=False))
    assert not without.counted
    with pytest.raises(StoreError):
        add_rows(space, a_spec(second), without.id)


@pytest.mark.slow
def test_bands_are_those_of_all_rows(space, quarters):
    first, second, _ = quarters
    model = train(space, a_spec(first, bands=10))
    assert model.bands == 10
    grown = add_rows(space, a_spec(second, bands=10), model.id)
    assert grown.bands == 10
    assert "Bands from 10 refits on half of the rows" in captions(open_page("shapes", model=grown.id))


def test_codes_stay_missing_in_a_model_that_has_grown(space, quarters):
    first, second, _ = quarters
    for table in (first, second):
        space.tables.set_names(table.id, Names({"rooms": ColumnNames(missing=("many",))}))
    model = train(space, a_spec(first))
    grown = from_saved(space.models.load(add_rows(space, a_spec(second), model.id).id))
    X = a_quarter(50, 3)[FEATURES]
    blank = X.assign(rooms=X["rooms"].where(X["rooms"] != "many"))
    np.testing.assert_array_equal(grown.predict(X), grown.predict(blank))


@pytest.mark.slow
def test_a_job_adds_rows_from_the_page_of_the_newer_version(space, quarters):
    _first, second, model = quarters
    app = open_page("data", table=second.id)
    app.session_state[f"renewed-{second.id}"] = True
    app.run()
    button(app, "Add its rows").click().run()
    assert not app.exception
    (run,) = runs.active(space)
    assert wait(space, run.id).model
    grown = space.models.about(wait(space, run.id).model)
    assert (grown.table, grown.rows["training"]) == (second.id, model.rows["training"] + grown.rows["added"])
    assert not open_page("shapes", model=grown.id).error
    assert "Of the earlier rows only counts are kept" in captions(open_page("shapes", model=grown.id))


@pytest.mark.slow
def test_only_models_with_counts_offer_it(space, quarters):
    first, _second, model = quarters
    assert "Add the newest rows" in [one.label for one in open_page("models", model=model.id).button]
    without = train(space, replace(a_spec(first, keep_counts=False), name="without"))
    assert "Add the newest rows" not in [one.label for one in open_page("models", model=without.id).button]


@pytest.mark.slow
def test_the_switch_is_there_where_counts_can_be_kept(space, quarters):
    first, *_ = quarters

    def offered(app):
        assert not app.exception
        return "Keep counts, to add rows later" in [one.label for one in app.toggle]

    app = open_page("train", table=first.id)
    assert offered(app)
    assert not offered(choose(app, "Pairs of features", "auto"))
    assert offered(choose(app, "Pairs of features", "none"))
    assert not offered(choose(app, "Preset", "paper"))
    app = choose(app, "Preset", "balanced")
    next(one for one in app.toggle if one.label.startswith("Keep counts")).set_value(True).run()
    button(app, "Train").click().run()
    (run,) = runs.active(space)
    assert space.models.about(wait(space, run.id).model).counted
