"""Profiles of columns: what they count is what a slow count gives, whatever the column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.columns import TableError
from gamcore.stats.histograms import MOST_LEVELS, OTHERS
from gamcore.stats.intervals import student, wilson
from gamcore.stats.profiles import QUANTILES, Target, profile
from gamcore.viz import files


def columns(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    gaps = rng.random(n) < 0.1
    return {
        "number": pd.Series(rng.normal(50, 20, n).round(1), name="number").mask(gaps),
        "whole": pd.Series(rng.poisson(3, n), name="whole"),
        "date": pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"), name="date"),
        "category": pd.Series(rng.choice([f"level {k}" for k in range(30)], n, p=np.arange(1, 31) / 465), name="c"),
        "boolean": pd.Series(rng.random(n) < 0.3, name="boolean").astype("boolean").mask(gaps),
        "constant": pd.Series(np.full(n, 7.0), name="constant"),
        "outlier": pd.Series(np.append(rng.normal(size=n - 1), 1e300), name="outlier"),
    }  # fmt: skip


def kind(name):
    return name if name in ("date", "category", "boolean") else "number"


@pytest.mark.parametrize("name", columns())
@pytest.mark.parametrize("binary", [True, False])
def test_each_bar_counts_its_rows_and_their_target(name, binary):
    series, rng = columns()[name], np.random.default_rng(1)
    y = (rng.random(2_000) < 0.3).astype(float) if binary else rng.normal(size=2_000)
    y[:50] = np.nan
    made = profile(series, kind(name), Target(y, "goal", binary))
    assert made.counts.sum() + made.missing + made.outside == made.rows == 2_000
    assert made.missing == series.isna().sum()
    assert made.distinct == series.nunique()
    assert np.isclose(made.means.of_all, np.nanmean(y))
    for k in range(made.counts.size):
        if made.labels:
            texts = series.astype("string").fillna("")
            inside = (texts == made.labels[k]).to_numpy()
            if made.labels[k] == OTHERS:
                inside = (~texts.isin([*made.labels, ""])).to_numpy()
        else:
            low, high = made.edges[k : k + 2]
            cells = (
                series.to_numpy("datetime64[us]").astype(float) / 86.4e9 if name == "date" else series.to_numpy(float)
            )
            inside = (cells >= low) & ((cells < high) | ((cells == high) & (k == made.counts.size - 1)))
        assert made.counts[k] == inside.sum()
        seen = y[inside & np.isfinite(y)]
        if seen.size > 1:
            assert np.isclose(made.means.values[k], seen.mean())
            interval = wilson(seen.mean(), seen.size) if binary else student(seen)
            assert np.allclose((made.means.lower[k], made.means.upper[k]), interval, equal_nan=True)
    if made.missing:
        assert np.isclose(made.means.of_missing, np.nanmean(y[series.isna().to_numpy()]))
    if made.quantiles.size and name != "date":
        assert np.allclose(made.quantiles, series.dropna().quantile(QUANTILES))
    assert len(made.frame()) == made.counts.size + 1
    assert made.words()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["date", "category"])
@pytest.mark.parametrize("goal", [None, Target(np.arange(2_000.0), "a goal", False)])
def test_every_profile_is_drawn(name, goal):
    plot = profile(columns()[name], kind(name), goal).describe("2,000 rows")
    assert files.to_bytes(plot, "svg", "").startswith(b"<?xml")
    assert plot.numbers["rows"].sum() >= 1_900


def test_the_sentence_says_a_difference_only_where_there_is_one():
    series, rng = columns()["whole"], np.random.default_rng(0)
    flat = profile(series, "number", Target((rng.random(2_000) < 0.3).astype(float), "y = 1", True))
    steep = profile(series, "number", Target((rng.random(2_000) < series / 9).astype(float), "y = 1", True))
    assert "does not clearly differ along whole" in flat.words()
    assert steep.words().startswith("y = 1: 0.0% where whole is 0, ")


def test_rare_levels_are_pooled_and_the_most_frequent_is_named():
    made = profile(columns()["category"], "category")
    assert len(made.labels) == MOST_LEVELS + 1
    assert (made.labels[0], made.labels[-1]) == ("level 29", OTHERS)
    assert made.words().endswith("level 29")


def test_a_column_without_a_value_is_refused():
    with pytest.raises(TableError, match="no value"):
        profile(pd.Series([None, None], name="x"), "category")
