"""The guided example: from the sample funnel *renewal* to three strategies as in a published case, and an experiment.

There are three scenarios of one dialogue, each with a strategy: A is an OR of two curves, B and C are thresholds. Their
order is A, C, B, for those who began the dialogue and left. Only an analyst's decisions are written down here; the cuts
come from the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gamcore.decide.experiment_plan import MetricRole
from gamcore.decide.rules import Levels, Rule, either, rounded
from gamcore.decide.segments import HeldOutRows, Segment, suggest
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.model.additive import AdditiveModel
from shapewise.decisions import boards as board
from shapewise.decisions import money
from shapewise.decisions.boards import Board
from shapewise.places import SAMPLES
from shapewise.store.projects import Project
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout, Workspace
from shapewise.training.dataset import read_data
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, train

FUNNEL, OUTCOME = "renewal.parquet", "renewal_experiment.parquet"
TARGET: Final = "step"
UNUSED: Final = ("customer_id", "confirm_page_seconds", TARGET)
SIZES: Final = {FUNNEL: (30_000, 15), OUTCOME: (75_093, 15)}
NAME: Final = "Renewal: three messages"
FIRST_FEATURES: Final = ("position_clicks", "age", "balance")
"""Features whose curves a first visitor sees."""


@dataclass(frozen=True)
class ExamplePart:
    """A scenario of the funnel, and the strategy read off its model."""

    goal: str
    strategy: str
    columns: tuple[str, ...]
    action: str
    value: float

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return f"{self.goal} against drop"


PARTS: Final = (
    ExamplePart("renew", "A", ("sex", "position_clicks"), "Skip the overview: show the renewal first", 30.0),
    ExamplePart("other assets", "C", ("fund_visits",), "Open with the funds they looked at", 24.0),
    ExamplePart("lower risk", "B", ("balance",), "Offer a deposit of lower risk", 20.0),
)
ENTRY, RATE, COST = "entry_1_click", 0.22, 0.05
CURRENCY: Final = "EUR"
LIFTS: Final = (0.1, 0.2, 0.3)
METRICS: Final[dict[str, tuple[float, float, MetricRole]]] = {
    "entry_1_click": (0.22, 0.15, "primary"), "entry_1_stayed": (0.55, 0.08, "primary"),
    "entry_2_click": (0.15, 0.15, "expected null"), "entry_2_stayed": (0.30, 0.15, "primary"),
}  # fmt: skip
A_WEEK: Final = 65_000


def load(workspace: Workspace, name: str) -> TableAbout:
    """Return a sample table; store it on first use. The funnel has its target, which its columns leave open."""
    from shapewise.ingest.read import read_file  # brings readers of all forms of files, which no page needs

    loaded = read_file(name, (SAMPLES / name).read_bytes())
    table = workspace.tables.add(loaded.frame, Path(name).stem, loaded.notes)
    if name == FUNNEL and not table.roles:
        workspace.tables.change_roles(table.id, {TARGET: "target"})
    return workspace.tables.about(table.id)


def find(workspace: Workspace, name: str) -> TableAbout | None:
    """Return a sample table if it is loaded; it is recognized by its size."""
    size = SIZES[name]
    return next((table for table in workspace.tables.listed() if (table.rows, table.columns) == size), None)


def spec(table: TableAbout, columns: list[str], part: ExamplePart) -> Spec:
    """Return the specification of a scenario's model."""
    features = [name for name in columns if name not in UNUSED]
    return Spec(table.id, TARGET, part.scenario, features, positive=[part.goal], negative=["drop"])


def model(workspace: Workspace, table: str, part: ExamplePart) -> ModelAbout | None:
    """Return a scenario's model if it is trained."""
    return next((m for m in workspace.models.listed() if m.table == table and m.name == part.scenario), None)


def train_next(workspace: Workspace, table: TableAbout, columns: list[str], n_jobs: int) -> ExamplePart | None:
    """Train the first scenario without a model with bands, in about a second; do nothing if all have one."""
    for part in PARTS:
        about = model(workspace, table.id, part)
        if about is None or not about.bands:
            about = about or train(workspace, spec(table, columns, part), n_jobs)
            add_bands(workspace, about.id, n_jobs)
            return part
    return None


def first_spec(table: TableAbout) -> Spec:
    """Return the specification of the model behind the curves that a first visitor sees: small, and of three
    features."""
    part = PARTS[0]
    return Spec(table.id, TARGET, part.scenario, list(FIRST_FEATURES), positive=[part.goal], negative=["drop"],
                changes={"max_bins": 64})  # fmt: skip


