"""What Train proposes before anybody has chosen: a target, its kind and its levels, all of which can be trained.

The rows are checked as at training (`dataset.check_rows`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from gamcore.boosting.bands.halves import FEWEST
from gamcore.common.types import Bools
from gamcore.data.columns import TableError, read_numbers
from gamcore.data.table import Table
from gamcore.data.targets import MOST_CLASSES
from gamcore.model.losses import LOSSES
from shapewise.training.dataset import check_rows, read_exposure
from shapewise.training.goals import GOALS, GoalKind, possible, suggest
from shapewise.training.spec import labels_of, target_levels

FEWEST_CLASSES = 3


def first_target(rows: Table, likely: Sequence[str], held: Bools) -> str | None:
    """Return the likeliest target that can be trained, if possible with bands; None without any.

    likely : columns, the likeliest first. held : (n,) the rows that are held out.
    """
    fine = (
        name for fewest in (FEWEST, 1) for name in likely
        if is_trainable(rows, name, first_kind(rows, name, held)[0], held, fewest=fewest)
    )  # fmt: skip
    return next(fine, None)


def first_kind(rows: Table, target: str, held: Bools) -> tuple[GoalKind, str]:
    """Return the kind that a target seems to be, or else the first that it can be trained as, and why."""
    kind, why = suggest(rows, target)
    if is_trainable(rows, target, kind, held):
        return kind, why
    others = (other for other in possible(rows, target) if is_trainable(rows, target, other, held))
    other = next(others, None)
    return (kind, why) if other is None else (other, f"too few rows make it {GOALS[kind].label.lower()}")


def is_trainable(rows: Table, target: str, kind: GoalKind, held: Bools, *, fewest: int = FEWEST) -> bool:
    """Return whether a target can be trained and measured as a kind, with the levels that are proposed first. fewest :
    training rows of either side of a yes or no."""
    series = rows.frame[target]
    try:
        if kind == "binary":
            levels = target_levels(series)
            return len(levels) > 1 and _is_positive(series, [positive_first(series, held, levels)], held, fewest)
        if kind == "classes":
            return FEWEST_CLASSES <= len(classes_first(series, held)) <= MOST_CLASSES
        known = series.notna().to_numpy(bool)
        values = read_numbers(series[known].astype(float))
        check_rows(pd.Series(values), held[known], kind)
    except TableError:
        return False
    return not LOSSES[GOALS[kind].objective or "squared"].refusal(values[~held[known]])


def positive_first(series: pd.Series, held: Bools, levels: Sequence[str]) -> str:
    """Return the rarest level of which both parts have rows, and training enough for bands; the rarest of all if there
    is none."""
    counts = labels_of(series.dropna()).value_counts()
    rarest = [str(level) for level in counts.index[::-1] if counts[level] and level in levels]
    fine = (level for fewest in (FEWEST, 1) for level in rarest if _is_positive(series, [level], held, fewest))
    return next(fine, rarest[0])


def classes_first(series: pd.Series, held: Bools) -> list[str]:
    """Return the levels of which both parts have rows, and training enough for bands, in their order."""
    labels, known = labels_of(series), series.notna().to_numpy(bool)
    learnt, measured = labels[known & ~held].value_counts(), set(labels[known & held])
    return [level for level in target_levels(series) if learnt.get(level, 0) >= FEWEST and level in measured]


def _is_positive(series: pd.Series, positive: list[str], held: Bools, fewest: int) -> bool:
    """Return whether levels can be held against all others. fewest : training rows of either."""
    known = series.notna().to_numpy(bool)
    y = labels_of(series[known]).isin(positive).to_numpy(np.int64)
    try:
        check_rows(pd.Series(y), held[known], "binary")
    except TableError:
        return False
    return int(np.bincount(y[~held[known]], minlength=2).min()) >= fewest


def is_exposure(rows: Table, name: str) -> bool:
    """Return whether a column can be what a target is divided by."""
    try:
        read_exposure(rows, name)
    except TableError:
        return False
    return True
