"""Parts of a model's table by a column: periods, levels or ranges, beside the one before, the first or the rest."""

from __future__ import annotations

from typing import Final

import streamlit as st

from gamcore import TableError
from shapewise.additions.why import by_part, result
from shapewise.additions.why.answers import answer, sources
from shapewise.additions.why.question import Group, Question
from shapewise.store.workspace import ModelAbout
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.words import md, told_apart
from shapewise.ui.widgets.columns import PERCENT, hundredfold, measured

BESIDE: Final = {"before": "The one before", "first": "The first", "rest": "All other rows"}


def draw(model: ModelAbout) -> None:
    """Show the choice of a column and of one of its parts, why it differs, and all parts one by one."""
    spec, table = Spec.from_dict(model.spec), state.as_read(model)
    columns = [name for name in state.columns(model.table) if name != spec.target]
    dates = [name for name in columns if table.kind(name) == "date"]
    fitted = by_part.fitted_by(state.workspace(), model)
    likely = (fitted, spec.time, state.roles(model.table).column("time"), *dates, *spec.features)
    usual = next(name for name in likely if name in columns)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = st.selectbox("Parts by", columns, columns.index(usual), key=f"why-by-{model.id}",
                              format_func=state.names_of(model).column)  # fmt: skip
        try:
            groups = _groups(model.id, column, fitted)
        except TableError as error:
            st.caption(md(error))
            return
        in_order = table.kind(column) in ("date", "number")
        beside = st.segmented_control(
            "Beside", list(BESIDE) if in_order else ["rest", "first"], default="before" if in_order else "rest",
            required=True, format_func=BESIDE.__getitem__, key=f"why-beside-{model.id}-{column}",
        )  # fmt: skip
        asked = by_part.questions(model.id, groups, beside)
        labels = told_apart({str(k): question.second.name for k, question in enumerate(asked)})
        chosen = st.selectbox(
            "Part", list(labels), len(asked) - 1 if in_order else 0, format_func=labels.__getitem__,
            key=f"why-part-{model.id}-{column}-{beside}",
        )  # fmt: skip
    result.show(model, asked[int(chosen)], by=column)
    if len(asked) > 1:
        with st.container(border=True):
            is_in_time = beside == "before" and len(groups) > by_part.FEWEST
            since = by_part.questions(model.id, groups, "first") if is_in_time else []
            _one_by_one(asked, since, state.names_of(model).column(spec.exposure) if spec.exposure else "Rows")


@state.kept(show_spinner=False, max_entries=64)
def _groups(model: str, column: str, fitted: str) -> list[Group]:
    """Return the parts of a model's rows. fitted : the column by whose parts it was refitted."""
    about = state.workspace().models.about(model)
    return by_part.groups(state.workspace(), sources(model), about, column, state.names_of(about))


def _one_by_one(asked: list[Question], since: list[Question], size: str) -> None:
    """Show the differences of all parts, as one model sees them; see `by_part.one_by_one`."""
    st.markdown("**Part by part, as one model sees them**")
    frame, is_share, refused = by_part.one_by_one(asked, since, size, answer)
    for why in refused:
        st.caption(md(why))
    if frame.empty:
        return
    sizes = list(frame.columns[by_part.FIRST_SIZE :])
    frame = hundredfold(frame, sizes) if is_share else frame
    frame, form = measured(frame, *sizes[1:])
    st.dataframe(
        frame, hide_index=True,
        column_config={name: st.column_config.NumberColumn(format=PERCENT if is_share and name == "Mean" else form)
                       for name in sizes},
        alt="One line per part: its difference, and how much of it is who came.",
    )  # fmt: skip
    unit = "Differences are in percentage points. " if is_share else ""
    st.caption(f"{unit}*from* and *to* are the 95% interval of who came.")
