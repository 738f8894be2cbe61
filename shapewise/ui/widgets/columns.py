"""How tables and fields on a page write numbers: as `gamcore.numbers` does, in the words that Streamlit has for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.numbers import EXACT_DIGITS, decimals_of

COUNT: Final = "localized"
WHOLE: Final = "%.0f"
"""Of fields where a count is entered, which know no separators."""

EXACT: Final = f"%.{EXACT_DIGITS}g"
PERCENT: Final = "%.1f%%"
"""Of columns that `hundredfold` has multiplied."""

WHOLE_PERCENT: Final = "%d%%"
SHARE: Final = "percent"
"""Of fields where a share is entered: its value stays a share."""

TENTHS: Final = "%.1f"
METRIC: Final = "%.3f"


def hundredfold(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return a table with shares as percentages: Streamlit's own percentages have ragged decimals."""
    return frame.assign(**{name: 100 * frame[name].astype(float) for name in names})


def measured(values: Any) -> str:
    """Return the format of a column of measured quantities: the same decimals for all of them."""
    return f"%.{decimals_of(np.asarray(values, np.float64).ravel().tolist())}f"
