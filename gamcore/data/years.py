"""Columns of years: whole numbers that are names more than amounts, so that no mark stands between their thousands."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from gamcore.common.types import Floats

YEARS: Final = (1700, 2100)
"""Whole numbers between these, all of a column's, are read as years."""

ENDINGS: Final = ("year", "years", "yr", "yrs", "yob", "jahr", "jahre", "jahrgang", "jaar", "annee", "année")
"""Ends of words in names of columns that hold years, such as `model_year` and `Baujahr`."""

WORDS: Final = frozenset({"ano", "anno", "año", "rok", "vintage", "år", "год"})
SIGN: Final = "年"


def are_years(values: Floats) -> bool:
    """Return whether values (n,) of a column are years: finite whole numbers within a few centuries."""
    return bool(values.size) and bool(((values >= YEARS[0]) & (values <= YEARS[1]) & (values % 1 == 0)).all())


def is_axis_of_years(edges: Floats, beside: Floats, display: Floats) -> bool:
    """Return whether a number's axis is one of years.

    edges : (K + 1,) from the lowest to the highest value. beside : (2, K - 1) the values beside the cuts between; where
    these are not known, the typical values of the bins, display (K,), tell.
    """
    known = beside.ravel() if beside.size else display
    return edges.size > 1 and are_years(np.concatenate([edges[[0, -1]], known]))


def speaks_of_years(column: str) -> bool:
    """Return whether the name of a column says that it holds years."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", column).lower()
    words = re.findall(r"[^\W\d_]+", apart)
    return SIGN in column or any(word.endswith(ENDINGS) or word in WORDS for word in words)


def is_year_of(column: str, value: float) -> bool:
    """Return whether a number is a year of a column, by its name: where its values are not at hand, as in a rule."""
    return speaks_of_years(column) and are_years(np.array([value]))
