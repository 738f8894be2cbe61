"""Names of bins of levels, and of what has no room for its whole name."""

from __future__ import annotations

from collections.abc import Sequence


def labels_of(members: Sequence[Sequence[str]], rare: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of bins by the levels of each. rare : those that are pooled into the last."""
    labels = [f"{', '.join(levels[:3])}{', ...' if len(levels) > 3 else ''}" for levels in members]
    return (*labels[:-1], f"(rare: {labels[-1]})") if rare else tuple(labels)


def cut(text: str, most: int) -> str:
    """Return a text cut to at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
