"""Scored tables: what does not fit is said, and all rows of a table of any size are scored, a batch at a time."""

from __future__ import annotations

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gamcore.estimators.saved import from_saved
from shapewise.access.quotas import Limits
from shapewise.errors import room
from shapewise.reports import file_jobs as packs
from shapewise.scoring import score_file as scorefile
from shapewise.scoring.score_file import KINDS, Wanted, expected_bytes, write
from shapewise.scoring.score_rows import ScoreError, Scorer, fits
from shapewise.store.atomic_files import size_of
from shapewise.store.workspace import StoreError
from shapewise.workers import files
from tests.support.packs import kept, wait
from tests.support.spaces import fill


def scored(space, model, table, folder, kind="parquet", step=lambda share: None, **wanted):
    """A table as it is written by a model, in this process."""
    path = folder / f"scored.{kind}"
    estimator = from_saved(space.models.load(model))
    write(Wanted(space, table, kind, **wanted), estimator, path, "what it is", step)
    return path


def read(path):
    if path.suffix == ".csv":
        return pd.read_csv(path, encoding="utf-8-sig")
    return pd.read_excel(path, engine="openpyxl") if path.suffix == ".xlsx" else pd.read_parquet(path)


@pytest.mark.slow
def test_what_does_not_fit_is_said_by_column(acted):
    space, table, made = acted
    estimator = from_saved(space.models.load(made.read().strategies[0].model))
    frame = space.tables.read(table.id)
    assert all("beyond" in one.problem and one.rows < 10 for one in fits(frame, estimator.model_.bins))
    assert fits(frame.head(0).reindex(range(3)), ()) == []
    odd = frame.drop(columns="age").assign(sex="other", balance=1e12, maturity_date="soon", income=np.nan)
    found = {one.column: one for one in fits(odd, estimator.model_.bins)}
    assert found["age"].rows == len(frame)
    assert "never seen" in found["sex"].problem
    assert "other" in found["sex"].problem
    assert "beyond" in found["balance"].problem
    assert found["maturity_date"].stops
    assert "no value" in found["income"].problem
    with pytest.raises(ScoreError, match="maturity_date"):
        Scorer(estimator, 3, ())(odd)
    found = Scorer(estimator, 1, ())(odd.drop(columns="maturity_date"))
    assert found["prediction"].between(0, 1).all()


def test_names_of_new_columns_stay_free_and_nothing_is_a_formula(acted, tmp_path):
    space, table, made = acted
    model = made.read().strategies[0].model
    odd = space.tables.add(space.tables.read(table.id).head(300).assign(prediction="=1+1", score=-1), "odd")
    found = read(scored(space, model, odd.id, tmp_path))
    assert found["prediction"].tolist() == ["=1+1"] * 300
    assert found["prediction_"].between(0, 1).all()
    sums = found[[f"effect {k} (log-odds)" for k in (1, 2, 3)]].abs().to_numpy()
    assert (np.diff(sums, axis=1) <= 0).all()
    text = read(scored(space, model, odd.id, tmp_path, "csv"))
    assert text["prediction"].iloc[0] == "'=1+1"
    np.testing.assert_allclose(text["prediction_"], found["prediction_"])
    book = openpyxl.load_workbook(scored(space, model, odd.id, tmp_path, "xlsx"))
    assert book.worksheets[0].max_row == 301
    assert {cell.data_type for row in book.worksheets[0].iter_rows() for cell in row} <= {"s", "n", "d", "b"}
    assert book.worksheets[1]["A2"].value == "what it is"


def test_all_rows_of_a_large_table_are_scored_and_their_cells_kept(large, tmp_path):
    space, table, model, whole = large
    shares = []
    found = pq.read_table(scored(space, model.id, table.id, tmp_path, step=shares.append))
    assert found.select(whole.column_names).equals(whole)
    estimator = from_saved(space.models.load(model.id))
    X = whole.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)[["age", "plan"]]
    np.testing.assert_array_equal(found["prediction"], estimator.predict_proba(X)[:, 1])
    assert shares == sorted(shares)
    assert len(shares) > 6
    assert found.schema.metadata[b"about"] == b"what it is"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_holds_the_same(kind, large, tmp_path):
    space, table, model, whole = large
    found = read(scored(space, model.id, table.id, tmp_path, kind))
    exact = read(scored(space, model.id, table.id, tmp_path))
    assert list(found.columns) == list(exact.columns)
    np.testing.assert_allclose(found["prediction"], exact["prediction"], rtol=1e-14)
    assert found["reason 1"].tolist() == exact["reason 1"].tolist()
    assert found["age"].isna().sum() == 1
    assert found["note"].dropna().unique().tolist() == ["late"]
    assert len(found) == whole.num_rows


