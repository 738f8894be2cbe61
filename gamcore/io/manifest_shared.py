"""A file's entry of features that share an effect with others: of each score, its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gamcore.io.checks import require
from gamcore.model.additive import AdditiveModel, SharedEffect


def shared_entry(models: Sequence[AdditiveModel]) -> dict[str, Any]:
    """Return the manifest's entry of the models of all scores; none if no feature shares an effect."""
    each = [model.halves.shared if model.halves is not None else () for model in models]
    lists = [
        [{"feature": one.feature, "others": list(one.others), "determined": one.determined} for one in of]
        for of in each
    ]
    return {"shared": lists} if any(lists) else {}


def read_shared(manifest: dict[str, Any], n_features: int, place: int) -> tuple[SharedEffect, ...]:
    """Return the checked entry of one score."""
    lists = manifest.get("shared")
    if lists is None:
        return ()
    fine = isinstance(lists, list) and len(lists) > place and isinstance(lists[place], list)
    require(fine and len(lists[place]) <= n_features, "its shared effects do not match its scores")
    return tuple(_read(entry, n_features) for entry in lists[place])


def _read(entry: Any, n_features: int) -> SharedEffect:
    require(
        isinstance(entry, dict) and {"feature", "others", "determined"} <= set(entry), "a shared effect is incomplete"
    )
    feature, others, share = entry["feature"], entry["others"], entry["determined"]
    require(isinstance(others, list) and 0 < len(others) < n_features, "a shared effect has no others")
    known = all(type(k) is int and 0 <= k < n_features for k in (feature, *others))
    require(known and len({feature, *others}) == 1 + len(others), "a shared effect is of unknown features")
    require(type(share) is float and 0 <= share <= 1, "the share that others determine is out of range")
    return SharedEffect(feature, tuple(others), share)
