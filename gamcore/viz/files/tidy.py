"""Plot descriptions without characters that files cannot hold."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from gamcore.viz.palette import clean


def tidy(value: Any) -> Any:
    """Return a description with all of its texts cleaned (`palette.clean`), since names come from data."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, tuple | list):
        return type(value)(tidy(part) for part in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([tidy(part) for part in value.ravel()], object).reshape(value.shape)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: tidy(getattr(value, field.name)) for field in fields(value)})
    return value
