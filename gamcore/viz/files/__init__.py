"""Plots and reports as files: PNG, SVG, PDF, PPTX, HTML, CSV and XLSX. No browser is needed for any of them."""

from gamcore.common.extras import extra

with extra("plots"):
    from gamcore.viz.files.parts import Report, ReportPart
    from gamcore.viz.files.plot import FORMATS, ExportError, PlotFormat, file_name, render, to_bytes
    from gamcore.viz.files.report import KINDS, ReportKind, to_report
    from gamcore.viz.files.spreadsheets import safe_csv, to_xlsx

__all__ = [
    "FORMATS", "KINDS", "ExportError", "PlotFormat", "Report", "ReportKind", "ReportPart",
    "file_name", "render", "safe_csv", "to_bytes", "to_report", "to_xlsx",
]  # fmt: skip
