"""Names on axes stand apart, and amounts have commas between thousands where years have none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.explain.curves import Breakdown
from gamcore.explain.plots import similarity, waterfall
from gamcore.explain.plots.curves import effect_axis
from gamcore.viz.axes import apart
from gamcore.viz.plotly_figures.draw import draw
from gamcore.viz.spec import Axis, Panel, Plot, Points, single
from gamcore.viz.svg import small_svg


@pytest.mark.parametrize("n", [1, 2, 16, 17, 50, 400])
@pytest.mark.parametrize("even", [True, False])
def test_names_along_an_axis_leave_room_for_each_other(n, even):
    rng = np.random.default_rng(n)
    at = np.arange(n, dtype=float) if even else np.sort(rng.gamma(0.3, 5, n))
    ends = float(at[0]) - 0.5, float(at[-1]) + 0.5
    ticks = [(float(place), f"level {k}") for k, place in enumerate(at)]
    kept = apart(ticks, ends, 16)
    assert set(kept) <= set(ticks)
    assert kept[0] == ticks[0]
    assert np.diff([place for place, _ in kept]).min(initial=np.inf) >= 0.999 * (ends[1] - ends[0]) / 16
    if n <= 16 and even:
        assert list(kept) == ticks


def test_axes_of_effects_and_of_rows_have_commas_and_those_of_features_have_none():
    points = (Points(np.array([2017.0, 2018.0]), np.array([3000.0, 9000.0])),)
    panels = single(Panel(Axis("year"), effect_axis("price", "link"), points))
    years = draw(Plot("p", "p", "", panels, "", pd.DataFrame())).layout
    assert (years.xaxis.separatethousands, years.yaxis.separatethousands) == (None, True)
    parts = Breakdown(("a", "b"), 3000.0, np.array([[2000.0, -500.0]]), np.array([4500.0]))
    assert draw(waterfall(parts, 0, "price")).layout.xaxis.separatethousands
    small = small_svg(Plot("p", "p", "", panels, "", pd.DataFrame()))
    assert ">4,000<" in small
    assert ">2017<" in small


def test_words_on_cells_take_their_colour_from_the_cell():
    alike = similarity(pd.DataFrame([[1.0, -0.1], [-0.1, 1.0]], index=["a", "b"], columns=["a", "b"]))
    cells, *_ = [trace for trace in draw(alike).data if trace.type == "heatmap"]
    assert cells.texttemplate
    assert cells.textfont.color is None  # plotly then chooses the lighter or the darker, whichever is read
