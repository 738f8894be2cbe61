"""Computed columns and changed types of a table: a draft of steps, looked at before it is kept as a version."""

from __future__ import annotations

import json

import pandas as pd
import streamlit as st

from gamcore.common.numbers import percent
from gamcore.data.columns import TableError
from shapewise import patience
from shapewise.columns.evaluate import Kinds
from shapewise.columns.formula import FormulaError
from shapewise.columns.functions import FUNCTIONS
from shapewise.columns.steps import MOST_STEPS, Computed, Retyped, Step, StepError, apply, from_dict, readings, replay
from shapewise.columns.stored import kinds_of_table
from shapewise.ingest.types import Tally
from shapewise.patience import TooLongError
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.training import derived
from shapewise.ui.session import current, news, state
from shapewise.ui.session.words import counted, md, number

MOST_SHOWN = 5
FASTER = "use fewer steps and fewer comparisons of texts, or compute the column in the source."
WAYS = ("A computed column", "Another type")


@st.fragment
def show(table: TableAbout) -> None:
    """Show the steps that lead to a table, and, to those who may, the draft of further ones; nothing of a table whose
    rows are not here to compute with."""
    if table.dataset:
        return
    if not state.mine("tables", table.id) or not state.workspace().may("create"):
        if table.steps:
            st.subheader("Computed columns and types", anchor=False)
            st.markdown("\n".join(f"- {md(from_dict(kept_step).words())}" for kept_step in table.steps))
        return
    st.subheader("Computed columns and types", anchor=False)
    source = derived.as_loaded(state.workspace(), table)
    draft = _draft(table)
    for k, step in enumerate(draft):
        fixed = source is None and k < len(table.steps)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/function: {md(step.words())}" if isinstance(step, Computed)
                        else f":material/swap_horiz: {md(step.words())}")  # fmt: skip
            if not fixed:
                st.button("", icon=":material/close:", key=f"step-{table.id}-{k}", type="tertiary", on_click=_without,
                          args=(table.id, k), help="Remove this step")  # fmt: skip
    replayed = replay(draft, kinds_of_table(state.table((source or table).id)) if source else {})
    if source is not None and replayed.left_out:
        for sentence in replayed.sentences():
            st.warning(md(sentence), icon=":material/warning:")
        st.caption("These steps cannot be repeated on this version: remove them.")
    else:
        _kept(table, draft)
        with st.expander("Add a column or change a type", key=f"add-step-{table.id}"):
            _add(table, source or table, draft if source else draft[len(table.steps) :])


def _key(table: str) -> str:
    return f"steps-{table}"


def _draft(table: TableAbout) -> list[Step]:
    plain = st.session_state.setdefault(_key(table.id), list(table.steps))
    return [from_dict(step) for step in plain]


def _without(table: str, place: int) -> None:
    plain = st.session_state[_key(table)]
    st.session_state[_key(table)] = plain[:place] + plain[place + 1 :]


def _with(table: str, step: Step) -> None:
    st.session_state[_key(table)] = [*st.session_state[_key(table)], step.to_dict()]


def _kept(table: TableAbout, draft: list[Step]) -> None:
    """Show the buttons that keep a changed draft as a version, or drop it."""
    if [step.to_dict() for step in draft] == table.steps:
        return
    failed = st.empty()
    with st.container(horizontal=True, vertical_alignment="center"):
        keep = st.button("Keep as a new version", type="primary", icon=":material/save:", key=f"keep-{table.id}")
        st.button("Discard the changes", key=f"drop-{table.id}", on_click=st.session_state.pop,
                  args=(_key(table.id), None))  # fmt: skip
    st.caption("This version and its models stay as they are. Newer versions repeat these steps when they are loaded.")
    if keep:
        bar = st.progress(0.0, "Writing the columns")
        try:
            newer, notes = derived.keep(state.workspace(), table, draft, lambda done: bar.progress(min(done, 1.0)))
        except (StoreError, StepError, FormulaError, TableError) as error:
            bar.empty()
            failed.error(md(error), icon=":material/error:")
            return
        for sentence in notes:
            news.tell(md(sentence))
        st.session_state.pop(_key(table.id), None)
        current.open_table(newer.id)
        st.rerun()


@state.kept(instead=FASTER, show_spinner=False, max_entries=4)
def _drafted(source: str, steps: str) -> tuple[pd.DataFrame, Kinds]:
    """Return a table with the steps of a draft, and the kinds of its columns."""
    rows = state.table(source)
    draft = [from_dict(step) for step in json.loads(steps)]
    kinds = kinds_of_table(rows)
    return apply(draft, rows.frame, kinds), replay(draft, kinds).kinds


