"""Levels are those that occur, whole; and every feature and pair has a name that no other has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore import GAMRegressor
from gamcore.data.column_names import PAIR, Names, free_name, members
from gamcore.data.columns import read_texts
from gamcore.data.labels import cut_apart, labels_of
from gamcore.data.table import Table, learn_features
from gamcore.decide.fairness import groups_of
from gamcore.decide.rules import Levels
from gamcore.explain.claims import Claim
from gamcore.explain.places import Place
from gamcore.io.score_json import from_json, to_json
from gamcore.io.score_sql import to_sql
from gamcore.stats.column_drift import what_moved
from tests.support.elsewhere import run_python

CELLS = st.lists(st.sampled_from([*"abcd", None]), min_size=1, max_size=30)


@given(CELLS, st.permutations([*"abcdefg"]))
def test_a_category_has_the_levels_that_occur_in_the_order_of_its_type(cells, order):
    series = pd.Series(pd.Categorical(cells, order), name="c")
    codes, names = read_texts(series)
    assert names == [level for level in order if level in cells]
    assert [None if code < 0 else names[code] for code in codes] == cells
    (feature,) = learn_features(Table.of(series.to_frame()))
    assert feature.levels == tuple(names)


@pytest.mark.parametrize("unused", [1, 60, 3_000])
def test_levels_without_rows_change_nothing(unused):
    rng = np.random.default_rng(0)
    cells, x = rng.choice([*"abc"], 400), rng.normal(size=400)
    y = (cells == "a") + 0.1 * x
    plain = pd.DataFrame({"c": cells, "x": x})
    kept = plain.assign(c=pd.Categorical(cells, [*"abc", *(f"gone {k}" for k in range(unused))]))
    models = [GAMRegressor(random_state=0, max_rounds=20, outer_bags=2).fit(X, y) for X in (plain, kept)]
    np.testing.assert_array_equal(models[0].predict(kept), models[1].predict(plain))
    pd.testing.assert_frame_equal(models[0].importance().frame(), models[1].importance().frame())
    assert models[1].explain_shape("c").labels == ("a", "b", "c")
    assert set(groups_of(Table.of(kept), "c")) == set(groups_of(Table.of(plain), "c"))
    (moved,) = what_moved(plain[["c"]].astype("category"), kept[["c"]]).columns
    assert (moved.came, moved.went, moved.distance) == ((), (), 0.0)


LONG = st.integers(900, 1_200)


@given(LONG, LONG, st.text("AB", min_size=1, max_size=3), st.text("AB", min_size=1, max_size=3))
def test_texts_that_differ_anywhere_are_two_levels(first, second, one, other):
    texts = ["z" * first + one, "z" * second + other]
    assert len(set(read_texts(pd.Series(texts))[1])) == len(set(texts))


def test_long_levels_are_read_alike_everywhere():
    sqlite3 = pytest.importorskip("sqlite3")
    rng = np.random.default_rng(0)
    levels = np.array(["z" * 1_000 + end for end in ("", "A", "B")] + ["z" * 999], object)
    X = pd.DataFrame({"c": levels[rng.integers(0, 4, 600)]})
    y = X["c"].map(dict(zip(levels, (0.0, 1.0, 2.0, 3.0), strict=True))).to_numpy()
    model = GAMRegressor(random_state=0, max_rounds=100, outer_bags=2).fit(X, y)
    assert model.score(X, y) > 0.95
    rows = pd.DataFrame({"c": [*levels, "z" * 1_001, "z" * 5_000]})
    expected = model.predict(rows)
    assert expected[4] == expected[5]
    assert np.unique(expected[:4].round(1)).size == 4
    np.testing.assert_allclose(from_json(to_json(model)).predict(rows), expected)
    np.testing.assert_allclose(run_python(model, rows.to_dict("records")), expected)
    base = sqlite3.connect(":memory:")
    rows.to_sql("t", base, index=False)
    np.testing.assert_allclose(pd.read_sql(to_sql(model, "t"), base)["prediction"], expected)


# Names

PARTS = (
    "d",
    "d (month)",
    "d (weekday)",
    "d (month)_",
    "D (MONTH)",
    "d × x",
    "x",
    "x × d",
    "(intercept)",
    "(score)",
    "base",
)


@pytest.mark.parametrize("seed", range(12))
def test_a_look_up_by_name_gets_the_feature_of_that_name(seed):
    rng, n = np.random.default_rng(seed), 300
    others = rng.choice(PARTS[1:], int(rng.integers(1, 5)), replace=False).tolist()
    X = pd.DataFrame(
        {"d": pd.date_range("2024-01-01", periods=n), **{name: rng.normal(size=n) for name in sorted(others)}}
    )
    strong = sorted(others)[0]
    pairs = [("d", name) for name in sorted(others)]
    model = GAMRegressor(random_state=0, date_parts=True, max_rounds=30, outer_bags=2, interactions=pairs)
    model.fit(X, 5 * X[strong] + 0.01 * rng.normal(size=n))
    names = [bins.feature.name for bins in model.model_.bins]
    assert len(set(names)) == len(names)
    assert set(X.columns) <= set(names)
    for bins in model.model_.bins:
        curve = model.explain_shape(bins.feature.name)
        assert curve.feature == bins.feature.name
        if bins.feature.part == "value":
            assert bins.feature.name == bins.feature.column
    ranking = model.importance()
    assert len(set(ranking.features)) == len(ranking.features) == len(names) + len(pairs)
    assert ranking.frame()["feature"].iloc[0] == strong
    assert np.abs(model.explain_shape(strong).scores).max() > 1
    table = model.explain_rows(X).frame()
    assert table.columns.is_unique
    assert list(table.columns[1:-1]) == list(ranking.features)
    np.testing.assert_allclose(table.iloc[:, :-1].sum(axis=1), table.iloc[:, -1])
    for pair in pairs:
        assert set(model.explain_pair(*pair).names) == set(pair)


NAMES = st.text(["a", "×", " ", "_"], min_size=1, max_size=5)


@given(st.lists(NAMES, max_size=4), NAMES)
def test_a_free_name_is_free_whatever_the_case(taken, wanted):
    name = free_name([*taken, wanted.upper()], wanted)
    assert name.startswith(wanted)
    assert name.lower() not in {one.lower() for one in [*taken, wanted]}


@given(st.sets(NAMES, min_size=2, max_size=4))
def test_the_members_of_a_pair_are_features_where_they_can_be(known):
    first, second = sorted(known)[:2]
    parts = members(first + PAIR + second, known)
    assert PAIR.join(parts) == first + PAIR + second
    assert set(parts) <= known
    assert members(first, known) == (first,)


def test_a_feature_with_the_sign_of_pairs_is_shown_by_its_name():
    names = Names.from_dict({"a × b": {"name": "ratio"}, "c": {"name": "price"}})
    assert names.term("a × b") == "ratio"
    assert names.term("a × b × c") == "ratio × price"
    assert names.term("b × c") == "b × price"


def test_relativities_keep_the_base_beside_a_feature_called_base():
    from gamcore.estimators.relativities import relativities

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"base": rng.normal(size=300), "x": rng.normal(size=300)})
    tables = relativities(GAMRegressor(objective="poisson", max_rounds=5, outer_bags=2).fit(X, rng.poisson(2, 300)))
    assert list(tables) == ["base_", "base", "x"]
    assert "part" in tables["base_"]
    assert "factor" in tables["base"]


BEGINNINGS = st.sampled_from(["", "RevolvingUtilizationOfUnsecuredLines"])
SECONDS = st.sampled_from(["", " × NumberOfTime30to59DaysPastDueNotWorse", " × NumberOfTime60to89Days"])


@given(st.lists(st.tuples(BEGINNINGS, SECONDS, st.text("abc", max_size=3)), unique=True), st.integers(28, 60))
def test_names_that_are_cut_differ_in_what_is_left(parts, most):
    names = ["".join(one) for one in parts]
    shown = cut_apart(names, most)
    assert all(len(one) <= most for one in shown)
    assert len(set(shown)) == len(set(names))
    assert all(one == name for one, name in zip(shown, names, strict=True) if len(name) <= most)


def test_levels_with_commas_are_set_apart_in_a_list():
    members = [("Smith, Ann",), ("Smith, Bob", "Wu"), ("a, b", "c", "d", "e")]
    assert labels_of(members, ()) == ("Smith, Ann", "“Smith, Bob”, Wu", "“a, b”, c, d, ...")
    assert Levels("who", ("Smith, Ann", "Wu")).words() == "who is “Smith, Ann” or Wu"
    assert Levels("who", ("Smith, Ann",)).words() == "who is “Smith, Ann”"
    claim = Claim("differs", Place("Smith, Ann", levels=("Smith, Ann",)), 0.18, (0.1, 0.3), "link")
    assert claim.words() == "“Smith, Ann” +0.2"
