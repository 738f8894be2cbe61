"""Specifications of models that have what a black box knew: more pairs, or the pairs of a crossing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gamcore import PriceOfReadability
from gamcore.data.columns import TableError
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.columns.steps import Computed
from shapewise.columns.stored import steps_of
from shapewise.store.workspace import Workspace, clean_name
from shapewise.training.carry_over import carried
from shapewise.training.derived import keep
from shapewise.training.spec import Spec

Pair = tuple[str, str]


def with_pairs(spec: Spec, estimator: GAMRegressor | GAMClassifier, more: Sequence[Pair]) -> Spec:
    """Return a specification with the pairs of a model and more."""
    names = [bins.feature.name for bins in estimator.model_.bins]
    pairs = [(names[pair.features[0]], names[pair.features[1]]) for pair in estimator.model_.pairs]
    known = {frozenset(pair) for pair in pairs}
    pairs += [pair for pair in more if frozenset(pair) not in known]
    return replace(spec, changes={**spec.changes, "interactions": [list(pair) for pair in pairs]})


def with_crossing(
    space: Workspace, spec: Spec, estimator: GAMRegressor | GAMClassifier, price: PriceOfReadability
) -> Spec:
    """Return a specification of a newer version of the table, which has a column of two features together, with the
    pairs of that column."""
    about = space.tables.about(spec.table)
    names = space.tables.columns(spec.table)
    if any("`" in name or name not in names for name in price.crossing):
        raise TableError("A part of a date, or a name with a backtick, cannot be crossed: compute the column on Data.")
    formula = f"cross({', '.join(f'`{name}`' for name in price.crossing)})"
    steps = steps_of(about.steps)
    there = next((step.column for step in steps if isinstance(step, Computed) and step.formula == formula), None)
    column = there or _free(" by ".join(price.crossing), names)
    then = space.tables.read(spec.table)
    table = about if there else keep(space, about, [*steps, Computed(column, formula)])[0]
    on_new = carried(spec, then, table.id, space.tables.read(table.id))
    if on_new.spec is None:
        raise TableError(on_new.why)
    made = with_pairs(on_new.spec, estimator, [(column, third) for third in price.thirds])
    features = made.features if column in made.features else [*made.features, column]
    return replace(made, features=features, name=clean_name(f"{spec.name} · {column}"))


def _free(name: str, taken: Sequence[str]) -> str:
    """Return a name that no column has."""
    wanted = name[:70]
    return next(one for k in range(1, len(taken) + 2) if (one := wanted if k == 1 else f"{wanted} {k}") not in taken)
