"""Counterfactuals: changes that take a row across a line, checked by brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, TableError, smallest_changes
from gamcore.estimators.base import train_share
from gamcore.estimators.recourse import recourse
from gamcore.explain import counterfactuals
from gamcore.explain.counterfactuals import Possible, among_rows, direction, score_band, scores_by_code, ways
from gamcore.explain.curves import explain_shape


def rows(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n).round(1), "b": rng.uniform(size=n).round(2)})
    X["c"] = rng.choice(["x", "y", "z", "rare"], n, p=[0.4, 0.3, 0.295, 0.005])
    X["d"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    X.loc[::7, "a"] = np.nan
    y = X["a"].fillna(0.5) + X["b"] + (X["c"] == "x") + 0.5 * rng.normal(size=n) > 0.8
    return X, y


@pytest.fixture(scope="module")
def paired():
    """With a pair, and no band: gains of several features do not add up."""
    X, y = rows()
    return GAMClassifier(max_rounds=30, outer_bags=1, random_state=0, interactions=[("a", "b")]).fit(X, y), X


@pytest.fixture(scope="module")
def sure():
    """With a band, and so few bins that every combination can be tried."""
    X, y = rows()
    model = GAMClassifier(max_rounds=30, max_bins=8, outer_bags=4, bands=10, random_state=0).fit(X.drop(columns="d"), y)
    return model, X.drop(columns="d")


def test_scores_by_code_are_those_of_changed_rows(paired):
    model, X = paired
    codes = model._encode(X.head(3))
    for j, bins in enumerate(model.model_.bins):
        for k, score in enumerate(scores_by_code(model.model_, codes[:, 1], j)):
            changed = codes[:, 1].copy()
            changed[j] = k
            assert model.model_.score(changed[:, None])[0] == pytest.approx(score)
        assert bins.size == k + 1


def passed(model, codes, j, code):
    """Slowly: the share of training rows between two codes, halves of the outer two; or of other levels."""
    counts, bins = model.terms[j].counts.copy(), model.bins[j]
    counts[0] = counts[-1] = 0
    if bins.feature.is_category:
        return 1 - counts[code] / counts.sum()
    middle = [counts[:k].sum() + counts[k] / 2 for k in range(counts.size)]
    start = middle[codes[j]] if codes[j] else counts.sum() / 2
    return abs(middle[code] - start) / counts.sum()


def cheapest(model, codes, n, line, usable):
    """Slowly: the least share of rows passed by any change of n features that surely crosses the line."""
    now = model.score(codes[:, None])[0]
    best = np.inf
    for places in combinations(range(len(model.bins)), n):
        for news in product(*[usable(j) for j in places]):
            if any(code == codes[j] for j, code in zip(places, news, strict=True)):
                continue
            changed = codes.copy()
            changed[list(places)] = news
            low, high = (end[0] for end in score_band(model, changed[:, None]))
            if (low > line) if now <= line else (high < line):
                best = min(best, sum(passed(model, codes, j, code) for j, code in zip(places, news, strict=True)))
    return best


def is_clear(model, codes, j, code):
    """Slowly: whether the band of a step's gain excludes 0."""
    changed = codes.copy()
    changed[j] = code
    moves = [half.refits[:, changed[j]] - half.refits[:, codes[j]] for half in model.halves.terms if half.feature == j]
    low, high = (end[0] for end in score_band(model, codes[:, None]))
    spread = sum(half.refits[:, codes[half.feature]] for half in model.halves.terms) + model.halves.refit_intercepts
    factor = (high - low) / 2 / spread.std(ddof=1)
    gain = model.score(changed[:, None])[0] - model.score(codes[:, None])[0]
    return abs(gain) > factor * moves[0].std(ddof=1)


