"""SQL in two databases, plain Python and JSON predict as the model does, to the last digits, even on hostile rows."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesClassifier, MultiTaskTreesRegressor
from gamcore.data.binning import bin_table
from gamcore.data.columns import TableError
from gamcore.data.table import Table, learn_features
from gamcore.io import ScoringError, from_json, to_dict, to_json, to_python, to_sql
from gamcore.io.formula import moment
from gamcore.io.sql_expressions import branch
from tests.support.elsewhere import NAME, cells, in_duckdb, in_sqlite, loaded, on_edges, table
from tests.support.gears import mostly_slow
from tests.support.hostile import EVIL
from tests.support.mutants import VALUES, at_place, places

ROWS = 10_000
SCORES = {"squared": "score", "logistic": "score (log-odds)", "tweedie": "score (log of the mean)"}


@pytest.fixture(scope="module", params=["regression", "binary", "amounts"])
def fitted(request):
    X = table(3000, 0)
    score = X[NAME].fillna(0) + 0.05 * X["whole"].astype(float).fillna(9) + np.where(X["level"] == "a", 1.0, 0.0)
    score = score + 0.3 * X["when"].dt.month.fillna(1) * (X["level"] == EVIL)
    rng = np.random.default_rng(1)
    settings = {"outer_bags": 3, "max_rounds": 40, "date_parts": True, "random_state": 0,
                "bins": {"whole": [5, 10, 20.5], "when": ["2024-05-01", "2024-09-15 12:00"],
                         "level": [["d", "rare 3"]]},
                "interactions": [(NAME, "level"), ("whole", "when"), (NAME, "tail"), ("flag", "level")]}  # fmt: skip
    if request.param == "regression":
        settings["triples"] = [(NAME, "level", "when"), ("whole", "flag", "tail")]
        model = GAMRegressor(**settings).fit(X, score + 0.1 * rng.normal(size=len(X)))
        return model, model.predict, model.predict
    if request.param == "amounts":
        y = np.where(rng.random(len(X)) < 0.3, 0.0, rng.gamma(2.0, np.exp(score / 2)))
        model = GAMRegressor(objective="tweedie", power=1.4, **settings).fit(X, y)
        return model, lambda rows: np.log(model.predict(rows)), model.predict
    settings["triples"] = [(NAME, "level", "whole")]
    model = GAMClassifier(**settings).fit(X, rng.random(len(X)) < 1 / (1 + np.exp(1.5 - score)))
    return model, model.decision_function, lambda rows: model.predict_proba(rows)[:, 1]


@pytest.fixture(scope="module")
def rows(fitted):
    return on_edges(table(ROWS, 2, hostile=True), fitted[0])


@pytest.mark.one_in(6)
@pytest.mark.parametrize("run", mostly_slow([in_sqlite, in_duckdb], 1))
def test_sql_scores_as_the_model(fitted, rows, run):
    model, link, response = fitted
    kinds = {"flag": "boolean"}
    found = run(rows, to_sql(model, "rows to score", "link", kinds, title="a model\n; DROP TABLE x"))
    assert len(found) == ROWS
    name = SCORES[model.loss.name]
    np.testing.assert_allclose(found[name], link(rows), rtol=0, atol=1e-9)
    found = run(rows, to_sql(model, "rows to score", kinds=kinds))
    np.testing.assert_allclose(found["prediction"], response(rows), rtol=0, atol=1e-9)
    assert list(found.columns) == [*rows.columns, name, "prediction"]


@pytest.mark.slow
def test_plain_python_scores_as_the_model(fitted, rows):
    model, link, response = fitted
    written = loaded(to_python(model, 'a "model"\\'))
    listed = cells(rows)
    np.testing.assert_allclose([written["score"](row) for row in listed], link(rows), rtol=0, atol=1e-9)
    np.testing.assert_allclose([written["predict"](row) for row in listed], response(rows), rtol=0, atol=1e-9)


def test_the_module_is_a_program_too(fitted, rows, tmp_path):
    model, _, response = fitted
    place = tmp_path / "model.py"
    place.write_text(to_python(model))
    lines = "\n".join(json.dumps({k: v for k, v in row.items() if v is not None}) for row in cells(rows.head(50)))
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(place)], input=lines, capture_output=True, text=True, check=True
    )
    made = [json.loads(line) for line in done.stdout.splitlines()]
    np.testing.assert_allclose([one["prediction"] for one in made], response(rows.head(50)), atol=1e-9)


def test_json_scores_as_the_model_and_comes_back_the_same(fitted, rows):
    model, link, response = fitted
    text = to_json(model)
    found = from_json(text)
    np.testing.assert_allclose(found.score(rows), link(rows), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.predict(rows), response(rows), rtol=0, atol=1e-9)
    assert to_json(found) == text


def tasks(rows, seed):
    X = table(rows, seed)
    rng = np.random.default_rng(seed)
    task = rng.choice(["card", "boat", EVIL], rows)
    X.loc[task == "boat", "whole"] = None  # a column that one task lacks
    return X, task, rng


@pytest.fixture(scope="module", params=[MultiTaskTreesRegressor, MultiTaskTreesClassifier])
def tasked(request):
    X, task, rng = tasks(3000, 0)
    score = X[NAME].fillna(0) + np.where(task == "card", 1, -1) * (X["level"] == "a")
    y = score if request.param is MultiTaskTreesRegressor else rng.random(3000) < 1 / (1 + np.exp(-score))
    return request.param(max_rounds=30, outer_bags=2, random_state=0).fit(X, y, task=task)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_a_model_of_tasks_scores_the_same_in_python_and_json(tasked, known):
    X, task, _ = tasks(ROWS, 3)
    task = task if known else None
    answer = getattr(tasked, "predict_proba", tasked.predict)(X, task)
    expected = answer[:, 1] if answer.ndim == 2 else answer
    text = to_json(tasked)
    np.testing.assert_allclose(from_json(text).predict(X, task), expected, rtol=0, atol=1e-9)
    assert to_json(from_json(text)) == text
    written = loaded(to_python(tasked))
    labels = task if known else [None] * len(X)
    some = slice(0, 2000)
    found = [written["predict"](row, label) for row, label in zip(cells(X)[some], labels[some], strict=True)]
    np.testing.assert_allclose(found, expected[some], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_what_cannot_be_written_is_said(tasked):
    with pytest.raises(ScoringError, match="use to_python or to_json"):
        to_sql(tasked, "t")
    with pytest.raises(ScoringError, match="fit it first"):
        to_json(GAMRegressor())


@pytest.mark.slow
def test_a_scale_that_there_is_not_is_refused(fitted):
    with pytest.raises(ScoringError, match="choose 'link' or 'response'"):
        to_sql(fitted[0], "t", "other")


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "shapewise-scoring", "version": 9}', "[" * 100_000])
def test_what_is_no_model_s_json_is_refused(text):
    with pytest.raises(ScoringError):
        from_json(text)


@pytest.mark.slow
def test_damaged_json_is_refused(fitted):
    damage(fitted[0])


@pytest.mark.slow
def test_damaged_json_of_tasks_is_refused(tasked):
    damage(tasked)


def damage(model):
    """Check that a model's JSON is refused where a part is missing; cut and bent anywhere it is refused or is a model
    that still predicts."""
    rng, told = np.random.default_rng(0), to_dict(model)
    for key in set(told) - {"names"}:  # these are for people, and files of before have none
        with pytest.raises(ScoringError):
            from_json(json.dumps({name: value for name, value in told.items() if name != key}))
    text = to_json(model)
    for _ in range(60):
        at = int(rng.integers(0, len(text)))
        bent = text[:at] if rng.random() < 0.3 else text[:at] + str(rng.choice(list('09-,]}["e.'))) + text[at + 1 :]
        with contextlib.suppress(ScoringError):
            assert len(from_json(bent).classes) in (0, 1, 2, 3)


def test_numbers_of_levels_that_a_table_stores_as_numbers():
    X = pd.DataFrame({"zip": [10.0, 20.0, 30.0, np.nan] * 100})
    y = (X["zip"] == 20).astype(float)
    model = GAMRegressor(categorical_features=["zip"], max_rounds=20, random_state=0).fit(X, y)
    with duckdb.connect() as base:
        base.register("t", X.astype("Float64"))
        found = base.execute(to_sql(model, "t", kinds={"zip": "number"})).fetchdf()
    np.testing.assert_allclose(found["prediction"], model.predict(X), atol=1e-9)


def test_a_cut_of_dates_is_the_first_moment_that_goes_right():
    rng = np.random.default_rng(0)
    for moments in rng.integers(-(10**15), 4 * 10**15, (200, 2)):
        low, high = np.sort(moments) / 86_400_000_000
        cut = low / 2 + high / 2
        first = moment(cut)
        assert float(first) / 86_400_000_000 >= cut > float(first - 1) / 86_400_000_000


def dated(n=600):
    X = pd.DataFrame({"when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) % 60 * 2, "D")})
    return X, GAMRegressor(max_rounds=60, random_state=0).fit(X, (X["when"] > pd.Timestamp("2024-02-01")).astype(float))


def test_dates_that_a_database_keeps_as_dates_are_compared_alike():
    X, model = dated()
    with duckdb.connect() as base:
        base.register("given", X)
        for kind in ("DATE", "TIMESTAMP", "TIMESTAMP_S", "VARCHAR"):
            base.execute(f'CREATE OR REPLACE TABLE t AS SELECT CAST("when" AS {kind}) AS "when" FROM given')
            found = base.execute(to_sql(model, "t")).fetchdf()
            np.testing.assert_allclose(found["prediction"], model.predict(X), atol=1e-9, err_msg=kind)


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f"]
)
def test_dates_as_text_are_compared_in_any_length(form):
    X, model = dated()
    with sqlite3.connect(":memory:") as base:
        X.assign(when=X["when"].dt.strftime(form)).to_sql("t", base, index=False)
        found = pd.read_sql_query(to_sql(model, "t"), base)
    np.testing.assert_allclose(found["prediction"], model.predict(X), atol=1e-9)


def test_a_pair_of_many_bins_is_no_deeper_than_parsers_go():
    """SQLite refuses about fifteen CASEs within each other: halves of 256 bins, twice."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(5000, 2)), columns=["a", "b"])
    binned = bin_table(X, learn_features(Table(X)), max_bins=1024)
    first, second = binned.bins
    inner = branch(second, [f"{k}.5" for k in range(second.size)], {})
    leaves = [inner if k % 100 == 7 else f"{-k}" for k in range(first.size)]  # all else would take a minute
    with sqlite3.connect(":memory:") as base:
        X.to_sql("t", base, index=False)
        found = pd.read_sql_query(f"SELECT {branch(first, leaves, {})} AS leaf FROM t AS t", base)["leaf"]
    codes = binned.codes
    assert (found == np.where(codes[0] % 100 == 7, codes[1] + 0.5, -codes[0].astype(float))).all()


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_a_table_s_own_score_is_not_taken_for_the_model_s(run):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"Score (log-odds)": rng.normal(size=400), "prediction": rng.normal(size=400)})
    model = GAMClassifier(max_rounds=20, random_state=0).fit(X[["Score (log-odds)"]], X["Score (log-odds)"] > 0)
    frame = X.assign(when=pd.NaT)
    found = run(frame, to_sql(model, "rows to score", columns=frame.columns))
    assert list(found.columns) == ["Score (log-odds)", "prediction", "when", "score (log-odds)_", "prediction_"]
    np.testing.assert_allclose(found["prediction_"], model.predict_proba(X[["Score (log-odds)"]])[:, 1], atol=1e-9)


