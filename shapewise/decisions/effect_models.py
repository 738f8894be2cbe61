"""Models of whom a test moves: what they are trained on, which are stored, and the strategy that follows from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gamcore.data.column_names import Names
from gamcore.data.table import Table
from gamcore.decide.arms import ArmsTest
from gamcore.decide.outcomes import outcome_of
from gamcore.decide.results import Result
from gamcore.decide.results import money as in_money
from gamcore.decide.rules import Rule
from gamcore.decide.segments import Evidence
from gamcore.decide.strategies import Strategy
from gamcore.decide.worth import Contribution, total
from gamcore.estimators.additive_parameters import GREEDY
from shapewise.columns.roles import sounds_like_outcome
from shapewise.decisions.money import Money
from shapewise.store.workspace import ModelAbout, Workspace, clean_name
from shapewise.training.dataset import treated_in
from shapewise.training.effects import POINTS
from shapewise.training.spec import Spec, Treatment


@dataclass(frozen=True)
class Asked:
    """Whose effect on what is asked for: an arm of a test beside its control, and an outcome."""

    table: str
    arm: str
    level: str
    control: str
    outcome: str

    def is_of(self, spec: Spec) -> bool:
        """Return whether a specification is of the same effect."""
        effect = spec.treatment
        return effect is not None and self == Asked(spec.table, effect.arm, effect.level, effect.control, spec.target)


def known_before(table: Table, test: ArmsTest) -> list[str]:
    """Return the columns that a model of effects usually has: those that the test says were known before it, or all
    that are not called like an outcome."""
    if test.known_before:
        return list(test.known_before)
    taken = {test.arm, *test.measured, *([test.cluster] if test.cluster else [])}
    return [name for name in table.names if name not in taken and not sounds_like_outcome(name)
            and table.usable_kind(name) is not None]  # fmt: skip


def spec_of(asked: Asked, test: ArmsTest, features: Sequence[str], table: Table, names: Names) -> Spec:
    """Return what a model of an effect is trained on. Only features that beat chance get a curve."""
    shares = test.shares or {}
    whole = shares.get(asked.level, 1.0) + shares.get(asked.control, 1.0)
    values = outcome_of(table, asked.outcome)
    rate = bool(np.isin(values[np.isfinite(values)], (0.0, 1.0)).all())
    share = shares.get(asked.level, 1.0) / whole
    treatment = Treatment(asked.arm, asked.level, asked.control, share=share, percent=rate)
    named = f"{names.level(asked.arm, asked.level)} on {names.column(asked.outcome)}"
    return Spec(
        table=asked.table, target=asked.outcome, name=clean_name(f"Effect of {named}"), features=list(features),
        goal="number", group=test.cluster, changes={"order": GREEDY, "interactions": 0}, treatment=treatment,
    )  # fmt: skip


def model_of(workspace: Workspace, asked: Asked) -> ModelAbout | None:
    """Return the newest stored model of an effect; None where there is none."""
    listed = (model for model in workspace.models.listed() if model.spec.get("treatment"))
    return next((model for model in listed if asked.is_of(Spec.from_dict(model.spec))), None)


def _scale(model: ModelAbout) -> float:
    """Return by what the effects of a model are divided to be outcomes per customer."""
    return POINTS if model.spec["treatment"]["percent"] else 1.0


def worth(evidence: Evidence, customers: int, money: Money, model: ModelAbout) -> Result:
    """Return what it is worth to treat these customers, as the test measured their effect, with a 95% interval."""
    scale = _scale(model)
    low, high = (end / scale for end in evidence.interval)
    spent = customers * money.cost
    sum_of = total([Contribution(customers * money.of(model.target), evidence.mean / scale, (low, high), spent)])
    return in_money(sum_of.value, (sum_of.low, sum_of.high), money.currency, "measured", evidence.inside)


def control_mean(table: Table, asked: Asked, rule: Rule) -> float:
    """Return the mean outcome of the control among the rows of a rule; NaN where there is none."""
    treatment = Treatment(asked.arm, asked.level, asked.control)
    rows = (treated_in(table, treatment) == 0) & rule.holds(table)
    values = outcome_of(table, asked.outcome)[rows]
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def strategy(name: str, rule: Rule, evidence: Evidence, control: float, *, action: str, model: ModelAbout) -> Strategy:
    """Return the strategy of treating those of a rule, whose lifts are the measured ones; its money is the project's.
    control : the mean outcome of the control inside, above 0. action : what they get, in words."""
    scale = _scale(model)
    low, high = (end / scale / control for end in evidence.interval)
    return Strategy(
        name=name, rule=rule, action=action, metric=model.target, base=control,
        lift=(low, evidence.mean / scale / control, high), scenario=model.name, model=model.id, tested=evidence.inside,
        is_rate=bool(model.spec["treatment"]["percent"]),
    )  # fmt: skip
