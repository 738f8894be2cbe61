"""What speaks against a decision, the weightiest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gamcore.common.numbers import are, counted, fixed
from gamcore.data.labels import listed
from gamcore.decide import verdicts
from gamcore.decide.arms import ReadOut
from gamcore.decide.fairness import sensitive
from gamcore.decide.strategies import Strategy
from shapewise.reports.choice import best_of, chosen_of, deciding, lifts
from shapewise.reports.sources import Review
from shapewise.store.workspace import StoreError

FEW_TESTED: Final = 10_000
"""Customers in a strategy's test below which the slide says how few they were."""
WEAK_AUC: Final = 0.6


def risks_of(review: Review) -> list[str]:
    """Return the risks of a decision in sentences, the weightiest first: of the board's models, data and test; where
    there is no board, of the test."""
    if not review.recipe.board:
        return _of_arms(review)
    outcome = review.outcome if review.is_measured else None
    chosen = chosen_of(review, outcome)
    losing = _of_money(chosen) if outcome is None else []
    beside = [] if outcome is not None else _beside(review, chosen)
    return [*beside, *_of_test(outcome, chosen), *losing, *_of_board(review, outcome), *_of_people(review, chosen),
            *_of_sizes(outcome, chosen), *_of_models(review, chosen)]  # fmt: skip


def _of_arms(review: Review) -> list[str]:
    readout, best = review.arms, best_of(review)
    if readout.stopped:
        return [verdicts.overall(readout)[1]]
    lifted = {effect.strategy for effect in lifts(readout, deciding(review, readout))} if best is None else set()
    judged = {arm: verdicts.of_strategy(readout, arm, "difference") for arm in readout.arms[1:]}
    risks = [f"{arm}: {words}" for arm, (tone, words) in judged.items() if tone == "bad" or arm in lifted]
    if len(readout.arms) > 2:
        risks.append("The best of several arms tends to look a little better than it is; the interval allows for it.")
    if best is not None and best.n < FEW_TESTED:
        risks.append(f"{best.strategy} was tested on {counted(best.n, 'customer')} only.")
    if readout.left_out:
        risks.append(f"{counted(readout.left_out, 'row')} without an arm {are(readout.left_out)} left out.")
    return risks


def _of_test(outcome: ReadOut | None, chosen: Sequence[Strategy]) -> list[str]:
    if outcome is None:
        assumed = [strategy.name for strategy in chosen if not strategy.tested]
        if not assumed:
            return ["Whom to treat was found in the test that measured the lifts: keep a control and read it again."]
        if len(assumed) == len(chosen):
            return ["Nothing has been measured: what the strategies change is assumed."]
        return [f"What {listed(assumed)} would change is assumed: no test has measured it."]
    if outcome.stopped:
        return [verdicts.overall(outcome)[1]]
    kept = {strategy.name for strategy in chosen}
    return [f"{name}: {verdicts.of_strategy(outcome, name)[1]}" for name in outcome.compared
            if name not in kept and verdicts.of_strategy(outcome, name)[0] == "bad"]  # fmt: skip


def _beside(review: Review, chosen: Sequence[Strategy]) -> list[str]:
    """Return what else the tests say that measured the lifts of strategies."""
    doubts = [(strategy.name, review.against(strategy)) for strategy in chosen]
    return [f"The test that measured the lift of {name} does not rule out a fall of {listed(outcomes)}."
            for name, outcomes in doubts if outcomes]  # fmt: skip


def _of_money(chosen: Sequence[Strategy]) -> list[str]:
    """Return the strategies that do not pay for themselves at the lift in the middle of those on the board."""
    losing = [strategy.name for strategy in chosen if strategy.value and strategy.worth(1)[1] < 0]
    cost = "costs" if len(losing) == 1 else "cost"
    return [f"{listed(losing)} {cost} more than the lift brings."] if losing else []


def _of_board(review: Review, outcome: ReadOut | None) -> list[str]:
    risks = []
    if outcome is not None and review.board.read() != review.tested:
        risks.append("The board has changed since the test began: the figures are of the tested one.")
    newer = [table.name for table in review.space.tables.listed() if table.replaces == review.table]
    if newer:
        risks.append(f"The customers are counted on an older table: {newer[0]} has replaced it.")
    return risks


def _of_people(review: Review, chosen: Sequence[Strategy]) -> list[str]:
    """Return the sensitive features that decide who gets what."""
    by_column: dict[str, list[str]] = {}
    for strategy in chosen:
        for column in sensitive(list(strategy.rule.columns)):
            by_column.setdefault(column, []).append(strategy.name)
    return [
        f"{listed(names)} {'uses' if len(names) == 1 else 'use'} {review.names.column(column)}: "
        "have that approved first."
        for column, names in by_column.items()
    ]


def _of_sizes(outcome: ReadOut | None, chosen: Sequence[Strategy]) -> list[str]:
    """Return the strategy that the fewest customers tested, where they were few."""
    if outcome is None or outcome.stopped or len(chosen) == 0:
        return []
    kept = {strategy.name for strategy in chosen}
    sizes = {name: sum(size.counts.values()) for name, size in outcome.by_strategy.items() if name in kept}
    if not sizes:
        return []
    least = min(sizes, key=sizes.__getitem__)
    return [f"{least} was tested on {counted(sizes[least], 'customer')} only."] if sizes[least] < FEW_TESTED else []


def _of_models(review: Review, chosen: Sequence[Strategy]) -> list[str]:
    risks = []
    for strategy in chosen:
        try:
            model = review.behind(strategy).about if strategy.model else None
        except StoreError as error:
            risks.append(str(error))
            continue
        if model is not None and (auc := model.metrics.get("auc", 1.0)) < WEAK_AUC:
            risks.append(f"{strategy.name} comes from a weak model (AUC {fixed(auc, 2)}; .5 is guessing).")
    return risks
