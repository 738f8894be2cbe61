"""Drift between two versions of a table: columns, distributions, curves."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some

from gamcore import GAMRegressor
from gamcore.data.columns import TableError
from gamcore.explain.curve_drift import curve_moves
from gamcore.stats.column_drift import LITTLE, ranges, what_moved
from gamcore.stats.histograms import OTHERS, overlay
from gamcore.viz import files as export
from tests.support.hostile import EVIL


def a_table(n, seed=0, **more):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.lognormal(size=n), "plan": rng.choice(["x", "y", "z"], n)})
    frame["flag"] = rng.uniform(size=n) < 0.3
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 31, n), unit="D")
    frame.loc[rng.uniform(size=n) < 0.1, "b"] = np.nan
    return frame.assign(**more)


def named(found):
    return {one.name: one for one in found.columns}


def test_nothing_moves_where_rows_are_only_permuted():
    then = a_table(2000)
    found = what_moved(then, then.sample(frac=1, random_state=1))
    assert not any(one.has_moved for one in found.columns)
    assert max(one.size for one in found.columns) == 0
    assert (found.came, found.went, found.retyped) == ((), (), ())
    assert found.words() == "No column changed significantly."


def test_chance_alone_is_seldom_called_a_move():
    alarms = sum(
        any(one.has_moved for one in what_moved(a_table(300, seed), a_table(400, seed + 1000)).columns)
        for seed in range(60)
    )
    assert alarms <= 9  # 5% are allowed: of 60, more than 9 come by chance once in 2,000 times


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a", lambda f: f["a"] + 0.5),
        ("b", lambda f: f["b"].where(f.index % 3 > 0)),
        ("plan", lambda f: f["plan"].where(f.index % 4 > 0, "new")),
        ("flag", lambda f: f["flag"] | (f.index % 3 == 0)),
    ],
)
def test_a_planted_move_is_found_and_ranked_first(name, change):
    now = a_table(2000, 1)
    found = what_moved(a_table(2000), now.assign(**{name: change(now)}))
    assert found.columns[0].name == name
    assert [one.name for one in found.columns if one.has_moved] == [name]
    assert found.frame()["verdict"][0] == "moved"
    assert found.words() == f"1 of 5 columns changed significantly: {name}."


@given(some.integers(0, 10_000), some.integers(2, 60), some.integers(2, 60), some.integers(1, 20))
def test_the_distance_of_numbers_is_that_of_their_shares(seed, n, m, values):
    rng = np.random.default_rng(seed)
    then, now = rng.integers(0, values, n).astype(float), rng.integers(0, values, m).astype(float)
    found = what_moved(pd.DataFrame({"x": then}), pd.DataFrame({"x": now})).columns[0]
    at = np.arange(values)
    slow = max(abs((then <= value).mean() - (now <= value).mean()) for value in at)
    assert found.distance == pytest.approx(slow, abs=1e-12)


def test_p_values_are_scipys_and_holms():
    from scipy.stats import ks_2samp

    then, now = a_table(500), a_table(600, 1)
    now["a"] += 0.15
    both = what_moved(then[["a"]], now[["a"]]).columns[0]
    alone = ks_2samp(then["a"], now["a"], method="asymp").pvalue
    assert both.p == pytest.approx(alone)
    wider = then[["a"]].assign(**{f"c{k}": then["a"] for k in range(9)})
    found = named(what_moved(wider, now[["a"]].assign(**{f"c{k}": then["a"] for k in range(9)})))
    assert found["a"].p == pytest.approx(10 * alone)


def test_few_rows_are_said_to_be_too_few():
    found = what_moved(a_table(20), a_table(25, 1))
    assert {one.verdict for one in found.columns if one.kind != "date"} == {"too few rows"}
    assert "For 4 columns there are too few rows to tell." in found.words()


def test_with_many_rows_a_small_move_is_called_small():
    now = a_table(60_000, 1)
    found = named(what_moved(a_table(60_000), now.assign(a=now["a"] + 0.06)))["a"]
    assert found.verdict == "moved little"
    assert 0 < found.distance < LITTLE


def test_columns_that_came_went_and_changed_their_type_are_told():
    then = a_table(100)
    now = then.rename(columns={"flag": "banner"}).assign(a=then["a"].astype(str))
    found = what_moved(then, now)
    assert (found.came, found.went, found.retyped) == (("banner",), ("flag",), (("a", "number", "category"),))
    assert "a" not in named(found)


def test_a_column_without_values_keeps_its_type():
    then = a_table(200)
    for empty in (np.nan, None):
        found = what_moved(then, then.assign(a=empty, plan=empty))
        assert not found.retyped
        assert [one.name for one in found.columns if one.has_moved] == ["a", "plan"]
        assert "missing in 0.0% then, 100.0% now" in found.columns[0].words


def test_levels_that_came_and_went_are_named():
    then, now = a_table(400), a_table(400, 1).replace({"plan": {"z": "new"}})
    found = named(what_moved(then, now))["plan"]
    assert (found.came, found.went) == (("new",), ("z",))
    assert found.words.endswith("; new came; z went")
    assert found.distance == pytest.approx(1 / 3, abs=0.1)


def test_a_column_of_ids_moves_no_more_than_can_be_told():
    then, now = (pd.DataFrame({"id": [f"{word}{k}" for k in range(300)]}) for word in "ab")
    found = what_moved(then, now).columns[0]
    assert found.verdict == "too few rows"
    assert found.words == "600 levels, most of them rare; 300 came, 300 went"


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ((0, 9), "1970-01-01 to 1970-01-10 in both"),
        ((5, 12), "1970-01-06 to 1970-01-13 now: 5 days in both"),
        ((10, 12), "one follows the other"),
        ((12, 14), "none in both, 2 days between"),
        ((-4, -2), "none in both, 1 day between"),
    ],
)
def test_dates_are_told_by_their_ranges(now, words):
    assert ranges(np.arange(10.0), np.arange(now[0], now[1] + 1.0)).endswith(words)


CELLS = some.one_of(some.none(), some.booleans(), some.floats(), some.text(max_size=5), some.dates())


@pytest.mark.slow
@given(some.lists(CELLS, min_size=1, max_size=8), some.lists(CELLS, min_size=1, max_size=8))
def test_any_column_is_compared_or_said_not_to_be(then, now):
    old, new = (pd.DataFrame({EVIL: pd.Series(cells, dtype=object), "x": 1.0}) for cells in (then, now))
    found = what_moved(old, new)
    told = [one.name for one in found.columns] + [one[0] for one in found.retyped]
    assert sorted(told) == sorted([EVIL, "x"])
    assert len(found.frame()) == len(found.columns)


def test_shares_of_bars_add_up_and_hold_every_row_but_the_tails():
    then, now = a_table(3000), a_table(500, 1)
    for name, kind in (("a", "number"), ("day", "date"), ("plan", "category"), ("flag", "boolean")):
        found = overlay(then[name], now[name], kind)
        for shares in (found.then, found.now):
            assert 0.985 <= shares.sum() <= 1 + 1e-12
    assert overlay(then["b"], now["b"], "number").missing == (then["b"].isna().mean(), now["b"].isna().mean())
    with pytest.raises(TableError, match="no value in one"):
        overlay(then["a"], now["a"] * np.nan, "number")


@given(some.lists(some.floats(-1e300, 1e300), min_size=1, max_size=9),
       some.lists(some.integers(-(2**60), 2**60), min_size=1))  # fmt: skip
def test_bars_rise_for_any_numbers(then, now):
    found = overlay(pd.Series(then, name="x"), pd.Series(now, name="x", dtype=float), "number")
    assert (np.diff(found.edges) > 0).all()
    assert found.edges.size == found.then.size + 1 == found.now.size + 1
    assert found.then.size <= 31


def test_many_levels_end_in_all_others():
    rng = np.random.default_rng(0)
    then, now = (pd.Series(rng.choice([f"l{k}" for k in range(40)], 900), name="l") for _ in range(2))
    found = overlay(then, now, "category")
    assert found.labels[-1] == OTHERS
    assert [found.then.sum(), found.now.sum()] == pytest.approx([1, 1])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["svg", "html", "pptx", "csv"])
def test_what_moved_is_drawn_in_every_file_whatever_the_names(form):
    then = a_table(200).rename(columns={"plan": EVIL, "a": "then"}).replace("x", EVIL)
    for name, kind in ((EVIL, "category"), ("then", "number"), ("day", "date")):
        plot = overlay(then[name], then[name], kind).describe(f"{name} moved")
        made = export.to_bytes(plot, form, "")
        assert len(made) > 100
        assert form == "csv" or b"<img src=x onerror" not in made


# Curves


@pytest.fixture(scope="module")
def fits():
    """Return two fits whose rows differ in the effect of one feature."""
    made = []
    for seed, slope in ((0, 1.0), (1, -1.0)):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"kept": rng.normal(size=1500), "turned": rng.normal(size=1500)})
        X["level"] = rng.choice(["x", "y"], 1500)
        y = X["kept"] + slope * X["turned"] + (X["level"] == "x") + 0.1 * rng.normal(size=1500)
        X.loc[::10, "kept"] = np.nan
        model = GAMRegressor(outer_bags=1, max_rounds=60, bands=10, random_state=0).fit(X, y.fillna(0))
        made.append({name: model.explain_shape(name) for name in X})
    return made


def test_the_curve_that_turned_is_first_and_surely_so(fits):
    found = curve_moves(*fits)
    assert found.moves[0].feature == "turned"
    first = found.moves[0]
    assert first.distance > 5 * max(one.distance for one in found.moves[1:])
    assert first.distance == pytest.approx(2 * np.sqrt(2 / np.pi), rel=0.15)  # of 2x, x standard normal
    assert first.clear > 0.8
    assert first.covered > 0.95
    assert list(found.frame()["feature"]) == [one.feature for one in found.moves]


def test_a_curve_does_not_move_from_itself(fits):
    for scale in ("link", "points", "ratio"):
        found = curve_moves(fits[0], fits[0], scale)
        assert all(one.distance == 0 and one.clear in (0.0,) for one in found.moves)
        assert (found.frame()["distance"] == (1.0 if scale == "ratio" else 0.0)).all()


def test_features_of_one_fit_only_are_named(fits):
    found = curve_moves({"kept": fits[0]["kept"]}, {"turned": fits[1]["turned"]})
    assert found.moves == ()
    assert {name for name, _ in found.left} == {"kept", "turned"}
    assert found.frame().empty


def test_distances_are_those_of_the_rows(fits):
    """Compare with distances over the newer rows one by one, looking up both curves."""
    found = {one.feature: one for one in curve_moves(*fits).moves}["turned"]
    old, new = (fit["turned"] for fit in fits)
    low, high = max(old.edges[0], new.edges[0]), min(old.edges[-1], new.edges[-1])
    rng = np.random.default_rng(2)
    k = rng.choice(new.counts.size, 200_000, p=new.counts / new.counts.sum())
    x = rng.uniform(new.edges[k], new.edges[k + 1])
    x = x[(x > low) & (x < high)]
    gap = new.scores[np.searchsorted(new.edges[1:-1], x, "right")]
    gap = gap - old.scores[np.searchsorted(old.edges[1:-1], x, "right")]
    assert found.distance == pytest.approx(np.abs(gap - gap.mean()).mean(), rel=0.02)


def test_warnings_stay_away_from_tables_of_one_row():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = what_moved(a_table(1), a_table(1, 1))
    assert {one.verdict for one in found.columns} == {"too few rows", "dates"}
