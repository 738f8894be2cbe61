"""A model on newer rows: figures as pandas and scikit-learn have them, claims that rows bear out, and who came told
from what changed on planted truths."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from gamcore import GAMClassifier, GAMRegressor, Sample, TableError, on_newer_rows
from gamcore.additions.newer_rows.claims import FallClaim

SETTINGS = {"outer_bags": 2, "max_rounds": 150, "interactions": 0, "random_state": 0}
KINDS = ["binary", "first", "squared", "exposure"]
NAMES = ("own", "newer")


def drawn(kind, n, seed, moved=0.0, steep=1.0):
    """Rows of a kind of outcome. moved : by how much x did. steep : what its effect is multiplied by."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.normal(moved, 1, n), "k": rng.choice(["a", "b"], n), "beside": rng.normal(size=n)})
    score = -1.0 + steep * X["x"] + 0.5 * (X["k"] == "a")
    given = {"sample_weight": rng.integers(0, 3, n).astype(float), "groups": rng.integers(0, 2 * n, n)}
    if kind == "squared":
        y = score + rng.normal(size=n)
    elif kind == "exposure":
        given["exposure"] = rng.uniform(0.5, 2, n)
        y = rng.poisson(np.exp(0.5 * score) * given["exposure"])
    else:
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    return X, np.asarray(y), given


def sample(rows, **other):
    X, y, given = rows
    return Sample(X, y, **{**given, **other})


def fitted(kind, seed=0):
    X, y, given = drawn(kind, 2400, seed)
    model = (GAMClassifier(**SETTINGS) if kind in ("binary", "first")
             else GAMRegressor(objective="poisson" if kind == "exposure" else "squared", **SETTINGS))  # fmt: skip
    return model.fit(X[["x", "k"]], y, **given)


@cache
def case(kind):
    """A model, its own rows that it has not seen, newer rows, and how it does on these."""
    model, own, newer = fitted(kind), drawn(kind, 900, 1), drawn(kind, 1500, 2, 0.7, 0.4)
    of_class = "no" if kind == "first" else None
    on = on_newer_rows(model, sample(own), sample(newer), of_class=of_class, names=NAMES)
    return model, own, newer, of_class or "yes", on


def by_row(kind):
    """All rows as a frame: which sample, outcome, prediction of the whole exposure, weight and exposure."""
    model, own, newer, label, _ = case(kind)
    frames = []
    for name, (X, y, given) in zip(NAMES, (own, newer), strict=True):
        exposure = given.get("exposure", np.ones(len(y)))
        is_chance = kind in ("binary", "first")
        said = (model.predict_proba(X[["x", "k"]])[:, list(model.classes_).index(label)] if is_chance
                else model.predict(X[["x", "k"]]) * exposure)  # fmt: skip
        seen = (y == label).astype(float) if is_chance else y.astype(float)
        frames.append(X.assign(sample=name, seen=seen, said=said, weight=given["sample_weight"], exposure=exposure))
    rows = pd.concat(frames, ignore_index=True)
    return rows[rows["weight"] > 0]


def metric_of(kind, rows, weight):
    """The main metric of rows, by scikit-learn where it has it."""
    if kind in ("binary", "first"):
        return roc_auc_score(rows["seen"], rows["said"], sample_weight=weight)
    if kind == "squared":
        return r2_score(rows["seen"], rows["said"], sample_weight=weight)
    constant = np.average(rows["seen"] / rows["exposure"], weights=weight * rows["exposure"]) * rows["exposure"]
    deviances = [np.average(mean - rows["seen"] * np.log(mean), weights=weight) for mean in (constant, rows["said"])]
    at_best = rows["seen"].where(rows["seen"] > 0, 1.0)
    best = np.average(rows["seen"] - rows["seen"] * np.log(at_best), weights=weight)
    return 1 - (deviances[1] - best) / (deviances[0] - best)


