"""Reasons for decisions: those that push a row across the line, the same in a table, SQL, Python and JSON."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor
from gamcore.data.binning import encode_table
from gamcore.data.table import Table
from gamcore.estimators.scorecard import scorecard
from gamcore.explain.reasons import MOST, NO_REASON
from gamcore.io import ScoringError, from_json, to_dict, to_json, to_python, to_sql
from gamcore.io.reasons import for_review, parts_of, tell, with_reasons
from tests.support.elsewhere import NAME, cells, in_duckdb, in_sqlite, loaded, on_edges, table
from tests.support.gears import mostly_slow
from tests.support.hostile import EVIL

ROWS = 10_000
TEXTS = {"whole": ("a lot of it; it's 'much'", "too\nlittle of it"), NAME: (EVIL, 'a "low" one')}


@pytest.fixture(scope="module")
def fitted():
    X = table(3000, 0)
    score = X[NAME].fillna(0) + 0.05 * X["whole"].astype(float).fillna(9) + np.where(X["level"] == EVIL, 1.0, 0.0)
    score = score + np.where(X["flag"].fillna(False), 0.4, 0.0) + 0.1 * np.log1p(X["tail"].clip(0).fillna(0))
    y = np.random.default_rng(1).random(len(X)) < 1 / (1 + np.exp(2.0 - score))
    model = GAMClassifier(
        outer_bags=3, max_rounds=60, random_state=0, interactions=[(NAME, "whole"), ("flag", "level")],
        triples=[(NAME, "whole", "level")],
    )  # fmt: skip
    return model.fit(X, y), X, y


def told(fitted, **how):
    model, X, _ = fitted
    return with_reasons(model, X, 0.4, texts=TEXTS, **how)


@pytest.fixture(scope="module")
def rows(fitted):
    return on_edges(table(ROWS, 2, hostile=True), fitted[0])


def parts_by_hand(formula, row):
    """The parts of a row's score by feature, with half of each pair and a third of each triple."""
    codes = encode_table(Table.of(row), formula.bins)[:, 0]
    parts = dict.fromkeys([bins.feature.name for bins in formula.bins], 0.0)
    for place, scores in formula.terms:
        parts[formula.bins[place].feature.name] += scores[codes[place]]
    for (first, second), values in formula.pairs:
        for place in (first, second):
            parts[formula.bins[place].feature.name] += values[codes[first], codes[second]] / 2
    for triple in formula.triples:
        where = tuple(part[codes[j]] for j, part in zip(triple.features, triple.parts, strict=True))
        for place in triple.features:
            parts[formula.bins[place].feature.name] += triple.scores[where] / 3
    return parts


@pytest.mark.slow
@pytest.mark.parametrize("base", ["average", "best", "line"])
def test_the_largest_pushes_towards_the_decision_are_told(fitted, base):
    formula = told(fitted, base=base)
    X = fitted[1].head(200)
    made, score = tell(formula, X), formula.score(X)
    each = {one.name: one for one in formula.reasons.each}
    for k in range(len(X)):
        above = score[k] >= formula.reasons.line
        parts = parts_by_hand(formula, X.iloc[[k]])
        pushes = {name: (parts[name] - one.above if above else one.below - parts[name]) for name, one in each.items()}
        largest = max(pushes.values())
        wanted = sorted((name for name in pushes if pushes[name] > 1e-9), key=lambda name: -pushes[name])[:4]
        wanted = [name for name in wanted if pushes[name] >= largest / 100]
        texts = [each[name].up if above else each[name].down for name in wanted]
        assert [text for text in made.iloc[k][["reason 1", "reason 2", "reason 3", "reason 4"]] if text] == texts
        if wanted:
            assert made.iloc[k]["push 1 (log-odds)"] == pytest.approx(pushes[wanted[0]])
    assert made["decision"].tolist() == (fitted[0].predict_proba(X)[:, 1] >= 0.4).tolist()


