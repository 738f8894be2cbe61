"""A report as slides: a title, the decision, one chart per slide titled with its takeaway, and an appendix."""

from __future__ import annotations

import logging
import textwrap
from typing import Any, Final

from gamcore.viz.files.parts import Report, ReportPart, Step, quiet
from gamcore.viz.files.pdf_report import shares
from gamcore.viz.files.pptx_charts import Box, grid
from gamcore.viz.files.pptx_slides import (
    COLOR,
    FOOT,
    HEIGHT,
    MARGIN,
    TOP,
    WIDTH,
    add_plot,
    bar,
    foot,
    new_deck,
    saved,
    titled,
    write,
)

ROWS: Final = 15
"""Most rows of a table on one slide."""
BESIDE: Final = 320
"""Most characters of text beside a chart; longer text goes onto its own slide."""
UNDRAWN: Final = "This plot could not be drawn as a chart: take it as a picture."
log = logging.getLogger(__name__)
FEW: Final = 8
"""Most rows of a table in the larger font."""
MOST_TEXT: Final = 900


def to_deck(report: Report, step: Step = quiet) -> bytes:
    """Return the report as a file's bytes."""
    deck = new_deck(report.title, report.about)
    cover = deck.slides.add_slide(deck.slide_layouts[6])
    bar(cover, Box(0.0, 0.0, 0.18, HEIGHT), COLOR.primary)
    write(cover, Box(MARGIN, 2.4, WIDTH - 2 * MARGIN, 1.4), report.title, 36, bold=True)
    write(cover, Box(MARGIN, 4.0, WIDTH - 2 * MARGIN, 0.9), report.subtitle, 16, COLOR.muted)
    foot(cover, report.about)
    n = len(report.every)
    for k, part in enumerate(report.every):
        step(k / n, part.heading)
        if part.plot is not None:
            said = "\n".join([*part.text, part.comment]).strip()
            beside = said if len(said) <= BESIDE else ""
            try:
                add_plot(deck, part.plot, report.about, beside)
            except Exception:  # one failed chart must not lose the others
                log.exception("%s cannot be drawn", part.heading)
                beside = f"{UNDRAWN}\n{said}"
                said = beside
                _told(deck, ReportPart(part.heading, [said]), report.about)
            if said != beside:
                _told(deck, ReportPart(f"{part.heading} (continued)", [said]), report.about)
        else:
            _told(deck, part, report.about)
    return saved(deck)


def _told(deck: Any, part: ReportPart, about: str) -> None:
    """Add slides for text and a table, as many as they need."""
    text = "\n".join([*part.text, *([part.comment] if part.comment else [])])
    pages = textwrap.wrap(text, MOST_TEXT, replace_whitespace=False) if len(text) > MOST_TEXT else [text]
    for page in pages[:-1]:  # the last goes with the table
        slide = titled(deck, part.title)
        write(slide, Box(MARGIN, TOP - 0.2, WIDTH - 2 * MARGIN, FOOT - TOP), page, 14)
        foot(slide, about)
    text = pages[-1]
    head, rows = list(part.table[:1]), list(part.table[1:])
    pieces = [rows[k : k + ROWS] for k in range(0, len(rows), ROWS)] or [[]]
    for k, piece in enumerate(pieces):
        slide = titled(deck, part.title + (f" ({k + 1} of {len(pieces)})" if len(pieces) > 1 else ""))
        top, wide = TOP - 0.2, WIDTH - 2 * MARGIN
        if text and not k:
            high = 0.33 * (sum(1 + len(line) // 115 for line in text.split("\n"))) + 0.2
            write(slide, Box(MARGIN, top, wide, high), text, 16 if len(text) < 500 else 13)
            top += high + 0.1
        if piece:
            table = [[str(cell) for cell in row] for row in (*head, *piece)]
            widths = [share * wide for share in shares(table)]
            grid(slide, table, Box(MARGIN, top, wide, FOOT - top - 0.1), 14 if len(table) <= FEW else 11, widths)
        foot(slide, about)
