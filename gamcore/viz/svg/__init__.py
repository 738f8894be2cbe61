"""Plots as SVG: still pictures, written as text. They need no plotting library and no script."""

from gamcore.viz.svg.picture import picture
from gamcore.viz.svg.small import interval_svg, small_svg

__all__ = ["interval_svg", "picture", "small_svg"]