def goes_with(model, j, old, new, up):
    """Slowly: whether a step goes with the only direction that the band of a curve shows, if it shows one."""
    if model.bins[j].feature.is_category or not 0 < old < model.bins[j].size - 1:
        return True
    low, high = explain_shape(model, j).whole
    ups = any(low[b] > high[a] for a, b in combinations(range(low.size), 2))
    downs = any(high[b] < low[a] for a, b in combinations(range(low.size), 2))
    return ups == downs or ((new > old) == (ups == up))


@pytest.mark.parametrize("row", range(6))
@pytest.mark.parametrize("line", [0.0, 1.5])
@pytest.mark.parametrize("any_way", [True, False])
def test_the_most_usual_changes_are_found(sure, row, line, any_way):
    model, X = sure
    model_, codes = model.model_, model._encode(X)[:, row]
    up = model_.score(codes[:, None])[0] < line

    def usable(j):
        seen = np.flatnonzero(among_rows(model_.bins[j], model_.terms[j].counts))
        return seen if any_way else [k for k in seen if k == codes[j] or (gains(j, k) and is_clear(model_, codes, j, k)
                                     and goes_with(model_, j, codes[j], k, up))]  # fmt: skip

    def gains(j, code):
        scores = model_.terms[j].scores
        return (scores[code] > scores[codes[j]]) == up

    found = smallest_changes(model, X.iloc[[row]], line, Possible(any_way=any_way))
    best = np.inf
    for n in (1, 2, 3):
        mine = min((change.passed for change in found if len(change.steps) == n), default=np.inf)
        slow = cheapest(model_, codes, n, line, usable)
        if slow < best:  # more features are proposed only where they pass fewer rows
            assert mine == pytest.approx(slow)
        best = min(best, slow)
    assert [change.passed for change in found] == sorted(change.passed for change in found)


@pytest.mark.parametrize("row", range(12))
def test_every_change_crosses_the_line_into_rows_that_were_seen(paired, row):
    model, X = paired
    model_, codes = model.model_, model._encode(X)[:, row]
    names = [bins.feature.name for bins in model_.bins]
    now = model_.score(codes[:, None])[0]
    for change in smallest_changes(model, X.iloc[[row]], 0.0):
        made = codes.copy()
        for step in change.steps:
            j = names.index(step.feature)
            made[j] = step.code
            assert 0 < step.code < model_.bins[j].size - 1
            assert among_rows(model_.bins[j], model_.terms[j].counts)[step.code]
            assert model_.terms[j].counts[step.code] > 0
            assert step.passed == pytest.approx(passed(model_, codes, j, step.code))
        assert model_.score(made[:, None])[0] == pytest.approx(change.score)
        assert (change.score > 0) != (now > 0)
        assert np.isnan(change.low)  # one refit has no band


def test_bands_clear_the_line(sure):
    model, X = sure
    for row in range(20):
        now = model.decision_function(X.iloc[[row]])[0]
        for change in smallest_changes(model, X.iloc[[row]], 0.0):
            assert change.low <= change.score <= change.high
            assert (change.low > 0) if now <= 0 else (change.high < 0)


def test_what_is_held_fixed_stays_and_limits_hold(sure):
    model, X = sure
    for row in range(20):
        for change in smallest_changes(model, X.iloc[[row]], 0.0, Possible({"c"}, {"a": (-0.5, 0.5)})):
            assert "c" not in [step.feature for step in change.steps]
            for step in change.steps:
                if step.feature == "a":
                    assert -0.5 <= model.model_.bins[0].display[step.code - 1] <= 0.5
    assert smallest_changes(model, X.iloc[[0]], 0.0, Possible({"a", "b", "c"})) == []


def test_words_name_values_that_cross(paired):
    """A row with values from the middle of what the words say is across the line."""
    model, X = paired
    seen = 0
    for row in range(30):
        now = model.decision_function(X.iloc[[row]])[0]
        for change in smallest_changes(model, X.iloc[[row]], 0.0):
            made = X.iloc[[row]].copy()
            for step in change.steps:
                made[step.feature] = value_of(step)
            if step.feature == "d":
                continue  # a day is coarser than a cut
            assert (model.decision_function(made)[0] > 0) != (now > 0), (change, row)
            seen += 1
    assert seen > 20


