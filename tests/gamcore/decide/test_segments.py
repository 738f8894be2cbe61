"""Segments: curves in pieces, cuts from the model alone, evidence from held-out rows."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from gamcore import GAMClassifier, GAMRegressor, rows_inside, suggest_segments
from gamcore.common.numbers import percent
from gamcore.data.binning import encode_table
from gamcore.data.cuts import cut_of
from gamcore.decide.rules import All, Levels, Missing, Not, Range, rounded
from gamcore.decide.segments import HeldOutRows, axis_rule, largest_rectangle, range_of, rectangle_rule, suggest_by
from gamcore.estimators.additive import single_model
from gamcore.explain.piecewise import knee, partitions, simplify
from gamcore.explain.surfaces import Rectangle
from sample_data import generate
from tests.support.chance_segments import shown
from tests.support.gears import mostly_slow
from tests.support.random_models import OBJECTIVES, fitted
from tests.support.read_rules import rows_as_printed


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 9), most=st.integers(1, 5))
def test_pieces_are_the_best_partition(seed, size, most):
    rng = np.random.default_rng(seed)
    scores, counts = rng.normal(size=size), rng.integers(0, 6, size).astype(float)
    counts[rng.integers(size)] += 1
    found = partitions(scores, counts, most)
    assert found[0] == [0]

    def cost(starts):
        parts = [slice(a, b) for a, b in itertools.pairwise([*starts, size])]
        if any(counts[part].sum() < 0.01 * counts.sum() for part in parts):
            return np.inf
        return sum(
            np.square(scores[part] - np.average(scores[part], weights=counts[part])) @ counts[part]
            if counts[part].sum() else 0.0 for part in parts
        )  # fmt: skip

    for k in range(2, most + 1):
        best = min((cost([0, *cuts]) for cuts in itertools.combinations(range(1, size), k - 1)), default=np.inf)
        if np.isfinite(best):
            assert cost(found[k - 1]) == pytest.approx(best, abs=1e-9)
        else:
            assert len(found) < k


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 5), n=st.integers(1, 5))
def test_the_largest_rectangle(seed, m, n):
    gains = np.random.default_rng(seed).normal(size=(m, n))
    found, gain = largest_rectangle(gains)
    sums = [
        gains[a:b, c:d].sum()
        for a in range(m)
        for b in range(a + 1, m + 1)
        for c in range(n)
        for d in range(c + 1, n + 1)
    ]
    assert gain == pytest.approx(max(sums))
    assert gains[slice(*found.rows), slice(*found.columns)].sum() == pytest.approx(gain)


def rows_of(goal):
    """Return the rows of a scenario of the sample funnel against drop, their targets, and which are held out."""
    frame = pd.read_parquet(generate.HERE / "renewal.parquet")
    part = frame[frame["step"].isin([goal, "drop"])]
    X = part.drop(columns=["step", "customer_id", "confirm_page_seconds"])
    return X, (part["step"] == goal).astype(int), np.random.default_rng(0).random(len(X)) < 0.2


@pytest.fixture(scope="module")
def scenarios():
    """Return the model, held-out rows and targets of the sample funnel's scenarios against drop."""
    made = {}
    for goal, pairs in (("renew", 2), ("lower risk", 0), ("other assets", 0), ("not now", 0)):
        X, y, held = rows_of(goal)
        model = GAMClassifier(random_state=0, n_jobs=2, bands=30, interactions=pairs).fit(X[~held], y[~held])
        made[goal] = model, X[held], y[held], suggest_segments(model, X[held], y[held])
    return made


def rules_of(found, column):
    return [one.rule for one in found if one.rule.columns == (column,) and one.up]


@pytest.mark.slow
def test_the_true_thresholds_of_renewal_are_found(scenarios):
    """Thresholds match within one bin: one click, one visit, or 1/254 of the rows for balances."""
    assert Range("position_clicks", None, 4.0) in rules_of(scenarios["renew"][3], "position_clicks")
    assert Levels("sex", ("female",)) in rules_of(scenarios["renew"][3], "sex")
    assert Range("fund_visits", 4.0) in rules_of(scenarios["other assets"][3], "fund_visits")
    assert Range("position_clicks", 8.0) in rules_of(scenarios["not now"][3], "position_clicks")
    cuts = [piece.start for piece in simplify(scenarios["other assets"][0].explain_shape("fund_visits"))]
    bins = next(b for b in scenarios["other assets"][0].model_.bins if b.feature.name == "fund_visits")
    assert {4.0, 10.0} & {cut_of(bins, k) for k in cuts if k}
    renew = scenarios["renew"][0]
    missing = [one for one in scenarios["renew"][3] if one.rule == Missing("education")]
    assert len(missing) == 1
    assert not missing[0].up
    surface = renew.explain_pair("balance", "tenure_months")
    found = [one for one in scenarios["renew"][3] if set(one.rule.columns) == {"balance", "tenure_months"} and one.up]
    ends = {part.column: part for one in found for part in one.rule.parts() if part.low is not None}
    for column, axis, truth in (("balance", surface.first, 12_000.0), ("tenure_months", surface.second, 36.0)):
        place = int(np.searchsorted(axis.edges, truth, side="right")) - 1
        assert axis.edges[place - 1] <= ends[column].low <= axis.edges[place + 2]


