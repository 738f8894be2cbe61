"""Live training on a page: each change of a setting refits the model once and redraws the curve.

The previous curve stays as a faint line, and the held-out metric shows its change. Two refits are compared with each
other, never one refit with the mean of several.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from gamcore.estimators.additive_parameters import AdditiveParameters
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.parameters import defaults, inputs
from gamcore.explain.curves import Curve
from gamcore.explain.shown import shown as shown_as
from shapewise.places import PAGES
from shapewise.reports.card import target_words
from shapewise.store.workspace import ModelAbout, StoreError, clean_name
from shapewise.training import live, runs
from shapewise.training.by_feature import among, terms_among
from shapewise.training.cost import roughly
from shapewise.training.dataset import HELD_OUT
from shapewise.training.live import LIVE_SECONDS, Draft
from shapewise.training.main_metric import main_metric
from shapewise.training.spec import Spec
from shapewise.ui.session import followed, state
from shapewise.ui.session.words import duration
from shapewise.ui.session.words import metric as metric_of
from shapewise.ui.train.refits import as_key, drafts
from shapewise.ui.widgets import cards, drawn

MOST_LIVE = 10.0
"""Seconds of a refit above which Live is off by default."""

NOT_SETTINGS = ("callback", "categorical_features", "n_jobs", "random_state", "objective", "power", "quantile")
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


@dataclass(frozen=True)
class Shown:
    """What a page draws: the refit with the current settings, and the one with the previous settings."""

    now: Draft
    before: Draft | None

    def curve_before(self, feature: str) -> Curve | None:
        """Return the feature's curve before the change; None if there was none."""
        return curve_of(self.before, feature) if self.before else None


def curve_of(draft: Draft, feature: str) -> Curve | None:
    """Return a feature's curve in a draft; None if the feature is turned off."""
    try:
        return draft.estimator.explain_shape(feature)
    except KeyError:
        return None


def _task(spec: Spec) -> str:
    """Return a key of the target and rows of a specification: curves are compared only within one task."""
    return json.dumps(replace(spec, name="", features=[], preset="", changes={}, bands=0).to_dict(), sort_keys=True)


def rows_of(model: ModelAbout) -> int:
    """Return the number of training rows of a refit here; for a table larger than memory, those of its sample."""
    return round((1 - HELD_OUT) * model.rows["sample"]) if "sample" in model.rows else model.rows["training"]


def switch(key: str, rows: int, n_features: int, spec: Spec, n_scores: int = 1) -> bool:
    """Return the Live switch: on unless a refit of the specification takes long; said where it takes a moment."""
    seconds = live.seconds_of(rows, n_features, spec, n_scores)
    quick = seconds < MOST_LIVE
    on = st.toggle(
        "Live", value=quick, key=f"live-{key}-{quick}", help="Each change refits the model (one refit, no band)."
    )
    if seconds > LIVE_SECONDS:
        st.caption(f"A refit takes {roughly(seconds)} here.")
    if on and state.workspace().tables.about(spec.table).sampled:
        st.caption("Refits here learn from rows of the table's sample only.")
    return on


def shown(key: str, spec: Spec, base: Spec | None = None) -> Shown | None:
    """Refit the current settings, if they are new; None (with a message) while that goes on, or if it is impossible.

    base : what the first change is compared with; None for nothing.
    """
    now, memory = as_key(spec), f"live-seen-{key}"
    before, last = st.session_state.get(memory, (None, as_key(base) if base else None))
    if last != now:
        before = last if last and _task(Spec.from_dict(json.loads(last))) == _task(spec) else None
    past = Spec.from_dict(json.loads(before)) if before else None
    refitted = drafts([spec] if past is None else [spec, past])
    if refitted is None:
        return None
    # Compare only complete refits, and only those that could be fitted.
    st.session_state[memory] = (before, now if refitted[0].complete else None)
    compared = past is not None and refitted[0].complete and refitted[1].complete
    now_, past_ = (replace(draft, estimator=state.in_view(draft.estimator)) for draft in (refitted[0], refitted[-1]))
    return Shown(now_, past_ if compared else None)


