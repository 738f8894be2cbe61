"""A report as slides: a title, the decision, one chart per slide titled with its takeaway, and an appendix.

A brief report has no cover and one slide per part: what does not fit stands in the notes of its slide.
"""

from __future__ import annotations

import logging
import textwrap
from typing import Any, Final

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

ROWS: Final = 15
"""Most rows of a table on one slide."""
BESIDE: Final = 320
"""Most characters of text beside a chart; longer text goes onto its own slide."""
UNDRAWN: Final = "This plot could not be drawn as a chart: export it as a picture."
log = logging.getLogger(__name__)
FEW: Final = 8
"""Most rows of a table in the larger font."""
MOST_TEXT: Final = 900
FIGURES, WORD = 1.5, 1.6
"""Height of the numbers in large print, and width of the words that begin lines, inches."""


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
            _told(deck, part, report.brief)
    return deck.saved()


def _cover(deck: Deck, report: Report) -> None:
    if deck.title is not None:
        slide = titled(deck, report.title)
        write(slide, Box(deck.left, deck.top, deck.width, 0.9), report.subtitle, 16, COLOR.muted)
        foot(deck, slide)
        return
    cover = deck.show.slides.add_slide(deck.show.slide_layouts[6])
    bar(cover, Box(0.0, 0.0, 0.18, HEIGHT), COLOR.primary)
    write(cover, Box(MARGIN, 2.4, WIDTH - 2 * MARGIN, 1.4), report.title, 36, bold=True)
    write(cover, Box(MARGIN, 4.0, WIDTH - 2 * MARGIN, 0.9), report.subtitle, 16, COLOR.muted)
    foot(deck, cover)


def _plotted(deck: Deck, part: ReportPart, brief: bool) -> None:
    """Add the slide of a plot, and one more where its text is too long to stand beside it."""
    assert part.plot is not None
    said = "\n".join([*part.text, part.comment]).strip()
    beside = said if len(said) <= BESIDE else ""
    if brief and not beside:
        beside = textwrap.shorten(said, BESIDE, placeholder=" …")
    try:
        add_plot(deck, part.plot, beside, said)
    except Exception:  # one failed chart must not lose the others
        log.exception("%s cannot be drawn", part.heading)
        _told(deck, ReportPart(part.heading, [f"{UNDRAWN}\n{said}"]), brief)
        return
    if said != beside and not brief:
        _told(deck, ReportPart(f"{part.heading} (continued)", [said]), brief)


def _told(deck: Deck, part: ReportPart, brief: bool) -> None:
    """Add slides for figures, lines, text and a table, as many as they need; a brief part has one."""
    text = "\n".join([*part.text, *([part.comment] if part.comment else [])])
    pages = textwrap.wrap(text, MOST_TEXT, replace_whitespace=False) if len(text) > MOST_TEXT else [text]
    if brief and len(pages) > 1:
        pages = [f"{pages[0]} …"]
    for page in pages[:-1]:  # the last goes with the table
        slide = titled(deck, part.title)
        write(slide, Box(deck.left, deck.top - 0.2, deck.width, deck.foot - deck.top), page, 14)
        foot(deck, slide)
    head, rows = list(part.table[:1]), list(part.table[1:])
    pieces = [rows[k : k + ROWS] for k in range(0, len(rows), ROWS)] or [[]]
    if brief and len(pieces) > 1:
        pieces = pieces[:1]
        pages[-1] = f"{pages[-1]}\nThe first {ROWS} of {len(rows)}.".strip()
    for k, piece in enumerate(pieces):
        slide = titled(deck, part.title + (f" ({k + 1} of {len(pieces)})" if len(pieces) > 1 else ""))
        top = deck.top - 0.2
        if not k:
            top = _lines(slide, deck, part, _figures(slide, deck, part.figures, top))
            top = _paragraph(slide, deck, pages[-1], top)
        if piece:
            table = [[str(cell) for cell in row] for row in (*head, *piece)]
            size = 14 if len(table) <= FEW else 11
            widths = [share * deck.width for share in shares(table, deck.width, size)]
            grid(slide, table, Box(deck.left, top, deck.width, deck.foot - top - 0.1), size, widths)
        foot(deck, slide)
        if brief:
            note(slide, "\n".join(["\n".join(part.text), part.comment, deck.about]).strip())


def _paragraph(slide: Any, deck: Deck, text: str, top: float) -> float:
    """Write text over the width of a slide; return where it ends."""
    if not text:
        return top
    high = 0.33 * (sum(1 + len(line) // 115 for line in text.split("\n"))) + 0.2
    write(slide, Box(deck.left, top, deck.width, high), text, 16 if len(text) < 500 else 13)
    return top + high + 0.1


def _figures(slide: Any, deck: Deck, figures: Any, top: float) -> float:
    """Write numbers in large print beside each other; return where they end."""
    room = deck.width / max(len(figures), 2) if figures else 0.0
    one: KeyFigure
    for k, one in enumerate(figures):
        left, wide = deck.left + k * room, room - 0.2
        write(slide, Box(left, top, wide, 0.65), one.value, 34, COLOR.primary, bold=True)
        write(slide, Box(left, top + 0.66, wide, 0.3), one.label, 14)
        write(slide, Box(left, top + 0.96, wide, 0.3), one.interval, 13, COLOR.muted)
    return top + FIGURES if figures else top


def _lines(slide: Any, deck: Deck, part: ReportPart, top: float) -> float:
    """Write lines that begin with a word; return where they end. Letters are smaller where there are many lines."""
    wide = deck.width - WORD
    for size in (16, 14, 12, 10.5):
        per_line = max(int(wide * 72 / (0.5 * size)), 10)
        heights = [0.019 * size * len(textwrap.wrap(text, per_line) or [""]) + 0.11 for _, text in part.lines]
        if sum(heights) <= deck.foot - top - 0.1:
            break
    for (word, text), high in zip(part.lines, heights, strict=True):
        write(slide, Box(deck.left, top, WORD - 0.1, high), word, size, bold=True)
        write(slide, Box(deck.left + WORD, top, wide, high), text, size)
        top += high
    return top + 0.1 if part.lines else top
