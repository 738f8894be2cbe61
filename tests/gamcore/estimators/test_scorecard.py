"""A model as a card of whole points: added up by hand, in SQL, Python and JSON, and what making it costs."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from gamcore import GAMClassifier, GAMRegressor, TableError
from gamcore.estimators.scorecard import SCORE, monitor, scorecard, total_points
from gamcore.io import ScoringError, from_json, to_dict, to_json, to_python, to_sql
from tests.support.elsewhere import NAME, cells, in_duckdb, in_sqlite, loaded, on_edges, table
from tests.support.hostile import EVIL
from tests.support.places import DATA, ROOT

ROWS = 10_000


@pytest.fixture(scope="module")
def fitted():
    X = table(3000, 0)
    score = X[NAME].fillna(0) + 0.05 * X["whole"].astype(float).fillna(9) + np.where(X["level"] == EVIL, 1.0, 0.0)
    y = np.where(np.random.default_rng(1).random(len(X)) < 1 / (1 + np.exp(1.5 - score)), "good", "bad")
    model = GAMClassifier(outer_bags=3, max_rounds=60, random_state=0, bands=10, interactions=[(NAME, "whole")])
    return model.fit(X, y), X, y


@pytest.fixture(scope="module")
def card(fitted):
    return scorecard(fitted[0], *fitted[1:])


def by_hand(card, row):
    """Add up a row's points from the card as it is printed, one bin per feature."""
    total = card.start
    for part in card.parts:
        bins = card.bins[part.place]
        value = row[bins.feature.column]
        missing = value is None or value is pd.NA or value is pd.NaT or value != value
        if missing:
            code = 0
        elif bins.feature.is_category:
            code = bins.codes_of_levels.get(str(value), bins.unseen)
        else:
            days = float(value.to_datetime64().astype("datetime64[us]").astype(np.int64)) / 86_400e6 \
                if bins.feature.kind == "date" else float(value)  # fmt: skip
            code = 1 + sum(days >= cut for cut in bins.cuts)
        [one] = [one for one in part.bins if code in one.codes]
        total += one.points
    return total


def test_points_are_added_up_by_hand(card):
    rows = table(300, 5, hostile=True)
    points = total_points(card, rows)
    for k in range(300):
        assert points[k] == by_hand(card, rows.iloc[k])


def test_it_has_few_bins_in_whole_points_from_0(card):
    frame = card.frame()
    assert frame["points"].dtype == np.int64
    for part in card.parts:
        values = [one for one in part.bins if not one.label.startswith("(missing") and one.label != "(new)"]
        assert 1 <= len(values) <= 10
        assert min(one.points for one in part.bins if one.rows > 0) == 0
        codes = np.sort(np.concatenate([one.codes for one in part.bins]))
        assert np.array_equal(codes, np.arange(card.bins[part.place].size))
        assert all(one.points != other.points for one, other in itertools.pairwise(values))
    assert "gone" not in set(frame["feature"])  # a column without values has no points


def test_points_mean_odds(fitted):
    model, X, _ = fitted
    card = scorecard(model, base=500, odds=4, double=50)
    points = card.points
    assert points.score(np.array(500.0)) == pytest.approx(math.log(4))
    assert points.score(np.array(550.0)) == pytest.approx(math.log(8))
    other = scorecard(model, base=500, odds=4, double=50, favours="bad")
    assert other.points.score(np.array(550.0)) == pytest.approx(-math.log(8))  # the odds of the second class
    chances = model.predict_proba(X)[:, 1]
    both = total_points(card, X), total_points(other, X)
    assert np.corrcoef(both[0], both[1])[0, 1] < -0.999
    assert np.corrcoef(card.points.score(both[0]), np.log(chances / (1 - chances)))[0, 1] > 0.97


def test_each_step_tells_what_it_costs(card, fitted):
    model, X, y = fitted
    assert card.steps["step"].tolist() == ["the model", "without its pairs", "with few bins", "in whole points"]
    assert card.steps["AUC"].iloc[0] == pytest.approx(roc_auc_score(y, model.decision_function(X)))
    assert card.steps["AUC"].iloc[-1] == pytest.approx(roc_auc_score(y, total_points(card, X)))
    assert card.steps["AUC, change"].sum() == pytest.approx(card.steps["AUC"].iloc[-1] - card.steps["AUC"].iloc[0])
    assert abs(card.steps["AUC, change"].iloc[-1]) < 0.002


def test_bins_tell_population_rate_and_band(card, fitted):
    _, X, y = fitted
    frame = card.frame().set_index(["feature", "bin"])
    whole = frame[frame.index.get_level_values(0) == "(start)"].iloc[0]
    assert whole["population"] == 1.0
    assert whole["rate"] == pytest.approx((y == "good").mean())
    label = next(one for one in frame.loc["level"].index if EVIL in one.split(", "))
    levels = label.split(", ")
    inside = X["level"].isin(levels)
    row = frame.loc[("level", label)]
    assert row["population"] == pytest.approx(inside.mean())
    assert row["rate"] == pytest.approx((y[inside] == "good").mean())
    assert row["rate, lower"] < row["rate"] < row["rate, upper"]
    assert row["lower"] < row["upper"]
    shares = frame.groupby(level=0)["population"].sum()
    np.testing.assert_allclose(shares, 1.0)


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_sql_has_the_same_points(card, fitted, run):
    rows = on_edges(table(ROWS, 2, hostile=True), fitted[0])
    made = run(rows, to_sql(card, "rows to score", kinds={"flag": "boolean"}))
    points = total_points(card, rows)
    np.testing.assert_array_equal(made["score"], points)
    np.testing.assert_allclose(made["prediction"], 1 / (1 + np.exp(-card.points.score(points))), atol=1e-12)


