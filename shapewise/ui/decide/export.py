"""Export of a board: sensitive features, parity of reach, and the rules as JSON, SQL and Python."""

from __future__ import annotations

import json
import math
from functools import partial

import pandas as pd
import streamlit as st

from gamcore.common.numbers import exact, fixed
from gamcore.data.column_names import Names, free_name
from gamcore.data.columns import TableError
from gamcore.decide.fairness import ANY, FOUR_FIFTHS, GROUP, ROWS, parity, sensitive
from gamcore.decide.rules import RuleError
from gamcore.decide.rules_code import COLUMN, kinds_of, to_python, to_sql
from gamcore.decide.strategies import StrategySet
from gamcore.viz import files as export
from shapewise.decisions import boards as stored
from shapewise.decisions.boards import Board
from shapewise.decisions.proof import Proof, ProofError, prove
from shapewise.ui.session import dialogs, state
from shapewise.ui.session.words import counted, md
from shapewise.ui.widgets import boards, downloads
from shapewise.ui.widgets.columns import COUNT, PERCENT, hundredfold


def flags(strategy_set: StrategySet) -> dict[str, str]:
    """Return the sensitive columns that the rules use."""
    return sensitive(list(strategy_set.cascade().columns))


def warn(strategy_set: StrategySet, named: Names) -> None:
    """Show which sensitive features decide who gets what."""
    used = flags(strategy_set)
    if not used:
        st.caption("No rule uses a column whose name suggests sex, age, origin, belief, family, health or place.")
        return
    columns = "; ".join(f"{md(named.column(column))} ({what})" for column, what in used.items())
    by = [strategy.name for strategy in strategy_set.strategies if set(strategy.rule.columns) & set(used)]
    st.warning(
        f"Sensitive features decide who gets {md(' and '.join(by)) or 'in'}: {columns}. Get this approved before "
        "you roll it out.", icon=":material/shield_person:",
    )  # fmt: skip


def alike(board: Board, strategy_set: StrategySet) -> None:
    """Show the sensitive features in use, and the share of each group that is reached."""
    warn(strategy_set, state.names(board.table))
    frame = state.frame(board.table)
    columns = list(frame.columns)
    known = sensitive(columns)
    by = st.selectbox(
        "Reach by groups of", [*known, *(name for name in columns if name not in known)], key=f"parity-{board.id}",
        format_func=state.names(board.table).column,
        help="Sensitive columns first. Numeric columns are split into four groups of equal size.",
    )  # fmt: skip
    names = [strategy.name for strategy in strategy_set.strategies]
    try:
        rates = _parity(board.table, json.dumps(strategy_set.to_dict()), by)
    except (TableError, ValueError) as error:
        st.error(md(error), icon=":material/error:")
        return
    named = partial(state.names(board.table).level, by)
    attributes, rates = rates.attrs, rates.assign(**{GROUP: rates[GROUP].astype(str).map(named)})
    st.dataframe(
        hundredfold(rates, [*names, ANY]), hide_index=True, alt="Share of each group that each strategy reaches.",
        column_config={
            **{name: st.column_config.NumberColumn(format=PERCENT) for name in names},
            ANY: st.column_config.NumberColumn("any strategy", format=PERCENT),
            GROUP: st.column_config.TextColumn(state.names(board.table).column(by)),
            ROWS: st.column_config.NumberColumn("eligible rows", format=COUNT),
        },
    )  # fmt: skip
    low = [(name, ratio) for name, ratio in attributes["ratio"].items() if ratio < FOUR_FIFTHS]
    if low:
        words = ", ".join(f"{'any strategy' if name == ANY else md(name)} {fixed(ratio, 2)}" for name, ratio in low)
        st.caption(
            f":material/warning: Lowest share divided by highest, over groups of at least 30 rows: {words}. Below "
            f"{exact(FOUR_FIFTHS)}, the four-fifths rule asks for a reason."
        )
    elif any(math.isnan(ratio) for ratio in attributes["ratio"].values()):
        st.caption(
            "Parity cannot be assessed: fewer than two groups of 30 eligible rows, or a strategy reaches nobody."
        )
    else:
        st.caption(
            f"For every strategy, the lowest share is at least {exact(FOUR_FIFTHS)} of the highest (four-fifths rule)."
        )


