"""Edits by hand: what each does, against loops by hand; undone to the bit, kept in files, refused in words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

import gamcore
from gamcore import GAMClassifier, GAMRegressor, ModelFileError, TableError, add_bands, refit_by_counts, update
from gamcore.additions.editing import (
    edit,
    edit_price,
    edits_of,
    edits_that_stay,
    refit_others,
    replay,
    room_to_move,
    with_edits,
)
from gamcore.additions.editing.edited import edited
from gamcore.additions.editing.edits import IN_ORDER, OF_CURVES, OPERATIONS, WITH_VALUE, Edit, EditError, Where, edit_of
from gamcore.additions.editing.file import read_earlier, read_edits
from gamcore.common.seam import Additions
from gamcore.estimators.base import to_saved
from gamcore.estimators.saved import from_saved
from gamcore.explain.importance import term_names
from gamcore.explain.sentences import read_curve, read_surface
from gamcore.io import attached, gamx
from gamcore.io.checks import ModelFileWarning
from gamcore.model.losses import LOSSES
from gamcore.model.scales import SCALES
from gamcore.stats.splines import smoothed
from tests.support.mutants import put_together, take_apart

EARLIER = Path(__file__).parent / "earlier"
"""A file from before additions, of fitted curves and a list of edits, and what it predicted."""


def rows(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "age": rng.uniform(18, 90, n), "use": rng.normal(size=n), "area": rng.choice(list("pqrst"), n),
        "depth": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.gamma(2, size=n)),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
    })  # fmt: skip
    score = np.sin(X["age"] / 10) + X["use"] * (X["area"] == "p") + 0.3 * X["depth"].fillna(0)
    return X, score.to_numpy() + 0.5 * rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    X, y = rows()
    joint = {"interactions": [("use", "area")], "triples": [("use", "area", "age")]}
    return GAMRegressor(random_state=0, outer_bags=3, bands=10, max_bins=40, **joint).fit(X, y)


def bins_of(model, name):
    return next(bins for bins in model.model_.bins if bins.feature.name == name)


def term_of(model, name):
    return next(term for term, bins in zip(model.model_.terms, model.model_.bins, strict=True)
                if bins.feature.name == name)  # fmt: skip


def by_loop(operation, value, bins, term, codes):
    """What an operation does to a curve, one bin at a time."""
    scores, weight = term.scores.tolist(), term.counts.tolist()
    out, inside = list(scores), [k for k in codes if operation not in IN_ORDER or 1 <= k <= bins.n_values]
    total = sum(weight[k] for k in inside)
    mean = sum(weight[k] * scores[k] for k in inside) / total if total else sum(scores[k] for k in inside) / len(inside)
    for k in inside:
        if operation == "set":
            out[k] = value
        elif operation == "add":
            out[k] = scores[k] + value
        elif operation == "equal":
            out[k] = mean
        elif operation == "at_most":
            out[k] = min(scores[k], value)
        elif operation == "at_least":
            out[k] = max(scores[k], value)
        elif operation == "straight":
            a, b = inside[0], inside[-1]
            xa, xb, x = (bins.display[j - 1] for j in (a, b, k))
            out[k] = scores[a] + (scores[b] - scores[a]) * ((x - xa) / (xb - xa) if xb > xa else 0.0)
    if operation in ("rising", "falling"):
        fit = IsotonicRegression(increasing=operation == "rising")
        made = fit.fit(inside, [scores[k] for k in inside], [max(weight[k], 1e-6) for k in inside]).predict(inside)
        for k, one in zip(inside, made, strict=True):
            out[k] = one
    return np.array(out)


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in ("smooth", "centre", "remove")])
def test_operations_are_those_of_a_loop(model, operation):
    rng = np.random.default_rng(0)
    for name in ("age", "depth", "day", "area"):
        bins, term = bins_of(model, name), term_of(model, name)
        if bins.feature.is_category and operation in IN_ORDER:
            continue
        for _ in range(8):
            missing, unseen = rng.random(2) < 0.3
            if bins.feature.is_category:
                levels = tuple(rng.choice(list("pqrst"), rng.integers(1, 5), replace=False).tolist())
                where = Where(levels=levels, missing=bool(missing), unseen=bool(unseen))
            else:
                low, high = np.sort(rng.choice(bins.display, 2, replace=False))
                where = Where(low, high, (), bool(missing), bool(unseen), date=bins.feature.kind == "date")
            value = float(rng.normal()) if operation in WITH_VALUE else None
            made = edit(model, name, operation, where, value)
            expected = by_loop(operation, value, bins, term, where.codes(bins).tolist())
            np.testing.assert_allclose(term_of(made, name).scores, expected, atol=1e-9)


def test_smoothing_is_the_least_sum_of_squares_with_bends_paid_for():
    rng = np.random.default_rng(0)
    x, weight = np.sort(rng.uniform(0, 10, 60)), rng.uniform(0.5, 2, 60)
    y = np.sin(x) + 0.3 * rng.normal(size=60)
    straight = smoothed(x, y, weight, 2.0)
    slope, base = np.polyfit(x, y, 1, w=np.sqrt(weight))
    np.testing.assert_allclose(straight, base + slope * x, atol=1e-3)
    errors = [np.average((smoothed(x, y, weight, freedom) - y) ** 2, weights=weight) for freedom in (2, 4, 8, 16)]
    assert (np.diff(errors) < 0).all()
    np.testing.assert_allclose(smoothed(x, 3 - 2 * x, weight, 4.0), 3 - 2 * x, atol=1e-6)
    few = smoothed(x[:3], np.array([1.0, 5.0, 3.0]), np.ones(3), 4.0)
    best = minimize(lambda line: np.sum((line[0] + line[1] * x[:3] - [1.0, 5.0, 3.0]) ** 2), [0.0, 0.0]).x
    np.testing.assert_allclose(few, best[0] + best[1] * x[:3], atol=1e-4)


def random_edits(rng, model, n):
    """Random edits of curves and pairs that fit a model."""
    edits = []
    names = [bins.feature.name for bins in model.model_.bins]
    while len(edits) < n:
        on = ("use", "area") if rng.random() < 0.3 else (names[rng.integers(len(names))],)
        operation = OPERATIONS[rng.integers(len(OPERATIONS))]
        where = []
        for name in on:
            bins = bins_of(model, name)
            if bins.feature.is_category:
                where.append(Where(levels=tuple(rng.choice(bins.levels, 2).tolist())))
            else:
                low, high = np.sort(rng.choice(bins.display, 2, replace=False)).tolist()
                where.append(Where(low, high, date=bins.feature.kind == "date"))
        if (len(on) == 2 and operation in OF_CURVES) or (bins.feature.is_category and operation in IN_ORDER):
            continue
        value = float(rng.normal()) if operation in WITH_VALUE else None
        try:
            edit = Edit(on, operation, tuple(where), value, "because")
            with_edits(model, [edit])
        except EditError:
            continue
        edits.append(edit)
    return edits


@pytest.mark.parametrize("seed", range(5))
def test_edits_are_undone_to_the_bit_and_files_hold_them(model, seed, tmp_path):
    X, _ = rows(300, 1)
    edits = random_edits(np.random.default_rng(seed), model, 8)
    made = with_edits(model, edits)
    one_by_one = model
    for each in edits:
        on = each.on if len(each.on) == 2 else each.on[0]
        one_by_one = edit(one_by_one, on, each.operation, each.where, each.value, each.reason)
    np.testing.assert_array_equal(one_by_one.predict(X), made.predict(X))
    for k in range(8):
        np.testing.assert_array_equal(with_edits(made, edits[:k]).predict(X), with_edits(model, edits[:k]).predict(X))
    assert with_edits(made, []).model_ is model.model_
    made.save(tmp_path / "made.gamx")
    read = gamcore.load_model(tmp_path / "made.gamx")
    np.testing.assert_array_equal(read.predict(X), made.predict(X))
    assert edits_of(read) == tuple(edits)
    np.testing.assert_array_equal(with_edits(read, []).predict(X), model.predict(X))
    again = gamx.to_bytes(to_saved(read))
    assert gamx.to_bytes(gamx.from_bytes(again)) == again
    assert [edit_of(json.loads(json.dumps(edit.to_dict()))) for edit in edits] == edits


def test_all_that_is_said_of_a_model_follows_its_edits(model):
    X, _ = rows(300, 1)
    made = edit(edit(model, "age", "set", {"at_least": 60}, 2.0), ("use", "area"), "set", ({}, {"is": ["p"]}), 0.7)
    parts = made.explain_rows(X)
    old = (X["age"] >= bins_of(model, "age").cuts[bins_of(model, "age").display[:-1].searchsorted(60) - 1]).to_numpy()
    np.testing.assert_allclose(parts.contributions[(X["age"] > 62).to_numpy(), 0], 2.0)
    assert old.any()
    pair = term_names(model.model_).index("use × area")
    np.testing.assert_allclose(parts.contributions[(X["area"] == "p").to_numpy(), pair], 0.7)
    np.testing.assert_allclose(parts.scores, made.predict(X))
    curve = made.explain_shape("age")
    late = curve.display >= 60
    np.testing.assert_array_equal(curve.by_hand, late)
    np.testing.assert_allclose(curve.upper[late], curve.lower[late])  # no band
    assert (curve.upper[~late] > curve.lower[~late]).all()
    assert curve.frame()["by hand"].iloc[:-2].tolist() == late.tolist()
    assert not model.explain_shape("age").by_hand.size
    surface = made.explain_pair("use", "area")
    np.testing.assert_allclose(surface.scores[:, surface.second.labels.index("p")], 0.7)
    assert surface.n_by_hand == surface.scores.shape[0]
    assert not model.explain_pair("use", "area").n_by_hand
    assert read_curve(curve) == "Effect of age, partly set by hand"
    assert read_curve(edit(made, "age", "smooth").explain_shape("age")) == "Effect of age, set by hand"
    assert read_surface(surface) == "use and area together, partly set by hand"


def test_the_mean_prediction_is_kept_by_a_mean_of_0(model):
    X, _ = rows()
    made = edit(model, "age", "set", {"at_least": 60}, 2.0)
    shift = made.predict(X).mean() - model.predict(X).mean()
    assert shift > 0.1
    kept = edit(made, "age", "centre")
    np.testing.assert_allclose(kept.predict(X).mean(), model.predict(X).mean(), atol=1e-9)
    assert not kept.model_.by_hand(0).all()


def test_bands_come_to_an_edited_model_and_stay_those_of_the_fit():
    X, y = rows(800)
    plain = GAMRegressor(random_state=0, outer_bags=3).fit(X, y)
    first = add_bands(edit(plain, "age", "rising"), X, y, n_refits=10)
    other = edit(GAMRegressor(random_state=0, outer_bags=3, bands=10).fit(X, y), "age", "rising")
    for name in ("age", "depth"):
        np.testing.assert_array_equal(first.explain_shape(name).upper, other.explain_shape(name).upper)
    assert edits_of(first) == edits_of(other)


def test_a_promise_that_an_edit_breaks_is_no_longer_made():
    X, y = rows(800)
    plain = GAMRegressor(random_state=0, outer_bags=2, monotone={"depth": 1}).fit(X, y)
    assert plain.model_.signs == (0, 0, 0, 1, 0)
    assert edit(plain, "depth", "set", {"at_least": 3}, -2.0).model_.signs == ()
    assert edit(plain, "depth", "add", None, 1.0).model_.signs == (0, 0, 0, 1, 0)
    assert with_edits(edit(plain, "depth", "set", {"at_least": 3}, -2.0), []).model_.signs == (0, 0, 0, 1, 0)


def test_the_price_is_that_of_predictions(model):
    X, y = rows(500, 2)
    made = edit(model, "age", "at_most", None, 0.2)
    price = edit_price(made, X, y, line=0.4)
    before, after = model.predict(X), made.predict(X)
    assert price.loss_before == pytest.approx(np.mean((y - before) ** 2))
    assert price.loss_after == pytest.approx(np.mean((y - after) ** 2))
    assert price.crossed == pytest.approx(np.mean((before >= 0.4) != (after >= 0.4)))
    assert price.moved == pytest.approx(np.mean(np.abs(after - before)))
    assert edit_price(made, X, y, before=made).moved == 0.0
    chances = GAMClassifier(random_state=0, outer_bags=2).fit(X, y > 0)
    hand = edit(chances, "age", "remove")
    sides = [of.predict_proba(X)[:, 1] >= 0.5 for of in (chances, hand)]
    assert edit_price(hand, X, y > 0).crossed == pytest.approx(np.mean(sides[0] != sides[1]))


def test_others_adapt_around_an_edit():
    (X, y), (unseen, known) = rows(3000), rows(3000, 1)
    for seed, frame in enumerate((X, unseen)):
        frame["age again"] = frame["age"] + np.random.default_rng(seed).normal(size=3000)
    joint = {"interactions": [("use", "area")], "triples": [("use", "area", "depth")]}
    plain = GAMRegressor(random_state=0, outer_bags=3, **joint).fit(X, y)
    made = edit(edit(plain, "age", "remove"), ("use", "area"), "add", None, 0.1)
    around = refit_others(made, X, y)
    losses = [edit_price(of, unseen, known).loss_after for of in (plain, made, around)]
    assert losses[2] < losses[1]
    assert losses[2] == pytest.approx(losses[0], rel=0.02)
    assert not around.model_.terms[0].scores.any()
    assert edits_of(around) == edits_of(made)
    np.testing.assert_array_equal(around.model_.pairs[0].scores, made.model_.pairs[0].scores)
    np.testing.assert_array_equal(around.model_.triples[0].refits, plain.model_.triples[0].refits)
    assert not np.array_equal(around.model_.pairs[1].scores, made.model_.pairs[1].scores)
    quick = refit_others(made, X, y, quick=True)
    np.testing.assert_array_equal(np.ptp(quick.model_.terms[1].refits, axis=0), 0.0)
    np.testing.assert_array_equal(quick.model_.pairs[0].scores, made.model_.pairs[0].scores)
    assert edit_price(quick, unseen, known).loss_after == pytest.approx(losses[2], rel=0.05)
    everything = with_edits(plain, [Edit((bins.feature.name,), "remove", (Where(),)) for bins in plain.model_.bins])
    with pytest.raises(TableError, match="none is left"):
        refit_others(everything, X, y)


@pytest.mark.slow
def test_what_was_learnt_around_edits_keeps_them(tmp_path):
    X, y = rows(1500)
    X["age again"] = X["age"] + np.random.default_rng(0).normal(size=1500)
    plain = GAMRegressor(random_state=0, outer_bags=2, keep_tables=True).fit(X, y)
    made = edit(plain, "age", "remove")
    around = refit_others(made, X, y)
    more = edit(around, "use", "rising")
    with pytest.raises(EditError, match="in the model before"):
        with_edits(around, [])
    np.testing.assert_array_equal(with_edits(more, edits_of(around)).predict(X), around.predict(X))
    assert edit_price(around, X, y).moved == 0.0
    assert edit_price(more, X, y).loss_before == edit_price(around, X, y).loss_after
    one, other = (room_to_move(of, X, y)["use"] for of in (around, plain))
    errors = [np.mean((y - of.predict(X)) ** 2) for of in (around, plain)]
    np.testing.assert_allclose(one, np.sqrt(errors[0] / errors[1]) * other)
    np.testing.assert_allclose(room_to_move(around, X, y, loss=errors[0])["use"], one)
    assert edit_price(around, X, y, before=plain).loss_before == edit_price(plain, X, y).loss_after
    with pytest.raises(TableError, match="no bands"):
        add_bands(around, X, y, n_refits=10)
    with pytest.raises(TableError, match="refit around edits"):
        update(around, X, y)
    more.save(tmp_path / "more.gamx")
    read = gamcore.load_model(tmp_path / "more.gamx")
    np.testing.assert_array_equal(read.predict(X), more.predict(X))
    assert len(edits_that_stay(read)) == 1
    again, others = replay(around, edits_of(more))
    assert not others
    np.testing.assert_array_equal(again.predict(X), more.predict(X))


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("promise", [{"depth": 1, "age": 1}, None])
def test_files_hold_what_was_learnt_around_edits(quick, promise, tmp_path):
    X, y = rows(900)
    pairs = [("use", "area"), ("age", "depth")]
    plain = GAMRegressor(random_state=0, outer_bags=3, interactions=pairs, monotone=promise).fit(X, y)
    for edited_model in (edit(plain, "use", "equal"), edit(plain, ("depth", "age"), "add", None, 0.1)):
        made = refit_others(edited_model, X, y, quick=quick)
        for one, other in zip(made.model_.pairs, edited_model.model_.pairs, strict=True):
            was_held = one.features == (1, 2) if edits_of(edited_model)[0].on == ("use",) else one.features == (0, 3)
            assert np.array_equal(one.scores, other.scores) == was_held
        made.save(tmp_path / "made.gamx")
        np.testing.assert_array_equal(gamcore.load_model(tmp_path / "made.gamx").predict(X), made.predict(X))


def test_a_price_is_that_of_models_with_other_bins_and_columns():
    X, y = rows(900)
    first = GAMRegressor(random_state=0, outer_bags=2).fit(X, y)
    other = GAMRegressor(random_state=0, outer_bags=2, max_bins=16).fit(X, y)
    made = edit(other, "age", "rising")
    price = edit_price(made, X, y, before=first)
    assert price.loss_before == pytest.approx(np.mean((y - first.predict(X)) ** 2))
    assert price.loss_after == pytest.approx(np.mean((y - made.predict(X)) ** 2))


def test_a_pair_is_known_by_its_names_in_either_order(model):
    X, _ = rows(300, 1)
    one = edit(model, ("use", "area"), "set", ({"at_least": 0}, {"is": ["p"]}), 1.0)
    other = edit(model, ("area", "use"), "set", ({"is": ["p"]}, {"at_least": 0}), 1.0)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_levels_that_share_a_bin_are_edited_and_named_together():
    rng = np.random.default_rng(0)
    area = np.where(rng.random(900) < 0.95, rng.choice(list("pq"), 900), rng.choice(list("tuvw"), 900))
    X = pd.DataFrame({"area": area, "use": rng.normal(size=900)})
    merged = GAMRegressor(random_state=0, outer_bags=2, bins={"area": [["p", "q"]]}).fit(X, X["use"])
    assert edits_of(edit(merged, "area", "add", {"is": ["q"]}, 1.0))[0].where[0].levels == ("p", "q")
    one = Where(levels=tuple("abcdefgh"))
    assert one.words(feature="area") == "a, b, c, d, e, f and 2 more"


def test_a_mean_of_0_moves_bins_without_rows_along():
    X = pd.DataFrame({"a": np.repeat([1.0, 2.0, 8.0, 9.0], 100)})
    plain = GAMRegressor(random_state=0, outer_bags=2, bins={"a": [1.5, 3, 5, 8.5]}, monotone={"a": 1}).fit(X, X["a"])
    made = edit(edit(plain, "a", "add", None, 2.0), "a", "centre")
    np.testing.assert_allclose(made.model_.terms[0].scores[1:-1], plain.model_.terms[0].scores[1:-1], atol=1e-12)
    assert made.model_.signs == (1,)


def test_what_is_set_by_hand_makes_no_band_and_no_segment(model):
    X, y = rows()
    made = edit(model, "age", "add", {"at_least": 30}, 0.0)
    first, second = (of.explain_shape("age") for of in (made, model))
    early = ~first.by_hand
    np.testing.assert_allclose(first.upper[early], second.upper[early])
    np.testing.assert_array_equal(first.upper[~early], first.lower[~early])
    suggested = gamcore.suggest_segments(made, X, y)
    assert not any(one.rule.columns == ("age",) for one in suggested)


@pytest.mark.slow
def test_an_update_keeps_the_edits():
    X, y = rows(1200)
    kept = GAMRegressor(random_state=0, outer_bags=2, keep_tables=True, max_rounds=30).fit(X[:1000], y[:1000])
    made = edit(kept, "age", "rising", reason="it does")
    update(made, X[1000:], y[1000:])
    assert edits_of(made)[0].reason == "it does"
    assert (np.diff(made.model_.terms[0].scores[1:-1]) >= 0).all()
    with pytest.raises(TableError, match="edits by hand"):
        refit_by_counts(made, "age", np.zeros(made.model_.terms[0].scores.size))


def test_edits_of_an_older_model_are_replayed_where_they_fit(model):
    X, y = rows(700, 5)
    newer = GAMRegressor(random_state=1, outer_bags=2).fit(X[X["area"] != "q"].drop(columns="use"), y[X["area"] != "q"])
    older = edit(edit(edit(model, "age", "rising"), "area", "add", {"is": ["q"]}, 1.0), "use", "remove")
    made, others = replay(newer, edits_of(older))
    assert [one.on for one in edits_of(made)] == [("age",)]
    assert [(one.on, why) for one, why in others] == [
        (("area",), "area has no level 'q': leave it out."),
        (("use",), "The model has no feature use: leave the edit out."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("age", "set"), "needs a value"),
        (("age", "set", None, np.nan), "give one from"),
        (("age", "smooth", None, 1.0), "from 2 to 20"),
        (("age", "twist"), "use one of"),
        (("area", "rising"), "without an order"),
        (("area", "equal", {"at_least": 3}), "no range"),
        (("age", "equal", {"is": ["p"]}), "not levels"),
        (("age", "equal", {"from": 3}), "use at_least"),
        (("age", "equal", {"at_least": "soon"}), "a date such as"),
        (("age", "equal", {"at_least": 200}), "wider range"),
        (("nothing", "remove"), "no feature nothing"),
        ((("age", "depth"), "equal"), "no pair of age and depth"),
        ((("use", "area"), "rising"), "A pair has no"),
        (("age", "equal", None, None, "x" * 501), "shorten it"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(model, asked, message):
    with pytest.raises(EditError, match=message):
        edit(model, *asked)


def test_several_classes_are_refused():
    X, _ = rows(400)
    several = GAMClassifier(random_state=0, max_rounds=5, outer_bags=2).fit(X, np.arange(400) % 3)
    with pytest.raises(TableError, match="classes"):
        edit(several, "age", "remove")


def test_dates_are_given_as_text(model):
    made = edit(model, "day", "equal", {"at_least": "2024-05-01", "below": "2024-07-01"})
    assert edits_of(made)[0].to_dict()["where"] == [{"at_least": "2024-05-01 00:00:00", "below": "2024-07-01 00:00:00"}]
    with pytest.raises(EditError, match="a date such as"):
        edit(model, "day", "equal", {"at_least": 20_000})
    assert edits_of(made)[0].words() == "day from 2024-05-01 below 2024-07-01: made equal"


@pytest.mark.parametrize(
    "plain",
    [
        {"on": ["age"], "operation": "twist", "where": [{}]},
        {"on": ["gone"], "operation": "remove", "where": [{}]},
        {"on": "age", "operation": "remove", "where": [{}]},
        {"on": ["age"], "operation": "set", "where": [{}], "value": True},
        {"on": ["age"], "operation": "set", "where": [{}], "value": 1e300},
        {"on": ["age"], "operation": "set", "where": [{}], "value": 10**400},
        {"on": ["area"], "operation": "equal", "where": [{"is": 5}]},
        {"on": ["area"], "operation": "equal", "where": [{"is": None}]},
        {"on": ["age"], "operation": "set", "where": [{"at_least": []}], "value": 1.0},
        {"on": ["age"], "operation": "remove", "where": [{}], "more": 1},
        {"on": ["age"], "operation": ["remove"], "where": [{}]},
        7,
    ],
)
def test_files_with_other_edits_are_refused(model, plain):
    for read in (read_earlier, lambda of, entry: read_edits(of, entry, {"refits": of.terms[0].refits})):
        with pytest.raises(ModelFileError, match="damaged"):
            read(model.model_, {"edits": [plain]})
        with pytest.raises(ModelFileError, match="not a list"):
            read(model.model_, {"edits": plain})


def test_a_file_from_before_additions_opens_with_its_edits():
    probe = pd.read_csv(EARLIER / "edited.csv")
    X = probe[["age", "use", "area"]]
    read = gamcore.load_model(EARLIER / "edited.gamx")
    np.testing.assert_array_equal(read.predict(X), probe["edited"])
    np.testing.assert_array_equal(with_edits(read, []).predict(X), probe["fitted"])
    assert [one.words() for one in edits_of(read)] == [
        "age from 40: only rising", "use from 0 × area p: set to 0.7", "use from 1: set to -0.5",
    ]  # fmt: skip
    assert edits_of(read)[0].reason == "it does"
    again = from_saved(gamx.from_bytes(gamx.to_bytes(to_saved(read))))
    np.testing.assert_array_equal(again.predict(X), probe["edited"])
    np.testing.assert_array_equal(with_edits(again, []).predict(X), probe["fitted"])
    assert edits_of(again) == edits_of(read)
    assert with_edits(again, []).model_.signs == with_edits(read, []).model_.signs != ()


def test_a_reader_without_the_addition_predicts_the_same_and_says_what_it_left_out(model, monkeypatch, tmp_path):
    X, _ = rows(300, 1)
    made = edit(edit(model, "age", "rising"), ("use", "area"), "add", None, 0.1)
    data = gamx.to_bytes(to_saved(made))
    monkeypatch.setattr(attached, "ADDITIONS", Additions(tmp_path, "none"))
    with pytest.warns(ModelFileWarning, match="'editing'.* predicts the same") as warned:
        read = from_saved(gamx.from_bytes(data))
    assert len(warned) == 1
    np.testing.assert_array_equal(read.predict(X), made.predict(X))
    assert not read.model_.attachments
    with pytest.raises(ModelFileError, match=r"'edits'.* this installation of gamcore lacks what reads it"):
        gamx.load(EARLIER / "edited.gamx")


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("entry", 3, "not complete"),
        ("arrays", ["refits"] * 9, "not complete"),
        ("arrays", ["other"], "lacks an array"),
        ("entry", {"edits": [], "around": 1}, "that stay"),
        ("entry", {"edits": [{"on": ["area"], "operation": "remove", "where": [{}]}]}, "do not match its edits"),
        ("entry", {"edits": [{"on": ["age"], "operation": "remove", "where": [{}]}], "signs": [1] * 5}, "monotone"),
    ],
)
def test_parts_of_additions_are_checked(model, part, value, message):
    manifest, arrays = take_apart(gamx.to_bytes(to_saved(edit(model, "age", "rising"))))
    manifest["additions"]["editing"][part] = value
    with pytest.raises(ModelFileError, match=message):
        gamx.from_bytes(put_together(manifest, arrays))


@pytest.mark.parametrize("name", ["squared", "logistic", "poisson", "gamma"])
def test_values_of_every_scale_come_back_as_scores(name):
    loss = LOSSES[name]
    for scale in [one for one in SCALES if one in loss.scales]:
        for score in (-0.4, 0.0, 0.3):
            effect = float(loss.effect(np.array(score), scale, -0.2))
            assert loss.score_of(effect, scale, -0.2) == pytest.approx(score, abs=1e-9)
    if "points" in loss.scales:
        assert np.isnan(loss.score_of(99.0, "points", 0.0))
        assert np.isnan(loss.score_of(-1.0, "ratio", 0.0))


def test_too_many_edits_are_refused(model):
    with pytest.raises(EditError, match="1000 are possible"):
        edited(model.model_, [Edit(("age",), "add", (Where(),), 0.1)] * 1001)


def test_columns_keep_their_codes_for_missing_after_edits(model):
    made = edit(model, "age", "rising").model_
    other = made.with_bins(tuple(replace(bins) for bins in made.bins))
    assert other.fitted.bins is other.bins
    assert other.fitted is not other
