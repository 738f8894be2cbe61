"""What a report is made of, whatever file it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gamcore.viz.plots.spec import Plot

Step = Callable[[float, str], None]
"""Told before each part: the share that is done, and what comes next. It may raise, to stop."""


@dataclass(frozen=True)
class ReportPart:
    """A page of a report: a title, paragraphs of plain text, a plot or a table of texts whose first row is its head.

    comment : what somebody says of it, in plain text.
    """

    title: str = ""
    text: Sequence[str] = ()
    plot: Plot | None = None
    table: Sequence[Sequence[str]] = ()
    comment: str = ""

    @property
    def heading(self) -> str:
        """Its title, or what its plot says."""
        return self.title or (self.plot.title if self.plot is not None else "")


@dataclass(frozen=True)
class Report:
    """Parts in their order, the decision first, and an appendix. about : the model in one line, for the foot;
    card : in full, for files of single plots."""

    title: str
    subtitle: str
    parts: tuple[ReportPart, ...]
    appendix: tuple[ReportPart, ...] = ()
    about: str = ""
    card: str = ""

    @property
    def every(self) -> tuple[ReportPart, ...]:
        """All parts, those of the appendix last."""
        return (*self.parts, *self.appendix)


def quiet(share: float, words: str) -> None:
    """A step that nobody watches."""
