"""Columns that may be known only after the outcome, each with the reason: the target in disguise, a step on the way to
it, something filled in later, or a part of a sum that it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from gamcore.data.columns import Kind, read_dates, read_numbers, read_texts
from gamcore.data.table import Table, as_table
from gamcore.numbers import exact, fixed
from gamcore.types import Bools, Floats

SAMPLE_ROWS: Final = 20_000
LEAK_AUC: Final = 0.999
LEAK_CORRELATION: Final = 0.999
MOST_LEVELS: Final = 50
FEWEST_ROWS: Final = 50

FEWEST_EXPECTED: Final = 20
MOST_EXCEPTIONS: Final = 0.005
"""A side of a column decides the outcome if at least 20 rows should have the other by chance, and under 0.5% of these
do."""

AFTER: Final = "may be known only after the outcome"
MOST_NAMED: Final = 3
NOTABLE: Final = 0.5
"""Most of a table that either the side not decided or the outcome may cover: else it says little."""

FEWEST_ZEROS: Final = 0.1
"""Least share of rows with its most frequent value for which a number is also an event: that it is another."""

MOST_SUMMED: Final = 100
EXACTLY: Final = 1e-9
"""Most columns for which a sum is looked for, and its largest error per standard deviation of the target."""


@dataclass(frozen=True)
class Outcome:
    """A target (n,), NaN where unknown, and the event in it: for numbers, that it is not the usual value."""

    name: str
    y: Floats
    binary: bool
    event: Floats | None
    words: tuple[str, str]  # what the target always is without the event, and with it


def leaks(of: pd.DataFrame | Table, target: str, positive: list[str] | None, features: list[str]) -> dict[str, str]:
    """Return the features that may be known only after the outcome, with the reason, from at most 20,000 rows.

    positive : levels of the target that count as 1; None for a number.
    """
    table = as_table(of)
    part = Table(table.frame.sample(min(len(table), SAMPLE_ROWS), random_state=0))
    kinds = {name: kind for name in features if name != target and (kind := table.usable_kind(name))}
    outcome = _outcome(part.frame[target], positive)
    reasons = {}
    for name, kind in kinds.items():
        reason = _reveals(part.frame[name], kind, outcome) or _decides(part.frame[name], kind, outcome)
        if reason:
            reasons[name] = reason
    if positive is None:
        numbers = [name for name, kind in kinds.items() if kind == "number" and name not in reasons]
        reasons |= _summed(part.frame[numbers], outcome)
    return {name: reasons[name] for name in features if name in reasons}


def _outcome(goal: pd.Series, positive: list[str] | None) -> Outcome:
    name = str(goal.name)
    if positive is not None:
        texts = goal.astype("string")
        y = texts.isin(positive).fillna(False).to_numpy(np.float64)
        y[goal.isna().to_numpy()] = np.nan
        others = [str(level) for level in texts.dropna().unique() if level not in positive]
        yes = " or ".join(positive) if len(positive) <= MOST_NAMED else "positive"
        no = f"always {others[0]}" if len(others) == 1 else f"never {yes}"
        return Outcome(name, y, binary=True, event=y, words=(no, f"always {yes}"))
    y = read_numbers(goal)
    values, counts = np.unique(y[np.isfinite(y)], return_counts=True)
    if not counts.size or counts.max() < FEWEST_ZEROS * counts.sum() or counts.size < 2:
        return Outcome(name, y, binary=False, event=None, words=("", ""))
    usual = float(values[counts.argmax()])
    event = np.where(np.isnan(y), np.nan, y != usual)
    return Outcome(name, y, binary=False, event=event, words=(f"always {exact(usual)}", f"never {exact(usual)}"))


def _reveals(series: pd.Series, kind: Kind, outcome: Outcome) -> str | None:
    """Return why a column may be the target in disguise."""
    y, known = outcome.y, np.isfinite(outcome.y)
    if kind in ("number", "date"):
        x = read_numbers(series) if kind == "number" else read_dates(series)
    else:
        codes, names = read_texts(series)
        if len(names) > MOST_LEVELS or not outcome.binary:
            return None
        sums = np.bincount(codes[known] + 1, y[known], minlength=len(names) + 1)
        x = (sums / np.maximum(np.bincount(codes[known] + 1, minlength=len(names) + 1), 1))[codes + 1]
    known &= np.isfinite(x)
    if known.sum() < FEWEST_ROWS or np.ptp(y[known]) == 0 or np.ptp(x[known]) == 0:
        return None
    if outcome.binary:
        auc = roc_auc_score(y[known], x[known])
        return (
            f"reveals the target on its own (AUC {fixed(max(auc, 1 - auc), 3)})"
            if max(auc, 1 - auc) > LEAK_AUC
            else None
        )
    strength = abs(float(np.corrcoef(x[known], y[known])[0, 1]))
    return f"reveals the target on its own (correlation {fixed(strength, 4)})" if strength > LEAK_CORRELATION else None


def _sides(series: pd.Series, kind: Kind) -> Iterator[tuple[Bools, Bools, str, str]]:
    """Yield the natural parts of a column in two: where it is one thing, where it is the other, and what these are."""
    filled = series.notna().to_numpy()
    yield filled, ~filled, "filled", "missing"
    if kind == "date":
        return
    if kind == "number":
        numbers = read_numbers(series)
        values = np.unique(numbers[filled])
        if values.size == 2:
            yield numbers == values[1], numbers == values[0], exact(values[1]), exact(values[0])
        elif values.size > 2 and (numbers == 0).sum() == _most(numbers[filled]):  # 0 is no value like others
            yield filled & (numbers != 0), numbers == 0, "not 0", "0"
        return
    codes, names = read_texts(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    present = np.flatnonzero(counts)
    if present.size < 2:
        return
    usual = int(counts.argmax())
    others = names[int(present[present != usual][0])] if present.size == 2 else f"not {names[usual]}"
    yield filled & (codes != usual), codes == usual, others, names[usual]


def _most(numbers: Floats) -> int:
    """Return how often the most frequent number occurs."""
    return int(np.unique(numbers, return_counts=True)[1].max())


def _decides(series: pd.Series, kind: Kind, outcome: Outcome) -> str | None:
    """Return that one side of a column always goes with the same outcome, as what is filled in later does."""
    if outcome.event is None:
        return None
    known = np.isfinite(outcome.event)
    for one, other, said, said_else in _sides(series, kind):
        for side, rest, words in ((one, other, said), (other, one, said_else)):
            for event in (1, 0):
                if _always(outcome.event[known] == event, side[known], rest[known]):
                    return f"{AFTER}: where it is {words}, {outcome.name} is {outcome.words[event]}"
    return None


def _always(event: Bools, side: Bools, rest: Bools) -> bool:
    """Return whether an event always holds on one side of a column, which by chance it would not."""
    n = max(int((side | rest).sum()), 1)
    share = float(event[side | rest].mean()) if (side | rest).any() else 1.0
    expected = float(side.sum() * (1 - share))
    if expected < FEWEST_EXPECTED or min(share, rest.sum() / n) > NOTABLE:
        return False
    return bool((~event)[side].sum() <= MOST_EXCEPTIONS * expected)


def _summed(numbers: pd.DataFrame, outcome: Outcome) -> dict[str, str]:
    """Return the columns of which the target is a sum, with weights, in every row."""
    names = list(numbers.columns)[:MOST_SUMMED]
    if not names:
        return {}
    columns = np.array([read_numbers(numbers[name]) for name in names]).reshape(len(names), -1)
    known = np.isfinite(outcome.y) & np.isfinite(columns).all(axis=0)
    spread = float(np.std(outcome.y[known])) if known.any() else 0.0
    if known.sum() < max(FEWEST_ROWS, 5 * len(names)) or spread == 0:
        return {}
    center, scale = columns[:, known].mean(axis=1), columns[:, known].std(axis=1)
    varied = scale > 0
    X = ((columns[varied][:, known].T) - center[varied]) / scale[varied]
    y = (outcome.y[known] - outcome.y[known].mean()) / spread
    weights, *_ = np.linalg.lstsq(X, y, rcond=None)
    if np.abs(X @ weights - y).max() > EXACTLY * 1e3:
        return {}
    kept = [name for name, one in zip(np.array(names)[varied], weights, strict=True) if abs(one) > 1e-6]
    reason = f"{AFTER}: {outcome.name} is exactly a sum of {' and '.join(kept[:4])}{' and more' * (len(kept) > 4)}"
    return dict.fromkeys(map(str, kept), reason)
