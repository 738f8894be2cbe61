"""Segments and boards in the workspace, the guided example, the proof of exports, and their figures."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import update

from gamcore.data.column_names import PLAIN
from gamcore.decide import plots as decide_plots
from gamcore.decide.rules import EVERYBODY, All, AnyOf, Levels, Missing, Not, Range, RuleError
from gamcore.decide.segments import HeldOutRows
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.explain import plots as explain_plots
from gamcore.explain.curves import explain_shape
from gamcore.viz import plotly_figures as figures
from shapewise.decisions import boards as board
from shapewise.decisions import guided_example as example
from shapewise.decisions import proof
from shapewise.store import database as meta
from shapewise.store.workspace import StoreError, Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import read_all
from shapewise.ui.widgets import evidence, selection
from tests.support.by_strategy import read_strategies
from tests.support.hostile import EVIL


def names_of(figure):
    return [trace.name for trace in figure.data]


# The guided example


@pytest.mark.slow
def test_the_guided_example_finds_the_strategies_of_the_case(acted):
    """An OR of two curves and two thresholds, all read off models: 3 clicks, 4 visits, a balance of 12,000."""
    space, table, made = acted
    strategies = made.read().strategies
    assert [one.name for one in strategies] == ["A", "C", "B"]
    assert strategies[0].rule == AnyOf((Levels("sex", ("female",)), Range("position_clicks", None, 4.0)))
    assert strategies[1].rule == Range("fund_visits", 4.0)
    assert strategies[2].rule.columns == ("balance",)
    assert strategies[2].rule.low == pytest.approx(12_000, rel=0.1)
    assert made.read().gate == Levels("step", ("drop",))
    ledger = made.read().ledger(space.tables.read(table.id))
    assert ledger.exclusive.sum() + ledger.remainder == ledger.eligible
    assert (ledger.exclusive > 300).all()
    kept = board.segments(space, table.id)
    assert len(kept) == 3
    for one in kept:
        told = one.known_evidence()
        assert told.opportunity_interval[0] > 0.1
        assert told.contrast > 0
        assert told.agree == 1.0
        assert told.tried > 1


def test_the_example_says_what_is_missing(space):
    table = example.load(space, example.FUNNEL)
    assert example.find(space, example.FUNNEL).id == table.id
    assert example.find(space, example.OUTCOME) is None
    with pytest.raises(StoreError, match="renew against drop"):
        example.read_off(space, table)


@pytest.mark.slow
def test_the_example_s_experiment_recovers_the_lifts(acted):
    space, _, made = acted
    frame = space.tables.read(example.load(space, example.OUTCOME).id)
    strategies = made.read()
    roles = {name: role for name, (_, _, role) in example.METRICS.items()}
    names = [one.name for one in strategies.strategies]
    found = read_strategies(frame, (frame["arm"] == "treated").to_numpy(), strategies.assign(frame), names, roles)
    assert not found.stopped
    assert all(effect.is_significant == (effect.role == "primary") for effect in found.effects)


# Boards and segments


def test_segments_and_boards_survive_the_workspace(acted):
    space, table, made = acted
    again = Workspace(space.root)
    assert board.board(again, made.id) == made
    assert [one.id for one in board.boards(again, table.id)] == [made.id]
    assert board.boards(again, "0" * 16) == []
    board.change(again, made.id, strategies=lambda now: now.moved(2, 0))
    assert [one.name for one in board.board(again, made.id).read().strategies] == ["B", "A", "C"]
    board.change(again, made.id, plan={"a_day": 3.0})
    board.change(again, made.id, outcome={"rows": float("nan")})
    board.change(again, made.id, outcome={"counts": 1})
    assert board.board(again, made.id).plan == {"a_day": 3.0}
    assert board.board(again, made.id).outcome == {"rows": None, "counts": 1}
    assert [one.name for one in board.board(again, made.id).read().strategies] == ["B", "A", "C"]
    again.delete("boards", made.id)
    assert board.boards(again, table.id) == []
    with pytest.raises(StoreError):
        board.board(again, made.id)


def test_strategies_that_cannot_be_told_apart_are_not_stored(acted):
    space, _, made = acted
    strategies = made.read()
    twice = replace(strategies, strategies=(strategies.strategies[0], strategies.strategies[0]))
    with pytest.raises(RuleError, match="'A'"):
        board.change(space, made.id, strategies=lambda _: twice)
    with pytest.raises(RuleError, match="name"):
        board.change(space, made.id, strategies=lambda now: replace(now, name=" "))
    assert board.board(space, made.id).read() == strategies


def test_a_board_that_cannot_be_read_does_not_hide_the_others(acted):
    space, table, made = acted
    other = board.add_board(space, StrategySet("other"), table.id)
    third = board.add_board(space, StrategySet("third"), table.id)
    with space.meta.writing() as connection:
        for identifier, about in ((made.id, '{"id": 3}'), (third.id, "[]")):
            connection.execute(update(meta.thing).where(meta.thing.c.id == identifier).values(about=about))
    assert [one.id for one in board.boards(space, table.id)] == [other.id]


def test_evidence_that_is_not_known_is_kept(acted):
    space, table, made = acted
    about = space.models.about(made.read().strategies[0].model)
    data, fitted = read_all(space, Spec.from_dict(about.spec)), space.models.load(about.id).model
    held = data.held_out
    told = HeldOutRows(fitted, data.X[held], data.y[held].to_numpy(float)).evidence(Range("age", 500.0))
    kept = board.add_segment(space, EVIL, Range("age", 500.0), table.id, (about.id, about.name), told)
    again = board.segment(space, kept.id).known_evidence()
    assert np.isnan([again.mean, again.contrast, *again.interval]).all()
    assert again.inside == 0
    assert again.effect is None  # it is a rate that was observed, not a measured effect
    assert "nan" not in evidence.in_words(again, PLAIN)
    assert "measured" not in evidence.in_words(again, PLAIN)
    assert board.segment(space, kept.id).read() == Range("age", 500.0)


# Exports, run


def hostile():
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame({EVIL: rng.normal(size=n), 'it\'s "x"': rng.choice(["a'b", "-- c", "\u2028"], n)})
    frame["flag"] = pd.Series(rng.choice([True, False], n), dtype="boolean").mask(rng.random(n) < 0.2)
    frame["whole"] = pd.Series(rng.integers(0, 5, n), dtype="Int64").mask(rng.random(n) < 0.2)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s")
    frame.loc[::7, "when"] = pd.NaT
    frame.loc[::5, EVIL] = np.nan
    named = (
        Strategy("x'; drop table rows; --", All((Range(EVIL, -0.3, 0.8), Levels('it\'s "x"', ("a'b", "\u2028"))))),
        Strategy("größer", AnyOf((Range("when", 19_726.123456, date=True), Levels("flag", ("True",))))),
        Strategy("rest", Not(AnyOf((Levels("whole", ("1", "3")), Missing("whole"))))),
    )
    return frame, StrategySet('-- */ \'board\'\n"""', named, Not(Missing(EVIL)))


