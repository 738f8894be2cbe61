"""Versions of a table on a page: loading a newer one, and what changed since the older one."""

from __future__ import annotations

from functools import partial

import streamlit as st

from gamcore.data.columns import TableError
from gamcore.data.labels import cut
from gamcore.explain.shown import shown
from gamcore.stats.column_drift import ColumnMove, Moved, what_moved
from gamcore.stats.histograms import overlay
from gamcore.viz import files as export
from shapewise.store.workspace import TableAbout
from shapewise.training import carry_over as versions
from shapewise.ui.data import loading
from shapewise.ui.data import retrained as renewed
from shapewise.ui.data.keeping import as_newer
from shapewise.ui.session import current, dialogs, state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import count, counted, date, md
from shapewise.ui.widgets import cards, downloads
from shapewise.ui.widgets.columns import METRIC, PERCENT, hundredfold

MOST_NAMED = 5
MOST_SAID = 2
LONGEST_TITLE = 150


@dialogs.dialog("Load a newer version", width="large")
def dialog(table: TableAbout) -> None:
    """Show the ways to load a newer version of a table."""
    st.caption(
        f"It is stored beside this version, also as {md(table.name)}, with the same roles and the same rule for "
        "held-out rows. This version and its models stay until deleted."
    )
    loading.upload("", partial(as_newer, table))
    loading.from_server(partial(as_newer, table))


def choose(now: InView) -> None:
    """Choose among the versions of the table in view, if there are several."""
    if now.project is None or now.table is None or len(now.project.tables) < 2:
        return
    labels = {
        table.id: f"Version {now.project.version(table.id)}, {date(table.created)}, {counted(table.rows, 'row')}"
        f"{_computed_columns(table)}"
        for table in now.project.tables
    }
    newest = now.project.tables[0].id
    labels[newest] += " (newest)"
    chosen = st.selectbox("Version", list(labels), list(labels).index(now.table.id), format_func=labels.__getitem__)
    if chosen != now.table.id:
        current.open_table(chosen)
        st.rerun()


def _computed_columns(table: TableAbout) -> str:
    """Return in words which columns a version has beside those that were loaded."""
    names = [step["column"] for step in table.steps]
    if not names:
        return ""
    more = f" and {len(names) - MOST_SAID} more" if len(names) > MOST_SAID else ""
    return f", with {', '.join(cut(name, 30) for name in names[:MOST_SAID])}{more}"


def show(table: TableAbout) -> None:
    """Show what changed since the version that a table replaces; nothing if that was deleted."""
    before = versions.older(state.workspace().tables.listed(), table.id)
    if not before:
        return
    then = before[0]
    st.subheader("What moved", anchor=False)
    st.markdown(_line(then, table))
    box = st.expander("Columns and their distributions", key=f"moved-{table.id}", on_change="rerun")
    if box.open:  # read the older version only when open
        with box:
            _columns(then, table)
    box = st.expander("Models and their curves", key=f"renewed-{table.id}", on_change="rerun")
    if box.open:
        with box:
            renewed.show(then, table)


def _line(then: TableAbout, now: TableAbout) -> str:
    """Return in words how rows and columns changed."""
    old, new = state.columns(then.id), state.columns(now.id)
    replaced = f"It replaces the version of {date(then.created)}: {count(then.rows)} rows then, {count(now.rows)} now"
    came, went = [name for name in new if name not in old], [name for name in old if name not in new]
    parts = [f"{verb}: {_some(names)}" for verb, names in (("new columns", came), ("removed columns", went)) if names]
    return f"{replaced}; {', '.join(parts) if parts else 'the same columns'}."


def _some(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(f"*{md(cut(name, 60))}*" for name in names[:MOST_NAMED]) + (
        f" and {count(more)} more" if more > 0 else ""
    )


@state.kept(show_spinner="Comparing the two versions", max_entries=8)
def _moved(then: str, now: str) -> Moved:
    return what_moved(state.frame(then), state.frame(now))


def _columns(then: TableAbout, now: TableAbout) -> None:
    """Show the drift of the columns in both versions, largest first, and a plot of one."""
    raw = _moved(then.id, now.id)
    moves = shown(raw, state.names(now.id))
    st.markdown(f"**{md(moves.words())}**")
    for name, old, new in moves.retyped[:MOST_NAMED]:
        st.markdown(f":material/swap_horiz: *{md(cut(name, 60))}* was a {old} and is now a {new}: it is not compared.")
    if len(moves.retyped) > MOST_NAMED:
        st.caption(f"{counted(len(moves.retyped) - MOST_NAMED, 'more column')} changed their type.")
    if not moves.columns:
        return
    frame = moves.frame()
    listed = hundredfold(frame, ["missing then", "missing now"]).drop(columns=["type", "p", "p of missing"])
    percent = st.column_config.NumberColumn(format=PERCENT, width=105)
    st.dataframe(
        listed.rename(columns=str.capitalize), hide_index=True,
        height=min(38 + 35 * len(frame), 420), alt="One row per column that both versions have, the most moved first.",
        column_config={
            "How": st.column_config.TextColumn(width=260), "Missing then": percent, "Missing now": percent,
            "Distance": st.column_config.NumberColumn(
                format=METRIC, width="small", help="0: the same distribution, 1: no overlap. For numbers, the "
                "largest gap between the cumulative shares of rows (Kolmogorov-Smirnov); for levels, the share of "
                "rows that would have to change level (total variation).",
            ),
        },
    )  # fmt: skip
    st.caption(
        "*Moved*: significant at 5% after Holm's correction: if nothing has changed, one table in twenty has a column "
        "marked so, however many columns it has. Rows in both versions make a move look smaller."
        f"{_sampled(then, now)}"
    )
    name = export.file_name(now.name, "what moved", "csv")
    downloads.button("CSV", lambda: export.safe_csv(frame), name, f"moved-csv-{now.id}", ":material/download:")
    _drawn(then, now, raw)


def _sampled(then: TableAbout, now: TableAbout) -> str:
    """Return in words which of the two versions are compared on a sample."""
    parts = [
        f"of {counted(table.sampled, 'row')} {word}" for table, word in ((then, "then"), (now, "now")) if table.sampled
    ]
    return f" Compared on a sample {' and '.join(parts)}." if parts else ""


def _drawn(then: TableAbout, now: TableAbout, moved: Moved) -> None:
    """Show a column's two distributions overlaid."""
    columns = {move.name: move for move in moved.columns if move.verdict != "unusable"}
    if not columns:
        return
    named = state.names(now.id)
    chosen = st.selectbox(
        "Column, the most moved first", list(columns), key=f"moved-column-{now.id}", format_func=named.column
    )
    move: ColumnMove = columns[chosen]
    assert move.kind is not None
    try:
        drawn = overlay(state.frame(then.id)[chosen], state.frame(now.id)[chosen], move.kind)
    except TableError as error:
        st.caption(md(error))
        return
    st.markdown(md(move.words))
    plot = shown(drawn, named).describe(cut(f"{named.column(chosen)}: {move.words}", LONGEST_TITLE))
    cards.figure(plot, f"moved-{now.id}-{chosen}", now.name, titled=False)
