"""How much room a text needs on a slide, in inches: in DejaVu Sans, which is wider than what PowerPoint uses, and is
what LibreOffice falls back to where the fonts of Office are not installed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from gamcore.viz.files.letters import span_of

LINE: Final = 1.2
"""Height of a line, in sizes of its letters."""
AFTER: Final = 1 / 3
"""Space below a paragraph, likewise."""
EM: Final = 100
SQUARE: Final = 0.4
"""What a letter of two columns takes beyond the font's box for a letter that it lacks, in sizes of letters."""


@cache
def _font(bold: bool) -> Any:
    import matplotlib
    from PIL import ImageFont

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), EM)


def wide(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a line. size : of its letters, in points."""
    square = span_of(text) - len(text)  # letters of Chinese, Japanese and Korean, which the font lacks
    return (float(_font(bold).getlength(text)) / EM + SQUARE * square) * size / 72


def lines(text: str, size: float, width: float, bold: bool = False) -> int:
    """Return how many lines a text takes that is wrapped between words."""
    n = 0
    for paragraph in text.split("\n"):
        n, left = n + 1, width
        for word in paragraph.split(" "):
            needed = wide(f"{word} ", size, bold)
            if needed > left and left < width:
                n, left = n + 1, width
            n += max(int((needed - 1e-9) // width), 0)  # a word that is longer than a line is broken
            left -= needed % width if needed > width else needed
    return n


def high(text: str, size: float, width: float, bold: bool = False) -> float:
    """Return the height of a text that is wrapped between words, with the space below its paragraphs."""
    return (LINE * lines(text, size, width, bold) + AFTER * (text.count("\n") + 1)) * size / 72


def fitting(text: str, sizes: Sequence[float], width: float, most: float, bold: bool = False) -> float:
    """Return the first of some sizes, the largest first, in which a text is at most so high; the last if none is."""
    return next((size for size in sizes if high(text, size, width, bold) <= most), sizes[-1])


def fitted(text: str, size: float, width: float, most: float, bold: bool = False) -> str:
    """Return a text cut between words so that it is at most so high."""
    if high(text, size, width, bold) <= most:
        return text
    words = text.split(" ")
    low, above = 1, len(words)
    while above - low > 1:
        middle = (low + above) // 2
        shorter = f"{' '.join(words[:middle])} …"
        low, above = (middle, above) if high(shorter, size, width, bold) <= most else (low, middle)
    return f"{' '.join(words[:low])} …"
