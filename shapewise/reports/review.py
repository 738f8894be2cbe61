"""Reports: a recipe carried out on a project's board, test and models."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from gamcore.data.column_names import PAIR
from gamcore.data.columns import TableError
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.rules import RuleError
from gamcore.viz.files.parts import Report, ReportPart, Step, quiet
from shapewise.jobs.process import StoppedError
from shapewise.reports import parts_of_boards as of_boards
from shapewise.reports import parts_of_models as of_models
from shapewise.reports import templates
from shapewise.reports.added import added
from shapewise.reports.card import card, line
from shapewise.reports.recipes import EFFECTS, MOST_SLIDES, Recipe, ReportItem
from shapewise.reports.sources import Review
from shapewise.reports.words import day
from shapewise.store.workspace import StoreError, Workspace

log = logging.getLogger(__name__)

MAKERS: Final[dict[str, Callable[[Review, ReportItem], Iterable[ReportPart]]]] = {
    "decision": of_boards.decision, "who": of_boards.who, "lifts": of_boards.lifts, "effects": of_boards.effects,
    "plan": of_boards.plan, "why": of_models.why, "reach": of_boards.reach, "overlap": of_boards.overlap,
    "risks": of_boards.risks, "fairness": of_boards.fairness, "proof": of_boards.proof,
    "segments": of_boards.segments, "reading": of_models.reading, "importance": of_models.importance,
    "curve": of_models.curve, "chances": of_models.chances, "pair": of_models.pair, "triple": of_models.triple,
    "classes": of_models.classes, "ROC": of_models.roc, "calibration": of_models.calibration,
    "residuals": of_models.residuals, "uplift": of_models.uplift, "lift": of_models.lift, "card": of_models.cards,
}  # fmt: skip


def _parts(review: Review, item: ReportItem) -> Iterator[ReportPart]:
    """Yield the parts of an item; the first one has its comment, and the note pinned to its plot."""
    about = review.main.about if review.main is not None and item.kind in EFFECTS else None
    note = about.notes.get(PAIR.join(item.of)) if about is not None else None
    comment = "\n".join(text for text in (item.comment, f"Note: {note}" if note else "") if text)
    own = MAKERS.get(item.kind)
    for k, part in enumerate(own(review, item) if own else added()[item.kind].make(review)):
        yield part if k else replace(part, comment=comment)


def review_of(space: Workspace, recipe: Recipe, model: str = "", step: Step = quiet) -> Report:
    """Return the report of a recipe; what cannot be made is left out and said at its end.

    model : the model in view, "" for none."""
    review = Review(space, recipe, model)
    parts: list[ReportPart] = []
    left: list[str] = []
    for k, item in enumerate(recipe.items):
        step(k / max(len(recipe.items), 1), item.words(review.names))
        try:
            parts += _parts(review, item)
        except StoppedError:
            raise
        except (StoreError, TableError, RuleError, ExperimentError) as error:
            left.append(f"{item.words(review.names)}: {error}")
        except KeyError as error:
            left.append(
                f"{item.words(review.names)}: {'it is not in the model' if item.of else f'{error} is not there'}."
            )
        except Exception as error:  # one failed part must not cost the others
            log.exception("%s of %s cannot be made", item.words(review.names), model)
            left.append(f"{item.words(review.names)}: {type(error).__name__}: {error}")
    template, why_not = _template(space, recipe)
    left += [why_not] if why_not else []
    today = day(datetime.now(UTC).date())
    subtitle = " · ".join(text for text in (_subtitle(review), today) if text)
    sources = review.models()
    foot = " · ".join(text for text in (_foot(review), today) if text)
    return Report(
        recipe.name, subtitle, parts=tuple(_brief(parts, left) if recipe.is_brief else parts),
        appendix=() if recipe.is_brief else tuple(_appendix(review, left)), about=foot, brief=recipe.is_brief,
        card="\n".join([foot, *(card(space, source.about.id).text() for source in sources)]), template=template,
    )  # fmt: skip


def _subtitle(review: Review) -> str:
    """Return the subtitle; where it is the name of the target's column, as that is shown."""
    text = review.recipe.subtitle
    of_target = review.main is not None and text == review.main.about.target
    return review.names.column(text) if of_target else text


def _foot(review: Review) -> str:
    """Return the line at the foot of each page: the model if there is one, else the models' names, or the test's."""
    sources = review.models()
    if len(sources) == 1:
        return line(sources[0].about)
    if not sources:
        if not review.recipe.test:
            return ""
        return f"{review.test.name} · table {review.space.tables.about(review.test.table).name}"
    tables = dict.fromkeys(source.about.table_name for source in sources)
    return f"Models {', '.join(source.about.name for source in sources)} · table {', '.join(tables)}"


def _template(space: Workspace, recipe: Recipe) -> tuple[bytes, str]:
    """Return the house template of a recipe, or why there is none."""
    if not recipe.template:
        return b"", ""
    try:
        return templates.content(space, recipe.template), ""
    except StoreError as error:
        return b"", f"House template: {error}"


def _brief(parts: list[ReportPart], left: list[str]) -> list[ReportPart]:
    """Return at most `MOST_SLIDES` parts, of which the last says what was left out, if anything was."""
    room = MOST_SLIDES - bool(left)
    if len(parts) > room:
        left = [*left, *(f"{part.heading}: a director's report has {MOST_SLIDES} slides." for part in parts[room:])]
        parts = parts[: MOST_SLIDES - 1]
    return [*parts, *([ReportPart("Left out of this report", left)] if left else [])]


def _appendix(review: Review, left: list[str]) -> Iterator[ReportPart]:
    """Yield the cards and how to read them, unless they are in the report already, and what was left out."""
    kinds = {item.kind for item in review.recipe.items}
    if "reading" not in kinds:
        yield from of_models.reading(review)
    if "card" not in kinds:
        yield from of_models.cards(review)
    if left:
        yield ReportPart("Left out of this report", left)
