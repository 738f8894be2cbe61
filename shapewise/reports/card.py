"""The card of a model: its data and settings, its accuracy with intervals, and its limits."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm

from gamcore import __version__
from gamcore.common.numbers import UNKNOWN, alike, count, fixed, number, percent, read
from gamcore.common.types import Floats
from gamcore.data.codes import clear_codes
from gamcore.data.column_names import AS_THEY_ARE, Measure, Names
from gamcore.data.labels import levels_in_words
from gamcore.decide.rules import All
from gamcore.estimators.additive_parameters import GREEDY
from gamcore.explain.curves import Curve
from gamcore.stats import metrics as quality
from gamcore.stats.intervals import ALPHA, skewed_mean, student, wilson
from gamcore.stats.weights import effective_rows
from shapewise.reports.added import card_rows
from shapewise.scoring.held_out import HeldOutClasses, HeldOutPredictions, held_out, held_out_classes
from shapewise.store.workspace import ModelAbout, StoreError, Workspace
from shapewise.training import by_feature, chosen_bins
from shapewise.training.dataset import band_rows, learnt_from
from shapewise.training.main_metric import main_metric_words
from shapewise.training.spec import Spec

LIBRARIES: Final = ("numpy", "numba", "pandas", "scikit-learn")
CAVEATS: Final = (
    "Effects are associations in the training rows, not causes: only an experiment shows the effect of acting on them.",
    "Bands say how much curves would move with other rows of the same kind. They say nothing about rows of other "
    "kinds or about columns that are not in the table.",
    "A curve is the effect of one feature with all others as they are: where features go together, curves trade off.",
)
MEASURED: Final = (
    "Effects are those of the treatment, as far as its arms were drawn at random; where they are stronger is an "
    "association with what was known before."
)

CLOSE: Final = 1e-9
"""An area under the curve nearer than that to 0 or 1 is that."""

BEYOND_CHANCE: Final = 3.0
"""How many times what chance moves a feature must have moved to be named."""


@dataclass(frozen=True)
class Card:
    """A model described in lines of a name and a text, with caveats."""

    name: str
    rows: tuple[tuple[str, str], ...]
    caveats: tuple[str, ...] = CAVEATS

    def text(self) -> str:
        """Return the card as plain text."""
        lines = [f"{label}: {value}" for label, value in self.rows]
        return "\n".join([f"Model {self.name}", *lines, *self.caveats])


def line(model: ModelAbout) -> str:
    """Return a one-line description of a model, for the foot of a plot."""
    parts = [f"Model {model.name}", f"table {model.table_name}" + (f" ({model.table})" if model.table else ""),
             f"trained {model.created[:10]}", _metric(model), f"Shapewise {__version__}"]  # fmt: skip
    return " · ".join(part for part in parts if part)


def _metric(model: ModelAbout) -> str:
    return f"held-out {main_metric_words(model.metrics)}" if main_metric_words(model.metrics) else ""


def card(space: Workspace, identifier: str) -> Card:
    """Return the card of a stored model; entries that need its table are left out if the table is gone."""
    model = space.models.about(identifier)
    names = names_of_table(space, model.table)
    rows = [("Predicts", target(model, names)), ("Kind", model.kind.replace("_", " ")),
            ("Table", f"{model.table_name}, fingerprint {model.table or 'unknown'}")]  # fmt: skip
    spec = Spec.from_dict(model.spec) if model.spec else None
    if model.rows:
        training = f"{count(model.rows['training'])} for training, {count(model.rows['held_out'])} held out"
        training += f" (in a sample of {count(model.rows['sample'])})" if model.rows.get("sample") else ""
        added = model.rows.get("added", 0)
        training += f"; {count(added)} were added to the counts of the others" if added else ""
        left = model.rows.get("without_target", 0)
        rows.append(("Rows", training + (f", {count(left)} left out" if left else "")))
    if model.drift:
        rows.append(("Moved since", _moved(model, names)))
    if part := learnt_from(model.rows):
        rows.append(("Learned from", part))
    if model.on_cluster:
        rows.append(("Trained on", "the workers of a cluster"))
    if spec is not None and spec.conditions:
        rows.append(("Only rows where", spec.filter_words(names)))
    period = _period(space, model, spec)
    if period:
        rows.append(("Period", period))
    rows += _metrics(space, model)
    if spec is not None:
        others = [name for name in spec.changes if name not in (*by_feature.SETTINGS, "order")]
        changes = ", ".join(f"{name} {spec.changes[name]}" for name in others)
        changes = changes or "those of the preset"
        if order := by_feature.words(spec.changes, by_feature.MONOTONE, names):
            rows.append(("Order", f"a prediction {order}"))
        if shapes := by_feature.words(spec.changes, by_feature.SHAPES, names):
            rows.append(("Curves", shapes))
        if bins := chosen_bins.words(spec.changes, names):
            rows.append(("Own bins", bins))
        few = ", of which those that beat chance have curves" if spec.parameters().get("order") == GREEDY else ""
        rows += [("Features", f"{len(spec.features)}{few}"), ("Preset", spec.preset), ("Parameters", changes),
                 ("Seed", str(spec.seed))]  # fmt: skip
    rows += card_rows(space, model, names)
    rows.append(("Bands", f"{model.bands} refits on halves of {band_rows(model.rows)}" if model.bands else "none"))
    rows.append(("Trained", f"{model.created[:16].replace('T', ' ')} UTC, in {fixed(model.seconds, 1)} s"))
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    rows.append(("Made with", f"Shapewise {__version__}, Python {platform.python_version()}, {versions}"))
    return Card(model.name, tuple(rows), caveats(model))


def caveats(model: ModelAbout | None) -> tuple[str, ...]:
    """Return what a model does not say; None for models in general."""
    return (MEASURED, *CAVEATS[1:]) if model is not None and model.spec.get("treatment") else CAVEATS


def _moved(model: ModelAbout, names: Names) -> str:
    """Return in which features the rows added last differ from those before, the most first."""
    beyond = [row for row in model.drift if row["moved"] > BEYOND_CHANCE * row["by_chance"]]
    moved = sorted(beyond, key=lambda row: -row["moved"])
    features = [f"{names.term(row['feature'])} ({percent(row['moved'], 0)} in other bins)" for row in moved[:3]]
    return ", ".join(features) or "nothing beyond chance"


def target(model: ModelAbout, names: Names = AS_THEY_ARE) -> str:
    """Return what a model predicts, in words: per unit of an exposure, or the quantile, where it is one."""
    if treatment := model.spec.get("treatment"):
        unit = unit_of_effect(model, names)
        level, outcome = names.level(treatment["arm"], treatment["level"]), names.column(model.target)
        return f"effect of {level} on {outcome}{f' ({unit})' if unit else ''}"
    words = target_words(model.target, model.spec.get("positive"), names)
    if model.spec.get("goal") == "quantile":
        return f"{percent(model.spec['quantile'], 0)} quantile of {words}"
    exposure = model.spec.get("exposure")
    return f"{words} per {names.column(exposure)}" if exposure else words


def unit_of_effect(model: ModelAbout, names: Names = AS_THEY_ARE) -> str | None:
    """Return the unit of the effect that a model is of; None where it is of no experiment."""
    treatment = model.spec.get("treatment")
    return None if not treatment else "points" if treatment["percent"] else names.of(model.target).unit


def measured_by(model: ModelAbout) -> str:
    """Return which rows measured the effect that a model is of, in words."""
    return "held-out rows" if model.unseen is None else "all rows of the test, by models that have not seen them"


def measure_of_target(model: ModelAbout, names: Names = AS_THEY_ARE) -> Measure:
    """Return unit and form of what a model predicts: of its target, or of the effect that it is of."""
    unit = unit_of_effect(model, names)
    return names.of(model.target).measure if unit is None else Measure(unit)


def described(model: ModelAbout, curve: Curve, target: str) -> list[str]:
    """Return what a curve of a model shows, its unit and its base rate, for the line under a plot's title."""
    if not model.spec.get("treatment"):
        return curve.detail(target)
    return [f"added to the mean {target} of {number(curve.base, signed=True)}"]


