"""Interactions of three features, as data: a surface of two for each part of the third."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.data.labels import listed
from gamcore.explain.places import MISSING, cell_of
from gamcore.explain.support import FEW_ROWS
from gamcore.explain.surfaces import SurfaceAxis, axis_of
from gamcore.model.additive import AdditiveModel
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale, no_effect, say_in_a_sentence
from gamcore.stats.bands import FEWEST_QUICK, USUAL_SHARE, deviation, half_scale, pointwise, quick_scale, simultaneous
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

INSIDE: Final = (slice(1, None),) * 3
"""The cells in which no feature is missing."""


@dataclass(frozen=True)
class ThreeWay(Explanation):
    """The interaction of three features, beyond all their pairs and their curves.

    axes : the parts of each feature. The first two are drawn as heat maps, one for each part of the third.
    cells, low, high, rows : (1 + K_1, 1 + K_2, 1 + K_3) by parts, missing first: scores on `scale`, their pointwise
        band, and training rows. wide : (2, ...) the simultaneous band over all cells; empty where there is none.
    loss, base : those of the model. is_counted : whether `rows` are rows; else they are sums of weights.
    """

    axes: tuple[SurfaceAxis, SurfaceAxis, SurfaceAxis]
    cells: Floats
    low: Floats
    high: Floats
    rows: Floats
    wide: Floats
    loss: str
    base: float
    is_counted: bool = True
    scale: Scale = "link"

    def on(self, scale: Scale) -> ThreeWay:
        """Return the interaction on another scale; a target in its own units has only one."""
        loss = LOSSES[self.loss]
        if scale == self.scale or scale not in loss.scales:
            return self
        arrays: dict[str, Any] = {
            name: loss.effect(getattr(self, name), scale, self.base) for name in ("cells", "low", "high", "wide")
        }
        return replace(self, **arrays, scale=scale)

    def split_by(self, feature: str) -> ThreeWay:
        """Return the interaction with a heat map for each part of another feature; KeyError where it has none such."""
        if feature not in self.names:
            raise KeyError(f"{feature!r} is not one of {', '.join(self.names)}.")
        last = self.names.index(feature)
        order = [*[k for k in range(3) if k != last], last]
        tables = {name: getattr(self, name).transpose(order) for name in ("cells", "low", "high", "rows")}
        wide = self.wide.transpose(0, *[1 + k for k in order])
        first, second, third = (self.axes[k] for k in order)
        return replace(self, **tables, wide=wide, axes=(first, second, third))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(axis.feature for axis in self.axes)

    @property
    def has_whole(self) -> bool:
        """Whether there is a simultaneous band over all cells."""
        return self.wide.size > 0

    @property
    def zero(self) -> float:
        """The value of no effect."""
        return no_effect(self.scale)

    @property
    def scores(self) -> Floats:
        """Scores (K_1, K_2, K_3) of the cells in which no feature is missing."""
        return self.cells[INSIDE]

    @property
    def counts(self) -> Floats:
        """Training rows (K_1, K_2, K_3) of the cells in which no feature is missing."""
        return self.rows[INSIDE]

    @property
    def whole(self) -> Floats:
        """The simultaneous band (2, K_1, K_2, K_3) where no feature is missing; empty where there is none."""
        return self.wide[(slice(None), *INSIDE)] if self.has_whole else self.wide

    @property
    def beyond(self) -> str:
        """What the interaction comes on top of, in words."""
        return "beyond all pairs of them"

    @property
    def n_by_hand(self) -> int:
        """Cells with scores set by hand: none, since triples are not edited."""
        return 0

    @property
    def n_rows(self) -> float:
        """All training rows; NaN where they were not counted."""
        return float(self.rows.sum()) if self.is_counted else math.nan

    def parts(self) -> list[int]:
        """Return the parts of the third feature with training rows, missing (0) last."""
        seen = [int(k) for k in np.flatnonzero(self.rows.sum(axis=(0, 1)) > 0)]
        return sorted(seen, key=lambda k: (k == 0, k))

    def where(self, axis: int, part: int) -> str:
        """Return a part of a feature in words, with its name; 0 is missing."""
        side = self.axes[axis]
        return f"{side.feature} is {MISSING.words}" if part == 0 else cell_of(side, part - 1).words

    def describe(self, target: str = "the target", detail: str | None = None, **words: Any) -> Plot:
        """Return the plot: a heat map for each part of the third feature, all on one scale. words : title, else a
        sentence about the interaction."""
        from gamcore.explain.plots.three_way import three_way

        units = LOSSES[self.loss].unit(self.scale, target)
        return three_way(self, target, f"effect on {target} · {units}" if detail is None else detail, **words)

    def words(self) -> str:
        """Return the interaction in a sentence, for those who cannot see it."""
        together = listed(self.names)
        if not (self.counts > 0).any():
            return f"No training row has all of {together}."
        full = self.counts >= FEW_ROWS  # single rows have the largest effects, and say nothing
        seen = np.where(full if full.any() else self.counts > 0, self.scores, np.nan)
        cells = {name: int(find(seen)) for name, find in (("lowest", np.nanargmin), ("highest", np.nanargmax))}
        effects = ", ".join(f"{name} {self._cell(k)}" for name, k in cells.items())
        return f"Joint effect of {together}, {self.beyond}: {effects}."

    def _cell(self, k: int) -> str:
        place = np.unravel_index(k, self.scores.shape)
        where = listed([cell_of(side, int(part)).words for side, part in zip(self.axes, place, strict=True)])
        return f"{say_in_a_sentence(float(self.scores[place]), self.scale)} where {where}"

    def frame(self) -> pd.DataFrame:
        """Return the numbers, one row per cell whose parts all have training rows.

        Columns named after the features hold the parts in words. The names (score), (lower), (upper) and (rows) have
        parentheses to differ from features' names.
        """
        filled = [self.rows.sum(axis=tuple(k for k in range(3) if k != axis)) > 0 for axis in range(3)]
        kept = [np.flatnonzero(mask) for mask in filled]
        named = [[MISSING.words if k == 0 else side.place(int(k) - 1) for k in parts]
                 for side, parts in zip(self.axes, kept, strict=True)]  # fmt: skip
        table = pd.MultiIndex.from_product(named, names=self.names).to_frame(index=False)
        columns = [("score", self.cells), ("lower", self.low), ("upper", self.high)]
        if self.has_whole:
            columns += [("lower, all cells", self.wide[0]), ("upper, all cells", self.wide[1])]
        counts = np.rint(self.rows).astype(np.int64) if self.is_counted else self.rows
        for name, values in [*columns, ("rows", counts)]:
            table[f"({name})"] = values[np.ix_(*kept)].ravel()
        return table


def three_way(model: AdditiveModel, place: int, train_share: float = USUAL_SHARE) -> ThreeWay:
    """Return one of the model's triples, with bands like those of a pair (`surfaces.explain_pair`).

    The feature with the fewest parts is the third: there is a heat map for each of them.
    """
    term = model.triples[place]
    known = [np.union1d(0, part[part < part.max()]) for part in term.parts]  # codes of the last have no training rows
    seen = np.ix_(*known)
    cells, rows = term.scores[seen], term.counts[seen]
    error, reach, wide = np.zeros(rows.shape), 0.0, np.empty((2, 0, 0, 0))
    if model.halves is not None:
        halves = np.stack([refit[seen] for refit in model.halves.triples[place].refits])
        error, reach = half_scale(train_share, model.clarity) * deviation(halves), pointwise(len(halves))
        most = simultaneous(halves.reshape(len(halves), -1), rows.ravel() > 0) * error
        wide = np.stack([cells - most, cells + most])
    elif len(term.refits) >= FEWEST_QUICK:
        error, reach = quick_scale(train_share) * term.deviation[seen], pointwise(len(term.refits))
    axes = [
        axis_of(model.bins[j], np.where(part < part.max(), np.searchsorted(codes, part), 0))
        for j, part, codes in zip(term.features, term.parts, known, strict=True)
    ]
    explained = ThreeWay(
        axes=(axes[0], axes[1], axes[2]),
        cells=cells,
        low=cells - reach * error,
        high=cells + reach * error,
        rows=rows,
        wide=wide,
        loss=model.loss.name,
        base=model.base_score,
        is_counted=model.halves is None or model.halves.evenness == 1,
    )
    return explained.split_by(min(axes, key=lambda axis: (axis.size, not axis.labels)).feature)
