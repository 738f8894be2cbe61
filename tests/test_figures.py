"""Figures draw what the explanation says, in both themes, and nothing from data becomes markup."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, figures

EVIL = "<b>x</b> <script>alert(1)</script> $\\int$ %{y} & =1+1"


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    n = 900
    X = pd.DataFrame({
        "plain": rng.normal(size=n), "few": rng.integers(0, 3, n), "tail": rng.lognormal(3, 3, n),
        "level": rng.choice([f"{EVIL} {k}" for k in range(4)], n), EVIL: rng.normal(size=n),
        "date": pd.date_range("2024-01-01", periods=n), "gone": [np.nan] * n, "one": [1.0] * n,
        "many": rng.choice([f"{'long ' * 12}{k}" for k in range(120)], n), "flag": rng.random(n) < 0.5,
    })  # fmt: skip
    X.loc[rng.random(n) < 0.1, "plain"] = np.nan
    y = rng.random(n) < 1 / (1 + np.exp(-X["plain"].fillna(0)))
    return GAMClassifier(outer_bags=3, max_rounds=10, random_state=0).fit(X, y.astype(int))


def names(model):
    return [bins.feature.name for bins in model.model_.bins]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_kind_of_curve_is_drawn(model, mode):
    for name in names(model):
        curve = model.explain_shape(name)
        for figure in (figures.shape(curve, "y", "detail", mode), figures.small(curve, (-1, 1), mode)):
            layout = figure.to_dict()["layout"]
            assert layout["template"]["layout"]["paper_bgcolor"] == figures.PALETTES[mode].background
            figure.to_json()


def test_the_line_is_the_curve(model):
    curve = model.explain_shape("plain")
    figure = figures.shape(curve, "y", "detail")
    line = next(trace for trace in figure.data if trace.name == "effect")
    np.testing.assert_array_equal(line.y[::2], curve.scores)
    np.testing.assert_array_equal(line.y[1::2], curve.scores)
    np.testing.assert_array_equal(line.x[1:-1:2], curve.edges[1:-1])
    assert any(trace.name == curve.band for trace in figure.data)
    special = next(trace for trace in figure.data if getattr(trace, "mode", "") == "markers")
    assert list(special.x) == ["missing", "unseen"]
    np.testing.assert_array_equal(special.y, [curve.missing[0], curve.unseen[0]])


def test_levels_are_sorted_by_effect_with_their_rows(model):
    curve = model.explain_shape("level")
    bars = [trace for trace in figures.shape(curve, "y", "d").data if trace.type == "bar"]
    np.testing.assert_array_equal(bars[0].y, np.sort(curve.scores))
    assert bars[1].y.sum() == curve.counts.sum()


def test_rows_of_the_strip_add_up(model):
    for name in ("plain", "tail", "date", "few"):
        curve = model.explain_shape(name)
        strip = next(trace for trace in figures.shape(curve, "y", "d").data if trace.type == "bar")
        assert strip.y.sum() == pytest.approx(curve.counts.sum())


def test_a_long_tail_opens_on_the_middle(model):
    curve = model.explain_shape("tail")
    figure = figures.shape(curve, "y", "d")
    assert figures.is_cut(curve)
    assert figure.layout.xaxis.range[1] < curve.edges[-1] / 2
    assert figure.layout.xaxis3.range == figure.layout.xaxis.range
    assert not figures.is_cut(model.explain_shape("few"))


def test_names_from_data_are_no_markup(model):
    """Every string of the figure that plotly reads as text: markup is escaped, and templates hold no data."""
    for name in (EVIL, "level"):
        figure = figures.shape(model.explain_shape(name), EVIL, EVIL)
        for text in strings(figure.to_dict()):
            assert "<script" not in text
            assert "<b>x" not in text
            assert "$\\int" not in text
        for trace in figure.data:
            assert EVIL.split()[0] not in str(trace.hovertemplate)
            assert "alert" not in str(trace.hovertemplate)


def strings(node):
    if isinstance(node, dict):
        for value in node.values():
            yield from strings(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from strings(value)
    elif isinstance(node, np.ndarray) and node.dtype.kind in "OU":
        yield from (str(value) for value in node.ravel())
    elif isinstance(node, str):
        yield node


def test_importance_bars_are_in_order(model):
    figure = figures.importance(model.importance(), most=5)
    assert len(figure.data[0].x) == 5
    assert list(figure.data[0].x) == sorted(figure.data[0].x)
    assert "log-odds" in figure.layout.xaxis.title.text


def test_progress_of_several_refits():
    points = np.array([[r, k, np.nan if r else 2 / k, 1 / k] for r in range(3) for k in range(1, 40)])
    figure = figures.progress(points)
    assert sum(trace.showlegend is not False for trace in figure.data) == 1
    assert figures.progress(np.empty((0, 4))).data == ()


def test_thin_bins_are_grey():
    X = pd.DataFrame({"a": [*np.repeat(np.arange(10.0), 60), 50.0]})
    curve = GAMRegressor(max_rounds=5, outer_bags=2, random_state=0).fit(X, X["a"]).explain_shape("a")
    pale = next(trace for trace in figures.shape(curve, "y", "d").data if trace.name == "under 30 rows")
    assert np.isfinite(np.array(pale.y, float)).sum() == 2


def test_small_curves_share_limits_that_thin_bins_do_not_stretch(model):
    curves = [model.explain_shape(name) for name in ("plain", "few", "level")]
    low, high = figures.common_limits(curves)
    assert low <= min(curve.scores.min() for curve in curves)
    assert high >= max(curve.scores.max() for curve in curves)
    texts = [note.text for note in figures.small(curves[0], (low, high)).layout.annotations]
    assert texts == [f"missing: {curves[0].missing[0]:+.2g}"]
    assert not figures.small(curves[1], (low, high)).layout.annotations
