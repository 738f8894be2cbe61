"""Effects of an experiment, trained and stored by the app: those of the library, measured in rows not trained on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore import EffectGAM, TableError
from gamcore.additions.editing import edit
from gamcore.decide.arms import ArmsTest, read_arms
from gamcore.decide.rules import Levels, Range
from gamcore.decide.segments import Evidence, HeldOutRows
from gamcore.estimators.additive import single_model
from gamcore.estimators.saved import from_saved
from sample_data.winback import effect
from shapewise.decisions.effect_models import strategy, worth
from shapewise.decisions.money import Money
from shapewise.reports.card import card
from shapewise.scoring.held_out import held_out
from shapewise.store.workspace import StoreError
from shapewise.training.carry_over import alike
from shapewise.training.editing import store_edited
from shapewise.training.spec import Spec, Treatment
from shapewise.training.train import add_bands, read_all, train, train_parts
from tests.support.prepared import KNOWN, effect_spec, winback


@pytest.fixture(scope="module")
def customers():
    return winback()


@pytest.fixture
def trained(space, customers):
    table = space.tables.add(customers, "winback", [])
    return space, train(space, effect_spec(table.id), n_jobs=1)


@pytest.mark.slow
def test_it_is_the_model_of_the_library(trained, customers):
    space, about = trained
    model, data = from_saved(space.models.load(about.id)), read_all(space, Spec.from_dict(about.spec))
    rows = customers.loc[data.X.index[~data.held_out]]
    assert set(rows["arm"]) == {"email", "none"}
    own = EffectGAM(order="greedy", interactions=0, random_state=0, n_jobs=1).fit(
        rows[KNOWN], rows["returned"], rows["arm"] == "email", propensity=0.5
    )
    np.testing.assert_allclose(model.predict(customers[KNOWN]), 100 * own.predict(customers[KNOWN]), atol=1e-6)
    assert model.entries_["entered"].tolist() == own.entries_["entered"].tolist()
    assert {"days_away", "app"} == set(model.entries_.loc[model.entries_["entered"] > 0, "feature"])
    assert np.corrcoef(model.predict(customers[KNOWN]), effect(customers, "email"))[0, 1] > 0.9


def test_all_rows_measure_the_difference_of_the_arms(trained, customers):
    space, about = trained
    data = read_all(space, Spec.from_dict(about.spec))
    every = customers.loc[data.X.index]
    made = read_arms(every, ArmsTest("arm", "none", {"returned": "primary"})).effects[0]
    low, high = made.difference_interval
    error = (high - low) / 4
    assert about.metrics["effect"] == pytest.approx(100 * made.difference, abs=50 * error)  # one number, half an error
    assert about.metrics["effect_high"] - about.metrics["effect_low"] < 100 * (high - low)
    assert about.metrics["effect_low"] < 100 * effect(every, "email").mean() < about.metrics["effect_high"]


@pytest.mark.slow
def test_each_row_is_put_in_order_by_a_model_that_has_not_seen_it(trained):
    space, about = trained
    data, said = read_all(space, Spec.from_dict(about.spec)), space.models.unseen(about.id)
    np.testing.assert_array_equal(said.part == 0, data.held_out)
    own = from_saved(space.models.load(about.id)).predict(data.X)
    np.testing.assert_allclose(said.predicted[data.held_out], own[data.held_out], atol=1e-9)
    assert (np.abs(said.predicted - own)[~data.held_out] > 1e-6).mean() > 0.9
    assert 0.7 < np.corrcoef(said.predicted, own)[0, 1] < 1.0
    assert {"days_away", "app"} <= set(said.curves)


@pytest.mark.slow
def test_held_out_rows_measure_the_effect_inside(trained, customers):
    space, about = trained
    data = read_all(space, Spec.from_dict(about.spec))
    held = customers.loc[data.X.index[data.held_out]]
    assert about.metrics["qini_low"] > 0
    fitted = from_saved(space.models.load(about.id))
    rows = HeldOutRows(single_model(fitted), held, data.y[data.held_out].to_numpy(), effect="points")
    facts = rows.evidence(Levels("app", ("True",)))
    inside = 100 * held[held["app"]].groupby("arm")["returned"].mean()
    assert facts.mean == pytest.approx(inside["email"] - inside["none"], abs=1.5)
    assert facts.interval[0] < 100 * effect(held[held["app"]], "email").mean() < facts.interval[1]
    assert facts.effect == "points"


@pytest.mark.slow
def test_the_signals_of_a_stored_model_are_kept(trained):
    space, about = trained
    spec = Spec.from_dict(about.spec)
    assert spec.treatment.known_by == about.id
    first, again = read_all(space, spec), read_all(space, spec)
    np.testing.assert_array_equal(first.y, again.y)
    np.testing.assert_array_equal(first.expected, space.models.expected(about.id))
    assert held_out(space, about.id).y.size == len(first.y)  # each by a model that has not seen it
    with pytest.raises(StoreError, match="has no expected"):
        space.models.expected(train(space, replace(spec, treatment=None, target="spend"), n_jobs=1).id)


@pytest.mark.slow
def test_bands_edits_and_parts_learn_from_the_same_signals(trained):
    space, about = trained
    banded = add_bands(space, about.id)
    fitted = from_saved(space.models.load(about.id))
    assert fitted.explain_shape("days_away").has_whole
    data = read_all(space, Spec.from_dict(about.spec))
    edited = edit(fitted, "days_away", "falling", reason="later is never better")
    child = store_edited(space, banded, edited, data, "child")
    assert child.metrics["effect"] == about.metrics["effect"]
    space.delete("models", about.id)
    np.testing.assert_array_equal(read_all(space, Spec.from_dict(child.spec)).y, data.y)
    parts = train_parts(space, child.id, "region")
    assert len(parts) == 4
    own = read_all(space, Spec.from_dict(parts[0].spec))
    np.testing.assert_array_equal(own.y, data.y[own.y.index])


@pytest.mark.slow
def test_arms_that_were_not_drawn_at_random_are_named(space, customers):
    rng = np.random.default_rng(0)
    spoilt = customers[
        (customers["arm"] != "none") | (rng.random(len(customers)) < np.where(customers["app"], 0.5, 1.0))
    ]
    table = space.tables.add(spoilt, "spoilt", [])
    about = train(space, effect_spec(table.id), n_jobs=1)
    assert [one["feature"] for one in about.apart] == ["app"]
    assert "told apart by app" in card(space, about.id).text()


def test_without_an_effect_the_model_is_constant(space, customers):
    rng = np.random.default_rng(1)
    table = space.tables.add(customers.assign(arm=rng.permutation(customers["arm"])), "still", [])
    about = train(space, effect_spec(table.id), n_jobs=1)
    assert np.ptp(space.models.unseen(about.id).predicted) == 0
    assert np.ptp(from_saved(space.models.load(about.id)).predict(customers[KNOWN])) < 1e-9
    assert about.metrics["qini"] == 0.0
    assert not about.apart


@pytest.mark.slow
def test_an_outcome_of_any_size_has_effects_in_its_units(space, customers):
    table = space.tables.add(customers, "winback", [])
    about = train(space, effect_spec(table.id, "spend", "letter"), n_jobs=1)
    truth = 40 * effect(customers, "letter")
    fitted = from_saved(space.models.load(about.id))
    assert fitted.entries_["feature"][0] == "age"
    assert np.corrcoef(fitted.predict(customers[KNOWN]), truth)[0, 1] > 0.85
    text = card(space, about.id).text()
    assert "letter against none" in text
    assert "Effects are those of the treatment" in text


def test_what_cannot_be_learnt_is_said(space, customers):
    table = space.tables.add(customers, "winback", [])
    spec = effect_spec(table.id)
    with pytest.raises(TableError, match="No row of 'arm' is 'sms'"):
        train(space, replace(spec, treatment=replace(spec.treatment, level="sms")), n_jobs=1)
    with pytest.raises(TableError, match="no column 'arms'"):
        train(space, replace(spec, treatment=replace(spec.treatment, arm="arms")), n_jobs=1)


@pytest.mark.slow
def test_a_test_of_stores_is_read_by_stores(space):
    """What is the same in a store says less than as many customers, in the balance, the evidence and the uplift."""
    rng = np.random.default_rng(0)
    store = np.repeat(np.arange(60), 60)
    arm = np.where(rng.permutation(60) < 30, "email", "none")[store]
    frame = pd.DataFrame({"arm": arm, "store": [f"s{k}" for k in store], "size": rng.normal(size=60)[store]})
    frame = frame.assign(x=rng.normal(size=3600), y=2 * rng.normal(size=60)[store] + rng.normal(size=3600))
    table = space.tables.add(frame, "stores", [])
    treatment, greedy = Treatment("arm", "email", "none"), {"order": "greedy", "interactions": 0}
    spec = Spec(table.id, "y", "stores", ["size", "x"], goal="number", group="store", bands=0, changes=greedy,
                treatment=treatment)  # fmt: skip
    about = train(space, spec, n_jobs=1)
    assert about.apart == []
    data = read_all(space, Spec.from_dict(about.spec))
    held, fitted = data.held_out, from_saved(space.models.load(about.id))
    y, groups = data.y[held].to_numpy(), data.groups[held]
    by_rows = HeldOutRows(single_model(fitted), frame.loc[data.X.index[held]], y, effect="")
    by_stores = HeldOutRows(single_model(fitted), frame.loc[data.X.index[held]], y, effect="", clusters=groups)
    wide, narrow = (rows.evidence(Range("x", 0.0)) for rows in (by_stores, by_rows))
    assert wide.mean == narrow.mean
    assert np.ptp(wide.interval) > 2 * np.ptp(narrow.interval)
    assert about.metrics["effect_low"] < 0 < about.metrics["effect_high"]


@pytest.mark.slow
def test_a_unit_called_points_is_no_share(moved):
    about = moved[2]
    money = Money({about.target: 2.0})
    facts = Evidence(100, 50, 0.5, (0.25, 0.75), 0.0, 0.5, (0.0, 1.0), contrast=0.0, agree=1.0, tried=1, binary=False,
                     effect="points")  # fmt: skip
    share = worth(facts, 1000, money, about)
    assert share.value == pytest.approx(10.0)
    spend = replace(about, spec=about.spec | {"treatment": about.spec["treatment"] | {"percent": False}})
    assert worth(facts, 1000, money, spend).value == pytest.approx(1000.0)
    assert strategy("A", Range("age", 20.0), facts, 2.0, action="", model=spend).lift[1] == 0.25


@pytest.mark.slow
def test_a_retrained_effect_finds_its_twin(moved):
    spec = Spec.from_dict(moved[2].spec)
    assert alike(spec, replace(spec, treatment=replace(spec.treatment, known_by="")))
    assert not alike(spec, replace(spec, treatment=replace(spec.treatment, level="letter")))
