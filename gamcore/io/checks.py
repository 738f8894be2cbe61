"""Checks of what a model file holds, and the errors that name a fault."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file that is damaged, foreign or made by a newer version."""


class ModelFileWarning(UserWarning):
    """Additional content of a model file that cannot be used and was left out."""


def require(condition: bool, what: str) -> None:
    """Raise ModelFileError, which says what is wrong, where a condition does not hold."""
    if not condition:
        raise ModelFileError(f"The model file is damaged: {what}.")
