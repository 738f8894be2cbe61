"""Verdicts of an experiment, in sentences that a manager and a statistician can both accept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal

from gamcore.common.numbers import bare, count, decimals_of, exact, p_value, percent
from gamcore.data.labels import listed
from gamcore.decide.arms import ReadOut
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.experiment_plan import MISMATCH
from gamcore.decide.results import Result, Scale
from gamcore.stats.intervals import UNKNOWN

Tone = Literal["good", "bad", "open", "stop"]

WORDS: Final[dict[Tone, str]] = {"good": "Clear", "bad": "Attention", "open": "Open", "stop": "Stopped"}


def clearest(effect: Effect, scale: Scale) -> Result:
    """Return what was measured on a scale; on the relative one the difference where the ratio is not known."""
    return effect.clearest if scale == "relative" else effect.on(scale)


def moved(effect: Effect, scale: Scale = "relative") -> str:
    """Return the measurement in words, on a scale: a "difference", or "relative", as far as the ratio is known."""
    moved_by = clearest(effect, scale)
    if not moved_by.has_interval:
        return f"a difference of {moved_by.text} (interval not known)"
    return moved_by.words() if moved_by.scale == scale else f"a difference of {moved_by.words()}"


def _size(effect: Effect, relative: float, scale: Scale) -> str:
    """Return a relative move of the control's level as it reads on a scale, without a sign."""
    if scale == "relative":
        return f"{bare(percent(relative, decimals_of([100 * relative], 2)).removesuffix('%'))}%"
    return replace(effect.gap, value=relative * effect.control.mean, interval=UNKNOWN).text.removeprefix("+")


def sides(effect: Effect) -> tuple[str, str]:
    """Return the rate or mean of the control, and that of the treated, in words."""
    levels = effect.levels()
    return levels["control"].text, levels["treated"].text


def levels(effect: Effect) -> str:
    """Return the rates or means of both sides as a sentence."""
    control, treated = sides(effect)
    return f"{treated} treated against {control} in the control."


def verdict(effect: Effect, scale: Scale = "relative") -> tuple[Tone, str]:
    """Return the verdict on one comparison, with its numbers on a scale: a "difference", or "relative"."""
    if not math.isfinite(effect.p):
        return "open", "No verdict: too few customers, or none that differ."
    change = moved(effect, scale)
    if effect.role == "expected null":
        return _of_null(effect, change, scale)
    if effect.is_significant and effect.difference > 0:
        plan = _against_plan(effect, scale)
        return "good", f"A measured lift: {change}, {effect.p_words}{plan}."
    if effect.is_significant:
        return "bad", f"A measured fall: {change}, {effect.p_words}: do not roll out."
    if effect.role == "guardrail":
        if effect.lift_interval[0] >= -effect.planned:  # False where either is NaN
            return "good", f"Holds: {change}; a fall of {_size(effect, effect.planned, scale)} or more is ruled out."
        if effect.difference_interval[0] >= 0:
            return "good", f"Holds: {change}; a fall is ruled out."
        return "open", f"Not settled: no fall found, but {change} leaves room for one{_missed(effect, 'fall', scale)}."
    return "open", f"No effect found: {change}, {effect.p_words}{_missed(effect, 'lift', scale)}."


def _of_null(effect: Effect, change: str, scale: Scale) -> tuple[Tone, str]:
    """Return the verdict on an expected null: it should not move, in a test large enough to detect a move."""
    if effect.is_significant:
        return "bad", f"Moved although nothing there was changed: {change}, {effect.p_words}: check the set-up."
    if effect.smallest <= effect.planned:
        return "good", f"Flat as expected: {change}."
    return "open", f"No change detected, as expected: {change}{_missed(effect, 'change', scale)}."