def is_helper(project: Project) -> bool:
    """Return whether a project is only the example's table of outcomes, which nobody brought and its read-out reads."""
    sizes = [(table.rows, table.columns) for table in project.tables]
    return not project.models and sizes == [SIZES[OUTCOME]]


def remove(workspace: Workspace) -> None:
    """Delete what the example made, and its tables unless somebody made something else of them."""
    funnel, outcome = find(workspace, FUNNEL), find(workspace, OUTCOME)
    if funnel is not None:
        ours = {about.id for part in PARTS if (about := model(workspace, funnel.id, part)) is not None}
        for stored in board.boards(workspace, funnel.id):
            if stored.name == NAME:
                workspace.delete("boards", stored.id)
        for segment in board.segments(workspace, funnel.id):
            if segment.model in ours and segment.name.startswith(tuple(f"{part.strategy}: " for part in PARTS)):
                workspace.delete("segments", segment.id)
        for identifier in ours:
            workspace.models.delete(identifier)
    _remove_unused(workspace, [table for table in (funnel, outcome) if table is not None])


def _remove_unused(workspace: Workspace, tables: Sequence[TableAbout]) -> None:
    """Delete tables that no model, board or segment is of."""
    of_models = {about.table for about in workspace.models.listed()}
    for table in tables:
        if table.id not in of_models and not board.boards(workspace, table.id) and not board.segments(
            workspace, table.id
        ):  # fmt: skip
            workspace.delete("tables", table.id)


def read_off(workspace: Workspace, table: TableAbout) -> list[Strategy]:
    """Return the strategies of the scenarios' models in order; each segment is stored with its evidence."""
    frame, strategies = workspace.tables.read(table.id), []
    for part in PARTS:
        about = model(workspace, table.id, part)
        if about is None:
            raise StoreError(f"There is no model of {part.scenario!r} yet: train it first.")
        fitted = workspace.models.load(about.id).model
        assert isinstance(fitted, AdditiveModel)
        data = read_data(frame, Spec.from_dict(about.spec), table.held_out_by)
        held = data.X.index[data.held_out]
        X, y = frame.loc[held], data.y[data.held_out].to_numpy(float)
        candidates = suggest(fitted, X, y)
        rule = rounded(either(_the_one(candidates, column, part) for column in part.columns), frame)
        tried = candidates[0].evidence.tried
        evidence = HeldOutRows(fitted, X, y).evidence(rule, tried)
        board.add_segment(
            workspace,
            f"{part.strategy}: {rule.words()}",
            rule=rule,
            table=table.id,
            scenario=(about.id, about.name),
            evidence=evidence,
        )
        strategies.append(
            Strategy(
                name=part.strategy,
                rule=rule,
                action=part.action,
                metric=ENTRY,
                base=RATE,
                lift=LIFTS,
                value=part.value,
                cost=COST,
                scenario=part.scenario,
                model=about.id,
            )
        )
    return strategies


def _the_one(candidates: list[Segment], column: str, part: ExamplePart) -> Rule:
    """Return the upward segment that the model finds in one column."""
    for segment in candidates:
        if segment.up and segment.rule.columns == (column,):
            return segment.rule
    raise StoreError(f"The model of {part.scenario!r} finds no segment by {column!r}: measure its bands first.")


def make_board(workspace: Workspace, table: TableAbout) -> Board:
    """Store the three strategies in the order A, C, B, for those who left, and return their board."""
    strategies = StrategySet(NAME, tuple(read_off(workspace, table)), Levels(TARGET, ("drop",)))
    money.keep(workspace, table.id, currency=CURRENCY)
    return board.add_board(workspace, strategies, table.id)


def plan_of(stored: Board) -> dict[str, Any]:
    """Return the initial plan of the Experiment page; the test begins with the unchanged board."""
    rows = [
        {"metric": name, "role": role, "base": base, "lift": lift, "deviation": None}
        for name, (base, lift, role) in METRICS.items()
    ]
    return {"a_day": A_WEEK / 7, "share": 0.5, "power": 0.8, "metrics": rows, "tested": stored.strategies}


def outcome_of(table: TableAbout) -> dict[str, Any]:
    """Return the source of the experiment's results."""
    roles = {name: role for name, (_, _, role) in METRICS.items()}
    read = {"table": table.id, "arm": "arm", "treated": "treated", "roles": roles, "share": 0.5, "before": {}}
    return {"way": "rows", "rows": read}
