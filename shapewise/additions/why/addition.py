"""All that this adds: a way to compare on Compare, a panel on Data and one on Experiment, and slides of reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shapewise.reports.added import AddedItem
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.ui.panel import Panel

if TYPE_CHECKING:
    from gamcore.viz.files.parts import ReportPart
    from shapewise.reports.sources import Review
    from shapewise.ui.session.current import InView

TITLE: Final = "Why did it move?"


def _on_compare(now: InView) -> None:
    from shapewise.additions.why import on_compare

    on_compare.draw(now)


def _on_data(now: InView) -> None:
    from shapewise.additions.why import on_data

    on_data.why_it_moved(now)


def _on_experiment(now: InView) -> None:
    from shapewise.additions.why import on_experiment

    on_experiment.draw(now)


def _has_model_of_outcome(now: InView) -> bool:
    from shapewise.additions.why import on_experiment

    return bool(on_experiment.models_of_outcomes(now)[1])


def _has_table(now: InView) -> bool:
    from shapewise.additions.why import tables

    model = now.model
    return model is not None and bool(model.spec) and not model.of_tasks and tables.is_there(model)


def _has_newer(now: InView) -> bool:
    from shapewise.ui.widgets import versions

    return bool(versions.versions_of_models(now))


def _slide(review: Review) -> Iterator[ReportPart]:
    from shapewise.additions.why import slide

    yield from slide.parts(review)


def _by_arm(review: Review) -> Iterator[ReportPart]:
    from shapewise.additions.why import arms

    yield from arms.parts(review)


def _by_part(review: Review) -> Iterator[ReportPart]:
    from shapewise.additions.why import by_part

    yield from by_part.parts(review)


def _has_arms(space: Workspace, model: ModelAbout) -> bool:
    from shapewise.additions.why import arms

    return arms.newest_test(space, model) is not None


def _has_parts(space: Workspace, model: ModelAbout) -> bool:
    from shapewise.additions.why import by_part
    from shapewise.training import versions

    return versions.can_be_asked(space, model) and bool(by_part.column_in_time(space, model))


def _has_slide(space: Workspace, model: ModelAbout) -> bool:
    from shapewise.training import versions

    return versions.newer(space, model) is not None


COMPARE: Final = Panel("compare", TITLE, _on_compare, _has_table)
DATA: Final = Panel("data", TITLE, _on_data, _has_newer)
EXPERIMENT: Final = Panel("experiment", TITLE, _on_experiment, _has_model_of_outcome)
SLIDE: Final = AddedItem("moved", TITLE, _slide, _has_slide)
ARMS_SLIDE: Final = AddedItem("moved_by_arm", f"{TITLE} By arm", _by_arm, _has_arms)
PARTS_SLIDE: Final = AddedItem("moved_by_part", f"{TITLE} Part by part", _by_part, _has_parts)
