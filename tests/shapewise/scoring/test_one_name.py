"""One name, one number: scored files, SQL, Python and JSON call the same numbers of a row the same, with their unit."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesRegressor, scorecard
from gamcore.data.column_names import Measure
from gamcore.io import from_json, to_dict, to_json, to_python, to_sql
from gamcore.model.losses import LOSSES
from gamcore.model.output_names import free_names
from shapewise.scoring.score_rows import Scorer
from tests.support.elsewhere import cells, in_duckdb, in_sqlite, loaded

SETTINGS = {"outer_bags": 2, "max_rounds": 20, "random_state": 0}
REGRESSORS = {
    "squared": {"objective": "squared"}, "quantile": {"objective": "quantile", "quantile": 0.7},
    "poisson": {"objective": "poisson"}, "gamma": {"objective": "gamma"},
    "tweedie": {"objective": "tweedie", "power": 1.5},
}  # fmt: skip
UNITS = {"logistic": "log-odds", "softmax": "log-odds beside the average class",
         **dict.fromkeys(("poisson", "gamma", "tweedie"), "log of the mean")}  # fmt: skip
CASES = [
    *((loss, False, unit) for loss in LOSSES for unit in ("", "€")),
    *((loss, True, unit) for loss in ("poisson", "gamma", "tweedie") for unit in ("", "€")),
]
KINDS = {"sure": "boolean"}


def rows(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.integers(18, 90, n).astype(float), "shop": rng.choice(["a", "b'c", 'd"e'], n),
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        "years": rng.uniform(0.1, 2.0, n).round(3), "Rate": rng.normal(size=n), "score": rng.normal(size=n),
        "effect 2 (log-odds)": "taken", "chance of y": 1.0,
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.1, ["age", "shop"]] = None
    frame.loc[rng.random(n) < 0.1, "years"] = None
    return frame


def fitted(loss, exposed):
    X, rng = rows(400, 0), np.random.default_rng(1)
    mean = np.exp(0.02 * X["age"].fillna(50) - 1 + 0.5 * (X["shop"] == "a"))
    years = X["years"].fillna(1.0).to_numpy()
    given = {"exposure": years} if exposed else {}
    total = mean * (years if exposed else 1.0)
    y = {"poisson": lambda: rng.poisson(total), "gamma": lambda: rng.gamma(2.0, total / 2),
         "tweedie": lambda: np.where(rng.random(len(X)) < 0.3, 0.0, rng.gamma(2.0, total)),
         "logistic": lambda: rng.random(len(X)) < mean / (1 + mean),
         "softmax": lambda: np.array(["x", "y", "Y"])[np.digitize(mean + rng.normal(size=len(X)), [0.8, 1.6])]}.get(
        loss, lambda: mean + rng.normal(size=len(X))
    )()  # fmt: skip
    features = X[["age", "shop", "when"]]
    if loss in REGRESSORS:
        return GAMRegressor(**SETTINGS, **REGRESSORS[loss]).fit(features, y, **given)
    return GAMClassifier(**SETTINGS).fit(features, y)


def same(one, other):
    if one.dtype == object or other.dtype == object or isinstance(one.dtype, pd.StringDtype):
        return one.tolist() == other.tolist()
    np.testing.assert_allclose(one.to_numpy(float), other.to_numpy(float), rtol=0, atol=1e-9)
    return True


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("loss", "exposed", "unit"), CASES)
def test_the_same_name_is_the_same_number_everywhere(loss, exposed, unit):
    model, frame = fitted(loss, exposed), rows(200, 2)
    features, exposure = frame[["age", "shop", "when"]], "years" if exposed else None
    file = Scorer(model, 2, frame.columns, exposure, unit=Measure(unit))(frame)
    queried = {
        run: run(
            frame, to_sql(model, "rows to score", kinds=KINDS, columns=frame.columns, exposure=exposure, unit=unit)
        )
        for run in (in_sqlite, in_duckdb)
    }
    written, given = (
        loaded(to_python(model, unit=unit)),
        [{"exposure": one} if exposed else {} for one in frame["years"]],
    )
    made = [written["columns"](row, **of) for row, of in zip(cells(features), given, strict=True)]
    python = pd.DataFrame(made).astype({"expected": float} if exposed else {})
    plain = to_dict(model, unit=unit)
    assert list(python) == plain["names"]
    python.columns = free_names(frame.columns, plain["names"])

    shared = {"prediction", "score"} if loss != "softmax" else {"prediction"}
    shared = {"rate_", "expected", "score"} if exposed else shared
    shared |= {"chance of x", "chance of Y_", "chance of y__"} if loss == "softmax" else set()
    said = UNITS.get(loss, unit)
    named = {"score": f"score ({said})" if said else "score_"}
    shared = {named.get(name, name) for name in shared}
    assert shared <= set(file) & set(python)
    assert not ("prediction" in file and ({"rate", "rate_", "expected"} & set(file)))
    for run, sql in queried.items():
        assert [name for name in sql if name not in frame] == list(python), run
        for name in python:
            assert same(sql[name], python[name]), (run, name)
    for name in shared:
        assert same(file[name].reset_index(drop=True), python[name]), name
    for name in [*file, *python]:
        if name.startswith(("effect", "score")):
            assert name.rstrip("_").endswith(f"({said})" if said else ("score", "effect 1", "effect 2")), name

    back = from_json(to_json(model, unit=unit))
    assert to_dict(back) == plain
    predicted = back.predict(features)
    which = plain["names"][3:6] if loss == "softmax" else plain["names"][1]
    called = [free_names(frame.columns, plain["names"])[plain["names"].index(name)] for name in np.atleast_1d(which)]
    np.testing.assert_allclose(python[called].to_numpy(), predicted.reshape(len(frame), -1), rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_a_total_without_exposure_is_missing_and_the_rate_stays(loss):
    model, frame = fitted(loss, True), rows(200, 3).drop(columns="Rate")
    file = Scorer(model, 0, (), "years")(frame)
    assert list(file) == Scorer(model, 0, (), "years").schema.names  # a CSV has the columns of a Parquet file, in order
    assert list(file)[:2] == ["rate", "expected"]
    assert file["expected"].isna().tolist() == frame["years"].isna().tolist()
    assert file["rate"].notna().all()
    known = frame["years"].notna()
    features = frame[["age", "shop", "when"]]
    wanted = model.predict(features[known], exposure=frame.loc[known, "years"])
    np.testing.assert_allclose(file.loc[known, "expected"], wanted)
    np.testing.assert_allclose(file["rate"], model.predict(features))
    assert Scorer(model, 0, (), "years")(frame.drop(columns="years"))["expected"].isna().all()
    written = loaded(to_python(model))
    row = cells(features)[0]
    assert written["expected"](row, None) is written["expected"](row, float("nan")) is None
    assert "predict" not in written
    alone = in_duckdb(frame, to_sql(model, "rows to score", kinds=KINDS))
    np.testing.assert_allclose(alone["rate"], file["rate"])
    assert not {"prediction", "expected"} & set(alone)


def test_a_card_and_trees_of_tasks_have_the_same_names():
    model, frame = fitted("logistic", False), rows(300, 0)
    X = frame[["age", "shop", "when"]]
    card = scorecard(model, X, np.arange(300) % 3 == 0)
    assert to_dict(card)["names"] == ["score", "prediction"]  # its points have no other unit
    assert list(loaded(to_python(card))["columns"](cells(X)[0])) == ["score", "prediction"]
    trees = MultiTaskTreesRegressor(max_rounds=5, outer_bags=1, random_state=0).fit(
        X[["age"]], X["age"].fillna(0), task=np.resize(["p", "q"], 300)
    )
    text = to_json(trees, unit="years")
    assert json.loads(text)["names"] == ["score (years)", "prediction"]
    assert to_json(from_json(text)) == text
    made = loaded(to_python(trees, unit="years"))["columns"]({"age": 40.0}, "p")
    assert made["prediction"] == pytest.approx(trees.predict(pd.DataFrame({"age": [40.0]}), task="p")[0])
    assert list(made) == ["score (years)", "prediction"]


def test_a_percent_has_no_unit_in_a_file():
    assert Measure("€").as_stored == "€"
    assert Measure("€", "percent").as_stored == ""  # the file has .28, the page 28%
