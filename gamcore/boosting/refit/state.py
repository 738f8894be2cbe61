"""The state of one refit during boosting: its data, row state, curves, and stages of rounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.refit.extrapolation import USUAL
from gamcore.boosting.refit.problem import Parameters, Problem, rows_of
from gamcore.boosting.refit.round_choice import RoundChoice
from gamcore.boosting.refit.rounds import Rounds
from gamcore.boosting.running.executor import Executor
from gamcore.data.sampling import Split
from gamcore.kernels import curve_step as step
from gamcore.kernels import losses
from gamcore.kernels import row_state as row_kernels
from gamcore.kernels.early_stopping import BEST, BEST_ROUND, MARK_ROUND, ROUND, StopRule, make_course, validate
from gamcore.kernels.extrapolation import sum_along
from gamcore.kernels.layout import CHUNK, Rows, Settings, make_fit, make_work

SMALL_RATE: Final = 0.05
"""The learning rate of small steps. After large ones, the features whose turn comes first would hold what they share
with others."""


BENDS: Final = (1.0, 0.01, 0.0001)
"""What the penalties of smoothers are multiplied by, in one stage after another: each bends as far as its penalty lets
it in few rounds, and the next one goes on where the validation loss asks for more."""

BEND_TOLERANCE: Final = 1e-3
"""By how much a round has to lower the validation loss, relatively, for its stage of smoothers to go on."""

ENOUGH: Final = 1e-3
"""Share of a target's deviation from a constant below which what is left is not learnt."""

NEARLY: Final = 0.1
"""Share of a target's deviation below which trees of more leaves pay: little of what they fit is noise."""


@dataclass(frozen=True)
class Refit:
    """The result of one refit: curves (p, V) of its best round, not centred, and the base score."""

    curves: NDArray[np.float64]
    base_score: float
    best_round: int
    valid_loss: float


class RoundStage(NamedTuple):
    """Rounds of one kind. below : the largest validation loss with which they begin."""

    settings: Settings
    rule: StopRule
    n_greedy: int
    most: int
    below: float = np.inf


