"""The same feature in two models: the difference of its curves, with a band."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats
from gamcore.data.cuts import halfway
from gamcore.data.labels import labels_of
from gamcore.explain.curves import NO_BAND, Curve
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale
from gamcore.stats.bands import deviation, pointwise, simultaneous

DIFFERENCE: Final = "95% band of the difference, point by point"


class CompareError(ValueError):
    """Two curves that cannot be compared; the message says why."""


def lookup(curve: Curve, edges: Floats) -> NDArray[np.intp]:
    """Return the bin of a curve that contains each of some narrower bins (edges: K + 1)."""
    middles = (edges[:-1] + edges[1:]) / 2
    return np.searchsorted(curve.edges[1:-1], middles, side="right")


def on_common_bins(first: Curve, second: Curve) -> tuple[Curve, Curve]:
    """Return two curves on the same bins, both centred over the rows of the two together.

    Numbers and dates: the borders of both, within the range that both have seen. Levels: those that both have.
    """
    if (first.feature, first.kind, first.loss) != (second.feature, second.kind, second.loss):
        raise CompareError(f"{first.feature!r} is not the same kind of feature in both: choose another.")
    if not (first.scores.size and second.scores.size):
        raise CompareError(f"{first.feature!r} has no values in one of the two: choose another.")
    if first.labels:
        shapes = _on_common_levels(first, second)
    else:
        low, high = max(first.edges[0], second.edges[0]), min(first.edges[-1], second.edges[-1])
        if low > high:
            raise CompareError(f"The values of {first.feature!r} in the two do not overlap: choose another feature.")
        inner = np.unique(np.concatenate([first.edges, second.edges]))
        edges = np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])
        shapes, beside = [], _beside(edges, (first, second))
        for curve in (first, second):
            pick = lookup(curve, edges)
            width = np.diff(curve.edges)[pick]
            share = np.where(width > 0, np.diff(edges) / np.where(width > 0, width, 1.0), 1.0)
            shapes.append(_taken(curve, pick, curve.counts[pick] * share, (), edges=edges, beside=beside))
    weight = shapes[0].counts + shapes[1].counts
    return _centred(shapes[0], weight), _centred(shapes[1], weight)


def _beside(edges: Floats, curves: tuple[Curve, Curve]) -> Floats:
    """Return the values (2, K - 1) next to each inner border of common bins (K + 1,), as the curve that has the border
    knows them; empty where it does not. Moved between them, the border changes nothing for the rows of either: the
    other curve is flat there. Where the values beside two borders overlap, both end halfway."""
    inner = edges[1:-1]
    low, high, is_learnt = np.full(inner.size, -np.inf), np.full(inner.size, np.inf), np.ones(inner.size, bool)
    for curve in curves:
        borders = curve.edges[1:-1]
        if curve.between.shape[1] != borders.size:
            return np.empty((2, 0))
        mine = np.isin(borders, inner)
        at = np.searchsorted(inner, borders[mine])
        below, above = curve.between[:, mine]
        low[at], high[at] = np.maximum(low[at], below), np.minimum(high[at], above)
        is_learnt[at] &= halfway(borders[mine], below, above)
    middle, overlap = (inner[:-1] + inner[1:]) / 2, high[:-1] > low[1:]
    high[:-1] = np.where(overlap, np.minimum(high[:-1], middle), high[:-1])
    low[1:] = np.where(overlap, np.maximum(low[1:], middle), low[1:])
    reach = np.minimum(inner - low, high - inner)  # a border that was learnt stays halfway, and may be rounded
    moved = is_learnt & ~halfway(inner, low, high)
    return np.where(moved, [inner - reach, inner + reach], [low, high])


def _on_common_levels(first: Curve, second: Curve) -> list[Curve]:
    """Return two curves of levels on bins whose levels both curves keep together.

    A bin that the other curve has divided is divided in the same proportion of rows.
    """
    place = second.bin_of
    common: dict[tuple[int, int], list[str]] = {}
    for level, k in first.bin_of.items():
        if level in place:
            common.setdefault((k, place[level]), []).append(level)
    if not common:
        raise CompareError(f"No level of {first.feature!r} is in both: choose another feature.")
    picks, members = np.array(list(common), np.intp).T, tuple(map(tuple, common.values()))
    shapes = []
    for curve, pick, other, of_other in ((first, picks[0], second, picks[1]), (second, picks[1], first, picks[0])):
        rows = other.counts[of_other] + 1e-9
        share = rows / np.bincount(pick, rows)[pick]
        shapes.append(_taken(replace(curve, members=members), pick, curve.counts[pick] * share, labels_of(members, ())))
    return shapes


def _taken(
    curve: Curve, pick: NDArray[np.intp], counts: Floats, labels: tuple[str, ...], *, edges: Floats | None = None,
    beside: Floats | None = None,
) -> Curve:  # fmt: skip
    """Return a curve on some of its bins, or on narrower ones. beside : the values next to their borders, if known."""
    display = curve.display if edges is None else (edges[:-1] + edges[1:]) / 2
    return replace(
        curve, edges=curve.edges if edges is None else edges, display=display, labels=labels, counts=counts,
        scores=curve.scores[pick], lower=curve.lower[pick], upper=curve.upper[pick],
        whole=curve.whole[:, pick] if curve.has_whole else curve.whole, refits=curve.refits[:, pick],
        by_hand=curve.by_hand[pick] if curve.by_hand.size else curve.by_hand,
        beside=np.empty((2, 0)) if beside is None else beside, is_counted=False,
    )  # fmt: skip


def _centred(curve: Curve, weight: Floats) -> Curve:
    """Return a curve shifted so that its weighted mean is 0."""
    if not weight.sum() > 0:
        return curve
    shift = float(np.average(curve.scores, weights=weight))
    refits = curve.refits - (np.average(curve.refits, axis=1, weights=weight)[:, None] if len(curve.refits) else 0.0)
    missing, unseen = ((s - shift, low - shift, high - shift, n) for s, low, high, n in (curve.missing, curve.unseen))
    moved = {name: getattr(curve, name) - shift for name in ("scores", "lower", "upper", "whole")}
    return replace(curve, **moved, refits=refits, missing=missing, unseen=unseen, missing_whole=None)


def difference(first: Curve, second: Curve, scale: Scale = "link") -> Curve:
    """Return the second curve minus the first (both on the link scale), with a band where both have half-sample
    refits.

    On the ratio scale it is the ratio of the two; in points, each model has its own base rate.

    The k-th refits of both are paired. Models of the same rows and seed are refitted on the same halves, so the noise
    that they share cancels. With different rows, the two vary independently, and their variances add up.
    """
    first, second = on_common_bins(first, second)
    loss = LOSSES[first.loss]
    if scale in ("points", "units") and scale in loss.scales:
        first, second = (
            replace(curve.on(scale), refits=loss.effect(curve.refits, scale, curve.base)) for curve in (first, second)
        )
    scores = second.scores - first.scores
    n_refits = min(len(first.refits), len(second.refits)) if first.has_whole and second.has_whole else 0
    counts = np.minimum(first.counts, second.counts)
    lower = upper = scores
    whole, reach, refits = np.empty((2, 0)), float("nan"), np.empty((0, scores.size))
    if n_refits:
        refits = second.refits[:n_refits] - first.refits[:n_refits]
        error, reach = deviation(refits), simultaneous(refits, counts > 0)
        lower, upper = scores - pointwise(n_refits) * error, scores + pointwise(n_refits) * error
        whole = np.stack([scores - reach * error, scores + reach * error])
    of_missing = (second.missing[0] - first.missing[0],) * 3 + (min(first.missing[3], second.missing[3]),)
    nothing = (0.0, 0.0, 0.0, 0.0)
    by_hand = np.zeros(scores.size, bool)
    for curve in (first, second):
        by_hand |= curve.by_hand if curve.by_hand.size else False
    minus = replace(
        first, by_hand=by_hand if by_hand.any() else np.zeros(0, bool),
        scores=scores, lower=lower, upper=upper, counts=counts, whole=whole, reach=reach, refits=refits,
        missing=of_missing, unseen=nothing, missing_whole=None, band=DIFFERENCE if n_refits else NO_BAND,
    )  # fmt: skip
    return minus.on(scale) if scale == "ratio" else minus
