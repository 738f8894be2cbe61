"""Figures of comparisons, of quality and of single rows, in both themes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier
from gamcore.explain import plots as explain_plots
from gamcore.explain.curve_difference import difference
from gamcore.explain.curves import Breakdown
from gamcore.stats import metrics as quality
from gamcore.stats import plots as stats_plots
from gamcore.viz import plotly_figures as figures
from gamcore.viz.palette import PALETTES
from tests.support.hostile import EVIL

pytestmark = pytest.mark.parametrize("mode", ["light", "dark"])


def texts(figure):
    return figure.to_json()


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"number": rng.normal(size=600), "level": rng.choice(["x", "y", EVIL], 600)})
    y = rng.uniform(size=600) < 1 / (1 + np.exp(-X["number"]))
    return GAMClassifier(outer_bags=2, max_rounds=10, bands=10, random_state=0).fit(X, y)


@pytest.mark.parametrize("name", ["number", "level"])
def test_models_are_drawn_over_each_other_and_one_minus_the_other(model, name, mode):
    curve = model.explain_shape(name)
    words = (f"{name} {EVIL}", "detail", "y")
    figure = figures.draw(
        explain_plots.comparison({"first": curve, EVIL: curve}, difference(curve, curve), words), mode
    )
    assert "<img" not in texts(figure)
    assert figure.layout.paper_bgcolor or figure.layout.template.layout.paper_bgcolor == PALETTES[mode].background
    named = [trace.name for trace in figure.data if trace.showlegend is not False and trace.name]
    assert named[0] == "first"
    assert "difference" in named
    first, minus = (next(t for t in figure.data if t.name == name) for name in ("first", "difference"))
    if name == "number":
        assert minus.line.color == PALETTES[mode].ink  # the first model is blue, as one curve alone is
        assert first.line.color != minus.line.color
        swatch = next(t for t in figure.data if t.marker.symbol == "square")
        assert swatch.marker.line.color == PALETTES[mode].ink  # a pale band has an edge in the legend
    several = {f"model {k}": curve for k in range(4)}
    assert len([t for t in figures.draw(explain_plots.comparison(several, None, words), mode).data if t.name]) == 4


def test_quality_is_drawn_with_its_intervals(mode):
    rng = np.random.default_rng(0)
    chance = rng.uniform(size=300)
    y = (rng.uniform(size=300) < chance).astype(float)
    found = quality.calibration(y, chance)
    *_, whiskers, _, points = figures.draw(stats_plots.calibration(found, chance), mode).data
    np.testing.assert_array_equal(points.y, found["observed"])
    np.testing.assert_allclose(whiskers.y + whiskers.error_y.array, found["upper"])
    np.testing.assert_allclose(whiskers.y - whiskers.error_y.array, found["lower"])
    roc = figures.draw(stats_plots.ranked(quality.roc(y, chance), "ROC", "words", ("x", EVIL), ([0, 1], [0, 1])), mode)
    assert "<img" not in texts(roc)
    assert figures.draw(quality.costs(y, chance, 1, 2).describe(0.3), mode).layout.shapes[0].x0 == 0.3
    told = quality.residuals(y, chance)
    assert len(figures.draw(stats_plots.residuals(told, chance, y - chance, "y"), mode).data) == 4
    assert len(figures.draw(stats_plots.actual(chance, y, "y"), mode).data) == 2


def test_periods_are_drawn_with_the_held_out_ones_marked(mode):
    rng = np.random.default_rng(0)
    y = rng.uniform(size=300)
    found = quality.over_time(np.arange(300) // 50, y, y, "number")
    figure = figures.draw(stats_plots.over_time(found, [EVIL] * 6, False, 4.0), mode)
    assert "<img" not in texts(figure)
    assert figure.layout.shapes[0].x0 == 3.5
    assert not figures.draw(stats_plots.over_time(found, ["a"] * 6, False, None), mode).layout.shapes


def test_a_row_adds_up_on_every_scale(mode):
    parts = np.array([[0.5, -1.0, 0.2]])
    found = Breakdown(("a", "b", EVIL), -0.4, parts, np.array([-0.7]), "logistic")
    for scale in ("link", "ratio", "points"):
        figure = figures.draw(found.describe(0, "y", scale, cells={"a": "3", "b": EVIL}), mode)
        assert "<img" not in texts(figure)
        sizes, bases = np.array(figure.data[0].x, float), np.array(figure.data[0].base, float)
        start, end = (100 / (1 + np.exp([0.4, 0.7]))) if scale == "points" else (-0.4, -0.7)
        if scale == "points":  # from 0, which logarithms do not have
            np.testing.assert_allclose(bases[1:-1], start + np.r_[0.0, np.cumsum(sizes[1:-2])])
            assert bases[-2] + sizes[-2] == pytest.approx(end)
            np.testing.assert_allclose(sizes[[0, -1]], [start, end])
        else:
            at = -0.4 + np.r_[0.0, np.cumsum([-1.0, 0.5, 0.2])]  # the largest first
            np.testing.assert_allclose(bases[1:-1], np.minimum(at[:-1], at[1:]))
            np.testing.assert_allclose(sizes[1:-1], np.abs(np.diff(at)))
            np.testing.assert_allclose((bases + sizes / 2)[[0, -1]], [start, end])
        assert figure.layout.yaxis.ticktext[2] == "a = 3"
    assert figures.draw(found.describe(0, "y", "ratio"), mode).data[0].text[1] == "×0.37"
