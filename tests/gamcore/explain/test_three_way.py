"""Interactions of three features as explanations: their numbers are the model's, and what they say is true of rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMRegressor, explain_triple
from gamcore.data.binning import encode_table
from gamcore.data.column_names import ColumnNames, Names
from gamcore.explain.sentences import claim_of_joint, read_surface
from gamcore.explain.shown import shown
from gamcore.explain.support import FEW_ROWS
from gamcore.model.losses import LOSSES
from gamcore.viz.spec import Cells
from tests.support.cells import cells_of
from tests.support.gears import mostly_slow
from tests.support.random_models import OBJECTIVES, fitted

TRIPLE = ("first", "second", "level")
ABLE = [seed for seed in range(8 * len(OBJECTIVES)) if OBJECTIVES[seed % len(OBJECTIVES)] in ("squared", "binary")]


def planted(n=1500, seed=0):
    """A table and a target with a triple of two numbers and a level, some cells of one of them missing."""
    rng = np.random.default_rng(seed)
    north, east = rng.choice([-2.0, -1.0, 1.0, 2.0], (2, n))
    X = pd.DataFrame({"north": north, "east": east, "kind": rng.choice(list("ab"), n)})
    X.loc[rng.random(n) < 0.1, "kind"] = np.nan
    return X, (2.0 * np.sign(X["north"] * X["east"]) * np.where(X["kind"] == "a", 1, -1)).to_numpy()


@pytest.fixture(scope="module")
def model():
    X, y = planted()
    triples = [("kind", "north", "east")]
    return GAMRegressor(triples=triples, outer_bags=2, max_rounds=60, bands=10, random_state=0, n_jobs=1).fit(X, y)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", mostly_slow(ABLE, 3))
def test_what_is_said_of_triples_holds_on_the_rows(seed):
    model, X, weight = fitted(seed, triples=[TRIPLE], interactions=[("second", "day")])
    codes = encode_table(X, model.model_.bins, in_training=True)
    bins = {one.feature.name: one for one in model.model_.bins}
    (triple,), link = model.model_.triples, explain_triple(model, *TRIPLE)
    scores, loss = triple.at(codes), LOSSES[model.model_.loss.name]
    assert link.rows.sum() == pytest.approx(len(X))
    for scale in loss.scales:
        for split in TRIPLE:
            effect = link.on(scale).split_by(split)
            assert effect.names[2] == split
            claim = claim_of_joint(effect)
            if claim is None:
                assert not (effect.counts >= FEW_ROWS).any()
                continue
            cells = [cells_of(X, bins[name]) for name in effect.names]
            assert claim.holds(cells, scores, weight, partial(loss.effect, scale=scale, base=link.base)), claim
            assert claim.words() in read_surface(effect)


def test_a_planted_triple_is_drawn_in_every_part_of_the_third(model):
    effect = explain_triple(model, "east", "kind", "north")
    assert effect.names == ("north", "east", "kind")
    plot = effect.describe("height")
    notes = [panel.note for _, _, panel in plot.each()]
    assert notes == ["kind is a", "kind is b", "kind is missing"]
    maps = [mark for _, _, panel in plot.each() for mark in panel.marks if isinstance(mark, Cells)]
    assert len({(one.scale.low, one.scale.high) for one in maps}) == 1  # one scale
    assert [one.scale.shown for one in maps] == [True, False, False]
    assert max(float(np.nanmax(np.abs(one.values))) for one in maps) <= maps[0].scale.high
    corner = maps[0].values[-1, -1], maps[1].values[-1, -1]
    assert corner[0] > 0 > corner[1]
    assert "north, east and kind together: " in plot.title
    assert " where " in plot.title
    assert effect.words().startswith("Joint effect of north, east and kind, beyond all pairs of them: lowest ")


def test_its_table_has_the_scores_that_rows_get(model):
    X, _ = planted()
    effect, (triple,) = explain_triple(model, "north", "east", "kind"), model.model_.triples
    table = effect.frame()
    assert table["(rows)"].sum() == len(X)
    assert (table["(lower, all cells)"] <= table["(lower)"]).all()
    scores = triple.at(encode_table(X, model.model_.bins))
    assert np.average(np.abs(table["(score)"]), weights=table["(rows)"]) == pytest.approx(np.abs(scores).mean())
    missing = table[table["kind"] == "missing"]
    assert missing["(rows)"].sum() == X["kind"].isna().sum()


def test_it_has_the_names_of_its_table(model):
    names = Names({"kind": ColumnNames("Sort", levels={"a": "Alpha"}), "east": ColumnNames("East", "km")})
    effect = shown(explain_triple(model, "north", "east", "kind"), names)
    assert effect.names == ("north", "East", "Sort")
    plot = effect.describe()
    assert [panel.note for _, _, panel in plot.each()] == ["Sort is Alpha", "Sort is b", "Sort is missing"]
    assert plot.panels[0][0].y.title == "East (km)"


def test_what_is_no_triple_of_the_model_is_said(model):
    with pytest.raises(KeyError, match=r"no triple of 'north', 'north' and 'kind'; its triples: north × east × kind"):
        explain_triple(model, "north", "north", "kind")
    with pytest.raises(KeyError, match="'west' is not one of"):
        explain_triple(model, "north", "east", "kind").split_by("west")
    with pytest.raises(KeyError, match="no pair of 'north' and 'north'"):
        model.explain_pair("north", "north")
