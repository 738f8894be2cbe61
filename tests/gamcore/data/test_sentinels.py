"""Sentinels: planted ones of many kinds are found, and columns of many shapes without any have none."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore.data.binning import fit_bins
from gamcore.data.sentinels import sentinels
from gamcore.data.table import Feature

PLAIN = {
    "age": lambda rng, n: np.minimum(18 + rng.gamma(3, 9, n), 99).round(),
    "late payments": lambda rng, n: np.minimum(rng.poisson(rng.gamma(0.3, 1.0, n)), 17),
    "bmi": lambda rng, n: rng.normal(27, 4, n).round(1),
    "hour": lambda rng, n: rng.integers(0, 24, n),
    "answer": lambda rng, n: rng.integers(1, 8, n),
    "income": lambda rng, n: rng.lognormal(9, 0.6, n).round(-1),
    "share": lambda rng, n: rng.uniform(size=n),
}
HEAVY = {
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "pareto": lambda rng, n: rng.pareto(0.7, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 3, n),
    "whole pareto": lambda rng, n: np.floor(np.minimum(rng.pareto(0.9, n), 1e9)),
    "zipf": lambda rng, n: np.minimum(rng.zipf(1.6, n), 10**9),
    "heaped": lambda rng, n: (lambda v: np.round(v / 10 ** np.floor(np.log10(v))) * 10 ** np.floor(np.log10(v)))(
        1 + rng.pareto(1.0, n)
    ),
    "mostly zero": lambda rng, n: np.where(rng.uniform(size=n) < 0.8, 0, rng.lognormal(6, 1.5, n).round()),
    "differences": lambda rng, n: rng.poisson(3, n) - rng.poisson(3, n),
    "tail": lambda rng, n: rng.exponential(size=n) ** 3,
}

FEW = 0.03
"""Share of random columns in which chance may look like a sentinel, or hide one."""


def found(values):
    distinct, counts = np.unique(np.asarray(values, float), return_counts=True)
    return distinct[sentinels(distinct, counts.astype(float))].tolist()


def codes_for(values, share):
    """Return sentinels that people plant in a share of the rows of a column of such values."""
    top, least = float(values.max()), float(values.min())
    nines = 10.0 ** np.ceil(np.log10(4 * max(top, 1))) - 1
    made = [[nines], [nines - 1, nines], [nines - 3, nines - 1], [-nines], [nines, 10 * nines + 9], [-nines, nines]]
    return made + ([[-1.0]] if least > 0 else []) + ([[0.0]] if top < 120 and least > 9 and share > 0.02 else [])


@pytest.mark.parametrize("shape", PLAIN)
def test_planted_ones_are_found_and_nothing_else(shape):
    wrong, tries = 0, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        values, share = PLAIN[shape](rng, 4000).astype(float), (0.01, 0.03, 0.2, 0.9)[seed % 4]
        wrong, tries = wrong + (found(values) != []), tries + 1
        for codes in codes_for(values, share):
            with_them = values.copy()
            with_them[: round(4000 * share)] = np.resize(codes, round(4000 * share))
            wrong, tries = wrong + (found(with_them) != sorted(codes)), tries + 1
    assert wrong <= FEW * tries


@pytest.mark.parametrize("shape", HEAVY)
def test_tails_are_none(shape):
    draws = [(seed, n) for seed in range(40) for n in (300, 3000, 20_000)]
    assert sum(found(HEAVY[shape](np.random.default_rng(seed), n)) != [] for seed, n in draws) <= FEW * len(draws)


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 1.0], [1, 12, 24, 36, 60], [-1, 0, 1]])
def test_a_few_values_have_no_distance(values):
    assert found(np.repeat(values, 50)) == []


def test_bins_know_in_which_codes_they_are():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=20_000), np.full(900, 999.0), np.full(20, 9999.0), [np.nan]])
    bins = fit_bins(Feature("x", "x", "number"), values, None, 32)
    assert bins.sentinels == (999.0, 9999.0)
    codes = bins.encode(np.array([999.0, 9999.0, 0.0, np.nan]))
    assert bins.of_sentinels[codes].tolist() == [True, True, False, False]
    assert bins.of_sentinels.sum() <= 2
