"""What a model of an effect says, on a page: who is moved, what following it is worth, and the strategy it leads to."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

from gamcore.common.numbers import percent
from gamcore.estimators.gam import GAMRegressor
from gamcore.explain import plots
from shapewise.decisions.effect_models import Asked
from shapewise.places import PAGES
from shapewise.store.workspace import ModelAbout
from shapewise.ui.decide import moved_strategy
from shapewise.ui.explain import uplift
from shapewise.ui.session import state
from shapewise.ui.session.words import counted, duration, md
from shapewise.ui.widgets import bands, cards
from shapewise.ui.widgets.columns import PERCENT, hundredfold

MOST_CURVES: Final = 3
CHANCE: Final = "As much by chance"


def show(model: ModelAbout, asked: Asked) -> None:
    """Show the balance of the arms, the curves, what following them is worth, and the strategy of those moved."""
    fitted = state.additive(model.id)
    assert isinstance(fitted, GAMRegressor)
    _balance(model)
    cards.metrics(model)
    _ranking(model, fitted)
    st.markdown("**What following it is worth**")
    uplift.show(model)
    st.markdown("**Those whose effect is clearly above the mean**")
    moved_strategy.show(model, asked)


def _balance(model: ModelAbout) -> None:
    """Say whether what was known before tells the arms apart, as no fair draw lets it."""
    named = state.names_of(model)
    if not model.apart:
        st.caption(
            ":material/balance: Nothing known before the test tells the arms apart, as it should be where they were "
            f"drawn at random. Trained in {duration(model.seconds)} on {counted(model.rows['training'], 'row')}."
        )
        return
    features = ", ".join(f"**{md(named.term(feature['feature']))}**" for feature in model.apart)
    chance = max(feature["chance"] for feature in model.apart)
    st.warning(
        f"The arms differ in {features}: a fair draw shows as much in {percent(chance)} of tests. Either the draw "
        "depended on it, or it was recorded after the test began. Leave it out if so; where the draw was not fair, no "
        "curve here is an effect.",
        icon=":material/balance:",
    )


def _ranking(model: ModelAbout, fitted: GAMRegressor) -> None:
    """Show which features move the effect, beside what chance does, and their curves."""
    entries = fitted.entries_ if hasattr(fitted, "entries_") else None
    inside = [name for name in fitted.importance().ranked_features()
              if entries is None or name in set(entries.loc[entries["entered"] > 0, "feature"])]  # fmt: skip
    named = state.names_of(model)
    if not inside:
        st.markdown(
            "**Nobody stands out.** No feature moves the effect by more than chance does: as far as this test tells, "
            "all are moved alike. A weak effect may hide: train with all features to see what there is of it."
        )
    else:
        _curves(model, fitted, inside)
    if entries is None:
        st.caption("Every feature has a curve, also where it is noise: look at the bands.")
        return
    with st.expander(f"All {counted(len(entries), 'feature')}, compared with chance"):
        table = pd.DataFrame({"Feature": entries["feature"].map(named.term), CHANCE: entries["chance"]})
        st.dataframe(
            hundredfold(table, [CHANCE]), hide_index=True, alt="Features by how well they tell who is moved.",
            column_config={CHANCE: st.column_config.NumberColumn(format=PERCENT)},
        )  # fmt: skip
        st.caption("In how many tests a feature that moves nothing seems to move the effect as much as this one does.")


def _curves(model: ModelAbout, fitted: GAMRegressor, features: list[str]) -> None:
    """Show the curves of the features that move the effect most."""
    named = state.names_of(model)
    st.markdown("**What moves the effect:** " + ", ".join(md(named.term(name)) for name in features))
    curves = {name: fitted.explain_shape(name) for name in features[:MOST_CURVES]}
    limits = plots.common_limits(list(curves.values()))
    grid = st.grid(min_column_width=260)
    for name, curve in curves.items():
        with grid.container(border=True, height="stretch"):
            cards.small(plots.small(state.seen(model, curve), limits), f"moved-{model.id}-{name}")
            if st.button("Open on Shapes", key=f"moved-open-{name}", icon=":material/open_in_full:", type="tertiary"):
                st.switch_page(PAGES / "shapes.py", query_params={"model": model.id, "feature": name})
    bands.line(model, next(iter(curves.values())).band)
