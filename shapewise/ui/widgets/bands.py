"""The uncertainty of a model's curves on a page: what its bands are, and the button that measures them."""

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
**What the bands say.** The model is refitted {BANDS} times, each time on a different half of the rows. The spread of
these curves shows how far this one would move if the table had other rows of the same kind.

- The *darker* band is pointwise: at any one value, it contains the mean curve 95 times in 100.
- The *lighter* band holds for the whole curve at once. The sentence above a plot says only what it supports.
- The *quick* band, shown until the others are measured, comes from the refits that the model averages: it is wider,
  and pointwise only.

**What they do not say.** Boosting has a small bias that no refit shows: it rounds sharp jumps, and flattens the ends of
an axis, where rows are few. There, in bins with a handful of rows, and where two features are so closely related that
their curves trade off, the truth lies outside more often. Effects are associations in the table: acting on a feature
may have a different effect.
"""


def line(model: ModelAbout, band: str) -> None:
    """Show the line under a plot: how its bands were measured, or their progress."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if model.bands:
            st.caption(f"Bands from {model.bands} refits on half of {band_rows(model.rows)} each.")
        elif "added" in model.rows:
            st.caption("This is a quick band: of the earlier rows only counts are kept, made without bands.")
        elif model.learnt_around:
            st.caption("This is a quick band: a model learnt anew around edits by hand has no others.")
        elif state.data(model) is None:
            st.caption("Full bands need the table that the model was trained on.")
        elif runs.working_on(state.workspace(), model.id):
            _watch(model.id)
        elif state.workspace().models.about(model.id).bands:  # measured while this page was drawn
            st.rerun()
        else:
            words = "There is no band yet." if band == NO_BAND else "This is a quick band: wide, and pointwise only."
            failed = runs.last_failure(state.workspace(), model.id)
            st.caption(words + (f" Measuring the bands failed: {md(failed[:300])}" if failed else ""))
            if st.button("Measure bands", icon=":material/query_stats:", type="tertiary"):
                spec = Spec.from_dict(model.spec | {"bands": model.spec.get("bands") or BANDS})
                runs.start(state.workspace(), spec, state.n_jobs(), model.id)
                st.rerun()
        with st.popover("What bands say", icon=":material/help:", type="tertiary"):
            st.markdown(MEANING)


@st.fragment(run_every=1.0)
def _watch(model: str) -> None:
    """Show the progress of the refits, and rerun the page when they are done."""
    try:
        run = runs.working_on(state.workspace(), model)
    except StoreError:
        run = None
    if run is None:
        st.rerun()
    begun = len({int(refit) for refit in run.standing.points[:, 0]}) if run.standing.stage == "bands" else 0
    of = run.standing.n_refits or BANDS
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/progress_activity: Measuring bands: refit {count(begun)} of {of}.")
        if st.button("Stop", icon=":material/cancel:", type="tertiary", key=f"stop-bands-{model}"):
            runs.cancel(state.workspace(), run.id)
