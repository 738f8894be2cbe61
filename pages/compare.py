"""Compare a feature across models, or across parts of one model's rows, with the uncertainty of the difference."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

import numpy as np
import pandas as pd
import streamlit as st

from gamcore import ModelFileError
from gamcore.common.numbers import alike, fixed, percent
from gamcore.data.columns import TableError
from gamcore.explain import plots
from gamcore.explain.claims import NO_CLEAR_EFFECT
from gamcore.explain.curve_difference import CompareError, difference
from gamcore.explain.curves import Curve
from gamcore.explain.sentences import read_curve
from gamcore.model.scales import Scale, say
from shapewise.store.workspace import ModelAbout
from shapewise.training import runs
from shapewise.training.naming import labels
from shapewise.training.partitions import split
from shapewise.training.spec import Spec
from shapewise.training.train import BANDS
from shapewise.ui.session import current, state
from shapewise.ui.session.words import count, counted, md, told_apart
from shapewise.ui.widgets import cards, panels, run_line
from shapewise.ui.widgets.columns import texts_of_numbers

MOST_MODELS = 6
WAYS = {"models": "Models", "parts": "Parts of the rows"}
AGAINST: dict[Scale, str] = {"ratio": "relative to"}
"""How two effects differ on a scale, where one is not minus the other."""

bar = begin(
    "Compare",
    "The same feature in several models, periods or segments: where the curves differ, and how certain that is.",
    choices=True,
)
model, scale, first = cards.effects_in_view()
estimator = state.additive(model.id)


def comparable(other: ModelAbout) -> bool:
    """Return whether another model has the same units and shares a column with this one."""
    if other.of_tasks or other.id == model.id or other.kind != model.kind:
        return False
    columns = {bins.feature.column for bins in estimator.model_.bins}
    return not other.spec or bool(columns & set(other.spec.get("features", [])))


def others() -> dict[str, ModelAbout]:
    """Return this model and those chosen for comparison, by name; those of this project and target come first."""
    now = current.in_view()
    every = {about.id: (label, project) for project in now.projects for about, label in zip(
        project.models, [labels(project)[about.id] for about in project.models], strict=True)}  # fmt: skip
    listed = [about for about in state.workspace().models.listed() if comparable(about)]
    listed.sort(
        key=lambda about: (every[about.id][1] != now.project, about.target != model.target, about.name != model.name)
    )
    known = {other.id: other for other in listed}
    if not known:
        st.info("No other model shares a feature with this one: train another, or compare parts of the rows.",
                icon=":material/compare_arrows:")  # fmt: skip
        return {}
    names = {i: label if project == now.project else f"{label} · {project.name}" for i, (label, project)
             in every.items()}  # fmt: skip
    names = told_apart(names)
    asked = st.query_params.get("with")
    picked = first.options.multiselect(
        "With", list(known), default=[asked] if asked in known else list(known)[:1], max_selections=MOST_MODELS - 1,
        key=f"others-{model.id}", format_func=names.__getitem__,
    )  # fmt: skip
    return without_common_name(
        {names[about.id]: about for about in (model, *[known[identifier] for identifier in picked])}
    )


def without_common_name(shown: dict[str, ModelAbout]) -> dict[str, ModelAbout]:
    """Return models by what tells them apart alone, where all have one name."""
    short = [label.removeprefix(f"{about.name} · ") for label, about in shown.items()]
    alike = len({about.name for about in shown.values()}) == 1 and len(shown) > 1
    apart = not any(label == about.name for label, about in zip(short, shown.values(), strict=True))
    return dict(zip(short, shown.values(), strict=True)) if alike and apart else shown


def parts() -> dict[str, ModelAbout]:
    """Return the model refitted to each part of its rows by a column."""
    data = state.data(model)
    if data is None:
        st.info("Parts of the rows need the table that the model was trained on.", icon=":material/table:")
        return {}
    spec = Spec.from_dict(model.spec)
    busy = runs.working_on(state.workspace(), model.id, "")  # read before the parts: see those of a finished run
    there = state.workspace().models.parts(model.id)
    made_by = Spec.from_dict(there[0].spec).filter_columns()[-1] if there else None
    columns = [name for name in state.columns(model.table) if name != spec.target]
    usual = made_by or spec.time or next(iter(columns))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = st.selectbox(
            "Parts by", columns, columns.index(usual), key=f"parts-by-{model.id}",
            format_func=state.names_of(model).column,
            help="A date gives periods, a category its levels, a number ranges of equal numbers of rows.",
        )  # fmt: skip
        if column != made_by and st.button(
            "Fit the parts", type="primary", icon=":material/play_arrow:", disabled=bool(busy)
        ):
            runs.start(state.workspace(), spec, state.n_jobs(), model.id, column)
            st.rerun()
    if busy:
        run_line.show(busy.id, f"Fitting the parts by {md(busy.column)}", f"parts-failed-{model.id}")
        return {}
    if column != made_by:
        preview(column)
        return {}
    return {part.part: part for part in there}


def training_rows() -> pd.DataFrame:
    """Return the table's rows that the model was trained on."""
    data = state.data(model)
    assert data is not None
    return state.frame(model.table).loc[data.X.index[~data.held_out]]


