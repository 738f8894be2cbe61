"""The slide that decides: what to do, for whom, what it is worth, the risk, the next step.

What a test measured comes before what was assumed; what was assumed is called so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from gamcore.data.labels import listed
from gamcore.decide import verdicts
from gamcore.decide.arms import ReadOut
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.plots.plans import YEAR
from gamcore.decide.results import Result, money
from gamcore.decide.strategies import Strategy, worth_of_all
from gamcore.decide.worth import Contribution, Estimate, total
from gamcore.numbers import count, counted, percent
from gamcore.viz.files.parts import KeyFigure, ReportPart
from shapewise.decisions.plans import form_of, planned
from shapewise.reports.risks import risks_of
from shapewise.reports.sources import Review, called
from shapewise.reports.words import day, figure, in_order
from shapewise.store.workspace import StoreError

CONTROL: Final = 0.1
"""Share of customers that stay a control once strategies are rolled out."""
MOST_NAMED: Final = 4
"""Most strategies that the slide describes one by one."""
MOST_GAINS: Final = 3
"""Most metrics whose gains are told."""
SET_DATE: Final = "The day is to be set."


def decision(review: Review) -> ReportPart:
    """Return the decision about a board."""
    outcome = review.outcome if review.is_measured else None
    chosen = chosen_of(review, outcome)
    lines = _for_whom(review, chosen)
    if outcome is not None:
        lines += [*_left_out(review, outcome, chosen), ("Measured", _measured(review, outcome, chosen))]
    else:
        lines += _grounds(review, chosen)
    risks = risks_of(review, outcome, chosen)
    lines += [("Risk", " ".join(risks[:2]) or "None that the data show."), ("Next", _next(review, outcome, chosen))]
    return ReportPart(_title(review, outcome, chosen), figures=_figures(review, outcome, chosen), lines=lines)


def chosen_of(review: Review, outcome: ReadOut | None) -> list[Strategy]:
    """Return the strategies to roll out; before a test, those to test. StoreError if the board has none."""
    strategies = list(review.made.strategies)
    if not strategies:
        raise StoreError("The board has no strategy yet: add one on the page Strategies.")
    if outcome is None:
        return strategies
    return [strategy for strategy in strategies if verdicts.of_strategy(outcome, strategy.name)[0] == "good"]


def deciding(review: Review, outcome: ReadOut) -> str:
    """Return the metric that decides: what the first strategy is to move if it was measured as primary, else the first
    primary one; empty if there is none, or no board."""
    primary = [effect.metric for effect in outcome.effects if effect.role == "primary"]
    strategies = review.made.strategies if review.recipe.board else ()
    wanted = called(review, strategies[0].metric) if strategies else ""
    return wanted if wanted in primary else next(iter(primary), "")


def effect_on(outcome: ReadOut, strategy: str, metric: str) -> Effect | None:
    """Return what a strategy did to a metric; of several arms, the significant one that moved it most."""
    those = [effect for effect in outcome.effects if (effect.strategy, effect.metric) == (strategy, metric)]
    return max(those, key=lambda effect: (effect.is_significant, effect.difference), default=None)


def named(effect: Effect) -> str:
    """Return the strategy of an effect, and the arm where there are several."""
    return f"{effect.strategy} ({effect.arm})" if effect.arm else effect.strategy


def reach_of(review: Review) -> dict[str, int]:
    """Return the customers of the table that each strategy gets."""
    names = [strategy.name for strategy in review.made.strategies]
    return dict(zip(names, map(int, review.ledger.exclusive), strict=True))


def _title(review: Review, outcome: ReadOut | None, chosen: list[Strategy]) -> str:
    reach, eligible = reach_of(review), review.ledger.eligible
    whom = f"{count(sum(reach[strategy.name] for strategy in chosen))} of {counted(eligible, 'customer')}"
    names = in_order([strategy.name for strategy in chosen])
    if outcome is None and not are_tested(chosen):
        return f"Test {names}: {whom}"
    if outcome is None and (doubts := against(review, chosen)):
        return f"Look into {listed(doubts)} before rolling out {names}: {whom}"
    if outcome is not None and outcome.stopped:
        return "Do not decide on this test: its arms do not have the planned sizes"
    if not chosen:
        return "Roll out nothing yet: no strategy has passed its test"
    return f"Roll out {names}: {whom}"


def _for_whom(review: Review, chosen: list[Strategy]) -> list[tuple[str, str]]:
    reach = reach_of(review)
    lines = []
    for strategy in chosen[:MOST_NAMED]:
        whom = f"{counted(reach[strategy.name], 'customer')}: {strategy.rule.words(review.names)}."
        lines.append((strategy.name, f"{strategy.action or 'No action is named'}. {whom}"))
    if len(chosen) > MOST_NAMED:
        lines.append(("and", counted(len(chosen) - MOST_NAMED, "more strategy")))
    return lines


def _left_out(review: Review, outcome: ReadOut, chosen: list[Strategy]) -> list[tuple[str, str]]:
    """Return what speaks against the strategies that are not rolled out."""
    if outcome.stopped:
        return []
    left = [strategy for strategy in review.made.strategies if strategy not in chosen]
    return [(f"Not {strategy.name}", verdicts.of_strategy(outcome, strategy.name)[1]) for strategy in left[:MOST_NAMED]]


def gained(review: Review, outcome: ReadOut, chosen: Sequence[Strategy]) -> tuple[Estimate, Estimate | None]:
    """Return the outcomes gained by strategies per period, and what they are worth net of costs; None without amounts.
    A strategy's amount is per outcome of its own metric, where the test measured that.

    Measured differences times the customers that each strategy reaches; see `gamcore.decide.worth` for intervals."""
    metric, reach, times = deciding(review, outcome), reach_of(review), review.times
    tested = len({(effect.strategy, effect.arm) for effect in outcome.effects})
    outcomes, amounts = [], []
    for strategy in chosen:
        effect = effect_on(outcome, strategy.name, metric)
        if effect is None:
            raise StoreError(f"The test did not measure {metric} of {strategy.name}.")
        n = reach[strategy.name] * times
        outcomes.append(Contribution(n, effect.difference, effect.difference_interval))
        own = effect_on(outcome, strategy.name, called(review, strategy.metric)) or effect
        value, cost = n * strategy.value, n * strategy.cost
        amounts.append(Contribution(value, own.difference, own.difference_interval, cost))
    return total(outcomes, tested), total(amounts, tested) if all(strategy.value for strategy in chosen) else None


def are_tested(chosen: Sequence[Strategy]) -> bool:
    """Return whether a test has measured the lifts of all these strategies."""
    return bool(chosen) and all(strategy.tested for strategy in chosen)


def against(review: Review, chosen: Sequence[Strategy]) -> list[str]:
    """Return the outcomes that speak against strategies in the tests behind the models of their effects."""
    return list(dict.fromkeys(doubt for strategy in chosen for doubt in review.against(strategy)))


def expected(review: Review, chosen: Sequence[Strategy]) -> tuple[Result, Result | None]:
    """Return the same from the lifts on the board: where a test measured all of them, with the interval of their sum;
    else low, mid and high of all strategies at once."""
    reach = reach_of(review)
    parts = [(strategy, reach[strategy.name] * review.times) for strategy in chosen]
    gain = worth_of_all([(replace(strategy, value=1.0, cost=0.0), n) for strategy, n in parts])
    return gain, worth_of_all(parts, review.money.currency) if all(strategy.value for strategy in chosen) else None


def _figures(review: Review, outcome: ReadOut | None, chosen: list[Strategy]) -> list[KeyFigure]:
    """Return customers gained, of each metric that is to be moved, and money; nothing where nothing is to be done."""
    if not chosen or (outcome is not None and outcome.stopped):
        return []
    per = "per month" if review.times != 1 else "among these customers"
    if outcome is None:
        worth = expected(review, chosen)[1]
        gains = [(metric, those[0].gap.is_rate, expected(review, those)[0]) for metric, those in _by_metric(chosen)]
    else:
        outcomes, amounts = gained(review, outcome, chosen)
        worth = None
        if amounts is not None:
            worth = money(amounts.value, (amounts.low, amounts.high), review.money.currency, "measured")
        metric = deciding(review, outcome)
        effect = effect_on(outcome, chosen[0].name, metric)
        gain = Result(outcomes.value, (outcomes.low, outcomes.high), "measured", "sum")
        gains = [(metric, effect is not None and effect.is_rate, gain)]
    figures = [
        figure(gain, f"{_lead(gain)}more {'customers with' if is_rate else 'of'} "
                     f"{review.names_of_outcomes.column(metric) if outcome is None else metric} {per}")
        for metric, is_rate, gain in gains
    ]  # fmt: skip
    if worth is not None:
        costs = ", costs deducted" if any(strategy.cost for strategy in chosen) else ""
        figures.append(figure(worth, f"{_lead(worth)}worth {per}{costs}"))
    return figures


def _lead(result: Result) -> str:
    return "" if result.source == "measured" else "assumed: "


def _by_metric(chosen: Sequence[Strategy]) -> list[tuple[str, list[Strategy]]]:
    """Return strategies by what they are to move, that of the first one first."""
    metrics = list(dict.fromkeys(strategy.metric for strategy in chosen))[:MOST_GAINS]
    return [(metric, [strategy for strategy in chosen if strategy.metric == metric]) for metric in metrics]


def _measured(review: Review, outcome: ReadOut, chosen: list[Strategy]) -> str:
    """Return the size and time of the test, and what it moved."""
    sentence = f"In a test of {counted(sum(outcome.sizes['all'].counts.values()), 'customer')}"
    rows = review.board.outcome.get("rows", {}) if review.board.outcome.get("way") == "rows" else {}
    try:
        period = review.period(rows["table"]) if rows else None
    except (StoreError, OSError, KeyError):
        period = None
    sentence += f", {day(period[0])} to {day(period[1])}" if period else ""
    metric = deciding(review, outcome)
    moved = []
    for strategy in chosen[:MOST_NAMED]:
        effect = effect_on(outcome, strategy.name, metric)
        if effect is not None:
            before, after = verdicts.sides(effect)
            moved.append(f"from {before} to {after} with {named(effect)}")
    return f"{sentence}: {metric} went {', '.join(moved)}." if moved and not outcome.stopped else f"{sentence}."


def _grounds(review: Review, chosen: list[Strategy]) -> list[tuple[str, str]]:
    """Return what is known of the lifts of a board whose own test has not been read: those that the test behind an
    effect model measured, and those that are assumed."""
    tested = [strategy for strategy in chosen if strategy.tested]
    moved = [f"{strategy.name} moves {review.names_of_outcomes.column(strategy.metric)} by {strategy.gap.sentence()}"
             for strategy in tested[:MOST_NAMED]]  # fmt: skip
    lines = [("Measured", f"{'; '.join(moved)}.")] if moved else []
    rest = [strategy for strategy in chosen if not strategy.tested]
    return lines + ([("Assumed", _assumed_words(rest))] if rest else [])


def _assumed_words(chosen: list[Strategy]) -> str:
    lifts = dict.fromkeys(strategy.lifted.words() for strategy in sorted(chosen, key=lambda strategy: strategy.lift))
    return (f"No lift of {listed([strategy.name for strategy in chosen])} has been measured: "
            f"lifts of {listed(list(lifts)[:MOST_NAMED])} are assumed.")  # fmt: skip


def _next(review: Review, outcome: ReadOut | None, chosen: list[Strategy]) -> str:
    """Return the next step: in somebody's own words if there are any, with its days if the plan tells them."""
    if review.recipe.next_step:
        return review.recipe.next_step
    start = date.fromisoformat(review.recipe.start) if review.recipe.start else None
    names = listed([strategy.name for strategy in chosen])
    if outcome is None and not are_tested(chosen):
        days = review.plan.days if review.board.plan else 0
        if not days:
            return "Plan the test on the page Experiment: nothing has been measured yet."
        if days > YEAR:
            return (f"Plan another test on the page Experiment: that of {names} would take {count(days)} days. Look "
                    "for larger lifts, reach more customers per day, or leave out who gets few.")  # fmt: skip
        treated = review.plan.split()
        if review.plan.once:
            begin = "" if start is None else f" from {day(start)}"
            return f"Test {names}{begin} for at most {counted(days, 'day')} ({treated}); look whenever you like."
        if start is None:
            return f"Test {names} for {counted(days, 'day')} ({treated}), then read it once. {SET_DATE}"
        return f"Test {names} from {day(start)} ({treated}); read it once on {day(start + timedelta(days))}."
    if outcome is None and (doubts := against(review, chosen)):
        return f"Read {listed(doubts)} in the test on the page Experiment, and go on with it until a fall is ruled out."
    if outcome is not None and outcome.stopped:
        return "Find out what chose who was treated, mend it, and run the test again."
    if not chosen:
        return "Look into what fell or moved, or plan a larger test, before anything is rolled out."
    days = _days_with_control(review, chosen)
    if start is None:
        again = f" and read again after {counted(days, 'day')}" if days else " and read again"
        return f"Roll out {names}; keep {percent(CONTROL, 0)} as a control{again}. {SET_DATE}"
    again = f", and read again on {day(start + timedelta(days))}" if days else ""
    return f"Roll out {names} on {day(start)}; keep {percent(CONTROL, 0)} as a control{again}."


def _days_with_control(review: Review, chosen: list[Strategy]) -> int:
    """Return the days after which the plan's lifts would show again against a small control; 0 if it is not known, or
    over a year."""
    if not review.board.plan:
        return 0
    form, arms = form_of(review.board.plan, []) | {"looks": False}, {"control": CONTROL, "treated": 1 - CONTROL}
    try:
        days = planned(form, review.made, review.ledger, only={strategy.name for strategy in chosen}, arms=arms).days
    except ExperimentError:
        return 0
    return days if days <= YEAR else 0
