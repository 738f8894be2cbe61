"""What a report is made from: a board or a test with what they measured, and models with their held-out rows."""

from __future__ import annotations

from datetime import date
from functools import cached_property, partial
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.decide import verdicts
from gamcore.decide.arms import ReadOut
from gamcore.decide.arms_plan import ExperimentPlan
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.outcomes import Outcome
from gamcore.decide.shown import shown_between, shown_read_out
from gamcore.decide.strategies import Ledger, Strategy, StrategySet
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import ClassView, GAMClassifier, GAMRegressor, in_class
from gamcore.estimators.saved import from_saved
from gamcore.explain.curves import Curve
from gamcore.model.scales import Scale
from shapewise.decisions import arm_tests
from shapewise.decisions import boards as stored
from shapewise.decisions.arm_tests import StoredTest
from shapewise.decisions.boards import Board
from shapewise.decisions.money import Money, priced
from shapewise.decisions.money import of_table as money_of
from shapewise.decisions.plan_and_outcome import made_of, read_out
from shapewise.decisions.plans import form_of, planned
from shapewise.reports.card import described, names_of_table, target
from shapewise.reports.recipes import EFFECTS, Recipe
from shapewise.scoring import all_rows as wholes
from shapewise.scoring.held_out import HeldOutClasses, HeldOutPredictions, held_out, held_out_classes
from shapewise.store.workspace import ModelAbout, StoreError, Workspace
from shapewise.training.spec import Spec

DAYS: Final = 30
"""Days of a month."""
NOT_HELD_OUT: Final = "The model has no held-out rows here to be measured on: its table is gone, or too small."


class ModelSource:
    """A model in a report."""

    def __init__(self, space: Workspace, about: ModelAbout, scale: str, of_class: str = "") -> None:
        if about.of_tasks:
            raise StoreError("A report is of a model of one target: choose another.")
        self.space, self.about, self._scale, self._of_class = space, about, scale, of_class

    @cached_property
    def estimator(self) -> GAMRegressor | GAMClassifier:
        """The model itself; of several classes, that of the report's class, or of the first."""
        return in_class(from_saved(self.space.models.load(self.about.id)), self._of_class)

    @property
    def whole(self) -> GAMRegressor | GAMClassifier:
        """The model itself, of all its classes."""
        return self.estimator.whole_ if isinstance(self.estimator, ClassView) else self.estimator

    @property
    def label(self) -> str:
        """The class of the report, of several; else ""."""
        return str(self.estimator.label) if isinstance(self.estimator, ClassView) else ""

    @property
    def of_classes(self) -> GAMClassifier:
        """The model of all classes; StoreError if it is not of several."""
        if not isinstance(self.estimator, ClassView):
            raise StoreError(f"{self.about.name} does not predict one of several classes.")
        return self.estimator.whole_

    @property
    def class_names(self) -> list[str]:
        """The names of all classes, as they are shown."""
        return [self.names.level(self.about.target, str(name)) for name in self.of_classes.classes_]

    @property
    def scale(self) -> Scale:
        """The report's scale of effects, or the one that people read best where the model does not have that."""
        loss = loss_of(self.estimator)
        return next((scale for scale in loss.scales if scale == self._scale), loss.usual_scale)

    @cached_property
    def _held(self) -> HeldOutPredictions | None:
        return held_out(self.space, self.about.id, self._of_class)

    @cached_property
    def names(self) -> Names:
        """How the columns of its table are shown."""
        return names_of_table(self.space, self.about.table)

    @property
    def target(self) -> str:
        """What it predicts, in words."""
        outcome = target(self.about, self.names)
        if isinstance(self.estimator, ClassView):
            return f"{outcome} = {self.names.level(self.about.target, self.estimator.label)}"
        return outcome

    def held(self) -> HeldOutPredictions:
        """Return the held-out rows, predicted once."""
        if self._held is None:
            raise StoreError(NOT_HELD_OUT)
        return self._held

    def held_classes(self) -> HeldOutClasses:
        """Return the held-out rows with the chances of all classes."""
        held = held_out_classes(self.space, self.about.id)
        if held is None:
            raise StoreError(NOT_HELD_OUT)
        return held

    def detail(self, curve: Curve) -> str:
        """Return the grey line under a plot's title, which names the model."""
        return " · ".join([*described(self.about, curve, self.target), f"model {self.about.name}"])


