"""One explanation or plot as one file."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args, runtime_checkable

import pandas as pd

from gamcore.viz.files.parts import ReportPart
from gamcore.viz.files.spreadsheets import safe_csv, to_xlsx
from gamcore.viz.files.tidy import tidy
from gamcore.viz.palette import Mode
from gamcore.viz.spec import Plot

PlotFormat = Literal["png", "svg", "pdf", "html", "pptx", "csv", "xlsx", "txt"]
FORMATS: Final[tuple[PlotFormat, ...]] = get_args(PlotFormat)
MOST_NAME: Final = 40


@runtime_checkable
class Described(Protocol):
    """What describes its own plot, as every explanation does."""

    def describe(self, **words: Any) -> Plot: ...


class ExportError(ValueError):
    """An export that is not possible; the message says what is."""


def render(
    explanation: Described | Plot, fmt: PlotFormat, path: str | Path, *, about: str = "", mode: Mode = "light",
    **words: Any,
) -> Path:  # fmt: skip
    """Write an explanation (or a `Plot`) to a file and return its path.

    fmt : png (twice the screen's pixels), svg, pdf, html (works offline), pptx (an editable chart), csv or xlsx (the
    numbers), txt (the alternative text). about : the file's note on its origin. words : arguments of the
    explanation's `describe`, such as target, detail and title. The file is written whole or not at all.

    Raises ExportError for another format or an explanation that has no plot.
    """
    place = Path(path)
    if not isinstance(explanation, Described | Plot):
        raise ExportError(f"{type(explanation).__name__} has no plot of its own: pass an explanation or a plot.")
    plot = explanation if isinstance(explanation, Plot) else explanation.describe(**words)
    content = to_bytes(plot, fmt, about, mode)
    half = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        half.write_bytes(content)
        half.replace(place)
    finally:
        half.unlink(missing_ok=True)
    return place


def to_bytes(plot: Plot, fmt: PlotFormat, about: str = "", mode: Mode = "light") -> bytes:
    """Return a plot as a file's bytes; see `render`."""
    plot, about = tidy(plot), tidy(about)
    match fmt:  # libraries are imported only when needed: the app starts half a second sooner
        case "png" | "svg" | "pdf":
            from gamcore.viz.files.mpl_picture import picture

            return picture(plot, fmt, mode, about)
        case "html":
            from gamcore.viz.files.html_report import to_html

            return to_html(plot.title, [ReportPart(plot=plot)], about, mode)
        case "pptx":
            from gamcore.viz.files.pptx_slides import to_slide

            return to_slide(plot, about)
        case "csv":
            return safe_csv(plot.numbers)
        case "xlsx":
            notes = pd.DataFrame({"about": [plot.title, plot.detail, *about.split("\n")]})
            return to_xlsx({plot.name: plot.numbers, "about": notes})
        case "txt":
            return f"{plot.title}\n{plot.detail}\n\n{plot.words}\n\n{about}\n".encode()
    raise ExportError(f"There is no format {fmt!r}: choose one of {', '.join(FORMATS)}.")


def file_name(source: str, name: str, extension: str) -> str:
    """Return a file name that is safe for names from data: source, plot and date."""
    parts = [re.sub(r"[^\w]+", "_", part).strip("_")[:MOST_NAME] or "x" for part in (source, name)]
    return "-".join([*parts, datetime.now(UTC).date().isoformat()]) + f".{extension}"
