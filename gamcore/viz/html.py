"""Still pictures as HTML. Their colours follow the theme of what shows them: the reader's, or that of a notebook."""

from __future__ import annotations

from dataclasses import fields, replace
from html import escape
from typing import Final

from gamcore.viz.palette import FONT, PALETTES, Mode, Palette, clean
from gamcore.viz.spec import Plot
from gamcore.viz.svg import picture

CLASS: Final = "gamcore"
DARK: Final = ('[data-jp-theme-light="false"]', ".vscode-dark", ".dark")
LIGHT: Final = ('[data-jp-theme-light="true"]', ".vscode-light", ".light")
"""How Jupyter, Visual Studio Code and marimo mark their themes, which may differ from the reader's setting."""

COLORS: Final = tuple(field.name for field in fields(Palette) if field.type == "str")
THEMED: Final = replace(PALETTES["light"], **{name: f"var(--{CLASS}-{name})" for name in COLORS})  # type: ignore[arg-type]
"""A palette of names that `style` gives colours to."""


def style(own: str = "") -> str:
    """Return the style sheet of what `THEMED` draws. own : further rules."""
    light, dark = _values("light"), _values("dark")
    rules = [
        f".{CLASS}{{{light}}}@media (prefers-color-scheme:dark){{.{CLASS}{{{dark}}}}}",
        *(f"{place} .{CLASS}{{{light}}}" for place in LIGHT), *(f"{place} .{CLASS}{{{dark}}}" for place in DARK),
        f".{CLASS}{{color:var(--{CLASS}-ink);background:var(--{CLASS}-background);font:14px/1.45 {FONT};"
        "padding:12px 16px;max-width:800px;box-sizing:border-box;overflow-wrap:anywhere}",
        f".{CLASS} figure{{margin:0 0 8px}}.{CLASS} figcaption{{margin:0 0 6px;color:inherit}}",
        f".{CLASS} svg{{display:block}}",
        f".{CLASS} .detail{{display:block;color:var(--{CLASS}-muted);font-size:13px}}",
        f".{CLASS} .small{{display:grid;grid-template-columns:repeat(auto-fill,minmax(220px,1fr));gap:8px}}",
        f".{CLASS} .small svg{{width:100%;height:auto}}.{CLASS} p{{margin:0 0 8px;max-width:75ch}}",
    ]  # fmt: skip
    return f"<style>{''.join(rules)}{own}</style>"


def _values(mode: Mode) -> str:
    color = PALETTES[mode]
    named = "".join(f"--{CLASS}-{name}:{getattr(color, name)};" for name in COLORS)
    return f"{named}color-scheme:{mode}"


def text(words: str) -> str:
    """Return words as HTML."""
    return escape(clean(words))


def framed(inside: str) -> str:
    """Return pictures and words with their style sheet, for a notebook."""
    return f'<div class="{CLASS}">{style()}{inside}</div>'


def still(plot: Plot) -> str:
    """Return a plot as a still picture with its title and detail."""
    detail = f'<span class="detail">{text(plot.detail)}</span>' if plot.detail else ""
    return (
        f"<figure><figcaption><strong>{text(plot.title)}</strong>{detail}</figcaption>{picture(plot, THEMED)}</figure>"
    )
