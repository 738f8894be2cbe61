"""Rows to score, and what scores them outside the library: two databases, and a module's own code."""

from __future__ import annotations

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from gamcore.io.formula import stamp
from gamcore.io.score_python import to_python
from gamcore.io.score_sql import to_sql
from tests.support.hostile import EVIL

LEVELS = ["a", "b'c", EVIL, "d", *(f"rare {k}" for k in range(30))]
NAME = 'odd "name"; -- x'
PLACE = "place among the rows"


def table(n, seed, hostile=False):
    """Make rows like those of training; hostile ones have unseen levels, out-of-range values and missing cells."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        NAME: rng.normal(size=n).round(2), "whole": rng.integers(0, 40, n), "tail": rng.lognormal(3, 2, n),
        "level": rng.choice(LEVELS, n, p=[0.3, 0.3, 0.2, 0.14, *[0.002] * 30]), "flag": rng.random(n) < 0.4,
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9_000, n), "h"), "gone": np.nan,
    })  # fmt: skip
    frame["whole"] = frame["whole"].astype("Int64")
    frame["flag"] = frame["flag"].astype("boolean")
    for name in frame.columns[:-1]:
        frame.loc[rng.random(n) < 0.05, name] = None
    if hostile:
        frame.loc[::7, "level"] = "never seen"
        frame.loc[::11, "tail"] = rng.choice([-1e300, 1e300, -5.0, 1e-320], len(frame.loc[::11]))
        frame.loc[::13, "when"] = pd.Timestamp("1999-12-31 23:59:59.999999")
        frame.loc[1::13, "when"] = pd.Timestamp("2999-01-01")
    return frame


def on_edges(frame, estimator):
    """Return the rows with some of them moved exactly onto cuts and onto the adjacent floats."""
    rng = np.random.default_rng(7)
    frame = frame.copy()
    for bins in estimator.model_.bins:
        if bins.feature.kind == "number" and bins.cuts.size and bins.feature.column in (NAME, "tail"):
            some = rng.random(len(frame)) < 0.3
            cuts = rng.choice(bins.cuts, int(some.sum()))
            frame.loc[some, bins.feature.column] = np.nextafter(cuts, cuts + rng.integers(-1, 2, cuts.size))
        if bins.feature.kind == "date" and bins.cuts.size:
            some = rng.random(len(frame)) < 0.3
            chosen = [stamp(cut) for cut in rng.choice(bins.cuts, int(some.sum()))]
            shift = pd.to_timedelta(rng.integers(-1, 2, int(some.sum())), "us")
            frame["when"] = frame["when"].astype("datetime64[us]")
            frame.loc[some, "when"] = (pd.to_datetime(chosen, format="ISO8601") + shift).as_unit("us")
    return frame


def in_sqlite(frame, query):
    stored = frame.assign(when=frame["when"].map(lambda t: None if pd.isna(t) else t.isoformat(" ")))
    with sqlite3.connect(":memory:") as base:
        numbered(stored.astype(object).where(stored.notna(), None)).to_sql("rows to score", base, index=False)
        return in_order(pd.read_sql_query(query, base))


def in_duckdb(frame, query):
    with duckdb.connect() as base:
        numbers = {name: "Float64" for name in frame.columns if frame[name].dtype == "float64"}
        base.register("given", numbered(frame.astype(numbers)))  # where missing is NULL
        base.execute('CREATE TABLE "rows to score" AS SELECT * FROM given')
        return in_order(base.execute(query).fetchdf())


def numbered(frame):
    """Return rows with their place: a database gives rows in any order, and a query of scores has all columns."""
    return frame.assign(**{PLACE: range(len(frame))})


def in_order(scored):
    return scored.sort_values(PLACE, ignore_index=True).drop(columns=PLACE)


def cells(frame):
    """Return rows as dicts of plain values, as they come from JSON or a database."""

    def plain(value):
        if value is None or value is pd.NA or value is pd.NaT or value != value:
            return None
        return value.isoformat() if isinstance(value, pd.Timestamp) else value

    return [{name: plain(value) for name, value in row.items()} for row in frame.astype(object).to_dict("records")]


def loaded(code):
    """Return the functions of a written module."""
    space = {"__name__": "written"}
    exec(compile(code, "written.py", "exec"), space)  # the written code is under test
    return space


def run_python(model, rows):
    """Predict rows, dicts by column, by the Python module of a model."""
    predict = loaded(to_python(model))["predict"]
    return [predict(row) for row in rows]


def run_sql(model, frame, zone="UTC"):
    """Predict the rows of a frame by the SQL of a model, in DuckDB with a session in a time zone."""
    with duckdb.connect() as base:
        base.execute(f"SET TimeZone = '{zone}'")
        base.register("given", pa.Table.from_pandas(frame, preserve_index=False))
        base.execute("CREATE TABLE t AS SELECT * FROM given")
        return base.execute(to_sql(model, "t")).fetchnumpy()["prediction"]
