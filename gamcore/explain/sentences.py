"""Sentences read off curves and heat maps by rule: only what the simultaneous band supports.

A curve is said to rise from one place to another where its band at the second lies above its band at the first. Before,
between and after rises and falls, a stretch is called flat where a constant fits into the band and the curve hardly
moves. So the words hold for all places at once with the confidence of the band. Where a constant fits everywhere, there
is no clear effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.data.dates import as_date
from gamcore.explain.curves import FEW_ROWS, Curve
from gamcore.explain.surfaces import Surface, SurfaceAxis
from gamcore.model.scales import say
from gamcore.types import Floats

FLAT: Final = 0.1
"""Share of the height of a rise or fall that a flat part may move by."""

STEP: Final = 0.2
"""Least share of a curve's height that a single step needs to be mentioned."""

MOST_LEGS: Final = 3
MOST_LEVELS: Final = 3
NO_CLEAR_EFFECT: Final = "no clear effect"


@dataclass(frozen=True)
class Leg:
    """A rise or fall, from the end of bin `start` to the beginning of bin `end`."""

    up: bool
    start: int
    end: int


def read_curve(curve: Curve) -> str:
    """Return the shape of a curve in a sentence; only its name where it has no simultaneous band yet."""
    if not curve.scores.size:
        return f"{curve.feature}: no values in training, so no effect"
    if not curve.has_whole:
        return f"Effect of {curve.feature}"
    sentence = _levels(curve) if curve.labels else _line(curve)
    missing = _missing(curve)
    if missing and sentence == NO_CLEAR_EFFECT:
        return f"{curve.feature}: only {missing}"
    return f"{curve.feature}: {sentence}{f'; {missing}' if missing else ''}"


def _missing(curve: Curve) -> str:
    """Return the effect of a missing cell, where it clearly differs from the average."""
    if curve.missing_whole is None or curve.missing[3] < FEW_ROWS:
        return ""
    low, high = curve.missing_whole
    return f"missing {say(curve.missing[0], curve.scale)}" if low > curve.zero or high < curve.zero else ""


def thick(curve: Curve) -> NDArray[np.intp]:
    """Return the bins with enough rows to be read; where none has, all bins with rows."""
    places = np.flatnonzero(curve.counts >= FEW_ROWS)
    return places if places.size else np.flatnonzero(curve.counts > 0)


def legs(lower: Floats, upper: Floats, centre: Floats | None = None) -> list[Leg]:
    """Return the rises and falls of every curve that fits into a band, from left to right; none where a constant fits.

    A walk along the band (n,) keeps the highest lower end on a rise, or the lowest upper end on a fall; once the band
    lies wholly beyond it, the curve must have turned there. centre : (n,) the curve; where it moves is not flat.
    """
    turns: list[tuple[int, bool]] = []  # where a leg begins, and whether it goes up
    up: bool | None = None
    top = bottom = 0
    for k in range(1, lower.size):
        if up is not True and lower[k] > upper[bottom]:
            turns.append((bottom, True))
            up, top = True, k
        elif up is not False and upper[k] < lower[top]:
            turns.append((top, False))
            up, bottom = False, k
        elif up is not False and lower[k] > lower[top]:
            top = k
        if up is not True and upper[k] < upper[bottom]:
            bottom = k
    starts = [0, *[place for place, _ in turns[1:]]]
    ends = [*starts[1:], lower.size - 1]
    made = []
    for (_, way_up), start, end in zip(turns, starts, ends, strict=False):
        part = slice(start, end + 1)
        still = np.zeros(end - start + 1) if centre is None else centre[part]
        calm = _calm(still if way_up else -still)
        until = _flat_until(lower[part], upper[part], calm[0])
        back = _flat_until(lower[part][::-1], upper[part][::-1], calm[1][::-1])
        made.append(Leg(way_up, start + until, end - back))
    return made


