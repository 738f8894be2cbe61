"""An interval as a small SVG picture for the cell of a table: its estimate, its ends, and where nothing changes."""

from __future__ import annotations

from typing import Final

from gamcore.viz.palette import PALETTES, Mode
from gamcore.viz.spec import ColorRole

WIDTH, HEIGHT = 180, 24
MARGIN: Final = 6.0


def interval_svg(
    value: float, interval: tuple[float, float], limits: tuple[float, float], role: ColorRole = "primary",
    mode: Mode = "light",
) -> str:  # fmt: skip
    """Return an estimate with its interval as the text of an SVG file; a thin line marks 0 where it is inside.

    limits : the ends of the axis, the same for all cells that are to be compared; what lies beyond is cut off.
    """
    low, high = limits
    color, middle = PALETTES[mode], HEIGHT / 2

    def place(at: float) -> float:
        inside = min(max((at - low) / (high - low), 0.0), 1.0) if high > low else 0.5
        return round(MARGIN + inside * (WIDTH - 2 * MARGIN), 1)

    start, end, dot = place(interval[0]), place(interval[1]), place(value)
    zero = f'<path d="M{place(0.0)} 1V{HEIGHT - 1}" stroke="{color.zero}" stroke-dasharray="3 2"/>'
    shade = color.of(role)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f"{zero if low <= 0 <= high else ''}"
        f'<path d="M{start} {middle}H{end}" stroke="{shade}" stroke-width="4" stroke-linecap="round" opacity="0.55"/>'
        f'<circle cx="{dot}" cy="{middle}" r="5" fill="{shade}"/></svg>'
    )
