"""Where the application's scripts and samples are: beside this package in a checkout, inside it when installed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
INSTALLED: Final = PACKAGE / "app"
"""What pyproject.toml puts into the wheel."""

APP: Final = INSTALLED if INSTALLED.is_dir() else PACKAGE.parent
SCRIPT: Final = APP / "app.py"
PAGES: Final = APP / "pages"
SAMPLES: Final = APP / "sample_data"
