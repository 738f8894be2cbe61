"""Segments of a table on a page: those that were kept, and those that its models suggest."""

from __future__ import annotations

import contextlib

import streamlit as st

from gamcore.viz import files as export
from shapewise.decisions import boards as stored
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md, told_apart
from shapewise.ui.widgets import downloads, evidence, reach

MOST = 40


def show(table: TableAbout) -> None:
    """Kept segments, then what models suggest."""
    kept = stored.segments(state.workspace(), table.id)
    models = {m.id: m for m in state.workspace().models.listed() if m.table == table.id and not m.of_tasks}
    if kept:
        st.markdown("**Saved segments**")
        for one in reversed(kept[-MOST:]):
            _line(one)
    if not models:
        st.caption(
            "A model of this table suggests segments: train one, and mark some on its curves on the page Shapes."
        )
        return
    st.markdown("**What a model sets apart**")
    names = told_apart({i: model.name for i, model in models.items()})
    chosen = st.selectbox("Model", list(models), format_func=names.__getitem__, key=f"suggest-{table.id}")
    model = models[chosen]
    suggested = reach.suggested(model)
    if not suggested:
        st.caption("Its curves single out no segment: measure its bands on Shapes, or train on more rows.")
        return
    listed = [(one.rule.words(), one.evidence) for one in suggested]
    frame, binary = evidence.table(listed), suggested[0].evidence.binary
    percent = st.column_config.NumberColumn(format="percent")
    sizes = {"held-out rows": st.column_config.NumberColumn(format="localized"), "reach": percent}
    rates = dict.fromkeys(("opportunity", "lower", "upper", "model contrast"), percent) if binary else {}
    inside = st.column_config.NumberColumn("rate inside", format="percent") if binary else "mean inside"
    picked = st.dataframe(
        frame, hide_index=True, key=f"suggested-{chosen}", on_select="rerun", selection_mode="single-row",
        column_config={**sizes, **rates, "refits agree": percent, "mean inside": inside},
        alt="Segments suggested by the model, with evidence from held-out rows.",
    )  # fmt: skip
    st.caption(
        f"Cuts are the model's; rows, rates and opportunity are of held-out rows; {suggested[0].evidence.tried} ranges "
        "were looked at. Pick a row to keep it."
    )
    name = export.file_name(model.name, "segments", "csv")
    downloads.button("CSV", lambda: export.safe_csv(frame), name, f"segments-csv-{chosen}", ":material/download:")
    for place in picked["selection"]["rows"]:
        rule = suggested[place].rule
        if st.checkbox("rounded", key=f"suggested-rounded-{chosen}", help=evidence.ROUNDED):
            rule = reach.rounded(table.id, rule)
        card = evidence.card(model, rule, suggested[place].evidence.tried)
        evidence.keep(model, rule, card, f"suggested-{chosen}-{place}")


def _line(one: stored.SavedSegment) -> None:
    """Show one kept segment."""
    facts = one.told()
    said = ""
    if facts is not None:
        level, apart = evidence.level(facts.mean, facts.binary), evidence.points(facts.opportunity, facts.binary)
        between = evidence.between(facts.opportunity_interval, facts.binary, True)
        said = f": {level} inside, opportunity {apart} ({between})"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/bookmark: **{md(one.name)}** · *{md(one.scenario)}*{md(said)}")
        st.button(
            "", icon=":material/delete:", key=f"forget-{one.id}", type="tertiary", help="Delete this segment",
            on_click=_forget, args=(one.id,),
        )  # fmt: skip


def _forget(identifier: str) -> None:
    """Delete a kept segment; it may be gone already."""
    with contextlib.suppress(StoreError):
        state.workspace().delete("segments", identifier)
