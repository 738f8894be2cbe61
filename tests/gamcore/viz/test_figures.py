"""Figures show what the explanation says, in both themes, and no text from data becomes markup."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor
from gamcore.explain import plots as explain_plots
from gamcore.explain.curves import WHOLE
from gamcore.explain.support import FEW_ROWS
from gamcore.explain.surfaces import Rectangle
from gamcore.stats import plots as stats_plots
from gamcore.viz import plotly_figures as figures
from gamcore.viz.palette import PALETTES

EVIL = "<b>x</b> <script>alert(1)</script> $\\int$ %{y} & =1+1"


def shape(curve, target, detail, mode="light", **words):
    return figures.draw(curve.describe(target, detail, **words), mode)


def surface(found, mode="light", **words):
    return figures.draw(found.describe("y", "d", **words), mode)


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
    return GAMClassifier(outer_bags=3, max_rounds=10, bands=10, random_state=0).fit(X, y.astype(int))


def names(model):
    return [bins.feature.name for bins in model.model_.bins]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_kind_of_curve_is_drawn(model, mode):
    for name in names(model):
        curve = model.explain_shape(name)
        for figure in (shape(curve, "y", "detail", mode), figures.draw(explain_plots.small(curve, (-1, 1)), mode)):
            layout = figure.to_dict()["layout"]
            assert layout["template"]["layout"]["paper_bgcolor"] == PALETTES[mode].background
            figure.to_json()


def test_the_line_is_the_curve(model):
    curve = model.explain_shape("plain")
    figure = shape(curve, "y", "detail")
    line = next(trace for trace in figure.data if trace.name == "effect")
    np.testing.assert_array_equal(line.y[::2], curve.scores)
    np.testing.assert_array_equal(line.y[1::2], curve.scores)
    np.testing.assert_array_equal(line.x[1:-1:2], curve.edges[1:-1])
    assert any(trace.name == curve.band for trace in figure.data)
    assert any(trace.name == WHOLE for trace in figure.data)
    special = next(trace for trace in figure.data if trace.type == "bar" and trace.yaxis == "y2")
    np.testing.assert_array_equal(special.y, [curve.missing[0]])
    assert figure.layout.xaxis4.ticktext == ("missing",)


@pytest.mark.parametrize("name", ["plain", "flag"])
@pytest.mark.parametrize("scale", ["ratio", "points"])
def test_other_scales_have_their_own_nothing_and_axis(model, name, scale):
    curve = model.explain_shape(name).on(scale)
    figure = shape(curve, "y", "detail", title="Own words")
    assert "Own words" in figure.layout.title.text
    assert (figure.layout.yaxis.type == "log") == (scale == "ratio")
    assert any(shape.y0 == curve.zero for shape in figure.layout.shapes)
    low, high = figure.layout.yaxis.range
    seen = np.log10(curve.scores) if scale == "ratio" else curve.scores
    assert low <= seen.min()
    assert high >= seen.max()
    bars = [trace for trace in figure.data if trace.type == "bar" and trace.yaxis in ("y", "y2")]
    assert {bar.base for bar in bars if bar.name == "effect"} <= {curve.zero}  # from nothing to the effect
    if name == "flag":
        np.testing.assert_allclose(np.sort(np.asarray(bars[0].y) + curve.zero), np.sort(curve.scores))


def test_a_band_of_a_thin_bin_does_not_stretch_the_plot(model):
    curve = model.explain_shape("plain")
    wild = replace(curve, whole=curve.whole + np.array([[-500.0], [500.0]]))
    low, high = shape(wild, "y", "d").layout.yaxis.range
    assert high - low < 4 * np.ptp([*curve.scores, curve.missing[0], 0.0])


def test_levels_are_sorted_by_effect_with_their_rows(model):
    curve = model.explain_shape("level")
    bars = [trace for trace in shape(curve, "y", "d").data if trace.type == "bar"]
    np.testing.assert_array_equal(bars[0].y, np.sort(curve.scores))
    assert next(bar for bar in bars if bar.yaxis == "y2").y.sum() == curve.counts.sum()


def test_rows_of_the_strip_add_up(model):
    for name in ("plain", "tail", "date", "few"):
        curve = model.explain_shape(name)
        rows = "y3" if curve.missing[3] else "y2"
        strip = next(trace for trace in shape(curve, "y", "d").data if trace.yaxis == rows)
        assert strip.y.sum() == pytest.approx(curve.counts.sum())


def test_a_long_tail_opens_on_the_middle(model):
    curve = model.explain_shape("tail")
    figure = shape(curve, "y", "d")
    assert explain_plots.is_cut(curve)
    assert figure.layout.xaxis.range[1] < curve.edges[-1] / 2
    assert figure.layout.xaxis2.range == figure.layout.xaxis.range
    assert not explain_plots.is_cut(model.explain_shape("few"))


def test_few_wide_bins_are_shown_to_their_ends():
    age = np.random.default_rng(0).integers(18, 85, 3000)
    model = GAMRegressor(bins={"age": [25, 35]}, outer_bags=2, max_rounds=10, random_state=0)
    model.fit(pd.DataFrame({"age": age}), age / 20)
    assert not explain_plots.is_cut(model.explain_shape("age"))


def test_names_from_data_are_no_markup(model):
    """In every string that plotly reads as text, markup is escaped; templates hold no data."""
    for name in (EVIL, "level"):
        figure = shape(model.explain_shape(name), EVIL, EVIL)
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
    figure = figures.draw(model.importance().describe(most=5))
    assert len(figure.data[0].x) == 5
    assert list(figure.data[0].x) == sorted(figure.data[0].x, reverse=True)
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first on top
    assert "log-odds" in figure.layout.xaxis.title.text


def test_a_long_headline_has_two_lines_and_room_for_them(model):
    plot = model.importance().describe(most=5)
    short, long = (figures.draw(replace(plot, title=words)) for words in ("Ages matter", "Ages matter " * 20))
    assert "<br>" not in short.layout.title.text
    lines = long.layout.title.text.split("<br>")
    assert len(lines) == 2
    assert lines[1].endswith("…</b>")
    assert max(map(len, lines)) < 70
    assert long.layout.height - short.layout.height == long.layout.margin.t - short.layout.margin.t > 20


def test_panels_fill_the_plot_and_share_their_axes(model):
    figure = shape(model.explain_shape("plain"), "y", "d")
    x, y = ([figure.layout[f"{side}axis{k}"] for k in ("", 2, 3, 4)] for side in "xy")
    assert [axis.matches for axis in x] == ["x3", "x4", None, None]
    assert [axis.matches for axis in y] == [None, "y", None, "y3"]
    assert (x[0].domain[0], x[1].domain[1], y[2].domain[0], y[0].domain[1]) == (0, 1, 0, 1)
    assert x[1].domain[0] - x[0].domain[1] == pytest.approx(0.02)
    assert y[0].domain[0] - y[2].domain[1] > 0.04  # numbers at the ends of both do not touch
    wide, narrow = np.ptp(x[0].domain), np.ptp(x[1].domain)
    assert wide / narrow == pytest.approx(0.92 / 0.08)


def test_progress_of_several_refits():
    points = np.array([[r, k, np.nan if r else 2 / k, 1 / k] for r in range(3) for k in range(1, 40)])
    figure = figures.draw(stats_plots.progress(points))
    assert sum(trace.showlegend is not False for trace in figure.data) == 1
    assert figures.draw(stats_plots.progress(np.empty((0, 4)))).data == ()


def test_thin_bins_are_grey():
    X = pd.DataFrame({"a": [*np.repeat(np.arange(10.0), 60), 50.0]})
    curve = GAMRegressor(max_rounds=5, outer_bags=2, random_state=0).fit(X, X["a"]).explain_shape("a")
    pale = next(trace for trace in shape(curve, "y", "d").data if trace.name == "few rows")
    assert np.isfinite(np.array(pale.y, float)).sum() == 2
    plot = curve.describe("y")
    in_files, on_pages = (
        {trace.name for trace in figures.draw(plot, titled=titled).data if trace.showlegend is not False}
        for titled in (True, False)
    )
    assert in_files >= {"effect", "few rows"}
    assert not on_pages & {"effect", "few rows"}  # the page's words say so, and a legend takes room from the curve


def test_small_curves_share_limits_that_thin_bins_do_not_stretch(model):
    curves = [model.explain_shape(name) for name in ("plain", "few", "level")]
    low, high = explain_plots.common_limits(curves)
    thick = [curve.scores[curve.counts >= 30] for curve in curves]
    assert low <= min(scores.min(initial=0.0) for scores in thick)
    assert high >= max(scores.max(initial=0.0) for scores in thick)
    few, counts = curves[1], np.array([400.0, 400.0, 5.0])
    near, far = (replace(few, counts=counts, scores=few.scores * [1, 1, times]) for times in (1, 100))
    assert explain_plots.common_limits([far]) == explain_plots.common_limits([near])
    texts = [note.text for note in figures.draw(explain_plots.small(curves[0], (low, high))).layout.annotations]
    assert texts == [f"missing: {curves[0].missing[0]:+.3g}"]
    assert not figures.draw(explain_plots.small(curves[1], (low, high))).layout.annotations


@pytest.fixture(scope="module")
def crossed():
    rng = np.random.default_rng(0)
    n = 4000
    X = pd.DataFrame(
        {"a": rng.normal(size=n), EVIL: rng.choice([EVIL, "level", "other"], n), "t": rng.exponential(1, n)}
    )
    X["t"] = X["t"] ** 4
    X.loc[(X["a"] > 0) & (X[EVIL] == "other"), EVIL] = "level"  # cells without rows
    X["when"] = pd.date_range("2020-01-01", periods=n, freq="h")
    y = np.sign(X["a"]) * np.where(X[EVIL] == "level", 1, -1) + 0.1 * rng.normal(size=n)
    pairs = [("a", EVIL), ("a", "t"), ("a", "when")]
    return GAMRegressor(interactions=pairs, outer_bags=2, random_state=0).fit(X, y)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_heat_map_is_even_around_zero_and_blank_without_rows(crossed, mode):
    found = crossed.explain_pair("a", EVIL)
    figure = surface(found, mode)
    axis = figure.layout.coloraxis
    assert axis.cmin == -axis.cmax == -found.reach
    assert axis.colorscale[1] == (0.5, PALETTES[mode].background)
    many, few = [trace for trace in figure.data if trace.type == "heatmap"]
    shown = np.array([many.z, few.z], float)
    assert (np.isfinite(shown).sum(axis=0) == (found.counts.T > 0)).all()
    assert (found.counts == 0).any()
    assert np.isfinite(np.array(few.z, float)).sum() == ((found.counts > 0) & (found.counts < FEW_ROWS)).sum()
    assert few.opacity < 1
    assert many.opacity is None
    for text in strings(figure.to_dict()):
        assert "<img" not in text
        assert "<script" not in text


def test_a_colour_bar_is_next_to_its_map_whatever_the_names_on_the_axis_are(crossed):
    for pair in (("a", EVIL), ("a", "t")):
        bar = surface(crossed.explain_pair(*pair)).layout.coloraxis.colorbar
        assert (bar.y, bar.yanchor) == (1, "bottom")


def test_a_low_panel_of_factors_has_as_many_numbers_as_there_is_room_for(crossed):
    """On a map of visits to doctors, 1.2 and 1.4 lay on each other in the curve above it."""
    found = crossed.explain_pair("a", "t")
    factors = replace(found.margins[0], scores=np.geomspace(0.5, 1.4, found.first.size), scale="ratio")
    figure = surface(replace(found, margins=(factors, found.margins[1])))
    assert figure.layout.yaxis.type == "log"
    assert 2 <= len(figure.layout.yaxis.tickvals) <= 4


def test_a_heat_map_opens_on_the_middle_and_axes_that_match_agree(crossed):
    figure = surface(crossed.explain_pair("a", "t"))
    layout = figure.layout
    assert layout.yaxis3.range == layout.yaxis4.range
    assert layout.xaxis.range == layout.xaxis3.range
    assert layout.yaxis3.range[1] < crossed.explain_pair("a", "t").second.edges[-1] / 2
    dates = surface(crossed.explain_pair("a", "when"))
    assert str(dates.layout.yaxis3.range[0])[:4] in ("2019", "2020")


def test_a_chosen_rectangle_is_framed(crossed):
    found = crossed.explain_pair("a", "t")
    figure = surface(found, chosen=Rectangle((1, 3), (2, 4)))
    frame, empty = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert (empty.layer, empty.fillcolor) == ("below", PALETTES["light"].hairline)
    assert (frame.x0, frame.x1) == (found.first.edges[1], found.first.edges[3])


def test_slices_are_rows_of_the_heat_map(crossed):
    found = crossed.explain_pair("a", EVIL)
    figure = figures.draw(explain_plots.slices(found, [0, 2], "y", "d"))
    assert len(figure.data) == 2
    turned = figures.draw(explain_plots.slices(found.turned(), [3], "y", "d"))
    values = np.where(found.counts[3] > 0, found.scores[3], np.nan)
    np.testing.assert_array_equal(np.array(turned.data[0].y, float), values)


def test_bars_of_pairs_tell_those_of_the_model(crossed):
    names = ["a", EVIL, "t", "when"]
    ranking = pd.DataFrame(
        [(x, z) for i, x in enumerate(names) for z in names[i + 1 :]], columns=["feature_1", "feature_2"]
    )
    ranking["strength"] = [1.0, 0.3, 0.02, 0.01, 0.01, 0.0]
    ranking["rank"] = range(1, 7)
    ranking.attrs["chance"] = 0.05
    worth = ranking.head(1)[["feature_1", "feature_2"]].assign(worth=0.4, share=0.1)
    figure = figures.draw(explain_plots.pair_ranking(ranking, worth, "squared"))
    strength, gain = figure.data
    assert list(strength.x) == sorted(strength.x, reverse=True)
    assert strength.marker.color[0] == PALETTES["light"].primary
    assert set(strength.marker.color[1:]) == {PALETTES["light"].density}
    assert gain.x[0] == 0.4
    assert gain.mode == "markers"
    assert not figure.layout.yaxis.showticklabels  # the names of two features stand above the bars, which have all room
    names_above = [note for note in figure.layout.annotations if note.xanchor == "left"]
    assert [note.x for note in names_above] == [0] * len(strength.y)
    assert all(note.y < at - strength.width / 2 for note, at in zip(names_above, strength.y, strict=True))
    assert len(figures.draw(explain_plots.pair_ranking(ranking, worth.head(0), "squared")).data) == 1
    ranking.attrs["chance"] = 1.0
    assert "No pair" in explain_plots.pair_ranking(ranking, worth, "squared").title
    assert all("<img" not in text for text in strings(figure.to_dict()))


@pytest.mark.parametrize("mean", [0.0, 7.0, 1_000.0, -1_000.0])
def test_the_parts_of_a_row_are_seen_however_far_from_zero_it_is(mean):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    breakdown = (
        GAMRegressor(outer_bags=2, max_rounds=30, random_state=0).fit(X, mean + X.sum(axis=1)).explain_rows(X[:9])
    )
    for row in range(9):
        plot = explain_plots.waterfall(breakdown, row, "y")
        ((panel,),) = plot.panels
        (bars,) = panel.marks
        low, high = panel.x.limits
        ends = bars.bases + bars.sizes
        assert low < min(bars.bases.min(), ends.min())
        assert high > max(bars.bases.max(), ends.max())
        steps = np.abs(bars.sizes[1:-1]) * [1 if role == "accent" else -1 for role in bars.roles[1:-1]]
        np.testing.assert_allclose(steps.sum(), breakdown.scores[row] - breakdown.intercept, atol=1e-9)
        moves = np.r_[bars.bases[1:-1], ends[1:-1]]
        assert np.ptp(moves) > 0.2 * (high - low)
        if bars.bases[0] == 0:
            assert (ends[0], ends[-1]) == (breakdown.intercept, breakdown.scores[row])
        else:
            np.testing.assert_allclose((bars.bases + ends)[[0, -1]] / 2, [breakdown.intercept, breakdown.scores[row]])