def test_text_writes_all_cells_of_a_column_alike(large, tmp_path):
    space, table, model, _ = large
    lines = scored(space, model.id, table.id, tmp_path, "csv").read_text(encoding="utf-8-sig").splitlines()
    assert [line.startswith("id,") for line in lines].count(True) == 1
    assert {line.split(",")[0][:5] for line in lines[1:]} == {"11529"}  # as they are, beyond what a float holds
    assert {len(line.split(",")[1]) for line in lines[1:]} == {0, 2}  # never 41.0
    assert {len(line.split(",")[3]) for line in lines[1:]} == {len("2026-02-03 10:30:00")}


def test_only_columns_that_are_wanted_are_written(large, tmp_path):
    space, table, model, _ = large
    found = read(scored(space, model.id, table.id, tmp_path, top=0, keep=("id",)))
    assert list(found.columns) == ["id", "prediction", "score (log-odds)"]
    with pytest.raises(StoreError, match="'gone'"):
        scored(space, model.id, table.id, tmp_path, keep=("gone",))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_of_a_file_are_known_within_a_factor_before_it_is_made(kind, acted, tmp_path):
    space, table, made = acted
    model = made.read().strategies[0].model
    for keep in ((), ("balance",)):
        real = size_of(scored(space, model, table.id, tmp_path, kind, keep=keep))
        assert real / 2 < expected_bytes(Wanted(space, table.id, kind, keep=keep)) < real * 2


def test_what_no_sheet_or_browser_holds_is_refused_before_it_begins(large, monkeypatch):
    space, table, model, _ = large
    monkeypatch.setattr(scorefile, "MOST_SHEET_ROWS", 1_999)
    with pytest.raises(StoreError, match="A sheet holds 1,999 rows"):
        packs.start_scores(space, model.id, table.id, "xlsx")
    monkeypatch.setattr(scorefile, "MOST_BYTES", 10_000)
    with pytest.raises(StoreError, match="keep fewer columns"):
        packs.start_scores(space, model.id, table.id, "parquet")
    assert packs.packs(space) == []


def test_a_file_that_grows_past_what_a_browser_holds_is_ended(large, tmp_path, monkeypatch):
    """As it is written: a guess beforehand may be wrong."""
    space, table, model, _ = large
    monkeypatch.setattr(files, "MOST_BYTES", 1_000)
    about = {"model": model.id, "table": table.id, "kind": "csv", "top": 0}
    with pytest.raises(StoreError, match="that a browser can download: keep fewer columns"):
        files._make(space, "scores", about, tmp_path / "out.csv", lambda share, words: None)


@pytest.mark.slow
def test_a_file_over_the_quota_is_refused_before_it_begins_and_never_kept(acted, monkeypatch):
    space, table, made = acted
    model = made.read().strategies[0].model
    space.limits = Limits(bytes=kept(space) + 10)
    with pytest.raises(StoreError, match="delete what you no longer need"):
        packs.start_scores(space, model, table.id, "csv")
    monkeypatch.setattr(scorefile, "expected_bytes", lambda wanted: 0)  # a guess that was wrong
    found = wait(space, packs.start_scores(space, model, table.id, "csv"))
    assert (found.state, found.size) == ("failed", 0)
    assert "delete what you no longer need" in found.message
    assert [path.name for path in found.path.parent.iterdir() if "csv" in path.name] == []


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # the workbook's archive, as it is dropped
@pytest.mark.parametrize("room_left", [0, 10_000])
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_told(kind, room_left, large, small_disk):
    space, table, model, _ = large
    (small_disk / "hold").write_bytes(bytes(room_left))
    fill(small_disk)
    (small_disk / "hold").unlink()
    with pytest.raises(StoreError, match="disk of the workspace is full"), room():
        scored(space, model.id, table.id, small_disk, kind)
    assert list((space.root / "new").glob("*")) == []
