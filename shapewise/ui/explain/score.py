"""A table, or a file that is dropped on a model, scored by it, on a page."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from gamcore.data.columns import TableError
from gamcore.data.labels import cut
from shapewise.ingest.common import ReaderError
from shapewise.reports import file_jobs as packs
from shapewise.scoring import score_file as scorefile
from shapewise.scoring import score_rows as scored
from shapewise.scoring.summary import summary
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout
from shapewise.ui.data import loading
from shapewise.ui.explain import computed
from shapewise.ui.session import state
from shapewise.ui.session.words import count, counted, md, told_apart
from shapewise.ui.widgets import artifacts as packing

EFFECTS: Final = ("The largest effects",)
MOST_NAMED: Final = 5
DECISION: Final = ("For the decision", "For the decision, with a letter")


def score(model: ModelAbout) -> None:
    """Show the choice of a table, what does not fit the model, and the scored file."""
    space = state.workspace()
    _drop(model)
    tables = {table.id: table for table in [*space.tables.dropped(model.id), *space.tables.listed()]}
    if not tables:
        st.caption("There is no table here to score yet: drop a file, or load one on the page Data.")
        return
    labels = {
        i: f"{table.name}{', dropped here' * bool(table.dropped_on)} ({counted(table.rows, 'row')})"
        for i, table in tables.items()
    }
    wanted = _form(model, labels)
    table = tables[wanted["table"]]
    if table.dataset:
        st.caption(
            f"Its rows stay in {md(table.dataset)}: score them there, with "
            "`gamcore.distributed.write_predictions`, or with the model as SQL or Python."
        )
        return
    try:
        fits = _fits(model.id, table.id)
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return
    if not computed.has_computed_or_offer(model, table, f"score-table-{model.id}") or not _has_columns(model, table):
        return
    if fits:
        frame = pd.DataFrame(
            [{"column": misfit.column, "problem": misfit.problem, "rows": misfit.rows} for misfit in fits]
        )
        st.dataframe(frame, hide_index=True, alt="Problems of the table for this model.")
    else:
        st.caption(":material/check: Every column is present, with levels and ranges that the model knows.")
    if table.sampled:
        st.caption(f"Checked on a sample of {counted(table.sampled, 'row')}. All rows are scored.")
    if any(misfit.stops for misfit in fits):
        st.error("It cannot be scored as it is: convert the columns above on the page Data.", icon=":material/error:")
    else:
        _say(model, table)
        _start(model, wanted)
    packing.show("scores")


def _drop(model: ModelAbout) -> None:
    """Show an uploader; what is dropped is kept to be scored by this model, in place of what was dropped before."""
    space = state.workspace()
    if not space.may("create"):
        return
    version = st.session_state.setdefault("score_version", 0)
    file = st.file_uploader("Drop a file to score it", type=loading.KINDS, key=f"score-file-{model.id}-{version}",
                            help="It makes no project: the model scores it, and you take the result.")  # fmt: skip
    if file is None:
        return
    st.session_state["score_version"] = version + 1  # the next run has a fresh, empty uploader
    try:
        table = loading.read_upload(file, file.name, model.id)
    except (ReaderError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    if not any(pack.goes_on for pack in packs.packs(space, "scores")):  # which may read what was dropped before
        for old in space.tables.dropped(model.id):
            if old.id != table.id and state.mine("tables", old.id, "delete"):
                space.delete("tables", old.id)
    st.session_state[f"score-table-{model.id}"] = table.id
    st.rerun()


def _has_columns(model: ModelAbout, table: TableAbout) -> bool:
    """Return whether a table has any column of a model; say which it lacks, where all rows then count as missing."""
    read = dict.fromkeys(bins.feature.column for bins in state.estimator(model.id).model_.bins)
    lacking = [name for name in read if name not in state.columns(table.id)]
    if not lacking:
        return True
    more = f" and {count(len(lacking) - MOST_NAMED)} more" if len(lacking) > MOST_NAMED else ""
    named = ", ".join(f"*{md(cut(name, 60))}*" for name in lacking[:MOST_NAMED]) + more
    if len(lacking) == len(read):
        st.error(
            f"{md(table.name)} has none of the columns that the model reads ({named}): name its columns so, and load "
            "it again.",
            icon=":material/error:",
        )
        return False
    st.warning(
        f"{md(table.name)} has no column {named}, so every row counts as missing there: if it is there under another "
        "name, name it so, and load it again.",
        icon=":material/warning:",
    )
    return True


def _say(model: ModelAbout, table: TableAbout) -> None:
    """Show what the model says of all rows together."""
    try:
        st.markdown(md(_summary(model.id, table.id)))
    except (scored.ScoreError, TableError) as error:
        st.error(md(error), icon=":material/error:")


@state.kept(show_spinner="Scoring the rows", max_entries=16)
def _summary(model: str, table: str) -> str:
    return summary(scorefile.scoring_estimator(state.workspace(), model), state.frame(table))


def _form(model: ModelAbout, labels: dict[str, str]) -> dict[str, Any]:
    """Show what is scored and how, and return it as `start_scores` takes it. labels : of the tables, by id."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Table", list(labels), format_func=told_apart(labels).__getitem__,
                              key=f"score-table-{model.id}")  # fmt: skip
        kind = st.segmented_control("Format", list(scorefile.KINDS), default="parquet", required=True,
                                    format_func=scorefile.KINDS.__getitem__, key=f"score-kind-{model.id}")  # fmt: skip
        keep = st.multiselect(
            "Columns", state.columns(chosen), placeholder="All", key=f"score-keep-{model.id}-{chosen}",
            help="Columns of the table to include in the file.",
        )  # fmt: skip
        decides = not state.class_names(model.id) and state.data(model) is not None
        why = st.selectbox("Reasons", (*EFFECTS, *DECISION) if decides else EFFECTS, key=f"score-why-{model.id}",
                           help="Those for the decision are told as on Rows: from the same line, with the same words "
                           "and letter.")  # fmt: skip
        top = 0
        if why not in DECISION:
            top = st.number_input("Reasons per row", 0, 20, 3, key=f"score-top-{model.id}",
                                  help="The largest contributions to the score, by name and size.")  # fmt: skip
        changes = decides and st.toggle(
            "Smallest change", key=f"score-changes-{model.id}",
            help="Of rows without the answer that people are to be helped to: within what may change, both as on Rows.",
        )  # fmt: skip
    return {"table": chosen, "kind": kind, "top": int(top), "keep": keep, "for_decision": why in DECISION,
            "letter": why == DECISION[1], "changes": bool(changes)}  # fmt: skip


def _start(model: ModelAbout, wanted: dict[str, Any]) -> None:
    """Show the button that queues the work."""
    busy = any(pack.goes_on for pack in packs.packs(state.workspace(), "scores"))
    if not st.button("Score the table", icon=":material/play_arrow:", disabled=busy):
        return
    try:
        packing.begun(packs.start_scores(state.workspace(), model.id, **wanted), "scores")
    except StoreError as error:
        st.error(md(error), icon=":material/error:")
    else:
        st.rerun()


@state.kept(show_spinner="Looking at the table", max_entries=16)
def _fits(model: str, table: str) -> list[scored.ColumnFit]:
    return scored.fits(state.frame(table), state.estimator(model).model_.bins)
