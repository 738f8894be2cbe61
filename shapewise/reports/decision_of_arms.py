"""The decision that a test of arms leads to, where no board stands behind it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from gamcore.data.labels import listed
from gamcore.decide import verdicts
from gamcore.decide.arms import ArmsReadOut
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.results import Result, money
from gamcore.decide.worth import Contribution, total
from gamcore.numbers import count
from gamcore.viz.files.parts import KeyFigure, ReportPart
from shapewise.reports.sources import Review
from shapewise.reports.words import day, figure

PER = 1_000
"""Customers per which gains are given: a test alone does not say how many there will be."""


def decision(review: Review) -> ReportPart:
    """Return the decision of a test: its best arm against the control."""
    made = review.arms
    best, outcome = best_of(made), made.as_read_out()
    lines = [("Measured", _measured(review, made))]
    if best is not None:
        lines.insert(0, (best.strategy, f"{_moved(best)}: {best.gap.words()}{verdicts.adjusted(best)}"))
    together = _together(made)
    if not made.stopped:
        for arm in made.arms[1:]:
            tone, words = verdicts.of_strategy(outcome, arm, "difference")
            if best is None or arm != best.strategy:
                lines.append((arm, "A lift, too, but a smaller one." if tone == "good" and best else words))
        if together is not None:
            by_how_much = f"{together.gap.words()}{verdicts.adjusted(together)}"
            lines.append((together.strategy, f"Read together, {_moved(together)}: {by_how_much}"))
    lines += [("Risk", " ".join(risks_of(made)[:2]) or "None that the data show."), ("Next", _next(review, best))]
    return ReportPart(_title(made, best), figures=_figures(review, made, best) if best else (), lines=lines)


def _title(made: ArmsReadOut, best: Effect | None) -> str:
    if made.stopped:
        return "Do not decide on this test: its arms do not have the planned sizes"
    if best is not None:
        return f"Choose {best.strategy}: {_moved(best)}"
    together = _together(made)
    if together is not None and _works(together):
        return f"No arm stands out alone, but together they do: {_moved(together)}"
    doubtful = _doubtful(made)
    if doubtful is not None:
        unsettled = verdicts.unsettled(made.effects, doubtful.strategy)
        but = f"{listed(unsettled)} may be worse" if unsettled else "something else fell or moved"
        return f"Choose no arm yet: {_moved(doubtful)} with {doubtful.strategy}, but {but}"
    return f"Keep {made.test.control}: no arm did better"


def _moved(effect: Effect) -> str:
    before, after = verdicts.sides(effect)
    return f"{effect.metric} {after} instead of {before}"


def _deciding(made: ArmsReadOut) -> str:
    """Return the first primary outcome; "" where there is none."""
    return next((name for name, role in made.test.metrics.items() if role == "primary"), "")


def _doubtful(made: ArmsReadOut) -> Effect | None:
    """Return the largest lift of the outcome that decides, where no arm with one has passed; None if there is none."""
    lifts = [one for one in made.effects if one.metric == _deciding(made) and one.strategy in made.arms and _works(one)]
    return max(lifts, key=lambda one: one.difference, default=None) if best_of(made) is None else None


def _works(effect: Effect) -> bool:
    return effect.is_significant and effect.difference > 0


def _together(made: ArmsReadOut) -> Effect | None:
    """Return the effect of the pooled arms on the outcome that decides; None where there is none."""
    wanted = made.test.pool, _deciding(made)
    return next((one for one in made.effects if (one.strategy, one.metric) == wanted), None)


def best_of(made: ArmsReadOut) -> Effect | None:
    """Return the effect of the best arm on the first primary outcome, of those that passed; None if there is none."""
    metric, outcome = _deciding(made), made.as_read_out()
    good = [one for one in made.effects if one.metric == metric and one.strategy in made.arms and _works(one)
            and verdicts.of_strategy(outcome, one.strategy)[0] == "good"]  # fmt: skip
    return None if made.stopped else max(good, key=lambda one: one.difference, default=None)


def risks_of(made: ArmsReadOut) -> list[str]:
    """Return what speaks against a decision, in sentences."""
    if made.stopped:
        return ["Something other than chance chose who got which arm, so no difference can be trusted."]
    risks = []
    if len(made.arms) > 2:
        risks.append("The best of several arms tends to look a little better than it is; the interval allows for it.")
    if made.left_out:
        risks.append(f"{count(made.left_out)} rows without an arm are left out.")
    return risks


def _figures(review: Review, made: ArmsReadOut, best: Effect) -> list[KeyFigure]:
    """Return the outcomes gained per 1,000 customers, and what they are worth; a ratio's per 1,000 of what it is over.

    The arm was chosen as the best of several: its interval is widened for that, unless Dunnett's already is."""
    tested = 1 if made.test.adjustment == "Dunnett" else len(made.arms) - 1
    gain = total([Contribution(PER, best.difference, best.difference_interval)], tested)
    outcome = made.test.outcome(best.metric)
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


def _measured(review: Review, made: ArmsReadOut) -> str:
    n = sum(made.sizes["all"].counts.values())
    period = review.period(review.test.table)
    when = f", {day(period[0])} to {day(period[1])}" if period else ""
    return f"In a test of {count(n)} customers{when}, {len(made.arms)} arms against each other."


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
