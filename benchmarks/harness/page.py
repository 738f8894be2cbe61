"""Tables as Markdown, and replacing part of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def show(value: Any, digits: int = 3) -> str:
    """Return the text of a table cell: `digits` significant digits, or nothing if the value is missing."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value.replace("|", "\\|")
    if pd.isna(value):
        return ""
    if float(value).is_integer() or abs(value) >= 10**digits:
        return f"{value:,.0f}"
    return f"{value:#.{digits}g}".removesuffix(".")


def markdown(frame: pd.DataFrame, digits: int = 3) -> list[str]:
    """Return the lines of a table with its index."""
    frame = frame.reset_index()
    heads = [str(name) for name in frame.columns]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for values in frame.itertuples(index=False, name=None):
        lines.append(f"| {' | '.join(show(value, digits) for value in values)} |")
    return lines


def put_between(path: Path, marks: tuple[str, str], lines: list[str]) -> None:
    """Replace the text between two marks of a page; if the marks are absent, append it."""
    text = path.read_text() if path.exists() else ""
    if marks[0] not in text:
        text = f"{text.rstrip()}\n\n{marks[0]}\n{marks[1]}\n".lstrip()
    before, rest = text.split(marks[0])
    after = rest.split(marks[1])[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"{before}{marks[0]}", *lines, f"{marks[1]}{after}"]))


def publish(lines: list[str], page: Path | None, marks: tuple[str, str]) -> None:
    """Print lines, and put them between two marks of a page, if one is given."""
    print("\n".join(lines))
    if page is not None:
        put_between(page, marks, lines)
