"""What stands in the files of a report, as text."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any, Final

import pypdf
from pptx import Presentation
from python_calamine import CalamineWorkbook

from gamcore.viz.files.parts import Report
from gamcore.viz.files.report import to_report


def texts_of(report: Report) -> dict[str, str]:
    """Return the words of a report by the ending of the file they stand in: all files of the archive, and the page."""
    archive = zipfile.ZipFile(io.BytesIO(to_report(report, "zip")))
    page = " ".join(to_report(report, "html").decode().split())
    return {"html": page} | {ending: texts_in(archive, ending) for ending in READERS}


def texts_in(archive: zipfile.ZipFile, ending: str) -> str:
    """Return the words of all files of an archive with an ending."""
    files = (io.BytesIO(archive.read(name)) for name in archive.namelist() if name.rpartition(".")[2] == ending)
    return " ".join(word for file in files for text in READERS[ending](file) for word in text.split())


def _slides(file: Any) -> Iterator[str]:
    for slide in Presentation(file).slides:
        for shape in slide.shapes:
            if shape.has_text_frame:
                yield shape.text_frame.text
            if shape.has_table:
                yield from (cell.text for row in shape.table.rows for cell in row.cells)


def _pages(file: Any) -> Iterator[str]:
    return (page.extract_text() for page in pypdf.PdfReader(file).pages)


def _cells(file: Any) -> Iterator[str]:
    book = CalamineWorkbook.from_filelike(file)
    return (str(cell) for name in book.sheet_names for row in book.get_sheet_by_name(name).to_python() for cell in row)


READERS: Final = {"pptx": _slides, "pdf": _pages, "xlsx": _cells}
