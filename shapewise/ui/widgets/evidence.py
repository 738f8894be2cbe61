"""What is known of a segment, on a page: rows, rate, opportunity and model contrast, never mixed."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from gamcore.data.table import TableError
from gamcore.decide.rules import Rule
from gamcore.decide.segments import Evidence
from shapewise.decisions import boards as board
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md, number
from shapewise.ui.widgets import reach

FEW = 30
ROUNDED = "Rounds the numbers as far as possible while moving under 1% of the rows."

OPPORTUNITY = (
    "How the held-out rows inside differ from the rest, with its 95% interval (Newcombe; of means, Welch). An "
    "association: acting on these customers may do something else, and only an experiment measures that."
)
CONTRAST = (
    "The mean change of predictions inside, against the average effect of the segment's features with everything else "
    "as it is: an association, adjusted for the other features."
)


def points(value: float, binary: bool) -> str:
    """Return a difference of rates in percentage points, or of means."""
    if not math.isfinite(value):
        return "not known"
    return f"{100 * value:+.1f} points" if binary else f"{'+' if value >= 0 else ''}{number(value)}"


def level(value: float, binary: bool) -> str:
    """Return a rate or a mean."""
    if not math.isfinite(value):
        return "not known"
    return f"{value:.1%}" if binary else number(value)


def between(ends: tuple[float, float], binary: bool, signed: bool = False) -> str:
    """Return an interval."""
    if not all(map(math.isfinite, ends)):
        return "interval not known"
    if binary:
        low, high = (f"{100 * end:+.1f}" if signed else f"{100 * end:.1f}" for end in ends)
        return f"{low} to {high}{' points' if signed else '%'}"
    return f"{number(ends[0])} to {number(ends[1])}"


def agreeing(evidence: Evidence) -> str:
    """Return how many refits have the model contrast on the same side."""
    return f"{evidence.agree:.0%} of refits agree" if math.isfinite(evidence.agree) else "nothing of the model inside"


def metrics(evidence: Evidence) -> None:
    """Show the four numbers side by side."""
    row = st.container(horizontal=True)
    plain = {"border": True, "delta_color": "off", "delta_arrow": "off", "height": "stretch"}
    row.metric(
        "Held-out rows inside", count(evidence.inside), f"{evidence.share:.1%} of {count(evidence.rows)}", **plain
    )
    name = "Rate inside" if evidence.binary else "Mean inside"
    row.metric(name, level(evidence.mean, evidence.binary), between(evidence.interval, evidence.binary), **plain,
               help=f"Of rows that no fit has seen; elsewhere {level(evidence.rest, evidence.binary)}.")  # fmt: skip
    row.metric(
        "Opportunity", points(evidence.opportunity, evidence.binary),
        between(evidence.opportunity_interval, evidence.binary, signed=True), **plain, help=OPPORTUNITY,
    )  # fmt: skip
    row.metric("Model contrast", points(evidence.contrast, evidence.binary), agreeing(evidence), **plain, help=CONTRAST)
    tried = f"{count(evidence.tried)} ranges were" if evidence.tried > 1 else "One range was"
    few = f" Under {FEW} rows inside: too few to conclude anything." if evidence.inside < FEW else ""
    st.caption(f"{tried} looked at to find it; the interval is of this one alone.{few}")


def card(model: ModelAbout, rule: Rule, tried: int) -> Evidence | None:
    """Return a rule in words, with what held-out rows say of it; None where they cannot be asked."""
    st.markdown(f"**Rows where** {md(rule.words())}")
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
    """Show a name, and a button to save a segment."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name of the segment", placeholder=rule.words(), key=f"name-{key}", max_chars=120)
        if st.button("Save as segment", icon=":material/bookmark_add:", key=f"save-{key}"):
            named = name.strip() or rule.words()
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
    """Return the segments side by side, as numbers."""
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
