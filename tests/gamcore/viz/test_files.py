"""Plots in every format, written and read back: the file says what the plot says, and data stay plain text. Pictures
are of the kinds that draw each mark in each of its ways, numbers and words of every kind."""

from __future__ import annotations

import csv
import io
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import openpyxl
import pandas as pd
import pytest
from PIL import Image
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE
from pypdf import PdfReader

from gamcore import GAMRegressor
from gamcore.common.numbers import tick
from gamcore.decide.rules import Range
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.viz import files as export
from gamcore.viz.files.mpl_picture import wrapped
from gamcore.viz.files.pptx_xml import END
from gamcore.viz.files.spreadsheets import sheet_names
from gamcore.viz.palette import clean
from gamcore.viz.spec import Axis, Bars, Cells, Panel, Plot, Steps
from tests.support import kinds
from tests.support.gears import mostly_slow
from tests.support.kinds import FEW, FOREIGN, FORMULA, JOBS, LONG, MARKUP

ABOUT = f"Model churn · table customers {MARKUP}\nseed 0\n{LONG}"  # longer than a property of a document may be
each_kind = pytest.mark.parametrize("kind", mostly_slow(FEW, 4))


def words_of(plot):
    """Return the short labels that a file must show: names of axes and levels, without special characters."""
    panel = plot.main
    named = [axis.title for axis in (panel.x, panel.y)] + [name for _, name in (panel.x.ticks or ())]
    return [word for word in named if re.fullmatch(r"[\w ,.%]{2,30}", word)]


def squeezed(text):
    return re.sub(r"\s+", "", text)


def test_few_kinds_draw_all_that_any_kind_draws():
    drawn = {kind: kinds.drawn_by(plot) for kind, plot in kinds.every().items()}
    assert set().union(*drawn.values()) == set().union(*(drawn[kind] for kind in FEW))
    for kind in FEW:
        others = set().union(*(drawn[other] for other in FEW if other != kind))
        assert drawn[kind] - others, kind  # none of them is there for nothing


