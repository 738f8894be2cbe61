"""One feature in all models of a table: its curve in each, with the strategies marked on it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.decide import plots as decide_plots
from gamcore.decide.strategies import StrategySet
from gamcore.explain import plots as explain_plots
from gamcore.explain.curve_difference import CompareError, on_common_bins
from gamcore.explain.curves import Curve
from gamcore.viz import files as export
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards, downloads

MOST = 9
LITTLE = 0.15
ALIKE = 0.5


def agreement(first: Curve, second: Curve) -> str:
    """Return in words whether the second curve agrees with the first."""
    try:
        a, b = on_common_bins(first, second)
    except CompareError:
        return "Cannot be compared with"
    weight = a.counts + b.counts
    sizes = [float(np.sqrt(np.average(np.square(curve.scores), weights=weight))) for curve in (a, b)]
    if min(sizes) < LITTLE * max(max(sizes), 1e-300) or max(sizes) == 0:
        return "Has little effect here or in"
    alike = float(np.average(a.scores * b.scores, weights=weight)) / (sizes[0] * sizes[1])
    return "Agrees with" if alike > ALIKE else "Reverses" if alike < -ALIKE else "Differs from"


def show(table: TableAbout, strategy_set: StrategySet) -> None:
    """Show the curves of a feature as small multiples on one scale."""
    models = [m for m in state.workspace().models.listed() if m.table == table.id and not m.of_tasks]
    if not models:
        st.caption("There is no model of this table yet.")
        return
    features = {name: None for m in models for name in state.additive(m.id).importance().ranked_features()}
    asked = [name for strategy in strategy_set.strategies for name in strategy.rule.columns if name in features]
    names = list(dict.fromkeys([*asked, *features]))
    feature = st.selectbox(
        "Feature", names, format_func=state.names(table.id).term, key=f"each-model-feature-{table.id}"
    )
    marked = {strategy.model for strategy in strategy_set.strategies if feature in strategy.rule.columns}
    models = sorted(models, key=lambda m: m.id not in marked)[:MOST]  # stable sort: models of strategies first
    curves = {m.id: curve for m in models if (curve := _curve(m, feature)) is not None}
    kinds = {(curve.loss, curve.scale) for curve in curves.values()}
    limits = explain_plots.common_limits(list(curves.values())) if len(kinds) == 1 and curves else None
    first = next((m for m in models if m.id in curves), None)
    columns = st.columns(3)
    shown = [m for m in models if m.id in curves]
    for k, model in enumerate(shown):
        with columns[k % 3].container(border=True):
            _show_curve(
                model,
                curves[model.id],
                limits=limits,
                strategy_set=strategy_set,
                first=None if model is first else first,
                feature=feature,
            )
    if shown:
        everything = pd.concat([state.seen(m, curves[m.id]).frame().assign(model=m.name) for m in shown])
        downloads.button(
            "CSV", lambda: export.safe_csv(everything), export.file_name(table.name, feature, "csv"),
            f"each-model-csv-{table.id}", ":material/download:",
        )  # fmt: skip


def _curve(model: ModelAbout, feature: str) -> Curve | None:
    """Return a feature's curve in a model, on the session's scale; None if the model has none."""
    try:
        curve = state.additive(model.id).explain_shape(feature)
    except KeyError:
        return None
    return curve.on(state.scale(curve.loss)) if curve.scores.size else None


def _show_curve(
    model: ModelAbout,
    curve: Curve,
    limits: tuple[float, float] | None,
    strategy_set: StrategySet,
    first: ModelAbout | None,
    feature: str,
) -> None:
    """Show one model's curve."""
    mine = [
        strategy
        for strategy in strategy_set.strategies
        if strategy.model == model.id and feature in strategy.rule.columns
    ]
    plot = explain_plots.small(
        state.seen(model, curve), limits or explain_plots.common_limits([curve]), title=model.name, height=200
    )
    for strategy in mine:
        plot = decide_plots.marked(plot, curve, strategy.rule, strategy.name)
    cards.small(plot, f"each-model-{model.id}")
    words = [f"Strategy {md(strategy.name)} is based on this curve." for strategy in mine]
    if first is not None:
        raw = [state.additive(m.id).explain_shape(feature) for m in (first, model)]
        verdict = agreement(*raw)
        mark = ":material/warning: " if verdict == "Reverses" else ""
        words.append(f"{mark}{verdict} {md(first.name)}.")
    st.caption(" ".join(words) or "The others are compared with this one.")
