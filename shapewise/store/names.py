"""Ids and names of things, and reading stored descriptions."""

from __future__ import annotations

import secrets
from dataclasses import fields
from typing import Any, TypeVar

About = TypeVar("About")

MAX_NAME = 120


def new_id() -> str:
    """Return a random id that cannot be guessed."""
    return secrets.token_hex(8)


def clean_name(name: str) -> str:
    """Return a name for display: no control characters, no runs of spaces, not too long, not empty."""
    text = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return (text[: MAX_NAME - 1] + "…" if len(text) > MAX_NAME else text) or "unnamed"


def known(cls: type[About], kept: dict[str, Any]) -> About:
    """Return a description from its stored form; ignore fields that a newer version added."""
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    return cls(**{name: value for name, value in kept.items() if name in names})
