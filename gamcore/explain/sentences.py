"""Sentences read off curves and heat maps by rule: only what the simultaneous band supports.

A curve is said to rise from one place to another where its band at the second lies above its band at the first. Of each
rise and fall, the sentence names the part that has most of the movement. So the words hold for all places at
once with the confidence of the band, and say where the picture moves. Where the band has no effect everywhere, the way
that a curve goes may still be clear (`readings.direction`); else there is no clear effect. Places are runs of bins with
rows enough (`explain.support`), and sentences are made of claims (`explain.claims`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np

from gamcore.common.numbers import count, decimals_of
from gamcore.common.types import Floats, Ints
from gamcore.data.labels import cut, listed
from gamcore.explain.claims import PARTS, Claim, Kind
from gamcore.explain.curves import Curve, ends_of
from gamcore.explain.places import MISSING, Place, border_of, cell_of, place_of, typical_of
from gamcore.explain.readings import Reading, direction, reading
from gamcore.explain.support import FEW_ROWS
from gamcore.explain.surfaces import SurfaceAxis
from gamcore.model.scales import Scale

STEP: Final = 0.2
"""Least share of a curve's height that a single step needs to be mentioned."""

AT_BORDER: Final = 0.5
"""Least share of a movement between two runs that is the step at their border, if it is told to be there."""

STEEPER: Final = 1.5
"""By how much more a step that is called the steepest moves a curve than any other stretch as long as it does."""

MOST: Final = 0.8
"""Share of a rise or fall that is most of it."""

LEAST_SLOPE: Final = 0.5
"""Slope at the ends of a rise or fall that is still a part of it, as a share of its mean slope."""

WORTH_SAYING: Final = 1 / 3
"""Size of a rise or fall, as a share of the largest, that makes it worth saying."""

TURNS_BACK: Final = 0.5
"""Most that a rise may fall on its way, or a fall rise, as a share of it: else its ends do not sum it up."""

LONGEST: Final = 110
"""Characters of a headline: two lines of a slide or of a narrow page."""

LONGEST_NAME: Final = 40
LONGEST_ENDS: Final = 56
"""Characters of two ranges by which a movement is named; beyond, it is from the first to the last of both."""

MOST_LEGS: Final = 3
MOST_LEVELS: Final = 4
MOST_NAMED: Final = 4
UNKNOWN: Final = (math.nan, math.nan)
"""Rows that were not counted."""


@dataclass(frozen=True)
class Leg:
    """A rise or fall, from place `start` to place `end`."""

    up: bool
    start: int
    end: int


def read_curve(curve: Curve) -> str:
    """Return where most of the movement of a curve is, in a sentence. Where it has no simultaneous band yet, that says
    what is drawn, and claims nothing; of one that was set by hand, no band says what is clear."""
    return _headline(curve)[0]


def claims_of(curve: Curve) -> tuple[Claim, ...]:
    """Return what `read_curve` says, as claims; empty where it claims nothing."""
    return _headline(curve)[1]


def is_unclear(curve: Curve) -> bool:
    """Return whether a curve alone shows no clear effect, of a value or of a missing cell."""
    claims = claims_of(replace(curve, open_effect=None))
    return any(claim.kind == "no clear effect" for claim in claims)


def _headline(curve: Curve) -> tuple[str, tuple[Claim, ...]]:
    """Return the fullest sentence that fits its place, and its claims."""
    name = cut(curve.feature, LONGEST_NAME)
    if curve.by_hand.any():
        return f"Effect of {name}, {'' if curve.by_hand.all() else 'partly '}set by hand", ()
    if not curve.scores.size:
        return f"{name}: no values in training, so no effect", ()
    curve = curve.as_levels()
    if not curve.has_whole:
        return f"{name}: {_drawn(curve)}", ()
    wordings = _levels(curve) if curve.labels else _line(curve)
    missing = _missing(curve)
    if missing:
        if wordings[0][0].kind == "no clear effect":
            return f"{name}: only {missing.words()}{_unit(curve)}", (missing,)
        wordings = [*((*claims, missing) for claims in wordings), *wordings]
    every = [(_sentence(claims, curve), claims) for claims in wordings]
    room = LONGEST - len(": ")
    text, claims = next((wording for wording in every if len(name) + len(wording[0]) <= room), every[-1])
    return f"{cut(name, room - len(text))}: {text}", claims


