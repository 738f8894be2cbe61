"""Comparisons of numbers agree with Python's, compiled and as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.kernels import kernel
from gamcore.kernels.scalars import clipped, greater, lesser


@kernel
def _compared(a, b, out):
    out[0], out[1], out[2] = lesser(a, b), greater(a, b), clipped(a, b)


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_they_agree_with_min_max_and_both(value, most):
    out = np.empty(3)
    _compared(value, most, out)
    expected = min(value, most), max(value, most), max(-most, min(value, most))
    assert tuple(out) == expected == (lesser(value, most), greater(value, most), clipped(value, most))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(value):
    out = np.empty(3)
    _compared(value, 2.0, out)
    np.testing.assert_array_equal(out[2], np.clip(value, -2.0, 2.0))
    np.testing.assert_array_equal(out[:2], [lesser(value, 2.0), greater(value, 2.0)])
