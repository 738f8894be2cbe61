"""How sure the curves of a model are, on a page: what the bands are, their making, and their button."""

from __future__ import annotations

import streamlit as st

from gamcore.explain.curves import NO_BAND
from shapewise.store.workspace import ModelAbout, StoreError
from shapewise.training import runs
from shapewise.training.dataset import band_rows
from shapewise.training.spec import Spec
from shapewise.training.train import BANDS
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md

MEANING = f"""
**What the bands say.** The model is fitted {BANDS} times more, each time on another half of the rows. How far these
curves lie apart tells how far this one would move if the table had other rows of the same kind.

- The *darker* band holds at each place by itself: 95 times in 100 the mean curve is inside there.
- The *lighter* one holds along the whole curve at once. The sentence above a plot says only what it supports.
- The *quick* band, until the others are measured, comes from the refits that the model is the mean of: it is wider, and
  tells nothing of the whole curve.

**What they do not say.** Boosting itself is a little off, and no refit shows by how much: it rounds sharp jumps, and
flattens the ends of an axis, where few rows are. There, in bins with a handful of rows, and where two features go
together so closely that their curves trade off, the truth is outside more often. Effects are associations in the table:
acting on a feature may do something else.
"""


def line(model: ModelAbout, band: str) -> None:
    """Show one line under a plot: where its bands are from, or how far they are."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if model.bands:
            st.caption(f"Bands from {model.bands} refits on half of {band_rows(model.rows)} each.")
        elif state.data(model) is None:
            st.caption("Full bands need the table that the model was trained on.")
        elif runs.working_on(state.workspace(), model.id):
            _watch(model.id)
        elif state.workspace().models.about(model.id).bands:  # they came while this page was drawn
            st.rerun()
        else:
            words = "There is no band yet." if band == NO_BAND else "This is a quick band: wide, and pointwise only."
            failed = runs.last_failure(state.workspace(), model.id)
            st.caption(words + (f" Measuring it ended early: {md(failed[:300])}" if failed else ""))
            if st.button("Measure bands", icon=":material/query_stats:", type="tertiary"):
                spec = Spec.from_dict(model.spec | {"bands": model.spec.get("bands") or BANDS})
                runs.start(state.workspace(), spec, state.n_jobs(), model.id)
                st.rerun()
        with st.popover("What bands say", icon=":material/help:", type="tertiary"):
            st.markdown(MEANING)


@st.fragment(run_every=1.0)
def _watch(model: str) -> None:
    """Show the progress of the refits; the page is rerun when they are done."""
    try:
        run = runs.working_on(state.workspace(), model)
    except StoreError:
        run = None
    if run is None:
        st.rerun()
    begun = len({int(refit) for refit in run.standing.points[:, 0]}) if run.standing.stage == "bands" else 0
    of = run.standing.n_refits or BANDS
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/progress_activity: Measuring how sure the curves are: refit {count(begun)} of {of}.")
        if st.button("Stop", icon=":material/cancel:", type="tertiary", key=f"stop-bands-{model}"):
            runs.cancel(state.workspace(), run.id)
