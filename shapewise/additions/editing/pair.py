"""Edit a pair: choose a rectangle of its cells, and say what becomes of it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from gamcore.additions.editing.edits import Where
from gamcore.data.binning import Bins
from gamcore.decide.rules import Levels, Range
from gamcore.decide.segments import axis_rule
from gamcore.explain.surfaces import Rectangle, Surface, SurfaceAxis
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale
from shapewise.additions.editing import editor, form
from shapewise.store.workspace import ModelAbout
from shapewise.training.editing import Additive
from shapewise.ui.explain.editor import Edited
from shapewise.ui.session import state
from shapewise.ui.session.words import md


def show(model: ModelAbout, estimator: Additive, surface: Surface, chosen: Rectangle | None, scale: Scale) -> Edited:
    """Show the editor of a pair.

    surface : of the model after the edits so far, on the link scale. chosen : None for all cells.
    """
    sides = [bins for name in surface.names for bins in estimator.model_.bins if bins.feature.name == name]
    rectangle = chosen or Rectangle((0, surface.first.size), (0, surface.second.size))
    axes = zip(
        sides, (surface.first, surface.second), (rectangle.rows, rectangle.columns), surface.margins, strict=True
    )
    st.caption("In the rectangle that is dragged or set; without one, in all cells.")
    where = []
    with st.container(horizontal=True):
        for bins, axis, (first, end), margin in axes:
            named = state.names_of(model).term(bins.feature.name)
            is_missing = bool(margin.missing[3]) and st.checkbox(
                f"Where {md(named)} is missing instead",
                key=f"pair-missing-{model.id}-{'-'.join(surface.names)}-{axis.feature}",
            )
            where.append(Where(missing=True) if is_missing else cells(bins, axis, first, end))
    target = form.Target(
        key=f"{model.id}-{'-'.join(surface.names)}",
        on=surface.names,
        where=tuple(where),
        loss=surface.margins[0].loss,
        scale=scale,
        base=surface.base,
        start=_mean(surface, rectangle, scale),
    )
    return editor.editing(model, estimator, target, editor.rows_of(model))


def cells(bins: Bins, axis: SurfaceAxis, first: int, end: int) -> Where:
    """Return some neighbouring bins of an axis as cells of its feature; all of them need no end."""
    if (first, end) == (0, axis.size):
        return Where()
    match axis_rule(bins, axis, first, end):
        case Range(_, low, high, date=is_date):
            return Where(low, high, date=is_date)
        case Levels(_, levels):
            return Where(levels=levels)
    return Where()


def _mean(surface: Surface, chosen: Rectangle, scale: Scale) -> float:
    """Return the mean of a rectangle on the scale of the page."""
    mean = surface.mean(chosen)
    return float(LOSSES[surface.margins[0].loss].effect(np.array(mean), scale, surface.base))
