"""Scoring: a table scored by a model, and the model exported as SQL, Python and JSON."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from gamcore import ModelFileError
from gamcore import io as scoring
from gamcore.data.columns import TableError
from gamcore.decide.rules_code import kinds_of
from gamcore.estimators.gam import GAMRegressor
from gamcore.estimators.relativities import relativities
from gamcore.io import ScoringError
from gamcore.viz import files as export
from gamcore.viz.files.spreadsheets import to_xlsx
from shapewise.reports import file_jobs as packs
from shapewise.scoring import score_file as scorefile
from shapewise.scoring import score_rows as scored
from shapewise.store.workspace import ModelAbout, StoreError
from shapewise.ui.explain import computed
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md, told_apart
from shapewise.ui.widgets import artifacts as packing
from shapewise.ui.widgets import downloads


def score(model: ModelAbout) -> None:
    """Show the choice of a table, what does not fit the model, and the scored file."""
    tables = {table.id: table for table in state.workspace().tables.listed()}
    if not tables:
        st.caption("There is no table here to score: load one on the page Data.")
        return
    labels = told_apart({i: f"{table.name} ({count(table.rows)} rows)" for i, table in tables.items()})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Table", list(tables), format_func=labels.__getitem__, key=f"score-table-{model.id}")
        kind = st.segmented_control("Format", list(scorefile.KINDS), default="parquet", required=True,
                                    format_func=scorefile.KINDS.__getitem__, key=f"score-kind-{model.id}")  # fmt: skip
        keep = st.multiselect(
            "Columns",
            state.columns(chosen),
            placeholder="All",
            key=f"score-keep-{model.id}-{chosen}",
            help="Columns of the table to include in the file.",
        )
        top = st.number_input("Reasons per row", 0, 20, 3, key=f"score-top-{model.id}",
                              help="The largest contributions to the score, by name and size.")  # fmt: skip
    if tables[chosen].dataset:
        st.caption(
            f"Its rows stay in {md(tables[chosen].dataset)}: score them there, with "
            "`gamcore.distributed.write_predictions`, or with the model as SQL or Python."
        )
        return
    try:
        fits = _fits(model.id, chosen)
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return
    if not computed.there(model, tables[chosen], f"score-table-{model.id}"):
        return
    stops = [one for one in fits if one.stops]
    if fits:
        frame = pd.DataFrame([{"column": one.column, "problem": one.problem, "rows": one.rows} for one in fits])
        st.dataframe(frame, hide_index=True, alt="Problems of the table for this model.")
    else:
        st.caption(":material/check: Every column is present, with levels and ranges that the model knows.")
    if tables[chosen].sampled:
        st.caption(f"Checked on a sample of {count(tables[chosen].sampled)} rows. All rows are scored.")
    busy = any(one.goes_on for one in packs.packs(state.workspace(), "scores"))
    if stops:
        st.error("It cannot be scored as it is: convert the columns above on the page Data.", icon=":material/error:")
    elif st.button("Score the table", icon=":material/play_arrow:", disabled=busy):
        try:
            packing.begun(
                packs.start_scores(state.workspace(), model.id, table=chosen, kind=kind, top=int(top), keep=keep),
                "scores",
            )
        except StoreError as error:
            st.error(md(error), icon=":material/error:")
        else:
            st.rerun()
    packing.show("scores")


@state.kept(show_spinner="Looking at the table", max_entries=16)
def _fits(model: str, table: str) -> list[scored.ColumnFit]:
    return scored.fits(state.frame(table), state.estimator(model).model_.bins)


def code(model: ModelAbout) -> None:
    """Show the model as SQL, Python and JSON."""
    st.caption(
        "Each predicts as the model does here, also for missing cells, unseen levels and values out of range. SQL "
        "reads NULL as missing."
    )
    steps = computed.steps_behind(model)
    if steps:
        st.caption(
            f"These columns are computed on the page Data, and must be there first: "
            f"{md('; '.join(step.words() for step in steps))}."
        )
    writers = {"py": "Python", "json": "JSON"} if model.of_tasks else {"sql": "SQL", "py": "Python", "json": "JSON"}
    try:
        made = {form: _written(model.id, form) for form in writers}
    except (ScoringError, ModelFileError) as error:
        st.error(md(error), icon=":material/error:")
        return
    with st.container(horizontal=True):
        for form, label in writers.items():
            name = export.file_name(model.name, "model", form)
            downloads.button(label, partial(_encoded, made[form]), name, f"{form}-{model.id}", ":material/download:")
        if not model.of_tasks and state.estimator(model.id).loss.has_log_link:
            made_of = partial(_relativities, model.id, model.bands)
            name = export.file_name(model.name, "relativities", "xlsx")
            downloads.button("Relativities", made_of, name, f"relativities-{model.id}", ":material/download:")
    if exposure := model.spec.get("exposure"):
        named = md(state.names_of(model).column(exposure))
        st.caption(f"Predictions of SQL are totals: the rate times {named}. Python takes the exposure as an argument.")


def _encoded(text: str) -> bytes:
    return text.encode()


@state.kept(copies=True, show_spinner="Writing the model", max_entries=12)
def _written(identifier: str, form: str) -> str:
    """Return a stored model as code or JSON; as SQL, with the column types of its table if that is still here."""
    model, estimator = state.workspace().models.about(identifier), state.whole(identifier)
    behind = computed.steps_behind(model)
    if form == "json":
        return scoring.to_json(estimator, 1, [step.to_dict() | {"needs": step.needs()} for step in behind])
    steps = [step.words() for step in behind]
    if form == "py":
        return scoring.to_python(estimator, ". Compute first: ".join([model.name, *["; ".join(steps)] * bool(steps)]))
    there = {table.id for table in state.workspace().tables.listed()}
    names: list[str] = state.columns(model.table) if model.table in there else []
    used = {bins.feature.column for bins in estimator.model_.bins}
    kinds = kinds_of(state.frame(model.table), [name for name in names if name in used]) if names else {}
    return scoring.to_sql(
        estimator, model.table_name or "table", kinds=kinds, title=model.name, columns=names, computed=steps,
        exposure=model.spec.get("exposure"),
    )  # fmt: skip


@state.kept(copies=True, show_spinner="Writing the relativities", max_entries=4)
def _relativities(identifier: str, bands: int) -> bytes:
    """Return the rating factors of a model as a workbook, compared on its held-out rows where there are any."""
    model, estimator = state.workspace().models.about(identifier), state.whole(identifier)
    assert isinstance(estimator, GAMRegressor)
    data = state.data(model)
    if data is None:
        return to_xlsx(relativities(estimator))
    beside = {name: of for name, of in data.of_rows(data.held_out).items() if name != "groups"}
    return to_xlsx(relativities(estimator, data.X[data.held_out], data.y[data.held_out], **beside))
