"""Pairs of several classes: ranked by what they take off the loss of all, and boosted in turns like main effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.pairs.ranking import Scored, lines_of, merge_all, scored_by, strongest_lines
from gamcore.boosting.pairs.selection import Mains, Options, Pair, mean_score
from gamcore.boosting.pairs.stage import MOST_BINS, PairRefit, PairState, Start, worth_of
from gamcore.boosting.refit.class_turns import ClassesState, ClassRefit, one_class
from gamcore.boosting.refit.loop import boost
from gamcore.boosting.refit.problem import LazyShare, Problem, rows_of
from gamcore.boosting.running.executor import Executor
from gamcore.boosting.running.progress import Loop
from gamcore.common.types import Floats
from gamcore.model.classes import class_losses


@dataclass(frozen=True)
class ClassPairRefit:
    """The result of one refit of the pair stage of several classes; `worth`, (K,), is for all classes together."""

    classes: tuple[PairRefit, ...]
    worth: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def main(self) -> ClassRefit:
        """The main effects of the classes."""
        return ClassRefit(tuple(pair_refit.main for pair_refit in self.classes))

    @property
    def valid_loss(self) -> float:
        """The mean log loss of the validation rows at the best round."""
        return self.classes[0].valid_loss

    @property
    def first_loss(self) -> float:
        """The same before the stage."""
        return self.classes[0].first_loss


@dataclass(frozen=True)
class ClassPairTask:
    """One refit of the pair stage of several classes, as data that can be pickled; fields as in `PairTask`."""

    share: LazyShare
    main: ClassRefit
    pairs: Sequence[Pair]
    counts: list[Floats]
    offset: float
    options: Options
    seed: int
    watch: bool = False

    def merges(self, problem: Problem) -> NDArray[np.uint8]:
        """Return the merged bins (p, V) of each feature, the same for all classes."""
        lines = lines_of(problem.table, strongest_lines([main.curves for main in self.main.classes]))
        return merge_all(self.counts, lines, MOST_BINS, self.offset)

    def run(self, within: Executor | None) -> Loop[ClassPairRefit]:
        """Boost the refit; see `boost`."""
        share, options = self.share.load(), self.options
        pairs, merges = np.array(self.pairs, np.int64).reshape(-1, 2), self.merges(share.problem)
        problems = one_class(share.problem, share.split, len(self.main.classes))
        starts = [
            Start(main, share.split, pairs, merges, joint=options.joint, refined=options.refined, seed=self.seed)
            for main in self.main.classes
        ]
        states = [PairState(rows, start, options.parameters) for rows, start in zip(problems, starts, strict=True)]
        lines = states[0].problem.table
        state = ClassesState(replace(share.problem, table=lines), share.split, states)
        first = state.valid_loss()
        yield from boost(state, within, self.watch)
        state.keep_best()
        refits = tuple(replace(state.best_pairs(), first_loss=first) for state in states)
        return ClassPairRefit(refits, self._worth(share.problem, rows_of(lines, share.split.valid), states, refits))

    def _worth(
        self, problem: Problem, valid: NDArray[np.int64], states: list[PairState], refits: Sequence[PairRefit]
    ) -> Floats:
        """Return the worth (K,) of each pair on validation rows, taken from all classes at once."""
        shown = [state.shown(refit, valid) for state, refit in zip(states, refits, strict=True)]
        score, parts = (np.stack([parts_shown[part] for parts_shown in shown], axis=-1) for part in (0, 1))
        codes = problem.y[valid].astype(np.int64)
        return worth_of(score, parts, partial(class_losses, codes), problem.row_weight[valid])


class ClassMains(Mains):
    """The main effects of several classes."""

    stage: ClassVar[Any] = ClassPairTask

    def scored(self) -> list[Scored]:
        """Return the rows of the first share with the mean score of each class against the others."""
        problem = self.shares[0].load().problem
        n_classes = len(self.refits[0].classes)
        each = [mean_score(problem.of_class(k), [refit.classes[k] for refit in self.refits]) for k in range(n_classes)]
        return scored_by(problem, np.stack(each, axis=1))

    def lines(self) -> Floats:
        """Return, for every feature, the mean curve (V,) of the class that it moves most."""
        n_classes = len(self.refits[0].classes)
        return strongest_lines(
            [np.mean([refit.classes[k].curves for refit in self.refits], axis=0) for k in range(n_classes)]
        )
