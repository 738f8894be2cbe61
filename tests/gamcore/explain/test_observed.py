"""Observed means of a feature's bins, against a slow twin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from gamcore import GAMClassifier, GAMRegressor
from gamcore.data.binning import encode_table
from gamcore.explain.observed import FEWEST_ROWS, MOST_POINTS, observed


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame({"x": rng.normal(size=n), "level": rng.choice(list("abcd"), n, p=[0.5, 0.3, 0.195, 0.005])})
    X.loc[rng.random(n) < 0.1, "x"] = np.nan
    y = (rng.random(n) < 1 / (1 + np.exp(-X["x"].fillna(0) - (X["level"] == "b")))).astype(float)
    return X, y, rng.uniform(0.5, 2, n)


def of(model, X, y, name, weight=None, scale="link"):
    place = [bins.feature.name for bins in model.bins].index(name)
    codes = encode_table(X, (model.bins[place],))[0]
    return observed(model.bins[place], codes, y, weight, loss=model.loss, scale=scale, name="here"), codes


@pytest.mark.parametrize("scale", ["link", "points", "ratio"])
@pytest.mark.parametrize("weighted", [False, True])
def test_levels_have_the_mean_of_their_rows(rows, scale, weighted):
    X, y, w = rows
    model = GAMClassifier(max_rounds=5, outer_bags=2, random_state=0).fit(X, y.astype(int)).model_
    w = w if weighted else None
    made, _ = of(model, X, y, "level", w, scale)
    weights = np.ones(len(y)) if w is None else w
    whole = np.average(y, weights=weights)
    kept = [level for level in "abcd" if (X["level"] == level).sum() >= FEWEST_ROWS]
    assert made.at.tolist() == list(range(len(kept)))
    for k, level in enumerate(kept):
        mine = (X["level"] == level).to_numpy()
        mean = np.average(y[mine], weights=weights[mine])
        assert made.means[k] == pytest.approx(mean)
        assert made.rows[k] == mine.sum()
        gap = logit(mean) - logit(whole)
        assert made.scores[k] == pytest.approx(
            {"link": gap, "points": 100 * (mean - whole), "ratio": np.exp(gap)}[scale]
        )


def test_neighbouring_bins_are_joined_until_they_have_rows(rows):
    X, y, _ = rows
    model = GAMRegressor(max_rounds=5, outer_bags=2, random_state=0).fit(X, y).model_
    made, codes = of(model, X, y, "x")
    assert 2 <= made.rows.size <= MOST_POINTS
    assert made.rows.min() >= FEWEST_ROWS
    known = codes >= 1
    assert made.rows.sum() == (X["x"].notna()).sum() == (known & (codes <= model.bins[0].n_values)).sum()
    assert np.all(np.diff(made.at) > 0)
    assert np.average(made.means, weights=made.rows) == pytest.approx(y[X["x"].notna()].mean())
    few, _ = of(model, X[:40], y[:40], "x")
    assert few.rows.size == 1


def test_certainty_has_no_odds(rows):
    X, y, _ = rows
    model = GAMClassifier(max_rounds=5, outer_bags=2, random_state=0).fit(X, y.astype(int)).model_
    sure = np.where(X["level"] == "a", 1.0, y)
    for scale in ("link", "ratio"):
        assert np.isnan(of(model, X, sure, "level", scale=scale)[0].scores[0])
    assert of(model, X, sure, "level", scale="points")[0].scores[0] == pytest.approx(100 * (1 - sure.mean()))


def test_without_rows_there_is_nothing(rows):
    X, y, _ = rows
    model = GAMRegressor(max_rounds=5, outer_bags=2, random_state=0).fit(X, y).model_
    gone = X.assign(x=np.nan)
    assert of(model, gone, y, "x")[0].rows.size == 0
