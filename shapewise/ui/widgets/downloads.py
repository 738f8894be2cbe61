"""Download buttons whose files are made on click."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from shapewise.access.quotas import is_shared
from shapewise.errors import StoreError
from shapewise.store.workspace import Workspace
from shapewise.ui.session import state

MIME = {
    "png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf", "html": "text/html", "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "zip": "application/zip",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", "json": "application/json",
    "sql": "application/sql", "py": "text/x-python", "parquet": "application/vnd.apache.parquet", "md": "text/markdown",
}  # fmt: skip


def button(
    label: str, make: Callable[[], bytes], name: str, key: str, icon: str | None = None, tip: str | None = None
) -> None:  # fmt: skip
    """Show a download button; its file is made on click, in its own thread, so no other session waits."""
    mime = MIME.get(name.rpartition(".")[2], "application/octet-stream")
    st.download_button(
        label,
        partial(_handed, state.workspace(), make, name),
        name,
        mime,
        key=key,
        on_click="ignore",
        icon=icon,
        help=tip,
    )


def _handed(space: Workspace, make: Callable[[], bytes], name: str) -> bytes:
    """Return the file after logging who downloads it."""
    data = make()
    try:
        space.note("export", detail=name)
    except StoreError:
        if is_shared():  # no download without a log entry
            raise
    return data