def _calm(centre: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where a rising curve (n,) is still near its lowest place, and where already near its highest. All before
    the lowest and all after the highest counts too: what it does there, the band does not support."""
    low, high, near = int(centre.argmin()), int(centre.argmax()), FLAT * float(np.ptp(centre))
    k = np.arange(centre.size)
    if low > high:
        return np.ones(k.size, bool), np.ones(k.size, bool)
    return (k <= low) | (centre - centre[low] <= near), (k >= high) | (centre[high] - centre <= near)


def _flat_until(lower: Floats, upper: Floats, calm: NDArray[np.bool_]) -> int:
    """Return the last place up to which a constant fits into a band (n,) and every place is calm (n,)."""
    fits = (np.maximum.accumulate(lower) <= np.minimum.accumulate(upper)) & np.logical_and.accumulate(calm)
    return int(np.flatnonzero(fits)[-1])


def _line(curve: Curve) -> str:
    places = thick(curve)
    lower, upper = curve.whole[:, places]
    parts = legs(lower, upper, curve.scores[places]) if places.size else []
    if not parts:
        return NO_CLEAR_EFFECT
    if len(parts) > MOST_LEGS:
        low, high = places[int(curve.scores[places].argmin())], places[int(curve.scores[places].argmax())]
        return f"goes up and down: lowest at {curve.place(int(low))}, highest at {curve.place(int(high))}"
    said = []
    for number, leg in enumerate(parts):
        way = "rises" if leg.up else "falls"
        said.append(f"{'then ' if number else ''}{way} {_where(curve, places, leg)}")
    if parts[0].start > 0.1 * places.size:
        said[0] = f"flat, then {said[0]}"
    if parts[-1].end < 0.9 * (places.size - 1):
        said.append("then flat")
    step = _steepest(curve, places)
    return ", ".join(said) + (
        f"; the steepest step is at {_value(curve, step) if _single_values(curve) else _edge(curve, step)}"
        if step is not None
        else ""
    )


def _where(curve: Curve, places: NDArray[np.intp], leg: Leg) -> str:
    """Return where a leg is, in words: from one flat part to the next, or around the place where they meet."""
    start, end = int(places[leg.start]), int(places[leg.end])
    if leg.start >= leg.end:
        return f"around {_value(curve, (start + end) // 2)}"
    first = _value(curve, start) if _single_values(curve) or not leg.start else _edge(curve, start + 1)
    last = _value(curve, end) if _single_values(curve) or leg.end == places.size - 1 else _edge(curve, end)
    return f"from {first} to {last}" if first != last else f"around {first}"


def _single_values(curve: Curve) -> bool:
    """Return whether each bin holds a single value: its borders are then halfway between neighbours."""
    middles = (curve.display[:-1] + curve.display[1:]) / 2
    return bool(np.allclose(curve.edges[1:-1], middles, rtol=1e-9))


def _value(curve: Curve, k: int) -> str:
    """Return the typical value of bin k in words."""
    return _number(curve, float(curve.display[k]))


def _edge(curve: Curve, k: int) -> str:
    """Return where bin k begins, in words."""
    return _number(curve, float(curve.edges[k]))


def _number(curve: Curve, value: float) -> str:
    if curve.kind == "date":
        return str(as_date(value).date())
    low, high = np.quantile(curve.display, [0.05, 0.95])  # a long tail must not cost the rest its digits
    return short(value, float(high - low) or float(np.ptp(curve.edges)))


def short(value: float, span: float) -> str:
    """Return a number to about a hundredth of a span, without trailing zeros."""
    digits = max(0, 2 - int(np.floor(np.log10(span)))) if span > 0 else 6
    if not digits:
        return f"{round(value):,}"
    said = f"{round(value, digits):,.{digits}f}".rstrip("0").rstrip(".")
    return "0" if said == "-0" else said


def _steepest(curve: Curve, places: NDArray[np.intp]) -> int | None:
    """Return the bin that the largest step leads to, where the refits agree on it and it is large enough to
    mention."""
    if places.size < 3 or len(curve.refits) < 2:
        return None
    scores = curve.refits[:, places].mean(axis=0)
    steps = np.diff(curve.refits[:, places], axis=1)
    size, error = np.abs(steps.mean(axis=0)), steps.std(axis=0, ddof=1)
    k = int(size.argmax())
    clear = size[k] > curve.reach * error[k]
    return int(places[k + 1]) if clear and size[k] >= STEP * np.ptp(scores) else None


def _levels(curve: Curve) -> str:
    """Return the levels that are clearly above or below average, in words."""
    places = thick(curve)
    lower, upper = curve.whole[:, places]
    if not places.size or lower.max() <= upper.min():
        return NO_CLEAR_EFFECT
    order = places[np.argsort(-curve.scores[places], kind="stable")]
    above = [k for k in order if curve.whole[0, k] > curve.zero]
    below = [k for k in order[::-1] if curve.whole[1, k] < curve.zero]
    said = []
    for name, these in (("above average for", above), ("below for", below)):
        if these:
            names = _named([curve.labels[k] for k in these])
            said.append(f"{name} {names} ({say(float(curve.scores[these[0]]), curve.scale)})")
    return ", ".join(said)


def _named(labels: list[str]) -> str:
    """Return the first names, and the number of the rest."""
    more = len(labels) - MOST_LEVELS
    if more > 0:
        return f"{', '.join(labels[:MOST_LEVELS])} and {more} more"
    return " and ".join([", ".join(labels[:-1]), labels[-1]] if len(labels) > 1 else labels)


def read_surface(surface: Surface) -> str:
    """Return the largest clear joint effect of two features in a sentence; only its name without a simultaneous
    band."""
    first, second = surface.names
    together = f"{first} and {second} together"
    if not surface.has_whole:
        return f"{together}, {'beyond each alone' if surface.pure else 'with what each does alone'}"
    clear = ((surface.whole[0] > surface.zero) | (surface.whole[1] < surface.zero)) & (surface.counts >= FEW_ROWS)
    if not clear.any():
        return f"{together}: {NO_CLEAR_EFFECT}{' beyond each alone' if surface.pure else ''}"
    size = np.abs(np.log(surface.scores) if surface.scale == "ratio" else surface.scores)
    i, j = np.unravel_index(int(np.where(clear, size, -1.0).argmax()), clear.shape)
    most = say(float(surface.scores[i, j]), surface.scale)
    return f"{together}: {most} where {_cell(surface.first, int(i))} and {_cell(surface.second, int(j))}"


def _cell(axis: SurfaceAxis, k: int) -> str:
    """Return a bin of an axis in words, with meaningful digits."""
    if axis.labels or axis.kind == "date":
        return f"{axis.feature} is {axis.place(k)}"
    low, high = float(axis.edges[k]), float(axis.edges[k + 1])
    if low == high:
        return f"{axis.feature} is {low:g}"
    if k == axis.size - 1:
        return f"{axis.feature} is over {short(low, high - low)}"
    return f"{axis.feature} is {short(low, high - low)} to {short(high, high - low)}"
