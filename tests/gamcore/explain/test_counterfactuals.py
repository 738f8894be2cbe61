"""The smallest changes that flip a row, against trying every value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier
from gamcore.explain.counterfactuals import scores_by_code, smallest_changes


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    n = 500
    X = pd.DataFrame({"a": rng.normal(size=n).round(1), "b": rng.uniform(size=n)})
    X["c"] = rng.choice(["x", "y", "z", "rare"], n, p=[0.4, 0.3, 0.295, 0.005])
    X["d"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    X.loc[::7, "a"] = np.nan
    y = X["a"].fillna(0.5) + X["b"] + (X["c"] == "x") + 0.3 * rng.normal(size=n) > 0.8
    model = GAMClassifier(max_rounds=30, outer_bags=1, random_state=0, interactions=[("a", "b")]).fit(X, y)
    return model, X


def test_scores_by_code_are_those_of_changed_rows(fitted):
    model, X = fitted
    codes = model._encode(X.head(3))
    for j, bins in enumerate(model.model_.bins):
        for k, score in enumerate(scores_by_code(model.model_, codes[:, 1], j)):
            changed = codes[:, 1].copy()
            changed[j] = k
            assert model.model_.score(changed[:, None])[0] == pytest.approx(score)
        assert bins.size == k + 1


@pytest.mark.parametrize("row", range(12))
def test_changes_flip_and_none_nearer_does(fitted, row):
    model, X = fitted
    model_, codes = model.model_, model._encode(X)[:, row]
    now = model_.score(codes[:, None])[0]
    found = model.smallest_changes(X.iloc[[row]], 0.0)
    assert [change.passed for change in found] == sorted(change.passed for change in found)
    names = [bins.feature.name for bins in model_.bins]
    by_name = {change.feature: change for change in found}
    for j, name in enumerate(names):
        scores, counts = scores_by_code(model_, codes, j), model_.terms[j].counts
        others = [k for k in range(1, scores.size - 1) if counts[k] > 0 and k != codes[j]]
        flips = [k for k in others if (scores[k] > 0) != (now > 0)]
        assert bool(flips) == (name in by_name)
        if not flips:
            continue
        change = by_name[name]
        assert change.code in flips
        assert change.score == pytest.approx(scores[change.code])
        assert (change.score > 0) != (now > 0)
        if name in ("a", "b", "d") and codes[j]:  # nothing nearer on the same side flips
            side = [k for k in flips if (k > codes[j]) == (change.code > codes[j])]
            assert abs(change.code - int(codes[j])) == min(abs(k - int(codes[j])) for k in side)


def test_words_name_a_value_that_flips(fitted):
    model, X = fitted
    for row in range(30):
        for change in model.smallest_changes(X.iloc[[row]], 0.0):
            made = X.iloc[[row]].copy()
            if change.feature == "c":
                value = "rare" if change.words == "one of the rare levels" else change.words
            elif " to under " in change.words:
                low, high = change.words.split(" to under ")
                if change.feature == "d":
                    continue
                value = (float(low) + float(high)) / 2
            elif change.words.startswith("under "):
                value = change.words.removeprefix("under ")
                value = pd.Timestamp(value) - pd.Timedelta(days=1) if change.feature == "d" else float(value) - 1e-4
            else:
                value = change.words.removesuffix(" or more")
                value = pd.Timestamp(value) + pd.Timedelta(days=1) if change.feature == "d" else float(value) + 1e-4
            if change.feature == "d":
                continue  # a day is coarser than a cut
            made[change.feature] = value
            flipped, before = (model.decision_function(each)[0] > 0 for each in (made, X.iloc[[row]]))
            assert flipped != before, (change, row)


def test_a_line_beyond_all_scores_is_never_crossed(fitted):
    model, X = fitted
    assert model.smallest_changes(X.iloc[[0]], 1e6) == []
    assert smallest_changes(model.model_, model._encode(X.head(1))[:, 0], -1e6) == []
