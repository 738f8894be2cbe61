"""Explanations as neutral descriptions of plots: nothing is drawn here, and no library is named.

The screen (`figures`) and files (`export`) draw the same description, so a file looks like the screen.
"""

from gamcore.plots.bars import importance, pair_ranking, task_importance, waterfall
from gamcore.plots.boards import lifts, overlap, reach
from gamcore.plots.comparison import comparison
from gamcore.plots.curves import common_limits, curve, is_cut, small
from gamcore.plots.describe import describe
from gamcore.plots.grammar import Plot
from gamcore.plots.marked import marked
from gamcore.plots.moved import moved
from gamcore.plots.palette import PALETTES, Mode
from gamcore.plots.quality import actual, calibration, cost_line, over_time, progress, ranked, residuals
from gamcore.plots.surfaces import slices, surface
from gamcore.plots.tasks import similarity

__all__ = [
    "PALETTES", "Mode", "Plot", "actual", "calibration", "common_limits", "comparison", "cost_line", "curve",
    "describe", "importance", "is_cut", "lifts", "marked", "moved", "over_time", "overlap", "pair_ranking",
    "progress", "ranked", "reach", "residuals", "similarity", "slices", "small", "surface", "task_importance",
    "waterfall",
]  # fmt: skip
