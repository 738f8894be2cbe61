"""Multi-task trees of tables in pieces: the same bits for any pieces and workers, and those of a table in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import MultiTaskTreesClassifier, MultiTaskTreesRegressor, TableError
from gamcore.distributed import predict_pieces
from gamcore.distributed.cluster import OnCluster
from gamcore.distributed.machine import OneMachine
from tests.support.pieces import cluster, cut, mixed_table

pytestmark = pytest.mark.slow

FEATURES = ["a", "b", "c", "yes", "day", "k"]
SETTINGS = {"random_state": 0, "max_rounds": 60, "outer_bags": 3}
KINDS = {
    "a number": (MultiTaskTreesRegressor, {}, "number"),
    "two classes": (MultiTaskTreesClassifier, {}, "good"),
    "events": (MultiTaskTreesRegressor, {"objective": "poisson"}, "events"),
    "amounts": (MultiTaskTreesRegressor, {"objective": "tweedie"}, "amount"),
}
OTHERS = {"sample_weight": "w", "groups": "who"}


@pytest.fixture(scope="module")
def processes():
    with cluster() as made:
        yield made


@pytest.fixture
def client(processes):
    return processes.client


def table_of(target, n=3000):
    """A table of three shops, of which one lacks a column and one is rare."""
    frame = mixed_table(n)[[*FEATURES, "w", "who", target]]
    frame["shop"] = np.random.default_rng(1).choice(["north", "south", "east"], n, p=[0.5, 0.45, 0.05])
    frame.loc[frame["shop"] == "north", "b"] = np.nan
    return frame


def parts_of(model):
    """Yield all arrays of a fitted model."""
    made = model.model_
    yield from (made.base_scores, made.means, made.quits, made.own_trees, made.owned, *made.counts)
    yield from (np.asarray(of_tree) for of_tree in made.forest.trees)
    yield from (np.array([*of.cuts, of.low, of.high]) for of in made.bins)
    yield model.validation_losses_


def same_bits(one, other):
    return all(np.array_equal(mine, theirs, True) for mine, theirs in zip(parts_of(one), parts_of(other), strict=True))


def predicted(model, X, task):
    return model.predict_proba(X, task)[:, 1] if hasattr(model, "classes_") else model.predict(X, task)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_make_the_model_of_the_table_in_memory(kind):
    estimator, changes, target = KINDS[kind]
    table = table_of(target).drop(columns=["w", "who"])
    whole = estimator(**SETTINGS, **changes).fit(table[FEATURES], table[target], table["shop"])
    pieces = estimator(**SETTINGS, **changes).fit(cut(table, 3), target, "shop")
    expected = predicted(whole, table[FEATURES], table["shop"])
    np.testing.assert_allclose(predicted(pieces, table[FEATURES], table["shop"]), expected, rtol=1e-12)
    np.testing.assert_array_equal(whole.model_.quits, pieces.model_.quits)
    np.testing.assert_allclose(whole.model_.means, pieces.model_.means, rtol=1e-9)
    for mine, theirs in zip(whole.model_.counts, pieces.model_.counts, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert pieces.tasks_.tolist() == ["east", "north", "south"]
    assert pieces.feature_names_in_.tolist() == FEATURES


@pytest.mark.parametrize("rows", [None, 1000], ids=["all rows", "shards"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_makes_the_bits_of_one_machine(kind, rows, client):
    estimator, changes, target = KINDS[kind]
    table, settings = table_of(target), SETTINGS | changes
    made = [
        estimator(**settings).fit(cut(table, n_pieces), target, "shop", **OTHERS, client=crew)
        for n_pieces, crew in ((1, OneMachine(1, rows or 10**6)), (4, OnCluster(client, rows or 10**6)))
    ]
    assert same_bits(*made)


def test_a_worker_lost_on_the_way_changes_nothing(processes):
    table = table_of("number")
    alone = MultiTaskTreesRegressor(**SETTINGS).fit(cut(table, 4), "number", "shop", **OTHERS)
    lost = []

    def lose(progress):
        if progress.stage == "common trees" and not lost:
            lost.append(progress)
            processes.replace_one()

    model = MultiTaskTreesRegressor(**SETTINGS, callback=lose)
    model.fit(cut(table, 4), "number", "shop", **OTHERS, client=OnCluster(processes.client, 10**6))
    assert lost
    assert same_bits(alone, model)


def test_a_column_that_only_one_piece_has_for_a_task():
    table = table_of("number").drop(columns=["w", "who"])
    first = table.index[table["shop"] == "north"][:20]
    table.loc[first, "b"] = 1.0
    whole = MultiTaskTreesRegressor(**SETTINGS).fit(table[FEATURES], table["number"], table["shop"])
    pieces = MultiTaskTreesRegressor(**SETTINGS).fit(cut(table, 5), "number", "shop")
    np.testing.assert_array_equal(whole.model_.owned, pieces.model_.owned)
    assert pieces.model_.owned.all()


def test_sums_of_predictions_are_those_of_the_targets():
    table = table_of("amount")
    model = MultiTaskTreesRegressor(**SETTINGS, objective="tweedie").fit(cut(table, 3), "amount", "shop", **OTHERS)
    weight = table["w"]
    made = model.predict(table[FEATURES], table["shop"])
    assert np.average(made, weights=weight) == pytest.approx(np.average(table["amount"], weights=weight), rel=1e-9)


def test_predictions_of_pieces_know_the_task():
    table = table_of("number").drop(columns=["w", "who"])
    model = MultiTaskTreesRegressor(**SETTINGS).fit(cut(table, 3), "number", "shop")
    made = predict_pieces(model, cut(table, 2), task="shop")
    np.testing.assert_array_equal(made, model.predict(table[FEATURES], table["shop"]))


@pytest.mark.parametrize(
    ("change", "task", "words"),
    [
        (lambda table: table, None, "task must be the name of a column where the table comes in pieces"),
        (lambda table: table.assign(shop=table["shop"].where(table.index != 7)), "shop", "4: the task is missing in 1"),
        (lambda table: table, "town", "there is no column 'town'"),
        (lambda table: table.assign(number=-1.0), "shop", "negative"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(change, task, words):
    model = MultiTaskTreesRegressor(**SETTINGS, objective="poisson" if words == "negative" else "squared")
    with pytest.raises(TableError, match=words):
        model.fit(cut(change(table_of("number", 400)), 3), "number", task)


def test_a_client_is_for_tables_in_pieces():
    table = table_of("number", 400)
    with pytest.raises(TableError, match="client= is for a table in pieces"):
        MultiTaskTreesRegressor().fit(table[FEATURES], table["number"], table["shop"], client=object())


def test_a_label_of_numbers_stays_a_number():
    table = table_of("number", 800).assign(shop=lambda t: (t["k"] % 2).astype(np.int64))
    model = MultiTaskTreesRegressor(**SETTINGS).fit(cut(table.drop(columns=["w", "who"]), 2), "number", "shop")
    assert model.tasks_.tolist() == [0, 1]
    assert isinstance(pd.Series(model.tasks_).iloc[0], int)
