"""Any explanation as HTML for a notebook, and as a figure."""

from __future__ import annotations

from typing import Any

from gamcore.explanation import Explanation
from gamcore.viz.html.theme import CLASS, THEMED, style, text
from gamcore.viz.plots.describe import describe
from gamcore.viz.plots.palette import Mode
from gamcore.viz.plots.spec import Plot
from gamcore.viz.svg import picture


def described(explanation: Explanation, **words: Any) -> Plot:
    """Return the plot of an explanation; see `plots.describe`."""
    return describe(explanation, **words)


def figure(explanation: Explanation, mode: Mode, **words: Any) -> Any:
    """Return the plotly figure of an explanation."""
    from gamcore.viz.plotly_figures import draw  # plotly is an extra

    return draw(describe(explanation, **words), mode)


def html(explanation: Explanation) -> str:
    """Return the picture of an explanation with its title."""
    return f'<div class="{CLASS}">{style()}{still(describe(explanation))}</div>'


def still(plot: Plot) -> str:
    """Return a plot as a still picture with its title and detail."""
    detail = f'<span class="detail">{text(plot.detail)}</span>' if plot.detail else ""
    return (
        f"<figure><figcaption><strong>{text(plot.title)}</strong>{detail}</figcaption>{picture(plot, THEMED)}</figure>"
    )
