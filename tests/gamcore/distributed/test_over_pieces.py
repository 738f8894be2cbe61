"""What is asked of a table in pieces: predictions, the reach of strategies, and any function of rows."""

from __future__ import annotations

import dask
import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, TableError
from gamcore.decide.arms import ArmsTest, read_arms
from gamcore.decide.rules import Levels, Range
from gamcore.decide.segments import HeldOutRows
from gamcore.decide.strategies import Matches, Strategy, StrategySet
from gamcore.distributed import gather, over_pieces, predict_pieces, write_predictions
from tests.support.pieces import cut, mixed_table


@pytest.fixture(scope="module")
def table():
    return mixed_table(3000)[["a", "b", "c", "years", "events", "good"]]


@pytest.fixture(params=["machine", pytest.param("cluster", marks=pytest.mark.slow)])
def over(request):
    """The client that works on the pieces, None where this process does."""
    return request.getfixturevalue("client") if request.param == "cluster" else None


def test_predictions_are_those_of_the_whole_table_in_its_order(over, table, tmp_path):
    features = ["a", "b", "c"]
    chance = GAMClassifier(max_rounds=20, random_state=0).fit(table[features], table["good"])
    rate = GAMRegressor(objective="poisson", max_rounds=20, random_state=0)
    rate.fit(table[features], table["events"], exposure=table["years"])
    made = predict_pieces(chance, cut(table, 5), over, "predict_proba")
    assert np.array_equal(made, chance.predict_proba(table[features]))
    made = predict_pieces(rate, cut(table, 5), over, exposure="years")
    assert np.array_equal(made, rate.predict(table[features], exposure=table["years"]))
    paths = write_predictions(chance, cut(table, 5), str(tmp_path / "out"), over, "predict_proba")
    assert len(paths) == 5
    written = pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)
    assert np.array_equal(written["prediction"], chance.predict_proba(table[features])[:, 1])
    assert list(written.columns) == [*table.columns, "prediction"]
    for given, name in (({}, "rate"), ({"exposure": "years"}, "expected")):
        paths = write_predictions(rate, cut(table, 2), str(tmp_path / name), over, **given)
        assert list(pd.read_parquet(paths[0]).columns) == [*table.columns, name]
    paths = write_predictions(chance, cut(written, 2), str(tmp_path / "class"), over)
    assert list(pd.read_parquet(paths[0]).columns) == [*written.columns, "class"]
    paths = write_predictions(chance, cut(written, 2), str(tmp_path / "more"), over, "predict_proba")
    assert list(pd.read_parquet(paths[0]).columns) == [*written.columns, "prediction_"]
    assert sorted(tmp_path.glob("out/*")) == sorted(tmp_path.glob("out/part-*.parquet"))
    with pytest.raises(TableError, match="has files already: name a new folder"):
        write_predictions(chance, cut(table, 5), str(tmp_path / "out"), over)


def test_strategies_reach_the_rows_of_all_pieces(over, table):
    rules = {"high": Range("a", 0.5), "p or q": Levels("c", ("p", "q"))}
    made = StrategySet("ours", tuple(Strategy(name, rule) for name, rule in rules.items()))
    pieces = [dask.delayed(piece) for piece in cut(table, 4)] if over else cut(table, 4)
    joined = Matches.joined(over_pieces(made.matches, pieces, client=over))
    whole = made.matches(table)
    assert joined.rows == len(table)
    assert np.array_equal(joined.ledger([1, 0]).exclusive, whole.ledger([1, 0]).exclusive)


@pytest.mark.slow
def test_evidence_and_read_outs_of_pieces_are_those_of_the_whole_table(over, table):
    features, late = ["a", "b", "c"], Range("years", low=1.5)
    model = GAMClassifier(max_rounds=20, random_state=0).fit(table[features], table["good"])
    held = gather(cut(table, 4), [*features, "years", "good"], over, late.holds)
    expected = table[late.holds(table)]
    assert held.equals(expected[held.columns].reset_index(drop=True))
    evidence = [
        HeldOutRows(model.model_, rows[features], (rows["good"] == "good").to_numpy(float)).evidence(Range("a", 0.5))
        for rows in (held, expected)
    ]
    assert repr(evidence[0]) == repr(evidence[1])
    test = ArmsTest("c", "p", {"events": "success"})
    made = read_arms(gather(cut(table, 4), ["c", "events"], over), test)
    assert repr(made.effects) == repr(read_arms(table, test).effects)


@pytest.mark.slow
def test_a_function_may_return_anything_and_fails_by_the_name_of_the_piece(over, table):
    pieces = cut(table, 3)
    assert over_pieces(len, pieces, client=over) == [1000, 1000, 1000]
    assert over_pieces(list, pieces, ["b"], over) == [["b"]] * 3
    assert over_pieces(lambda frame: None, pieces, client=over) == [None] * 3
    with pytest.raises(ZeroDivisionError):
        over_pieces(lambda frame: 1 // (frame.index[0] - 1000), pieces, client=over)
    with pytest.raises(TableError, match=r"Piece \d of 4 cannot be read \(KeyError"):
        over_pieces(len, pieces, ["absent"], over)
