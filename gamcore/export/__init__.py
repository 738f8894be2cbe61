"""Plots and reports as files: PNG, SVG, PDF, PPTX, HTML, CSV and XLSX. No browser is needed for any of them."""

from gamcore.export.plot import FORMATS, ExportError, Format, file_name, render, to_bytes
from gamcore.export.sheets import safe_csv, to_xlsx

__all__ = ["FORMATS", "ExportError", "Format", "file_name", "render", "safe_csv", "to_bytes", "to_xlsx"]