@pytest.mark.slow
def test_balance_is_cut_where_the_curve_crosses_its_average(scenarios):
    """The true score of lower risk, 1.1 tanh(2 ln(balance / 12,000)), crosses its own mean once."""
    model, X, _, found = scenarios["lower risk"]
    rules = rules_of(found, "balance")
    shape = 1.1 * np.tanh((np.log(X["balance"]) - np.log(12_000)) * 2)
    crossing = 12_000 * np.exp(np.arctanh(shape.mean() / 1.1) / 2)
    bins = next(b for b in model.model_.bins if b.feature.name == "balance")
    pieces = [cut_of(bins, piece.start) for piece in simplify(model.explain_shape("balance")) if piece.start]
    below = [cut for cut in pieces if cut <= crossing * 1.1]
    assert any(max(below) <= rule.low <= 12_000 * 1.25 for rule in rules)


@pytest.mark.slow
def test_evidence_is_what_statsmodels_says(scenarios):
    _, X, y, found = scenarios["renew"]
    for one in found[:6]:
        inside, told = one.rule.holds(X), one.evidence
        x, n, other, m = y[inside].sum(), inside.sum(), y[~inside].sum(), (~inside).sum()
        assert (told.rows, told.inside) == (len(X), n)
        assert told.interval == pytest.approx(proportion_confint(x, n, method="wilson"))
        assert told.opportunity == pytest.approx(x / n - other / m)
        wanted = confint_proportions_2indep(x, n, other, m, method="newcomb")
        assert told.opportunity_interval == pytest.approx(wanted)
        assert told.tried >= len(found)
    sizes = [one.evidence.size for one in found]
    assert sizes == sorted(sizes, reverse=True)


def test_the_contrast_takes_the_features_out_of_the_prediction(scenarios):
    model, X, y, _ = scenarios["renew"]
    rows = HeldOutRows(model.model_, X, y.to_numpy(float))
    rule = All((Range("balance", 12_000.0), Levels("sex", ("female",))))
    told, inside = rows.evidence(rule), rule.holds(X)
    parts = model.explain_rows(X[inside])
    mine = [k for k, name in enumerate(parts.features) if "balance" in name or "sex" in name]
    without = parts.scores - parts.contributions[:, mine].sum(axis=1)
    chances = [1 / (1 + np.exp(-score)) for score in (parts.scores, without)]
    assert told.contrast == pytest.approx((chances[0] - chances[1]).mean())
    halves = model.model_.halves
    codes = encode_table(X[inside], model.model_.bins)
    means = np.zeros(halves.n_refits)
    for k, term in enumerate(halves.terms):
        if k in mine:
            means += term.refits[:, codes[k]].mean(axis=1)
    for k, pair in enumerate(halves.pairs):
        if len(halves.terms) + k in mine:
            i, j = pair.features
            means += [pair.refit(r)[codes[i], codes[j]].mean() for r in range(halves.n_refits)]
    assert told.agree == pytest.approx((np.sign(means) == np.sign(parts.contributions[:, mine].sum())).mean())
    elsewhere = rows.evidence(Missing("education"))
    assert np.isfinite(elsewhere.contrast)
    nobody = rows.evidence(Range("balance", 1e12))
    assert nobody.inside == 0
    assert np.isnan([nobody.mean, nobody.opportunity, nobody.contrast, nobody.agree]).all()


def test_means_and_weights():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=3000), "b": rng.choice(["x", "y"], 3000)})
    y = 3.0 * (X["a"] > 0.5) + rng.normal(size=3000)
    model = GAMRegressor(random_state=0, bands=10, max_rounds=60).fit(X[:2000], y[:2000])
    rule = Range("a", 0.5)
    told = HeldOutRows(model.model_, X[2000:], y[2000:].to_numpy()).evidence(rule)
    inside = rule.holds(X[2000:])
    parts = [DescrStatsW(y[2000:].to_numpy()[rows]) for rows in (inside, ~inside)]
    assert told.interval == pytest.approx(parts[0].tconfint_mean())
    assert told.opportunity_interval == pytest.approx(CompareMeans(*parts).tconfint_diff(usevar="unequal"))
    twice = np.where(np.arange(1000) % 2 == 0, 2.0, 0.0)
    weighted = HeldOutRows(model.model_, X[2000:], y[2000:].to_numpy(), twice).evidence(rule)
    only = HeldOutRows(model.model_, X[2000::2], y[2000::2].to_numpy()).evidence(rule)
    for name in ("mean", "interval", "opportunity", "opportunity_interval", "contrast", "agree"):
        assert getattr(weighted, name) == pytest.approx(getattr(only, name)), name
    found = suggest_segments(model, X[2000:], y[2000:])
    high = next(one for one in found if one.up)
    assert high.rule.low == pytest.approx(0.5, abs=0.05)


