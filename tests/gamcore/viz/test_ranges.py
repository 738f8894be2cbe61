"""Round numbers of logarithmic axes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.viz.files.letters import letters_of
from gamcore.viz.files.mpl_picture import compose, house, picture
from gamcore.viz.plotly_figures.draw import draw
from gamcore.viz.ranges import limits, ratio_ticks
from gamcore.viz.spec import Axis, Panel, Plot, Points, Steps
from gamcore.viz.svg.picture import picture as still


@given(st.floats(1e-6, 1e6), st.floats(1.05, 1e16))
def test_an_axis_of_ratios_has_at_least_two_numbers_within_its_range(low, ratio):
    ends = low, low * ratio
    told = ratio_ticks(ends, 8)
    assert 2 <= len(told) <= 8
    assert told == sorted(set(told))
    assert ends[0] * (1 - 1e-9) <= told[0]
    assert told[-1] <= ends[1] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0.8, 1.3), [0.8, 0.9, 1.0, 1.1, 1.2, 1.3]),
        ((0.5, 2.0), [0.5, 1.0, 2.0]),
        ((0.09, 12.0), [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]),
        ((0.05, 3000.0), [0.1, 1.0, 10.0, 100.0, 1000.0]),
        ((1e-8, 1e8), [1e-6, 1e-3, 1.0, 1e3, 1e6]),
    ],
)
def test_a_narrow_axis_has_even_steps_and_a_wide_one_1_2_5(ends, expected):
    assert ratio_ticks(ends, 8) == pytest.approx(expected)


def test_a_factor_of_many_powers_of_ten_is_written_in_full_on_a_few_ticks():
    """Where a feature tells whether anything was spent, factors reach a hundred million: 49 ticks lay on each other."""
    ratios = Points(np.array([0.0, 1.0]), np.array([1e-8, 1e8]))
    panel = Panel(Axis(), Axis(kind="log"), (ratios,))
    axis = draw(Plot("ratios", "Ratios", "", ((panel,),), "Two ratios.", pd.DataFrame())).layout.yaxis
    assert axis.ticktext == ("0.000001", "0.001", "1", "1,000", "1,000,000")


@pytest.mark.parametrize("value", [1.0, 0.02, 3e5])
def test_one_ratio_is_in_the_middle_of_its_axis(value):
    ratios = Points(np.array([0.0, 1.0]), np.array([value, value]))
    ends = limits(Axis(kind="log"), [ratios], along=False)
    assert np.sqrt(ends[0] * ends[1]) == pytest.approx(value)
    assert len(ratio_ticks(ends, 8)) >= 2
    plot = Plot("ratios", "Ratios", "", ((Panel(Axis(), Axis(kind="log"), (ratios,)),),), "Two ratios.", pd.DataFrame())
    assert picture(plot, "png")
    assert "nan" not in still(plot)


@pytest.mark.parametrize(("highest", "fixed"), [(1.3, False), (4.0, True)])
def test_a_narrow_axis_of_a_figure_leaves_its_steps_to_plotly(highest, fixed):
    ratios = Points(np.array([0.0, 1.0]), np.array([0.4, highest]))
    plot = Plot("ratios", "Ratios", "", ((Panel(Axis(), Axis(kind="log"), (ratios,)),),), "Two ratios.", pd.DataFrame())
    assert ("dtick" in draw(plot).layout.yaxis.to_plotly_json()) == fixed
    assert picture(plot, "png")


def beside_a_map(lowest, highest):
    """A plot as that of a pair, whose narrow side and low top are on logarithmic axes."""
    steps = np.geomspace(lowest, highest, 8)
    flat, tall = Axis(limits=(0.0, 8.0)), Axis(kind="log")
    along = Panel(flat, tall, (Steps(np.arange(9.0), steps),))
    side = Panel(tall, flat, (Steps(np.arange(9.0), steps, upright=True),))
    middle = Panel(flat, flat, (Steps(np.arange(9.0), np.arange(8.0)),))
    return Plot("pair", "Pair", "", ((along, None), (middle, side)), "Two curves.", pd.DataFrame(),
                widths=(0.84, 0.16), heights=(0.2, 0.8), height=532)  # fmt: skip


@pytest.mark.parametrize("ends", [(0.06, 35.0), (0.5, 2.1), (0.002, 900.0)])
def test_ratios_beside_a_map_have_room(ends):
    """On the page as many as a phone has room for; in files none touch."""
    figure = draw(beside_a_map(*ends))
    side = figure.layout.xaxis4
    assert len(side.tickvals or ()) <= 4
    assert side.tickvals or ends[1] < 10 * ends[0]
    with house(letters_of("pair")):
        made = compose(beside_a_map(*ends))
        made.draw_without_rendering()
        for axes in made.axes:
            for axis in (axes.xaxis, axes.yaxis):
                boxes = [tick.get_window_extent() for tick in axis.get_ticklabels() if tick.get_text()]
                inside = [box for box in boxes if box.width]
                if axis.get_scale() == "log":
                    assert len(inside) > 1
                    assert not any(a.overlaps(b) for a, b in pairwise(inside))
