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
ROUNDED = "Numbers that a business would choose: as few digits as move under 1% of the rows."

OPPORTUNITY = (
    "How the held-out rows inside differ from the rest, with its 95% interval (Newcombe; of means, Welch). An "
    "association: acting on these customers may do something else, and only an experiment measures that."
)
CONTRAST = (
    "The mean change of predictions inside, against the average effect of the segment's features with everything else "
    "as it is: an association, adjusted for the other features."
)


def points(value: float, binary: bool) -> str:
    """A difference of rates in percentage points, or of means."""
    if not math.isfinite(value):
        return "not known"
    return f"{100 * value:+.1f} points" if binary else f"{'+' if value >= 0 else ''}{number(value)}"


def level(value: float, binary: bool) -> str:
    """A rate or a mean."""
    if not math.isfinite(value):
        return "not known"
    return f"{value:.1%}" if binary else number(value)


def between(ends: tuple[float, float], binary: bool, signed: bool = False) -> str:
    """An interval."""
    if not all(map(math.isfinite, ends)):
        return "interval not known"
    if binary:
        low, high = (f"{100 * end:+.1f}" if signed else f"{100 * end:.1f}" for end in ends)
        return f"{low} to {high}{' points' if signed else '%'}"
    return f"{number(ends[0])} to {number(ends[1])}"


def agreeing(found: Evidence) -> str:
    """How many refits have the model contrast on the same side."""
    return f"{found.agree:.0%} of refits agree" if math.isfinite(found.agree) else "nothing of the model inside"


def metrics(found: Evidence) -> None:
    """The four numbers side by side."""
    row = st.container(horizontal=True)
    plain = {"border": True, "delta_color": "off", "delta_arrow": "off", "height": "stretch"}
    row.metric("Held-out rows inside", count(found.inside), f"{found.share:.1%} of {count(found.rows)}", **plain)
    name = "Rate inside" if found.binary else "Mean inside"
    row.metric(name, level(found.mean, found.binary), between(found.interval, found.binary), **plain,
               help=f"Of rows that no fit has seen; elsewhere {level(found.rest, found.binary)}.")  # fmt: skip
    row.metric(
        "Opportunity", points(found.opportunity, found.binary),
        between(found.opportunity_interval, found.binary, signed=True), **plain, help=OPPORTUNITY,
    )  # fmt: skip
    row.metric("Model contrast", points(found.contrast, found.binary), agreeing(found), **plain, help=CONTRAST)
    tried = f"{count(found.tried)} ranges were" if found.tried > 1 else "One range was"
    few = f" Under {FEW} rows inside: read nothing from them." if found.inside < FEW else ""
    st.caption(f"{tried} looked at to find it; the interval is of this one alone.{few}")


def card(model: ModelAbout, rule: Rule, tried: int) -> Evidence | None:
    """A rule in words, with what held-out rows say of it; None where they cannot be asked."""
    st.markdown(f"**Rows where** {md(rule.words())}")
    try:
        found = reach.evidence(model, rule, tried)
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return None
    if found is None:
        st.caption("What they do cannot be told: the table of this model is no longer here.")
        return None
    metrics(found)
    return found


def keep(model: ModelAbout, rule: Rule, found: Evidence | None, key: str) -> None:
    """A name, and a button to save a segment."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name of the segment", placeholder=rule.words(), key=f"name-{key}", max_chars=120)
        if st.button("Save as segment", icon=":material/bookmark_add:", key=f"save-{key}"):
            named = name.strip() or rule.words()
            board.add_segment(
                state.workspace(), named, rule=rule, table=model.table, scenario=(model.id, model.name), evidence=found
            )
            st.toast(f"Saved: {md(named)}. It is on the page Strategies.", icon=":material/bookmark_added:")


def table(listed: list[tuple[str, Evidence]]) -> pd.DataFrame:
    """Segments side by side, as numbers."""
    return pd.DataFrame(
        {
            "segment": [name for name, _ in listed],
            "held-out rows": [found.inside for _, found in listed],
            "reach": [found.share for _, found in listed],
            "mean inside": [found.mean for _, found in listed],
            "opportunity": [found.opportunity for _, found in listed],
            "lower": [found.opportunity_interval[0] for _, found in listed],
            "upper": [found.opportunity_interval[1] for _, found in listed],
            "model contrast": [found.contrast for _, found in listed],
            "refits agree": [found.agree for _, found in listed],
        }
    )
