"""House templates: a deck is drawn as it always is, then put into somebody's own PPTX.

Slides are drawn on a canvas of at least 13.33 x 7.5 inches, between the title and the footer of the template's
title-only layout. Afterwards `put_into` scales what was drawn to the slide, and replaces the house colours by those of
the theme. Fonts are the theme's anyway, since nothing names one.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, Final

from lxml import etree
from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.oxml.ns import qn

from gamcore.viz.files.pptx_package import TemplateError, without_code
from gamcore.viz.palette import PALETTES, rgb

MOST_BYTES: Final = 20 * 2**20
"""Most bytes of a template as a file."""

CANVAS: Final = (13.333, 7.5)
EMU: Final = 914_400
SIDES: Final = (4.0, 60.0)
"""Least and largest side of a slide, inches."""
TITLES: Final = (PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE)
FEET: Final = (PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.SLIDE_NUMBER)


@dataclass(frozen=True)
class TitleLayout:
    """The layout that slides take, and where a slide's content goes: left, top, width and bottom in inches of the
    canvas. scale : inches of the slide per inch of the canvas. size : of the title, points of the canvas; high : its
    height."""

    layout: Any
    left: float
    top: float
    width: float
    bottom: float
    scale: float
    size: float
    high: float


def checked(data: bytes) -> bytes:
    """Return a template without its slides, ready to be drawn into; TemplateError if it cannot be one.

    Run it in a process of its own: the file may be hostile."""
    if len(data) > MOST_BYTES:
        raise TemplateError(f"The template has more than {MOST_BYTES >> 20} MB: remove pictures, or compress them.")
    show = _opened(without_code(data))
    title_layout(show)
    _emptied(show)
    buffer = io.BytesIO()
    show.save(buffer)
    return buffer.getvalue()


def _opened(data: bytes) -> Any:
    try:
        return Presentation(io.BytesIO(data))
    except Exception as error:  # python-pptx raises whatever a wrong file makes it stumble over
        raise TemplateError("The template cannot be read: open it in PowerPoint and save it again.") from error


def title_layout(show: Any) -> TitleLayout:
    """Return the layout of a presentation with a title and the fewest other places; TemplateError if none has a title
    in its upper half."""
    wide, high = (side / EMU for side in (show.slide_width or 0, show.slide_height or 0))
    if not SIDES[0] <= min(wide, high) <= max(wide, high) <= SIDES[1] or high > wide:
        raise TemplateError("The template's slides are upright, or have an odd size: use one with wide slides.")
    scale = min(wide / CANVAS[0], high / CANVAS[1])
    usable = []
    for layout in show.slide_layouts:
        places = list(layout.placeholders)
        titles = [place for place in places if place.placeholder_format.type in TITLES]
        if len(titles) == 1 and titles[0].height and titles[0].top + titles[0].height < 0.45 * high * EMU:
            usable.append((sum(place.placeholder_format.type not in FEET for place in places), layout, titles[0]))
    if not usable:
        raise TemplateError("The template has no layout with a title at the top: add one called “Title Only”.")
    _, layout, title = min(usable, key=lambda candidate: candidate[0])
    unit = EMU * scale
    feet = [place.top for place in layout.placeholders
            if place.placeholder_format.type in FEET and place.top and place.top > 0.75 * high * EMU]  # fmt: skip
    bottom = min([*feet, int(0.96 * high * EMU)]) / unit
    top = (title.top + title.height) / unit
    return TitleLayout(layout, title.left / unit, top=top, width=title.width / unit, bottom=bottom, scale=scale,
                       size=_title_size(title, layout) / scale, high=title.height / unit)  # fmt: skip


def _title_size(title: Any, layout: Any) -> float:
    """Return the font size of a layout's title, in points."""
    places = [title._element, layout.slide_master._element.find(f".//{qn('p:titleStyle')}")]
    for place in places:
        sizes = [node.get("sz") for node in place.iter(qn("a:defRPr")) if node.get("sz")] if place is not None else []
        if sizes:
            return float(sizes[0]) / 100
    return 44.0


def _emptied(show: Any) -> None:
    """Remove all slides, and what lists them: a list of slides that are gone makes PowerPoint repair the file."""
    listed = show.slides._sldIdLst
    for slide in list(listed):
        show.part.drop_rel(slide.rId)
        listed.remove(slide)
    root = show.part._element
    for name in ("p:custShowLst", "p:extLst"):
        for node in root.findall(qn(name)):
            root.remove(node)


THEME: Final = {
    "ink": ("tx1", 1.0), "muted": ("tx1", 0.75), "hairline": ("tx1", 0.15), "zero": ("tx1", 0.5), "few": ("tx1", 0.4),
    "density": ("tx1", 0.25), "primary": ("accent1", 1.0), "accent": ("accent2", 1.0), "background": ("bg1", 1.0),
}  # fmt: skip
"""What stands for the house colours: a colour of the theme and its opacity, since a background may be dark."""
STEPS: Final = 100


def _colours() -> dict[str, tuple[str, float]]:
    """Return the theme's colour for each house colour, at each opacity over white."""
    house, known = PALETTES["light"], {}
    for role in ("accent", "primary"):
        for k in range(5, STEPS):
            mixed = "".join(f"{round(255 - k / STEPS * (255 - part)):02X}" for part in rgb(getattr(house, role)))
            known[mixed] = THEME[role][0], k / STEPS
    return known | {getattr(house, role)[1:].upper(): colour for role, colour in THEME.items()}


def put_into(show: Any, scale: float) -> None:
    """Scale and recolour what was drawn on the slides of a presentation. Placeholders stay as their layout has them."""
    colours = _colours()
    for slide in show.slides:
        for shape in slide.shapes:
            trees = [shape._element] + ([shape.chart._chartSpace] if getattr(shape, "has_chart", False) else [])
            for tree in trees:
                _recolour(tree, colours)
                if not shape.is_placeholder and abs(scale - 1) > 1e-3:
                    _rescale(tree, scale)


def _recolour(tree: Any, colours: dict[str, tuple[str, float]]) -> None:
    for node in list(tree.iter(qn("a:srgbClr"))):
        of_theme = colours.get(node.get("val", "").upper())
        if of_theme is None:
            continue
        drawn = etree.Element(qn("a:schemeClr"), val=of_theme[0])
        if of_theme[1] < 1:
            etree.SubElement(drawn, qn("a:alpha"), val=str(round(100_000 * of_theme[1])))
        node.getparent().replace(node, drawn)


LENGTHS: Final = {
    "off": ("x", "y"), "ext": ("cx", "cy"), "gridCol": ("w",), "tr": ("h",), "rPr": ("sz",), "defRPr": ("sz",),
    "endParaRPr": ("sz",), "tcPr": ("marL", "marR", "marT", "marB"), "bodyPr": ("lIns", "rIns", "tIns", "bIns"),
    "spcPts": ("val",),
}  # fmt: skip
"""Attributes that are lengths, by the element that has them."""


def _rescale(tree: Any, scale: float) -> None:
    for node in tree.iter(etree.Element):
        for name in LENGTHS.get(etree.QName(node).localname, ()):
            if (value := node.get(name)) is not None and value.lstrip("-").isdigit():
                least = 100 if name == "sz" else 0
                node.set(name, str(max(round(int(value) * scale), least)))