@state.kept(show_spinner=False, max_entries=16)
def _parity(table: str, strategy_set: str, column: str) -> pd.DataFrame:
    read = StrategySet.from_dict(json.loads(strategy_set))
    frame = state.rows_of(table, [column, *read.cascade().columns])
    return parity(state.table(table), column, read.assign(frame), [strategy.name for strategy in read.strategies])


@state.kept(show_spinner="Running both exports on the table", max_entries=8)
def _proof(table: str, strategy_set: str) -> Proof:
    return prove(
        StrategySet.from_dict(json.loads(strategy_set)), state.table(table, {}).frame, state.names(table).codes()
    )


def files(board: Board, strategy_set: StrategySet) -> None:
    """Show the three files, and a check that they agree."""
    table = state.workspace().tables.about(board.table)
    cascade, as_text = (
        strategy_set.cascade().on_codes(state.names(board.table).codes()),
        json.dumps(strategy_set.to_dict(), ensure_ascii=False, indent=1),
    )
    try:
        kinds = kinds_of(state.frame(board.table), cascade.columns)
        alias = free_name(state.columns(board.table), COLUMN)
        sql, python = to_sql(cascade, table.name, kinds, alias), to_python(cascade, kinds)
    except (RuleError, KeyError) as error:
        st.error(f"These strategies cannot be exported for this table: {md(error)}", icon=":material/error:")
        return
    with st.container(horizontal=True):
        for label, text, ending in (("JSON", as_text, "json"), ("SQL", sql, "sql"), ("Python", python, "py")):
            name = export.file_name(board.name, "strategies", ending)
            downloads.button(label, text.encode, name, f"{label}-{board.id}", ":material/download:")
        key = f"proved-{board.id}"
        if st.button("Check them on this table", icon=":material/rule:", key=f"prove-{board.id}"):
            st.session_state[key] = as_text
    if st.session_state.get(key) == as_text:
        try:
            proof = _proof(board.table, json.dumps(strategy_set.to_dict()))
        except ProofError as error:
            st.error(md(error), icon=":material/error:")
            return
        st.dataframe(proof.counts, hide_index=True, alt="Rows of each strategy as board, SQL and Python count them.")
        rows = f"{counted(table.sampled, 'row')} of the sample" if table.sampled else counted(table.rows, "row")
        if proof.same:
            st.success(
                f"Each of the {rows} has the same strategy on the board, by the SQL (run in SQLite) "
                "and by the Python module (run as a program).", icon=":material/check_circle:",
            )  # fmt: skip
        else:
            st.error("The exports differ from the board: do not use them, and report this.", icon=":material/error:")
    with st.expander("SQL"):
        st.code(sql, language="sql")
    with st.expander("Python"):
        st.code(python, language="python")


@dialogs.dialog("Import strategies")
def bring(table: str) -> None:
    """Import a JSON file of strategies as a new board."""
    file = st.file_uploader("A file that was exported as JSON", type=["json"])
    if file is None:
        return
    try:
        strategy_set = StrategySet.from_dict(json.loads(file.getvalue().decode("utf-8")))
        strategy_set.ledger(state.frame(table).head(100))
    except UnicodeDecodeError:
        st.error("The file is not UTF-8 text: export it again.", icon=":material/error:")
    except json.JSONDecodeError as error:
        st.error(f"The file is not JSON: line {error.lineno}, column {error.colno}.", icon=":material/error:")
    except (RuleError, TableError) as error:
        st.error(md(error), icon=":material/error:")
    except (ValueError, RecursionError):
        st.error(
            "The file has numbers that are too large, or is nested too deeply: export it again.",
            icon=":material/error:",
        )
    else:
        board = stored.add_board(state.workspace(), strategy_set, table)
        boards.open_board(board.id)
        st.rerun()
