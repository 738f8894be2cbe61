"""Differences of curves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor
from gamcore.common.numbers import read
from gamcore.explain import plots
from gamcore.explain.claims import NO_CLEAR_EFFECT
from gamcore.explain.curve_difference import CompareError, difference, lookup, on_common_bins
from gamcore.explain.sentences import read_curve
from gamcore.viz.spec import Points, Steps


def made(seed, slope=1.0, kind=GAMRegressor, levels="xyz", n=1200, start=-1.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(start, 1, n).round(2), "c": rng.choice(list(levels), n)})
    X.loc[::9, "a"] = np.nan
    score = slope * X["a"].fillna(0) + (X["c"] == "x")
    y = score + 0.3 * rng.normal(size=n) if kind is GAMRegressor else rng.uniform(size=n) < 1 / (1 + np.exp(-2 * score))
    return kind(random_state=0, outer_bags=4, bands=10, max_rounds=40).fit(X, y)


def test_a_curve_minus_itself_is_nothing():
    curve = made(0).explain_shape("a")
    found = difference(curve, curve)
    np.testing.assert_allclose(found.scores, 0, atol=1e-12)
    np.testing.assert_allclose(found.whole, 0, atol=1e-12)
    assert read_curve(found) == f"a: {NO_CLEAR_EFFECT}"


def test_tables_alike_do_not_differ_and_others_do():
    first, same, steeper = made(0), made(1), made(2, slope=3.0)
    for feature in ("a", "c"):
        alike = difference(first.explain_shape(feature), same.explain_shape(feature))
        assert alike.has_whole
        assert (alike.whole[0] <= 0).mean() > 0.95
        assert (alike.whole[1] >= 0).mean() > 0.95
    assert "rises" in read_curve(difference(first.explain_shape("a"), steeper.explain_shape("a")))
    assert "falls" in read_curve(difference(steeper.explain_shape("a"), first.explain_shape("a")))


def test_variances_of_two_tables_add_up():
    first, second = (made(seed).explain_shape("c") for seed in (0, 1))
    found = difference(first, second)
    a, b = on_common_bins(first, second)
    expected = b.refits - a.refits
    np.testing.assert_allclose(found.refits, expected)
    assert ((found.upper - found.lower) > 0.5 * (first.upper - first.lower)).all()


def test_common_bins_hold_the_borders_of_both_and_centre_on_the_rows_of_the_two():
    first, second = made(0).explain_shape("a"), made(3, start=-0.5).explain_shape("a")
    one, two = on_common_bins(first, second)
    assert one.edges[0] == max(first.edges[0], second.edges[0])
    np.testing.assert_array_equal(one.edges, two.edges)
    inside = (first.edges > one.edges[0]) & (first.edges < one.edges[-1])
    assert np.isin(first.edges[inside], one.edges).all()
    weight = one.counts + two.counts
    for curve in (one, two):
        assert np.average(curve.scores, weights=weight) == pytest.approx(0, abs=1e-12)
    at = np.searchsorted(first.edges[1:-1], (one.edges[:-1] + one.edges[1:]) / 2, side="right")
    assert np.ptp(one.scores - first.scores[at]) == pytest.approx(0, abs=1e-12)


AWKWARD = {
    "hundredths": lambda rng: rng.uniform(-1, 1, 900).round(2),
    "sums of tenths": lambda rng: 0.1 * rng.integers(-20, 20, 900) + 0.2,
    "large": lambda rng: 1_234_567.891 + rng.uniform(0, 1e6, 900),
    "tiny": lambda rng: 1e-7 * rng.gamma(2.0, 1.0, 900),
    "whole": lambda rng: rng.integers(0, 23, 900).astype(float),
}


@pytest.mark.parametrize("kind", AWKWARD)
@pytest.mark.parametrize("same_rows", [True, False])
def test_places_of_a_difference_are_round_and_each_row_in_one_has_its_own_score(kind, same_rows):
    tables = [AWKWARD[kind](np.random.default_rng(seed)) for seed in (0, 0 if same_rows else 1)]
    curves = [
        GAMRegressor(random_state=seed, outer_bags=2, bands=0, max_rounds=30)
        .fit(pd.DataFrame({"a": a}), np.sin(3 * a / a.std()) + 0.1 * np.random.default_rng(seed).normal(size=a.size))
        .explain_shape("a")
        for seed, a in enumerate(tables)
    ]
    for a, own, common in zip(tables, curves, on_common_bins(*curves), strict=True):
        shift = own.scores[lookup(own, common.edges)] - common.scores
        assert np.ptp(shift) == pytest.approx(0, abs=1e-12)
        for k in range(common.scores.size):
            ends = [read(text) for text in common.place(k).split(" to ")]
            inside = a[(a >= ends[0]) & (a <= ends[-1])]
            scores = own.scores[np.searchsorted(own.edges[1:-1], inside, side="right")]
            np.testing.assert_allclose(scores, common.scores[k] + shift[0])
    ranges = [common.place(k).split(" to ") for k in range(common.scores.size)]
    digits = [sum(sign.isdigit() for sign in text.lstrip("-0.")) for ends in ranges for text in ends if len(ends) > 1]
    assert max(digits, default=0) <= 9, ranges


def test_levels_that_one_lacks_are_left_out():
    found = difference(made(0).explain_shape("c"), made(1, levels="xyw").explain_shape("c"))
    assert set(found.labels) == {"x", "y"}
    with pytest.raises(CompareError, match="No level"):
        difference(made(0).explain_shape("c"), made(1, levels="qrs").explain_shape("c"))


def test_what_cannot_be_compared_is_refused_in_words():
    model = made(0)
    with pytest.raises(CompareError, match="not the same kind"):
        difference(model.explain_shape("a"), model.explain_shape("c"))
    far = model.explain_shape("a")
    far = replace(far, edges=far.edges + 100)
    with pytest.raises(CompareError, match="do not overlap"):
        difference(model.explain_shape("a"), far)


def test_on_other_scales():
    first, second = (made(seed, slope=s, kind=GAMClassifier).explain_shape("a") for seed, s in ((0, 1), (1, 2)))
    link, ratio, points = (difference(first, second, scale) for scale in ("link", "ratio", "points"))
    np.testing.assert_allclose(np.log(ratio.scores), link.scores)
    one, two = on_common_bins(first, second)
    np.testing.assert_allclose(points.scores, two.on("points").scores - one.on("points").scores)
    assert points.scale == "points"
    bare = difference(replace(first, whole=np.empty((2, 0))), second)
    assert not bare.has_whole
    np.testing.assert_array_equal(bare.lower, bare.scores)


@pytest.mark.parametrize("seed", range(3))
def test_no_curve_leaves_the_axis_that_it_is_compared_on(seed):
    """Also where it has few rows: the sentence above may speak of that very place."""
    rng = np.random.default_rng(seed)
    x = np.r_[np.zeros(900), rng.gamma(1, 20, 300)]  # a zero-inflated column, whose bins have few rows each
    y = np.where(x > 0, 5.0, 0.0) + 20.0 * (x > 70) + rng.normal(size=x.size)
    models = {name: GAMRegressor(random_state=0, outer_bags=4, bands=10, max_rounds=rounds)
              for name, rounds in (("a", 100), ("b", 10))}  # fmt: skip
    curves = {name: model.fit(pd.DataFrame({"x": x}), y).explain_shape("x") for name, model in models.items()}
    minus = difference(curves["a"], curves["b"])
    drawn = plots.comparison(curves, minus, ("t", "d", "y"))
    for (panel,), some in zip(drawn.panels, (list(curves.values()), [minus]), strict=True):
        low, high = panel.y.limits
        assert all(low <= curve.scores.min() <= curve.scores.max() <= high for curve in some)


def test_a_curve_that_lies_on_another_leaves_its_edges_to_be_seen():
    curve = made(0).explain_shape("a")
    drawn = plots.comparison({"one": curve, "two": curve, "three": curve}, None, ("t", "d", "y"))
    widths = [mark.width for mark in drawn.main.marks if isinstance(mark, Steps)]
    assert all(wide > narrow + 1 for wide, narrow in pairwise(widths))


def test_merged_levels_are_compared_with_those_that_were_apart():
    apart = made(0).explain_shape("c")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, 1200).round(2), "c": rng.choice(list("xyz"), 1200)})
    model = GAMRegressor(bins={"c": [["y", "z"]]}, random_state=0, outer_bags=4, bands=10, max_rounds=40)
    merged = model.fit(X, X["a"] + (X["c"] == "x") + 0.3 * rng.normal(size=1200)).explain_shape("c")
    assert merged.labels == ("x", "y, z")
    one, two = on_common_bins(apart, merged)
    assert one.labels == two.labels == ("x", "y", "z")
    np.testing.assert_allclose(one.counts, apart.counts)
    np.testing.assert_allclose(two.counts.sum(), merged.counts.sum())
    assert two.scores[1] == two.scores[2] != two.scores[0]
    drawn = plots.comparison({"apart": apart, "merged": merged}, difference(apart, merged), ("t", "d", "y"))
    points = [mark for mark in drawn.panels[0][0].marks if isinstance(mark, Points)]
    assert [mark.y.size for mark in points] == [3, 3]  # the merged one stands at both of its levels
    after = merged.describe("y", "d", before=apart)
    (ends,) = (mark for mark in after.main.marks if isinstance(mark, Points) and mark.name == "before")
    order = np.argsort(merged.scores)
    expected = [apart.scores[0], np.average(apart.scores[1:], weights=apart.counts[1:])]
    np.testing.assert_allclose(ends.y, np.array(expected)[order])
