"""Where a workspace is, read before any library is loaded."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def default_root() -> Path:
    """Return the workspace's folder: GAMCORE_WORKSPACE, or a folder in the user's data folder."""
    chosen = os.environ.get("GAMCORE_WORKSPACE")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("shapewise", appauthor=False))
