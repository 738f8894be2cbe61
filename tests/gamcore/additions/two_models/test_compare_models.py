"""Two models on the same rows: figures as pandas and scikit-learn have them, claims that rows bear out and refute, and
an interval that knows weights and clusters."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, r2_score, roc_auc_score

from gamcore import GAMClassifier, GAMRegressor, TableError, compare_models
from gamcore.additions.two_models.claims import BelowClaim, BetterClaim, GroupClaim, TenthClaim
from gamcore.explain.gap import Difference

SETTINGS = {"outer_bags": 2, "max_rounds": 100, "random_state": 0}
KINDS = ["squared", "poisson", "exposure", "binary", "first", "classes", "quantile"]
LEVEL = 0.8
NAMES = ("old", "new")
BELOW = ("first_below", "second_below")


@cache
def case(kind):
    """An old model of one column and a new one of two, all rows, and how they compare on those that are held out."""
    rng = np.random.default_rng(4)
    n = 2000
    X = pd.DataFrame({"x": rng.normal(size=n), "k": rng.choice(["a", "b", "c"], n),
                      "beside": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))})  # fmt: skip
    score = X["x"].to_numpy() + 1.5 * (X["k"] == "a").to_numpy()
    given = {"sample_weight": rng.integers(0, 4, n).astype(float), "groups": np.arange(n) // 2}
    if kind in ("binary", "first"):
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    elif kind == "classes":
        y = np.array(["u", "v", "w"])[np.digitize(score + rng.logistic(size=n), [-0.5, 1.0])]
    else:
        y = score + rng.normal(size=n) if kind in ("squared", "quantile") else rng.poisson(np.exp(0.5 * score))
    if kind == "exposure":
        given["exposure"] = rng.uniform(0.5, 2.0, n)
    held = np.arange(n) % 6 < 2
    fitted = []
    for columns in (["x"], ["x", "k"]):
        model = (
            GAMClassifier(**SETTINGS)
            if kind in ("binary", "first", "classes")
            else GAMRegressor(objective={"exposure": "poisson"}.get(kind, kind), quantile=LEVEL, **SETTINGS)
        )
        fitted.append(model.fit(X.loc[~held, columns], y[~held], **{key: of[~held] for key, of in given.items()}))
    of_class = {"first": "no", "classes": "w"}.get(kind)
    compared = compare_models(*fitted, X, y, **given, held_out=held, of_class=of_class, worth=10.0, names=NAMES)
    return fitted, X, y, given, held, of_class, compared


def by_row(kind):
    """The held-out rows as a frame: outcome and predictions of the whole exposure, weight and exposure."""
    fitted, X, y, given, held, of_class, _ = case(kind)
    exposure = given.get("exposure", np.ones(len(y)))
    rows = X.assign(weight=given["sample_weight"], exposure=exposure)
    for name, model in zip(NAMES, fitted, strict=True):
        features = X[list(model.feature_names_in_)]
        if kind in ("binary", "first", "classes"):
            rows["seen"] = (y == (of_class or "yes")).astype(float)
            rows[name] = model.predict_proba(features)[:, list(model.classes_).index(of_class or "yes")]
        else:
            rows["seen"], rows[name] = y.astype(float), model.predict(features) * exposure
    return rows[held & (given["sample_weight"] > 0)]


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_of_pandas_and_of_scikit_learn(kind):
    rows, compared = by_row(kind), case(kind)[-1]
    for name, value in zip(NAMES, compared.values, strict=True):
        if compared.metric == "AUC":
            wanted = roc_auc_score(rows["seen"], rows[name], sample_weight=rows["weight"])
        elif kind == "quantile":
            wanted = d2_pinball_score(rows["seen"], rows[name], sample_weight=rows["weight"], alpha=LEVEL)
        elif kind == "squared":
            wanted = r2_score(rows["seen"], rows[name], sample_weight=rows["weight"])
        else:
            rates = [rows[column] / rows["exposure"] for column in ("seen", name)]
            wanted = d2_tweedie_score(*rates, sample_weight=rows["weight"] * rows["exposure"], power=1)
        assert value == pytest.approx(wanted, rel=1e-9)
    assert compared.gap.value == pytest.approx(compared.values[1] - compared.values[0], rel=1e-9)
    size = rows["weight"] * rows["exposure"]
    for group, line in compared.by_group("k").set_index("group").iterrows():
        mine = rows["k"] == group
        means = {name: (rows[name] * rows["weight"])[mine].sum() / size[mine].sum() for name in ("seen", *NAMES)}
        assert line["rows"] == mine.sum()
        assert [line["first"], line["second"]] == pytest.approx([means["old"], means["new"]], rel=1e-9)
        if kind == "quantile":
            below = [np.average((rows["seen"] <= rows[name])[mine], weights=rows["weight"][mine]) for name in NAMES]
            assert [line["first_below"], line["second_below"]] == pytest.approx(below, rel=1e-9)
            assert all(line[f"{start}_lower"] < line[start] < line[f"{start}_upper"] for start in BELOW)
        else:
            assert line["observed"] == pytest.approx(means["seen"], rel=1e-9)
        money = 10.0 * (means["new"] - means["old"]) * size[mine].sum() / rows["weight"].mean()
        assert line["money"] == pytest.approx(money, rel=1e-9)
        assert line["change_lower"] < line["change"] < line["change_upper"]
    frame = compared.frame()
    assert frame["rows"].sum() == len(rows)
    assert frame["ratio" if compared.by_ratio else "change"].is_monotonic_increasing
    assert frame["exposure"].to_numpy() == pytest.approx(size.sum() / 10, rel=0.1)
    assert compared.columns[0].name == "k"  # which only the new model reads


def tenth_of(rows, compared):
    """The tenth of each row, found again by how its ratio or difference stands to the others'."""
    apart = np.log(rows["new"] / rows["old"]) if compared.by_ratio else (rows["new"] - rows["old"]) / rows["exposure"]
    sizes = (rows["weight"] * rows["exposure"]).groupby(apart.round(10)).sum()
    tenths = np.floor(10 * (sizes.cumsum() - sizes / 2) / sizes.sum())
    return apart.round(10).map(tenths.rank(method="dense") - 1).astype(int)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_bear_the_claims_out_and_others_refute_them(kind):
    rows, compared = by_row(kind), case(kind)[-1]
    weight, size = rows["weight"], rows["weight"] * rows["exposure"]
    loss = case(kind)[0][0].loss
    values = [rows[name].to_numpy() for name in NAMES]
    happened = rows["seen"].to_numpy()
    if compared.metric != "AUC":
        offset = np.log(rows["exposure"].to_numpy())
        constant = loss.base_score(happened, weight.to_numpy(), offset) + offset
        values = [loss.loss(happened, loss.link(value)) for value in values]
        happened = loss.loss(happened, constant)
    lines = {
        BetterClaim: list(zip(happened, weight, *values, strict=True)),
        TenthClaim: list(zip(tenth_of(rows, compared), rows["seen"] * weight, rows["old"] * weight,
                             rows["new"] * weight, size, strict=True)),
        BelowClaim: list(zip(tenth_of(rows, compared), rows["seen"], rows["old"], rows["new"], weight, strict=True)),
        GroupClaim: list(zip(rows["k"], rows["old"] * weight, rows["new"] * weight, size, strict=True)),
    }  # fmt: skip
    claims = compared.claims()
    assert {type(claim) for claim in claims} == set(lines) - {TenthClaim if kind == "quantile" else BelowClaim}
    for claim in claims:
        assert claim.holds(lines[type(claim)])
        places = range(len(rows)) if isinstance(claim, BetterClaim) else [
            k for k, line in enumerate(lines[type(claim)]) if line[0] in (getattr(claim, "place", -1),
                                                                          getattr(claim, "name", ""))]  # fmt: skip
        assert not claim.holds([line for k, line in enumerate(lines[type(claim)]) if k != places[0]])
    words = compared.words()
    assert words.startswith("New ") == (compared.gap.lower > 0)


