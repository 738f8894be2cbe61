"""Where the core of the application looks for what stands beside it, not importing it (`gamcore/common/seam.py`)."""

from __future__ import annotations

from typing import Final

from gamcore.common.seam import Additions
from shapewise.places import PACKAGE

ADDITIONS: Final = Additions(PACKAGE / "additions", "shapewise.additions")
