"""Categories of more levels than a plot has room for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMRegressor
from gamcore.explain import plots
from gamcore.explain.plots.curves import MOST_LEVELS
from gamcore.viz.spec import Bars, Whiskers


@pytest.fixture(scope="module")
def shape():
    rng = np.random.default_rng(0)
    shop = np.minimum(rng.integers(0, 400, 8000), rng.integers(0, 400, 8000))
    X = pd.DataFrame({"shop": [f"s{k:03d}" for k in shop]})
    model = GAMRegressor(outer_bags=2, max_rounds=20, bands=10, random_state=0)
    return model.fit(X, shop / 100 + rng.normal(size=shop.size)).explain_shape("shop")


def marks(plot, kind):
    return [mark for mark in plot.panels[0][0].marks if isinstance(mark, kind)]


def test_the_levels_with_most_rows_are_drawn_and_the_table_has_all(shape):
    plot = shape.describe("spend", "RMSE 1")
    assert marks(plot, Bars)[0].at.size == MOST_LEVELS
    n_levels = sum(map(len, shape.members))  # those of few rows share a bin
    assert plot.detail == f"RMSE 1 · the {MOST_LEVELS} groups with most rows, of {n_levels} levels"
    assert len(plot.numbers) == len(shape.labels) + 2
    drawn = shape.of_levels(np.sort(np.argsort(-shape.counts, kind="stable")[:MOST_LEVELS]))
    assert drawn.counts.min() >= np.sort(shape.counts)[-MOST_LEVELS]


def test_a_small_plot_of_many_levels_has_bars_alone(shape):
    few = shape.of_levels(np.arange(10))
    assert marks(plots.small(few, (-3.0, 3.0)), Whiskers)
    plot = plots.small(shape, (-3.0, 3.0))
    assert not marks(plot, Whiskers)
    assert marks(plot, Bars)[0].at.size == len(shape.labels)


def test_some_levels_of_a_curve_keep_what_is_theirs(shape):
    places = np.array([7, 3, shape.scores.size - 1])
    some = shape.of_levels(places)
    assert some.labels == tuple(shape.labels[k] for k in places)
    for name in ("scores", "lower", "upper", "counts"):
        np.testing.assert_array_equal(getattr(some, name), getattr(shape, name)[places])
    assert some.has_whole
    assert some.rare == shape.rare
    assert not shape.of_levels(places[:2]).rare
