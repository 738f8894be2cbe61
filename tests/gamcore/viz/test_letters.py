"""Letters of the world in files: each is drawn by a font that has it and goes with the file, or a sentence says that
none has it. All of it holds on machines with and without fonts for a script: where a font is needed, one is made here.
"""

from __future__ import annotations

import io
import re
import unicodedata

import numpy as np
import pandas as pd
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure
from pypdf import PdfReader

from gamcore.data.labels import cut_apart
from gamcore.explain import plots as explain_plots
from gamcore.viz.files import letters, to_bytes, to_report
from gamcore.viz.files.measure import wide
from gamcore.viz.files.mpl_picture import house
from gamcore.viz.files.parts import Report, ReportPart
from gamcore.viz.palette import shorten
from tests.support.scripts import SCRIPTS

KHMER = SCRIPTS["Khmer"]
HAVE_NONE = "No font on the machine that made this has its letters of"


def plot(*names):
    return explain_plots.similarity(pd.DataFrame(np.eye(len(names)) - 0.3, index=names, columns=names))


def written(kind, made):
    """Return the text of a file and the names of its fonts."""
    if kind != "pdf":
        text = made.decode()
        return text, re.findall(r"@font-face\{font-family:'([^']+)'", text)
    pages = PdfReader(io.BytesIO(made)).pages
    fonts = [str(font.get_object()["/BaseFont"]) for page in pages for font in page["/Resources"]["/Font"].values()]
    return " ".join(page.extract_text() for page in pages), fonts


@pytest.fixture
def installed(monkeypatch):
    """Return a function that sets which fonts the machine has beside matplotlib's."""

    def forget():
        letters._installed.cache_clear()
        letters._chosen.cache_clear()

    def put(*paths):
        monkeypatch.setattr(letters, "findSystemFonts", lambda: [*map(str, paths)])
        forget()

    yield put
    forget()


def font_of(path, text, *, permissions=0, postscript=False):
    """Write a font that has the letters of a text."""
    names = {ord(letter): f"u{ord(letter):X}" for letter in set(text)}
    order = [".notdef", *names.values()]
    made = FontBuilder(1000, isTTF=not postscript)
    made.setupGlyphOrder(order)
    made.setupCharacterMap(names)
    if postscript:
        from fontTools.pens.t2CharStringPen import T2CharStringPen

        pens = {name: T2CharStringPen(600, None) for name in order}
    else:
        pens = {name: TTGlyphPen(None) for name in order}
    for pen in pens.values():
        pen.moveTo((0, 0))
        for corner in ((500, 0), (500, 700), (0, 700)):
            pen.lineTo(corner)
        pen.closePath()
    if postscript:
        made.setupCFF("Testing", {}, {name: pen.getCharString() for name, pen in pens.items()}, {})
    else:
        made.setupGlyf({name: pen.glyph() for name, pen in pens.items()})
    made.setupHorizontalMetrics(dict.fromkeys(order, (600, 0)))
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": path.stem, "styleName": "Regular", "psName": path.stem.replace(" ", "")})
    made.setupOS2(sTypoAscender=800, usWeightClass=400, fsType=permissions)
    made.setupPost()
    made.save(path)
    return path


@pytest.mark.one_in(4)
@pytest.mark.parametrize("script", SCRIPTS)
def test_no_letter_is_a_box_unless_a_sentence_says_so(script):
    name, drawn = SCRIPTS[script], io.BytesIO()
    with house(letters.letters_of(name)):
        figure = Figure()
        figure.text(0, 0.5, name)
        figure.savefig(drawn, format="pdf")
    _, fonts = written("pdf", drawn.getvalue())
    assert any("LastResort" in font for font in fonts) == bool(letters.lacking(letters.letters_of(name)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["pdf", "svg", "html"])
def test_a_font_of_the_machine_goes_with_the_file(kind, installed, tmp_path):
    installed(font_of(tmp_path / "Testing Khmer.ttf", KHMER))
    text, fonts = written(kind, to_bytes(plot(KHMER, "b"), kind))
    assert any("TestingKhmer" in font.replace(" ", "") for font in fonts)
    assert HAVE_NONE not in text
    if kind == "svg":  # only the letters that are used
        assert len(text) < 80_000


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["pdf", "svg", "html"])
def test_where_no_font_has_a_letter_every_file_names_the_script_and_what_to_install(kind, installed):
    installed()
    text, _ = written(kind, to_bytes(plot(KHMER, "b"), kind))
    text = re.sub(r"(<[^>]*>|\s)+", " ", text)
    assert f"{HAVE_NONE} Khmer: install one there, such as a Noto font" in text
    report = Report("Title", "", (ReportPart("Part", [KHMER]), ReportPart(plot=plot("a", "b"))))
    if kind != "svg":
        assert written(kind, to_report(report, kind))[0].count("No font on the") == 1


def test_names_are_cut_between_letters_not_between_a_letter_and_its_marks():
    for name in SCRIPTS.values():
        for most in range(8, 20):
            shown = [shorten(f"{name} {name}", 40), *cut_apart([name + "a", name + "b"], most)]
            assert not [text for text in shown if unicodedata.category(f"{text}a"[text.find("…") + 1])[0] == "M"]


def test_a_font_that_forbids_it_is_in_no_file(installed, tmp_path):
    installed(font_of(tmp_path / "Forbidden.ttf", KHMER, permissions=2))
    assert "Khmer" in letters.lacking(letters.letters_of(KHMER))


def test_letters_of_one_script_come_from_one_font_and_its_own_first(installed, tmp_path):
    others = "".join(map(chr, range(0x1F00, 0x1FFF)))  # a large font that has some letters of the script, too
    installed(font_of(tmp_path / "A Large.ttf", others + KHMER[:4] + "字"), font_of(tmp_path / "Own.ttf", KHMER))
    assert letters.families(letters.letters_of(KHMER)) == ["Own"]
    assert letters.families(letters.letters_of(KHMER + "字")) == ["Own", "A Large"]


def test_postscript_outlines_are_drawn_in_a_pdf_since_it_cannot_hold_them_as_truetype(installed, tmp_path):
    installed(font_of(tmp_path / "Outlines.otf", KHMER, postscript=True))
    made = PdfReader(io.BytesIO(to_bytes(plot(KHMER, "b"), "pdf"))).pages[0]
    kinds = {
        str(font.get_object()["/BaseFont"]): font.get_object()["/Subtype"]
        for font in made["/Resources"]["/Font"].values()
    }
    assert next(kind for name, kind in kinds.items() if "Outlines" in name) == "/Type3"


def test_lines_of_wide_letters_are_as_long_as_lines_of_others():
    rng = np.random.default_rng(0)
    pool = [*"ab, -", *SCRIPTS["Han"], *SCRIPTS["Hangul"], *KHMER]
    for _ in range(200):
        text = "".join(rng.choice(pool, rng.integers(1, 80)))
        width = int(rng.integers(4, 30))
        lines = letters.wrap(text, width)
        assert max((letters.span_of(line) for line in lines), default=0) <= width
        assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
    assert wide("字" * 10, 10) == pytest.approx(10 * 10 / 72, rel=0.05)  # a letter is as wide as it is high


def test_the_house_font_has_what_latin_greek_and_cyrillic_need():
    for weight in letters.FILES.values():
        codes = TTFont(weight).getBestCmap()
        assert not [c for name in ("Greek", "Cyrillic", "Vietnamese") for c in SCRIPTS[name] if ord(c) not in codes]