INPUTS = inputs(AdditiveParameters)


def knobs(key: str, spec: Spec) -> Spec:
    """Show the settings that affect a curve most, and return the specification with them. Their ranges include the
    specification's own values."""
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


def without(spec: Spec, off: set[str]) -> Spec:
    """Return the specification without some features and their interactions."""
    if not off:
        return spec
    kept = [name for name in spec.features if name not in off]
    return replace(spec, features=kept, changes=terms_among(among(spec.changes, kept), kept))


def metric(shown: Shown, model: ModelAbout | None = None) -> None:
    """Show the held-out metric of the refit, and its change. model : the model whose own metric stands on the page."""
    now, before = shown.now.metrics, shown.before.metrics if shown.before else {}
    main = main_metric(now)
    if main is None:
        return
    name = main.key
    moved = now[name] - before[name] if name in before else None
    change = None
    if moved is not None:
        change = "no change" if abs(moved) < 5e-5 * max(1.0, abs(now[name])) else main.change(moved)
    st.metric(
        f"Held-out {main.label}", main.finely(now[name]), change,
        delta_color="off" if change == "no change" else "normal" if main.rises else "inverse",
        delta_arrow="off" if change == "no change" else "auto",
        help=f"Of one refit, which took {duration(shown.now.seconds)}; the change is from the previous settings. "
        "Settings chosen by this number look a little better on these rows than on new ones.",
    )  # fmt: skip
    if not shown.now.complete:
        st.caption("This refit was stopped early to stay responsive: train the full model to finish it.")
    if model is not None and model.metrics:
        st.caption(beside(model))


def beside(model: ModelAbout) -> str:
    """Return why a refit's held-out metric differs from that of the model in view."""
    if model.edits:
        return f"Of one refit without the edits by hand: the model in view has {metric_of(model)}."
    return f"Of one refit: the model in view averages all of its refits and has {metric_of(model)}."


def full_model(key: str, spec: Spec, label: str = "Train the full model") -> None:
    """Show the button that trains all refits as a job, shown on Train."""
    if st.button(
        label, key=f"full-{key}", icon=":material/play_arrow:",
        help="All refits with these settings, in the background.",
    ):  # fmt: skip
        started = runs.start(state.workspace(), replace(spec, name=clean_name(spec.name)), state.n_jobs())
        followed.follow(started)
        st.switch_page(PAGES / "train.py", query_params={"table": spec.table, "run": started})


def preview(key: str, spec: Spec, rows: int, n_features: int, n_scores: int = 1) -> Draft | None:
    """Show a live curve for the form's settings on Train, by default that of the most important feature, and return
    the refit."""
    with st.container(border=True):
        if not switch(key, rows, n_features, spec, n_scores) or (draft := shown(key, spec)) is None:
            return None
        named = state.names(spec.table)
        names = draft.now.estimator.importance().ranked_features()
        with st.container(horizontal=True, vertical_alignment="bottom"):
            feature = st.selectbox("Feature, by importance", names, key=f"preview-{key}", format_func=named.term)
            metric(draft)
        curve = draft.now.estimator.explain_shape(feature)
        goal = target_words(spec.target, spec.positive, named)
        before = draft.curve_before(feature)
        before = before.on(state.scale(before.loss)) if before else None
        curve = shown_as(curve.on(state.scale(curve.loss)), named)
        detail = f"effect on {goal} · one refit, no band"
        plot = curve.describe(goal, detail, before=before, height=312)
        cards.headline(plot, f"preview-{key}")
        st.plotly_chart(
            drawn.figure(plot, titled=False),
            key=f"preview-figure-{key}", theme=None, config={"displayModeBar": False}, alt=curve.words(),
        )  # fmt: skip
    return draft.now


def base_spec(model_spec: dict[str, Any] | None, estimator: GAMRegressor | GAMClassifier) -> Spec | None:
    """Return a stored model's specification with the settings it was trained with, since presets may have changed; None
    if its table is gone."""
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
