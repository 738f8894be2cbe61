"""Triples: the split of a table from the top, what is found and what is not, their files, and what is refused."""

from __future__ import annotations

import itertools
import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student_t

from gamcore import GAMClassifier, GAMRegressor, add_bands, load_model, triple_worth
from gamcore.boosting.triples.stage import MOST_PARTS, Grid
from gamcore.data.binning import bin_table
from gamcore.data.columns import TableError
from gamcore.data.table import Table, learn_features
from gamcore.io import gamx
from gamcore.io.checks import ModelFileError
from gamcore.model.grids import GridTerm, faces, split_off
from gamcore.model.triples import add_triple

QUICK = {"outer_bags": 2, "max_rounds": 60, "random_state": 0, "n_jobs": 1}
TRIPLE = ("north", "east", "kind")


def rows(n=3000, seed=0, planted=2.0, more=0):
    """A table and a target with a pair, and with a triple where `planted` is not 0."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"north": rng.normal(size=n), "east": rng.normal(size=n), "kind": rng.choice(list("abc"), n)})
    X["size"] = rng.normal(size=n)
    for k in range(more):
        X[f"more {k}"] = rng.normal(size=n)
    X.loc[rng.random(n) < 0.05, "north"] = np.nan
    north = X["north"].fillna(0.5)
    y = X["size"] + np.sign(north) * X["size"] + rng.normal(size=n)
    return X, (y + planted * np.sign(north * X["east"]) * (X["kind"] == "a")).to_numpy()


@pytest.fixture(scope="module")
def model():
    X, y = rows(1500)
    return GAMRegressor(triples=[TRIPLE], interactions=[("north", "size")], bands=10, **QUICK).fit(X, y)


@pytest.mark.parametrize("seed", range(30))
def test_a_table_is_split_from_the_top(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 9, 3))
    weight = rng.poisson(rng.choice([0.4, 3.0]), shape).astype(float)
    weight *= np.exp(rng.normal(scale=rng.choice([0.0, 3.0]), size=shape))
    weight /= max(weight.max(), 1.0)
    weight[-1] = 0.0  # a part without rows
    cells = rng.normal(size=(3, *shape))
    own, lower = split_off(cells, weight)
    for axis in range(3):
        np.testing.assert_allclose((own * weight).sum(axis=1 + axis), 0, atol=1e-11)
    whole = own + sum(np.expand_dims(table, 1 + axis) for axis, table in enumerate(lower))
    inside = np.ones(shape, bool)
    for axis in range(3):
        others = tuple(k for k in range(3) if k != axis)
        inside &= np.expand_dims(weight.sum(axis=others) > 0, others)
    np.testing.assert_allclose(whole[:, inside], cells[:, inside], atol=1e-12)
    assert not own[:, -1].any()
    assert faces((0, 1, 2)) == [(1, 2), (0, 2), (0, 1)]


def test_a_triple_leaves_its_lower_parts_to_pairs_and_curves(model):
    """No prediction changes when a triple is added, whatever it holds of pairs, of curves and of the mean."""
    X, _ = rows(1500)
    inner, codes = model.model_, model._encode(X)
    (triple,) = inner.triples
    raw = np.random.default_rng(1).normal(size=triple.refits.shape) + 3
    before = [inner.refit_intercepts[k] + sum(term.each_at(codes)[k] for term in inner.all_terms) for k in range(2)]
    after = add_triple(inner, GridTerm(triple.features, triple.parts, raw, triple.counts))
    for k in range(2):
        score = after.refit_intercepts[k] + sum(term.each_at(codes)[k] for term in after.all_terms)
        np.testing.assert_allclose(score, before[k] + raw[k][triple.cells(codes)], atol=1e-12)
    for axis in range(3):
        np.testing.assert_allclose((after.triples[1].scores * triple.counts).sum(axis=axis), 0, atol=1e-9)
    np.testing.assert_allclose(after.score(codes), after.contributions(codes).sum(axis=1) + after.intercept, atol=1e-12)
    assert [len(term.features) for term in after.all_terms] == [1] * 4 + [2] * 4 + [3] * 2
    for pair in after.pairs:  # and pairs stay pure by the cells that they are drawn in
        assert abs(np.average(pair.scores, weights=pair.counts)) < 1e-12
    assert np.isfinite(triple.reach)
    assert (triple.deviation[triple.counts > 0] > 0).any()


@pytest.mark.parametrize("seed", range(3))
def test_cells_of_a_grid_are_those_of_a_pair(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=400), "b": rng.integers(0, 5, 400), "c": rng.choice(list("xyzu"), 400)})
    X.loc[::7, "a"] = np.nan
    X = X[list(rng.permutation(X.columns))]
    table = Table.of(X)
    binned = bin_table(table, learn_features(table, "infer", False), None, 256)
    counts = [
        np.bincount(line, minlength=bins.size).astype(float)
        for line, bins in zip(binned.codes, binned.bins, strict=False)
    ]
    lines = [np.arange(1, bins.size - 1) for bins in binned.bins]
    grid = Grid.of((0, 1, 2), binned.bins, counts, lines)
    assert all(side <= most + 2 for side, most in zip(sorted(grid.shape), MOST_PARTS, strict=True))
    surface = rng.normal(size=(64, 64))
    first, second = grid.lines(list(binned.codes))
    where = tuple(part[line] for part, line in zip(grid.parts, binned.codes, strict=True))
    np.testing.assert_array_equal(grid.cells(surface)[where], surface[first, second])
    np.testing.assert_array_equal(grid.count(list(binned.codes), None)[where] > 0, True)
    assert all(part[-1] == part.max() for part in grid.parts)  # unseen codes have a part without rows


@pytest.mark.parametrize("kind", [GAMRegressor, GAMClassifier])
def test_a_planted_triple_is_found_and_helps(kind):
    X, y = rows(3000, seed=3, more=2)
    y = y if kind is GAMRegressor else y > 0
    train = np.arange(len(y)) < 2000
    settings = {"interactions": [("north", "size")], **QUICK}
    without = kind(**settings).fit(X[train], y[train])
    made = kind(triples="auto", **settings).fit(X[train], y[train])
    assert made.triple_ranking_.loc[0, ["feature_1", "feature_2", "feature_3"]].tolist() == list(TRIPLE)
    assert made.triple_ranking_.loc[0, "clear"]
    assert made.model_.triples[0].features == (0, 1, 2)
    assert made.triple_worth_[0] > 0
    assert made.score(X[~train], y[~train]) > without.score(X[~train], y[~train]) + 0.03
    assert {*itertools.combinations(range(3), 2)} <= {pair.features for pair in made.model_.pairs}
    assert made.importance().frame()["feature"].str.contains("north × east × kind").any()
    assert made.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("wanted", [2, "auto"])
def test_a_place_is_not_wasted_on_a_triple_that_says_the_same(wanted):
    """A feature that is nearly a copy makes the strongest triple twice; a weaker one of other features comes before."""
    X, y = rows(4000, seed=4, more=2)
    rng = np.random.default_rng(5)
    X["nearly east"] = X["east"] + 0.05 * rng.normal(size=len(X))
    y = y + 0.8 * np.sign(X["size"] * X["more 0"] * X["more 1"])
    made = GAMRegressor(triples=wanted, **QUICK).fit(X, y)
    first = made.triple_ranking_.loc[:1, ["feature_1", "feature_2", "feature_3"]].to_numpy().tolist()
    assert first == [list(TRIPLE), ["north", "kind", "nearly east"]]
    assert [made.feature_names_in_[list(triple.features)].tolist() for triple in made.model_.triples[:2]] == [
        list(TRIPLE), ["size", "more 0", "more 1"],
    ]  # fmt: skip


def test_where_there_is_no_triple_auto_takes_none():
    for seed in (5, 6):
        X, y = rows(1500, seed=seed, planted=0.0)
        made = GAMRegressor(triples="auto", interactions=[("north", "size")], **QUICK).fit(X, y)
        assert made.model_.triples == ()
        assert made.triple_worth_.size == 0
        plain = GAMRegressor(interactions=[("north", "size")], **QUICK).fit(X, y)
        np.testing.assert_array_equal(made.predict(X), plain.predict(X))  # and the model is that without


def test_a_number_of_triples_and_weights_of_rows():
    X, y = rows(800)
    weight = np.where(np.arange(800) < 400, 2.0, 1.0)
    made = GAMRegressor(triples=2, **QUICK).fit(X, y, sample_weight=weight, groups=np.arange(800) // 4)
    assert len(made.model_.triples) == 2
    for triple in made.model_.triples:
        assert triple.counts.sum() == pytest.approx(made.model_.pairs[0].counts.sum())


def test_files_keep_triples(model, tmp_path):
    X, _ = rows(500, seed=9)
    X.loc[:20, "kind"] = "never seen"
    path = tmp_path / "model.gamx"
    model.save(path)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for one, other in zip(loaded.model_.halves.triples, model.model_.halves.triples, strict=True):
        np.testing.assert_array_equal(one.refits, other.refits)
    X, y = rows(1500)
    again = add_bands(loaded.set_params(**QUICK), X, y, n_refits=10)  # learnt from the triples' parts as kept
    np.testing.assert_array_equal(again.model_.halves.triples[0].refits, model.model_.halves.triples[0].refits)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("triples", lambda entries: [entries[0], entries[0]]),
        ("triples", lambda entries: [entries[0] | {"features": [0, 1, 9]}]),
        ("triples", lambda entries: [entries[0] | {"features": [0, 1]}]),
        ("triples", lambda entries: [entries[0] | {"shape": [1, 1, 1]}]),
        ("triples", lambda entries: [entries[0] | {"features": [0, 1, 3]}]),
        ("triples", lambda entries: []),
        ("sides", lambda sides: [64 for _ in sides]),
        ("sides", lambda sides: sides[1:]),
    ],
)
def test_damaged_triples_are_refused(model, tmp_path, name, damage):
    whole = zipfile.ZipFile(_file(model, tmp_path))
    manifest = json.loads(whole.read("manifest.json"))
    assert {"triples", "sides", "half_sides"} <= set(manifest["required"])
    manifest[name] = damage(manifest[name])
    path = tmp_path / "damaged.gamx"
    with zipfile.ZipFile(path, "w") as changed:
        changed.writestr("manifest.json", json.dumps(manifest))
        for member in whole.namelist()[1:]:
            changed.writestr(member, whole.read(member))
    with pytest.raises(ModelFileError):
        gamx.load(path)


def _file(model, folder):
    model.save(folder / "whole.gamx")
    return folder / "whole.gamx"


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        (GAMRegressor, {"objective": "poisson"}, "squared loss or two classes"),
        (GAMRegressor, {"monotone": {"size": 1}}, "no monotone features"),
        (GAMRegressor, {"shapes": "smooth"}, "steps"),
        (GAMRegressor, {"purify": False}, "purify=True"),
        (GAMRegressor, {"order": "greedy"}, "cyclic"),
        (GAMRegressor, {"keep_tables": True}, "triples=0"),
        (GAMRegressor, {"triples": [("north", "east")]}, "three features per triple"),
        (GAMRegressor, {"triples": [("north", "east", "east")]}, "no interaction with itself"),
        (GAMRegressor, {"triples": [("north", "east", "west")]}, "no feature 'west'"),
        (GAMRegressor, {"triples": [TRIPLE, TRIPLE[::-1]]}, "twice"),
        (GAMRegressor, {"triples": "auto", "validation_fraction": 0.0}, "validation rows"),
    ],
)
def test_what_triples_cannot_have_is_said(kind, settings, words):
    X, y = rows(200)
    with pytest.raises(TableError, match=words):
        kind(**{"triples": 1, **QUICK, **settings}).fit(X, np.abs(y.round()))


def test_several_classes_have_no_triples():
    X, y = rows(300)
    with pytest.raises(TableError, match="two classes"):
        GAMClassifier(triples=1, **QUICK).fit(X, np.digitize(y, [-1, 1]))


def test_the_worth_of_a_triple_is_what_the_loss_rises_by_without_it(model):
    X, y = rows(800, seed=5)
    (row,) = triple_worth(model, X, y).to_dict("records")
    without = replace(model.model_, triples=()).score(model._encode(X))
    whole = model.predict(X)
    rises = (y - without) ** 2 - (y - whole) ** 2
    assert (row["feature_1"], row["feature_2"], row["feature_3"]) == TRIPLE
    assert row["worth"] == pytest.approx(rises.mean(), abs=1e-9)
    reach = student_t.ppf(0.975, 799) * rises.std(ddof=1) / np.sqrt(800)
    assert (row["low"], row["high"]) == pytest.approx((rises.mean() - reach, rises.mean() + reach), abs=1e-9)
    assert row["low"] > 0
