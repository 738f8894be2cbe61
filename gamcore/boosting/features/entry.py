"""Which features enter a model whose order is greedy: one at a time, and only while the best of them beats chance.

If a feature has no effect beyond the curves so far, the gradients of the rows do not depend on it: their sums over any
cells of its values are as far from 0 as chance allows. With the sums G of gradients and V of their squares in K cells

    sum (G - share of V * sum G)^2 / V        is about chi-squared, with K - 1 degrees of freedom

whatever the loss, the weights and the spread of each row (a score test with the variance of White 1980). Values are
split into 2, 4, .. 32 cells of as many rows each, so that wide effects and narrow ones are both found; the least chance
counts, times the number of splits. The level is shared by all features that are still outside (Bonferroni).

Between two entries the curves inside are boosted until no feature outside stands out more than they do: what is left of
a curve would also show in every feature that goes along with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from gamcore.boosting.refit.learners import Learner
from gamcore.boosting.refit.problem import Parameters, Problem
from gamcore.boosting.refit.state import BENDS, RefitState
from gamcore.boosting.running.executor import Executor, make_executor
from gamcore.common.types import Floats, Ints
from gamcore.data.sampling import Split
from gamcore.kernels.early_stopping import StopRule
from gamcore.kernels.entry_sums import sum_gradients
from gamcore.kernels.layout import CodedTable
from gamcore.stats.splines import of_any_size

LEVEL: Final = 0.05
"""Chance that a feature enters though none of those outside has an effect."""

FEWEST_ROWS: Final = 20
"""Fewest rows of a cell: the sum of fewer may be far from normal."""

MOST_CELLS: Final = 32

ROUNDS: Final = 3
"""Rounds of the curves inside between two looks at the features outside."""

MOST_LOOKS: Final = 20
"""Most looks between two entries: some shapes, a straight line say, never fit."""


@dataclass(frozen=True)
class Entries:
    """chosen : features in the order in which they entered. chances : (p,) how often a feature without effect, one of
    those that were outside, stands out as much: when it entered, or in the end."""

    chosen: Ints
    chances: Floats


class Look(NamedTuple):
    """How far each feature stands out: surprise (p,), about standard normal where it has no effect; chance (p,)."""

    surprise: Floats
    chance: Floats


def enter(
    problem: Problem,
    parameters: Parameters,
    seed: int,
    n_jobs: int = 1,
    tell: Callable[[int, int], bool] = lambda inside, total: False,
) -> Entries:
    """Choose the features of a model by all rows of a problem.

    tell : called with how many have entered, and of how many; no more enter once it returns True.
    """
    n_groups = problem.table.starts.size - 1
    around = replace(parameters, order="cyclic")
    state = RefitState(problem, Split(np.arange(n_groups), np.empty(0, np.int64)), around, seed)
    learners = parameters.learners or (None,) * problem.table.last.size
    tests = [_Test.of(problem.table, j, learner) for j, learner in enumerate(learners)]
    executor = make_executor(n_jobs)
    try:
        return _Entering(state, tests, executor).run(tell)
    finally:
        executor.close()


class _Entering:
    """A run from no curve to those that beat chance."""

    def __init__(self, state: RefitState, tests: Sequence[_Test], executor: Executor) -> None:
        self._state, self._tests, self._executor = state, tests, executor
        self._inside: list[int] = []

    def run(self, tell: Callable[[int, int], bool]) -> Entries:
        """Let features enter until none outside beats chance."""
        active = self._state.problem.table.active
        chances, looks = np.ones(self._state.problem.table.last.size), 0
        while outside := [int(j) for j in active if j not in self._inside]:
            look = self._look()
            chances[outside] = np.minimum(1.0, len(outside) * look.chance[outside])
            best = outside[int(np.argmax(look.surprise[outside]))]
            if chances[best] > LEVEL:
                break
            looks += 1
            if looks >= MOST_LOOKS or look.surprise[best] >= look.surprise[self._inside].max(initial=-np.inf):
                self._inside.append(best)
                looks = 0
                if tell(len(self._inside), active.size):
                    break
            self._boost()
        return Entries(np.array(self._inside, np.int64), chances)

    def _look(self) -> Look:
        """Test every feature, at the curves so far."""
        problem, table = self._state.problem, self._state.problem.table
        gradient = problem.row_weight * problem.loss.gradient(problem.y, self._state.score())
        gradient /= np.abs(gradient).max() or 1.0
        surprise, chance = np.full(table.last.size, -np.inf), np.ones(table.last.size)

        def test(j: int) -> None:
            sums = np.zeros((int(table.last[j]) + 2, 2))
            sum_gradients(table.of(j), gradient, sums)
            surprise[j], chance[j] = self._tests[j].of_sums(sums[:-1, 0], sums[:-1, 1])

        self._executor.map(test, [int(j) for j in table.active])
        return Look(surprise, chance)

    def _boost(self) -> None:
        """Run some rounds of the curves inside."""
        state = self._state
        settings = state.settings()._replace(bend=BENDS[1])
        rounds = state.choice.over(np.sort(np.array(self._inside, np.int64)), settings)
        rounds.run(settings, len(self._inside), StopRule(ROUNDS, 0.0), state.course, ROUNDS)
        state.settle()


@dataclass(frozen=True)
class _Test:
    """How one feature is tested. cells : (splits, V) the cell of each code. line : (V,) values, where only a straight
    line is learnt."""

    cells: NDArray[np.int64]
    line: Floats | None = None

    @classmethod
    def of(cls, table: CodedTable, j: int, learner: Learner | None) -> _Test:
        """Return the test of a feature."""
        last = int(table.last[j])
        rows = np.bincount(table.of(j), minlength=last + 2)[: last + 1]
        if learner and learner.shape == "linear":
            line = np.zeros(last + 1)
            line[1 : len(learner.positions) + 1] = of_any_size(np.array(learner.positions[:last]))
            line[0] = np.average(line[1:], weights=rows[1:]) if rows[1:].any() else 0.0
            return cls(np.zeros((0, last + 1), np.int64), line)
        return cls(_levels(rows) if table.nominal[j] else _splits(rows))

    def of_sums(self, first: Floats, second: Floats) -> tuple[float, float]:
        """Return the surprise and the chance of a feature, from sums of gradients and of their squares (V,)."""
        centred = first - second * (first.sum() / second.sum()) if second.sum() > 0 else first
        if self.line is not None:
            apart = self.line - np.average(self.line, weights=second) if second.sum() > 0 else self.line
            spread = float(np.sum(apart**2 * second))
            return _outcome([(float(np.sum(apart * centred)) ** 2 / spread, 1)] if spread > 0 else [])
        outcomes = []
        for cell in self.cells:
            total, square = np.bincount(cell, centred), np.bincount(cell, second)
            used = square > 0
            if used.sum() > 1:
                outcomes.append((float(np.sum(total[used] ** 2 / square[used])), int(used.sum()) - 1))
        return _outcome(outcomes)


def _outcome(outcomes: list[tuple[float, int]]) -> tuple[float, float]:
    """Return the surprise and the chance of the most telling of some sums of squares with their degrees of freedom."""
    if not outcomes:
        return -np.inf, 1.0
    chance = min(1.0, len(outcomes) * min(float(chdtrc(freedom, value)) for value, freedom in outcomes))
    return max(_normal(value, freedom) for value, freedom in outcomes), chance


def _normal(value: float, freedom: int) -> float:
    """Return the normal value as rare as a chi-squared one (Wilson and Hilferty 1931): it never overflows."""
    spread = 2.0 / (9.0 * freedom)
    return float((np.cbrt(value / freedom) - 1.0 + spread) / np.sqrt(spread))


def _splits(rows: Ints) -> NDArray[np.int64]:
    """Return the cell of each code (splits, V), the values split ever finer; missing values are a cell if enough."""
    running = np.cumsum(rows[1:])
    total = int(running[-1]) if running.size else 0
    middle, splits, n_cells = running - rows[1:] / 2, [], 2
    while n_cells <= MOST_CELLS and n_cells * FEWEST_ROWS <= total:
        cell = np.minimum((middle * n_cells / total).astype(np.int64), n_cells - 1)
        own = n_cells if rows[0] >= FEWEST_ROWS else cell[0]
        of_codes = np.concatenate([[own], cell])
        in_cells = np.bincount(of_codes, rows)
        if in_cells[in_cells > 0].min() >= FEWEST_ROWS:
            splits.append(of_codes)
        n_cells *= 2
    return np.array(splits, np.int64).reshape(-1, rows.size)


def _levels(rows: Ints) -> NDArray[np.int64]:
    """Return the cell of each code (1, V): each level with enough rows, and the others together if these are enough."""
    many = rows >= FEWEST_ROWS
    cell = np.where(many, np.cumsum(many) - 1, many.sum())
    most = int(many.sum()) - (rows[~many].sum() < FEWEST_ROWS)
    return np.minimum(cell, max(most, 0))[None]
