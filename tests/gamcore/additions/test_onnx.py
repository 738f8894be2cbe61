"""A model as ONNX predicts in another runtime as it does here: at cuts, one float beside them, on cells never seen."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesRegressor, scorecard
from gamcore.additions.onnx import to_onnx
from gamcore.data.codes import with_codes
from gamcore.io import ScoringError, from_json, to_json
from tests.support.elsewhere import NAME, on_edges, table
from tests.support.hostile import EVIL

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.slow  # where both are: they come with `dev`, not with `test`

SETTINGS = {"outer_bags": 2, "max_rounds": 30, "date_parts": True, "random_state": 0,
            "bins": {"whole": [5, 10, 20.5], "level": [["d", "rare 3"]]},
            "interactions": [(NAME, "level"), ("whole", "when"), (NAME, "tail"), ("flag", "level")]}  # fmt: skip
ROWS = 6000
CELLS = {
    "tensor(double)": lambda cells: pd.to_numeric(cells).astype("Float64").to_numpy(np.float64, na_value=np.nan),
    "tensor(int64)": lambda cells: cells.to_numpy("datetime64[us]").astype(np.int64),
    "tensor(string)": lambda cells: cells.astype(object).where(cells.notna(), "").to_numpy(object),
}


def run(written, rows):
    """The outputs of an ONNX model for rows, by name."""
    session = runtime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {one.name: CELLS[one.type](rows[one.name]) for one in session.get_inputs()}
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, given), strict=True))


def score_of(X):
    score = X[NAME].fillna(0) + 0.05 * X["whole"].astype(float).fillna(9) + np.where(X["level"] == "a", 1.0, 0.0)
    return score + 0.3 * X["when"].dt.month.fillna(1) * (X["level"] == EVIL)


def trained(loss):
    X, rng = table(3000, 0), np.random.default_rng(1)
    score = score_of(X)
    if loss == "squared":
        return GAMRegressor(**SETTINGS, triples=[(NAME, "whole", "level")]).fit(
            X, score + 0.1 * rng.normal(size=len(X))
        )
    if loss == "quantile":
        return GAMRegressor(objective="quantile", quantile=0.8, **SETTINGS).fit(X, score + rng.normal(size=len(X)))
    if loss == "poisson":
        return GAMRegressor(objective="poisson", **SETTINGS).fit(X, rng.poisson(np.exp(score / 3)))
    if loss == "gamma":
        return GAMRegressor(objective="gamma", **SETTINGS).fit(X, rng.gamma(2.0, np.exp(score / 2)))
    if loss == "tweedie":
        y = np.where(rng.random(len(X)) < 0.3, 0.0, rng.gamma(2.0, np.exp(score / 2)))
        return GAMRegressor(objective="tweedie", power=1.4, **SETTINGS).fit(X, y)
    return GAMClassifier(**SETTINGS).fit(X, rng.random(len(X)) < 1 / (1 + np.exp(1.5 - score)))


@pytest.mark.parametrize("loss", ["squared", "quantile", "poisson", "gamma", "tweedie", "logistic"])
def test_every_link_predicts_as_the_model(loss):
    model = trained(loss)
    rows = on_edges(table(ROWS, 2, hostile=True), model)
    made = run(to_onnx(model), rows)
    wanted = model.predict_proba(rows)[:, 1] if loss == "logistic" else model.predict(rows)
    np.testing.assert_allclose(made["prediction"], wanted, rtol=1e-12, atol=1e-9)
    assert next(iter(made)).startswith("score")
    np.testing.assert_allclose(next(iter(made.values())), from_json(to_json(model)).score(rows), rtol=0, atol=1e-9)


def test_a_cut_is_a_double():
    """The floats beside each cut are nearer to it than single precision can tell."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=2000), "b": rng.integers(0, 9, 2000) + 1e9})
    model = GAMRegressor(max_rounds=30, outer_bags=1, interactions=[("a", "b")], random_state=0)
    model.fit(X, np.sin(3 * X["a"]) + (X["b"] > 1e9 + 3) * X["a"])
    cuts = model.model_.bins[0].cuts
    near = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)])
    assert len(np.unique(near.astype(np.float32))) < len(near)
    rows = pd.DataFrame({"a": near, "b": 1e9 + np.arange(len(near)) % 11})
    assert (run(to_onnx(model), rows)["prediction"] == model.predict(rows)).all()


