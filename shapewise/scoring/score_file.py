"""A scored table as a file, written in batches: memory holds one batch, however many rows there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamcore.common.numbers import count, size
from gamcore.data.codes import clear_codes
from gamcore.data.column_names import AS_THEY_ARE, PLAIN, Measure, Names
from gamcore.estimators.base import n_scores
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.saved import from_saved
from gamcore.io.formula import Formula, ScoringError
from gamcore.viz.files.spreadsheets import write_csv, write_xlsx
from shapewise.ingest.writer import Groups
from shapewise.processes import Pace
from shapewise.scoring.changes import RowChanges
from shapewise.scoring.reasons import UNASKED, Telling, explained, telling, usual_line
from shapewise.scoring.score_rows import Scorer
from shapewise.store.atomic_files import scratch_folder
from shapewise.store.batches import arrow_batches, beginning, plain, typed
from shapewise.store.workspace import StoreError, Workspace
from shapewise.training.dataset import read_data
from shapewise.training.spec import Spec

FileKind = Literal["parquet", "csv", "xlsx"]
Parts = Iterator[tuple[pa.RecordBatch, pd.DataFrame]]
KINDS: Final[dict[FileKind, str]] = {"parquet": "Parquet", "csv": "CSV", "xlsx": "Excel"}
MOST_SHEET_ROWS: Final = 1_000_000
"""The most rows of a spreadsheet."""

MOST_BYTES: Final = 2**30
"""The most bytes of a file: the server holds it in memory while a browser downloads it."""

LETTER_ROWS: Final = 500
"""Most rows that are written at once with letters."""

NUMBER_BYTES: Final = 8
REASON_BYTES: Final = 2
CELL_BYTES: Final[dict[FileKind, float]] = {"parquet": 0.0, "csv": 9.0, "xlsx": 7.5}
"""Bytes of a number that the model gives to a row, of a reason with its effect, and of a cell if all are written."""

CELL_SECONDS: Final[dict[FileKind, float]] = {"parquet": 2e-7, "csv": 1e-6, "xlsx": 5e-6}
SECOND: Final = 10**6
DAY: Final = 24 * 3600 * SECOND


@dataclass(frozen=True)
class Wanted:
    """The requested output: the kind of file, the number `top` of reasons per row, the columns to `keep`, all if empty,
    the column of exposures, and how many `numbers` the model gives to a row beside its reasons. teller, letter, names,
    unit, changes : as for `Scorer`."""

    space: Workspace
    table: str
    kind: FileKind
    top: int = 3
    keep: tuple[str, ...] = ()
    exposure: str | None = None
    numbers: int = 2  # a prediction and a score
    teller: Formula | None = None
    letter: Telling | None = None
    names: Names = AS_THEY_ARE
    unit: Measure = PLAIN
    changes: RowChanges | None = None

    @property
    def path(self) -> Path:
        """Path of the table's file."""
        return self.space.tables.path(self.table)

    def columns(self, names: list[str]) -> list[str]:
        """Return the columns to keep, of those that exist."""
        gone = [name for name in self.keep if name not in names]
        if gone:
            raise StoreError(f"The table has no column {gone[0]!r}: choose among those that it has.")
        return list(self.keep or names)


def scoring_estimator(space: Workspace, model: str) -> GAMRegressor | GAMClassifier:
    """Return the estimator of a stored model; raise an error if it has several targets."""
    estimator = from_saved(space.models.load(model))
    if not isinstance(estimator, GAMRegressor | GAMClassifier):
        raise StoreError("Only models with one target can score tables: choose another.")
    return estimator


def telling_formula(space: Workspace, identifier: str) -> Formula:
    """Return a stored model as one that tells reasons for its decisions; StoreError where it cannot."""
    about, estimator = space.models.about(identifier), scoring_estimator(space, identifier)
    if isinstance(estimator, GAMClassifier) and n_scores(estimator) > 1:
        raise StoreError("A model of several classes has no line, so it tells no reasons: take the largest effects.")
    spec = Spec.from_dict(about.spec)
    data = read_data(
        space.tables.read(spec.table, spec.codes_of(spec.table)), spec, space.tables.about(spec.table).held_out_by
    )
    how = telling(about, usual_line(about, estimator))
    try:
        return explained(estimator, data, space.tables.names(spec.table), how)
    except ScoringError as error:
        raise StoreError(f"{error} The line is set on Rows.") from error


def row_changes(space: Workspace, identifier: str) -> RowChanges:
    """Return what finds the smallest changes of rows by a stored model; StoreError where it has no line."""
    about, estimator = space.models.about(identifier), scoring_estimator(space, identifier)
    if isinstance(estimator, GAMClassifier) and n_scores(estimator) > 1:
        raise StoreError("A model of several classes has no line, so no change crosses it: leave the changes out.")
    how = telling(about, usual_line(about, estimator))
    if how.helps is None:
        raise StoreError(f"{UNASKED}: changes lead to it.")
    names = space.tables.names(about.table) if about.table else AS_THEY_ARE
    return RowChanges(estimator, how, names)