def preview(column: str) -> None:
    """Show which parts a column gives."""
    try:
        parts = split(training_rows(), column)
    except TableError as error:
        st.caption(md(error))
        return
    note = " They are fitted to the sample only." if "sample" in model.rows else ""
    st.caption(f"{counted(len(parts), 'part')}: {'; '.join(md(label) for label, _ in parts)}.{note}")


def curves(shown: dict[str, ModelAbout], feature: str) -> dict[str, Curve]:
    """Return the feature's curve in each model that fits on one axis, and list the models left out."""
    curves: dict[str, Curve] = {}
    left = []
    for name, about in shown.items():
        try:
            curve = state.additive(about.id).explain_shape(feature)
        except (KeyError, ModelFileError):
            left.append(name)
            continue
        first = next(iter(curves.values()), curve)
        apart = bool(curve.labels) and not set(curve.labels) & set(first.labels)
        if curve.kind != first.kind or not curve.scores.size or apart:
            left.append(name)
        else:
            curves[name] = curve
    if left:
        named = md(state.names_of(model).term(feature))
        st.caption(f"Without a curve of {named} to compare: {'; '.join(md(name) for name in left)}.")
    return curves


def has(about: ModelAbout, feature: str) -> bool:
    """Return whether a model has a curve of a feature."""
    return feature in {str(bins.feature.name) for bins in state.additive(about.id).model_.bins}


def metrics_of(shown: dict[str, ModelAbout]) -> pd.DataFrame:
    """Return the held-out metrics side by side."""
    every = pd.DataFrame([about.metrics for about in shown.values()])
    names = {
        "auc": "AUC", "class_auc": "AUC, mean of classes", "log_loss": "Log-loss",
        "baseline_log_loss": "Log-loss of guessing", "base_rate": "Base rate", "rmse": "RMSE",
        "baseline_rmse": "RMSE of guessing", "r2": "R²",
        "explained": "Explained", "loss": "Loss", "baseline_loss": "Loss of guessing", "mean": "Mean",
        "below": "Rows below", "accuracy": "Right class", "baseline_accuracy": "Right class by guessing",
    }  # fmt: skip
    table = pd.DataFrame({"Model": list(shown)})
    for key in every:
        values = every[key].tolist()
        shares = ("base_rate", "explained", "accuracy", "baseline_accuracy", "below")
        measured = key in ("rmse", "baseline_rmse", "mean")
        texts = map(percent, values) if key in shares else alike(values, 4) if measured else [
            fixed(value, 3 if key in ("auc", "r2") else 4) for value in values]  # fmt: skip
        table[names.get(key, key)] = list(texts)
    return table.assign(**{"Training rows": [count(about.rows.get("training", np.nan)) for about in shown.values()]})


