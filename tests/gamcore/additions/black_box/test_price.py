"""What a readable model gives up: every kind of model, on held-out rows and by folds; what it says, and refuses."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, TableError, price_of_readability
from gamcore.additions.black_box.learner import MOST_LEVELS, features_of
from gamcore.data.table import Table, learn_features
from gamcore.explain.gap import Difference

SETTINGS = {"outer_bags": 2, "max_rounds": 60, "random_state": 0, "n_jobs": 1}


def rows(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.normal(size=n) for name in "abcde"})
    X["k"] = rng.choice(["p", "q"], n)
    triple = 1.2 * np.sign(X["a"]) * np.sign(X["b"]) * np.where(X["k"] == "p", 1, -1)
    X.loc[rng.random(n) < 0.05, "c"] = np.nan
    return X, (triple + 0.6 * X["c"].fillna(0)).to_numpy(), rng


KINDS = ["squared", "binary", "classes", "poisson", "tweedie", "gamma", "quantile", "exposure"]
QUICK = KINDS[:2]


@cache
def case(kind, folds=0):
    X, score, rng = rows()
    given = {"sample_weight": rng.integers(0, 4, len(X)).astype(float)}
    if kind == "exposure":
        given["exposure"] = rng.uniform(0.5, 2.0, len(X))
    y = {
        "binary": lambda: np.where(rng.random(score.size) < 1 / (1 + np.exp(-2 * score)), "yes", "no"),
        "classes": lambda: np.array(["u", "v", "w"])[np.digitize(2 * score + rng.logistic(size=score.size), [-1, 1])],
        "poisson": lambda: rng.poisson(np.exp(0.7 * score)).astype(float),
        "tweedie": lambda: rng.poisson(np.exp(0.7 * score)) * rng.gamma(2.0, 1.0, score.size),
        "gamma": lambda: rng.gamma(2.0, np.exp(0.7 * score)) + 1e-3,
        "exposure": lambda: rng.poisson(given["exposure"] * np.exp(0.7 * score)).astype(float),
    }.get(kind, lambda: score + rng.normal(size=score.size))()
    model = (
        GAMClassifier(**SETTINGS) if kind in ("binary", "classes")
        else GAMRegressor(objective="poisson" if kind == "exposure" else kind, **SETTINGS)
    )  # fmt: skip
    held = np.arange(len(X)) % 3 == 0
    learned = {name: values[~held] for name, values in given.items()}
    model.fit(X[~held], y[~held], **learned)
    asked = {"folds": folds} if folds else {"held_out": held}
    return price_of_readability(model, X, y, **given, **asked), model, (X, y, held, given)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [*QUICK, *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[2:])])
def test_the_planted_triple_is_first_in_every_kind_of_model(kind):
    price, model, (X, y, held, given) = case(kind)
    assert set(price.terms[0]) == {"a", "b", "k"}
    assert price.gain.lower > 0
    assert "a by b by k" in price.words()
    weight = given["sample_weight"][held]
    assert price.rows == (weight > 0).sum()
    if kind in ("squared", "poisson", "quantile", "tweedie", "gamma"):
        score = model.score(X[held], y[held], sample_weight=weight)
        assert price.readable == pytest.approx(score, abs=1e-6)
    assert price.gap.value == pytest.approx(price.black_box - price.readable)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["squared", "classes", "exposure"])
def test_by_folds_every_row_is_held_out_once(kind):
    price, _, (_, _, _, given) = case(kind, folds=3)
    assert price.rows == (given["sample_weight"] > 0).sum()
    assert price.folds == 3
    assert set(price.terms[0]) == {"a", "b", "k"}
    assert price.gain.lower > 0


def test_frame_picture_and_words_say_the_same():
    price, _, _ = case("squared")
    table = price.frame()
    assert list(table["kind"].value_counts().sort_index()) == [6, 15, 20]
    assert table["term"][0] == "a by b by k"
    assert table["clear"][0]
    assert table["gain"].notna().sum() == len(price.steps)
    assert table["gain"].sum() == pytest.approx(price.gain.value)
    assert (table.loc[~table["clear"], "standing"] <= table.attrs["chance"]).all()
    plot = price.describe()
    assert plot.words == price.words()
    assert plot.numbers.equals(table)
    assert "</svg>" in price._repr_html_()
    assert price.plot() is not None


@pytest.mark.slow
def test_a_crossing_of_few_values_makes_pairs_of_triples():
    """The category learns the planted triple as a pair, on rows that chose nothing."""
    rng = np.random.default_rng(11)
    X = pd.DataFrame(
        {"hour": rng.integers(0, 12, 6000), "work": rng.integers(0, 2, 6000), "heat": rng.normal(size=6000)}
    )
    evening = (X["hour"] > 6) & (X["work"] == 1)
    y = np.where(evening, 1.5, -0.5) * X["heat"] + rng.normal(size=6000)
    test = np.arange(6000) >= 4000
    A, b = X[~test], y[~test]
    held = np.arange(4000) % 4 == 0
    settings = {**SETTINGS, "max_rounds": 300}
    model = GAMRegressor(interactions=3, **settings).fit(A[~held], b[~held])
    price = price_of_readability(model, A, b, held_out=held)
    assert price.crossing == ("hour", "work")
    assert price.thirds == ("heat",)

    def crossed(table):
        return table.assign(both=table["hour"].astype(str) + " " + table["work"].astype(str))

    pairs = GAMRegressor(interactions=3, **settings).fit(A, b)
    more = GAMRegressor(interactions=[("both", "heat")], **settings).fit(crossed(A), b)
    assert more.score(crossed(X[test]), y[test]) > pairs.score(X[test], y[test]) + 0.05


def test_groups_stay_together_and_widen_the_interval():
    rng = np.random.default_rng(5)
    X, _, _ = rows(900, seed=5)
    people = np.arange(900) // 15
    X["person"] = rng.normal(size=60)[people]
    y = X["a"] + 2.0 * rng.normal(size=60)[people] + rng.normal(size=900)
    held = people % 3 == 0
    model = GAMRegressor(**SETTINGS).fit(X[~held], y[~held], groups=people[~held])
    alone = price_of_readability(model, X, y, held_out=held)
    grouped = price_of_readability(model, X, y, groups=people, held_out=held)
    width = [price.gap.upper - price.gap.lower for price in (alone, grouped)]
    assert width[1] > 1.2 * width[0]


def test_words_say_what_the_interval_allows():
    price, _, _ = case("squared")
    seen = set()
    for gap, gain in ((0.05, 0.04), (0.05, 0.01), (0.05, -0.01), (0.0, 0.04), (-0.05, 0.04), (0.0, -0.01)):
        words = replace(
            price, gap=Difference(gap, gap - 0.005, gap + 0.005), gain=Difference(gain, gain - 0.005, gain + 0.005)
        ).words()
        assert ("better (4.5 to 5.5)" in words) == (gap > 0)
        assert ("worse (4.5 to 5.5)" in words) == (gap < 0)
        assert ("not clearly better" in words) == (gap == 0)
        assert ("Most of it" in words) == (gap > 0 and gain == 0.04)
        assert ("20% of it" in words) == (gap > 0 and gain == 0.01)
        assert ("without a clear gain" in words) == (gain < 0)
        seen.add(words)
    assert len(seen) == 6
    plain = replace(price, steps=(), gap=Difference(0.0, -0.01, 0.01)).words()
    assert plain.endswith("No curve, pair or triple that the model lacks stands out from chance.")


def test_progress_ends_at_all_steps():
    _, model, (X, y, held, given) = case("squared")
    steps = []
    price_of_readability(model, X, y, **given, held_out=held, progress=lambda done, of: steps.append((done, of)))
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[-1][0] == steps[-1][1]


@pytest.mark.slow
def test_what_cannot_be_answered_is_refused_in_a_sentence():
    _, model, (X, y, held, given) = case("squared")
    for asked, reason in (
        ({"held_out": held[:-1]}, "True or False per row"),
        ({"held_out": held.astype(int)}, "True or False per row"),
        ({"held_out": np.zeros(len(X), bool)}, "as many held out"),
        ({"folds": 1}, "folds"),
        ({"folds": True}, "folds"),
    ):
        with pytest.raises(TableError, match=reason):
            price_of_readability(model, X, y, **given, **asked)
    with pytest.raises(TableError, match="no black box"):
        price_of_readability(object(), X, y)
    beside = GAMRegressor(**SETTINGS).fit(X, y, init_score=np.ones(len(X)))
    with pytest.raises(TableError, match="init_score"):
        price_of_readability(beside, X, y)
    exposed = case("exposure")[1]
    with pytest.raises(TableError, match="exposure"):
        price_of_readability(exposed, X, np.abs(y), held_out=held)
    three = GAMClassifier(**SETTINGS).fit(X, np.digitize(y, [-1, 1])).of_class(1)
    with pytest.raises(TableError, match="no black box"):
        price_of_readability(three, X, y)


def test_the_black_box_reads_what_the_model_reads():
    rng = np.random.default_rng(6)
    names = [f"l{k}" for k in range(MOST_LEVELS + 60)]
    X = pd.DataFrame({"x": [1.0, np.nan] * 400, "k": rng.choice(names, 800), "d": pd.Timestamp("2024-01-01")})
    X.loc[3, "k"] = None
    table = Table.of(X)
    values, nominal = features_of(table, learn_features(table))
    assert nominal == [False, True, False]
    assert np.isnan(values[1, 0])
    assert np.isnan(values[3, 1])
    assert not np.isnan(values[:, 2]).any()
    assert np.nanmax(values[:, 1]) == MOST_LEVELS
