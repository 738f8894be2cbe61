"""What a test of arms measured, on a page: the verdict, the sizes of the arms, and one table of outcomes by arms."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.common.numbers import are, p_value, percent
from gamcore.data.labels import listed
from gamcore.decide import verdicts
from gamcore.decide.arms import ReadOut
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.results import Scale
from gamcore.viz import files as export
from gamcore.viz.svg import interval_svg
from shapewise.store.workspace import TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import count, counted, md
from shapewise.ui.widgets import downloads
from shapewise.ui.widgets.chart import Place

ICONS: Final = {
    "good": ":material/check_circle:", "bad": ":material/warning:", "open": ":material/help:",
    "stop": ":material/front_hand:",
}  # fmt: skip
NOTHING: Final = "-"
NOT_SHOWN: Final = "Differences are not shown: with arms of the wrong sizes they would mislead."
SCALES: Final[dict[Scale, str]] = {"difference": "Difference", "relative": "Relative"}
MARGIN: Final = 0.05
"""Room on both sides of the intervals of an outcome, as a share of their span."""
Tone = Literal["good", "bad", "open", "stop"]


def show(table: TableAbout, readout: ReadOut, compared: Sequence[tuple[str, Effect]], place: Place) -> Scale | None:
    """Show the verdict, the sizes of the arms, and each outcome by arm; return the scale that was chosen for all of the
    page, None where nothing may be read. compared : treated arms with each other, each with the one it is beside."""
    with place.options:
        scale = None if readout.stopped else _scale(table, readout, compared)
    with place.sentence:
        verdict(*verdicts.overall(readout, scale or "difference"))
        st.caption(sizes_in_words(readout) + _unsettled(readout))
    if scale is None:
        place.drawing.caption(f"{NOT_SHOWN} Were they planned unequal? Say so under *Set-up of the test*.")
        return None
    with place.drawing:
        _table(_of_control(readout, scale), "Each outcome by arm, with its lift over the control.")
        if compared:
            _table(_between(compared, scale), "How the treated arms differ from each other.")
        _remarks(readout, scale, bool(compared))
    return scale


def _scale(table: TableAbout, readout: ReadOut, compared: Sequence[tuple[str, Effect]]) -> Scale:
    """Show the choice of a scale, and the numbers as a file; return the scale."""
    scale: Scale = st.segmented_control(
        "Lifts as", list(SCALES), default="difference", required=True, key=f"arms-scale-{table.id}",
        format_func=SCALES.__getitem__,
        help="The scale of every lift on this page. An arm's p against the control is the same on both scales. Whether "
        "segments differ is tested on the scale chosen here: where their rates are unlike, lifts may differ in points "
        "and yet be alike relative to the rate.",
    )  # fmt: skip
    downloads.button(
        "CSV", lambda: export.safe_csv(readout.frame(between=compared)),
        export.file_name(table.name, "read-out", "csv"), f"arms-csv-{table.id}", ":material/download:",
    )  # fmt: skip
    return scale


def sizes_in_words(readout: ReadOut) -> str:
    """Return how many were in each arm, by strategy, too, as planned or not, and who was left out."""
    sizes = readout.sizes["all"]
    counts = ", ".join(f"{md(arm)} {count(n)}" for arm, n in sizes.counts.items())
    who = f"Assigned by {md(readout.test.cluster)}" if readout.test.cluster else "Customers"
    n = readout.left_out
    left = f" {counted(n, 'row')} without an arm {are(n)} left out." if n else ""
    each = "; ".join(f"{md(name)} {' / '.join(map(count, own.counts.values()))}, {p_value(own.p)}"
                     for name, own in readout.by_strategy.items())  # fmt: skip
    by_strategy = f" By strategy: {each}." if each else ""
    return f"{who}: {counts}. Sample ratio {p_value(sizes.p)} (alarm below .001).{by_strategy}{left}"


def _unsettled(readout: ReadOut) -> str:
    """Return how guardrails are settled that nobody has said which fall is accepted of; "" where there are none."""
    asked = [
        name for name, role in readout.test.metrics.items() if role == "guardrail" and name not in readout.test.accepted
    ]
    if readout.stopped or not asked:
        return ""
    return (
        f" Say under *Roles* which fall of {md(listed(asked))} nobody minds: a guardrail holds once that is ruled out."
    )


def verdict(tone: Tone, words: str) -> None:
    """Show what a test says, in the colour of its kind."""
    box = {"good": st.success, "bad": st.warning, "open": st.info, "stop": st.error}[tone]
    box(f"**{verdicts.WORDS[tone]}.** {md(words)}", icon=ICONS[tone])


def say(effect: Effect, scale: Scale, measured: str) -> None:
    """Show the verdict on a comparison. measured : what was compared, and what both did, as far as it is to be said."""
    tone, words = verdicts.verdict(effect, scale)
    cut = f" What was known before cut the variance by {percent(effect.reduced, 0)}." if effect.reduced > 0 else ""
    st.caption(f"{ICONS[tone]} {measured} {md(words)}{cut}")


def _remarks(readout: ReadOut, scale: Scale, compared: bool) -> None:
    """Say what the table does not: verdicts that add to it, and how the numbers are meant."""
    for effect in readout.effects:
        if _adds(effect):
            say(effect, scale, f"**{md(effect.strategy)}** on {md(effect.metric)}:")
    pooled = (
        f" {md(readout.test.pool)}: their customers as one arm, one more comparison each." if readout.test.pool else ""
    )
    beside = " Arms against each other are a separate question, with a Holm adjustment of its own." if compared else ""
    looks = f" {looking_words(readout.test.customers)}" if readout.test.customers else ""
    how = f"p is after {_adjustments(readout)}; intervals are blue where p is below 5%."
    st.caption(f"{how}{pooled}{beside}{looks}")


def _adjustments(outcome: ReadOut) -> str:
    """Return what adjusted the p values, and over what."""
    over = {"Holm": "over all arms and outcomes", "Dunnett": "over the arms of each outcome"}
    return f"{md(outcome.adjusted_by)} {over.get(outcome.adjusted_by, '')}".rstrip()


def _table(rows: list[dict[str, Any]], alt: str) -> None:
    """Show comparisons as a table with their intervals drawn."""
    picture = st.column_config.ImageColumn("95% interval", width="medium")
    st.dataframe(pd.DataFrame(rows), hide_index=True, alt=alt, column_config={"Interval": picture})


def _of_control(readout: ReadOut, scale: Scale) -> list[dict[str, Any]]:
    """Return each outcome of each arm, the control first, as it is shown."""
    rows = []
    for metric in readout.test.metrics:
        effects = {effect.strategy: effect for effect in readout.effects if effect.metric == metric}
        limits = _limits(list(effects.values()), scale)
        for arm in readout.lines:
            level = readout.level(arm, metric)
            rows.append({
                "Outcome": metric, "Arm": arm, **_change(effects.get(arm), scale, limits, "Against control"),
                "Reached": level.words() if level.is_known else NOTHING,
                "Clusters" if readout.test.cluster else "Customers": count(readout.size(arm, metric)),
            })  # fmt: skip
    return rows


def _between(compared: Sequence[tuple[str, Effect]], scale: Scale) -> list[dict[str, Any]]:
    """Return how the arms differ from each other, as it is shown."""
    limits = {metric: _limits([effect for _, effect in compared if effect.metric == metric], scale)
              for metric in {effect.metric for _, effect in compared}}  # fmt: skip
    return [
        {"Outcome": effect.metric, "Arm": effect.strategy, "Against": other,
         **_change(effect, scale, limits[effect.metric], "By how much")}
        for other, effect in sorted(compared, key=lambda pair: pair[1].metric)
    ]  # fmt: skip


def _change(effect: Effect | None, scale: Scale, limits: tuple[float, float], named: str) -> dict[str, str]:
    """Return an effect drawn, in words, and its adjusted p. limits : of the drawing. named : the column of words."""
    if effect is None or not effect.on(scale).has_interval:
        return {named: NOTHING, "Interval": "", "p, adjusted": NOTHING if effect is None else _adjusted(effect)}
    lift = effect.on(scale)
    drawn = interval_svg(
        lift.value, lift.interval, limits, "primary" if effect.is_significant else "zero", state.mode()
    )
    uri = f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"
    return {named: lift.words(), "Interval": uri, "p, adjusted": _adjusted(effect)}


def _limits(effects: Sequence[Effect], scale: Scale) -> tuple[float, float]:
    """Return the ends of an axis on which all intervals and 0 lie."""
    ends = [0.0, *(end for effect in effects for end in effect.on(scale).interval if np.isfinite(end))]
    room = MARGIN * (max(ends) - min(ends))
    return min(ends) - room, max(ends) + room


def _adjusted(effect: Effect) -> str:
    """Return the adjusted p without its letter."""
    return (
        p_value(effect.p_adjusted).removeprefix("p ").removeprefix("= ") if np.isfinite(effect.p_adjusted) else NOTHING
    )


def _adds(effect: Effect) -> bool:
    """Return whether the verdict on a comparison says what its row of the table does not."""
    return effect.role != "primary" or effect.reduced > 0 or bool(np.isfinite(effect.planned))


def looking_words(customers: float) -> str:
    """Say what intervals are that hold at every look. customers : planned."""
    return (
        "Differences have always-valid intervals, narrowest at the planned "
        f"{counted(customers, 'customer')}: you may look and stop whenever you like."
    )