def _add(table: TableAbout, source: TableAbout, steps: list[Step]) -> None:
    """Show the form of one more step. steps : those that `source` still lacks."""
    if len(steps) >= MOST_STEPS:
        st.caption(f"A table has at most {MOST_STEPS} steps: compute further columns in the source.")
        return
    way = st.segmented_control("Add", WAYS, default=WAYS[0], required=True, key=f"way-{table.id}",
                               label_visibility="collapsed")  # fmt: skip
    try:
        frame, kinds = _drafted(source.id, json.dumps([step.to_dict() for step in steps]))
    except (TableError, StepError, FormulaError, TooLongError) as error:
        st.error(md(error), icon=":material/error:")
        return
    tag = f"{table.id}-{len(st.session_state[_key(table.id)])}"
    step = _computed(tag, kinds) if way == WAYS[0] else _retyped(tag, frame, kinds)
    if step is None:
        return
    tally: dict[str, Tally] = {}
    try:
        with patience.at_most(instead=FASTER):
            kind = step.kind(kinds)
            with_it = apply([step], frame, kinds, tally)
    except (StepError, FormulaError, TableError, TooLongError) as error:
        sentence = str(error)
        st.error(md(sentence[0].upper() + sentence[1:].rstrip(".") + "."), icon=":material/error:")
        return
    _preview(step, with_it, kind, " of the sample" if table.sampled else "")
    _unread(tally[step.column], " of the sample" if table.sampled else "")
    st.button("Add", icon=":material/add:", key=f"add-{tag}", on_click=_with, args=(table.id, step))


def _computed(tag: str, kinds: Kinds) -> Step | None:
    """Show the fields of a computed column, and return it; None while they are empty."""
    left, right = st.columns([1, 2])
    name = left.text_input("Name", key=f"name-{tag}", placeholder="income per head")
    text = right.text_input("Formula", key=f"formula-{tag}", placeholder="income / household_size",
                            help="Press Enter to see what it gives. Put odd names between backticks.")  # fmt: skip
    with st.popover("What a formula can say", icon=":material/help:"):
        st.markdown(
            "Numbers, text in quotes, columns by name, backticks around names with spaces. "
            r"`+ - * / **`, `< <= > >= == !=`, `and or not` and brackets. Where a cell is missing, so is the result."
        )
        usage = pd.DataFrame({"Function": [f.usage for f in FUNCTIONS.values()],
                              "What it gives": [f.help for f in FUNCTIONS.values()]})  # fmt: skip
        st.dataframe(usage, hide_index=True, width=640, alt="The functions of formulas.")
        st.caption(f"Columns: {', '.join(_written(name) for name in kinds)}")
    if not text.strip():
        return None
    return Computed(" ".join(name.split()) or _free(kinds), text.strip())


def _free(kinds: Kinds) -> str:
    """Return a name that no column has."""
    number_ = 1
    while f"computed {number_}" in kinds:
        number_ += 1
    return f"computed {number_}"


def _written(name: str) -> str:
    """Return a column as a formula names it."""
    return md(name if name.isidentifier() else f"`{name}`")


def _retyped(tag: str, frame: pd.DataFrame, kinds: Kinds) -> Step | None:
    """Show the choice of a column and its new type, and return it; None while there is none."""
    names = [name for name, kind in kinds.items() if kind is not None]
    left, right = st.columns([1, 2])
    column = left.selectbox("Column", names, None, key=f"retype-{tag}", placeholder="Choose one")
    if column is None:
        return None
    kind = kinds[column]
    assert kind is not None
    ways: list[Retyped] = readings(frame[column], kind)
    if not ways:
        right.caption(f"{md(column)} is a {kind}: it cannot be read as anything else.")
        return None
    labels = [f"a {way.to}{way.how}" for way in ways]
    chosen = right.selectbox(f"It is a {kind}; read it as", labels, key=f"retype-{tag}-{column}")
    return ways[labels.index(chosen)]


def _preview(step: Step, frame: pd.DataFrame, kind: str, whose: str) -> None:
    """Show the first rows of a new column beside what it is made of, and its range."""
    series = frame[step.column]
    missing = int(series.isna().sum())
    parts = [f"a {kind}", counted(series.nunique(), "distinct value")]
    if kind == "number" and missing < len(series):
        parts.append(f"{number(series.min())} to {number(series.max())}, mean {number(series.mean())}")
    parts.append(f"missing in {counted(missing, 'row')}{whose} ({percent(missing / max(len(series), 1))})")
    st.caption(f"**{md(step.column)}**: {', '.join(parts)}")
    names = list(dict.fromkeys([*(step.needs() if isinstance(step, Computed) else []), step.column]))
    st.dataframe(frame[names].head(MOST_SHOWN), hide_index=True, alt="The first rows of the new column.")


def _unread(tally: Tally, whose: str) -> None:
    """Say which cells cannot be read as the new type."""
    if tally.odd:
        examples = md(", ".join(tally.examples["odd"]))
        st.warning(
            f"{counted(tally.odd, 'cell')}{whose} cannot be read and will be missing: {examples}.",
            icon=":material/warning:",
        )
    if tally.missing:
        st.caption(f"{counted(tally.missing, 'cell')}{whose} say themselves that they are missing.")
