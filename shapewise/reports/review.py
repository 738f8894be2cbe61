"""A recipe carried out on a model: the report that a review gets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq

from gamcore.data.table import TableError
from gamcore.decide import verdicts
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.rules import RuleError
from gamcore.decide.strategies import Ledger, StrategySet
from gamcore.estimators.gam import GAMClassifier, GAMRegressor, from_saved
from gamcore.explain.curves import Curve
from gamcore.model.scales import Scale
from gamcore.stats import metrics as quality
from gamcore.viz import plots
from gamcore.viz.files.parts import Report, ReportPart, Step, quiet
from shapewise.decisions import boards as stored
from shapewise.decisions.boards import Board
from shapewise.decisions.plan_and_outcome import planned, read_out
from shapewise.jobs.process import StoppedError
from shapewise.reports.card import Card, card, line, target
from shapewise.reports.recipes import Recipe, ReportItem
from shapewise.scoring import all_rows as wholes
from shapewise.scoring.held_out import HeldOutPredictions, held_out
from shapewise.store.workspace import ModelAbout, StoreError, Workspace

MOST_DOTS: Final = 3_000
log = logging.getLogger(__name__)
RISKS: Final = (
    "Opportunity is an association; the scenario value assumes its lift. Only the test measures what acting does."
)


class Review:
    """What parts of a report are made from: a model, perhaps a board, and what is read of them once."""

    def __init__(self, space: Workspace, recipe: Recipe, model: str) -> None:
        self.space, self.recipe = space, recipe
        self.model: ModelAbout = space.models.about(model)
        if self.model.of_tasks:
            raise StoreError("A report is of a model of one target: choose another.")
        self.estimator: GAMRegressor | GAMClassifier = from_saved(space.models.load(model))
        binary = self.model.kind.endswith("classifier")
        self.scale: Scale = recipe.scale if binary and recipe.scale in ("points", "ratio") else "link"  # type: ignore[assignment]
        self._held: HeldOutPredictions | str | None = ""

    def held(self) -> HeldOutPredictions:
        """Return the held-out rows, predicted once."""
        if isinstance(self._held, str):
            self._held = held_out(self.space, self.model.id)
        if self._held is None:
            raise StoreError("The model has no held-out rows here to be measured on: its table is gone, or too small.")
        return self._held

    def board(self) -> tuple[Board, StrategySet]:
        """Return the board that the report is about."""
        if not self.recipe.board:
            raise StoreError("The report has no board: choose one.")
        board = stored.board(self.space, self.recipe.board)
        return board, board.read()

    def ledger(self) -> tuple[StrategySet, Ledger]:
        """Return who the board's strategies reach: in the model's table where it has the columns, else in the board's
        own."""
        board, made = self.board()
        for table in (self.model.table, board.table):
            if table not in self.space.ids("tables"):
                continue
            if set(made.cascade().columns) <= set(pq.read_schema(self.space.tables.path(table)).names):
                matches = wholes.matches(self.space, table, made)
                return made, matches.ledger(range(len(made.strategies)))
        raise StoreError("No table here has the columns that the board's rules look at.")

    def detail(self, curve: Curve) -> str:
        """Return the grey line under a plot's title."""
        return " · ".join(curve.detail(target(self.model)))

    def part(self, item: ReportItem) -> ReportPart:
        """Return one part; StoreError, KeyError or another error of ours says why it cannot be."""
        made = MAKERS[item.kind](self, item)
        note = self.model.notes.get(" × ".join(item.of)) if item.of else None
        said = "\n".join(text for text in (item.comment, f"Note: {note}" if note else "") if text)
        return replace(made, comment=said)


def _curve(review: Review, item: ReportItem) -> ReportPart:
    curve = review.estimator.explain_shape(item.of[0]).on(review.scale)
    title = review.model.headlines.get(item.of[0])
    return ReportPart(plot=plots.curve(curve, target(review.model), review.detail(curve), title=title))


def _pair(review: Review, item: ReportItem) -> ReportPart:
    surface = review.estimator.explain_pair(*item.of).on(review.scale)
    title = review.model.headlines.get(" × ".join(item.of))
    return ReportPart(plot=plots.surface(surface, target(review.model), review.detail(surface.margins[0]), title=title))


def _importance(review: Review, item: ReportItem) -> ReportPart:
    ranking = review.estimator.importance(review.scale)
    return ReportPart(plot=plots.importance(ranking, detail=f"mean absolute effect on {target(review.model)}"))


def _decision(review: Review, item: ReportItem) -> ReportPart:
    made, ledger = review.ledger()
    whole = max(ledger.eligible, 1)
    head = ["", "Strategy", "Who", "What is done", "Reach", "Scenario value (mid)"]
    rows = [
        [str(k + 1), one.name, one.rule.words(), one.action or "-", f"{reached:,} ({reached / whole:.0%})",
         f"{one.worth(int(reached))[1]:,.0f}" if one.value else "-"]
        for k, (one, reached) in enumerate(zip(made.strategies, ledger.exclusive, strict=True))
    ]  # fmt: skip
    reached = 1 - ledger.remainder / whole
    said = (
        f"Each customer gets the first strategy that fits: {reached:.0%} of {ledger.eligible:,} eligible ones get one."
    )
    text = [said, RISKS]
    return ReportPart("The decision", text, table=[head, *rows])


def _reach(review: Review, item: ReportItem) -> ReportPart:
    made, ledger = review.ledger()
    return ReportPart(plot=plots.reach(ledger, [one.name for one in made.strategies]))


