"""Scoring of rows by a stored model: misfits, and the predictions with their largest effects."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from gamcore.data.binning import Bins
from gamcore.data.table import Kind as ColumnKind
from gamcore.data.table import Table, TableError, read_dates, read_numbers, read_texts, without_codes
from gamcore.estimators.gam import GAMClassifier, GAMRegressor


class ScoreError(ValueError):
    """A table that a model cannot score; the message says how to solve it."""


@dataclass(frozen=True)
class ColumnFit:
    """How a column of a table fits a model: its problem in words, the rows affected, and whether it stops scoring."""

    column: str
    problem: str
    rows: int
    stops: bool = False


def fits(frame: pd.DataFrame | Table, bins: tuple[Bins, ...]) -> list[ColumnFit]:
    """Return the misfits: columns that are missing or of another kind, unseen levels, values beyond the training
    range."""
    table = Table.of(frame)
    fits: list[ColumnFit] = []
    for of in bins:
        column, feature = of.feature.column, of.feature
        if column not in table:
            if feature.part == "value":
                fits.append(ColumnFit(column, "is missing: every row gets the effect of a missing cell", len(table)))
        elif feature.part == "value":
            fits += _column(table, of)
    return fits


def _column(table: Table, of: Bins) -> list[ColumnFit]:
    feature = of.feature
    series = without_codes(table.frame[feature.column], feature.missing)
    if series.isna().all():
        return [ColumnFit(feature.column, "has no value", len(series))] if of.n_values else []
    try:
        if feature.kind in ("category", "boolean"):
            codes, names = read_texts(series)
            known = {*of.levels, *of.pooled} | ({"0", "1"} if feature.kind == "boolean" else set())
            strange = np.array([name not in known for name in names] + [False])
            unseen = strange[codes]
            return [ColumnFit(feature.column, _levels(names, strange), int(unseen.sum()))] if unseen.any() else []
        kind = table.kind(feature.column)
        if kind not in (feature.kind, "boolean"):
            return [ColumnFit(feature.column, f"was a {feature.kind} in training and is a {kind}", len(series), True)]
        values = read_dates(series) if feature.kind == "date" else read_numbers(series)
    except TableError as error:
        return [ColumnFit(feature.column, str(error), len(series), True)]
    beyond = (values < of.low) | (values > of.high)
    if not beyond.any():
        return []
    words = "has values beyond those seen in training: they get the effect of the nearest"
    return [ColumnFit(feature.column, words, int(beyond.sum()))]


def _levels(names: list[str], strange: np.ndarray) -> str:
    unseen = [name for name, odd in zip(names, strange[:-1], strict=True) if odd]
    more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
    return f"has levels never seen in training, which get the average effect: {', '.join(unseen[:3])}{more}"


class Scorer:
    """Scores rows: a model's prediction, the score, and the largest effects with their names.

    top : the number of effects. taken : names that no new column may have. Columns that the table lacks count as
    missing cells; ScoreError if one is of another kind than in training."""

    def __init__(self, estimator: GAMRegressor | GAMClassifier, top: int, taken: Collection[str]) -> None:
        self._estimator, self._top = estimator, top
        self._kinds: dict[str, ColumnKind] = {}
        for of in estimator.model_.bins:
            self._kinds.setdefault(of.feature.column, of.feature.kind if of.feature.part == "value" else "date")
        self._names = {name: _free(name, taken) for name in self._new()}

    def _new(self) -> list[str]:
        model = self._estimator.model_
        parts = min(self._top, len(model.terms) + len(model.pairs))
        return ["prediction", "score", *(f"{what} {k + 1}" for k in range(parts) for what in ("reason", "effect"))]

    @property
    def columns(self) -> list[str]:
        """Columns of a table that the model uses."""
        return list(self._kinds)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the new columns."""
        return pa.schema([(name, pa.string() if plain.startswith("reason") else pa.float64())
                          for plain, name in self._names.items()])  # fmt: skip

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the new columns of some rows."""
        table = Table.of(frame)
        frame, bins = table.frame, self._estimator.model_.bins
        stops = [f"{one.column!r} {one.problem}" for one in fits(table, bins) if one.stops]
        if stops:
            raise ScoreError(f"The table does not fit the model: column {stops[0]}. Convert it first.")
        X = _columns(frame, self._kinds)
        parts = self._estimator.explain_rows(X)
        names = np.array(parts.features, object)
        order = np.argsort(-np.abs(parts.contributions), axis=1, kind="stable")[:, : self._top]
        chosen = np.take_along_axis(parts.contributions, order, axis=1)
        binary = isinstance(self._estimator, GAMClassifier)
        predicted = (
            self._estimator.predict_proba(X)[:, 1] if binary else self._estimator.loss.inverse_link(parts.scores)
        )
        columns = {"prediction": predicted, "score": parts.scores}
        for k in range(order.shape[1]):
            columns |= {f"reason {k + 1}": names[order[:, k]], f"effect {k + 1}": chosen[:, k]}
        return pd.DataFrame({self._names[name]: values for name, values in columns.items()}, index=frame.index)


def _columns(part: pd.DataFrame, kinds: dict[str, ColumnKind]) -> pd.DataFrame:
    """Return the columns that a model uses; a column that is absent or empty becomes missing cells of its kind."""
    columns = {}
    for name, kind in kinds.items():
        if name in part.columns and part[name].notna().any():
            columns[name] = part[name]
        elif kind == "date":
            columns[name] = pd.Series(pd.NaT, part.index, "datetime64[us]")
        else:
            empty = (np.nan, "float64") if kind == "number" else (None, "object")
            columns[name] = pd.Series(empty[0], part.index, empty[1])
    return pd.DataFrame(columns, index=part.index)


def _free(name: str, taken: Collection[str]) -> str:
    """Return an unused column name."""
    while name in taken:
        name += "_"
    return name
