"""The joint effect of three features on a page: a heat map of two for each part of the third."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from gamcore import explain_triple, triple_worth
from gamcore.common.numbers import counted, number
from gamcore.data.column_names import PAIR
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.explain.sentences import read_surface
from gamcore.explain.support import FEW_ROWS
from gamcore.explain.three_way import ThreeWay
from gamcore.model.scales import Scale
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards, chart, headlines, linked

Triple = tuple[str, str, str]


def names(estimator: GAMRegressor | GAMClassifier) -> list[Triple]:
    """Return the model's triples by the names of their features, most important first."""
    fitted = single_model(estimator)
    order = np.argsort([-term.importance for term in fitted.triples], kind="stable")
    places = [fitted.triples[k].features for k in order]
    first, second, third = ([fitted.bins[place[k]].feature.name for place in places] for k in range(3))
    return list(zip(first, second, third, strict=True))


def show(about: ModelAbout, estimator: GAMRegressor | GAMClassifier, is_model: bool, scale: Scale) -> None:
    """Show one triple at a time. is_model : whether they are those of the model in view, not of a refit."""
    st.subheader("Three together", anchor=False)
    known = {PAIR.join(triple): triple for triple in names(estimator)}
    picked = st.selectbox(
        "Triple, by importance", list(known), key=linked.begin("triple", list(known), "triple"),
        persist_state="session", format_func=state.names_of(about).term,
    )  # fmt: skip
    linked.write("triple", "triple")
    triple, place = known[picked], chart.place("triple")
    effect = explain_triple(estimator, *triple).on(scale)
    curve = estimator.explain_shape(triple[0]).on(scale)
    with place.options:
        last = st.segmented_control(
            "A heat map for each part of", list(effect.names), default=effect.names[-1], required=True,
            format_func=state.names_of(about).term, key=f"split-{about.id}-{picked}",
        )  # fmt: skip
    effect = state.seen(about, effect.split_by(last))
    read = read_surface(effect, is_model and _helps(about, triple))
    drafted = f"{state.names_of(about).term(picked)}, one refit"
    title = (headlines.headline(about, picked) or read) if is_model else drafted
    plot = effect.describe(state.goal(about), state.detail(about, curve, draft=not is_model), title=title)
    cards.figure(plot, f"three-{about.id}-{picked}", about.name, state.card(about), at=place)
    with place.drawing:
        if is_model:
            headlines.edit(about, picked, read, place.options)
        st.caption(_notes(effect) + (_gain(about, triple) if is_model else ""))


def _notes(effect: ThreeWay) -> str:
    """Return notes on the heat maps: what they are on top of, and their empty and small cells."""
    few = int(((effect.counts > 0) & (effect.counts < FEW_ROWS)).sum())
    notes = ["What the three do together, beyond all pairs of them and their curves; all maps have one scale."]
    notes += ["Grey: no training row."] if not (effect.counts > 0).all() else []
    notes += (
        [f"Pale: {counted(few, 'cell')} with under {FEW_ROWS} rows, in the colour of those around them."] if few else []
    )
    return " ".join(notes)


def _gain(about: ModelAbout, triple: Triple) -> str:
    """Say what a triple gains on held-out rows; nothing where these are gone."""
    row = _worths(about).get(triple)
    if row is None:
        return ""
    worth, low, high = row
    error = loss_of(state.estimator(about.id)).error
    if not np.isfinite(low):
        return ""
    does = f"lowers the {error} of held-out rows by {number(worth, 2)}" if worth > 0 else \
        f"does not lower the {error} of held-out rows"  # fmt: skip
    leave = "" if low > 0 else " It may be chance." if worth > 0 else " Leave it out."
    named = md(state.names_of(about).term(PAIR.join(triple)))
    return f" **{named}** {does} ({number(low, 2)} to {number(high, 2)}).{leave}"


def _helps(about: ModelAbout, triple: Triple) -> bool:
    """Return whether a triple is known to improve the predictions of held-out rows."""
    row = _worths(about).get(triple)
    return row is not None and bool(row[1] > 0)


def _worths(about: ModelAbout) -> Mapping[Triple, tuple[float, float, float]]:
    return _measured(about.id) if state.data(about) is not None else {}


@state.kept(show_spinner=False, max_entries=16)
def _measured(model: str) -> dict[Triple, tuple[float, float, float]]:
    """Return the worth of each triple of a model on held-out rows, with its interval."""
    data, estimator = state.data(state.workspace().models.about(model)), state.additive(model)
    assert data is not None
    held = np.flatnonzero(data.held_out)
    beside = {name: values for name, values in data.of_rows(held).items() if name != "groups"}
    frame = triple_worth(estimator, data.X.iloc[held], data.y.iloc[held], **beside)
    return {(row.feature_1, row.feature_2, row.feature_3): (row.worth, row.low, row.high) for row in frame.itertuples()}
