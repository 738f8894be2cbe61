"""Rows below a table: totals, means, notes and sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from gamcore.common.numbers import counted
from gamcore.common.types import Floats
from shapewise.ingest.types import Tally, convert, plans, trimmed

TOTALS: Final = (
    r"(?:grand |sub)?totals?|(?:eind|sub)?totaal|sum|(?:gesamt|teil)?summe|gesamt(?:ergebnis|summe)?|insgesamt"
    r"|total (?:général|general|geral)|totale(?: complessivo)?|suma(?: (?:końcowa|total))?|totalsumma|hovedtotal|totalt"
    r"|razem|ogółem|celk(?:em|ový součet)|végösszeg|összesen|genel toplam|toplam|kaikkiaan|yhteensä"
    r"|(?:общий )?итог|итого|всего|合计|总计|合計|総計|小计|小計"
)
SUBTOTAL: Final = re.compile(f"{TOTALS}|ergebnis", re.IGNORECASE)
"""The word before or behind a value that begins a row of its sums, as North Total."""

STATISTICS: Final[tuple[tuple[str, Callable[[Floats], Any]], ...]] = (
    (TOTALS, np.sum),
    (r"averages?|avg\.?|means?|(?:der )?durchschnitt|mittelwert|mittel|moyennes?|media|promedio|média|gemiddelde"
     r"|snitt|medel(?:värde)?|gjennomsnitt|gennemsnit|średnia|průměr|átlag|ortalama|keskiarvo|среднее|平均(?:值|値)?",
     np.mean),
    (r"median[aeo]?|médiane?|медиана", np.median),
    (r"min\.?|minim(?:um|o)|mínimo", np.min),
    (r"max\.?|maxim(?:um|o)|massimo|máximo", np.max),
    (r"std\.?|sd|stdev|st(?:andar)?d\.? ?dev(?:iation|\.)?|standardabweichung|écart[- ]type", partial(np.std, ddof=1)),
)  # fmt: skip
"""What a last row may be called, and what its numbers then are of those above it."""

NOTE: Final = re.compile(r"[^\W\d_][\w ]{1,20}:\s|(?:notes?|sources?|nota|fuente)\b|[©*]|\(c\)", re.IGNORECASE)
"""How a note or a source begins: Stand: 2024-01-31."""

FEWEST_SUMMED: Final = 3
"""Rows of which a last one may be a sum, a mean or the like."""


def footer_rows(rows: Sequence[Sequence[str]], total: int, words: set[str], notes: list[str]) -> int:
    """Return how many of the last rows are blank, notes, or what spreadsheets write below a table; never all rows.

    A row is a total if its first cell says so, or if it has none and sums up the rows above; it is one of means or the
    like if its first cell says so and its numbers agree. Where a row above has the word, too, it may be an ordinary
    value, and stays. rows : the last of a `total`, as text. words : first cells of those above them. notes : get what
    is left out, or may be sums."""
    below, firsts = 0, words | {row[0] for row in rows}
    if subtotal := min((first for first in firsts if _is_subtotal(first, firsts)), default=""):
        notes.append(f"Rows such as {subtotal[:40]!r} are kept: they may be sums of those above them.")
    while below < min(len(rows), total - 1) and len(rows[0]) > 1:
        row, above = rows[-below - 1], rows[: -below - 1]
        first, statistic = _first(row), _statistic_of(row)
        whole = len(rows) == total
        if statistic is not None:
            repeated = first in words or any(first in cells for cells in above)
            if repeated or (statistic is not np.sum and not (whole and _agrees(row, above, statistic))):
                notes.append(f"Rows that begin with {first!r} are kept: they may be sums or means of those above them.")
                if repeated:
                    return 0
                break
        elif first and not _is_footnote(row, above):
            is_sum = whole and _agrees(row, above, np.sum)
            if row[0] and is_sum:
                notes.append(f"The last row, {first[:40]!r}, is kept: it may be the sum of those above it.")
            if row[0] or not is_sum:
                break
        below += 1
    if below:
        shown = " ".join(next(([cell for cell in row if cell] for row in rows[-below:] if any(row)), [])[:3])[:40]
        begins = f" with {shown!r}"
        ways = (f"that begins{begins}", f"that begin{begins}") if shown else ("without any cell",) * 2
        notes.append(f"Left out {counted(below, 'last row', *ways)}: below the table.")
    return below


def _first(row: Sequence[str]) -> str:
    return next((cell for cell in row if cell), "")


def _statistic_of(row: Sequence[str]) -> Callable[[Floats], Any] | None:
    """Return what the first cell of a row says that its numbers are of those above it; None where it says nothing."""
    word = _first(row).partition(":")[0].strip().lower()
    return next((statistic for names, statistic in STATISTICS if re.fullmatch(names, word)), None)


def _agrees(row: Sequence[str], above: Sequence[Sequence[str]], statistic: Callable[[Floats], Any]) -> bool:
    """Return whether the numbers of a row are a statistic of those in the rows above it, which all have a first cell,
    to the digits that it has; not where all are 0."""
    body = [cells for cells in above if _first(cells) and _statistic_of(cells) is None]
    if len(body) < FEWEST_SUMMED or not all(cells[0] for cells in body):
        return False
    places = pa.array(range(len(body) + 1))
    cells = {str(k): trimmed(pa.array(column)) for k, column in enumerate(zip(*body, row, strict=True)) if k and row[k]}
    planned = plans({k: (column, places) for k, column in cells.items()}, semicolons=False, own={k: [] for k in cells})
    known = []
    for column, plan in zip(cells.values(), planned, strict=True):
        if plan.kind != "number":
            return False
        *others, last = convert(column, plan, Tally()).to_pylist()
        values = np.array([value for value in others if value is not None])
        if last is None or not values.size:
            return False
        digits = np.format_float_positional(last, trim="-").partition(".")[2]
        if abs(last - statistic(values)) > 0.5 * 10.0 ** -len(digits) + 1e-9 * abs(last):
            return False
        known.append(last)
    return any(known)


def _is_subtotal(first: str, firsts: set[str]) -> bool:
    """Return whether the first cell of a row is one of the others with the word of a total."""
    parts = first.rpartition(" "), first.partition(" ")[::-1]
    return any(value and value in firsts and SUBTOTAL.fullmatch(word) for value, _, word in parts)


def _is_footnote(row: Sequence[str], above: Sequence[Sequence[str]]) -> bool:
    """Return whether a row is prose in its first cell alone, below rows that are filled: a source, or a note."""
    alone, words = bool(row[0]) and not any(row[1:]), row[0].split()
    if not alone or not above:
        return False
    above = [cells for cells in above if any(cells)]
    filled = [cells for cells in above if sum(map(bool, cells)) > 1]
    longest = max((len(cells[0].split()) for cells in filled), default=0)
    named = NOTE.match(row[0]) is not None and not any(NOTE.match(cells[0]) for cells in filled)
    return 10 * len(filled) >= 9 * len(above) and (
        (len(row) > 2 and len(words) >= 8 and len(words) > longest) or (named and len(words) > 1)
    )
