"""Plots as plotly figures: drawing only, nothing is computed here.

Every figure sets its own template: importing streamlit swaps plotly's default for one whose colours only the browser
fills in. Names from data are escaped, and reach hover boxes as text, never through a template.
"""

from gamcore.figures.brush import boxable, brushable
from gamcore.figures.draw import draw

__all__ = ["boxable", "brushable", "draw"]
