"""What a readable model gives up, as an explanation: the gap, and the terms that the black box knows beyond it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from gamcore.boosting.triples.ranking import Ranked
from gamcore.common.numbers import fixed, percent
from gamcore.explain.gap import Difference
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

KINDS: Final = {1: "curve", 2: "pair", 3: "triple"}
MOST: Final = 0.5
"""Share of the gap from which terms have most of it."""


@dataclass(frozen=True)
class Step:
    """A term that the readable model lacks. place : among those that were ranked. gain : of the held-out metric, of
    this term beyond those before it, on a coarse grid."""

    place: int
    gain: Difference


@dataclass(frozen=True)
class PriceOfReadability(Explanation):
    """What a model gives up for being read; see `price_of_readability`.

    metric : its name. readable, black_box : its values on held-out rows; 1 is the best. gap : the second less the
    first. features : names. ranked : all terms by what they would still take off the model's loss. steps : the terms
    that stand out from chance, one after the other; gain : of all of them together. crossing : two features whose
    values together, as one category, would have most of the triples that stand out as its pairs; empty where there are
    none. rows : held-out rows. folds : those of a cross-fit, 0 where rows were held out.
    """

    metric: str
    readable: float
    black_box: float
    gap: Difference
    features: tuple[str, ...]
    ranked: Ranked
    steps: tuple[Step, ...]
    gain: Difference
    crossing: tuple[str, ...]
    rows: int
    folds: int

    def features_of(self, place: int) -> tuple[str, ...]:
        """Return the features of a ranked term."""
        return tuple(self.features[j] for j in self.ranked.terms[place])

    @property
    def terms(self) -> tuple[tuple[str, ...], ...]:
        """The features of the terms that stand out from chance, the first the strongest."""
        return tuple(self.features_of(step.place) for step in self.steps)

    @property
    def thirds(self) -> tuple[str, ...]:
        """The features that are in a clear triple with both of the crossing, the strongest first."""
        places = [int(place) for place in self.ranked.order if self.ranked.clear[place]]
        triples = [self.features_of(place) for place in places if len(self.ranked.terms[place]) == 3]
        crossed = set(self.crossing)
        return tuple(name for term in triples if crossed and crossed < {*term} for name in term if name not in crossed)

    @property
    def share(self) -> float:
        """Share of the gap that these terms have together; NaN where there is no clear gap."""
        return self.gain.value / self.gap.value if self.gap.lower > 0 else math.nan

    def frame(self) -> pd.DataFrame:
        """Return a row per curve, pair and triple, clear ones first, each part with the strongest first.

        Columns: term; kind; strength, the fall of the mean loss that it would bring beyond chance; standing, how many
        standard deviations it is beyond chance; clear, whether further than the furthest by chance, which is
        attrs["chance"]; gain, gain_lower, gain_upper of the metric for the terms that were added one after the other.
        """
        gains = {step.place: step.gain for step in self.steps}
        none = Difference(math.nan, math.nan, math.nan)
        order = [*gains, *(int(place) for place in self.ranked.order if place not in gains)]
        each = [gains.get(place, none) for place in order]
        table = pd.DataFrame({
            "term": [named(self.features_of(place)) for place in order],
            "kind": [KINDS[len(self.ranked.terms[place])] for place in order],
            "strength": self.ranked.strengths[order],
            "standing": self.ranked.standing[order],
            "clear": [place in gains or bool(self.ranked.clear[place]) for place in order],
            "gain": [gain.value for gain in each],
            "gain_lower": [gain.lower for gain in each],
            "gain_upper": [gain.upper for gain in each],
        })  # fmt: skip
        table.attrs["chance"] = self.ranked.chance
        return table

    def words(self) -> str:
        """Return how much better a black box is, and where it knows more."""
        return f"{self._gap_in_words()} {self._places_in_words()}"

    def _gap_in_words(self) -> str:
        size, between = self.gap.in_points(), self.gap.ends_in_points()
        if not math.isfinite(self.gap.upper):
            return f"One cluster of rows is too few to say whether a black box is better ({size} points here)."
        if not self.gap.is_clear:
            return f"A black box is not clearly better: {size} points of {self.metric} ({between})."
        way = "better" if self.gap.value > 0 else "worse"
        away = self.gap.size
        return f"A black box is {away.in_points()} points of {self.metric} {way} ({away.ends_in_points()})."

    def _places_in_words(self) -> str:
        if not self.steps:
            rest = ", so it knows a little more in many places" if self.gap.lower > 0 else ""
            return f"No curve, pair or triple that the model lacks stands out from chance{rest}."
        listed = ", then ".join(named(features) for features in self.terms)
        if not self.gain.lower > 0:
            verb = "stands" if len(self.steps) == 1 else "stand"
            return f"{listed} {verb} out from chance in what the model leaves over, without a clear gain."
        if not self.gap.lower > 0:
            return (
                f"Yet the model would gain {self.gain.in_points()} points ({self.gain.ends_in_points()}) by {listed}."
            )
        if self.share >= MOST:
            return f"Most of it: {listed}."
        return f"{percent(self.share, 0)} of it: {listed}; the rest is in many places."

    @property
    def notes(self) -> str:
        """What the numbers rest on, in words."""
        rows = f"{fixed(self.rows, 0)} held-out rows"
        return f"{rows} of {self.folds} folds · 95% intervals" if self.folds else f"{rows} · 95% intervals"

    def describe(self, **words: Any) -> Plot:
        """Return bars of the gap and of the terms in it. words : title and detail."""
        from gamcore.additions.black_box.plots import gap_bars

        return gap_bars(self, **words)


def named(features: Sequence[str]) -> str:
    """Return the name of a term."""
    return " by ".join(features)
