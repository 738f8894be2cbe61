"""House templates: slides take their look, and a file that cannot be one is refused in a sentence."""

from __future__ import annotations

import io
import zipfile

import pytest
from lxml import etree
from pptx import Presentation
from pptx.util import Inches

from gamcore.viz import files as export
from gamcore.viz.files import pptx_template
from gamcore.viz.files.parts import KeyFigure, Report, ReportPart
from gamcore.viz.files.pptx_template import TemplateError, checked
from shapewise.reports import recipes, templates
from shapewise.reports.review import review_of
from shapewise.store.workspace import StoreError
from tests.support import kinds


def saved(show):
    made = io.BytesIO()
    show.save(made)
    return made.getvalue()


def house(width=10.0, height=5.625):
    """A template with a slide of its own and a size unlike ours."""
    show = Presentation()
    show.slide_width, show.slide_height = Inches(width), Inches(height)
    for layout in show.slide_layouts:
        for place in layout.placeholders:
            if place.placeholder_format.idx == 0:
                place.left, place.top, place.width, place.height = (Inches(x) for x in (0.7, 0.2, width - 1.4, 0.9))
    show.slides.add_slide(show.slide_layouts[0]).shapes.title.text = "A slide of theirs"
    return saved(show)


def changed(data, change):
    """The same archive with its parts changed. change : maps a name and its content to a content, or None."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in archive.namelist():
            copy.writestr(name, change(name, archive.read(name)))
    return made.getvalue()


def with_part(data, name, content):
    made = io.BytesIO(data)
    with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return made.getvalue()


def report(template, brief=True):
    every = kinds.every()
    parts = (
        ReportPart("Decide " * 12, figures=[KeyFigure("+1,240", "800 to 1,700", "more")], lines=[("Risk", "None")]),
        ReportPart(plot=every["curve of 0"], text=["beside"]),
        ReportPart("Table", table=[["Strategy", "n"], *([f"A{k}", "1"] for k in range(40))]),
    )
    return Report("Title", "", parts, about="foot", brief=brief, template=template)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(10.0, 5.625), (10.0, 7.5), (13.333, 7.5), (20.0, 11.25)])
def test_slides_take_the_size_the_layout_and_the_colours_of_a_template(size):
    deck = Presentation(io.BytesIO(export.to_report(report(checked(house(*size))), "pptx")))
    assert deck.slide_width == Inches(size[0])
    assert [slide.slide_layout.name for slide in deck.slides] == ["Title Only"] * 3
    for slide in deck.slides:
        title = slide.shapes.title
        assert not title._element.findall(".//{*}xfrm")  # where the layout has it
        for shape in slide.shapes:
            assert shape.left >= 0
            assert shape.left + shape.width <= deck.slide_width + 10
            assert shape.top + shape.height <= deck.slide_height + 10
            if shape is not title and not shape.is_placeholder:
                assert shape.top >= title.top + title.height - 10
        colours = etree.tostring(slide._element).decode()
        assert "1F5FA8" not in colours
        assert "17212B" not in colours
    assert any("accent1" in etree.tostring(shape.chart._chartSpace).decode()
               for slide in deck.slides for shape in slide.shapes if shape.has_chart)  # fmt: skip
    text = " ".join(shape.text_frame.text for slide in deck.slides for shape in slide.shapes if shape.has_text_frame)
    assert "+1,240" in text
    assert "theirs" not in text


def test_a_potx_is_a_template_too():
    kind = pptx_template.TYPE
    potx = changed(house(), lambda name, content: content.replace(kind % b"presentation", kind % b"template"))
    assert Presentation(io.BytesIO(checked(potx))).slide_width == Inches(10)


@pytest.mark.slow
def test_without_a_cover_for_a_director_and_with_one_for_others():
    deck = Presentation(io.BytesIO(export.to_report(report(checked(house()), brief=False), "pptx")))
    assert deck.slides[0].shapes.title.text == "Title"
    assert len(deck.slides) > 4


LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + k, b"&%c;" % (97 + k) * 10) for k in range(9)) + b"]>"  # fmt: skip


def no_titles(name, content):
    return content.replace(b'type="title"', b'type="body"').replace(b'type="ctrTitle"', b'type="body"') \
        if "slideLayout" in name else content  # fmt: skip


def laughing(name, content):
    if name != "ppt/presentation.xml":
        return content
    return LAUGHS + content.split(b"?>", 1)[1].replace(b"</p:presentation>", b"<p:x>&j;</p:x></p:presentation>")


HOSTILE = {
    "no zip": (lambda: b"hello", "not a PowerPoint file"),
    "empty": (lambda: b"", "not a PowerPoint file"),
    "cut": (lambda: house()[:20_000], "not a PowerPoint file"),
    "another zip": (lambda: with_part(b"", "a.txt", b"x"), "not a PowerPoint file"),
    "macros": (lambda: with_part(house(), "ppt/vbaProject.bin", b"x"), "macros"),
    "bomb": (lambda: with_part(house(), "ppt/media/a.png", bytes(101 * 2**20)), "too large once unpacked"),
    "XML bomb": (lambda: with_part(house(), "ppt/a.xml", b" " * (31 * 2**20)), "too large once unpacked"),
    "many": (lambda: with_many(house()), "too large once unpacked"),
    "upright": (lambda: house(7.5, 10.0), "upright"),
    "tiny": (lambda: house(2.0, 1.0), "odd size"),
    "no titles": (lambda: changed(house(), no_titles), "no layout with a title"),
    "broken": (lambda: changed(house(), lambda name, content: content[:-40]), "cannot be read"),
}  # fmt: skip


def with_many(data):
    made = io.BytesIO(data)
    with zipfile.ZipFile(made, "a") as archive:
        for k in range(3_001):
            archive.writestr(f"ppt/{k}.bin", b"")
    return made.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_a_template_is_refused_in_a_sentence(name):
    make, why = HOSTILE[name]
    with pytest.raises(TemplateError, match=why) as refused:
        checked(make())
    assert len(str(refused.value)) < 120


def test_entities_are_not_expanded():
    try:
        made = checked(changed(house(), laughing))
    except TemplateError:
        return
    assert len(made) < 200_000


@pytest.mark.slow
def test_a_template_is_kept_used_and_missed(acted):
    space, _, board = acted
    with pytest.raises(StoreError, match=r"choose a \.pptx or \.potx"):
        templates.add(space, "macro.pptm", house())
    with pytest.raises(StoreError, match="not a PowerPoint file"):
        templates.add(space, "house.pptx", b"no")
    assert templates.templates(space) == []
    kept = templates.add(space, "house.pptx", house())
    assert [one.name for one in templates.templates(space)] == ["house"]
    assert not list(space.root.glob(".*.tmp"))
    model = board.read().strategies[0].model
    recipe = recipes.Recipe("", "R", "", (recipes.ReportItem("who"),), board=board.id, template=kept.id)
    deck = Presentation(io.BytesIO(export.to_report(review_of(space, recipe, model), "pptx")))
    assert deck.slide_width == Inches(10)
    space.delete(templates.KIND, kept.id)
    plain = review_of(space, recipe, model)
    assert plain.template == b""
    assert "House template: There is no such template" in " ".join(plain.every[-1].text)
