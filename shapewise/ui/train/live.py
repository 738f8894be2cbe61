"""Live training on a page: settings change, one refit follows at once, and the curve moves.

What was drawn before a change stays as a faint line, and the held-out metric tells how it moved. Two refits are
compared with each other, never one refit with the mean of several.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from gamcore.data.table import TableError
from gamcore.estimators.additive_parameters import AdditiveParameters
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.parameters import defaults, inputs
from gamcore.explain.curves import Curve
from gamcore.viz import plotly_figures as figures
from gamcore.viz import plots
from shapewise.store.workspace import ModelAbout, StoreError, clean_name
from shapewise.training import live, runs
from shapewise.training.dataset import HELD_OUT, read_data
from shapewise.training.live import LIVE_SECONDS, Draft, Packed
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.words import duration, md, number
from shapewise.ui.widgets import cards

MOST_SWITCHES = 30
NOT_SETTINGS = ("callback", "categorical_features", "n_jobs", "random_state")
STOPPED = "live-stopped"
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


@dataclass(frozen=True)
class Shown:
    """What a page draws: the refit of the settings at hand, and that of the settings before."""

    now: Draft
    before: Draft | None

    def curve_before(self, feature: str) -> Curve | None:
        """Return the feature's curve before the change; None where it had none."""
        return curve_of(self.before, feature) if self.before else None


def curve_of(draft: Draft, feature: str) -> Curve | None:
    """Return a feature's curve in a draft; None where it is turned off."""
    try:
        return draft.estimator.explain_shape(feature)
    except KeyError:
        return None


@state.kept(show_spinner=False, max_entries=48)
def _fitted(spec: str, held_out_by: str) -> Packed:
    asked = Spec.from_dict(json.loads(spec))
    return live.draft(read_data(state.frame(asked.table), asked, json.loads(held_out_by)), asked).packed()


def _draft(spec: str) -> Draft:
    """Return a refit by its specification, and by the rows its table holds out: a first training settles those.

    One that was stopped for time is kept only while it is shown: asked for again, or elsewhere, it may be quicker.
    """
    stopped_spec, stopped = st.session_state.get(STOPPED, (None, None))
    if stopped is not None and stopped_spec == spec:
        return stopped
    held_out_by = json.dumps(state.workspace().tables.about(json.loads(spec)["table"]).held_out_by)
    st.session_state.pop(STOPPED, None)
    draft = _fitted(spec, held_out_by).draft()
    if not draft.complete:
        _fitted.clear(spec, held_out_by)
        st.session_state[STOPPED] = (spec, draft)
    return draft


def _as_key(spec: Spec) -> str:
    return json.dumps(replace(spec, name="").to_dict(), sort_keys=True)


def _task(spec: Spec) -> str:
    """Return what a specification predicts from which rows: curves of two tasks are not compared."""
    return json.dumps(replace(spec, name="", features=[], preset="", changes={}).to_dict(), sort_keys=True)


def rows_of(model: ModelAbout) -> int:
    """Return the rows that a refit of a model has here: of a table larger than memory, those of its sample."""
    return round((1 - HELD_OUT) * model.rows["sample"]) if "sample" in model.rows else model.rows["training"]


def switch(key: str, rows: int, n_features: int, spec: Spec) -> bool:
    """Return the Live switch: on while a refit of the specification is quick, off and explained where it is not."""
    seconds = live.seconds_of(rows, n_features, spec)
    quick = seconds < LIVE_SECONDS
    on = st.toggle(
        "Live", value=quick, disabled=not quick, key=f"live-{key}-{quick}",
        help="Each change refits the model at once (one refit, no band).",
    )  # fmt: skip
    if not quick:
        st.caption(f"Off: one refit takes about {duration(seconds)} here. Train in the background instead.")
    if on and quick and state.workspace().tables.about(spec.table).sampled:
        st.caption("Refits here learn from rows of the table's sample only.")
    return on and quick


def shown(key: str, spec: Spec) -> Shown | None:
    """Refit the settings at hand, if they are new; None (with a message) where they cannot be fitted."""
    now, memory = _as_key(spec), f"live-seen-{key}"
    before, last = st.session_state.get(memory, (None, None))
    try:
        draft = _draft(now)
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return None
    if last != now:
        before = last if last and _task(Spec.from_dict(json.loads(last))) == _task(spec) else None
    # Only whole refits are compared, and only those that could be fitted.
    st.session_state[memory] = (before, now if draft.complete else None)
    return Shown(draft, _draft(before) if before and draft.complete else None)


INPUTS = inputs(AdditiveParameters)