@pytest.mark.parametrize("labels", [["it's", "b", "c\n--"], [3, 1, 2]])
def test_each_of_several_classes_has_its_score_and_chance(labels):
    X, rng = table(3000, 0), np.random.default_rng(1)
    y = np.array(labels)[np.digitize(score_of(X) + rng.logistic(size=len(X)), [0.5, 1.8])]
    model = GAMClassifier(**SETTINGS | {"interactions": SETTINGS["interactions"][:2]}).fit(X, y)
    rows = on_edges(table(ROWS, 2, hostile=True), model)
    made = run(to_onnx(model), rows)
    chances = np.stack([made[f"chance of {name}"] for name in model.classes_], axis=1)
    np.testing.assert_allclose(chances, model.predict_proba(rows), rtol=0, atol=1e-9)
    scores = [made[f"score of {name} (log-odds beside the average class)"] for name in model.classes_]
    np.testing.assert_allclose(np.stack(scores, axis=1), model.decision_function(rows), rtol=0, atol=1e-9)
    assert (made["prediction"] == model.predict(rows)).all()


def test_days_of_all_years_have_their_month_and_weekday():
    days = pd.Series(np.arange("0001-01-01", "9999-12-31", 97, np.datetime64(0, "D").dtype).astype("datetime64[us]"))
    X = pd.DataFrame({"when": pd.concat([days, days + pd.Timedelta(1, "D") - pd.Timedelta(1, "us")])})
    month, weekday = X["when"].dt.month, X["when"].dt.day_of_week
    model = GAMRegressor(date_parts=True, max_rounds=60, outer_bags=1, random_state=0)
    model.fit(X, 10.0 * (month * 7 % 12) + (weekday * 3 % 7))
    leaps = pd.DataFrame({"when": pd.to_datetime(["1900-02-28", "1900-03-01", "2000-02-29", "1600-02-29", None])})
    for rows in (X, leaps):
        made = run(to_onnx(model), rows)
        np.testing.assert_allclose(made["prediction"], model.predict(rows), rtol=0, atol=1e-9)
    assert model.predict(X).std() > 10  # there is something to get wrong


def test_an_exposure_multiplies_and_a_given_score_is_added():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=2000), "years": rng.uniform(0.1, 3, 2000)})
    model = GAMRegressor(objective="poisson", max_rounds=20, random_state=0)
    model.fit(X[["age"]], rng.poisson(X["years"] * np.exp(X["age"])), exposure=X["years"])
    made = run(to_onnx(model, exposure="years"), X)
    np.testing.assert_allclose(made["rate"], model.predict(X[["age"]]), rtol=1e-12)
    np.testing.assert_allclose(made["expected"], model.predict(X[["age"]], exposure=X["years"]), rtol=1e-12)
    assert "expected" not in run(to_onnx(model), X)
    other = GAMRegressor(max_rounds=20, random_state=0).fit(X[["age"]], X["age"] ** 2 + X["years"],
                                                            init_score=X["years"])  # fmt: skip
    made = run(to_onnx(other, init_score="years"), X)
    np.testing.assert_allclose(made["prediction"], other.predict(X[["age"]], init_score=X["years"]), atol=1e-9)
    with pytest.raises(ScoringError, match="without an exposure"):
        to_onnx(other, exposure="years")


