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
    now = next((one for one in listed if one.id == st.session_state.get(f"pack-{work}")), None)
    now = now or next((one for one in listed if one.goes_on), None)
    for one in listed:  # also those of other sessions
        if one.goes_on:
            _watch(one.id)
    if now is not None and not now.goes_on:
        _ended(now)
    before = [one for one in listed if one.size and (now is None or one.id != now.id)][:MOST]
    if before:
        with st.expander(f"Made before ({len(before)})"):
            for one in before:
                with st.container(horizontal=True, vertical_alignment="center"):
                    _download(one)
                    st.caption(f"{date(one.created)} · {size(one.size)}", width="content")
                    _delete(one)


@st.fragment(run_every=0.7)
def _watch(identifier: str) -> None:
    try:
        made = packs.pack(state.workspace(), identifier)
    except StoreError:
        redraw.by_timer()
        return
    if not made.goes_on:
        redraw.by_timer()
        return
    with st.container(border=True):
        st.progress(made.share, md(made.words))
        if made.state == "running" and jobs.is_stopping(state.workspace(), packs.KIND, identifier):
            st.caption("Stopping.")
        elif st.button("Cancel", key=f"cancel-pack-{identifier}", icon=":material/cancel:"):
            packs.cancel(state.workspace(), identifier)
            st.rerun(scope="fragment")


def _ended(made: Pack) -> None:
    if made.state == "cancelled":
        st.caption("Cancelled: no file was made.")
    elif made.state != "done":
        st.error(md(made.message[:600]), icon=":material/error:")
    else:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/check_circle: **{md(made.name)}** · {size(made.size)}")
            _download(made, "Download the file")
            _delete(made)


def _download(made: Pack, label: str = "") -> None:
    make = partial(packs.content, state.workspace(), made.id)
    downloads.button(label or md(made.name), make, made.name, f"pack-{made.id}", ":material/download:")


def _delete(made: Pack) -> None:
    st.button(
        "", icon=":material/delete:", key=f"delete-pack-{made.id}", type="tertiary", help="Delete this file",
        on_click=packs.delete, args=(state.workspace(), made.id),
    )  # fmt: skip
