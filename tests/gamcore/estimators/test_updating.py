"""Models that keep counts of their rows: updated, merged, edited and thinned without the rows, against the rows."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gamcore
from gamcore import (
    GAMRegressor,
    ModelFileError,
    TableError,
    count_rows,
    fewer_curves,
    load_tables,
    merge_counts,
    price_by_counts,
    refit_by_counts,
    save_tables,
    update,
)
from gamcore.boosting.counts import bin_pairs
from gamcore.boosting.updating import origin as kept_origin
from gamcore.boosting.updating import tables as kept_tables
from gamcore.boosting.updating.tables import KeptTables
from gamcore.data.sampling import Deal
from gamcore.estimators.updating import drift, splits_of_kept
from gamcore.model.additive import count_cells

SUMS = ("narrow", "wide", "weight", "target", "group", "is_wide")


def rows(n=6_000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "a": rng.normal(size=n),
        "b": rng.integers(0, 40, n),
        "c": rng.choice(list("pqrstu"), n),
        "d": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.gamma(2, size=n)),
    })  # fmt: skip
    y = 30.0 + np.sin(2 * X["a"]) + X["b"] / 20 + (X["c"] == "p") + 0.7 * rng.normal(size=n)
    return X, y.to_numpy()


def fitted(X, y, **more):
    fit = {name: more.pop(name) for name in ("sample_weight", "groups", "init_score") if name in more}
    return GAMRegressor(keep_tables=True, outer_bags=3, max_rounds=40, random_state=0, **more).fit(X, y, **fit)


def same(one: KeptTables, other: KeptTables):
    return all(np.array_equal(getattr(one.whole, name), getattr(other.whole, name)) for name in SUMS)


def given(kind, n, seed=1):
    """What rows may have beside the features."""
    rng = np.random.default_rng(seed)
    return {
        "plain": {},
        "weighted": {"sample_weight": rng.uniform(0.2, 3.0, n)},
        "far weights": {"sample_weight": rng.uniform(2e4, 3e6, n)},
        "clustered": {"groups": np.array([f"k{k}" for k in rng.integers(0, 900, n)])},
        "offset": {"init_score": rng.normal(size=n)},
    }[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "weighted", "far weights", "clustered", "offset"])
def test_an_update_equals_all_rows_at_once(kind):
    (X, y), old = rows(), slice(0, 5_940)  # 1% are new
    all_given = given(kind, len(X))
    before = {name: values[old] for name, values in all_given.items()}
    after = {name: values[5_940:] for name, values in all_given.items()}
    model = fitted(X[old], y[old], **before)
    empty = replace(model.tables_.emptied(), n_rows=0)
    assert empty.n_rows == 0
    at_once = fitted(X[old], y[old], **before)
    at_once.tables_ = empty
    whole = count_rows(at_once, X, y, **all_given)
    update(model, X[5_940:], y[5_940:], **after)
    assert same(model.tables_, whole)
    assert model.tables_.n_rows == whole.n_rows == 6_000
    at_once.tables_ = empty
    merge_counts(at_once, whole)
    assert np.array_equal(model.predict(X), at_once.predict(X))
    assert np.array_equal(model.model_.terms[0].counts, at_once.model_.terms[0].counts)


def test_a_model_learns_what_new_rows_say():
    X, y = rows()
    model = fitted(X[:3_000], y[:3_000])
    shifted = y[3_000:] + 5.0 * (X["b"][3_000:] > 20)
    update(model, X[3_000:], shifted)
    anew = GAMRegressor(outer_bags=3, max_rounds=40, random_state=0).fit(X, np.r_[y[:3_000], shifted])
    assert np.std(model.predict(X) - anew.predict(X)) < 0.15
    assert model.score(X, np.r_[y[:3_000], shifted]) > anew.score(X, np.r_[y[:3_000], shifted]) - 0.01
    assert model.model_.base == pytest.approx(np.r_[y[:3_000], shifted].mean(), rel=1e-9)


def test_kept_counts_make_the_model_that_rows_make(monkeypatch):
    """The same deal, given to a fit from rows, gives the same model; of levels, one more code moves random cuts."""
    X, y = rows()
    X = X.drop(columns="c")
    model = fitted(X, y)
    group = kept_tables.group_of(kept_tables.buckets(np.arange(6_000, dtype=np.uint64), model.tables_.origin.seed), 8)
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=8))])
    monkeypatch.setattr("gamcore.boosting.rows.source.Encoded.deal", lambda self, n_groups, seed: Deal(order, starts))
    seed = model.tables_.origin.seed
    usual = GAMRegressor(outer_bags=3, max_rounds=40, n_groups=8, random_state=seed).fit(X, y)
    assert model.best_rounds_.tolist() == usual.best_rounds_.tolist()
    assert model.predict(X) == pytest.approx(usual.predict(X), abs=2e-5)


def test_counts_are_those_of_the_rows():
    X, y = rows(seed=3)
    weight = np.random.default_rng(2).integers(1, 5, len(X)).astype(float)
    model = fitted(X, y, sample_weight=weight)
    codes, tables = model._encode(X), model.tables_
    for count, term in zip(tables.counts(), model.model_.terms, strict=True):
        assert np.array_equal(count, term.counts)
    for pair in [(0, 1), (2, 3), (3, 0)]:
        assert np.array_equal(tables.cells(pair), count_cells(codes, pair, model.model_.bins, weight))
    assert tables.base() == pytest.approx(np.average(y, weights=weight), rel=1e-9)
    assert tables.evenness == pytest.approx(weight.sum() ** 2 / np.square(weight).sum() / weight.size)


def test_sites_are_merged_in_any_order():
    X, y = rows()
    model = fitted(X[:2_000], y[:2_000])
    parts = [count_rows(model, X[a:b], y[a:b]) for a, b in ((2_000, 3_000), (3_000, 6_000))]
    one, other = (model.tables_.add(first).add(second) for first, second in (parts, parts[::-1]))
    assert same(one, other)
    assert one.n_rows == 6_000
    assert parts[0].n_rows == 1_000  # they are not changed
    merge_counts(merge_counts(model, parts[0]), parts[1])
    assert same(model.tables_, one)


def test_numbers_grow_beyond_sixteen_bits(monkeypatch):
    monkeypatch.setattr(bin_pairs, "MOST_COUNTED", 150)
    monkeypatch.setattr(kept_tables, "MOST_COUNTED", 150)
    X, y = rows()
    model = fitted(X[:3_000], y[:3_000])
    before = model.tables_.whole.is_wide
    more = count_rows(model, X[3_000:], y[3_000:])
    total = model.tables_.add(more)
    assert not before.all()
    assert total.whole.is_wide.sum() > before.sum()
    codes = model._encode(X)
    for pair in [(0, 1), (1, 2), (2, 1)]:
        assert np.array_equal(total.cells(pair), count_cells(codes, pair, model.model_.bins, None))


def test_levels_that_are_new_share_a_bin():
    X, y = rows()
    known = X["c"] != "u"
    model = fitted(X[known], y[known])
    assert model.model_.terms[2].scores[-1] == 0.0
    new = X[~known].assign(c="new")
    update(model, new, y[~known] + 4.0)
    assert model.model_.terms[2].counts[-1] == (~known).sum()
    assert model.model_.terms[2].scores[-1] > 2.0
    line = model.update_drift_.set_index("feature").loc["c"]
    assert line["new_levels"] == 1.0
    assert line["moved"] == 1.0


def test_drift_is_told_beside_chance():
    X, y = rows()
    model = fitted(X[:3_000], y[:3_000])
    alike = drift(model.tables_, count_rows(model, X[3_000:], y[3_000:]))
    assert (alike["moved"] < 2 * alike["by_chance"]).all()
    moved = drift(model.tables_, count_rows(model, X[3_000:].assign(a=X["a"][3_000:] + 1.0), y[3_000:]))
    assert moved["feature"][0] == "a"
    assert moved["moved"][0] == pytest.approx(0.38, abs=0.03)  # of two normals one apart


@pytest.mark.slow
def test_bands_come_from_halves_of_the_groups():
    X, y = rows()
    model = fitted(X, y, bands=20)
    usual = GAMRegressor(outer_bags=3, max_rounds=40, random_state=0, bands=20).fit(X, y)
    assert model.tables_.origin.n_groups == 32
    ratio = [
        np.average(of.deviation, weights=of.counts) / np.average(half.deviation, weights=half.counts)
        for of, half in zip(model.model_.halves.terms, usual.model_.halves.terms, strict=True)
    ]
    assert 0.6 < np.mean(ratio) < 1.6
    update(model, X, y)
    assert model.model_.n_halves == 20


def test_the_price_of_an_edit_is_that_of_the_rows():
    X, y = rows()
    weight = np.random.default_rng(4).integers(1, 4, len(X)).astype(float)
    model = fitted(X, y, sample_weight=weight)
    rng = np.random.default_rng(5)
    for place, term in enumerate(model.model_.terms):
        scores = term.scores + rng.normal(scale=0.5, size=term.scores.size)
        price = price_by_counts(model, place, scores)
        score = model.predict(X)
        edited = score + (scores - term.scores)[model._encode(X)[place]]
        assert price.before == pytest.approx(np.average((y - score) ** 2, weights=weight), rel=1e-7)
        assert price.after == pytest.approx(np.average((y - edited) ** 2, weights=weight), rel=1e-7)


def test_other_curves_are_fitted_around_an_edit():
    X, y = rows()
    X["a2"] = X["a"] + 0.3 * np.random.default_rng(6).normal(size=len(X))  # tells much of what `a` does
    model = fitted(X, y)
    flat = np.zeros(model.model_.terms[0].scores.size)
    around = refit_by_counts(model, "a", flat)
    assert not around.model_.terms[0].scores.any()
    assert model.model_.terms[0].scores.any()
    mse = [np.mean((y - of.predict(X)) ** 2) for of in (model, around)]
    assert mse[0] < mse[1] < price_by_counts(model, "a", flat).after
    alone = fitted(X.drop(columns="a"), y)
    assert around.predict(X) == pytest.approx(alone.predict(X.drop(columns="a")), abs=0.15)
    kept = np.sin(2 * np.r_[0.0, model.model_.bins[0].display, 0.0])
    shaped = refit_by_counts(model, "a", kept)
    moved = shaped.model_.terms[0].scores - kept
    assert np.ptp(moved[1:-1]) < 1e-9  # centred, else as given
    assert shaped.model_.base == pytest.approx(y.mean(), rel=1e-9)
    assert np.mean(shaped.predict(X)) == pytest.approx(y.mean(), abs=0.02)


def test_an_edit_has_to_fit_its_feature():
    model = fitted(*rows())
    with pytest.raises(TableError, match="one per code"):
        price_by_counts(model, "a", np.zeros(3))
    with pytest.raises(TableError, match="finite"):
        refit_by_counts(model, "c", np.full(8, np.nan))


@pytest.mark.slow
def test_a_path_of_fewer_curves_keeps_those_that_matter():
    X, y = rows()
    rng = np.random.default_rng(7)
    noise = pd.DataFrame(rng.normal(size=(len(X), 12)), columns=[f"n{k}" for k in range(12)])
    model = GAMRegressor(keep_tables=True, outer_bags=8, random_state=0).fit(pd.concat([X, noise], axis=1), y)
    path = fewer_curves(model)
    assert path["curves"].is_monotonic_decreasing
    assert path["curves"].iloc[-1] == 0
    chosen = path[path["chosen"]].iloc[0]
    kept = [name for name in model.feature_names_in_ if chosen[name] > 0]
    assert kept == ["a", "b", "c"]
    assert path["loss"].iloc[-1] == pytest.approx(np.var(y), rel=0.01)


def test_the_path_weighs_rows_as_brute_force_does():
    X, y = rows(2_000)
    model = fitted(X, y)
    tables = model.tables_
    path = fewer_curves(model)
    group = kept_tables.group_of(kept_tables.buckets(np.arange(2_000, dtype=np.uint64), tables.origin.seed), 8)
    codes = model._encode(X)
    names = list(model.feature_names_in_)
    for _, line in path.iterrows():
        total = n = 0.0
        for k, split in enumerate(splits_of_kept(model)):
            mine = np.isin(group, split.valid)
            score = model.model_.refit_intercepts[k] + sum(
                line[name] * model.model_.terms[j].refits[k][codes[j, mine]] for j, name in enumerate(names)
            )
            total, n = total + np.sum((y[mine] - score) ** 2), n + mine.sum()
        assert line["loss"] == pytest.approx(total / n, rel=1e-6)


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_files_bring_counts_back(kind, tmp_path):
    X, y = rows()
    model = fitted(X, y, **given(kind, len(X)))
    save_tables(model.tables_, tmp_path / "counts.tables")
    read = load_tables(tmp_path / "counts.tables")
    assert same(read, model.tables_)
    assert read.origin.is_same(model.tables_.origin)
    assert (read.n_rows, read.squared_weight) == (model.tables_.n_rows, model.tables_.squared_weight)
    model.save(tmp_path / "model.gamx")
    again = gamcore.load_model(tmp_path / "model.gamx")
    assert again.keep_tables
    with pytest.raises(TableError, match="keeps no counts"):
        update(again, X, y)
    again.tables_ = read
    more = given(kind, 100, seed=9)
    found, same_again = (update(of, X[:100], y[:100], **more).predict(X) for of in (again, model))
    assert np.array_equal(found, same_again)


def test_another_site_counts_by_an_empty_file(tmp_path):
    X, y = rows()
    model = fitted(X[:3_000], y[:3_000])
    save_tables(model.tables_.emptied(), tmp_path / "empty.tables")
    assert (tmp_path / "empty.tables").stat().st_size < 60_000
    model.save(tmp_path / "model.gamx")
    site = gamcore.load_model(tmp_path / "model.gamx")
    site.tables_ = load_tables(tmp_path / "empty.tables")
    save_tables(count_rows(site, X[3_000:], y[3_000:]), tmp_path / "site.tables")
    merge_counts(model, load_tables(tmp_path / "site.tables"))
    assert model.tables_.n_rows == 6_000


def altered(path, name, change):
    """Rewrite a file with one array changed."""
    with np.load(path) as arrays:
        held = {key: arrays[key] for key in arrays}
    held[name] = change(held[name].copy())
    np.savez(path.open("wb"), **held)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change"), [
    ("pair_0_1", lambda cells: cells + cells.dtype.type(1)),
    ("pair_0_1", lambda cells: cells.astype(np.float64)),
    ("pair_0_2", lambda cells: cells[:, :-1]),
    ("weight", lambda sums: sums - 1.0),
    ("weight", lambda sums: sums[:, :-1]),
    ("target", lambda sums: sums * np.nan),
    ("target", lambda sums: np.full_like(sums, 1e300)),
    ("group", lambda sums: sums[:3]),
    ("about", lambda text: text[:-9]),
    ("about", lambda text: np.frombuffer(text.tobytes().replace(b'"n_groups": 8', b'"n_groups": 0'), np.uint8)),
    ("about", lambda text: np.frombuffer(text.tobytes().replace(b'"schema": 1', b'"schema": 7'), np.uint8)),
    ("about", lambda text: np.frombuffer(text.tobytes().replace(b'"gamcore-tables"', b'"another"'), np.uint8)),
    ("edges", lambda edges: edges[::-1]),
])  # fmt: skip
def test_a_damaged_file_is_refused(name, change, tmp_path):
    path = tmp_path / "counts.tables"
    save_tables(fitted(*rows(1_000)).tables_, path)
    altered(path, name, change)
    with pytest.raises(ModelFileError):
        load_tables(path)


def test_what_is_no_file_of_counts_is_refused(tmp_path):
    path = tmp_path / "counts.tables"
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_tables(path)
    path.write_bytes(b"PK nothing")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_tables(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("about.npy", b"x")
    with pytest.raises(ModelFileError, match="damaged"):
        load_tables(path)


def test_rows_that_do_not_belong_are_refused():
    X, y = rows()
    model = fitted(X[:3_000], y[:3_000])
    predictions = model.predict(X)
    with pytest.raises(TableError, match="no weights"):
        update(model, X, y, sample_weight=np.full(len(X), 2.0))
    with pytest.raises(TableError, match="init_score"):
        update(model, X, y, init_score=np.zeros(len(X)))
    with pytest.raises(TableError, match="other bins"):
        merge_counts(model, fitted(X[3_000:], y[3_000:]).tables_)
    with pytest.raises(TableError, match="fit anew"):
        update(model, X, y * 1e9)
    assert np.array_equal(model.predict(X), predictions)
    assert model.tables_.n_rows == 3_000


@pytest.mark.parametrize(("settings", "named"), [
    ({"objective": "poisson"}, "squared"), ({"ensemble": "subagging"}, "grouped"),
    ({"interactions": 3}, "interactions"), ({"interactions": "auto"}, "interactions"),
    ({"bands": 10, "n_groups": 8}, "n_groups"),
])  # fmt: skip
def test_settings_that_need_rows_are_refused(settings, named):
    X, y = rows(500)
    with pytest.raises(TableError, match=named):
        GAMRegressor(keep_tables=True, **settings).fit(X, y)


def test_too_many_counts_are_refused(monkeypatch):
    monkeypatch.setattr(kept_origin, "MOST_BYTES", 1_000)
    with pytest.raises(TableError, match="fewer features"):
        fitted(*rows(500))


def test_a_fit_without_counts_drops_those_before():
    X, y = rows(1_000)
    model = update(fitted(X, y), X, y)
    model.set_params(keep_tables=False).fit(X, y)
    assert not hasattr(model, "tables_")
    assert not hasattr(model, "update_drift_")


def test_one_feature_is_enough():
    X, y = rows(1_000)
    model = fitted(X[["a"]], y)
    assert update(model, X[["a"]], y).score(X[["a"]], y) > 0.2