def target_words(column: str, positive: list[str] | None, names: Names = AS_THEY_ARE) -> str:
    """Return a target in words. positive : levels that count as 1; None for a number."""
    name, unit = names.column(column), names.of(column).unit
    if positive:
        return f"{name} = {levels_in_words([names.level(column, level) for level in positive], 'or')}"
    return (f"{name} ({unit})" if unit else name) or "the target"


def names_of_table(space: Workspace, table: str) -> Names:
    """Return how the columns of a table are shown; their own names where the table is gone or may not be seen."""
    if not table:
        return AS_THEY_ARE
    try:
        return space.tables.names(table)
    except StoreError:
        return AS_THEY_ARE


def _period(space: Workspace, model: ModelAbout, spec: Spec | None) -> str:
    """Return the period that the rows cover, if a time column tells."""
    if spec is None or not spec.time:
        return ""
    try:
        columns = list(dict.fromkeys([spec.time, *spec.filter_columns()]))
        frame = pd.read_parquet(space.tables.path(spec.table), columns=columns)
        frame = clear_codes(frame, spec.codes_of(spec.table) or {})
        frame = frame[All(tuple(spec.conditions)).holds(frame)]
        when = frame[spec.time].dropna()
    except (StoreError, OSError, ValueError, KeyError):
        return ""
    ends = [str(end.date()) if isinstance(end, pd.Timestamp) else str(end) for end in (when.min(), when.max())]
    return f"{ends[0]} to {ends[1]}, by {names_of_table(space, spec.table).column(spec.time)}" if len(when) else ""