def _difference_words(minus: Curve, first: str, second: str) -> str:
    """Return the difference in a sentence, with the names of the models set apart."""
    first, second = f"“{first}”", f"“{second}”"
    if not minus.has_whole:
        return _largest(minus, first, second)  # that there are no bands yet is said below
    against = AGAINST.get(minus.scale, "minus")
    if minus.by_hand.any():
        return f"{second} {against} {first}: partly set by hand, so no band says what is clear"
    words = read_curve(minus).removeprefix(f"{minus.feature}: ")
    if words == NO_CLEAR_EFFECT:
        return f"no clear difference between {first} and {second}"
    return f"{second} {against} {first}: {words}"


def _largest(minus: Curve, first: str, second: str) -> str:
    """Say where two curves differ most, and by how much."""
    apart = np.abs(np.log(minus.scores) if minus.scale == "ratio" else minus.scores - minus.zero)
    at = int(np.argmax(np.where(minus.counts > 0, apart, 0.0)))
    return f"{second} differs most from {first} at {minus.place(at)}, by {say(minus.scores[at], minus.scale)}"


def show(shown: dict[str, ModelAbout], feature: str, scale: Scale) -> None:
    """Show a feature's curves on one plot, and a difference between two of them."""
    shown_curves = curves(shown, feature)
    if len(shown_curves) < 2:
        st.caption(
            f"Fewer than two models have a curve of {md(state.names_of(model).term(feature))}: choose another feature."
        )
        return
    listed = list(shown_curves)
    minuend, other = listed[0], listed[1]
    if len(listed) > 2:
        with first.options, st.container(horizontal=True):
            minuend = st.selectbox("Difference of", listed, 0, key=f"first-{model.id}")
            other = st.selectbox("to", listed, len(listed) - 1, key=f"second-{model.id}")
    minus = None
    try:
        minus = difference(shown_curves[minuend], shown_curves[other], scale) if minuend != other else None
    except CompareError as error:
        st.caption(md(error))
    named = state.names_of(model)
    minus = state.seen(model, minus) if minus else None
    title = (
        f"{named.term(feature)}: {_difference_words(minus, minuend, other)}"
        if minus
        else f"{named.term(feature)} in {len(shown_curves)} models"
    )
    words = (title, f"effects · difference: {other} {AGAINST.get(scale, 'minus')} {minuend}", state.goal(model))
    drawn = {name: state.seen(model, curve.on(scale)) for name, curve in shown_curves.items()}
    plot = plots.comparison(drawn, minus, words)
    cards.figure(plot, f"compare-{model.id}-{feature}", f"{model.name} compared", state.card(model), at=first)
    first.drawing.caption(
        "Both curves are centred on the same rows before subtracting. If the models share rows, shared noise cancels; "
        "otherwise it adds up."
    )


names = estimator.importance().ranked_features()
way = panels.choose("compare", "Compare", WAYS, "compare-way", bar)
failed = st.session_state.pop(f"parts-failed-{model.id}", None)
if failed:
    st.error(md(failed), icon=":material/error:")
chosen = others() if way == "models" else parts()
if not chosen:
    st.stop()
shared = [name for name in names if all(has(about, name) for about in chosen.values())]
feature = bar.selectbox(
    "Feature, by importance", shared or names, key="feature", persist_state="session",
    format_func=state.names_of(model).term, label_visibility="collapsed",
)  # fmt: skip
show(chosen, feature, scale)
without = [name for name, about in chosen.items() if not about.bands]
if without:
    st.caption(
        f"No bands yet: {'; '.join(map(md, without))}. Open it on Shapes and measure them "
        f"({BANDS} refits), and the difference gets a band as well."
    )
st.subheader("Held-out metrics", anchor=False)
metrics = metrics_of(chosen)
st.dataframe(
    metrics, hide_index=True, column_config=texts_of_numbers(metrics.columns[1:]),
    alt="Metrics of each model on its held-out rows.",
)  # fmt: skip
