"""Bins that a person chooses: each value is in the bin that was asked for, here, in files and in written code."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore import GAMRegressor, load_model, load_tables, save_tables, update
from gamcore.data.binning import bin_table, encode_table
from gamcore.data.columns import TableError
from gamcore.data.own_bins import own_bins
from gamcore.data.table import Feature, learn_features
from gamcore.io import from_json, to_dict
from gamcore.kernels import MOST_CODES

VALUES = st.lists(st.one_of(st.integers(-9, 9).map(float), st.just(np.nan)), min_size=1, max_size=80)
CUTS = st.lists(st.integers(-12, 12).map(float), min_size=1, max_size=9, unique=True).map(sorted)


def frame_of(n=800, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": rng.integers(18, 90, n), "income": rng.normal(size=n),
        "region": rng.choice(["north", "east", "south", "west", "isle"], n, p=[0.3, 0.3, 0.2, 0.195, 0.005]),
        "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
    })  # fmt: skip


def fitted(bins, seed=0, **changes):
    X = frame_of(seed=seed)
    y = X["age"] / 20 + (X["region"] == "north") + np.random.default_rng(1).normal(size=len(X))
    return GAMRegressor(bins=bins, random_state=0, outer_bags=2, max_rounds=20, **changes).fit(X, y), X


@given(VALUES, CUTS)
def test_a_value_is_in_the_bin_between_the_cuts_around_it(values, cuts):
    frame = pd.DataFrame({"x": values})
    features = learn_features(frame)
    if features[0].is_category:
        return
    bins = bin_table(frame, features, own=own_bins({"x": cuts}, features)).bins[0]
    known = np.array(values)[~np.isnan(values)]
    if not known.size:
        assert bins.n_values == 0
        return
    kept = [cut for cut in cuts if known.min() < cut <= known.max()]
    assert bins.cuts.tolist() == kept
    expected = [0 if np.isnan(value) else 1 + sum(cut <= value for cut in kept) for value in values]
    assert encode_table(frame, (bins,))[0].tolist() == expected
    edges = [known.min(), *kept, known.max()]
    assert all(low <= shown <= high for low, shown, high in zip(edges, bins.display, edges[1:], strict=False))


def test_a_curve_has_exactly_the_cuts_that_were_asked_for():
    model, X = fitted({"age": [25, 35, 50, 65], "since": ["2024-06-01", "2025-01-01"]})
    assert model.explain_shape("age").edges.tolist() == [18, 25, 35, 50, 65, 89]
    since = model.explain_shape("since").frame()["from"].astype(str).tolist()
    assert since[1:3] == ["2024-06-01", "2025-01-01"]
    assert len(model.explain_shape("income").edges) > 100  # others are learnt as ever
    some = X.head(5).assign(age=[24, 25, 34, 35, 64])
    scores = model.explain_rows(some).contributions[:, 0]
    assert scores[1] == scores[2]
    assert len({scores[0], scores[1], scores[3], scores[4]}) == 4


def test_merged_levels_have_one_effect_and_are_never_pooled():
    model, X = fitted({"region": [["west", "isle"], ["south", "north"]]})
    curve = model.explain_shape("region")
    assert set(curve.labels) == {"east", "isle, west", "north, south"}
    assert curve.counts.tolist() == [X["region"].isin(of).sum() for of in curve.members]
    assert not curve.rare
    some = pd.concat([X.head(1)] * 5, ignore_index=True).assign(region=["west", "isle", "south", "north", "east"])
    scores = model.predict(some)
    assert (scores[0], scores[2]) == (scores[1], scores[3])
    assert len(set(scores)) == 3


def test_levels_that_no_training_row_has_join_their_bin():
    model, X = fitted({"region": [["north", "fen"], ["moor", "dale"]]})
    some = pd.concat([X.head(1)] * 3, ignore_index=True).assign(region=["north", "fen", "moor"])
    scores = model.predict(some)
    assert scores[0] == scores[1] != scores[2]
    assert model.explain_rows(some).contributions[2, 2] == 0  # a bin without rows is none: never seen
    free, _ = fitted({"region": []})
    assert np.array_equal(free.predict(X), model.predict(X))


def test_files_and_json_keep_own_bins(tmp_path):
    model, X = fitted({"age": [30, 60], "region": [["west", "isle"]]}, interactions=[("age", "region")])
    model.save(tmp_path / "m.gamx")
    again = load_model(tmp_path / "m.gamx")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.explain_shape("region").labels == model.explain_shape("region").labels
    assert again.bins == {"age": [30, 60], "region": [["west", "isle"]]}
    plain = to_dict(model)
    assert plain["version"] == 4
    np.testing.assert_allclose(from_json(json.dumps(plain)).score(X), model.predict(X))
    assert to_dict(fitted({"age": [30, 60]})[0])["version"] == 1  # what older readers understand


def test_counts_that_are_kept_know_own_bins(tmp_path):
    wanted = {"age": [30, 60], "region": [["west", "isle"]]}
    model, _ = fitted(wanted, keep_tables=True)
    more = frame_of(400, 5)
    update(model, more, more["age"] / 20)
    assert model.explain_shape("age").edges.tolist()[1:-1] == [30, 60]
    model.save(tmp_path / "m.gamx")
    save_tables(model.tables_, tmp_path / "m.tables")
    assert load_tables(tmp_path / "m.tables").bins[2].merged == {"isle": ("west",)}
    assert load_model(tmp_path / "m.gamx").explain_shape("region").labels == model.explain_shape("region").labels
    other = fitted({"age": [30, 60], "region": [["west", "south"]]}, keep_tables=True)[0]
    with pytest.raises(TableError, match="bins"):
        model.tables_.add(other.tables_)


@pytest.mark.parametrize(("bins", "said"), [
    ({"agee": [1]}, "bins names 'agee', which is no feature"),
    ({"age": 5}, "give a list"),
    ({"age": "5"}, "give a list"),
    ({"age": [3, 2]}, "ascending order"),
    ({"age": [2, 2]}, "ascending order"),
    ({"age": [np.nan]}, "ascending order"),
    ({"age": ["young"]}, "are not all numbers"),
    ({"age": range(MOST_CODES)}, "too many"),
    ({"since": ["someday"]}, "are not all dates"),
    ({"region": ["north", "east"]}, "is no list"),
    ({"region": [["north", "east"], ["east", "west"]]}, "'east' is named twice"),
    ({"region": [["north", "north"]]}, "'north' is named twice"),
])  # fmt: skip
def test_what_is_no_bin_is_refused_in_words(bins, said):
    with pytest.raises(TableError, match=said):
        fitted(bins)


def test_only_levels_of_a_category_are_merged():
    feature = Feature("flag", "flag", "boolean", levels=("False", "True"))
    with pytest.raises(TableError, match="only levels of a category"):
        own_bins({"flag": [["False", "True"]]}, [feature])


def test_an_empty_list_changes_nothing_and_a_place_names_a_feature():
    free, X = fitted(None)
    assert np.array_equal(fitted({"age": [], "region": []})[0].predict(X), free.predict(X))
    assert fitted({0: [40]})[0].explain_shape("age").edges.tolist()[1:-1] == [40]


def test_an_ordered_curve_may_have_own_bins():
    model, _ = fitted({"age": [25, 35, 50, 65]}, monotone={"age": -1})
    assert (np.diff(model.explain_shape("age").scores) <= 0).all()


def test_a_file_keeps_the_bins_that_were_asked_for(tmp_path):
    day = pd.Timestamp("2024-06-01")
    model, _ = fitted({"since": [day], "age": range(30, 60, 10)})
    model.save(tmp_path / "m.gamx")
    assert load_model(tmp_path / "m.gamx").bins == {"since": ["2024-06-01T00:00:00"], "age": [30, 40, 50]}
