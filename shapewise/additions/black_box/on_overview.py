"""The panel on Overview: a press trains a black box; the gap, where it knows more, and a press that adds that."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gamcore import PriceOfReadability, price_of_readability
from gamcore.data.columns import TableError
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.additions.black_box.more import with_crossing, with_interactions
from shapewise.columns.formula import FormulaError
from shapewise.columns.steps import StepError
from shapewise.errors import StoreError
from shapewise.places import PAGES
from shapewise.store.workspace import ModelAbout
from shapewise.training import runs
from shapewise.training.by_feature import lacking_for_triples
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec
from shapewise.ui.session import followed, state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import md
from shapewise.ui.train import live
from shapewise.ui.widgets import cards


def draw(now: InView) -> None:
    """Show the press, and after it the answer."""
    model = now.model
    assert model is not None  # the panel is offered for models
    data = state.whole_data(model)
    if data is None or {"sample", "added"} & set(model.rows or {}):
        st.caption("A black box needs the rows that the model was trained on.")
        return
    asked = f"black-box-{model.id}"
    if not st.session_state.get(asked):
        st.markdown("A black box learns the same rows, and is compared with this model on the held-out ones.")
        if not st.button("Train a black box", key=f"{asked}-press", icon=":material/deployed_code:"):
            return
        st.session_state[asked] = True
        st.rerun()  # without the press, which is answered
    answer = price_of(model.id)
    if isinstance(answer, str):
        st.error(md(answer), icon=":material/error:")
        return
    _show(model, answer)
    _offer(model, answer)


@state.kept(show_spinner="Training a black box", max_entries=16)
def price_of(identifier: str) -> PriceOfReadability | str:
    """Return what a model gives up, or why that cannot be said."""
    data = state.whole_data(state.workspace().models.about(identifier))
    estimator = state.whole(identifier)
    assert data is not None
    assert isinstance(estimator, GAMRegressor | GAMClassifier)
    try:
        return asked_of(estimator, data)
    except TableError as error:
        return str(error)


def asked_of(estimator: GAMRegressor | GAMClassifier, data: Data) -> PriceOfReadability:
    """Return what a model gives up on its held-out rows."""
    given = {"sample_weight": data.weight, "groups": data.groups, "exposure": data.exposure}
    known = {name: values for name, values in given.items() if values is not None}
    return price_of_readability(estimator, data.X, data.y, **known, held_out=data.held_out)


def _show(model: ModelAbout, price: PriceOfReadability) -> None:
    named = state.names_of(model)
    seen = replace(price, features=tuple(map(named.column, price.features)),
                   crossing=tuple(map(named.column, price.crossing)))  # fmt: skip
    cards.figure(seen.describe(), f"black-box-figure-{model.id}", f"{model.name} black box", state.card(model))


def _offer(model: ModelAbout, price: PriceOfReadability) -> None:
    """Show what adds the pairs and triples that are lacking, and the crossing whose pairs are such triples."""
    estimator = state.whole(model.id)
    assert isinstance(estimator, GAMRegressor | GAMClassifier)
    spec, named = live.base_spec(model.spec, estimator), state.names_of(model)
    if spec is None:
        return
    joint = [features for features in price.terms if len(features) > 1]
    changed = with_interactions(spec, estimator, joint)
    is_large = bool(state.workspace().tables.about(spec.table).sampled)
    if lacking_for_triples(spec.kind_of_target, changed.parameters(), is_large):
        joint = [features for features in joint if len(features) == 2]
        changed = with_interactions(spec, estimator, joint)
    if joint:
        listed = ", ".join(" by ".join(map(named.column, features)) for features in joint)
        live.full_model(f"{model.id}-joint", changed, f"Add {listed}")
    if price.crossing:
        called = " by ".join(map(named.column, price.crossing))
        if st.button(
            f"Add {called}", key=f"black-box-cross-{model.id}", icon=":material/play_arrow:",
            help="Computes a column of both together on a newer version of the table, and trains with its pairs.",
        ):  # fmt: skip
            _train_crossing(spec, estimator, price)


def _train_crossing(spec: Spec, estimator: GAMRegressor | GAMClassifier, price: PriceOfReadability) -> None:
    space = state.workspace()
    try:
        crossed = with_crossing(space, spec, estimator, price)
        started = runs.start(space, crossed, state.n_jobs())
    except (StoreError, StepError, FormulaError, TableError) as error:
        st.error(md(error), icon=":material/error:")
        return
    followed.follow(started)
    st.switch_page(PAGES / "train.py", query_params={"table": crossed.table, "run": started})