@pytest.mark.slow
def test_bases_are_what_they_say(fitted):
    model, X, _ = fitted
    parts = pd.DataFrame([parts_by_hand(told(fitted), X.iloc[[k]]) for k in range(400)])
    near = with_reasons(model, X.head(400), 0.4, base="average").reasons
    for one in near.each:
        assert one.above == one.below == pytest.approx(parts[one.name].mean())
    for one in with_reasons(model, X.head(400), 0.4, base="best").reasons.each:
        assert (one.above, one.below) == (pytest.approx(parts[one.name].min()), pytest.approx(parts[one.name].max()))
    line = with_reasons(model, X.head(400), 0.4, base="line").reasons
    formula = told(fitted)
    assert formula.intercept + sum(one.above for one in line.each) == pytest.approx(line.line)  # a row at the line


def test_removing_the_told_reasons_changes_decisions_as_often_as_brute_force(fitted):
    """Of all sets of four features, none changes a decision by going to its base where the told ones do not."""
    formula, X = told(fitted, base="average"), fitted[1].head(600)
    reasons, score = formula.reasons, formula.score(X)
    pushes = reasons.pushes(parts_of(formula, reasons, encode_table(Table.of(X), formula.bins)), score)
    chosen, _ = reasons.choose(pushes)
    above = score >= reasons.line
    removed = (np.take_along_axis(pushes, np.maximum(chosen, 0), axis=1) * (chosen != NO_REASON)).sum(axis=1)
    flips = np.where(above, score - removed < reasons.line, score + removed >= reasons.line)
    best = np.zeros(len(X), bool)
    for size in range(1, 5):
        for some in itertools.combinations(range(len(reasons.each)), size):
            moved = pushes[:, some].sum(axis=1)
            best |= np.where(above, score - moved < reasons.line - 1e-12, score + moved >= reasons.line + 1e-12)
    assert flips.sum() == pytest.approx(best.sum(), abs=1)
    assert 0.3 < flips.mean() < 1.0


def test_a_sensitive_feature_is_never_told_but_named_for_review(fitted):
    plain, hidden = told(fitted), told(fitted, sensitive=[NAME, "flag"])
    X = fitted[1].head(500)
    before, after = tell(plain, X), tell(hidden, X)
    secret = {text for one in hidden.reasons.each if one.sensitive for text in (one.up, one.down)}
    columns = ["reason 1", "reason 2", "reason 3", "reason 4"]
    assert not after[columns].isin(secret).any().any()
    pushes = hidden.reasons.pushes(
        parts_of(hidden, hidden.reasons, encode_table(Table.of(X), hidden.bins)), hidden.score(X)
    )
    for k, names in enumerate(for_review(hidden, X)):
        first = [j for j in np.argsort(-pushes[k], kind="stable")[:4] if pushes[k, j] > max(0, pushes[k].max() / 100)]
        assert names == [hidden.reasons.each[j].name for j in sorted(first) if hidden.reasons.each[j].sensitive]
        assert after["review"].iloc[k] == (", ".join(names) or None)
    counted = np.zeros(len(hidden.interactions))
    for one in hidden.reasons.each:
        for k, share in one.joint:
            features = {hidden.bins[j].feature.name for j in hidden.interactions[k].features}
            assert one.sensitive or not features & {NAME, "flag"}  # nothing of them is told under another name
            counted[k] += share
    np.testing.assert_allclose(counted, 1.0)
    assert hidden.triples
    assert set(after["review"].dropna()) <= {NAME, "flag", f"{NAME}, flag"}
    assert before["review"].isna().all()


def test_a_pair_may_be_a_reason_of_its_own(fitted):
    formula = told(fitted, pairs_apart=True, sensitive=["flag"])
    names = {one.name: one for one in formula.reasons.each}
    assert f"{NAME} × whole" in names
    assert names["level × flag"].sensitive
    assert not names["level × flag"].terms
    assert f"whole × {NAME} × level" in names or f"{NAME} × whole × level" in names
    assert all(not one.joint for one in formula.reasons.each if "×" not in one.name)