@pytest.mark.one_in(2)
@each_kind
@pytest.mark.parametrize("mode", mostly_slow(["light", "dark"], 1))
def test_a_png_is_sharp_and_shows_something(kind, mode):
    plot = kinds.every()[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a letter that no font has, a layout that collapsed
        found = Image.open(io.BytesIO(export.to_bytes(plot, "png", ABOUT, mode)))
    assert found.width == 2 * (plot.width or 1000)
    assert found.text["Comment"].startswith("Model churn")
    pixels = np.asarray(found.convert("RGB")).astype(int)
    paper = pixels[0, 0]
    apart = np.abs(pixels - paper).max(axis=2)
    colored = (pixels.max(axis=2) - pixels.min(axis=2) > 25).mean()
    assert 0.001 < colored < 0.9
    text = apart[: found.height // 4, :] > 150 if not plot.small else apart > 150
    assert text.mean() > 0.001  # the title, dark on light or light on dark
    assert (apart > 12).mean() > 0.01


@pytest.mark.one_in(2)
@each_kind
def test_svg_and_pdf_are_text(kind):
    plot = kinds.every()[kind]
    svg = export.to_bytes(plot, "svg", ABOUT).decode()
    root = ElementTree.fromstring(svg)
    assert not {element.tag.rpartition("}")[2] for element in root.iter()} & {"script", "a", "foreignObject"}
    drawn = "".join(root.itertext())
    page = PdfReader(io.BytesIO(export.to_bytes(plot, "pdf", ABOUT)))
    told = page.pages[0].extract_text()
    assert page.metadata["/Title"] == clean(plot.title)
    assert any("ShapewiseSans" in str(font) for font in fonts(page.pages[0]))
    for word in words_of(plot):
        assert squeezed(word) in squeezed(drawn)
        assert squeezed(word) in squeezed(told), word


def pdf_text(file):
    return PdfReader(io.BytesIO(file)).pages[0].extract_text()


def fonts(page):
    return [font.get_object()["/BaseFont"] for font in page["/Resources"]["/Font"].values()]


@each_kind
def test_a_slide_holds_native_charts_of_the_same_numbers(kind):
    plot = kinds.every()[kind]
    deck = Presentation(io.BytesIO(export.to_bytes(plot, "pptx", ABOUT)))
    (slide,) = deck.slides
    assert slide.shapes.title.text.startswith(clean(plot.title)[:20])
    charts = [shape.chart for shape in slide.shapes if shape.has_chart]
    pictures = [shape for shape in slide.shapes if shape.shape_type == MSO_SHAPE_TYPE.PICTURE]
    tables = [shape.table for shape in slide.shapes if shape.has_table]
    for shape in slide.shapes:
        assert shape.left >= 0
        assert shape.left + shape.width <= deck.slide_width
        assert shape.top + shape.height <= deck.slide_height
    if any(isinstance(mark, Cells) for mark in plot.main.marks):
        assert len(pictures) == len(tables) == 1
        assert len(tables[0].rows) > 3
        return
    assert charts
    assert not pictures
    series: dict[str, list] = {}
    for chart in charts:
        for found in chart.plots[0].series:  # the pieces of a line with gaps
            series.setdefault(found.name.removesuffix(END), []).extend(found.values)
    names = [clean(mark.name) for mark in plot.main.marks if isinstance(mark, Steps) and clean(mark.name) in series]
    for mark in plot.main.marks:
        if isinstance(mark, Steps) and mark.name:
            drawn = [value for name in names for value in series[name]]  # bins of few rows are in a series of theirs
            assert np.isin(mark.values[np.isfinite(mark.values)].round(12), np.round(drawn, 12)).all()
        if isinstance(mark, Bars) and mark.name and not mark.outlined:
            told = [value for value in series[clean(mark.name)] if value is not None]
            base = 0.0 if plot.main.stacked else mark.bases
            np.testing.assert_allclose(told, (mark.sizes + base)[np.isfinite(mark.sizes)])
    assert "Model churn" in slide.notes_slide.notes_text_frame.text


def test_intervals_of_levels_are_error_bars():
    plot = kinds.every()["curve of 2"]
    deck = Presentation(io.BytesIO(export.to_bytes(plot, "pptx")))
    main = next(shape.chart for shape in deck.slides[0].shapes if shape.has_chart)
    bars = main._chartSpace.findall(".//{*}errBars")
    up, down = ([float(v.text) for v in bars[0].findall(f"{{*}}{side}//{{*}}v")] for side in ("plus", "minus"))
    curve = kinds.model()[0].explain_shape("job").on("points")
    order = np.argsort(curve.scores)
    np.testing.assert_allclose(up, (curve.upper - curve.scores)[order], atol=1e-8)
    np.testing.assert_allclose(down, (curve.scores - curve.lower)[order], atol=1e-8)


def test_numbers_are_in_csv_and_xlsx_and_no_cell_is_a_formula():
    for kind, plot in kinds.every().items():
        table = pd.read_csv(io.BytesIO(export.to_bytes(plot, "csv")), encoding="utf-8-sig")
        assert table.shape == plot.numbers.shape, kind
        for cell in [*table.columns, *table.select_dtypes(exclude="number").to_numpy().ravel()]:
            assert not (isinstance(cell, str) and cell.lstrip() and cell.lstrip()[0] in "=+-@"), (kind, cell)
        book = openpyxl.load_workbook(io.BytesIO(export.to_bytes(plot, "xlsx", ABOUT)))
        sheet = book.worksheets[0]
        assert (sheet.max_row, sheet.max_column) == (len(plot.numbers) + 1, plot.numbers.shape[1]), kind
        assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n", "b", "d", "inlineStr"}, kind
        assert not sheet._hyperlinks, kind
        assert "seed 0" in [row[0].value for row in book.worksheets[1].iter_rows()], kind


def test_the_alternative_text_is_a_file_too():
    for kind, plot in kinds.every().items():
        assert clean(plot.words) in export.to_bytes(plot, "txt").decode(), kind
        assert len(plot.words) > 3


@pytest.mark.slow
def test_eight_threads_get_each_their_own():
    listed = [(kinds.every()[kind], form) for kind in FEW[:8:4] for form in ("png", "svg", "pdf")]
    alone = [shown(export.to_bytes(plot, form), form) for plot, form in listed]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda each: export.to_bytes(*each), listed * 2))
    for (_, form), mine, found in zip(listed * 2, alone * 2, together, strict=True):
        assert shown(found, form) == mine
    assert len(set(alone)) >= len(alone) - 2  # a curve and the same before have the same words


