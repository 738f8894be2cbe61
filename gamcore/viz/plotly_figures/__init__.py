"""Plots as plotly figures: drawing only, nothing is computed here.

Every figure sets its own template, since importing streamlit replaces plotly's default with one whose colours only the
browser fills in. Names from data are escaped, and reach hover boxes as text, never through a template.
"""

from gamcore.common.extras import extra

with extra("plots"):
    from gamcore.viz.plotly_figures.draw import draw

__all__ = ["draw"]
