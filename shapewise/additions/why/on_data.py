"""The panel on Data: a newer version beside the one that a model was trained on."""

from __future__ import annotations

from shapewise.additions.why import result, tables
from shapewise.ui.session.current import InView
from shapewise.ui.widgets import versions


def why_it_moved(now: InView) -> None:
    """Show why the mean outcome of a newer version differs, as a model of the older one sees it."""
    if chosen := versions.choose(now, "why-model"):
        result.show(chosen[0], tables.between(*chosen, now.project))
