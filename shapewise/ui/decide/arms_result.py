"""What a test of arms measured, on a page: the verdict, the sizes of the arms, what each reached, and the lifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.decide import verdicts
from gamcore.decide.arms import ArmsReadOut
from gamcore.decide.experiment_effects import Effect
from gamcore.numbers import p_value, percent
from shapewise.store.workspace import TableAbout
from shapewise.ui.session.words import count, md
from shapewise.ui.widgets import cards
from shapewise.ui.widgets.chart import Place

ICONS: Final = {
    "good": ":material/check_circle:", "bad": ":material/warning:", "open": ":material/help:",
    "stop": ":material/front_hand:",
}  # fmt: skip
NOTHING: Final = "-"
Tone = Literal["good", "bad", "open", "stop"]


def show(table: TableAbout, made: ArmsReadOut, place: Place) -> None:
    """Show the verdict and the sizes of the arms, the lifts as a chart, and what each arm reached."""
    sizes = made.sizes["all"]
    said = ", ".join(f"{md(arm)} {count(n)}" for arm, n in sizes.counts.items())
    who = f"Assigned by {md(made.test.cluster)}" if made.test.cluster else "Customers"
    left = f" {count(made.left_out)} rows without an arm are left out." if made.left_out else ""
    with place.said:
        verdict(*overall(made))
        st.caption(f"{who}: {said}. Sample ratio {p_value(sizes.p)} (alarm below .001).{left}")
    if made.stopped:
        place.drawing.caption("Differences are not shown: with arms of the wrong sizes they would mislead.")
        return
    outcome = made.as_read_out()
    over = "over all arms and outcomes" if made.test.adjustment == "Holm" else "over the arms of each outcome"
    plot = outcome.describe(f"each arm against {made.test.control}, {outcome.intervals}")
    cards.figure(plot, f"arms-{table.id}", table.name, titled=False, at=place)  # fmt: skip
    place.drawing.caption(
        f"{plot.title}: {md(plot.detail)}. “Significant” is at 5% after "
        f"{made.test.adjustment}'s adjustment {over}."
        + f" {looking_words(outcome.customers)}"
        * bool(outcome.customers)
    )
    for metric in made.test.metrics:
        st.subheader(md(metric), anchor=False)
        st.dataframe(_table(made, metric), hide_index=True, alt=f"Each arm's {metric}, and its lift over the control.")
        for effect in made.effects:
            if effect.metric == metric and _adds(effect):
                own, text = verdicts.verdict(effect)
                cut = f" What was known before cut the variance by {percent(effect.reduced, 0)}."
                less = cut if effect.reduced > 0 else ""
                st.caption(f"{ICONS[own]} **{md(effect.strategy)}**: {md(text)}{less}")


def verdict(tone: Tone, words: str) -> None:
    """Show what a test says, in the colour of its kind."""
    box = {"good": st.success, "bad": st.warning, "open": st.info, "stop": st.error}[tone]
    box(f"**{verdicts.WORDS[tone]}.** {md(words)}", icon=ICONS[tone])


def _adjusted(effect: Effect) -> str:
    """Return the adjusted p without its letter."""
    return p_value(effect.holm).removeprefix("p ").removeprefix("= ") if np.isfinite(effect.holm) else NOTHING


def _adds(effect: Effect) -> bool:
    """Return whether the verdict on a comparison says what its row of the table does not."""
    lift = effect.role == "primary" and verdicts.verdict(effect)[0] == "good"
    return not lift or effect.reduced > 0 or np.isfinite(effect.planned)


def between(compared: Sequence[tuple[str, Effect]]) -> None:
    """Show how the arms differ from each other. compared : each with the arm that it is compared with."""
    st.subheader("Arm against arm", anchor=False)
    rows = [{
        "Outcome": effect.metric, "Arm": effect.strategy, "Against": other,
        "Difference": effect.gap.words() if effect.gap.has_interval else NOTHING,
        "Relative": effect.change.words() if effect.change.has_interval else NOTHING,
        "p, adjusted": _adjusted(effect),
    } for other, effect in sorted(compared, key=lambda pair: pair[1].metric)]  # fmt: skip
    st.dataframe(pd.DataFrame(rows), hide_index=True, alt="How the arms differ from each other.")
    st.caption("Holm's adjustment is over these comparisons: a question of its own, beside that to the control.")


def looking_words(customers: float) -> str:
    """Say what intervals are that hold at every look. customers : planned."""
    return (
        "Differences have always-valid intervals, narrowest at the planned "
        f"{count(customers)} customers: you may look and stop whenever you like."
    )


def _table(made: ArmsReadOut, metric: str) -> pd.DataFrame:
    """Return the arms of a metric as they are shown."""
    is_rate = metric in made.rates
    effects = {effect.strategy: effect for effect in made.effects if effect.metric == metric}
    rows = []
    for arm in made.arms:
        level, effect = made.level(arm, metric), effects.get(arm)
        rows.append({
            "Arm": arm, "Clusters" if made.test.cluster else "Customers": count(made.sizes[metric].counts[arm]),
            "Rate" if is_rate else "Mean": level.text if level.is_known else NOTHING,
            "95% interval": level.ends or NOTHING,
            "Against control": effect.gap.words() if effect is not None and effect.gap.has_interval else NOTHING,
            "Relative": effect.change.words() if effect is not None and effect.change.has_interval else NOTHING,
            "p, adjusted": NOTHING if effect is None else _adjusted(effect),
        })  # fmt: skip
    return pd.DataFrame(rows)


def overall(made: ArmsReadOut) -> tuple[Tone, str]:
    """Return what the test shows, in a sentence or two."""
    if made.stopped:
        wrong = [name for name, size in made.sizes.items() if size.alarm]
        where = "" if wrong[0] == "all" else f" among rows with {wrong[0]}"
        return "stop", f"The arms do not have the planned sizes{where}: find out why before reading any difference."
    bad = [e for e in made.effects if e.is_significant and (e.difference < 0 or e.role == "expected null")]
    good = [e for e in made.effects if e.is_significant and e.difference > 0 and e.role != "expected null"]
    parts = []
    if good:
        deciding = min(good, key=lambda e: e.role != "primary").metric
        ranked = sorted((e for e in good if e.metric == deciding), key=lambda e: -e.difference)
        works = list(dict.fromkeys(e.strategy for e in good))
        moved = "; ".join(f"{verdicts.moved(e)} with {e.strategy}" for e in ranked)
        parts.append(f"{verdicts.listed(works)} {'work' if len(works) > 1 else 'works'}. {deciding}: {moved}.")
    if bad:
        parts.append("; ".join(f"{e.strategy} moved {e.metric}, {verdicts.moved(e)}" for e in bad) + ".")
    if not parts:
        return "open", "No arm differs significantly from the control."
    return "bad" if bad else "good", " ".join(parts)
