"""Sentences say what the band supports, and no more."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.common.numbers import place
from gamcore.data.column_names import PLAIN
from gamcore.data.cuts import values_in_words
from gamcore.decide.rules import Range
from gamcore.estimators.gam import GAMRegressor
from gamcore.explain.claims import NO_CLEAR_EFFECT
from gamcore.explain.sentences import LONGEST, TURNS_BACK, claims_of, legs, most_of, read_curve, read_surface
from gamcore.model.losses import LOSSES
from gamcore.model.scales import no_effect, say
from gamcore.stats.profiles import profile
from tests.support.curves_by_hand import levels, line, surface

BANDS = st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 3)), min_size=1, max_size=30)


@given(BANDS)
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
def test_a_mirrored_band_turns_the_other_way(band):
    centre, half = np.array(band).T
    found, mirrored = legs(centre - half, centre + half), legs(-centre - half, -centre + half)
    assert [(leg.up, leg.start, leg.end) for leg in found] == [(not leg.up, leg.start, leg.end) for leg in mirrored]


def test_the_number_of_ways_is_the_least_that_any_curve_in_the_band_has():
    """Check by brute force over all monotone pieces: no fewer pieces than stated fit into the band."""

    def fits(lower, upper, ups):
        """Return whether a curve with these directions in turn fits into the band (piece ends are free)."""
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
    assert read_curve(line(rise)) == "age: rises by 3.00 from 10 to 21, where 37% of rows are"
    assert read_curve(line(-rise)) == "age: falls by 3.00 from 10 to 21, where 37% of rows are"
    assert read_curve(line(np.zeros(20))) == f"age: {NO_CLEAR_EFFECT}"
    wide = line(rise - 1.5, half=2.0)
    assert read_curve(wide) == "age: rises overall, by how much is unclear"  # every refit rises
    assert read_curve(line(1.5 - rise, half=2.0)) == "age: falls overall, by how much is unclear"
    tilted = np.random.default_rng(0).normal(size=(30, 1)) * (rise - 1.5)
    assert read_curve(replace(wide, refits=tilted)) == f"age: {NO_CLEAR_EFFECT}"  # some rise, some fall
    up_down = np.concatenate([np.linspace(0, 3, 15), np.linspace(3, 0, 15)])
    said = read_curve(line(up_down))
    assert said == "age: rises by 3.00 from 0 to 15, where 50% of rows are, then falls by 3.00 from 15 to 30"
    wild = np.tile([0.0, 3.0], 6)
    assert read_curve(line(wild)).startswith("age: goes up and down: lowest at 0.3 (0), highest at 1.3 (+3.00)")


def test_most_of_a_rise_is_where_the_rows_and_the_movement_are():
    """Not to the end of a long tail that hardly moves, as in "rises from 1,419 to 132,505"."""
    scores = np.concatenate([np.linspace(0, 10, 10), np.linspace(10, 11, 10)])
    curve = line(scores, half=0.2, edges=np.concatenate([np.arange(11.0), 20 * np.arange(1, 11.0) + 10]))
    said = read_curve(curve)
    size, _, high = (float(part) for part in re.search(r"by ([0-9.]+) from ([0-9.]+) to ([0-9.]+),", said).groups())
    assert high <= 11  # the rest is a tail of 200
    assert size >= 0.8 * (10 - 0.1 * 10)


AXIS = np.linspace(0, 1, 40)
SHAPES = st.one_of(
    st.lists(st.floats(-5, 5), min_size=2, max_size=40),
    st.tuples(st.floats(0.2, 9), st.floats(0, 7)).map(lambda wave: np.sin(2 * np.pi * wave[0] * AXIS + wave[1])),
    st.floats(-0.5, 1.5).map(lambda middle: 4 * (AXIS - middle) ** 2),
    st.floats(0, 1).map(lambda place: np.sign(AXIS - place)),
    st.tuples(st.floats(0, 1), st.floats(0.01, 0.2)).map(lambda at: np.exp(-(((AXIS - at[0]) / at[1]) ** 2))),
    st.floats(0, 9).map(lambda slope: slope * AXIS + np.sin(12 * np.pi * AXIS)),
)


@given(SHAPES, st.floats(0.01, 1.2))
def test_what_is_said_is_in_the_picture(scores, half):
    """Ends of a move are clear of each other by the band, the curve hardly turns back between them, and the sentence
    fits its place."""
    curve = line(scores, half)
    assert len(read_curve(curve)) <= LONGEST
    for leg in legs(*curve.whole):
        if most := most_of(leg, curve.scores, *curve.whole):
            assert leg.start <= most.start < most.end <= leg.end
            a, b = (curve.whole[:, k] for k in (most.start, most.end))
            assert (a[1] < b[0]) if leg.up else (a[0] > b[1])
    for claim in claims_of(curve):
        if claim.ends and claim.kind != "steepest":
            first, last = int(claim.ends[0].low), int(claim.ends[1].high)  # bins have their numbers
            way = curve.scores[first:last] * (1 if claim.kind == "rises" else -1)
            back = max(before - after for before, after in combinations_with_replacement(way, 2))
            assert back <= TURNS_BACK * claim.value + 1e-9


def test_waves_in_a_band_that_a_line_would_fit_into_are_not_summed_up_by_their_ends():
    waves = np.sin(12 * np.pi * AXIS) - 0.8 * AXIS
    curve = line(waves, half=1.1)
    assert len(legs(*curve.whole)) == 1
    assert read_curve(curve).startswith("age: goes up and down: lowest ")


def test_small_movements_beside_a_large_one_are_not_said():
    scores = np.concatenate([np.linspace(0, 10, 15), np.linspace(10, 8.5, 15)])
    assert "falls" not in read_curve(line(scores))
    assert "falls" in read_curve(line(np.concatenate([np.linspace(0, 10, 15), np.linspace(10, 4, 15)])))


@pytest.mark.parametrize(("scale", "words"), [("points", "points from"), ("ratio", "by a factor of"), ("link", "by ")])
def test_a_move_is_said_on_the_scale(scale, words):
    curve = replace(line(np.linspace(0, 1, 20)), loss="logistic").on(scale)
    assert words in read_curve(curve)


def test_a_long_name_leaves_room_for_what_is_said():
    curve = replace(line(np.linspace(0, 9, 20)), feature="a very long name " * 9)
    assert len(read_curve(curve)) <= LONGEST
    assert "rises" in read_curve(curve)


def test_the_steepest_step_is_named_where_it_is_clear_and_large():
    step = np.concatenate([np.linspace(0, 1, 15), np.linspace(4, 5, 15)])
    assert read_curve(line(step)).endswith("; steepest at 15")
    noisy = replace(line(step), refits=step + np.random.default_rng(0).normal(size=(30, 30)) * 3)
    assert "steepest" not in read_curve(noisy)


def test_a_run_of_all_rows_is_at_the_average():
    """Its mean is 0, but for errors of rounding, which all refits may share, and for scales on which effects do not add
    up, such as counts."""
    counts = np.array([12.0, 10.0, 13.0])
    scores = np.array([-0.3, 0.1, 0.2]) - np.average([-0.3, 0.1, 0.2], weights=counts)
    assert np.average(scores, weights=counts) != 0
    curve = line(scores, half=0.05, counts=counts)
    curve = replace(curve, refits=scores * np.linspace(1, 2, 30)[:, None])
    assert "average" not in read_curve(curve)
    assert "average" not in read_curve(replace(curve, loss="poisson").on("units"))
    counted = replace(levels(scores, half=0.02, counts=counts), loss="poisson").on("units")
    assert "levels)" not in read_curve(counted)


def test_two_runs_have_no_direction_that_their_bins_lack():
    """The first half is higher than the second on the mean, and either falls and rises within."""
    counts, sizes = np.full(10, 6.0), np.linspace(1, 2, 30)[:, None]
    waves, falls = np.array([-0.6, 0.4, 0.6, -0.1, 0.5, -0.5, -0.2, 0.0, -0.4, 0.4]), np.linspace(0.5, -0.5, 10)
    for scores, is_said in ((waves, False), (-waves, False), (falls, True), (-falls, True)):
        curve = replace(line(scores, half=9.0, counts=counts), refits=scores * sizes)
        assert ("overall" in read_curve(curve)) == is_said


def test_a_straight_line_is_nowhere_steepest():
    """Along a skewed column its largest step is the longest one."""
    edges = np.geomspace(1, 1000, 16)
    display = np.sqrt(edges[1:] * edges[:-1])
    for scores, said in ((display / 100, False), (display / 1000 + 5.0 * (display > 99), True)):
        curve = replace(line(scores, edges=edges), display=display)
        assert ("steepest at 100" in read_curve(curve)) == ("steepest" in read_curve(curve)) == said


def test_single_values_are_named_and_thin_bins_are_not_read():
    edges = [1.0, 1.5, 2.5, 3.5, 4.0]
    curve = replace(line([0, 0, 5, 5], edges=edges), display=np.array([1.0, 2.0, 3.0, 4.0]))
    assert read_curve(curve) == "age: rises by 5.00 from 2 to 3, where 50% of rows are; steepest at 3"
    thin = replace(line([0, 0, 0, 9]), counts=np.array([100.0, 100, 100, 5]))
    assert read_curve(thin) == f"age: {NO_CLEAR_EFFECT}"


def test_levels_are_named_with_their_effects():
    assert read_curve(levels([-1.0, 0.0, 2.0])) == "age: c +2.00, a -1.00; 1 more level"
    assert read_curve(levels([0.01, 0.0, 0.02])) == f"age: {NO_CLEAR_EFFECT}"
    many = levels([3, 2.5, 3.1, 3.2, 3.3, -15], half=0.5)
    assert read_curve(many) == "age: e +3.3, d +3.2, c +3.1, f -15.0; 2 more levels"
    gone = levels([0.0, 0.0], counts=np.zeros(2))
    assert read_curve(gone) == f"age: {NO_CLEAR_EFFECT}"
    curve = replace(levels([-1.0, 2.0]), loss="logistic")
    assert read_curve(curve.on("ratio")) == "age: b ×7.4, a ×0.37"
    assert read_curve(curve.on("points")).endswith(" points")


def test_levels_with_many_rows_come_before_those_with_few():
    counts = np.array([1000.0, 1000, 1000, 1000, 40, 40])
    curve = levels([1.0, -1.0, 0.9, -0.9, 0.5, -12.9], counts=counts)
    assert read_curve(curve) == "age: a +1.0, c +0.9, b -1.0, f -12.9; 2 more levels"


def test_a_number_of_two_values_is_read_as_two_levels():
    curve = replace(line([-1.0, 2.0], edges=[0.0, 0.5, 1.0]), display=np.array([0.0, 1.0]))
    assert read_curve(curve) == "age: 1 +2.00, 0 -1.00"


def test_missing_is_told_where_it_is_clear():
    curve = replace(line(np.zeros(5)), missing=(-2.0, -2.5, -1.5, 50.0), missing_whole=(-3.0, -1.0))
    assert read_curve(curve) == "age: only missing -2.0"
    assert read_curve(replace(curve, missing=(-2.0, -2.5, -1.5, 5.0))) == f"age: {NO_CLEAR_EFFECT}"
    assert read_curve(replace(curve, missing_whole=(-3.0, 1.0))) == f"age: {NO_CLEAR_EFFECT}"


def test_the_ends_of_a_curve_are_those_of_its_ratios():
    """A mean of ratios would make a few rows with a large one the highest: 0 to 3, of 63, 20 and 0.36."""
    none, scores, rows = np.empty((2, 0)), [4.15, 3.0, -1.03, -2.1, 3.05], np.array([25.0, 5.0, 11.0, 200.0, 84.0])
    curve = replace(line(scores, loss="logistic"), whole=none, counts=rows)
    assert [run.size for run in curve.runs] == [3, 1, 1]
    assert read_curve(curve) == "age: the curve is lowest at 3.3 (-2.10) and highest at 4.3 (+3.05)"
    ratios = replace(curve.on("ratio"), whole=none)
    assert read_curve(ratios) == "age: the curve is lowest at 3.3 (×0.12) and highest at 4.3 (×21.1)"
    assert "highest ×21.1 at 4.3" in ratios.words().replace("lowest", "", 1)


def test_few_rows_that_are_read_together_have_ends_all_the_same():
    few = replace(line([0.0, 2.0], counts=np.array([9.0, 9.0])), whole=np.empty((2, 0)))
    assert read_curve(few) == "age: the curve is lowest at 0.3 (0) and highest at 1.3 (+2.00)"


def test_without_a_band_of_the_whole_curve_it_says_what_is_drawn_and_claims_nothing():
    none = np.empty((2, 0))
    curve = replace(line([0, 9.0, 3.0]), whole=none)
    assert read_curve(curve) == "age: the curve is lowest at 0.3 (0) and highest at 1.3 (+9.00)"
    assert not claims_of(curve)
    of_levels = replace(levels([0.5, -0.3]), whole=none)
    assert read_curve(of_levels) == "age: the curve is lowest at b (-0.300) and highest at a (+0.500)"
    assert read_curve(replace(line(np.zeros(5)), whole=none)) == "age: the curve is flat"
    empty = replace(line([0.0]), scores=np.empty(0), whole=np.empty((2, 0)))
    assert read_curve(empty) == "age: no values in training, so no effect"


@pytest.mark.parametrize(
    ("value", "span", "said"),
    [(12529.3, 1e5, "12,529"), (0.4312, 1.0, "0.43"), (3.0, 1.0, "3"), (5.0, 0.0, "5"), (-0.001, 5.0, "0")],
)
def test_numbers_have_the_digits_that_mean_something(value, span, said):
    assert place(value, span) == said


def test_scales_rise_together_and_keep_nothing_where_it_is():
    scores = np.linspace(-800, 800, 999)
    for scale in ("link", "ratio", "points"):
        found = LOSSES["logistic"].effect(scores, scale, -1.0)
        assert np.isfinite(found).all()
        assert (np.diff(found) >= 0).all()
        assert LOSSES["logistic"].effect(np.zeros(1), scale, 0.3)[0] == no_effect(scale)
    assert LOSSES["logistic"].effect(np.array([np.log(2)]), "points", 0.0)[0] == pytest.approx(100 / 6)
    assert [say(2.0, s) for s in ("link", "ratio", "points")] == ["+2.00", "×2.00", "+2.0 points"]


def test_a_curve_is_told_on_one_scale_at_a_time():
    curve = replace(line([0.0, 1.0]), loss="logistic")
    assert curve.on("ratio").on("ratio").scale == "ratio"
    with pytest.raises(ValueError, match="already converted to ratio"):
        curve.on("ratio").on("points")
    assert line([0.0, 1.0]).on("points").scale == "link"  # a target in its own units


def test_a_heat_map_is_read_at_its_clearest_cell():
    found = surface([[0.1, -0.2], [0.0, 1.0]], 0.5)
    assert read_surface(found) == "a and b together: +1.0 where a is at least 1 and b is y"
    assert read_surface(surface([[0.1, -0.2], [0.0, 0.3]], 0.5)).endswith("no clear effect beyond each alone")
    few = surface([[9.0, 0], [0, 0]], 0.5, counts=5.0)  # which say nothing, not even that there is nothing
    assert read_surface(few) == "a and b together, beyond each alone"
    assert read_surface(replace(found, whole=np.empty((2, 0, 0)))) == "a and b together, beyond each alone"


def test_a_heat_map_in_words_leaves_out_cells_of_a_few_rows():
    counts = np.array([[50.0, 60.0], [2.0, 40.0]])
    found = replace(surface([[0.1, -0.2], [9.0, 1.0]], 0.5), counts=counts)
    assert found.words() == (
        "Joint effect of a and b, beyond each alone: lowest -0.200 where a is 0 to 1 and b is y, "
        "highest +1.00 where a is at least 1 and b is y."
    )
    alone = replace(found, counts=np.array([[50.0, 0.0], [2.0, 3.0]]))
    assert alone.words() == "Joint effect of a and b, beyond each alone: +0.100 where a is 0 to 1 and b is x."
    few = replace(found, counts=np.array([[2.0, 0.0], [2.0, 3.0]]))
    assert "lowest +0.100 " in few.words()  # better than nothing


def test_thin_neighbours_are_read_together():
    """A rise over bins of ten rows each is a rise over hundreds of rows."""
    counts = np.array([400.0, *[10] * 30])
    curve = line([0, *np.linspace(2, 9, 30)], counts=counts)
    assert not curve.thin.any()
    assert read_curve(curve).startswith("age: rises by ")
    lonely = replace(curve, counts=np.array([400.0, *[10] * 2, *[400] * 28]))
    assert lonely.thin.tolist() == [False, True, True, *[False] * 28]


def test_what_only_single_thin_bins_show_is_somewhere():
    scores = np.array([0.0, 0, 0, 0, 3, -3, 0, 0])
    curve = line(scores, half=1.0, counts=np.array([100.0, 100, 100, 100, 15, 15, 100, 100]))
    assert read_curve(curve) == "age: some effect, but where is unclear"


def test_a_clear_part_of_a_curve_that_turns_nowhere_is_named():
    scores = np.array([-0.5, -0.5, -0.5, 1.5])
    whole = np.stack([[-2.0, -2, -2, 0.3], [1.0, 1, 1, 2.7]])
    curve = replace(line(scores), whole=whole)
    assert read_curve(curve) == "age: above average (+1.5) from 3 to 4, where 25% of rows are"


def test_beyond_a_hundred_a_factor_is_only_said_to_be_beyond():
    curve = replace(line(np.linspace(-9, 9, 20)), loss="logistic").on("ratio")
    assert read_curve(curve).startswith("age: rises by a factor of over 100 from ")
    assert read_curve(replace(levels([-9.0, 9.0]), loss="logistic").on("ratio")) == "age: b over ×100, a under ×0.01"


def test_a_pair_that_helps_is_never_said_to_have_no_effect():
    vague, clear = surface([[0.1, -0.2], [0.0, 0.3]], 0.5), surface([[0.1, -0.2], [0.0, 1.0]], 0.5)
    assert read_surface(vague, helps=True) == "a and b together: better predictions, though no single cell stands out"
    assert read_surface(clear, helps=True) == read_surface(clear)


@pytest.mark.parametrize(("first", "mark"), [(1980, False), (2030, False), (1200, True), (2150, True)])
def test_years_have_no_mark_between_thousands(first, mark):
    rng = np.random.default_rng(0)
    year = rng.integers(first, first + 30, 800)
    model = GAMRegressor(random_state=0, outer_bags=2, max_rounds=60, bands=10)
    model.fit(pd.DataFrame({"year": year}), 0.1 * year + rng.normal(size=year.size))
    curve = model.explain_shape("year")
    bins, parts = model.model_.bins[0], profile(pd.Series(year, name="year"), "number")
    said = [
        read_curve(curve).split(", where")[0], curve.place(1), parts.parts[1], parts.words(), parts.say(first),
        values_in_words(bins, 1, PLAIN), Range("model_year", first, first + 9).words(),
    ]  # fmt: skip
    assert [bool(re.search(r"\d,\d", text)) for text in said] == [mark] * len(said), said
    assert "1,980" in Range("price", 1980.0).words()
