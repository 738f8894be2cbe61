"""Fitted estimators as their users see them: what they learned below scikit-learn's diagram, and a report in a file."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import sklearn
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gamcore.common.numbers import count, counted, fixed, number, percent
from gamcore.common.types import Floats
from gamcore.common.version import __version__
from gamcore.data.columns import TableError
from gamcore.data.labels import cut, listed
from gamcore.data.targets import read_class_target, read_numeric_target
from gamcore.estimators.scores import explained
from gamcore.explain.model_page import Fact, Reading, learned, page
from gamcore.explain.tasks import TASK
from gamcore.model.additive import AdditiveModel
from gamcore.model.losses import Loss
from gamcore.multitask.model import TaskModel
from gamcore.stats import metrics
from gamcore.stats.plots.quality import actual, calibration
from gamcore.viz.spec import Plot

if TYPE_CHECKING:
    from gamcore.estimators.base import TableEstimator

MOST_SHOWN: Final = 12
"""Curves below the diagram."""

LONGEST: Final = 200
"""Characters of a setting's value."""

MOST_POINTS: Final = 3_000
"""Rows drawn as points."""

NOTHING_LEARNED: Final = (
    "The model learned nothing, as no round lowered the loss of the rows that are held out to stop it: no feature "
    "moves a prediction"
)


def reading(model: TableEstimator, most: int | None = None) -> Reading:
    """Return what a fitted estimator can be read by, the most important first, on the scale that people read best.

    most : curves and pairs; None for all.
    """
    check_is_fitted(model, "model_")
    return (_of_tasks if isinstance(model.model_, TaskModel) else _of_curves)(model, most)


def learned_nothing(estimator: Any) -> bool:
    """Return whether the fit of an additive model kept no round, so that no feature moves a prediction."""
    check_is_fitted(estimator, "model_")
    rounds = getattr(estimator, "n_rounds_", 0)  # a model that another one has of its uncertainty keeps no number
    return not rounds and not estimator.feature_importances_.any()


def diagram_below(model: TableEstimator) -> str:
    """Return the HTML below scikit-learn's diagram: what a fitted estimator learned."""
    return learned(reading(model, MOST_SHOWN)) if hasattr(model, "model_") else ""


def report(
    model: TableEstimator, path: str | os.PathLike[str], X: Any = None, y: Any = None, *, target: str = "the target",
    title: str = "", **rows: Any,
) -> Path:  # fmt: skip
    """Write all that can be read off a fitted model to one HTML file, and return its path.

    The file has no scripts and needs no network; it follows the reader's light or dark setting.

    X, y : held-out rows, for a part on how well the model predicts. target : what it predicts, in words.
    rows : whatever else `predict` takes, such as `task`.
    """
    check_is_fitted(model, "model_")
    if (X is None) != (y is None):
        raise TableError("A report measures predictions with both X and y: pass both, or none.")
    measured = ([], []) if X is None else model._quality(X, y, target, rows)
    about = f"Made by gamcore {__version__} with scikit-learn {sklearn.__version__}"
    heading = title or f"{type(model).__name__} of {target}"
    text = page(heading, reading(model), measured, target, about)
    place = Path(path)
    place.write_text(text, encoding="utf-8")
    return place


def quality(model: Any, X: Any, y: Any, target: str, rows: dict[str, Any]) -> tuple[list[Fact], list[Plot]]:
    """Return metrics of an estimator's predictions as names and values, and a plot."""
    if is_classifier(model):
        return _of_chances(_classes_of(model, y), np.asarray(model.predict_proba(X, **rows)[:, 1]))
    observed = read_numeric_target(column_or_1d(y)).astype(np.float64)
    if sentence := model.loss.impossible(observed):
        raise TableError(sentence)
    predicted = np.asarray(model.predict(X, **rows))
    return (_of_values if model.loss.is_of_mean else _of_quantiles)(model.loss, observed, predicted, target)


def _classes_of(model: Any, y: Any) -> Floats:
    """Return 1.0 for the second class, 0.0 for the first."""
    codes, classes = read_class_target(column_or_1d(y))
    if not set(classes) <= set(model.classes_):
        raise TableError(f"The classes are {list(classes)}; the model knows {list(model.classes_)}.")
    return np.asarray(classes[codes] == model.classes_[1], np.float64)


def _of_curves(estimator: Any, most: int | None) -> Reading:
    """Return the curves and pairs of an additive model."""
    model = estimator.model_
    scale = model.loss.usual_scale  # the one that people read best
    ranking = estimator.importance(scale)
    of_pairs = ranking.mean_abs[len(model.terms) : len(model.terms) + len(model.pairs)]
    pairs = np.argsort(-of_pairs, kind="stable")
    nothing = f" {NOTHING_LEARNED}." if learned_nothing(estimator) else ""
    return Reading(
        _summary(model) + nothing, ranking, _trained(estimator),
        curves=tuple(estimator.explain_shape(name).on(scale) for name in ranking.ranked_features()[:most]),
        pairs=tuple(estimator.explain_pair(*model.pairs[k].features).on(scale) for k in pairs[:most]),
    )  # fmt: skip


