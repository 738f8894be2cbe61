"""Ways to load a table: samples, an upload, a file in a folder of the server, a dataset that the cluster reads, or a
query of a database."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from functools import partial
from pathlib import Path, PurePath
from typing import IO

import streamlit as st

from shapewise.access import cluster
from shapewise.access.deployment import data_folder
from shapewise.datasets.dataset import load_dataset
from shapewise.decisions import guided_example
from shapewise.errors import room
from shapewise.ingest import supervisor as loader
from shapewise.ingest.common import SUFFIXES, TEXT_SUFFIXES
from shapewise.store.atomic_files import scratch_file, scratch_folder
from shapewise.store.workspace import TableAbout
from shapewise.training import carry_over as versions
from shapewise.ui.data import queries
from shapewise.ui.data.keeping import Around, keep, plainly, turn
from shapewise.ui.session import current, dialogs, state
from shapewise.ui.session.words import counted, md
from shapewise.ui.widgets import undo

CARDS = {
    "renewal.parquet": (
        "Renewal", "autorenew", "30,000 customers whose product is about to mature: who renews, and why?",
    ),
    "housing.csv": ("Housing", "home", "5,000 flats and their prices, in a spreadsheet-style file."),
    "loans.csv": ("Loans", "credit_card", "9,300 loans of two kinds, one common and one rare: who defaults?"),
    "claims.csv": (
        "Claims", "directions_car",
        "12,000 motor policies, many for part of a year: how many claims, how large?",
    ),
    "spend.csv": (
        "Spend", "shopping_basket",
        "8,000 customers of a shop, half of whom buy nothing: who spends how much?",
    ),
    "choice.csv": ("Choice", "smartphone", "9,000 telephone customers who choose one of four plans: which, and why?"),
    "winback.csv": ("Win back", "mail", "A test that has run, 18,000 customers: whom does an email move, or a letter?"),
}  # fmt: skip
KINDS = [*(suffix[1:] for suffix in SUFFIXES), "gz"]
"""Endings of the files that can be read."""

SMALL_BYTES = 2**23
"""Size below which a text file skips the queue: it takes little memory, and should not wait for large files."""


def read(source: Path, name: str, dropped_on: str = "") -> TableAbout:
    """Read a file in a child process, showing progress, and store its table. Raises ReaderError or StoreError.

    dropped_on : id of the model that alone is to score it."""
    space = state.workspace()
    left = space.left()
    bar = st.progress(0.0, f"Reading {md(name)}")
    small = PurePath(name).suffix.lower() in TEXT_SUFFIXES and source.is_file() and source.stat().st_size < SMALL_BYTES
    waiting = partial(bar.progress, 0.0, "Waiting for other files to be read")
    with nullcontext() if small else turn(waiting), scratch_folder(space.root) as into:
        bar.progress(0.0, f"Reading {md(name)}")
        most = min(loader.ReadLimits.memory, space.limits.memory or loader.ReadLimits.memory)
        limits = loader.ReadLimits(memory=most, table=space.limits.table_memory, disk=left)

        def tell(share: float, words: str) -> None:
            bar.progress(share, md(words))

        loaded = loader.load(source, name, into, limits, tell)
        sample = (into / "sample.parquet", loaded.sampled) if loaded.sampled else None
        bar.progress(1.0, "Storing the table")
        return space.tables.add_file(
            into / "table.parquet", Path(name).stem, loaded.rows, loaded.columns, loaded.notes, sample=sample,
            dropped_on=dropped_on,
        )  # fmt: skip


def samples(heading: str = "Or try a sample") -> None:
    """Show the sample tables as a row of buttons; one click loads one."""
    st.subheader(heading, anchor=False)
    with st.container(horizontal=True, gap="xsmall"):
        for file, (title, icon, text) in CARDS.items():
            label = f"Load {title.lower()}"
            if st.button(label, key=f"sample-{file}", icon=f":material/{icon}:", help=text):
                with st.spinner(f"Reading {title.lower()}"):
                    keep(partial(_sample, file))


def _sample(file: str) -> TableAbout:
    """Store a sample: our own file, so it needs no child process."""
    return guided_example.load(state.workspace(), file)


def upload(heading: str = "Upload a table", around: Around = plainly) -> None:
    """Show an uploader; the file is parsed, stored and dropped from memory."""
    if heading:
        st.subheader(heading, anchor=False)
    version = st.session_state.setdefault("upload_version", 0)
    file = st.file_uploader(
        "A table with one row per case and one column per fact",
        type=KINDS,
        key=f"upload-{version}",
        help="CSV, TSV (also .gz), Parquet, Arrow or Feather, or an Excel sheet (values only).",
    )
    if file is not None:
        st.session_state["upload_version"] = version + 1  # the next run has a fresh, empty uploader
        keep(partial(read_upload, file, file.name), around)


def read_upload(file: IO[bytes], name: str, dropped_on: str = "") -> TableAbout:
    """Read an uploaded file, as `read` does."""
    with scratch_file(state.workspace().root) as path:
        with st.spinner(f"Receiving {md(name)}"), room(), path.open("wb") as copy:
            shutil.copyfileobj(file, copy)
        return read(path, name, dropped_on)


def from_server(around: Around = plainly) -> None:
    """Show what the server offers: a folder of its own, datasets that the cluster reads, and databases."""
    _from_folder(around)
    _from_dataset(around)
    queries.offer(around)


def _from_folder(around: Around) -> None:
    """Show the files, and folders of Parquet files, in the folder GAMCORE_DATA_FOLDER; nothing if it is not set."""
    folder = data_folder(state.workspace().root)
    if folder is None:
        return
    st.subheader("Or a file on the server", anchor=False)
    chosen = st.selectbox("File or folder of Parquet files", _offered(folder), index=None, placeholder="Choose one")
    if chosen is not None and st.button("Load it"):
        path = (folder / chosen).resolve()
        if not path.is_relative_to(folder):
            st.error("That file is outside the allowed folder: choose another.", icon=":material/error:")
            return
        keep(lambda: read(path, path.name), around)


def _from_dataset(around: Around) -> None:
    """Show a field for a dataset that the workers of the cluster read; nothing where none may be loaded."""
    if not (cluster.address() and cluster.allowed()):
        return
    st.subheader("Or a dataset of the cluster", anchor=False)
    url = st.text_input(
        "Path or URL of a Parquet file, or of a folder of them", placeholder=f"{cluster.allowed()[0]}/…",
        help="Its rows stay there: the workers of the cluster read them, and pages show a sample.",
    )  # fmt: skip
    if st.button("Load the dataset", disabled=not url.strip()):
        keep(lambda: read_dataset(url), around)


def read_dataset(url: str) -> TableAbout:
    """Let the workers draw a sample of a dataset, showing progress, and store it. Raises ReaderError or StoreError."""
    bar = st.progress(0.0, "Asking the workers of the cluster")

    def tell(share: float, words: str) -> None:
        bar.progress(share, words)

    with cluster.connected() as crew:
        return load_dataset(state.workspace(), url, crew, tell)


def _offered(folder: Path) -> list[str]:
    """Return what can be loaded below a folder: files, and folders of Parquet files, as relative paths."""
    files = [path for path in folder.rglob("*") if path.suffix.lower() in (*SUFFIXES, ".gz") and path.is_file()]
    folders = {path.parent for path in files if path.suffix.lower() == ".parquet"} - {folder}
    # A folder of partitions (year=2026/month=1) is offered as a whole, by its top folder.
    tops = {next(p for p in (path, *path.parents) if "=" not in p.name) for path in folders} - {folder}
    return sorted(str(path.relative_to(folder)) for path in {*files, *tops} if path.is_relative_to(folder))


@dialogs.dialog("Load another table", width="large")
def dialog() -> None:
    """Show all ways to load a table in a dialog."""
    upload()
    samples()
    from_server()


@dialogs.dialog("Delete this table?")
def confirm_delete(table: TableAbout) -> None:
    """Ask before deleting a table; models trained on it stay."""
    st.markdown(
        f"**{md(table.name)}**, {counted(table.rows, 'row')}. Models trained on it stay, but cannot be retrained. "
        "It can be brought back for seven days."
    )
    if st.button("Delete table", icon=":material/delete:"):
        versions.delete(state.workspace(), table.id)
        undo.deleted("tables", table.id, table.name)
        current.leave()
        st.rerun()
