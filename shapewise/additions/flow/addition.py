"""All that this adds: a panel on Strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shapewise.ui.panel import Panel

if TYPE_CHECKING:
    from shapewise.ui.session.current import InView

TITLE: Final = "Where do people go, and where do they leave?"


def _on_strategies(now: InView) -> None:
    from shapewise.additions.flow import on_strategies

    on_strategies.draw(now)


def _has_events(now: InView) -> bool:
    from shapewise.additions.flow import on_strategies

    return now.table is not None and bool(on_strategies.others(now.table))


STRATEGIES: Final = Panel("strategies", TITLE, _on_strategies, _has_events)
