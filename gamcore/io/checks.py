"""Checks of what a model file holds, and the errors that name a fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ModelFileError(ValueError):
    """A model file that is damaged, foreign or made by a newer version."""


class ModelFileWarning(UserWarning):
    """Additional content of a model file that cannot be used and was left out."""


def require(condition: bool, what: str) -> None:
    """Raise ModelFileError, which says what is wrong, where a condition does not hold."""
    if not condition:
        raise ModelFileError(f"The model file is damaged: {what}.")


def require_within(values: NDArray[Any], low: float, high: float, what: str) -> None:
    """Raise ModelFileError unless all numbers of an array are from `low` to `high`."""
    require(bool(np.all((values >= low) & (values <= high))), f"{what} is out of range")


def whole_numbers(values: NDArray[np.float64], low: int, high: int, what: str) -> NDArray[np.int64]:
    """Return the numbers of an array as integers; ModelFileError unless they are whole, and from `low` to `high`."""
    require_within(values, low, high, what)
    require(bool(np.all(values == np.floor(values))), f"{what} is out of range")
    return values.astype(np.int64)


def integers(values: Any, low: int, high: int, what: str) -> list[int]:
    """Return a manifest's list of integers; ModelFileError, which says `what`, unless all are from `low` to `high`."""
    fine = isinstance(values, list) and all(type(value) is int and low <= value <= high for value in values)
    require(fine, what)
    return list(values)


def split(array: NDArray[Any], sizes: Sequence[int]) -> list[NDArray[Any]]:
    """Return the parts of an array, of some sizes along its last axis."""
    return np.split(array, np.cumsum(sizes)[:-1], axis=-1)


def with_required(*entries: dict[str, Any]) -> dict[str, Any]:
    """Return entries that may each have fields that are required."""
    required = [name for entry in entries for name in entry.get("required", [])]
    merged = {name: value for entry in entries for name, value in entry.items()}
    return merged | ({"required": required} if required else {})
