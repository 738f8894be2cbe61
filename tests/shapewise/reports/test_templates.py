"""House templates: slides take their look, and a file that cannot be one is refused in a sentence."""

from __future__ import annotations

import base64
import errno
import io
import zipfile
from pathlib import Path

import pytest
from lxml import etree
from pptx import Presentation
from pptx.util import Inches

from gamcore.viz import files as export
from gamcore.viz.files import pptx_package
from gamcore.viz.files.parts import KeyFigure, Report, ReportPart
from gamcore.viz.files.pptx_package import TemplateError
from gamcore.viz.files.pptx_template import checked
from shapewise.errors import FullError
from shapewise.reports import recipes, templates
from shapewise.reports.review import review_of
from shapewise.store.workspace import StoreError
from tests.support import kinds
from tests.support.gears import mostly_slow


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
    wanted = pptx_package.PRESENTATION.replace(b"presentation.main", b"template.main")
    potx = changed(house(), lambda name, content: content.replace(pptx_package.PRESENTATION, wanted))
    assert potx != house()
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
    "XML bomb": (lambda: with_part(house(), "ppt/a.xml", b" " * (11 * 2**20)), "too large once unpacked"),
    "XML bomb by another name": (lambda: with_part(house(), "ppt/a.bin", b" " * (11 * 2**20)), "too large once"),
    "XML bomb, in parts": (lambda: with_part(with_part(house(), "a.png", bytes(6 * 2**20)), "b", bytes(5 * 2**20)),
                           "too large once"),
    "links": (lambda: with_links(house(), LINK % (b"x", b"../presentation.xml", b"") , 3_001), "too many links"),
    "many": (lambda: with_many(house()), "too large once unpacked"),
    "upright": (lambda: house(7.5, 10.0), "upright"),
    "tiny": (lambda: house(2.0, 1.0), "odd size"),
    "no titles": (lambda: changed(house(), no_titles), "no layout with a title"),
    "broken": (lambda: changed(house(), lambda name, content: content[:-40]), "cannot be read"),
}  # fmt: skip


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
LINK = (b'<Relationship Id="rIdx%%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" '
        b'Target="%s"%s/>')  # fmt: skip
LAYOUT = "ppt/slideLayouts/slideLayout6.xml"
RELATIONS = "ppt/slideLayouts/_rels/slideLayout6.xml.rels"


def with_links(data, link, n=1, of=RELATIONS):
    links = b"".join(link % k for k in range(n))
    return changed(data, lambda name, content: content.replace(b"</Relationships>", links + b"</Relationships>")
                   if name == of else content)  # fmt: skip


def with_type(data, name, kind):
    """Say in a file's list of types what a part is."""
    said = f'<Override PartName="/{name}" ContentType="{kind}"/></Types>'.encode()
    return changed(data, lambda one, content: content.replace(b"</Types>", said)
                   if one == "[Content_Types].xml" else content)  # fmt: skip


