"""The parts of a report, independent of its file format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gamcore.viz.spec import Plot

Step = Callable[[float, str], None]
"""Called before each part with the share done and what comes next. It may raise to stop."""


@dataclass(frozen=True)
class KeyFigure:
    """A number that a page is about: the value in words, its interval in words, and what it counts."""

    value: str
    interval: str
    label: str


@dataclass(frozen=True)
class ReportPart:
    """A page of a report: a title, paragraphs of plain text, a plot or a table of texts whose first row is the header.

    comment : a user's comment, in plain text. figures : numbers in large print, under the title. lines : a word and
    what there is to say of it, one below the other.
    """

    title: str = ""
    text: Sequence[str] = ()
    plot: Plot | None = None
    table: Sequence[Sequence[str]] = ()
    comment: str = ""
    figures: Sequence[KeyFigure] = ()
    lines: Sequence[tuple[str, str]] = ()

    @property
    def heading(self) -> str:
        """The title, or the plot's title if there is none."""
        return self.title or (self.plot.title if self.plot is not None else "")


@dataclass(frozen=True)
class Report:
    """Parts in order, the decision first, and an appendix.

    about : the model in one line, for the footer; card : the model in full, for files of single plots. brief : without
    a cover, one page per part; what does not fit is in the notes of a slide. template : a house template, as the bytes
    of a PPTX that `pptx_template.checked` returned.
    """

    title: str
    subtitle: str
    parts: tuple[ReportPart, ...]
    appendix: tuple[ReportPart, ...] = ()
    about: str = ""
    card: str = ""
    brief: bool = False
    template: bytes = b""

    @property
    def every(self) -> tuple[ReportPart, ...]:
        """All parts, the appendix last."""
        return (*self.parts, *self.appendix)


def quiet(share: float, words: str) -> None:
    """Ignore progress."""
