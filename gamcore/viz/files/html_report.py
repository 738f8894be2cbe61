"""Plots as one HTML page that works offline: plotly.js is embedded, and no other script may run."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from functools import cache
from typing import Final

from plotly.offline import get_plotlyjs

from gamcore.viz.files.letters import families, font_faces, lacking, letters_of
from gamcore.viz.files.parts import ReportPart
from gamcore.viz.palette import PALETTES, Mode
from gamcore.viz.plotly_figures.draw import draw

HOUSE: Final = "Source Sans"
CONFIG: Final = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}
DRAW: Final = """
for (const place of document.querySelectorAll("[data-plot]")) {
  const told = JSON.parse(document.getElementById(place.dataset.plot).textContent);
  Plotly.newPlot(place, told.data, told.layout, %s);
}
"""


def to_html(title: str, parts: Sequence[ReportPart], about: str = "", mode: Mode = "light") -> bytes:
    """Return a page of parts. about : text of the footer."""
    script = DRAW % json.dumps(CONFIG)
    color = PALETTES[mode]
    letters = letters_of((title, parts, about))
    body = "\n".join(_part(part, k, mode, _family(letters)) for k, part in enumerate(parts))
    style = _style(mode, letters)
    policy = (
        f"default-src 'none'; script-src {_digest(_plotly())} {_digest(script)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    below = [line for line in (lacking(letters), about) if line]
    foot = f"<footer>{_paragraphs(below)}</footer>" if below else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="{mode}"><meta name="theme-color" content="{color.background}">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style></head>\n"
        f"<body><main>\n{body}\n{foot}</main>\n<script>{_plotly()}</script>\n<script>{script}</script></body></html>\n"
    ).encode()


def _part(part: ReportPart, k: int, mode: Mode, family: str) -> str:
    markup = f"<h2>{html.escape(part.heading)}</h2>" if part.heading else ""
    markup += (
        f'<p class="detail">{html.escape(part.plot.detail)}</p>' if part.plot is not None and part.plot.detail else ""
    )
    markup += _figures(part) + _paragraphs(part.text)
    if part.plot is not None:
        figure = draw(part.plot.bare(), mode, flat=True)
        figure.update_layout(autosize=True, font_family=family)
        data = str(figure.to_json()).replace("<", "\\u003c")
        words = html.escape(part.plot.words, quote=True)
        markup += (
            f'<script type="application/json" id="plot-{k}">{data}</script>'
            f'<figure role="img" aria-label="{words}"><div data-plot="plot-{k}"></div></figure>'
        )
    if part.comment:
        markup += _paragraphs([part.comment])
    if part.table:
        head, *rows = part.table
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        lines = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        markup += f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
    return f"<section>{markup}</section>"


def _figures(part: ReportPart) -> str:
    """Return the numbers in large print, and the lines that begin with a word."""
    shown = "".join(
        f"<div><b>{html.escape(figure.value)}</b><span>{html.escape(figure.label)}</span>"
        f"<small>{html.escape(figure.interval)}</small></div>"
        for figure in part.figures
    )
    lines = "".join(f"<dt>{html.escape(word)}</dt><dd>{html.escape(text)}</dd>" for word, text in part.lines)
    return (f'<div class="figures">{shown}</div>' if shown else "") + (f"<dl>{lines}</dl>" if lines else "")


def _paragraphs(texts: Sequence[str]) -> str:
    lines = [line for text in texts for line in text.split("\n") if line.strip()]
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


@cache
def _plotly() -> str:
    return str(get_plotlyjs())


@cache
def _digest(script: str) -> str:
    """Return a script's hash as the content security policy lists it, so that no other script runs."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _family(letters: frozenset[str]) -> str:
    return ",".join([*map(json.dumps, (HOUSE, *families(letters))), "sans-serif"])


def _style(mode: Mode, letters: frozenset[str]) -> str:
    color = PALETTES[mode]
    return (
        f"{font_faces(letters, HOUSE, whole=True)}"
        f"body{{margin:0;background:{color.background};color:{color.ink};font:16px/1.5 {_family(letters)}}}"
        "main{max-width:1080px;margin:0 auto;padding:24px}"
        "section{margin:0 0 32px}h1,h2{line-height:1.25;margin:0 0 8px;font-weight:600;overflow-wrap:anywhere}"
        ".figures{display:flex;flex-wrap:wrap;gap:24px 64px;margin:8px 0 24px}.figures>div{display:flex;"
        f"flex-direction:column}}.figures b{{font-size:34px;line-height:1.2;color:{color.primary}}}"
        f".figures small{{color:{color.muted};font-size:14px}}"
        "dl{display:grid;grid-template-columns:minmax(72px,max-content) 1fr;gap:8px 24px;margin:0 0 16px}"
        f".detail{{color:{color.muted};font-size:14px}}"
        "dt{font-weight:600}dd{margin:0;max-width:75ch;overflow-wrap:anywhere}"
        "figure{margin:8px 0}p{margin:0 0 8px;max-width:75ch;overflow-wrap:anywhere}"
        f"footer{{color:{color.muted};font-size:13px;border-top:1px solid {color.hairline};padding-top:12px}}"
        f"table{{border-collapse:collapse;font-size:14px}}th,td{{text-align:left;padding:4px 16px 4px 0;"
        f"border-bottom:1px solid {color.hairline};vertical-align:top;overflow-wrap:anywhere}}"
        f"th{{color:{color.muted};font-weight:400}}"
        "@media print{section{break-inside:avoid}}"
    )
