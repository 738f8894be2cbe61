"""Choice of the triples of a model: ranked on rows that did not choose the refits whose residuals they have, and fitted
on top of these, with all their pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gamcore.boosting.pairs.ranking import lines_in_order
from gamcore.boosting.pairs.selection import WORTH, Chosen, Mains, Options, fit_best, fit_pairs
from gamcore.boosting.refit.problem import Parameters, rows_of
from gamcore.boosting.rows.source import Encoded, Source
from gamcore.boosting.running.progress import Watcher
from gamcore.boosting.triples.ranking import Axes, Descent, Features, Ranked, in_turn, ranked
from gamcore.boosting.triples.stage import Grid, TripleRefit, TripleTask, score_after
from gamcore.common.types import Floats
from gamcore.data.columns import TableError
from gamcore.model.additive import AdditiveModel
from gamcore.model.grids import GridTerm
from gamcore.model.triples import add_triple

Triple = tuple[int, int, int]

MOST: Final = 5
"""Most triples that "auto" chooses."""


def check_triples(source: Source, parameters: Parameters, n_classes: int, purify: bool) -> None:
    """Raise TableError where a fit cannot have triples."""
    loss = source.loss
    wrong = {
        "rows in memory": not isinstance(source, Encoded),
        "squared loss or two classes": n_classes > 2 or not (loss.is_binary or loss.is_additive),
        'shapes="steps"': any(parameters.learners),
        "purify=True": not (purify or parameters.learners),
        "no monotone features": any(parameters.signs),
        'order="cyclic"': parameters.order == "greedy",
    }
    if needed := [what for what, is_wrong in wrong.items() if is_wrong]:
        raise TableError(f"triples needs {' and '.join(needed)}: set that, or leave triples out.")


@dataclass(frozen=True)
class ChosenTriples:
    """The result of the triple stage. pairs : those of the model, all pairs of its triples among them."""

    pairs: Chosen
    grids: tuple[Grid, ...]
    refits: list[TripleRefit]
    ranking: Ranked | None

    @property
    def each_worth(self) -> Floats:
        """Worth of each triple in each refit, (refits, T)."""
        return np.array([refit.worth for refit in self.refits]).reshape(len(self.refits), -1)

    @property
    def worth(self) -> Floats:
        """Rise of the validation loss without each triple (T,), a mean over refits; empty where there are none."""
        return np.asarray(self.each_worth.mean(axis=0)) if self.refits else np.empty(0)


def interact_three(
    mains: Mains, pairs: Chosen | None, wanted: int | str | Sequence[Triple], options: Options, watcher: Watcher
) -> ChosenTriples:
    """Fit the triples that are wanted on top of the pairs: a number of the strongest, as many as help ("auto"), or
    given ones. If stopped, there are none."""
    pairs = pairs or fit_pairs(mains, [], replace(options, joint=False), watcher)
    nothing = ChosenTriples(pairs, (), [], None)
    if watcher.stopped:
        return nothing
    triples: Sequence[Features]
    if isinstance(wanted, int | str):
        ranking, triples = rank_triples(mains, pairs, wanted)
        nothing = replace(nothing, ranking=ranking)
    else:
        triples = wanted
    chosen = _fit(mains, nothing, triples, options, watcher)
    if wanted == "auto" and chosen.grids:
        worth = chosen.each_worth
        error = worth.std(axis=0, ddof=1) / np.sqrt(len(worth)) if len(worth) > 1 else 0.0
        good = [
            grid.features for grid, clear in zip(chosen.grids, worth.mean(axis=0) > WORTH * error, strict=True) if clear
        ]
        if len(good) < len(chosen.grids) and not watcher.stopped:
            chosen = _fit(mains, nothing, good, options, watcher)
    return nothing if watcher.stopped else chosen


def _fit(
    mains: Mains, before: ChosenTriples, triples: Sequence[tuple[int, ...]], options: Options, watcher: Watcher
) -> ChosenTriples:
    """Boost triples in every refit, after those of their pairs that the model does not have."""
    if not triples:
        return before
    pairs = before.pairs
    needed = [pair for triple in triples for pair in itertools.combinations(triple, 2)]
    if lacking := [pair for pair in dict.fromkeys(needed) if pair not in pairs.pairs]:
        with_lacking = fit_best(mains, [*pairs.pairs, *lacking], replace(options, joint=pairs.joint), watcher)
        pairs = replace(with_lacking, path=(*pairs.path, with_lacking.path[1]))
    if watcher.stopped:
        return before
    problem, curves = mains.shares[0].load().problem, mains.lines()
    bins = mains.source.bins
    lines = lines_in_order(problem.table.last, problem.table.nominal, curves)
    grids = tuple(Grid.of(triple, bins, mains.counts, lines) for triple in triples)
    tasks = [
        TripleTask(share, refit, pairs.pairs, grids, options=options, seed=seed, watch=watcher.callback is not None)
        for share, refit, seed in zip(mains.shares, pairs.refits, mains.seeds, strict=True)
    ]
    about = {"stage": "triples", "n_pairs": len(grids), "part": watcher.next_part()}
    refits = mains.source.refit(tasks, options.n_jobs, watcher.callback, about)
    return ChosenTriples(pairs, grids, refits, before.ranking)


def rank_triples(mains: Mains, pairs: Chosen, wanted: int | str) -> tuple[Ranked, list[Features]]:
    """Rank curves, pairs and triples by what they would take off the loss of rows that their refits held out; return
    with them the triples to be fitted: so many, or those that chance does not explain ("auto").

    Where rows are clustered, the signs of whole groups of the deal are drawn, which have whole clusters.
    """
    problem = mains.shares[0].load().problem
    held, score = np.zeros(problem.n_rows), np.zeros(problem.n_rows)
    for share, refit in zip(mains.shares, pairs.refits, strict=True):
        valid = rows_of(problem.table, share.load().split.valid)
        score[valid] += score_after(problem, refit, pairs.pairs)[valid]
        held[valid] += 1.0
    rows = np.flatnonzero(held)
    if not rows.size:  # without validation rows, those that the refits learnt from
        score = np.mean([score_after(problem, refit, pairs.pairs) for refit in pairs.refits], axis=0)
        held, rows = np.ones(problem.n_rows), np.arange(problem.n_rows)
    descent = Descent.of(problem.loss, problem.y[rows], (score[rows] / held[rows])[:, None], problem.row_weight[rows])
    nominal = problem.table.nominal
    axes = Axes.of(mains.counts, nominal, mains.lines(), descent.rows)
    codes = axes.coded(np.stack([line[rows] for line in problem.table.lines()]))
    clusters = None
    if getattr(mains.source, "clusters", None) is not None:
        clusters = np.repeat(np.arange(problem.table.starts.size - 1), np.diff(problem.table.starts))[rows]
    ranking, auto = ranked(axes, codes, descent, clusters, pairs=pairs.pairs), wanted == "auto"
    most = MOST if auto else int(wanted)
    return ranking, in_turn(ranking, most, auto, axes, codes, descent=descent, clusters=clusters)


def add_triples(
    model: AdditiveModel, grids: Sequence[Grid], refits: Sequence[TripleRefit], counts: Sequence[Floats]
) -> AdditiveModel:
    """Return the model with the triples of its refits; counts : training rows of each triple's cells."""
    for k, (grid, of_cells) in enumerate(zip(grids, counts, strict=True)):
        raw = np.stack([refit.cells[k] for refit in refits])
        model = add_triple(model, GridTerm(grid.features, grid.parts, raw, of_cells))
    return model
