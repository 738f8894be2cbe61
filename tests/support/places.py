"""Paths that tests use."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
"""Public tables; tests that need them are skipped where they are absent."""
