"""A model as plain tables for scoring elsewhere: the source of its JSON, SQL and Python.

A formula predicts and nothing else: training rows, refits and bands are left behind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy.special import softmax

from gamcore.common.types import Codes, Floats
from gamcore.data.binning import Bins, columns_of, encode_table
from gamcore.data.dates import DAY, stamp_of
from gamcore.data.table import Table
from gamcore.explain.reasons import Reasons
from gamcore.explain.scorecard import Points, Scorecard
from gamcore.model import output_names
from gamcore.model.additive import AdditiveModel, Given
from gamcore.model.classes import ClassesModel
from gamcore.model.loss import LinkName
from gamcore.model.losses import LOSSES
from gamcore.multitask.model import TaskModel
from gamcore.multitask.tables import UNKNOWN, TaskRows, encode_rows, places, read_labels


class ScoringError(ValueError):
    """A model that cannot be written in a format, or a text that is not a model; the message says what to do."""


@dataclass(frozen=True)
class Prediction:
    """How a score becomes a prediction, as code in each language; `{score}` stands for the score."""

    sql: str
    python: str


SQUASHED: Final = Prediction(  # never EXP of a large number, which some databases reject
    sql="CASE WHEN {score} >= 0 THEN 1 / (1 + EXP(-{score})) ELSE EXP({score}) / (1 + EXP({score})) END",
    python="""given = {score}
    return 1 / (1 + math.exp(-given)) if given >= 0 else math.exp(given) / (1 + math.exp(given))""",
)

PREDICTIONS: Final[dict[LinkName, Prediction]] = {
    "identity": Prediction(sql="{score}", python="return {score}"),
    "log": Prediction(sql="EXP({score})", python="return math.exp({score})"),
    "logit": SQUASHED,
}


@dataclass(frozen=True)
class PartTable:
    """Scores by parts of the codes of several features. parts : of each feature the part (size,) of each code."""

    features: tuple[int, ...]
    parts: tuple[Codes, ...]
    scores: Floats

    def at(self, codes: Codes) -> Floats:
        """Return the scores (n,) of rows given as codes (p, n)."""
        where = tuple(part[codes[j]] for part, j in zip(self.parts, self.features, strict=True))
        return np.asarray(self.scores[where])


@dataclass(frozen=True)
class Formula:
    """An additive model as tables: score = intercept + a score per feature + a score per pair, looked up by code.

    triples : tables of three features by parts of their codes.
    bins : one per feature; code 0 is missing, 1 to K its values, K + 1 unseen (`binning`). terms : feature index and
    scores (size,); pairs : two feature indices and scores (size_1, size_2). loss : "squared" or "quantile", where the
    prediction is the score; "logistic", where the chance of the second of `classes` is 1 / (1 + exp(-score));
    "poisson", "gamma" or "tweedie", where the mean is exp(score). given : what scores are added to; with "exposure",
    predictions are rates. points : the scale of a scorecard, whose scores are points; None for any other model.
    reasons : what is told of its decisions (`io.reasons`), if anything. unit : that of the target, if somebody has said
    it; names of numbers end with it where the link leaves the target as it is.
    """

    bins: tuple[Bins, ...]
    intercept: float
    terms: tuple[tuple[int, Floats], ...]
    pairs: tuple[tuple[tuple[int, int], Floats], ...]
    loss: str
    triples: tuple[PartTable, ...] = ()
    classes: tuple[Any, ...] = ()
    given: tuple[Given, ...] = ()
    points: Points | None = None
    reasons: Reasons | None = None
    unit: str = ""

    @property
    def score_unit(self) -> str:
        """The unit of scores, effects and pushes; empty for points, and for a target whose unit nobody has said."""
        return output_names.score_unit(LOSSES[self.loss], self.unit) if self.points is None else ""

    @property
    def names(self) -> list[str]:
        """What the numbers of a row are called: its score, and its prediction, or its rate and expected total."""
        total = [output_names.EXPECTED] if "exposure" in self.given else []
        return [output_names.score(self.score_unit), output_names.predicted(self.given), *total]

    @cached_property
    def interactions(self) -> tuple[PartTable, ...]:
        """The pairs, each code a part of its own, then the triples."""
        pairs = (PartTable(both, tuple(map(np.arange, table.shape)), table) for both, table in self.pairs)
        return (*pairs, *self.triples)

    def read(self, X: Any) -> Table:
        """Return rows as a table; the columns of an array have the order of the features."""
        return Table.of(X, columns_of(self.bins))

    def score(self, X: Any) -> Floats:
        """Return the scores (n,) of rows, on the link scale."""
        codes = encode_table(self.read(X), self.bins)
        totals = np.full(codes.shape[1], self.intercept)
        for feature, scores in self.terms:
            totals += scores[codes[feature]]
        for table in self.interactions:
            totals += table.at(codes)
        return totals

    def predict(self, X: Any) -> Floats:
        """Return the predictions (n,): in the target's units, or chances of the second class."""
        score = self.score(X)
        return LOSSES[self.loss].inverse_link(score if self.points is None else self.points.score(score))

    def linked(self, score: str) -> str:
        """Return code, in any of the languages, for the link score that a score stands for."""
        if self.points is None:
            return score
        return f"(({score} - {self.points.offset!r}) / {self.points.factor!r})"


