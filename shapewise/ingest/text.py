"""Delimited text files, of any size, in passes over batches of rows: the first finds the layout, the rows and a sample
from which the types are planned, the second converts. The rows of a small file are kept between the passes.

A later cell may not fit its column's type. Cells outside of the sample that do not are first shown to the plan: 1.234
among whole numbers may be what says how thousands are marked. A column of numbers or dates keeps its type while at most
5% of its cells do not fit (they become missing and are counted), one of booleans only while all do; digits that turn
out to be identifiers make a column text. A column that loses its type is converted again as text: nothing is lost, at
the price of a pass."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Final, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from gamcore.common.numbers import are, count, counted
from shapewise.ingest.common import NO_ROWS, ReaderError, in_words, size_of
from shapewise.ingest.footer import footer_rows
from shapewise.ingest.header import names_note
from shapewise.ingest.layout import Dialect, Layout, encoding_of, layout_of
from shapewise.ingest.streams import HEAD, INNER, Feed, Quotes, Texts, check_closed, place, unpacked
from shapewise.ingest.types import (
    EXACT,
    MOSTLY,
    Tally,
    TypePlan,
    check_lengths,
    code_note,
    convert,
    infinity_note,
    plans,
    trimmed,
)
from shapewise.ingest.writer import Tell, Typed, frame_bytes, hashes, sampled_rows

BLOCK: Final = 2**20
LARGE_BLOCK: Final = 2**24
"""Bytes that the parser takes at a time, and for files with long rows: a row has to fit."""

BATCH_ROWS: Final = 2**15
TYPE_ROWS: Final = 20_000
TYPE_BYTES: Final = 2**23
KEPT_BYTES: Final = 2**23
"""The most bytes of a file's rows that are kept as text; those of a larger file are parsed again for each pass."""

TAIL_ROWS: Final = 1000
PASSES: Final = 4
"""The most passes: text, whole numbers to decimals, and one more for a column that changes both ways."""

MAX_RAGGED_SHARE: Final = 0.01
NOTHING: Final[Mapping[str, list[str]]] = {}
Result = TypeVar("Result")


