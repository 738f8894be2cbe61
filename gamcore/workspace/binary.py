"""Parquet, Arrow and Excel files: bounded before and while they are unpacked, checked before anything looks inside."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable

import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import python_calamine

from gamcore.workspace.cells import type_columns
from gamcore.workspace.reading import MAX_UNPACKED, ReaderError, clean_names

MAX_TABLE = 4 * 2**30
MAX_CELLS = 500_000_000
MAX_SHEET_CELLS = 20_000_000
BATCH_ROWS = 4096


def read_arrow(data: bytes, suffix: str, notes: list[str]) -> pd.DataFrame:
    """A Parquet, Feather or Arrow file."""
    try:
        if suffix == ".parquet":
            file = pa.parquet.ParquetFile(io.BytesIO(data))
            # The footer's byte counts can be made up or run-length encoded; rows times columns cannot lie.
            _check_cells(file.metadata.num_rows * max(file.metadata.num_columns, 1))
            table = _gather(file.iter_batches(BATCH_ROWS), file.schema_arrow)
        else:
            stream = pa.ipc.open_file(io.BytesIO(data))
            table = _gather((stream.get_batch(k) for k in range(stream.num_record_batches)), stream.schema)
        table.validate(full=True)  # offsets and text as they should be: nothing below looks again
        frame = _flat(table, notes).to_pandas(ignore_metadata=True)
    except ReaderError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        raise ReaderError(
            f"The file is not a readable {suffix[1:]} file ({str(error)[:120]}): write it again."
        ) from error
    return type_columns(frame, notes, comma_is_decimal=False, text_too=False)


def _check_cells(cells: int) -> None:
    if cells > MAX_CELLS:
        raise ReaderError(f"The file holds {cells:,} cells, more than {MAX_CELLS:,}: keep fewer rows or columns.")


def _gather(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Batches as one table, given up as soon as they are too much: a small file may unpack to a huge one."""
    kept, cells, size = [], 0, 0
    for batch in batches:
        cells += batch.num_rows * max(batch.num_columns, 1)
        size += batch.nbytes
        _check_cells(cells)
        if size > MAX_TABLE:
            raise ReaderError(f"The file unpacks to more than {MAX_TABLE >> 30} GiB: keep fewer rows or columns.")
        kept.append(batch)
    return pa.Table.from_batches(kept, schema)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a column holds one number, text, date or truth value a cell."""
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        or pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    )  # fmt: skip


def _flat(table: pa.Table, notes: list[str]) -> pa.Table:
    """The columns of a table that hold plain values, under clean names."""
    nested = [column.name for column in table.schema if not _is_plain(column.type)]
    if nested:
        notes.append(f"Left out columns that do not hold one plain value a cell: {', '.join(nested[:5])}.")
        table = table.drop_columns(nested)
    names = clean_names(table.column_names, notes)
    if not names:
        raise ReaderError("No column of the file holds plain values: flatten its nested columns first.")
    return table.rename_columns(names)


def read_sheet(data: bytes, notes: list[str]) -> pd.DataFrame:
    """The first sheet of a workbook: values only, no formula is run."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_UNPACKED:
                raise ReaderError(f"The workbook unpacks to more than {MAX_UNPACKED >> 20:,} MiB: save it as CSV.")
            _check_sheets(archive)
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=True)
    except ReaderError:
        raise
    except Exception as error:  # the parser raises many types on damaged workbooks
        raise ReaderError(f"The workbook cannot be read ({str(error)[:120]}): save it again as .xlsx.") from error
    if len(book.sheet_names) > 1:
        notes.append(f"Read the first of {len(book.sheet_names)} sheets, {book.sheet_names[0]!r}.")
    rows = [row for row in rows if any(cell not in ("", None) for cell in row)]
    if len(rows) < 2:
        raise ReaderError("The first sheet needs a line of column names and at least one row.")
    names = clean_names([_plain(cell) for cell in rows[0]], notes)
    cells = [[None if cell == "" else cell for cell in row] for row in rows[1:]]
    frame = pd.DataFrame(cells, columns=names).infer_objects()
    for name in names:  # cells of several kinds in one column are text, like in a CSV
        if pd.api.types.is_object_dtype(frame[name].dtype):
            kinds = {type(cell) for cell in frame[name].dropna()}
            if len(kinds) > 1:
                frame[name] = frame[name].map(_plain, na_action="ignore").astype("string")
    return type_columns(frame, notes, comma_is_decimal=False)


def _plain(cell: object) -> str:
    """A cell of a workbook as text; it keeps whole numbers as floats."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _check_sheets(archive: zipfile.ZipFile) -> None:
    """Refuse a sheet whose cells span too wide a rectangle: the parser would make room for all of it."""
    for entry in archive.infolist():
        if not re.fullmatch(r"xl/worksheets/[^/]+\.xml", entry.filename):
            continue
        rows = columns = 0
        tail = b""
        with archive.open(entry) as stream:
            while part := stream.read(2**20):
                for letters, digits in re.findall(rb'\br="([A-Z]{1,3})(\d{1,7})"', tail + part):
                    rows = max(rows, int(digits))
                    columns = max(columns, sum((c - 64) * 26**k for k, c in enumerate(reversed(letters))))
                tail = part[-32:]
        if rows * columns > MAX_SHEET_CELLS:
            raise ReaderError(
                f"A sheet of the workbook spans {rows:,} rows and {columns:,} columns: save the table itself as CSV."
            )
