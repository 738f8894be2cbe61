"""Explanations as neutral descriptions of plots: nothing is drawn here, and no plotting library is used.

The screen (`plotly_figures`) and the files (`files`) draw the same description, so a file looks like the screen.
"""

from gamcore.viz.plots.bars import importance, pair_ranking, task_importance, waterfall
from gamcore.viz.plots.chances import chances
from gamcore.viz.plots.classes import class_confusion, class_rankings
from gamcore.viz.plots.comparison import comparison
from gamcore.viz.plots.curves import common_limits, curve, is_cut, small
from gamcore.viz.plots.describe import describe
from gamcore.viz.plots.fewer import fewer
from gamcore.viz.plots.moved import moved
from gamcore.viz.plots.palette import PALETTES, Mode
from gamcore.viz.plots.plans import detectable
from gamcore.viz.plots.profile import profile
from gamcore.viz.plots.quality import actual, calibration, cost_line, over_time, progress, ranked, residuals
from gamcore.viz.plots.rates import concentration, lift_by_tenth
from gamcore.viz.plots.segment import marked
from gamcore.viz.plots.spec import Plot
from gamcore.viz.plots.strategies import lifts, overlap, reach
from gamcore.viz.plots.surfaces import slices, surface
from gamcore.viz.plots.tasks import similarity
from gamcore.viz.plots.uplift import effect_by_tenth, gain

__all__ = [
    "PALETTES", "Mode", "Plot", "actual", "calibration", "chances", "class_confusion", "class_rankings",
    "common_limits", "comparison", "concentration", "cost_line", "curve", "describe", "detectable",
    "effect_by_tenth", "fewer", "gain", "importance", "is_cut", "lift_by_tenth", "lifts", "marked", "moved",
    "over_time", "overlap", "pair_ranking", "profile", "progress", "ranked", "reach", "residuals", "similarity",
    "slices", "small", "surface", "task_importance", "waterfall",
]  # fmt: skip