@dataclass
class Ragged:
    """Rows that are no rows of the table: how many have another width than the header's and where the first are, and
    how many repeat the header."""

    count: int = 0
    first: list[str] = field(default_factory=list)
    names: int = 0  # rows that repeat the names

    def skip(self, row: pa.csv.InvalidRow) -> str:
        self.count += 1
        if len(self.first) < 5:
            self.first.append(f"{row.number or 0} ({counted(row.actual_columns, 'cell')})")
        return "skip"

    def tell(self, rows: int, width: int, notes: list[str]) -> None:
        """Note how many rows were skipped beside the `rows` read, or refuse the file if they are too many."""
        if self.names:
            notes.append(names_note(self.names))
        if not self.count:
            return
        where = ", ".join(self.first) + (" ..." if self.count > len(self.first) else "")
        total = rows + self.count
        if self.count > max(1, min(3, total // 10), MAX_RAGGED_SHARE * total):
            raise ReaderError(
                f"{counted(self.count, 'row', 'does', 'do')} not have {width} cells, the first being {where}: "
                "correct them and load the file again."
            )
        notes.append(
            f"Skipped {counted(self.count, 'row', 'that does', 'that do')} not have {width} cells: "
            f"row{'s' * (self.count > 1)} {where}."
        )


@dataclass
class TextColumn:
    """A column's plan, its Arrow type, and the tally of its cells in the last pass."""

    name: str
    plan: TypePlan
    kind: pa.DataType
    tally: Tally = field(default_factory=Tally)
    broken: bool = False  # whole numbers that turned out to have decimals, or too many digits for an integer type

    def cells(self, text: pa.ChunkedArray) -> pa.Array:
        """Return cells in this column's type; those that do not fit are tallied."""
        cells = trimmed(text)
        values = convert(cells, self.plan, self.tally)
        if self.kind != pa.int64():
            return values.cast(self.kind)
        largest = pc.max(pc.abs(values)).as_py() or 0
        try:
            if largest < EXACT:
                return values.cast(pa.int64())
        except pa.ArrowInvalid:
            self.tally.keep(cells.filter(pc.not_equal(values, pc.floor(values))))
        self.broken = True
        return pa.nulls(len(values), pa.int64())

    def demoted(self, notes: list[str]) -> TextColumn:
        """Return this column, or its replacement after a pass in which its type did not hold."""
        tally, present = self.tally, self.tally.present - self.tally.missing
        if self.plan.kind == "number" and tally.code:
            notes.append(code_note(self.name, tally.code))
        elif tally.odd > (0 if self.plan.kind == "boolean" else (1 - MOSTLY) * present):
            of_cells = f"{count(tally.odd)} of {counted(present, 'cell')} {are(tally.odd)} not {self.plan.kind}s"
            notes.append(f"{self.name}: {of_cells}, so it stays text.")
        elif self.broken:
            return replace(self, kind=pa.float64(), tally=Tally(), broken=False)
        else:
            return self
        return TextColumn(self.name, TypePlan(), pa.string())

    def tell(self, own: list[str], notes: list[str]) -> None:
        """Note what was done to the column. own : the notes of its plan."""
        notes.extend(own)
        if self.plan.said:
            notes.append(f"{self.name}: read as {self.plan.said}.")
        kind, tally = self.plan.kind, self.tally
        for why, n, single, more in (
            ("missing", tally.missing, "says that it is missing", "say that they are missing"),
            ("odd", tally.odd, f"is not a {kind} and is missing here", f"are not {kind}s and are missing here"),
        ):
            if n and kind != "text":
                examples = ", ".join(tally.examples[why])
                notes.append(f"{self.name}: {counted(n, 'cell')} ({examples}) {single if n == 1 else more}.")
        if tally.infinite:
            notes.append(infinity_note(self.name, tally.infinite))


class Kept:
    """A bounded sample of rows spread evenly over a stream of unknown length, its last rows, and all while few."""

    def __init__(self, names: list[str]) -> None:
        schema = pa.schema([(name, pa.string()) for name in names])
        self.sample, self.tail = schema.empty_table(), schema.empty_table()
        self.numbers = np.empty(0, np.int64)
        self._below = 2**64
        self.all: list[pa.Table] | None = []
        self._bytes = self.rows = 0
        self.filled: set[int] = set()  # which columns have a cell

    def add(self, batch: pa.Table) -> None:
        """Add the next rows."""
        places = sampled_rows(self.rows, self.rows + batch.num_rows, self._below)
        self.sample = pa.concat_tables([self.sample, batch.take(pa.array(places))])
        self.numbers = np.concatenate([self.numbers, places + self.rows])
        while self.sample.num_rows > TYPE_ROWS or (self.sample.nbytes > TYPE_BYTES and self.sample.num_rows > 100):
            self._below //= 2
            self._choose(hashes(self.numbers) < np.uint64(self._below))
        joined = pa.concat_tables([self.tail, batch.slice(max(batch.num_rows - TAIL_ROWS, 0))])
        self.tail = joined.slice(max(joined.num_rows - TAIL_ROWS, 0))
        self.filled |= {k for k, cells in enumerate(batch.columns) if cells.null_count < batch.num_rows}
        self.rows += batch.num_rows
        self._bytes += batch.nbytes
        if self.all is not None:
            self.all = [*self.all, batch] if self._bytes <= KEPT_BYTES else None

    def _choose(self, stay: np.ndarray) -> None:
        self.sample = self.sample.filter(pa.array(stay)).combine_chunks()
        self.numbers = self.numbers[stay]

    def leave_out(self, below: int, spare: list[str]) -> None:
        """Leave out the last rows, and empty columns."""
        self.rows -= below
        self._choose(self.numbers < self.rows)
        self.sample = self.sample.drop_columns(spare)


class TextFile(Generic[Result]):
    """A text file after its first pass.

    source : its path, or its bytes. gz : whether they are packed. tell : is told the progress."""

    def __init__(self, source: Path | bytes, gz: bool, notes: list[str], tell: Tell) -> None:
        self._source, self._gz, self._tell = source, gz, tell
        self._notes = notes
        self._size = max(size_of(source), 1)
        self._ragged = Ragged()
        self._spare: list[str] = []
        with unpacked(source, gz) as file:
            self._encoding = encoding_of(file.read(HEAD), notes, whole=False)
        self._layout, self._kept = self._first_pass()
        self._settle()

    def read(self, consume: Callable[[Typed], Result]) -> Result:
        """Convert the rows and return what `consume` makes of them, again if a column did not keep its type."""
        sample, rows = self._kept.sample, self._kept.rows
        numbers, semicolons = pa.array(self._kept.numbers), self._layout.dialect.own == ";"
        columns, own = _planned(sample, numbers, semicolons)
        memory = frame_bytes(_converted(sample, columns)) * rows // max(sample.num_rows, 1)
        for turn in range(PASSES):
            columns = [TextColumn(column.name, column.plan, column.kind) for column in columns]
            typed = (_converted(batch, columns) for batch in self._batches())
            schema = pa.schema([(column.name, column.kind) for column in columns])
            result = consume(Typed(typed, schema, rows, memory, share=0.4 + 0.2 * min(turn, 2)))
            after = [column.demoted(own[column.name]) for column in columns]
            unlike = {column.name: column.tally.unlike for column in columns if column.tally.unlike}
            if turn == 0 and unlike and sample.num_rows < rows:
                anew, notes = _planned(sample, numbers, semicolons, unlike)
                for k, (column, other) in enumerate(zip(columns, anew, strict=True)):
                    if column.name in unlike and column.plan.kind == other.plan.kind and column.plan != other.plan:
                        after[k], own[column.name] = other, notes[column.name]
            if after == columns:
                break
            columns = after
        for column in columns:
            column.tell(own[column.name], self._notes)
        return result

    def _first_pass(self, known: Dialect | None = None) -> tuple[Layout, Kept]:
        """Return the layout, and what is kept of the rows. known : the dialect, if only later lines show it."""
        notes = list[str]()
        with unpacked(self._source, self._gz) as file:
            texts = Texts(file, self._encoding)
            parts = iter(texts)
            head = _head(parts)
            layout = layout_of(head, notes, known)
            kept, quotes = Kept(layout.names), Quotes(layout.dialect)
            quotes.look(head)
            for batch in self._parsed(head, _looked_at(parts, quotes), texts, layout, self._ragged):
                check_lengths(batch)
                _check_swallowed(batch, layout.dialect.separator)
                kept.add(batch)
                self._tell(0.4 * place(file) / self._size, f"{counted(kept.rows, 'row')} looked at")
        if quotes.late is not None and known is None:
            self._ragged = Ragged()
            return self._first_pass(quotes.late)
        if quotes.count % 2:
            with unpacked(self._source, self._gz) as file:
                check_closed(Texts(file, self._encoding), layout.dialect)
        if texts.nuls:
            notes.append(f"Removed {counted(texts.nuls, 'NUL character')}.")
        if texts.invisible:
            notes.append(f"Removed {counted(texts.invisible, 'character')} without width, such as marks of byte order.")
        if texts.odd:
            notes.append(f"{counted(texts.odd, 'character', 'is', 'are')} not UTF-8, as the others are: \ufffd here.")
        if texts.inner:
            ends = "is a line end" if texts.inner == 1 else "are line ends"
            notes.append(f"{counted(texts.inner, 'carriage return')} within cells {ends} here.")
        if kept.rows == 0 and not self._ragged.count:
            raise ReaderError(NO_ROWS)
        self._ragged.tell(kept.rows, len(layout.names), notes)
        self._notes.extend(notes)
        return layout, kept

    def _settle(self) -> None:
        """Leave out empty columns without a name and rows below the table."""
        names, kept = self._layout.names, self._kept
        spare = [k for k, name in enumerate(names, 1) if name == f"column {k}" and k - 1 not in kept.filled]
        spare = spare[: len(names) - 1]
        if spare:
            self._spare = [names[k - 1] for k in spare]
            without = {f"Column {k} had no name." for k in spare}
            self._notes[:] = [note for note in self._notes if note not in without]
            self._notes.append(f"Dropped {counted(len(spare), 'empty column')} without a name.")
        tail = kept.tail.drop_columns(self._spare)
        rows = [[str(cell or "").strip() for cell in row] for row in zip(*tail.to_pydict().values(), strict=True)]
        words = set(kept.sample.column(0).filter(pa.array(kept.numbers < kept.rows - len(rows))).to_pylist())
        words.discard(None)
        kept.leave_out(footer_rows(rows, kept.rows, words, self._notes), self._spare)

    def _parsed(
        self, head: str, rest: Iterator[str], texts: Texts, layout: Layout, ragged: Ragged
    ) -> Iterator[pa.Table]:
        names, dialect = layout.names, layout.dialect
        parsing = pa.csv.ParseOptions(
            delimiter=dialect.separator, quote_char=dialect.quote, escape_char=dialect.escape or False,
            newlines_in_values=True, invalid_row_handler=ragged.skip, ignore_empty_lines=len(names) > 1,
        )  # fmt: skip
        converting = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""],
            quoted_strings_can_be_null=True,
        )  # fmt: skip
        parts = _without_last_ends(chain((head[layout.start :],), rest))
        block = BLOCK if max(map(len, io.StringIO(head))) < BLOCK // 8 else LARGE_BLOCK
        reading = pa.csv.ReadOptions(column_names=names, use_threads=False, block_size=block)
        feed = io.BufferedReader(Feed(map(dialect.plain, parts)), BLOCK)
        try:
            with pa.csv.open_csv(pa.PythonFile(feed, mode="r"), reading, parsing, converting) as stream:
                for batch in stream:
                    table = pa.Table.from_batches([batch])
                    table = _with_line_ends(table) if texts.inner else table
                    table, more = _without_names(table, layout.first)
                    ragged.names += more
                    # A block of short rows may have a million of them, whose overhead exceeds their bytes.
                    yield from (table.slice(start, BATCH_ROWS) for start in range(0, len(table), BATCH_ROWS))
        except pa.ArrowInvalid as error:
            raise _unreadable(error, block) from error

    def _batches(self) -> Iterator[pa.Table]:
        """Yield the rows again, as text, without what the first pass left out."""
        left = self._kept.rows
        for batch in self._kept.all if self._kept.all is not None else self._parsed_again():
            batch = batch.slice(0, left)
            left -= batch.num_rows
            yield batch.drop_columns(self._spare)

    def _parsed_again(self) -> Iterator[pa.Table]:
        with unpacked(self._source, self._gz) as file:
            texts = Texts(file, self._encoding)
            parts = iter(texts)
            yield from self._parsed(_head(parts), parts, texts, self._layout, Ragged())


