"""Figures that are drawn once: a script sends the same plots at every run, and plotly checks each value it is given."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.utils import PlotlyJSONEncoder

from gamcore.explain.curves import Curve
from gamcore.explain.surfaces import Surface
from gamcore.viz import plotly_figures as figures
from gamcore.viz.palette import Mode
from gamcore.viz.spec import Plot
from gamcore.viz.svg import small_svg
from shapewise.ui.session import state
from shapewise.ui.widgets import selection

MOST_KEPT = 400
NO_NUMBERS = pd.DataFrame()
"""In place of a plot's table, which is not drawn."""


class Drawn(go.Figure):  # type: ignore[misc]
    """A figure that changes no more: only its plain form, as Streamlit asks for it at every run."""

    def __init__(self, plain: dict[str, Any]) -> None:
        object.__setattr__(self, "_plain", plain)  # plotly's own beginning would check and copy every value again

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain values."""
        plain: dict[str, Any] = self._plain
        return plain

    def dragged(self, way: str) -> Drawn:
        """Return the figure with another meaning of a drag, in plotly's words; it shares the rest."""
        plain = self.to_dict()
        return Drawn({**plain, "layout": {**plain["layout"], "dragmode": way}})


def figure(plot: Plot, titled: bool = True, on: Curve | Surface | None = None) -> Drawn:
    """Return the figure of a plot in the browser's theme. on : the curve or surface that a box can be dragged on."""
    plot = replace(plot, numbers=NO_NUMBERS)
    mode = state.mode()
    return Drawn(_plain(content(plot, mode, titled, on), plot, mode, titled, on))


def small(plot: Plot) -> str:
    """Return a small plot as SVG, in the browser's theme."""
    plot = replace(plot, numbers=NO_NUMBERS)
    return _small(content(plot, state.mode()), plot, state.mode())


def content(*values: object) -> str:
    """Return a hash of all that a figure is made of: equal hashes are equal figures, whoever asks for them. TypeError
    for what cannot be told apart by its value."""
    digest = hashlib.blake2b(digest_size=20)
    _feed(digest, values)
    return digest.hexdigest()


def _feed(digest: hashlib.blake2b, value: object) -> None:
    """Add a value to a hash, with its type and length before it, so that no two values read the same."""
    digest.update(f"{type(value).__name__}:".encode())
    if isinstance(value, np.ndarray):
        plain = value.dtype == object
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(repr(value.tolist()).encode() if plain else np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        for field in fields(value):
            _feed(digest, getattr(value, field.name))
    elif isinstance(value, dict):
        _feed(digest, list(value.items()))
    elif isinstance(value, list | tuple):
        digest.update(f"{len(value)}:".encode())
        if all(type(element) is str for element in value):
            digest.update(repr(value).encode(errors="surrogatepass"))
        else:
            for element in value:
                _feed(digest, element)
    elif value is None or isinstance(value, str | int | float | np.generic | date | pd.Index):
        text = repr(list(value)) if isinstance(value, pd.Index) else repr(value)
        digest.update(f"{len(text)}:{text}".encode(errors="surrogatepass"))
    elif value is not NO_NUMBERS:
        raise TypeError(f"A figure has a part of type {type(value).__name__}, which has no plain value.")


@state.shared("Drawing", max_entries=MOST_KEPT)
def _plain(key: str, _plot: Plot, _mode: Mode, _titled: bool, _on: Curve | Surface | None) -> dict[str, Any]:
    drawing = figures.draw(_plot, _mode, titled=_titled)
    if isinstance(_on, Surface):
        selection.boxable(drawing, _on)
    elif _on is not None:
        selection.brushable(drawing, _on, _mode)
    drawing.update_layout(datarevision=key, autosize=True)
    return _settled(drawing)


def _settled(drawing: go.Figure) -> dict[str, Any]:
    """Return the plain form of a figure that a browser draws once.

    Streamlit gives plotly each figure twice, first without a width, then as a copy. Plotly draws a copy anew unless
    its data have a revision and are lists, its size is automatic both times, and it has no template: that is written
    into the layout here, under what the figure says itself.
    """
    parts = {"data": [trace.to_plotly_json() for trace in drawing.data], "layout": drawing.layout.to_plotly_json()}
    plain: dict[str, Any] = json.loads(PlotlyJSONEncoder().encode(parts))
    layout = plain["layout"]
    house = layout.pop("template")["layout"]
    axes = {name: house[name[:5]] for name in layout if name[:5] in ("xaxis", "yaxis")}
    plain["layout"] = _over(house | axes, layout)
    return plain


def _over(under: Any, value: Any) -> Any:
    """Return a part of a layout with what it leaves unsaid."""
    if not (isinstance(under, dict) and isinstance(value, dict)):
        return value
    return under | {name: _over(under.get(name), part) for name, part in value.items()}


@state.shared("Drawing", max_entries=MOST_KEPT)
def _small(key: str, _plot: Plot, _mode: Mode) -> str:
    return small_svg(_plot, _mode)
