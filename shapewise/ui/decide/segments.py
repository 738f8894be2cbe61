"""Segments of a table on a page: saved ones, and those that its models suggest."""

from __future__ import annotations

import contextlib

import streamlit as st

from gamcore.data.column_names import PLAIN
from gamcore.viz import files as export
from shapewise.decisions import boards as stored
from shapewise.reports.card import measured_by
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import counted, md, told_apart
from shapewise.ui.widgets import downloads, evidence, meanwhile, reach, undo

MOST = 40


def show(table: TableAbout) -> None:
    """Show saved segments, then suggested ones."""
    kept = stored.segments(state.workspace(), table.id)
    meanwhile.look_at_list("segments", table.id, {segment.id: segment.name for segment in kept})
    models = {m.id: m for m in state.workspace().models.listed() if m.table == table.id and not m.of_tasks}
    if kept:
        st.markdown("**Saved segments**")
        for segment in reversed(kept[-MOST:]):
            _line(segment, models.get(segment.model))
    if not models:
        st.caption(
            "A model of this table suggests segments: train one, or mark segments on its curves on the page Shapes."
        )
        return
    st.markdown("**Segments that a model suggests**")
    names = told_apart({i: model.name for i, model in models.items()})
    chosen = st.selectbox("Model", list(models), format_func=names.__getitem__, key=f"suggest-{table.id}")
    model = models[chosen]
    suggested = reach.suggested(model)
    if not suggested:
        st.caption("Its curves suggest no segment: measure its bands on Shapes, or train on more rows.")
        return
    listed = [(segment.rule.words(state.names(table.id)), segment.evidence) for segment in suggested]
    measure, exposure = state.measure(model), model.spec.get("exposure")
    picked = st.dataframe(
        evidence.table(listed, measure), hide_index=True, key=f"suggested-{chosen}", on_select="rerun",
        selection_mode="single-row", alt="Segments suggested by the model, with evidence from held-out rows.",
    )  # fmt: skip
    per = f"Rates are per unit of {md(state.names_of(model).column(exposure))}. " if exposure else ""
    is_effect = suggested[0].evidence.effect is not None
    by = measured_by(model) if is_effect else "held-out rows"
    st.caption(
        f"Cuts come from the model; {'rows and effects' if is_effect else 'rows, rates and opportunity'} from {by}. "
        f"{per}{counted(suggested[0].evidence.tried, 'range', 'was', 'were')} examined. Select a row to save it."
    )
    name = export.file_name(model.name, "segments", "csv")
    downloads.button("CSV", lambda: export.safe_csv(evidence.numbers(listed, measure)), name, f"segments-csv-{chosen}",
                     ":material/download:")  # fmt: skip
    for place in picked["selection"]["rows"]:
        rule = suggested[place].rule
        if st.checkbox("Round", key=f"suggested-rounded-{chosen}", help=evidence.ROUNDED):
            rule = reach.rounded(table.id, rule)
        card = evidence.card(model, rule, suggested[place].evidence.tried)
        evidence.keep(model, rule, card, f"suggested-{chosen}-{place}")


def _line(segment: stored.SavedSegment, model: ModelAbout | None) -> None:
    """Show one saved segment. model : that it was read off; None where it is gone."""
    facts = segment.known_evidence()
    words = "" if facts is None else f": {evidence.in_words(facts, state.measure(model) if model else PLAIN)}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/bookmark: **{md(segment.name)}** · *{md(segment.scenario)}*{md(words)}")
        st.button(
            "", icon=":material/delete:", key=f"forget-{segment.id}", type="tertiary", help="Delete this segment",
            on_click=_forget, args=(segment.id, segment.name),
        )  # fmt: skip


def _forget(identifier: str, name: str) -> None:
    """Delete a saved segment; it may be gone already."""
    with contextlib.suppress(StoreError):
        undo.delete("segments", identifier, name)
