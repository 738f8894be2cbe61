"""A model for other programs, on a page: as SQL, Python and JSON, with the reasons for its decisions if wanted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial

import streamlit as st

from gamcore import ModelFileError, Sample
from gamcore import io as scoring
from gamcore.data.binning import Bins
from gamcore.data.columns import Kind
from gamcore.decide.rules_code import kinds_of
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import GAMRegressor
from gamcore.estimators.relativities import relativities
from gamcore.io import ScoringError
from gamcore.viz import files as export
from gamcore.viz.files.spreadsheets import to_xlsx
from shapewise.scoring import score_file as scorefile
from shapewise.store.workspace import ModelAbout
from shapewise.ui.explain import computed
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import downloads


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
    key = _key(model) if not model.of_tasks else None
    try:
        unit = state.measure(model).as_stored
        texts = {form: _written(model.id, form, *_telling(model, key), unit) for form in writers}
    except (ScoringError, ModelFileError) as error:
        st.error(md(error), icon=":material/error:")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for form, label in writers.items():
            name = export.file_name(model.name, "model", form)
            downloads.button(label, texts[form].encode, name, f"{form}-{model.id}", ":material/download:")
        if not model.of_tasks and loss_of(state.estimator(model.id)).has_log_link:
            cap = st.number_input(
                "Cap factors at",
                min_value=1.0,
                value=None,
                placeholder="no cap",
                key=f"cap-{model.id}",
                width=160,
                help="In the workbook of relativities, each factor then stays between 1 / cap and the cap, too.",
            )
            made_of = partial(bytes, _relativities(model.id, model.bands, cap))
            name = export.file_name(model.name, "relativities", "xlsx")
            downloads.button("Relativities", made_of, name, f"relativities-{model.id}", ":material/download:")
    if exposure := model.spec.get("exposure"):
        named = md(state.names_of(model).column(exposure))
        st.caption(f"A row has two numbers: `rate`, per unit of {named}, and `expected`, the rate times {named}.")


def _key(model: ModelAbout) -> str | None:
    """Ask whether reasons for the decision are written, too; return the key that SQL joins them by, or None."""
    if state.class_names(model.id) or state.data(model) is None:
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        on = st.toggle("With reasons for the decision", key=f"code-told-{model.id}",
                       help="From the line, with the words and the base of the page Rows.")  # fmt: skip
        if not on:
            return None
        return str(st.selectbox(
            "Key", list(dict.fromkeys([*_keys(model.table), "id"])), key=f"code-key-{model.id}", width=240,
            help="A column that is filled, and different in every row: SQL joins the reasons by it.",
        ))  # fmt: skip


@state.kept(show_spinner=False, max_entries=16)
def _keys(table: str) -> list[str]:
    """Return the columns of a table that are filled, and different in every row."""
    rows = state.frame(table)
    return [str(name) for name in rows if rows[name].is_unique and rows[name].notna().all()]


def stored_columns(model: ModelAbout, bins: Iterable[Bins]) -> tuple[list[str], dict[str, Kind]]:
    """Return the columns of a model's table, and how it stores those of some features; nothing where it is gone."""
    if model.table not in {table.id for table in state.workspace().tables.listed()}:
        return [], {}
    names, used = state.columns(model.table), {each.feature.column for each in bins}
    return names, kinds_of(state.frame(model.table), [name for name in names if name in used])


def _telling(model: ModelAbout, key: str | None) -> tuple[str, str]:
    """Return what reasons in code depend on, so that it is written anew where that changes; and the key."""
    if key is None:
        return "", ""
    return json.dumps([model.reasons, state.names_of(model).to_dict()]), key


@state.kept(copies=True, show_spinner="Writing the model", max_entries=12)
def _written(identifier: str, form: str, telling: str, key: str, unit: str) -> str:
    """Return a stored model as code or JSON; as SQL, with the column types of its table if that is still here.

    telling : not empty if it tells reasons. key : the column by which SQL joins them. unit : that of the target."""
    model, estimator = state.workspace().models.about(identifier), state.whole(identifier)
    source = scorefile.telling_formula(state.workspace(), identifier) if telling else estimator
    behind = computed.steps_behind(model)
    if form == "json":
        return scoring.to_json(source, 1, [step.to_dict() | {"needs": step.needs()} for step in behind], unit)
    steps = [step.words() for step in behind]
    if form == "py":
        title = ". Compute first: ".join([model.name, *["; ".join(steps)] * bool(steps)])
        return scoring.to_python(source, title, unit)
    names, kinds = stored_columns(model, estimator.model_.bins)
    return scoring.to_sql(
        source, model.table_name or "table", kinds=kinds, title=model.name, columns=names, computed=steps,
        exposure=model.spec.get("exposure"), key=key, unit=unit,
    )  # fmt: skip


@state.kept(copies=True, show_spinner="Writing the relativities", max_entries=4)
def _relativities(identifier: str, bands: int, cap: float | None) -> bytes:
    """Return the rating factors of a model as a workbook, compared on its training and on its held-out rows."""
    model, estimator = state.workspace().models.about(identifier), state.whole(identifier)
    assert isinstance(estimator, GAMRegressor)
    data = state.data(model)
    if data is None:
        return to_xlsx(relativities(estimator, cap=cap))
    populations = {"training": ~data.held_out, "held-out": data.held_out}
    return to_xlsx(relativities(
        estimator,
        {
            name: Sample(part.X, part.y, part.weight, exposure=part.exposure)
            for name, rows in populations.items() if rows.any() for part in (data.only(rows),)
        },
        cap,
    ))  # fmt: skip
