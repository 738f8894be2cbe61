"""Which column says who got what in a test: by its name, a level called like a control, sizes that are nearly equal,
and that it is independent of what was known before, as what is drawn by lot is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.stats import chi2, rankdata

from gamcore.common.types import Floats, Ints
from gamcore.data.columns import read_numbers, read_present_texts
from gamcore.data.table import Table
from shapewise.columns.guesses import Guess
from shapewise.doctor.examine import ColumnReport
from shapewise.doctor.name_words import (
    ARMS,
    CONTROLS,
    FATES,
    GIVEN,
    MAYBE_ARMS,
    OUTCOMES,
    TREATED,
    shares_word,
    words_in,
    words_of,
)

MOST_LEVELS: Final = 12
"""Levels that arms have at most."""

MOST_ROWS: Final = 20_000
"""Rows that are looked at."""

EQUAL: Final = 0.8
UNEQUAL: Final = 0.2
"""Rows of the smallest part in those of the largest: from where they look planned alike, and below where not."""

EXACTLY: Final = 200
"""Rows from which parts of exactly the same size were planned: in a test of prejudice, those of race or sex are."""

BARE: Final = frozenset({"no", "off", "false", "a", "0"})
"""Names of controls that are also levels of columns of any kind."""

FEWEST_TESTED: Final = 3
MOST_TESTED: Final = 60
"""Other columns that a column must be independent of, to look drawn by lot, and how many are tested, taken evenly."""

GIVEN_FIRST: Final = 1.0
"""What is taken off the score of a column that says who or where a row is."""

ALONE: Final = 0.5
"""What is added where there are too few other columns to test: a short table may be that of a plan."""

CHANCE: Final = 0.05
"""Chance below which a column depends on another, over all that are tested."""

SURE: Final = 3.5
ASKED: Final = 1.5
"""Least scores for a guess, and for a question."""

AHEAD: Final = 1.0
"""How far a guess is before the next: what several columns look like is asked."""


def likely(table: Table, reports: Sequence[ColumnReport]) -> list[Guess]:
    """Return the columns that may tell the arms of a test apart, the likeliest first; [] where none looks like it.

    reports : of the features.
    """
    possible = [r for r in reports if r.kind in ("category", "boolean", "number") and 2 <= r.distinct <= _most(r.name)
                and not _is_of_what_happened(r.name)]  # fmt: skip
    others = {r.name: cells for r in reports
              if not words_of(r.name) & OUTCOMES and (cells := _cells(table, r)) is not None}  # fmt: skip
    guesses = [guess for r in possible if (guess := _guess(table, r, others)) is not None]
    # Who or where a row is comes behind what is not called so, where neither is sure.
    guesses.sort(key=lambda guess: (not guess.sure and _says_who(guess.column), -guess.score))
    if len(guesses) > 1:
        rivals = [guess.column for guess in guesses[1:] if guess.score > guesses[0].score - AHEAD]
        if not shares_word(guesses[0].column, ARMS):  # a name that says less than another's
            known = ARMS | MAYBE_ARMS if guesses[0].score < SURE + ALONE else ARMS
            rivals += [guess.column for guess in guesses[1:] if shares_word(guess.column, known)]
        guesses[0] = replace(guesses[0], sure=guesses[0].sure and not rivals)
    return guesses


def _says_who(name: str) -> bool:
    """Return whether a name says who or where a row is, and not that it is of an arm."""
    return bool(shares_word(name, GIVEN)) and not shares_word(name, ARMS | MAYBE_ARMS)


def _is_of_what_happened(name: str) -> bool:
    """Return whether a name is that of an outcome, and not that of an arm, too."""
    is_arm = shares_word(name, ARMS | MAYBE_ARMS)
    return bool(words_of(name) & OUTCOMES) or (not is_arm and bool(shares_word(name, FATES)))


def _most(name: str) -> int:
    """Return how many levels arms may have: more where the whole name says that they are arms."""
    return 2 * MOST_LEVELS if "".join(words_in(name)) in ARMS | MAYBE_ARMS else MOST_LEVELS


def _guess(table: Table, report: ColumnReport, others: Mapping[str, Floats | Ints]) -> Guess | None:
    """Return how well a column fits an arm; None where it does not. others : cells of the columns to test it by."""
    codes, levels = read_present_texts(table.frame[report.name])
    sizes = np.bincount(codes[codes >= 0], minlength=len(levels))
    score, reasons = _by_name(report.name)
    if report.kind == "category" and (control := control_among(levels)) and _says_control(control, levels):
        score += 1.5
        reasons.append(f"one level is called {control}")
    elif more := _with_more(levels):
        score += 1.5
        reasons.append(f"one level, {more}, is another with more")
    balance = float(sizes.min() / sizes.max())
    if balance >= EQUAL:
        is_exact = balance == 1.0 and sizes.sum() >= EXACTLY
        score = 1.0 + (max(score, 0.0) if is_exact else score)
        reasons.append(f"its {len(levels)} parts are {'equal' if is_exact else 'nearly equal'}")
    elif balance < UNEQUAL:
        score -= 1.0
    says_it = shares_word(report.name, ARMS) or shares_word(report.name, MAYBE_ARMS) in words_in(report.name)[-1:]
    # Who has crossed a line got something; classes of an amount are no arms.
    if report.has("cut") or report.has("copy"):
        is_line = says_it and (len(levels) == 2 or shares_word(report.name, ARMS))
        return Guess("arm", report.name, ASKED, " and ".join(reasons[:3])) if is_line else None
    if score + ALONE >= 1.0:
        drawn = _is_drawn(others, report, codes)
        score += {True: 1.5, False: -1.0, None: ALONE}[drawn]
        if drawn:
            reasons.append("the other columns do not differ between them")
    if says_it:
        score = max(score, ASKED)  # a name that says it is worth a question, however the parts came about
    return Guess("arm", report.name, score, " and ".join(reasons[:3]), score >= SURE) if score >= ASKED else None


def _by_name(name: str) -> tuple[float, list[str]]:
    """Return how well the name of a column is that of arms, and why it is."""
    score, reasons = 0.0, []
    if word := shares_word(name, ARMS):
        score = 3.0
        reasons = [f"its name is that of the arms of a test ({word})"]
    elif word := shares_word(name, MAYBE_ARMS):
        score = 1.5
        reasons = [f"its name may be that of the arms of a test ({word})"]
    elif word := shares_word(name, GIVEN):
        score = -GIVEN_FIRST  # who or where a row is was seldom drawn by lot
    is_all = words_in(name) == (word,) and score > 0
    return score + 0.5 * is_all, reasons


def control_among(levels: Sequence[str]) -> str | None:
    """Return the level that is called like a control, or that has the fewest words of those that are: regular, beside
    regular with aide; or the one beside a level that is called like a treatment. None where there is none, or several
    are alike."""
    called = [level for level in levels if words_of(level) & CONTROLS]
    others = [level for level in levels if not words_of(level) & TREATED]
    if not called and len(levels) == 2 and len(others) == 1:
        return others[0]
    bare = min(called, key=lambda level: len(words_in(level)), default=None)
    alike = [level for level in called if level != bare and not set(words_in(bare or "")) < set(words_in(level))]
    return None if alike else bare


def _with_more(levels: Sequence[str]) -> str:
    """Return a level that is another with something added, as A+B beside A; empty without."""
    parts = ((level, level.partition("+")) for level in levels)
    return next((level for level, (start, _, more) in parts if more.strip() and start.strip() in levels), "")


def _says_control(level: str, levels: Sequence[str]) -> bool:
    """Return whether the name of a control says so: `no` beside `yes`, and `a` and `0` in any column, say nothing; `no`
    beside low and high does."""
    if words_of(level) & (CONTROLS - BARE) or "no" in words_in(level)[:-1]:
        return True
    return words_in(level) == ("no",) and len(levels) > 2


def _is_drawn(others: Mapping[str, Floats | Ints], report: ColumnReport, codes: Ints) -> bool | None:
    """Return whether no other column, but for one in four, depends on a column; None where there are too few."""
    names = [name for name in others if name != report.name]
    step = -(-len(names) // MOST_TESTED) or 1
    p = [chance for name in names[::step] if (chance := _p(others[name], codes[:MOST_ROWS])) is not None]
    if len(p) < FEWEST_TESTED:
        return None
    dependent = sum(chance < CHANCE / len(p) for chance in p)
    return dependent <= len(p) / 4


def _cells(table: Table, report: ColumnReport) -> Floats | Ints | None:
    """Return the cells (n,) of a column that can be tested: ranks of numbers, NaN where missing, or codes of levels, -1
    where missing; None for others."""
    series = table.frame[report.name].iloc[:MOST_ROWS]
    if report.kind == "number" and report.distinct > MOST_LEVELS:
        values = read_numbers(series)
        known = np.isfinite(values)
        ranks = np.full(values.size, np.nan)
        ranks[known] = rankdata(values[known])
        return ranks
    if report.kind is None or report.kind == "date" or report.distinct > MOST_LEVELS:
        return None
    return read_present_texts(series)[0]


def _p(cells: Floats | Ints, part: Ints) -> float | None:
    """Return the p-value of no dependence of a column (n,) on the parts (n,): of Kruskal and Wallis for ranks, of
    chi-squared for codes; None where it cannot be tested."""
    if cells.dtype.kind == "f":
        known = np.isfinite(cells) & (part >= 0)
        rows = np.bincount(part[known])
        away = cells[known] - cells[known].mean() if known.any() else cells[:0]
        spread, parts = float(np.square(away).sum()), int((rows > 0).sum())
        if parts < 2 or spread == 0:
            return None
        between = np.square(np.bincount(part[known], away)) / np.maximum(rows, 1)
        return float(chi2.sf((away.size - 1) * between.sum() / spread, parts - 1))
    known = (part >= 0) & (cells >= 0)
    if not known.any():
        return None
    width = int(cells.max()) + 1
    pairs = (part[known] * width + cells[known]).astype(np.int64)
    seen = np.bincount(pairs, minlength=(int(part.max()) + 1) * width).reshape(-1, width)
    seen = seen[seen.any(axis=1)][:, seen.any(axis=0)].astype(np.float64)
    if min(seen.shape) < 2:
        return None
    expected = seen.sum(axis=1, keepdims=True) * seen.sum(axis=0, keepdims=True) / seen.sum()
    statistic = float((np.square(seen - expected) / expected).sum())
    return float(chi2.sf(statistic, (seen.shape[0] - 1) * (seen.shape[1] - 1)))
