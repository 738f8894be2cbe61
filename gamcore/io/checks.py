"""Checks of what a model file holds, and the errors that name a fault."""

from __future__ import annotations

from typing import Any


class ModelFileError(ValueError):
    """A model file that is damaged, foreign or made by a newer version."""


class ModelFileWarning(UserWarning):
    """Additional content of a model file that cannot be used and was left out."""


def require(condition: bool, what: str) -> None:
    """Raise ModelFileError, which says what is wrong, where a condition does not hold."""
    if not condition:
        raise ModelFileError(f"The model file is damaged: {what}.")


def with_required(*entries: dict[str, Any]) -> dict[str, Any]:
    """Return entries that may each have fields that are required."""
    required = [name for entry in entries for name in entry.get("required", [])]
    merged = {name: value for entry in entries for name, value in entry.items()}
    return merged | ({"required": required} if required else {})
