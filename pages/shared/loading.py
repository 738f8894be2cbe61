"""Ways to load a table: samples, an upload, a file in an allow-listed folder of the server."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from gamcore.workspace import versions
from gamcore.workspace.reader import SUFFIXES, Loaded, ReaderError, read_file
from gamcore.workspace.store import StoreError, TableAbout
from pages.shared import state
from pages.shared.words import count, md

SAMPLES = Path(__file__).parents[2] / "sample_data"
CARDS = {
    "renewal.parquet": (
        "Renewal", "autorenew", "30,000 customers whose product is about to mature: who renews, and why?",
    ),
    "housing.csv": ("Housing", "home", "5,000 flats and their prices, in a file as an office program writes it."),
    "loans.csv": ("Loans", "credit_card", "9,300 loans of two kinds, one common and one rare: who defaults?"),
}  # fmt: skip
FOLDER_VARIABLE = "GAMCORE_DATA_FOLDER"

Store = Callable[[], TableAbout]


def _plainly(store: Store) -> TableAbout:
    return store()


def _store(name: str, data: bytes, around: Callable[[Store], TableAbout] = _plainly) -> None:
    """Read, store, take in hand; the bytes are dropped with the upload. around : what is done with the storing."""
    try:
        with st.spinner(f"Reading {md(name)}"):
            loaded: Loaded = read_file(name, data)
            known = {table.id for table in state.workspace().tables()}
            table = around(lambda: state.workspace().add_table(loaded.frame, Path(name).stem, loaded.notes))
    except (ReaderError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    state.choose("table", table.id)
    if table.id in known:
        st.toast(f"This table is here already, as {md(table.name)}.", icon=":material/info:")
    st.rerun()


def samples() -> None:
    """A card a sample table; one click loads it."""
    st.subheader("Start with a sample", anchor=False)
    for column, (file, (title, icon, text)) in zip(st.columns(3), CARDS.items(), strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f":material/{icon}: **{title}**")
            st.caption(text)
            if st.button(f"Load {title.lower()}", key=f"sample-{file}", width="stretch"):
                _store(file, (SAMPLES / file).read_bytes())


def upload(heading: str = "Or bring your own", around: Callable[[Store], TableAbout] = _plainly) -> None:
    """An uploader; the file is parsed, stored and dropped from memory."""
    if heading:
        st.subheader(heading, anchor=False)
    version = st.session_state.setdefault("upload_version", 0)
    file = st.file_uploader(
        "A table with one row a case and one column a fact",
        type=[*(suffix[1:] for suffix in SUFFIXES), "gz"],
        key=f"upload-{version}",
        help="CSV, TSV (also .gz), Parquet, Arrow or Feather, or an Excel sheet (values only).",
    )
    if file is not None:
        name, data = file.name, file.getvalue()
        st.session_state["upload_version"] = version + 1  # the next run has a fresh, empty uploader
        _store(name, data, around)


def from_folder(around: Callable[[Store], TableAbout] = _plainly) -> None:
    """Big files from the folder that GAMCORE_DATA_FOLDER allows; nothing is shown where it is not set."""
    allowed = os.environ.get(FOLDER_VARIABLE)
    if not allowed:
        return
    folder = Path(allowed).resolve()
    files = sorted(p.relative_to(folder) for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    st.subheader("Or a file on the server", anchor=False)
    chosen = st.selectbox("File", files, index=None, placeholder="Choose a file", format_func=str)
    if chosen is not None and st.button("Load file"):
        path = (folder / chosen).resolve()
        if not path.is_relative_to(folder):
            st.error("That file is outside the allowed folder: choose another.")
            return
        _store(path.name, path.read_bytes(), around)


@st.dialog("Load another table", width="large")
def dialog() -> None:
    """All ways to load, in a dialog."""
    samples()
    upload()
    from_folder()


@st.dialog("Delete this table?")
def confirm_delete(table: TableAbout) -> None:
    """Ask once; models trained on the table stay."""
    st.markdown(f"**{md(table.name)}**, {count(table.rows)} rows. Models trained on it stay, but cannot be retrained.")
    if st.button("Delete table", icon=":material/delete:"):
        versions.delete(state.workspace(), table.id)
        st.query_params.pop("table", None)
        st.session_state.pop("table_id", None)
        st.rerun()
