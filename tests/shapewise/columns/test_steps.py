"""Steps: changed types, computed columns, and versions of stored tables that repeat them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.column_names import ColumnNames, Names
from gamcore.data.table import as_table
from shapewise.columns.steps import Computed, Retyped, StepError, apply, from_dict, needed_for, readings, replay
from shapewise.columns.stored import derive, kinds_of_stored, kinds_of_table
from shapewise.ingest.types import Tally
from shapewise.store.workspace import StoreError
from shapewise.training import derived
from shapewise.training.carry_over import newest, older
from shapewise.training.train import train
from tests.support.spaces import spec_of


def a_table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "zip": rng.integers(10, 15, n),
        "paid": rng.choice(["1.200,50", "7,5", "950", "soon"], n, p=[0.3, 0.3, 0.3, 0.1]),
        "day": rng.choice(["31.01.2026", "01.02.2026"], n), "stamp": rng.choice([20260131, 20251224], n),
        "a": rng.normal(size=n), "b": rng.normal(size=n), "flag": rng.random(n) < 0.4,
        "y": rng.choice(["yes", "no"], n),
    })  # fmt: skip


STEPS = [
    Retyped("zip", "category"), Computed("sum", "a + b"), Computed("high", "sum > 0 and flag"),
    Computed("where", 'combine(zip, "south", "10", "11")'),
]  # fmt: skip


def test_types_are_read_as_people_write_them():
    frame = a_table()
    kinds = kinds_of_table(frame)
    ways = {name: readings(frame[name], kinds[name]) for name in frame}
    assert [way.words() for way in ways["zip"]] == ["zip as category"]
    assert [way.words() for way in ways["paid"]] == ["paid as number, with decimal commas"]
    assert [way.words() for way in ways["day"]] == ["day as date, the day first"]
    assert [way.words() for way in ways["stamp"]] == ["stamp as category", "stamp as date, as in 20260131"]
    tallies: dict[str, Tally] = {}
    made = apply([ways[name][-1] for name in ("paid", "day", "stamp", "zip")], frame, kinds, tallies)
    assert set(made["paid"].dropna()) == {1200.5, 7.5, 950.0}
    assert tallies["paid"].odd == (frame["paid"] == "soon").sum() == made["paid"].isna().sum()
    assert tallies["paid"].examples["odd"] == ["'soon'"]
    assert set(made["day"].astype(str)) == {"2026-01-31", "2026-02-01"}
    assert set(made["stamp"].astype(str)) == {"2026-01-31", "2025-12-24"}
    assert set(made["zip"]) == {"10", "11", "12", "13", "14"}
    assert kinds_of_table(made)["zip"] == "category"


def test_dates_that_can_be_read_in_two_ways_are_asked_about():
    ways = readings(pd.Series(["01.02.2026", "03.04.2026"], name="d"), "category")
    assert [way.words() for way in ways] == ["d as date, the day first", "d as date, the month first"]


@pytest.mark.parametrize("kind", ["number", "category", "date"])
def test_a_column_that_is_of_the_type_already_stays_as_it_is(kind):
    columns = {"number": [1.0, None], "category": ["x", None], "date": pd.to_datetime(["2026-01-31", None])}
    frame = pd.DataFrame({"c": columns[kind]})
    made = apply([Retyped("c", kind)], frame, kinds_of_table(frame))
    assert made["c"].isna().tolist() == [False, True]
    assert made["c"][0] == frame["c"][0]


def test_steps_survive_their_record():
    for step in [
        *STEPS,
        Retyped("d", "date", form="%d-%m-%Y"),
        Retyped("n", "number", writing="decimal commas", sign="%"),
    ]:
        assert from_dict(step.to_dict()) == step
    with pytest.raises(StepError, match="not understood"):
        from_dict({"column": "a", "what": 1})


def test_what_a_table_does_not_allow_is_left_out_with_what_builds_on_it():
    kinds = kinds_of_table(a_table().drop(columns="a").assign(where=1))
    replayed = replay(STEPS, kinds)
    assert [step.column for step in replayed.steps] == ["zip"]
    said = replayed.sentences()
    assert "no column a" in said[0]
    assert "no column sum" in said[1]
    assert "has a column where already" in said[2]
    assert all(sentence.count("\n") == 0 for sentence in said)


def test_only_the_steps_behind_some_columns_are_needed():
    assert needed_for(["high", "y"], STEPS) == [STEPS[1], STEPS[2]]
    assert needed_for(["where"], STEPS) == [STEPS[0], STEPS[3]]


def loaded(space, frame=None, name="people"):
    return space.tables.add(a_table() if frame is None else frame, name, ["as it came"])


def test_a_version_with_steps_holds_what_they_give(space):
    table = loaded(space)
    space.tables.change_roles(table.id, {"y": "target"})
    shares = []
    made, said = derived.keep(space, table, STEPS, shares.append)
    assert not said
    assert shares[-1] == 1.0
    assert (made.name, made.replaces, made.made_of, made.roles) == ("people", table.id, table.id, {"y": "target"})
    expected = apply(STEPS, space.tables.read(table.id), kinds_of_table(a_table()))
    pd.testing.assert_frame_equal(space.tables.read(made.id), expected, check_dtype=False)
    assert kinds_of_stored(space, made.id)["high"] == "boolean"
    assert space.tables.read(table.id).equals(a_table())
    assert (space.tables.read(made.id)["stamp"].dtype, made.notes[0]) == (np.int64, "as it came")


def test_a_sampled_table_gets_the_columns_in_all_rows_and_in_its_sample(space, tmp_path):
    frame, some = a_table(700), a_table(700).iloc[::7]
    for name, part in (("table", frame), ("sample", some)):
        part.to_parquet(tmp_path / name, index=False)
    table = space.tables.add_file(tmp_path / "table", "big", 700, 8, sample=(tmp_path / "sample", len(some)))
    made, _ = derived.keep(space, table, STEPS)
    assert (made.sampled, made.rows, made.columns) == (100, 700, 11)
    whole = pd.read_parquet(space.tables.path(made.id))
    assert np.allclose(whole["sum"], frame["a"] + frame["b"])
    assert np.allclose(space.tables.read(made.id)["sum"], some["a"] + some["b"])


def test_a_step_that_fails_stores_nothing(space):
    table = loaded(space)
    with pytest.raises(ValueError, match="no column gone"):
        derived.keep(space, table, [Computed("x", "gone + 1")])
    assert [one.id for one in space.tables.listed()] == [table.id]


def test_steps_can_be_changed_and_taken_away(space):
    table = loaded(space)
    first, _ = derived.keep(space, table, STEPS)
    less, _ = derived.keep(space, first, STEPS[:1])
    assert (less.made_of, less.replaces, less.columns) == (table.id, first.id, 8)
    again, said = derived.keep(space, less, STEPS)
    assert again.id == first.id
    assert "already" in said[0]
    assert derived.keep(space, less, [])[0].id == table.id


def test_without_the_loaded_table_steps_can_be_added(space):
    table = loaded(space)
    first, _ = derived.keep(space, table, STEPS[:2])
    space.delete("tables", table.id)
    more, _ = derived.keep(space, space.tables.about(first.id), STEPS[:3])
    assert [one["column"] for one in more.steps] == ["zip", "sum", "high"]
    assert space.tables.read(more.id)["high"].notna().all()


def test_a_newer_version_repeats_the_steps_and_says_what_it_cannot(space):
    table = loaded(space)
    made, _ = derived.keep(space, table, STEPS)
    new = a_table(200, 1).drop(columns="flag")
    newer, said = derived.add_newer(space, made, lambda: loaded(space, new, "later"))
    assert newer.name == "people"
    assert [one["column"] for one in newer.steps] == ["zip", "sum", "where"]
    assert any("high = sum > 0 and flag is left out" in one and "no column flag" in one for one in said)
    assert any("is left out" in note for note in newer.notes)
    tables = space.tables.listed()
    assert newest(tables, made.id).id == newer.id
    assert [one.id for one in older(tables, newer.id)] == [made.id, table.id]
    assert newest(tables, table.id).id == space.tables.about(newer.made_of).id
    assert space.tables.read(newer.made_of).equals(new)


def test_a_newer_version_of_the_loaded_table_repeats_the_steps_too(space):
    table = loaded(space)
    made, _ = derived.keep(space, table, STEPS)
    newer, _ = derived.add_newer(space, table, lambda: loaded(space, a_table(200, 1), "later"))
    assert (newer.replaces, len(newer.steps)) == (made.id, len(STEPS))


def test_a_newer_version_that_allows_no_step_is_stored_without(space):
    made, _ = derived.keep(space, loaded(space), STEPS[1:3])
    newer, said = derived.add_newer(space, made, lambda: loaded(space, a_table(90, 2)[["zip", "y"]], "later"))
    assert (newer.steps, newer.replaces, len(said)) == ([], made.id, 2)


def test_a_model_keeps_the_steps_and_another_table_gets_its_columns(space):
    made, _ = derived.keep(space, loaded(space), STEPS)
    model = train(space, spec_of(made.id, features=["sum", "where"], bands=0))
    assert model.steps == made.steps
    other = loaded(space, a_table(150, 5), "others")
    fitted, said = derived.fit_to_model(space, other, needed_for(["where"], STEPS))
    assert not said
    assert set(space.tables.read(fitted.id).columns) - set(a_table().columns) == {"where"}
    with pytest.raises(StoreError, match="no column a"):
        derived.fit_to_model(space, loaded(space, a_table(50, 6)[["y", "zip"]], "few"), [STEPS[1]])


def test_categories_and_odd_types_stay_as_they_are(space):
    frame = a_table().assign(c=pd.Categorical(["u", "v", None] * 100), n=pd.array([1, None, 3] * 100, "Int64"))
    table = loaded(space, frame)
    made = derive(space, table, [Computed("k", 'if(c == "u", n, 0)')])
    read = space.tables.read(made.id)
    assert as_table(read).kind("c") == "category"
    assert read["c"].astype(object).where(read["c"].notna(), None).tolist() == ["u", "v", None] * 100
    assert read["k"].head(3).fillna(-1).tolist() == [1.0, 0.0, -1.0]


def test_a_code_for_missing_is_missing_in_a_formula_and_stays_in_its_own_column(space):
    table = space.tables.add(pd.DataFrame({"a": [1.0, -1.0, 3.0] * 20, "b": np.arange(60.0)}), "coded")
    space.tables.set_names(table.id, Names({"a": ColumnNames(missing=("-1",))}))
    made = derive(space, table, [Computed("sum", "a + b")])
    read = pd.read_parquet(space.tables.path(made.id))
    assert read["sum"].isna().tolist() == [False, True, False] * 20
    assert read["a"].tolist() == [1.0, -1.0, 3.0] * 20
