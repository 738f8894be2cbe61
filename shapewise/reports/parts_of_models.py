"""The parts of a report about models: curves, what matters, how well they predict, and their cards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from gamcore import explain_triple
from gamcore.common.numbers import fixed
from gamcore.data.column_names import PAIR
from gamcore.decide import plots as decide_plots
from gamcore.decide.plots.segments import marked
from gamcore.decide.strategies import Strategy
from gamcore.decide.uplift import read_uplift
from gamcore.explain.shown import shown, shown_chances
from gamcore.stats import metrics as quality
from gamcore.stats import plots as stats_plots
from gamcore.stats.classes import class_confusion, class_rankings
from gamcore.stats.rates import lift_by_tenth
from gamcore.viz.files.parts import ReportPart
from gamcore.viz.spec import Plot
from shapewise.reports.card import card, caveats, unit_of_effect
from shapewise.reports.recipes import ReportItem
from shapewise.reports.sources import ModelSource, Review
from shapewise.store.workspace import StoreError

MOST_DOTS: Final = 3_000
FIGURES: Final = (
    "What is gained is the measured difference per customer times the customers that a strategy reaches. A month has "
    "30 days of the customers that the plan of the test expects; without a plan, the figures are of this table.",
    "Intervals of sums add the errors of the strategies (MOVER) and are widened where only some of what was tested is "
    "rolled out, since the results chose it. They take the customers to come to be like those of the test.",
)


def curve(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield a curve of the model in view."""
    source = review.model()
    shape = shown(source.estimator.explain_shape(item.of[0]).on(source.scale), source.names)
    title = source.about.headlines.get(item.of[0])
    yield ReportPart(plot=shape.describe(source.target, source.detail(shape), title=title))