def content_of(data):
    """All that a file holds, unpacked, in lower case."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return b"\n".join(name.encode() + b"\n" + archive.read(name) for name in archive.namelist()).lower()


PICTURE = b'<p:pic><p:nvPicPr><p:cNvPr id="77" name="x"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill><a:blip %s/>' \
          b"</p:blipFill><p:spPr/></p:pic></p:spTree>"  # fmt: skip
ELSEWHERE = [
    b"http://127.0.0.1:18799/track.png", b"file:///\\\\evil\\share\\x", b"\\\\evil\\share", b"../../../etc/evil",
    b"mailto:evil@x.org",
]  # fmt: skip


@pytest.mark.parametrize("target", ELSEWHERE)
@pytest.mark.parametrize(
    "kind", mostly_slow([b"image", b"oleObject", b"hyperlink", b"slideLayout", b"attachedTemplate"], 1)
)
def test_nothing_of_a_template_leads_elsewhere(kind, target):
    data = with_links(house(), LINK % (kind, target, b' TargetMode="External"'))
    shown = PICTURE % b'r:link="rIdx0"'
    data = changed(data, lambda name, content: content.replace(b"</p:spTree>", shown) if name == LAYOUT else content)
    made = checked(data)
    held = content_of(made)
    assert b"external" not in held
    assert target.lower() not in held
    assert b"ridx0" not in held
    assert [layout.name for layout in Presentation(io.BytesIO(made)).slide_layouts]


CODE = {
    "application/vnd.ms-office.vbaProject": b"vbaProject", "application/vnd.ms-office.activeX+xml": b"control",
    "application/vnd.openxmlformats-officedocument.oleObject": b"oleObject",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": b"package",
    "application/vnd.openxmlformats-officedocument.package": b"package", "application/x-msdownload": b"image",
    "application/vnd.ms-word.document.macroEnabled.12": b"package", "image/svg+xml": b"image", "text/html": b"image",
    "application/vnd.ms-office.activeX": b"activeXControlBinary", "application/xml": b"extensibility",
}  # fmt: skip


@pytest.mark.parametrize("name", ["ppt/foo.dat", "ppt/foo.xml", "ppt/media/foo.png", "ppt/slideLayouts/foo.bin"])
@pytest.mark.parametrize("kind", mostly_slow(list(CODE), 2))
def test_code_and_files_in_a_template_stay_behind_whatever_they_are_called(kind, name):
    data = with_type(with_part(house(), name, b"what may run"), name, kind)
    data = with_links(data, LINK % (CODE[kind], b"/" + name.encode(), b""))
    shown = b'<p:controls><p:control r:id="rIdx0"/></p:controls></p:cSld>'
    data = changed(data, lambda one, content: content.replace(b"</p:cSld>", shown) if one == LAYOUT else content)
    held = content_of(checked(data))
    assert b"what may run" not in held
    assert b"ridx0" not in held
    assert kind.lower().encode() not in held or kind == "application/xml"


def test_many_links_and_comments_between_them_change_nothing():
    link = LINK % (b"image", b"http://evil", b' TargetMode="External"')
    data = with_links(house(), b"<!-- beside -->" + link, 50)
    held = content_of(checked(data))
    assert b"evil" not in held
    assert b"ridx" not in held


def test_a_picture_of_a_template_stays():
    data = with_part(house(), "ppt/media/logo.png", PNG)
    data = with_links(data, LINK % (b"image", b"../media/logo.png", b""))
    shown = PICTURE % b'r:embed="rIdx0"'
    data = with_type(data, "ppt/media/logo.png", "image/png")
    made = checked(
        changed(data, lambda name, content: content.replace(b"</p:spTree>", shown) if name == LAYOUT else content)
    )
    layout = next(one for one in Presentation(io.BytesIO(made)).slide_layouts if one.name == "Title Only")
    assert [shape.image.blob for shape in layout.shapes if shape.shape_type == 13] == [PNG]


@pytest.mark.slow
def test_a_template_that_takes_too_much_memory_or_time_is_ended(acted, monkeypatch):
    space = acted[0]
    before = len(templates.templates(space))
    for limit, least, words in (("MEMORY", 2**20, "MiB of memory"), ("SECONDS", 0, "seconds")):
        with monkeypatch.context() as small:
            small.setattr(templates, limit, least)
            with pytest.raises(StoreError, match=words):
                templates.add(space, "house.pptx", house())
    assert len(templates.templates(space)) == before
    assert not list(space.root.glob(".*.tmp"))


def test_a_full_disk_is_not_blamed_on_the_template(acted, monkeypatch):
    """Wherever the disk is full: when the file is handed on, when it is read, and when it is kept."""
    space = acted[0]
    real = Path.write_bytes

    def full(path, data):
        if path.name == templates.GIVEN:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FullError, match="disk of the workspace is full"):
        templates.add(space, "house.pptx", house())


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
