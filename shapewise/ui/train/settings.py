"""The settings of a training: preset, pairs, bands, and all others. Each part returns plain values."""

from __future__ import annotations

from typing import Any

import streamlit as st

from gamcore import PRESETS
from gamcore.boosting.refit.problem import first_leaves
from gamcore.common.numbers import exact
from gamcore.data.labels import listed
from gamcore.estimators.additive_parameters import AUTO, GREEDY, AdditiveParameters, default_bags
from gamcore.estimators.parameters import abouts, defaults, inputs
from shapewise.store.workspace import TableAbout
from shapewise.training.by_feature import lacking_for_triples
from shapewise.training.cost import estimate_bands, roughly
from shapewise.training.dataset import HELD_OUT
from shapewise.training.spec import Spec
from shapewise.training.train import BANDS
from shapewise.ui.session import state
from shapewise.ui.train import bin_fields, feature_fields

INPUTS = inputs(AdditiveParameters)
PRESET_WORDS = {
    "fast": "Two refits: a first look.",
    "balanced": "Eight refits: the default, good for nearly everything.",
    "accurate": "Sixteen refits, smaller steps: the steadiest curves, and slower.",
    "smooth": "Balanced, but with smooth lines instead of steps, and levels drawn towards their mean.",
    "paper": "Exactly as in Lou et al. 2020: 100 row subsamples, three leaves, cyclic order, one fit.",
}


BANDS_SECONDS = 120.0
"""Estimated time above which bands are not measured by default."""

PAIRS = {"none": "None", "auto": "Automatic", "number": "A number"}


def pairs(table: TableAbout) -> dict[str, Any]:
    """Show the choice of pairs, and return the settings it changes."""
    way = st.segmented_control(
        "Pairs of features", list(PAIRS), default="none", required=True, format_func=PAIRS.__getitem__,
        key=f"pairs-{table.id}",
        help="The joint effect of two features beyond each alone, as a heat map. The page Pairs ranks all of them, and "
        "adds some to an existing model.",
    )  # fmt: skip
    if way == "none":
        return {}
    changes: dict[str, Any] = {"interactions": "auto"}
    if way == "number":
        changes["interactions"] = st.number_input("Pairs, the strongest", 1, 1000, 5, key=f"n-pairs-{table.id}")
    together = st.toggle(
        "Boost curves and pairs together", key=f"joint-{table.id}",
        help="Kept if it lowers the validation loss: often a little more accurate, but takes twice as long.",
    )  # fmt: skip
    return changes | ({"joint": True} if together else {})


