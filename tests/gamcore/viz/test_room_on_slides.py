"""No text of a slide runs out of its box, or into another, in the widest font that it may be shown in."""

from __future__ import annotations

import io
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import ImageFont
from pptx import Presentation
from pptx.util import Emu

from gamcore.viz.files.parts import KeyFigure, Report, ReportPart
from gamcore.viz.files.pptx_report import to_deck

WORDS = ["Womens", "E-Mail", "conversion", "of", "32,400", "(no currency given)", "measured", "+9.76 points", "among",
         "Donaudampfschifffahrt", "customers"]  # fmt: skip
SLACK = 0.02


def sentence(rng: np.random.Generator, n: int) -> str:
    return " ".join(rng.choice(WORDS, n))


def needed(text_frame, width: float) -> float:
    """Height of a text, its words put down one after the other."""
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


def boxes(slide) -> list[tuple[float, float, float, float]]:
    made = []
    for shape in slide.shapes:
        if shape.has_text_frame and shape.text_frame.text.strip():
            left, top, width, height = (
                Emu(value).inches for value in (shape.left, shape.top, shape.width, shape.height)
            )
            made.append((left, top, width, height))
            assert needed(shape.text_frame, width) <= height + SLACK, shape.text_frame.text
            assert top + height <= 7.5 + SLACK
            assert left + width <= 13.34
    return made


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("brief", [True, False])
def test_texts_stay_in_their_boxes_and_apart(seed, brief):
    rng = np.random.default_rng(seed)
    figures = [KeyFigure(sentence(rng, int(rng.integers(1, 5))), sentence(rng, int(rng.integers(2, 8))),
                         sentence(rng, int(rng.integers(2, 14)))) for _ in range(rng.integers(0, 4))]  # fmt: skip
    lines = [(sentence(rng, int(rng.integers(1, 4))), sentence(rng, int(rng.integers(1, 40))))
             for _ in range(rng.integers(0, 9))]  # fmt: skip
    text = [sentence(rng, int(rng.integers(1, 60))) for _ in range(rng.integers(0, 3))] if not lines else []
    part = ReportPart(sentence(rng, int(rng.integers(1, 24))), text, figures=figures, lines=lines)
    report = Report(sentence(rng, int(rng.integers(1, 20))), sentence(rng, 12), (part,),
                    about=sentence(rng, int(rng.integers(1, 60))), brief=brief)  # fmt: skip
    for slide in Presentation(io.BytesIO(to_deck(report))).slides:
        for (a, b, c, d), (e, f, g, h) in combinations(boxes(slide), 2):
            across = min(a + c, e + g) - max(a, e)
            down = min(b + d, f + h) - max(b, f)
            assert across <= SLACK or down <= SLACK
