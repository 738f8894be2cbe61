"""What each column of a table is for: the target, other outcomes, the arm of a test, the exposure, IDs, groups, time.

Every page and the doctor ask here, so that they begin from the same answer. What people chose is kept with the table
and wins; the rest is guessed from names and values, scored, and told with its reason. Where the evidence is thin there
is a question with its likeliest answers instead of a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd

from gamcore.common.numbers import percent
from gamcore.common.types import Floats
from gamcore.data.columns import read_numbers
from gamcore.data.table import Table
from shapewise.columns import arms_found, targets_found
from shapewise.columns.guesses import Guess, Question
from shapewise.doctor.examine import ColumnReport
from shapewise.doctor.name_words import BEFORE, EXPOSURES, HOW_MANY, MAYBE_EXPOSURES, OUTCOMES, shares_word, words_of

Role = Literal[
    "feature", "target", "outcome", "arm", "exposure", "id", "group", "time", "task", "weight", "leave out",
]  # fmt: skip
ROLES: Final[tuple[Role, ...]] = get_args(Role)
ONCE: Final = ("target", "arm", "exposure", "group", "time", "task", "weight")
"""Roles that only one column can have."""

FORMER: Final = {"ignore": "leave out"}
"""What roles were called when older tables were stored."""

MOST_ANSWERS: Final = 3
NOTHING: Final[Mapping[str, str]] = {}
YEAR_OF_DAYS: Final = (365.0, 366.0)
SPIKE: Final = 0.2
"""Least share of rows with a whole year, for a column of days or of parts of a year to be an exposure."""


@dataclass(frozen=True)
class Roles:
    """The roles of a table's columns.

    by_column : those that were chosen before those that are guessed. why : the reason of each guess, by column.
    targets : the columns that may be the target, the likeliest first. questions : what is better asked than guessed.
    """

    by_column: Mapping[str, Role]
    why: Mapping[str, str] = field(default_factory=dict)
    targets: tuple[Guess, ...] = ()
    questions: tuple[Question, ...] = ()

    def column(self, role: Role) -> str | None:
        """Return the column that has a role; None where none has."""
        return next((name for name, own in self.by_column.items() if own == role), None)

    def columns(self, *roles: Role) -> list[str]:
        """Return the columns that have one of some roles, in the order of the table."""
        return [name for name, own in self.by_column.items() if own in roles]

    def question(self, role: Role) -> Question | None:
        """Return the question about a role; None where there is none."""
        return next((question for question in self.questions if question.role == role), None)


def as_role(text: str) -> Role:
    """Return a role as it is stored, also under its former name; a feature where it is none."""
    text = FORMER.get(text, text)
    return next((role for role in ROLES if role == text), "feature")


def roles_of(
    table: Table, reports: Sequence[ColumnReport], chosen: Mapping[str, str] = NOTHING, name: str = "",
    computed: Sequence[str] = (),
) -> Roles:  # fmt: skip
    """Return the roles of a table's columns.

    reports : the doctor's. chosen : the roles that people gave. name : of the table. computed : columns made by
    formulas, which are no targets.
    """
    own = {column: as_role(role) for column, role in chosen.items() if column in table}
    given: dict[str, Role] = {r.name: own.get(r.name, as_role(r.role)) for r in reports}
    taken = {role for role in own.values() if role in ONCE}
    for column, role in given.items():  # a guess gives way to what was chosen
        if role in taken and column not in own:
            given[column] = "id" if role == "group" else "feature"
    why: dict[str, str] = {}
    questions: list[Question] = []

    def settle(role: Role, guesses: Sequence[Guess]) -> None:
        """Give a role to the likeliest column, or ask."""
        if role in taken or not guesses:
            return
        if guesses[0].sure:
            given[guesses[0].column], why[guesses[0].column] = role, guesses[0].why
        else:
            questions.append(Question(role, tuple(guesses[:MOST_ANSWERS])))

    free = [r for r in reports if r.name not in own]
    settle("arm", arms_found.likely(table, [r for r in free if given[r.name] == "feature" or _is_copy(r)]))
    usable = [r for r in free if r.kind not in (None, "date") and r.distinct > 1 and r.name not in computed
              and not r.has("days") and (given[r.name] in ("feature", "task") or _is_copy(r))]  # fmt: skip
    many = {r.name for r in usable if r.kind == "category" and r.distinct > targets_found.MOST_LEVELS}
    targets = [guess for guess in targets_found.likely(table, reports, usable, name) if guess.column not in many]
    settle("target", targets)
    known = [column for column, role in given.items() if role == "target"]
    target = next(iter(known), targets[0].column if targets else None)
    if "arm" in given.values():
        for r in free:
            if r.name not in known and (given[r.name] == "feature" or _is_copy(r)) and is_outcome(r):
                given[r.name], why[r.name] = "outcome", "its name is that of an outcome of a test"
    features = [r for r in free if given[r.name] == "feature" and r.kind == "number" and r.name != target]
    settle("exposure", _exposures(table, features, target))
    return Roles(given, why, tuple(targets), tuple(questions))


def _is_copy(report: ColumnReport) -> bool:
    return report.has("copy") or report.has("cut")


def is_outcome(report: ColumnReport) -> bool:
    """Return whether a column is called like an outcome of a test, and not like one from before."""
    return report.kind in ("number", "boolean") and sounds_like_outcome(report.name)


def sounds_like_outcome(name: str) -> bool:
    """Return whether a column is called like an outcome, and not like one from before a test."""
    words = words_of(name)
    return bool(words & OUTCOMES) and not words & BEFORE


def _exposures(table: Table, reports: Sequence[ColumnReport], target: str | None) -> list[Guess]:
    """Return the numbers that a count or an amount may be divided by, the likeliest first."""
    if target is None or not _is_count_or_amount(table, target):
        return []
    counts = read_numbers(table.frame[target])
    whole = not (counts[np.isfinite(counts)] % 1).any()
    guesses = [guess for r in reports
               if (guess := _exposure(table.frame[r.name], r.name) or
                   (_total(counts, table.frame[r.name], r.name, target) if whole else None)) is not None]  # fmt: skip
    guesses = sorted((guess for guess in guesses if guess.sure or whole), key=lambda guess: -guess.score)
    if whole and any(_is_total(counts, read_numbers(table.frame[guess.column])) for guess in guesses[1:]):
        guesses[0] = replace(guesses[0], sure=False)  # weeks of exposure, beside how many were exposed
    return guesses


def _exposure(series: pd.Series, name: str) -> Guess | None:
    """Return how well a column fits an exposure; None where it does not."""
    values = read_numbers(series)
    known = values[np.isfinite(values)]
    if not (known >= 0).all() or known.size == 0 or np.ptp(known) == 0:
        return None
    whole = bool((values > 0).all())  # else some rows would have to be left out
    words = words_of(name)
    top = float(known.max())
    share = float((known == top).mean())
    of_year = whole and (top == 1.0 or top in YEAR_OF_DAYS) and share >= SPIKE and np.unique(values).size > MOST_ANSWERS
    if words & EXPOSURES:
        return Guess("exposure", name, 1.0, f"its name is that of an exposure ({min(words & EXPOSURES)})", sure=whole)
    if of_year:
        unit = "a whole year" if top > 1 else "1, the whole of a period"
        return Guess("exposure", name, 0.9, f"it ends at {unit}, which {percent(share, 0)} of the rows have", sure=True)
    if word := shares_word(name, MAYBE_EXPOSURES):
        return Guess("exposure", name, 0.4, f"its name may be that of an exposure ({word})")
    return None


def _total(counts: Floats, series: pd.Series, name: str, target: str) -> Guess | None:
    """Return that a column called how many, of whole numbers (n,) that are never below the target's (n,), may be of how
    many these are."""
    word = shares_word(name, HOW_MANY)
    if not word or not _is_total(counts, read_numbers(series)):
        return None
    return Guess("exposure", name, 0.3, f"its name may be that of how many ({word}), and it is never below {target}")


def _is_total(counts: Floats, totals: Floats) -> bool:
    """Return whether whole numbers (n,) above 0 are never below others (n,)."""
    known = np.isfinite(counts) & np.isfinite(totals)
    some, most = counts[known], totals[known]
    return bool(most.size and (most > 0).all() and not (most % 1).any() and (some <= most).all())


def _is_count_or_amount(table: Table, target: str) -> bool:
    if table.usable_kind(target) != "number":
        return False
    values = read_numbers(table.frame[target].dropna())
    return bool(values.size and (values >= 0).all() and np.unique(values).size > 2)
