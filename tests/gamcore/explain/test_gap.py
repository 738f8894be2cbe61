"""The gap of two models on held-out rows: values as scikit-learn's, intervals as DeLong's and a bootstrap's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn import metrics

from gamcore.data.columns import TableError
from gamcore.explain.gap import HeldOut, difference, measured
from gamcore.model.losses import LOSSES


def held_out(y, rng, weighted=True, offset=None, clusters=None):
    n = y.size
    return HeldOut(
        y.astype(float), rng.uniform(0.2, 3.0, n) if weighted else np.ones(n),
        np.zeros(n) if offset is None else offset, np.arange(n) if clusters is None else clusters,
    )  # fmt: skip


def test_values_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    score = np.round(rng.normal(size=400), 1)  # with ties
    y = (rng.random(400) < 1 / (1 + np.exp(-score))).astype(float)
    rows = held_out(y, rng)
    area = metrics.roc_auc_score(y, score, sample_weight=rows.weight)
    assert measured(LOSSES["logistic"], rows, score[:, None]).value == pytest.approx(area, abs=1e-12)
    classes, scores = rng.integers(0, 3, 400).astype(float), rng.normal(size=(400, 3))
    rows = held_out(classes, rng)
    areas = [
        metrics.roc_auc_score(classes == k, softmax(scores, axis=1)[:, k], sample_weight=rows.weight) for k in range(3)
    ]
    assert measured(LOSSES["softmax"], rows, scores).value == pytest.approx(np.mean(areas), abs=1e-12)
    number = score + rng.normal(size=400)
    squared = metrics.r2_score(number, score, sample_weight=rows.weight)
    again = HeldOut(number, rows.weight, rows.offset, rows.clusters)
    assert measured(LOSSES["squared"], again, score[:, None]).value == pytest.approx(squared, abs=1e-12)
    counts = rng.poisson(np.exp(0.5 * score)).astype(float)
    deviance = metrics.d2_tweedie_score(counts, np.exp(score), sample_weight=rows.weight, power=1)
    again = HeldOut(counts, rows.weight, rows.offset, rows.clusters)
    assert measured(LOSSES["poisson"], again, score[:, None]).value == pytest.approx(deviance, abs=1e-9)


def test_the_interval_of_an_area_is_delong_s():
    """By the structural components of DeLong et al. 1988, in plain loops."""
    rng = np.random.default_rng(1)
    y = (rng.random(150) < 0.4).astype(float)
    scores = [y + rng.normal(size=150), y + rng.normal(scale=2.0, size=150)]
    hits, misses = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    above, below = np.zeros((2, hits.size)), np.zeros((2, misses.size))
    for k, score in enumerate(scores):
        wins = (score[hits][:, None] > score[misses]) + 0.5 * (score[hits][:, None] == score[misses])
        above[k], below[k] = wins.mean(axis=1), wins.mean(axis=0)
    contrast = np.array([-1.0, 1.0])
    variance = contrast @ (np.cov(above) / hits.size + np.cov(below) / misses.size) @ contrast
    rows = held_out(y, rng, weighted=False)
    one, other = (measured(LOSSES["logistic"], rows, score[:, None]) for score in scores)
    made = difference([one], [other], [rows.clusters])
    assert made.value == pytest.approx(above[1].mean() - above[0].mean(), abs=1e-12)
    assert made.upper - made.lower == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.02)


CASES = [("logistic", False), ("squared", False), ("poisson", False), ("squared", True), ("logistic", True)]


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "clustered"), CASES)
def test_the_interval_holds_the_gap_of_two_given_models(objective, clustered):
    """Two fixed predictions; their true gap is that on a million rows. 95% of 400 draws, by four standard errors."""
    loss, rng = LOSSES[objective], np.random.default_rng(2)

    def rows(n):
        m = n // 5 if clustered else n
        x, z, u = (rng.normal(size=m).repeat(n // m) for _ in range(3))
        score = 0.8 * x + 0.4 * z + (0.5 * u if clustered else 0.0)
        y = {
            "logistic": lambda: rng.random(n) < 1 / (1 + np.exp(-score)),
            "squared": lambda: score + rng.normal(size=n),
            "poisson": lambda: rng.poisson(np.exp(score)),
        }[objective]()
        clusters = np.arange(m).repeat(n // m)
        held = HeldOut(np.asarray(y, float), np.ones(n), np.zeros(n), clusters)
        return held, [(0.8 * x)[:, None], (0.8 * x + 0.5 * z)[:, None]]

    held, scores = rows(1_000_000)
    one, other = (measured(loss, held, score) for score in scores)
    truth = other.value - one.value
    covered = 0
    for _ in range(400):
        held, scores = rows(500)
        one, other = (measured(loss, held, score) for score in scores)
        made = difference([one], [other], [held.clusters])
        covered += made.lower <= truth <= made.upper
    assert 0.95 * 400 - 4 * np.sqrt(400 * 0.95 * 0.05) <= covered


def test_parts_are_weighed_by_their_rows_and_equal_models_have_no_gap():
    rng = np.random.default_rng(3)
    parts = []
    for n in (50, 150):
        y = rng.normal(size=n)
        rows = held_out(y, rng, weighted=False)
        parts.append((rows, measured(LOSSES["squared"], rows, y[:, None] * 0.5),
                      measured(LOSSES["squared"], rows, y[:, None] * 0.9)))  # fmt: skip
    one, other, clusters = [p[1] for p in parts], [p[2] for p in parts], [p[0].clusters for p in parts]
    made = difference(one, other, clusters)
    assert made.value == pytest.approx(
        0.25 * (other[0].value - one[0].value) + 0.75 * (other[1].value - one[1].value)
    )  # fmt: skip
    none = difference(one, one, clusters)
    assert (none.value, none.lower, none.upper) == (0, 0, 0)
    assert not none.is_clear


def test_rows_that_cannot_tell_are_refused():
    rng = np.random.default_rng(4)
    with pytest.raises(TableError, match="one class"):
        measured(LOSSES["logistic"], held_out(np.ones(60), rng), rng.normal(size=(60, 1)))
    with pytest.raises(TableError, match="all equal"):
        measured(LOSSES["squared"], held_out(np.ones(60), rng), rng.normal(size=(60, 1)))
