"""Kinds of target: which one a column seems to be, and a training, a score file and evidence of each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gamcore import predict_interval
from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.estimators.saved import from_saved
from shapewise.ingest.read import read_file
from shapewise.scoring.held_out import held_out
from shapewise.scoring.score_rows import Scorer, whole
from shapewise.store.workspace import Workspace
from shapewise.training.goals import possible, suggest
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, read_all, train
from tests.support.places import ROOT

SAMPLES = {"claims": "claims", "spend": "spend", "choice": "plan"}
FEW = {"outer_bags": 2, "max_rounds": 30}


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    made = Workspace(tmp_path_factory.mktemp("goals"))
    for name in SAMPLES:
        loaded = read_file(f"{name}.csv", (ROOT / "sample_data" / f"{name}.csv").read_bytes())
        made.tables.add(loaded.frame, name, loaded.notes)
    return made


def spec_of(space, name, target, goal, **changes):
    table = next(table for table in space.tables.listed() if table.name == name)
    out = {target, "claim_amount", "claims", "spend", "delivery_days", "exposure_years", changes.get("exposure")}
    columns = space.tables.read(table.id).columns
    features = [column for column in columns if column not in out and not column.endswith("_id")]
    return Spec(table.id, target, name, features, goal=goal, changes=FEW, **changes)


@pytest.mark.parametrize(
    ("name", "target", "kind"),
    [
        ("claims", "claims", "count"),
        ("claims", "claim_amount", "spend"),
        ("spend", "spend", "spend"),
        ("spend", "delivery_days", "number"),
        ("choice", "plan", "classes"),
    ],
)
def test_samples_are_seen_for_what_they_are(name, target, kind):
    table = Table.of(pd.read_csv(ROOT / "sample_data" / f"{name}.csv"))
    suggested, why = suggest(table, target)
    assert suggested == kind
    assert why
    assert kind in possible(table, target)


def test_kinds_of_odd_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "age": rng.integers(18, 90, 500), "sold": rng.random(500) < 0.5,
        "price": rng.lognormal(3, 2.5, 500).round(2) + 0.01,
        "visits": rng.poisson(20, 500), "code": rng.choice([1, 2, 7], 500), "gain": rng.normal(size=500),
        "name": [f"n{k}" for k in range(500)],
    })  # fmt: skip
    table = Table.of(frame)
    kinds = {name: suggest(table, name)[0] for name in frame}
    assert kinds == {"age": "number", "sold": "binary", "price": "amount", "visits": "count", "code": "binary",
                     "gain": "number", "name": "binary"}  # fmt: skip
    assert "count" not in possible(table, "gain")
    assert "classes" in possible(table, "code")
    assert "classes" not in possible(table, "name")


@pytest.mark.slow
def test_a_count_per_exposure_from_training_to_a_score_file(space):
    spec = spec_of(space, "claims", "claims", "count", exposure="exposure_years")
    made = train(space, spec)
    assert Spec.from_dict(made.spec).exposure == "exposure_years"
    assert 0.02 < made.metrics["explained"] < 0.13  # the truth explains .12
    made = add_bands(space, made.id)
    assert made.bands == spec.bands
    model = from_saved(space.models.load(made.id))
    held, data = held_out(space, made.id), read_all(space, spec)
    assert np.average(held.y, weights=held.weight) == pytest.approx(
        data.y[data.held_out].sum() / data.exposure[data.held_out].sum()
    )
    frame = space.tables.read(spec.table)
    scores = Scorer(model, 2, (), "exposure_years")(frame)
    np.testing.assert_allclose(scores["expected"], scores["rate"] * frame["exposure_years"])
    np.testing.assert_allclose(scores["rate"], model.predict(frame[spec.features]))
    assert "prediction" not in scores
    with pytest.raises(TableError, match="missing or not above 0 in"):
        read_all(space, replace(spec, exposure="claims"))


@pytest.mark.slow
def test_an_amount_has_intervals_from_training_to_a_score_file(space):
    spec = spec_of(space, "spend", "spend", "spend")
    model = from_saved(space.models.load(train(space, spec).id))
    assert model.get_params()["power"] == "auto"
    assert 1.0 < model.power_ < 2.0
    held = read_all(space, spec)
    scores = Scorer(model, 1, ())(space.tables.read(spec.table))
    low, high = scores["low 90%"], scores["high 90%"]
    np.testing.assert_allclose(np.stack([low, high], axis=1), predict_interval(model, held.X.loc[scores.index], 0.9))
    y, new = space.tables.read(spec.table)["spend"], held.held_out
    assert 0.85 < ((y >= low) & (y <= high)).to_numpy()[new].mean() <= 1.0
    of_row = Scorer(model, 1, ["low 90%"])
    assert "low 90%_" in of_row.schema.names


@pytest.mark.slow
def test_intervals_of_totals_follow_the_exposure(space):
    spec = spec_of(space, "claims", "claims", "count", exposure="exposure_years")
    model = from_saved(space.models.load(train(space, spec).id))
    frame = space.tables.read(spec.table).head(200)
    frame.loc[frame.index[:5], "exposure_years"] = np.nan
    scores = Scorer(model, 1, (), "exposure_years")(frame)
    assert scores["high 90%"].isna().sum() == 5
    known = scores["high 90%"].notna()
    assert (scores["high 90%"] >= np.floor(scores["expected"]))[known].all()  # of a rare count, most are 0
    long = Scorer(model, 1, (), "exposure_years")(frame.assign(exposure_years=frame["exposure_years"] * 4))
    assert (long["high 90%"] >= scores["high 90%"])[known].mean() > 0.9
    assert (long["high 90%"] > scores["high 90%"])[known].mean() > 0.5
    scorer = Scorer(model, 1, (), "exposure_years")
    assert scorer.schema.field("high 90%").type == "int64"
    assert scores[["low 90%", "high 90%"]].to_csv(index=False).count(".") == 0  # a whole number is written as one
    written = pa.RecordBatch.from_pandas(scores, scorer.schema, preserve_index=False)
    assert written.column("high 90%").null_count == 5


def test_ends_that_are_no_number_are_missing():
    assert whole(np.array([0.0, 3.0, np.inf, np.nan, 1e300])).tolist() == [0, 3, pd.NA, pd.NA, pd.NA]


def test_what_has_no_mean_or_too_few_rows_has_no_intervals(space):
    quantile = spec_of(space, "spend", "delivery_days", "quantile")
    assert from_saved(space.models.load(train(space, quantile).id)).model_.intervals is None
    table = space.tables.add(pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40.0) % 7}), "few")
    few = from_saved(space.models.load(train(space, Spec(table.id, "y", "few", ["x"], goal="number")).id))
    assert "low 90%" not in Scorer(few, 1, ()).schema.names


def test_several_classes_from_training_to_a_score_file(space):
    spec = spec_of(space, "choice", "plan", "classes")
    made = train(space, spec)
    assert made.metrics["log_loss"] < made.metrics["baseline_log_loss"]
    assert made.metrics["accuracy"] > made.metrics["baseline_accuracy"]
    model, frame = from_saved(space.models.load(made.id)), space.tables.read(spec.table)
    scores = Scorer(model, 2, ())(frame.head(500))
    chances = scores[[f"chance of {name}" for name in model.classes_]]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (scores["prediction"] == model.classes_[chances.to_numpy().argmax(axis=1)]).all()
    one = held_out(space, made.id, str(model.classes_[2]))
    assert one.y.mean() == pytest.approx((read_all(space, spec).y == model.classes_[2]).mean(), abs=0.03)
    some = train(space, replace(spec, classes=sorted(model.classes_)[:3]))
    assert some.rows["training"] < made.rows["training"]


@pytest.mark.parametrize(
    ("name", "target", "goal"), [("spend", "spend", "spend"), ("spend", "delivery_days", "amount")]
)
def test_amounts(space, name, target, goal):
    made = train(space, spec_of(space, name, target, goal))
    assert made.metrics["explained"] > 0.02
    assert made.metrics["mean"] > 0


def test_models_from_before_there_were_goals():
    plain = Spec("t", "y", "n", ["x"], positive=["yes"]).to_dict()
    assert Spec.from_dict({k: v for k, v in plain.items() if k != "goal"}).kind_of_target == "binary"
    assert Spec("t", "y", "n", ["x"]).kind_of_target == "number"