@pytest.mark.slow
def test_json_that_could_not_predict_is_refused(fitted):
    told = to_dict(fitted[0])
    for change in (
        {"intercept": float("nan")}, {"intercept": float("inf")}, {"terms": [{"feature": -1, "scores": []}]},
        {"features": [{**told["features"][0], "bins": 10**400}, *told["features"][1:]]},
        {"features": [{**told["features"][0], "bins": 999}, *told["features"][1:]]},
    ):  # fmt: skip
        with pytest.raises(ScoringError):
            from_json(json.dumps({**told, **change}))


@pytest.mark.slow
@pytest.mark.parametrize("codes", [[1], [0, 1, 2]])
def test_json_of_other_tasks_than_its_trees_is_refused(tasked, codes):
    with pytest.raises(ScoringError):
        from_json(json.dumps({**to_dict(tasked), "task_codes": codes}))


@pytest.mark.slow
def test_json_changed_anywhere_is_refused_or_predicts():
    X = table(400, 0)[[NAME, "level", "flag", "when"]]
    small = {"outer_bags": 1, "max_rounds": 4, "max_bins": 8, "date_parts": True, "interactions": [(NAME, "level")]}
    change_anywhere(GAMRegressor(**small, random_state=0).fit(X, X[NAME].fillna(0)), 900)


