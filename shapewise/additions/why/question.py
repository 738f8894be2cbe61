"""What is asked: two groups of rows and the models that they are seen with, as plain values; and the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gamcore import Sample, WhyMoved, why_moved
from gamcore.common.types import Bools
from gamcore.data.column_names import Names
from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.decide.rules_json import from_dict
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data


@dataclass(frozen=True)
class Group:
    """Rows of a table. name : of the group, in words. table : its id. rule : that they match, as JSON; empty for all
    rows. rest : whether they are those that do not match. model : that was fitted to them; empty for none."""

    name: str
    table: str
    rule: str = ""
    rest: bool = False
    model: str = ""

    def holds(self, rows: Table) -> Bools:
        """Return which rows (n,) of the table are of the group."""
        if not self.rule:
            return np.ones(len(rows), bool)
        return np.logical_xor(from_dict(json.loads(self.rule)).holds(rows), self.rest)


@dataclass(frozen=True)
class Question:
    """Why the mean of a second group differs from that of a first. model : that sees both, where the groups have none
    of their own. unseen : whether only rows count that the models have not learned from."""

    model: str
    first: Group
    second: Group
    unseen: bool = False

    @property
    def groups(self) -> tuple[Group, Group]:
        """Both groups, the earlier first."""
        return self.first, self.second

    @property
    def of_each(self) -> bool:
        """Whether each group has a model of its own."""
        return bool(self.first.model and self.second.model)

    @property
    def columns(self) -> list[str]:
        """The columns by whose cells the groups are told apart."""
        rules = [from_dict(json.loads(group.rule)) for group in self.groups if group.rule]
        return list(dict.fromkeys(column for rule in rules for column in rule.columns))

    def of_one_model(self) -> Question:
        """Return the question for one model that sees both groups."""
        return replace(self, first=replace(self.first, model=""), second=replace(self.second, model=""))


@dataclass(frozen=True)
class Sources:
    """What an answer is made from. about, estimator : of a model by its id, of several classes that of all. rows : a
    table by its id, and its rows that a model's specification chooses. of_class : the class that is asked about."""

    about: Callable[[str], ModelAbout]
    estimator: Callable[[str], Any]
    rows: Callable[[ModelAbout, str], tuple[Table, Data]]
    of_class: str = ""

    def of_group(self, asked: Question, group: Group) -> Sample:
        """Return the rows of a group; TableError where there are none."""
        about = self.about(asked.model)
        table, data = self.rows(about, group.table)
        if asked.unseen:
            learned = [about, *([self.about(group.model)] if group.model else [])]
            data = data.only(self._unseen(data, [model for model in learned if model.table == group.table]))
        data = data.only(group.holds(table.take(data.X.index)))
        if not len(data.y):
            raise TableError(f"The group {group.name} has no row with an outcome: choose another.")
        return Sample(table.frame.loc[data.X.index], data.y, data.weight, data.groups, data.exposure)

    def _unseen(self, data: Data, models: list[ModelAbout]) -> Bools:
        """Return which rows (n,) of a table models of it have not learned from."""
        unseen = np.ones(len(data.y), bool)
        for about in models:
            _, own = self.rows(about, about.table)
            unseen &= ~data.X.index.isin(own.X.index[~own.held_out])
        return unseen

    def answer(self, asked: Question) -> WhyMoved:
        """Return the answer to a question; TableError where rows and models do not go together."""
        first, second = (self.of_group(asked, group) for group in asked.groups)
        models = [self.estimator(group.model if asked.of_each else asked.model) for group in asked.groups]
        return why_moved(
            models[0], first, second, models[1], of_class=self.of_class or None,
            names=(asked.first.name, asked.second.name), held_out=asked.unseen,
        )  # fmt: skip


def named(moved: WhyMoved, names: Names) -> WhyMoved:
    """Return an answer with its terms as people call them."""
    return replace(
        moved, terms=tuple(map(names.term, moved.terms)),
        features=tuple(tuple(map(names.column, features)) for features in moved.features),
        families={names.column(name): names.column(family) for name, family in moved.families.items()},
    )  # fmt: skip