def _summary(model: AdditiveModel) -> str:
    """Return what an additive model is made of, in a sentence."""
    kept = {"curve": len(model.terms), "pair": len(model.pairs), "triple": len(model.triples)}
    parts = [f"{count(n)} {name}{'s' * (n != 1)}" for name, n in kept.items() if n]
    rows = max((float(term.counts.sum()) for term in model.terms), default=0.0)
    base = float(model.loss.inverse_link(np.array(model.base_score)))
    middle = "mean" if model.loss.is_of_mean else model.loss.name
    rate = f"base rate {percent(base)}" if model.loss.is_binary else f"{middle} {number(base, 4)}"
    bands = f"bands from {count(model.halves.n_refits)} half-sample refits" if model.halves else "no bands yet"
    more = "".join(f"; {attached.summary}" for attached in model.attachments.values() if attached.summary)
    return f"{listed(parts) if parts else 'No curve'} from {counted(rows, 'row')}; {rate}; {bands}{more}."


def _of_tasks(estimator: Any, most: int | None) -> Reading:
    """Return the curves of the trees that tasks share."""
    ranking, n_tasks = estimator.importance(), len(estimator.model_.tasks)
    names = [name for name in ranking.frame()["feature"] if name != TASK]
    whose = "the trees that tasks share" if n_tasks > 1 else "the task"
    summary = f"{counted(n_tasks, 'task')} and {counted(len(names), 'feature')}; the curves are of {whose}."
    curves = tuple(estimator.explain_shape(name).on(estimator.loss.usual_scale) for name in names[:most])
    return Reading(summary, ranking, _trained(estimator), curves)


def _of_chances(y: Floats, chance: Floats) -> tuple[list[Fact], list[Plot]]:
    loss, share = metrics.deviance(y, chance, float(y.mean()), binary=True)
    facts = [("AUC", fixed(metrics.roc(y, chance).summary, 3)), ("Log-loss", number(loss / 2)),
             ("Deviance explained", percent(share)), ("Observed rate", percent(float(y.mean()))),
             ("Rows", count(y.size))]  # fmt: skip
    return facts, [calibration(metrics.calibration(y, chance), chance)]


def _of_values(loss: Loss, y: Floats, predicted: Floats, target: str) -> tuple[list[Fact], list[Plot]]:
    facts = _deviances(loss, y, predicted) if loss.has_log_link else _squares(loss, y, predicted)
    facts += [("Mean absolute error", number(float(np.abs(y - predicted).mean()))), ("Rows", count(y.size))]
    return facts, [_points(y, predicted, target)]


def _of_quantiles(loss: Loss, y: Floats, predicted: Floats, target: str) -> tuple[list[Fact], list[Plot]]:
    """Return how many targets are below the predictions, and the loss beside that of the best constant."""
    mean = float(loss.loss(y, loss.link(predicted)).mean())
    share = percent(explained(loss, y, predicted)) if np.ptp(y) > 0 else "none to explain"
    facts = [("Rows below the prediction", percent(float(np.mean(y <= predicted)))), ("Rows", count(y.size)),
             (loss.error.capitalize(), number(mean)), (f"{loss.error.capitalize()} explained", share)]  # fmt: skip
    return facts, [_points(y, predicted, target)]


def _points(y: Floats, predicted: Floats, target: str) -> Plot:
    drawn = np.unique(np.linspace(0, y.size - 1, min(y.size, MOST_POINTS)).round().astype(np.int64))
    return actual(predicted[drawn], y[drawn], target)


def _squares(loss: Loss, y: Floats, predicted: Floats) -> list[Fact]:
    square = float(loss.loss(y, predicted).mean())
    return [("R²", fixed(explained(loss, y, predicted), 3)), ("Root mean squared error", number(math.sqrt(square)))]


def _deviances(loss: Loss, y: Floats, predicted: Floats) -> list[Fact]:
    """Return the share of the deviance that the predictions explain beyond the mean of these rows, and their own."""
    ours = float(loss.loss(y, loss.link(predicted)).mean())
    share = [("Deviance explained", percent(explained(loss, y, predicted)))] if np.ptp(y) > 0 else []
    return [*share, (loss.error, number(ours))]


def _trained(estimator: Any) -> tuple[Fact, ...]:
    """Return how an estimator was trained: what was measured, and the settings that differ from the defaults."""
    losses = getattr(estimator, "validation_losses_", ())
    defaults = type(estimator)().get_params(deep=False)
    chosen = {name: value for name, value in estimator.get_params(deep=False).items() if name != "callback"}
    changed = {name: cut(repr(value), LONGEST) for name, value in chosen.items() if repr(value) != repr(defaults[name])}
    facts = [("Refits", count(estimator.model_.n_refits))]
    if len(losses):
        facts.append(("Rounds kept, at most", count(estimator.n_rounds_)))
        facts.append(("Validation loss", f"{number(float(np.mean(losses)))}, {estimator.loss.error}, mean over refits"))
    return (*facts, *changed.items(), *(() if changed else [("Settings", "all defaults")]))