class RefitState:
    """The state of one refit during boosting: its rows, curves and losses.

    by_aic : whether its best round is that of the least AIC.
    """

    by_aic = False
    pace = USUAL

    def __init__(self, problem: Problem, split: Split, parameters: Parameters, seed: int) -> None:
        self.problem, self.split, self.parameters, self.seed = problem, split, parameters, seed
        self.loss = problem.loss.form
        self.base_score, self.scale, self._response = self._start(rows_of(problem.table, split.train))
        self.loss_unit = problem.loss.loss_unit(self.scale, problem.unit)
        n_states = losses.n_states(self.loss)
        self.rows = Rows(
            score=np.empty(n_states * problem.y.size, parameters.dtype),
            target=losses.kept_target(problem.y, self.loss),
            weight=problem.weight.astype(parameters.dtype),
            outcome=problem.loss.outcome(problem.y, problem.unit),
        )
        n_features, dtype = problem.table.last.size, parameters.dtype
        self.fit = make_fit(n_features, losses.no_change(self.loss), dtype, self.n_codes, n_states)
        self.fit.signs[:] = self._signs()
        valid_weight = self._weight_of(split.valid)
        self.course = make_course(n_features, split.valid, valid_weight, dtype, self.n_codes)
        self.refresh()
        self.course.losses[:] = self.valid_loss()
        self.by_aic = self._wants_aic()
        if self.by_aic:
            flat = self.train_loss() / self.loss_unit * self._train_weight
            self.course.losses[:] = self.choice.freedom.corrected_aic(flat)

    def _is_judged(self) -> bool:
        """Return whether rounds are compared; else the last counts."""
        return self.by_aic or bool(self.split.valid.size)

    def _wants_aic(self) -> bool:
        """Return whether the best round is that of the least AIC: in greedy order, where no rows are held out.

        Only a fit that is linear in the target has one.
        """
        parameters, active = self.parameters, self.problem.table.active
        smooth = bool(parameters.learners) and all(parameters.learners[j] for j in active)
        is_linear = self.problem.loss.is_additive and smooth and not any(parameters.signs)
        return parameters.order == "greedy" and is_linear and not self.split.valid.size

    def score(self) -> NDArray[np.float64]:
        """Return the scores (n,) of all rows."""
        problem = self.problem
        score = np.zeros(problem.y.size) + problem.score_from(self.base_score)
        for j in np.flatnonzero(self.fit.curves.any(axis=1)):
            score += self.scale * self.fit.curves[j][problem.table.of(int(j))]
        return score

    def _signs(self) -> NDArray[np.int64]:
        """Return the signs (p, 2) of `layout.Fit`."""
        signs = np.zeros((self.problem.table.last.size, 2), np.int64)
        signs[:, 0] = self.parameters.signs or 0
        return signs

    @property
    def n_codes(self) -> int:
        """V: the codes that a curve has room for."""
        return self.problem.table.n_codes

    def _start(self, train: NDArray[np.int64]) -> tuple[float, float, NDArray[np.float64]]:
        """Return the base score, the unit of the scores, and what `rescore` starts from.

        Residuals are boosted in units of their spread: squares of their sums then fit float32 whatever the target's
        unit.
        """
        problem, loss = self.problem, self.problem.loss
        base = problem.base_score(train)
        response = loss.response(problem.y, problem.score_from(base), problem.unit)
        if not loss.is_scaled:
            return base, 1.0, response
        residual = response
        spread = float(np.max(np.abs(residual))) or 1.0  # first, so that squares neither overflow nor vanish
        scale = spread * loss.scale_of(residual / spread, problem.row_weight) or 1.0
        return base, scale, residual / scale

    @cached_property
    def _train_weight(self) -> float:
        return self._weight_of(self.split.train)

    def _weight_of(self, groups: NDArray[np.int64]) -> float:
        return float(self.problem.row_weight[rows_of(self.problem.table, groups)].sum())

    def refresh(self) -> None:
        """Recompute the row scores from the curves, and let the loss follow them."""
        table, sums = self.problem.table, np.empty(CHUNK)
        row_kernels.rescore(table, self.rows, self._response, self.fit.curves, self.loss, sums)
        self.loss = self.problem.loss.form_at(self.rows.score, self.rows.weight)
        self.fit.factor[:] = losses.no_change(self.loss)
        self.fit.moved[:] = 0.0

    def rewind(self) -> None:
        """Go back to the best round, and count rounds without improvement from now."""
        if self._is_judged():
            self.fit.curves[:] = self.course.curves
        self.course.counts[MARK_ROUND] = self.course.counts[ROUND]
        self.refresh()

    @property
    def is_movable(self) -> bool:
        """Whether validation rows judge its rounds, and any sum of its curves would do: those with a sign are apart."""
        return bool(self.split.valid.size) and not self.by_aic and not self.fit.signs.any()

    def newton(self, moves: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return minus the slopes (m,) of the training loss along changes (m, p, V) of the curves, and its curvatures
        (m, m), in units of `Loss.newton_drop`."""
        self.settle()
        n, problem = len(moves), self.problem
        slope, bend = np.zeros(n), np.zeros((n, n))
        work = make_work(1, 1, self.parameters.dtype)
        sum_along(
            problem.table, self.rows, problem.constant, self.split.train, moves, self.fit, self.loss, work,
            np.empty((n, CHUNK)), slope, bend,
        )  # fmt: skip
        return slope, np.tril(bend) + np.tril(bend, -1).T

    def valid_loss(self) -> float:
        """Return the mean loss of the validation rows, NaN where there are none."""
        return float(validate(self.problem.table, self.rows, self.fit, self.loss, self.course))

    def train_loss(self) -> float:
        """Apply the pending update to the training rows, and return their mean loss."""
        self.settle()
        starts = self.problem.table.starts
        total = sum(losses.total_loss(self.rows, starts[g], starts[g + 1], self.loss) for g in self.split.train)
        return float(total / self._train_weight) * self.loss_unit

    def settle(self) -> None:
        """Apply the pending update to the training rows."""
        step.settle(self.problem.table, self.rows, self.split.train, self.fit, self.loss)
        self.fit.factor[:] = losses.no_change(self.loss)

    def best(self) -> Refit:
        """Return the best round so far, on the scale of the target's link."""
        course = self.course
        curves = course.curves if self._is_judged() else self.fit.curves
        loss = float(course.losses[BEST]) * self.loss_unit if self.split.valid.size else np.nan
        return Refit(curves * self.scale, self.base_score, int(course.counts[BEST_ROUND]), loss)

    @property
    def done(self) -> int:
        """Rounds so far."""
        return int(self.course.counts[ROUND])

    def stages(self) -> list[RoundStage]:
        """Return the stages of a refit in order; each continues from the best round of the previous one.

        Smoothing rounds, if requested, cut at random: the mean of many such trees bends where a best cut would jump.
        Rounds of small steps suit steep shapes better.
        Coarse rounds find most of each shape in a fraction of the steps; they end at the first round that fails to
        lower the validation loss. Fine rounds end when `early_stopping_rounds` of them have not lowered it by a
        relative `tolerance` (sooner early in a refit, see `early_stopping.StopRule`). Once little loss is left
        (`NEARLY`), coarse rounds of more leaves come first: fine ones would add to each curve for hundreds of rounds.
        Nearly nothing left to learn ends all of them (`ENOUGH`): the loss of a target without noise, which is 0 in the
        end, would fall for ever.
        """
        return self.stages_beside(self._flat_loss() if self.split.valid.size and not self.by_aic else -np.inf)

    def stages_beside(self, flat_loss: float) -> list[RoundStage]:
        """Return the stages, given the validation loss of a constant; -inf where nothing ends with little loss."""
        parameters, fine, no_end = self.parameters, self.settings(), self.parameters.max_rounds
        n_greedy = ceil(parameters.greedy_ratio * self.problem.table.active.size)
        enough, nearly = (share**self.problem.loss.degree * flat_loss for share in (ENOUGH, NEARLY))
        rule = StopRule(parameters.early_stopping_rounds, parameters.tolerance, enough)
        stages = [RoundStage(fine, rule, n_greedy, no_end)]
        if self.by_aic:  # others are for trees, and their best rounds would not be those of the hat matrix
            return stages
        if self.split.valid.size and parameters.coarse_leaves > parameters.max_leaves:
            coarse = fine._replace(max_leaves=parameters.coarse_leaves)
            stages.insert(0, RoundStage(coarse, StopRule(1, parameters.tolerance, enough), n_greedy, no_end))
        if self.split.valid.size and parameters.late_leaves > parameters.max_leaves:
            stages = [stage._replace(rule=stage.rule._replace(enough=nearly)) for stage in stages]
            late = fine._replace(max_leaves=parameters.late_leaves)
            stages.append(RoundStage(late, StopRule(1, parameters.tolerance, enough), n_greedy, no_end, nearly))
            stages.append(RoundStage(fine, rule, n_greedy, no_end, nearly))
        if any(parameters.learners) and self.split.valid.size:
            quick = StopRule(1, BEND_TOLERANCE, enough)
            stages = [stage._replace(settings=stage.settings._replace(bend=BENDS[-1])) for stage in stages]
            stages[:0] = [RoundStage(fine._replace(bend=bend), quick, n_greedy, no_end) for bend in BENDS[:-1]]
        small, smooth = (
            min(n, parameters.max_rounds // 2) for n in (parameters.small_rounds, parameters.smoothing_rounds)
        )
        if small and parameters.learning_rate > SMALL_RATE:
            stages.insert(0, RoundStage(fine._replace(learning_rate=SMALL_RATE), rule, n_greedy, small))
        if smooth:
            stages.insert(0, RoundStage(fine._replace(random=True), rule, n_greedy, smooth))
        return stages

    def _flat_loss(self) -> float:
        """Return the mean loss of the validation rows with the best constant of their own: not that of others, which
        one value may set."""
        problem, loss = self.problem, self.problem.loss
        rows = rows_of(problem.table, self.split.valid)
        weight = problem.row_weight[rows]
        if loss.is_scaled:
            y, given, unit = self._response[rows], np.zeros(1), 1.0
        else:
            y, given, unit = problem.y[rows], self._given_score(rows), self.loss_unit
        flat = loss.base_score(y, weight, np.broadcast_to(given, y.shape)) + given
        return float(np.average(loss.loss(y, np.broadcast_to(flat, y.shape)), weights=weight)) / unit

    def _given_score(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the part of the scores of some rows that is not learnt, (m,) or (1,)."""
        return self.problem.offset[rows] if self.problem.offset.size else np.zeros(1)

    def settings(self) -> Settings:
        """Return the settings of the final trees."""
        parameters, problem = self.parameters, self.problem
        one_bag = parameters.ensemble != "bagging" and parameters.subsample >= 1.0
        return Settings(
            loss=self.loss,
            mart=parameters.mart,
            learning_rate=parameters.learning_rate,
            max_leaves=parameters.max_leaves,
            min_node_weight=problem.least_node(parameters),
            max_delta=problem.loss.most_step(parameters.max_delta),
            n_bags=1 if one_bag else parameters.n_bags,
            seed=self.seed << 31,  # far from the seeds of other refits: draws count up from the seed
        )

    def rounds(self, executor: Executor | None) -> Rounds:
        """Return the way of making histograms that the parameters ask for."""
        return self.choice.over(self.problem.table.active, self.settings(), executor)

    @cached_property
    def choice(self) -> RoundChoice:
        """The choice of rounds; it does not know this state, which else would outlive its use."""
        return RoundChoice(
            self.problem, self.split, self.parameters, seed=self.seed, rows=self.rows, fit=self.fit,
            n_bags=self.settings().n_bags, by_aic=self.by_aic,
        )  # fmt: skip
