"""Plots and reports as files: PNG, SVG, PDF, PPTX, HTML, CSV and XLSX. No browser is needed for any of them."""

from gamcore.extras import extra

with extra("plots"):
    from gamcore.viz.files.parts import Part, Report
    from gamcore.viz.files.plot import FORMATS, ExportError, Format, file_name, render, to_bytes
    from gamcore.viz.files.report import KINDS, Kind, to_report
    from gamcore.viz.files.spreadsheets import safe_csv, to_xlsx

__all__ = [
    "FORMATS", "KINDS", "ExportError", "Format", "Kind", "Part", "Report", "file_name", "render", "safe_csv",
    "to_bytes", "to_report", "to_xlsx",
]  # fmt: skip
