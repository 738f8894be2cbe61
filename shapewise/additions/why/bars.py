"""What the bars of an answer add up: terms, features, or families of features that somebody names."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pandas as pd
import streamlit as st

from gamcore import WhyMoved
from gamcore.additions.why.moved import By
from shapewise.store.workspace import ModelAbout

BARS: Final[dict[By, str]] = {"term": "Terms", "feature": "Features", "family": "Families"}


def choose(model: ModelAbout, moved: WhyMoved) -> tuple[By, WhyMoved]:
    """Show what bars add up, and the families of features; return the choice, and the answer with these families."""
    by = st.segmented_control(
        "Bars are", list(BARS), default="term", required=True, format_func=BARS.__getitem__, key=f"why-bars-{model.id}",
        help="What features do together counts in equal shares for each. Families are named below, such as household.",
    )  # fmt: skip
    features = list(moved.families)
    named = st.data_editor(
        pd.DataFrame({"Feature": features, "Family": ""}), key=f"why-families-{model.id}", hide_index=True,
        disabled=["Feature"], height=min(38 + 35 * len(features), 180),
        alt="One line per feature: the family that it is added up with.",
        column_config={"Family": st.column_config.TextColumn(max_chars=60, help="Empty: a family of its own.")},
    )  # fmt: skip
    given = named["Family"].fillna("").str.strip()
    families = {feature: family for feature, family in zip(named["Feature"], given, strict=True) if family}
    return by, replace(moved, families={**moved.families, **families})
