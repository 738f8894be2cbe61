"""Levels as they stand in sentences and in lists, names of bins of levels, and of what has no room for its name."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from gamcore.common.numbers import count

FEWEST: Final = 3
"""Characters below which a text is cut no further."""

LONGEST_LEVEL: Final = 60
"""Characters of a level in a sentence; of those that begin alike, what tells them apart is left."""

AMBIGUOUS: Final = re.compile(r"""[,;"“”]|[^\S ]|^\s|\s$|^$|\b(and|or)\b|^not\b|^(missing|nothing)$""", re.IGNORECASE)
"""What makes a name several, none, or a word of the sentence that it stands in."""


def labels_of(members: Sequence[Sequence[str]], rare: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of bins by the levels of each. rare : those that are pooled into the last."""
    labels = [
        ", ".join([*map(set_apart, levels[:3]), *["..."] * (len(levels) > 3)]) if len(levels) > 1 else "".join(levels)
        for levels in members
    ]
    return (*labels[:-1], f"(rare: {labels[-1]})") if rare else tuple(labels)


def cut(text: str, most: int) -> str:
    """Return a text cut to at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def set_apart(name: str) -> str:
    """Return a level as it stands in a sentence: in quotation marks where it would not be read as one name there."""
    return f"“{' '.join(name.splitlines())}”" if AMBIGUOUS.search(name) else name


def levels_in_words(levels: Sequence[str], joint: str = "and", most: int | None = None) -> str:
    """Return levels, arms, classes or tasks as they stand in a sentence: the one way in which they are listed.

    joint : the word before the last. most : so many are named, and of the others is said how many they are.
    """
    named = [set_apart(level) for level in cut_apart(levels[:most], LONGEST_LEVEL)]
    n_more = len(levels) - len(named)
    return listed([*named, f"{'one of ' * (joint == 'or')}{count(n_more)} more"] if n_more else named, joint)


def listed(names: Sequence[str], joint: str = "and") -> str:
    """Return names as a list in words. joint : the word before the last."""
    return f" {joint} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def whole_letters(ending: str) -> str:
    """Return the end of a text that was cut without marks that belong to a letter before the cut."""
    return next((ending[k:] for k, c in enumerate(ending) if not unicodedata.category(c).startswith("M")), "")


def cut_apart(texts: Sequence[str], most: int) -> list[str]:
    """Return texts cut to at most `most` characters, such that those that begin alike differ in what is left of them:
    they lose their middle, up to where they part."""
    labels, head = [cut(text, most) for text in texts], most // 3
    families = defaultdict(list)
    for k, text in enumerate(texts):
        if len(text) > most:
            families[text[:head]].append(k)
    for places in families.values():
        long = sorted({texts[k] for k in places})
        if len({labels[k] for k in places}) == len(long) or most < 2 * FEWEST:
            continue
        parting = next((k for k, (a, b) in enumerate(zip(long[0], long[-1], strict=False)) if a != b), len(long[0]))
        ends = cut_apart([texts[k][parting:] for k in places], most - head - 1)
        for k, end in zip(places, ends, strict=True):
            labels[k] = f"{texts[k][:head]}…{whole_letters(end)}"
    return labels
