"""A disk of the workspace that is slow to answer, as a network's may be: pages say so, and go on."""

from __future__ import annotations

import time
from typing import Final

import sqlalchemy as sa
import streamlit as st

from gamcore.common.numbers import fixed
from shapewise.store.database import workspace as about
from shapewise.store.workspace import Workspace

SLOW_SECONDS: Final = 2.0


def wait_for(space: Workspace) -> float:
    """Read a little of a workspace, with words on the page if that takes long; return how many seconds it took."""
    began = time.monotonic()
    with st.sidebar, st.spinner("Waiting for the disk of the workspace"):
        with space.meta.reading() as connection:
            connection.execute(sa.select(about.c.edition)).first()
        (space.root / "objects").is_dir()
    return time.monotonic() - began


def say(seconds: float) -> None:
    """Say that the disk is slow, if it took this long."""
    if seconds >= SLOW_SECONDS:
        st.sidebar.warning(
            f"The disk of the workspace took {fixed(seconds, 1)} seconds to answer, so pages are slow. Nothing is "
            "lost: whoever runs the server can see to the disk.",
            icon=":material/hourglass_empty:",
        )
