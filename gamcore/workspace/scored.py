"""A table scored by a stored model: what does not fit, and the predictions with what moved them most."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gamcore.binning import Bins
from gamcore.estimators import GAMClassifier, GAMRegressor
from gamcore.export.sheets import safe_csv, to_xlsx
from gamcore.table import Kind as ColumnKind
from gamcore.table import TableError, as_frame, kind_of, read_dates, read_numbers, read_texts

Kind = Literal["parquet", "csv", "xlsx"]
KINDS: Final[dict[Kind, str]] = {"parquet": "Parquet", "csv": "CSV", "xlsx": "Excel"}
BATCH: Final = 50_000
MOST_SHEET_ROWS: Final = 1_000_000
"""Rows that a sheet holds."""


class ScoreError(ValueError):
    """A table that a model cannot score; the message says what to do."""


@dataclass(frozen=True)
class Fit:
    """How a column of a table fits a model: its problem in words, rows that it touches, and whether scoring stops."""

    column: str
    problem: str
    rows: int
    stops: bool = False


def fits(frame: pd.DataFrame, bins: tuple[Bins, ...]) -> list[Fit]:
    """What does not fit: columns that are missing or of another kind, levels never seen, values beyond those seen."""
    frame = as_frame(frame)
    found: list[Fit] = []
    for of in bins:
        column, feature = of.feature.column, of.feature
        if column not in frame.columns:
            if feature.part == "value":
                found.append(Fit(column, "is missing: every row gets the effect of a missing cell", len(frame)))
        elif feature.part == "value":
            found += _column(frame[column], of)
    return found


def _column(series: pd.Series, of: Bins) -> list[Fit]:
    feature = of.feature
    if series.isna().all():
        return [Fit(feature.column, "has no value", len(series))] if of.n_values else []
    try:
        if feature.kind in ("category", "boolean"):
            codes, names = read_texts(series)
            known = {*of.levels, *of.pooled} | ({"0", "1"} if feature.kind == "boolean" else set())
            strange = np.array([name not in known for name in names] + [False])
            unseen = strange[codes]
            return [Fit(feature.column, _levels(names, strange), int(unseen.sum()))] if unseen.any() else []
        kind = kind_of(series)
        if kind not in (feature.kind, "boolean"):
            return [Fit(feature.column, f"was a {feature.kind} in training and is a {kind}", len(series), True)]
        values = read_dates(series) if feature.kind == "date" else read_numbers(series)
    except TableError as error:
        return [Fit(feature.column, str(error), len(series), True)]
    beyond = (values < of.low) | (values > of.high)
    if not beyond.any():
        return []
    words = "has values beyond those seen in training: they get the effect of the nearest"
    return [Fit(feature.column, words, int(beyond.sum()))]


def _levels(names: list[str], strange: np.ndarray) -> str:
    unseen = [name for name, odd in zip(names, strange[:-1], strict=True) if odd]
    more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
    return f"has levels never seen in training, which get the average effect: {', '.join(unseen[:3])}{more}"


def score(
    frame: pd.DataFrame, estimator: GAMRegressor | GAMClassifier, top: int = 3,
    step: Callable[[float], None] = lambda share: None,
) -> pd.DataFrame:  # fmt: skip
    """The table with the model's prediction, its score, and the parts of the score that are largest, by name and size.

    Columns that the model misses count as missing cells. step is told the share that is done, batch by batch.
    """
    frame = as_frame(frame)
    kinds: dict[str, ColumnKind] = {}
    for of in estimator.model_.bins:
        kinds.setdefault(of.feature.column, of.feature.kind if of.feature.part == "value" else "date")
    stops = [f"{one.column!r} {one.problem}" for one in fits(frame.head(BATCH), estimator.model_.bins) if one.stops]
    if stops:
        raise ScoreError(f"The table does not fit the model: column {stops[0]}. Convert it first.")
    made = []
    for start in range(0, len(frame), BATCH):
        step(start / max(len(frame), 1))
        part = frame.iloc[start : start + BATCH]
        X = _columns(part, kinds)
        told = estimator.explain_rows(X)
        names = np.array(told.features, object)
        order = np.argsort(-np.abs(told.contributions), axis=1, kind="stable")[:, :top]
        chosen = np.take_along_axis(told.contributions, order, axis=1)
        predicted = estimator.predict_proba(X)[:, 1] if isinstance(estimator, GAMClassifier) else told.scores
        extra = {"prediction": predicted, "score": told.scores}
        for k in range(order.shape[1]):
            extra |= {f"reason {k + 1}": names[order[:, k]], f"effect {k + 1}": chosen[:, k]}
        made.append(pd.DataFrame({_free(name, frame): values for name, values in extra.items()}, index=part.index))
    return pd.concat([frame, pd.concat(made)], axis=1)


def _columns(part: pd.DataFrame, kinds: dict[str, ColumnKind]) -> pd.DataFrame:
    """The columns that a model looks at; one that is missing, or has no value, as missing cells of its kind."""
    found = {}
    for name, kind in kinds.items():
        if name in part.columns and part[name].notna().any():
            found[name] = part[name]
        elif kind == "date":
            found[name] = pd.Series(pd.NaT, part.index, "datetime64[us]")
        else:
            empty = (np.nan, "float64") if kind == "number" else (None, "object")
            found[name] = pd.Series(empty[0], part.index, empty[1])
    return pd.DataFrame(found, index=part.index)


def _free(name: str, frame: pd.DataFrame) -> str:
    """A name that no column has."""
    while name in frame.columns:
        name += "_"
    return name


def to_file(scored: pd.DataFrame, kind: Kind, about: str = "") -> bytes:
    """A scored table as a file; what is said of it goes into metadata, or onto a sheet of its own."""
    if kind == "csv":
        return safe_csv(scored)
    if kind == "xlsx":
        if len(scored) > MOST_SHEET_ROWS:
            raise ScoreError(f"A sheet holds {MOST_SHEET_ROWS:,} rows, there are {len(scored):,}: take Parquet or CSV.")
        return to_xlsx({"scores": scored, "about": pd.DataFrame({"about": about.split("\n")})})
    made = io.BytesIO()
    found = pa.Table.from_pandas(scored, preserve_index=False)
    found = found.replace_schema_metadata({**(found.schema.metadata or {}), b"about": about.encode()})
    pq.write_table(found, made, compression="zstd")
    return made.getvalue()
