"""Names of bins of levels, and of what has no room for its whole name."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

FEWEST: Final = 3
"""Characters below which a text is cut no further."""


def labels_of(members: Sequence[Sequence[str]], rare: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of bins by the levels of each. rare : those that are pooled into the last."""
    apart = [[set_apart(level) for level in levels[:3]] if len(levels) > 1 else levels for levels in members]
    labels = [
        f"{', '.join(first)}{', ...' if len(levels) > 3 else ''}" for first, levels in zip(apart, members, strict=True)
    ]
    return (*labels[:-1], f"(rare: {labels[-1]})") if rare else tuple(labels)


def cut(text: str, most: int) -> str:
    """Return a text cut to at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def set_apart(name: str) -> str:
    """Return a name as it stands in a list: in quotation marks where it has a comma itself."""
    return f"“{name}”" if "," in name else name


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def whole_letters(ending: str) -> str:
    """Return the end of a text that was cut without marks that belong to a letter before the cut."""
    return next((ending[k:] for k, c in enumerate(ending) if not unicodedata.category(c).startswith("M")), "")


def cut_apart(texts: Sequence[str], most: int) -> list[str]:
    """Return texts cut to at most `most` characters, such that those that begin alike differ in what is left of them:
    they lose their middle, up to where they part."""
    made, head = [cut(text, most) for text in texts], most // 3
    families = defaultdict(list)
    for k, text in enumerate(texts):
        if len(text) > most:
            families[text[:head]].append(k)
    for places in families.values():
        long = sorted({texts[k] for k in places})
        if len({made[k] for k in places}) == len(long) or most < 2 * FEWEST:
            continue
        parting = next((k for k, (a, b) in enumerate(zip(long[0], long[-1], strict=False)) if a != b), len(long[0]))
        ends = cut_apart([texts[k][parting:] for k in places], most - head - 1)
        for k, end in zip(places, ends, strict=True):
            made[k] = f"{texts[k][:head]}…{whole_letters(end)}"
    return made
