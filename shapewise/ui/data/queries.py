"""A database as a source of tables, on a page: the form of a query, and the query that a table came from."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import streamlit as st

from shapewise.access.deployment import data_folder
from shapewise.databases import connections as databases
from shapewise.databases import queries
from shapewise.databases.connections import Connection
from shapewise.databases.queries import LONGEST, PREVIEW_ROWS, SavedQuery, Tell
from shapewise.ingest.common import ReaderError
from shapewise.store.names import known
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.training.carry_over import newest
from shapewise.ui.data.keeping import Around, as_newer, keep, plainly, turn
from shapewise.ui.session import deployment, dialogs, state
from shapewise.ui.session.words import counted, date, md

FIRST_TABLE: Final = re.compile(r"\bfrom\s+([\w.\"]+)", re.IGNORECASE)
Result = TypeVar("Result")


def _connections() -> list[Connection]:
    """Return the databases that this person may ask."""
    folder = data_folder(state.workspace().root)
    known_here = databases.declared(deployment.section(databases.SECTION)) + databases.in_folder(folder)
    return databases.usable(known_here, state.workspace().person)


def offer(around: Around = plainly) -> None:
    """Show the form of a query; nothing where no database may be asked."""
    there = _connections()
    if there:
        st.subheader("Or from a database", anchor=False)
        _form(there, "query", around)


def _form(there: list[Connection], key: str, around: Around, saved: SavedQuery | None = None, name: str = "") -> None:
    """Show a query, its first rows, and the button that loads all. name : of the table, asked for if empty."""
    names = [connection.name for connection in there]
    place = names.index(saved.connection) if saved and saved.connection in names else 0
    row = st.container(horizontal=True)
    chosen = row.selectbox("Database", names, place, key=f"{key}-connection")
    text = st.text_area(
        "Query", saved.text if saved else "", height=140, key=f"{key}-text", max_chars=LONGEST,
        placeholder="SELECT * FROM customers WHERE year = 2026",
        help="One SELECT, in the words of the database. It can only read.",
    )  # fmt: skip
    first = FIRST_TABLE.search(text)
    usual = first[1].replace('"', "").rpartition(".")[2] if first else chosen
    called = name or row.text_input("Name of the table", key=f"{key}-name", placeholder=usual).strip() or usual
    with st.container(horizontal=True):
        looks = st.button("Preview", icon=":material/visibility:", disabled=not text.strip(), key=f"{key}-preview")
        loads = st.button("Load the rows", icon=":material/download:", disabled=not text.strip(), key=f"{key}-load")
    if looks:
        _look(key, chosen, text)
    if loads:
        keep(partial(_load, chosen, text, called), around)
    _first_rows(key, chosen, text)


def _look(key: str, chosen: str, text: str) -> None:
    """Keep the first rows of a query for the page, or show why it cannot run."""
    try:
        frame, notes = _asked(lambda tell: queries.preview(state.workspace(), _connection(chosen), text, tell))
    except (ReaderError, StoreError) as error:
        st.session_state.pop(f"{key}-looked", None)
        st.error(md(error), icon=":material/error:")
    else:
        st.session_state[f"{key}-looked"] = (chosen, text, frame, notes)


def _first_rows(key: str, chosen: str, text: str) -> None:
    looked = st.session_state.get(f"{key}-looked")
    if looked is None or looked[:2] != (chosen, text):
        return
    _, _, frame, notes = looked
    whole = len(frame) < PREVIEW_ROWS
    st.caption(f"All {counted(len(frame), 'row')}." if whole else f"The first {counted(len(frame), 'row')}.")
    st.dataframe(frame, hide_index=True, height=min(38 + 35 * len(frame), 280), alt="The first rows of the query.")
    if notes:
        st.markdown("\n".join(f"- {md(note)}" for note in notes))


def _connection(name: str) -> Connection:
    return databases.named(_connections(), name, state.workspace().person)


def _load(chosen: str, text: str, name: str) -> TableAbout:
    return _asked(lambda tell: queries.load(state.workspace(), _connection(chosen), text, name, tell))


def _asked(ask: Callable[[Tell], Result]) -> Result:
    """Ask a database, showing how far it is, with a button that ends the query: as any other, it runs the page anew."""
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, "Asking the database", width="stretch")
        st.button("Cancel", icon=":material/close:", key="query-cancel")

    def tell(share: float, words: str) -> None:
        bar.progress(share, md(words))

    try:
        with turn(partial(bar.progress, 0.0, "Waiting for other files to be read")):
            return ask(tell)
    finally:
        place.empty()


def show(table: TableAbout) -> None:
    """Show the query that gave a table, with the button that asks it anew; nothing for a table of no query."""
    tables = state.workspace().tables.listed()
    source = queries.source_of(tables, table)
    if source is None:
        return
    saved, latest = known(SavedQuery, source.query), newest(tables, table.id) or table
    with st.container(border=True):
        st.markdown(
            f":material/database: **From the database {md(saved.connection)}** · read {date(source.created)} "
            f"by {md(saved.by)}"
        )
        st.code(saved.text, language="sql", wrap_lines=True)
        if not state.workspace().may("create"):
            return
        with st.container(horizontal=True):
            again = st.button(
                "Refresh", icon=":material/sync:", help="Run the query again: its rows become the next version.",
            )  # fmt: skip
            if st.button("Change the query", icon=":material/edit:"):
                dialog(saved, latest)
        if again:
            keep(partial(_load, saved.connection, saved.text, latest.name), partial(as_newer, latest))


@dialogs.dialog("Change the query", width="large")
def dialog(saved: SavedQuery, latest: TableAbout) -> None:
    """Show the form of a query whose rows become the next version of a table."""
    there = _connections()
    if not there:
        st.caption("This server declares no database that you may ask.")
        return
    st.caption(f"Its rows become the next version of {md(latest.name)}.")
    _form(there, f"query-{latest.id}", partial(as_newer, latest), saved, latest.name)
