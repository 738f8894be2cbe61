"""Sentences read off curves and heat maps by rule: only what the simultaneous band supports.

A curve is said to rise from one place to another where its band at the second lies above its band at the first. Of each
rise and fall, the sentence names the part with the fewest rows that has most of the movement. So the words hold for all
places at once with the confidence of the band, and say where the picture moves. Where a constant fits everywhere, there
is no clear effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.data.dates import as_date
from gamcore.data.labels import cut
from gamcore.explain.curves import FEW_ROWS, Curve
from gamcore.explain.surfaces import Surface, SurfaceAxis
from gamcore.model.scales import Scale, say, say_all
from gamcore.numbers import count, exact, fixed, number, percent, place
from gamcore.types import Floats

FLAT: Final = 0.1
"""Share of the height of a rise or fall that a flat part may move by."""

STEP: Final = 0.2
"""Least share of a curve's height that a single step needs to be mentioned."""

MOST: Final = 0.8
"""Share of a rise or fall that is most of it."""

WORTH_SAYING: Final = 1 / 3
"""Size of a rise or fall, as a share of the largest, that makes it worth saying."""

LONGEST: Final = 110
"""Characters of a headline: two lines of a slide or of a narrow page."""

LONGEST_NAME, LONGEST_LEVEL = 40, 24
MOST_LEGS: Final = 3
MOST_LEVELS: Final = 4
NO_CLEAR_EFFECT: Final = "no clear effect"


@dataclass(frozen=True)
class Leg:
    """A rise or fall, from the end of bin `start` to the beginning of bin `end`."""

    up: bool
    start: int
    end: int


def read_curve(curve: Curve) -> str:
    """Return where most of the movement of a curve is, in a sentence; only its name where it has no simultaneous band
    yet, or was set by hand, so that no band says what is clear."""
    name = cut(curve.feature, LONGEST_NAME)
    if curve.by_hand.any():
        return f"Effect of {name}, {'' if curve.by_hand.all() else 'partly '}set by hand"
    if not curve.scores.size:
        return f"{name}: no values in training, so no effect"
    if not curve.has_whole:
        return f"Effect of {name}"
    curve = curve.as_levels()
    said = _levels(curve) if curve.labels else _line(curve)
    missing = _missing(curve)
    if missing and said == [NO_CLEAR_EFFECT]:
        return f"{name}: only {missing}"
    sentences = [f"{name}: {text}" for text in said]
    fuller = [f"{sentences[0]}; {missing}", *(f"{text}; {missing}" for text in sentences)] if missing else []
    return next((text for text in (*fuller, *sentences) if len(text) <= LONGEST), sentences[-1])


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


@dataclass(frozen=True)
class _Move:
    """Most of a rise or fall: from place `start` to place `end`, by how much, and the share of rows between."""

    leg: Leg
    size: float
    rows: float


def _line(curve: Curve) -> list[str]:
    """Return a line in words, from the fullest to the shortest way to say it."""
    places = thick(curve)
    lower, upper = curve.whole[:, places]
    parts = legs(lower, upper, curve.scores[places]) if places.size else []
    if not parts:
        return [NO_CLEAR_EFFECT]
    moves = [_most(curve, places, leg) for leg in parts]
    largest = max(moves, key=lambda move: move.size)
    if len(parts) > MOST_LEGS:
        ends = [int(places[int(find(curve.scores[places]))]) for find in (np.argmin, np.argmax)]
        low, high = (f"{_value(curve, k)} ({say(float(curve.scores[k]), curve.scale)})" for k in ends)
        return [f"goes up and down: lowest at {low}, highest at {high}"]
    kept = [move for move in moves if move.size >= WORTH_SAYING * largest.size]
    step = _steepest(curve, places)
    at = "" if step is None else f"; steepest at {(_value if _single_values(curve) else _edge)(curve, step)}"
    every = ", then ".join(_moved(curve, places, move, move is largest) for move in kept)
    plain = ", then ".join(_moved(curve, places, move, False) for move in kept)
    return [every + at, every, plain, _moved(curve, places, largest, True), _moved(curve, places, largest, False)]


def _most(curve: Curve, places: NDArray[np.intp], leg: Leg) -> _Move:
    """Return the part of a rise or fall with the fewest rows that has most of its movement, by the band."""
    sign = 1.0 if leg.up else -1.0
    inside = np.arange(leg.start, leg.end + 1)
    scores = np.log(curve.scores[places]) if curve.scale == "ratio" else curve.scores[places]
    lower, upper = curve.whole[:, places]
    moved = sign * (scores[inside][None, :] - scores[inside][:, None])  # from row to column
    clear = (
        lower[inside][None, :] > upper[inside][:, None] if leg.up else upper[inside][None, :] < lower[inside][:, None]
    )
    moved = np.where(np.triu(np.ones(moved.shape, bool), 1) & clear, moved, -np.inf)
    total, counts = float(curve.counts.sum()), np.concatenate([[0.0], np.cumsum(curve.counts[places])])
    if not np.isfinite(moved).any():
        start, end = leg.start, leg.end
    else:
        rows = counts[inside + 1][None, :] - counts[inside][:, None]
        enough = moved >= MOST * moved.max()
        start, end = (int(inside[k]) for k in np.unravel_index(np.where(enough, rows, np.inf).argmin(), rows.shape))
    size = abs(float(scores[end] - scores[start]))
    return _Move(Leg(leg.up, start, end), size, float(counts[end + 1] - counts[start]) / total)


