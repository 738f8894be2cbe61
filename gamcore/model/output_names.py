"""What the numbers that a model gives to a row are called: in scored files, SQL, Python, JSON and on the pages alike.

    prediction          the target, the chance of the second class, or the likeliest of several classes
    rate, expected      in its place where a model has an exposure: the target per unit of it, and the total of the row,
                        which is rate x exposure
    chance of CLASS     the chance of each of several classes
    score (UNIT)        what the effects add up to, before the link; "score of CLASS (UNIT)" of several classes
    effect K (UNIT)     the K-th largest effect of a row, and "reason K" whose it is
    push K (UNIT)       by how much a reason for a decision pushed the score, and "reason K" what is told of it

The unit is the one that plots of effects name: log-odds, the log of the mean, or the target's own where somebody has
said it. The score of a scorecard is its points, and has no other unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from gamcore.data.column_names import free_name
from gamcore.model.loss import Loss

PREDICTION: Final = "prediction"
RATE: Final = "rate"
EXPECTED: Final = "expected"


def predicted(given: Collection[str]) -> str:
    """Return what the prediction of a row is called. given : what the scores of the model are added to."""
    return RATE if "exposure" in given else PREDICTION


def score_unit(loss: Loss, own: str = "") -> str:
    """Return the unit of scores and effects. own : that of the target, which a link may leave as it is; may be
    empty."""
    return loss.unit("link", own)


def in_unit(name: str, unit: str) -> str:
    """Return the name of a number with its unit at the end, if it has one."""
    return f"{name} ({unit})" if unit else name


def score(unit: str) -> str:
    """Return what the score of a row is called."""
    return in_unit("score", unit)


def effect(k: int, unit: str) -> str:
    """Return what the k-th largest effect of a row is called."""
    return in_unit(f"effect {k}", unit)


def push(k: int, unit: str) -> str:
    """Return what the push of the k-th reason for a decision is called."""
    return in_unit(f"push {k}", unit)


def reason(k: int) -> str:
    """Return what the k-th reason is called."""
    return f"reason {k}"


def chance_of(label: Any) -> str:
    """Return what the chance of one of several classes is called."""
    return f"chance of {label}"


def score_of(label: Any, unit: str) -> str:
    """Return what the score of one of several classes is called."""
    return in_unit(f"score of {label}", unit)


def free_names(taken: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Return names like the wanted ones, whatever their case unlike each other and all that a table has."""
    names, free = list(taken), list[str]()
    for name in wanted:
        free.append(free_name(names, name))
        names.append(free[-1])
    return free
