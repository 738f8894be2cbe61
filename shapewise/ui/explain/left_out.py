"""What if a feature were left out: one refit without it, beside one refit with it.

A refit that takes long runs in the background, and the page says that it is being redrawn; nothing shows the numbers of
one setting beside the curve of another.
"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gamcore.explain import plots
from gamcore.explain.curve_drift import curve_moves
from shapewise.store.workspace import ModelAbout, clean_name
from shapewise.training.live import Draft
from shapewise.training.main_metric import main_metric
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.train import live
from shapewise.ui.train.refits import drafts
from shapewise.ui.widgets import cards

MOST_SHOWN = 3


def show(model: ModelAbout, feature: str, spec: Spec) -> None:
    """Show what the model would be without a feature. spec : the model's own specification."""
    column = next(b.feature.column for b in state.additive(model.id).model_.bins if b.feature.name == feature)
    without = live.without(spec, {column})
    if not without.features:
        st.caption("It is the only feature: there would be nothing to learn from.")
        return
    pair = drafts([spec, without])
    if pair is None:
        return
    now, then = pair
    st.markdown(_sentence(now, then, state.names_of(model).column(column)))
    if model.metrics:
        st.caption(live.beside(model))
    curves = [{name: draft.estimator.explain_shape(name) for name in draft.estimator.importance().ranked_features()}
              for draft in (now, then)]  # fmt: skip
    moves = curve_moves(curves[0], curves[1]).moves[:MOST_SHOWN]
    if moves:
        st.caption("The curves that change most without it; dotted: with it.")
        scale = state.scale(next(iter(curves[0].values())).loss)
        for place, (move, slot) in enumerate(zip(moves, st.columns(MOST_SHOWN), strict=False)):
            old, new = curves[0][move.feature].on(scale), curves[1][move.feature].on(scale)
            seen = [state.seen(model, curve) for curve in (old, new)]
            plot = plots.small(seen[1], plots.common_limits(seen), seen[0], seen[1].feature, before="before")
            with slot:
                cards.small(plot, f"left-out-{model.id}-{feature}-{place}")
    live.full_model(f"{model.id}-without", replace(without, name=clean_name(model.name)), "Train the model without it")


def _sentence(now: Draft, then: Draft, column: str) -> str:
    """Return what leaving a column out does to the held-out metric."""
    main = main_metric(now.metrics)
    if main is None or main.key not in then.metrics:
        return f"The curves of a refit without **{md(column)}**; no held-out row measures it."
    before, after = now.metrics[main.key], then.metrics[main.key]
    words, label = [main.say(value) for value in (before, after)], main.label
    if words[0] == words[1]:
        return f"Without **{md(column)}**, the held-out {label} stays at {words[0]}: other features make up for it."
    worse = (after < before) == main.rises
    verb = "falls" if after < before else "rises"
    good = "" if worse else " The model is no worse without it."
    return f"Without **{md(column)}**, the held-out {label} {verb} from {words[0]} to {words[1]}.{good}"
