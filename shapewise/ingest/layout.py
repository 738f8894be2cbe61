"""The layout of a text file: its encoding, its dialect, and where the table begins."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from clevercsv.detect import Detector

from gamcore.common.numbers import count
from shapewise.ingest.code_pages import code_page_of
from shapewise.ingest.common import ReaderError, check_columns
from shapewise.ingest.header import header_of, is_value, named, skipped_note

SAMPLE_LINES: Final = 200
DIALECT_LINES: Final = 100
DIALECT_CHARACTERS: Final = 40_000
"""Limits of what the dialect is detected in: a fifth of a second at most."""

SEPARATORS: Final = {
    ";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas", " ": "blanks", "~": "tildes", "^": "carets",
    ":": "colons", "#": "number signs",
    "!": "exclamation marks", "&": "ampersands", "*": "asterisks", "§": "section signs", "¦": "broken bars",
    "$": "dollar signs", "@": "at signs", "/": "slashes", "\\": "backslashes", "=": "equals signs",
    **dict.fromkeys(map(chr, (*range(1, 9), *range(14, 26), *range(28, 32))), "control characters"),
}  # fmt: skip
USUAL: Final = ";\t|,"
COMBINED: Final = frozenset("|~^¦;, \t")
"""What stands between two of the same in separators of several characters, as in ~|~."""

NULL: Final = r"\N"
DRAWN: Final = re.compile(r"(?m)^[ \t]*(?:[+|]?(?:[-=:]{3,}[+|])+(?:[-=:]{3,})?|-{5,})[ \t]*$")
"""A line of a table drawn with bars, such as +----+----+, or -----------."""

FORMULA: Final = r'(?m)(^|{0})(?:"=""([^"\n]*)"""|="([^"\n]*)")(?={0}|$)'
"""A text written as a formula, ="00123", so that a spreadsheet does not take it for a number; behind a separator."""

WRAPPED: Final = re.compile(r'(?m)^"((?:[^"\n]|"")*)"[;,\t]*$')
UNIT: Final = "\x1f"
"""The character between columns of files whose own separator the parser cannot take, and of files of one column."""

MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose byte-order mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SHIFTED: Final = re.compile(rb"\x1b\$[@B]")
"""How Japanese begins in the encodings of seven bits, whose bytes are ASCII and so UTF-8, too."""

UTF8_IN_PART: Final = "utf-8 in part"
BEGINNINGS: Final = (
    (re.compile(rb"PK\x03\x04"), "a ZIP archive or workbook"),
    (re.compile(rb"PAR1"), "Parquet"),
    (re.compile(rb"ARROW1"), "Arrow"),
    (re.compile(rb"\x1f\x8b"), "packed by gzip"),
    (re.compile(rb"%PDF"), "PDF"),
    (re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8"), "a picture such as PNG"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "an old or encrypted workbook"),
    (re.compile(rb"\s*<(?:!doctype html|html|table)", re.IGNORECASE), "a web page"),
    (re.compile(rb"\s*<\?xml"), "XML"),
    (re.compile(rb"\{\\rtf"), "a text with formats, RTF"),
    (re.compile(rb'\s*(?:\[\s*)?\{\s*"'), "JSON"),
)
TEXT: Final = bytes({*b"\0\t\n\r\f\x1a\x1b", *range(32, 256)})
MAX_SEPARATORS: Final = 2
"""Kinds of control characters that may separate columns, or their rows."""

MAX_CONTROL: Final = 0.02
"""Maximum share of control characters; in random bytes it is a tenth."""


@dataclass(frozen=True)
class Dialect:
    """How the rows of a text are written. own : the separator in the file; empty for one column."""

    own: str = ","
    quote: str = '"'
    escape: str = ""
    spaced: bool = False  # blanks stand between separators and quotation marks
    inner: bool = False  # quotation marks within quoted cells are neither doubled nor escaped
    wrapped: bool = False  # each line as a whole is one quoted cell

    @property
    def separator(self) -> str:
        """The character between columns once the text is `plain`."""
        return self.own if len(self.own) == 1 and self.own.isascii() and self.own not in " \\" else UNIT

    def plain(self, text: str) -> str:
        """Return whole lines with one separator of one character between columns, outside of quotes."""
        between = re.escape(self.own or UNIT)
        if self.wrapped:
            text = WRAPPED.sub(lambda match: match[1].replace('""', '"'), text)
        if NULL in text:  # as databases write it; no other text stands for a cell so
            text = re.sub(rf"(?m)(^|{between}){re.escape(NULL)}(?={between}|$)", r"\1", text)
        if self.own == "|" and "---" in text:
            text = DRAWN.sub("", text)
        if '="' in text:
            text = re.sub(FORMULA.format(between), r'\1"\2\3"', text)
        if self.spaced:
            text = re.sub(rf"(?m)(^|{between})[ \t]+(?={self.quote})", r"\1", text)
        if self.inner:
            text = self._with_doubled_quotes(text)
        if self.separator == self.own or not self.own:
            return text
        if self.own == " ":
            text, between = re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text), "[ \t]+"
        quoted = rf"{self.quote}(?:[^{self.quote}\n]|{self.quote * 2})*{self.quote}"
        return re.sub(rf"({quoted})|{between}", lambda match: match[1] or UNIT, text)

    def _with_doubled_quotes(self, text: str) -> str:
        """Return whole lines with the marks within quoted cells doubled; those at the ends of cells are the quotes."""
        after, quote = re.escape(self.own), self.quote
        single = re.compile(rf"(?<!{quote}){quote}(?!{quote})")
        return re.sub(
            rf"(?m)(^|{after}){quote}(.*?){quote}(?={after}|$)",
            lambda match: f"{match[1]}{quote}{single.sub(2 * quote, match[2])}{quote}",
            text,
        )

    def rows(self, lines: list[str]) -> list[TextRow]:
        """Return the rows of lines as they are in the file, without empty lines."""
        kept, start = list[TextRow](), 0
        reader = csv.reader(
            io.StringIO(self.plain("\n".join(lines)), newline="\n"), delimiter=self.separator, quotechar=self.quote,
            escapechar=self.escape or None, doublequote=True,
        )  # fmt: skip
        try:
            for cells in reader:
                if cells:
                    kept.append(TextRow(start, reader.line_num, cells))
                start = reader.line_num
        except csv.Error as error:
            raise ReaderError(
                f"Line {count(start + 1)} cannot be read ({error}): a cell may be too long, or a quote open."
            ) from error
        return kept


