"""What a test says is to be chosen: strategies of a board, or the best of its arms."""

from __future__ import annotations

from gamcore.decide import verdicts
from gamcore.decide.arms import ReadOut
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.strategies import Strategy
from shapewise.reports.sources import Review, called
from shapewise.store.workspace import StoreError


def chosen_of(review: Review, outcome: ReadOut | None) -> list[Strategy]:
    """Return the strategies to roll out; before a test, those to test. StoreError if the board has none."""
    strategies = list(review.strategy_set.strategies)
    if not strategies:
        raise StoreError("The board has no strategy yet: add one on the page Strategies.")
    if outcome is None:
        return strategies
    return [strategy for strategy in strategies if verdicts.of_strategy(outcome, strategy.name)[0] == "good"]


def deciding(review: Review, outcome: ReadOut) -> str:
    """Return the metric that decides: what the first strategy is to move if it was measured as primary, else the first
    primary one; empty if there is none, or no board."""
    primary = [effect.metric for effect in outcome.effects if effect.role == "primary"]
    strategies = review.strategy_set.strategies if review.recipe.board else ()
    wanted = called(review, strategies[0].metric) if strategies else ""
    return wanted if wanted in primary else next(iter(primary), "")


def effect_on(outcome: ReadOut, strategy: str, metric: str, arm: str | None = None) -> Effect | None:
    """Return what a strategy did to a metric. arm : of several, which; None for the one that passed and moved it
    most."""
    those = [effect for effect in outcome.effects if (effect.strategy, effect.metric) == (strategy, metric)
             and arm in (None, effect.arm)]  # fmt: skip
    arms = verdicts.passing(outcome.effects, strategy)
    return max(those, key=lambda effect: (effect.arm in arms, effect.is_significant, effect.difference), default=None)


def is_lift(effect: Effect) -> bool:
    """Return whether an outcome clearly rose."""
    return effect.is_significant and effect.difference > 0


def lifts(readout: ReadOut, metric: str) -> list[Effect]:
    """Return the lifts of an outcome by each arm alone."""
    return [effect for effect in readout.effects
            if effect.metric == metric and effect.strategy in readout.arms and is_lift(effect)]  # fmt: skip


def best_of(review: Review) -> Effect | None:
    """Return the effect of the best arm on the outcome that decides, of those that passed; None if there is none."""
    readout = review.arms
    good = [effect for effect in lifts(readout, deciding(review, readout))
            if verdicts.of_strategy(readout, effect.strategy)[0] == "good"]  # fmt: skip
    return max(good, key=lambda effect: effect.difference, default=None)
