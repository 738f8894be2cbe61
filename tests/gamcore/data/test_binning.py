from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.data.binning import _heavy_atom_ends, bin_table, encode_table, fit_bins
from gamcore.data.table import Feature, learn_features, read_feature
from tests.support import naive

NUMBER = Feature("x", "x", "number")


def bins_of(values, max_bins=256, weights=None):
    return fit_bins(NUMBER, np.asarray(values, float), weights, max_bins)


@pytest.mark.slow
@given(st.lists(st.integers(1, 60), min_size=1, max_size=60), st.integers(2, 20))
def test_heavy_atom_rule_equals_its_twin(weights, n_bins):
    found = _heavy_atom_ends(np.cumsum([0.0, *weights]), n_bins)
    assert found.tolist() == naive.bin_ends(weights, n_bins)
    assert found[-1] == len(weights) - 1
    assert len(found) <= n_bins


def test_few_values_have_a_bin_each_and_cuts_between():
    bins = bins_of([1, 2, 2, 4, np.nan])
    assert bins.cuts.tolist() == [1.5, 3.0]
    assert bins.display.tolist() == [1, 2, 4]
    assert bins.encode(np.array([np.nan, 0, 1, 1.5, 2, 3, 99])).tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert (bins.low, bins.high, bins.unseen, bins.size) == (1, 4, 4, 5)


def test_a_heavy_value_keeps_a_bin_of_its_own():
    values = np.concatenate([np.zeros(5000), np.random.default_rng(0).uniform(1, 2, 5000)])
    bins = bins_of(values)
    assert bins.n_values == 254
    assert 0 < bins.cuts[0] <= 1.0
    counts = np.bincount(bins.encode(values))
    assert counts[1] == 5000
    assert counts[2:].max() <= 25


def test_adjacent_floats_are_told_apart():
    low = 1.0
    high = np.nextafter(low, 2)
    bins = bins_of([low, high])
    assert bins.encode(np.array([low, high])).tolist() == [1, 2]


def test_extreme_values_do_not_overflow():
    bins = bins_of([-1e308, 5e-324, 1e308])
    assert np.isfinite(bins.cuts).all()
    assert bins.encode(np.array([-1e308, 0, 5e-324, 1e308])).tolist() == [1, 2, 2, 3]


def test_negative_zero_is_zero():
    assert bins_of([-0.0, 0.0, 1.0]).n_values == 2


def test_weights_move_the_cuts_as_repeated_rows_do():
    values = np.random.default_rng(1).normal(size=600).round(2)
    times = np.random.default_rng(2).integers(1, 4, 600)
    weighted, repeated = bins_of(values, 20, times.astype(float)), bins_of(np.repeat(values, times), 20)
    np.testing.assert_array_equal(weighted.cuts, repeated.cuts)
    np.testing.assert_array_equal(weighted.display, repeated.display)


@given(st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1, max_size=80), st.integers(4, 20))
def test_codes_keep_order_and_range(values, max_bins):
    bins = bins_of(values, max_bins)
    x = np.array(values)
    codes = bins.encode(x).astype(int)
    assert (codes[np.isnan(x)] == 0).all()
    assert bins.n_values <= max_bins - 2
    seen = codes[~np.isnan(x)]
    assert set(seen) == set(range(1, bins.n_values + 1))
    assert (np.diff(seen[np.argsort(x[~np.isnan(x)], kind="stable")]) >= 0).all()


def levels_frame():
    return pd.DataFrame({"c": ["a"] * 300 + ["b"] * 290 + ["rare1"] * 4 + ["rare2"] * 3 + [None] * 3})


def test_rare_levels_are_pooled_and_unseen_ones_told_apart():
    frame = levels_frame()
    bins = bin_table(frame, learn_features(frame)).bins[0]
    assert bins.levels == ("a", "b")
    assert bins.pooled == ("rare1", "rare2")
    new = pd.DataFrame({"c": ["b", "rare2", "never", None, "a"]})
    assert encode_table(new, (bins,))[0].tolist() == [2, 3, 4, 0, 1]


def test_many_levels_fit_one_byte():
    frame = pd.DataFrame({"c": np.repeat([f"v{i:04d}" for i in range(600)], 20)})
    binned = bin_table(frame, learn_features(frame))
    assert binned.bins[0].n_values == 254
    assert binned.bins[0].unseen == 255
    assert len(binned.bins[0].pooled) == 600 - 253
    assert binned.codes.max() == 254


def test_exactly_254_levels_need_no_pool():
    frame = pd.DataFrame({"c": np.repeat([f"v{i:04d}" for i in range(254)], 20)})
    bins = bin_table(frame, learn_features(frame)).bins[0]
    assert (bins.n_values, bins.pooled) == (254, ())


def test_all_missing_and_constant_columns():
    frame = pd.DataFrame({"none": [np.nan] * 4, "one": [7.0] * 4})
    binned = bin_table(frame, learn_features(frame))
    assert binned.codes.tolist() == [[0] * 4, [1] * 4]


@pytest.mark.parametrize("max_bins", [4, 16, 256])
def test_bins_are_about_equally_heavy(max_bins):
    values = np.random.default_rng(3).normal(size=20_000)
    counts = np.bincount(bins_of(values, max_bins).encode(values))[1:]
    assert counts.size == max_bins - 2
    assert np.ptp(counts) <= 2


def test_reading_a_feature_twice_gives_the_same_codes():
    frame = levels_frame()
    feature = learn_features(frame)[0]
    bins = fit_bins(feature, read_feature(frame, feature), None, 256)
    np.testing.assert_array_equal(bins.encode(read_feature(frame, feature)), encode_table(frame, (bins,))[0])