class Review:
    """The sources of a report, each read once."""

    def __init__(self, space: Workspace, recipe: Recipe, model: str = "") -> None:
        self.space, self.recipe = space, recipe
        self._sources: dict[str, ModelSource] = {}
        self._arms: dict[str, ReadOut] = {}
        self.main = self._source(model) if model else None

    def _source(self, identifier: str) -> ModelSource:
        if identifier not in self._sources:
            about = self.space.models.about(identifier)
            self._sources[identifier] = ModelSource(self.space, about, self.recipe.scale, self.recipe.of_class)
        return self._sources[identifier]

    @cached_property
    def names(self) -> Names:
        """How columns are shown: those of the model's table, else of the board's or the test's."""
        if self.main is not None:
            return self.main.names
        if self.recipe.board:
            return names_of_table(self.space, self.board.table)
        return names_of_table(self.space, self.test.table) if self.recipe.test else AS_THEY_ARE

    def model(self) -> ModelSource:
        """Return the model in view; StoreError if there is none."""
        if self.main is None:
            raise StoreError("There is no model in view: open one.")
        return self.main

    def behind(self, strategy: Strategy) -> ModelSource:
        """Return the model that a strategy was read off."""
        if not strategy.model:
            raise StoreError(f"{strategy.name} was not read off a model: its rule was written by hand.")
        try:
            return self._source(strategy.model)
        except StoreError as error:
            named = f" ({strategy.scenario})" if strategy.scenario else ""
            raise StoreError(f"The model that {strategy.name} was read off{named} is no longer there.") from error

    def models(self) -> list[ModelSource]:
        """Return the models that strategies were read off; the model in view where there are none, or where one of its
        plots was asked for."""
        behind: dict[str, ModelSource] = {}
        for strategy in self.strategy_set.strategies if self.recipe.board else ():
            if strategy.model and strategy.model in self.space.ids("models"):
                behind[strategy.model] = self._source(strategy.model)
        shown = any(item.kind in EFFECTS for item in self.recipe.items)
        if self.main is not None and (shown or not behind):
            behind.setdefault(self.main.about.id, self.main)
        return list(behind.values())

    @cached_property
    def board(self) -> Board:
        """The report's board; StoreError if it has none."""
        if not self.recipe.board:
            raise StoreError("The report has no board: choose one.")
        return stored.board(self.space, self.recipe.board)

    @cached_property
    def tested(self) -> StrategySet:
        """The strategies: as they were tested, once the test was read."""
        tested = self.board.plan.get("tested")
        return StrategySet.from_dict(tested) if tested and self.is_measured else self.board.read()

    @cached_property
    def strategy_set(self) -> StrategySet:
        """The same with what one more outcome of each is worth."""
        return priced(self.board, self.tested, self.money)

    @property
    def is_measured(self) -> bool:
        """Whether the board's test has been read."""
        outcome = self.board.outcome
        return bool(outcome.get(outcome.get("way", "rows")))

    @cached_property
    def money(self) -> Money:
        """What outcomes are worth in the project of the report's board or test."""
        return money_of(self.space, self.board.table if self.recipe.board else self.test.table)

    @cached_property
    def ledger(self) -> Ledger:
        """Whom the strategies reach: in the model's table if it has the columns, else in the board's own."""
        needed = set(self.strategy_set.cascade().columns)
        for table in (self.main.about.table if self.main else "", self.board.table):
            if table in self.space.ids("tables") and needed <= set(self.columns(table)):
                self.table = table
                places = range(len(self.strategy_set.strategies))
                return wholes.matches(self.space, table, self.strategy_set).ledger(places)
        raise StoreError("No table has the columns that the board's rules use.")

    table: str = ""
    """The table whose rows `ledger` counted."""

    def columns(self, table: str) -> list[str]:
        """Return the names of a table's columns."""
        return self.space.tables.columns(table)

    @cached_property
    def outcome(self) -> ReadOut:
        """What the board's test measured, with the names of its tables."""
        way = self.board.outcome.get("way", "rows")
        if not self.is_measured:
            raise StoreError("The test has not been read yet: do so on the page Experiment.")
        metrics, form = self.board.plan.get("metrics", []), self.board.outcome[way]
        customers = self.plan.customers if self.board.plan.get("looks") else 0
        read_columns = partial(wholes.read, self.space)
        measured = read_out(self.strategy_set, way, form, metrics, read_columns, customers=customers)
        return shown_read_out(measured, self.names_of_outcomes)

    @property
    def is_by_board(self) -> bool:
        """Whether the board's own test is what was measured; else it is the report's test of arms."""
        return bool(self.recipe.board) and (self.is_measured or not self.recipe.test)

    @property
    def measured(self) -> ReadOut:
        """What was measured, with the names of its tables."""
        return self.outcome if self.is_by_board else self.arms

    @cached_property
    def names_of_outcomes(self) -> Names:
        """How metrics are shown: by the names of the table of outcomes, then by those of the board's table."""
        form, names = self.board.outcome.get("rows") or {}, names_of_table(self.space, self.board.table)
        read = self.board.outcome.get("way", "rows") == "rows"
        return names_of_table(self.space, form.get("table", "")).or_those_of(names) if read else names

    @cached_property
    def plan(self) -> ExperimentPlan:
        """The plan of the board's test."""
        if not self.board.plan:
            raise StoreError("The board has no plan yet: make one on the page Experiment.")
        return planned(form_of(self.board.plan, []), self.strategy_set, self.ledger, self.names_of_outcomes)

    @property
    def times(self) -> float:
        """Months of customers per customer of the table, if the plan says how many come per day; else 1."""
        per_day = float(self.board.plan.get("a_day", 0.0))
        return per_day * DAYS / max(self.ledger.eligible, 1) if per_day > 0 else 1.0

    @cached_property
    def test(self) -> StoredTest:
        """The report's test of arms."""
        if not self.recipe.test:
            raise StoreError("The report has no test: choose one.")
        return arm_tests.test(self.space, self.recipe.test)

    @cached_property
    def arms(self) -> ReadOut:
        """What the report's test of arms measured, with the names of its table."""
        return self._read(self.test)

    def _read(self, test: StoredTest) -> ReadOut:
        """Return what a test of arms measured, with the names of its table; read once."""
        if test.id not in self._arms:
            measured = arm_tests.read_test(test.test(), partial(wholes.read, self.space, test.table))
            self._arms[test.id] = shown_read_out(measured, names_of_table(self.space, test.table))
        return self._arms[test.id]

    def against(self, strategy: Strategy) -> list[str]:
        """Return the outcomes that speak against a strategy in the tests that its lift was measured by, beside that
        lift; none where no model of an effect is behind it."""
        if not (strategy.tested and strategy.model in self.space.ids("models")):
            return []
        about, names, doubts = self.behind(strategy).about, self.behind(strategy).names, list[str]()
        treatment = Spec.from_dict(about.spec).treatment
        if treatment is None:
            return []
        for test in arm_tests.tests(self.space, {about.table}):
            if (test.arm, test.control) == (treatment.arm, treatment.control):
                doubts += verdicts.against(self._read(test).effects, names.level(test.arm, treatment.level))
        return list(dict.fromkeys(doubts))

    @cached_property
    def between_arms(self) -> list[tuple[str, Effect]]:
        """How the treated arms of that test differ from each other, likewise: each with the arm that it is beside."""
        if self.is_by_board or len(self.arms.arms) < 3 or self.arms.stopped:
            return []
        asked = self.test.test()
        between = arm_tests.compare_arms(asked, partial(wholes.read, self.space, self.test.table))
        return shown_between(between, names_of_table(self.space, self.test.table), asked)

    def period(self, table: str) -> tuple[date, date] | None:
        """Return the first and last day of a table, if it has one column of dates."""
        schema = pq.read_schema(self.space.tables.shown_path(table))
        dates = [field.name for field in schema if pa.types.is_temporal(field.type)]
        if len(dates) != 1:
            return None
        when = pd.to_datetime(wholes.read(self.space, table, dates)[dates[0]]).dropna()
        return (when.min().date(), when.max().date()) if len(when) else None


def called(review: Review, metric: str) -> str:
    """Return the shown name of what was measured, given its own."""
    if not review.is_by_board:
        return review.test.test().outcome(metric).called(names_of_table(review.space, review.test.table))
    form = review.board.outcome.get("rows") or {}
    outcome = made_of(form.get("outcomes", {})).get(metric) or Outcome(metric)
    return outcome.called(review.names_of_outcomes)
