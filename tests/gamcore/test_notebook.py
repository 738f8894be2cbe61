"""The page on notebooks, run as one: every cell shows what the page says, and the whole opens without a network."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.support.places import ROOT

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

PAGE = ROOT / "docs" / "guides" / "notebooks.md"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Return the page as a notebook that has run, and the folder it ran in."""
    place = tmp_path_factory.mktemp("notebook")
    (place / "sample_data").symlink_to(ROOT / "sample_data")
    cells = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(place)}}).execute()
    return book, place


def htmls(book):
    """Return the HTML that cells end with, by their code."""
    return {
        cell.source.strip(): "".join(output.data["text/html"])
        for cell in book.cells
        for output in cell.outputs
        if output.output_type == "execute_result" and "text/html" in output.data
    }


@pytest.mark.slow
def test_each_cell_shows_what_it_ends_with(ran):
    book, _ = ran
    shown = htmls(book)
    model = shown["model"]
    assert model.index("sk-top-container") < model.index('class="gamcore"')
    assert 'aria-label="income' in model
    for code in (
        'model.explain_shape("income").on("points")',
        'model.explain_rows(test.drop(columns="default").head(1))',
    ):
        assert shown[code].count("<svg xmlns") == 1
        assert "<script" not in shown[code]


@pytest.mark.slow
def test_progress_is_shown_by_stage(ran):
    book, _ = ran
    said = "".join(output.text for output in book.cells[0].outputs if output.output_type == "stream")
    assert all(f"{stage}:" in said for stage in ("main effects", "ranking", "pairs", "bands"))


@pytest.mark.slow
def test_the_report_is_one_file_with_all_curves(ran):
    _, place = ran
    report = (place / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|<iframe|src=|href=|url\(|@import", report)
    assert "prefers-color-scheme:dark" in report
    body = report[report.index("<body") : report.index("</html>")]
    root = ElementTree.fromstring(body)
    pictures = [one for one in root.iter() if one.get("role") == "img"]
    assert len(pictures) >= 10
    assert all(one.get("aria-label") for one in pictures)
    assert {"How well it predicts", "How it was trained"} <= {one.text for one in root.iter() if one.tag == "h2"}
