"""Scoring of rows by a stored model: misfits, and the predictions with their largest effects."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from gamcore.common.numbers import number, percent
from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.data.column_names import AS_THEY_ARE, PLAIN, Measure, Names
from gamcore.data.columns import Kind as ColumnKind
from gamcore.data.columns import TableError, read_dates, read_numbers, read_texts, without_codes
from gamcore.data.labels import levels_in_words
from gamcore.data.table import Table
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import loss_of, n_scores
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.intervals import predict_interval
from gamcore.explain.curves import Breakdown
from gamcore.io.formula import Formula
from gamcore.io.reasons import tell
from gamcore.model import output_names
from shapewise.scoring.changes import RowChanges
from shapewise.scoring.reasons import ANSWERS, Telling, fields_of, letter, listed

COVERAGE: Final = 0.9
"""Of the prediction intervals in a scored file."""

MOST_WHOLE: Final = 2.0**53
"""Up to here every whole number is a float."""


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
    for feature_bins in bins:
        column, feature = feature_bins.feature.column, feature_bins.feature
        if column not in table:
            if feature.part == "value":
                fits.append(ColumnFit(column, "is missing: every row gets the effect of a missing cell", len(table)))
        elif feature.part == "value":
            fits += _column(table, feature_bins)
    return fits


def _column(table: Table, feature_bins: Bins) -> list[ColumnFit]:
    feature = feature_bins.feature
    series = without_codes(table.frame[feature.column], feature.missing)
    if series.isna().all():
        return [ColumnFit(feature.column, "has no value", len(series))] if feature_bins.n_values else []
    try:
        if feature.kind in ("category", "boolean"):
            codes, names = read_texts(series)
            known = {*feature_bins.codes_of_levels} | ({"0", "1"} if feature.kind == "boolean" else set())
            strange = np.array([name not in known for name in names] + [False])
            unseen = strange[codes]
            return [ColumnFit(feature.column, _levels(names, strange), int(unseen.sum()))] if unseen.any() else []
        kind = table.kind(feature.column)
        if kind not in (feature.kind, "boolean"):
            return [ColumnFit(feature.column, f"was a {feature.kind} in training and is a {kind}", len(series), True)]
        values = read_dates(series) if feature.kind == "date" else read_numbers(series)
    except TableError as error:
        return [ColumnFit(feature.column, str(error), len(series), True)]
    beyond = (values < feature_bins.low) | (values > feature_bins.high)
    if not beyond.any():
        return []
    words = "has values beyond those seen in training: they get the effect of the nearest"
    return [ColumnFit(feature.column, words, int(beyond.sum()))]


def _levels(names: list[str], strange: np.ndarray) -> str:
    unseen = [name for name, odd in zip(names, strange[:-1], strict=True) if odd]
    return f"has levels never seen in training, which get the average effect: {levels_in_words(unseen, most=3)}"


class Scorer:
    """Scores rows: a model's prediction, the score, and the largest effects with their names (`output_names`).

    top : the number of effects. taken : names that no new column may have. exposure : the column that a rate is
    multiplied by, for the expected total. A model with prediction intervals also gives their ends, of the total where
    there is an exposure. teller : a model that tells reasons for its decisions (`scoring.reasons`), which then take the
    place of the largest effects, with what is for review; letter : how it is written, for one per row; names : of the
    columns in it. unit : of the target, in letters and in the names of columns. changes : finds the smallest change of
    each row that gives it the other answer, in columns of their own. For several classes there is a chance for each,
    and score, reasons and effects are those of the likeliest. Columns that the table lacks count as missing cells;
    ScoreError if one is of another kind than in training."""

    def __init__(
        self, estimator: GAMRegressor | GAMClassifier, top: int, taken: Collection[str], exposure: str | None = None,
        *, teller: Formula | None = None, letter: Telling | None = None, names: Names = AS_THEY_ARE,
        unit: Measure = PLAIN, changes: RowChanges | None = None,
    ) -> None:  # fmt: skip
        self._estimator, self._top, self._exposure = estimator, top, exposure
        self._changes, self._named, self._unit = changes, names, unit
        self._teller = None if teller is None else replace(teller, unit=unit.as_stored)
        self._letter = letter if teller is not None else None
        self._kinds: dict[str, ColumnKind] = {}
        for feature in (own.feature for own in estimator.model_.bins):
            self._kinds.setdefault(feature.column, feature.kind if feature.part == "value" else "date")
        new = self._new()
        self._names = dict(zip(new, output_names.free_names(taken, new), strict=True))

    def _new(self) -> list[str]:
        return [*self._explained, *([] if self._changes is None else self._changes.columns)]

    @property
    def _score_unit(self) -> str:
        """The unit of scores, effects and pushes."""
        return output_names.score_unit(loss_of(self._estimator), self._unit.as_stored)

    @property
    def _predicted(self) -> str:
        """What the prediction of a row is called."""
        return output_names.predicted(self._estimator.model_.given)

    @property
    def _explained(self) -> list[str]:
        """Names of the numbers, reasons and letters of a row."""
        if self._teller is not None and self._teller.reasons is not None:
            most = self._teller.reasons.most
            parts_of = self._pairs_of(output_names.push, most)
            return [*self._numbers, "decision", *parts_of, "review", *(["letter"] if self._letter else [])]
        model = self._estimator.model_
        parts = min(self._top, len(model.all_terms))
        return [*self._numbers, *self._pairs_of(output_names.effect, parts)]

    def _pairs_of(self, size: Callable[[int, str], str], most: int) -> list[str]:
        """Return the names of reasons, each with that of its size."""
        unit = self._score_unit
        return [name for k in range(1, most + 1) for name in (output_names.reason(k), size(k, unit))]

    @property
    def _numbers(self) -> list[str]:
        """Names of the numbers that a row gets beside its reasons and their effects."""
        expected = [output_names.EXPECTED] if self._exposure else []
        chances = map(output_names.chance_of, self._classes)
        return [self._predicted, *expected, *chances, *self._ends, output_names.score(self._score_unit)]

    @property
    def _ends(self) -> list[str]:
        """Names of the ends of the prediction interval, if the model has any."""
        fitted = self._estimator
        intervals = single_model(fitted).intervals if isinstance(fitted, GAMRegressor) else None
        there = intervals is not None and intervals.most_coverage >= COVERAGE
        return [f"{end} {percent(COVERAGE, 0)}" for end in ("low", "high")] if there else []

    @property
    def _whole_ends(self) -> bool:
        """Whether these are whole numbers."""
        intervals = single_model(self._estimator).intervals if isinstance(self._estimator, GAMRegressor) else None
        return intervals is not None and intervals.are_whole

    @property
    def _classes(self) -> list[str]:
        """Names of the classes if there are more than two."""
        fitted = self._estimator
        several = isinstance(fitted, GAMClassifier) and n_scores(fitted) > 1
        return [str(name) for name in fitted.classes_] if several else []

    @property
    def n_numbers(self) -> int:
        """How many numbers a row gets beside its reasons and their effects."""
        return len(self._numbers)

    @property
    def columns(self) -> list[str]:
        """Columns of a table that scoring reads."""
        return [*self._kinds, *([self._exposure] if self._exposure else [])]

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the new columns."""
        texts = ("reason", "decision", "review", "letter", "change", *([self._predicted] if self._classes else []))
        counts = self._ends if self._whole_ends else []
        return pa.schema([
            (name, pa.string() if plain.startswith(texts) else pa.int64() if plain in counts else pa.float64())
            for plain, name in self._names.items()
        ])  # fmt: skip

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the new columns of some rows."""
        table = Table.of(frame)
        frame, bins = table.frame, self._estimator.model_.bins
        stops = [f"{fit.column!r} {fit.problem}" for fit in fits(table, bins) if fit.stops]
        if stops:
            raise ScoreError(f"The table does not fit the model: column {stops[0]}. Convert it first.")
        X = _columns(frame, self._kinds)
        columns, parts = self._of_classes(X) if self._classes else self._of_score(X)
        exposure = None
        if self._exposure:
            there = self._exposure in frame.columns
            exposure = read_numbers(frame[self._exposure]) if there else np.full(len(frame), np.nan)
            columns[output_names.EXPECTED] = columns[self._predicted] * exposure
        if self._ends:
            ends = self._interval(X, exposure).T
            columns |= dict(zip(self._ends, map(whole, ends) if self._whole_ends else ends, strict=True))
        if self._teller is not None:
            columns |= self._reasons(frame, X, columns[self._predicted])
        else:
            columns |= self._largest(parts)
        if self._changes is not None:
            columns |= self._changes(X)
        return pd.DataFrame({called: columns[name] for name, called in self._names.items()}, index=frame.index)

    def _largest(self, parts: Breakdown) -> dict[str, Any]:
        """Return the largest effects of rows with their names."""
        names, columns = np.array(parts.features, object), dict[str, Any]()
        order = np.argsort(-np.abs(parts.contributions), axis=1, kind="stable")[:, : self._top]
        chosen = np.take_along_axis(parts.contributions, order, axis=1)
        for k, (place, size) in enumerate(zip(order.T, chosen.T, strict=True), 1):
            columns |= {output_names.reason(k): names[place], output_names.effect(k, self._score_unit): size}
        return columns

    def _reasons(self, frame: pd.DataFrame, X: pd.DataFrame, predicted: Floats) -> dict[str, Any]:
        """Return the decision on rows, its reasons, what is for review, and a letter where one is wanted."""
        assert self._teller is not None
        table = tell(self._teller, X)
        most = 0 if self._teller.reasons is None else self._teller.reasons.most
        columns: dict[str, Any] = {"decision": np.where(table["decision"], "yes", "no").astype(object)}
        columns |= {name: table[name] for name in self._pairs_of(output_names.push, most)}
        columns["review"] = table["review"]
        if self._letter:
            rows = zip(frame.astype(object).to_dict("records"), table.to_dict("records"), predicted, strict=True)
            columns["letter"] = pd.Series([self._written(*row, most) for row in rows], frame.index, dtype=object)
        return columns

    def _written(self, cells: dict[Any, Any], facts: dict[Any, Any], prediction: float, most: int) -> str:
        """Return the letter to one row."""
        reasons = [text for k in range(1, most + 1) if (text := facts[output_names.reason(k)])]
        assert self._letter is not None
        binary, answer = isinstance(self._estimator, GAMClassifier), ANSWERS[0 if facts["decision"] else 1]
        shown = percent(prediction) if binary else self._unit.say(prediction, number(prediction))
        texts = {"opening": self._letter.opening(answer), "decision": answer, "reasons": listed(reasons),
                 self._predicted: shown}  # fmt: skip
        return letter(self._letter.letter, fields_of(self._named, cells, texts))

    def _interval(self, X: pd.DataFrame, exposure: Floats | None) -> Floats:
        """Return the ends (n, 2) of the intervals of rows, of totals where there is an exposure; missing without it."""
        fitted = self._estimator
        assert isinstance(fitted, GAMRegressor)
        if exposure is None:
            return predict_interval(fitted, X, COVERAGE)
        ends, known = np.full((len(X), 2), np.nan), np.isfinite(exposure) & (exposure > 0)
        if known.any():
            ends[known] = predict_interval(fitted, X[known], COVERAGE, exposure=exposure[known])
        return ends

    def _of_score(self, X: pd.DataFrame) -> tuple[dict[str, Any], Breakdown]:
        """Return prediction and score of rows, and the parts of the score."""
        parts, fitted = self._estimator.explain_rows(X), self._estimator
        binary = isinstance(fitted, GAMClassifier)
        predicted = fitted.predict_proba(X)[:, 1] if binary else loss_of(fitted).inverse_link(parts.scores)
        return {self._predicted: predicted, output_names.score(self._score_unit): parts.scores}, parts

    def _of_classes(self, X: pd.DataFrame) -> tuple[dict[str, Any], Breakdown]:
        """Return the likeliest class of rows with its score, the chance of each, and the parts of that score."""
        fitted = self._estimator
        assert isinstance(fitted, GAMClassifier)
        chances, rows = fitted.predict_proba(X), np.arange(len(X))
        best = chances.argmax(axis=1)
        each = [fitted.of_class(name).explain_rows(X) for name in fitted.classes_]
        parts = np.stack([part.contributions for part in each])[best, rows]
        score = np.stack([part.scores for part in each])[best, rows]
        columns = {
            self._predicted: np.array(self._classes, object)[best], output_names.score(self._score_unit): score,
        }  # fmt: skip
        columns |= {output_names.chance_of(name): chances[:, k] for k, name in enumerate(self._classes)}
        return columns, replace(each[0], contributions=parts, scores=score)


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


def whole(ends: Floats) -> pd.api.extensions.ExtensionArray:
    """Return ends (n,) that are whole numbers as such; missing where there is none, or it is beyond 2^53."""
    with np.errstate(invalid="ignore"):
        known = np.abs(ends) <= MOST_WHOLE
    return pd.array(np.where(known, ends, np.nan), dtype="Int64")