@pytest.mark.slow
@pytest.mark.parametrize("run", mostly_slow([in_sqlite, in_duckdb], 1))
@pytest.mark.parametrize("how", mostly_slow([{"base": "best", "sensitive": [NAME, "flag"]}, {"base": "line"}], 1))
def test_sql_tells_the_same_reasons(fitted, rows, run, how):
    formula = told(fitted, **how)
    keyed = rows.assign(key=np.arange(ROWS))
    made = run(keyed, to_sql(formula, "rows to score", kinds={"flag": "boolean"}, key="key", columns=["key"]))
    made = made.sort_values("key", ignore_index=True)
    wanted = tell(formula, rows)
    for name in ("reason 1", "reason 2", "reason 3", "reason 4", "review"):
        theirs = made[name].astype(object).where(made[name].notna(), None)
        assert theirs.tolist() == wanted[name].tolist()
    np.testing.assert_allclose(made["score (log-odds)"], wanted["score (log-odds)"], atol=1e-9)
    assert "prediction" in made


@pytest.mark.slow
def test_plain_python_tells_the_same_reasons(fitted, rows):
    formula = told(fitted, base="line", sensitive=["flag"])
    written, some = loaded(to_python(formula)), rows.head(2000)
    wanted = tell(formula, some)
    for row, (_, line) in zip(cells(some), wanted.iterrows(), strict=True):
        above, reasons, review = written["reasons"](row)
        assert above == line["decision"]
        assert reasons == [text for text in line[["reason 1", "reason 2", "reason 3", "reason 4"]] if text]
        assert review == ([] if line["review"] is None else line["review"].split(", "))


def test_json_tells_the_same_reasons_and_comes_back_the_same(fitted, rows):
    formula = told(fitted, base="best", sensitive=["flag"])
    back = from_json(to_json(formula))
    pd.testing.assert_frame_equal(tell(back, rows), tell(formula, rows))
    assert to_json(back) == to_json(formula)
    plain = to_dict(formula)
    for change in (
        {"most": 0}, {"most": 10**6}, {"base": "x"}, {"line": None}, {"each": None},
        {"each": plain["reasons"]["each"][:1] * 2},
        {"each": [plain["reasons"]["each"][0] | {"terms": [99]}]}, {"each": [plain["reasons"]["each"][0] | {"up": ""}]},
        {"each": [plain["reasons"]["each"][0] | {"sensitive": 1}]},
    ):  # fmt: skip
        with pytest.raises(ScoringError):
            from_json(json.dumps(plain | {"reasons": plain["reasons"] | change}))


def test_a_card_tells_reasons_in_points(fitted):
    model, X, y = fitted
    card = scorecard(model, X, y)
    formula = with_reasons(card, X, 595)
    made = tell(formula, X.head(300))
    assert (made["decision"] == (made["score"] >= 595)).all()
    pushes = made[[name for name in made if name.startswith("push ")]]
    assert (pushes.fillna(1) > 0).all().all()
    keyed = X.head(300).assign(key=np.arange(300))
    there = in_duckdb(keyed, to_sql(formula, "rows to score", kinds={"flag": "boolean"}, key="key", columns=["key"]))
    assert there.sort_values("key")["reason 1"].tolist() == made["reason 1"].tolist()


def test_a_number_has_reasons_too():
    X = table(1500, 3)
    model = GAMRegressor(max_rounds=30, outer_bags=2, random_state=0).fit(X, X[NAME].fillna(0) * 10 + 5)
    formula = with_reasons(model, X, 5.0)
    made = tell(formula, X)
    assert (made.loc[X[NAME] > 0.5, "reason 1"] == f"{NAME} raises it").all()
    assert formula.reasons.line == 5.0


