"""Sentences about curves read back from their words alone, as a person does, and held against the rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import spearmanr

from benchmarks.wild.faults import Fault
from benchmarks.wild.rows import Effects
from gamcore.data.dates import days_of
from gamcore.data.labels import cut, set_apart
from gamcore.explain.claims import LONGEST_LEVEL

NUMBER: Final = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
MOMENT: Final = rf"(?:\d{{4}}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d+)?)?|{NUMBER})"
SHARE: Final = rf"(?:over |under )?{NUMBER}"
OPEN: Final = r"(?: or (?:more|less|later|earlier))?"
RANGE: Final = rf"((?:{MOMENT}){OPEN})(?: to ((?:{MOMENT}){OPEN}))?"
MOVE: Final = re.compile(
    rf"(rises|falls) (by a factor of (?:over )?|by |)({NUMBER})( points)? "
    rf"(?:from|around|at) {RANGE}(?:, where ({SHARE})% of rows are)?"
)
BETWEEN: Final = re.compile(rf"(rises|falls) (by a factor of |by |)({NUMBER})( points)? between {RANGE} and {RANGE}")
APART: Final = re.compile(
    rf"(above|below) average \((over |under )?(×?)({NUMBER})\) (?:from|around|at) {RANGE}"
    rf"(?:, where ({SHARE})% of rows are)?"
)
EFFECT: Final = rf"(?:over |under )?×?{NUMBER}"
MORE: Final = re.compile(r"; (\d+) more levels?(?:;|$)")
EXPONENT: Final = re.compile(r"(?<![\w.])\d[\d,.]*e[-+]?\d+\b|\bnan\b|\binf\b|∞", re.IGNORECASE)
SIGNIFICANT: Final = 12
END_ROWS: Final = 30
TOLERANCE: Final = 0.02
"""Share of a curve's range by which an end of a movement, of which the nearest 30 rows are looked at, may be off."""


@dataclass(frozen=True)
class Range:
    """A printed range, both ends included, in a column's units or in days."""

    low: float
    high: float


def value(text: str) -> float:
    """Return a number as it was written."""
    return float(text.replace(",", ""))


def half_digit(text: str) -> float:
    """Return half a unit of the last digit of a number as it was written; of round whole numbers, of the last digit
    that is not 0."""
    bare = text.replace(",", "").lstrip("+-")
    if "." in bare:
        return 0.5 * 10.0 ** -len(bare.split(".")[1])
    return 0.5 * 10.0 ** (len(bare) - len(bare.rstrip("0"))) if bare.strip("0") else 0.5


def places(low: str, high: str | None, is_date: bool, by: float = 1.0) -> Range:
    """Return a printed range; a day ends with its last moment, and an end that is said to be open nowhere."""
    (first, _, less), (last, _, more) = (text.partition(" or ") for text in (low, high or low))
    if is_date:
        start, end = days_of(first), days_of(last) + (1 - 1e-9 if len(last) == 10 else 0.0)
    else:
        start, end = value(first) / by, value(last) / by
    return Range(-math.inf if less in ("less", "earlier") else start, math.inf if more in ("more", "later") else end)


def faults(sentence: str, name: str, rows: Effects, kind: str) -> Iterator[Fault]:
    """Yield what the rows say against a sentence. name : with which it begins. kind : of the column."""
    rest = sentence.removeprefix(name)
    if EXPONENT.search(rest.replace("×", "")):
        yield Fault("digits", said=sentence, right="a number as people write it")
    if kind in ("number", "date"):
        yield from _of_moves(sentence, rest, rows, kind == "date")
        yield from _between(sentence, rest, rows, kind == "date")
        yield from _of_one_side(sentence, rest, rows, kind == "date")
        yield from _overall(sentence, rest, rows)
        yield from _many_digits(sentence, rest, rows)
    else:
        yield from _of_levels(sentence, rest, rows)
    yield from _of_missing(sentence, rest, rows)


