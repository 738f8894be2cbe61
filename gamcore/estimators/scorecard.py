"""The scorecard of a fitted model of two classes, what making it cost, and a monitor of newer rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.utils.validation import check_is_fitted

from gamcore.common.types import Codes, Floats
from gamcore.data.binning import columns_of, encode_table
from gamcore.data.column_names import AS_THEY_ARE, Names, free_name
from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.estimators.additive import read_target
from gamcore.estimators.base import column, read_table, train_share
from gamcore.estimators.gam import GAMClassifier
from gamcore.explain.scorecard import Points, Scorecard, make_card
from gamcore.model.additive import AdditiveModel
from gamcore.model.scales import LARGEST
from gamcore.stats.column_drift import what_moved
from gamcore.stats.intervals import wilson
from gamcore.stats.metrics import stability

MOST_BINS: Final = 10
SCORE: Final = "(points)"
SCORE_PARTS: Final = 10


def scorecard(
    model: GAMClassifier, X: Any = None, y: Any = None, sample_weight: Any = None, *, base: float = 600.0,
    odds: float = 1.0, double: float = 20.0, bins: int = MOST_BINS, favours: Any = None, names: Names = AS_THEY_ARE,
) -> Scorecard:  # fmt: skip
    """Return a model of two classes as a card of whole points.

    base : points at which the odds of the favoured class are `odds` to 1. double : points that double these odds.
    bins : most bins per feature, besides missing and new values. favours : the class whose odds rise with the points;
    the second one if None. X, y, sample_weight : rows, preferably held out, on which each step of making the card is
    measured, and the population and rate of every bin. names : how
    columns and levels are shown. Pairs are left out: the steps tell what that costs.

    Raises TableError where the model has no points.
    """
    check_is_fitted(model, "model_")
    inner = model.model_
    if not isinstance(inner, AdditiveModel) or not inner.loss.is_binary:
        raise TableError("A scorecard is of a model of two classes: train one whose target is yes or no.")
    labels = [str(name) for name in model.classes_]
    if favours is not None and str(favours) not in labels:
        raise TableError(f"favours is {favours!r}: choose one of {', '.join(labels)}.")
    if not (double > 0 and odds > 0 and np.isfinite([base, odds, double]).all()):
        raise TableError("base, odds and double must be finite, and the last two above 0.")
    if bins < 2:
        raise TableError("bins must be at least 2: a feature with one bin says nothing.")
    scale = Points(float(base), float(odds), float(double), rising=favours is None or str(favours) == labels[1])
    card, merged = make_card(inner, scale, bins, train_share(model), names)
    card = replace(card, classes=tuple(model.classes_.tolist()))
    if X is None:
        return card
    codes = encode_table(read_table(model, X, reset=False), inner.bins)
    outcome = np.asarray(read_target(model, y), np.float64)
    weight = np.ones(outcome.size) if sample_weight is None else np.asarray(column(sample_weight), np.float64)
    return replace(
        card, steps=_steps(inner, card, merged, (codes, outcome, weight)), seen=_seen(card, codes, outcome, weight)
    )


def _steps(
    model: AdditiveModel, card: Scorecard, merged: Sequence[Floats], rows: tuple[Codes, Floats, Floats]
) -> pd.DataFrame:
    """Return AUC and log-loss after each step of making a card. rows : codes, outcomes and weights."""
    codes, y, weight = rows
    mains = model.intercept + sum(term.scores[codes[term.feature]] for term in model.terms)
    few = model.intercept + sum(scores[codes[place]] for place, scores in enumerate(merged))
    scores = {"the model": model.score(codes)}
    if model.pairs:
        scores["without its pairs"] = np.asarray(mains)
    scores["with few bins"] = np.asarray(few)
    scores["in whole points"] = card.points.score(card.total(codes).astype(np.float64))
    if np.unique(y).size < 2:
        raise TableError("The rows that the card is measured on are all of one class: give others.")
    table = pd.DataFrame([
        {"step": name, "AUC": float(roc_auc_score(y, score, sample_weight=weight)),
         "log-loss": float(log_loss(y, _chance(score), sample_weight=weight))}
        for name, score in scores.items()
    ])  # fmt: skip
    return table.assign(**{"AUC, change": table["AUC"].diff(), "log-loss, change": table["log-loss"].diff()})


def _chance(score: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(score, -LARGEST, LARGEST)))


def _seen(card: Scorecard, codes: Codes, y: Floats, weight: Floats) -> pd.DataFrame:
    """Return for each row of a card's frame the share of rows, their rate of the second class with its 95% interval,
    and the mean chance by the card."""
    chance = _chance(card.points.score(card.total(codes).astype(np.float64)))
    whole = float(weight.sum())

    def facts(inside: Floats) -> tuple[float, float, float, float, float]:
        size = float(inside.sum())
        if not size > 0:
            return 0.0, np.nan, np.nan, np.nan, np.nan
        rate, n = float(inside @ y) / size, size**2 / float(np.square(inside).sum())
        return size / whole, rate, *wilson(rate, n), float(inside @ chance) / size

    rows = [facts(weight)]
    for part in card.parts:
        for card_bin in part.bins:
            rows.append(facts(weight * np.isin(codes[part.place], card_bin.codes)))
    return pd.DataFrame(rows, columns=["population", "rate", "rate, lower", "rate, upper", "expected"])


def total_points(card: Scorecard, X: Any) -> Floats:
    """Return the points (n,) of the rows of a table."""
    return card.total(encode_table(Table.of(X, columns_of(card.bins)), card.bins)).astype(np.float64)


def monitor(card: Scorecard, then: Any, now: Any) -> pd.DataFrame:
    """Return how far the features of a card, and its points, moved from the rows of one table to those of another.

    A row per feature, that of all points first: psi, the population stability index over the card's bins (over tenths
    of the first table for the points); by chance, its mean without drift; then the verdict, distance and p of
    `stats.column_drift`, whose test knows how many rows there are; mean points then and now.
    """
    tables = [Table.of(rows, columns_of(card.bins)) for rows in (then, now)]
    codes = [encode_table(table, card.bins) for table in tables]
    totals = [card.total(coded) for coded in codes]
    edges = np.unique(np.quantile(totals[0], np.linspace(0, 1, SCORE_PARTS + 1)[1:-1]))
    places = [np.searchsorted(edges, points, side="right") for points in totals]
    total = free_name([bins.feature.name for bins in card.bins], SCORE)
    rows = [_line(total, places, [float(points.mean()) for points in totals])]
    for part in card.parts:
        table = part.table(card.bins[part.place].size)
        lookup = np.zeros(table.size, np.int64)
        for number, card_bin in enumerate(part.bins):
            lookup[card_bin.codes] = number
        own = [lookup[coded[part.place]] for coded in codes]
        rows.append(_line(part.feature, own, [float(table[coded[part.place]].mean()) for coded in codes]))
    used = {card.bins[part.place].feature.column: part.feature for part in card.parts}
    frames = [table.frame[list(used)].assign(**{total: points}) for table, points in zip(tables, totals, strict=True)]
    moved = what_moved(*frames)
    tested = {used.get(move.name, total): move for move in moved.columns}
    report = pd.DataFrame(rows)
    for name in ("verdict", "distance", "p"):
        report[name] = [getattr(tested[column], name) if column in tested else None for column in report["part"]]
    return report


def _line(name: str, places: Sequence[Any], means: Sequence[float]) -> dict[str, Any]:
    """Return the stability of one part of a card."""
    size = int(max(numbers.max(initial=0) for numbers in places)) + 1
    counts = [np.bincount(numbers, minlength=size).astype(np.float64) for numbers in places]
    psi, chance = stability(counts[0], counts[1])
    return {"part": name, "psi": psi, "by chance": chance, "points then": means[0], "points now": means[1]}
