"""Newer versions of a table on a page: loading one, and what moved since the older one."""

from __future__ import annotations

from functools import partial

import streamlit as st

from gamcore.data.table import TableError
from gamcore.stats.column_drift import ColumnMove, Moved, what_moved
from gamcore.stats.histograms import overlay
from gamcore.viz import files as export
from gamcore.viz import plots
from gamcore.viz.plots.palette import cut
from shapewise.store.workspace import TableAbout
from shapewise.training import carry_over as versions
from shapewise.ui.data import loading
from shapewise.ui.data import retrained as renewed
from shapewise.ui.session import state
from shapewise.ui.session.words import count, date, md
from shapewise.ui.widgets import cards, downloads

MOST_NAMED = 5
LONGEST_TITLE = 150


@st.dialog("Load a newer version", width="large")
def dialog(table: TableAbout) -> None:
    """Show the ways to load what replaces a table."""
    st.caption(
        f"It is kept beside this version, named {md(table.name)} too, with the same roles and the same rule for "
        "held-out rows. This version stays, with its models, until it is deleted."
    )
    loading.upload("", partial(_add, table))
    loading.from_folder(partial(_add, table))


def _add(of: TableAbout, store: loading.Store) -> TableAbout:
    table, said = versions.add_version(state.workspace(), of, store)
    for sentence in said:
        st.toast(md(sentence), icon=":material/info:")
    return table


def newer(table: TableAbout) -> None:
    """Show the way to the newest version, where the table is not it."""
    latest = versions.newest(state.workspace().tables.listed(), table.id)
    if latest is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/update: There is a newer version of this table, of {date(latest.created)}.")
        if st.button("Open the newest"):
            state.choose("table", latest.id)
            st.rerun()


def show(table: TableAbout) -> None:
    """Show what moved since the version that a table replaces; nothing where that is no longer there."""
    before = versions.older(state.workspace().tables.listed(), table.id)
    if not before:
        return
    then = before[0]
    st.subheader("What moved", anchor=False)
    st.markdown(_line(then, table))
    box = st.expander("Columns and their distributions", key=f"moved-{table.id}", on_change="rerun")
    if box.open:  # the older version is only read for those who ask
        with box:
            _columns(then, table)
    box = st.expander("Models and their curves", key=f"renewed-{table.id}", on_change="rerun")
    if box.open:
        with box:
            renewed.show(then, table)


def _line(then: TableAbout, now: TableAbout) -> str:
    """Return the rows and columns then and now, in words."""
    old, new = state.columns(then.id), state.columns(now.id)
    said = f"It replaces the version of {date(then.created)}: {count(then.rows)} rows then, {count(now.rows)} now"
    came, went = [name for name in new if name not in old], [name for name in old if name not in new]
    parts = [f"{verb}: {_some(names)}" for verb, names in (("columns that came", came), ("that went", went)) if names]
    return f"{said}; {', '.join(parts) if parts else 'the same columns'}."


def _some(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(f"*{md(cut(name, 60))}*" for name in names[:MOST_NAMED]) + (
        f" and {count(more)} more" if more > 0 else ""
    )


@state.kept(show_spinner="Comparing the two versions", max_entries=8)
def _moved(then: str, now: str) -> Moved:
    return what_moved(state.frame(then), state.frame(now))


def _columns(then: TableAbout, now: TableAbout) -> None:
    """Show how the columns that both have moved, the most moved first, and one of them drawn."""
    moves = _moved(then.id, now.id)
    st.markdown(f"**{md(moves.words())}**")
    for name, old, new in moves.retyped[:MOST_NAMED]:
        st.markdown(f":material/swap_horiz: *{md(cut(name, 60))}* was a {old} and is a {new} now: it is not compared.")
    if len(moves.retyped) > MOST_NAMED:
        st.caption(f"{count(len(moves.retyped) - MOST_NAMED)} more columns changed their type.")
    if not moves.columns:
        return
    frame = moves.frame()
    percent = st.column_config.NumberColumn(format="percent", width=105)
    st.dataframe(
        frame.drop(columns=["type", "p", "p of missing"]).rename(columns=str.capitalize), hide_index=True,
        height=min(38 + 35 * len(frame), 420), alt="One row per column that both versions have, the most moved first.",
        column_config={
            "How": st.column_config.TextColumn(width=260), "Missing then": percent, "Missing now": percent,
            "Distance": st.column_config.NumberColumn(
                format="%.3f", width="small", help="0: the same distribution, 1: nothing in common. Of numbers, the "
                "largest gap between the shares of rows up to a value (Kolmogorov-Smirnov); of levels, the share of "
                "rows in another level (total variation).",
            ),
        },
    )  # fmt: skip
    st.caption(
        "*Moved*: significantly. Where nothing has changed, one table in twenty would have a column called so, "
        "however many columns it has (Holm). Rows that are in both versions make a move look smaller."
        f"{_sampled(then, now)}"
    )
    name = export.file_name(now.name, "what moved", "csv")
    downloads.button("CSV", lambda: export.safe_csv(frame), name, f"moved-csv-{now.id}", ":material/download:")
    _drawn(then, now, moves)


def _sampled(then: TableAbout, now: TableAbout) -> str:
    """Return which of two versions is compared by its sample."""
    parts = [
        f"of {count(table.sampled)} rows {word}" for table, word in ((then, "then"), (now, "now")) if table.sampled
    ]
    return f" Compared on a sample {' and '.join(parts)}." if parts else ""


def _drawn(then: TableAbout, now: TableAbout, moved: Moved) -> None:
    """Show a column's two distributions over each other."""
    columns = {one.name: one for one in moved.columns if one.verdict != "unusable"}
    if not columns:
        return
    chosen = st.selectbox("Column, the most moved first", list(columns), key=f"moved-column-{now.id}")
    one: ColumnMove = columns[chosen]
    assert one.kind is not None
    try:
        drawn = overlay(state.frame(then.id)[chosen], state.frame(now.id)[chosen], one.kind)
    except TableError as error:
        st.caption(md(error))
        return
    st.markdown(md(one.words))
    plot = plots.moved(drawn, cut(f"{chosen}: {one.words}", LONGEST_TITLE))
    cards.figure(plot, f"moved-{now.id}-{chosen}", now.name, titled=False)
