"""From a fitted model, its own held-out rows and newer ones to whether it still holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.additions.newer_rows.fall import Change, edges, fall_of
from gamcore.additions.newer_rows.held import PREDICTION, Group, OnNewerRows, Side
from gamcore.common.numbers import alike, percent
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.table import Table
from gamcore.estimators.base import loss_of
from gamcore.estimators.seen_rows import (
    Estimator,
    Sample,
    check_names,
    check_samples,
    clusters_of_both,
    one_outcome,
    read_seen,
    refusals_named,
)
from gamcore.explain.row_groups import columns_of_interest, groups_of
from gamcore.explain.seen import Seen
from gamcore.stats.intervals import UNKNOWN

TENTHS: Final = 10
FEWEST: Final = 10
"""Rows of either sample in a group, from which it is asked whether the model is off otherwise."""

NOBODY: Final = Side(0, 0.0, np.nan, np.nan, UNKNOWN, off_by=Change(np.nan, np.nan, np.nan, np.nan))


def on_newer_rows(
    model: Estimator, own: Sample, newer: Sample, *, columns: str | Sequence[str] | None = None, of_class: Any = None,
    names: tuple[str, str] = ("its held-out rows", "the newer rows"),
) -> OnNewerRows:  # fmt: skip
    """Return how a model does on newer rows, beside rows of its own time that it has not learned from.

    The main metric (the AUC of a class against the others, else the share of the loss that is explained), and how much
    of its difference is *who came*, that is, other predictions with outcomes that follow these as before, and how much
    is *what changed*, other outcomes of rows with the same prediction. What is observed and predicted, by bins of the
    prediction and by the groups of columns, with a test of whether the model is off otherwise than before.

    Parameters
    ----------
    model :
        Fitted.
    own, newer :
        The rows, whose tables have the columns of the model, and may have more. With exposures, means are rates per
        unit of them; a label of `groups` that both samples have is one cluster.
    columns :
        The names of the columns by whose groups outcomes are compared; all that both tables have if None.
    of_class :
        The class whose share is asked about, against all others; of two, the second if None.
    names :
        Of the two samples of rows.

    Raises
    ------
    TableError
        Where the model, the rows or a column do not allow it; the message says why and what to do.
    """
    check_names(names, "samples of rows")
    fitted, code = one_outcome(model, of_class)
    samples = own, newer
    check_samples(samples, names, fitted.model_.given)
    read = []
    for name, sample in zip(names, samples, strict=True):
        with refusals_named(name):
            read.append(read_seen(fitted, sample, code))
    (own_table, before, _), (newer_table, after, _) = read
    # without labels, each row is a cluster
    numbers = clusters_of_both(samples) or (before.clusters, after.clusters + before.y.size)
    before, after = replace(before, clusters=numbers[0]), replace(after, clusters=numbers[1])
    everything = np.ones(before.y.size, bool), np.ones(after.y.size, bool)
    by_column = {PREDICTION: _by_prediction(before, after)}
    together = _together([own_table, newer_table])
    sizes = np.concatenate([before.size, after.size])
    for name in columns_of_interest(together, [columns] if isinstance(columns, str) else columns):
        cut = groups_of(together, name, sizes, np.ones(sizes.size, bool))
        if len(cut.names) > 1 or columns is not None:
            parts = cut.codes[: before.y.size], cut.codes[before.y.size :]
            by_column[name] = tuple(
                _group(label, before, after, (parts[0] == k, parts[1] == k)) for k, label in enumerate(cut.names)
            )
    return OnNewerRows(
        names=(str(names[0]), str(names[1])), metric="AUC" if loss_of(fitted).is_binary else "explained",
        came=_came(before, after), fall=fall_of(loss_of(fitted), before, after),
        whole=_group("all rows", before, after, everything),
        columns=by_column, is_share=before.kind == "share", per="row" if own.exposure is None else "exposure",
    )  # fmt: skip


def _together(tables: list[Table]) -> Table:
    """Return the rows of both tables, with the columns that both have."""
    first, second = (table.frame for table in tables)
    shared = [name for name in first.columns if name in second.columns]
    return Table(pd.concat([first[shared], second[shared]], ignore_index=True))


def _by_prediction(own: Seen, newer: Seen) -> tuple[Group, ...]:
    """Return the tenths of the own rows by their prediction, and where the newer ones fall."""
    rates = own.rate, newer.rate
    inner = edges(rates[0], own.size, TENTHS)
    ends = list(map(percent, inner)) if own.kind == "share" else alike(inner)
    names = [f"below {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends)),
             f"{ends[-1]} or more"] if ends else ["all"]  # fmt: skip
    codes = [np.searchsorted(inner, rate, side="right") for rate in rates]
    return tuple(_group(name, own, newer, (codes[0] == k, codes[1] == k)) for k, name in enumerate(names))


def _group(name: str, own: Seen, newer: Seen, here: tuple[Bools, Bools]) -> Group:
    before, after = (_side(rows, part) for rows, part in zip((own, newer), here, strict=True))
    if min(before.rows, after.rows) < FEWEST:
        return Group(name, before, after, NOBODY.off_by)
    first, second = (_influences(rows, part) for rows, part in zip((own, newer), here, strict=True))
    clusters = own.clusters[here[0]], newer.clusters[here[1]]
    sizes = own.size[here[0]] / before.size, newer.size[here[1]] / after.size
    least = _error_if_alike((first, second), clusters, sizes)
    change = Change.of(after.off_by.value - before.off_by.value, (-first, second), clusters, least)
    return Group(name, before, after, change)


def _error_if_alike(
    parts: tuple[Floats, Floats], clusters: tuple[Ints, Ints], shares: tuple[Floats, Floats]
) -> float:  # fmt: skip
    """Return the standard error of a difference where rows of both samples are dispersed alike: a few rows of one that
    happen to be alike do not make it certain. shares : of each row in its sample."""
    squares, weights = [], []
    for part, numbers, share in zip(parts, clusters, shares, strict=True):
        places = np.unique(numbers, return_inverse=True)[1]
        sums, sizes = np.bincount(places, part), np.bincount(places, share)
        squares.append(float(np.square(sums).sum()))
        weights.append(float(np.square(sizes).sum()))
    # in units of a whole sample, rows count by their number: 1 / weights
    pooled = sum(square / weight**2 for square, weight in zip(squares, weights, strict=True))
    pooled /= sum(1 / weight for weight in weights)
    return float(np.sqrt(pooled * sum(weights)))


def _side(rows: Seen, here: Bools) -> Side:
    """Return what some rows (n,) of a sample say."""
    if not here.any():
        return NOBODY
    means = rows.means(here)
    off = Change.of(means.observed - means.predicted, (_influences(rows, here),), (rows.clusters[here],))
    return Side(**vars(means), off_by=off)


def _came(own: Seen, newer: Seen) -> Change:
    """Return how much more is predicted of the newer rows, per unit of exposure."""
    means, parts = [], []
    for rows in (own, newer):
        expected, whole = rows.weight * rows.predicted, float(rows.size.sum())
        means.append(float(expected.sum()) / whole)
        parts.append((expected - rows.size * means[-1]) / whole)
    return Change.of(means[1] - means[0], (-parts[0], parts[1]), (own.clusters, newer.clusters))


def _influences(rows: Seen, here: Bools) -> Floats:
    """Return what each of some rows adds to observed less predicted."""
    apart, size = rows.weight[here] * (rows.y[here] - rows.predicted[here]), rows.size[here]
    whole = float(size.sum())
    return np.asarray((apart - size * apart.sum() / whole) / whole) if whole > 0 else np.zeros(0)
