"""The power of a variance, chosen by the likelihood of rows that quick refits have not seen.

The means hardly depend on the power, so they are fitted once, with the usual one: a few refits whose validation rows
are together all rows. Given these means, the power is the one for which the rows are likeliest (Dunn and Smyth 2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gamcore.boosting.fit.model import FitPlan, Seeds
from gamcore.boosting.fit.quick_refits import quick_refits
from gamcore.boosting.pairs.stage import main_score
from gamcore.boosting.refit.problem import LazyShare, Share, rows_of
from gamcore.boosting.refit.state import Refit
from gamcore.boosting.rows.source import Source
from gamcore.boosting.running.executor import Executor
from gamcore.boosting.running.progress import Loop, Watcher
from gamcore.common.types import Floats
from gamcore.stats.tweedie import likeliest_power

REFITS: Final = 2
"""Quick refits, each of which validates on the groups that the others learn from; four gave no better powers."""


def choose_power(source: Source, plan: FitPlan, seeds: Seeds, watcher: Watcher) -> float:
    """Return the power that suits the rows of a source; its loss and that of `plan` have the usual power."""
    shares, refits = quick_refits(source, plan, seeds, watcher, REFITS)
    tasks = [UnseenTask(share, refit) for share, refit in zip(shares, refits, strict=True)]
    rows = source.refit(tasks, 1, None, {})
    y, mean, weight = (np.concatenate([part[k] for part in rows]) for k in range(3))
    return likeliest_power(y, mean * np.sum(weight * y) / np.sum(weight * mean), weight)


@dataclass(frozen=True)
class UnseenTask:
    """The rows that a refit has not seen, as a task where its share is."""

    share: LazyShare
    refit: Refit

    def run(self, within: Executor | None) -> Loop[tuple[Floats, Floats, Floats]]:
        """Return targets, means and weights; there are no rounds."""
        yield from ()
        return _unseen(self.share.load(), self.refit)


def _unseen(share: Share, refit: Refit) -> tuple[Floats, Floats, Floats]:
    """Return the targets, means and weights of a refit's validation rows; of all its rows if there are none."""
    problem, valid = share.problem, share.split.valid
    rows = rows_of(problem.table, valid if valid.size else share.split.train)
    mean = problem.loss.inverse_link(main_score(problem, refit)[rows])
    return problem.y[rows], mean, problem.row_weight[rows]
