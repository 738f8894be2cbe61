"""The shapes that a curve may have been learnt with."""

from __future__ import annotations

from typing import Final, Literal

Shape = Literal["steps", "smooth", "cyclic", "linear", "levels"]
SHAPES: Final[tuple[Shape, ...]] = ("steps", "smooth", "cyclic", "linear", "levels")
LINES: Final = ("smooth", "cyclic", "linear")
"""Those that are drawn as lines."""
