"""Mark a range or some levels on a curve, by dragging or typing, and see the evidence for the segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date, timedelta
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.common.types import Ints
from gamcore.data.binning import Bins
from gamcore.data.cuts import cut_of
from gamcore.data.dates import as_date, day_number
from gamcore.decide.rules import Levels, Missing, Not, Range, Rule, RuleError, either
from gamcore.decide.segments import level_names
from gamcore.explain.curves import Curve
from gamcore.explain.piecewise import knee
from gamcore.explain.plots.curves import level_order
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import counted, md
from shapewise.ui.widgets import evidence, reach
from shapewise.ui.widgets.columns import EXACT

ACT = "shapes-act"
"""What one does with a curve; a drag over it means to mark a segment."""


@dataclass(frozen=True)
class Mark:
    """What is marked on a curve. Each field is a widget's value, which streamlit holds under a key of its own.

    low, high : ends of a range, None where it is open.
    unseen : values that training did not have, for edits.
    inverted : everyone but these.
    rounded : ends with no more digits than matter.
    """

    low: date | float | None = None
    high: date | float | None = None
    levels: Sequence[str] = ()
    missing: bool = False
    unseen: bool = False
    inverted: bool = False
    rounded: bool = False

    @property
    def range(self) -> tuple[float | None, float | None]:
        """The ends as numbers: dates as days."""
        return _days(self.low), _days(self.high)


def mark_of(model: ModelAbout, curve: Curve) -> Mark:
    """Return what is marked on a curve in this session."""
    values = {field.name: st.session_state.get(_key(field.name, model, curve)) for field in fields(Mark)}
    return Mark(**{name: value for name, value in values.items() if value is not None})


def _put(model: ModelAbout, curve: Curve, **changed: Any) -> None:
    """Change fields of the mark."""
    for name, value in changed.items():
        st.session_state[_key(name, model, curve)] = value


def choose(act: str) -> None:
    """Choose what one does with the curve; for the callback of a widget."""
    st.session_state[ACT] = act


def _key(name: str, model: ModelAbout, curve: Curve) -> str:
    return f"brush-{name}-{model.id}-{curve.feature}"


def _days(value: date | float | None) -> float | None:
    return day_number(value) if isinstance(value, date) else value


def marked(model: ModelAbout, curve: Curve, as_typed: bool = False) -> Rule | None:
    """Return the marked segment of a curve in this session; None if nothing valid is marked. as_typed : neither
    inverted nor rounded."""
    mark = mark_of(model, curve)
    parts: list[Rule] = []
    if curve.labels:
        if mark.levels:
            parts.append(Levels(curve.feature, tuple(mark.levels)))
    elif mark.range != (None, None):
        try:
            parts.append(_as_value(Range(curve.feature, *mark.range, date=curve.kind == "date"), curve))
        except RuleError:
            return None
    if mark.missing:
        parts.append(Missing(curve.feature))
    if not parts:
        return None
    rule = either(parts)
    if as_typed:
        return rule
    rule = Not(rule) if mark.inverted else rule
    return reach.rounded(model.table, rule) if mark.rounded else rule


def _as_value(typed: Range, curve: Curve) -> Range:
    """Return a range that holds one of a column's two values as that value."""
    if not curve.is_two_valued:
        return typed
    held = curve.display[typed.holds(pd.DataFrame({curve.feature: curve.display}))]
    return Range(curve.feature, held[0], held[0], high_in=True) if held.size == 1 else typed


def take(model: ModelAbout, curve: Curve, bins: Bins, element: str, page: Ints | None = None) -> None:
    """Mark the bins or levels inside the last box dragged on the chart `element`. page : places of its levels."""
    # With a panel of missing cells, axes 2 and 4 are that panel's; without one, axis 2 is that of the rows.
    axes = ("x", "x3") if curve.missing[3] else ("x", "x2")
    boxes = [b for b in st.session_state[element]["selection"]["box"] if b.get("xref", "x") in axes]
    if not boxes:
        return
    if st.session_state.get(ACT) != "edit":
        st.session_state[ACT] = "segment"
    if curve.labels:
        low, high = sorted(float(value) for value in boxes[-1]["x"])
        order = level_order(curve)
        inside = [int(k) for place, k in enumerate(order) if low - 0.3 <= place <= high + 0.3]
        inside = inside if page is None else page[inside].tolist()
        _put(model, curve, levels=list(level_names(bins, inside)))
        return
    if curve.is_two_valued:
        order = level_order(curve.as_levels())
        low, high = sorted(float(value) for value in boxes[-1]["x"])
        inside = sorted(int(k) for place, k in enumerate(order) if low - 0.3 <= place <= high + 0.3)
        if inside:
            _fill(model, curve, bins, inside[0], inside[-1] + 1)
        return
    low, high = sorted(_place(value, curve) for value in boxes[-1]["x"])
    start, end = (int(np.abs(curve.edges - value).argmin()) for value in (low, high))
    if start == end:  # inside one bin
        start = min(int(np.searchsorted(bins.cuts, (low + high) / 2, side="right")), bins.n_values - 1)
        end = start + 1
    _fill(model, curve, bins, start, end)


def _place(value: Any, curve: Curve) -> float:
    """Return a position that plotly reports, as a number; dates as days."""
    if curve.kind != "date":
        return float(value)
    return float(np.datetime64(str(value)[:10], "D").astype(np.int64))


def _fill(model: ModelAbout, curve: Curve, bins: Bins, start: int, end: int) -> None:
    """Fill the fields with the bins from `start` to the one before `end`."""
    low, high = cut_of(bins, start) if start > 0 else None, cut_of(bins, end) if end < bins.n_values else None
    _put(model, curve, low=_shown(low, curve), high=_shown(high, curve))