def _drawn(curve: Curve) -> str:
    """Return where a curve is lowest and highest, of a curve that no band says anything of."""
    (low, least), (high, most) = ends_of(curve)
    if least == most:
        return "the curve is flat"
    decimals = _decimals(curve, [least, most])
    places: list[tuple[Kind, Ints, float]] = [("lowest", low, least), ("highest", high, most)]
    ends = []
    for kind, bins, mean in places:
        own = max(decimals, decimals_of([mean], 2)) if curve.scale == "ratio" else decimals  # 0.12 is not 0.1 of odds
        ends.append(Claim(kind, typical_of(curve, bins), mean, UNKNOWN, curve.scale, decimals=own).words())
    return f"the curve is {' and '.join(ends)}"


def _sentence(claims: Sequence[Claim], curve: Curve) -> str:
    """Return claims about one curve as one sentence."""
    moves = [claim.words() for claim in claims if claim.kind in ("rises", "falls")]
    levels = [claim for claim in claims if claim.kind == "differs" and claim.where is not MISSING]
    ends = [claim.words() for claim in claims if claim.kind in ("lowest", "highest")]
    rest = [
        claim.words()
        for claim in claims
        if claim.where is not MISSING and claim.kind not in ("rises", "falls", "lowest", "highest", "differs")
    ]
    parts = [", then ".join(moves), ", ".join(claim.words() for claim in levels) + _unit(curve) * bool(levels)]
    if ends:
        parts.append(f"goes up and down: {', '.join(ends)}")
    parts += rest
    n_named = sum(len(claim.where.levels) for claim in levels if claim.where is not None)
    if levels and (n_others := _n_levels(curve) - n_named):
        parts.append(f"{count(n_others)} more level{'s' * (n_others > 1)}")
    parts += [claim.words() + _unit(curve) for claim in claims if claim.where is MISSING]
    return "; ".join(part for part in parts if part)


def _unit(curve: Curve | JointEffect) -> str:
    return " points" if curve.scale == "points" else ""


def _n_levels(curve: Curve) -> int:
    """Return the number of levels with training rows."""
    return sum(len(levels) for levels, rows in zip(curve.members, curve.counts, strict=True) if rows > 0)


def _decimals(curve: Curve | JointEffect, values: Sequence[float]) -> int:
    """Return the most decimals of effects that stand together."""
    return 1 if curve.scale == "points" else decimals_of(values)


def _n_rows(curve: Curve) -> float:
    """Return all training rows, also those without a value."""
    return float(curve.counts.sum() + curve.missing[3] + curve.unseen[3])


def _missing(curve: Curve) -> Claim | None:
    """Return the effect of a missing cell, where it clearly differs from the average."""
    if curve.missing_whole is None or curve.missing_is_thin:
        return None
    low, high = curve.missing_whole
    if low <= curve.zero <= high:
        return None
    value, rows = curve.missing[0], curve.missing[3]
    rows, n_rows = (rows, _n_rows(curve)) if curve.is_counted else UNKNOWN
    return Claim(
        "differs", MISSING, value, (low, high), scale=curve.scale, rows=rows, n_rows=n_rows,
        decimals=_decimals(curve, [value]),
    )  # fmt: skip


