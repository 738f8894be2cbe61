"""The plan of a test on a page: what to measure, how long it takes, and the lift that shows by day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
import streamlit as st

from gamcore.common.numbers import percent
from gamcore.data.column_names import Names
from gamcore.data.columns import TableError
from gamcore.data.labels import listed
from gamcore.data.table import Table
from gamcore.decide.arms_plan import ExperimentPlan, weeks_in_words
from gamcore.decide.arrivals import WEEK
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.outcomes import Outcome
from gamcore.decide.plots.plans import LOOKS
from gamcore.decide.strategies import Ledger, StrategySet
from gamcore.viz import files as export
from shapewise.decisions import arm_tests, plans
from shapewise.decisions import boards as stored
from shapewise.decisions.boards import Board
from shapewise.store.workspace import TableAbout
from shapewise.ui.decide import made_outcomes, plan_form
from shapewise.ui.session import seen, state
from shapewise.ui.session.words import count, counted, md
from shapewise.ui.widgets import cards, chart, downloads, meanwhile
from shapewise.ui.widgets.tiles import row, tile

Form = dict[str, Any]
PLAN, FORM = ("plan",), ("form",)
"""Parts of a board, and of the plan of a table, that the form of a plan stores."""
FEW = 6
"""Comparisons that are listed below the chart at once."""


def show(board: Board, strategy_set: StrategySet, ledger: Ledger, is_new: bool) -> None:
    """Show the form of a board's plan, and its result. is_new : whether the strategies were never shown before, as
    somebody else has just changed them."""
    names, place = state.names(board.table), chart.first()
    rows = state.table(board.table)
    form = plans.form_of(board.plan, plans.proposed(strategy_set, rows))
    key = board.id + meanwhile.form("boards", asdict(board), PLAN)

    def save(new: Form) -> None:
        now = stored.board(state.workspace(), board.id)
        if seen.is_current(board.id, asdict(now), PLAN):  # a press may come before the page has seen it
            stored.change(state.workspace(), board.id, plan=new)

    with place.options:
        changed = plan_form.edited(key, form, names, rows, of_board=True)
        plan_form.keep(key, form, changed, save)
        _add(key, rows, {**form, **changed}, names, save)
    who = [f"Eligible: {md(strategy_set.gate.words(names))}."]
    for k, strategy in enumerate(strategy_set.strategies, 1):
        action = md(strategy.action) or "no action yet"
        who.append(f"{k}. **{md(strategy.name)}**: {action}; who: {md(strategy.rule.words(names))}")
    others = plans.otherwise(changed, strategy_set)
    if others:
        st.caption(
            f":material/info: On the board, {md(listed(others))} {'has' if len(others) == 1 else 'have'} another rate "
            "today. Empty *Today* to plan each strategy with its own."
        )
    if _result(board.id, board.name, lambda: plans.planned(changed, strategy_set, ledger, names), who, place):
        _start(board, strategy_set, {**form, **changed}, is_new)


def show_table(table: TableAbout, rows: Table) -> None:
    """Show the plan of a test of a table's customers, without strategies."""
    kept = next(iter(plans.plans(state.workspace(), table.id)), None)
    form = plans.form_of(kept.form if kept else {}, [] if kept else plans.likely_metrics(rows))
    own = kept is None or state.mine(plans.KIND, kept.id)

    def save(new: Form) -> None:
        now = next(iter(plans.plans(state.workspace(), table.id)), None)
        current = seen.is_current(only, asdict(now) if now else {}, FORM)
        if own and current and state.workspace().may("create"):
            plans.keep(state.workspace(), table.id, f"Plan on {table.name}", new, kept.id if kept else "")

    only = seen.only_of(plans.KIND, table.id)
    begun = meanwhile.form(plans.KIND, asdict(kept) if kept else {}, FORM, only)
    key, names, place = f"plan-{table.id}{begun}", state.names(table.id), chart.first()
    with place.options:
        changed = plan_form.edited(key, form, names, rows, of_board=False)
    plan_form.keep(key, form, changed, save)
    with place.options:
        _add(key, rows, {**form, **changed}, names, save)
    _result(key, table.name, lambda: plans.planned_for_all(plans.named(changed, names)), [], place)


def _add(key: str, rows: Table, changed: Form, names: Names, save: Callable[[Form], Any]) -> None:
    """Offer a column of the table, or what is made of columns, as a metric, with what it is today."""
    there = {row["metric"] for row in changed["metrics"]}
    columns = arm_tests.possible_outcomes(rows, "")

    def add(outcome: Outcome | None = None) -> None:
        outcome = outcome or Outcome(st.session_state[f"add-{key}"] or "")
        if outcome.name in there or outcome.column not in columns:  # a browser may send again what was added before
            return
        try:
            row = plans.metric_of(rows, outcome)
        except (ExperimentError, TableError) as error:
            st.toast(md(error), icon=":material/error:")
            return
        save({**changed, "metrics": [*changed["metrics"], row]})
        for name in (f"metrics-{key}", f"metrics-{key}-began", f"plan-seen-{key}", f"add-{key}"):
            st.session_state.pop(name, None)

    if not columns:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Add a column of the table", [name for name in columns if name not in there], None, key=f"add-{key}",
            on_change=add, width=320, placeholder="Add a column of the table", label_visibility="collapsed",
            format_func=names.column,
        )  # fmt: skip
        made_outcomes.make(f"plan-{key}", columns, names, add)


