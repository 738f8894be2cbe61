"""What an experiment says, in sentences that a manager and a statistician can both sign."""

from __future__ import annotations

import math
from typing import Final, Literal

from gamcore.experiments import MISMATCH, Effect, ReadOut
from gamcore.intervals import Interval

Tone = Literal["good", "bad", "open", "stop"]

WORDS: Final[dict[Tone, str]] = {"good": "As hoped", "bad": "Attention", "open": "Open", "stop": "Stopped"}


def percent(value: float) -> str:
    """A relative lift."""
    return f"{value:+.1%}" if math.isfinite(value) else "not known"


def span(interval: Interval) -> str:
    """An interval of relative lifts."""
    return f"{percent(interval[0])} to {percent(interval[1])}" if all(map(math.isfinite, interval)) else "not known"


def p_words(p: float) -> str:
    """A p value with the digits that mean something."""
    if not math.isfinite(p):
        return "p not known"
    return "p < .0001" if p < 0.0001 else f"p = {p:.2g}".replace("0.", ".")


def verdict(effect: Effect) -> tuple[Tone, str]:
    """What one comparison says."""
    if not math.isfinite(effect.p):
        return "open", "No verdict: an arm has too few customers."
    told = f"{percent(effect.lift)} (95% {span(effect.lift_interval)})"
    if effect.role == "expected null":
        if effect.found:
            return "bad", f"Moved by {told} though nothing there was changed ({p_words(effect.p)}): check the set-up."
        return "good", f"Flat as expected: {told}."
    if effect.found and effect.difference > 0:
        return "good", f"A measured lift of {told}, {p_words(effect.holm)} after Holm{_against_plan(effect)}."
    if effect.found:
        return "bad", f"A measured fall of {told}, {p_words(effect.holm)} after Holm: do not roll out."
    could = (
        f": a lift under {effect.smallest:.0%} could well have been missed" if math.isfinite(effect.smallest) else ""
    )
    if effect.role == "guardrail":
        return "open" if effect.lift_interval[0] < 0 else "good", f"No fall found: {told}{could}."
    return "open", f"No effect found: {told}, {p_words(effect.holm)} after Holm{could}."


def _against_plan(effect: Effect) -> str:
    """How the plan's lift lies to what was measured."""
    if not math.isfinite(effect.planned):
        return ""
    low, high = effect.lift_interval
    if effect.planned < low:
        return f"; more than the {effect.planned:+.0%} planned"
    if effect.planned > high:
        return f"; less than the {effect.planned:+.0%} planned"
    return f"; the {effect.planned:+.0%} planned is inside"


def of_strategy(found: ReadOut, strategy: str) -> tuple[Tone, str]:
    """What all comparisons of a strategy amount to."""
    if found.stopped:
        return "stop", "No verdict: the arms have the wrong sizes."
    effects = [effect for effect in found.effects if effect.strategy == strategy]
    told = [(effect, *verdict(effect)) for effect in effects]
    moved = [effect.metric for effect, tone, _ in told if tone == "bad" and effect.role == "expected null"]
    fell = [effect.metric for effect, tone, _ in told if tone == "bad" and effect.role != "expected null"]
    rose = [effect for effect, tone, _ in told if tone == "good" and effect.role == "primary"]
    primary = [effect for effect in effects if effect.role == "primary"]
    if moved:
        return "bad", f"Check the set-up before anything else: {_listed(moved)} moved though nothing there was changed."
    if fell:
        return "bad", f"Do not roll out: {_listed(fell)} fell."
    if not rose:
        return "open", "No lift was found: run longer, or drop it."
    lifts = _listed([f"{effect.metric} {percent(effect.lift)}" for effect in rose])
    rest = "" if len(rose) == len(primary) else f"; no lift was found on the other {len(primary) - len(rose)}"
    return "good", f"Roll out: {lifts}{rest}."


def overall(found: ReadOut) -> tuple[Tone, str]:
    """The first sentence of a read-out."""
    wrong = [ratio for ratio in found.ratios if ratio.alarm]
    if wrong:
        ratio = wrong[0]
        return "stop", (
            f"Stop: {ratio.treated:,} treated and {ratio.control:,} controls ({ratio.where}) are not the split that "
            f"was planned ({p_words(ratio.p)}, alarm below {MISMATCH:g}). Something chose who is treated, so no "
            "difference below can be trusted: find it, mend it, run again."
        )
    names = list(dict.fromkeys(effect.strategy for effect in found.effects))
    tones = [of_strategy(found, name)[0] for name in names]
    good = [name for name, tone in zip(names, tones, strict=True) if tone == "good"]
    bad = [name for name, tone in zip(names, tones, strict=True) if tone == "bad"]
    if bad:
        return "bad", f"{_listed(bad)}: attention is due before anything is rolled out."
    if not good:
        return "open", "No strategy has a lift that this experiment can tell from chance."
    return "good", f"{_listed(good)}: measured lifts on what was to move, and nothing that should not have moved did."


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
