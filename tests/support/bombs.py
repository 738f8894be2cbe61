"""Small files that unpack to huge tables, and the time and memory that refusing each takes."""

from __future__ import annotations

import gzip
import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from shapewise.ingest.read import ReaderError
from shapewise.ingest.supervisor import Reading, ReadLimits
from tests.support.corpus import CORPUS, repacked, sheet


def rle_parquet():
    """Make 48 million rows of four columns of zeros: 1.5 GB as a table."""
    zeros = pa.array(np.zeros(4_000_000, np.int64))
    table, out = pa.table(dict.fromkeys("abcd", zeros)), io.BytesIO()
    with pa.parquet.ParquetWriter(out, table.schema) as writer:
        for _ in range(12):
            writer.write_table(table, row_group_size=len(table))
    return out.getvalue()


def text_parquet():
    """Make a million cells with the same text of 90,000 characters: 90 GB as a table."""
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), pa.array(["x" * 90_000]))
    out = io.BytesIO()
    pa.parquet.write_table(pa.table({"t": text}), out)
    return out.getvalue()


def zeros_feather():
    """Make 200 million zeros, compressed."""
    batch, out = pa.record_batch({"a": np.zeros(4_000_000)}), io.BytesIO()
    with pa.ipc.new_file(out, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        for _ in range(50):
            writer.write_batch(batch)
    return out.getvalue()


def packed_text():
    """Make 4 GB of equal lines, in 400 parts."""
    return gzip.compress(b"a,b\n" + b"1,1\n" * 2_500_000, mtime=0) * 400


def packed_sheet():
    """Make a workbook whose sheet ends in 100 MB of blanks."""

    def change(name, content):
        return content + b" " * 100_000_000 if name == "xl/worksheets/sheet1.xml" else content

    return repacked(sheet(["a"], [1]), change)


def many_cells():
    """Make a workbook of 16 million cells: 64 MB of XML, a thousandth of that compressed."""
    row = b"<row>" + b"<c/>" * 9_999 + b"</row>"
    xml = b"<worksheet><sheetData>" + row * 1_600 + b"</sheetData></worksheet>"
    return repacked(sheet(["a"], [1]), lambda name, content: xml if name == "xl/worksheets/sheet1.xml" else content)


BOMBS = {
    "Parquet of runs": ("t.parquet", rle_parquet),
    "Parquet of one text": ("t.parquet", text_parquet),
    "Feather of zeros": ("t.feather", zeros_feather),
    "gzip": ("t.csv.gz", packed_text),
    "workbook of blanks": ("t.xlsx", packed_sheet),
    "workbook of cells without names": ("t.xlsx", many_cells),
    "workbook with a far cell": ("t.xlsx", CORPUS["workbook: a far cell"].data),
    "workbook with entities": ("t.xlsx", CORPUS["workbook: an entity that grows"].data),
    "one cell": ("t.csv", lambda: b"a\n" + b"x" * 5_000_000),
    "quotation marks": ("t.csv", lambda: b"a\n" + b'"' * 5_000_000),
    "separators": ("t.csv", lambda: b"," * 5_000_000),
}


def read(name: str, data: bytes) -> tuple[float, int, str]:
    """Read a file; return the seconds since the child was up, its growth in bytes, and the refusal, if any."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        source.write_bytes(data)
        reading, said = Reading(source, name, Path(folder) / "into", ReadLimits(), lambda share, words: None), ""
        try:
            reading.finish()
        except ReaderError as error:
            said = str(error)
    return reading.seconds, reading.peak - reading.base, said


@cache
def tiny() -> tuple[float, int]:
    """Return the seconds and bytes that a tiny file takes."""
    return read("t.csv", b"a,b\n1,x\n2,y\n")[:2]


def measure(name: str, data: bytes) -> tuple[float, int]:
    """Return the seconds since the child was up, and the bytes beyond those of a tiny file, to read a file."""
    seconds, growth, _ = read(name, data)
    return seconds, growth - tiny()[1]
