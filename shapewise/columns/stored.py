"""A stored table with the columns of some steps, written batch by batch: memory holds one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gamcore.data.codes import MissingCodes, clear_codes
from gamcore.data.columns import Kind
from gamcore.data.table import Table, as_table
from shapewise.columns.evaluate import Kinds
from shapewise.columns.steps import Step, apply, from_dict, notes_of
from shapewise.errors import room
from shapewise.ingest.types import Tally
from shapewise.ingest.writer import Groups
from shapewise.store.atomic_files import scratch_folder
from shapewise.store.batches import arrow_batches, beginning, typed
from shapewise.store.workspace import TableAbout, Workspace

ARROW: Final[dict[Kind, pa.DataType]] = {
    "number": pa.float64(), "boolean": pa.bool_(), "date": pa.timestamp("us"), "category": pa.large_string(),
}  # fmt: skip


def steps_of(plain: Sequence[dict[str, Any]]) -> list[Step]:
    """Return the steps of a table's or a model's record."""
    return [from_dict(step) for step in plain]


def kinds_of_table(data: pd.DataFrame | Table) -> dict[str, Kind | None]:
    """Return the kind of each column of a table; None for those that cannot be used."""
    table = as_table(data)
    return {name: table.usable_kind(name) for name in table.names}


def kinds_of_stored(space: Workspace, table: str) -> dict[str, Kind | None]:
    """Return the kind of each column of a stored table."""
    return kinds_of_table(beginning(space.tables.shown_path(table)))


def derive(
    space: Workspace, source: TableAbout, steps: Sequence[Step], tell: Callable[[float], object] = lambda share: None
) -> TableAbout:
    """Store a table with the columns of some steps, under the same name; return its description.

    tell : called with the share done. Raises StepError, FormulaError or TableError where the table does not allow a
    step, StoreError where there is no room.
    """
    tallies: dict[str, Tally] = {}
    rows = source.rows + source.sampled
    with scratch_folder(space.root) as into, room():
        codes = space.tables.names(source.id).codes()
        columns = _write(space.tables.path(source.id), into / "table.parquet", steps, codes=codes, tallies=tallies,
                         tell=lambda done: tell(done / rows))  # fmt: skip
        sample = None
        if source.sampled:
            _write(space.tables.shown_path(source.id), into / "sample.parquet", steps, codes=codes, tallies={},
                   tell=lambda done: tell((source.rows + done) / rows))  # fmt: skip
            sample = (into / "sample.parquet", source.sampled)
        return space.tables.add_file(
            into / "table.parquet", source.name, source.rows, columns, [*source.notes, *notes_of(tallies)],
            sample=sample,
        )  # fmt: skip


def _write(
    path: Path, into: Path, steps: Sequence[Step], codes: MissingCodes, tallies: dict[str, Tally],
    tell: Callable[[int], object],
) -> int:  # fmt: skip
    """Write a table with the columns of some steps, the others as they are; return the number of columns.

    codes : what steps take for a missing cell, by column."""
    like, schema = beginning(path), pq.read_schema(path)
    kinds = kinds_of_table(like)
    fields = {name: schema.field(name) for name in like.columns}
    fields |= _fields(steps, kinds)
    target, computed, done = pa.schema(list(fields.values())), {step.column for step in steps}, 0
    with Groups(into, target) as written:
        for batch in arrow_batches(path, like):
            frame = apply(steps, clear_codes(typed(batch, like), codes), kinds, tallies)
            arrays = [
                pa.array(frame[name], field.type, from_pandas=True) if name in computed else batch.column(name)
                for name, field in fields.items()
            ]
            written.add(pa.Table.from_arrays(arrays, schema=target))
            done += batch.num_rows
            tell(done)
    return len(fields)


def _fields(steps: Sequence[Step], kinds: Kinds) -> dict[str, pa.Field]:
    """Return the columns that some steps make, with their types in the file."""
    known, fields = dict(kinds), {}
    for step in steps:
        known[step.column] = kind = step.kind(known)
        fields[step.column] = pa.field(step.column, ARROW[kind])
    return fields
