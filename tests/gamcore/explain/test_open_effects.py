"""Effects that rows show and no band does: of a column alone, or of several that say nearly the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, load_model
from gamcore.data.binning import encode_table
from gamcore.estimators import additive
from gamcore.explain.claims import NO_CLEAR_EFFECT
from gamcore.explain.open_effects import with_open_effects
from gamcore.explain.sentences import claims_of, read_curve
from gamcore.model.additive import OpenEffect
from tests.support.cells import cells_of, group_of
from tests.support.gears import mostly_slow

NOISE = ["noise", "level", "count"]


def table(kind, rng, n):
    """Return features, a signal (n,), and the columns that say nearly the same."""
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    parts = pd.DataFrame(rng.poisson(3, (n, 3)), columns=list("pqr"))
    level = pd.Series(rng.choice(list("stu"), n))
    signal, group = X["a"].to_numpy(), ["a", "e"]
    match kind:
        case "copy":
            X["e"] = 3 - 2 * X["a"]
        case "curve":
            X["e"] = np.exp(X["a"])
        case "two copies":
            X["e"], X["f"], group = X["a"], -X["a"], ["a", "e", "f"]
        case "classes":
            X["e"] = pd.qcut(X["a"], 8, labels=list("klmnopqr")).astype(str)
        case "difference":
            X["e"], group = X["a"] - X["b"] - 6, ["a", "b", "e"]
        case "sum of four":
            X["e"], group = X["a"] + X["b"] - X["c"] + X["d"], list("abcde")
        case "indicators":
            X["e"], group = level, ["e", "s", "t", "u"]
            X = X.assign(**{name: (level == name) * 1 for name in "stu"})
            signal = (level == "s") * 1.0 - (level == "u")
        case "parts and total":
            X, group = X.join(parts).assign(total=parts.sum(axis=1)), ["p", "q", "r", "total"]
            signal = parts["p"].to_numpy() / 2
    X["noise"], X["level"], X["count"] = rng.normal(size=n), rng.choice(list("vwx"), n), rng.poisson(2, n)
    return X, np.asarray(signal, float), group


KINDS = ["copy", "curve", "two copies", "classes", "difference", "sum of four", "indicators", "parts and total"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", mostly_slow(KINDS, 4))
def test_what_columns_share_is_not_called_unclear(kind, seed):
    """Of means and of shares; noise is not drawn in, and the rows bear every claim out."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X, signal, group = table(kind, rng, 400)
    if seed:
        y, made = (rng.uniform(size=400) < 1 / (1 + np.exp(-1.5 * signal))).astype(int), GAMClassifier
    else:
        y, made = 0.6 * signal + rng.normal(size=400), GAMRegressor
    model = made(random_state=0, bands=30).fit(X, y)
    codes = encode_table(X, model.model_.bins, in_training=True)
    for name in X:
        curve = model.explain_shape(name)
        said = read_curve(curve)
        assert name not in group or NO_CLEAR_EFFECT not in said, said
        assert name not in NOISE or not curve.shared_with, said
        assert not set(curve.shared_with) & set(NOISE)
        for claim in claims_of(curve):
            if claim.kind == "shared":
                cells, effects = group_of(model.model_, curve, X, codes)
                assert claim.holds(cells, effects), said
                strangers = [cells[0], X["noise"].to_numpy()]
                assert not claim.holds(strangers, effects)
                assert not replace(claim, interval=(1.0, 2.0)).holds(cells, effects)


@pytest.mark.parametrize("spread", [1.5, 2.5])
def test_what_a_sample_shows_of_rare_counts_and_their_rates_is_asked_of_more_rows(spread):
    """A rate has rows far out, of which few are in a sample: there the count tells it, and on all rows it may not."""
    rng = np.random.default_rng(0)
    rare = rng.poisson(0.01 if spread < 2 else 0.004, 9000) * 1.0
    X = pd.DataFrame({"events": rare, "rate": rare / rng.lognormal(0, spread, 9000), "noise": rng.normal(size=9000)})
    model = GAMRegressor(random_state=0, bands=30).fit(X, 0.5 * (rare > 0) + rng.normal(size=9000))
    codes = encode_table(X, model.model_.bins, in_training=True)
    for name in X:
        curve = model.explain_shape(name)
        assert all(
            claim.holds(*group_of(model.model_, curve, X, codes))
            for claim in claims_of(curve)
            if claim.kind == "shared"
        )


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_are_missing_together_are_not_the_same(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"arm": rng.integers(1, 3, 300) * 1.0, "enzyme": rng.lognormal(7, 1, 300), "age": rng.normal(size=300)}
    )
    missing = rng.random(300) < 0.25
    X.loc[missing, ["arm", "enzyme"]] = np.nan
    model = GAMRegressor(random_state=0, bands=30).fit(X, missing + rng.normal(size=300))
    for name in X:
        assert not model.explain_shape(name).shared_with


@pytest.mark.slow
def test_units_change_nothing_of_what_columns_share():
    rng = np.random.default_rng([0, KINDS.index("sum of four")])
    X, signal, _ = table("sum of four", rng, 400)
    y = 0.6 * signal + rng.normal(size=400)
    small = X.assign(**(X.select_dtypes("number") * 2.0**-60))
    usual, tiny = (
        [model.explain_shape(name).open_effect for name in X]
        for model in (GAMRegressor(random_state=0, bands=30).fit(rows, y) for rows in (X, small))
    )
    assert any(usual)
    assert [effect and effect.others for effect in tiny] == [effect and effect.others for effect in usual]


