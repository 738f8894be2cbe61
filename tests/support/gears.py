"""Tests of many cases in the gears of the suite: a few of them by default, the others at a landing."""

from __future__ import annotations

import pytest


def mostly_slow(cases, first):
    """The cases of a parametrized test, all but the `first` of them marked slow; a tuple has a value of each name."""
    every = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=[pytest.mark.slow] * (k >= first)) for k, case in enumerate(every)]
