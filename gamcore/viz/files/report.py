"""A report as one file: HTML, PDF, slides, or an archive of all three with every plot."""

from __future__ import annotations

import io
import zipfile
from typing import Final, Literal

from gamcore.viz.files.parts import Report, ReportPart, Step, quiet
from gamcore.viz.files.plot import ExportError, PlotFormat, file_name, to_bytes
from gamcore.viz.files.tidy import tidy

ReportKind = Literal["html", "pdf", "pptx", "zip"]
KINDS: Final[dict[ReportKind, str]] = {
    "pptx": "Slides",
    "pdf": "PDF",
    "html": "Web page",
    "zip": "All (ZIP)",
}
SINGLE: Final[tuple[PlotFormat, ...]] = ("png", "svg", "csv", "xlsx", "txt")
"""Formats of each plot in an archive."""


def to_report(report: Report, kind: ReportKind, step: Step = quiet) -> bytes:
    """Return a report as a file's bytes. step : called with the progress; it may raise to stop."""
    report = tidy(report)
    match kind:  # libraries are imported only when needed, as in `plot`
        case "html":
            from gamcore.viz.files.html_report import to_html

            step(0.0, report.title)
            cover = [] if report.brief else [ReportPart(report.title, (report.subtitle,))]
            return to_html(report.title, [*cover, *report.every], report.about)
        case "pdf":
            from gamcore.viz.files.pdf_report import to_pdf

            return to_pdf(report, step)
        case "pptx":
            from gamcore.viz.files.pptx_report import to_deck

            return to_deck(report, step)
        case "zip":
            return _archive(report, step)
    raise ExportError(f"There is no report format {kind!r}: choose one of {', '.join(KINDS)}.")


def _archive(report: Report, step: Step) -> bytes:
    """Return a ZIP of slides, PDF and HTML page, then every plot in the formats of `SINGLE`."""
    buffer = io.BytesIO()
    plots = [part.plot for part in report.every if part.plot is not None]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for k, kind in enumerate(("pptx", "pdf", "html")):

            def within(share: float, words: str, k: int = k) -> None:
                step((k + share) / 4, words)

            name = file_name(report.title, "report", kind)
            archive.writestr(name, to_report(report, kind, within))  # type: ignore[arg-type]
        for k, plot in enumerate(plots):
            step(0.75 + 0.25 * k / len(plots), plot.title)
            for form in SINGLE:
                name = file_name(f"{k + 1:02}", plot.name, form)
                archive.writestr(f"plots/{name}", to_bytes(plot, form, report.card or report.about))
    return buffer.getvalue()
