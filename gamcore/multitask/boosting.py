"""Multi-task boosted trees (Zhang and Li, CIKM 2019): a model that tasks share, and one per task on top of it.

Stage 1, common: trees on the rows of all tasks. A task whose own validation loss has not fallen for some rounds, and
is significantly above its lowest, quits: its rows leave, and its common part ends at its best round. Tasks with too few
validation rows, or without a significant rise, follow the pooled loss. Stage 2, specific: each task's own trees on its
own rows, from where its common part ended; their number minimises its validation loss, and may be 0. The loop knows no
user interface and no data frame.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.running.executor import Executor
from gamcore.boosting.running.progress import Loop, Progress
from gamcore.common.types import Floats, Ints
from gamcore.data.sampling import Split
from gamcore.kernels.tree_growth import Growth
from gamcore.kernels.tree_predict import Trees
from gamcore.kernels.tree_rounds import Scheme
from gamcore.kernels.tree_splits import NONE, Splitting
from gamcore.model.losses import Loss
from gamcore.multitask.tables import rows_by_task
from gamcore.multitask.trees import Forest, Grower, TreeTable, concatenate, make_scratch

TOLERANCE: Final = 1e-5
"""Share of the initial loss by which a round must lower the loss to count as better."""

WATCH_ROUNDS: Final = 10
"""Rounds between two measurements of the training loss."""


@dataclass(frozen=True)
class TaskParameters:
    """Parameters of both stages.

    depths : depths of the specific trees to try; () for no second stage. own_quit : whether each task quits by its own
    loss, or all by the pooled loss. min_valid : validation rows that a task needs for its own decision.
    """

    how: Splitting
    growth: Growth
    learning_rate: float
    max_rounds: int
    specific_rounds: int
    patience: int
    min_valid: int
    own_quit: bool
    depths: tuple[int, ...]

    def scheme(self, loss: Loss, tolerance: float) -> Scheme:
        """Return how trees are grown, and when boosting stops."""
        return Scheme(
            self.how, self.growth, rate=self.learning_rate, loss=loss.form, patience=self.patience,
            tolerance=tolerance, most=loss.most_step(math.inf),
        )  # fmt: skip


@dataclass(frozen=True)
class TaskProblem:
    """Rows of several tasks.

    task : (n,) index of each row's task; names : of the tasks. y : (n,); weight : (n,), or empty for 1 each. common :
    indices of the common trees' features; own : those of each task's trees. group : (n,) group of each row.
    """

    table: TreeTable
    task: NDArray[np.int32]
    names: tuple[str, ...]
    y: Floats
    weight: Floats
    loss: Loss
    common: Ints
    own: tuple[Ints, ...]
    group: Ints

    @property
    def n_tasks(self) -> int:
        return len(self.names)

    def weigh(self, values: Floats, rows: NDArray[np.integer]) -> Floats:
        """Return the values of some rows times their weights."""
        return values * self.weight[rows] if self.weight.size else values

    def losses(self, rows: Ints, score: Floats) -> Floats:
        """Return the weighted loss of each of some rows."""
        return self.weigh(self.loss.loss(self.y[rows], score[rows]), rows)

    def base_score(self, rows: Ints) -> float:
        """Return the score of the best constant for some rows; an infinite one would swamp the mean of refits."""
        rows = rows if self.loss.is_bounded(self.y[rows]) else np.arange(self.y.size)
        return self.loss.base_score(self.y[rows], self.weight[rows] if self.weight.size else np.ones(rows.size))

    def total(self, rows: Ints) -> float:
        """Return the total weight of some rows."""
        return float(self.weight[rows].sum()) if self.weight.size else float(rows.size)


@dataclass(frozen=True)
class TaskRefit:
    """One refit: its base score, its common trees, and for each task how many of these it keeps and its own trees.

    quits : (T + 1,) common rounds kept; the last is the pooled best, used for unknown tasks.
    valid_loss : mean over the validation rows of all tasks, at the end; NaN without any.
    """

    base_score: float
    common: Trees
    quits: Ints
    specific: tuple[Trees, ...]
    valid_loss: float


@dataclass
class _Best:
    """The lowest validation losses so far of several watchers, their rounds, and the loss of each row then.

    watcher : (n,) of each validation row. losses, rounds, sizes : (W,). rows : (n,).
    """

    watcher: NDArray[np.integer]
    losses: Floats
    rounds: Ints
    sizes: Floats
    rows: Floats
    tolerance: Floats

    @classmethod
    def of_rows(cls, rows: Floats, watcher: NDArray[np.integer], n_watchers: int) -> _Best:
        """Return watchers before the first round."""
        losses = np.bincount(watcher, rows, n_watchers).astype(np.float64)
        sizes = np.maximum(np.bincount(watcher, minlength=n_watchers), 1).astype(np.float64)
        return cls(
            watcher,
            losses,
            rounds=np.zeros(n_watchers, np.int64),
            sizes=sizes,
            rows=rows.copy(),
            tolerance=TOLERANCE * losses,
        )

    def look(self, losses: Floats, rows: Floats, number: int) -> None:
        """Take the losses (W,) of a round into account, and those of its rows (n,)."""
        better = losses < self.losses - self.tolerance
        self.losses[better], self.rounds[better] = losses[better], number
        here = better[self.watcher]
        self.rows[here] = rows[here]

    def waits(self, number: int) -> Ints:
        """Return the rounds since the best round of each watcher."""
        return number - self.rounds

    def surely_better(self, rows: Floats) -> NDArray[np.bool_]:
        """Return which watchers (W,) had lower losses at their best than `rows`, by over one standard error.

        With few rows, the best round is largely chance; unless it is significantly better, a task keeps to the shared
        one (one-standard-error rule, Breiman et al. 1984, section 3.4.3).
        """
        gaps, n_watchers = rows - self.rows, self.losses.size
        mean = np.bincount(self.watcher, gaps, n_watchers) / self.sizes
        square = np.bincount(self.watcher, gaps**2, n_watchers) / self.sizes
        error = np.sqrt(np.maximum(square - mean**2, 0.0) / np.maximum(self.sizes - 1, 1))
        return np.asarray(mean > error)


@dataclass
class _Common:
    """The state of the common stage of one refit."""

    problem: TaskProblem
    parameters: TaskParameters
    train: Ints
    valid: Ints
    score: Floats
    trees: list[Trees] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem = self.problem
        self.index = self.train.astype(np.int32)
        self.trained = np.bincount(problem.task[self.train], minlength=problem.n_tasks) > 0
        counts = np.bincount(problem.task[self.valid], minlength=problem.n_tasks)
        self.alone = (counts >= self.parameters.min_valid) & self.parameters.own_quit
        self.gone = np.zeros(problem.n_tasks, bool)
        self.left = np.zeros(problem.n_tasks)  # loss of each task in the round in which it quit
        self.kept = np.zeros(problem.n_tasks, np.int64)  # rounds that the tasks that have quit keep
        rows, task = self.rows(), problem.task[self.valid]
        self.best = _Best.of_rows(rows, task, problem.n_tasks)
        self.pooled = _Best.of_rows(rows, np.zeros_like(task), 1)
        scheme = self.parameters.scheme(problem.loss, 0.0)
        self.grower = Grower(problem.table, problem.common, problem.task, problem.weight, scheme)

    @property
    def active(self) -> NDArray[np.bool_]:
        """Which tasks (T,) the common trees still learn from."""
        return np.asarray(self.trained & ~self.gone)

    def rows(self) -> Floats:
        """Return the loss (n,) of each validation row."""
        return self.problem.losses(self.valid, self.score)

    def round(self) -> bool:
        """Grow one tree; return False if nothing can be split any more."""
        stats = self.grower.stats(self.index, self.problem.y, self.score)
        tree = self.grower.grow(self.index.copy(), stats, self.score, self.valid)
        if tree.feature.size == 1:
            return False
        self.trees.append(tree)
        return True

    def judge(self) -> tuple[Ints, float]:
        """Measure the validation losses; return the tasks that quit now, and the pooled loss.

        Tasks that have quit enter the pooled loss with their loss at that time, so that it does not jump.
        """
        number, rows, patience = len(self.trees), self.rows(), self.parameters.patience
        losses = np.bincount(self.best.watcher, rows, self.problem.n_tasks).astype(np.float64)
        pooled = float(np.where(self.gone, self.left, losses).sum())
        if not self.valid.size:
            return np.empty(0, np.int64), pooled
        self.best.look(losses, rows, number)
        self.pooled.look(np.array([pooled]), rows, number)
        together = bool(self.pooled.waits(number)[0] >= patience)
        own = self.best.waits(number) >= patience
        if own.any() and not together:
            own &= self.best.surely_better(rows)
        leaving = np.flatnonzero(self.active & np.where(self.alone, own, together))
        if leaving.size:
            self.kept[leaving] = self.quits()[leaving]
            self.gone[leaving], self.left[leaving] = True, losses[leaving]
            self.index = self.index[~self.gone[self.problem.task[self.index]]]
        return leaving, pooled

    def quits(self) -> Ints:
        """Return the rounds (T + 1,) that each task keeps, an unknown task last; fixed for tasks that have quit."""
        if not self.valid.size:
            return np.full(self.problem.n_tasks + 1, len(self.trees))
        apart = self.alone & self.best.surely_better(self.pooled.rows)
        now = np.where(apart, self.best.rounds, self.pooled.rounds[0])
        return np.append(np.where(self.gone, self.kept, now), self.pooled.rounds[0])


@dataclass(frozen=True)
class MultiTaskRefit:
    """One refit of multi-task trees, as data that can be pickled."""

    problem: TaskProblem
    split: Split
    parameters: TaskParameters
    watch: bool = False

    def run(self, within: Executor | None) -> Loop[TaskRefit]:
        """Boost the refit in this thread; see `boost_tasks`."""
        return boost_tasks(self.problem, self.split, self.parameters, self.watch)


def boost_tasks(problem: TaskProblem, split: Split, parameters: TaskParameters, watch: bool) -> Loop[TaskRefit]:
    """Boost both stages of one refit, and return it; send True to stop.

    Yield a `Progress` per round of the first stage, and per task in the second. A stopped refit keeps its best rounds
    so far; the remaining tasks get no trees of their own.
    """
    started = time.monotonic()
    inside = np.isin(problem.group, split.valid)
    train, valid = np.flatnonzero(~inside), np.flatnonzero(inside)
    base = problem.base_score(train)
    stage = _Common(problem, parameters, train, valid, np.full(problem.y.size, base))
    total = max(problem.total(valid), 1e-300)
    stopped = False
    while len(stage.trees) < parameters.max_rounds and stage.active.any() and not stopped and stage.round():
        leaving, pooled = stage.judge()
        stopped = bool((yield _progress(stage, leaving, pooled / total if valid.size else np.nan, started, watch)))
    common, quits = concatenate(stage.trees), stage.quits()
    rewind(problem, common, quits, base, stage.score)
    own, specific = _Specific(problem, parameters, stage.score, valid.size > 0), list[Trees]()
    parts = [rows_by_task(rows, problem.task, problem.n_tasks) for rows in (train, valid)]
    for t in range(problem.n_tasks):
        if stopped or not parameters.depths or problem.n_tasks == 1:
            specific.append(concatenate([]))
            continue
        specific.append(own.trees(t, parts[0][t], parts[1][t]))
        stopped = bool((yield replace(_so_far(stage, started), stage="specific trees")))
    loss = float(problem.losses(valid, stage.score).sum()) / total if valid.size else np.nan
    return TaskRefit(base, common, quits, tuple(specific), loss)


def rewind(problem: TaskProblem, common: Trees, quits: Ints, base: float, score: Floats) -> None:
    """Set the scores of all rows to those after the common rounds that their tasks keep."""
    forest = Forest(common)
    score[:] = base
    for t, rows in enumerate(rows_by_task(np.arange(score.size), problem.task, problem.n_tasks)):
        forest.add(problem.table.codes, rows, 0, int(quits[t]), score)


@dataclass
class _Specific:
    """The specific stage of one refit: trees for one task after the other, with scratch for each depth tried."""

    problem: TaskProblem
    parameters: TaskParameters
    score: Floats
    validated: bool  # whether the refit has validation rows at all

    def __post_init__(self) -> None:
        table, growth = self.problem.table, self.parameters.growth
        self.scratch = {depth: make_scratch(table, 1, growth._replace(depth=depth)) for depth in self.parameters.depths}

    def trees(self, t: int, train: Ints, valid: Ints) -> Trees:
        """Return a task's trees, of the depth with the lowest validation loss; add them to the scores of its rows."""
        if not train.size or (self.validated and valid.size < self.parameters.min_valid):
            return concatenate([])
        problem, rows = self.problem, np.concatenate([train, valid])
        table = replace(problem.table, codes=np.ascontiguousarray(problem.table.codes[:, rows]))
        weight = problem.weight[rows] if problem.weight.size else problem.weight
        tolerance = TOLERANCE * float(problem.losses(valid, self.score).sum())
        scheme, places = self.parameters.scheme(problem.loss, tolerance), np.arange(rows.size)
        tried = []
        for depth in self.parameters.depths:
            own = scheme._replace(how=scheme.how._replace(criterion=NONE), growth=scheme.growth._replace(depth=depth))
            grower = Grower(
                table, problem.own[t], task=problem.task[:0], weight=weight, scheme=own, scratch=self.scratch[depth]
            )
            tried.append(
                grower.boost(
                    places[: train.size].astype(np.int32), problem.y[rows], self.score[rows],
                    valid=places[train.size :], most=self.parameters.specific_rounds,
                )
            )  # fmt: skip
        trees = min(tried, key=lambda of_depth: of_depth[0])[1]
        Forest(trees).add(problem.table.codes, rows, 0, trees.ends.size - 1, self.score)
        return trees


def _progress(stage: _Common, leaving: Ints, loss: float, started: float, watch: bool) -> Progress:
    """Return the progress of the common stage after a round."""
    number, problem = len(stage.trees), stage.problem
    train_loss = np.nan
    if watch and number % WATCH_ROUNDS == 1 and stage.index.size:
        rows = stage.index.astype(np.int64)
        train_loss = float(problem.losses(rows, stage.score).sum()) / max(problem.total(rows), 1e-300)
    quits = tuple((problem.names[t], int(stage.kept[t])) for t in leaving)
    return replace(_so_far(stage, started), train_loss=train_loss, valid_loss=loss, quits=quits)


def _so_far(stage: _Common, started: float) -> Progress:
    """Return the progress of the common stage, without losses."""
    seconds, best = time.monotonic() - started, int(stage.pooled.rounds[0])
    so_far = Progress.of_step("common trees", len(stage.trees), stage.parameters.max_rounds, seconds)
    return replace(so_far, best_round=best)
