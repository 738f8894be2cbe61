"""Models of several classes and of exposures predict elsewhere as they do here."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor
from gamcore.io import ScoringError, from_json, to_dict, to_json, to_python, to_sql
from tests.support.elsewhere import NAME, cells, in_duckdb, in_sqlite, loaded, on_edges, table

SETTINGS = {"outer_bags": 2, "max_rounds": 30, "random_state": 0, "interactions": [(NAME, "level"), ("whole", "when")]}


@pytest.fixture(scope="module")
def fitted():
    X = table(3000, 0)
    score = X[NAME].fillna(0) + 0.05 * X["whole"].astype(float).fillna(9)
    rng = np.random.default_rng(1)
    y = np.array(["it's", "b", "c\n--"])[np.digitize(score + rng.logistic(size=len(X)), [0.5, 1.8])]
    model = GAMClassifier(**SETTINGS).fit(X, y)
    return model, on_edges(table(4000, 2, hostile=True), model)


@pytest.mark.slow
@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_sql_gives_the_chance_of_each_class(fitted, run):
    model, rows = fitted
    kinds = {"flag": "boolean"}
    made = run(rows, to_sql(model, "rows to score", "link", kinds))
    scores = [f"score of {name} (log-odds beside the average class)" for name in model.classes_]
    np.testing.assert_allclose(made[scores], model.decision_function(rows), atol=1e-9)
    made = run(rows, to_sql(model, "rows to score", kinds=kinds))
    chances = [f"chance of {name}" for name in model.classes_]
    np.testing.assert_allclose(made[chances], model.predict_proba(rows), atol=1e-9)
    assert (made["prediction"] == model.predict(rows)).all()


def steps_of(query, rows):
    """Return how many thousand instructions SQLite needs for a query of a table `rows`."""
    n = 0

    def tick():
        nonlocal n
        n += 1
        return n > 100_000  # a query that never ends fails

    with sqlite3.connect(":memory:") as base:
        rows.to_sql("rows", base, index=False)
        base.set_progress_handler(tick, 1000)
        base.execute(query).fetchall()
    return n


def test_sql_of_many_classes_computes_each_score_once():
    """A database that puts a score's expression wherever its name stands would compute each of twelve ten thousand
    times a row."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    for n_classes in (3, 12):
        y = rng.permutation(np.arange(600) % n_classes)
        model = GAMClassifier(outer_bags=2, max_rounds=10, random_state=0).fit(X, y)
        scores = steps_of(to_sql(model, "rows", "link"), X)
        assert steps_of(to_sql(model, "rows"), X) < 2 * scores + 20 * n_classes**2


@pytest.mark.parametrize("table_name", ["scored", "counted", "t"])
def test_sql_of_classes_reads_a_table_of_any_name(table_name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"scored": rng.normal(size=200), "n": rng.normal(size=200)})
    y = np.digitize(X["scored"], [-0.5, 0.5])
    model = GAMClassifier(outer_bags=2, max_rounds=10, random_state=0).fit(X, y)
    with sqlite3.connect(":memory:") as base:
        X.to_sql(table_name, base, index=False)
        found = pd.read_sql_query(to_sql(model, table_name), base)
    np.testing.assert_allclose(found[[f"chance of {k}" for k in range(3)]], model.predict_proba(X), atol=1e-9)


def test_sql_of_a_certain_class_is_a_number():
    """Differences of scores beyond any exponential."""
    X = pd.DataFrame({"a": np.repeat([0.0, 1.0, 2.0], 50)})
    model = GAMClassifier(outer_bags=2, max_rounds=10, random_state=0).fit(X, X["a"].astype(int))
    for place, one in enumerate(model.model_.models):
        one.terms[0].scores[:] = np.where(np.arange(one.terms[0].scores.size) == place + 1, 900.0, -900.0)
    with sqlite3.connect(":memory:") as base:
        X.to_sql("rows", base, index=False)
        found = pd.read_sql_query(to_sql(model, "rows"), base)
    chances = found[[f"chance of {k}" for k in range(3)]].to_numpy()
    np.testing.assert_allclose(chances, np.eye(3)[X["a"].astype(int)], atol=1e-12)
    assert (found["prediction"].astype(int) == X["a"]).all()