def chances(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the chances of all classes along a feature of the model in view."""
    source = review.model()
    curves = shown_chances(source.of_classes.explain_classes(item.of[0]), source.names, source.about.target)
    yield ReportPart(plot=_named(curves.describe(source.names.column(source.about.target)), source))


def pair(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield a pair of the model in view."""
    source = review.model()
    surface = shown(source.estimator.explain_pair(item.of[0], item.of[1]).on(source.scale), source.names)
    title = source.about.headlines.get(PAIR.join(item.of))
    detail = source.detail(surface.margins[0])
    yield ReportPart(plot=surface.describe(source.target, detail, title=title))


def triple(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield a triple of the model in view."""
    source = review.model()
    effect = shown(explain_triple(source.estimator, *item.of).on(source.scale), source.names)
    title = source.about.headlines.get(PAIR.join(item.of))
    yield ReportPart(plot=effect.describe(source.target, title=title))


def why(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the curve that a strategy was read off, of its own model, with the strategy's customers marked.

    Without a column, that of the rule which moves the model's predictions most."""
    strategy = next((strategy for strategy in review.strategy_set.strategies if strategy.name == item.of[0]), None)
    if strategy is None:
        raise StoreError(f"There is no strategy {item.of[0]} on the board.")
    source = review.behind(strategy)
    column = item.of[1] if len(item.of) > 1 else _strongest(source, strategy)
    shape = shown(source.estimator.explain_shape(column).on(source.scale), source.names)
    drawn = shape.describe(source.target, source.detail(shape))
    title = source.about.headlines.get(column) or f"{strategy.name}: {drawn.title}"
    text = f"{strategy.name} goes to: {strategy.rule.words(source.names)}." + (
        f" {strategy.action}." if strategy.action else ""
    )
    yield ReportPart(plot=replace(marked(drawn, shape, strategy.rule, strategy.name), title=title), text=[text])


def _strongest(source: ModelSource, strategy: Strategy) -> str:
    ranked = source.estimator.importance().ranked_features()
    used = [name for name in ranked if name in strategy.rule.columns]
    if not used:
        raise StoreError(f"The model that {strategy.name} was read off has none of its rule's columns.")
    return used[0]


def importance(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the ranking of features of each model."""
    for source in review.models():
        ranking = shown(source.estimator.importance(source.scale), source.names)
        detail = f"mean absolute effect on {source.target} · model {source.about.name}"
        yield ReportPart(plot=ranking.describe(detail=detail))


def classes(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the confusion of the model in view, and each of its classes against the rest."""
    source = review.model()
    names, held = source.class_names, source.held_classes()
    confusion = class_confusion(held.codes, held.chances, names, held.weight)
    rankings = class_rankings(held.codes, held.chances, held.weight)
    for drawn in (stats_plots.class_confusion(confusion), stats_plots.class_rankings(rankings, names)):
        yield ReportPart(plot=_named(drawn, source))


def roc(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the ROC curve of each classifier."""
    for source in _classifiers(review):
        held = source.held()
        line = quality.roc(held.y, held.predicted, held.weight)
        caption = f"AUC {fixed(line.summary, 3)}: the chance that a row with {source.target} ranks above one without"
        axes = ("false positive rate", "positives found")
        drawn = stats_plots.ranked(line, f"ROC of {source.about.name}", caption, axes, ([0, 1], [0, 1]))
        yield ReportPart(plot=_named(drawn, source))


def calibration(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield predicted against observed rates of each classifier."""
    for source in _classifiers(review):
        held = source.held()
        drawn = stats_plots.calibration(quality.calibration(held.y, held.predicted, held.weight), held.predicted)
        yield ReportPart(plot=_named(drawn, source))


def _classifiers(review: Review) -> list[ModelSource]:
    there = [source for source in review.models() if source.about.kind.endswith("classifier")]
    if not there:
        raise StoreError("No model of the report predicts a chance.")
    return there


def _named(drawn: Plot, source: ModelSource) -> Plot:
    return replace(drawn, detail=f"{drawn.detail} · model {source.about.name}")


def residuals(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the residuals of each regression."""
    for source in review.models():
        held = source.held()
        some = np.random.default_rng(0).permutation(held.y.size)[:MOST_DOTS]
        table = quality.residuals(held.y, held.predicted, held.weight)
        gaps = held.y - held.predicted
        drawn = stats_plots.residuals(table, held.predicted[some], gaps[some], source.target)
        yield ReportPart(plot=_named(drawn, source))


def uplift(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield what following each model of an effect is worth: the measured effect by tenth, and the gain."""
    there = [source for source in review.models() if source.about.spec.get("treatment")]
    if not there:
        raise StoreError("No model of the report is of an effect: train one on Experiment, once a test is read.")
    for source in there:
        held, unit = source.held(), unit_of_effect(source.about, source.names) or ""
        read = read_uplift(held.predicted, held.y, held.groups)
        for drawn in (read.describe(unit), decide_plots.gain(read, unit)):
            yield ReportPart(plot=_named(drawn, source))


def lift(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield observed and predicted counts or amounts by tenth, of each model of them."""
    for source in review.models():
        held = source.held()
        kind = held.loss.outcome_kind
        if kind not in ("count", "amount"):
            raise StoreError("Lift by tenth is of counts and amounts: show residuals or calibration instead.")
        size = np.ones(held.y.size) if held.exposure is None else held.exposure
        weight = None if held.weight is None else held.weight / size  # the exposure is a part of it
        table = lift_by_tenth(held.y * size, held.predicted * size, kind, exposure=held.exposure, weight=weight)
        yield ReportPart(plot=_named(stats_plots.lift_by_tenth(table, kind, source.target), source))


def cards(review: Review, item: ReportItem | None = None) -> Iterator[ReportPart]:
    """Yield the card of each model."""
    for source in review.models():
        of_model = card(review.space, source.about.id)
        rows = [["", ""], *([label, value] for label, value in of_model.rows)]
        yield ReportPart(f"Model card: {of_model.name}", table=rows)


def reading(review: Review, item: ReportItem | None = None) -> Iterator[ReportPart]:
    """Yield how figures and plots are read, and what they do not say."""
    figures = FIGURES if review.recipe.board or review.recipe.test else ()
    main = review.main.about if review.main is not None else None
    yield ReportPart("How to read it", (*figures, *caveats(main)))
