"""Plots as slides with native, editable charts: curves as XY charts, levels as bars.

A slide is 13.33 x 7.5 inches: the takeaway as its title, the chart, and the model in the footer. Every panel of a plot
is its own chart with a fixed inner area, so that a strip of row counts is aligned with the curve above it.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Any, Final

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE, PP_ALIGN
from pptx.util import Emu, Inches, Pt

from gamcore.data.labels import cut
from gamcore.viz.files.measure import fitted, fitting
from gamcore.viz.files.mpl_picture import picture
from gamcore.viz.files.pptx_charts import Box, add_chart, add_table, can_chart
from gamcore.viz.files.pptx_template import TitleLayout, put_into, title_layout
from gamcore.viz.palette import PALETTES, clean
from gamcore.viz.spec import Plot

WIDTH, HEIGHT, MARGIN = 13.333, 7.5, 0.6
TOP, FOOT = 1.55, 6.95
"""Tops of the chart and of the footer, inches from the top of the slide."""
COLOR: Final = PALETTES["light"]
DETAIL: Final = 0.41
"""Height of the grey line between a title and the chart, inches."""
MOST_TITLE: Final = 140
LEAST_TITLE: Final = 14
MOST_PROPERTY: Final = 250
"""Most characters of a document property."""


@dataclass(frozen=True)
class Deck:
    """A presentation under way. left, top, width, foot : where charts begin, how wide they are, and where the footer
    is, in inches of the canvas (see `pptx_template`). layout : of its slides. own : whether the look is the house's;
    else `title` is the template's."""

    show: Any
    layout: Any
    about: str = ""
    left: float = MARGIN
    top: float = TOP
    width: float = WIDTH - 2 * MARGIN
    foot: float = FOOT
    title: TitleLayout | None = None

    def saved(self) -> bytes:
        """Return the deck as a file's bytes."""
        if self.title is not None:
            put_into(self.show, self.title.scale)
        buffer = io.BytesIO()
        self.show.save(buffer)
        return buffer.getvalue()


def to_slide(plot: Plot, about: str = "") -> bytes:
    """Return a plot as a deck of one slide."""
    deck = new_deck(plot.title, about)
    add_plot(deck, plot)
    return deck.saved()


def new_deck(title: str, about: str = "", template: bytes = b"") -> Deck:
    """Return an empty deck of the house slide size, or in a template that `pptx_template.checked` returned."""
    show = Presentation(io.BytesIO(template)) if template else Presentation()
    properties = show.core_properties
    properties.title, properties.author, properties.subject = (
        clean(cut(title, MOST_PROPERTY)),
        "Shapewise",
        "Strategy review",
    )
    properties.comments = clean(cut(about, MOST_PROPERTY))
    if template:
        place = title_layout(show)
        return Deck(show, place.layout, about, place.left, top=place.top + DETAIL + 0.1, width=place.width,
                    foot=place.bottom - 0.3, title=place)  # fmt: skip
    show.slide_width, show.slide_height = Inches(WIDTH), Inches(HEIGHT)
    return Deck(show, show.slide_layouts[5], about)


def add_plot(deck: Deck, plot: Plot, comment: str = "", notes: str = "") -> Any:
    """Add and return a slide of a plot: title, detail, chart, a comment beside it, and the footer."""
    slide = titled(deck, plot.title, plot.detail)
    wide = deck.width
    if comment:
        wide -= 3.4
        write(slide, Box(deck.left + deck.width - 3.2, deck.top + 0.1, 3.2, deck.foot - deck.top - 0.3), comment, 14)
    box = Box(deck.left, deck.top, wide, deck.foot - deck.top - 0.15)
    shapes = _draw(slide, plot, box)
    for shape in shapes:
        describe_shape(shape, plot.words)
    foot(deck, slide)
    note(slide, "\n".join(part for part in (plot.words, notes or comment, deck.about) if part))
    return slide


def note(slide: Any, text: str) -> None:
    """Write a slide's notes."""
    slide.notes_slide.notes_text_frame.text = clean(text)


def _draw(slide: Any, plot: Plot, box: Box) -> list[Any]:
    """Draw native charts if possible, else a picture beside a table of the largest scores; return the shapes."""
    if can_chart(plot):
        return add_chart(slide, plot, box)
    wide = 0.66 * box.width
    image = io.BytesIO(picture(plot.bare(), "png"))
    drawn = slide.shapes.add_picture(image, Inches(box.left), Inches(box.top), width=Inches(wide))
    if drawn.height > Inches(box.height):
        drawn.width = Emu(int(drawn.width * Inches(box.height) / drawn.height))
        drawn.height = Inches(box.height)
    left = box.left + wide + 0.25
    return [drawn, add_table(slide, plot, Box(left, box.top + 0.1, box.left + box.width - left, box.height))]


def titled(deck: Deck, title: str, detail: str = "") -> Any:
    """Add and return a slide with a title, and a grey line under it."""
    slide = deck.show.slides.add_slide(deck.layout)
    place, words = slide.shapes.title, clean(cut(title, MOST_TITLE))
    place.text_frame.text = words
    if deck.title is None:
        _house_title(place, words)
    else:
        _shrink(place.text_frame, words, deck.title)
        for other in list(slide.placeholders):
            if other.placeholder_format.idx:  # an empty place would ask to be filled in
                other._element.getparent().remove(other._element)
    if detail:
        write(slide, Box(deck.left, deck.top - DETAIL, deck.width, 0.36), fitted(detail, 12, deck.width, 0.36), 12,
              COLOR.muted)  # fmt: skip
    return slide


def _house_title(place: Any, title: str) -> None:
    place.left, place.top = Inches(MARGIN), Inches(0.4)
    place.width, place.height = Inches(WIDTH - 2 * MARGIN), Inches(0.75)
    frame = place.text_frame
    frame.word_wrap, frame.vertical_anchor, frame.auto_size = True, MSO_ANCHOR.BOTTOM, MSO_AUTO_SIZE.NONE
    frame.margin_left = frame.margin_right = 0
    size = fitting(title, (24, 20, 18, 16, LEAST_TITLE), WIDTH - 2 * MARGIN, 0.72, bold=True)
    style(frame, size, COLOR.ink, bold=True)


def _shrink(frame: Any, title: str, place: TitleLayout) -> None:
    """Make a title smaller where the template's size does not hold it."""
    size = place.size
    while size > LEAST_TITLE and math.ceil(len(title) * 0.55 * size / 72 / place.width) * 1.2 * size / 72 > place.high:
        size -= 1
    if size < place.size:
        for run in frame.paragraphs[0].runs:
            run.font.size = Pt(round(size * place.scale))


def foot(deck: Deck, slide: Any) -> None:
    """Write the first line of what a deck is about into a slide's footer, and the slide's number."""
    line = deck.about.split("\n")[0]
    if line:
        write(slide, Box(deck.left, deck.foot, deck.width - 0.6, 0.3), fitted(line, 9, deck.width - 0.6, 0.2), 9,
              COLOR.muted)  # fmt: skip
    if deck.title is None:
        number = write(slide, Box(deck.left + deck.width - 0.5, deck.foot, 0.5, 0.3), str(len(deck.show.slides)), 9,
                       COLOR.muted)  # fmt: skip
        number.text_frame.paragraphs[0].alignment = PP_ALIGN.RIGHT


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
