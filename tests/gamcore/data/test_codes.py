"""Codes that mean missing: a model of a table with codes equals one of the table without, here and in every export."""

from __future__ import annotations

import json
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, MultiTaskTreesClassifier
from gamcore.data.codes import clear_codes, code_of, with_codes
from gamcore.data.columns import TableError
from gamcore.decide.rules import All, AnyOf, Levels, Missing, Not, Range, on_codes
from gamcore.decide.rules_code import sql_of
from gamcore.estimators.base import to_saved
from gamcore.estimators.saved import from_saved
from gamcore.io import ScoringError, from_json, to_dict, to_json, to_python, to_sql
from gamcore.io.checks import ModelFileError
from gamcore.io.gamx import from_bytes, to_bytes
from tests.support.model_files import rewrite

CODES = {"age": ["-1", "99.5"], "plan": ["?", "n/a"], "rank": ["-9"]}


def coded(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 80, n).astype(float), "rank": rng.integers(0, 5, n)})
    frame["plan"] = rng.choice(["a", "b", "?", "n/a"], n)
    frame.loc[rng.random(n) < 0.1, "age"] = -1
    frame.loc[rng.random(n) < 0.1, "age"] = 99.5
    frame.loc[rng.random(n) < 0.1, "rank"] = -9
    frame.loc[rng.random(n) < 0.05, "age"] = np.nan
    return frame


def by_hand(frame):
    """The same with the codes replaced as an analyst would."""
    frame = frame.copy()
    frame["age"] = frame["age"].replace([-1, 99.5], np.nan)
    frame["rank"] = frame["rank"].replace(-9, np.nan)
    frame["plan"] = frame["plan"].where(~frame["plan"].isin(["?", "n/a"]), None)
    return frame


@pytest.fixture(scope="module")
def models():
    """A model of the table by hand, and the same that reads codes itself."""
    frame = by_hand(coded())
    y = np.random.default_rng(1).random(len(frame)) < np.where(frame["age"].isna(), 0.8, 0.3)
    model = GAMClassifier(max_rounds=15, outer_bags=2, interactions=[("age", "plan")], random_state=0)
    own = model.fit(frame, y).model_
    twin = GAMClassifier(max_rounds=15, outer_bags=2, interactions=[("age", "plan")], random_state=0).fit(frame, y)
    twin.model_ = type(own)(**{**vars(own), "bins": with_codes(own.bins, CODES)})
    return model, twin


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_cleared_as_by_hand(dtype):
    frame = coded()
    found, wanted = clear_codes(frame.astype({"plan": dtype}), CODES), by_hand(frame)
    for name in frame:
        assert found[name].isna().equals(wanted[name].isna())
        there = found[name].notna()
        assert found.loc[there, name].astype(str).tolist() == wanted.loc[there, name].astype(str).tolist()
    assert found["rank"].dtype == np.float64
    assert clear_codes(frame, {"gone": ["1"]}).equals(frame)


def test_a_model_reads_codes_itself(models):
    plain, model = models
    frame = coded(seed=5)
    wanted = plain.predict_proba(by_hand(frame))
    assert np.array_equal(model.predict_proba(frame), wanted)
    assert np.array_equal(model.predict_proba(by_hand(frame)), wanted)
    assert not np.array_equal(plain.predict_proba(frame), wanted)


def test_the_file_keeps_them_and_older_readers_refuse_it(models):
    _, model = models
    data = to_bytes(to_saved(model))
    again = from_saved(from_bytes(data))
    frame = coded(seed=6)
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    manifest = {}
    rewrite(data, lambda plain: manifest.update(plain))
    assert manifest["required"] == ["missing_codes"]
    for bad in (["x"], 5, {"age": "x"}, {"age": ["many"]}, {"age": [1]}):
        with pytest.raises(ModelFileError):
            from_bytes(rewrite(data, lambda plain, bad=bad: plain.update(missing_codes=bad)))


def test_exports_read_them(models):
    _, model = models
    frame = coded(seed=7)
    wanted = model.predict_proba(frame)[:, 1]
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("t0", base, index=False)
        found = pd.read_sql_query(to_sql(model, "t0"), base)["prediction"]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)
    with duckdb.connect() as base:
        base.register("given", frame.astype({"age": "Float64"}))
        base.execute("CREATE TABLE t0 AS SELECT * FROM given")
        found = base.execute(to_sql(model, "t0", kinds={"rank": "number"})).fetchdf()["prediction"]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)
    space = {"__name__": "written"}
    exec(to_python(model), space)  # the written code is under test
    listed = frame.astype(object).where(frame.notna(), None).to_dict("records")
    np.testing.assert_allclose([space["predict"](row) for row in listed], wanted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(from_json(to_json(model)).predict(frame), wanted, rtol=0, atol=1e-9)


def test_json_without_codes_stays_as_it_was(models):
    plain, model = models
    assert (to_dict(plain)["version"], to_dict(model)["version"]) == (1, 2)
    assert "missing" not in to_dict(plain)["features"][0]
    broken = to_dict(model)
    broken["features"][0]["missing"] = "-1"
    with pytest.raises(ScoringError):
        from_json(json.dumps(broken))


def test_trees_of_several_tasks_read_them():
    frame, rng = coded(), np.random.default_rng(0)
    task = rng.choice(["x", "y"], len(frame))
    y = rng.random(len(frame)) < np.where(by_hand(frame)["plan"].isna(), 0.8, 0.2)
    model = MultiTaskTreesClassifier(max_rounds=10, outer_bags=1, random_state=0).fit(by_hand(frame), y, task=task)
    wanted = model.predict_proba(by_hand(frame), task=task)
    model.model_ = type(model.model_)(**{**vars(model.model_), "bins": with_codes(model.model_.bins, CODES)})
    assert np.array_equal(model.predict_proba(frame, task=task), wanted)
    space = {"__name__": "written"}
    exec(to_python(model), space)  # the written code is under test
    row = frame.astype(object).where(frame.notna(), None).to_dict("records")[3]
    assert space["predict"](row, task[3]) == pytest.approx(wanted[3, 1], abs=1e-9)


RULES = [
    Range("age", None, 30.0), Range("age", 50.0, None), Missing("age"), Not(Missing("plan")),
    Levels("plan", ("a", "?")), Not(Levels("plan", ("a",))), Levels("rank", ("-9", "1")),
    AnyOf((All((Range("age", -5.0, 40.0), Missing("rank"))), Not(Range("rank", None, 2.0)))),
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_for_the_coded_table_selects_the_same_rows(rule):
    frame = coded()
    wanted = rule.holds(by_hand(frame))
    raw = on_codes(rule, CODES)
    assert np.array_equal(raw.holds(frame), wanted)
    kinds = {"age": "number", "plan": "category", "rank": "number"}
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("rows", base, index=False)
        found = base.execute(f"SELECT {sql_of(raw, kinds)} FROM rows AS t").fetchall()
    assert [bool(hit) for (hit,) in found] == wanted.tolist()


def test_codes_are_written_as_levels_are():
    assert code_of("-1.0", "age", "number") == "-1"
    assert code_of("99.50", "age", "number") == "99.5"
    assert code_of("?", "plan", "category") == "?"
    for text, kind in (("x", "number"), ("inf", "number"), ("1", "date"), ("1", "boolean"), ("1", None)):
        with pytest.raises(TableError, match="age"):
            code_of(text, "age", kind)