def value_of(step):
    text = step.words
    if text.startswith("is "):
        value = text.removeprefix("is ")
        return float(value) if step.bins.feature.kind == "number" else value

    def read(part):
        return pd.Timestamp(part) if step.feature == "d" else float(part)

    if text.startswith("between "):
        low, high = (read(part) for part in text.removeprefix("between ").split(" and "))
        return low + (high - low) / 2
    shift = pd.Timedelta(days=1) if step.feature == "d" else 1e-4
    return (
        read(text.removesuffix(" or more")) + shift
        if text.endswith(" or more")
        else (read(text.removesuffix(" or less")) - shift)
    )


def test_a_line_beyond_all_scores_is_never_crossed(paired):
    model, X = paired
    assert smallest_changes(model, X.iloc[[0]], 1e6) == []
    assert counterfactuals.smallest_changes(model._encode(X.head(1))[:, 0], -1e6, ways(model.model_)) == []


def test_the_band_of_a_score_is_that_of_the_refits(sure):
    model, X = sure
    codes = model._encode(X.head(5))
    halves = model.model_.halves
    refits = np.stack([
        halves.refit_intercepts[k] + sum(term.refits[k][codes[term.feature]] for term in halves.terms)
        for k in range(halves.n_refits)
    ])  # fmt: skip
    low, high = score_band(model.model_, codes, train_share(model))
    np.testing.assert_allclose((low + high) / 2, model.model_.score(codes))
    ratio = (high - low) / refits.std(axis=0, ddof=1)
    np.testing.assert_allclose(ratio, ratio[0])


@pytest.mark.parametrize("purify", [True, False])
def test_refits_of_a_pair_at_rows_are_those_of_its_surfaces(purify):
    X, y = rows()
    model = GAMClassifier(
        max_rounds=20, outer_bags=3, random_state=0, interactions=[("a", "c"), ("b", "d")], purify=purify
    ).fit(X, y)
    codes = model._encode(X)
    for pair in model.model_.pairs:
        i, j = pair.features
        every = np.indices((model.model_.bins[i].size, model.model_.bins[j].size)).reshape(2, -1).astype(np.uint8)
        for first, second in ((codes[i], codes[j]), every):
            slow = np.stack([pair.refit(k)[first, second] for k in range(len(pair.surfaces))])
            np.testing.assert_allclose(pair.refits_at(first, second), slow, atol=1e-12)


@pytest.mark.parametrize("up", [True, False])
def test_many_rows_get_the_change_that_each_gets_alone(sure, up):
    model, X = sure
    rows_of = pd.concat([X.head(150), X.head(20)])
    possible = Possible(fixed=["c"], limits={"b": (None, 0.6)})
    made = recourse(model, rows_of, 0.2, possible, up=up)
    score = model.decision_function(rows_of)
    np.testing.assert_array_equal(made.needs, score < 0.2 if up else score >= 0.2)
    assert made.needs.any()
    for k in range(len(rows_of)):
        each = smallest_changes(model, rows_of.iloc[[k]], 0.2, possible) if made.needs[k] else []
        assert made.changes[k] == (each[0] if each else None)
        assert made.alone[k] == tuple(change.steps[0].feature for change in each if len(change.steps) == 1)
    there = [change for change in made.changes if change is not None]
    assert made.helped == pytest.approx(len(there) / made.needs.sum())
    table = made.by_feature().set_index("feature")
    assert "c" not in table.index
    for name, line in table.iterrows():
        assert line["could alone"] == pytest.approx(sum(name in names for names in made.alone) / made.needs.sum())
        assert line["smallest alone"] <= line["in the smallest"]