def _metrics(space: Workspace, model: ModelAbout) -> list[tuple[str, str]]:
    """Return the held-out metrics, with intervals if the rows are available."""
    if model.spec.get("treatment"):
        return _of_effect(model, names_of_table(space, model.table))
    if "class_auc" in model.metrics:  # of all classes, by whichever a report reads the model
        held_classes = held_out_classes(space, model.id)
        return _alone(model) if held_classes is None else intervals_of_classes(held_classes, model.metrics["class_auc"])
    held = held_out(space, model.id) if not model.of_tasks else None
    if held is None:
        return _alone(model)
    return intervals(held)


def _alone(model: ModelAbout) -> list[tuple[str, str]]:
    """Return the held-out metrics that are kept with a model, without intervals."""
    return [(f"Held-out {name.replace('_', ' ')}", number(value, 4)) for name, value in model.metrics.items()]


def _of_effect(model: ModelAbout, names: Names) -> list[tuple[str, str]]:
    """Return the experiment of an effect model, and what it measured."""
    treatment, unit = model.spec["treatment"], unit_of_effect(model, names)
    level, control = (names.level(treatment["arm"], treatment[name]) for name in ("level", "control"))
    rows = [("Experiment", f"{level} against {control} in {names.column(treatment['arm'])}, "
                           f"{percent(treatment['share'], 0)} of both planned as {level}")]  # fmt: skip
    by = ", ".join(names.term(column["feature"]) for column in model.apart) or "nothing known before"
    rows.append(("Arms before the test", f"told apart by {by}"))
    for label, key in (("Measured mean effect", "effect"), ("Qini", "qini")):
        value, low, high = alike((model.metrics[f"{key}{end}"] for end in ("", "_low", "_high")), signed=True)
        rows.append((label, f"{value}{f' {unit}' if unit else ''} (95%: {low} to {high}), in {measured_by(model)}"))
    return rows


def intervals_of_classes(held: HeldOutClasses, auc: float) -> list[tuple[str, str]]:
    """Return the metrics of held-out rows of several classes by name, with 95% intervals of means. auc : the mean of
    the classes against all others."""
    w = np.ones(held.codes.size) if held.weight is None else held.weight
    losses = -np.log(np.clip(held.chances[np.arange(held.codes.size), held.codes], 1e-15, None))
    right = float(np.average(held.chances.argmax(axis=1) == held.codes, weights=w))
    low, high = wilson(right, effective_rows(w))
    return [
        ("Held-out mean AUC of the classes", fixed(auc, 3)),
        ("Held-out log-loss", _mean_in_words(losses, held.weight)),
        ("Held-out rows whose likeliest class is right",
         f"{percent(right)} (95%: {percent(low)} to {percent(high)})"),
    ]  # fmt: skip


