"""Plots as slides with native, editable charts: curves as XY charts, levels as bars.

A slide is 13.33 x 7.5 inches: the takeaway as its title, the chart, and the model in the footer. Every panel of a plot
is its own chart with a fixed inner area, so that a strip of row counts is aligned with the curve above it.
"""

from __future__ import annotations

import io
from typing import Any, Final

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE, PP_ALIGN
from pptx.util import Emu, Inches, Pt

from gamcore.viz.files.mpl_picture import picture
from gamcore.viz.files.pptx_charts import Box, add_chart, add_table, can_chart
from gamcore.viz.plots.palette import PALETTES, clean, cut
from gamcore.viz.plots.spec import Plot

WIDTH, HEIGHT, MARGIN = 13.333, 7.5, 0.6
TOP, FOOT = 1.55, 6.95
"""Tops of the chart and of the footer, inches from the top of the slide."""
COLOR: Final = PALETTES["light"]
MOST_TITLE: Final = 140
MOST_PROPERTY: Final = 250
"""Most characters of a document property."""


def to_slide(plot: Plot, about: str = "") -> bytes:
    """Return a plot as a deck of one slide."""
    deck = new_deck(plot.title, about)
    add_plot(deck, plot, about)
    return saved(deck)


def new_deck(title: str, about: str = "") -> Any:
    """Return an empty deck of the house slide size."""
    deck = Presentation()
    deck.slide_width, deck.slide_height = Inches(WIDTH), Inches(HEIGHT)
    properties = deck.core_properties
    properties.title, properties.author, properties.subject = (
        clean(cut(title, MOST_PROPERTY)),
        "Shapewise",
        "Strategy review",
    )
    properties.comments = clean(cut(about, MOST_PROPERTY))
    return deck


def saved(deck: Any) -> bytes:
    """Return a deck as a file's bytes."""
    made = io.BytesIO()
    deck.save(made)
    return made.getvalue()


def add_plot(deck: Any, plot: Plot, about: str = "", comment: str = "") -> Any:
    """Add and return a slide of a plot: title, detail, chart, a comment beside it, and the footer."""
    slide = titled(deck, plot.title, plot.detail)
    wide = WIDTH - 2 * MARGIN
    if comment:
        wide -= 3.4
        write(slide, Box(WIDTH - MARGIN - 3.2, TOP + 0.1, 3.2, FOOT - TOP - 0.3), comment, 14)
    box = Box(MARGIN, TOP, wide, FOOT - TOP - 0.15)
    shapes = _draw(slide, plot, box)
    for shape in shapes:
        describe_shape(shape, plot.words)
    foot(slide, about)
    notes = slide.notes_slide.notes_text_frame
    notes.text = clean("\n".join(part for part in (plot.words, comment, about) if part))
    return slide


def _draw(slide: Any, plot: Plot, box: Box) -> list[Any]:
    """Draw native charts if possible, else a picture beside a table of the largest scores; return the shapes."""
    if can_chart(plot):
        return add_chart(slide, plot, box)
    wide = 0.66 * box.width
    made = io.BytesIO(picture(plot.bare(), "png"))
    drawn = slide.shapes.add_picture(made, Inches(box.left), Inches(box.top), width=Inches(wide))
    if drawn.height > Inches(box.height):
        drawn.width = Emu(int(drawn.width * Inches(box.height) / drawn.height))
        drawn.height = Inches(box.height)
    left = box.left + wide + 0.25
    return [drawn, add_table(slide, plot, Box(left, box.top + 0.1, box.left + box.width - left, box.height))]


def titled(deck: Any, title: str, detail: str = "") -> Any:
    """Add and return a slide with a title, and a grey line under it."""
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    place = slide.shapes.title
    place.left, place.top = Inches(MARGIN), Inches(0.4)
    place.width, place.height = Inches(WIDTH - 2 * MARGIN), Inches(0.75)
    frame = place.text_frame
    frame.text = clean(cut(title, MOST_TITLE))
    frame.word_wrap, frame.vertical_anchor, frame.auto_size = True, MSO_ANCHOR.BOTTOM, MSO_AUTO_SIZE.NONE
    frame.margin_left = frame.margin_right = 0
    style(frame, 24 if len(title) <= 70 else 20, COLOR.ink, bold=True)
    if detail:
        write(slide, Box(MARGIN, 1.14, WIDTH - 2 * MARGIN, 0.36), cut(detail, 190), 12, COLOR.muted)
    return slide


def foot(slide: Any, about: str) -> None:
    """Write the first line of `about` into a slide's footer."""
    line = about.split("\n")[0]
    if line:
        write(slide, Box(MARGIN, FOOT, WIDTH - 2 * MARGIN, 0.3), cut(line, 200), 9, COLOR.muted)


def write(slide: Any, box: Box, text: str, size: float, color: str = COLOR.ink, bold: bool = False) -> Any:
    """Write plain text into a box, one paragraph per line."""
    placed = slide.shapes.add_textbox(Inches(box.left), Inches(box.top), Inches(box.width), Inches(box.height))
    frame = placed.text_frame
    frame.word_wrap = True
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    frame.text = clean(text)
    style(frame, size, color, bold)
    return placed


def bar(slide: Any, box: Box, color: str) -> None:
    """Add a decorative bar of one colour."""
    drawn = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, Inches(box.left), Inches(box.top), Inches(box.width),
                                   Inches(box.height))  # fmt: skip
    drawn.fill.solid()
    drawn.fill.fore_color.rgb = RGBColor.from_string(color[1:])
    drawn.line.fill.background()


def style(frame: Any, size: float, color: str, bold: bool = False) -> None:
    """Set one size and colour for all of a text."""
    for paragraph in frame.paragraphs:
        paragraph.alignment = PP_ALIGN.LEFT
        paragraph.space_after = Pt(size / 3)
        for run in paragraph.runs:
            run.font.size, run.font.bold = Pt(size), bold
            run.font.color.rgb = RGBColor.from_string(color[1:])


def describe_shape(shape: Any, words: str) -> None:
    """Set the alternative text of a shape."""
    shape._element._nvXxPr.cNvPr.set("descr", clean(words)[:2_000])
