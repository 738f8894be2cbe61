"""Observed against predicted by group: figures as pandas has them, claims that rows bear out, nothing called where
nothing is wrong, and a planted group found."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from gamcore import GAMClassifier, GAMRegressor, TableError, calibration_by_group
from gamcore.additions.by_group.judged import Moments, judged
from gamcore.explain.seen import Seen
from gamcore.model.losses import LOSSES
from tests.support.planted_groups import KINDS, run

SETTINGS = {"outer_bags": 2, "max_rounds": 300, "random_state": 0}
OBJECTIVES = ["squared", "poisson", "exposure", "gamma", "tweedie", "quantile", "binary", "first", "classes"]


@cache
def case(kind):
    """A model that does not know a column, all its rows, and what it found on those that are held out."""
    rng = np.random.default_rng(3)
    n = 2400
    X = pd.DataFrame({"x": rng.normal(size=n), "k": rng.choice(["a", "b"], n)})
    more = X.assign(unknown=rng.choice(["n", "s", None], n), when=pd.date_range("2024-01-01", periods=n),
                    number=np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)), same=1)  # fmt: skip
    score = X["x"].to_numpy() + 2.0 * (more["unknown"] == "n").to_numpy()
    given = {"sample_weight": rng.integers(0, 4, n).astype(float), "groups": np.arange(n) // 2}
    if kind in ("binary", "first"):
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    elif kind == "classes":
        y = np.array(["u", "v", "w"])[np.digitize(score + rng.logistic(size=n), [-0.5, 1.0])]
    elif kind in ("squared", "quantile"):
        y = score + rng.normal(size=n)
    else:
        y = rng.poisson(np.exp(0.5 * score)) + (0.5 if kind == "gamma" else 0.0)
    if kind == "exposure":
        given["exposure"] = rng.uniform(0.5, 2.0, n)
    held = np.arange(n) % 6 < 2
    of_class = {"first": "no", "classes": "w"}.get(kind)
    objective = "poisson" if kind == "exposure" else kind
    model = (GAMClassifier(**SETTINGS) if kind in ("binary", "first", "classes")
             else GAMRegressor(objective=objective, **SETTINGS))  # fmt: skip
    model.fit(X[~held], y[~held], **{name: values[~held] for name, values in given.items()})
    found = calibration_by_group(model, more, y, held_out=held, of_class=of_class, **given)
    return model, more, y, given, held, of_class, found


def by_row(kind):
    """The held-out rows as a frame: outcome and prediction of the whole exposure, all times the weight."""
    model, X, y, given, held, of_class, _ = case(kind)
    weight = given["sample_weight"]
    exposure = given.get("exposure", np.ones(len(y)))
    features = X[["x", "k"]]
    if kind in ("binary", "first", "classes"):
        place = list(model.classes_).index(of_class or "yes")
        seen, said = (y == (of_class or "yes")).astype(float), model.predict_proba(features)[:, place]
    else:
        seen, said = y.astype(float), model.predict(features) * exposure
        if kind == "quantile":
            seen, said = (seen <= said).astype(float), np.full(len(y), model.quantile)
    made = X.assign(seen=seen * weight, said=said * weight, size=weight * exposure)
    return made[held & (weight > 0)]


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_figures_are_those_of_pandas_and_claims_hold(kind):
    rows, found = by_row(kind), case(kind)[-1]
    assert {column.name for column in found.columns} == {"x", "k", "unknown", "when", "number"}
    frame = found.frame("unknown").set_index("group")
    sums = rows.assign(unknown=rows["unknown"].fillna("(missing)")).groupby("unknown")
    totals = sums[["seen", "said", "size"]].sum()
    for name, of in totals.iterrows():
        assert frame.loc[name, "rows"] == len(sums.get_group(name))
        assert frame.loc[name, "observed"] == pytest.approx(of["seen"] / of["size"], rel=1e-9)
        assert frame.loc[name, "predicted"] == pytest.approx(of["said"] / of["size"], rel=1e-9)
        assert frame.loc[name, "lower"] < frame.loc[name, "observed"] < frame.loc[name, "upper"]
    assert list(frame.index)[-1] == "(missing)"
    numbers = found.frame("number")
    assert numbers["rows"].sum() == len(rows)
    assert numbers["rows"].iloc[-1] == rows["number"].isna().sum()
    assert found.ranked[0] == "unknown"
    assert found.claims()
    for claim in found.claims():
        assert claim.column == "unknown"
        lines = list(rows[["unknown", "seen", "said", "size"]].fillna({"unknown": "(missing)"}).itertuples(index=False))
        assert claim.holds(lines)
        first = next(k for k, line in enumerate(lines) if line.unknown == claim.name)
        assert not claim.holds([*lines[:first], *lines[first + 1 :]])
        assert claim.name in found.words()


def test_an_interval_and_an_area_are_those_of_others():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=800), "k": rng.choice(["a", "b"], 800)})
    y = (rng.random(800) < 1 / (1 + np.exp(-X["x"]))).astype(int)
    model = GAMClassifier(**SETTINGS).fit(X[["x"]], y)
    frame = calibration_by_group(model, X, y, columns="k").frame("k").set_index("group")
    for name in ("a", "b"):
        here = (X["k"] == name).to_numpy()
        wilson = proportion_confint(y[here].sum(), here.sum(), method="wilson")
        assert tuple(frame.loc[name, ["lower", "upper"]]) == pytest.approx(wilson, abs=1e-9)
        area = roc_auc_score(y[here], model.predict_proba(X.loc[here, ["x"]])[:, 1])
        assert frame.loc[name, "AUC"] == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize("kind", ["binary", "squared"])
def test_a_group_that_is_ranked_worse_is_told_and_no_other(kind):
    """Outcomes of one group are chance; those of the others follow the score. Figures are those of scikit-learn."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"x": rng.normal(size=3000), "who": rng.choice(["blind", "seen", "known"], 3000),
                      "street": rng.choice([f"s{k}" for k in range(60)], 3000)})  # fmt: skip
    score = np.where(X["who"] == "blind", rng.permutation(X["x"]), X["x"])
    if kind == "binary":
        y = (rng.random(3000) < 1 / (1 + np.exp(-2 * score))).astype(int)
        model = GAMClassifier(**SETTINGS).fit(X[["x"]], y)
        measure, predicted = roc_auc_score, model.predict_proba(X[["x"]])[:, 1]
    else:
        y = score + rng.normal(size=3000)
        model = GAMRegressor(**SETTINGS).fit(X[["x"]], y)
        measure, predicted = r2_score, model.predict(X[["x"]])
    by_group = calibration_by_group(model, X, y)
    claims = by_group.metric_claims("who")
    assert claims[0].name == "blind"
    for claim in claims:
        here = (X["who"] == claim.name).to_numpy()
        assert claim.holds(measure(y[here], predicted[here]), measure(y, predicted))
        assert not claim.holds(measure(y[~here], predicted[~here]), measure(y, predicted))
    assert "clearly lower where who is blind" in by_group.metric_words("who")
    assert by_group.metric_words("who") in by_group.describe("who", metric=True).words
    assert not by_group.metric_claims("street")
    assert "in no group of street" in by_group.metric_words("street")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two classes", "count", "clusters"])