@pytest.mark.slow
def test_json_of_tasks_changed_anywhere_is_refused_or_predicts(tasked):
    change_anywhere(tasked, 100)


def change_anywhere(model, count):
    """Check that any changed value is refused with a message or gives finite predictions; there is no other error."""
    rng, whole, X = random.Random(0), to_dict(model), rows_of(model)
    every = [path for path in places(whole) if path[0] != "trees" or rng.random() < 0.02]
    for _ in range(count):
        *way, key = rng.choice(every)
        holder = at_place(whole, way)
        kept, holder[key] = holder[key], rng.choice(VALUES)
        bent = json.dumps(whole)
        holder[key] = kept
        try:
            predicts = from_json(bent)
        except ScoringError:
            continue
        with contextlib.suppress(TableError):  # such as a column of another name, which the rows lack
            assert np.isfinite(predicts.predict(X)).all(), (way, key)


def rows_of(model):
    """Make a few rows with the columns of a model."""
    columns = {}
    for bins in model.model_.bins:
        feature = bins.feature
        cell = pd.Timestamp("2024-05-05") if feature.kind == "date" or feature.part != "value" else 1.5
        columns.setdefault(feature.column, [*(feature.levels[:1] if feature.kind == "category" else [cell]), None])
    return pd.DataFrame({name: pd.Series(cells) for name, cells in columns.items()})


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", float("inf"), "1e999"])
def test_plain_python_refuses_what_the_model_refuses(value):
    X = pd.DataFrame({"a": np.arange(100.0)})
    model = GAMRegressor(max_rounds=20, random_state=0).fit(X, X["a"])
    predict = loaded(to_python(model))["predict"]
    with pytest.raises(ValueError, match="not a finite number"):
        predict({"a": value})
    assert predict({"a": None}) == predict({}) == pytest.approx(model.predict(pd.DataFrame({"a": [np.nan]}))[0])
    assert predict({"a": "7"}) == pytest.approx(model.predict(pd.DataFrame({"a": [7.0]}))[0])


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_whole_numbers_beyond_double_precision_score_as_the_model(run):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": 2**53 + rng.integers(0, 40, 2000)})
    model = GAMRegressor(max_rounds=40, random_state=0).fit(X, (X["id"] > 2**53 + 20).astype(float))
    found = run(X.assign(when=pd.NaT), to_sql(model, "rows to score"))
    np.testing.assert_allclose(found["prediction"], model.predict(X), atol=1e-9)


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_a_table_without_a_column_of_the_model_is_an_error(run):
    X = pd.DataFrame({"age": np.arange(100.0), "other": 1.0})
    model = GAMRegressor(max_rounds=20, random_state=0).fit(X[["age"]], X["age"])
    with pytest.raises((pd.errors.DatabaseError, duckdb.BinderException), match="age"):
        run(X[["other"]].assign(when=pd.NaT), to_sql(model, "rows to score"))
