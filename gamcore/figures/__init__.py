"""Explanations as plotly figures: drawing only, nothing is computed here.

Every figure sets its own template: importing streamlit swaps plotly's default for one whose colours only the browser
fills in. Names from data are escaped, and reach hover boxes through `customdata`, never through a template.
"""

from gamcore.figures.cases import waterfall
from gamcore.figures.charts import importance, progress
from gamcore.figures.comparison import comparison
from gamcore.figures.marks import brushable, mark
from gamcore.figures.rankings import pair_ranking
from gamcore.figures.shapes import common_limits, is_cut, shape, small
from gamcore.figures.style import FEW_ROWS, PALETTES, Mode
from gamcore.figures.surfaces import slices, surface
from gamcore.figures.tasks import similarity, small_beside, task_importance

__all__ = [
    "FEW_ROWS", "PALETTES", "Mode", "brushable", "common_limits", "comparison", "importance", "is_cut", "mark",
    "pair_ranking", "progress", "shape", "similarity", "slices", "small", "small_beside", "surface", "task_importance",
    "waterfall",
]  # fmt: skip