def test_a_planted_group_is_found_and_none_where_the_model_is_right(kind):
    """Of 12 tables each. At 5% by chance, three or more of 12 nulls are called in 2% of runs, and seeds are fixed."""
    assert kind in KINDS
    assert sum(run(kind, False, 3000, seed)[0] for seed in range(12)) <= 2
    assert run(kind, True, 12_000, 0)[1]


@pytest.mark.parametrize("chance", [1e-9, 1e-6, 1e-3])
def test_rows_that_all_did_what_nearly_all_should_do_are_not_called(chance):
    rng = np.random.default_rng(0)
    predicted = np.concatenate([np.full(12, 1 - chance), rng.uniform(0.2, 0.8, 400)])
    y = np.concatenate([np.ones(12), (rng.random(400) < predicted[12:]).astype(float)])
    one = np.ones(y.size)
    for outcomes, means in ((y, predicted), (1 - y, 1 - predicted)):
        rows = Seen.of(LOSSES["logistic"], outcomes, means, weight=one, exposure=one, clusters=None)
        assert judged(rows, Moments.of(rows), np.arange(y.size) < 12, learned=40.0).p == 1.0


def test_what_cannot_be_asked_is_refused():
    model, X, y, given, held, _, _ = case("exposure")
    with pytest.raises(TableError, match="fitted with exposure"):
        calibration_by_group(model, X, y, held_out=held)
    with pytest.raises(TableError, match="no column 'lost'"):
        calibration_by_group(model, X, y, held_out=held, columns="lost", exposure=given["exposure"])
    with pytest.raises(TableError, match="reads: add it"):
        calibration_by_group(model, X[["k"]], y, held_out=held, exposure=given["exposure"])
    with pytest.raises(TableError, match="choose one of them"):
        calibration_by_group(case("classes")[0], X, case("classes")[2])
    with pytest.raises(TableError, match="True or False per row"):
        calibration_by_group(model, X, y, held_out=[0, 1], exposure=given["exposure"])
