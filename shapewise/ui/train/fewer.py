"""Choose how many curves a model has by what each number loses."""

from __future__ import annotations

import json
from collections.abc import Callable

import pandas as pd
import streamlit as st

from gamcore import fewer_curves
from gamcore.data.column_names import Names
from gamcore.data.columns import TableError
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.explain import plots
from shapewise.store.workspace import TableAbout
from shapewise.training.dataset import Data
from shapewise.training.live import Draft
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.words import counted, md
from shapewise.ui.train import features, refits
from shapewise.ui.train.target import Target
from shapewise.ui.widgets import cards
from shapewise.ui.widgets.columns import WHOLE_PERCENT, hundredfold

LEFT, STEADY = "Left of its effect", "Stays in half samples"
HELP = {
    LEFT: "What the curve is multiplied by. A model of these features alone refits the curves.",
    STEADY: "In how many halves of the rows the same choice keeps the curve.",
}
FEWEST = 3
"""Curves from which fewer are worth a look."""


def path_of(estimator: GAMRegressor | GAMClassifier, data: Data) -> pd.DataFrame | str:
    """Return the path of models with fewer curves, or why there is none."""
    fitted = ~data.held_out
    try:
        return fewer_curves(estimator, data.X[fitted], data.y[fitted], **data.of_rows(fitted))
    except TableError as error:
        return str(error)


def choose(
    path: pd.DataFrame | str,
    estimator: GAMRegressor | GAMClassifier,
    key: str,
    named: Names,
    about: Callable[[], str] = str,
) -> set[str]:
    """Show the loss by the number of curves, the number chosen and which curves stay, and return the columns that then
    have none.

    about : the model's card, for the end of files.
    """
    if isinstance(path, str):
        st.caption(md(path))
        return set()
    wanted = path[path["curves"] > 0].drop_duplicates("curves", keep="last").reset_index(names="step")
    wanted = wanted.set_index("curves")
    if len(wanted) < 2:
        st.caption("No feature has an effect on rows that did not learn it.")
        return set()
    enough = int(path.loc[path["chosen"], "curves"].iloc[0])
    numbers = sorted(wanted.index.tolist())
    n_curves = st.select_slider(
        "How many curves", numbers, enough if enough in numbers else numbers[0], key=f"n-curves-{key}",
        help="The marked number is the smallest whose loss is within one standard error of the best.",
    )  # fmt: skip
    cards.figure(plots.fewer(path, loss_of(estimator).error, n_curves), f"fewer-{key}", "fewer curves", about)
    all_bins, step = estimator.model_.bins, wanted.loc[n_curves]
    kept = sorted((bins for bins in all_bins if step[bins.feature.name] > 0), key=lambda bins: -step[bins.feature.name])
    _table(path, [bins.feature.name for bins in kept], int(step["step"]), named)
    return {bins.feature.column for bins in all_bins} - {bins.feature.column for bins in kept}


def _table(path: pd.DataFrame, kept: list[str], step: int, named: Names) -> None:
    """Show the curves that stay at a step, how much of each, and in which share of half samples."""
    shares = [[path.attrs["steady"][name][step] for name in kept], path.loc[step, kept].tolist()]
    table = pd.DataFrame({"Feature": [named.term(name) for name in kept], STEADY: shares[0], LEFT: shares[1]})
    st.dataframe(
        hundredfold(table, [STEADY, LEFT]), hide_index=True, alt="Features whose curves stay.",
        column_config={name: st.column_config.NumberColumn(format=WHOLE_PERCENT, help=HELP[name])
                       for name in (STEADY, LEFT)},
    )  # fmt: skip


@state.kept(show_spinner="Leaving curves out", max_entries=8)
def _path_of_draft(key: str) -> pd.DataFrame | str:
    spec = Spec.from_dict(json.loads(key))
    refitted = refits.drafts([spec])
    return path_of(refitted[0].estimator, refits.data_of(spec)) if refitted else "The refit is not done yet."


def of_draft(table: TableAbout, target: Target, spec: Spec, draft: Draft) -> None:
    """Show how many curves the form's settings need, and offer to leave the other columns out."""
    if len(draft.estimator.model_.bins) < FEWEST or not draft.complete:
        return
    box = st.expander(
        "How many curves?", icon=":material/filter_list:", key=f"fewer-open-{table.id}", on_change="rerun"
    )
    if not box.open:
        return
    with box:
        path = _path_of_draft(refits.as_key(spec))
        st.caption("By the validation rows of one refit: a trained model has more of them, and is surer on Overview.")
        off = choose(path, draft.estimator, table.id, state.names(table.id)) & set(spec.features)
        if off:
            st.button(
                f"Leave {counted(len(off), 'feature')} out", key=f"fewer-out-{table.id}", icon=":material/filter_list:",
                on_click=features.leave_out, args=(table, target, off),
            )  # fmt: skip
