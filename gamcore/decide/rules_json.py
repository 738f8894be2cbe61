"""Rules from plain, untrusted JSON: errors name the place of what is wrong."""

from __future__ import annotations

from typing import Any, Final, TypeGuard

from gamcore.data.dates import days_of, stamp
from gamcore.decide.rules import All, AnyOf, Levels, Missing, Not, Range, Rule, RuleError

MOST_DEEP: Final = 20
MOST_PARTS: Final = 500


def from_dict(plain: Any) -> Rule:
    """Return a rule from plain JSON; RuleError names what cannot be read."""
    return _read(plain, "rule", [0], 0)


def plain_text(value: Any) -> TypeGuard[str]:
    """Return whether a value is valid Unicode text without null characters."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return "\0" not in value


def _read(plain: Any, place: str, count: list[int], depth: int) -> Rule:
    count[0] += 1
    if depth > MOST_DEEP or count[0] > MOST_PARTS:
        raise RuleError(f"{place} is nested more than {MOST_DEEP} deep, or the rule has more than {MOST_PARTS} parts.")
    if not isinstance(plain, dict):
        raise RuleError(f"{place} is {_short(plain)}: it has to be an object with all, any, not, or a column.")
    for name, kind in (("all", All), ("any", AnyOf)):
        if set(plain) == {name} and isinstance(plain[name], list):
            return kind(
                tuple(_read(part, f"{place}.{name}[{k}]", count, depth + 1) for k, part in enumerate(plain[name]))
            )
    if set(plain) == {"not"}:
        return Not(_read(plain["not"], f"{place}.not", count, depth + 1))
    column = plain.get("column")
    if not plain_text(column):
        raise RuleError(
            f"{place} has {_short(sorted(map(str, plain)))}: it needs exactly one of all, any, not, or a column."
        )
    asked = {name: value for name, value in plain.items() if name != "column"}
    if asked == {"missing": True}:
        return Missing(column)
    if set(asked) == {"is"} and isinstance(asked["is"], list) and all(map(plain_text, asked["is"])):
        return Levels(column, tuple(asked["is"]))
    lows, highs = set(asked) & {"at_least", "above"}, set(asked) & {"at_most", "below"}
    if not asked or len(lows) > 1 or len(highs) > 1 or set(asked) - lows - highs:
        raise RuleError(
            f"{place} asks {column!r} for {_short(sorted(asked))}: it needs missing, is, or one end or two of "
            "at_least, above, at_most, below."
        )
    dates = [isinstance(end, str) for end in asked.values()]
    if any(dates) and not all(dates):
        raise RuleError(f"{place}: one end of {column!r} is a date, the other a number.")
    low, high = (_end(asked[next(iter(names))], place) if names else None for names in (lows, highs))
    return Range(column, low, high, low_in="above" not in lows, high_in="at_most" in highs, date=all(dates))


def _end(value: Any, place: str) -> float:
    if isinstance(value, str):
        try:
            days = days_of(value)
            stamp(days)
            return days
        except (ValueError, OverflowError) as error:
            raise RuleError(f"{place} has {value[:40]!r}, which is not a date such as 2025-01-31.") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RuleError(f"{place} has {_short(value)}, which is not a number.")
    try:
        return float(value)
    except OverflowError as error:
        raise RuleError(f"{place} has a number that is too large.") from error


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