def test_both_exports_are_proved_by_running_them():
    frame, made = hostile()
    found = proof.prove(made, frame)
    assert found.same
    counts = found.counts.set_index("strategy")
    assert (counts["board"] == counts["SQL"]).all()
    assert (counts["board"] == counts["Python"]).all()
    assert counts["board"].sum() == len(frame)
    assert (counts["board"] > 0).all()


def test_columns_of_all_types_are_proved():
    n = 40
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) // 4, unit="D")
    frame = pd.DataFrame(
        {
            "day": pd.Series(day.date, dtype=object), "zone": day.tz_localize("Asia/Tokyo"),
            "money": [Decimal("1.50") * (k % 3) for k in range(n)], "large": np.arange(n, dtype="uint64") + 2**63,
            "code": pd.Categorical(np.arange(n) % 3), "strategy": ["x", "y"] * (n // 2),
        }
    )  # fmt: skip
    rules = {
        "a": Range("day", 19_725.0, 19_726.0, True, True, True),
        "b": Range("zone", None, 19_724.0, high_in=True, date=True),
        "c": All((Levels("money", ("3",)), Levels("strategy", ("x",)))), "d": Levels("code", ("1",)),
        "e": Range("large", 2.0**63 + 4096),
    }  # fmt: skip
    found = proof.prove(StrategySet("types", tuple(Strategy(name, rule) for name, rule in rules.items())), frame)
    assert found.same
    assert (found.counts["board"] > 0).tolist()[:4] == [True] * 4


def test_the_proof_of_a_board_without_rules():
    frame, _ = hostile()
    found = proof.prove(StrategySet("none"), frame)
    assert found.same
    assert found.counts["board"].tolist() == [0, len(frame)]


def test_a_proof_that_fails_says_so(monkeypatch):
    frame, made = hostile()
    monkeypatch.setattr(proof, "to_python", lambda *_: "raise SystemExit('no')")
    with pytest.raises(proof.ProofError, match="no"):
        proof.prove(made, frame)
    monkeypatch.undo()
    monkeypatch.setattr(proof, "to_sql", lambda *_: "SELECT nothing")
    with pytest.raises(proof.ProofError, match="SQLite"):
        proof.prove(made, frame)
    monkeypatch.undo()
    monkeypatch.setattr(proof, "to_sql", lambda *_: "SELECT 'rest' AS strategy FROM rows")
    assert not proof.prove(made, frame).same


# Figures


def test_the_board_s_bars_add_up(acted):
    space, table, made = acted
    found = made.read().ledger(space.tables.read(table.id))
    names = [one.name for one in made.read().strategies]
    figure = figures.draw(found.describe(names), titled=False)
    assert [sum(trace.x) for trace in figure.data] == [found.exclusive.sum(), found.lost.sum(), found.remainder]
    assert "A, C" in figure.data[1].hovertext[2]
    matrix = figures.draw(decide_plots.overlap(found, names), "dark").data[0]
    assert np.diag(matrix.z).tolist() == [1.0, 1.0, 1.0]
    assert f"{found.overlap[0, 1]:,}" in matrix.text[0][1]


def test_measured_lifts_are_drawn_with_what_was_planned(acted):
    space, _, made = acted
    frame = space.tables.read(example.load(space, example.OUTCOME).id)
    roles = {"entry_1_click": "primary", "entry_2_click": "expected null"}
    planned = {("A", "entry_1_click"): 0.15}
    args = (frame, (frame["arm"] == "treated").to_numpy(), made.read().assign(frame), ["A", "C", "B"], roles)
    figure = figures.draw(read_strategies(*args, planned=planned).describe())
    assert [name for name in names_of(figure) if name] == ["significant", "not significant", "planned"]
    assert [len(trace.x) for trace in figure.data if trace.name] == [3, 3, 1]
    assert figure.layout.yaxis.ticktext[1] == "A · entry_2_click (expected null)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "rule", "spans"),
    [
        ("position_clicks", Range("position_clicks", None, 4.0), [(0.0, 3.5)]),
        ("sex", Levels("sex", ("female",)), [(0.55, 1.45)]),
        ("education", AnyOf((Levels("education", ("school", "master")), Missing("education"))), 3),
        ("maturity_date", Range("maturity_date", 20_100.0, 20_200.0, date=True), 1),
        ("age", Not(Range("age", 30.0, 50.0)), 2), ("sex", Not(Levels("sex", ("male",))), [(0.55, 1.45)]),
        ("position_clicks", All((Range("position_clicks", None, 4.0), Range("age", 30.0))), [(0.0, 3.5)]),
        ("age", Levels("sex", ("female",)), []), ("age", Range("age", 900.0), []), ("sex", EVERYBODY, []),
    ],
)  # fmt: skip
def test_a_rule_is_marked_on_the_curve(acted, column, rule, spans):
    space, _, made = acted
    model = space.models.load(made.read().strategies[0].model).model
    place = next(k for k, bins in enumerate(model.bins) if bins.feature.name == column)
    curve = explain_shape(model, place)
    figure = figures.draw(decide_plots.marked(curve.describe("x", "y"), curve, rule, label="<b>12</b> rows"))
    selection.brushable(figure, curve)
    areas = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    if isinstance(spans, int):
        assert len(areas) == spans
    else:
        assert [(shape.x0, shape.x1) for shape in areas] == [pytest.approx(span) for span in spans]
    texts = [note.text for note in figure.layout.annotations]
    assert ("&lt;b&gt;12&lt;/b&gt; rows" in texts) == bool(areas)
    assert figure.layout.dragmode == "select"
    figures.draw(decide_plots.marked(explain_plots.small(curve, (-1.0, 1.0)), curve, rule))
