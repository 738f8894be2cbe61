"""A model does not depend on the pieces of its table, or on who works on them."""

from __future__ import annotations

from dataclasses import dataclass

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, TableError
from gamcore.distributed.cluster import OnCluster
from gamcore.distributed.machine import OneMachine
from tests.support.pieces import cut, mixed_table, same_bits

pytestmark = pytest.mark.slow

FEATURES = ["a", "b", "c", "yes", "day", "k"]


def settings(**changes):
    return {"random_state": 0, "max_rounds": 25, "outer_bags": 3, "max_bins": 256, **changes}


CASES = {
    "counted": (GAMRegressor(**settings()), "number", {}),
    "counted weights": (GAMRegressor(**settings()), "number", {"sample_weight": "w"}),
    "counted groups and bands": (GAMRegressor(**settings(bands=10)), "number", {"groups": "who"}),
    "squared pairs": (GAMRegressor(**settings(interactions=2)), "number", {}),
    "two classes": (GAMClassifier(**settings()), "good", {}),
    "chosen pairs": (GAMClassifier(**settings(interactions="auto")), "good", {"sample_weight": "w"}),
    "groups": (GAMClassifier(**settings()), "good", {"groups": "who"}),
    "three classes": (GAMClassifier(**settings(interactions=1)), "kind", {"sample_weight": "w"}),
    "counts and exposure": (GAMRegressor(**settings(objective="poisson")), "events", {"exposure": "years"}),
    "power": (GAMRegressor(**settings(objective="tweedie")), "amount", {"sample_weight": "w"}),
    "quantile": (GAMRegressor(**settings(objective="quantile", interactions=1)), "number", {}),
    "date parts and categories": (
        GAMClassifier(**settings(date_parts=True, categorical_features=["k"], monotone={"a": 1})), "good", {},
    ),
    "own bins": (GAMRegressor(**settings(bins={"a": [-1.0, 0.0, 2.9]})), "number", {}),
}  # fmt: skip


def columns(target, roles):
    return [*FEATURES, target, *roles.values()]


@pytest.mark.parametrize("rows_per_refit", [10_000, 1_500], ids=["all rows", "shards"])
@pytest.mark.parametrize("case", CASES)
def test_a_cluster_makes_the_model_of_one_machine(case, rows_per_refit, client, counts):
    model, target, roles = CASES[case]
    table = mixed_table()[columns(target, roles)]
    one = clone(model).fit(cut(table, 3), target, **roles, client=OneMachine(2, rows_per_refit))
    other = clone(model).fit(cut(table, 4), target, **roles, client=OnCluster(client, rows_per_refit))
    assert same_bits(one, other)
    some = table[FEATURES].head(500)
    predict = "predict_proba" if hasattr(one, "predict_proba") else "predict"
    assert np.array_equal(getattr(one, predict)(some), getattr(other, predict)(some))
    if one.interactions:
        assert one.pair_ranking_.equals(other.pair_ranking_)
        assert one.pair_ranking_.attrs == other.pair_ranking_.attrs


def clone(model):
    return type(model)(**model.get_params())


@pytest.mark.parametrize("n_pieces", [2, 4, 10])
@pytest.mark.parametrize("case", ["counted", "two classes"])
def test_the_number_of_pieces_changes_no_bit(case, n_pieces, client, counts):
    model, target, roles = CASES[case]
    table = mixed_table()[columns(target, roles)]
    one = clone(model).fit([table], target, client=OneMachine(1, 1_500))
    assert same_bits(one, clone(model).fit(cut(table, n_pieces), target, client=OnCluster(client, 1_500)))


def test_where_all_rows_fit_the_model_is_that_of_memory(client):
    table = mixed_table()
    for case in ("two classes", "counts and exposure", "quantile", "groups"):
        model, target, roles = CASES[case]
        model = clone(model).set_params(interactions=0)
        given = {role: table[name] for role, name in roles.items()}
        memory = clone(model).fit(table[FEATURES], table[target], **given)
        pieces = clone(model).fit(cut(table[columns(target, roles)], 3), target, **roles, client=client)
        assert same_bits(memory, pieces), case


def test_pieces_may_be_files_delayed_frames_or_a_dask_dataframe(client, tmp_path):
    model, target, _ = CASES["two classes"]
    table = mixed_table()[[*FEATURES, target]]
    one = clone(model).fit([table], target)
    for k, piece in enumerate(cut(table, 3)):
        piece.to_parquet(tmp_path / f"part-{k}.parquet", index=False, row_group_size=900)
    delayed = [dask.delayed(piece) for piece in cut(table, 3)]
    for X in (str(tmp_path), tmp_path / "part-*.parquet", delayed, dd.from_pandas(table, npartitions=3)):
        if "*" in str(X):
            X = tmp_path
        assert same_bits(one, clone(model).fit(X, target, client=client)), type(X)
    assert same_bits(one, clone(model).fit(tmp_path, target))


@dataclass(frozen=True)
class Doubled:
    """A piece that reads itself."""

    name: str
    frame: pd.DataFrame
    n_rows: int | None = None

    def read(self, columns=None):
        return self.frame.assign(a=self.frame["a"] / 2)