def test_rows_that_need_no_help_get_none(sure):
    model, X = sure
    calls = []
    made = recourse(model, X.head(50), 50.0, up=False, step=calls.append)
    assert not made.needs.any()
    assert np.isnan(made.helped)
    assert not calls
    assert made.by_feature().empty
    recourse(model, X.head(50), 0.0, step=calls.append)
    assert calls[-1] == 1.0
    with pytest.raises(TableError, match="pass a finite score"):
        recourse(model, X, np.inf)


@pytest.fixture(scope="module")
def coded():
    """Codes 96 and 98 beside counts, a risk that falls with income but for a wiggle, and payments that were late."""
    rng = np.random.default_rng(3)
    n = 6000
    X = pd.DataFrame({"income": rng.gamma(4, 1500, n).round(-2), "cards": rng.poisson(2.0, n).astype(float)})
    X["LatePayments"] = rng.poisson(0.8, n)
    X["region"] = rng.choice(list("uvw"), n)
    codes = rng.random(n)
    X.loc[codes < 0.04, "cards"] = 98.0
    X.loc[codes < 0.004, "cards"] = 96.0
    wiggle = -2.0 * X["income"].between(2900, 3300)
    score = 2 - X["income"] / 2500 + wiggle + 0.5 * X["LatePayments"] + 0.4 * X["cards"].clip(upper=6)
    score = np.where(X["cards"] > 90, -2.0, score)  # codes are the best that a row could have
    y = rng.random(n) < 1 / (1 + np.exp(-score))
    return GAMClassifier(max_rounds=60, outer_bags=4, bands=10, random_state=0).fit(X, y), X


def advised(model, X, possible, rows=150):
    made = recourse(model, X.head(rows), -1.0, possible, up=False)
    return [(row, step) for row, change in enumerate(made.changes) if change for step in change.steps]


def test_no_code_is_advised_unless_asked_for(coded):
    model, X = coded
    assert dict(zip(X, (of.sentinels for of in model.model_.bins), strict=True))["cards"] == (96.0, 98.0)
    usual = [step for _, step in advised(model, X, Possible(past=True)) if step.feature == "cards"]
    assert usual
    assert all(step.bins.display[step.code - 1] < 90 for step in usual)
    asked = Possible(fixed=["income", "region"], sentinels=True, any_way=True)
    assert any(step.bins.display[step.code - 1] > 90 for _, step in advised(model, X, asked))
    rows = np.flatnonzero(X["cards"] > 90)[:20]
    made = recourse(model, X.iloc[rows], -4.0, Possible(past=True), up=False)
    assert not [step for change in made.changes if change for step in change.steps if step.feature == "cards"]


def test_the_past_stays_unless_asked_for(coded):
    model, X = coded
    assert "LatePayments" not in {step.feature for _, step in advised(model, X, Possible())}
    assert "LatePayments" in {step.feature for _, step in advised(model, X, Possible(past=True))}


def test_nobody_is_told_to_have_come_at_another_time():
    X, y = rows()
    X["sold"] = X.pop("d")
    y = X["sold"] > pd.Timestamp("2025-01-01")
    X["season"] = X["sold"].dt.year + np.arange(len(X)) % 2
    model = GAMClassifier(max_rounds=30, outer_bags=2, random_state=0).fit(X[["a", "sold", "season"]], y)
    X = X[["a", "sold", "season"]]
    assert not {"sold", "season"} & {step.feature for _, step in advised(model, X, Possible())}
    for name in ("sold", "season"):
        others = Possible(past=True, fixed={"sold", "season"} - {name})
        assert name in {step.feature for _, step in advised(model, X, others)}