def _missed(effect: Effect, what: str, scale: Scale) -> str:
    """Return the move that this sample may have missed."""
    if not math.isfinite(effect.smallest):
        return ""
    if what == "fall" and effect.smallest >= 1:
        return "; even a fall to 0 could have been missed"
    return f"; the test could only have seen a {what} above {_size(effect, effect.smallest, scale)}"


def _against_plan(effect: Effect, scale: Scale) -> str:
    """Return how the measured lift compares with the planned one."""
    low, high = effect.lift_interval
    if not all(map(math.isfinite, (effect.planned, low, high))):
        return ""
    planned = f"the +{_size(effect, effect.planned, scale)} planned"
    if effect.planned < low:
        return f"; more than {planned}"
    return f"; less than {planned}" if effect.planned > high else f"; {planned} is inside"


def of_strategy(outcome: ReadOut, strategy: str, scale: Scale = "relative") -> tuple[Tone, str]:
    """Return the verdict on a strategy from all its comparisons, with its numbers on a scale. With several arms it goes
    with those that pass: what speaks against others is told beside."""
    if outcome.stopped:
        return "stop", "No verdict: the arms have the wrong sizes."
    own = [effect for effect in outcome.effects if effect.strategy == strategy]
    arms = passing(own, strategy)
    bad = [effect for effect in own if verdict(effect)[0] == "bad"]
    if strange := [effect.what for effect in bad if effect.role == "expected null"]:
        return (
            "bad",
            f"Check the set-up before anything else: {listed(strange)} moved although nothing there was changed.",
        )
    fell = [effect.what for effect in bad if effect.role != "expected null"]
    if fell and not arms:
        return "bad", f"Do not roll out: {listed(fell)} fell."
    primary = [effect for effect in own if effect.role == "primary" and (not arms or effect.arm in arms)]
    if not primary:
        return "open", "No primary metric: nothing here decides."
    rose = [effect for effect in primary if verdict(effect)[0] == "good"]
    if not rose:
        return "open", "No lift was found: leave it, or plan a larger test."
    lifts = listed([f"{effect.what} {clearest(effect, scale).text}" for effect in rose])
    if not arms:
        lifting = {effect.arm for effect in rose}
        doubts = unsettled([effect for effect in own if effect.arm in lifting], strategy)
        return "open", f"A lift ({lifts}), but {listed(doubts)} could have fallen: settle that first."
    rest = "" if len(rose) == len(primary) else f"; no lift was found on the other {len(primary) - len(rose)}"
    beside = f"; {listed(fell)} fell" if fell else ""
    return "good", f"Roll out: {lifts}{rest}{beside}."


def passing(effects: Iterable[Effect], strategy: str) -> list[str]:
    """Return the arms of a strategy that lift a primary metric, and that nothing speaks against; [""] for the one arm
    of a test of two."""
    own = [effect for effect in effects if effect.strategy == strategy]
    by_arm = {arm: [effect for effect in own if effect.arm == arm] for arm in dict.fromkeys(e.arm for e in own)}
    return [arm for arm, those in by_arm.items() if not against(those, strategy)
            and any(effect.role == "primary" and verdict(effect)[0] == "good" for effect in those)]  # fmt: skip


def unsettled(effects: Iterable[Effect], strategy: str) -> list[str]:
    """Return the guardrails of a strategy that may have fallen for all that its test shows."""
    return [effect.what for effect in effects if effect.strategy == strategy and effect.role == "guardrail"
            and verdict(effect)[0] == "open"]  # fmt: skip


def against(effects: Iterable[Effect], strategy: str) -> list[str]:
    """Return what speaks against a strategy that lifts one outcome: others that fell, guardrails that may have fallen,
    and what moved though nothing there was changed."""
    own = [effect for effect in effects if effect.strategy == strategy]
    return [effect.what for effect in own if verdict(effect)[0] == "bad"] + unsettled(own, strategy)


def adjusted(effect: Effect) -> str:
    """Return what is to be said after a difference that is not that of the levels beside it; "" where it is."""
    return ", adjusted for what was known before" if effect.reduced > 0 else ""