def _start(board: Board, strategy_set: StrategySet, form: Form, is_new: bool) -> None:
    """Show the button that freezes the board for the test: the read-out must assign customers as the test did."""
    tested = form.get("tested")
    with st.container(horizontal=True, vertical_alignment="center"):
        if tested == strategy_set.to_dict():
            st.caption(":material/check: The test runs with this board. The read-out uses it as it is.")
            return
        if tested is None:
            st.caption("Freeze this board as the test plan. The read-out then uses it, whatever you change later.")
        else:
            st.caption(
                ":material/warning: The board has changed since the test began. The read-out uses the earlier version."
            )
        if (
            st.button(
                "Start test" if tested is None else "Restart with this board",
                icon=":material/flag:",
                key=f"start-test-{board.id}",
            )
            and not is_new
        ):
            stored.change(state.workspace(), board.id, plan={**form, "tested": strategy_set.to_dict()})
            st.rerun()


def _result(key: str, name: str, make: Callable[[], ExperimentPlan], who: Sequence[str], place: chart.Place) -> bool:
    """Show the detectable lift by days, weeks and customers, and what each arm needs; False if there is no plan."""
    try:
        plan = make()
    except ExperimentError as error:
        st.error(md(error), icon=":material/error:")
        return False
    shown = plan.metrics[0]
    if len(plan.metrics) > 1:
        shown = place.options.segmented_control(
            "Metric", plan.metrics, default=shown, required=True, key=f"by-day-{key}", format_func=md
        )
    cards.figure(plan.describe(shown), f"by-day-{key}-{shown}", name, at=place)
    _tiles(plan)
    seen = plan.by_week_table(shown)
    if len(seen):
        st.markdown("**What could be seen by when**")
        st.dataframe(seen, hide_index=True, alt=f"The smallest lift of {shown} that could be seen, by weeks.")
    with st.expander("What each comparison needs") if len(plan.rows) > FEW else st.container():
        table = plan.table()
        st.dataframe(
            table, hide_index=True, alt="Customers and days that each comparison needs.",
            height=38 + 35 * min(len(table), 30),
        )  # fmt: skip
    _notes(plan)
    with st.container(horizontal=True):
        downloads.button(
            "CSV", lambda: export.safe_csv(pd.concat([plan.frame(), plan.found_in(LOOKS)], ignore_index=True)),
            export.file_name(name, "plan", "csv"), f"plan-csv-{key}", ":material/download:",
        )  # fmt: skip
        downloads.button(
            "One page", lambda: page(name, plan, who).encode(), name=export.file_name(name, "plan", "md"),
            key=f"plan-md-{key}", icon=":material/download:", tip="The plan as text, to agree on before the test.",
        )  # fmt: skip
    return True


def _tiles(plan: ExperimentPlan) -> None:
    """Show weeks, customers and comparisons."""
    dates = plan.arrivals.last(WEEK * plan.weeks) if plan.days else None
    at = row()
    if plan.days:
        once = f", {count(plan.once)} if read once" if plan.once else ""
        tile(at, "Weeks", count(plan.weeks), f"{'at most ' * bool(plan.once)}{counted(plan.days, 'day')}{once}")
        tile(at, "Customers", count(plan.customers), "in all arms")
        if dates is not None:
            tile(at, "Until", str(dates), f"from {plan.arrivals.first}")
    else:
        tile(at, "Weeks", "never", "nobody is reached")
    over = f"5% / {plan.tests} (Holm)" if plan.adjustment == "Holm" else "5% (Dunnett)"
    tile(at, "Comparisons", count(plan.tests), over,
         hint="Arms × metrics, and × strategies, without expected nulls. The chance of any false positive stays at 5%."
         if plan.adjustment == "Holm" else "Arms of each metric: the chance of any false positive among them is 5%.",
         )  # fmt: skip


def _notes(plan: ExperimentPlan) -> None:
    """Say who is left out, and how the numbers are meant."""
    never = list(dict.fromkeys(row.strategy for row in plan.rows if not row.feasible))
    if never:
        st.caption(
            f":material/warning: Nobody is left for {md(', '.join(never))}: higher strategies take everybody, or no "
            "row matches."
        )
    if plan.once:
        st.caption(f"{percent(plan.power, 0)} power by the planned end, two-sided. {plan.looking()}")
        return
    st.caption(
        f"{percent(plan.power, 0)} power, two-sided. Read it once, after whole weeks: checking every day until "
        "something is significant gives false positives."
    )


def _lines(table: pd.DataFrame) -> list[str]:
    """Return a table as lines of Markdown."""
    head = [f"| {' | '.join(map(md, table.columns))} |", "|---" * table.shape[1] + "|"]
    return head + [f"| {' | '.join(md(cell) for cell in row)} |" for row in table.itertuples(index=False)]


def page(name: str, plan: ExperimentPlan, who: Sequence[str]) -> str:
    """Return the plan as one page of Markdown. who : lines that say who gets what."""
    table = plan.table()
    lines = [f"# Test plan: {md(name)}", "", f"Arms: {md(plan.split())}. The first is the control.", "", *who, ""]
    dates = plan.dates(WEEK * plan.weeks)
    when = f", {dates}" if dates else ""
    length = f"{weeks_in_words(plan.weeks)}{when} ({counted(plan.days, 'day')} for the slowest primary metric)"
    lines += [f"Length: {length if plan.days else 'never, as nobody is reached'}.", ""]
    lines += _lines(table)
    for metric in plan.metrics:
        lines += ["", f"What could be seen of {md(metric)} by when:", "", *_lines(plan.by_week_table(metric))]
    over = f"{plan.adjustment} over {counted(plan.tests, 'comparison')} at 5%"
    lines += [
        "", f"Power {percent(plan.power, 0)}; two-sided; {over}. First the sample ratio (no verdict below p = .001); "
        f"expected nulls check the set-up. {plan.looking()}", "",
    ]  # fmt: skip
    return "\n".join(lines)
