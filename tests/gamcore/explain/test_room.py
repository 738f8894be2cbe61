"""How far a curve may move: the region against regressions by hand, and against true refits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor
from gamcore.additions.editing import edit_price, refit_others, room_to_move, with_edits
from gamcore.additions.editing.edits import Edit, Where
from gamcore.explain import room as of
from gamcore.explain.room import room_of
from gamcore.viz.spec import Ribbon, Whiskers


def rows(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "age": rng.uniform(18, 90, n), "use": rng.normal(size=n), "area": rng.choice(list("pqrst"), n),
        "depth": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.gamma(2, size=n)),
    })  # fmt: skip
    X["near age"] = X["age"] + 4 * rng.normal(size=n)
    score = np.sin(X["age"] / 10) + X["use"] * 0.5 + (X["area"] == "p") + 0.3 * X["depth"].fillna(0)
    return X, score.to_numpy() + 0.5 * rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    X, y = rows()
    model = GAMRegressor(random_state=0, outer_bags=3).fit(X, y)
    data = model._read_known(X, y, {}, in_training=True)
    return model, data, room_of(model.model_, data)


def adapted(room, data, feature, move):
    """The mean squared error that a move leaves when the moves of all other features adapt by least squares; one for
    each column of moves."""
    codes = data.binned.codes
    others = [room.functions[k][codes[k]] for k in range(len(room.functions)) if k != feature]
    columns = np.column_stack([np.ones(codes.shape[1]), *others])
    wanted = -move[codes[feature]]
    moved = np.linalg.pinv(columns.T @ columns, hermitian=True) @ (columns.T @ wanted)
    return np.mean((wanted - columns @ moved) ** 2, axis=0)


def test_a_redrawing_costs_one_unit_once_all_others_have_adapted(fitted):
    _, data, room = fitted
    for feature, code in ((0, 5), (0, 40), (1, 20), (2, 1), (2, 4), (3, 0), (3, 30), (4, 10)):
        move = room.redrawing(feature, code)
        assert move[code] == pytest.approx(room.width(feature)[code])
        assert adapted(room, data, feature, move) == pytest.approx(1.0, rel=0.08)


@pytest.mark.slow
def test_no_move_of_the_same_price_reaches_further(fitted):
    _, data, room = fitted
    rng = np.random.default_rng(0)
    for feature in range(5):
        functions = room.functions[feature]
        moves = functions @ rng.normal(size=(functions.shape[1], 40))
        costs = adapted(room, data, feature, moves)
        assert (np.abs(moves) <= 1.05 * np.sqrt(costs) * room.width(feature)[:, None] + 1e-9).all()


def test_what_another_feature_can_take_over_may_move_far(fitted):
    model, _, room = fitted
    middle = [slice(10, 20)] * 2
    assert room.width(0)[middle[0]].mean() > 1.5 * room.width(1)[middle[1]].mean()  # near age takes over
    assert not room.width(0)[-1]  # no row is unseen
    assert room.width(3)[0] > 0
    assert not room.width(0)[0]
    X, y = rows()
    half, whole = (room_to_move(model, X, y, share) for share in (0.01, 0.04))
    for name in X:
        np.testing.assert_allclose(2 * half[name], whole[name])
    loss = np.mean((y - model.predict(X)) ** 2)
    np.testing.assert_allclose(half["age"], np.sqrt(0.01 * loss) * room.width(0), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GAMRegressor, GAMClassifier])
def test_the_true_loss_after_a_refit_is_about_what_was_asked_for(kind):
    X, y = rows(6000, 1)
    y = y > y.mean() if kind is GAMClassifier else y
    model = kind(random_state=0, outer_bags=3).fit(X, y)
    room = room_of(model.model_, model._read_known(X, y, {}, in_training=True))
    before = edit_price(model, X, y).loss_before
    rises = []
    for feature, name in ((0, "age"), (1, "use")):
        bins, term = model.model_.bins[feature], model.model_.terms[feature]
        for code in (8, 25, 45):
            made = term.scores + np.sqrt(0.02 * before) * room.redrawing(feature, code)
            ends = [*bins.display.tolist(), None]
            redrawn = [Edit((name,), "set", (Where(ends[k - 1], ends[k]),), float(made[k]))
                       for k in range(1, bins.n_values + 1)]  # fmt: skip
            after = edit_price(refit_others(with_edits(model, redrawn), X, y), X, y, before=model).loss_after
            rises.append(after / before - 1)
    assert np.median(rises) == pytest.approx(0.02, rel=0.5)
    assert max(rises) < 0.05


def test_many_levels_and_few_rows_are_bounded(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"code": rng.integers(0, 60, 3000).astype(str), "use": rng.normal(size=3000)})
    y = X["use"] + rng.normal(size=3000)
    model = GAMRegressor(random_state=0, outer_bags=2).fit(X, y)
    data = model._read_known(X, y, {}, in_training=True)
    room = room_of(model.model_, data)
    assert room.functions[0].shape[1] == of.MOST_LEVELS + 1
    assert np.isfinite(room.width(0)).all()
    monkeypatch.setattr(of, "MOST_ROWS", 500)
    monkeypatch.setattr(of, "FEWEST_ROWS", 100)
    fewer = room_of(model.model_, data)
    np.testing.assert_allclose(np.median(fewer.width(1)[1:-1] / room.width(1)[1:-1]), 1.0, rtol=0.3)


def test_plots_draw_the_region(fitted):
    model = fitted[0]
    curve = model.explain_shape("age")
    ends = np.stack([curve.scores - 0.1, curve.scores + 0.1])
    plot = replace(curve, room=ends, room_words="loss at most 1% higher").describe("y", "")
    (region,) = [mark for mark in plot.main.marks if isinstance(mark, Ribbon) and "at most" in mark.name]
    np.testing.assert_allclose(region.upper - region.lower, 0.2)
    levels = model.explain_shape("area")
    ends = np.stack([levels.scores - 0.1, levels.scores + 0.1])
    plot = replace(levels, room=ends, room_words="loss at most 1% higher").describe("y", "")
    assert [mark for mark in plot.main.marks if isinstance(mark, Whiskers) and "at most" in mark.name]