def shown(file, form):
    """Return a picture's pixels or words; the last digits of vector coordinates depend on the layout solver."""
    if form == "png":
        return Image.open(io.BytesIO(file)).tobytes()
    return "".join(ElementTree.fromstring(file).itertext()) if form == "svg" else pdf_text(file)


@pytest.mark.slow
def test_render_writes_a_whole_file_or_none(tmp_path):
    fitted = kinds.model()[0]
    for form in export.FORMATS:
        place = export.render(fitted.explain_shape("age"), form, tmp_path / f"age.{form}", target="churn")
        assert place.stat().st_size > 40
    with pytest.raises(export.ExportError, match="no plot of its own"):
        export.render(object(), "png", tmp_path / "no.png")
    with pytest.raises(export.ExportError, match="choose one of png"):
        export.render(fitted.importance(), "gif", tmp_path / "no.gif")
    assert sorted(path.suffix[1:] for path in tmp_path.iterdir()) == sorted(export.FORMATS)


def test_names_of_files_say_what_of_which_plot_and_when():
    found = export.file_name(MARKUP, LONG, "png")
    assert re.fullmatch(r"[\w]+-[\w]+-\d{4}-\d\d-\d\d\.png", found)
    assert len(found) < 110
    assert export.file_name("../..", "", "csv").startswith("x-x-")


def test_sheets_have_names_that_a_workbook_takes():
    found = sheet_names([MARKUP, LONG, LONG, "", "a/b", "A B", "'"])
    assert len({name.lower() for name in found}) == 7
    assert all(0 < len(name) <= 31 and not set(name) & set("[]:*?/\\'") for name in found)


@pytest.mark.parametrize(
    ("value", "text"), [(1_200_000, "1.2M"), (20_000, "20k"), (-0.5, "−0.5"), (0, "0"), (2e9, "2B")]
)
def test_axes_say_numbers_shortly(value, text):
    assert tick(value) == text


def test_hostile_cells_stay_text():
    table = pd.DataFrame({FORMULA: [*JOBS, "\t=1", "\x07bell", None], "n": [1.5, np.nan, np.inf, 4, 5, 6, 7, 8]})
    text = export.safe_csv(table).decode("utf-8-sig")
    assert text.startswith("\"'=HYPERLINK")
    assert "'@SUM(1)" in text
    assert FOREIGN in text
    book = openpyxl.load_workbook(io.BytesIO(export.to_xlsx({FORMULA: table})))
    cells = [row[0].value for row in book.worksheets[0].iter_rows()]
    assert cells[0] == FORMULA
    assert cells[1:6] == [job.replace("\u202e", "") for job in JOBS]  # what turns text around is no text
    assert book.worksheets[0]["A1"].data_type == "s"


def drawn(plot):
    """Return the native charts of a plot."""
    deck = Presentation(io.BytesIO(export.to_bytes(plot, "pptx", ABOUT)))
    return [shape.chart for shape in deck.slides[0].shapes if shape.has_chart]


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.01, 0.1, 0.5, 1.0, 4.0])
def test_an_axis_of_ratios_holds_the_whole_curve(factor):
    curve = kinds.model()[0].explain_shape("age")
    narrow = replace(curve, scores=factor * curve.scores, lower=factor * curve.lower, upper=factor * curve.upper,
                     whole=factor * curve.whole, missing=(0.0,) * 4).on("ratio")  # fmt: skip
    axis = drawn(narrow.describe())[0].value_axis
    assert axis.minimum_scale < narrow.scores.min()
    assert axis.maximum_scale > narrow.scores.max()
    logs = axis._element.find(".//{*}logBase") is not None
    assert logs == (axis.maximum_scale / axis.minimum_scale >= 10 and axis.minimum_scale > 0 and factor >= 0.3)


def test_a_gap_in_a_line_is_no_line():
    edges = np.arange(7.0)
    values = np.array([1.0, 2.0, np.nan, np.nan, 3.0, 4.0])
    panel = Panel(Axis(), Axis(), (Steps(edges, values, name="thin"),))
    plot = Plot("gap", "gap", "", ((panel,),), "words", pd.DataFrame({"a": [1]}))
    (chart,) = drawn(plot)
    assert [list(found.values) for found in chart.plots[0].series] == [[1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 4.0, 4.0]]


