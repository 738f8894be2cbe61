"""A report as slides: a title, the decision, one chart per slide titled with its takeaway, and an appendix.

A brief report has no cover and one slide per part: what does not fit stands in the notes of its slide.
"""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final

import numpy as np

from gamcore.viz.files.measure import fitted, fitting, high, wide
from gamcore.viz.files.parts import KeyFigure, Report, ReportPart, Step, quiet
from gamcore.viz.files.pdf_report import shares
from gamcore.viz.files.pptx_charts import Box, grid
from gamcore.viz.files.pptx_slides import (
    COLOR,
    HEIGHT,
    MARGIN,
    WIDTH,
    Deck,
    add_plot,
    bar,
    foot,
    new_deck,
    note,
    titled,
    write,
)
from gamcore.viz.files.pptx_xml import shown_in_cell

ROWS: Final = 15
"""Most rows of a table on one slide."""
BESIDE: Final = 320
"""Most characters of text beside a chart; longer text goes onto its own slide."""
UNDRAWN: Final = "This plot could not be drawn as a chart: export it as a picture."
log = logging.getLogger(__name__)
FEW: Final = 8
"""Most rows of a table in the larger font."""
MOST_TEXT: Final = 900
ABOVE, BESIDE_CELL, UNDER = 0.025, 0.05, 0.3
"""Room above and below the text of a cell, at its sides, and for a line below a table, inches."""
LARGE, WORD = 0.75, 1.6
"""Height of the numbers in large print, and least width of the words that begin lines, inches."""


def to_deck(report: Report, step: Step = quiet) -> bytes:
    """Return the report as a file's bytes."""
    deck = new_deck(report.title, report.about, report.template)
    if not report.brief:
        _cover(deck, report)
    n = len(report.every)
    for k, part in enumerate(report.every):
        step(k / n, part.heading)
        if part.plot is not None:
            _plotted(deck, part, report.brief)
        else:
            _add_part(deck, part, report.brief)
    return deck.saved()


def _cover(deck: Deck, report: Report) -> None:
    if deck.title is not None:
        slide = titled(deck, report.title)
        write(slide, Box(deck.left, deck.top, deck.width, 0.9), report.subtitle, 16, COLOR.muted)
        foot(deck, slide)
        return
    cover = deck.show.slides.add_slide(deck.show.slide_layouts[6])
    bar(cover, Box(0.0, 0.0, 0.18, HEIGHT), COLOR.primary)
    width = WIDTH - 2 * MARGIN
    size = fitting(report.title, (36, 30, 26, 22), width, 1.5, bold=True)
    write(cover, Box(MARGIN, 2.4, width, 1.5), fitted(report.title, size, width, 1.5, bold=True), size, bold=True)
    write(cover, Box(MARGIN, 4.0, width, 0.9), fitted(report.subtitle, 16, width, 0.9), 16, COLOR.muted)
    foot(deck, cover)


def _plotted(deck: Deck, part: ReportPart, brief: bool) -> None:
    """Add the slide of a plot, and one more where its text is too long to stand beside it."""
    assert part.plot is not None
    words = "\n".join([*part.text, part.comment]).strip()
    beside = words if len(words) <= BESIDE else ""
    if brief and words and not beside:
        beside = _whole_lines(words, BESIDE)
    try:
        add_plot(deck, part.plot, beside, words)
    except Exception:  # one failed chart must not lose the others
        log.exception("%s cannot be drawn", part.heading)
        _add_part(deck, ReportPart(part.heading, [f"{UNDRAWN}\n{words}"]), brief)
        return
    if words != beside and not brief:
        _add_part(deck, ReportPart(f"{part.heading} (continued)", [words]), brief)


def _whole_lines(text: str, most: int) -> str:
    """Return the lines of a text that fit into a number of characters, and that there were more; of a first line that
    does not, its beginning."""
    lines = text.split("\n")
    ends = list(accumulate(len(line) + 1 for line in lines))
    n = sum(end + 1 <= most for end in ends)
    return "\n".join([*lines[:n], "…"]) if n else textwrap.shorten(lines[0], most, placeholder=" …")


def _add_part(deck: Deck, part: ReportPart, brief: bool) -> None:
    """Add slides for figures, lines, text and a table, as many as they need; a brief part has one."""
    text = "\n".join([*part.text, *([part.comment] if part.comment else [])])
    pages = textwrap.wrap(text, MOST_TEXT, replace_whitespace=False) if len(text) > MOST_TEXT else [text]
    if brief and len(pages) > 1:
        pages = [f"{pages[0]} …"]
    for page in pages[:-1]:  # the last goes with the table
        slide = titled(deck, part.title)
        _paragraph(slide, deck, page, deck.top - 0.2)
        foot(deck, slide)
    slide = titled(deck, part.title)
    top = _lines(slide, deck, part, _figures(slide, deck, part.figures, deck.top - 0.2))
    top = _paragraph(slide, deck, pages[-1], top)
    if brief:
        note(slide, "\n".join(["\n".join(part.text), part.comment, deck.about]).strip())
    if len(part.table) > 1:
        slide = _tabled(slide, deck, part, top, brief)
    foot(deck, slide)


