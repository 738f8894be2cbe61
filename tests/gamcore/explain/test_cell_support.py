"""What cells of two features are drawn as, and where slices begin: thin cells never lead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gamcore.explain.cell_support import around
from gamcore.explain.curves import FEW_ROWS
from tests.support.curves_by_hand import surface


def grid(seed):
    """Noise that is the louder the fewer rows a cell has, as fitted cells have it."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 9, 2))
    counts = np.floor(rng.lognormal(3, 2.5, shape)) * (rng.random(shape) < 0.8)
    return rng.normal(size=shape) * 10 / np.sqrt(np.maximum(counts, 1)), counts


def slowly(values, counts, i, j):
    for reach in range(max(values.shape)):
        square = np.s_[max(i - reach, 0) : i + reach + 1, max(j - reach, 0) : j + reach + 1]
        if counts[square].sum() >= FEW_ROWS or reach == max(values.shape) - 1:
            return np.average(values[square], weights=counts[square])
    raise AssertionError


@pytest.mark.parametrize("seed", range(40))
def test_a_thin_cell_has_the_mean_of_those_around_it(seed):
    values, counts = grid(seed)
    made = around(values, counts)
    for i, j in np.ndindex(values.shape):
        if counts[i, j] == 0:
            assert np.isnan(made[i, j])
        else:
            assert made[i, j] == pytest.approx(slowly(values, counts, i, j))
    thick = counts >= FEW_ROWS
    np.testing.assert_array_equal(made[thick], values[thick])


def test_a_cell_of_two_rows_never_has_the_strongest_colour():
    scores, counts = np.array([[0.1, -0.2, 0.1], [0.3, 9.0, -0.4]]), np.array([[500.0, 400, 80], [60, 2, 40]])
    found = replace(surface(scores, 0.5), counts=counts)
    assert found.reach == 0.4
    assert abs(found.shades[1, 1]) < 0.4
    assert replace(surface(np.exp(scores), 0.5), counts=counts, scale="ratio").reach == pytest.approx(0.4)


@pytest.mark.parametrize("seed", range(40))
def test_slices_begin_in_bins_with_rows_at_even_shares(seed):
    values, counts = grid(seed)
    found = replace(surface(values, 0.5), counts=counts)
    chosen, rows = found.usual_slices(5), counts.sum(axis=0)
    thick = np.flatnonzero(rows >= FEW_ROWS)
    assert chosen == sorted(set(chosen))
    if thick.size:
        assert set(chosen) <= set(thick)
        assert len(chosen) == thick.size if thick.size <= 5 else 1 <= len(chosen) <= 3
        assert thick.size <= 5 or np.repeat(thick, rows[thick].astype(int))[int(rows[thick].sum()) // 2] in chosen
    else:
        assert chosen == ([int(rows.argmax())] if rows.any() else [])
