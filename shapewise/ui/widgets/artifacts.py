"""Files made by a child process: their progress, cancel button and download on a page."""

from __future__ import annotations

from functools import partial

import streamlit as st

from shapewise.jobs import queue as jobs
from shapewise.reports import file_jobs as packs
from shapewise.reports.file_jobs import FileWork, Pack
from shapewise.store.workspace import StoreError
from shapewise.ui.session import redraw, state
from shapewise.ui.session.words import date, md, size
from shapewise.ui.widgets import downloads

MOST = 6


def begun(identifier: str, work: FileWork) -> None:
    """Remember which file this session is making."""
    st.session_state[f"pack-{work}"] = identifier


def show(work: FileWork) -> None:
    """Show the file being made, and earlier ones."""
    listed = packs.packs(state.workspace(), work)
    now = next((pack for pack in listed if pack.id == st.session_state.get(f"pack-{work}")), None)
    now = now or next((pack for pack in listed if pack.goes_on), None)
    for pack in listed:  # also those of other sessions
        if pack.goes_on:
            _watch(pack.id)
    if now is not None and not now.goes_on:
        _ended(now)
    before = [pack for pack in listed if pack.size and (now is None or pack.id != now.id)][:MOST]
    if before:
        with st.expander(f"Made before ({len(before)})"):
            for pack in before:
                with st.container(horizontal=True, vertical_alignment="center"):
                    _download(pack)
                    st.caption(f"{date(pack.created)} · {size(pack.size)}", width="content")
                    _delete(pack)


@st.fragment(run_every=redraw.SECONDS)
def _watch(identifier: str) -> None:
    try:
        pack = packs.pack(state.workspace(), identifier)
    except StoreError:
        redraw.by_timer()
        return
    if not pack.goes_on:
        redraw.by_timer()
        return
    with st.container(border=True):
        st.progress(pack.share, md(pack.words))
        if pack.state == "running" and jobs.is_stopping(state.workspace(), packs.KIND, identifier):
            st.caption("Stopping.")
        elif st.button("Cancel", key=f"cancel-pack-{identifier}", icon=":material/cancel:"):
            packs.cancel(state.workspace(), identifier)
            st.rerun(scope="fragment")


def _ended(pack: Pack) -> None:
    if pack.state == "cancelled":
        st.caption("Cancelled: no file was made.")
    elif pack.state != "done":
        st.error(md(pack.message[:600]), icon=":material/error:")
    else:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/check_circle: **{md(pack.name)}** · {size(pack.size)}")
            _download(pack, "Download the file")
            _delete(pack)


def _download(pack: Pack, label: str = "") -> None:
    make = partial(packs.content, state.workspace(), pack.id)
    downloads.button(label or md(pack.name), make, pack.name, f"pack-{pack.id}", ":material/download:")


def _delete(pack: Pack) -> None:
    st.button(
        "", icon=":material/delete:", key=f"delete-pack-{pack.id}", type="tertiary", help="Delete this file",
        on_click=packs.delete, args=(state.workspace(), pack.id),
    )  # fmt: skip