def knobs(key: str, spec: Spec) -> Spec:
    """Controls of what moves a curve most; the specification with what they say. They reach what it says itself."""
    usual = {**defaults(AdditiveParameters), **spec.parameters()}
    rates = sorted({*RATES, usual["learning_rate"]})
    leaves, share = usual["max_leaves"], usual["subsample"]
    chosen: dict[str, Any] = {
        "max_leaves": st.slider(INPUTS["max_leaves"].label, 2, max(8, leaves), leaves, key=f"leaves-{key}"),
        "smoothing_rounds": st.slider(
            INPUTS["smoothing_rounds"].label, 0, max(400, usual["smoothing_rounds"]), usual["smoothing_rounds"], 5,
            key=f"smooth-{key}", help=INPUTS["smoothing_rounds"].hint,
        ),
        "learning_rate": st.select_slider(
            INPUTS["learning_rate"].label, rates, usual["learning_rate"], key=f"rate-{key}"
        ),
        "subsample": st.slider(INPUTS["subsample"].label, min(0.2, share), 1.0, share, 0.05, key=f"share-{key}"),
    }  # fmt: skip
    changes = {name: value for name, value in chosen.items() if value != usual[name]}
    return replace(spec, changes={**spec.changes, **changes})


def switches(key: str, spec: Spec) -> Spec:
    """Return a switch a feature (a list of those that are off, where they are many); the specification without
    those."""
    names = spec.features
    if len(names) > MOST_SWITCHES:
        off = st.multiselect("Features turned off", names, key=f"off-{key}", placeholder="None")
        return _without(spec, set(off))
    on = st.pills(
        "Features in the model", names, selection_mode="multi", default=names, format_func=md, key=f"on-{key}",
        help="Click one to turn it off or on.",
    )  # fmt: skip
    return _without(spec, set(names) - set(on))


def _without(spec: Spec, off: set[str]) -> Spec:
    """Return the specification without some features, and without the pairs that they are part of."""
    if not off:
        return spec
    kept, pairs = [name for name in spec.features if name not in off], spec.parameters().get("interactions")
    changes = spec.changes
    if isinstance(pairs, list):
        gone = {part for name in off for part in (name, f"{name} (month)", f"{name} (weekday)")}
        changes = {**changes, "interactions": [pair for pair in pairs if not gone & set(pair)]}
    return replace(spec, features=kept, changes=changes)


def metric(shown: Shown) -> None:
    """Show the held-out metric of the refit, and how the change moved it."""
    now, before = shown.now.metrics, shown.before.metrics if shown.before else {}
    name, label, fewer = ("auc", "Held-out AUC", False) if "auc" in now else ("rmse", "Held-out RMSE", True)
    moved = now[name] - before[name] if name in before else None
    change = None
    if moved is not None:
        change = f"{moved:+.4f}" if name == "auc" else f"{'+' if moved > 0 else '-'}{number(abs(moved))}"
        change = "no change" if abs(moved) < 5e-5 * max(1.0, abs(now[name])) else change
    st.metric(
        label, f"{now[name]:.4f}" if name == "auc" else number(now[name]), change,
        delta_color="off" if change == "no change" else "inverse" if fewer else "normal",
        help=f"Of one refit, which took {duration(shown.now.seconds)}; the change is from the previous settings. "
        "Settings picked for this number alone will look a little better on these rows than on new ones.",
    )  # fmt: skip
    if not shown.now.complete:
        st.caption("This refit was stopped early to stay responsive: train the full model to finish it.")


def full_model(key: str, spec: Spec) -> None:
    """Show the way from a refit to a model: a job with all refits, watched on Train."""
    if st.button(
        "Train the full model", key=f"full-{key}", icon=":material/play_arrow:", width="stretch",
        help="All refits with these settings, in the background.",
    ):  # fmt: skip
        started = runs.start(state.workspace(), replace(spec, name=clean_name(spec.name)), state.n_jobs())
        st.switch_page(cards.PAGES / "train.py", query_params={"table": spec.table, "run": started})


def preview(key: str, spec: Spec, rows: int, n_features: int) -> None:
    """On Train: the strongest shape of the form's settings, moving with them."""
    with st.container(border=True):
        if not switch(key, rows, n_features, spec) or (draft := shown(key, spec)) is None:
            return
        names = draft.now.estimator.importance().ranked_features()
        with st.container(horizontal=True, vertical_alignment="bottom"):
            feature = st.selectbox("Feature, by importance", names, key=f"preview-{key}")
            metric(draft)
        curve = draft.now.estimator.explain_shape(feature)
        goal = f"{spec.target} = {' or '.join(spec.positive)}" if spec.positive else spec.target
        before = draft.curve_before(feature)
        before = before.on(state.scale(before.loss)) if before else None
        curve = curve.on(state.scale(curve.loss))
        detail = f"effect on {goal} · one refit, no band"
        st.plotly_chart(
            figures.draw(plots.curve(curve, goal, detail, before, height=312), state.mode()),
            key=f"preview-figure-{key}", theme=None, config={"displayModeBar": False}, alt=curve.words(),
        )  # fmt: skip


def base_spec(model_spec: dict[str, Any] | None, estimator: GAMRegressor | GAMClassifier) -> Spec | None:
    """Return the specification of a stored model whose table is still there, with the settings it was trained with:
    presets may have changed since."""
    if not model_spec:
        return None
    spec = Spec.from_dict(model_spec)
    try:
        state.workspace().tables.about(spec.table)
    except StoreError:
        return None
    trained, today = estimator.get_params(), {**type(estimator)().get_params(), **spec.parameters()}
    own = {name: value for name, value in trained.items() if name not in NOT_SETTINGS and value != today[name]}
    return replace(spec, changes={**spec.changes, **own})
