"""The slide that decides: what to do, for whom, what it is worth, the risk, the next step.

What a test measured comes before what was assumed; what was assumed is called so. A test of arms that no board stands
behind is decided by its best arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from gamcore.common.numbers import count, counted, percent
from gamcore.data.labels import listed
from gamcore.decide import verdicts
from gamcore.decide.arms import ReadOut
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.plots.plans import YEAR
from gamcore.decide.results import Result, money
from gamcore.decide.strategies import Strategy, worth_of_all
from gamcore.decide.worth import Contribution, total
from gamcore.viz.files.parts import KeyFigure, ReportPart
from shapewise.decisions.plans import form_of, planned
from shapewise.reports.choice import best_of, chosen_of, deciding, effect_on, is_lift, lifts
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
STOPPED: Final = "Do not decide on this test: its arms do not have the planned sizes"
MEND: Final = "Find out what chose who was treated, mend it, and run the test again."
PER: Final = 1_000
"""Customers per which a test of arms gives gains: it alone does not say how many there will be."""


def decision(review: Review) -> ReportPart:
    """Return the decision about a board; where there is none, about a test of arms."""
    title, figures, lines, then = _of_board(review) if review.recipe.board else _of_arms(review)
    risks = " ".join(risks_of(review)[:2])
    lines = [*lines, ("Risk", risks or "None that the data show."), ("Next", review.recipe.next_step or then)]
    return ReportPart(title, figures=figures, lines=lines)


Decision = tuple[str, list[KeyFigure], list[tuple[str, str]], str]
"""Its title, key figures, lines, and the next step."""


def _of_board(review: Review) -> Decision:
    outcome = review.outcome if review.is_measured else None
    chosen = chosen_of(review, outcome)
    lines = _for_whom(review, chosen)
    if outcome is not None:
        lines += [*_left_out(review, outcome, chosen), ("Measured", _measured(review, outcome, chosen))]
    else:
        lines += _grounds(review, chosen)
    return _title(review, outcome, chosen), _figures(review, outcome, chosen), lines, _next(review, outcome, chosen)


def named(effect: Effect) -> str:
    """Return the strategy of an effect, and the arm where there are several."""
    return f"{effect.strategy} ({effect.arm})" if effect.arm else effect.strategy


def reach_of(review: Review) -> dict[str, int]:
    """Return the customers of the table that each strategy gets."""
    names = [strategy.name for strategy in review.strategy_set.strategies]
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
        return STOPPED
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
    left = [strategy for strategy in review.strategy_set.strategies if strategy not in chosen]
    return [(f"Not {strategy.name}", verdicts.of_strategy(outcome, strategy.name)[1]) for strategy in left[:MOST_NAMED]]


def gained(review: Review, outcome: ReadOut, chosen: Sequence[Strategy]) -> tuple[Result, Result | None]:
    """Return the outcomes gained by strategies per period, and what they are worth net of costs; None without amounts.
    A strategy's amount is per outcome of its own metric, where the test measured that."""
    metric, reach = deciding(review, outcome), reach_of(review)
    parts = []
    for strategy in chosen:
        effect = effect_on(outcome, strategy.name, metric)
        if effect is None:
            raise StoreError(f"The test did not measure {metric} of {strategy.name}.")
        own = effect_on(outcome, strategy.name, called(review, strategy.metric), effect.arm) or effect
        parts.append(_parts(effect, own, reach[strategy.name] * review.times, strategy.value, strategy.cost))
    tested = len({(effect.strategy, effect.arm) for effect in outcome.effects})
    gain, worth = _totals(parts, tested, review.money.currency)
    return gain, worth if all(strategy.value for strategy in chosen) else None


def _parts(effect: Effect, own: Effect, n: float, value: float, cost: float) -> tuple[Contribution, Contribution]:
    """Return the outcomes that n customers gain, and what they are worth. own : the effect whose outcomes have a
    value."""
    return (Contribution(n, effect.difference, effect.difference_interval),
            Contribution(n * value, own.difference, own.difference_interval, n * cost))  # fmt: skip


def _totals(
    parts: Sequence[tuple[Contribution, Contribution]], tested: int, currency: str, n: int | None = None
) -> tuple[Result, Result]:
    """Return measured differences times the customers that each reaches, and their worth; see `gamcore.decide.worth`
    for intervals. tested : of how many the parts were chosen. n : customers of the test, where they are to be named."""
    gain, worth = (total(each, tested) for each in zip(*parts, strict=True))
    return (Result(gain.value, (gain.low, gain.high), "measured", "sum", n),
            money(worth.value, (worth.low, worth.high), currency, "measured", n))  # fmt: skip


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
        gain, worth = gained(review, outcome, chosen)
        metric = deciding(review, outcome)
        effect = effect_on(outcome, chosen[0].name, metric)
        gains = [(metric, effect is not None and effect.is_rate, gain)]
    figures = [
        figure(gain, f"{_lead(gain)}more {'customers with' if is_rate else 'of'} "
                     f"{review.names_of_outcomes.column(metric) if outcome is None else metric} {per}")
        for metric, is_rate, gain in gains
    ]  # fmt: skip
    if worth is not None:
        figures.append(_worth(worth, per, any(strategy.cost for strategy in chosen)))
    return figures


def _worth(worth: Result, per: str, has_costs: bool) -> KeyFigure:
    return figure(worth, f"{_lead(worth)}worth {per}{', costs deducted' if has_costs else ''}")


