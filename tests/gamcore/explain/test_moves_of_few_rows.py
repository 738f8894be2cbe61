"""What is said of curves of few rows: where a movement is, and ends that are open."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamcore import GAMRegressor
from gamcore.data.binning import encode_table
from gamcore.data.table import as_table
from gamcore.explain.counterfactuals import Possible, smallest_changes, ways
from gamcore.explain.sentences import claims_of, read_curve
from gamcore.model.scales import say_in_a_sentence

SHAPES = {
    "line": lambda x: 4 * x,
    "step": lambda x: 3.0 * (x > 0.5),
    "ramp": lambda x: 4 * np.clip(3 * x - 1, 0, 1),
    "tail": lambda x: 3 * (x > np.quantile(x, 0.5)),
}


@pytest.mark.slow
@settings(max_examples=12)
@given(st.sampled_from(sorted(SHAPES)), st.integers(60, 130), st.integers(0, 10_000), st.booleans())
def test_a_movement_is_told_to_be_at_a_border_only_where_most_of_it_is(shape, n, seed, is_count):
    rng = np.random.default_rng(seed)
    x = np.round(rng.exponential(size=n) if shape == "tail" else rng.random(n), 2)
    mean = SHAPES[shape](x)
    y = rng.poisson(np.exp(mean)) if is_count else mean + rng.normal(0, 0.2, n)
    model = GAMRegressor(
        objective="poisson" if is_count else "squared", outer_bags=4, bands=12, random_state=0, n_jobs=1
    ).fit(pd.DataFrame({"x": x}), y)
    curve = model.explain_shape("x")
    for one in (curve, curve.on("ratio")) if is_count else (curve,):
        effects = one.scores[np.searchsorted(model.model_.bins[0].cuts, x, side="right")]
        heights = np.log(effects) if one.scale == "ratio" else effects
        for claim in claims_of(one):
            assert claim.holds(x, effects)
            if claim.kind in ("rises", "falls") and "around" in claim.words() and len(one.runs) > 1:
                border = claim.where.low
                step = heights[x == x[x >= border].min()][0] - heights[x == x[x < border].max()][0]
                size = np.log(claim.value) if one.scale == "ratio" else claim.value
                assert abs(step) >= 0.5 * size - 1e-9, read_curve(one)
        spoken = one.words()
        assert not re.search(r"\de-", spoken)
        assert len(set(re.findall(r"(?:lowest|highest) (\S+) at", spoken))) == 2 or not np.ptp(effects) > 1e-9, spoken
        for _, start, end in re.findall(r"(lowest|highest) \S+ at (.+?)(, highest|; missing)", spoken):
            assert not (" to " in start and start.endswith("or more") and "or less" not in start), spoken
            assert end


@pytest.mark.slow
@settings(max_examples=8)
@given(st.integers(48, 120), st.integers(0, 10_000))
def test_a_pair_without_a_joint_effect_has_none_to_its_last_digit(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.choice(list("pqr"), n), "b": rng.choice([0.5, 1.0, 2.0], n)})
    y = 1e4 * X["b"] + rng.normal(0, 1.0, n)
    model = GAMRegressor(interactions=[("a", "b")], outer_bags=4, bands=12, random_state=0, n_jobs=1).fit(X, y)
    surface = model.explain_pair("a", "b")
    alone = max(np.abs(curve.scores).max() for curve in surface.margins)
    assert ((surface.scores == 0) | (np.abs(surface.scores) > 1e-12 * alone)).all()
    assert not re.search(r"\de-", surface.words())


@pytest.mark.slow
@settings(max_examples=6)
@given(st.integers(0, 10_000), st.booleans())
def test_nobody_is_advised_to_become_one_of_the_rare_levels(seed, any_way):
    rng = np.random.default_rng(seed)
    level = np.where(rng.random(600) < 0.8, rng.choice(list("ab"), 600), rng.integers(0, 60, 600).astype(str))
    X = pd.DataFrame({"level": level, "x": rng.normal(size=600)})
    y = 5.0 * X["level"].str.isdigit() + X["x"]
    model = GAMRegressor(outer_bags=4, bands=12, random_state=0, n_jobs=1).fit(X, y).model_
    assert model.bins[0].pooled
    open_ways = ways(model, Possible(any_way=any_way))
    codes = encode_table(as_table(X), model.bins)
    words = [
        step.words
        for k in range(0, 600, 100)
        for change in smallest_changes(codes[:, k], 4.0, open_ways)
        for step in change.steps
    ]
    assert any_way or not any("rare" in one for one in words)


@given(st.floats(1e-9, 1e9))
def test_a_factor_beyond_what_tables_show_is_told_to_be_beyond(value):
    text = say_in_a_sentence(value, "ratio")
    number = float(text.split("×")[1].replace(",", ""))
    assert 0.01 <= number <= 100
    assert text.startswith(("over", "under")) == (not 0.01 <= value <= 100)


@settings(max_examples=10)
@given(st.integers(80, 300), st.integers(8, 29), st.floats(-30, 30), st.booleans(), st.integers(0, 10_000))
def test_of_two_levels_either_both_are_named_or_the_thin_one_is_unclear(n, thin, effect, is_text, seed):
    rng = np.random.default_rng(seed)
    z = (np.arange(n) < thin).astype(int)
    X = pd.DataFrame({"z": np.where(z, "yes", "no") if is_text else z, "x": rng.normal(size=n)})
    y = effect * z + rng.normal(size=n)
    model = GAMRegressor(outer_bags=4, bands=12, random_state=0, n_jobs=1).fit(X, y)
    curve = model.explain_shape("z").as_levels()
    claims = claims_of(curve)
    cells = np.array(curve.labels, object)[z]
    assert all(claim.holds(cells, curve.scores[z]) for claim in claims if claim.kind == "differs")
    if any(claim.kind == "differs" for claim in claims):
        low, high = curve.whole[:, 1]
        assert "more level" not in read_curve(curve) or low <= 0 <= high