def test_where_a_later_line_covers_one_its_pieces_reach_it():
    """An earlier curve is drawn where it differs, from and to the height of the one that lies on it."""
    age = kinds.model()[0].explain_shape("age").on("points")
    middle = age.scores.size // 2
    moved = replace(age, scores=np.where(np.arange(age.scores.size) == middle, age.scores + 5.0, age.scores))
    deck = Presentation(io.BytesIO(export.to_bytes(age.describe("churn", "", before=moved), "pptx", ABOUT)))
    series = [one for shape in deck.slides[0].shapes if shape.has_chart for one in shape.chart.plots[0].series]
    (piece,) = (one for one in series if len(one.values) == 4)
    assert piece.values[0] == pytest.approx(age.scores[middle - 1])
    assert piece.values[-1] == pytest.approx(age.scores[middle + 1])


def test_words_that_do_not_fit_are_cut():
    lines = wrapped("word " * 100, room=1.0, points=10.0, most=2)
    assert len(lines) == 2
    assert lines[-1].endswith("…")


@pytest.mark.parametrize("names", [("only",), ("first", "second")])
def test_stacked_bars_are_as_long_as_they_say(names):
    X = pd.DataFrame({"a": np.arange(100.0)})
    rules = [Range("a", 10.0 * k, 10.0 * k + 10.0) for k in range(len(names))]  # equal reach, nothing lost
    made = StrategySet("s", tuple(Strategy(name, rule) for name, rule in zip(names, rules, strict=True)))
    (chart,) = drawn(made.ledger(X).describe(names))
    told = {found.name: [value for value in found.values if value is not None] for found in chart.plots[0].series}
    assert told["exclusive reach"] == [10.0] * len(names)
    assert told["taken by a higher strategy"] == [0.0] * len(names)
    nobody = made.ledger(X.head(0)).describe(names)
    assert nobody.title == "No row is eligible"


@pytest.mark.slow
def test_controls_and_turned_text_are_taken_out_of_names():
    bad = "A\x07\x0b\ud800B\u202e"
    curve = replace(kinds.model()[0].explain_shape("age"), feature=bad)
    plot = curve.describe(bad, bad, title=bad)
    for form in export.FORMATS:
        made = export.to_bytes(plot, form, bad)
        assert made
    assert "AB" in export.to_bytes(plot, "svg").decode()
    titles = [chart.category_axis.axis_title.text_frame.text for chart in drawn(plot) if chart.category_axis.has_title]
    assert titles[0] == "AB"


@pytest.mark.slow
def test_a_feature_without_values_is_a_file_too():
    X = pd.DataFrame({"none": pd.Series([None] * 60, dtype=object), "nan": [np.nan] * 60, "a": np.arange(60.0)})
    model = GAMRegressor(outer_bags=2, max_rounds=5, random_state=0).fit(X, X["a"])
    for name in X.columns:
        for form in export.FORMATS:
            assert export.to_bytes(model.explain_shape(name).describe(), form)


LINES = ["x\r=1+1", "x\n=1+1", "x\r\n@SUM(1)", "x;=1+1", "x;  =1+1", "x\t+1", "x;\uff1d1", "a, b; c\r\nd"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_line_end_or_separator_in_a_cell_begins_a_formula(separator):
    """Rows stay rows, and no cell is a formula in a spreadsheet with other separators either."""
    table = pd.DataFrame({"name\r=2": LINES, "n": range(len(LINES))})
    text = export.safe_csv(table).decode("utf-8-sig")
    assert len(list(csv.reader(io.StringIO(text, newline="")))) == len(LINES) + 1
    read = pd.read_csv(io.StringIO(text, newline=""))
    assert read["n"].tolist() == list(range(len(LINES)))
    assert [cell.replace("'", "") for cell in read.iloc[:, 0]] == LINES
    for cell in re.split(rf"[\r\n{separator}]", text):
        assert not cell.strip(' "').startswith(tuple("=+-@\uff1d")), repr(cell)


@pytest.mark.slow
def test_a_title_of_an_axis_that_begins_with_a_line_end_is_drawn():
    X = pd.DataFrame({"\nage": np.arange(200.0), "\n": np.arange(200.0)[::-1]})
    model = GAMRegressor(max_rounds=5, random_state=0).fit(X, X["\nage"])
    for name in X.columns:
        plot = model.explain_shape(name).describe(target="\n\r y")
        for form in export.FORMATS:
            assert export.to_bytes(plot, form, "about")
