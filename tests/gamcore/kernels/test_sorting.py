"""Orders of few values, as numpy has them: ties, zeros of both signs, infinities and NaN included."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore.kernels.sorting import first_most, sort_codes

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])


def draws(special):
    rng = np.random.default_rng(special)
    for size in (1, 2, 3, 7, 40, 254, 3000):
        values = rng.normal(size=size).round(1)
        at = rng.random(size) < 0.4 * special
        values[at] = rng.choice(SPECIAL, at.sum())
        yield values


@pytest.mark.parametrize("special", [0, 1, 2])
def test_codes_are_sorted_stably_with_nan_last(special):
    for values in draws(special):
        order = np.zeros(values.size + 1, np.uint16)
        sort_codes(values, values.size, order[1:])
        assert order[1:].tolist() == (np.argsort(values, kind="mergesort") + 1).tolist()
        assert order[0] == 0


@pytest.mark.parametrize("special", [0, 1, 2])
def test_the_first_largest_value_or_the_first_nan(special):
    for values in draws(special):
        assert first_most(values) == np.argmax(values)
