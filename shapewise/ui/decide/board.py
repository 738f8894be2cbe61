"""The priority board on a page: strategies in order of priority, and the reach of each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from gamcore.common.numbers import exact, percent
from gamcore.data.columns import TableError
from gamcore.decide import plots
from gamcore.decide.results import Result
from gamcore.decide.rules import EVERYBODY, Rule, RuleError
from gamcore.decide.strategies import MOST_STRATEGIES, Ledger, Strategy, StrategySet, board_table, worth_of_all
from shapewise.decisions import boards as stored
from shapewise.decisions import money as moneys
from shapewise.decisions.boards import Board
from shapewise.decisions.money import Money
from shapewise.store.workspace import ModelAbout, StoreError
from shapewise.ui.session import dialogs, drafts, state
from shapewise.ui.session.words import count, md
from shapewise.ui.widgets import cards, evidence, meanwhile, reach
from shapewise.ui.widgets import rule_builder as builder
from shapewise.ui.widgets.columns import EXACT, WHOLE_PERCENT
from shapewise.ui.widgets.tiles import result, row, tile

NEXT = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
OWN = "A rule of your own"
LEFT = "What was not saved last time"
BEGUN, ROUND, GATE = "strategy-as-it-was", "strategy-round", "gate-as-it-was"
NEW = ""


def model_of(strategy: Strategy) -> ModelAbout | None:
    """Return the model behind a strategy; None if there is none or it was deleted."""
    try:
        return state.workspace().models.about(strategy.model) if strategy.model else None
    except StoreError:
        return None


def act(identifier: str, change: Callable[[StrategySet], StrategySet]) -> str:
    """Change the stored strategies of a board. Return why this was refused, else ""; the page shows it too."""
    try:
        stored.change(state.workspace(), identifier, strategies=change)
    except (RuleError, StoreError) as error:
        st.session_state["board-refused"] = str(error)
        return str(error)
    return ""


def undo(identifier: str, changed: str) -> None:
    """Undo the latest change of a board, made at a time; the page shows why where that is refused."""
    try:
        stored.undo(state.workspace(), identifier, changed)
    except (RuleError, StoreError) as error:
        st.session_state["board-refused"] = str(error)


def place_of(strategy_set: StrategySet, name: str) -> int:
    """Return the current place of a strategy; StoreError if it was removed from the board."""
    for place, strategy in enumerate(strategy_set.strategies):
        if strategy.name == name:
            return place
    raise StoreError(f"{name} is no longer on this board: somebody removed it.")


def move(identifier: str, name: str, by: int) -> None:
    """Move a strategy by a number of places."""

    def moved(strategy_set: StrategySet) -> StrategySet:
        place = place_of(strategy_set, name)
        return strategy_set.moved(place, place + by)

    act(identifier, moved)


def _remove(identifier: str, name: str) -> None:
    def without(strategy_set: StrategySet) -> StrategySet:
        place = place_of(strategy_set, name)
        return replace(strategy_set, strategies=strategy_set.strategies[:place] + strategy_set.strategies[place + 1 :])

    act(identifier, without)


def funnel(board: Board, strategy_set: StrategySet, ledger: Ledger) -> None:
    """Show whom the strategies reach, as a chart and then in numbers, and what that is worth."""
    priced, money = _priced(board, strategy_set)
    if strategy_set.strategies:
        numbers = board_table(priced.strategies, ledger, money.currency)
        plot = replace(ledger.describe([strategy.name for strategy in strategy_set.strategies]), numbers=numbers)
        cards.figure(plot, f"reach-{board.id}", board.name)
    has_worth = bool(priced.strategies) and all(strategy.value for strategy in priced.strategies)
    at = row()
    reached, eligible = int(ledger.exclusive.sum()), max(ledger.eligible, 1)
    who = md(strategy_set.gate.words(state.names(board.table)))
    tile(at, "All rows", count(ledger.rows), "in the table")
    tile(at, "Eligible", count(ledger.eligible), f"{percent(ledger.eligible / max(ledger.rows, 1))} of all")
    tile(at, "Reached", count(reached), f"{percent(reached / eligible)} of eligible")
    tile(at, "Not reached", count(ledger.remainder), f"{percent(ledger.remainder / eligible)} of eligible")
    if has_worth:
        sums = worth_of_all(list(zip(priced.strategies, map(int, ledger.exclusive), strict=True)), money.currency)
        result(at, "Worth of all", sums,
               hint="Of the customers reached, costs deducted. Where a test measured every lift, with the interval of "
               "the sum; else from the lowest to the highest lifts at once.")  # fmt: skip
    reaches = " + ".join(count(n) for n in [*ledger.exclusive, ledger.remainder])
    adds_up = (
        f" {reaches} = {count(ledger.eligible)}: exclusive reaches and rows not reached add up to the eligible rows."
    )
    st.caption(f":material/filter_alt: **Eligible:** {who}.{adds_up if strategy_set.strategies else ''}")


def change_gate(board: Board, strategy_set: StrategySet) -> None:
    """Show the button that changes who is eligible."""
    if st.button("Who is eligible", icon=":material/filter_alt:", key="change-gate"):
        _begin_gate(strategy_set.gate)
        gate(board)


def _begin_gate(rule: Rule) -> None:
    builder.begin("gate-draft", rule)
    st.session_state[GATE] = rule


@dialogs.dialog("Who is eligible?", width="large")
def gate(board: Board) -> None:
    """Edit the gate of a board in a dialog."""
    st.caption("Only these rows can get a strategy; all other rows stay as they are.")
    now = stored.board(state.workspace(), board.id).read().gate
    is_newer = st.session_state[GATE] != now
    if is_newer:
        _begin_gate(now)
        st.info(f"This was changed elsewhere while it was open. {meanwhile.ANEW}",
                icon=meanwhile.ICON)  # fmt: skip
    if builder.groups_of(now) is None:
        st.caption("The current rule nests deeper than these fields can show: what you set replaces it.")
    rule = builder.edit("gate-draft", board.table)
    if st.button("Set", type="primary", disabled=rule is None) and rule is not None and not is_newer:
        refused = act(board.id, lambda strategy_set: replace(strategy_set, gate=rule))
        if refused:
            st.error(md(refused), icon=":material/error:")
        else:
            st.rerun()


def _priced(board: Board, strategy_set: StrategySet) -> tuple[StrategySet, Money]:
    """Return strategies with what an outcome of each is worth, and the money of the project."""
    money = moneys.of_table(state.workspace(), board.table)
    return moneys.priced(board, strategy_set, money), money


def show(board: Board, strategy_set: StrategySet, ledger: Ledger) -> None:
    """Show a card per strategy."""
    if not strategy_set.strategies:
        st.caption("No strategy yet: add one from a segment, or write a rule.")
    for place, strategy in enumerate(strategy_set.strategies):
        with st.container(border=True):
            _card(board, strategy_set, ledger, place, strategy)


def _card(board: Board, strategy_set: StrategySet, ledger: Ledger, place: int, strategy: Strategy) -> None:
    """Show one strategy."""
    last, names = len(strategy_set.strategies) - 1, [other.name for other in strategy_set.strategies]
    with st.container(horizontal=True, wrap=False):
        with st.container(width="stretch", gap=None):
            st.markdown(f"**{place + 1} · {md(strategy.name)}** &nbsp; {md(strategy.action)}")
            scenario = f" · from *{md(strategy.scenario)}*" if strategy.scenario else ""
            st.caption(f"{md(strategy.rule.words(state.names(board.table)))}{scenario}")
        if place:
            st.button(
                "", icon=":material/arrow_upward:", key=f"Higher-{board.id}-{place}", on_click=move, type="tertiary",
                args=(board.id, strategy.name, -1), help="Higher priority",
                shortcut=f"Alt+{place + 1}" if place < 9 else None,
            )  # fmt: skip
        acts = st.popover("Change", icon=":material/edit:", type="tertiary", key=f"acts-{board.id}-{place}")
    with acts:
        st.button(
            "Lower priority", icon=":material/arrow_downward:", key=f"Lower-{board.id}-{place}", on_click=move,
            disabled=place == last, args=(board.id, strategy.name, 1), width="stretch",
        )  # fmt: skip
        if st.button("Edit", icon=":material/edit:", key=f"edit-{board.id}-{place}", width="stretch"):
            st.session_state.pop("strategy-shown", None)
            change(board, strategy.name)
        st.button(
            "Remove", icon=":material/delete:", key=f"remove-{board.id}-{place}", on_click=_remove, width="stretch",
            args=(board.id, strategy.name), help="Remove from the board; the segment is kept",
        )  # fmt: skip
    at = row()
    tile(
        at,
        "Exclusive reach",
        count(ledger.exclusive[place]),
        f"of {count(ledger.raw[place])} that match",
        border=False,
    )
    lost = [f"{count(ledger.lost_to[place, j])} to {md(names[j])}" for j in range(place) if ledger.lost_to[place, j]]
    tile(at, "Taken by higher", count(ledger.lost[place]), ", ".join(lost) or "none", border=False)
    _opportunity(at, strategy)
    priced, money = _priced(board, strategy_set)
    valued = priced.strategies[place]
    if valued.value:
        worth = valued.worth_of(int(ledger.exclusive[place]), money.currency)
        meant = "" if strategy.tested else " This is arithmetic on assumptions, not a measurement."
        result(
            at, "Worth" if strategy.tested else "Scenario value", worth, border=False,
            hint=f"Exclusive reach × ({md(strategy.today.text)} today × a lift of {md(strategy.lifted.words())} × "
            f"{exact(valued.value)} per outcome - {exact(valued.cost)} per customer).{meant}",
        )  # fmt: skip


def _opportunity(at: st.delta_generator.DeltaGenerator, strategy: Strategy) -> None:
    """Show the held-out evidence for a strategy's segment, from its own model."""
    model = model_of(strategy)
    try:
        measured = reach.evidence(model, strategy.rule) if model is not None else None
    except TableError:
        measured = None
    if measured is None or model is None:
        tile(at, "Opportunity", "not known", "its model is not here", hint=evidence.OPPORTUNITY, border=False)
        return
    measure = state.measure(model)
    if measured.effect is not None:
        result(at, "Measured effect", measured.inside_result(measure), border=False,
               hint=f"{evidence.EFFECT} Before gate and priority.")  # fmt: skip
        return
    result(at, "Opportunity", measured.opportunity_result(measure), border=False,
           hint=f"{evidence.OPPORTUNITY} Over all held-out rows of its model, before gate and priority.")  # fmt: skip
    tile(at, "Model contrast", measured.contrast_result(measure).text, evidence.agreeing(measured),
         hint=evidence.CONTRAST, border=False)  # fmt: skip


