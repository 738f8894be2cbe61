"""The decision that a test of arms leads to, where no board stands behind it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from gamcore.data.labels import listed
from gamcore.decide import verdicts
from gamcore.decide.arms import ReadOut
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.results import Result, money
from gamcore.decide.worth import Contribution, total
from gamcore.numbers import are, count, counted
from gamcore.viz.files.parts import KeyFigure, ReportPart
from shapewise.reports.risks import FEW_TESTED
from shapewise.reports.sources import Review
from shapewise.reports.words import day, figure

PER = 1_000
"""Customers per which gains are given: a test alone does not say how many there will be."""


def decision(review: Review) -> ReportPart:
    """Return the decision of a test: its best arm against the control."""
    readout = review.arms
    best, outcome = best_of(readout), readout
    lines = [("Measured", _measured(review, readout))]
    if best is not None:
        lines.insert(0, (best.strategy, f"{_moved(best)}: {best.gap.words()}{verdicts.adjusted(best)}"))
    together = _together(readout)
    if not readout.stopped:
        for arm in readout.arms[1:]:
            tone, words = verdicts.of_strategy(outcome, arm, "difference")
            if best is None or arm != best.strategy:
                lines.append((arm, "A lift, too, but a smaller one." if tone == "good" and best else words))
        if together is not None:
            by_how_much = f"{together.gap.words()}{verdicts.adjusted(together)}"
            lines.append((together.strategy, f"Read together, {_moved(together)}: {by_how_much}"))
    lines += [("Risk", " ".join(risks_of(readout)[:2]) or "None that the data show."), ("Next", _next(review, best))]
    return ReportPart(_title(readout, best), figures=_figures(review, readout, best) if best else (), lines=lines)


def _title(readout: ReadOut, best: Effect | None) -> str:
    if readout.stopped:
        return "Do not decide on this test: its arms do not have the planned sizes"
    if best is not None:
        return f"Choose {best.strategy}: {_moved(best)}"
    together = _together(readout)
    if together is not None and _works(together):
        return f"No arm stands out alone, but together they do: {_moved(together)}"
    doubtful = _doubtful(readout)
    if doubtful is not None:
        unsettled = verdicts.unsettled(readout.effects, doubtful.strategy)
        but = f"{listed(unsettled)} may be worse" if unsettled else "something else fell or moved"
        return f"Choose no arm yet: {_moved(doubtful)} with {doubtful.strategy}, but {but}"
    return f"Keep {readout.test.control}: no arm did better"


def _moved(effect: Effect) -> str:
    before, after = verdicts.sides(effect)
    return f"{effect.metric} {after} instead of {before}"


def _deciding(readout: ReadOut) -> str:
    """Return the first primary outcome; "" where there is none."""
    return next((name for name, role in readout.test.metrics.items() if role == "primary"), "")


def _doubtful(readout: ReadOut) -> Effect | None:
    """Return the largest lift of the outcome that decides, where no arm with one has passed; None if there is none."""
    largest = max(_lifts(readout), key=lambda effect: effect.difference, default=None)
    return largest if best_of(readout) is None else None


def _lifts(readout: ReadOut) -> list[Effect]:
    """Return the lifts of the outcome that decides."""
    wanted = [effect for effect in readout.effects if effect.metric == _deciding(readout)]
    return [effect for effect in wanted if effect.strategy in readout.arms and _works(effect)]


def _works(effect: Effect) -> bool:
    return effect.is_significant and effect.difference > 0


def _together(readout: ReadOut) -> Effect | None:
    """Return the effect of the pooled arms on the outcome that decides; None where there is none."""
    wanted = readout.test.pool, _deciding(readout)
    return next((effect for effect in readout.effects if (effect.strategy, effect.metric) == wanted), None)


def best_of(readout: ReadOut) -> Effect | None:
    """Return the effect of the best arm on the first primary outcome, of those that passed; None if there is none."""
    outcome = readout
    good = [effect for effect in _lifts(readout) if verdicts.of_strategy(outcome, effect.strategy)[0] == "good"]
    return None if readout.stopped else max(good, key=lambda effect: effect.difference, default=None)


def risks_of(readout: ReadOut) -> list[str]:
    """Return what speaks against a decision, in sentences."""
    if readout.stopped:
        return ["Something other than chance chose who got which arm, so no difference can be trusted."]
    best = best_of(readout)
    risks = [f"{arm}: {verdicts.of_strategy(readout, arm, 'difference')[1]}" for arm in readout.arms[1:]
             if verdicts.against(readout.effects, arm)]  # fmt: skip
    if len(readout.arms) > 2:
        risks.append("The best of several arms tends to look a little better than it is; the interval allows for it.")
    if best is not None and best.n < FEW_TESTED:
        risks.append(f"{best.strategy} was tested on {counted(best.n, 'customer')} only.")
    if readout.left_out:
        risks.append(f"{counted(readout.left_out, 'row')} without an arm {are(readout.left_out)} left out.")
    return risks


def _figures(review: Review, readout: ReadOut, best: Effect) -> list[KeyFigure]:
    """Return the outcomes gained per 1,000 customers, and what they are worth; a ratio's per 1,000 of what it is over.

    The arm was chosen as the best of several: its interval is widened for that, unless Dunnett's already is."""
    tested = 1 if readout.test.adjustment == "Dunnett" else len(readout.arms) - 1
    gain = total([Contribution(PER, best.difference, best.difference_interval)], tested)
    outcome = readout.test.outcome(best.metric)
    counted = "customers with" if best.is_rate and not outcome.per else "of"
    more = f"more {counted} {replace(outcome, per='').name} per {count(PER)} {outcome.per or 'customers'}"
    figures = [figure(Result(gain.value, (gain.low, gain.high), "measured", "sum", best.n), more)]
    amount, cost = review.money.of(review.names.own(outcome.column)), review.money.cost
    if amount and not outcome.per:  # what a contact costs is known per customer alone
        part = Contribution(PER * amount, best.difference, best.difference_interval, PER * cost)
        worth = total([part], tested)
        costs = ", costs deducted" if cost else ""
        shown = money(worth.value, (worth.low, worth.high), review.money.currency, "measured", best.n)
        figures.append(figure(shown, f"worth per {count(PER)} customers{costs}"))
    return figures


def _measured(review: Review, readout: ReadOut) -> str:
    n = sum(readout.sizes["all"].counts.values())
    period = review.period(review.test.table)
    when = f", {day(period[0])} to {day(period[1])}" if period else ""
    return f"In a test of {count(n)} customers{when}, {len(readout.arms)} arms against each other."


def _next(review: Review, best: Effect | None) -> str:
    if review.recipe.next_step:
        return review.recipe.next_step
    if best is None:
        together = None if review.arms.stopped else _together(review.arms)
        if together is not None and _works(together):
            return "Plan a larger test, to tell the arms apart."
        doubtful = None if review.arms.stopped else _doubtful(review.arms)
        if doubtful is None:
            return "Leave things as they are, or plan a larger test."
        unsettled = verdicts.unsettled(review.arms.effects, doubtful.strategy)
        return (f"Plan a larger test, to settle {listed(unsettled)}." if unsettled else
                "Look into what fell or moved before anything is rolled out.")  # fmt: skip
    when = f" on {day(date.fromisoformat(review.recipe.start))}" if review.recipe.start else ""
    end = "" if review.recipe.start else " The day is to be set."
    return f"Give {best.strategy} to everybody{when}, but for a tenth as a control, and read again.{end}"
