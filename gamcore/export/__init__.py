"""Plots and reports as files: PNG, SVG, PDF, PPTX, HTML, CSV and XLSX. No browser is needed for any of them."""

from gamcore.export.parts import Part, Report
from gamcore.export.plot import FORMATS, ExportError, Format, file_name, render, to_bytes
from gamcore.export.report import KINDS, Kind, to_report
from gamcore.export.sheets import safe_csv, to_xlsx

__all__ = [
    "FORMATS", "KINDS", "ExportError", "Format", "Kind", "Part", "Report", "file_name", "render", "safe_csv",
    "to_bytes", "to_report", "to_xlsx",
]  # fmt: skip