def test_nobody_is_told_to_earn_less_where_more_is_better(coded):
    model, X = coded
    income = model.explain_shape("income")
    place = [bins.feature.name for bins in model.model_.bins].index("income")
    seen = among_rows(model.model_.bins[place], model.model_.terms[place].counts)[1:-1]
    shown = [
        direction(income, seen),
        direction(replace(income, scores=-income.scores, whole=-income.whole[::-1]), seen),
    ]
    steps = [
        (X["income"].iloc[row], step) for row, step in advised(model, X, Possible(), 400) if step.feature == "income"
    ]
    assert steps
    if shown == [-1, 1]:
        assert all(step.bins.display[step.code - 1] > now for now, step in steps)


@pytest.mark.parametrize("seed", range(20))
def test_the_direction_of_a_curve_is_that_of_all_its_clear_moves(coded, seed):
    rng = np.random.default_rng(seed)
    curve = coded[0].explain_shape("income")
    size = curve.scores.size
    scores = np.cumsum(rng.normal(rng.choice([-0.5, 0, 0.5]), 1, size))
    wide = rng.uniform(0.5, 12)
    curve, usable = (
        replace(curve, scores=scores, whole=np.stack([scores - wide, scores + wide])),
        rng.random(size) < 0.7,
    )
    pairs = [(a, b) for a, b in combinations(np.flatnonzero(usable), 2) if abs(scores[a] - scores[b]) > 2 * wide]
    ups, downs = any(scores[b] > scores[a] for a, b in pairs), any(scores[b] < scores[a] for a, b in pairs)
    assert direction(curve, usable) == int(ups) - int(downs)


def test_no_change_leads_to_a_corner_of_a_pair_without_rows():
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame({"a": rng.uniform(size=n), "b": rng.uniform(size=n)}).round(2).floordiv(0.05) * 0.05
    X = X[~((X["a"] > 0.5) & (X["b"] > 0.5))].reset_index(drop=True)
    y = 2 * X["a"] + 2 * X["b"] - 3 * (X["a"] < 0.2) * (X["b"] < 0.2) + 0.3 * rng.normal(size=len(X)) > 0.9
    model = GAMClassifier(max_rounds=60, outer_bags=1, random_state=0, interactions=[("a", "b")]).fit(X, y)
    seen = 0
    for row in range(60):
        for change in smallest_changes(model, X.iloc[[row]], 1.0):
            now = X.iloc[row].to_dict() | {step.feature: step.bins.display[step.code - 1] for step in change.steps}
            assert not (now["a"] > 0.65 and now["b"] > 0.65), (row, change.words)
            seen += 1
    assert seen


def test_no_change_leads_to_a_corner_of_a_triple_without_rows():
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (3000, 3))
    cells = cells[cells.sum(axis=1) < 3]
    X = pd.DataFrame(cells, columns=list("abc")).astype(str)
    y = cells.sum(axis=1) + 2.0 * (cells == [1, 0, 1]).all(axis=1) + 0.3 * rng.normal(size=len(X))
    pairs = list(combinations("abc", 2))
    model = GAMRegressor(interactions=pairs, triples=[("a", "b", "c")], bands=10, random_state=0).fit(X, y)
    row = pd.DataFrame({"a": ["0"], "b": ["1"], "c": ["1"]})
    whole = model.predict(row.assign(a="1"))[0]
    assert model.predict(row)[0] < 2.3 < whole
    assert not smallest_changes(model, row, 2.3)


def test_a_number_of_few_rows_per_bin_may_change():
    """Each of its values is rare, and among enough others."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.lognormal(3.5, 0.5, 1000).round(2), "z": rng.normal(size=1000)})
    y = rng.random(1000) < 1 / (1 + np.exp(-(X["income"] - 35) / 8))
    model = GAMClassifier(random_state=0, outer_bags=4, bands=12).fit(X, y.astype(int))
    assert (model.explain_shape("income").counts < 30).all()
    low = X[X["income"].between(20, 30)].head(5)
    made = recourse(model, low, 0.0)
    assert made.helped == 1
    for change in made.changes:
        assert change.words.startswith("income ")
        assert change.steps[0].bins.display[change.steps[0].code - 1] > 30
