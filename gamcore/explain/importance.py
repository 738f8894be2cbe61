"""The terms of a model by how much they move predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.data.column_names import term_name
from gamcore.model.additive import AdditiveModel
from gamcore.model.scales import Scale, check_scale, no_effect
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot


@dataclass(frozen=True)
class Importance(Explanation):
    """Terms by how much they move predictions, on a scale.

    mean_abs : mean |score| over training rows; on the ratio scale the typical factor, exp of the mean |log|.
    span : highest minus lowest score; on the ratio scale their quotient.
    """

    features: tuple[str, ...]
    mean_abs: Floats
    span: Floats
    loss: str
    n_pairs: int = 0  # pairs, then triples, are the last terms
    scale: Scale = "link"

    @property
    def zero(self) -> float:
        """The value of no importance."""
        return no_effect(self.scale)

    def describe(self, **words: Any) -> Plot:
        """Return bars of the importances; words are those of `plots.bars.importance`, such as most."""
        from gamcore.explain.plots.bars import importance

        return importance(self, **words)

    def frame(self) -> pd.DataFrame:
        """Return one row per term, most important first; `pair` marks those of several features."""
        table = pd.DataFrame({"feature": self.features, "mean_abs": self.mean_abs, "range": self.span})
        table["pair"] = np.arange(len(table)) >= len(table) - self.n_pairs
        return table.sort_values("mean_abs", ascending=False, ignore_index=True)

    def ranked_features(self) -> list[str]:
        """Return the features, pairs left out, most important first."""
        table = self.frame()
        return [str(name) for name in table.loc[~table["pair"], "feature"]]

    def only(self, names: set[str]) -> Importance:
        """Return the importance of some terms."""
        kept = np.array([name in names for name in self.features], bool)
        n_pairs = int(kept[kept.size - self.n_pairs :].sum())
        features = tuple(name for name in self.features if name in names)
        return Importance(
            features, self.mean_abs[kept], span=self.span[kept], loss=self.loss, n_pairs=n_pairs, scale=self.scale
        )


def term_names(model: AdditiveModel) -> tuple[str, ...]:
    """Return the names of the model's terms, in the order of its `all_terms`."""
    names = [bins.feature.name for bins in model.bins]
    taken = list(names)
    for term in model.interactions:
        taken.append(term_name([names[j] for j in term.features], taken))
    return (*[names[term.feature] for term in model.terms], *taken[len(names) :])


def importance(model: AdditiveModel, scale: Scale = "link") -> Importance:
    """Return the importance of every term, pairs and triples included; the range is over bins with training rows."""
    check_scale(scale)
    scale = scale if scale in model.loss.scales else "link"
    terms = model.all_terms
    means, spans = np.zeros(len(terms)), np.zeros(len(terms))
    for k, term in enumerate(terms):
        has_rows = term.counts > 0
        if not has_rows.any():
            continue
        scores = (
            model.loss.effect(term.scores, scale, model.base_score) if scale in ("points", "units") else term.scores
        )
        means[k] = (np.abs(scores) * term.counts).sum() / term.counts.sum()  # `np.average` takes five times as long
        spans[k] = np.ptp(scores[has_rows])
    if scale == "ratio":
        means, spans = (model.loss.effect(values, scale, 0.0) for values in (means, spans))
    return Importance(term_names(model), means, span=spans, loss=model.loss.name,
                      n_pairs=len(terms) - len(model.terms), scale=scale)  # fmt: skip
