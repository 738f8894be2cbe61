"""Curves, pairs, importances, rows and tasks as plots: described here, drawn by `gamcore.viz`."""

from gamcore.explain.plots.bars import importance, pair_ranking, task_importance, waterfall
from gamcore.explain.plots.chances import chances
from gamcore.explain.plots.comparison import comparison
from gamcore.explain.plots.curves import common_limits, curve, is_cut, small
from gamcore.explain.plots.fewer import fewer
from gamcore.explain.plots.surfaces import slices, surface
from gamcore.explain.plots.tasks import similarity

__all__ = [
    "chances", "common_limits", "comparison", "curve", "fewer", "importance", "is_cut", "pair_ranking", "similarity",
    "slices", "small", "surface", "task_importance", "waterfall",
]  # fmt: skip
