"""What is counted or measured of a large table is that of all its rows, and not of the sample that pages show."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.data.columns import TableError
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.rules import EVERYBODY, Levels, Range
from gamcore.decide.strategies import Matches, Strategy, StrategySet
from gamcore.estimators.saved import from_saved
from shapewise.access.quotas import Limits
from shapewise.decisions import boards as stored
from shapewise.decisions.plan_and_outcome import read_out
from shapewise.doctor.examine import examine
from shapewise.reports import card, recipes
from shapewise.reports.recipes import ReportItem
from shapewise.reports.review import review_of
from shapewise.scoring import all_rows as wholes
from shapewise.store.workspace import StoreError
from shapewise.training import runs
from tests.support.pages import button, open_page
from tests.support.spaces import wait

OLD, B = Range("age", low=60), Levels("plan", ("b",))
B_OF_C = Levels("c", ("b",))
SETS = {
    "two": StrategySet("two", (Strategy("Old", OLD), Strategy("B", B))),
    "a gate": StrategySet("a gate", (Strategy("Old", OLD),), B),
    "nobody's": StrategySet("nobody's", (), OLD),
    "everybody": StrategySet("everybody", (Strategy("All", EVERYBODY),)),
}


def frame_of(whole):
    return whole.to_pandas(types_mapper={whole.schema.field("age").type: pd.Int64Dtype()}.get)


def same(found, expected):
    for name in ("rows", "eligible", "remainder"):
        assert getattr(found, name) == getattr(expected, name)
    for name in ("raw", "lost", "exclusive", "lost_to", "overlap"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("kind", SETS)
def test_all_rows_are_counted(kind, large):
    space, table, _, whole = large
    made = SETS[kind]
    found = wholes.matches(space, table.id, made).ledger(range(len(made.strategies)))
    same(found, made.ledger(frame_of(whole)))
    assert found.rows == 2_000


@pytest.mark.slow
@given(st.lists(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=9), min_size=1, max_size=5))
def test_parts_join_to_the_whole(parts):
    arrays = [np.array(part, bool).reshape(-1, 3) for part in parts]
    of = [Matches.of(rows[:, 0], [rows[:, 1], rows[:, 2]]) for rows in arrays]
    rows = np.concatenate(arrays)
    same(Matches.joined(of).ledger([1, 0]), Matches.of(rows[:, 0], [rows[:, 1], rows[:, 2]]).ledger([1, 0]))


def test_columns_are_read_whole_or_refused(large):
    space, table, _, whole = large
    found = wholes.read(space, table.id, ["plan", "age", "not there"])
    assert list(found) == ["age", "plan"]
    assert found["plan"].astype(str).tolist() == whole["plan"].to_pylist()
    assert found["age"].isna().sum() == 1
    space.limits = Limits(table_memory=10_000)
    with pytest.raises(StoreError, match="enter the counts"):
        wholes.read(space, table.id, ["plan"])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_are_read_however_they_are_stored(kind, space, tmp_path):
    told = [["a", None, "b"][k % 3] for k in range(900)]
    rows = pa.table({"c": pa.array(told).cast(kind), "x": np.arange(900.0)})
    for name, part in (("rows", rows), ("some", rows.slice(0, 300))):
        pq.write_table(part, tmp_path / f"{name}.parquet")
    table = space.tables.add_file(tmp_path / "rows.parquet", "rows", 900, 2, sample=(tmp_path / "some.parquet", 300))
    found = wholes.read(space, table.id, ["c"])["c"].astype(object)
    assert found.where(found.notna(), None).tolist() == told
    made = StrategySet("x", (Strategy("B", B_OF_C),))
    assert wholes.matches(space, table.id, made).ledger([0]).exclusive.tolist() == [300]


def test_a_rule_without_its_column_says_so(large):
    space, table, _, _ = large
    made = StrategySet("x", (Strategy("A", Range("gone", low=1)),))
    with pytest.raises(TableError, match="gone"):
        wholes.matches(space, table.id, made)


@pytest.mark.slow
def test_pages_and_reports_count_all_rows(large):
    space, table, model, whole = large
    made = stored.add_board(space, SETS["two"], table.id)
    expected = SETS["two"].ledger(frame_of(whole))
    app = open_page("strategies", board=made.id)
    assert not app.exception
    told = {one.label: one.value for one in app.metric}
    assert told["All rows"] == "2,000"
    assert told["Reached"] == f"{expected.exclusive.sum():,}"
    recipe = recipes.save(space, recipes.Recipe("", "r", "", (ReportItem("who"), ReportItem("reach")), "", made.id))
    report = review_of(space, recipe, model.id)
    said = report.parts[0].table[1][4]
    assert said.startswith(f"{expected.exclusive[0]:,} (")


def test_an_experiment_is_read_on_all_rows(large):
    space, table, _, whole = large
    told = {
        "table": table.id,
        "arm": "stays",
        "treated": "yes",
        "share": 0.5,
        "roles": {"age": "primary"},
        "before": {},
    }
    found = read_out(SETS["two"], "rows", told, [], lambda *of: wholes.read(space, *of))
    assert sum(found.sizes["all"].counts.values()) > 1_000  # who gets a strategy; the sample has 500 rows
    frame = frame_of(whole)
    expected = read_out(SETS["two"], "rows", json.loads(json.dumps(told)), [], lambda *of: frame)
    pd.testing.assert_frame_equal(found.frame(), expected.frame())
    with pytest.raises(ExperimentError, match="90 values"):
        read_out(
            SETS["two"],
            "rows",
            told | {"arm": "day"},
            [],
            lambda *of: frame.assign(day=frame["day"].astype(str).str[:10]),
        )


@pytest.mark.slow
def test_a_proof_says_what_it_ran_on(large):
    space, table, _, _ = large
    made = stored.add_board(space, SETS["two"], table.id)
    app = open_page("strategies", board=made.id)
    app.session_state["strategies-view"] = "files"
    app.run()
    button(app, "Check them on this table").click().run()
    assert ["500 rows of the sample" in one.value for one in app.success] == [True]


def test_the_base_rate_of_a_model_is_that_of_all_its_rows(large):
    space, _, model, whole = large
    fitted = from_saved(space.models.load(model.id)).explain_shape("age")
    assert model.metrics["base_rate"] == pytest.approx(1 / (1 + np.exp(-fitted.base)))
    assert model.metrics["base_rate"] == pytest.approx(np.mean(np.array(whole["stays"]) == "yes"), abs=0.01)
    assert model.rows["sample"] == 500
    assert "in a sample of 500" in dict(card.card(space, model.id).rows)["Rows"]


@pytest.mark.slow
def test_what_a_form_knows_of_a_large_table_is_said(large):
    app = open_page("train", table=large[1].id)
    app.selectbox[0].set_value("stays").run()
    assert not app.exception
    said = " ".join(one.value for one in app.caption)
    assert any("20% of the sample" in one.help for one in app.button if one.help)
    assert "Trains on all 2,000 rows" in said
    assert any("half of the sample" in one.help for one in app.toggle if one.help)


@pytest.mark.slow
def test_levels_beyond_the_sample_are_no_negatives(space, tmp_path):
    rows = pd.DataFrame({"x": np.random.default_rng(0).normal(size=1_000), "y": ["yes", "no"] * 500})
    some = tmp_path / "some.parquet"
    rows.iloc[:400].to_parquet(some, index=False)
    rows.loc[990:, "y"] = "unknown"
    rows.to_parquet(tmp_path / "rows.parquet", index=False)
    table = space.tables.add_file(tmp_path / "rows.parquet", "rows", 1_000, 2, sample=(some, 400))
    app = open_page("train", table=table.id)
    next(control for control in app.selectbox if control.label == "Predict").set_value("y").run()
    button(app, "Train").click().run()
    assert not app.exception
    (run,) = runs.listing(space)
    assert (run.spec.positive, run.spec.negative) == (["yes"], ["no"])
    runs.cancel(space, run.id)
    wait(space, run.id)


def test_an_id_is_known_by_the_rows_of_the_table():
    sample = pd.DataFrame({"place": np.sort(np.random.default_rng(0).choice(100_000, 2_000, replace=False)), "one": 1})
    number, constant = examine(sample, 100_000)
    assert number.role == "id"
    assert "of the sample" in number.warnings[0]
    assert constant.warnings == ["constant: every row of the sample has the same value"]
    assert examine(sample)[0].role == "feature"