@dialogs.dialog("Change a strategy", width="large")
def change(board: Board, name: str) -> None:
    """Edit all fields of a strategy in a dialog, which begins with what was typed and not saved, until it is."""
    try:
        strategy_set = stored.board(state.workspace(), board.id).read()
        strategy = strategy_set.strategies[place_of(strategy_set, name)]
    except StoreError as error:
        st.error(md(error), icon=":material/error:")
        return
    if "strategy-shown" not in st.session_state:  # just opened: below, each key that is typed changes what is kept
        st.session_state[LEFT], st.session_state[BEGUN] = _unsaved(board).get(name), strategy
    is_newer = st.session_state[BEGUN] != strategy
    if is_newer:  # somebody else has changed it since this was opened
        st.session_state[LEFT], st.session_state[BEGUN] = None, strategy
        st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    left = st.session_state[LEFT]
    key = f"change-{board.id}-{name}{'' if left is None else '-left'}{st.session_state.get(ROUND, '')}"
    if st.session_state.get("strategy-shown") != key:
        builder.begin("strategy-draft", (left or strategy).rule)
        st.session_state["strategy-shown"] = key
    if is_newer:
        st.info(f"{md(name)} was changed elsewhere while this was open. {meanwhile.ANEW}", icon=meanwhile.ICON)
    if left is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("This begins with what was not saved last time.")
            st.button("Begin with what is saved", type="tertiary", on_click=_begin_anew, args=(board, name))
    changed = fields(left or strategy, key, board.table, _inside(strategy))
    if changed not in (None, left or strategy):
        _keep(board, name, None if changed == strategy else changed)

    def put(now: StrategySet, changed_strategy: Strategy) -> StrategySet:
        place = place_of(now, name)
        if now.strategies[place] != strategy:
            raise StoreError(f"{name} was changed elsewhere just now: press Save again where yours is to stay.")
        return replace(now, strategies=(*now.strategies[:place], changed_strategy, *now.strategies[place + 1 :]))

    _save(board, None if is_newer else changed, put, lambda: _keep(board, name, None))