def test_what_cannot_tell_is_said(fitted):
    model, X, _ = fitted
    for how, words in (
        ({"line": 1.5}, "give a prediction that the model can make"),
        ({"line": 0.5, "base": "x"}, "choose one of average"),
        ({"line": 0.5, "most": 0}, "most is 0"), ({"line": 0.5, "sensitive": ["age"]}, "sensitive names 'age'"),
    ):  # fmt: skip
        with pytest.raises(ScoringError, match=words):
            with_reasons(model, X, **how)
    formula = with_reasons(model, X, 0.5)
    with pytest.raises(ScoringError, match="need a key"):
        to_sql(formula, "t")
    with pytest.raises(ScoringError, match="tells no reasons"):
        tell(replace(formula, reasons=None), X)
    several = GAMClassifier(max_rounds=5, outer_bags=2).fit(
        X, X["level"].isin(["a"]).astype(int) + X["flag"].fillna(False)
    )
    with pytest.raises(ScoringError, match="one score per row"):
        with_reasons(several, X, 0.5)
    spoilt = replace(formula, reasons=replace(formula.reasons, each=(replace(formula.reasons.each[0], up="\0"),)))
    with pytest.raises(ScoringError, match="a character that SQL cannot write"):
        to_sql(spoilt, "t", key="key")


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_a_constant_model_has_no_reasons_anywhere(run):
    X = table(800, 4)
    model = GAMRegressor(order="greedy", outer_bags=2, max_rounds=5, random_state=0)
    model.fit(X, np.random.default_rng(0).normal(size=len(X)))
    formula = with_reasons(model, X, 0.0)
    assert formula.reasons.each == ()
    made = tell(formula, X)
    assert made["reason 1"].isna().all()
    assert made["push 1"].isna().all()
    assert for_review(formula, X) == [[]] * len(X)
    assert to_json(from_json(to_json(formula))) == to_json(formula)
    assert loaded(to_python(formula))["reasons"](cells(X.head(1))[0])[1:] == ([], [])
    there = run(X.assign(key=np.arange(len(X))), to_sql(formula, "rows to score", kinds={"flag": "boolean"}, key="key"))
    assert there["reason 1"].isna().all()
    assert there["review"].isna().all()


@pytest.mark.parametrize("name", mostly_slow(["scored", "looked", "parts", "ranked", "chosen"], 0))
def test_sql_takes_no_name_that_is_taken(fitted, name):
    formula, X = told(fitted), fitted[1].head(40).drop(columns="when").assign(**{"reason 1": np.arange(40)})
    query = to_sql(formula, name, kinds={"flag": "boolean"}, key="reason 1", columns=["reason 1"])
    with duckdb.connect() as base:
        base.register("given", X.assign(when=fitted[1]["when"].head(40)))
        base.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
        made = base.execute(query).fetchdf().sort_values("reason 1")
    assert made["reason 1_"].astype(object).where(made["reason 1_"].notna(), None).tolist() == \
        tell(formula, fitted[1].head(40))["reason 1"].tolist()  # fmt: skip


def test_a_card_may_hide_a_feature_without_points(fitted):
    model, X, y = fitted
    card = scorecard(model, X, y)
    assert "gone" not in {part.feature for part in card.parts}
    assert with_reasons(card, X, 595, sensitive=["gone"]).reasons.each


@pytest.mark.parametrize("most", [5, 1_001, 10**6, 10**12])
def test_more_reasons_than_there_are_cost_nothing(fitted, rows, most):
    """There are as many columns as reasons, and they are the same again from JSON."""
    formula, few = told(fitted, most=most), rows.head(50)
    assert 1 <= formula.reasons.most <= max(len(formula.reasons.each), MOST)
    all_of_them = tell(told(fitted, most=len(formula.reasons.each)), few)
    made = tell(formula, few)
    shared = [name for name in made if name in all_of_them]
    pd.testing.assert_frame_equal(made[shared], all_of_them[shared])
    pd.testing.assert_frame_equal(tell(from_json(to_json(formula)), few), made)
