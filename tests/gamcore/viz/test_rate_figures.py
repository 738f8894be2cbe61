"""Figures of rates, counts, amounts and classes, in both themes and in files."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gamcore.stats import plots
from gamcore.stats.classes import class_confusion, class_rankings
from gamcore.stats.metrics import calibration
from gamcore.stats.rates import concentration, lift_by_tenth
from gamcore.viz import plotly_figures as figures
from gamcore.viz.files.plot import to_bytes
from tests.support.hostile import EVIL

MODES = ["light", "dark"]


def claims(n=500, seed=0):
    """Counts, their expected values and exposures."""
    rng = np.random.default_rng(seed)
    exposure = rng.uniform(0.1, 1, n)
    expected = np.exp(rng.normal(-1, 0.6, n)) * exposure
    return rng.poisson(expected).astype(float), expected, exposure


def classes(k, n=400):
    rng = np.random.default_rng(1)
    chances = rng.dirichlet(np.full(k, 0.7), n)
    codes = np.minimum((chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)
    return codes, chances, [EVIL, *(f"class {j}" for j in range(1, k))]


@cache
def every():
    y, expected, exposure = claims()
    codes, chances, names = classes(5)
    none = np.zeros(500)
    return {
        "lift": plots.lift_by_tenth(lift_by_tenth(y, expected, "count", exposure=exposure), "count", EVIL),
        "no lift": plots.lift_by_tenth(lift_by_tenth(none, expected, "amount"), "amount", EVIL),
        "calibration": plots.calibration(calibration(y, expected, kind="amount"), expected, "amount", EVIL),
        "concentration": plots.concentration(concentration(y, expected, exposure), EVIL, "exposure"),
        "nothing": plots.concentration(concentration(none, expected), EVIL),
        "confusion": plots.class_confusion(class_confusion(codes, chances, names)),
        "rankings": plots.class_rankings(class_rankings(codes, chances), names),
        "of one class": plots.class_rankings(class_rankings(np.zeros(400, int), chances), names),
    }


@pytest.mark.slow
@pytest.mark.parametrize(("fmt", "mode"), [("svg", "light"), ("png", "dark"), ("html", "light"), ("pptx", "light"),
                                           ("xlsx", "light")])  # fmt: skip
def test_every_figure_can_be_kept_in_every_kind_of_file(fmt, mode):
    for name, plot in every().items():
        made = to_bytes(plot, fmt, "about", mode)
        assert len(made) > 1_000, name
        assert fmt == "png" or b"<img src=x" not in made, name  # there it is the alternative text


@pytest.mark.parametrize("mode", MODES)
def test_figures_are_drawn_without_markup_of_names(mode):
    for name, plot in every().items():
        assert "<img" not in figures.draw(plot, mode).to_json(), name


@pytest.mark.parametrize("mode", MODES)
def test_lift_has_intervals_predictions_and_the_mean(mode):
    y, expected, exposure = claims()
    table = lift_by_tenth(y, expected, "count", exposure=exposure)
    plot = plots.lift_by_tenth(table, "count", "claims per year")
    figure = figures.draw(plot, mode)
    drawn = {trace.name: trace for trace in figure.data if trace.name}
    np.testing.assert_allclose(drawn["observed"].y, table["observed"])
    np.testing.assert_allclose(drawn["predicted"].y, table["predicted"])
    bars = next(trace for trace in figure.data if trace.error_y.array is not None)
    np.testing.assert_allclose(bars.y + bars.error_y.array, table["upper"])
    np.testing.assert_allclose(bars.y - bars.error_y.array, table["lower"])
    assert figure.layout.shapes[0].y0 == pytest.approx(y.sum() / exposure.sum())
    assert plot.title.startswith("claims per year: ")
    assert "nothing tells" in every()["no lift"].title


def test_calibration_of_counts_has_no_chances():
    y, expected, exposure = claims()
    table = calibration(y, expected, kind="count", exposure=exposure)
    panel = plots.calibration(table, expected / exposure, "count", "claims per year").main
    assert (panel.x.title, panel.y.title) == ("predicted claims per year", "claims per year, observed")
    assert panel.x.format == panel.y.format == "plain"
    assert panel.x.limits[1] > table["upper"].max()
    chance = plots.calibration(calibration((y > 0).astype(float), expected / 9), expected / 9).main
    assert (chance.x.title, chance.y.format) == ("predicted chance", "percent")


def test_concentration_names_the_gini_and_its_share_of_the_most():
    y, expected, exposure = claims()
    line = concentration(y, expected, exposure)
    plot = plots.concentration(line, "claims", "exposure")
    assert plot.title.startswith(f"Gini {line.gini:.3f}, {100 * line.ratio:.0f}% of the {line.perfect:.3f}")
    assert "not known" in every()["nothing"].title


def test_cells_of_the_confusion_are_shares_of_classes():
    codes, chances, names = classes(4)
    found = class_confusion(codes, chances, names)
    plot = plots.class_confusion(found)
    cells = plot.main.marks[0]
    np.testing.assert_allclose(cells.values.sum(axis=1), 1)
    assert [text.replace(",", "") for text in cells.texts[0]] == [str(int(n)) for n in found.counts[0]]
    recall, precision = (panel.marks[0] for panel in plot.panels[0][1:])
    np.testing.assert_allclose(recall.sizes, found.recall)
    np.testing.assert_allclose(precision.sizes, found.precision)
    assert plots.class_confusion(class_confusion(*classes(20))).main.marks[0].texts.size == 0


def test_a_class_without_rows_is_blank_and_not_ranked():
    codes, chances, names = classes(4)
    codes = np.where(codes == 2, 0, codes)
    plot = plots.class_confusion(class_confusion(codes, chances, names))
    assert np.isnan(plot.main.marks[0].values[2]).all()
    assert plot.panels[0][1].marks[0].texts[2] == ""
    ranked = plots.class_rankings(class_rankings(codes, chances), names)
    assert "class 2" not in set(ranked.numbers["class"])
    assert len(ranked.main.marks) == 1 + 3


def test_of_many_classes_the_best_have_colours_and_names():
    codes, chances, names = classes(12, 3_000)
    lines = class_rankings(codes, chances)
    paths = plots.class_rankings(lines, names).main.marks[1:]
    assert len(paths) == 12
    assert [path.role for path in paths[:8]] == [0, 1, 2, 3, 4, 5, 6, "few"]
    assert paths[7].name == "5 more"
    assert not any(path.name for path in paths[8:])
    best = names[int(np.argmax([line.summary for line in lines]))]
    assert paths[0].name.startswith(f"{best}: AUC ")
