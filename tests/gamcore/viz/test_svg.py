"""Small plots as SVG: valid files whatever the names, with every value where its axis says."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from gamcore.viz.spec import Area, Axis, Bars, Line, Panel, Plot, Points, Ribbon, Steps, Whiskers, single
from gamcore.viz.svg.axes import LETTER, MOST_Y, TEXT
from gamcore.viz.svg.small import BOTTOM, LEFT, RIGHT, TOP, WIDTH, small_svg

HEIGHT = 170
NAMES = ("plain", "<script>alert(1)</script>", "a & b \" ' é", "x" * 300, "")


def plot(*marks, x=None, y=None, title="t", note=""):
    panel = Panel(x or Axis(limits=(0.0, 10.0)), y or Axis(limits=(-2.0, 2.0)), marks, note=note)
    return Plot("n", title, "", single(panel), "words", pd.DataFrame(), height=HEIGHT, small=True)


def paths(svg):
    return [one.get("d") for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("path")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_any_name_gives_a_valid_file_without_markup(name, mode):
    ticks = Axis(ticks=((0.0, name), (1.0, "b")), named=True)
    bars = Bars(np.array([0.0, 1.0]), np.array([1.0, -1.0]), hover=[name, name])
    root = ElementTree.fromstring(small_svg(plot(bars, x=ticks, title=name, note=name), mode))
    assert {one.tag.rpartition("}")[2] for one in root.iter()} <= {"svg", "clipPath", "rect", "text", "path", "g"}


@pytest.mark.parametrize("seed", range(5))
def test_a_step_lies_where_the_axes_say(seed):
    rng = np.random.default_rng(seed)
    edges, values = np.sort(rng.uniform(0, 10, 7)), rng.uniform(-2, 2, 6)
    values[rng.integers(1, 5)] = np.nan
    [drawn] = [d for d in paths(small_svg(plot(Steps(edges, values)))) if "V" in d and d.count("H") > 2]
    heights = [float(h) for h in re.findall(r"(?:V|M[\d.]+ )([\d.]+)H", drawn)]
    ends = [float(h) for h in re.findall(r"H([\d.]+)", drawn)]
    known = np.isfinite(values)
    expected = HEIGHT - BOTTOM + (values[known] + 2) / 4 * (TOP - HEIGHT + BOTTOM)
    assert np.allclose(heights, expected, atol=0.06)
    assert np.allclose(ends, LEFT + edges[1:][known] / 10 * (WIDTH - RIGHT - LEFT), atol=0.06)
    assert drawn.count("M") == 2  # the gap is not bridged


def test_equal_ratios_are_equal_distances_on_a_log_axis():
    log = Axis(kind="log", limits=(0.25, 4.0))
    at = [float(re.search(r" ([\d.]+)H", paths(small_svg(plot(Line(one), y=log)))[-1])[1]) for one in (0.5, 1.0, 2.0)]
    assert np.diff(at)[0] == pytest.approx(np.diff(at)[1], abs=0.15)


def test_dates_and_levels_and_all_marks_are_drawn():
    at = np.array([19_000.0, 19_200.0, 19_500.0])
    ends = at[:-1], np.array([-1.0, 0.5])
    marks = (Ribbon(at, ends[1] - 0.1, ends[1] + 0.1), Steps(at, ends[1], dotted=True), Line(0.0),
             Whiskers(at, at * 0 - 1, at * 0 + 1), Points(at, np.array([0.0, np.nan, 1.0]), symbol="dash"))  # fmt: skip
    svg = small_svg(plot(*marks, x=Axis(kind="date", limits=(19_000.0, 19_500.0))))
    assert re.search(r">\w{3} 20\d\d<", svg)
    assert "<polygon" in svg
    assert "nan" not in svg


def test_a_marked_part_is_shaded_within_the_panel_and_named():
    svg = small_svg(plot(Area(-1e9, 0.5, text="A & B"), x=Axis(limits=(0.0, 1.0))))
    [shaded] = [one for one in ElementTree.fromstring(svg).iter() if one.get("fill-opacity")]
    assert float(shaded.get("x")) == LEFT
    assert float(shaded.get("width")) == pytest.approx((WIDTH - LEFT - RIGHT) / 2, abs=0.1)
    assert "A &amp; B" in svg


@pytest.mark.parametrize("names", [
    ("Returning_Visitor", "New_Visitor", "Other"), ("a long level of a feature, 1", "a long level of a feature, 2"),
    ("north-north-west", "north-north-east", "south-south-west", "south-south-east"), ("no", "yes"),
])  # fmt: skip
def test_names_of_levels_stand_upright_below_and_have_room(names):
    """A picture of a page cut off what hung below it."""
    axis = Axis(ticks=tuple((float(k), name) for k, name in enumerate(names)))
    svg = small_svg(plot(Bars(np.arange(len(names)), np.ones(len(names)), 0.0, 0.6), x=axis))
    assert "rotate" not in svg
    shown = re.findall(r">([^<>]+)</text>", svg)
    written = [text for text in shown if any(text[:2] == name[:2] and text != "t" for name in names)]
    assert len({*written}) == len(names)
    assert max(map(len, written)) * LETTER <= (WIDTH - LEFT - RIGHT) / len(names)


def test_an_axis_without_limits_takes_those_of_its_marks():
    drawn = plot(Steps(np.array([0.0, 5.0]), np.array([3.0])), x=Axis(), y=Axis())
    assert "M44" in small_svg(replace(drawn, title="one value"))


def test_wide_factors_are_written_in_full_and_apart_beside_a_small_plot():
    """Where factors spanned many powers of ten, their numbers were close, and the smallest was cut at its left."""
    svg = small_svg(
        plot(Steps(np.array([0.0, 1.0, 2.0]), np.array([1e-6, 1e3])), y=Axis(kind="log", limits=(1e-6, 1e3)))
    )
    ends = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="end"[^>]*>([^<]+)<', svg)
    ends = [end for end in ends if float(end[0]) < WIDTH / 2]  # the last number of the other axis ends at its end
    assert 2 <= len(ends) <= MOST_Y
    assert all(float(x) >= LETTER * len(name) for x, _, name in ends)
    heights = sorted(float(y) for _, y, _ in ends)
    assert min(np.diff(heights)) > TEXT
