"""Who could be helped: for many rows the smallest allowed change that crosses a line, and by which feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gamcore.common.types import Bools, Codes
from gamcore.explain.counterfactuals import USUAL, Change, Possible, smallest_changes, ways
from gamcore.model.additive import AdditiveModel
from gamcore.stats.bands import USUAL_SHARE


@dataclass(frozen=True)
class Recourse:
    """What would help many rows.

    needs : (n,) whether a row is on the other side of the line than it should be. changes : (n,) the smallest change
    that takes it across; None where it needs none, or where none of up to three features surely does. alone : (n,) the
    features that would do it each by itself.
    """

    needs: Bools
    changes: tuple[Change | None, ...]
    alone: tuple[tuple[str, ...], ...]

    @property
    def helped(self) -> float:
        """The share of the rows in need that a change could help; NaN where none is in need."""
        n = int(self.needs.sum())
        return sum(change is not None for change in self.changes) / n if n else float("nan")

    def by_feature(self) -> pd.DataFrame:
        """Return per feature the share of the rows in need whose smallest change is of it alone, whose smallest change
        includes it, and that it alone could help; the most helpful first."""
        n = max(int(self.needs.sum()), 1)
        known = [change for change in self.changes if change is not None]
        features = list(dict.fromkeys(step.feature for change in known for step in change.steps))
        features += [name for name in dict.fromkeys(name for names in self.alone for name in names)
                     if name not in features]  # fmt: skip
        rows = []
        for name in features:
            within = [change for change in known if any(step.feature == name for step in change.steps)]
            rows.append((name, sum(len(change.steps) == 1 for change in within) / n, len(within) / n,
                         sum(name in names for names in self.alone) / n))  # fmt: skip
        table = pd.DataFrame(rows, columns=["feature", "smallest alone", "in the smallest", "could alone"])
        return table.sort_values(["could alone", "in the smallest"], ascending=False, ignore_index=True)


def recourse_of(
    model: AdditiveModel, codes: Codes, line: float, possible: Possible = USUAL, *, up: bool = True,
    train_share: float = USUAL_SHARE, step: Callable[[float], None] | None = None,
) -> Recourse:  # fmt: skip
    """Return what would take each row (p, n) across a line of the score, to at or above it if `up`, else below.

    Rows that are alike are looked at once. step : called with the share that is done.
    """
    score = model.score(codes)
    needs = np.asarray(score < line if up else score >= line)
    distinct, place = np.unique(codes[:, needs], axis=1, return_inverse=True)
    each: list[Sequence[Change]] = []
    open_ways = ways(model, possible, train_share)
    for k in range(distinct.shape[1]):
        each.append(smallest_changes(distinct[:, k], line, open_ways))
        if step is not None:
            step((k + 1) / distinct.shape[1])
    changes: list[Change | None] = [None] * score.size
    alone: list[tuple[str, ...]] = [()] * score.size
    for row, k in zip(np.flatnonzero(needs), place, strict=True):
        options = each[int(k)]
        changes[row] = options[0] if options else None
        alone[row] = tuple(change.steps[0].feature for change in options if len(change.steps) == 1)
    return Recourse(needs, tuple(changes), tuple(alone))
