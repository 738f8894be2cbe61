"""All that this adds: a panel on Overview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shapewise.ui.panel import Panel

if TYPE_CHECKING:
    from shapewise.ui.session.current import InView

TITLE: Final = "Where is the model wrong?"


def _on_overview(now: InView) -> None:
    from shapewise.additions.by_group import on_overview

    on_overview.draw(now)


def _can_be_asked(now: InView) -> bool:
    """Return whether a model has outcomes to compare with: none of several tasks, of an effect, or from elsewhere."""
    model = now.model
    return model is not None and bool(model.spec) and not model.of_tasks and not model.spec.get("treatment")


OVERVIEW: Final = Panel("overview", TITLE, _on_overview, _can_be_asked)