def _without_last_ends(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts of a text without line ends behind its last line: they would be blank rows of one column."""
    held = ""
    for part in parts:
        text = held + part
        body = text.rstrip("\n")
        held = text[len(body) :]
        if body:
            yield body


def _looked_at(parts: Iterator[str], quotes: Quotes) -> Iterator[str]:
    for part in parts:
        quotes.look(part)
        yield part


def _head(parts: Iterator[str]) -> str:
    """Return the first two million characters, from the first line that is not empty."""
    head = ""
    for part in parts:
        head = (head + part).lstrip("\n")
        if len(head) >= HEAD:
            break
    if not head.strip():
        raise ReaderError("The file has no text in it: choose another.")
    return head


def typed_texts(table: pa.Table, notes: list[str]) -> pa.Table:
    """Return a whole table with its columns of text in the types of their cells."""
    texts = table.select([column.name for column in table.schema if column.type == pa.string()])
    columns, own = _planned(texts, pa.array(np.arange(table.num_rows)), semicolons=False)
    typed = dict(zip(own, _converted(texts, columns).columns, strict=True))
    for column in columns:
        column.tell(own[column.name], notes)
    return pa.table({name: typed.get(name, table.column(name)) for name in table.column_names})


def _planned(
    sample: pa.Table, rows: pa.Array, semicolons: bool, unlike: Mapping[str, list[str]] = NOTHING
) -> tuple[list[TextColumn], dict[str, list[str]]]:
    """Return the columns of a sample of text in their types, and notes of their plans, by column.

    rows : of the sample in the file. semicolons : whether they separate its columns. unlike : cells of other rows."""
    own: dict[str, list[str]] = {name: [] for name in sample.column_names}
    cells = {name: (trimmed(sample.column(name)), rows) for name in own}
    for name, more in unlike.items():
        known = cells[name][0]
        cells[name] = pa.concat_arrays([known, pa.array(more, known.type)]), pa.concat_arrays([rows, rows[: len(more)]])
    planned = zip(own, plans(cells, semicolons, own), strict=True)
    return [_column(name, plan, cells[name][0]) for name, plan in planned], own


def _column(name: str, plan: TypePlan, cells: pa.Array) -> TextColumn:
    if plan.kind == "number":
        values = convert(cells, plan, Tally()).drop_null()
        whole = len(values) > 0 and pc.all(pc.equal(values, pc.floor(values))).as_py()
        is_exact = whole and pc.max(pc.abs(values)).as_py() < EXACT
        return TextColumn(name, plan, pa.int64() if is_exact else pa.float64())
    kinds = {"text": pa.string(), "boolean": pa.bool_(), "date": pa.timestamp("us")}
    return TextColumn(name, plan, kinds[plan.kind])


def _converted(batch: pa.Table, columns: list[TextColumn]) -> pa.Table:
    """Return the cells in the types of their columns."""
    arrays = [column.cells(batch.column(k)) for k, column in enumerate(columns)]
    return pa.table(arrays, schema=pa.schema([(column.name, column.kind) for column in columns]))


def _without_names(table: pa.Table, names: list[str]) -> tuple[pa.Table, int]:
    """Return rows without those that repeat the names, as files put together of several have them; and how many."""
    if len(names) != table.num_columns or len(names) < 2:
        return table, 0
    same = pa.scalar(True)
    for name, cells in zip(names, table.columns, strict=True):
        same = pc.and_(same, pc.fill_null(pc.equal(cells, name), not name))
        if not pc.any(same).as_py():
            return table, 0
    return table.filter(pc.invert(same)), int(pc.sum(same).as_py())


def _with_line_ends(batch: pa.Table) -> pa.Table:
    """Return cells with line ends in place of the carriage returns within them."""
    return pa.table([pc.replace_substring(cells, INNER, "\n") for cells in batch.columns], batch.schema.names)


def _check_swallowed(table: pa.Table, separator: str) -> None:
    """Refuse cells that hold rows, from a quotation mark that begins a cell to the next one in the same column."""
    more = table.num_columns - 1
    for before, name in enumerate(table.column_names if more > 2 else ()):
        cells = table.column(before)
        some = cells.filter(pc.fill_null(pc.match_substring(cells, "\n"), False))
        for cell in some.filter(pc.match_substring(some, separator)).to_pylist():
            first, *between, last = cell.split("\n")
            marks, whole = cell.count(separator), sum(row.count(separator) == more for row in between)
            rows = len(between) + 1
            if rows < 10 and (first.count(separator), last.count(separator)) != (more - before, before):
                continue  # prose of a few lines, which has as many commas by chance
            if 10 * whole >= 9 * len(between) and 10 * abs(marks - more * rows) <= rows:
                raise ReaderError(
                    f"A quotation mark before {first[:40]!r} in column {name!r} is closed {count(rows)} lines later, "
                    "as if the rows between were one cell: close or remove it."
                )


def _unreadable(error: Exception, block: int) -> ReaderError:
    """Return the error for a text that the parser could not read. block : bytes that a row has to fit."""
    if "Empty CSV" in str(error):
        return ReaderError(NO_ROWS)
    if "straddl" in str(error):  # the parser's message for a row longer than its block
        return ReaderError(
            f"A row of the file is longer than {block >> 20} MiB: look for a quotation mark that is never closed."
        )
    return ReaderError(f"The file cannot be read as a table ({in_words(error)}): check its quotes.")