def _of_moves(sentence: str, rest: str, rows: Effects, is_date: bool) -> Iterator[Fault]:
    for words, kind, text, _, low, high, share in MOVE.findall(rest):
        place = places(low, high or None, is_date)
        yield from _of_place(sentence, place, share, rows)
        single = not high
        if not single:
            yield from _of_direction(sentence, words, place, rows)
        size, slack = value(text), half_digit(text)
        if size <= 0:
            yield Fault("sign", said=sentence, right="a movement above 0")
        all_rows = rows.heights[~_is_missing(rows)]
        moved = float(np.ptp(all_rows)) if all_rows.size else 0.0
        if "factor" in kind:
            right = math.exp(min(moved, 700.0))
            wrong = size - slack > right * (1 + TOLERANCE)
        else:
            right, wrong = moved, size - slack > moved * (1 + TOLERANCE)
        if wrong:
            yield Fault("size", said=sentence, right=f"the whole curve moves by {right:.4g}")


def _between(sentence: str, rest: str, rows: Effects, is_date: bool) -> Iterator[Fault]:
    """Yield a movement between two ranges that is not that of the means of their rows."""
    for words, kind, text, _, *ends in BETWEEN.findall(rest):
        first, second = (places(low, high or None, is_date) for low, high in (ends[:2], ends[2:]))
        before, after = (float(rows.heights[rows.inside(place.low, place.high)].mean()) for place in (first, second))
        moved = (after - before) * (1 if words == "rises" else -1)
        right = math.exp(moved) if "factor" in kind else moved
        if abs(value(text) - right) > half_digit(text) + TOLERANCE * abs(right):
            yield Fault("size", said=sentence, right=f"the means of the two move by {right:.4g}")


def _overall(sentence: str, rest: str, rows: Effects) -> Iterator[Fault]:
    match = re.search(r"(rises|falls) overall", rest)
    if not match:
        return
    there = ~_is_missing(rows)
    together = float(spearmanr(rows.cells[there].astype(float), rows.heights[there]).statistic)
    if (together > 0) != (match[1] == "rises"):
        yield Fault("direction", said=sentence, right=f"rank correlation {together:.3f}")


def _of_place(sentence: str, place: Range, share: str, rows: Effects) -> Iterator[Fault]:
    cells = rows.cells[~_is_missing(rows)].astype(float)
    inside = rows.inside(place.low, place.high)
    low, high = (float(cells.min()), float(cells.max())) if cells.size else (0.0, 0.0)
    slack = 0.01 * (high - low) + 1e-9 * max(abs(low), abs(high))
    ends = [end for end in (place.low, place.high) if math.isfinite(end)]
    if place.low > place.high or any(not low - slack <= end <= high + slack for end in ends):
        yield Fault("range", said=sentence, right=f"data from {low:.6g} to {high:.6g}")
    if share and not is_share(share, int(inside.sum()), inside.size):
        yield Fault("share", said=sentence, right=f"{inside.sum()} of {inside.size} rows")


def is_share(text: str, part: int, whole: int) -> bool:
    """Return whether a share in percent, as it was written, is that of some rows of all: to half a unit of its last
    digit, or on the side that it says of a bound; nothing only where there is none, and all only where it is all."""
    true, (side, _, bound) = 100.0 * part / whole, text.rpartition(" ")
    number = value(bound)
    if side == "over":
        return number < true < 100
    if side == "under":
        return 0 < true < number
    if number in (0, 100):
        return part == whole * number / 100
    digits = bound.partition(".")[2]
    return abs(true - number) <= 0.5 * 10.0 ** -len(digits) + 1e-9


