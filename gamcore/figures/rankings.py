"""All pairs by strength, beside what the fitted ones are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gamcore.figures.style import PALETTES, Mode, escape, template

FEWEST_SHOWN, MOST_SHOWN = 8, 25
ROW_PIXELS = 24


def pair_ranking(ranking: pd.DataFrame, worth: pd.DataFrame, loss: str, mode: Mode = "light") -> go.Figure:
    """Bars of the strongest pairs, those of the model in the primary colour, and a bar for what each of these is worth.

    ranking : feature_1, feature_2, strength, rank, strongest first, with attrs["chance"]; worth : feature_1, feature_2,
    worth.
    """
    color = PALETTES[mode]
    fitted = {(a, b): w for a, b, w in worth[["feature_1", "feature_2", "worth"]].itertuples(index=False)}
    chance = ranking.attrs["chance"]
    known = [pair in fitted for pair in ranking[["feature_1", "feature_2"]].itertuples(index=False, name=None)]
    telling = np.flatnonzero(np.array(known, bool) | (ranking["strength"].to_numpy() > chance))
    most = min(max(telling.max(initial=0) + 3, FEWEST_SHOWN), MOST_SHOWN)  # the rest is below chance, bar by bar
    shown = ranking.head(most).iloc[::-1]
    pairs = list(zip(shown["feature_1"], shown["feature_2"], strict=True))
    widths = [0.6, 0.4] if fitted else [1.0]
    figure = make_subplots(cols=len(widths), shared_yaxes=True, horizontal_spacing=0.03, column_widths=widths)
    places = np.arange(len(shown))
    told = [[escape(f"{a} × {b}", 200), int(rank)] for (a, b), rank in zip(pairs, shown["rank"], strict=True)]
    bar: dict[str, Any] = {"y": places, "orientation": "h", "width": 0.62, "customdata": told}
    figure.add_trace(
        go.Bar(
            x=shown["strength"].to_numpy(), name="strength", **bar,
            marker={"color": [color.primary if pair in fitted else color.density for pair in pairs]},
            hovertemplate="%{customdata[0]}<br>rank %{customdata[1]}: %{x:.2e}<extra></extra>",
        ), row=1, col=1,
    )  # fmt: skip
    figure.add_vline(
        chance, row=1, col=1, line={"color": color.zero, "width": 1, "dash": "dot"},
        annotation={"text": "by chance", "font": {"size": 11, "color": color.muted}, "yanchor": "bottom"},
        annotation_position="top right",
    )  # fmt: skip
    if fitted:
        figure.add_trace(_worth(bar, [fitted.get(pair) for pair in pairs], color.primary), row=1, col=2)
        figure.add_vline(0, row=1, col=2, line={"color": color.zero, "width": 1})
    figure.update_layout(
        template=template(mode), height=90 + ROW_PIXELS * max(len(shown), 3), showlegend=False,
        margin={"l": 8, "r": 16, "t": 28, "b": 44},
    )  # fmt: skip
    names = [escape(f"{a} × {b}", 44) for a, b in pairs]
    figure.update_yaxes(tickvals=places, ticktext=names, showgrid=False, range=[-0.6, len(shown) - 0.4])
    unit = "log-loss" if loss == "logistic" else "squared error"
    figure.update_xaxes(showgrid=True, gridcolor=color.hairline, nticks=5, exponentformat="power", tickangle=0)
    figure.update_xaxes(title_text=f"what one cut of both takes off the {unit}", row=1, col=1)
    if fitted:
        figure.update_xaxes(title_text="gain on held-out rows", nticks=4, row=1, col=2)
    return figure


def _worth(bar: dict[str, Any], gains: list[float | None], color: str) -> go.Bar:
    hover = "%{customdata[0]}<br>held-out gain %{x:.2e}<extra></extra>"
    return go.Bar(x=gains, name="held-out gain", **bar, marker={"color": color}, hovertemplate=hover)
