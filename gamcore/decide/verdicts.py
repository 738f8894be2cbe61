"""Verdicts of an experiment, in sentences that a manager and a statistician can both accept."""

from __future__ import annotations

import math
from typing import Final, Literal

from gamcore.decide.experiment_effects import Effect, ReadOut
from gamcore.decide.experiment_plan import MISMATCH
from gamcore.stats.intervals import Interval

Tone = Literal["good", "bad", "open", "stop"]

WORDS: Final[dict[Tone, str]] = {"good": "As hoped", "bad": "Attention", "open": "Open", "stop": "Stopped"}


def percent(value: float) -> str:
    """Return a relative lift in words."""
    return f"{value:+.1%}" if math.isfinite(value) else "not known"


def span(interval: Interval) -> str:
    """Return an interval of relative lifts in words."""
    return f"{percent(interval[0])} to {percent(interval[1])}" if all(map(math.isfinite, interval)) else "not known"


def p_words(p: float) -> str:
    """Return a p value with its meaningful digits."""
    if not math.isfinite(p):
        return "p not known"
    return "p < .0001" if p < 0.0001 else f"p = {p:.2g}".replace("0.", ".")


def moved(effect: Effect) -> str:
    """Return the measurement in words: a relative lift, or the difference where the ratio is not known."""
    if math.isfinite(effect.lift) and all(map(math.isfinite, effect.lift_interval)):
        return f"{percent(effect.lift)} (95% {span(effect.lift_interval)})"
    low, high = effect.difference_interval
    ends = f"{low:+.3g} to {high:+.3g}" if math.isfinite(low) else "interval not known"
    return f"a difference of {effect.difference:+.3g} (95% {ends})"


def verdict(effect: Effect) -> tuple[Tone, str]:
    """Return the verdict on one comparison."""
    if not math.isfinite(effect.p):
        return "open", "No verdict: too few customers, or none that differ."
    change = moved(effect)
    if effect.role == "expected null":
        return _of_null(effect, change)
    if effect.found and effect.difference > 0:
        return "good", f"A measured lift: {change}, {p_words(effect.holm)} after Holm{_against_plan(effect)}."
    if effect.found:
        return "bad", f"A measured fall: {change}, {p_words(effect.holm)} after Holm: do not roll out."
    if effect.role == "guardrail":
        if effect.lift_interval[0] >= -effect.planned:  # False where either is NaN
            return "good", f"Holds: {change}; a fall of {effect.planned:.0%} or more is ruled out."
        return "open", f"Not settled: no fall found, but {change} leaves room for one{_missed(effect, 'fall')}."
    return "open", f"No effect found: {change}, {p_words(effect.holm)} after Holm{_missed(effect, 'lift')}."


def _of_null(effect: Effect, change: str) -> tuple[Tone, str]:
    """Return the verdict on an expected null: it should not move, in a test large enough to detect a move."""
    if effect.found:
        return "bad", f"Moved though nothing there was changed: {change}, {p_words(effect.holm)}: check the set-up."
    if effect.smallest <= effect.planned:
        return "good", f"Flat as expected: {change}."
    return "open", f"No move found, as expected: {change}{_missed(effect, 'move')}."


def _missed(effect: Effect, what: str) -> str:
    """Return the move that this sample may have missed."""
    if not math.isfinite(effect.smallest):
        return ""
    return f"; a {what} under {effect.smallest:.0%} could well have been missed"


def _against_plan(effect: Effect) -> str:
    """Return how the measured lift compares with the planned one."""
    low, high = effect.lift_interval
    if not all(map(math.isfinite, (effect.planned, low, high))):
        return ""
    if effect.planned < low:
        return f"; more than the {effect.planned:+.0%} planned"
    if effect.planned > high:
        return f"; less than the {effect.planned:+.0%} planned"
    return f"; the {effect.planned:+.0%} planned is inside"


def of_strategy(outcome: ReadOut, strategy: str) -> tuple[Tone, str]:
    """Return the verdict on a strategy from all its comparisons."""
    if outcome.stopped:
        return "stop", "No verdict: the arms have the wrong sizes."
    tones = [(effect, verdict(effect)[0]) for effect in outcome.effects if effect.strategy == strategy]
    strange = [effect.metric for effect, tone in tones if tone == "bad" and effect.role == "expected null"]
    fell = [effect.metric for effect, tone in tones if tone == "bad" and effect.role != "expected null"]
    unsettled = [effect.metric for effect, tone in tones if tone == "open" and effect.role == "guardrail"]
    primary = [(effect, tone) for effect, tone in tones if effect.role == "primary"]
    rose = [effect for effect, tone in primary if tone == "good"]
    if strange:
        return (
            "bad",
            f"Check the set-up before anything else: {_listed(strange)} moved though nothing there was changed.",
        )
    if fell:
        return "bad", f"Do not roll out: {_listed(fell)} fell."
    if not primary:
        return "open", "No primary metric: nothing here decides."
    if not rose:
        return "open", "No lift was found: leave it, or plan a larger test."
    lifts = _listed([f"{effect.metric} {_short(effect)}" for effect in rose])
    if unsettled:
        return "open", f"A lift ({lifts}), but {_listed(unsettled)} could have fallen: settle that first."
    rest = "" if len(rose) == len(primary) else f"; no lift was found on the other {len(primary) - len(rose)}"
    return "good", f"Roll out: {lifts}{rest}."


def _short(effect: Effect) -> str:
    return percent(effect.lift) if math.isfinite(effect.lift) else f"{effect.difference:+.3g}"


def overall(outcome: ReadOut) -> tuple[Tone, str]:
    """Return the overall verdict, the first sentence of a read-out."""
    wrong = [ratio for ratio in outcome.ratios if ratio.alarm]
    if wrong:
        ratio = wrong[0]
        return "stop", (
            f"Stop: {ratio.treated:,} treated and {ratio.control:,} controls ({ratio.where}) are not the split that "
            f"was planned ({p_words(ratio.p)}, alarm below {MISMATCH:g}). Something chose who is treated, so no "
            "difference below can be trusted: find it, mend it, run again."
        )
    names = list(dict.fromkeys(effect.strategy for effect in outcome.effects))
    tones = [of_strategy(outcome, name)[0] for name in names]
    good = [name for name, tone in zip(names, tones, strict=True) if tone == "good"]
    bad = [name for name, tone in zip(names, tones, strict=True) if tone == "bad"]
    if bad:
        return "bad", f"{_listed(bad)}: attention is due before anything is rolled out."
    if not good:
        return "open", "No strategy has a lift that this experiment can tell from chance."
    return "good", f"{_listed(good)}: measured lifts; no guardrail and no expected null speaks against them."


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