def legs(lower: Floats, upper: Floats) -> list[Leg]:
    """Return the rises and falls of every curve that fits into a band, from left to right; none where a constant fits.

    A walk along the band (n,) keeps the highest lower end on a rise, or the lowest upper end on a fall; once the band
    lies wholly beyond it, the curve must have turned there.
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
    return [Leg(way_up, start, end) for (_, way_up), start, end in zip(turns, starts, ends, strict=False)]


def most_of(leg: Leg, heights: Floats, lower: Floats, upper: Floats) -> Leg | None:
    """Return the part of a rise or fall that has most of its movement, and no flat or long ends: whatever moves less
    than half as much as the whole, place by place, is left out. Its ends are clear of each other, and the curve hardly
    turns back between them; None where no part is so, as of waves in a band that a line would fit into, too.

    heights, lower, upper : (n,) a curve and its band, on a scale on which movements add up.
    """
    sign, inside = 1.0 if leg.up else -1.0, np.arange(leg.start, leg.end + 1)
    line = sign * heights[inside]
    low, high = (lower, upper) if leg.up else (-upper, -lower)
    moved = line[None, :] - line[:, None]  # from row to column
    clear = np.triu(low[inside][None, :] > high[inside][:, None], 1) & (_turned_back(line) <= TURNS_BACK * moved)
    if not clear.any():
        return None
    most = float(moved[clear].max())
    worth = moved / most - LEAST_SLOPE * (inside[None, :] - inside[:, None]) / inside.size
    start, end = np.unravel_index(np.where(clear & (moved >= MOST * most), worth, -np.inf).argmax(), moved.shape)
    return Leg(leg.up, int(inside[start]), int(inside[end]))


def _turned_back(line: Floats) -> Floats:
    """Return how far a curve (n,) falls at most, from one place to a later one, between two places (n, n)."""
    later = np.triu(np.ones((line.size, line.size), bool))
    top = np.maximum.accumulate(np.where(later, line[None, :], -np.inf), axis=1)
    return np.maximum.accumulate(np.where(later, top - line[None, :], 0.0), axis=1)


def _turns_within(read: Reading, move: Leg) -> bool:
    """Return whether the curve turns back along a rise or fall where its runs, which are means of several bins, do not
    show it: from some of its rows to later ones, in parts of as many rows."""
    curve, inside = read.curve, read.bins(move.start, move.end)
    heights = np.log(curve.scores[inside]) if curve.scale == "ratio" else curve.scores[inside]
    rows = curve.counts[inside] + 1e-9
    borders = np.linspace(0, rows.sum(), PARTS + 1)
    sums = np.interp(borders, np.cumsum([0, *rows]), np.cumsum([0, *rows * heights]))
    line = np.diff(sums) * PARTS / rows.sum() * (1 if move.up else -1)
    size = abs(float(read.heights[move.end] - read.heights[move.start]))
    return float(_turned_back(line)[0, -1]) > TURNS_BACK * size


def _line(curve: Curve) -> list[tuple[Claim, ...]]:
    """Return the claims about a line, from the fullest to the shortest way to say it."""
    read = reading(curve)
    parts = legs(read.lower, read.upper) if read.runs else []
    if not parts:
        clear = _apart(read) if read.clear.any() else _overall(read)
        return [(clear,)] if clear else _nothing(read)
    low, high = (np.log(end) if curve.scale == "ratio" else end for end in (read.lower, read.upper))
    moves = [move for leg in parts if (move := most_of(leg, read.heights, low, high)) and not _turns_within(read, move)]
    if len(parts) > MOST_LEGS or len(moves) < len(parts):
        overall = _overall(read) if len(parts) == 1 else None
        return [(overall,)] if overall else _up_and_down(read)
    sizes = [abs(float(read.heights[move.end] - read.heights[move.start])) for move in moves]
    claims = [_moved(read, move, low, high) for move in moves]
    largest = claims[int(np.argmax(sizes))]
    kept = [move for move, size in zip(claims, sizes, strict=True) if size >= WORTH_SAYING * max(sizes)]
    every = tuple(move if move is largest else move.without_share() for move in kept)
    step = _steepest(read)
    return [
        *([(*every, step)] if step else []), every, tuple(move.without_share() for move in kept),
        *(_up_and_down(read) if len(kept) > 1 else [(largest,), (largest.without_share(),)]),
    ]  # fmt: skip


def _up_and_down(read: Reading) -> list[tuple[Claim, ...]]:
    """Return the ends of a curve of many rises and falls, from the fullest to the shortest way to say it."""
    ends = _at(read, int(read.scores.argmin()), "lowest"), _at(read, int(read.scores.argmax()), "highest")
    return [ends, ends[1:] if read.heights.max() > -read.heights.min() else ends[:1]]


def _overall(read: Reading) -> Claim | None:
    """Return which way a curve goes where that alone is clear; None where it is not."""
    way = direction(read)
    return _own(way, read.curve) if way else None


def _nothing(read: Reading) -> list[tuple[Claim, ...]]:
    """Return that no effect is clear; that one is, in single bins that are read only with their neighbours; or what
    rows show besides: which way a curve goes, that it has an effect, or has one together with columns that say nearly
    the same, from the fullest to the shortest way to say it."""
    curve, inside = read.curve, ~read.curve.thin
    low, high = (
        float(find(end[inside], initial=curve.zero)) for find, end in zip((np.max, np.min), curve.whole, strict=True)
    )
    if not low <= curve.zero <= high:
        return [(Claim("somewhere", None, math.nan, (low, high), curve.scale),)]
    effect = curve.open_effect
    if effect is None:
        return [(Claim("no clear effect", None, math.nan, (low, high), curve.scale),)]
    if not effect.others:
        return [(_own(effect.way, curve),)]
    shared = Claim("shared", None, effect.determined, (low, high), curve.scale, others=curve.shared_with)
    return [(replace(shared, n_named=k),) for k in range(min(len(shared.others), MOST_NAMED), -1, -1)]


def _own(way: int, curve: Curve) -> Claim:
    """Return that a feature has an effect, or which way it goes, where rows show that and no band does."""
    kind: Kind = "somewhere" if not way or curve.labels else "rises overall" if way > 0 else "falls overall"
    return Claim(kind, None, math.nan, UNKNOWN, curve.scale)


def _apart(read: Reading) -> Claim:
    """Return the run that is clearly on one side of the average, where all that are clear are on the same side: the one
    that moves the most rows furthest."""
    k = int((np.abs(read.heights) * read.rows * read.clear).argmax())
    return _at(read, k, "above" if read.lower[k] > read.curve.zero else "below")


def _at(read: Reading, k: int, kind: Kind, decimals: int | None = None) -> Claim:
    """Return the effect of a run as a claim."""
    curve, value = read.curve, float(read.scores[k])
    band = float(read.lower[k]), float(read.upper[k])
    most = _decimals(curve, [value]) if decimals is None else decimals
    if kind in ("lowest", "highest"):
        return Claim(kind, typical_of(curve, read.runs[k]), value, band, curve.scale, decimals=most)
    rows, n_rows = _counted(curve, read.runs[k])
    return Claim(
        kind, place_of(curve, read.runs[k]), value, band, curve.scale, rows=rows, n_rows=n_rows,
        says_share=curve.is_counted and kind in ("above", "below"), decimals=most,
    )  # fmt: skip


def _counted(curve: Curve, bins: Ints) -> tuple[float, float]:
    """Return the training rows of some bins, and all."""
    return (float(curve.counts[bins].sum()), _n_rows(curve)) if curve.is_counted else UNKNOWN


def _moved(read: Reading, move: Leg, low: Floats, high: Floats) -> Claim:
    """Return a rise or fall as a claim. low, high : (m,) the band on a scale on which movements add up."""
    curve, (start, end) = read.curve, (move.start, move.end)
    size = float(read.heights[end] - read.heights[start])
    ends = float(low[end] - high[start]), float(high[end] - low[start])
    if not move.up:
        size, ends = -size, (-ends[1], -ends[0])
    if curve.scale == "ratio":
        size, ends = float(np.exp(size)), (float(np.exp(ends[0])), float(np.exp(ends[1])))
    outer = place_of(curve, read.runs[start]), place_of(curve, read.runs[end])
    bins = read.bins(start, end)
    where, counted = place_of(curve, bins, is_move=True), _counted(curve, bins)
    if end == start + 1 and all(place.low < place.high for place in outer) and not curve.values:
        if _is_at_border(read, end, size):
            where, counted = border_of(curve, int(read.runs[end].min())), UNKNOWN
        elif len(ends_in_words := f"{outer[0].words} and {outer[1].words}") <= LONGEST_ENDS:
            where = Place(ends_in_words, where.low, where.high)  # the means of two wide runs are all that is read of it
    says_share = curve.is_counted and counted != UNKNOWN
    rows, n_rows = counted
    return Claim(
        "rises" if move.up else "falls", where, size, ends, curve.scale, rows=rows, n_rows=n_rows,
        says_share=says_share, ends=outer,
    )  # fmt: skip


def _is_at_border(read: Reading, k: int, moved: float) -> bool:
    """Return whether most of a movement between two neighbouring runs is at their border, from the last bin of the one
    to the first bin of run k."""
    beside = read.curve.scores[[int(read.runs[k - 1].max()), int(read.runs[k].min())]]
    step = float(np.diff(np.log(beside) if read.curve.scale == "ratio" else beside)[0])
    return step / moved >= AT_BORDER


def _steepest(read: Reading) -> Claim | None:
    """Return where the largest step is, where the refits agree on it, it is large enough to mention, and nothing else
    is as steep: of a straight line along a skewed column, the largest step is the longest one."""
    if len(read.runs) < 3 or len(read.refits) < 2:
        return None
    scores = read.refits.mean(axis=0)
    steps = np.diff(read.refits, axis=1)
    size, error = np.abs(steps.mean(axis=0)), steps.std(axis=0, ddof=1)
    k = int(size.argmax())
    moved = float(read.heights[k + 1] - read.heights[k])
    is_large = size[k] > read.curve.reach * error[k] and size[k] >= STEP * np.ptp(scores)
    if not is_large or abs(moved) < STEEPER * _most_elsewhere(read, k):
        return None
    ends = place_of(read.curve, read.runs[k]), place_of(read.curve, read.runs[k + 1])
    where = border_of(read.curve, int(read.runs[k + 1].min()))
    return Claim("steepest", where, moved, UNKNOWN, read.curve.scale, ends=ends)


def _most_elsewhere(read: Reading, k: int) -> float:
    """Return how far a line moves at most, before run k or after the next one, along as much of its axis as is between
    these two: between the middles of runs, and as steps are drawn, between runs whose borders are as near. Of the
    latter, the step itself need only be as large."""
    curve, heights = read.curve, read.heights
    at = np.array([np.average(curve.display[run], weights=curve.counts[run]) for run in read.runs])
    long, before, after = at[k + 1] - at[k], slice(0, k + 1), slice(k + 1, None)
    to_there = heights[before] - np.interp(at[before] - long, at[before], heights[before])
    from_there = np.interp(at[after] + long, at[after], heights[after]) - heights[after]
    begin = np.array([curve.edges[run.min()] for run in read.runs])
    end = np.array([curve.edges[run.max() + 1] for run in read.runs])
    near = np.triu(begin[None, :] - end[:, None] < long, 1)
    steps = [np.abs(near * (heights[None, :] - heights[:, None]))[side, side].max() for side in (before, after)]
    return float(max(np.abs(np.concatenate([to_there, from_there])).max(), max(steps) / STEEPER))


def _levels(curve: Curve) -> list[tuple[Claim, ...]]:
    """Return the levels that clearly differ from the average and move the most rows furthest, in order of effect, from
    the fullest to the shortest way to say it."""
    read = reading(curve)
    clear = np.flatnonzero(read.clear)
    if not clear.size:
        return _nothing(read)
    if other := _thin_one_of_two(read):
        ends = [_at(read, int(clear[0]), "differs", _decimals(curve, [float(read.scores[clear[0]])])), other]
        return [tuple(sorted(ends, key=lambda claim: -claim.value))]
    far = clear[int(np.abs(read.heights[clear]).argmax())]
    weights, firsts = np.abs(read.heights) * read.rows, np.array([run.min() for run in read.runs])
    weighty = clear[np.lexsort((firsts[clear], -weights[clear]))]
    wordings = []
    for most in range(min(MOST_LEVELS, clear.size), 0, -1):
        # The level that stands out most is always among them, however few rows it has.
        chosen = list(dict.fromkeys([*weighty[: most - 1], far, *weighty]))[:most]
        listed = sorted(chosen, key=lambda k: -read.heights[k])
        decimals = _decimals(curve, [float(read.scores[k]) for k in listed])
        wordings.append(tuple(_at(read, k, "differs", decimals) for k in listed))
    return wordings


def _thin_one_of_two(read: Reading) -> Claim | None:
    """Return the effect of one of two levels that has too few rows to be read alone: as curves are centred, it is
    clearly on one side of the average where the other is on the other side. None where there are not two."""
    curve, known = read.curve, np.flatnonzero(read.curve.counts > 0)
    left = [int(k) for k in known if not any(k in run for run in read.runs)]
    if known.size != 2 or len(left) != 1:
        return None
    bins, (low, high) = np.array(left), curve.whole[:, left[0]].tolist()
    if low <= curve.zero <= high:
        return None
    value, (rows, n_rows) = float(curve.scores[left[0]]), _counted(curve, bins)
    return Claim(
        "differs", place_of(curve, bins), value, (low, high), curve.scale, rows=rows, n_rows=n_rows,
        decimals=_decimals(curve, [value]),
    )  # fmt: skip


class JointEffect(Protocol):
    """What several features do together: scores, training rows and a simultaneous band (2, ...) by cells of the axes,
    on a scale. beyond : what it comes on top of, in words; or empty. n_rows : NaN where rows were not counted."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def axes(self) -> tuple[SurfaceAxis, ...]: ...
    @property
    def scores(self) -> Floats: ...
    @property
    def counts(self) -> Floats: ...
    @property
    def whole(self) -> Floats: ...
    @property
    def has_whole(self) -> bool: ...
    @property
    def zero(self) -> float: ...
    @property
    def scale(self) -> Scale: ...
    @property
    def beyond(self) -> str: ...
    @property
    def n_rows(self) -> float: ...
    @property
    def n_by_hand(self) -> int: ...