def test_python_and_json_give_the_chance_of_each_class(fitted):
    model, rows = fitted
    some, code = rows.iloc[:300], loaded(to_python(model))
    made = pd.DataFrame([code["chances"](row) for row in cells(some)])
    np.testing.assert_allclose(made[list(model.classes_)], model.predict_proba(some), atol=1e-9)
    again = from_json(to_json(model))
    np.testing.assert_array_equal(again.predict(rows), model.predict_proba(rows))
    assert to_dict(again) == to_dict(model)


@pytest.mark.parametrize("change", [
    {"classes": ["a", "b"]}, {"loss": "logistic"}, {"scores": []}, {"model": "additive"}, {"model": "other"},
])  # fmt: skip
def test_damaged_json_is_refused(fitted, change):
    with pytest.raises(ScoringError):
        from_json(json.dumps(to_dict(fitted[0]) | change))


@pytest.fixture(scope="module")
def claims():
    rng = np.random.default_rng(3)
    X = table(3000, 5)
    years = rng.uniform(0.1, 1.0, len(X))
    y = rng.poisson(years * np.exp(0.5 * X[NAME].fillna(0) - 1.0))
    given = 0.2 * rng.normal(size=len(X))
    settings = {**SETTINGS, "objective": "poisson"}
    return GAMRegressor(**settings).fit(X, y, exposure=years, init_score=given), X, years, given


@pytest.mark.slow
@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_sql_multiplies_by_the_exposure(claims, run):
    model, X, years, given = claims
    rows, kinds = X.assign(years=years, before=given), {"flag": "boolean"}
    made = run(rows, to_sql(model, "rows to score", kinds=kinds, exposure="years", init_score="before"))
    np.testing.assert_allclose(made["expected"], model.predict(X, exposure=years, init_score=given), atol=1e-9)
    np.testing.assert_allclose(made["rate"], model.predict(X, init_score=given), atol=1e-9)
    made = run(rows, to_sql(model, "rows to score", kinds=kinds))
    np.testing.assert_allclose(made["rate"], model.predict(X), atol=1e-9)
    assert not {"prediction", "expected"} & set(made)


def test_python_and_json_know_what_is_given(claims, tmp_path):
    model, X, years, given = claims
    some = list(zip(cells(X.iloc[:200]), years, given, strict=False))
    code = to_python(model)
    written = loaded(code)
    made = [written["expected"](row, e, s) for row, e, s in some]
    np.testing.assert_allclose(made, model.predict(X[:200], exposure=years[:200], init_score=given[:200]), atol=1e-9)
    np.testing.assert_allclose([written["rate"](row) for row, _, _ in some], model.predict(X[:200]), atol=1e-9)
    assert from_json(to_json(model)).given == ("exposure", "init_score")
    (tmp_path / "model.py").write_text(code)
    lines = "\n".join(json.dumps({NAME: 1.5, "exposure": e}) for e in (1.0, 0.5))
    ran = subprocess.run(
        [sys.executable, tmp_path / "model.py"], input=lines, capture_output=True, text=True, check=True
    )
    whole, half = map(json.loads, ran.stdout.splitlines())
    assert half["rate"] == whole["rate"] == whole["expected"]
    assert half["expected"] == pytest.approx(whole["expected"] / 2)
    assert written["expected"](some[0][0], None) is None
    assert "predict" not in written


def test_an_exposure_must_be_one_of_the_model():
    X, y = table(500, 6), np.arange(500) % 7
    plain = GAMRegressor(objective="poisson", outer_bags=1, max_rounds=5).fit(X, y)
    with pytest.raises(ScoringError, match="trained without an exposure"):
        to_sql(plain, "t", exposure="years")
