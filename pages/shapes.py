"""One shape function at a time: the curve first, then what one can do with it."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from gamcore.common.numbers import alike, are, number
from gamcore.decide import plots as decide_plots
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.explain import plots as explain_plots
from gamcore.explain.curves import Curve
from gamcore.explain.sentences import read_curve
from gamcore.explain.shown import shown, shown_chances
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale, say
from shapewise.training.spec import Spec
from shapewise.ui.explain import brush, curves, feature_list, left_out, level_pages
from shapewise.ui.explain.editor import Edited, Editor, editor
from shapewise.ui.session import state
from shapewise.ui.session.words import count, counted
from shapewise.ui.train import bin_fields, feature_fields, live
from shapewise.ui.widgets import bands as sureness
from shapewise.ui.widgets import cards, chart, headlines

ACTS = {"segment": "Mark a segment", "edit": "Edit by hand", "left": "What if it were left out",
        "settings": "Try other settings"}  # fmt: skip
ACT_ICONS = {"segment": "select_all", "edit": "edit", "left": "do_not_disturb_on", "settings": "tune"}

begin("Shapes")
model = cards.model_in_view()
estimator = state.additive(model.id)
data = state.data(model)
scale: Scale = state.scale(estimator.model_.loss.name)


def notes(curve: Curve) -> str:
    """Return what the plot alone does not say."""
    few = int(curve.thin.sum())
    nothing = f"as average ({say(curve.zero, curve.scale).lstrip('+')})"
    value = "levels" if curve.labels else "values"
    missing = (
        f"Missing cells ({counted(curve.missing[3], 'training row')}) have their own effect; {value} not seen in "
        f"training are scored {nothing}."
        if curve.missing[3]
        else f"Training had no missing cells. Missing cells and new {value} are scored {nothing}."
    )
    if curve.rare:
        missing += f" (rare) is one bar, with one effect, for {counted(len(curve.rare), 'level')} with few rows."
    cut = " The axis opens on the middle 99% of rows: drag it to see the rest." if explain_plots.is_cut(curve) else ""
    pieces = f"{count(curve.scores.size)} {'levels' if curve.labels else 'bins'}"
    have = "has" if few == 1 else "have"
    thin = f" {count(few)} of {pieces} {have} {curve.few}, neighbours included, and {are(few)} grey." if few else ""
    return missing + cut + thin


def straight(curve: Curve) -> str:
    """Return the coefficient of a straight line in words; empty for other curves."""
    if curve.slope is None:
        return ""
    value, low, high = curve.slope
    slope, *ends = alike([value, low, high], signed=True) if low < high else [number(value, signed=True)]
    per = "day" if curve.kind == "date" else "unit"
    between = f" (95%: {ends[0]} to {ends[1]})" if ends else ""
    return f" The line changes the {LOSSES[curve.loss].unit('link', 'prediction')} by {slope} per {per}{between}."


def switches(curve: Curve) -> tuple[bool, bool]:
    """Show what can be drawn with the curve; return whether observed means and the whole-curve band are."""
    cards.pick_scale(curve.loss)
    # The curve of one of several classes is beside the average class, where no mean of rows can be drawn.
    seen = not LOSSES[curve.loss].is_partial and st.toggle(
        "Observed", key="observed", persist_state="session", disabled=data is None,
        help="The mean of the target in each part of the axis. It also has what goes along with the feature: "
        "where it differs from the curve, other features explain the difference.",
    )  # fmt: skip
    whole = curve.has_whole and st.toggle(
        "Whole-curve band", True, key="whole-band", persist_state="session",
        help="The wide band holds for the whole curve at once; the narrow one at any single value.",
    )  # fmt: skip
    return seen, whole


def show_chances() -> None:
    """Show what the feature does to the chance of every class."""
    named = state.names_of(model)
    chances = curves.class_chances(model.id, model.bands, feature)
    plot = shown_chances(chances, named, model.target).describe(named.column(model.target))
    cards.figure(plot, f"chances-{element}", model.name, state.card(model), at=first)
    below.caption("Each line is the chance of one class for a row whose other features are average; they add up to 1.")


def trial(spec: Spec, slot: st.delta_generator.DeltaGenerator) -> tuple[live.Shown | None, bool]:
    """Show the settings that move a curve most; return a refit with them, and whether one is on its way."""
    with slot:
        changed = live.knobs(model.id, spec)
        if not state.class_names(model.id):
            kinds = {
                feature_bins.feature.name: feature_bins.feature.is_category for feature_bins in estimator.model_.bins
            }
            changed = feature_fields.shape_of_curve(model.id, changed, bins.feature, kinds)
        if not bins.feature.is_category and not state.class_names(model.id):
            changed = feature_fields.direction_of_curve(model.id, changed, feature)
        if bins.feature.part == "value" and bins.feature.kind != "boolean":
            (cut,) = bin_fields.of_table(state.table(spec.table), [feature], spec.categories)
            changed = bin_fields.of_curve(model.id, changed, cut, state.names_of(model))
        if changed == spec:
            st.caption("Change a setting: the curve is refitted, and the one before stays faint.")
            return None, False
        draft = live.shown(model.id, changed, spec)
        if draft is None:
            return None, True
        live.metric(draft, model)
        live.full_model(model.id, replace(changed, name=model.name))
    return draft, False


def hand_edits(by_hand: Editor, slot: st.delta_generator.DeltaGenerator) -> Edited | None:
    """Show the editor; None where the model cannot be edited."""
    with slot:
        if state.class_names(model.id):
            st.caption("A model of several classes cannot be edited by hand: train one of two classes.")
            return None
        if data is None or model.rows.get("sample"):
            st.caption("Editing needs the table that the model was trained on, with all its rows in memory.")
            return None
        assert isinstance(estimator, GAMRegressor | GAMClassifier)
        return by_hand.curve(model, estimator, bins, scale)


with st.container(horizontal=True, gap="medium"):  # beside each other where there is room
    listing, reading = st.container(width=feature_list.LIST_WIDTH, key="feature-list"), st.container(width="stretch")
with listing:
    feature = feature_list.choose(model, scale)
place = next(k for k, feature_bins in enumerate(estimator.model_.bins) if feature_bins.feature.name == feature)
bins, element = estimator.model_.bins[place], f"shape-{model.id}-{place}"
own = estimator.explain_shape(feature)
with reading:
    first, by_hand = chart.first(), editor()
    acts = [name for name in ACTS if by_hand or name != "edit"]
    act = st.pills(
        "What next", acts, format_func=lambda name: f":material/{ACT_ICONS[name]}: {ACTS[name]}",
        key=brush.ACT, persist_state="session", label_visibility="collapsed",
    )  # fmt: skip
    below = st.container()
if state.class_names(model.id):
    with first.options:
        cards.pick_class(model)
        together = st.toggle(
            "All classes", key="all-classes", persist_state="session",
            help="The chance of every class along the feature, instead of the curve of one class.",
        )  # fmt: skip
    if together:
        show_chances()
        st.stop()
with first.options:
    seen, whole = switches(own)
scale = state.scale(own.loss)
spec = live.base_spec(model.spec, estimator)
tried, waiting, edited = None, False, None
if act in ("left", "settings") and spec is None:
    below.caption("A refit needs the table that the model was trained on.")
elif act == "settings" and spec is not None:
    tried, waiting = trial(spec, below.container(border=True))
elif act == "edit" and by_hand:
    edited = hand_edits(by_hand, below.container(border=True))

learnt = (live.curve_of(tried.now, feature) if tried else None) or own
learnt = edited.curve(feature) if edited else learnt
curve = learnt
if not whole:
    curve = replace(curve, whole=np.empty((2, 0)))
curve = curve.on(scale)
named = state.names_of(model)
page = level_pages.choose(curve, named, element, first.options)
drawn_curve = curve if page is None else curve.of_levels(page)
before = tried.curve_before(feature) if tried else None
if edited and not np.array_equal(learnt.scores, own.scores):
    before = own
markable = tried is None and bins.feature.part == "value" and data is not None
rule = brush.marked(model, own.on(scale), as_typed=act == "edit") if markable else None
title = headlines.headline(model, feature) if tried is None else f"{named.term(feature)}, one refit with these settings"
title = f"{named.term(feature)}, edited by hand" if before is not None and edited else title
read = read_curve(shown(own.on(scale), named))
title = title or read
means = curves.observed_means(model.id, place, scale) if seen else []
plot = shown(drawn_curve, named).describe(
    state.goal(model), state.detail(model, curve, draft=tried is not None), title=title,
    before=shown(before.on(scale), named) if before else None,
    observed=means if page is None else [mean.of_levels(page) for mean in means],
)  # fmt: skip
if page is not None:
    plot = replace(plot, numbers=shown(curve, named).frame())
if rule is not None:
    plot = decide_plots.marked(plot, drawn_curve, rule, brush.label(model, rule))
if waiting:
    with first.drawing.container(
        height=chart.FIRST_HEIGHT, border=True, vertical_alignment="center", horizontal_alignment="center"
    ):
        st.caption(":material/progress_activity: The curve is being redrawn with these settings.")
else:
    take = partial(brush.take, model, drawn_curve, bins, element, page) if markable else None
    cards.figure(plot, element, model.name, state.card(model), at=first,
                 over=drawn_curve if markable else None, on_box=take)  # fmt: skip
with below:
    if by_hand and act != "edit" and (waiting_edits := by_hand.waiting(model)):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f":material/edit: {waiting_edits}.")
            st.button("Go on editing", key="go-on-editing", type="tertiary", on_click=brush.choose, args=("edit",))
    if act == "segment" and markable:
        with st.container(border=True):
            brush.panel(model, own, bins)
    elif act == "segment" and bins.feature.part != "value":
        st.caption("Months and weekdays come from a date: use a range of the date itself in a segment.")
    elif act == "segment" and data is None:
        st.caption("A segment needs the table that the model was trained on.")
    elif act == "left" and spec is not None:
        with st.container(border=True):
            left_out.show(model, feature, spec)
    if tried is None:
        sureness.line(model, own.band, first.options)
        headlines.edit(model, feature, read, first.options)
    st.caption(notes(curve) + straight(learnt))
if edited:
    edited.finish()
