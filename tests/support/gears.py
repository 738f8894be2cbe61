"""Tests of many cases in the gears of the suite: a few of them by default, the others at a landing."""

from __future__ import annotations

import pytest


def mostly_slow(cases, first):
    """The cases of a parametrized test, all but the `first` of them marked slow."""
    return [case if k < first else pytest.param(case, marks=pytest.mark.slow) for k, case in enumerate(cases)]