def _moved(curve: Curve, places: NDArray[np.intp], move: _Move, rows: bool) -> str:
    """Return a rise or fall in words. rows : whether the share of rows there is said."""
    share = f", where {percent(move.rows, 0)} of rows are" if rows else ""
    way = "rises" if move.leg.up else "falls"
    return f"{way} {_size(move.size, curve.scale)} {_where(curve, places, move.leg)}{share}"


def _size(size: float, scale: Scale) -> str:
    """Return how far an effect moves; `size` is a log on the ratio scale."""
    if scale == "ratio":
        return f"by a factor of {number(np.exp(size), 2)}"
    if scale == "points":
        return f"{count(size)} points" if size >= 10 else f"{fixed(size, 1)} points"
    return f"by {number(size)}"


def _where(curve: Curve, places: NDArray[np.intp], leg: Leg) -> str:
    """Return where a leg is, in words: from one flat part to the next, or around the place where they meet."""
    start, end = int(places[leg.start]), int(places[leg.end])
    if leg.start >= leg.end:
        return f"around {_value(curve, (start + end) // 2)}"
    if curve.values:
        return f"from {curve.values[start]} to {curve.values[end]}"
    single = _single_values(curve)
    first = float(curve.display[start] if single or not leg.start else curve.edges[start + 1])
    last = float(curve.display[end] if single or leg.end == places.size - 1 else curve.edges[end])
    if _number(curve, first) == _number(curve, last):
        return f"around {_number(curve, first)}"
    return f"from {curve.measure.dress(f'{_bare(curve, first)} to {_bare(curve, last)}')}"


def _single_values(curve: Curve) -> bool:
    """Return whether each bin holds a single value: its borders are then halfway between neighbours."""
    middles = (curve.display[:-1] + curve.display[1:]) / 2
    return bool(np.allclose(curve.edges[1:-1], middles, rtol=1e-9))


def _value(curve: Curve, k: int) -> str:
    """Return the typical value of bin k in words."""
    return curve.values[k] if curve.values else _number(curve, float(curve.display[k]))


def _edge(curve: Curve, k: int) -> str:
    """Return where bin k begins, in words."""
    return _number(curve, float(curve.edges[k]))


def _number(curve: Curve, value: float) -> str:
    return curve.measure.dress(_bare(curve, value))


def _bare(curve: Curve, value: float) -> str:
    """Return a number without its unit, or a date."""
    if curve.kind == "date":
        return str(as_date(value).date())
    low, high = np.quantile(curve.display, [0.05, 0.95])  # a long tail must not cost the rest its digits
    return curve.measure.number(value, place(value, float(high - low) or float(np.ptp(curve.edges))))


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


def _levels(curve: Curve) -> list[str]:
    """Return the levels that move the most rows furthest, in order of effect, from the fullest to the shortest way to
    say it."""
    places = thick(curve)
    lower, upper = curve.whole[:, places]
    if not places.size or lower.max() <= upper.min():
        return [NO_CLEAR_EFFECT]
    effects = np.log(curve.scores) if curve.scale == "ratio" else curve.scores
    weighty = places[np.argsort(-np.abs(effects[places]) * curve.counts[places], kind="stable")]
    made = []
    for most in range(min(MOST_LEVELS, places.size), 0, -1):
        # The level that stands out most is always among them, however few rows it has.
        far = places[int(np.abs(effects[places]).argmax())]
        chosen = list(dict.fromkeys([*weighty[: most - 1], far, *weighty]))[:most]
        listed = sorted(chosen, key=lambda k: -effects[k])
        effects_said = say_all([float(curve.scores[k]) for k in listed], curve.scale)
        words = ", ".join(
            f"{cut(curve.labels[k], LONGEST_LEVEL)} {said}" for k, said in zip(listed, effects_said, strict=True)
        )
        more = places.size - most
        unit = " points" if curve.scale == "points" else ""
        made.append(f"{words}{unit}" + (f"; {more} more level{'s' * (more > 1)}" if more else ""))
    return made


def read_surface(surface: Surface, helps: bool = False) -> str:
    """Return the largest clear joint effect of two features in a sentence; only its name without a simultaneous
    band, or where cells were set by hand. helps : whether the pair is known to improve predictions of other rows."""
    first, second = surface.names
    together = f"{first} and {second} together"
    if surface.n_by_hand:
        return f"{together}, {'' if surface.n_by_hand == surface.scores.size else 'partly '}set by hand"
    if not surface.has_whole:
        return f"{together}, {'beyond each alone' if surface.pure else 'with what each does alone'}"
    clear = ((surface.whole[0] > surface.zero) | (surface.whole[1] < surface.zero)) & (surface.counts >= FEW_ROWS)
    if helps and not clear.any():
        return f"{together}: better predictions, though no single cell stands out"
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
        return f"{axis.feature} is {axis.measure.say(low, exact(low))}"
    first, last = (axis.measure.number(end, place(end, high - low)) for end in (low, high))
    if k == axis.size - 1:
        return f"{axis.feature} is over {axis.measure.dress(first)}"
    return f"{axis.feature} is {axis.measure.dress(f'{first} to {last}')}"