def few(table: TableAbout, goal: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Show the switch for features that beat chance, and return the settings it changes."""
    if goal == "classes":
        return {}
    together = bool(changes.get("joint"))
    wanted = st.toggle(
        "Only features that beat chance", key=f"few-{table.id}", disabled=together,
        help="A feature gets a curve only if it stands out more than features without any effect do: by chance, one "
        "gets in in one training of twenty. Curves are fewer and nearer the truth where most columns say nothing. Weak "
        "effects may be missed. Takes five to ten times as long."
        + together * " Cannot be combined with *Boost curves and pairs together*.",
    )  # fmt: skip
    return {"order": GREEDY} if wanted and not together else {}


def triples(table: TableAbout, goal: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Show the switch for triples, and return the settings it changes."""
    lacking = lacking_for_triples(goal, parameters, is_large=bool(table.sampled))
    wanted = st.toggle(
        "Triples, where they help", key=f"triples-{table.id}", disabled=bool(lacking),
        help="Up to five joint effects of three features, beyond all their pairs: those that stand out from chance and "
        "lower the validation loss. Such a model is harder to read, and cannot be edited by hand; takes up to "
        "two or three times as long." + f" Needs {listed(lacking)}." * bool(lacking),
    )  # fmt: skip
    return {"triples": "auto"} if wanted and not lacking else {}


def bands(table: TableAbout, parameters: dict[str, Any], n_scores: int) -> int:
    """Show the switch for bands; return the number of half-sample refits. On by default unless they take long.

    n_scores : scores of a row; of several classes, one for each.
    """
    rows, features = round((1 - HELD_OUT) * (table.sampled or table.rows)), table.columns
    seconds = estimate_bands(rows, features, parameters, BANDS, state.n_jobs(), n_scores=n_scores)
    wanted = st.toggle(
        "Measure the uncertainty of the curves", seconds < BANDS_SECONDS, key=f"bands-{table.id}",
        help=f"{BANDS} more refits, each on half of the {'sample' if table.sampled else 'rows'}, in the background "
        f"after training: pointwise bands, and bands for the whole curve. Takes {roughly(seconds)} here.",
    )  # fmt: skip
    return BANDS if wanted else 0


def counts(table: TableAbout, goal: str, parameters: dict[str, Any]) -> bool:
    """Show the switch for counts of the rows, where a model can learn on from them; return whether they are kept."""
    learns_from_rows = parameters.get("interactions") or parameters.get("ensemble", "grouped") != "grouped"
    learns_from_rows = learns_from_rows or parameters.get("order") == GREEDY
    if goal != "number" or table.sampled or learns_from_rows:
        return False
    return st.toggle(
        "Keep counts, to add rows later", key=f"counts-{table.id}",
        help="The model can then learn from the rows of a newer version without those of this one, which may be "
        "deleted. Counts of cells with few rows are as personal as the rows: they stay in this workspace.",
    )  # fmt: skip


def label(name: str) -> str:
    """Return a parameter's label in the form."""
    return "Pairs" if name == "interactions" else INPUTS[name].label if name in INPUTS else name


def take(spec: Spec, changes: dict[str, Any]) -> None:
    """Put settings into the form, and leave the run that they come from; for the callback of a widget."""
    fill(spec, changes)
    st.query_params.pop("run", None)


def fill(spec: Spec, changes: dict[str, Any]) -> None:
    """Put settings into the form, before its fields are drawn."""
    st.session_state[f"preset-{spec.table}"] = spec.preset
    for name in INPUTS:
        key = f"{name}-{spec.table}-{spec.preset}"
        if name in changes and changes[name] != AUTO:
            st.session_state[key] = changes[name]
        else:
            st.session_state.pop(key, None)
    feature_fields.take(spec.table, changes)
    bin_fields.take(spec.table, changes)
    st.session_state[f"few-{spec.table}"] = changes.get("order") == GREEDY
    st.session_state[f"finer-{spec.table}"] = changes.get("max_bins") == AUTO
    st.session_state[f"mart-{spec.table}"] = changes.get("boosting") == "mart"
    st.session_state[f"dates-{spec.table}"] = bool(changes.get("date_parts"))
    st.session_state[f"joint-{spec.table}"] = bool(changes.get("joint"))
    st.session_state[f"triples-{spec.table}"] = bool(changes.get("triples"))
    pairs = changes.get("interactions", 0)
    number = pairs if isinstance(pairs, int) else 0 if pairs == "auto" else len(pairs)
    st.session_state[f"pairs-{spec.table}"] = "auto" if pairs == "auto" else "number" if number else "none"
    if number:
        st.session_state[f"n-pairs-{spec.table}"] = number


def preset(table: TableAbout, goal: str) -> str:
    """Show the choice of preset, and return it. Curves of several classes are steps."""
    names = [name for name in PRESETS if goal != "classes" or name != "smooth"]
    key = f"preset-{table.id}"
    if st.session_state.get(key, "balanced") not in names:  # chosen for another kind of target
        del st.session_state[key]
    return st.segmented_control(
        "Preset", names, default="balanced", required=True, format_func=str.capitalize,
        key=key, help=" ".join(f"{name.capitalize()}: {text}" for name, text in PRESET_WORDS.items()),
    )  # fmt: skip


def more(table: TableAbout, preset: str, binary: bool) -> dict[str, Any]:
    """Show all other settings, and return the changes to the preset."""
    usual = {**defaults(AdditiveParameters), **PRESETS[preset]}
    usual["n_bags"] = usual["n_bags"] or default_bags(usual["ensemble"])
    coarse = first_leaves(usual["coarse_leaves"], round((1 - HELD_OUT) * table.rows))
    usual["coarse_leaves"] = coarse or usual["max_leaves"]
    changes: dict[str, Any] = {}
    columns = st.columns(2)
    for k, (name, form) in enumerate(INPUTS.items()):
        value = columns[k % 2].number_input(
            form.label, value=usual[name], key=f"{name}-{table.id}-{preset}",
            help=f"{form.hint} Default {exact(usual[name])}. In the papers: {abouts(AdditiveParameters)[name].paper}.",
            **form.range,
        )  # fmt: skip
        if value != usual[name]:
            changes[name] = value
    first = changes.pop("coarse_leaves", usual["coarse_leaves"])
    leaves = changes.get("max_leaves", usual["max_leaves"])
    if max(first, leaves) != max(coarse, leaves):  # train exactly what the form shows
        changes["coarse_leaves"] = first
    if binary:
        mart = st.toggle(
            "MART instead of LogitBoost", key=f"mart-{table.id}",
            help="Split on row counts, with Newton leaves (Algorithm 2), not on rows weighted by p(1 - p) (5).",
        )  # fmt: skip
        changes |= {"boosting": "mart"} if mart else {}
    finer = st.toggle(
        "More bins while they pay", key=f"finer-{table.id}",
        help="Begins with 256 bins per number, and doubles them as long as that lowers the loss of rows that quick "
        "refits have not seen. It pays where a target jumps between near values. Takes two to five times as long.",
    )  # fmt: skip
    changes |= {"max_bins": AUTO} if finer and not table.sampled else {}
    parts = st.toggle(
        "Month and weekday of dates",
        key=f"dates-{table.id}",
        help="Each date column also gives these two features.",
    )
    changes |= {"date_parts": True} if parts else {}
    return changes
