"""Texts of slides measured: whether they stay in their boxes and apart, in the widest font they may be shown in."""

from __future__ import annotations

import io
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import matplotlib
from PIL import ImageFont
from pptx import Presentation
from pptx.util import Emu

SLACK: Final = 0.02


def _needed(text_frame: Any, width: float) -> float:
    """Return the height of a text, its words put down one after the other."""
    total = 0.0
    for paragraph in text_frame.paragraphs:
        text = "".join(run.text for run in paragraph.runs)
        if not paragraph.runs:
            continue
        font = paragraph.runs[0].font
        size, name = font.size.pt, "DejaVuSans-Bold" if font.bold else "DejaVuSans"
        drawn = ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts/ttf" / f"{name}.ttf"), 200)
        count, at = 1, 0.0
        for word in text.split(" "):
            length = drawn.getlength(word) / 200 * size / 72
            if at > 0 and at + length > width:
                count, at = count + 1, 0.0
            at += length + drawn.getlength(" ") / 200 * size / 72
        total += count * 1.2 * size / 72
    return total


def _boxes(slide: Any) -> list[tuple[float, float, float, float]]:
    """Return the boxes of a slide that hold text; AssertionError where one is too small, or beside the slide."""
    made = []
    for shape in slide.shapes:
        if shape.has_table:
            made.append(_box_of_table(shape))
        if shape.has_text_frame and shape.text_frame.text.strip():
            left, top, width, height = (
                Emu(value).inches for value in (shape.left, shape.top, shape.width, shape.height)
            )
            made.append((left, top, width, height))
            assert _needed(shape.text_frame, width) <= height + SLACK, shape.text_frame.text
            assert top + height <= 7.5 + SLACK
            assert left + width <= 13.34
    return made


def _box_of_table(shape: Any) -> tuple[float, float, float, float]:
    """Return the box that a table takes; AssertionError where its rows need more than they have, or leave the slide."""
    left, top, width = (Emu(value).inches for value in (shape.left, shape.top, shape.width))
    widths = [Emu(column.width).inches for column in shape.table.columns]
    high = 0.0
    for row in shape.table.rows:
        needed = max(_needed(cell.text_frame, wide - Emu(cell.margin_left + cell.margin_right).inches)
                     + Emu(cell.margin_top + cell.margin_bottom).inches
                     for cell, wide in zip(row.cells, widths, strict=True))  # fmt: skip
        assert needed <= Emu(row.height).inches + SLACK, [cell.text for cell in row.cells]
        high += max(needed, Emu(row.height).inches)
    assert top + high <= 7.5 + SLACK
    return left, top, width, high


def check_room(deck: bytes) -> None:
    """Raise AssertionError where a text of a deck, or a row of a table, runs out of its box, or into another."""
    for slide in Presentation(io.BytesIO(deck)).slides:
        for (a, b, c, d), (e, f, g, h) in combinations(_boxes(slide), 2):
            across = min(a + c, e + g) - max(a, e)
            down = min(b + d, f + h) - max(b, f)
            assert across <= SLACK or down <= SLACK
