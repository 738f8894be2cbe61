"""Kinds of target: what each is called, which objective it has, and which one a column seems to be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from gamcore.common.numbers import counted, percent
from gamcore.common.types import Floats
from gamcore.data.columns import read_numbers
from gamcore.data.table import Table
from gamcore.data.targets import MOST_CLASSES

GoalKind = Literal["binary", "number", "count", "amount", "spend", "quantile", "classes"]
KINDS: Final[tuple[GoalKind, ...]] = get_args(GoalKind)


@dataclass(frozen=True)
class Goal:
    """A kind of target.

    label, hint : on the form. objective : of the estimator; None for a classifier. rated : whether an exposure may
    divide it.
    """

    label: str
    hint: str
    objective: str | None
    rated: bool = False


GOALS: Final[dict[GoalKind, Goal]] = {
    "binary": Goal("Yes or no", "The chance of one outcome against another.", None),
    "classes": Goal("One of several", "The chance of each of 3 to 20 outcomes.", None),
    "number": Goal("A number", "Its mean; effects add up.", "squared"),
    "count": Goal("A count", "How many events, also per year or other exposure; effects multiply.", "poisson", True),
    "amount": Goal("An amount above 0", "Its mean; effects multiply, as in the size of a claim.", "gamma", True),
    "spend": Goal("An amount, often 0", "Its mean with the zeros; effects multiply, as in spend.", "tweedie", True),
    "quantile": Goal("A quantile", "What a share of rows stays below, such as 90% of delivery times.", "quantile"),
}

NAMED_COUNTS: Final = re.compile(
    r"(?:.*[_ .-])?(?:n|no|num|number|count|counts|cnt|claims|visits|clicks|orders|purchases|calls|events|accidents|"
    r"incidents|tickets|frequency)(?:[_ .-].*)?",
    re.IGNORECASE,
)

MOST_COUNT: Final = 100_000
FEWEST_VALUES: Final = 10
"""A number with no more values than this is a choice between levels, unless it looks like a count."""

MANY_ZEROS: Final = 0.1
SKEWED: Final = 4.0
"""Mean over median from which positive amounts are taken to vary in proportion to their mean."""


def suggest(table: Table, target: str) -> tuple[GoalKind, str]:
    """Return the kind that a column seems to be as a target, and why."""
    kind, series = table.kind(target), table.frame[target]
    if kind != "number":
        n_levels = int(series.nunique())
        if kind == "category" and 2 < n_levels <= MOST_CLASSES:
            return "classes", f"it has {n_levels} levels"
        return "binary", f"it has {counted(n_levels, 'level')}" if n_levels > 2 else "it has two values"
    values = read_numbers(series.dropna())
    n_values, least = np.unique(values).size, float(values.min()) if values.size else 0.0
    whole = bool(np.all(values == np.floor(values)))
    if n_values <= 2:
        return "binary", "it has two values"
    if whole and least >= 0 and values.max() <= MOST_COUNT and _counts(values, target):
        return "count", "it holds whole numbers from 0 on, few of them large"
    if n_values <= FEWEST_VALUES:
        return "binary", f"it has only {n_values} values"
    zeros = float((values == 0).mean())
    if least >= 0 and zeros >= MANY_ZEROS and not whole:
        return "spend", f"no value is below 0, and {percent(zeros, 0)} are 0"
    if least > 0 and values.mean() > SKEWED * np.median(values):
        return "amount", "all values are above 0, and a few are far larger than most"
    return "number", "it holds numbers of all sizes"


def _counts(values: Floats, name: str) -> bool:
    """Return whether whole numbers from 0 on look like counts of events: by their name, or many small ones."""
    named = NAMED_COUNTS.fullmatch(name) is not None
    return named or (values.min() == 0 and float((values <= 2).mean()) > 0.5)


def possible(table: Table, target: str) -> list[GoalKind]:
    """Return the kinds that a column can be."""
    series = table.frame[target].dropna()
    n_values = int(series.nunique())
    levels: list[GoalKind] = ["binary", *(["classes"] if 2 < n_values <= MOST_CLASSES else [])]  # type: ignore[list-item]
    if table.kind(target) not in ("number", "boolean"):
        return levels
    values = read_numbers(series)
    least = float(values.min()) if values.size else 0.0
    fitting: dict[GoalKind, bool] = {
        "number": True, "count": least >= 0, "amount": least > 0, "spend": least >= 0 and bool((values > 0).any()),
        "quantile": True,
    }  # fmt: skip
    return [*levels, *(kind for kind, fits in fitting.items() if fits)]