def _shown(end: float | None, curve: Curve) -> date | float | None:
    """Return an end of a range as its field holds it; for dates, the nearest day."""
    return end if curve.kind != "date" or end is None else (as_date(end) + timedelta(hours=12)).date()


def _take_rule(model: ModelAbout, curve: Curve, rule: Rule) -> None:
    """Fill the fields with a suggestion."""
    clear(model, curve)
    for part in rule.parts():
        if isinstance(part, Range):
            low, high = part.low, part.high
            if part.high_in:  # one of two values, which the fields hold by the border between them
                low, high = (None, curve.display[1]) if part.high == curve.display[0] else (curve.display[1], None)
            _put(model, curve, low=_shown(low, curve), high=_shown(high, curve))
        elif isinstance(part, Levels):
            _put(model, curve, levels=list(part.levels))
        else:
            _put(model, curve, missing=True)


def clear(model: ModelAbout, curve: Curve) -> None:
    """Remove the mark; whether ends are rounded stays as it is."""
    nothing = asdict(Mark(levels=[]))
    del nothing["rounded"]
    _put(model, curve, **nothing)


def ends(model: ModelAbout, curve: Curve, bins: Bins, in_training: bool = True) -> None:
    """Show the fields of a marked range, or of marked levels. in_training : whether only missing cells that training
    had can be marked, and no values that it did not have."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if curve.labels:
            places = range(bins.n_values)
            named = partial(state.names_of(model).level, curve.feature)
            levels = list(level_names(bins, list(places)))
            st.multiselect("Levels", levels, key=_key("levels", model, curve), format_func=named)
        elif curve.kind == "date":
            for name, label in (("low", "From"), ("high", "Before")):
                st.date_input(label, None, key=_key(name, model, curve), min_value=date.min, max_value=date.max)
        else:
            for name, label in (("low", "At least"), ("high", "Below")):
                st.number_input(label, value=None, key=_key(name, model, curve), format=EXACT, placeholder="open")
        with st.container(horizontal=True, gap="small"):
            if curve.missing[3] or not in_training:
                st.checkbox("Include missing", key=_key("missing", model, curve))
            if not in_training:
                new = "New levels" if curve.labels else "New values"
                st.checkbox(new, key=_key("unseen", model, curve), help="Those that training did not have.")
                st.button("Clear", icon=":material/close:", on_click=clear, args=(model, curve), type="tertiary")


def panel(model: ModelAbout, curve: Curve, bins: Bins) -> None:
    """Show the fields of the mark, the suggested cuts, and the segment's card."""
    st.markdown(":material/select_all: **Mark a segment**")
    _suggestions(model, curve, bins)
    ends(model, curve, bins)
    with st.container(horizontal=True, gap="small"):
        st.checkbox("Invert", key=_key("inverted", model, curve), help="Marks everyone outside the range instead.")
        if not curve.labels:
            st.checkbox("Round", key=_key("rounded", model, curve), help=evidence.ROUNDED)
        st.button("Clear", icon=":material/close:", on_click=clear, args=(model, curve), type="tertiary")
    rule = marked(model, curve)
    if rule is None:
        low, high = mark_of(model, curve).range
        if low is not None and high is not None and low > high:
            st.error("The range ends before it begins: swap the two.", icon=":material/error:")
        else:
            st.caption("Drag over the plot, click a suggestion, or type.")
        return
    seen = st.session_state.setdefault(f"tried-{model.id}", set())
    seen.add(rule.words())
    seen_evidence = evidence.card(model, rule, len(seen))
    evidence.keep(model, rule, seen_evidence, f"{model.id}-{curve.feature}")


def _suggestions(model: ModelAbout, curve: Curve, bins: Bins) -> None:
    """Show a button per segment suggested on this feature, and one for the knee."""
    own = [segment for segment in reach.suggested(model) if segment.rule.columns == (curve.feature,)]
    named = state.names_of(model)
    with st.container(horizontal=True, gap="small"):
        for k, segment in enumerate(own):
            icon = ":material/trending_up:" if segment.up else ":material/trending_down:"
            words = segment.rule.words(named).removeprefix(f"{named.column(curve.feature)} ")
            st.button(
                md(words), key=_key(f"suggestion-{k}", model, curve), icon=icon,
                on_click=_take_rule, args=(model, curve, segment.rule), type="tertiary",
                help=f"Where the curve is clearly {'above' if segment.up else 'below'} the average.",
            )  # fmt: skip
        bend = knee(curve) if own else None
        if bend:
            rule = Range(curve.feature, cut_of(bins, bend), date=curve.kind == "date")
            words = rule.words(named).removeprefix(f"{named.column(curve.feature)} ")
            st.button(
                md(f"{words}: the bend"), key=_key("knee", model, curve), icon=":material/turn_slight_right:",
                on_click=_take_rule, args=(model, curve, rule), type="tertiary",
                help="Where the curve bends most.",
            )  # fmt: skip
    if not own and state.data(model) is not None:
        what = "" if model.bands else " Measure the bands for a more precise answer."
        st.caption(f"No part of this curve clearly differs from the average.{what}")


def label(model: ModelAbout, rule: Rule) -> str:
    """Return the label of a mark on the plot: its held-out rows and their rate."""
    evidence_now = reach.evidence(model, rule)
    if evidence_now is None:
        return ""
    effect = "" if evidence_now.effect is None else "effect "
    inside = evidence_now.inside_result(state.measure(model))
    return f"{counted(evidence_now.inside, 'held-out row')}, {effect}{inside.text}"
