"""The parts of a report about strategies and tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.numbers import count, counted, fixed, p_value, percent
from gamcore.data.column_names import PLAIN, Measure
from gamcore.data.labels import listed as in_words
from gamcore.data.table import as_table
from gamcore.decide import plots, verdicts
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.fairness import ANY, FOUR_FIFTHS, GROUP, parity, sensitive
from gamcore.decide.results import Scale
from gamcore.decide.strategies import board_table
from gamcore.viz.files.parts import ReportPart
from shapewise.decisions import boards as stored
from shapewise.decisions.boards import SavedSegment
from shapewise.decisions.proof import ProofError, prove
from shapewise.reports.card import measure_of_target, names_of_table
from shapewise.reports.choice import deciding, effect_on
from shapewise.reports.decision import decision as decision_of
from shapewise.reports.decision import named, reach_of
from shapewise.reports.recipes import ReportItem
from shapewise.reports.risks import risks_of
from shapewise.reports.sources import Review, called
from shapewise.scoring import all_rows as wholes
from shapewise.store.workspace import StoreError

MOST_GROUPED: Final = 6
"""Most sensitive columns whose groups are compared."""


def decision(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the slide that decides."""
    yield decision_of(review)


def who(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield who gets what, with what the test measured; without a test, with what is assumed, called so."""
    outcome = review.outcome if review.is_measured and not review.outcome.stopped else None
    reach, eligible = reach_of(review), max(review.ledger.eligible, 1)
    currency = review.money.currency
    metric = deciding(review, outcome) if outcome is not None else ""
    measured = ["Customers", f"{metric}: control to treated", "Difference (95% interval)"]
    head = ["", "Strategy", "Who", "What is done"]
    head += measured if outcome else ["Customers", "Lift", "Worth"]
    rows = []
    for k, strategy in enumerate(review.strategy_set.strategies):
        n = reach[strategy.name]
        row = [
            str(k + 1),
            strategy.name,
            strategy.rule.words(review.names),
            strategy.action or "-",
            f"{count(n)} ({percent(n / eligible, 0)})",
        ]
        if outcome is not None:
            row += _measured(effect_on(outcome, strategy.name, metric))
        else:
            row += [strategy.lifted.sentence(), strategy.worth_of(n, currency).words() if strategy.value else "-"]
        rows.append(row)
    share = 1 - review.ledger.remainder / eligible
    whom = counted(review.ledger.eligible, "customer", "gets", "get")
    title = f"{percent(share, 0)} of {whom} a strategy: the first one that fits"
    yield ReportPart(title, table=[head, *rows])


def _measured(effect: Effect | None) -> list[str]:
    if effect is None:
        return ["-", "-"]
    before, after = verdicts.sides(effect)
    return [f"{before} to {after}", effect.gap.words()]


def reach(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield how many customers each strategy gets."""
    plot = review.ledger.describe([strategy.name for strategy in review.strategy_set.strategies])
    numbers = board_table(review.strategy_set.strategies, review.ledger, review.money.currency)
    yield ReportPart(plot=replace(plot, numbers=numbers))


def overlap(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield how the rules overlap."""
    yield ReportPart(plot=plots.overlap(review.ledger, [strategy.name for strategy in review.strategy_set.strategies]))


def segments(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the segments of the table, each with the model that it was read off."""
    table = review.main.about.table if review.main is not None else review.board.table
    kept = stored.segments(review.space, table)
    head = ["Segment", "Who", "Read off", "Held-out rows inside", "Inside (95% interval)",
            "Difference to the rest (95% interval)"]  # fmt: skip
    rows = []
    for segment in kept:
        facts = segment.known_evidence()
        measure = _measure_of(review, segment)
        cells = ["-", "-", "-"]
        if facts is not None:
            cells = [f"{count(facts.inside)} of {count(facts.rows)}", facts.inside_result(measure).words(),
                    facts.opportunity_result(measure).words()]  # fmt: skip
        rows.append([segment.name, segment.read().words(review.names), segment.scenario or "-", *cells])
    if not rows:
        raise StoreError("No segment of this table has been saved yet.")
    text = [
        "What held-out rows inside do, and by how much more than the rest: an association, not the effect of an "
        "action, except where the segment was found on a measured effect."
    ]
    yield ReportPart("Segments", text, table=[head, *rows])


def _measure_of(review: Review, segment: SavedSegment) -> Measure:
    """Return unit and form of what the model of a segment predicts; none where it is gone."""
    try:
        return measure_of_target(review.space.models.about(segment.model), review.names)
    except StoreError:
        return PLAIN


def plan(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the plan of the test."""
    planned = review.plan
    yield ReportPart(plot=planned.describe(), text=planned.sentences())
    if not review.recipe.is_brief:
        table = planned.table()
        cells = [[str(name) for name in table.columns], *(list(row) for row in table.itertuples(index=False))]
        yield ReportPart(f"The test takes {counted(planned.days, 'day')}", table=cells)


def lifts(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield what the test measured: for a director, on the metric that decides; else on all."""
    outcome, by_board = review.measured, review.is_by_board
    if outcome.stopped:
        yield ReportPart("The test cannot be read", [verdicts.overall(outcome)[1]])
        return
    if not review.recipe.is_brief and not item.of:
        text = [*outcome.notes, *(f"{name}: {verdicts.of_strategy(outcome, name)[1]}" for name in outcome.compared)]
        plot = replace(outcome.describe(), title=verdicts.overall(outcome)[1], numbers=_numbers(review))
        yield ReportPart(plot=plot, text=text)
        return
    metric = called(review, item.of[0]) if item.of else deciding(review, outcome)
    kept = tuple(effect for effect in outcome.effects if effect.metric == metric)
    if not kept:
        raise StoreError(f"The test did not measure {metric}.")
    scale: Scale = "relative" if by_board else "difference"  # of plans, and of the page of a test
    moved = in_words([f"{verdicts.clearest(effect, scale).text} with {named(effect)}" for effect in kept])
    text = [f"{named(effect)}: {verdicts.verdict(effect, scale)[1]}" for effect in kept]
    if any(effect.reduced for effect in kept):
        text.append("Differences are adjusted for what was known before the test: they are not those of the levels.")
    own_slides = {called(review, other.of[0]) for other in review.recipe.items if other.kind == item.kind and other.of}
    others = len({effect.metric for effect in outcome.effects} - own_slides - {metric})
    if others and not item.of:
        were = "metric was" if others == 1 else "metrics were"
        text.append(f"{others} more {were} measured: see the analyst's report.")
    plot = replace(outcome, effects=kept).describe(scale=scale)
    yield ReportPart(plot=replace(plot, title=f"{metric}: {moved}", numbers=_numbers(review, metric)), text=text)


def _numbers(review: Review, metric: str = "") -> pd.DataFrame:
    """Return what the files of a plot of lifts have: of a test of arms all comparisons, also arms beside each other.

    metric : the only one; all by default."""
    return review.measured.frame(metric, review.between_arms)


def effects(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the rates or means of each comparison, with difference and verdict; not for a director, also how the
    treated arms of a test differ from each other."""
    outcome = review.measured
    if outcome.stopped:
        raise StoreError("The arms of the test have the wrong sizes, so no difference is shown.")
    ends = [f"Difference, {outcome.intervals('difference')}", f"p after {outcome.adjusted_by}"]
    head = ["Strategy" if review.is_by_board else "Arm", "Metric", "Role", "Customers", "Control", "Treated", *ends]
    rows = [[effect.strategy, effect.what, effect.role, *_sides_and_difference(effect)] for effect in outcome.effects]
    text = ["Differences are adjusted for what was known before the test."] if any(
        effect.reduced for effect in outcome.effects) else []  # fmt: skip
    yield ReportPart("What treated and control customers did", text, table=[head, *rows])
    between = [] if review.recipe.is_brief else review.between_arms
    if between:
        head = ["Arm", "Against", "Metric", "Customers", "Against", "Arm", ends[0], "p after Holm"]
        rows = [[effect.strategy, other, effect.what, *_sides_and_difference(effect)] for other, effect in between]
        text = ["A separate question: Holm's adjustment is over these comparisons alone."]
        yield ReportPart("How the treated arms differ from each other", text, table=[head, *rows])


def _sides_and_difference(effect: Effect) -> list[str]:
    """Return the cells of a comparison: its customers, what both sides did, their difference and its adjusted p."""
    p = p_value(effect.p_adjusted).removeprefix("p = ").removeprefix("p ")
    return [count(effect.treated.n + effect.control.n), *verdicts.sides(effect), effect.gap.words(), p]


def risks(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield all that speaks against the decision, and what the report does not say."""
    yield ReportPart("What speaks against it", risks_of(review) or ["Nothing that the data show."])


def fairness(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield how evenly the strategies reach the groups of sensitive columns."""
    reached = review.ledger.exclusive.sum()
    columns = sensitive(review.columns(review.table))
    if not columns:
        raise StoreError("No column's name of the table points to a protected characteristic.")
    used = sensitive(list(review.strategy_set.cascade().columns))
    kept = list(columns)[:MOST_GROUPED]
    frame = wholes.read(review.space, review.table, [*kept, *review.strategy_set.cascade().columns])
    rows = [_parity(review, frame, name, columns[name], name in used) for name in kept]
    head = [
        "Column",
        "Points to",
        "Decides who gets what",
        "Least reached",
        "Most reached",
        "Ratio",
        "Four-fifths rule",
    ]
    text = [
        f"The share of each group's eligible customers that any strategy reaches; {count(reached)} are reached in all."
    ]
    yield ReportPart("Groups that the strategies reach", text, table=[head, *rows])


def _parity(review: Review, frame: pd.DataFrame, column: str, reason: str, used: bool) -> list[str]:
    names = [strategy.name for strategy in review.strategy_set.strategies]
    shares = parity(as_table(frame), column, review.strategy_set.assign(frame), names)
    ratio = shares.attrs["ratio"][ANY]
    order = shares.sort_values(ANY)
    ends: list[Any] = [order.iloc[0], order.iloc[-1]] if len(order) else []
    called = names_of_table(review.space, review.table)
    ends_in_words = [f"{called.level(column, str(end[GROUP]))} {percent(end[ANY], 0)}" for end in ends] or ["-", "-"]
    holds = "-" if not np.isfinite(ratio) else "holds" if ratio >= FOUR_FIFTHS else "does not hold"
    return [
        called.column(column),
        reason,
        "yes" if used else "no",
        *ends_in_words,
        fixed(ratio, 2) if np.isfinite(ratio) else "-",
        holds,
    ]


def proof(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the counts of board, SQL and Python on the same rows."""
    review.ledger  # noqa: B018 (settles the table)
    try:
        proven = prove(review.strategy_set, review.space.tables.read(review.table))
    except ProofError as error:
        raise StoreError(str(error)) from error
    rows = [[str(cells[0]), *(count(n) for n in cells[1:])] for cells in proven.counts.itertuples(index=False)]
    title = "Board, SQL and Python agree on every row" if proven.same else "Board, SQL and Python do not agree"
    yield ReportPart(title, table=[["Strategy", "Board", "SQL", "Python"], *rows])
