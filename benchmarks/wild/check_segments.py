"""Suggested segments, counted again with pandas from the held-out rows."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from functools import reduce
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.wild.faults import Fault
from benchmarks.wild.read_back import EXPONENT, is_share
from benchmarks.wild.rows import views
from gamcore.common.numbers import percent
from gamcore.common.types import Bools
from gamcore.decide.rules import Rule, rounded
from gamcore.decide.segments import HeldOutRows, Segment, suggest_by
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import train_share
from gamcore.estimators.gam import ClassView, GAMClassifier, GAMRegressor
from shapewise.training.dataset import Data
from tests.support.read_rules import rows_as_printed

CLOSE: Final = 1e-9


def check(estimator: GAMRegressor | GAMClassifier, data: Data, frame: pd.DataFrame) -> tuple[list[Fault], int]:
    """Return the faults of all suggested segments, and how many there are. frame : the table's rows."""
    wrong, n = list[Fault](), 0
    for label, view in views(estimator):
        class_data = data.of_class(label) if label else data
        held = class_data.held_out
        rows = frame.loc[class_data.X.index[held]]
        exposure = None if class_data.exposure is None else class_data.exposure[held]
        offset = view.against_others(class_data.X[held]) if isinstance(view, ClassView) else 0.0
        y = class_data.y[held].to_numpy(float)
        judged = HeldOutRows(single_model(view), rows, y, None, offset=offset, exposure=exposure)
        for segment in suggest_by(judged, train_share=train_share(view)):
            n += 1
            wrong += of_segment(segment, rows, y, exposure)
    return wrong, n


def of_segment(segment: Segment, rows: pd.DataFrame, y: Any, exposure: Any) -> Iterator[Fault]:
    """Yield what the held-out rows say against a segment."""
    inside, evidence = matches(segment.rule.to_dict(), rows), segment.evidence
    words = segment.rule.words()
    if EXPONENT.search(words):
        yield Fault("digits", said=words, right="a number as people write it")
    if int(inside.sum()) != evidence.inside or evidence.rows != len(rows):
        yield Fault("segment", said=f"{words}: {evidence.inside} of {evidence.rows} rows", right=f"{int(inside.sum())}")
        return
    yield from _as_printed(segment.rule, rows)
    yield from _as_printed(rounded(segment.rule, rows), rows)
    share = percent(evidence.share)
    if not is_share(share.removesuffix("%"), evidence.inside, evidence.rows):
        yield Fault("share", said=f"{words}: {share} of rows", right=f"{evidence.inside} of {evidence.rows} rows")
    parts = (("inside", inside, evidence.mean), ("outside", ~inside, evidence.rest))
    for name, part, mean in parts:
        size = float(part.sum()) if exposure is None else float(exposure[part].sum())
        right = float(y[part].sum()) / size if size > 0 else math.nan
        if not np.isclose(mean, right, rtol=CLOSE, atol=CLOSE, equal_nan=True):
            yield Fault("segment", said=f"{words}: mean {name} {mean!r}", right=repr(right))
    low, high = evidence.interval
    if math.isfinite(evidence.mean + low + high) and not low - CLOSE <= evidence.mean <= high + CLOSE:
        yield Fault(
            "segment", said=f"{words}: mean {evidence.mean!r} beyond its interval", right=f"{low!r} to {high!r}"
        )


def _as_printed(rule: Rule, rows: pd.DataFrame) -> Iterator[Fault]:
    """Yield where the words of a rule mean other rows than the rule."""
    printed, inside = rows_as_printed(rule, rows), matches(rule.to_dict(), rows)
    if printed is not None and (printed != inside).any():
        yield Fault("segment", said=f"{rule.words()}: {int(printed.sum())} rows", right=f"{int(inside.sum())}")


def matches(rule: dict[str, Any], rows: pd.DataFrame) -> Bools:
    """Return which rows (n,) match a rule, given as JSON."""
    for word, join in (("all", operator.and_), ("any", operator.or_)):
        if word in rule:
            return reduce(join, (matches(part, rows) for part in rule[word]))
    if "not" in rule:
        return ~matches(rule["not"], rows)
    cells = rows[rule["column"]]
    if rule.get("missing"):
        return cells.isna().to_numpy(bool)
    if "is" in rule:
        if pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_bool_dtype(cells.dtype):
            return cells.isin([float(level) for level in rule["is"]]).to_numpy(bool)
        return cells.astype("string").isin(rule["is"]).fillna(False).to_numpy(bool)
    ends = [compare(cells, _end(rule[word])).fillna(False) for word, compare in _ENDS.items() if word in rule]
    return reduce(operator.and_, ends, cells.notna()).to_numpy(bool)


_ENDS: Final = {"at_least": operator.ge, "above": operator.gt, "below": operator.lt, "at_most": operator.le}


def _end(end: Any) -> Any:
    return pd.Timestamp(end) if isinstance(end, str) else end
