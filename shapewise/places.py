"""Where the application's scripts and samples are (beside this package in a checkout, inside it when installed), and
the files of the server that people may load."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
INSTALLED: Final = PACKAGE / "app"
"""What pyproject.toml puts into the wheel."""

APP: Final = INSTALLED if INSTALLED.is_dir() else PACKAGE.parent
SCRIPT: Final = APP / "app.py"
PAGES: Final = APP / "pages"
SAMPLES: Final = APP / "sample_data"
FOLDER: Final = "GAMCORE_DATA_FOLDER"


def data_folder() -> Path | None:
    """Return the folder of the server whose files may be loaded; None if none is allowed."""
    allowed = os.environ.get(FOLDER)
    return Path(allowed).resolve() if allowed else None