def read_surface(surface: JointEffect, helps: bool = False) -> str:
    """Return the largest clear joint effect of two or three features in a sentence; only its name without a
    simultaneous band or a cell of rows enough, or where cells were set by hand. helps : whether it is known to improve
    predictions of other rows."""
    together = f"{listed(surface.names)} together"
    if surface.n_by_hand:
        return f"{together}, {'' if surface.n_by_hand == surface.scores.size else 'partly '}set by hand"
    claim = claim_of_joint(surface)
    if claim is None:
        return f"{together}, {surface.beyond or 'with what each does alone'}"
    if claim.kind != "no clear effect":
        return f"{together}: {claim.words()}"
    if helps:
        return f"{together}: better predictions, though no single cell stands out"
    return f"{together}: {claim.words()}{f' {surface.beyond}' if surface.beyond else ''}"


def claim_of_joint(surface: JointEffect) -> Claim | None:
    """Return the largest clear joint effect of features, among cells of rows enough; None without such cells or a
    simultaneous band, and where cells were set by hand."""
    if surface.n_by_hand or not surface.has_whole:
        return None
    low, high = surface.whole
    full = surface.counts >= FEW_ROWS
    if not full.any():
        return None
    clear = ((low > surface.zero) | (high < surface.zero)) & full
    if not clear.any():
        ends = float(low[full].max(initial=-math.inf)), float(high[full].min(initial=math.inf))
        return Claim("no clear effect", None, math.nan, ends, surface.scale)
    size = np.abs(np.log(surface.scores) if surface.scale == "ratio" else surface.scores)
    cell = np.unravel_index(int(np.where(clear, size, -1.0).argmax()), clear.shape)
    value, is_counted = float(surface.scores[cell]), not math.isnan(surface.n_rows)
    rows, n_rows = (float(surface.counts[cell]), surface.n_rows) if is_counted else UNKNOWN
    where, *also = (cell_of(axis, int(k)) for axis, k in zip(surface.axes, cell, strict=True))
    return Claim(
        "differs", where, value, (float(low[cell]), float(high[cell])), surface.scale,
        rows=rows, n_rows=n_rows, decimals=_decimals(surface, [value]), also=tuple(also),
    )  # fmt: skip
