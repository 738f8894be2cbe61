"""The uncertainty of a model's curves on a page: what its bands are, and the button that measures them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.explain.curves import NO_BAND
from shapewise.store.database import reading_once
from shapewise.store.workspace import ModelAbout, StoreError
from shapewise.training import runs
from shapewise.training.dataset import band_rows
from shapewise.training.spec import Spec
from shapewise.training.train import BANDS
from shapewise.ui.session import redraw, state
from shapewise.ui.session.words import count, md

MEANING = f"""
**What the bands say.** The model is refitted {BANDS} times, each time on a different half of the rows. The spread of
these curves shows how far this one would move if the table had other rows of the same kind.

- The *darker* band is pointwise: at any one value, it contains the mean curve 95 times in 100.
- The *lighter* band holds for the whole curve at once. The sentence above a plot says only what it supports;
  until it is measured, it says where the curve is lowest and highest.
- The *quick* band, shown until the others are measured, comes from the refits that the model averages: it is wider,
  and pointwise only.

**What they do not say.** Boosting has a small bias that no refit shows: it rounds sharp jumps, and flattens the ends of
an axis, where rows are few. There, in bins with a handful of rows, and where two features are so closely related that
their curves trade off, the truth lies outside more often. Effects are associations in the table: acting on a feature
may have a different effect.
"""


def line(model: ModelAbout, band: str, options: DeltaGenerator | None = None) -> None:
    """Show the line under a plot: how its bands were measured, or their progress; what they say, on hover. options : of
    the plot, for the button that measures them; None for a button beside the line."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if model.bands:
            st.caption(f"Bands from {model.bands} refits on half of {band_rows(model.rows)} each.", help=MEANING)
        else:
            none = "There is no band yet." if band == NO_BAND else "This is a quick band: wide, and pointwise only."
            measure([model], none, options, MEANING)


def measure(
    models: Sequence[ModelAbout], lacking: str, options: DeltaGenerator | None = None, meaning: str | None = None
) -> None:
    """Show what is lacking without the bands of some models, and the button that measures them; their progress; or why
    there can be none. options : for the button; None for one beside the words. meaning : of bands, on hover."""
    space = state.workspace()
    if none := next((why for model in models if (why := _why_none(model))), ""):
        st.caption(f"{lacking} {none}", help=meaning)
        return
    with reading_once():  # anew: some may have been measured since this run of the page has read them
        working = [model for model in models if runs.working_on(space, model.id) or space.models.about(model.id).bands]
    for model in working:
        _watch(model.id)
    left = [model for model in models if model not in working]
    if not left:
        return
    way = "" if options is None else " *Options* measures full bands."
    failed = next((why for model in left if (why := runs.last_failure(space, model.id))), "")
    st.caption(lacking + way + (f" Measuring the bands failed: {md(failed[:300])}" if failed else ""), help=meaning)
    where = st if options is None else options
    if where.button("Measure bands", icon=":material/query_stats:", type="tertiary"):
        for model in left:
            spec = Spec.from_dict(model.spec | {"bands": model.spec.get("bands") or BANDS})
            runs.start(space, spec, state.n_jobs(), model.id)
        st.rerun()


def _why_none(model: ModelAbout) -> str:
    """Return why a model can have no bands; empty where it can."""
    if "added" in model.rows:
        return "Of the earlier rows only counts are kept, made without bands."
    if model.learnt_around:
        return "A model refit around edits by hand has no others."
    return "Full bands need the table that the model was trained on." if state.data(model) is None else ""


@st.fragment(run_every=redraw.SECONDS)
def _watch(model: str) -> None:
    """Show the progress of the refits, and rerun the page when they are done."""
    try:
        run = runs.working_on(state.workspace(), model)
    except StoreError:
        run = None
    if run is None:
        redraw.by_timer()
        return
    begun = len({int(refit) for refit in run.standing.points[:, 0]}) if run.standing.stage == "bands" else 0
    n_refits = run.standing.n_refits or BANDS
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/progress_activity: Measuring bands: refit {count(begun)} of {n_refits}.")
        if st.button("Stop", icon=":material/cancel:", type="tertiary", key=f"stop-bands-{model}"):
            runs.cancel(state.workspace(), run.id)