def _tabled(slide: Any, deck: Deck, part: ReportPart, top: float, brief: bool) -> Any:
    """Add a table below what a slide has, and on as many more as it needs; a brief part has the rows that fit on one.
    Return the last slide."""
    first = deck.top - 0.2
    room, whole = deck.foot - top - 0.1, deck.foot - first - 0.1
    table = _letters([[shown_in_cell(cell) for cell in row] for row in part.table], deck.width, room, brief)
    table = table.cut_to(room - UNDER if brief else whole)
    start = 1
    while start < len(table.rows):
        end = start + table.fitting(start, room)
        if brief and end < len(table.rows):
            end = start + table.fitting(start, room - UNDER)
        if not brief and room >= whole:  # a head that leaves no room has a row all the same
            end = max(end, start + 1)
        if end > start:
            grid(slide, [table.rows[0], *table.rows[start:end]], Box(deck.left, top, deck.width, room), table.size,
                 widths=table.widths, heights=table.heights(start, end))  # fmt: skip
        if brief:
            if start < end < len(table.rows):
                under = top + sum(table.heights(start, end)) + 0.05
                write(slide, Box(deck.left, under, deck.width, UNDER - 0.05),
                      f"The first {end - 1} of {len(table.rows) - 1}.", 11, COLOR.muted)  # fmt: skip
            break
        start = end
        if start < len(table.rows):
            foot(deck, slide)
            slide, top, room = titled(deck, f"{part.title} (continued)"), first, whole
    return slide


@dataclass(frozen=True)
class _Table:
    """A table as it is drawn, the head first. size : of its letters, in points. widths : of columns, inches."""

    rows: list[list[str]]
    size: float
    widths: list[float]

    def tall(self, row: int) -> float:
        """Return the height of a row, inches."""
        texts = zip(self.rows[row], self.widths, strict=True)
        return 2 * ABOVE + max(high(text, self.size, width - 2 * BESIDE_CELL, bold=row == 0) for text, width in texts)

    def heights(self, start: int, end: int) -> list[float]:
        """Return the heights of the head and of some rows."""
        return [self.tall(row) for row in (0, *range(start, end))]

    def fitting(self, start: int, room: float) -> int:
        """Return how many rows from one on fit below the head."""
        ends = np.cumsum(self.heights(start, min(start + ROWS, len(self.rows))))[1:]
        return int((ends <= room).sum())

    def cut_to(self, room: float) -> _Table:
        """Return the table with texts cut so that each row fits below the head."""
        most = max(room - self.tall(0) - 2 * ABOVE, 0.0)
        rooms = [width - 2 * BESIDE_CELL for width in self.widths]
        rows = [[fitted(text, self.size, width, most) for text, width in zip(row, rooms, strict=True)]
                for row in self.rows[1:]]  # fmt: skip
        return replace(self, rows=[self.rows[0], *rows])


def _letters(rows: list[list[str]], width: float, room: float, brief: bool) -> _Table:
    """Return a table in the largest letters in which it fits into a room, or in the smallest."""
    tables = []
    for size in ((14,) if len(rows) <= FEW else ()) + ((11, 9) if brief else (11,)):
        tables.append(_Table(rows, size, [share * width for share in shares(rows, width, size)]))
        if sum(tables[-1].heights(1, len(rows))) <= room and len(rows) <= ROWS + 1:
            break
    return tables[-1]


def _paragraph(slide: Any, deck: Deck, text: str, top: float) -> float:
    """Write text over the width of a slide; return where it ends."""
    if not text:
        return top
    room = deck.foot - top - 0.1
    size = fitting(text, (16, 14, 13, 12, 10.5), deck.width, room)
    text = fitted(text, size, deck.width, room)
    tall = high(text, size, deck.width)
    write(slide, Box(deck.left, top, deck.width, tall), text, size)
    return top + tall + 0.1


def _figures(slide: Any, deck: Deck, figures: Sequence[KeyFigure], top: float) -> float:
    """Write numbers in large print beside each other; return where they end."""
    if not figures:
        return top
    room = deck.width / max(len(figures), 2)
    width = room - 0.2
    size = min(fitting(figure.value, (34, 30, 26, 22, 18), width, LARGE, bold=True) for figure in figures)
    label, interval = (max(high(text, letters, width) for text in texts) for texts, letters in (
        ([figure.label for figure in figures], 14), ([figure.interval for figure in figures], 13)))  # fmt: skip
    for k, figure in enumerate(figures):
        left = deck.left + k * room
        write(slide, Box(left, top, width, LARGE), fitted(figure.value, size, width, LARGE, bold=True), size,
              COLOR.primary, bold=True)  # fmt: skip
        write(slide, Box(left, top + LARGE, width, label), figure.label, 14)
        write(slide, Box(left, top + LARGE + label, width, interval), figure.interval, 13, COLOR.muted)
    return top + LARGE + label + interval + 0.15


def _lines(slide: Any, deck: Deck, part: ReportPart, top: float) -> float:
    """Write lines that begin with a word; return where they end. Letters are smaller where there are many lines."""
    if not part.lines:
        return top
    room = deck.foot - top - 0.1
    for size in (16, 14, 12, 10.5, 9):
        longest = max(wide(f"{word} ", size, bold=True) for word, _ in part.lines)
        first = min(max(WORD, longest + 0.15), deck.width / 4)
        rest = deck.width - first
        heights = [max(high(word, size, first - 0.1, bold=True), high(text, size, rest)) for word, text in part.lines]
        if sum(heights) <= room:
            break
    shrink = min(1.0, room / sum(heights))
    for (word, text), tall in zip(part.lines, heights, strict=True):
        most = tall * shrink
        write(slide, Box(deck.left, top, first - 0.1, most), fitted(word, size, first - 0.1, most, bold=True), size,
              bold=True)  # fmt: skip
        write(slide, Box(deck.left + first, top, rest, most), fitted(text, size, rest, most), size)
        top += most
    return top + 0.1
