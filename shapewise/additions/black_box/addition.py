"""All that this adds: a panel on Overview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shapewise.ui.panel import Panel

if TYPE_CHECKING:
    from shapewise.ui.session.current import InView

TITLE: Final = "What would a black box know?"


def _on_overview(now: InView) -> None:
    from shapewise.additions.black_box import on_overview

    on_overview.draw(now)


def _can_be_asked(now: InView) -> bool:
    """Return whether a model can have a black box: none of several tasks, of an effect, or from elsewhere can."""
    model = now.model
    return model is not None and bool(model.spec) and not model.of_tasks and not model.spec.get("treatment")


OVERVIEW: Final = Panel("overview", TITLE, _on_overview, _can_be_asked)
