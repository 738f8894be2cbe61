"""Where a training runs: on this machine, or on the cluster that the server was given."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from shapewise.access import cluster
from shapewise.access.cluster import Workers
from shapewise.errors import StoreError
from shapewise.store.workspace import TableAbout
from shapewise.training.spec import Spec
from shapewise.ui.session.words import md

HERE, THERE = "This machine", "The cluster"
FRESH_SECONDS = 15
"""Seconds for which a page takes the cluster to be as it was."""


@dataclass(frozen=True)
class Where:
    """What is to train: the workers of the cluster, or this machine if there are none, unless nothing can."""

    workers: Workers | None = None
    nowhere: bool = False

    @property
    def threads(self) -> int:
        """Threads of the cluster, 0 for this machine."""
        return self.workers.threads if self.workers else 0


@st.cache_data(ttl=FRESH_SECONDS, show_spinner="Asking the cluster", max_entries=1)
def _standing(address: str) -> tuple[Workers | None, str]:
    """Return the workers of the cluster at an address, or why there are none."""
    try:
        return cluster.workers(), ""
    except StoreError as error:
        return None, str(error)


def choose(table: TableAbout, spec: Spec) -> Where:
    """Show the choice where there is one; the rows of a dataset are with the cluster, so there is none."""
    if not (cluster.address() or table.dataset):
        return Where()
    if not table.dataset and _chosen(table, _refusal(spec)) == HERE:
        return Where()
    workers, wrong = _standing(cluster.address())
    if workers is None:
        st.error(md(wrong), icon=":material/error:")
        return Where(nowhere=True)
    st.caption(f":material/hub: {'' if not table.dataset else 'The cluster: '}{workers.words}.")
    return Where(workers)


def _chosen(table: TableAbout, refusal: str) -> str:
    chosen = st.segmented_control(
        "Where", [HERE, THERE], default=HERE, required=True, disabled=bool(refusal), key=f"where-{table.id}",
        help="The cluster's workers learn from the same rows. Held-out metrics and bands are computed here.",
    )  # fmt: skip
    if refusal:
        st.caption(refusal)
        return HERE
    return chosen


def _refusal(spec: Spec) -> str:
    """Return why a model is not trained on the cluster; empty if it can be."""
    if spec.keep_counts:
        return "Counts are kept of rows in the memory of this machine."
    return ""
