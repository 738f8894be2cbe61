"""A model as a scorecard, on a page: its scale, what making it cost, its files, and a monitor of newer rows."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Final

import pandas as pd
import streamlit as st

from gamcore import io as scoring
from gamcore.common.numbers import fixed
from gamcore.data.column_names import Names
from gamcore.data.columns import TableError
from gamcore.estimators.gam import GAMClassifier
from gamcore.estimators.scorecard import MOST_BINS, scorecard
from gamcore.explain.scorecard import Scorecard
from gamcore.viz import files as export
from gamcore.viz.files.spreadsheets import to_xlsx
from shapewise.store.workspace import ModelAbout
from shapewise.ui.explain import elsewhere
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import downloads, settled
from shapewise.ui.widgets.columns import COUNT, PERCENT, TENTHS, hundredfold

Scale = tuple[float, float, float, int, bool]
"""Base points, odds there, points that double them, most bins per feature, and whether points rise with the target."""

SETTINGS: Final = ("base", "odds", "double", "bins", "rising")
USUAL: Final[Scale] = (600.0, 1.0, 20.0, MOST_BINS, True)
POPULATION: Final = ("population", "rate", "rate, lower", "rate, upper", "expected")


def is_possible(model: ModelAbout) -> bool:
    """Return whether a model has points: one of two classes, with one target."""
    fitted = state.estimator(model.id) if not model.of_tasks else None
    return isinstance(fitted, GAMClassifier) and not state.class_names(model.id)


def show(model: ModelAbout) -> Scale | None:
    """Show the card and its files, and return its settings; None where there is no card."""
    st.caption(
        "Each feature has a few bins, each bin a whole number of points; a row's points are added up by hand. "
        "Pairs have no place on a card and are left out."
    )
    scale = _scale(model)
    try:
        shown = json.dumps(state.names_of(model).to_dict())
        card = card_of(model.id, model.bands, shown, *scale)
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return None
    _cost(card)
    frame = card.frame()
    there = [name for name in POPULATION if name in frame.columns]
    st.dataframe(
        hundredfold(frame, there), hide_index=True, alt="The card: one row per bin, with its points.", height=420,
        column_config={name: st.column_config.NumberColumn(format=PERCENT) for name in there}
        | {name: st.column_config.NumberColumn(format=TENTHS) for name in ("lower", "upper")}
        | {"bin": st.column_config.TextColumn(width="medium"),
           "training rows": st.column_config.NumberColumn(format=COUNT)},
    )  # fmt: skip
    of_rows = " Population, rate and expected chance are of held-out rows." if there else ""
    st.caption(f"Lower and upper: the 95% band of the curve, in points.{of_rows}")
    with st.container(horizontal=True):
        names = {"xlsx": "Workbook", "sql": "SQL", "py": "Python", "json": "JSON"}
        for form, data in files(model.id, model.bands, shown, *scale).items():  # made here: a download has no session
            downloads.button(names[form], partial(bytes, data), export.file_name(model.name, "card", form),
                             f"card-{form}-{model.id}", ":material/download:")  # fmt: skip
    return scale


def _scale(model: ModelAbout) -> Scale:
    """Show the settings of the card, which are kept with the model."""
    kept = {name: model.card.get(name, usual) for name, usual in zip(SETTINGS, USUAL, strict=True)}
    keys = {name: settled.begin(f"card-{name}-{model.id}", value) for name, value in kept.items()}
    goal = state.goal(model)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen: Scale = (
            st.number_input("Base points", -1e6, 1e6, step=10.0, key=keys["base"]),
            st.number_input("Odds at the base", 0.001, 1e6, key=keys["odds"],
                            help="1 is even odds, 50 is 50 to 1 for what more points mean."),
            st.number_input("Points that double the odds", 1.0, 1e5, key=keys["double"]),
            int(st.number_input("Most bins per feature", 2, 50, key=keys["bins"])),
            st.selectbox("More points mean", [True, False], key=keys["rising"],
                         format_func=lambda up: goal if up else f"anything but {goal}"),
        )  # fmt: skip
    new = {name: value for name, value in zip(SETTINGS, chosen, strict=True) if value != kept[name]}
    if new and state.mine("models", model.id):
        state.workspace().models.set_card(model.id, new)
    return chosen


@state.kept(show_spinner="Making the card", max_entries=16)
def card_of(identifier: str, bands: int, names: str, *scale: Any) -> Scorecard:
    """Return the card of a stored model, measured on its held-out rows where there are any. names : of its table."""
    model, fitted = state.workspace().models.about(identifier), state.whole(identifier)
    assert isinstance(fitted, GAMClassifier)
    data, (base, odds, double, bins, rising) = state.data(model), scale
    how: dict[str, Any] = {
        "base": base, "odds": odds, "double": double, "bins": bins, "favours": fitted.classes_[1 if rising else 0],
        "names": Names.from_dict(json.loads(names)),
    }  # fmt: skip
    if data is None or not data.measurable:
        return scorecard(fitted, **how)
    held = data.held_out
    return scorecard(fitted, data.X[held], data.y[held], None if data.weight is None else data.weight[held], **how)


def _cost(card: Scorecard) -> None:
    """Show what each step of making the card cost."""
    if card.steps.empty:
        return
    first = card.steps.iloc[0]
    parts = [f"{step['step']} {fixed(step['AUC'], 4)}" for _, step in card.steps.iterrows()]
    lost = first["AUC"] - card.steps["AUC"].iloc[-1]
    words = f"The card loses {fixed(lost, 4)}." if lost >= 0 else f"The card's is {fixed(-lost, 4)} higher."
    st.markdown(f"**AUC in held-out rows:** {', '.join(parts)}. {words}")
    losses = [f"{step['step']} {fixed(step['log-loss'], 4)}" for _, step in card.steps.iterrows()]
    st.caption(f"Log-loss: {', '.join(losses)}.")


@state.kept(show_spinner="Writing the card", max_entries=8)
def files(identifier: str, bands: int, names: str, *scale: Any) -> dict[str, bytes]:
    """Return the card of a stored model as a workbook, SQL, Python and JSON, by the ending of the file."""
    model, card = state.workspace().models.about(identifier), card_of(identifier, bands, names, *scale)
    points, goal, title = card.points, state.goal(model), f"{model.name}: points"
    about = pd.DataFrame({
        "setting": ["model", "target", "base points", "odds at the base", "points that double the odds",
                    "most bins per feature", "more points mean"],
        "value": [model.name, goal, points.base, points.odds, points.double, scale[3],
                  goal if points.rising else f"anything but {goal}"],
    })  # fmt: skip
    columns, kinds = elsewhere.stored_columns(model, card.bins)
    sql = scoring.to_sql(card, model.table_name or "table", kinds=kinds, title=title, columns=columns)
    return {
        "xlsx": to_xlsx({"card": card.frame(), "what it cost": card.steps, "scale": about}),
        "sql": sql.encode(),
        "py": scoring.to_python(card, title).encode(),
        "json": scoring.to_json(card, 1).encode(),
    }
