"""A file's entry of effects that rows show and curves do not: of each score, its features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gamcore.io.checks import require
from gamcore.model.additive import AdditiveModel, OpenEffect


def open_entry(models: Sequence[AdditiveModel]) -> dict[str, Any]:
    """Return the manifest's entry of the models of all scores; none if no feature has such an effect."""
    each = [model.halves.open_effects if model.halves is not None else () for model in models]
    lists = [[asdict(effect) for effect in effects] for effects in each]
    return {"shared": lists} if any(lists) else {}


def read_open(manifest: dict[str, Any], n_features: int, place: int) -> tuple[OpenEffect, ...]:
    """Return the checked entry of one score."""
    lists = manifest.get("shared")
    if lists is None:
        return ()
    fine = isinstance(lists, list) and len(lists) > place and isinstance(lists[place], list)
    require(fine and len(lists[place]) <= n_features, "its open effects do not match its scores")
    return tuple(_read(entry, n_features) for entry in lists[place])


def _read(entry: Any, n_features: int) -> OpenEffect:
    require(
        isinstance(entry, dict) and {"feature", "others", "determined"} <= set(entry), "an open effect is incomplete"
    )
    feature, others, share, way = entry["feature"], entry["others"], entry["determined"], entry.get("way", 0)
    require(isinstance(others, list) and len(others) < n_features, "an open effect has too many others")
    known = all(type(k) is int and 0 <= k < n_features for k in (feature, *others))
    require(known and len({feature, *others}) == 1 + len(others), "an open effect is of unknown features")
    require(type(share) is float and 0 <= share <= 1, "the share that others determine is out of range")
    require(type(way) is int and -1 <= way <= 1 and not (way and others), "the way of an open effect is out of range")
    return OpenEffect(feature, tuple(others), share, way)
