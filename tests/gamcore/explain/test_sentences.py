"""Sentences: that they say what the band supports, and no more."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamcore.explain.curves import Curve
from gamcore.explain.sentences import NO_CLEAR_EFFECT, legs, read_curve, read_surface, short
from gamcore.explain.surfaces import Surface, SurfaceAxis
from gamcore.model.losses import LOSSES
from gamcore.model.scales import no_effect, say

NOTHING = (0.0, 0.0, 0.0, 0.0)


def line(scores, half=0.1, edges=None, **changes):
    """A curve of these scores with a band of the whole curve of this half-width."""
    scores = np.asarray(scores, float)
    edges = np.arange(scores.size + 1.0) if edges is None else np.asarray(edges, float)
    display = edges[:-1] + 0.3 * np.diff(edges)  # not halfway: bins of several values
    rng = np.random.default_rng(0)
    refits = scores + half / 4 * rng.normal(size=(30, scores.size))
    told = {"kind": "number", "counts": np.full(scores.size, 100.0), "loss": "squared", **changes}
    return Curve(
        "age", edges=edges, display=display, labels=(), scores=scores, lower=scores - half / 2,
        upper=scores + half / 2, missing=NOTHING, unseen=NOTHING, band="b", intercept=0.0,
        whole=np.stack([scores - half, scores + half]), refits=refits, reach=4.0, **told,
    )  # fmt: skip


def levels(scores, half=0.1, **changes):
    names = tuple("abcdefgh"[: len(scores)])
    return replace(line(scores, half), kind="category", labels=names, edges=np.empty(0), **changes)


BANDS = st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 3)), min_size=1, max_size=30)


@given(BANDS)
@settings(max_examples=300, deadline=None)
def test_ways_are_what_the_band_cannot_do_without(band):
    centre, half = np.array(band).T
    lower, upper = centre - half, centre + half
    found = legs(lower, upper)
    assert (not found) == bool(lower.max() <= upper.min())  # a constant fits: no clear effect
    for first, second in pairwise(found):
        assert first.up != second.up
    for leg in found:
        assert 0 <= leg.start < lower.size
        assert 0 <= leg.end < lower.size


@given(BANDS)
@settings(max_examples=200, deadline=None)
def test_a_mirrored_band_turns_the_other_way(band):
    centre, half = np.array(band).T
    found, mirrored = legs(centre - half, centre + half), legs(-centre - half, -centre + half)
    assert [(leg.up, leg.start, leg.end) for leg in found] == [(not leg.up, leg.start, leg.end) for leg in mirrored]


def test_the_number_of_ways_is_the_least_that_any_curve_in_the_band_has():
    """Brute force over all monotone pieces: fewer pieces than said do not fit into the band."""

    def fits(lower, upper, ups):
        """Whether some curve with these ways, one after the other, stays in the band (ends between pieces are free)."""
        reach = {0: [(lower[0], upper[0])]}
        states = {0: (lower[0], upper[0])}
        for k in range(1, lower.size):
            new = {}
            for piece, (low, high) in states.items():
                for nxt in (piece, piece + 1):
                    if nxt >= len(ups):
                        continue
                    a, b = (max(low, lower[k]), upper[k]) if ups[nxt] else (lower[k], min(high, upper[k]))
                    if a <= b:
                        old = new.get(nxt)
                        new[nxt] = (a, b) if old is None else (min(a, old[0]), max(b, old[1]))
            states = new
        return bool(states) or not reach

    rng = np.random.default_rng(0)
    for _ in range(200):
        centre, half = rng.normal(size=8).cumsum(), rng.uniform(0.2, 1.5, 8)
        lower, upper = centre - half, centre + half
        found = legs(lower, upper)
        if not found:
            continue
        ups = [leg.up for leg in found]
        assert fits(lower, upper, ups)
        assert not fits(lower, upper, ups[:-1])
        assert not fits(lower, upper, ups[1:])


def test_a_curve_is_read_from_left_to_right():
    rise = np.concatenate([np.zeros(10), np.linspace(0, 3, 11), np.full(9, 3.0)])
    assert read_curve(line(rise)) == "age: flat, then rises from 11 to 20, then flat"
    assert read_curve(line(-rise)) == "age: flat, then falls from 11 to 20, then flat"
    assert read_curve(line(np.zeros(20))) == f"age: {NO_CLEAR_EFFECT}"
    assert read_curve(line(rise, half=2.0)) == f"age: {NO_CLEAR_EFFECT}"
    up_down = np.concatenate([np.linspace(0, 3, 15), np.linspace(3, 0, 15)])
    said = read_curve(line(up_down))
    assert said.startswith("age: rises from 0.3 to")
    assert "then falls" in said
    wild = np.tile([0.0, 3.0], 6)
    assert read_curve(line(wild)).startswith("age: goes up and down: lowest at 0 to 1, highest at 1 to 2")


def test_the_steepest_step_is_named_where_it_is_clear_and_large():
    step = np.concatenate([np.linspace(0, 1, 15), np.linspace(4, 5, 15)])
    assert read_curve(line(step)).endswith("the steepest step is at 15")
    noisy = replace(line(step), refits=step + np.random.default_rng(0).normal(size=(30, 30)) * 3)
    assert "steepest" not in read_curve(noisy)


def test_single_values_are_named_and_thin_bins_are_not_read():
    edges = [1.0, 1.5, 2.5, 3.5, 4.0]
    curve = replace(line([0, 0, 5, 5], edges=edges), display=np.array([1.0, 2.0, 3.0, 4.0]))
    assert read_curve(curve) == "age: flat, then rises from 2 to 3, then flat; the steepest step is at 3"
    thin = replace(line([0, 0, 0, 9]), counts=np.array([100.0, 100, 100, 5]))
    assert read_curve(thin) == f"age: {NO_CLEAR_EFFECT}"


def test_levels_that_stand_out_are_named_with_their_size():
    assert read_curve(levels([-1.0, 0.0, 2.0])) == "age: above average for c (+2), below for a (-1)"
    assert read_curve(levels([0.01, 0.0, 0.02])) == f"age: {NO_CLEAR_EFFECT}"
    assert read_curve(levels([-0.08, 0.08], half=0.07)) == "age: above average for b (+0.08), below for a (-0.08)"
    assert read_curve(levels([3, 3, 3, 3, 3, -15], half=0.5)).startswith("age: above average for a, b, c and 2 more")
    gone = levels([0.0, 0.0], counts=np.zeros(2))
    assert read_curve(gone) == f"age: {NO_CLEAR_EFFECT}"
    curve = replace(levels([-1.0, 2.0]), loss="logistic")
    assert "×7.39" in read_curve(curve.on("ratio"))
    assert "points" in read_curve(curve.on("points"))


def test_missing_is_told_where_it_is_clear():
    curve = replace(line(np.zeros(5)), missing=(-2.0, -2.5, -1.5, 50.0), missing_whole=(-3.0, -1.0))
    assert read_curve(curve) == "age: only missing -2"
    assert read_curve(replace(curve, missing=(-2.0, -2.5, -1.5, 5.0))) == f"age: {NO_CLEAR_EFFECT}"
    assert read_curve(replace(curve, missing_whole=(-3.0, 1.0))) == f"age: {NO_CLEAR_EFFECT}"


def test_without_a_band_of_the_whole_curve_nothing_is_claimed():
    assert read_curve(replace(line([0, 9.0]), whole=np.empty((2, 0)))) == "Effect of age"
    empty = replace(line([0.0]), scores=np.empty(0), whole=np.empty((2, 0)))
    assert read_curve(empty) == "age: no values in training, so no effect"


@pytest.mark.parametrize(
    ("value", "span", "said"),
    [(12529.3, 1e5, "12,529"), (0.4312, 1.0, "0.43"), (3.0, 1.0, "3"), (5.0, 0.0, "5"), (-0.001, 5.0, "0")],
)
def test_numbers_have_the_digits_that_mean_something(value, span, said):
    assert short(value, span) == said


def test_scales_rise_together_and_keep_nothing_where_it_is():
    scores = np.linspace(-800, 800, 999)
    for scale in ("link", "ratio", "points"):
        found = LOSSES["logistic"].effect(scores, scale, -1.0)
        assert np.isfinite(found).all()
        assert (np.diff(found) >= 0).all()
        assert LOSSES["logistic"].effect(np.zeros(1), scale, 0.3)[0] == no_effect(scale)
    assert LOSSES["logistic"].effect(np.array([np.log(2)]), "points", 0.0)[0] == pytest.approx(100 / 6)
    assert [say(2.0, s) for s in ("link", "ratio", "points")] == ["+2", "×2", "+2.0 points"]


def test_a_curve_is_told_on_one_scale_at_a_time():
    curve = replace(line([0.0, 1.0]), loss="logistic")
    assert curve.on("ratio").on("ratio").scale == "ratio"
    with pytest.raises(ValueError, match="already told as ratio"):
        curve.on("ratio").on("points")
    assert line([0.0, 1.0]).on("points").scale == "link"  # a target in its own units


def surface(scores, half, counts=100.0):
    scores = np.asarray(scores, float)
    axis = SurfaceAxis("a", "number", np.arange(scores.shape[0] + 1.0), (), np.arange(3, dtype=np.uint8))
    other = SurfaceAxis("b", "category", np.empty(0), ("x", "y"), np.arange(3, dtype=np.uint8))
    margins = line(np.zeros(2)), levels(np.zeros(2))
    return Surface(
        axis, other, scores, scores - half / 2, scores + half / 2, np.full(scores.shape, counts), np.zeros(2),
        np.zeros(scores.shape[0]), 0.0, margins, (np.zeros(2), np.zeros(2)), True,
        np.stack([scores - half, scores + half]), 0.0,
    )  # fmt: skip


def test_a_heat_map_is_read_at_its_clearest_cell():
    found = surface([[0.1, -0.2], [0.0, 1.0]], 0.5)
    assert read_surface(found) == "a and b together: +1 where a is over 1 and b is y"
    assert read_surface(surface([[0.1, -0.2], [0.0, 0.3]], 0.5)).endswith("no clear effect beyond each alone")
    assert read_surface(surface([[9.0, 0], [0, 0]], 0.5, counts=5.0)).endswith("no clear effect beyond each alone")
    assert read_surface(replace(found, whole=np.empty((2, 0, 0)))) == "a and b together, beyond each alone"
