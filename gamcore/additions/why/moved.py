"""The difference between two groups by term, by feature and by family; with intervals, in words and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import numpy as np
import pandas as pd

from gamcore.additions.why.claims import Kind, MoveClaim, Sizes
from gamcore.additions.why.shares import Estimate, Shares
from gamcore.common.types import Floats
from gamcore.stats.bands import LEVEL
from gamcore.stats.intervals import adjusted_by_holm
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

By = Literal["term", "feature", "family"]
MOST_NAMED: Final = 2
"""Terms that a sentence names."""


@dataclass(frozen=True)
class WhyMoved(Explanation):
    """Why the mean outcome of group B differs from that of group A; see `why_moved`.

    parts : composition and behaviour of each term, the level and the residual, with their errors. terms, features : the
    names of the terms, and the features of each. families : of each feature. means : of the outcome in A and in B (per
    unit of exposure). size : rows, or exposure, of B. is_share : whether the outcome is yes or no, and means are
    shares. is_of_mean : whether the models predict means; those of quantiles leave the rest in the residual.
    """

    parts: Shares
    terms: tuple[str, ...]
    features: tuple[tuple[str, ...], ...]
    families: dict[str, str]
    names: tuple[str, str]
    means: tuple[float, float]
    size: float
    worth: float | None
    is_share: bool
    is_one_model: bool
    is_of_mean: bool
    held_out: bool

    @property
    def rate_a(self) -> float:
        """The mean outcome of group A."""
        return self.means[0]

    @property
    def rate_b(self) -> float:
        """The mean outcome of group B."""
        return self.means[1]

    @property
    def has_bands(self) -> bool:
        """Whether intervals know the errors of the models, from half-sample refits of both."""
        return len(self.parts.refits) > 1

    @property
    def gap(self) -> Estimate:
        """The mean of B less that of A: the sum of all parts."""
        return self.parts.estimate(np.ones(self.parts.values.size))

    @property
    def composition(self) -> Estimate:
        """The part of who came."""
        return self._sum(self._of("composition", np.ones(len(self.terms))))

    @property
    def behaviour(self) -> Estimate:
        """The part of what changed, the level included."""
        parts = self._of("behaviour", np.ones(len(self.terms)))
        parts[-2] = 1.0
        return self._sum(parts, "behaviour")

    @property
    def level(self) -> Estimate:
        """The part of what changed that all rows have alike."""
        return self._sum(self._of("level", np.ones(1)), "behaviour")

    @property
    def residual(self) -> Estimate:
        """The part that the models do not explain."""
        return self._sum(self._of("residual", np.ones(1)))

    def _of(self, kind: Kind, weights: Floats) -> Floats:
        """Return how often each part is in a sum of those of a kind."""
        n, parts = len(self.terms), np.zeros(self.parts.values.size)
        places = {"composition": slice(0, n), "behaviour": slice(n, 2 * n), "level": slice(-2, -1)}
        parts[places.get(kind, slice(-1, None))] = weights
        return parts

    def _sum(self, parts: Floats, kind: Kind = "composition") -> Estimate:
        """Return a sum of parts; behaviour has no interval without errors of the models."""
        estimate = self.parts.estimate(parts)
        if kind == "behaviour" and not (self.has_bands or self.is_one_model):
            return Estimate(estimate.value, np.nan, np.nan, np.nan)
        return estimate

    def groups(self, by: By) -> tuple[list[str], Floats]:
        """Return the names of terms, features or families, and the share (groups, terms) that each has of the terms.

        A pair is half of each of its two features, a triple a third of each of its three, and so of their families.
        """
        if by == "term":
            return list(self.terms), np.eye(len(self.terms))
        lines = [[self.families.get(name, name) if by == "family" else name for name in term] for term in self.features]
        names = list(dict.fromkeys(name for line in lines for name in line))
        shares = np.zeros((len(names), len(lines)))
        for k, line in enumerate(lines):
            for name in line:
                shares[names.index(name), k] += 1 / len(line)
        return names, shares

    def estimates(self, by: By = "term") -> dict[tuple[Kind, str], Estimate]:
        """Return all parts by kind and name ("" for level and residual); they add up to the gap."""
        names, shares = self.groups(by)
        estimates: dict[tuple[Kind, str], Estimate] = {}
        kinds: tuple[Kind, ...] = ("composition", "behaviour")
        for kind in kinds:
            for name, share in zip(names, shares, strict=True):
                estimates[kind, name] = self._sum(self._of(kind, share), kind)
        return {**estimates, ("level", ""): self.level, ("residual", ""): self.residual}

    def clear(self, by: By = "term") -> dict[tuple[Kind, str], bool]:
        """Return which parts are clearly not 0: by Holm over all of them, so that where nothing moved, any is called
        clear in at most 5% of tables."""
        estimates = self.estimates(by)
        p = np.array([estimate.p for estimate in estimates.values()])
        known = np.isfinite(p)
        adjusted = np.ones(p.size)
        adjusted[known] = adjusted_by_holm(p[known])
        return dict(zip(estimates, (adjusted < 1 - LEVEL).tolist(), strict=True))

    def frame(self, by: By = "term") -> pd.DataFrame:
        """Return a row per term, feature or family, the largest first, then level and residual, in units of the outcome
        (shares for yes or no). `total` adds up to the gap; with `worth`, `money` is what it comes to.

        Columns: the name, kind ("part", "level", "residual"); composition, behaviour and total, each with _lower and
        _upper; clear_composition, clear_behaviour; money with its interval.
        """
        names, shares = self.groups(by)
        estimates, clear = self.estimates(by), self.clear(by)
        rows = []
        for name, share in zip(names, shares, strict=True):
            both = self._of("composition", share) + self._of("behaviour", share)
            came, changed = estimates["composition", name], estimates["behaviour", name]
            marks = bool(clear["composition", name]), bool(clear["behaviour", name])
            rows.append((name, "part", came, changed, self._sum(both, "behaviour"), *marks))
        rows.sort(key=lambda row: -max(abs(row[2].value), abs(row[3].value)))
        none = Estimate(np.nan, np.nan, np.nan, np.nan)
        rows.append(("level", "level", none, self.level, self.level, False, clear["level", ""]))
        rows.append(("residual", "residual", none, none, self.residual, False, False))
        table = pd.DataFrame({by: [row[0] for row in rows], "kind": [row[1] for row in rows]})
        for place, column in ((2, "composition"), (3, "behaviour"), (4, "total")):
            each = [cast(Estimate, row[place]) for row in rows]
            table[column] = [estimate.value for estimate in each]
            table[f"{column}_lower"] = [estimate.lower for estimate in each]
            table[f"{column}_upper"] = [estimate.upper for estimate in each]
        table["clear_composition"], table["clear_behaviour"] = [row[5] for row in rows], [row[6] for row in rows]
        if self.worth is not None:
            ends = ("", "_lower", "_upper") if self.worth >= 0 else ("", "_upper", "_lower")
            for end, source in zip(("", "_lower", "_upper"), ends, strict=True):
                table[f"money{end}"] = table[f"total{source}"] * self.size * self.worth
        return table

    def by_feature(self) -> pd.DataFrame:
        """Return `frame` by feature; a pair is half of each of its two, a triple a third of each of its three."""
        return self.frame("feature")

    def by_family(self) -> pd.DataFrame:
        """Return `frame` by family of features."""
        return self.frame("family")

    def claims(self, by: By = "term") -> tuple[MoveClaim, ...]:
        """Return what `words` says, as claims that `holds` checks against parts added up in another way."""
        estimates, clear = self.estimates(by), self.clear(by)
        sizes = Sizes.of([self.gap.value, self.composition.value, self.behaviour.value], self.is_share)
        claims = [MoveClaim("difference", self.gap, sizes, self.names, means=self.means)]

        def leaders(kind: Kind) -> tuple[tuple[str, Estimate], ...]:
            sure = [(key[1], part) for key, part in estimates.items() if key[0] == kind and clear[key]]
            return tuple(sorted(sure, key=lambda leader: -abs(leader[1].value))[:MOST_NAMED])

        claims.append(MoveClaim("composition", self.composition, sizes, self.names, leaders=leaders("composition")))
        if not self.is_one_model:
            terms = self._sum(self._of("behaviour", np.ones(len(self.terms))), "behaviour")
            claims.append(MoveClaim("behaviour", terms, sizes, self.names, leaders=leaders("behaviour"),
                                  label="what changed by feature"))  # fmt: skip
            claims.append(MoveClaim("level", self.level, sizes, self.names, label="what changed for all alike"))
        left = "not explained by who came" if self.is_one_model else "left over"
        claims.append(MoveClaim("residual", self.residual, sizes, self.names, label=left))
        return tuple(claims)

    def words(self) -> str:
        """Return the difference in two sentences: what it is, and its parts."""
        first, *rest = [claim.words() for claim in self.claims()]
        parts = "; ".join(rest)
        return f"{first[0].upper()}{first[1:]}. {parts[0].upper()}{parts[1:]}."

    @property
    def notes(self) -> str:
        """What limits the numbers, in words."""
        notes = ["95% intervals; what goes together, not what makes it so"]
        if not (self.has_bands or self.is_one_model):
            notes.append("no bands, so what changed has no interval")
        elif not self.has_bands:
            notes.append("no bands, so intervals leave out errors of the curves")
        if not self.is_of_mean:
            notes.append("the models predict quantiles: what these leave of the means is left over")
        if not self.held_out:
            notes.append("rows may be those learned from, which makes what is left over look small")
        return " · ".join(notes)

    def describe(self, **words: Any) -> Plot:
        """Return a waterfall from the mean of A to that of B. words : title, detail, target, by and most (bars per
        colour)."""
        from gamcore.additions.why.plots import waterfall

        return waterfall(self, **words)