def _mean_in_words(losses: Floats, weight: Floats | None) -> str:
    """Return the mean of errors with its interval."""
    low, high = skewed_mean(losses, weight)
    return f"{fixed(np.average(losses, weights=weight), 4)} (95%: {_between(fixed(low, 4), fixed(high, 4))})"


def intervals(held: HeldOutPredictions) -> list[tuple[str, str]]:
    """Return the metrics of held-out rows with 95% intervals, by name."""
    y, predicted, weight = held.y, held.predicted, held.weight
    if not held.binary and held.loss.name != "squared":
        return [_explained(held)]
    if not held.binary:
        squares = (y - predicted) ** 2
        low, high = (math.sqrt(max(end, 0.0)) for end in skewed_mean(squares, weight))
        rmse = math.sqrt(float(np.average(squares, weights=weight)))
        return [("Held-out RMSE", f"{number(rmse, 4)} (95%: {_between(number(low, 4), number(high, 4))})")]
    chance = np.clip(predicted, 1e-15, 1 - 1e-15)
    losses = -np.where(y > 0, np.log(chance), np.log1p(-chance))
    auc = quality.roc(y, predicted, weight).summary
    w = np.ones(y.size) if weight is None else weight
    ends = auc_interval(auc, effective_rows(w[y > 0]), effective_rows(w[y == 0]))
    rate = float(np.average(y, weights=weight))
    ends_of_rate = wilson(rate, effective_rows(w))
    return [
        ("Held-out AUC", f"{fixed(auc, 3)} (95%: {fixed(ends[0], 3)} to {fixed(ends[1], 3)})"),
        ("Held-out log-loss", _mean_in_words(losses, weight)),
        ("Held-out rate", f"{percent(rate)} (95%: {percent(ends_of_rate[0])} to {percent(ends_of_rate[1])})"),
    ]


def _between(low: str, high: str) -> str:
    """Return an interval of a mean error in words: rows with some error do not say that there may be none."""
    return f"{low} to {high}" if low == UNKNOWN or read(low) > 0 else f"up to {high}"


def _explained(held: HeldOutPredictions) -> tuple[str, str]:
    """Return the share of the loss that predictions remove, with a 95% interval (delta method)."""
    loss, w = held.loss, np.ones(held.y.size) if held.weight is None else held.weight
    rows = loss.loss(held.y, loss.link(held.predicted))
    usual = loss.loss(held.y, loss.link(np.full(held.y.size, held.baseline)))
    whole = float(np.average(usual, weights=w))
    share = 1.0 - float(np.average(rows, weights=w)) / whole if whole > 0 else 0.0
    low, high = student((usual - rows - share * usual) / whole if whole > 0 else rows, w)
    return (
        f"Held-out {loss.error} explained",
        f"{percent(share)} (95%: {percent(share + low)} to {percent(min(share + high, 1.0))})",
    )


def auc_interval(auc: float, positives: float, negatives: float) -> tuple[float, float]:
    """Return the 95% interval of an area under the ROC curve: the areas whose own standard error allows it (Newcombe
    2006, method 5), so that it ends within [0, 1], and some rows that are all told apart do not prove that all are."""
    if min(positives, negatives) <= 0:
        return math.nan, math.nan
    more, reach = (positives + negatives) / 2 - 1, float(norm.ppf(1 - ALPHA / 2))

    def beyond(area: float) -> float:
        by_rows = 1 + more * (1 - area) / (2 - area) + more * area / (1 + area)
        return (auc - area) ** 2 - reach**2 * area * (1 - area) * by_rows / (positives * negatives)

    low = float(brentq(beyond, 0.0, min(auc, 1 - CLOSE))) if auc > CLOSE else 0.0
    return low, float(brentq(beyond, max(auc, CLOSE), 1.0)) if auc < 1 - CLOSE else 1.0