def test_cuts_are_what_the_bins_do_to_training_rows(scenarios):
    """They are round, so that another row may be between a cut and its rule's."""
    model = scenarios["renew"][0]
    X, _, held = rows_of("renew")
    X = X[~held]
    rng = np.random.default_rng(0)
    for bins in model.model_.bins:
        codes = encode_table(X, (bins,))[0]
        if bins.feature.is_category:
            continue
        for _ in range(20):
            start, end = sorted(rng.choice(bins.n_values + 1, 2, replace=False).tolist())
            wanted = (codes > start) & (codes <= end)
            assert (range_of(bins, start, end).holds(X) == wanted).all()
    for pair in model.model_.pairs:
        sides = [model.model_.bins[j] for j in pair.features]
        surface = model.explain_pair(*[bins.feature.name for bins in sides])
        for _ in range(20):
            (a, b), (c, d) = (
                sorted(rng.choice(axis.size + 1, 2, replace=False).tolist()) for axis in (surface.first, surface.second)
            )
            chosen = Rectangle((a, b), (c, d))
            assert (rectangle_rule(sides, surface, chosen).holds(X) == rows_inside(model, X, surface, chosen)).all()
        assert axis_rule(sides[0], surface.first, 0, surface.first.size) == Not(Missing(surface.first.feature))


@pytest.mark.slow
def test_the_knee_is_where_a_curve_bends():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(0, 10, 8000)})
    model = GAMRegressor(random_state=0).fit(X, np.minimum(X["a"], 3.0) + 0.1 * rng.normal(size=8000))
    curve = model.explain_shape("a")
    assert curve.edges[knee(curve)] == pytest.approx(3.0, abs=0.4)
    falling = replace(curve, scores=-curve.scores)
    assert knee(falling) == knee(curve)
    assert knee(replace(curve, scores=np.zeros_like(curve.scores))) is None
    straight = GAMRegressor(random_state=0).fit(X, X["a"]).explain_shape("a")
    bend = knee(straight)
    gap = 0.0 if bend is None else abs((straight.scores[bend] + 5) / 10 - straight.display[bend] / 10)
    assert gap < 0.05


def test_a_model_without_refits_suggests_nothing_of_numbers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=500)})
    y = 5.0 * (X["a"] > 0)
    model = GAMRegressor(random_state=0, outer_bags=1).fit(X, y)
    assert suggest_segments(model, X, y) == []


@pytest.mark.slow
def test_suggestions_on_noise_are_honest():
    """Check with a few tables; `benchmarks.boosting.selection` uses hundreds."""
    told = [one for seed in range(12) for binary in (True, False) for one in shown(seed, binary)[-0.1]]
    assert len(told) > 60
    assert np.mean([held for held, _ in told]) <= 0.07


@pytest.mark.parametrize("seed", mostly_slow(range(4 * len(OBJECTIVES)), 2))
def test_a_segment_as_it_is_printed_has_the_rows_and_the_share_that_are_said(seed):
    """Of curves, of pairs, and rounded."""
    model, X, _ = fitted(seed, interactions=[("first", "second"), ("level", "day")])
    rows = HeldOutRows(single_model(model), X, np.random.default_rng(seed).normal(size=len(X)))
    suggested = [one.rule for one in suggest_by(rows, threshold=-0.05)]
    some = [range_of(bins, 0, 1) for bins in single_model(model).bins if bins.feature.kind in ("number", "date")]
    for rule in [*suggested, *some]:
        for said in (rule, rounded(rule, X)):
            printed = rows_as_printed(said, X)
            inside = said.holds(X)
            assert printed is None or (printed == inside).all(), said.words()
            assert "e+" not in said.words()
            share, n = percent(rows.evidence(said).share, 0), int(inside.sum())
            assert abs(float(share[:-1]) - 100 * n / len(X)) <= 0.5
            assert (share == "0%", share == "100%") == (n == 0, n == len(X))


def test_rows_that_are_all_equal_prove_no_mean():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400)})
    y = np.where(X["a"] > 1, 11.0, rng.normal(size=400))
    model = GAMRegressor(random_state=0, outer_bags=2, max_rounds=20).fit(X, y)
    told = HeldOutRows(model.model_, X, y).evidence(Range("a", 1.0, low_in=False))
    assert told.mean == 11
    assert np.isnan(told.interval).all()