@dataclass(frozen=True)
class TextRow:
    """One of the first rows: the line it begins in and the one after it (0-based), and its cells."""

    line: int
    after: int
    cells: list[str]


@dataclass(frozen=True)
class Layout:
    """Where the table is in a text. start : characters before its first row."""

    dialect: Dialect
    names: list[str]
    start: int
    first: list[str]  # the cells of the names as written, where they are in one row; else empty


def encoding_of(head: bytes, notes: list[str], whole: bool = True) -> str:
    """Return the encoding of a file that begins with `head`: by its byte-order mark, UTF-8 if valid, else the
    likeliest.

    `whole` says that the head is the entire file; otherwise its last character may be cut."""
    for pattern, what in BEGINNINGS:
        if pattern.match(head):
            raise ReaderError(
                f"The file is not text with columns but {what}: save the table as CSV, or rename the file."
            )
    for mark, encoding in MARKS:
        if head.startswith(mark):
            notes.append(f"Decoded from {encoding.removesuffix('-sig').upper()} with a byte-order mark.")
            return encoding
    if wide := _unmarked_utf16(head):
        notes.append(f"Decoded from {wide.upper()} without a byte-order mark: check a few accented names.")
        return wide
    part = head[:100_000]
    control = Counter(part.translate(None, TEXT))
    if len(control) > MAX_SEPARATORS and control.total() > max(8, MAX_CONTROL * len(part)):
        raise ReaderError("The file is not text, as it is full of control characters: save the table as CSV.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, whole)
    except UnicodeDecodeError:
        return code_page_of(head, notes) if not _is_mostly_utf8(head) else UTF8_IN_PART
    return code_page_of(head, notes) if SHIFTED.search(head) else "utf-8"


def _is_mostly_utf8(head: bytes) -> bool:
    """Return whether most that is not ASCII is UTF-8: files put together of several have odd bytes in it, and no other
    encoding is UTF-8 so often by chance."""
    text = head.decode("utf-8", "replace")
    odd = text.count("\ufffd")
    return 2 * odd <= len(re.findall(r"[^\x00-\x7f\ufffd]", text))


def _unmarked_utf16(head: bytes) -> str:
    """Detect UTF-16 without a mark: separators, digits and Latin letters have a NUL, always on the same side."""
    part = head[:20_000]
    even, odd = part[::2].count(0), part[1::2].count(0)
    if len(part) < 8 or even + odd < 0.02 * len(part):
        return ""
    wide = "utf-16-le" if even < 0.01 * odd else "utf-16-be" if odd < 0.01 * even else ""
    text = part[: len(part) // 2 * 2].decode(wide or "ascii", "replace")
    return wide if "\n" in text and 100 * sum(not (c.isprintable() or c in "\t\r\n") for c in text) < len(text) else ""


def layout_of(text: str, notes: list[str], known: Dialect | None = None) -> Layout:
    """Return the layout of a text with line ends \\n, from its first lines.

    known : its dialect, where later lines show it."""
    sep_line = re.match(r'"?sep=([^\w\s"]|\t)"?[;\t|,]*\n', text, re.IGNORECASE)
    start = sep_line.end() if sep_line else 0
    whole = lines = text[start:].split("\n", SAMPLE_LINES)[:SAMPLE_LINES]
    if sum(map(bool, map(DRAWN.fullmatch, lines))) > 1 and any(line.lstrip().startswith("|") for line in lines):
        lines = [DRAWN.sub("", line) for line in lines]
    dialect = known or (_escaped(Dialect(sep_line[1]), lines) if sep_line else dialect_of(lines))
    if known is None:
        dialect = replace(dialect, spaced=_is_spaced(lines, dialect), inner=has_inner_quotes(text, dialect))
    rows = dialect.rows(lines)
    if len(rows) > SAMPLE_LINES // 2 and len(lines) == SAMPLE_LINES:
        rows.pop()  # its quote may end below
    rows, width = _table(rows, _is_labelled(lines, dialect))
    head = header_of([row.cells + [""] * (width - len(row.cells)) for row in rows])
    if dialect.own not in ("", ","):
        notes.append(f"Columns are separated by {SEPARATORS.get(dialect.own, repr(dialect.own))}.")
    if dialect.escape:
        notes.append("Marks within cells, such as those of quotation, are written with a backslash.")
    if dialect.wrapped:
        notes.append("Each line as a whole is in quotation marks: they are taken off.")
    if dialect.inner:
        notes.append("Quotation marks within quoted cells are not doubled: those next to separators are the quotes.")
    if '="' in text and re.search(FORMULA.format(re.escape(dialect.own or UNIT)), text):
        notes.append('Cells written as formulas, ="00123", are read as the text in them.')
    if not dialect.own and _has_fixed_widths(lines):
        notes.append("All in one column: columns of fixed width, with blanks between them, are not told apart.")
    elif not dialect.own and (mark := _mark_of_parts(lines)):
        notes.append(f"All in one column: if {mark!r} separates columns, give each a name, or save them with commas.")
    before = rows[head.first].line
    if before:
        notes.append(skipped_note(before, head))
    after = rows[head.end - 1].after if head.end > head.first else before
    start += sum(len(line) + 1 for line in whole[:after])
    written = rows[head.first].cells if head.joined == 1 and head.end > head.first else []
    return Layout(dialect, named(head, notes), min(start, len(text)), written)


def dialect_of(lines: list[str]) -> Dialect:
    """Return the dialect of the first lines of a text: CleverCSV's, unless its separator belongs to the cells."""
    size = kept = 0
    for line in lines[:DIALECT_LINES]:
        size += len(line) + 1
        if size > DIALECT_CHARACTERS:
            break
        kept += 1
    if kept < min(3, len(lines)):  # very long lines: their most frequent separator
        marks = Counter(character for character in lines[0] if character in USUAL)
        return Dialect(marks.most_common(1)[0][0] if marks else "")
    sample = "\n".join(lines[:kept])
    guess = Detector().detect(sample, delimiters=SEPARATORS)
    quote = guess.quotechar if guess and guess.quotechar == "'" and '"' not in sample else '"'
    guessed = guess.delimiter if guess else ""
    fitting = [
        dialect
        for own in dict.fromkeys((guessed, *(mark for mark in USUAL if mark in sample)))
        if own and (dialect := _fitting(_escaped(Dialect(own, quote), lines[:kept]), lines[:kept]))
    ]
    if fitting:
        return next((dialect for dialect in fitting if len(_widths(dialect, lines[:kept])) == 1), fitting[0])
    return _unwrapped(lines[:kept]) or _escaped(Dialect(""), lines[:kept])


def _widths(dialect: Dialect, lines: list[str]) -> set[int]:
    """Return the numbers of cells that rows have."""
    return {len(row.cells) for row in dialect.rows(lines)}


def _unwrapped(lines: list[str]) -> Dialect | None:
    """Return the dialect of rows each of which was saved as one quoted cell; None if the lines are no such rows.

    Sentences and names with commas, in quotes for their sake, are cells."""
    filled = [line for line in lines if line]
    if len(filled) < 3 or not all(map(WRAPPED.fullmatch, filled)):
        return None
    dialect = replace(dialect_of(Dialect("", wrapped=True).plain("\n".join(filled)).split("\n")), wrapped=True)
    if not dialect.own:
        return None
    table = [row.cells for row in dialect.rows(filled)]
    width = len(table[0])
    rows = all(len(row) == width for row in table) and not _is_prose(dialect.own, table, width)
    return dialect if rows and _has_names(table) else None


def _escaped(dialect: Dialect, lines: list[str]) -> Dialect:
    """Return a dialect with its escape: a backslash also where rows are of one width only if it hides separators."""
    escape = escape_of(lines, dialect)
    if not escape and dialect.own and any("\\" + dialect.own in line for line in lines):
        widths, hidden = (_widths(replace(dialect, escape=mark), lines) for mark in ("", "\\"))
        if len(hidden) == 1 < len(widths):
            escape = "\\"
    return replace(dialect, escape=escape)


def escape_of(lines: list[str], dialect: Dialect) -> str:
    """Return a backslash if it is the escape of quotation marks: where another reading leaves a quote open."""
    after, quote = re.escape(dialect.own or UNIT), dialect.quote
    pattern = rf"\\{quote}(?:[^{after}{quote}\n]|{quote}(?:{after}|$))"
    return "\\" if any("\\" + quote in line and re.search(pattern, line) for line in lines) else ""


def has_inner_quotes(text: str, dialect: Dialect) -> bool:
    """Return whether a quoted cell has a mark that is neither doubled nor escaped: `"he said "no" to it"`."""
    quote, own = dialect.quote, dialect.own
    if not own or dialect.escape or len(own) > 1 or own == " ":
        return False
    ends = sum(map(text.count, (f"{own}{quote}", f"{quote}{own}", f"\n{quote}", f"{quote}\n")))
    if text.count(quote) <= ends + text.startswith(quote):
        return False
    after = re.escape(own)
    cell = (
        rf"(?m)(?:^|{after}){quote}(?:[^{quote}\n]|{quote * 2})*{quote}[^{quote}{after}\n\s](?:.*{quote}(?:{after}|$))"
    )
    return re.search(cell, text) is not None


def _is_spaced(lines: list[str], dialect: Dialect) -> bool:
    """Return whether blanks stand between separators and quotation marks, wherever a cell has such marks."""
    own, text = dialect.own, "\n".join(lines)
    if not own or own.isspace():
        return False
    after = re.escape(own)
    return not re.search(rf"{after}{dialect.quote}(?!{after})", text) and bool(
        re.search(rf"{after}[ \t]+{dialect.quote}[^\n]*{dialect.quote}[ \t]*(?:{after}|\n|$)", text)
    )


def _has_fixed_widths(lines: list[str]) -> bool:
    """Return whether most lines have words or numbers apart from each other, and all a blank in one place, as tables in
    plain text."""
    filled = [line for line in lines if line.strip()]
    apart = sum(re.search(r"\S {2,}\S", line) is not None for line in filled)
    blank = any(set(letters) == {" "} for letters in zip(*(line.strip() for line in filled), strict=False))
    return len(filled) > 1 and 2 * apart >= len(filled) and blank


def _mark_of_parts(lines: list[str]) -> str:
    """Return a mark that may stand between columns: as often in each line below the first, twice at least, and in the
    first one, too, or, if it is a usual separator, not at all."""
    first, *others = [line for line in lines if line] or [""]
    marks = dict.fromkeys(mark for mark in first + USUAL if not mark.isalnum() and mark not in " ._\"'")
    counts = {mark: {line.count(mark) for line in others} for mark in marks} if len(others) > 1 else {}
    alike = (mark for mark, times in counts.items() if len(times) == 1 and min(times) > 1)
    return next((mark for mark in alike if first.count(mark) in (0, *counts[mark])), "")


def _fitting(dialect: Dialect, lines: list[str]) -> Dialect | None:
    """Return a dialect, with its separator doubled if so it is; None if the separator belongs to the cells."""
    try:
        rows = [row.cells for row in dialect.rows(lines)]
    except ReaderError:
        return None
    width, times = Counter(len(row) for row in rows).most_common(1)[0] if rows else (1, 0)
    if width < 2:
        return None
    table = [row for row in rows if len(row) == width]
    between = {cell for row in table for cell in row[1::2]}
    if width > 2 and len(between) == 1 and set(*between) <= COMBINED:
        return replace(dialect, own=f"{dialect.own}{between.pop()}{dialect.own}")
    first = rows[0]
    is_alone = len(first) == 1 and len(rows) == times + 1 and not _has_names(table)
    is_word = is_alone and dialect.own != "\t" and re.fullmatch(r"\w+", first[0])
    if is_alone and (is_word or dialect.own not in USUAL or _is_prose(dialect.own, table, width)):
        return None  # one name above cells that hold the mark
    if dialect.own in USUAL:
        return dialect
    if len(first) == width - 1 and times == len(rows) - 1 and _is_labelled(lines, dialect):
        return dialect
    if dialect.own in ":/" and all(map(is_value, lines)):
        return None  # times or dates
    if times < 0.95 * len(rows) or len(first) != width:
        # Below a title, only numbers are a table.
        below = rows[next(k for k, row in enumerate(rows) if len(row) == width) :]
        numbers = all(len(row) == width and all(is_value(cell.strip()) for cell in row) for row in below[1:])
        return dialect if len(below) > 2 and numbers else None
    values = any(is_value(cell.strip()) for row in table[1:] for cell in row)
    return dialect if values or _has_codes(table) else None


def _has_codes(table: list[list[str]]) -> bool:
    """Return whether a column holds digits in each row, under a name without any."""
    columns = list(zip(*table, strict=True))
    return (
        len(columns) > 2
        and len(table) > 3
        and any(
            not re.search(r"\d", column[0]) and all(re.search(r"\d", cell) for cell in column[1:]) for column in columns
        )
    )


def _has_names(table: list[list[str]]) -> bool:
    """Return whether the first row has names, and the last has values."""
    values = [any(is_value(cell.strip()) for cell in row) for row in (table[0], table[-1])]
    return len(table) > 1 and values == [False, True] and header_of(table).end > 0


def _is_prose(own: str, table: list[list[str]], width: int) -> bool:
    """Return whether a mark is part of sentences, which have a blank behind it, or of numbers."""
    spaced = sum(cell.startswith(" ") for row in table for cell in row[1:])
    return 10 * spaced >= 9 * len(table) * (width - 1) or (width == 2 and own in ",;:")


def _count_rows(cells: list[str]) -> bool:
    """Return whether the cells count the rows, from 0 or 1 on."""
    return len(cells) > 2 and any(cells == [str(start + k) for k in range(len(cells))] for start in (0, 1))


def _is_labelled(lines: list[str], dialect: Dialect) -> bool:
    """Return whether all names and the first cell of each row are in quotes, each another, as R writes named rows."""
    names, *rows = [line for line in lines if line] or [""]
    quoted = rf"{dialect.quote}[^{dialect.quote}]*{dialect.quote}{re.escape(dialect.own)}"
    labels = {match[0] for row in rows if (match := re.match(quoted, row))}
    return re.fullmatch(f"(?:{quoted})+", names + dialect.own) is not None and 2 < len(labels) == len(rows)


def _table(rows: list[TextRow], labelled: bool) -> tuple[list[TextRow], int]:
    """Return the rows of the usual width, from the first on, and that width.

    Rows may be one cell short where every row ends in a spare separator. A narrower line right before data without
    names is refused: it could be a title, or names with one missing."""
    widths = Counter(len(row.cells) for row in rows)
    width = max(widths, key=lambda cells: (widths[cells], cells))
    check_columns(width)
    if width == 1:
        return [row for row in rows if len(row.cells) == 1], 1
    spare = all(row.cells[-1] == "" for row in rows if len(row.cells) == width)
    fitting = (width, width - 1) if spare else (width,)
    first = next(k for k, row in enumerate(rows) if len(row.cells) in fitting)
    if first > 0 and len(rows[first - 1].cells) == width - 1 and width > 2 and not spare:
        if labelled or _count_rows([row.cells[0] for row in rows[first:] if len(row.cells) == width]):
            above = rows[first - 1]  # as R writes them: the column of row numbers has no name
            return [replace(above, cells=["", *above.cells]), *_table(rows[first:], labelled)[0]], width
        table = [row.cells for row in rows[first:] if len(row.cells) == width]
        if rows[first - 1].after < rows[first].line or _has_names(table):
            return [row for row in rows[first:] if len(row.cells) == width], width
        raise ReaderError(
            f"Line {rows[first - 1].line + 1} has {width - 1} cells and the rows below have {width}: "
            "give every column a name, or remove the line if it is a title."
        )
    return [row for row in rows[first:] if len(row.cells) in fitting], width