@dataclass(frozen=True)
class ClassFormula:
    """A formula per class; the probabilities of the classes are the softmax of its scores."""

    formulas: tuple[Formula, ...]
    classes: tuple[Any, ...]

    @property
    def loss(self) -> str:
        """The name of the loss, as in `Formula`."""
        return self.formulas[0].loss

    @property
    def bins(self) -> tuple[Bins, ...]:
        """The bins, the same for all classes."""
        return self.formulas[0].bins

    @property
    def names(self) -> list[str]:
        """What the numbers of a row are called: its scores by class, its chances, and the likeliest class."""
        unit = output_names.score_unit(LOSSES[self.loss])
        scores = [output_names.score_of(name, unit) for name in self.classes]
        chances = map(output_names.chance_of, self.classes)
        return output_names.free_names((), [*scores, *chances, output_names.PREDICTION])

    def score(self, X: Any) -> Floats:
        """Return the scores (n, K) of rows."""
        table = Table.of(X, columns_of(self.bins))
        return np.stack([formula.score(table) for formula in self.formulas], axis=1)

    def predict(self, X: Any) -> Floats:
        """Return the probabilities (n, K) of the classes."""
        return np.asarray(softmax(self.score(X), axis=1), np.float64)


@dataclass(frozen=True)
class TaskFormula:
    """Multi-task trees, unchanged: what `TaskModel` needs to predict."""

    model: TaskModel
    classes: tuple[Any, ...] = ()
    unit: str = ""

    @property
    def loss(self) -> str:
        """The name of the loss, as in `Formula`."""
        return self.model.loss.name

    @property
    def names(self) -> list[str]:
        """What the numbers of a row are called: its score, and its prediction."""
        unit = output_names.score_unit(LOSSES[self.loss], self.unit)
        return [output_names.score(unit), output_names.PREDICTION]

    def score(self, X: Any, task: Any = None) -> Floats:
        """Return the scores (n,) of rows on the link scale.

        task : (n,) labels, or one label for all rows. Unknown labels get the common trees, and so does None if there
        are several tasks.
        """
        table, model = Table.of(X, columns_of(self.model.bins)), self.model
        place = np.full(len(table), UNKNOWN)
        if task is None and len(model.tasks) == 1:
            place = np.zeros(len(table), np.int64)
        elif task is not None:
            labels = [task] * len(table) if isinstance(task, str) or np.ndim(task) == 0 else task
            place = places(read_labels(labels, len(table)), model.tasks)
        rows = TaskRows(table, place, model.tasks, model.aliases)
        return model.score(encode_rows(rows, model.bins, model.owned, model.task_codes), place)

    def predict(self, X: Any, task: Any = None) -> Floats:
        """Return the predictions (n,), as in `Formula`."""
        return self.model.loss.inverse_link(self.score(X, task))


AnyFormula = Formula | ClassFormula | TaskFormula


def formula_of(model: Any, unit: str = "") -> AnyFormula:
    """Return the formula of a fitted estimator or of a loaded model file (`Saved`). unit : that of the target, if
    somebody has said it."""
    formula = _formula_of(model)
    return replace(formula, unit=unit) if unit and not isinstance(formula, ClassFormula) else formula


def _formula_of(model: Any) -> AnyFormula:
    if isinstance(model, AnyFormula):
        return model
    if isinstance(model, Scorecard):
        return _of_card(model)
    inner = getattr(model, "model_", None) or getattr(model, "model", None)
    classes = getattr(model, "classes_", getattr(model, "classes", ()))
    named = tuple(c.item() if isinstance(c, np.generic) else c for c in classes)
    if isinstance(inner, TaskModel):
        return TaskFormula(inner, named)
    if isinstance(inner, ClassesModel):
        formulas = [_formula(class_model, (name,)) for class_model, name in zip(inner.models, named, strict=True)]
        return ClassFormula(tuple(formulas), named)
    if not isinstance(inner, AdditiveModel):
        raise ScoringError(f"{type(model).__name__} is not a fitted model of this package: fit it first.")
    return _formula(inner, named)


def _formula(model: AdditiveModel, classes: tuple[Any, ...]) -> Formula:
    return Formula(
        model.bins,
        model.intercept,
        terms=tuple((term.feature, term.scores) for term in model.terms),
        pairs=tuple((pair.features, pair.scores) for pair in model.pairs),
        loss=model.loss.name,
        triples=tuple(PartTable(triple.features, triple.parts, triple.scores) for triple in model.triples),
        classes=classes,
        given=model.given,
    )


def _of_card(card: Scorecard) -> Formula:
    """Return the formula of a scorecard: that of the features that have points."""
    bins = tuple(card.bins[part.place] for part in card.parts)
    tables = [part.table(own.size).astype(np.float64) for part, own in zip(card.parts, bins, strict=True)]
    return Formula(bins, float(card.start), terms=tuple(enumerate(tables)), pairs=(), loss="logistic",
                   classes=card.classes, points=card.points)  # fmt: skip


def moment(cut: float) -> int:
    """Return the first microsecond since 1970 that is not below a cut in days; dates compare as microseconds."""
    near = math.floor(cut * DAY)
    return next(k for k in range(near - 64, near + 65) if float(k) / DAY >= cut)


def stamp(cut: float) -> str:
    """Return the `moment` of a cut as ISO 8601."""
    return stamp_of(moment(cut))


def runs(values: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the runs of equal neighbours as (first, one past the last)."""
    starts = [k for k in range(len(values)) if k == 0 or values[k] != values[k - 1]]
    return list(zip(starts, [*starts[1:], len(values)], strict=True))
