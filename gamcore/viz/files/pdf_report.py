"""A report as a PDF: A4 landscape, one chart per page with its caption, text and tables on their own pages."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, Final

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from gamcore.data.labels import cut, cut_apart
from gamcore.viz.files.letters import lacking, letters_of, span_of, wrap
from gamcore.viz.files.mpl_picture import LETTER, compose, house, per_line, wrapped
from gamcore.viz.files.parts import Report, ReportPart, Step, quiet
from gamcore.viz.palette import PALETTES

SIZE: Final = (11.69, 8.27)
MARGIN: Final = 0.7
LINE: Final = 0.27
"""Height of a line of body text, inches."""
TEXT, COVER, HEAD, FOOT = 12.0, 30.0, 20.0, 8.5
LEADING: Final = 0.021
"""Height of a table's line, inches per point of font size."""
COLOR: Final = PALETTES["light"]
MOST_CAPTION: Final = 6
"""Most lines under a plot; further lines go onto their own page."""
MOST_CELL: Final = 400
WIDE_LETTER, BOLD, PADDING = 0.64, 1.15, 0.15
"""Width of a letter as a share of the font size, on the safe side; how much wider it is in the header; the room between
columns, inches."""
MOST_WORD, MOST_COLUMN = 24, 60
"""Most letters of a word that a column is made to hold, and of a cell that widens it."""
FIGURES, WORD = 1.45, 1.5
"""Height of the numbers in large print, and width of the words that begin lines, inches."""
FEW: Final = 8
"""Most rows of a table in the larger font."""


def to_pdf(report: Report, step: Step = quiet) -> bytes:
    """Return the report as a file's bytes."""
    buffer = io.BytesIO()
    properties = {"Title": report.title, "Subject": report.subtitle, "Creator": "Shapewise", "Keywords": report.about}
    n = len(report.every)
    with (
        house(letters_of(report)),
        PdfPages(buffer, metadata=properties) as pages,
    ):  # fonts are written on closing, with the house settings
        number = 0
        for k, part in enumerate((None, *report.every)):
            step(k / (n + 1), part.heading if part is not None else "cover")
            if part is None and report.brief:
                continue
            for page in [_cover(report)] if part is None else _pages(part):
                number += 1
                _foot(page, lacking(letters_of(part)) or report.about, number)
                pages.savefig(page, facecolor=COLOR.background)
    return buffer.getvalue()


def _page() -> Figure:
    return Figure(figsize=SIZE, facecolor=COLOR.background)


def _write(page: Figure, y: float, text: str, size: float, color: str, weight: int = 400, x: float = MARGIN) -> None:
    """Write a line of text, its top `y` inches from the top of the page."""
    page.text(x / SIZE[0], 1 - y / SIZE[1], text, fontsize=size, color=color, fontweight=weight, va="top")


def _foot(page: Figure, about: str, number: int) -> None:
    _write(page, SIZE[1] - 0.45, cut(about.split("\n")[0], 170), FOOT, COLOR.muted)
    right = (SIZE[0] - MARGIN) / SIZE[0]
    page.text(right, 0.45 / SIZE[1], str(number), fontsize=FOOT, color=COLOR.muted, va="top", ha="right")


def _cover(report: Report) -> Figure:
    page = _page()
    page.add_artist(Rectangle((0, 0), 0.16 / SIZE[0], 1, facecolor=COLOR.primary, linewidth=0))
    y = 2.4
    for line in wrapped(report.title, SIZE[0] - 2 * MARGIN, COVER, 3):
        _write(page, y, text=line, size=COVER, color=COLOR.ink, weight=600)
        y += 0.55
    for line in wrapped(report.subtitle, SIZE[0] - 2 * MARGIN, 14, 3):
        _write(page, y + 0.1, line, 14, COLOR.muted)
        y += 0.3
    return page


def _pages(part: ReportPart) -> Iterator[Figure]:
    """Yield a page with the plot and its caption, or as many pages as text and table need."""
    if part.plot is None:
        yield from _texts(part)
        return
    texts = [*part.text, *([part.comment] if part.comment else [])]
    lines = [line for text in texts for line in _lines(text, SIZE[0] - 2 * MARGIN, TEXT)]
    caption = lines[:MOST_CAPTION]
    below = MARGIN + 0.15 + LINE * len(caption)
    page = compose(part.plot, size=SIZE, margins=(MARGIN, MARGIN, 0.6, below))
    y = SIZE[1] - below + 0.12
    for line in caption:
        _write(page, y, line, TEXT, COLOR.ink)
        y += LINE
    yield page
    if len(lines) > MOST_CAPTION:
        yield from _texts(ReportPart(f"{part.heading} (continued)", ["\n".join(lines[MOST_CAPTION:])]))