def test_python_and_json_have_the_same_points(card, fitted):
    rows = on_edges(table(2000, 2, hostile=True), fitted[0])
    points, written = total_points(card, rows), loaded(to_python(card))
    listed = cells(rows)
    assert [written["score"](row) for row in listed] == points.tolist()
    chance = 1 / (1 + np.exp(-card.points.score(points)))
    np.testing.assert_allclose([written["predict"](row) for row in listed], chance, atol=1e-12)
    back = from_json(to_json(card))
    np.testing.assert_array_equal(back.score(rows), points)
    np.testing.assert_allclose(back.predict(rows), chance, atol=1e-12)
    assert to_json(back) == to_json(card)
    for change in ({"odds": 0}, {"double": -1.0}, {"rising": 1}, {"base": "x"}):
        plain = to_dict(card)
        with pytest.raises(ScoringError):
            from_json(json.dumps(plain | {"points": plain["points"] | change}))


def loans():
    frame = pd.read_csv(ROOT / "sample_data" / "loans.csv", sep=None, engine="python")
    return frame[frame["product"] == "card"].drop(columns="product")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target"), [("bank", "y"), ("telco_churn", "Churn"), ("loans", "default")])
def test_a_card_loses_at_most_two_thousandths_of_auc(name, target):
    source = DATA / f"{name}.parquet"
    if name != "loans" and not source.is_file():
        pytest.skip("the real tables are not here")
    frame = loans() if name == "loans" else pd.read_parquet(source)
    lost = []
    for seed in range(4):  # of 2,700 held-out loans, an AUC of the same scores moves by .0015
        train, held = train_test_split(frame, random_state=seed, test_size=0.3)
        model = GAMClassifier(random_state=0, interactions=0)
        model.fit(train.drop(columns=target), train[target].astype(str))
        steps = scorecard(model, held.drop(columns=target), held[target].astype(str)).steps
        assert abs(steps["AUC, change"].iloc[-1]) < 0.001  # by whole points alone
        lost.append(steps["AUC"].iloc[0] - steps["AUC"].iloc[-1])
    assert np.mean(lost) <= 0.002, lost


def test_a_monitor_names_what_moved(card, fitted):
    _, X, _ = fitted
    fresh = table(3000, 11)
    still = monitor(card, X, fresh)
    assert still["part"].iloc[0] == SCORE
    assert set(still["verdict"]) == {"no change", "dates"}
    assert (still["psi"] < 3 * still["by chance"] + 0.01).all()
    moved = fresh.assign(**{NAME: fresh[NAME] + 1.0})
    seen = monitor(card, X, moved).set_index("part")
    assert seen.loc[NAME, "verdict"] == "moved"
    assert seen.loc[SCORE, "verdict"] == "moved"
    assert seen.loc[NAME, "psi"] > 0.25
    assert seen.loc["level", "verdict"] == "no change"
    assert seen.loc[SCORE, "points now"] == pytest.approx(total_points(card, moved).mean())


def test_a_monitor_s_index_is_that_of_the_card_s_bins(card, fitted):
    _, X, _ = fitted
    fresh = table(2000, 12).assign(level="a")
    part = next(part for part in card.parts if part.feature == "level")

    def shares(frame):
        names = frame["level"].astype(object).where(frame["level"].notna(), None)
        codes = [0 if one is None else card.bins[part.place].codes_of_levels.get(one, 10**6) for one in names]
        return np.array([max(sum(code in one.codes for code in codes), 0.5) / len(codes) for one in part.bins])

    p, q = shares(X), shares(fresh)
    there = (p * len(X) > 0.5) | (q * len(fresh) > 0.5)
    wanted = ((p - q) * np.log(p / q))[there].sum()
    assert monitor(card, X, fresh).set_index("part").loc["level", "psi"] == pytest.approx(wanted)


def test_what_has_no_points_is_said(fitted):
    model, X, y = fitted
    with pytest.raises(TableError, match="of a model of two classes"):
        scorecard(GAMRegressor(max_rounds=5).fit(X, np.arange(len(X))))
    with pytest.raises(TableError, match="favours is 'best': choose one of bad, good"):
        scorecard(model, favours="best")
    with pytest.raises(TableError, match="the last two above 0"):
        scorecard(model, double=0)
    with pytest.raises(TableError, match="bins must be at least 2"):
        scorecard(model, bins=1)
    with pytest.raises(TableError, match="all of one class"):
        scorecard(model, X[y == "good"], y[y == "good"])