def test_pieces_may_read_themselves(client):
    model, target, _ = CASES["two classes"]
    table = mixed_table(2000)[[*FEATURES, target]]
    one = clone(model).fit([table.assign(a=table["a"] / 2)], target)
    pieces = [Doubled(f"Part {k}", piece) for k, piece in enumerate(cut(table, 3))]
    assert same_bits(one, clone(model).fit(pieces, target, client=client))


def test_what_pieces_lack_or_have_alone(client):
    model, target, _ = CASES["two classes"]
    table = mixed_table()[[*FEATURES, target]]
    table.loc[table.index[-40:], "c"] = "only in the last piece"
    table.loc[table.index[:1500], "b"] = np.nan
    pieces = cut(table, 4)
    pieces[0] = pieces[0].assign(b=pd.Series([None] * len(pieces[0]), index=pieces[0].index, dtype=object))
    one, other = (clone(model).fit(X, target, client=who) for X, who in (([table], None), (pieces, client)))
    assert same_bits(one, other)
    levels = other.model_.bins[2]
    assert "only in the last piece" in levels.levels
    assert other.model_.terms[2].counts[levels.codes_of_levels["only in the last piece"]] == 40


def test_bins_come_from_a_sample_of_long_tables_and_bounds_from_all_rows(client, monkeypatch):
    monkeypatch.setattr("gamcore.distributed.sketch.SAMPLE_CELLS", 6 * 500)
    monkeypatch.setattr("gamcore.distributed.sketch.FEWEST_SAMPLED", 500)
    model, target, _ = CASES["two classes"]
    table = mixed_table()[[*FEATURES, target]]
    table.loc[17, "a"], table.loc[18, "a"] = 99.0, -99.0
    model = clone(model).set_params(max_bins=32)
    one, other = (clone(model).fit(cut(table, n), target, client=OneMachine(2)) for n in (1, 7))
    assert same_bits(one, other)
    bins, term = other.model_.bins[0], other.model_.terms[0]
    assert (bins.low, bins.high) == (-99.0, 99.0)
    whole = clone(model).fit(table[FEATURES], table[target]).model_.bins[0]
    assert not np.array_equal(whole.cuts, bins.cuts)
    assert term.counts[1:-1].min() / term.counts[1:-1].max() > 0.3
    assert term.counts.sum() == len(table)


WRONG = {
    "a target that is no name": ({"y": [1, 0]}, "y must be the name of a column"),
    "a column that is not there": ({"y": "absent"}, r"Piece \d of 4: there is no column 'absent'"),
    "init_score": ({"init_score": "a"}, "init_score is for a table in memory"),
    "bands": ({"bands": 10}, "Bands of a table in pieces"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused_in_a_sentence(case, client):
    changes, words = WRONG[case]
    table = mixed_table(500)[[*FEATURES, "good"]]
    model = GAMClassifier(**settings(bands=changes.pop("bands", 0)))
    with pytest.raises(TableError, match=words):
        model.fit(cut(table, 3), **{"y": "good", **changes}, client=client)


def test_a_table_in_memory_is_not_sent_to_a_cluster(client):
    table = mixed_table(500)
    for model, target in ((GAMClassifier(), "good"), (GAMRegressor(), "number")):
        with pytest.raises(TableError, match="client= is for a table in pieces"):
            model.fit(table[FEATURES], table[target], client=client)


def test_targets_and_kinds_are_checked_in_every_piece(client, tmp_path):
    table = mixed_table(800)[["a", "b", "number", "events", "good"]]
    table.loc[700, "number"] = np.nan
    with pytest.raises(TableError, match="Piece 4 of 4: the target 'number' is missing in 1 row"):
        GAMRegressor().fit(cut(table, 3), "number", client=client)
    table.loc[700, "events"] = -3
    with pytest.raises(TableError, match="Piece 4 of 4: The target is negative in 1 row"):
        GAMRegressor(objective="poisson").fit(cut(table.drop(columns="number"), 3), "events", client=client)
    pieces = cut(table[["a", "good"]], 3)
    pieces[3] = pieces[3].assign(a="text")
    with pytest.raises(TableError, match="'a' is a category in one piece and a number in another"):
        GAMClassifier().fit(pieces, "good", client=client)
    for k, piece in enumerate(cut(table[["a", "good"]], 3)):
        piece.to_parquet(tmp_path / f"part-{k}.parquet", index=False)
    broken = (tmp_path / "part-2.parquet").read_bytes()
    (tmp_path / "part-2.parquet").write_bytes(broken[:4] + b"\xff" * 200 + broken[204:])
    with pytest.raises(TableError, match=r"part-2\.parquet"):
        GAMClassifier().fit(tmp_path, "good", client=client)
    (tmp_path / "part-2.parquet").write_bytes(broken[:-8])
    with pytest.raises(TableError, match=r"part-2\.parquet cannot be read"):
        GAMClassifier().fit(tmp_path, "good", client=client)