def _lines(text: str, room: float, size: float) -> list[str]:
    """Return the lines of a text wrapped to `room` inches; an empty paragraph is an empty line."""
    return [line for paragraph in text.split("\n") for line in wrap(paragraph, per_line(room, size)) or [""]]


def _texts(part: ReportPart) -> Iterator[Figure]:
    """Yield the text, then the table, on as many pages as they need."""
    room, bottom = SIZE[0] - 2 * MARGIN, SIZE[1] - 0.8
    page, y = _headed(part.title)
    y = _lines_below(page, _figures(page, y, part), part)
    for text in [*part.text, *([part.comment] if part.comment else [])]:
        for line in _lines(text, min(room, 9.0), TEXT):
            if y + LINE > bottom:
                yield page
                page, y = _headed(part.title)
            _write(page, y, line, TEXT, COLOR.ink)
            y += LINE
        y += 0.12
    rows = [[cut(cell, MOST_CELL) for cell in row] for row in part.table]
    size = 12.0 if len(rows) <= FEW else 10.0
    widths = shares(rows, room, size)
    for k, row in enumerate(rows):
        cells = [_lines(cell, share * room - 0.15, size) for cell, share in zip(row, widths, strict=True)]
        high = LEADING * size * max(len(cell) for cell in cells) + 0.1
        if y + high > bottom:
            yield page
            page, y = _headed(part.title)
        _row(page, y, cells=cells, widths=widths, size=size, head=k == 0)
        y += high
    yield page


def _figures(page: Figure, y: float, part: ReportPart) -> float:
    """Write numbers in large print beside each other; return where they end."""
    room = (SIZE[0] - 2 * MARGIN) / max(len(part.figures), 2)
    for k, figure in enumerate(part.figures):
        x = MARGIN + k * room
        _write(page, y, figure.value, 28, COLOR.primary, weight=600, x=x)
        for below, text, color in ((0.52, figure.label, COLOR.ink), (0.8, figure.interval, COLOR.muted)):
            _write(page, y + below, cut(text, int(room * 72 / (LETTER * TEXT))), TEXT, color, x=x)
    return y + FIGURES if part.figures else y


def _lines_below(page: Figure, y: float, part: ReportPart) -> float:
    """Write lines that begin with a word; return where they end."""
    words = cut_apart([word for word, _ in part.lines], 16)
    for word, (_, text) in zip(words, part.lines, strict=True):
        _write(page, y, word, TEXT, COLOR.ink, weight=600)
        for line in _lines(text, SIZE[0] - 2 * MARGIN - WORD, TEXT):
            _write(page, y, line, TEXT, COLOR.ink, x=MARGIN + WORD)
            y += LINE
        y += 0.12
    return y


def _headed(title: str) -> tuple[Figure, float]:
    page = _page()
    y = 0.6
    for line in wrapped(title, SIZE[0] - 2 * MARGIN, HEAD, 2):
        _write(page, y, text=line, size=HEAD, color=COLOR.ink, weight=600)
        y += 0.38
    return page, y + 0.2


def _row(page: Any, y: float, cells: Sequence[Sequence[str]], widths: Sequence[float], size: float, head: bool) -> None:
    x, room = MARGIN, SIZE[0] - 2 * MARGIN
    for lines, share in zip(cells, widths, strict=True):
        for k, line in enumerate(lines):
            _write(page, y + LEADING * size * k, line, size, COLOR.muted if head else COLOR.ink, x=x)
        x += share * room
    under = 1 - (y + LEADING * size * max(len(lines) for lines in cells) + 0.04) / SIZE[1]
    ends = [MARGIN / SIZE[0], 1 - MARGIN / SIZE[0]]
    page.add_artist(Line2D(ends, [under, under], color=COLOR.hairline, linewidth=0.75))


def shares(rows: Sequence[Sequence[str]], room: float, size: float) -> list[float]:
    """Return the widths of a table's columns as shares that sum to 1: each holds its longest word, and what is left of
    `room` (inches, for a font of `size` points) goes to those with long cells."""
    if not rows:
        return []
    columns = list(zip(*rows, strict=True))
    letter = WIDE_LETTER * size / 72
    words = [max(span_of(word) * (1 if k else BOLD) for k, cell in enumerate(column) for word in cell.split() or [""])
             for column in columns]  # fmt: skip
    least = [letter * min(longest, MOST_WORD) + PADDING for longest in words]
    wanted = [letter * min(max(map(span_of, column)), MOST_COLUMN) + PADDING for column in columns]
    more = [max(whole - word, 0.0) for whole, word in zip(wanted, least, strict=True)]
    left = max(room - sum(least), 0.0)
    used = min(left, sum(more))  # what nobody needs is for all
    given = [word + (used * extra / sum(more) if sum(more) else 0.0) + (left - used) / len(more)
             for word, extra in zip(least, more, strict=True)]  # fmt: skip
    return [width / sum(given) for width in given]