def test_points_of_a_scorecard():
    X = table(3000, 0)[[NAME, "whole", "level"]]
    rng = np.random.default_rng(0)
    y = rng.random(len(X)) < 1 / (1 + np.exp(-X[NAME].fillna(0)))
    card = scorecard(GAMClassifier(max_rounds=20, random_state=0).fit(X, y), X, y)
    rows, formula = table(2000, 3, hostile=True), from_json(to_json(card))
    made = run(to_onnx(card), rows)
    assert (made["score"] == formula.score(rows)).all()
    np.testing.assert_allclose(made["prediction"], formula.predict(rows), rtol=0, atol=1e-9)


def test_codes_that_mean_missing_and_booleans_never_seen():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(-1, 60, 2000).astype(float), "kind": rng.choice(["a", "b", "?"], 2000),
                      "flag": rng.random(2000) < 0.5})  # fmt: skip
    model = GAMRegressor(max_rounds=20, random_state=0).fit(X, X["age"] + 9 * X["flag"])
    model.model_ = model.model_.with_bins(with_codes(model.model_.bins, {"age": ["-1"], "kind": ["?"]}))
    rows = pd.DataFrame({"age": [-1.0, np.nan, 0.0, 59.0, 900.0], "kind": ["?", None, "a", "new", "b"],
                         "flag": [0.0, 1.0, 0.5, np.nan, 2.0]})  # fmt: skip
    np.testing.assert_allclose(run(to_onnx(model), rows)["prediction"], model.predict(rows), rtol=0, atol=1e-9)


def test_a_table_s_own_prediction_is_not_taken_for_the_model_s():
    X = pd.DataFrame({"Score": np.arange(200.0), "prediction": np.arange(200.0) % 7, "value 0": 1.0})
    model = GAMRegressor(max_rounds=20, random_state=0).fit(X, X["Score"] + X["prediction"])
    made = run(to_onnx(model), X)
    assert list(made) == ["score_", "prediction_"]
    np.testing.assert_allclose(made["prediction_"], model.predict(X), rtol=0, atol=1e-9)


def test_what_cannot_be_written_is_said():
    X = pd.DataFrame({"level": ["", "a"] * 100, "task": ["t", "u"] * 100, "x": np.arange(200.0)})
    y = np.arange(200.0) % 2
    with pytest.raises(ScoringError, match="'level' has a level without a name"):
        to_onnx(GAMRegressor(max_rounds=9, random_state=0).fit(X[["level"]], y))
    with pytest.raises(ScoringError, match="use to_python or to_json"):
        to_onnx(MultiTaskTreesRegressor(max_rounds=3, random_state=0).fit(X[["x"]], y, task=X["task"]))
    with pytest.raises(ScoringError, match="fit it first"):
        to_onnx(GAMRegressor())
    with pytest.raises(ScoringError, match="name it"):
        to_onnx(GAMRegressor(max_rounds=9, random_state=0).fit(X[["x"]].rename(columns={"x": ""}), y))


def test_many_random_models_predict_the_same():
    """Few rows, odd columns: constants, all missing, two values, one level, huge and tiny numbers."""
    rng = np.random.default_rng(3)
    for trial in range(12):
        n = int(rng.integers(40, 300))
        columns = {
            "constant": np.full(n, 3.0), "missing": np.full(n, np.nan), "two": rng.integers(0, 2, n) * math.pi,
            "one level": ["x"] * n, "huge": rng.normal(size=n) * 1e300, "tiny": rng.normal(size=n) * 1e-310,
            "gaps": np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n)), "text": rng.choice([*"abcdefgh"], n),
        }  # fmt: skip
        chosen = rng.permutation([*columns])[: int(rng.integers(1, 9))]
        X = pd.DataFrame({name: columns[name] for name in chosen})
        model = GAMRegressor(max_rounds=15, outer_bags=1, interactions=int(len(chosen) > 1), random_state=trial)
        model.fit(X, rng.normal(size=n))
        np.testing.assert_allclose(run(to_onnx(model), X)["prediction"], model.predict(X), rtol=1e-12, atol=1e-9)
