"""The card of a model: what it was made from and how, how good it is and how surely, and what it does not say."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import norm

from gamcore import __version__
from gamcore.decide.rules import All
from gamcore.stats import metrics as quality
from gamcore.stats.intervals import ALPHA, student, wilson
from gamcore.types import Floats
from shapewise.scoring.held_out import HeldOutPredictions, held_out
from shapewise.store.workspace import ModelAbout, StoreError, Workspace
from shapewise.training.dataset import band_rows, learnt_from
from shapewise.training.spec import Spec

LIBRARIES: Final = ("numpy", "numba", "pandas", "scikit-learn")
CAVEATS: Final = (
    "Effects are associations in the training rows, not causes: only an experiment tells what acting on them does.",
    "Bands say how much curves would move with other rows of the same kind. They know nothing of rows of other kinds, "
    "nor of columns that are not in the table.",
    "A curve is the effect of one feature with all others as they are: where features go together, curves trade off.",
)


@dataclass(frozen=True)
class Card:
    """What a model is, as lines of a name and a text; what to keep in mind."""

    name: str
    rows: tuple[tuple[str, str], ...]
    caveats: tuple[str, ...] = CAVEATS

    def text(self) -> str:
        """Return the card as plain text."""
        lines = [f"{label}: {value}" for label, value in self.rows]
        return "\n".join([f"Model {self.name}", *lines, *self.caveats])


def line(model: ModelAbout) -> str:
    """Return a model in one line, for the foot of a plot."""
    parts = [f"Model {model.name}", f"table {model.table_name}" + (f" ({model.table})" if model.table else ""),
             f"trained {model.created[:10]}", _metric(model), f"Shapewise {__version__}"]  # fmt: skip
    return " · ".join(part for part in parts if part)


def _metric(model: ModelAbout) -> str:
    if "auc" in model.metrics:
        return f"held-out AUC {model.metrics['auc']:.3f}"
    return f"held-out RMSE {model.metrics['rmse']:.4g}" if "rmse" in model.metrics else ""


def card(space: Workspace, identifier: str) -> Card:
    """Return all of a stored model's card; what needs its table is left out where that is gone."""
    model = space.models.about(identifier)
    rows = [("Predicts", target(model)), ("Kind", model.kind.replace("_", " ")),
            ("Table", f"{model.table_name}, fingerprint {model.table or 'unknown'}")]  # fmt: skip
    spec = Spec.from_dict(model.spec) if model.spec else None
    if model.rows:
        training = f"{model.rows['training']:,} for training, {model.rows['held_out']:,} held out"
        training += f" (of a sample of {model.rows['sample']:,})" if model.rows.get("sample") else ""
        left = model.rows.get("without_target", 0)
        rows.append(("Rows", training + (f", {left:,} left out" if left else "")))
    if part := learnt_from(model.rows):
        rows.append(("Learnt", part))
    if spec is not None and spec.conditions:
        rows.append(("Only rows where", spec.filter_words()))
    period = _period(space, model, spec)
    if period:
        rows.append(("Period", period))
    rows += _metrics(space, model)
    if spec is not None:
        changes = ", ".join(f"{name} {value}" for name, value in spec.changes.items()) or "as the preset says"
        rows += [("Features", f"{len(spec.features)}"), ("Preset", spec.preset), ("Parameters", changes),
                 ("Seed", str(spec.seed))]  # fmt: skip
    rows.append(("Bands", f"{model.bands} refits on halves of {band_rows(model.rows)}" if model.bands else "none"))
    rows.append(("Trained", f"{model.created[:16].replace('T', ' ')} UTC, in {model.seconds:.1f} s"))
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    rows.append(("Written with", f"Shapewise {__version__}, Python {platform.python_version()}, {versions}"))
    return Card(model.name, tuple(rows))


def target(model: ModelAbout) -> str:
    """Return what a model predicts, in words."""
    positive = model.spec.get("positive")
    return f"{model.target} = {' or '.join(positive)}" if positive else model.target or "the target"


def _period(space: Workspace, model: ModelAbout, spec: Spec | None) -> str:
    """From when to when the rows are, where a column tells."""
    if spec is None or not spec.time:
        return ""
    try:
        columns = list(dict.fromkeys([spec.time, *spec.filter_columns()]))
        frame = pd.read_parquet(space.tables.path(spec.table), columns=columns)
        frame = frame[All(tuple(spec.conditions)).holds(frame)]
        when = frame[spec.time].dropna()
    except (StoreError, OSError, ValueError, KeyError):
        return ""
    ends = [str(end.date()) if isinstance(end, pd.Timestamp) else str(end) for end in (when.min(), when.max())]
    return f"{ends[0]} to {ends[1]}, by {spec.time}" if len(when) else ""


def _metrics(space: Workspace, model: ModelAbout) -> list[tuple[str, str]]:
    """Return the held-out metrics, with intervals where the rows are there."""
    held = held_out(space, model.id) if not model.of_tasks else None
    if held is None:
        return [(f"Held-out {name.replace('_', ' ')}", f"{value:.4g}") for name, value in model.metrics.items()]
    return intervals(held)


def intervals(held: HeldOutPredictions) -> list[tuple[str, str]]:
    """Return the metrics of held-out rows with 95% intervals, by name."""
    y, predicted, weight = held.y, held.predicted, held.weight
    if not held.binary:
        squares = (y - predicted) ** 2
        low, high = (math.sqrt(max(end, 0.0)) for end in student(squares, weight))
        rmse = math.sqrt(float(np.average(squares, weights=weight)))
        return [("Held-out RMSE", f"{rmse:.4g} (95%: {low:.4g} to {high:.4g})")]
    chance = np.clip(predicted, 1e-15, 1 - 1e-15)
    losses = -np.where(y > 0, np.log(chance), np.log1p(-chance))
    low, high = student(losses, weight)
    auc = quality.roc(y, predicted, weight).summary
    w = np.ones(y.size) if weight is None else weight
    ends = auc_interval(auc, _effective(w[y > 0]), _effective(w[y == 0]))
    rate = float(np.average(y, weights=weight))
    said = wilson(rate, _effective(w))
    return [
        ("Held-out AUC", f"{auc:.3f} (95%: {ends[0]:.3f} to {ends[1]:.3f})"),
        ("Held-out log-loss", f"{np.average(losses, weights=weight):.4f} (95%: {low:.4f} to {high:.4f})"),
        ("Base rate", f"{rate:.1%} (95%: {said[0]:.1%} to {said[1]:.1%})"),
    ]


def _effective(weight: Floats) -> float:
    """Return the number of rows that so many weighted ones are worth (Kish)."""
    return float(weight.sum() ** 2 / np.square(weight).sum()) if weight.any() else 0.0


def auc_interval(auc: float, positives: float, negatives: float) -> tuple[float, float]:
    """Return the interval of an area under the ROC curve (Hanley and McNeil 1982, eq. 1 and 2), within 0 and 1."""
    first, second = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    above = auc * (1 - auc) + (positives - 1) * (first - auc**2) + (negatives - 1) * (second - auc**2)
    reach = float(norm.ppf(1 - ALPHA / 2)) * math.sqrt(max(above, 0.0) / max(positives * negatives, 1.0))
    return max(auc - reach, 0.0), min(auc + reach, 1.0)
