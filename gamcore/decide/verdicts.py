"""Verdicts of an experiment, in sentences that a manager and a statistician can both accept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

from gamcore import numbers
from gamcore.decide.experiment_effects import Effect, ReadOut
from gamcore.decide.experiment_plan import MISMATCH, level_words
from gamcore.numbers import count, exact, p_value

Tone = Literal["good", "bad", "open", "stop"]

WORDS: Final[dict[Tone, str]] = {"good": "Clear", "bad": "Attention", "open": "Open", "stop": "Stopped"}


def moved(effect: Effect) -> str:
    """Return the measurement in words: a relative lift, or the difference where the ratio is not known."""
    moved_by = effect.clearest
    if not moved_by.has_interval:
        return f"a difference of {moved_by.text} (interval not known)"
    return moved_by.words() if moved_by.scale == "relative" else f"a difference of {moved_by.words()}"


def sides(effect: Effect) -> tuple[str, str]:
    """Return the rate or mean of the control, and that of the treated, in words."""
    control, treated = (
        level_words(side.mean, effect.is_rate, effect.measure) for side in (effect.control, effect.treated)
    )
    return control, treated


def levels(effect: Effect) -> str:
    """Return the rates or means of both sides as a sentence."""
    control, treated = sides(effect)
    return f"{treated} treated against {control} in the control."


def verdict(effect: Effect) -> tuple[Tone, str]:
    """Return the verdict on one comparison."""
    if not math.isfinite(effect.p):
        return "open", "No verdict: too few customers, or none that differ."
    change = moved(effect)
    if effect.role == "expected null":
        return _of_null(effect, change)
    if effect.is_significant and effect.difference > 0:
        return "good", f"A measured lift: {change}, {p_value(effect.holm)} after Holm{_against_plan(effect)}."
    if effect.is_significant:
        return "bad", f"A measured fall: {change}, {p_value(effect.holm)} after Holm: do not roll out."
    if effect.role == "guardrail":
        if effect.lift_interval[0] >= -effect.planned:  # False where either is NaN
            return "good", f"Holds: {change}; a fall of {numbers.percent(effect.planned, 0)} or more is ruled out."
        return "open", f"Not settled: no fall found, but {change} leaves room for one{_missed(effect, 'fall')}."
    return "open", f"No effect found: {change}, {p_value(effect.holm)} after Holm{_missed(effect, 'lift')}."


def _of_null(effect: Effect, change: str) -> tuple[Tone, str]:
    """Return the verdict on an expected null: it should not move, in a test large enough to detect a move."""
    if effect.is_significant:
        return "bad", f"Moved although nothing there was changed: {change}, {p_value(effect.holm)}: check the set-up."
    if effect.smallest <= effect.planned:
        return "good", f"Flat as expected: {change}."
    return "open", f"No change detected, as expected: {change}{_missed(effect, 'change')}."


def _missed(effect: Effect, what: str) -> str:
    """Return the move that this sample may have missed."""
    if not math.isfinite(effect.smallest):
        return ""
    return f"; the test could only have seen a {what} above {numbers.percent(effect.smallest, 0)}"


def _against_plan(effect: Effect) -> str:
    """Return how the measured lift compares with the planned one."""
    low, high = effect.lift_interval
    if not all(map(math.isfinite, (effect.planned, low, high))):
        return ""
    if effect.planned < low:
        return f"; more than the {numbers.percent(effect.planned, 0, signed=True)} planned"
    if effect.planned > high:
        return f"; less than the {numbers.percent(effect.planned, 0, signed=True)} planned"
    return f"; the {numbers.percent(effect.planned, 0, signed=True)} planned is inside"


def of_strategy(outcome: ReadOut, strategy: str) -> tuple[Tone, str]:
    """Return the verdict on a strategy from all its comparisons."""
    if outcome.stopped:
        return "stop", "No verdict: the arms have the wrong sizes."
    tones = [(effect, verdict(effect)[0]) for effect in outcome.effects if effect.strategy == strategy]
    strange = [effect.what for effect, tone in tones if tone == "bad" and effect.role == "expected null"]
    fell = [effect.what for effect, tone in tones if tone == "bad" and effect.role != "expected null"]
    unsettled = [effect.what for effect, tone in tones if tone == "open" and effect.role == "guardrail"]
    primary = [(effect, tone) for effect, tone in tones if effect.role == "primary"]
    rose = [effect for effect, tone in primary if tone == "good"]
    if strange:
        return (
            "bad",
            f"Check the set-up before anything else: {listed(strange)} moved although nothing there was changed.",
        )
    if fell:
        return "bad", f"Do not roll out: {listed(fell)} fell."
    if not primary:
        return "open", "No primary metric: nothing here decides."
    if not rose:
        return "open", "No lift was found: leave it, or plan a larger test."
    lifts = listed([f"{effect.what} {effect.clearest.text}" for effect in rose])
    if unsettled:
        return "open", f"A lift ({lifts}), but {listed(unsettled)} could have fallen: settle that first."
    rest = "" if len(rose) == len(primary) else f"; no lift was found on the other {len(primary) - len(rose)}"
    return "good", f"Roll out: {lifts}{rest}."


def overall(outcome: ReadOut) -> tuple[Tone, str]:
    """Return the overall verdict, the first sentence of a read-out."""
    wrong = [ratio for ratio in outcome.ratios if ratio.alarm]
    if wrong:
        ratio = wrong[0]
        return "stop", (
            f"Stop: {count(ratio.treated)} treated and {count(ratio.control)} controls ({ratio.where}) are not the "
            f"split that was planned ({p_value(ratio.p)}, alarm below {exact(MISMATCH)}). Something chose who is "
            "treated, so no difference below can be trusted: find it, fix it, run again."
        )
    names = list(dict.fromkeys(effect.strategy for effect in outcome.effects))
    tones = [of_strategy(outcome, name)[0] for name in names]
    good = [name for name, tone in zip(names, tones, strict=True) if tone == "good"]
    bad = [name for name, tone in zip(names, tones, strict=True) if tone == "bad"]
    if bad:
        return "bad", f"{listed(bad)}: look into this before rolling anything out."
    if not good:
        return "open", "No strategy has a significant lift in this experiment."
    works = "works" if len(good) == 1 else "work"
    return "good", f"{listed(good)} {works}. No guardrail got worse, and nothing moved that should not."


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
