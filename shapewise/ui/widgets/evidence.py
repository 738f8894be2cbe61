"""The evidence for a segment on a page: rows, rate, opportunity and model contrast, each by itself."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.data.columns import TableError
from gamcore.decide.rules import Rule
from gamcore.decide.segments import Evidence
from gamcore.numbers import alike, fixed, number, percent
from shapewise.decisions import boards as board
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md
from shapewise.ui.widgets import reach
from shapewise.ui.widgets.tiles import tile

FEW = 30
ROUNDED = "Rounds the numbers as far as possible while moving under 1% of the rows."

OPPORTUNITY = (
    "How the held-out rows inside differ from the rest, with a 95% interval (Newcombe; for other means, Welch). An "
    "association: acting on these customers may have a different effect, which only an experiment measures."
)
EFFECT = (
    "By how much more those who were treated moved than the control, among held-out rows inside, with a 95% interval: "
    "what the experiment measured, not what the model says."
)
CONTRAST = (
    "The mean effect of the segment's features on predictions inside, against their average effect, all other features "
    "unchanged: an association, adjusted for the other features."
)


def points(value: float, binary: bool) -> str:
    """Return a difference in words: of rates in percentage points, of means as a number."""
    if not math.isfinite(value):
        return "not known"
    return f"{fixed(100 * value, 1, signed=True)} points" if binary else f"{'+' if value >= 0 else ''}{number(value)}"


def level(value: float, binary: bool) -> str:
    """Return a rate or a mean in words."""
    if not math.isfinite(value):
        return "not known"
    return percent(value) if binary else number(value)


def between(ends: tuple[float, float], binary: bool, signed: bool = False) -> str:
    """Return an interval in words."""
    if not all(map(math.isfinite, ends)):
        return "interval not known"
    if binary and signed:
        low, high = (fixed(100 * end, 1, signed=True) for end in ends)
        return f"{low} to {high} points"
    if binary:
        return f"{percent(ends[0]).removesuffix('%')} to {percent(ends[1])}"
    return f"{number(ends[0])} to {number(ends[1])}"


def agreeing(evidence: Evidence) -> str:
    """Return the share of refits that agree on the model contrast's sign, in words."""
    return (
        f"{percent(evidence.agree, 0)} of refits agree"
        if math.isfinite(evidence.agree)
        else "no model feature in the rule"
    )


def metrics(evidence: Evidence) -> None:
    """Show the four numbers side by side."""
    row = st.grid(min_column_width=150)
    tile(
        row,
        "Held-out rows inside",
        count(evidence.inside),
        f"{percent(evidence.share)} of {count(evidence.rows)}",
    )
    if evidence.effect is not None:
        _of_effect(row, evidence)
        return
    rated = math.isfinite(evidence.exposure)
    name = "Rate inside" if evidence.binary or rated else "Mean inside"
    of = f" Per unit of exposure, {number(evidence.exposure)} in all." if rated else ""
    tile(row, name, level(evidence.mean, evidence.binary), between(evidence.interval, evidence.binary),
         hint=f"Of rows never used for fitting. Outside: {level(evidence.rest, evidence.binary)}.{of}")  # fmt: skip
    tile(
            row,
        "Opportunity", points(evidence.opportunity, evidence.binary),
        between(evidence.opportunity_interval, evidence.binary, signed=True), hint=OPPORTUNITY,
    )  # fmt: skip
    tile(row, "Model contrast", points(evidence.contrast, evidence.binary), agreeing(evidence), hint=CONTRAST)
    tried = f"{count(evidence.tried)} ranges were" if evidence.tried > 1 else "One range was"
    few = f" Under {FEW} rows inside: too few to conclude anything." if evidence.inside < FEW else ""
    st.caption(f"{tried} examined to find it; the interval is not adjusted for that.{few}")


def effect(value: float, unit: str) -> str:
    """Return a measured effect in words."""
    return f"{number(value, signed=True)}{f' {unit}' if unit else ''}" if math.isfinite(value) else "not known"


def _of_effect(row: DeltaGenerator, evidence: Evidence) -> None:
    """Show what an experiment measured among the rows of a segment."""
    unit = md(evidence.effect or "")
    tile(row, "Effect inside", effect(evidence.mean, unit), ends(evidence.interval), hint=EFFECT)
    tile(row, "More than outside", effect(evidence.opportunity, unit), ends(evidence.opportunity_interval),
         hint=f"Outside, the effect is {effect(evidence.rest, unit)}.")  # fmt: skip
    tile(row, "Model says", effect(evidence.contrast, unit), agreeing(evidence),
         hint="By how much the curves of these features raise the effect inside over its mean.")  # fmt: skip
    tried = f"{count(evidence.tried)} ranges were" if evidence.tried > 1 else "One range was"
    few = f" Under {FEW} rows inside: too few to conclude anything." if evidence.inside < FEW else ""
    st.caption(f"{tried} examined to find it; the interval is not adjusted for that.{few}")


def ends(interval: tuple[float, float]) -> str:
    """Return the interval of an effect in words."""
    if not all(map(math.isfinite, interval)):
        return "interval not known"
    low, high = alike(interval, signed=True)
    return f"{low} to {high}"


def said(evidence: Evidence) -> str:
    """Return the evidence of a segment in a few words: the effect inside, or its level and opportunity."""
    if evidence.effect is not None:
        return f"measured effect {effect(evidence.mean, evidence.effect)} ({ends(evidence.interval)})"
    apart = points(evidence.opportunity, evidence.binary)
    around = between(evidence.opportunity_interval, evidence.binary, True)
    return f"{level(evidence.mean, evidence.binary)} inside, opportunity {apart} ({around})"


def card(model: ModelAbout, rule: Rule, tried: int) -> Evidence | None:
    """Show a rule with its evidence from held-out rows, and return the evidence; None if there is none."""
    st.markdown(f"**Rows where** {md(rule.words(state.names_of(model)))}")
    try:
        evidence = reach.evidence(model, rule, tried)
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return None
    if evidence is None:
        st.caption("There is no evidence: the table of this model has been deleted.")
        return None
    metrics(evidence)
    return evidence


def keep(model: ModelAbout, rule: Rule, evidence: Evidence | None, key: str) -> None:
    """Show a name field and a button that saves the segment."""
    words = rule.words(state.names_of(model))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name of the segment", placeholder=words, key=f"name-{key}", max_chars=120)
        if st.button("Save as segment", icon=":material/bookmark_add:", key=f"save-{key}"):
            named = name.strip() or words
            board.add_segment(
                state.workspace(),
                named,
                rule=rule,
                table=model.table,
                scenario=(model.id, model.name),
                evidence=evidence,
            )
            st.toast(f"Saved: {md(named)}. It is on the page Strategies.", icon=":material/bookmark_added:")


def table(listed: list[tuple[str, Evidence]]) -> pd.DataFrame:
    """Return the evidence of several segments as a table, one row each."""
    return pd.DataFrame(
        {
            "segment": [name for name, _ in listed],
            "held-out rows": [evidence.inside for _, evidence in listed],
            "reach": [evidence.share for _, evidence in listed],
            "mean inside": [evidence.mean for _, evidence in listed],
            "opportunity": [evidence.opportunity for _, evidence in listed],
            "lower": [evidence.opportunity_interval[0] for _, evidence in listed],
            "upper": [evidence.opportunity_interval[1] for _, evidence in listed],
            "model contrast": [evidence.contrast for _, evidence in listed],
            "refits agree": [evidence.agree for _, evidence in listed],
        }
    )