def _of_direction(sentence: str, words: str, place: Range, rows: Effects) -> Iterator[Fault]:
    """Compare the 30 rows at either end of a printed range; fewer where they would meet."""
    inside = np.flatnonzero(rows.inside(place.low, place.high))
    if inside.size < 2:
        yield Fault("range", said=sentence, right=f"{inside.size} rows in the range")
        return
    order = inside[np.argsort(rows.cells[inside].astype(float), kind="stable")]
    k = max(min(END_ROWS, order.size // 2), 1)
    start, end = float(rows.heights[order[:k]].mean()), float(rows.heights[order[-k:]].mean())
    moved = end - start if words == "rises" else start - end
    if moved < -TOLERANCE * float(np.ptp(rows.heights)):
        yield Fault("direction", said=sentence, right=f"from {start:+.4g} to {end:+.4g} between the ends' rows")


def _of_one_side(sentence: str, rest: str, rows: Effects, is_date: bool) -> Iterator[Fault]:
    for words, beyond, is_factor, text, low, high, share in APART.findall(rest):
        place = places(low, high or None, is_date)
        yield from _of_place(sentence, place, share, rows)
        zero = 1.0 if is_factor else 0.0
        if (words == "above") != (value(text) > zero):
            yield Fault(
                "sign", said=sentence, right=f"{words} is {'more' if words == 'above' else 'less'} than {zero:g}"
            )
        mean = rows.mean(rows.inside(place.low, place.high))
        if not beyond and not abs(mean - value(text)) <= half_digit(text) * (1 + 1e-6) + 1e-9:
            yield Fault("size", said=sentence, right=f"mean effect of the rows {mean:.6g}")


def _of_levels(sentence: str, rest: str, rows: Effects) -> Iterator[Fault]:
    """Look for each level of the rows in a sentence, with its effect behind it."""
    if "(rare" in rest or " levels) " in rest:  # several levels as one: their claims are checked by name
        return
    levels = sorted({str(cell) for cell in rows.cells.tolist()} - {""}, key=len, reverse=True)
    shown: dict[str, list[str]] = {}
    for level in levels:
        shown.setdefault(set_apart(cut(level, LONGEST_LEVEL)), []).append(level)
    n_named = 0
    for text, names in shown.items():
        match = re.search(rf"(?:^: |, ){re.escape(text)} ({EFFECT})(?= points|, |;|$)", rest)
        if not match:
            continue
        n_named += 1
        if len(names) == 1 and (fault := _wrong_effect(sentence, match[1], rows.mean(rows.rows_of(names[0])))):
            yield fault
    more = MORE.search(rest)
    if n_named and more and int(more[1]) != len(levels) - n_named:
        yield Fault("levels", said=sentence, right=f"{len(levels) - n_named} further levels of {len(levels)}")


def _wrong_effect(sentence: str, text: str, mean: float) -> Fault | None:
    """Return a fault where an effect as printed is another one. mean : of the rows."""
    number = value(text.removeprefix("over ").removeprefix("under ").removeprefix("×"))
    if text.startswith("over "):
        fine = mean >= number * (1 - 1e-9)
    elif text.startswith("under "):
        fine = mean <= number * (1 + 1e-9)
    else:
        fine = abs(mean - number) <= half_digit(text.removeprefix("×")) * (1 + 1e-6) + 1e-9
    return None if fine else Fault("size", said=sentence, right=f"{text} is {mean:.6g} of the rows")


def _of_missing(sentence: str, rest: str, rows: Effects) -> Iterator[Fault]:
    match = re.search(rf"(?:: only |; )missing ({EFFECT})(?: points)?$", rest)
    if not match:
        return
    missing = _is_missing(rows)
    if not missing.any():
        yield Fault("levels", said=sentence, right="no cell is missing")
    elif fault := _wrong_effect(sentence, match[1], rows.mean(missing)):
        yield fault


def _many_digits(sentence: str, rest: str, rows: Effects) -> Iterator[Fault]:
    """Yield numbers with more digits than any of the column has."""
    for text in re.findall(NUMBER, rest):
        digits = text.replace(",", "").replace(".", "").lstrip("+-0").rstrip("0")
        if len(digits) > SIGNIFICANT and not (rows.cells.astype(float) == value(text)).any():
            yield Fault("digits", said=sentence, right=f"{text} has {len(digits)} digits")


def _is_missing(rows: Effects) -> np.ndarray:
    if rows.cells.dtype == object:
        return np.asarray(rows.cells == "")
    return np.isnan(rows.cells.astype(float))
