"""Segments of an effect are measured by all rows, each through a model that has not seen it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gamcore.data.table import as_table
from gamcore.decide.rules import EVERYBODY, Levels, Range, either
from gamcore.decide.segments import HeldOutRows, suggest_by
from gamcore.decide.unseen import Unseen, UnseenRows, curves_of
from gamcore.decide.uplift import signals
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import train_share
from gamcore.estimators.gam import GAMRegressor

PARTS = 3


@cache
def measured(seed: int, moved: float, n: int = 1500) -> tuple[pd.DataFrame, UnseenRows, float]:
    """Customers of a test whose effect is `moved` points more for one plan, measured by models that have not seen
    them; and the share of the outcome."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"plan": rng.choice(["p", "q"], n), "noise": rng.normal(size=n)})
    treated = (rng.random(n) < 0.5).astype(float)
    chance = 0.3 + treated * moved * (X["plan"] == "q")
    y = (rng.random(n) < chance).astype(float)
    signal = 100 * signals(y, treated, np.full(n, 0.5), np.full(n, y.mean()))
    part = rng.integers(0, PARTS + 1, n)
    said, curves = np.empty(n), dict[str, np.ndarray]()

    def fit(rows: np.ndarray) -> GAMRegressor:
        return GAMRegressor(interactions=0, max_bins=16, bands=20, random_state=seed, n_jobs=1).fit(
            X[rows], signal[rows]
        )

    model = fit(part > 0)
    for number in range(PARTS + 1):
        rows, other = part == number, fit((part > 0) & (part != number)) if number else model
        said[rows] = other.predict(X[rows])
        for column, added in curves_of(single_model(other), as_table(X[rows])).items():
            curves.setdefault(column, np.zeros(n))[rows] = added
    return (
        X,
        UnseenRows(single_model(model), X, signal, unseen=Unseen(part, said, curves), effect="points"),
        train_share(model),
    )


def test_a_segment_that_all_models_find_is_measured_by_all_rows():
    X, rows, _ = measured(0, 0.3)
    rule = Levels("plan", ("q",))
    inside, known = rows.members(rule)
    assert known.all()
    np.testing.assert_array_equal(inside, rule.holds(as_table(X)))
    found = rows.evidence(rule)
    assert (found.rows, found.inside) == (len(X), int((X["plan"] == "q").sum()))
    values = rows.y[inside]
    assert found.mean == pytest.approx(values.mean())
    curves = sum(np.ptp(term.scores) > 0 for term in rows.model.terms)
    level = 1 - 0.05 / (2 * curves)  # for what is above and below the mean on each
    assert found.at_once == 2 * curves
    assert found.interval == pytest.approx(stats.t.interval(level, values.size - 1, values.mean(), stats.sem(values)))
    whole = stats.t.interval(0.95, rows.y.size - 1, rows.y.mean(), stats.sem(rows.y))
    assert rows.evidence(EVERYBODY).interval == pytest.approx(whole)


def test_everybody_is_the_whole_test():
    _, rows, _ = measured(0, 0.3)
    found = rows.evidence(EVERYBODY)
    assert (found.rows, found.inside, found.mean) == (rows.y.size, rows.y.size, pytest.approx(rows.y.mean()))


def test_a_rule_that_no_model_has_is_measured_by_the_rows_that_none_has_seen():
    X, rows, _ = measured(0, 0.3)
    odd = rows.unseen.part == 0
    rule = Range("noise", -0.1, 0.1)  # in the middle of a curve: no part puts these rows first
    curves = {"plan": rows.unseen.curves["plan"]}
    few = UnseenRows(rows.model, X, rows.y, unseen=Unseen(rows.unseen.part, rows.unseen.predicted, curves), effect="")
    inside, known = few.members(rule)
    np.testing.assert_array_equal(known, odd)
    np.testing.assert_array_equal(inside, odd & rule.holds(as_table(X)))
    assert few.evidence(rule).rows == int(odd.sum())


def test_several_segments_are_joined_part_by_part():
    _, rows, _ = measured(0, 0.3)
    rules = [Levels("plan", ("q",)), Range("noise", 1.0, None)]
    members = [rows.members(rule) for rule in rules]
    inside, known = rows.members(either(rules))
    np.testing.assert_array_equal(known, members[0][1] & members[1][1])
    np.testing.assert_array_equal(inside, (members[0][0] | members[1][0]) & known)


@pytest.mark.slow
def test_what_a_curve_found_by_chance_is_not_measured_by_the_rows_that_bent_it():
    """Without an effect that differs, the upper half of a curve looks better in rows that it was learnt from."""
    gaps = {"seen": [], "unseen": []}
    for seed in range(20):
        X, rows, _ = measured(seed, 0.0)
        halves = Range("noise", float(X["noise"].median()), None)
        naive = HeldOutRows(rows.model, X, rows.y, effect="points").evidence(halves)
        up = np.sign(naive.contrast)
        gaps["seen"].append(up * naive.opportunity)
        gaps["unseen"].append(up * rows.evidence(halves).opportunity)
    assert stats.ttest_1samp(gaps["seen"], 0.0, alternative="greater").pvalue < 0.01
    assert stats.ttest_1samp(gaps["unseen"], 0.0).pvalue > 0.01


def test_suggestions_carry_what_all_rows_measured():
    _, rows, share = measured(0, 0.6)
    found = suggest_by(rows, train_share=share)
    assert {segment.features for segment in found} >= {("plan",)}
    for segment in found:
        assert repr(segment.evidence) == repr(rows.evidence(segment.rule, segment.evidence.tried))