def _lead(result: Result) -> str:
    return "" if result.source == "measured" else "assumed: "


def _by_metric(chosen: Sequence[Strategy]) -> list[tuple[str, list[Strategy]]]:
    """Return strategies by what they are to move, that of the first one first."""
    metrics = list(dict.fromkeys(strategy.metric for strategy in chosen))[:MOST_GAINS]
    return [(metric, [strategy for strategy in chosen if strategy.metric == metric]) for metric in metrics]


def _in_a_test(review: Review, outcome: ReadOut, table: str) -> str:
    """Return the size of a test, and its time, where its table tells it; "" for none."""
    try:
        period = review.period(table) if table else None
    except (StoreError, OSError, KeyError):
        period = None
    when = f", {day(period[0])} to {day(period[1])}" if period else ""
    cluster = outcome.test.cluster
    size = counted(sum(outcome.sizes["all"].counts.values()), "cluster" if cluster else "customer")
    return f"In a test of {size}{f' ({cluster})' if cluster else ''}{when}"


def _measured(review: Review, outcome: ReadOut, chosen: list[Strategy]) -> str:
    """Return the size and time of the test, and what it moved."""
    rows = review.board.outcome.get("rows", {}) if review.board.outcome.get("way") == "rows" else {}
    sentence, metric = _in_a_test(review, outcome, rows.get("table", "")), deciding(review, outcome)
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
    """Return the next step, with its days if the plan tells them."""
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
        return MEND
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
        only = {strategy.name for strategy in chosen}
        days = planned(form, review.strategy_set, review.ledger, only=only, arms=arms).days
    except ExperimentError:
        return 0
    return days if days <= YEAR else 0


def _of_arms(review: Review) -> Decision:
    """Return the decision of a test without a board: its best arm against the control."""
    readout, metric = review.arms, deciding(review, review.arms)
    best, together = best_of(review), effect_on(readout, readout.test.pool, metric)
    in_a_test = _in_a_test(review, readout, review.test.table)
    lines = [("Measured", f"{in_a_test}, {len(readout.arms)} arms against each other.")]
    if readout.stopped:
        return STOPPED, [], lines, MEND
    if best is not None:
        lines.insert(0, (best.strategy, f"{_moved(best)}: {best.gap.words()}{verdicts.adjusted(best)}"))
    for arm in readout.arms[1:]:
        tone, words = verdicts.of_strategy(readout, arm, "difference")
        if best is None or arm != best.strategy:
            lines.append((arm, "A lift, too, but a smaller one." if tone == "good" and best else words))
    if together is not None:
        by_how_much = f"{together.gap.words()}{verdicts.adjusted(together)}"
        lines.append((together.strategy, f"Read together, {_moved(together)}: {by_how_much}"))
    if best is None:
        title, then = _of_no_arm(readout, metric, together)
        return title, [], lines, then
    when = f" on {day(date.fromisoformat(review.recipe.start))}" if review.recipe.start else ""
    end = "" if review.recipe.start else f" {SET_DATE}"
    then = f"Give {best.strategy} to everybody{when}, but for a tenth as a control, and read again.{end}"
    return f"Choose {best.strategy}: {_moved(best)}", _figures_of_arm(review, best), lines, then


def _of_no_arm(readout: ReadOut, metric: str, together: Effect | None) -> tuple[str, str]:
    """Return title and next step where no arm has passed. together : the effect of the pooled arms, if any."""
    if together is not None and is_lift(together):
        return (f"No arm stands out alone, but together they do: {_moved(together)}",
                "Plan a larger test, to tell the arms apart.")  # fmt: skip
    doubtful = max(lifts(readout, metric), key=lambda effect: effect.difference, default=None)
    if doubtful is None:
        return (f"Keep {readout.test.control}: no arm did better", "Leave things as they are, or plan a larger test.")
    title = f"Choose no arm yet: {_moved(doubtful)} with {doubtful.strategy}, but"
    if unsettled := listed(verdicts.unsettled(readout.effects, doubtful.strategy)):
        return f"{title} {unsettled} may be worse", f"Plan a larger test, to settle {unsettled}."
    return f"{title} something else fell or moved", "Look into what fell or moved before anything is rolled out."


def _moved(effect: Effect) -> str:
    before, after = verdicts.sides(effect)
    return f"{effect.metric} {after} instead of {before}"


def _figures_of_arm(review: Review, best: Effect) -> list[KeyFigure]:
    """Return the outcomes gained per 1,000 customers, and what they are worth; a ratio's per 1,000 of what it is over.

    The arm was chosen as the best of several: its interval is widened for that, unless Dunnett's already is."""
    test = review.arms.test
    tested = 1 if test.adjustment == "Dunnett" else len(review.arms.arms) - 1
    outcome = test.outcome(best.metric)
    amount, cost = review.money.of(review.names.own(outcome.column)), review.money.cost
    gain, worth = _totals([_parts(best, best, PER, amount, cost)], tested, review.money.currency, best.n)
    what = "customers with" if best.is_rate and not outcome.per else "of"
    more = f"more {what} {replace(outcome, per='').name} per {count(PER)} {outcome.per or 'customers'}"
    figures = [figure(gain, more)]
    if amount and not outcome.per:  # what a contact costs is known per customer alone
        figures.append(_worth(worth, f"per {count(PER)} customers", bool(cost)))
    return figures
