"""Strategies, plans, measured lifts and marked segments as plots: described here, drawn by `gamcore.viz`."""

from gamcore.decide.plots.plans import detectable
from gamcore.decide.plots.segments import marked
from gamcore.decide.plots.strategies import lifts, overlap, reach
from gamcore.decide.plots.uplift import effect_by_tenth, gain

__all__ = ["detectable", "effect_by_tenth", "gain", "lifts", "marked", "overlap", "reach"]