def _unsaved(board: Board) -> dict[str, Strategy]:
    """Return what this person has typed and not saved: by the name of the strategy, NEW for one more."""
    unsaved = {}
    for name, plain in (drafts.read("boards", board.id) or {}).items():
        with contextlib.suppress(RuleError):  # a name that was emptied, or one from another version of the app
            unsaved[name] = Strategy.from_dict(plain)
    return unsaved


def _keep(board: Board, name: str, changed: Strategy | None) -> None:
    """Keep what has been typed of a strategy, or forget it (None)."""
    unsaved = {key: strategy.to_dict() for key, strategy in _unsaved(board).items() if key != name}
    unsaved |= {} if changed is None else {name: changed.to_dict()}
    drafts.keep("boards", board.id, unsaved or None)


def _begin_anew(board: Board, name: str) -> None:
    """Forget what was typed of a strategy, and begin with what is saved."""
    _keep(board, name, None)
    del st.session_state["strategy-shown"]


def _save(
    board: Board, changed: Strategy | None, put: Callable[[StrategySet, Strategy], StrategySet],
    then: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Show the Save button; on click, store the strategy, and do what is to be done once it is."""
    if not st.button("Save", type="primary", disabled=changed is None) or changed is None:
        return
    refused = act(board.id, lambda strategy_set: put(strategy_set, changed))
    if refused:
        st.error(md(refused), icon=":material/error:")
        return
    then()
    st.rerun()


def _inside(strategy: Strategy) -> Result | None:
    """Return what was observed of a strategy's metric in the held-out rows of its segment; None where its model is not
    of that metric, or not here."""
    model = model_of(strategy)
    if model is None or state.outcome(model) != strategy.metric:
        return None
    try:
        facts = reach.evidence(model, strategy.rule)
    except TableError:
        return None
    return None if facts is None or facts.effect is not None else facts.per_row(state.measure(model))


def _today(base: float, inside: Result | None) -> None:
    """Say what was observed of the rate of today, and whether what was typed is far from it."""
    if inside is None or not inside.is_known:
        return
    low, high = inside.interval
    far = inside.has_interval and not low <= base <= high
    typed = f" The rate above, {replace(inside, value=base).text}, is outside." if far else ""
    st.caption(f"{':material/warning: ' * far}Inside: {md(inside.sentence())}.{typed}")


def fields(strategy: Strategy, key: str, table: str, inside: Result | None = None) -> Strategy | None:
    """Show the fields of a strategy, and return it; None while its rule or lifts are not valid. inside : what was
    observed of its metric in its segment."""
    left, right = st.columns([1, 3])
    name = left.text_input("Name", strategy.name, key=f"{key}-name", max_chars=60)
    action = right.text_input(
        "Action, in words", strategy.action, key=f"{key}-action", max_chars=200, placeholder="What they get"
    )
    rule: Rule | None = strategy.rule
    nested = builder.groups_of(strategy.rule) is None
    with st.expander(
        f"Who: {md(strategy.rule.words(state.names(table)))}",
        expanded=not strategy.rule.columns and not strategy.action,
    ):
        if nested:
            st.caption("This rule nests deeper than these fields can show: change it as JSON.")
        else:
            rule = builder.edit("strategy-draft", table)
    a, b, c, d = st.columns(4)
    metric = a.text_input("Metric to move", strategy.metric, key=f"{key}-metric")
    base = b.number_input(
        "Rate today", 0.0, value=strategy.base, step=0.01, key=f"{key}-base", format=EXACT, help="Or mean."
    )
    money = moneys.of_table(state.workspace(), table)
    value = c.number_input(
        "Value per conversion", value=strategy.value, key=f"{key}-value", format=EXACT,
        help=f"0 for what the project has: {exact(money.of(metric.strip()))}.",
    )  # fmt: skip
    cost = d.number_input(
        "Cost per customer", value=strategy.cost, key=f"{key}-cost", format=EXACT,
        help=f"0 for what the project has: {exact(money.cost)}.",
    )  # fmt: skip
    _today(base, inside)
    if strategy.tested:
        st.caption(f"The lifts were {strategy.lifted.grounds}. If you change them, they are assumed.")
    else:
        st.caption("Relative lifts are your assumptions: no model knows them, only an experiment measures them.")
    row = st.columns(3)
    lifts = [
        _lift(column, label, lift, f"{key}-{label}")
        for column, label, lift in zip(row, ("Low", "Mid", "High"), strategy.lift, strict=True)
    ]
    if sorted(lifts) != lifts:
        st.error("Low, mid and high must be in ascending order.", icon=":material/error:")
        return None
    if rule is None:
        st.caption("Complete the rule first.")
        return None
    same = (metric.strip(), base, lifts) == (strategy.metric, strategy.base, list(strategy.lift))
    return replace(
        strategy, name=" ".join(name.split()), action=action.strip(), rule=rule,
        tested=strategy.tested if same else 0, metric=metric.strip() or "conversion",
        base=base, value=value, cost=cost, lift=(lifts[0], lifts[1], lifts[2]),
    )  # fmt: skip


def _lift(column: st.delta_generator.DeltaGenerator, label: str, lift: float, key: str) -> float:
    """Show a relative lift as a slider in percent, and return it; if not moved, it keeps all its digits."""
    percent = round(100 * lift)
    percent_now = column.slider(label, min(-50, percent), max(200, percent), percent, format=WHOLE_PERCENT, key=key)
    return lift if percent_now == percent else percent_now / 100


def next_name(strategy_set: StrategySet) -> str:
    """Return the first unused letter as a name."""
    taken = {strategy.name for strategy in strategy_set.strategies}
    return next((letter for letter in NEXT if letter not in taken), f"S{len(taken) + 1}")


@dialogs.dialog("Add a strategy", width="large")
def add(board: Board) -> None:
    """Add a strategy from a saved segment, a suggested one, or an own rule; what was typed and not saved is one more to
    begin with, until it is."""
    strategy_set = stored.board(state.workspace(), board.id).read()
    if len(strategy_set.strategies) >= MOST_STRATEGIES:
        st.caption(f"A board has at most {MOST_STRATEGIES} strategies: join some.")
        return
    if "strategy-shown" not in st.session_state:  # just opened: below, each key that is typed changes what is kept
        st.session_state[LEFT] = _unsaved(board).get(NEW)
    known, left = _beginnings(board, strategy_set), st.session_state.get(LEFT)
    if left is not None:
        known = {LEFT: left, **known}
    first = 0 if left is not None else min(1, len(known) - 1)
    chosen = st.selectbox("From", list(known), first, key=f"add-from-{board.id}")
    key = f"add-{board.id}-{len(strategy_set.strategies)}-{chosen}"
    if st.session_state.get("strategy-shown") != key:
        builder.begin("strategy-draft", known[chosen].rule)
        st.session_state["strategy-shown"] = key
    changed = fields(known[chosen], key, board.table, _inside(known[chosen]))
    if changed not in (None, known[chosen]):
        _keep(board, NEW, changed)

    def put(now: StrategySet, strategy: Strategy) -> StrategySet:
        return replace(now, strategies=(*now.strategies, strategy))

    _save(board, changed, put, lambda: _keep(board, NEW, None))


def _beginnings(board: Board, strategy_set: StrategySet) -> dict[str, Strategy]:
    """Return what a new strategy can begin with, by label."""
    known: dict[str, Strategy] = {OWN: Strategy(next_name(strategy_set), EVERYBODY)}
    models = {model.id: model for model in state.workspace().models.listed()
              if model.table == board.table and not model.of_tasks}  # fmt: skip
    for kept in reversed(stored.segments(state.workspace(), board.table)):
        metric = kept.metric or (models[kept.model].target if kept.model in models else "")
        about = stored.strategy_for(
            next_name(strategy_set),
            kept.read(),
            metric,
            scenario=(kept.model, kept.scenario),
            evidence=kept.known_evidence(),
        )
        known.setdefault(f"{kept.name} (saved from {kept.scenario})", about)
    for model in models.values():
        for segment in reach.suggested(model)[:12]:
            word = "above" if segment.evidence.opportunity > 0 else "below"  # as its rate, which stands beside it
            rule = reach.rounded(board.table, segment.rule)
            label = f"{rule.words(state.names(board.table))} ({word} average in {model.name})"
            about = stored.strategy_for(
                next_name(strategy_set), rule, state.outcome(model), scenario=(model.id, model.name),
                evidence=reach.evidence(model, rule) if rule != segment.rule else segment.evidence,
            )  # fmt: skip
            known.setdefault(label, about)
    return known


def overlaps(board: Board, strategy_set: StrategySet, ledger: Ledger) -> None:
    """Show how rules overlap, before priority."""
    names = [strategy.name for strategy in strategy_set.strategies]
    if len(names) < 2:
        st.caption("Two strategies can overlap: add another.")
        return
    cards.figure(plots.overlap(ledger, names), f"overlap-{board.id}", board.name, titled=False)
    st.caption("Eligible rows that both rules match, and their share of the rows of the rule on the left.")