def test_of_quantiles_the_share_below_says_which_is_nearer():
    """The old model lacks k: among rows where it predicts too little, too many are above it."""
    compared = case("quantile")[-1]
    frame = compared.frame()
    assert frame["first_below"].iloc[-1] < LEVEL - 0.05 < frame["second_below"].iloc[-1]
    assert (frame["nearer"] == "new").sum() == compared.nearer[1] > 5
    apart = (frame[list(BELOW)] - LEVEL).abs()
    assert ((apart["second_below"] < apart["first_below"]) == (frame["nearer"] == "new")).all()
    assert "80% should be" in compared.words()
    for plot in (compared.describe(), compared.describe(column="k")):
        assert "below the prediction" in plot.main.x.title + plot.main.y.title


@pytest.mark.parametrize("kind", ["binary", "exposure"])
def test_a_whole_weight_is_as_many_rows_of_a_cluster(kind):
    fitted, X, y, given, held, of_class, _ = case(kind)
    given = {**given, "groups": np.arange(len(y))}
    by_weight = compare_models(*fitted, X, y, **given, held_out=held, of_class=of_class)
    times = np.repeat(np.arange(len(y)), given["sample_weight"].astype(int))
    repeated = {name: values[times] for name, values in given.items() if name != "sample_weight"}
    by_rows = compare_models(*fitted, X.iloc[times], y[times], **repeated, held_out=held[times], of_class=of_class)
    assert by_weight.gap.value == pytest.approx(by_rows.gap.value, rel=1e-9)
    assert by_weight.gap.lower == pytest.approx(by_rows.gap.lower, rel=1e-9)
    one, other = by_weight.frame(), by_rows.frame()
    np.testing.assert_allclose(one[["observed", "first", "second"]], other[["observed", "first", "second"]], rtol=1e-9)