def weights_as_newer(own, newer):
    """The weights of own rows, of which the bins of the prediction have the shares that they have in the newer ones."""
    rates = [(rows["said"] / rows["exposure"]).astype(np.float32) for rows in (own, newer)]
    sizes = [rows["weight"] * rows["exposure"] for rows in (own, newer)]
    n_bins = min(max(len(own) // 25, 1), 20)
    running = sizes[0][rates[0].sort_values(kind="stable").index].cumsum()
    ends = {rates[0][running.index[(running >= running.iloc[-1] * k / n_bins).argmax()]] for k in range(1, n_bins)}
    cuts = [-np.inf, *sorted(ends - {rates[0].min()}), np.inf]
    shares = []
    for rate, size in zip(rates, sizes, strict=True):
        bins = pd.cut(rate, cuts, right=False)
        shares.append((bins, size.groupby(bins, observed=False).sum() / size.sum()))
    return own["weight"] * shares[0][0].map(shares[1][1] / shares[0][1]).astype(float)


@pytest.mark.parametrize("kind", KINDS)
def test_figures_and_claims_are_those_of_pandas_and_of_scikit_learn(kind):
    rows, on = by_row(kind), case(kind)[-1]
    own, newer = (rows[rows["sample"] == name] for name in NAMES)
    weighted = weights_as_newer(own, newer)
    used = weighted > 0
    metrics = [metric_of(kind, own, own["weight"]), metric_of(kind, own[used], weighted[used]),
               metric_of(kind, newer, newer["weight"])]  # fmt: skip
    fall, mean = on.claims()
    assert fall.holds(metrics)
    assert not fall.holds([*metrics[:2], metrics[2] + 0.001])
    lines = list(zip(rows["sample"] == "newer", rows["seen"] * rows["weight"], rows["said"] * rows["weight"],
                     rows["exposure"] * rows["weight"], strict=True))  # fmt: skip
    assert mean.holds(lines)
    assert not mean.holds(lines[1:])
    table = on.frame("k").set_index("group")
    for name, line in table.iterrows():
        for start, side in (("", own), ("newer_", newer)):
            mine = side[side["k"] == name]
            size = (mine["weight"] * mine["exposure"]).sum()
            assert line[f"{start}rows"] == len(mine)
            for column, of in (("observed", "seen"), ("predicted", "said")):
                assert line[f"{start}{column}"] == pytest.approx((mine[of] * mine["weight"]).sum() / size, rel=1e-9)
    by_prediction = on.frame()
    assert by_prediction["rows"].sum() == len(own)
    assert by_prediction["newer_rows"].sum() == len(newer)
    assert by_prediction["share"].to_numpy() == pytest.approx(np.full(10, 0.1), abs=0.02)


@pytest.mark.parametrize(("moved", "steep", "cause"), [(-0.3, 1.0, ""), (0.0, 0.2, "changed"), (0.0, 1.0, "")])
def test_who_came_is_told_from_what_changed(moved, steep, cause):
    model, own = fitted("binary"), drawn("binary", 1500, 11)
    newer = drawn("binary", 1500, 12, moved, steep)
    on = on_newer_rows(model, Sample(*own[:2]), Sample(*newer[:2]))
    fall = on.fall
    assert fall.came.value + fall.changed.value == pytest.approx(fall.whole.value, abs=1e-12)
    assert FallClaim(NAMES, on.metric, fall).cause == cause
    assert fall.changed.is_clear == (cause == "changed")
    assert on.came.is_clear == (moved != 0)


def test_a_spread_that_shrinks_is_who_came():
    """Where all rows are alike, nobody can be told apart: outcomes follow the predictions as before."""
    model, own = fitted("squared"), drawn("squared", 2000, 21)
    X, y, _ = drawn("squared", 8000, 22)
    alike = (X["x"].abs() < 0.7).to_numpy()
    on = on_newer_rows(model, Sample(*own[:2]), Sample(X[alike], y[alike]))
    assert on.fall.whole.upper < 0
    assert on.claims()[0].cause == "came"
    assert "outcomes follow the predictions as before" in on.words()
    assert not on.fall.changed.is_clear


def test_what_cannot_be_asked_is_refused():
    model, own, newer, _, _ = case("exposure")
    with pytest.raises(TableError, match="two different names"):
        on_newer_rows(model, sample(own), sample(newer), names=("a", "a"))
    with pytest.raises(TableError, match='In "newer": The model was fitted with exposure'):
        on_newer_rows(model, sample(own), sample(newer, exposure=None), names=NAMES)
    with pytest.raises(TableError, match='groups is missing in "newer" alone'):
        on_newer_rows(model, sample(own), sample(newer, groups=None), names=NAMES)
    with pytest.raises(TableError, match=r'In "own": .* reads: add it'):
        on_newer_rows(model, sample((own[0][["x"]], *own[1:])), sample(newer), names=NAMES)
