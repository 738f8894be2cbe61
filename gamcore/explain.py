"""What a model says, as data: curves, importances, and the parts of a prediction. Figures and files draw from these."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.binning import Bins
from gamcore.model import AdditiveModel, PairTerm, Term
from gamcore.table import Kind

Floats = NDArray[np.float64]

NO_BAND = "no band: one refit"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def as_date(days: float) -> datetime:
    """The date of a number of days since 1970-01-01."""
    return EPOCH + timedelta(days=float(days))


def in_words(k: int, kind: Kind, edges: Floats, labels: tuple[str, ...]) -> str:
    """Bin k in words: its level, or its range."""
    if labels:
        return labels[k]
    low, high = (str(as_date(e).date()) if kind == "date" else f"{e:g}" for e in edges[k : k + 2])
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Curve:
    """One shape function.

    edges : (K + 1,) borders of the value bins, the outer two being the range seen in training; numbers and dates (in
        days since 1970-01-01). Empty for categories.
    labels : (K,) the level of each bin, for categories.
    scores, lower, upper, counts : (K,) a value bin; on the link scale, and training rows.
    missing, unseen : (score, lower, upper, training rows) of those two bins.
    band : what `lower` and `upper` are, in words.
    """

    feature: str
    kind: Kind
    edges: Floats
    display: Floats
    labels: tuple[str, ...]
    scores: Floats
    lower: Floats
    upper: Floats
    counts: Floats
    missing: tuple[float, float, float, float]
    unseen: tuple[float, float, float, float]
    band: str
    intercept: float
    loss: str

    @property
    def has_band(self) -> bool:
        """Whether there are refits to tell how sure the curve is."""
        return self.band != NO_BAND

    def place(self, k: int) -> str:
        """Bin k in words: its level, or its range."""
        return in_words(k, self.kind, self.edges, self.labels)

    def words(self) -> str:
        """The curve in a sentence, for those who cannot see it."""
        if not self.scores.size:
            return f"{self.feature} has no values in training, so no effect."
        low, high = int(self.scores.argmin()), int(self.scores.argmax())
        return (
            f"Effect of {self.feature}: lowest {self.scores[low]:.3g} at {self.place(low)}, highest "
            f"{self.scores[high]:.3g} at {self.place(high)}; missing {self.missing[0]:.3g}."
        )

    def frame(self) -> pd.DataFrame:
        """The numbers behind the curve, one row a bin, missing and unseen last."""
        if self.kind in ("category", "boolean"):
            names: dict[str, object] = {"level": [*self.labels, "(missing)", "(unseen)"]}
        else:
            edges = [as_date(e).date() for e in self.edges] if self.kind == "date" else self.edges.tolist()
            names = {
                "bin": [*map(str, range(1, self.scores.size + 1)), "(missing)", "(unseen)"],
                "from": [*edges[:-1], None, None],
                "below": [*edges[1:], None, None],
            }
        columns = zip(
            ("score", "lower", "upper", "rows"), (self.scores, self.lower, self.upper, self.counts), strict=True
        )
        numbers = {
            name: [*values.tolist(), self.missing[i], self.unseen[i]] for i, (name, values) in enumerate(columns)
        }
        return pd.DataFrame({**names, **numbers})


@dataclass(frozen=True)
class Importance:
    """Terms by how much they move predictions: the mean |score| over training rows, and the range of the scores."""

    features: tuple[str, ...]
    mean_abs: Floats
    span: Floats
    loss: str
    n_pairs: int = 0  # of the last terms

    def frame(self) -> pd.DataFrame:
        """One row a term, most important first; `pair` tells those of two features."""
        found = pd.DataFrame({"feature": self.features, "mean_abs": self.mean_abs, "range": self.span})
        found["pair"] = np.arange(len(found)) >= len(found) - self.n_pairs
        return found.sort_values("mean_abs", ascending=False, ignore_index=True)

    def ranked_features(self) -> list[str]:
        """Features, pairs left out, most important first."""
        found = self.frame()
        return [str(name) for name in found.loc[~found["pair"], "feature"]]

    def only(self, names: set[str]) -> Importance:
        """The same of some terms."""
        kept = np.array([name in names for name in self.features], bool)
        n_pairs = int(kept[kept.size - self.n_pairs :].sum())
        features = tuple(name for name in self.features if name in names)
        return Importance(features, self.mean_abs[kept], self.span[kept], self.loss, n_pairs)


@dataclass(frozen=True)
class Breakdown:
    """Predictions as sums: intercept + contributions.sum(axis=1) = scores, exactly additive."""

    features: tuple[str, ...]
    intercept: float
    contributions: Floats  # (n, terms)
    scores: Floats  # (n,)
    loss: str = "squared"

    def frame(self) -> pd.DataFrame:
        """One row a case: intercept, a column a term, score."""
        found = pd.DataFrame(self.contributions, columns=list(self.features))
        found.insert(0, "(intercept)", self.intercept)
        found["(score)"] = self.scores
        return found


def explain_shape(model: AdditiveModel, feature: int) -> Curve:
    """The curve of one feature, with the range of its refits as a band."""
    term = model.terms[feature]
    return make_curve(model.bins[feature], term.refits, term.counts, model.intercept, model.loss.name)


def make_curve(bins: Bins, refits: Floats, counts: Floats, intercept: float, loss: str) -> Curve:
    """The mean of refits (K, size) by code, with their range as a band; counts (size,)."""
    scores, lower, upper = refits.mean(axis=0), refits.min(axis=0), refits.max(axis=0)
    inside = slice(1, bins.n_values + 1)
    labels = bins.levels
    if bins.pooled:
        names = ", ".join(bins.pooled[:3]) + (", ..." if len(bins.pooled) > 3 else "")
        labels = (*labels, f"(rare: {names})")
    is_line = not bins.feature.is_category and bins.n_values > 0
    edges = np.concatenate([[bins.low], bins.cuts, [bins.high]]) if is_line else np.empty(0)

    def at(code: int) -> tuple[float, float, float, float]:
        return float(scores[code]), float(lower[code]), float(upper[code]), float(counts[code])

    return Curve(
        feature=bins.feature.name,
        kind=bins.feature.kind,
        edges=edges,
        display=bins.display,
        labels=labels,
        scores=scores[inside],
        lower=lower[inside],
        upper=upper[inside],
        counts=counts[inside],
        missing=at(0),
        unseen=at(bins.unseen),
        band=f"range of {len(refits)} refits" if len(refits) > 1 else NO_BAND,
        intercept=intercept,
        loss=loss,
    )


def term_names(model: AdditiveModel) -> tuple[str, ...]:
    """Names of the model's terms, pairs last."""
    names = [bins.feature.name for bins in model.bins]
    pairs = [f"{names[i]} × {names[j]}" for i, j in (pair.features for pair in model.pairs)]
    return (*[names[term.feature] for term in model.terms], *pairs)


def importance(model: AdditiveModel) -> Importance:
    """Importance of every term, pairs among them; the range is over bins that have training rows."""
    terms: tuple[Term | PairTerm, ...] = (*model.terms, *model.pairs)
    spans = [np.ptp(term.scores[term.counts > 0]) if (term.counts > 0).any() else 0.0 for term in terms]
    return Importance(
        term_names(model),
        np.array([term.importance for term in terms]),
        np.array(spans, np.float64),
        model.loss.name,
        len(model.pairs),
    )


def explain_rows(model: AdditiveModel, codes: NDArray[np.uint8]) -> Breakdown:
    """The parts of the scores of some rows."""
    parts = model.contributions(codes)
    return Breakdown(term_names(model), model.intercept, parts, model.score(codes), model.loss.name)
