"""Rules read back from their words alone, as a person does who knows the columns and their units."""

from __future__ import annotations

import re
from functools import reduce
from operator import and_

import numpy as np
import pandas as pd

from gamcore.common.types import Bools
from gamcore.data.column_names import PLAIN, Measure
from gamcore.decide.rules import All, Levels, Range, Rule

WORDS = {
    "at least": "ge", "from": "ge", "above": "gt", "after": "gt", "at most": "le", "until": "le", "below": "lt",
    "before": "lt", "is": "eq",
}  # fmt: skip
END = re.compile(rf"({'|'.join(WORDS)}) (.+?)(?= and (?:{'|'.join(WORDS)}) |$)")


def rows_as_printed(rule: Rule, rows: pd.DataFrame) -> Bools | None:
    """Return which rows (n,) the words of a rule mean, of a range on a column or several that are joined by AND; None
    where they name levels, of which some are cut off."""
    if isinstance(rule, All):
        parts = [rows_as_printed(part, rows) for part in rule.rules]
        known = [part for part in parts if part is not None]
        assert rule.words() == " and ".join(part.words() for part in rule.rules)
        return reduce(and_, known) if len(known) == len(parts) else None
    column = rows[rule.columns[0]]
    if isinstance(rule, Levels):
        return None
    return rows_of_words(rule.words(), column, PLAIN) if isinstance(rule, Range) else rule.holds(rows)


def rows_of_words(words: str, column: pd.Series, measure: Measure) -> Bools:
    """Return which rows (n,) a condition on one column means. measure : unit and form that its numbers have."""
    rest = words.removeprefix(str(column.name)).strip()
    if rest in ("is missing", "is not missing"):
        return np.asarray(column.isna() == (rest == "is missing"), bool)
    ends = END.findall(rest)
    assert ends, words
    assert " and ".join(f"{word} {end}" for word, end in ends) == rest, words
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        cells = column.dt.tz_convert("UTC").dt.tz_localize(None) if column.dt.tz is not None else column
        numbers = [pd.Timestamp(end) for _, end in ends]
    else:
        cells = pd.Series(column.to_numpy(float, na_value=np.nan))
        numbers = [_number(end, measure) for _, end in ends]
    compared = [getattr(cells, WORDS[word])(number) for (word, _), number in zip(ends, numbers, strict=True)]
    return np.asarray(reduce(and_, compared, cells.notna()), bool)


def rows_of_name(name: str, column: pd.Series, measure: Measure) -> Bools:
    """Return which rows (n,) are in a range, both ends included, that a bin or bar is named by."""
    low, _, high = name.partition(" to ")
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        last = pd.Timestamp(high or low) + pd.Timedelta(86_399_999_999 * (len(high or low) == 10), "us")
        return np.asarray(column.between(pd.Timestamp(low), last), bool)
    return np.asarray(column.between(_number(low, measure), _number(high or low, measure)), bool)


def _number(text: str, measure: Measure) -> float:
    bare = text.replace(measure.shown_unit, "", 1).replace(" ", "").replace(",", "")
    assert re.fullmatch(r"-?\d+(\.\d+)?", bare), text
    return float(f"{bare}e-2" if measure.form == "percent" else bare)
