"""Edit a curve: mark a part of it, and say what becomes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from gamcore.additions.editing.edits import EditError, Where
from gamcore.data.binning import Bins
from gamcore.explain.curves import Curve
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data
from shapewise.training.editing import Additive
from shapewise.ui.edit import form, panel, room
from shapewise.ui.explain import brush


def show(model: ModelAbout, estimator: Additive, bins: Bins, scale: Scale, data: Data) -> panel.Editing:
    """Show the editor of a curve."""
    now = panel.edited_so_far(model, estimator)[1]
    own = now.explain_shape(bins.feature.name)
    st.markdown(":material/edit: **Edit by hand**")
    brush.ends(model, own, bins, in_training=False)
    ends, words = room.choose(model, estimator.explain_shape(bins.feature.name), data)
    where = brush.where(model, own)
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
    return replace(panel.editing(model, estimator, target, data), room=ends, room_words=words)


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
