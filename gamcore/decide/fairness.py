"""Fairness: columns that hint at protected characteristics, and whether strategies reach groups equally."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.numbers import in_full
from gamcore.data.columns import Kind, read_dates, read_numbers, read_texts
from gamcore.data.cuts import ranges_in_words
from gamcore.data.table import Table

PLACE: Final = "place, which may stand for origin"
SENSITIVE: Final = {
    "sex": "sex", "gender": "sex", "female": "sex", "male": "sex", "age": "age", "ages": "age", "birth": "age",
    "birthday": "age", "birthdate": "age", "birthyear": "age", "agegroup": "age", "dob": "age", "senior": "age",
    "race": "origin", "ethnic": "origin", "ethnicity": "origin", "hispanic": "origin", "nationality": "origin",
    "citizenship": "origin", "foreign": "origin", "immigrant": "origin", "migrant": "origin", "country": "origin",
    "language": "origin", "religion": "belief", "religious": "belief", "political": "belief", "marital": "family",
    "married": "family", "children": "family", "kids": "family", "pregnant": "family", "pregnancy": "family",
    "dependents": "family", "disability": "health", "disabled": "health", "health": "health", "diagnosis": "health",
    "orientation": "orientation", "postcode": PLACE, "postal": PLACE, "zip": PLACE, "zipcode": PLACE,
}  # fmt: skip
"""Words in column names that point to a protected characteristic, or to a proxy of one."""

FOUR_FIFTHS: Final = 0.8
"""Least ratio of selection rates that passes the four-fifths rule (Uniform Guidelines, 29 CFR 1607.4 D)."""

GROUP: Final = "(group)"
ROWS: Final = "(rows)"
ANY: Final = "(any)"

MOST_GROUPS: Final = 8
FEWEST_ROWS: Final = 30


def sensitive(columns: list[str]) -> dict[str, str]:
    """Return the columns whose names point to a protected characteristic, and which one."""
    named = {}
    for name in columns:
        words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
        reason = next((SENSITIVE[word] for word in words if word in SENSITIVE), None)
        if reason:
            named[name] = reason
    return named


def groups_of(table: Table, column: str) -> pd.Series:
    """Return the group of each row by a column, as categories in their order: a level, that of a number by its value,
    or a quartile; then "others", and missing cells."""
    series, kind = table.frame[column], table.kind(column)
    if kind in ("number", "date") and series.nunique() > MOST_GROUPS:
        values = pd.Series(read_dates(series) if kind == "date" else read_numbers(series), series.index)
        parts = pd.qcut(values, 4, duplicates="drop").cat.remove_unused_categories()
        if parts.cat.categories.size < 2:  # most rows have one value
            often = values.mode()[0]
            names = [_say(often, kind), "other values"]
            named = values.eq(often).map({True: names[0], False: names[1]})
        else:
            cells, places = values.to_numpy(float), parts.cat.codes.to_numpy(np.int64)
            names = ranges_in_words(cells[places >= 0], places[places >= 0], kind)
            named = parts.cat.rename_categories(names).astype(object)
        return _in_order(named.where(values.notna(), "missing"), names)
    codes, names = read_texts(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    kept = set(np.argsort(-counts, kind="stable")[:MOST_GROUPS].tolist())
    labels = [name if k in kept else "others" for k, name in enumerate(names)]
    order = sorted((names[k] for k in kept), key=float if kind == "number" else str)
    return _in_order(pd.Series(np.array([*labels, "missing"], object)[codes], series.index), [*order, "others"])


def _in_order(labels: pd.Series, order: Sequence[str]) -> pd.Series:
    """Return labels as those categories that are there, missing cells last."""
    there = set(labels)
    return labels.astype(pd.CategoricalDtype([name for name in dict.fromkeys([*order, "missing"]) if name in there]))


def _say(value: float, kind: Kind) -> str:
    return str(np.datetime64(round(value), "D")) if kind == "date" else in_full(value)


def parity(table: Table, column: str, assigned: NDArray[np.int64], names: list[str]) -> pd.DataFrame:
    """Return the share of each group's eligible rows that each strategy reaches.

    assigned : (n,) index of each row's strategy; -1 none, -2 not eligible. Columns: (group), eligible (rows), one per
    strategy, and (any). attrs["ratio"]: by strategy, the lowest share over the highest among groups with 30 rows or
    more; NaN with fewer than two such groups, or where none is reached.
    """
    eligible = assigned >= -1
    labels = groups_of(table, column)[eligible]
    reached = pd.DataFrame({name: assigned[eligible] == k for k, name in enumerate(names)}, index=labels.index)
    reached[ANY] = assigned[eligible] >= 0
    rates = reached.groupby(labels, observed=True).mean()
    rates.insert(0, ROWS, labels.value_counts().reindex(rates.index).to_numpy())
    large = rates[rates[ROWS] >= FEWEST_ROWS]
    ratios = {}
    for name in [*names, ANY]:
        most = float(large[name].max()) if len(large) > 1 else np.nan
        ratios[name] = float(large[name].min()) / most if most > 0 else np.nan
    rates.attrs["ratio"] = ratios
    return rates.rename_axis(GROUP).reset_index()