def _overlap(review: Review, item: ReportItem) -> ReportPart:
    made, ledger = review.ledger()
    return ReportPart(plot=plots.overlap(ledger, [one.name for one in made.strategies]))


def _segments(review: Review, item: ReportItem) -> ReportPart:
    kept = stored.segments(review.space, review.model.table)
    head = ["Segment", "Who", "Held-out rows inside", "Opportunity (95%)"]
    rows = []
    for one in kept:
        facts = one.told()
        said = ["-", "-"]
        if facts is not None:
            low, high = facts.opportunity_interval
            form = "+.1%" if facts.binary else "+.4g"
            said = [
                f"{facts.inside:,} of {facts.rows:,}",
                f"{facts.opportunity:{form}} ({low:{form}} to {high:{form}})",
            ]
        rows.append([one.name, one.read().words(), *said])
    if not rows:
        raise StoreError("No segment of this table was kept yet.")
    text = ["Opportunity: what held-out rows inside do more than the rest. An association, no effect of acting."]
    return ReportPart("Segments", text, table=[head, *rows])


def _plan(review: Review, item: ReportItem) -> ReportPart:
    board, _ = review.board()
    if not board.plan:
        raise StoreError("The board has no plan yet: make one on the page Experiment.")
    plan = planned(board.plan, *review.ledger())
    frame = plan.frame()
    cells = [[_cell(value) for value in row] for row in frame.to_numpy()]
    text = [f"{plan.power:.0%} power, {plan.share:.0%} treated; Holm over strategies and metrics. Read it once."]
    return ReportPart("The plan of the test", text, table=[[str(name) for name in frame.columns], *cells])


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if not np.isfinite(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def _lifts(review: Review, item: ReportItem) -> ReportPart:
    board, made = review.board()
    way = board.outcome.get("way", "rows")
    if not board.outcome.get(way):
        raise StoreError("The experiment has not been read yet: do it on the page Experiment.")
    tested = board.plan.get("tested")
    made = StrategySet.from_dict(tested) if tested else made
    metrics = board.plan.get("metrics", [])
    outcome = read_out(made, way, board.outcome[way], metrics, partial(wholes.read, review.space))
    tone, words = verdicts.overall(outcome)
    text = [f"{verdicts.WORDS[tone]}. {words}"]
    if outcome.stopped:
        return ReportPart("Measured lifts", text)
    text += [f"{one.name}: {verdicts.of_strategy(outcome, one.name)[1]}" for one in made.strategies]
    return ReportPart(plot=plots.lifts(outcome), text=text)


def _roc(review: Review, item: ReportItem) -> ReportPart:
    held = review.held()
    curve = quality.roc(held.y, held.predicted, held.weight)
    said = f"AUC {curve.summary:.3f}: a row with {target(review.model)} ranks above one without that often"
    axes = ("false positive rate", "positives found")
    return ReportPart(plot=plots.ranked(curve, "ROC", said, axes, ([0, 1], [0, 1])))


def _calibration(review: Review, item: ReportItem) -> ReportPart:
    held = review.held()
    return ReportPart(plot=plots.calibration(quality.calibration(held.y, held.predicted, held.weight), held.predicted))


def _residuals(review: Review, item: ReportItem) -> ReportPart:
    held = review.held()
    some = np.random.default_rng(0).permutation(held.y.size)[:MOST_DOTS]
    table = quality.residuals(held.y, held.predicted, held.weight)
    gaps = held.y - held.predicted
    return ReportPart(plot=plots.residuals(table, held.predicted[some], gaps[some], target(review.model)))


MAKERS: Final[dict[str, Callable[[Review, ReportItem], ReportPart]]] = {
    "curve": _curve, "pair": _pair, "importance": _importance, "decision": _decision, "reach": _reach,
    "overlap": _overlap, "segments": _segments, "plan": _plan, "lifts": _lifts, "ROC": _roc,
    "calibration": _calibration, "residuals": _residuals,
}  # fmt: skip


def review_of(space: Workspace, recipe: Recipe, model: str, step: Step = quiet) -> Report:
    """Return the report of a recipe on a model: what cannot be made of it is said in the appendix, and left out."""
    review = Review(space, recipe, model)
    parts, left = [], []
    for k, item in enumerate(recipe.items):
        step(k / max(len(recipe.items), 1), item.label)
        try:
            parts.append(review.part(item))
        except StoppedError:
            raise
        except (StoreError, TableError, RuleError, ExperimentError) as error:
            left.append(f"{item.label}: {error}")
        except KeyError as error:
            left.append(f"{item.label}: {'it is not in the model' if item.of else f'{error} is not there'}.")
        except Exception as error:  # one part that cannot be made must not cost the others
            log.exception("%s of %s cannot be made", item.label, model)
            left.append(f"{item.label}: {type(error).__name__}: {error}")
    subtitle = " · ".join(text for text in (recipe.subtitle, datetime.now(UTC).date().isoformat()) if text)
    facts = card(space, model)
    foot = line(review.model)
    return Report(
        recipe.name,
        subtitle,
        parts=tuple(parts),
        appendix=tuple(_appendix(facts, left)),
        about=foot,
        card=f"{foot}\n{facts.text()}",
    )


def _appendix(made: Card, left: list[str]) -> Iterator[ReportPart]:
    """Yield the card of the model, and what was left out."""
    yield ReportPart(f"Model card: {made.name}", table=[["", ""], *([label, value] for label, value in made.rows)])
    yield ReportPart("How to read it", made.caveats)
    if left:
        yield ReportPart("Left out of this report", left)
