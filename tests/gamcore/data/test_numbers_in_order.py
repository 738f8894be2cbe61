"""Numbers in order: kernels for long columns against numpy, to the bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data import numbers_in_order
from gamcore.data.binning import bin_table, encode_table
from gamcore.data.numbers_in_order import codes_of, distinct_values
from gamcore.data.table import learn_features

TINY, HUGE = np.finfo(float).tiny, np.finfo(float).max


def columns(n):
    rng = np.random.default_rng(0)
    normal = rng.normal(size=n)
    yield from {
        "normal": normal,
        "whole": rng.integers(-1_000, 1_000, n).astype(float),
        "few": rng.integers(0, 5, n).astype(float),
        "one": np.full(n, 3.5),
        "ascending": np.sort(normal),
        "descending": np.sort(normal)[::-1],
        "zeros of both signs": rng.choice([0.0, -0.0, 1.0, -1.0], n),
        "edges": rng.choice([HUGE, -HUGE, TINY, -TINY, 5e-324, -5e-324, 0.0], n),
        "neighbours": 1.0 + rng.integers(0, 3, n) * np.spacing(1.0),
        "every scale": np.exp(rng.uniform(-700, 700, n)) * rng.choice([-1, 1], n),
    }.items()


@pytest.mark.parametrize("n", [1, 2, 511, 512, 513, 3_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernels_sort_as_numpy_does(n, weighted, monkeypatch):
    for name, values in columns(n):
        weights = np.random.default_rng(1).uniform(0.1, 3.0, n) if weighted else None
        made = []
        for many in (n + 1, n):
            monkeypatch.setattr(numbers_in_order, "MANY", many)
            before = values.copy(), None if weights is None else weights.copy()
            made.append(distinct_values(values, weights))
            assert np.array_equal(values, before[0])
            assert weights is None or np.array_equal(weights, before[1])
        for plain, ours in zip(*made, strict=True):
            assert np.array_equal(plain.view(np.int64), ours.view(np.int64)), name


@pytest.mark.parametrize("n_cuts", [0, 1, 2, 3, 7, 8, 100, 127, 128, 252, 253])
def test_kernels_find_the_bins_that_numpy_finds(n_cuts, monkeypatch):
    rng = np.random.default_rng(n_cuts)
    cuts = np.unique(np.concatenate([rng.normal(size=n_cuts), [1e300, -1e300, 0.0][: n_cuts // 3]]))[:n_cuts]
    values = np.concatenate([rng.normal(size=1_500), cuts, np.nextafter(cuts, -np.inf), [np.nan, 0.0, -0.0, HUGE]])
    rng.shuffle(values)
    strided = np.repeat(values, 2)[::2]
    for given in (values, strided):
        monkeypatch.setattr(numbers_in_order, "MANY", values.size)
        ours = codes_of(given, cuts)
        monkeypatch.setattr(numbers_in_order, "MANY", values.size + 1)
        assert np.array_equal(ours, codes_of(given, cuts))
    assert not codes_of(values, None).any()


def test_long_and_short_columns_have_the_same_bins(monkeypatch):
    n, rng = 2_500, np.random.default_rng(0)
    frame = pd.DataFrame(dict(columns(n)))
    frame["missing"] = np.where(rng.uniform(size=n) < 0.3, np.nan, rng.gamma(2.0, size=n))
    frame["empty"] = np.nan
    features, weights = learn_features(frame), rng.uniform(0.5, 2.0, n)
    for given in (None, weights):
        made = []
        for many in (n + 1, 1):
            monkeypatch.setattr(numbers_in_order, "MANY", many)
            binned = bin_table(frame, features, given)
            made.append((binned, encode_table(frame.head(700), binned.bins)))
        (short, some), (long, same) = made
        assert np.array_equal(short.codes, long.codes)
        assert np.array_equal(some, same)
        for one, other in zip(short.bins, long.bins, strict=True):
            assert np.array_equal(one.cuts, other.cuts)
            assert np.array_equal(one.display, other.display)


def test_texts_are_read_once(monkeypatch):
    from gamcore.data import table as tables

    read = []
    real = tables.read_texts
    monkeypatch.setattr(tables, "read_texts", lambda series: (read.append(series.name), real(series))[1])
    frame = pd.DataFrame({"a": list("xyzx") * 10, "b": list("pqpq") * 10, "n": range(40)})
    table = tables.Table.of(frame)
    bin_table(table, learn_features(table))
    assert read == ["a", "b"]
