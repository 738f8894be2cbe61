"""Metrics, rates, classes, and the drift and profiles of columns as plots: described here, drawn by `gamcore.viz`."""

from gamcore.stats.plots.classes import class_confusion, class_rankings
from gamcore.stats.plots.overlays import moved
from gamcore.stats.plots.profiles import profile
from gamcore.stats.plots.quality import actual, calibration, cost_line, over_time, progress, ranked, residuals
from gamcore.stats.plots.rates import concentration, lift_by_tenth

__all__ = [
    "actual", "calibration", "class_confusion", "class_rankings", "concentration", "cost_line", "lift_by_tenth",
    "moved", "over_time", "profile", "progress", "ranked", "residuals",
]  # fmt: skip
