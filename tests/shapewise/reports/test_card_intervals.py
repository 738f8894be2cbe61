"""Intervals of a model card end within what there can be, and few rows prove nothing for certain."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, norm

from gamcore.model.losses import LOSSES
from shapewise.reports.card import auc_interval, intervals, intervals_of_classes
from shapewise.scoring.held_out import HeldOutClasses, HeldOutPredictions


@given(st.floats(0, 1), st.integers(1, 2_000), st.integers(1, 2_000))
def test_the_interval_of_an_auc_has_it_and_a_width(auc, positives, negatives):
    low, high = auc_interval(auc, positives, negatives)
    assert 0 <= low <= auc <= high <= 1
    assert high - low > 0.1 / max(positives, negatives)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("apart", "positives", "negatives"), [(2.2, 20, 80), (3.0, 10, 40), (1.0, 40, 60)])
def test_it_covers_the_area_where_nearly_all_rows_are_told_apart(apart, positives, negatives):
    rng, truth, inside = np.random.default_rng(0), norm.cdf(apart / np.sqrt(2)), []
    for _ in range(500):
        above, below = rng.normal(apart, 1, positives), rng.normal(0, 1, negatives)
        auc = float(mannwhitneyu(above, below).statistic) / (positives * negatives)
        low, high = auc_interval(auc, positives, negatives)
        inside.append(low <= truth <= high)
    assert np.mean(inside) >= 0.92


def as_read(value: str) -> str:
    return value.replace("up to", "0 to").replace("not known", "nan")


@given(st.integers(2, 40), st.integers(0, 10_000), st.floats(0, 1))
def test_metrics_of_few_rows_end_within_what_there_can_be(n, seed, noise):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0.0, 1.0], rng.integers(0, 2, n - 2)])
    chance = np.clip(y * (1 - noise) + noise * rng.random(n), 0.001, 0.999)
    counts = rng.poisson(3, n).astype(float)
    of_chances = HeldOutPredictions(y, chance, None, float(y.mean()), LOSSES["logistic"])
    of_counts = HeldOutPredictions(counts, counts + 0.1, None, float(counts.mean()) + 0.1, LOSSES["poisson"])
    for name, value in [*intervals(of_chances), *intervals(of_counts)]:
        low, high = (
            float(end) for end in re.search(r"95%: (-?[\d.]+|nan)%? to (-?[\d.]+|nan)%?", as_read(value)).groups()
        )
        most = 1.0 if "AUC" in name else 100.0 if "%" in value else np.inf
        assert not high > most, (name, value)
        assert not low < 0 or "explained" in name, (name, value)


@given(st.integers(8, 60), st.integers(0, 10_000), st.sampled_from([1.0, 3.0, 6.0]))
def test_no_error_is_told_to_be_possibly_none(n, seed, tail):
    rng = np.random.default_rng(seed)
    y = rng.standard_t(tail, n)
    ((_, value),) = intervals(HeldOutPredictions(y, np.zeros(n), None, 0.0, LOSSES["squared"]))
    low = re.search(r"95%: (up|\S+) to", value).group(1)
    assert low == "up" or float(low.replace(",", "")) > 0, value


@given(st.integers(20, 200), st.integers(2, 6), st.integers(0, 10_000))
def test_metrics_of_several_classes_are_of_all_of_them(n, k, seed):
    rng = np.random.default_rng(seed)
    chances, codes = rng.dirichlet(np.ones(k), n), rng.integers(0, k, n)
    made = dict(intervals_of_classes(HeldOutClasses(codes, chances, None, np.full(k, 1 / k)), 0.7))
    right = 100 * np.mean(chances.argmax(axis=1) == codes)
    loss = -np.log(chances[np.arange(n), codes]).mean()
    assert made["Held-out rows whose likeliest class is right"].startswith(f"{right:.1f}%")
    assert made["Held-out log-loss"].startswith(f"{loss:.4f} (95%: ")
    assert not {"Held-out AUC", "Held-out rate"} & {*made}
