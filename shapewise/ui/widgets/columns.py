"""How tables and fields on a page write numbers: as `gamcore.common.numbers` does, in Streamlit's words for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.common.numbers import EXACT_DIGITS, decimals_of

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


def measured(frame: pd.DataFrame, *names: str) -> tuple[pd.DataFrame, str]:
    """Return a table and the format of its columns of measured quantities, which have the same decimals; whole numbers
    have commas between thousands instead."""
    decimals = decimals_of(frame[[*names]].to_numpy(np.float64).ravel().tolist())
    if decimals:
        return frame, f"%.{decimals}f"
    return frame.assign(**{name: frame[name].astype(float).round() for name in names}), COUNT


def texts_of_numbers(names: Iterable[str]) -> dict[str, Any]:
    """Return the configuration of columns whose numbers are written already: at the right, as all numbers."""
    return {name: st.column_config.TextColumn(alignment="right") for name in names}
