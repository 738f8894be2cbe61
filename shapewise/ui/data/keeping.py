"""A table on its way in: its turn to be read, and how it becomes the table in view."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from shapewise.ingest.common import ReaderError
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.training import derived
from shapewise.ui.session import current, news, state
from shapewise.ui.session.words import md

WAIT_SECONDS = 0.5
LOADED = "table_just_loaded"
"""That a table was loaded: what comes next is to look at it, on Data."""

Store = Callable[[], TableAbout]
Around = Callable[[Store], TableAbout]


def plainly(store: Store) -> TableAbout:
    """Store a table as one on its own."""
    return store()


def as_newer(older: TableAbout, store: Store) -> TableAbout:
    """Store a table as the newer version of another, and say what that does not allow."""
    table, notes = derived.add_newer(state.workspace(), older, store)
    for sentence in notes:
        news.tell(md(sentence))
    return table


def keep(store: Store, around: Around = plainly) -> None:
    """Store a table and make it current, or show why it cannot be stored. around : a wrapper of `store`."""
    known = {table.id for table in state.workspace().tables.listed()}
    try:
        table = around(store)
    except (ReaderError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    current.open_table(table.id)
    st.session_state[LOADED] = True
    if table.id in known:
        news.tell(f"This table has already been loaded, as {md(table.name)}.")
    st.rerun()


@st.cache_resource(show_spinner=False)
def _turns(at_once: int) -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(at_once)


@contextmanager
def turn(wait: Callable[[], object]) -> Iterator[None]:
    """Hold one of as many reading slots as there are job slots: a reading may take as much memory as a job.

    wait : called repeatedly until a slot is free.
    """
    turns = _turns(state.workspace().limits.slots or 2**31)
    while not turns.acquire(timeout=WAIT_SECONDS):
        wait()
    try:
        yield
    finally:
        turns.release()
