"""Where things are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
"""Public tables; tests that need them skip where they are absent."""
