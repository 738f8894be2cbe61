"""The evidence for a segment on a page: rows, rate, opportunity and model contrast, each by itself."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from gamcore.common.numbers import number, percent
from gamcore.data.column_names import Measure
from gamcore.data.columns import TableError
from gamcore.decide.results import ABSENT, table_of
from gamcore.decide.rules import Rule
from gamcore.decide.segments import Evidence
from shapewise.decisions import boards as board
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import count, counted, md
from shapewise.ui.widgets import reach
from shapewise.ui.widgets.tiles import result, row, tile

FEW = 30
ROUNDED = "Rounds the numbers as far as possible while moving under 1% of the rows."

OPPORTUNITY = (
    "How the held-out rows inside differ from the rest, with a 95% interval (Newcombe; for other means, Welch). An "
    "association: acting on these customers may have a different effect, which only an experiment measures."
)
EFFECT = (
    "By how much more those who were treated moved than the control, inside, with a 95% interval: what the experiment "
    "measured, not what the model says. A row counts as inside where a model that has not seen it says so."
)
CONTRAST = (
    "The mean effect of the segment's features on predictions inside, against their average effect, all other features "
    "unchanged: an association, adjusted for the other features."
)


def agreeing(evidence: Evidence) -> str:
    """Return the share of refits that agree on the model contrast's sign, in words."""
    return (
        f"{percent(evidence.agree, 0)} of refits agree"
        if math.isfinite(evidence.agree)
        else "no model feature in the rule"
    )


def _rated(evidence: Evidence) -> bool:
    """Return whether levels are per unit of exposure."""
    return math.isfinite(evidence.exposure)


def metrics(evidence: Evidence, measure: Measure) -> None:
    """Show the four numbers side by side. measure : of the target."""
    at = row()
    tile(
        at,
        "Held-out rows inside" if evidence.effect is None else "Measured inside",
        count(evidence.inside),
        f"{percent(evidence.share)} of {count(evidence.rows)}",
    )
    is_effect, rated = evidence.effect is not None, _rated(evidence)
    outside = f"Outside: {evidence.outside_result(measure).text}."
    if is_effect:
        result(at, "Effect inside", evidence.inside_result(measure), hint=f"{EFFECT} {outside}")
        result(at, "More than outside", evidence.opportunity_result(measure), hint=outside)
        hint = "By how much the curves of these features raise the effect inside over its mean."
    else:
        per = f" Per unit of exposure, {number(evidence.exposure)} in all." if rated else ""
        result(at, "Rate inside" if evidence.binary or rated else "Mean inside", evidence.inside_result(measure),
               hint=f"Of rows never used for fitting. {outside}{per}")  # fmt: skip
        result(at, "Opportunity", evidence.opportunity_result(measure), hint=OPPORTUNITY)
        hint = CONTRAST
    tile(at, "Model says" if is_effect else "Model contrast", evidence.contrast_result(measure).text,
         agreeing(evidence), hint=hint)  # fmt: skip
    tried = counted(evidence.tried, "range", "was", "were")
    few = f" Under {FEW} rows inside: too few to conclude anything." if evidence.inside < FEW else ""
    adjusted = (
        f"the intervals hold at once for all {count(evidence.at_once)} that the curves could have shown"
        if evidence.at_once > 1 else "the interval is not adjusted for that"
    )  # fmt: skip
    st.caption(f"{tried} examined to find it; {adjusted}.{few}")


def in_words(evidence: Evidence, measure: Measure) -> str:
    """Return the evidence of a segment in a few words: the effect inside, or its level and opportunity.

    measure : of the target."""
    inside = evidence.inside_result(measure)
    if evidence.effect is not None:
        return inside.sentence()
    return f"{inside.words()} inside, opportunity {evidence.opportunity_result(measure).words()}, {inside.grounds}"


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
    metrics(evidence, state.measure(model))
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
                metric=state.outcome(model),
            )
            st.toast(f"Saved: {md(named)}. It is on the page Strategies.", icon=":material/bookmark_added:")


def table(listed: list[tuple[str, Evidence]], measure: Measure) -> pd.DataFrame:
    """Return the evidence of several segments as it is read, one row each. measure : of the target."""
    rows = []
    for name, evidence in listed:
        is_effect, inside = evidence.effect is not None, evidence.inside_result(measure)
        level = (
            "Effect inside" if is_effect else "Rate inside" if evidence.binary or _rated(evidence) else "Mean inside"
        )
        rows.append({
            "Segment": name, "Measured inside" if is_effect else "Held-out rows": count(evidence.inside),
            "Reach": percent(evidence.share), level: inside.words(),
            "More than outside" if is_effect else "Opportunity": evidence.opportunity_result(measure).words(),
            "Model says" if is_effect else "Model contrast": evidence.contrast_result(measure).text,
            "Refits agree": percent(evidence.agree, 0) if math.isfinite(evidence.agree) else ABSENT,
        })  # fmt: skip
    return pd.DataFrame(rows)


def numbers(listed: list[tuple[str, Evidence]], measure: Measure) -> pd.DataFrame:
    """Return the same as the table of a file, a row per number."""
    return table_of(row for name, evidence in listed for row in evidence.rows_of_file(measure, segment=name))
