"""Edit a curve: mark a part of it, and say what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import streamlit as st

from gamcore.additions.editing import room_to_move
from gamcore.additions.editing.edits import EditError, Where
from gamcore.common.numbers import percent
from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.explain.curves import Curve
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale
from shapewise.additions.editing import editor, form, price
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data
from shapewise.training.editing import Additive
from shapewise.ui.explain import brush
from shapewise.ui.explain.editor import Edited
from shapewise.ui.session import state

SHARES: Final = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
USUAL: Final = 0.005
HELP: Final = (
    "Redrawings inside the grey region raise the held-out loss by at most this share while all other curves adapt: "
    "these models are about as good as this one. What is outside costs more. The region is that of the model as it is "
    "stored."
)


def show(model: ModelAbout, estimator: Additive, bins: Bins, scale: Scale) -> Edited:
    """Show the editor of a curve."""
    data = editor.rows_of(model)
    now = editor.edited_so_far(model, estimator)[1]
    own = now.explain_shape(bins.feature.name)
    st.markdown(":material/edit: **Edit by hand**")
    brush.ends(model, own, bins, in_training=False)
    ends, words = _region(model, estimator.explain_shape(bins.feature.name), data)
    where = _marked(model, own)
    if where.low is not None and where.high is not None and where.low > where.high:
        st.error("The range ends before it begins: swap the two.", icon=":material/error:")
    target = form.Target(
        key=f"{model.id}-{bins.feature.name}",
        on=(bins.feature.name,),
        where=(where,),
        loss=own.loss,
        scale=scale,
        base=own.base,
        start=_mean(own, bins, where, scale),
        in_order=not bins.feature.is_category,
    )
    return replace(editor.editing(model, estimator, target, data), room=ends, room_words=words)


def _marked(model: ModelAbout, curve: Curve) -> Where:
    """Return the marked cells of a curve in this session: all values if nothing is marked."""
    mark = brush.mark_of(model, curve)
    low, high = (None, None) if curve.labels else mark.range
    is_date = curve.kind == "date" and (low, high) != (None, None)
    return Where(low, high, tuple(mark.levels), mark.missing, mark.unseen, date=is_date)


def _mean(curve: Curve, bins: Bins, where: Where, scale: Scale) -> float:
    """Return the mean of the marked bins on the scale of the page; NaN where none is marked."""
    try:
        codes = where.codes(bins)
    except EditError:
        return float("nan")
    scores = np.concatenate([[curve.missing[0]], curve.scores, [curve.unseen[0]]])[codes]
    rows = np.concatenate([[curve.missing[3]], curve.counts, [curve.unseen[3]]])[codes]
    mean = np.average(scores, weights=rows if rows.sum() > 0 else None)
    return float(LOSSES[curve.loss].effect(np.array(mean), scale, curve.base))


@state.kept(show_spinner=False, max_entries=8)
def _widths(identifier: str) -> dict[str, Floats]:
    """Return how far the curves of a stored model may move at twice its held-out loss."""
    about = state.workspace().models.about(identifier)
    data, estimator = state.data(about), state.additive(identifier)
    assert data is not None
    assert isinstance(estimator, GAMRegressor | GAMClassifier)
    fitted = ~data.held_out
    given = {name: values for name, values in data.of_rows(fitted).items() if name != "groups"}
    loss = price.price(estimator, estimator, data).loss_before
    return room_to_move(estimator, data.X[fitted], data.y[fitted], share=1.0, loss=loss, **given)


def _region(model: ModelAbout, curve: Curve, data: Data) -> tuple[Floats, str]:
    """Show the choice of a loss, and return the ends (2, K) of the region for it and what it is called; empty for none.

    curve : as it is stored, on the link scale.
    """
    if not data.measurable:
        return np.empty((2, 0)), ""
    share = st.select_slider(
        "Equally good within", SHARES, USUAL, key=f"room-{model.id}", help=HELP, width=260,
        format_func=lambda value: f"{percent(value, 1)} of the loss" if value else "not shown",
    )  # fmt: skip
    if not share:
        return np.empty((2, 0)), ""
    wide = np.sqrt(share) * _widths(model.id)[curve.feature][1:-1]
    return np.stack([curve.scores - wide, curve.scores + wide]), f"loss at most {percent(share, 1)} higher"