def test_columns_that_move_no_prediction_have_no_effect_together(monkeypatch):
    """Rows may show one, as of a class of few rows, of which its model learned nothing."""
    rng = np.random.default_rng([0, KINDS.index("sum of four")])
    X, signal, _ = table("sum of four", rng, 400)

    def flat(model, data, train_share):
        terms = tuple(replace(term, scores=0 * term.scores) for term in model.terms)
        return with_open_effects(replace(model, terms=terms), data, train_share)

    monkeypatch.setattr(additive, "with_open_effects", flat)
    model = GAMRegressor(random_state=0, bands=30).fit(X, 0.6 * signal + rng.normal(size=400))
    assert not any(model.explain_shape(name).open_effect for name in X)


@pytest.mark.slow
def test_copies_of_noise_have_no_effect_together_either():
    unclear = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, _, group = table("difference", rng, 300)
        y = rng.normal(size=300) + X["d"]
        model = GAMRegressor(random_state=0, bands=30).fit(X, y)
        unclear += [NO_CLEAR_EFFECT in read_curve(model.explain_shape(name)) for name in [*group, *NOISE]]
    assert np.mean(unclear) >= 0.95


def test_what_two_columns_can_be_told_apart_by_is_enough_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=6000), "b": rng.normal(size=6000)})
    X["e"] = X["a"] + 0.4 * rng.normal(size=6000)
    model = GAMRegressor(random_state=0, bands=30).fit(X, 2 * X["a"] + rng.normal(size=6000))
    assert not model.explain_shape("e").shared_with


def weak(rng, n, size):
    """Return a table whose first three columns have effects of a few standard errors, and the signal (n,)."""
    X = pd.DataFrame(
        {"line": rng.normal(size=n), "steps": rng.integers(16, 56, n), "level": rng.choice(list("abc"), n)}
    )
    signal = 0.15 * X["line"] - 0.013 * (X["steps"] - 36) + 0.35 * (X["level"] == "a")
    X = X.assign(noise=rng.normal(size=n), skewed=rng.exponential(size=n) ** 2, letter=rng.choice(list("defg"), n))
    return X, size * (signal - signal.mean()).to_numpy()


DRAWN = {
    "squared": lambda signal, rng: signal + rng.normal(size=signal.size),
    "poisson": lambda signal, rng: rng.poisson(np.exp(signal)),
    "tweedie": lambda signal, rng: rng.gamma(2, np.exp(signal)) * (rng.uniform(size=signal.size) < 0.8),
    "logistic": lambda signal, rng: (rng.uniform(size=signal.size) < 1 / (1 + np.exp(-2 * signal))).astype(int),
}


def fitted(loss, X, y):
    kind = GAMClassifier() if loss == "logistic" else GAMRegressor(objective=loss)
    return kind.set_params(random_state=0, bands=30).fit(X, y)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("loss", DRAWN)
def test_an_effect_that_rows_show_is_not_called_unclear(loss):
    """A t test of each finds it at 5 standard errors and more; a band over all bins from refits on halves does not."""
    rng = np.random.default_rng(list(DRAWN).index(loss))
    X, signal = weak(rng, 1500, 1.2)
    model = fitted(loss, X, DRAWN[loss](signal, rng))
    codes = encode_table(X, model.model_.bins, in_training=True)
    ways = {"line": "falls", "steps": "rises"}  # what may not be said
    for k, name in enumerate(["line", "steps", "level"]):
        curve = model.explain_shape(name)
        said = read_curve(curve)
        assert NO_CLEAR_EFFECT not in said
        assert ways.get(name, NO_CLEAR_EFFECT) not in said
        for claim in claims_of(curve):
            assert claim.holds(cells_of(X, model.model_.bins[k]), model.model_.terms[k].scores[codes[k]]), said


@pytest.mark.slow
@pytest.mark.parametrize("loss", mostly_slow(DRAWN, 2))
def test_noise_has_no_clear_effect(loss):
    said = []
    for seed in range(4):
        rng = np.random.default_rng([seed, 1])
        X, signal = weak(rng, 600, 0.0)
        model = fitted(loss, X, DRAWN[loss](signal, rng))
        said += [read_curve(model.explain_shape(name)) for name in X]
    assert sum(NO_CLEAR_EFFECT in sentence for sentence in said) >= len(said) - 2, said


@pytest.mark.slow
def test_it_is_known_of_each_class_and_kept_in_a_file(tmp_path):
    rng = np.random.default_rng(3)
    X, signal, _ = table("difference", rng, 500)
    y = np.where(rng.normal(size=500) + 2 * signal > 1.5, "high", np.where(rng.normal(size=500) > 0.5, "mid", "low"))
    model = GAMClassifier(random_state=0, bands=30).fit(X, y)
    model.save(tmp_path / "a.gamx")
    again = load_model(tmp_path / "a.gamx")
    known = [[one.halves.open_effects for one in of.model_.models] for of in (model, again)]
    assert any(effect.others for effects in known[0] for effect in effects)
    assert known[0] == known[1]
    model = GAMRegressor(random_state=0, bands=30).fit(X, signal)
    kept = OpenEffect(0, way=-1), OpenEffect(2)
    model.model_ = replace(model.model_, halves=replace(model.model_.halves, open_effects=kept))
    model.save(tmp_path / "b.gamx")
    assert load_model(tmp_path / "b.gamx").model_.halves.open_effects == kept