def test_the_order_of_models_only_turns_the_sign_and_alike_models_differ_nowhere():
    fitted, X, y, given, held, of_class, compared = case("binary")
    turned = compare_models(*fitted[::-1], X, y, **given, held_out=held, of_class=of_class, names=NAMES[::-1])
    assert turned.gap.lower == pytest.approx(-compared.gap.upper, abs=1e-12)
    assert turned.better.words() == compared.better.words()
    same = compare_models(fitted[0], fitted[0], X, y, **given, held_out=held)
    assert (same.gap.value, len(same.tenths)) == (0.0, 1)
    assert "clearly better" in same.words()


def test_what_cannot_be_compared_is_refused():
    fitted, X, y, given, _, _, _ = case("squared")
    chance, counted = case("binary")[0][0], case("exposure")[0][0]
    quantile = case("quantile")[0][0]
    refused = ((quantile, "the other a quantile"), (counted, "Only one of the models"), (chance, "two of a kind"))
    for other, message in refused:
        with pytest.raises(TableError, match=message):
            compare_models(fitted[0], other, X, y)
    with pytest.raises(TableError, match="different quantiles"):
        compare_models(quantile, GAMRegressor(objective="quantile", quantile=0.5, **SETTINGS).fit(X[["x"]], y), X, y)
    with pytest.raises(TableError, match="two different names"):
        compare_models(*fitted, X, y, names=("a", "a"))
    with pytest.raises(TableError, match="no column 'lost'"):
        compare_models(*fitted, X, y, columns="lost", **given)


@pytest.mark.parametrize(
    "gap", [Difference(0.05, 0.02, 0.08), Difference(0.0, -0.02, 0.02), Difference(-0.05, -0.08, -0.02)]
)
def test_models_whose_names_begin_alike_are_told_apart(gap):
    names = [f"Renewal of contracts in all regions of the north, year {year}" for year in (2025, 2026)]
    words = BetterClaim((names[0], names[1]), (0.7, 0.7 + gap.value), gap, rows=100, is_ranking=True).words()
    assert "…5 " in words.replace(":", " ")
    assert "…6 " in words.replace(":", " ")