def expected_bytes(wanted: Wanted) -> int:
    """Return the estimated bytes of the file."""
    with pq.ParquetFile(wanted.path) as file:
        parquet, keep = file.metadata, wanted.columns(file.schema_arrow.names)
    if wanted.kind != "parquet":
        return int(parquet.num_rows * (len(keep) + wanted.numbers + 2 * wanted.top) * CELL_BYTES[wanted.kind])
    groups = [parquet.row_group(place) for place in range(parquet.num_row_groups)]
    parts = (group.column(place) for group in groups for place in range(group.num_columns))
    held = sum(part.total_compressed_size for part in parts if part.path_in_schema in keep)
    return int(held + parquet.num_rows * (NUMBER_BYTES * wanted.numbers + REASON_BYTES * wanted.top))


def check(wanted: Wanted) -> tuple[int, float]:
    """Return the estimated bytes of the file and seconds to write it; raise an error if it exceeds the limits."""
    rows, needed = wanted.space.tables.about(wanted.table).rows, expected_bytes(wanted)
    if wanted.kind == "xlsx" and rows > MOST_SHEET_ROWS:
        raise StoreError(f"A sheet holds {count(MOST_SHEET_ROWS)} rows, there are {count(rows)}: take Parquet or CSV.")
    if needed > MOST_BYTES:
        raise StoreError(
            f"The file would have about {size(needed)}, more than the {size(MOST_BYTES)} that a browser "
            "can download: keep fewer columns, or score the table where its data is, with the model as SQL."
        )
    cells = wanted.space.tables.about(wanted.table).columns + wanted.numbers + 2 * wanted.top
    return needed, rows * cells * CELL_SECONDS[wanted.kind]


def write(
    wanted: Wanted, estimator: GAMRegressor | GAMClassifier, into: Path, about: str, step: Callable[[float], None]
) -> None:
    """Score all rows of a table and write them to a file; notes go into its metadata or onto a sheet.

    step : called with the share done, after each batch, and now and then while changes of rows are found."""
    like, schema = beginning(wanted.space.tables.shown_path(wanted.table)), pq.read_schema(wanted.path)
    keep = wanted.columns(schema.names)
    scorer = Scorer(
        estimator, wanted.top, keep, wanted.exposure, teller=wanted.teller, letter=wanted.letter, names=wanted.names,
        unit=wanted.unit, changes=wanted.changes,
    )  # fmt: skip
    used = schema.names if wanted.letter else [name for name in scorer.columns if name in schema.names]
    read = list(dict.fromkeys([*keep, *used]))  # a letter may name any column
    rows, codes = wanted.space.tables.about(wanted.table).rows, wanted.space.tables.names(wanted.table).codes()

    pace = Pace()

    def watch(done: int, n_rows: int, share: float) -> None:
        if pace.due():
            step((done + share * n_rows) / max(rows, 1))

    def parts() -> Parts:
        done = 0
        whole = arrow_batches(wanted.path, like[read])
        for batch in whole if wanted.letter is None else (part for large in whole for part in _few_rows(large)):
            step(done / max(rows, 1))
            if wanted.changes is not None:
                wanted.changes.watch = partial(watch, done, batch.num_rows)
            yield batch.select(keep), scorer(clear_codes(typed(batch, like[read]), codes))
            done += batch.num_rows

    kept = pa.schema([schema.field(name) for name in keep], schema.metadata)
    match wanted.kind:
        case "parquet":
            _parquet(into, parts(), kept, scorer.schema, about)
        case "csv":
            days = {field.name: _format(wanted.path, field.name) for field in kept if _is_day(field.type)}
            with into.open("w", encoding="utf-8-sig", newline="") as file:
                write_csv((_dated(frame, days) for frame in map(_joined, parts())), file)
        case "xlsx":
            about_sheet = pd.DataFrame({"about": about.split("\n")})
            with scratch_folder(wanted.space.root) as rows_of:
                write_xlsx({"scores": map(_joined, parts()), "about": [about_sheet]}, str(into), str(rows_of))


def _few_rows(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a batch, a few at a time: letters are far longer than what they are made from, and between two
    parts it is seen whether there is room for them."""
    for first in range(0, batch.num_rows, LETTER_ROWS):
        yield batch.slice(first, LETTER_ROWS)


def _joined(part: tuple[pa.RecordBatch, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([plain(part[0]), part[1]], axis=1)


def _parquet(into: Path, parts: Parts, kept: pa.Schema, new: pa.Schema, about: str) -> None:
    """Write the table's cells in their own types, with the model's columns beside them."""
    schema = pa.schema([*kept, *new])
    with Groups(into, schema, {**(kept.metadata or {}), b"about": about.encode()}) as written:
        for batch, frame in parts:
            scores = pa.RecordBatch.from_pandas(frame, new, preserve_index=False)
            written.add(pa.Table.from_arrays([*batch.columns, *scores.columns], schema=schema))


def _is_day(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.tz is None


def _format(path: Path, name: str) -> str:
    """Return the format for all dates of a column: with times, or fractions of seconds, if any date has them."""
    form = "%Y-%m-%d"
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=[name]):
            moments = pc.cast(batch.column(0).drop_null(), pa.timestamp("us"), safe=False).to_numpy().astype("int64")
            if (moments % SECOND).any():
                return "%Y-%m-%d %H:%M:%S.%f"
            form = "%Y-%m-%d %H:%M:%S" if (moments % DAY).any() else form
    return form


def _dated(frame: pd.DataFrame, forms: dict[str, str]) -> pd.DataFrame:
    return frame.assign(**{name: frame[name].dt.strftime(form) for name, form in forms.items()})
