"""What a search shows, and in which order. Knows no page."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

MOST_OF_KIND: Final = 5


@dataclass(frozen=True)
class Place:
    """Somewhere to go. kind : what it is listed under. name, detail : how it is listed; only the name is searched, and
    the words in `also`. page, query : where it is."""

    kind: str
    name: str
    page: str
    query: dict[str, str] = field(default_factory=dict)
    detail: str = ""
    also: str = ""


@dataclass(frozen=True)
class Group:
    """The best places of a kind. total : how many of that kind the search has."""

    kind: str
    places: tuple[Place, ...]
    total: int


def fold(text: str) -> str:
    """Return a text as it is compared: without accents, and without a difference between cases."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(letter for letter in apart if not unicodedata.combining(letter)).split())


def ranked(places: Sequence[Place], asked: str) -> list[Place]:
    """Return the places that have each of the words that are asked for, the best first; none where nothing is asked.

    A name that is asked for comes first, then names that begin with it, that have a word that does, or it anywhere,
    then those that have its words anywhere, last what has them elsewhere; of two alike, the shorter, then the earlier.
    """
    wanted = fold(asked)
    if not wanted:
        return []
    ranks = ((_rank(place, wanted), k) for k, place in enumerate(places))
    return [places[k] for (_, k) in sorted((rank, k) for rank, k in ranks if rank is not None)]


def _rank(place: Place, wanted: str) -> tuple[int, int] | None:
    name = fold(place.name)
    words = wanted.split()
    if not all(word in name for word in words):
        everything = f"{name} {fold(place.also)}"
        return (5, len(name)) if all(word in everything for word in words) else None
    if name == wanted:
        return 0, 0
    if name.startswith(wanted):
        return 1, len(name)
    if re.search(rf"(?:\b|_){re.escape(wanted)}", name):
        return 2, len(name)
    return 3 if wanted in name else 4, len(name)


def grouped(places: Sequence[Place], asked: str) -> list[Group]:
    """Return the places that a search has by kind, the kind of the best first, and within each the best first."""
    by_kind: dict[str, list[Place]] = defaultdict(list)
    for place in ranked(places, asked):
        by_kind[place.kind].append(place)
    return [Group(kind, tuple(those[:MOST_OF_KIND]), len(those)) for kind, those in by_kind.items()]
