"""A few refits whose validation rows are together all rows: what they show of unseen rows decides how to fit."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

from gamcore.boosting.fit.model import FitPlan, Seeds, tasks_of
from gamcore.boosting.refit.problem import Shares
from gamcore.boosting.rows.source import Dealing, Source
from gamcore.boosting.running.progress import Watcher


def quick_refits(
    source: Source, plan: FitPlan, seeds: Seeds, watcher: Watcher, n_refits: int
) -> tuple[Shares, list[Any]]:
    """Return the shares of `n_refits` refits, each of which validates on the groups that the others learn from, and the
    refits.

    The seeds are copied, so that the fit that follows is the same as without them.
    """
    dealing = Dealing(n_refits, plan.n_groups, 1.0 / n_refits, copy(seeds.groups), copy(seeds.splits))
    shares = source.shares(dealing)
    bags = [int(seed.generate_state(1)[0]) for seed in copy(seeds.bags).spawn(n_refits)]
    around = replace(plan, parameters=replace(plan.parameters, order="cyclic"))
    about = {"part": watcher.next_part()}
    return shares, source.refit(tasks_of(shares, around, bags), plan.n_jobs, watcher.callback, about)