def overall(read_out: ReadOut, scale: Scale = "relative") -> tuple[Tone, str]:
    """Return what a test shows, in a sentence or two, with its numbers on a scale: a "difference", or "relative"."""
    if read_out.stopped:
        where, wrong = next(iter(read_out.wrong_sizes.items()))
        sizes = listed([f"{count(n)} {arm}" for arm, n in wrong.counts.items()])
        return "stop", (
            f"The arms do not have the planned sizes{where} ({sizes}; {p_value(wrong.p)}, alarm below "
            f"{exact(MISMATCH).removeprefix('0')}). Something chose who got what, so no difference below can be "
            "trusted: find it, fix it, run again."
        )
    return _of_strategies(read_out) if read_out.by_strategy else _of_arms(read_out, scale)


def _of_strategies(read_out: ReadOut) -> tuple[Tone, str]:
    tones = {name: of_strategy(read_out, name)[0] for name in read_out.compared}
    good, bad = ([name for name, own in tones.items() if own == tone] for tone in ("good", "bad"))
    if bad:
        return "bad", f"{listed(bad)}: look into this before rolling anything out."
    rose = {e.strategy for e in read_out.effects if e.role == "primary" and verdict(e)[0] == "good"}
    held_up = [name for name in tones if name in rose and name not in good]
    parts = [f"{listed(good)} {'works' if len(good) == 1 else 'work'}."] if good else []
    if good and (well := _all_well(read_out.effects)):
        parts.append(well)
    if held_up:
        have = "has" if len(held_up) == 1 else "have"
        parts.append(f"{listed(held_up)} {have} a lift, but a guardrail could have fallen: settle that first.")
    words = " ".join(parts) or "No strategy has a significant lift in this experiment."
    return "good" if good else "open", words


def _all_well(effects: Sequence[Effect]) -> str:
    """Return that guardrails and expected nulls did as they should, as far as there are any; "" where one did not."""
    roles = {effect.role for effect in effects}
    if any(verdict(effect)[0] == "bad" for effect in effects):
        return ""
    well = ["no guardrail got worse"] * ("guardrail" in roles)
    well += ["nothing moved that should not"] * ("expected null" in roles)
    words = ", and ".join(well)
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _of_arms(read_out: ReadOut, scale: Scale) -> tuple[Tone, str]:
    bad = [e for e in read_out.effects if e.is_significant and (e.difference < 0 or e.role == "expected null")]
    good = [e for e in read_out.effects if e.is_significant and e.difference > 0 and e.role != "expected null"]
    parts = []
    if good:
        deciding = min(good, key=lambda e: e.role != "primary").metric
        ranked = sorted((e for e in good if e.metric == deciding), key=lambda e: -e.difference)
        moves = "; ".join(f"{moved(e, scale)} with {e.strategy}" for e in ranked)
        parts.append(f"{_works(read_out, good)}. {deciding}: {moves}.")
    if bad:
        parts.append("; ".join(f"{e.strategy} moved {e.metric}, {moved(e, scale)}" for e in bad) + ".")
    if not parts:
        return "open", "No arm differs significantly from the control."
    doubts = list(dict.fromkeys(name for e in good for name in unsettled(read_out.effects, e.strategy)))
    if doubts:
        parts.append(f"{listed(doubts)} could have fallen: settle that first.")
    return "bad" if bad else "open" if doubts else "good", " ".join(parts)


def _works(read_out: ReadOut, good: Sequence[Effect]) -> str:
    """Return which arms work; that pooled ones do, only where none does alone."""
    alone = [arm for arm in dict.fromkeys(e.strategy for e in good) if arm != read_out.test.pool]
    if not alone:
        return f"{read_out.test.pool} work, read together"
    return f"{listed(alone)} {'work' if len(alone) > 1 else 'works'}"
